/* The side channel in use: all-gather and liveness. */
#include "side.h"

#include "error.h"

#include <errno.h>
#include <string.h>

void cji_side_close(struct cj_group *group)
{
    for (int rank = 0; rank < CJ_MAX_RANKS; rank++) {
        if (group->ends[rank] >= 0)
            group->net.close(group->net.ctx, group->ends[rank]);
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

static int send_all(struct cj_group *group, int peer, const void *data,
                    size_t size)
{
    const unsigned char *bytes = data;

    while (size > 0) {
        int64_t n = group->net.send(group->net.ctx, group->ends[peer], bytes,
                                    size, group->deadline);

        if (n <= 0)
            return cji_side_fail_gone(group, peer, (int)-n);
        bytes += n;
        size -= (size_t)n;
    }
    return CJ_OK;
}

static int recv_all(struct cj_group *group, int peer, void *data, size_t size)
{
    unsigned char *bytes = data;

    while (size > 0) {
        int64_t n = group->net.recv(group->net.ctx, group->ends[peer], bytes,
                                    size, group->deadline);

        if (n <= 0)
            return cji_side_fail_gone(group, peer, (int)-n);
        bytes += n;
        size -= (size_t)n;
    }
    return CJ_OK;
}

/* The peers whose blocks are not complete yet; how much of each is here. */
struct collection {
    unsigned char *all;
    size_t size;
    size_t got[CJ_MAX_RANKS];
};

/* Waits for any of the incomplete peers: its rank, or a negative status. */
static int wait_for_any(struct cj_group *group, const struct collection *all)
{
    int ends[CJ_MAX_RANKS];
    int ranks[CJ_MAX_RANKS] = {0};
    int count = 0;
    int ready;

    for (int rank = 1; rank < group->size; rank++) {
        if (all->got[rank] == all->size)
            continue;
        ends[count] = group->ends[rank];
        ranks[count++] = rank;
    }
    ready = group->net.wait(group->net.ctx, ends, count, group->deadline);
    if (ready < 0)
        return cji_side_fail_gone(group, ranks[0], -ready);
    if (ready >= count)
        return cji_fail(group, CJ_NETWORK, cji_about_none(0),
                        "the side channel's wait answered %d of %d connections",
                        ready, count);
    return ranks[ready];
}

static int collect(struct cj_group *group, struct collection *all)
{
    int incomplete = group->size - 1;

    while (incomplete > 0) {
        int rank = wait_for_any(group, all);
        int64_t n;

        if (rank < 0)
            return rank;
        n = group->net.recv(group->net.ctx, group->ends[rank],
                            all->all + (size_t)rank * all->size +
                                all->got[rank],
                            all->size - all->got[rank], group->deadline);
        if (n <= 0)
            return cji_side_fail_gone(group, rank, (int)-n);
        all->got[rank] += (size_t)n;
        if (all->got[rank] == all->size)
            incomplete--;
    }
    return CJ_OK;
}

int cji_side_gather(struct cj_group *group, const void *mine, void *all,
                    size_t size)
{
    struct collection collection = {.all = all, .size = size};
    size_t whole = (size_t)group->size * size;
    int status;

    if (group->rank != 0) {
        status = send_all(group, 0, mine, size);
        return status != CJ_OK ? status : recv_all(group, 0, all, whole);
    }
    memcpy(all, mine, size);
    status = collect(group, &collection);
    for (int rank = 1; status == CJ_OK && rank < group->size; rank++)
        status = send_all(group, rank, all, whole);
    return status;
}
