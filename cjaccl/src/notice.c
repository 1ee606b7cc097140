#include "notice.h"

#include "error.h"
#include "side.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* How long the rest of a notice may take that has begun. */
#define REST_NS ((int64_t)250000000)

/* "Do not wait." */
#define NOW INT64_MIN

/* Two digests, which are equal where they are sound: of fewer bytes nobody can
 * tell that they begin a notice. */
#define SHORTEST (2 * sizeof(int32_t))

static const char notice_text[12] = "cj notice 1";

void cji_notices_allow(struct cj_group *group)
{
    group->may_notify = group->all_cjaccl && group->gather.all_gather == NULL;
    group->failed = -1;
}

void cji_notices_begin(struct cj_group *group)
{
    group->has_notices = group->may_notify;
}

/* What cannot be sent now is not sent: who does not read it sees the end. */
static void send_to(struct cj_group *group, int rank,
                    const struct cji_notice *notice)
{
    const unsigned char *bytes = (const unsigned char *)notice;
    size_t sent = 0;

    while (sent < sizeof *notice) {
        size_t left = sizeof *notice - sent;
        int64_t n = group->net.send(group->net.ctx, group->ends[rank],
                                    bytes + sent, left, NOW);

        if (n <= 0 || (uint64_t)n > left)
            return;
        sent += (size_t)n;
    }
}

static void send_to_all(struct cj_group *group, const struct cji_notice *notice)
{
    for (int rank = 0; rank < group->size; rank++) {
        if (group->ends[rank] >= 0)
            send_to(group, rank, notice);
    }
}

/* Every byte is initialized, also those that nobody reads. */
static void begin_notice(const struct cj_group *group,
                         struct cji_notice *notice, enum cji_presence presence,
                         int rank)
{
    memset(notice, 0, sizeof *notice);
    memcpy(notice->text, notice_text, sizeof notice->text);
    notice->presence = (int32_t)presence;
    notice->rank = rank;
    notice->peer = rank;
    notice->collectives = group->collectives;
}

/* The first that failed is kept: the others failed because of it. */
static void keep(struct cj_group *group, const struct cji_notice *notice)
{
    if (group->presence[notice->rank] != CJI_HERE)
        return;
    group->presence[notice->rank] = (uint8_t)notice->presence;
    group->last[notice->rank] = notice->collectives;
    group->departures++;
    if (notice->presence != CJI_LEFT && group->failed < 0) {
        group->failed = notice->rank;
        group->failure = *notice;
    }
}

static void close_end(struct cj_group *group, int rank)
{
    group->net.close(group->net.ctx, group->ends[rank]);
    group->ends[rank] = -1;
}

/* The rank at the other end is out of the group: the others shall know. */
static void see_off(struct cj_group *group, int rank,
                    const struct cji_notice *notice)
{
    close_end(group, rank);
    keep(group, notice);
    if (group->rank == 0)
        send_to_all(group, notice);
}

static void lose(struct cj_group *group, int rank, const char *how)
{
    struct cji_notice notice;

    begin_notice(group, &notice, CJI_LOST, rank);
    notice.code = CJ_PEER_GONE;
    notice.step = group->step;
    (void)snprintf(notice.message, sizeof notice.message, "%s", how);
    see_off(group, rank, &notice);
}

static int64_t rest_deadline(const struct cj_group *group)
{
    return group->clock.now_ns(group->clock.ctx) + REST_NS;
}

/* `got` bytes are here. 1: a notice is; 0: none; negative: the connection is of
 * no use. */
static int receive(struct cj_group *group, int rank, struct cji_notice *notice,
                   size_t got)
{
    unsigned char *bytes = (unsigned char *)notice;
    int64_t until = got == 0 ? NOW : rest_deadline(group);

    while (got < sizeof *notice) {
        size_t left = sizeof *notice - got;
        int64_t n = group->net.recv(group->net.ctx, group->ends[rank],
                                    bytes + got, left, until);

        if (n == -ETIMEDOUT && got == 0)
            return 0;
        if (n <= 0 || (uint64_t)n > left)
            return -1;
        if (got == 0)
            until = rest_deadline(group);
        got += (size_t)n;
    }
    return 1;
}

/* Rank 0 tells of everybody, the others of themselves. */
static bool is_sound(const struct cj_group *group, int from,
                     const struct cji_notice *notice)
{
    bool names_sender = notice->rank == from;

    return memcmp(notice->text, notice_text, sizeof notice->text) == 0 &&
           notice->presence > CJI_HERE && notice->presence <= CJI_LOST &&
           (names_sender || from == 0) && notice->rank >= 0 &&
           notice->rank < group->size && notice->rank != group->rank &&
           notice->peer >= 0 && notice->peer < group->size &&
           notice->step >= 0 && notice->step < CJ_STEP_COUNT;
}

/* Reads one of which `got` bytes are here: false when that rank has nothing
 * more to say. */
static bool hear(struct cj_group *group, int rank, struct cji_notice *notice,
                 size_t got)
{
    int answer = receive(group, rank, notice, got);

    if (answer == 0)
        return false;
    if (answer < 0) {
        lose(group, rank, "it closed its connection");
        return false;
    }
    cji_tame(notice->message, sizeof notice->message);
    if (!is_sound(group, rank, notice)) {
        lose(group, rank, "it sent what no rank of cjaccl sends");
        return false;
    }
    if (notice->rank == rank) {
        see_off(group, rank, notice);
        return false;
    }
    keep(group, notice);
    return true;
}

void cji_notices_read(struct cj_group *group)
{
    struct cji_notice notice;

    if (!group->has_notices)
        return;
    for (int rank = 0; rank < group->size; rank++) {
        /* There is no more to tell than of each rank one thing. */
        for (int i = 0; i < group->size && group->ends[rank] >= 0; i++) {
            if (!hear(group, rank, &notice, 0))
                break;
        }
    }
}

bool cji_notices_is_one(const struct cj_group *group, const void *block,
                        size_t got, size_t size)
{
    size_t enough = sizeof notice_text;

    if (size < enough)
        enough = size;
    return group->may_notify && size >= SHORTEST && got >= enough &&
           memcmp(block, notice_text, enough) == 0;
}

/* What comes behind it is another, and too late to matter: a passed-on one goes
 * before that of rank 0 itself. */
int cji_notices_interrupt(struct cj_group *group, int from, const void *block,
                          size_t got)
{
    struct cji_notice notice = {.rank = from};
    int gone;

    got = got < sizeof notice ? got : sizeof notice;
    memcpy(&notice, block, got);
    (void)hear(group, from, &notice, got);
    /* One that left is missed here before there was a collective. */
    gone = cji_notices_gone(group);
    return cji_notices_fail(group, gone >= 0 ? gone : (int)notice.rank);
}

int cji_notices_closed(struct cj_group *group, int rank)
{
    struct cji_notice notice = {.rank = rank};

    if (!group->may_notify || group->rank == 0 ||
        receive(group, rank, &notice, 0) <= 0)
        return cji_side_fail_gone(group, rank, 0);
    return cji_notices_interrupt(group, rank, &notice, sizeof notice);
}

/*
 * In a gather: what came and was not read. One that closes with bytes unread
 * could lose what it says at last. A rank has said one thing and waits; who
 * says more is not listened to for long.
 */
static void read_away(struct cj_group *group)
{
    unsigned char bytes[512];

    for (int rank = 0; rank < group->size; rank++) {
        for (int i = 0; i < 4 && group->ends[rank] >= 0; i++) {
            if (group->net.recv(group->net.ctx, group->ends[rank], bytes,
                                sizeof bytes, NOW) <= 0)
                break;
        }
    }
}

static const char *skip(const char *text, const char *start)
{
    size_t length = strlen(start);

    return strncmp(text, start, length) == 0 ? text + length : text;
}

/* The text without what begins every message: the notice says whose it is, and
 * in which step. */
static const char *text_of(const struct cj_error *error)
{
    const char *text = error->message;
    char start[64];

    (void)snprintf(start, sizeof start, "cjaccl: rank %d: ", error->rank);
    text = skip(text, start);
    (void)snprintf(start, sizeof start, "%s: ", cj_strstep(error->step));
    return skip(text, start);
}

void cji_notices_send(struct cj_group *group)
{
    const struct cj_error *error = &group->error;
    struct cji_notice notice;

    if (!group->may_notify)
        return;
    /* Rank 0 passes on what it did not read so far; and one that closes with
     * bytes unread could lose what it says here. */
    if (group->has_notices)
        cji_notices_read(group);
    else
        read_away(group);
    begin_notice(group, &notice, error->code == CJ_OK ? CJI_LEFT : CJI_FAILED,
                 group->rank);
    if (error->code != CJ_OK) {
        notice.code = error->code;
        notice.step = (int32_t)error->step;
        if (error->code == CJ_PEER_GONE && error->peer >= 0)
            notice.peer = error->peer;
        (void)snprintf(notice.message, sizeof notice.message, "%.219s",
                       text_of(error));
    }
    send_to_all(group, &notice);
}

int cji_notices_gone(const struct cj_group *group)
{
    if (group->departures == 0)
        return -1;
    if (group->failed >= 0)
        return group->failed;
    for (int rank = 0; rank < group->size; rank++) {
        if (group->presence[rank] == CJI_LEFT &&
            (int32_t)(group->collectives - group->last[rank]) > 0)
            return rank;
    }
    return -1;
}

int cji_notices_fail(struct cj_group *group, int rank)
{
    const struct cji_notice *notice = &group->failure;
    const char *step = cj_strstep(group->step);

    if (group->presence[rank] == CJI_LEFT)
        return cji_fail(group, CJ_PEER_GONE, cji_about_peer(rank, 0),
                        "%s: rank %d has left the group (it called "
                        "cj_finalize()), and this needs it: all ranks have to "
                        "make the same calls",
                        step, rank);
    if (notice->presence == CJI_LOST)
        return cji_fail(group, CJ_PEER_GONE, cji_about_peer(rank, 0),
                        "%s: rank %d went away (%s): see its own error", step,
                        rank, notice->message);
    return cji_fail(group, CJ_PEER_GONE, cji_about_peer(notice->peer, 0),
                    "%s: rank %d failed, in %s: %s", step, rank,
                    cj_strstep(notice->step), notice->message);
}
