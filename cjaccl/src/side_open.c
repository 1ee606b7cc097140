/* The side channel's start: who is who. */
#include "error.h"
#include "side.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Clients that were accepted and have not said their rank yet. */
#define PENDING_MAX 16
#define HELLO_TIMEOUT_NS ((int64_t)5 * 1000000000)

#define FIRST_PAUSE_NS ((int64_t)20 * 1000000)
#define LAST_PAUSE_NS ((int64_t)1000 * 1000000)

/* For the one attempt after a connection was reset. */
#define AGAIN_NS ((int64_t)5 * 1000000000)

#define NAME_SIZE 64

struct pending {
    int end;
    int64_t deadline;
    size_t got;
    unsigned char hello[sizeof(int32_t)];
};

struct door {
    int listener;
    int missing; /* ranks that have not come yet */
    int count;
    struct pending clients[PENDING_MAX];
    int dropped;
    char last_dropped[NAME_SIZE];
};

static void remove_client(struct door *door, int index)
{
    door->count--;
    door->clients[index] = door->clients[door->count];
}

/* A client that is none of ours: it closed early, or said nothing in time. */
static void drop_client(struct cj_group *group, struct door *door, int index)
{
    int end = door->clients[index].end;

    group->net.peer_name(group->net.ctx, end, door->last_dropped,
                         sizeof door->last_dropped);
    group->net.close(group->net.ctx, end);
    door->dropped++;
    remove_client(door, index);
}

/* A rank that came, and whose connection is closed by now. */
static bool has_left(const struct cj_group *group, int rank)
{
    return group->ends[rank] >= 0 &&
           group->net.alive(group->net.ctx, group->ends[rank]) != 0;
}

/* What came in place of a rank, as people know it from a dump: "GET ". */
static void describe_hello(const unsigned char *hello, char *text, size_t size)
{
    size_t used;

    (void)snprintf(text, size, "%02x %02x %02x %02x", hello[0], hello[1],
                   hello[2], hello[3]);
    for (size_t i = 0; i < sizeof(int32_t); i++) {
        if (hello[i] < 0x20 || hello[i] > 0x7e)
            return;
    }
    used = strlen(text);
    (void)snprintf(text + used, size - used, ", \"%.4s\"", (const char *)hello);
}

/* A rank of a group that was started wrongly, or a client that is none. Nobody
 * can tell, and a rank that waits for ever would be worse. */
static int refuse_rank(struct cj_group *group, const struct pending *client,
                       const char *name, int rank)
{
    char bytes[32];

    describe_hello(client->hello, bytes, sizeof bytes);
    return cji_fail(group, CJ_PROTOCOL, cji_about_none(0),
                    "%s says that it is rank %d of this group (its first bytes "
                    "are %s), which has the ranks 0 to %d, 0 being this one: "
                    "start it with its own rank and with the same device file; "
                    "if it is no rank at all but a stray client (a port "
                    "scanner, a web browser), keep it away from the "
                    "coordinator's port",
                    name, rank, bytes, group->size - 1);
}

static int seat_client(struct cj_group *group, struct door *door, int index)
{
    struct pending *client = &door->clients[index];
    char name[NAME_SIZE];
    int32_t rank;

    memcpy(&rank, client->hello, sizeof rank);
    group->net.peer_name(group->net.ctx, client->end, name, sizeof name);
    group->step = CJ_STEP_HELLO;
    if (rank < 1 || rank >= group->size)
        return refuse_rank(group, client, name, (int)rank);
    if (group->ends[rank] >= 0 && !has_left(group, rank))
        return cji_fail(group, CJ_PROTOCOL, cji_about_peer(rank, 0),
                        "%s says that it is rank %d, as another process did "
                        "before: every process needs a rank of its own",
                        name, (int)rank);
    group->step = CJ_STEP_ACCEPT;
    if (group->ends[rank] >= 0)
        group->net.close(group->net.ctx, group->ends[rank]);
    else
        door->missing--;
    group->ends[rank] = client->end;
    remove_client(door, index);
    return CJ_OK;
}

static int hear_client(struct cj_group *group, struct door *door, int index,
                       int64_t now)
{
    struct pending *client = &door->clients[index];
    int64_t n = group->net.recv(group->net.ctx, client->end,
                                client->hello + client->got,
                                sizeof client->hello - client->got, now);

    if (n == -ETIMEDOUT)
        return CJ_OK;
    if (n <= 0 || (uint64_t)n > sizeof client->hello - client->got) {
        drop_client(group, door, index);
        return CJ_OK;
    }
    client->got += (size_t)n;
    if (client->got < sizeof client->hello)
        return CJ_OK;
    return seat_client(group, door, index);
}

static int admit_client(struct cj_group *group, struct door *door, int64_t now)
{
    int end = group->net.accept(group->net.ctx, door->listener, now);
    struct pending *client;

    /* It may have left between the wait and this. */
    if (end == -ETIMEDOUT)
        return CJ_OK;
    if (end < 0)
        return cji_fail(group, CJ_NETWORK, cji_about_none(-end),
                        "rank 0 cannot accept the other ranks' connections: %s",
                        cji_errno_text(-end).text);
    client = &door->clients[door->count++];
    memset(client, 0, sizeof *client);
    client->end = end;
    client->deadline = now + HELLO_TIMEOUT_NS;
    return CJ_OK;
}

/* When the next client's time is over, or the whole start's. */
static int64_t next_deadline(const struct cj_group *group,
                             const struct door *door)
{
    int64_t deadline = group->deadline;

    for (int i = 0; i < door->count; i++) {
        if (door->clients[i].deadline < deadline)
            deadline = door->clients[i].deadline;
    }
    return deadline;
}

/* What they said in time counts, even if this rank had no time to listen. */
static int drop_silent_clients(struct cj_group *group, struct door *door,
                               int64_t now)
{
    for (int i = door->count - 1; i >= 0; i--) {
        int end = door->clients[i].end;
        int status;

        if (door->clients[i].deadline > now)
            continue;
        status = hear_client(group, door, i, now);
        if (status != CJ_OK)
            return status;
        if (i < door->count && door->clients[i].end == end)
            drop_client(group, door, i);
    }
    return CJ_OK;
}

/* Ranks in words: "1, 3 to 7, 9". */
struct rank_list {
    int first;
    int count;
    int run_first; /* the run that is not written yet */
    int run_last;
    char text[64];
};

/* Leaves room for ", ..." at the end. */
static void write_run(struct rank_list *list)
{
    size_t used = strlen(list->text);
    const char *comma = used == 0 ? "" : ", ";
    int first = list->run_first;
    int last = list->run_last;

    if (used > sizeof list->text - 20)
        (void)snprintf(list->text + used, sizeof list->text - used, "%s",
                       list->text[used - 1] == '.' ? "" : ", ...");
    else if (last == first)
        (void)snprintf(list->text + used, sizeof list->text - used, "%s%d",
                       comma, first);
    else
        (void)snprintf(list->text + used, sizeof list->text - used, "%s%d%s%d",
                       comma, first, last == first + 1 ? ", " : " to ", last);
}

static void add_rank(struct rank_list *list, int rank)
{
    if (list->count++ == 0) {
        list->first = rank;
        list->run_first = rank;
    } else if (rank != list->run_last + 1) {
        write_run(list);
        list->run_first = rank;
    }
    list->run_last = rank;
}

static int fail_missing(struct cj_group *group, const struct door *door)
{
    struct rank_list missing = {.count = 0};
    struct rank_list left = {.count = 0};
    char leavers[128] = "";
    char strays[192] = "";

    for (int rank = 1; rank < group->size; rank++) {
        if (group->ends[rank] < 0)
            add_rank(&missing, rank);
        else if (has_left(group, rank))
            add_rank(&left, rank);
    }
    write_run(&missing);
    if (left.count > 0)
        write_run(&left);
    if (left.count > 0)
        (void)snprintf(leavers, sizeof leavers,
                       " (and rank%s %s came and went away again)",
                       left.count == 1 ? "" : "s", left.text);
    if (door->dropped > 0)
        (void)snprintf(strays, sizeof strays,
                       " (dropped %d connection%s that did not say a rank, "
                       "the last from %s)",
                       door->dropped, door->dropped == 1 ? "" : "s",
                       door->last_dropped);
    return cji_fail(group, CJ_TIMEOUT, cji_about_peer(missing.first, 0),
                    "rank%s %s did not connect to rank 0 within %.3g s%s%s: "
                    "are they started, and can they reach the coordinator's "
                    "address?",
                    missing.count == 1 ? "" : "s", missing.text,
                    (double)group->timeout / 1e9, leavers, strays);
}

/* One wait and what follows from it. The time counts also while many come. */
static int serve_door(struct cj_group *group, struct door *door)
{
    int ends[PENDING_MAX + 1];
    int count = 0;
    int status = CJ_OK;
    int ready;
    int64_t now;

    for (int i = 0; i < door->count; i++)
        ends[count++] = door->clients[i].end;
    /* When there is no room for another client, it has to wait outside. */
    if (door->count < PENDING_MAX)
        ends[count++] = door->listener;
    ready = group->net.wait(group->net.ctx, ends, count,
                            next_deadline(group, door));
    now = group->clock.now_ns(group->clock.ctx);
    if (ready >= count || (ready < 0 && ready != -ETIMEDOUT))
        return cji_fail(group, CJ_NETWORK,
                        cji_about_none(ready < 0 ? -ready : 0),
                        "rank 0 cannot wait for the other ranks: %s",
                        cji_errno_text(ready < 0 ? -ready : 0).text);
    if (ready >= 0 && ready < door->count)
        status = hear_client(group, door, ready, now);
    else if (ready >= 0)
        status = admit_client(group, door, now);
    if (status == CJ_OK)
        status = drop_silent_clients(group, door, now);
    if (status == CJ_OK && door->missing > 0 && now >= group->deadline)
        status = fail_missing(group, door);
    return status;
}

static int accept_all(struct cj_group *group, struct door *door)
{
    int status = CJ_OK;

    group->step = CJ_STEP_ACCEPT;
    while (status == CJ_OK && door->missing > 0)
        status = serve_door(group, door);
    for (int i = 0; i < door->count; i++)
        group->net.close(group->net.ctx, door->clients[i].end);
    return status;
}

/* Of a transport that was given a name: ENOENT is about no file. */
static struct cji_errno_text address_error_text(int err_no)
{
    struct cji_errno_text text = cji_errno_text(err_no);

    if (err_no == ENOENT)
        (void)snprintf(text.text, sizeof text.text, "the name is unknown");
    return text;
}

static int open_as_coordinator(struct cj_group *group,
                               const struct cji_address *address)
{
    struct door door = {.missing = group->size - 1};
    int status;

    group->step = CJ_STEP_LISTEN;
    door.listener =
        group->net.listen(group->net.ctx, address->host, address->port);
    if (door.listener < 0)
        return cji_fail(group, CJ_NETWORK, cji_about_none(-door.listener),
                        "rank 0 cannot listen at %s port %u: %s; the "
                        "coordinator has to be an address of rank 0's machine "
                        "and the port has to be free",
                        address->host, address->port,
                        address_error_text(-door.listener).text);
    status = accept_all(group, &door);
    group->net.close(group->net.ctx, door.listener);
    return status;
}

/* Failures that pass once the coordinator is up, or a network is. */
static bool worth_another_try(int err_no)
{
    switch (err_no) {
    case ECONNREFUSED:
    case ECONNRESET:
    case ECONNABORTED:
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case EHOSTDOWN:
    case ENETUNREACH:
    case ENETDOWN:
    case EADDRNOTAVAIL:
    case EAGAIN:
        return true;
    default:
        return false;
    }
}

/* Tries until the coordinator is there: it may be started later than this. */
static int connect_to_coordinator(struct cj_group *group,
                                  const struct cji_address *address)
{
    int64_t pause = FIRST_PAUSE_NS;

    group->step = CJ_STEP_CONNECT;
    for (;;) {
        int end = group->net.connect(group->net.ctx, address->host,
                                     address->port, group->deadline);
        int64_t now = group->clock.now_ns(group->clock.ctx);
        int64_t until = now + pause;

        if (end >= 0) {
            group->ends[0] = end;
            return CJ_OK;
        }
        if (!worth_another_try(-end))
            return cji_fail(group, CJ_NETWORK, cji_about_peer(0, -end),
                            "cannot connect to the coordinator %s port %u: %s",
                            address->host, address->port,
                            address_error_text(-end).text);
        if (now >= group->deadline)
            return cji_fail(group, CJ_TIMEOUT, cji_about_peer(0, -end),
                            "the coordinator %s port %u could not be reached "
                            "within %.3g s (at last: %s): is rank 0 started, "
                            "and is this its address?",
                            address->host, address->port,
                            (double)group->timeout / 1e9,
                            cji_errno_text(-end).text);
        if (until > group->deadline)
            until = group->deadline;
        group->clock.sleep(group->clock.ctx, until);
        pause = pause * 2 > LAST_PAUSE_NS ? LAST_PAUSE_NS : pause * 2;
    }
}

static int say_hello(struct cj_group *group)
{
    int32_t rank = group->rank;
    const unsigned char *bytes = (const unsigned char *)&rank;
    size_t sent = 0;

    group->step = CJ_STEP_HELLO;
    while (sent < sizeof rank) {
        int64_t n =
            group->net.send(group->net.ctx, group->ends[0], bytes + sent,
                            sizeof rank - sent, group->deadline);

        if (n <= 0)
            return cji_side_fail_gone(group, 0, (int)-n);
        sent += (size_t)n;
    }
    return CJ_OK;
}

int cji_side_open_again(struct cj_group *group)
{
    const struct cji_address *address = &group->coordinator;
    int64_t until = group->clock.now_ns(group->clock.ctx) + AGAIN_NS;
    enum cj_step step = group->step;
    int status;
    int end;

    if (until > group->deadline)
        until = group->deadline;
    end =
        group->net.connect(group->net.ctx, address->host, address->port, until);
    if (end < 0)
        return cji_side_fail_gone(group, 0, group->side_err_no);
    group->net.close(group->net.ctx, group->ends[0]);
    group->ends[0] = end;
    status = say_hello(group);
    group->step = step;
    return status;
}

int cji_side_open(struct cj_group *group, const struct cji_address *address)
{
    int status;

    if (group->gather.all_gather != NULL)
        return CJ_OK;
    group->coordinator = *address;
    if (group->rank == 0)
        return open_as_coordinator(group, address);
    status = connect_to_coordinator(group, address);
    if (status == CJ_OK)
        status = say_hello(group);
    if (status != CJ_OK && cji_side_may_open_again(group)) {
        group->answered = true;
        memset(&group->error, 0, sizeof group->error);
        status = cji_side_open_again(group);
    }
    return status;
}
