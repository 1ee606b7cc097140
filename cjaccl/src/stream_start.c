/* The socket ring's start: who listens where, and who came. */
#include "stream.h"

#include "arena.h"
#include "error.h"
#include "flow.h"
#include "notice.h"
#include "side.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAGIC 0x636a6869u
#define HOST_SIZE 64

/* Clients that have not said who they are. */
#define CALLERS_MAX 8
#define HELLO_TIMEOUT_NS ((int64_t)5 * 1000000000)

/* How often is looked for ranks that went away. */
#define LOOK_NS ((int64_t)200000000)

/* Where a rank listens, as all are told. Port 0: it could not. */
struct place {
    char host[HOST_SIZE];
    uint64_t nonce;
    int32_t err_no;
    uint16_t port;
    uint16_t zero;
};

/* What a rank says to its right neighbour. */
struct hello {
    uint32_t magic;
    int32_t rank;
    uint64_t nonce; /* of the one it is said to */
};

/* A client, and how much of its hello is here. */
struct caller {
    int end;
    int64_t deadline;
    size_t got;
    struct hello hello;
};

/* What a start has built; all of it is closed, or goes into the links. */
struct opening {
    int listener;
    int right;
    int left;
    char scope[HOST_SIZE]; /* of this rank's own address, "%en0" or "" */
    struct place mine;
    int count;
    struct caller callers[CALLERS_MAX];
};

static int left_of(const struct cj_group *group)
{
    return (group->rank + group->size - 1) % group->size;
}

static int right_of(const struct cj_group *group)
{
    return (group->rank + 1) % group->size;
}

/*
 * The address at which this rank's neighbours can reach it: of rank 0 that
 * which its left one used, of the others that which leads to rank 0. Its scope
 * is this machine's own affair.
 */
static int find_host(struct cj_group *group, struct opening *opening)
{
    int end = group->ends[group->rank == 0 ? left_of(group) : 0];
    char *host = opening->mine.host;
    uint16_t port = 0;
    size_t length;
    int status;

    if (group->net.local_name == NULL || end < 0)
        return cji_fail(group, CJ_UNSUPPORTED, cji_about_none(0),
                        "a group over sockets needs the side channel's "
                        "connections, and a transport that knows its address");
    status = group->net.local_name(group->net.ctx, end, host, HOST_SIZE, &port);
    if (status < 0)
        return cji_fail(group, CJ_NETWORK, cji_about_none(-status),
                        "the address of the connection to rank %d is unknown: "
                        "%s",
                        group->rank == 0 ? left_of(group) : 0,
                        cji_errno_text(-status).text);
    host[HOST_SIZE - 1] = '\0';
    length = strcspn(host, "%");
    (void)snprintf(opening->scope, sizeof opening->scope, "%s", host + length);
    memset(host + length, 0, HOST_SIZE - length);
    return CJ_OK;
}

static int listen_there(struct cj_group *group, struct opening *opening)
{
    struct place *mine = &opening->mine;
    char host[2 * HOST_SIZE];
    char unused[HOST_SIZE];
    uint64_t now = (uint64_t)group->clock.now_ns(group->clock.ctx);
    int status;

    (void)snprintf(host, sizeof host, "%s%s", mine->host, opening->scope);
    opening->listener = group->net.listen(group->net.ctx, host, 0);
    status = opening->listener;
    if (status >= 0)
        status = group->net.local_name(group->net.ctx, opening->listener,
                                       unused, sizeof unused, &mine->port);
    if (status < 0) {
        mine->port = 0;
        return cji_fail(group, CJ_NETWORK, cji_about_none(-status),
                        "cannot listen at %s for the socket ring: %s", host,
                        cji_errno_text(-status).text);
    }
    mine->nonce =
        cji_digest(cji_digest(now, (uint64_t)group->rank), mine->port);
    return CJ_OK;
}

/* Everybody hears of one that cannot listen: nobody waits for it. */
static int exchange_places(struct cj_group *group, struct opening *opening,
                           struct place *places)
{
    int status;

    opening->mine.err_no = group->error.err_no;
    group->step = CJ_STEP_EXCHANGE;
    status = cji_side_gather(group, &opening->mine, places, sizeof *places);
    if (group->error.code != CJ_OK)
        return group->error.code;
    for (int rank = 0; status == CJ_OK && rank < group->size; rank++) {
        const struct place *place = &places[rank];

        if (place->port == 0)
            return cji_fail(group, CJ_PEER_GONE,
                            cji_about_peer(rank, place->err_no),
                            "rank %d cannot listen for the socket ring (%s): "
                            "see its own error",
                            rank, cji_errno_text(place->err_no).text);
        if (place->host[0] == '\0' ||
            memchr(place->host, '\0', HOST_SIZE) == NULL)
            return cji_fail(group, CJ_PROTOCOL, cji_about_peer(rank, 0),
                            "what rank %d says about where it listens makes no "
                            "sense: all ranks need the same version of cjaccl",
                            rank);
    }
    return status;
}

/* A neighbour's link-local address is reached over one's own interface. */
static void complete_host(const struct opening *opening,
                          const struct place *place, char *host, size_t size)
{
    bool is_local = strncmp(place->host, "fe80:", 5) == 0;

    (void)snprintf(host, size, "%s%s", place->host,
                   is_local ? opening->scope : "");
}

/* It said that it listens, and does not any more. */
static int fail_gone(struct cj_group *group, int rank, int err_no)
{
    return cji_fail(group, CJ_PEER_GONE, cji_about_peer(rank, err_no),
                    "rank %d went away while the socket ring was connected "
                    "(%s): see its own error",
                    rank,
                    err_no == 0 ? "it closed its connection"
                                : cji_errno_text(err_no).text);
}

static int say_hello(struct cj_group *group, struct opening *opening,
                     const struct place *place)
{
    struct hello hello = {MAGIC, group->rank, place->nonce};
    const unsigned char *bytes = (const unsigned char *)&hello;
    size_t sent = 0;

    while (sent < sizeof hello) {
        int64_t n =
            group->net.send(group->net.ctx, opening->right, bytes + sent,
                            sizeof hello - sent, group->deadline);

        if (n <= 0 || (uint64_t)n > sizeof hello - sent)
            return fail_gone(group, right_of(group), n < 0 ? (int)-n : 0);
        sent += (size_t)n;
    }
    return CJ_OK;
}

/* It listens already, so one attempt has to do. */
static int connect_right(struct cj_group *group, struct opening *opening,
                         const struct place *place)
{
    char host[2 * HOST_SIZE];

    group->step = CJ_STEP_CONNECT;
    complete_host(opening, place, host, sizeof host);
    opening->right =
        group->net.connect(group->net.ctx, host, place->port, group->deadline);
    if (opening->right == -ECONNREFUSED || opening->right == -ECONNRESET)
        return fail_gone(group, right_of(group), -opening->right);
    if (opening->right < 0)
        return cji_fail(group,
                        opening->right == -ETIMEDOUT ? CJ_TIMEOUT : CJ_NETWORK,
                        cji_about_peer(right_of(group), -opening->right),
                        "cannot connect to rank %d at %s port %u: %s; the "
                        "ranks' machines have to reach each other at the "
                        "addresses from which they reach rank 0",
                        right_of(group), host, place->port,
                        cji_errno_text(-opening->right).text);
    return say_hello(group, opening, place);
}

static void drop_caller(struct cj_group *group, struct opening *opening,
                        int index)
{
    group->net.close(group->net.ctx, opening->callers[index].end);
    opening->callers[index] = opening->callers[--opening->count];
}

/* It has said all: the left neighbour, or a stranger. */
static void judge_caller(struct cj_group *group, struct opening *opening,
                         int index)
{
    const struct caller *caller = &opening->callers[index];

    if (caller->hello.magic != MAGIC ||
        caller->hello.nonce != opening->mine.nonce ||
        caller->hello.rank != left_of(group)) {
        drop_caller(group, opening, index);
        return;
    }
    opening->left = caller->end;
    opening->callers[index] = opening->callers[--opening->count];
}

static void hear_caller(struct cj_group *group, struct opening *opening,
                        int index, int64_t now)
{
    struct caller *caller = &opening->callers[index];
    size_t left = sizeof caller->hello - caller->got;
    int64_t n = group->net.recv(group->net.ctx, caller->end,
                                (unsigned char *)&caller->hello + caller->got,
                                left, now);

    if (n == -ETIMEDOUT && caller->deadline > now)
        return;
    if (n <= 0 || (uint64_t)n > left) {
        drop_caller(group, opening, index);
        return;
    }
    caller->got += (size_t)n;
    if (caller->got == sizeof caller->hello)
        judge_caller(group, opening, index);
}

static int admit_caller(struct cj_group *group, struct opening *opening,
                        int64_t now)
{
    int end = group->net.accept(group->net.ctx, opening->listener, now);
    struct caller *caller;

    if (end == -ETIMEDOUT)
        return CJ_OK;
    if (end < 0)
        return cji_fail(group, CJ_NETWORK, cji_about_none(-end),
                        "cannot accept the connection of rank %d: %s",
                        left_of(group), cji_errno_text(-end).text);
    caller = &opening->callers[opening->count++];
    memset(caller, 0, sizeof *caller);
    caller->end = end;
    caller->deadline = now + HELLO_TIMEOUT_NS;
    return CJ_OK;
}

/* Waits for anybody to come or to say something: an index, or -1 for none. */
static int await_caller(struct cj_group *group, const struct opening *opening,
                        int *ready)
{
    int64_t until = group->clock.now_ns(group->clock.ctx) + LOOK_NS;
    int ends[CALLERS_MAX + 1];
    int count = 0;

    for (int i = 0; i < opening->count; i++)
        ends[count++] = opening->callers[i].end;
    if (opening->count < CALLERS_MAX)
        ends[count++] = opening->listener;
    if (until > group->deadline)
        until = group->deadline;
    *ready = group->net.wait(group->net.ctx, ends, count, until);
    if (*ready == -ETIMEDOUT)
        *ready = -1;
    else if (*ready < 0 || *ready >= count)
        return cji_fail(
            group, CJ_NETWORK, cji_about_none(*ready < 0 ? -*ready : 0),
            "cannot wait for the connection of rank %d: %s", left_of(group),
            cji_errno_text(*ready < 0 ? -*ready : 0).text);
    return CJ_OK;
}

/* Those who were silent too long; and are the others still there? */
static int look_around(struct cj_group *group, struct opening *opening,
                       int64_t now)
{
    int gone;

    for (int i = opening->count - 1; i >= 0; i--) {
        if (opening->callers[i].deadline <= now)
            hear_caller(group, opening, i, now);
    }
    if (opening->left >= 0)
        return CJ_OK;
    gone = cji_side_gone(group);
    if (gone >= 0)
        return cji_notices_closed(group, gone);
    if (now < group->deadline)
        return CJ_OK;
    return cji_fail(group, CJ_TIMEOUT, cji_about_peer(left_of(group), 0),
                    "rank %d did not connect to rank %d within %.3g s: the "
                    "ranks' machines have to reach each other at the addresses "
                    "from which they reach rank 0",
                    left_of(group), group->rank, (double)group->timeout / 1e9);
}

static int accept_left(struct cj_group *group, struct opening *opening)
{
    int status = CJ_OK;

    group->step = CJ_STEP_ACCEPT;
    while (status == CJ_OK && opening->left < 0) {
        int ready;
        int64_t now;

        status = await_caller(group, opening, &ready);
        now = group->clock.now_ns(group->clock.ctx);
        if (status == CJ_OK && ready >= 0 && ready < opening->count)
            hear_caller(group, opening, ready, now);
        else if (status == CJ_OK && ready >= 0)
            status = admit_caller(group, opening, now);
        if (status == CJ_OK)
            status = look_around(group, opening, now);
    }
    return status;
}

static void close_end(struct cj_group *group, int end)
{
    if (end >= 0)
        group->net.close(group->net.ctx, end);
}

/* What is not needed any more, and after a failure all. */
static void close_opening(struct cj_group *group, struct opening *opening,
                          int status)
{
    close_end(group, opening->listener);
    while (opening->count > 0)
        drop_caller(group, opening, opening->count - 1);
    if (status == CJ_OK)
        return;
    close_end(group, opening->right);
    close_end(group, opening->left);
}

/* The links own the connections from here on, also when there is no memory. */
static int fill_links(struct cj_group *group, const struct opening *opening)
{
    group->ring = true;
    group->wires = 1;
    group->wire = CJI_WIRE_STREAM;
    group->transport = &cji_stream_transport;
    group->link_count = 2;
    for (int i = 0; i < 2; i++) {
        struct cji_link *link = &group->links[i];

        memset(link, 0, sizeof *link);
        link->to_left = i == 0;
        link->peer = i == 0 ? left_of(group) : right_of(group);
        link->socket = i == 0 ? opening->left : opening->right;
        link->depth = CJI_RING;
    }
    for (int i = 0; i < 2; i++) {
        group->links[i].stream = cji_stream_new(group);
        if (group->links[i].stream == NULL)
            return cji_fail(group, CJ_NO_MEMORY, cji_about_none(ENOMEM),
                            "no memory for the socket ring");
    }
    return CJ_OK;
}

static int connect_neighbours(struct cj_group *group, struct opening *opening)
{
    struct place places[CJ_MAX_RANKS];
    int status;

    group->step = CJ_STEP_LISTEN;
    status = find_host(group, opening);
    if (status == CJ_OK)
        (void)listen_there(group, opening);
    status = exchange_places(group, opening, places);
    if (status == CJ_OK)
        status = connect_right(group, opening, &places[right_of(group)]);
    if (status == CJ_OK)
        status = accept_left(group, opening);
    close_opening(group, opening, status);
    return status;
}

int cji_stream_start(struct cj_group *group)
{
    struct opening opening = {.listener = -1, .right = -1, .left = -1};
    int status = connect_neighbours(group, &opening);

    if (status == CJ_OK)
        status = fill_links(group, &opening);
    if (status == CJ_OK)
        status = cji_arena_alloc(group);
    if (status == CJ_OK)
        status = cji_engine_start(group);
    return status;
}
