/* The side channel in use: all-gather and liveness. */
#include "side.h"

#include "defaults.h"
#include "error.h"
#include "notice.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

void cji_side_close(struct cj_group *group)
{
    for (int rank = 0; rank < group->size; rank++) {
        if (group->ends[rank] >= 0)
            group->net.close(group->net.ctx, group->ends[rank]);
        group->ends[rank] = -1;
    }
}

void cji_side_drop(struct cj_group *group)
{
    for (int rank = 0; rank < group->size; rank++) {
        if (group->ends[rank] >= 0 && group->net.close == cji_default_net.close)
            cji_default_net_drop(group->ends[rank]);
        group->ends[rank] = -1;
    }
}

int cji_side_gone(const struct cj_group *group)
{
    for (int rank = 0; rank < group->size; rank++) {
        if (group->ends[rank] >= 0 &&
            group->net.alive(group->net.ctx, group->ends[rank]) != 0)
            return rank;
    }
    return -1;
}

/* Rank 0 hears from everybody, the others from rank 0 only. */
int cji_side_fail_gone(struct cj_group *group, int peer, int err_no)
{
    const char *step = cj_strstep(group->step);

    group->side_err_no = err_no;
    if (err_no == ETIMEDOUT)
        return cji_fail(group, CJ_TIMEOUT, cji_about_peer(peer, err_no),
                        "%s: rank %d was silent on the side channel for %.3g "
                        "s: is it still running, and does it do the same?",
                        step, peer, (double)group->timeout / 1e9);
    if (group->rank == 0)
        return cji_fail(group, CJ_PEER_GONE, cji_about_peer(peer, err_no),
                        "%s: rank %d went away (%s): see its own error", step,
                        peer,
                        err_no == 0 ? "it closed its connection"
                                    : cji_errno_text(err_no).text);
    return cji_fail(group, CJ_PEER_GONE, cji_about_peer(peer, err_no),
                    "%s: rank 0 went away (%s): it failed, or another rank did "
                    "and rank 0 with it, or it was through and left: see their "
                    "own errors",
                    step,
                    err_no == 0 ? "it closed its connection"
                                : cji_errno_text(err_no).text);
}

/* A transport that the configuration brought can be wrong. */
static int fail_count(struct cj_group *group, int64_t n, size_t size)
{
    return cji_fail(group, CJ_NETWORK, cji_about_none(0),
                    "the side channel's transport answered %lld of %zu bytes",
                    (long long)n, size);
}

static int send_all(struct cj_group *group, int peer, const void *data,
                    size_t size)
{
    const unsigned char *bytes = data;

    while (size > 0) {
        int64_t n = group->net.send(group->net.ctx, group->ends[peer], bytes,
                                    size, group->deadline);

        if (n <= 0)
            return cji_side_fail_gone(group, peer, (int)-n);
        if ((uint64_t)n > size)
            return fail_count(group, n, size);
        bytes += n;
        size -= (size_t)n;
    }
    return CJ_OK;
}

/*
 * Rank 0 has answered, and not with as much as there is to come. In time that
 * would come, if it knew of as many ranks as this one.
 */
static int fail_short(struct cj_group *group, size_t got, size_t size)
{
    return cji_fail(group, CJ_TIMEOUT, cji_about_peer(0, ETIMEDOUT),
                    "%s: rank 0 answered with %zu of %zu bytes and was silent "
                    "then, for %.3g s in all: do all ranks have the same "
                    "device file? This one's has %d ranks",
                    cj_strstep(group->step), got, size,
                    (double)group->timeout / 1e9, group->size);
}

static int recv_answer(struct cj_group *group, void *data, size_t size)
{
    unsigned char *bytes = data;
    size_t got = 0;

    while (got < size) {
        int64_t n = group->net.recv(group->net.ctx, group->ends[0], bytes + got,
                                    size - got, group->deadline);

        if (n == -ETIMEDOUT && got > 0)
            return fail_short(group, got, size);
        if (n <= 0)
            return cji_side_fail_gone(group, 0, (int)-n);
        if ((uint64_t)n > size - got)
            return fail_count(group, n, size - got);
        got += (size_t)n;
        group->answered = true;
        if (cji_notices_is_one(group, data, got, size))
            return cji_notices_interrupt(group, 0, data, got);
    }
    return CJ_OK;
}

static int ask(struct cj_group *group, const void *mine, void *all, size_t size)
{
    int status;

    group->side_err_no = 0;
    status = send_all(group, 0, mine, size);
    return status != CJ_OK
               ? status
               : recv_answer(group, all, (size_t)group->size * size);
}

bool cji_side_may_open_again(const struct cj_group *group)
{
    return !group->answered &&
           (group->side_err_no == ECONNRESET ||
            group->side_err_no == ECONNABORTED || group->side_err_no == EPIPE);
}

/* A rank that was lost at rank 0's door says everything once more. */
static int ask_rank_0(struct cj_group *group, const void *mine, void *all,
                      size_t size)
{
    struct cj_error before = group->error;
    int status = ask(group, mine, all, size);

    if (status == CJ_OK || !cji_side_may_open_again(group))
        return status;
    group->answered = true;
    group->error = before;
    status = cji_side_open_again(group);
    return status != CJ_OK ? status : ask(group, mine, all, size);
}

/* How often those are looked at whose unread bytes hide what comes after. */
#define LOOK_NS ((int64_t)1000000000)

/* The peers' blocks; how much of each is here. */
struct collection {
    unsigned char *all;
    size_t size;
    size_t got[CJ_MAX_RANKS];
    bool ahead[CJ_MAX_RANKS]; /* sent more than its block */
};

static bool is_complete(const struct collection *all, int rank)
{
    return all->got[rank] == all->size;
}

static int first_incomplete(const struct cj_group *group,
                            const struct collection *all)
{
    int rank = 1;

    while (rank < group->size - 1 && is_complete(all, rank))
        rank++;
    return rank;
}

/* Until when to wait: those who are ahead are not waited for, but looked at. */
static int64_t next_look(const struct cj_group *group,
                         const struct collection *all)
{
    for (int rank = 1; rank < group->size; rank++) {
        int64_t now;

        if (!all->ahead[rank])
            continue;
        now = group->clock.now_ns(group->clock.ctx);
        return group->deadline - now > LOOK_NS ? now + LOOK_NS
                                               : group->deadline;
    }
    return group->deadline;
}

static int look_at_those_ahead(struct cj_group *group,
                               const struct collection *all)
{
    for (int rank = 1; rank < group->size; rank++) {
        if (all->ahead[rank] &&
            group->net.alive(group->net.ctx, group->ends[rank]) != 0)
            return cji_side_fail_gone(group, rank, 0);
    }
    return CJ_OK;
}

/*
 * Waits for any of the peers: its rank, 0 to look again, or a negative status.
 * Also for those whose block is complete: they wait for the answer, so all that
 * can come from them is the end of their connection.
 */
static int wait_for_any(struct cj_group *group, const struct collection *all)
{
    int ends[CJ_MAX_RANKS];
    int ranks[CJ_MAX_RANKS] = {0};
    int64_t until = next_look(group, all);
    int count = 0;
    int ready;

    for (int rank = 1; rank < group->size; rank++) {
        if (all->ahead[rank])
            continue;
        ends[count] = group->ends[rank];
        ranks[count++] = rank;
    }
    ready = group->net.wait(group->net.ctx, ends, count, until);
    if (ready == -ETIMEDOUT && until < group->deadline)
        return look_at_those_ahead(group, all);
    if (ready < 0)
        return cji_side_fail_gone(group, first_incomplete(group, all), -ready);
    if (ready >= count)
        return cji_fail(group, CJ_NETWORK, cji_about_none(0),
                        "the side channel's wait answered %d of %d connections",
                        ready, count);
    return ranks[ready];
}

/* A peer stirs that has sent its block: it has gone, or is ahead of us. */
static int look_after(struct cj_group *group, struct collection *all, int rank)
{
    int status = group->net.alive(group->net.ctx, group->ends[rank]);

    if (status != 0)
        return cji_side_fail_gone(group, rank, 0);
    all->ahead[rank] = true;
    return CJ_OK;
}

static int collect(struct cj_group *group, struct collection *all)
{
    int incomplete = group->size - 1;

    while (incomplete > 0) {
        int rank = wait_for_any(group, all);
        unsigned char *block;
        int64_t n;

        if (rank < 0)
            return rank;
        if (rank == 0)
            continue;
        if (is_complete(all, rank)) {
            int status = look_after(group, all, rank);

            if (status != CJ_OK)
                return status;
            continue;
        }
        block = all->all + (size_t)rank * all->size;
        n = group->net.recv(group->net.ctx, group->ends[rank],
                            block + all->got[rank], all->size - all->got[rank],
                            group->deadline);
        if (n <= 0)
            return cji_side_fail_gone(group, rank, (int)-n);
        if ((uint64_t)n > all->size - all->got[rank])
            return fail_count(group, n, all->size - all->got[rank]);
        all->got[rank] += (size_t)n;
        if (cji_notices_is_one(group, block, all->got[rank], all->size))
            return cji_notices_interrupt(group, rank, block, all->got[rank]);
        if (is_complete(all, rank))
            incomplete--;
    }
    return CJ_OK;
}

static int gather_by_caller(struct cj_group *group, const void *mine, void *all,
                            size_t size)
{
    int answer = group->gather.all_gather(group->gather.ctx, mine, all, size);
    int err_no = answer < 0 && answer != INT_MIN ? -answer : 0;

    if (answer == 0)
        return CJ_OK;
    return cji_fail(group, CJ_NETWORK, cji_about_none(err_no),
                    "%s: the all-gather that the configuration brought failed: "
                    "%s",
                    cj_strstep(group->step), cji_errno_text(err_no).text);
}

int cji_side_gather(struct cj_group *group, const void *mine, void *all,
                    size_t size)
{
    struct collection collection = {.all = all, .size = size};
    int status;

    if (group->gather.all_gather != NULL)
        return gather_by_caller(group, mine, all, size);
    if (group->rank != 0)
        return ask_rank_0(group, mine, all, size);
    memcpy(all, mine, size);
    status = collect(group, &collection);
    for (int rank = 1; status == CJ_OK && rank < group->size; rank++)
        status = send_all(group, rank, all, (size_t)group->size * size);
    return status;
}
