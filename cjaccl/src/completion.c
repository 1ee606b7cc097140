#include "completion.h"

#include "error.h"
#include "side.h"

/* No more can be outstanding at one peer. */
#define COMPLETIONS (2 * CJI_SLOTS)

/* A peer that is through may leave before its last message is here. */
#define FAREWELL_NS ((int64_t)250000000)

static int fail_status(struct cj_group *group, int peer, int status)
{
    const char *advice = "the cable or the peer's queue pair may be gone";

    if (status == IBV_WC_LOC_LEN_ERR)
        advice = "the peer's message has another size: all ranks need the same "
                 "count and type, and systems that use the same sizes";
    else if (status == IBV_WC_WR_FLUSH_ERR)
        advice = "its queue pair has failed: see the errors of the other ranks";
    return cji_fail(group, CJ_COMPLETION, cji_about_link(group, peer, 0),
                    "%s: device %s completed work for rank %d with an error: "
                    "%s; %s",
                    cj_strstep(group->step),
                    group->connections[peer].device->name, peer,
                    cji_wc_status_text(status).text, advice);
}

static int fail_garbled(struct cj_group *group, int peer, const char *what)
{
    return cji_fail(group, CJ_COMPLETION, cji_about_link(group, peer, 0),
                    "%s: device %s %s of rank %d: its driver is out of order, "
                    "and the data cannot be trusted",
                    cj_strstep(group->step),
                    group->connections[peer].device->name, what, peer);
}

static struct cji_work *find_work(struct cji_work works[CJI_SLOTS], uint64_t id)
{
    for (int slot = 0; slot < CJI_SLOTS; slot++) {
        if (works[slot].posted && works[slot].id == id)
            return &works[slot];
    }
    return NULL;
}

static int take(struct cj_group *group, int peer, const struct ibv_wc *wc)
{
    struct cji_connection *connection = &group->connections[peer];
    struct cji_work *send;
    struct cji_work *recv;

    if (wc->status != IBV_WC_SUCCESS)
        return fail_status(group, peer, (int)wc->status);
    send = find_work(connection->send_work, wc->wr_id);
    recv = find_work(connection->recv_work, wc->wr_id);
    if (send == NULL && recv == NULL)
        return fail_garbled(group, peer,
                            "completed work that is not outstanding at the "
                            "queue pair");
    if (recv != NULL && wc->byte_len != recv->length)
        return fail_garbled(group, peer,
                            "delivered a message of the wrong length");
    if (send != NULL)
        send->posted = false;
    else
        recv->posted = false;
    return CJ_OK;
}

/* Takes what the peer's completion queue holds: how much, or a status. */
static int poll_peer(struct cj_group *group, int peer)
{
    struct ibv_wc completions[COMPLETIONS];
    int n;

    /* An id that no work has, should the device write nothing. */
    for (int i = 0; i < COMPLETIONS; i++) {
        completions[i].wr_id = 0;
        completions[i].status = IBV_WC_SUCCESS;
    }
    n = ibv_poll_cq(group->connections[peer].cq, COMPLETIONS, completions);
    if (n < 0 || n > COMPLETIONS)
        return fail_garbled(group, peer, "cannot read the completion queue");
    for (int i = 0; i < n; i++) {
        int status = take(group, peer, &completions[i]);

        if (status != CJ_OK)
            return status;
    }
    return n;
}

static int poll_all(struct cj_group *group)
{
    int count = 0;

    for (int peer = 0; peer < group->size; peer++) {
        int n;

        if (peer == group->rank)
            continue;
        n = poll_peer(group, peer);
        if (n < 0)
            return n;
        count += n;
    }
    return count;
}

static bool is_outstanding(const struct cji_work works[CJI_SLOTS])
{
    for (int slot = 0; slot < CJI_SLOTS; slot++) {
        if (works[slot].posted)
            return true;
    }
    return false;
}

static int fail_timeout(struct cj_group *group)
{
    double seconds = (double)group->timeout / 1e9;
    const char *step = cj_strstep(group->step);

    for (int peer = 0; peer < group->size; peer++) {
        const struct cji_connection *connection = &group->connections[peer];

        if (peer != group->rank && is_outstanding(connection->recv_work))
            return cji_fail(group, CJ_TIMEOUT, cji_about_link(group, peer, 0),
                            "%s: nothing came from rank %d on device %s within "
                            "%.3g s: is it still running, and does it make the "
                            "same calls?",
                            step, peer, connection->device->name, seconds);
    }
    for (int peer = 0; peer < group->size; peer++) {
        const struct cji_connection *connection = &group->connections[peer];

        if (peer != group->rank && is_outstanding(connection->send_work))
            return cji_fail(group, CJ_TIMEOUT, cji_about_link(group, peer, 0),
                            "%s: rank %d took nothing from device %s within "
                            "%.3g s: is it still running, and does it make the "
                            "same calls?",
                            step, peer, connection->device->name, seconds);
    }
    return cji_fail(group, CJ_TIMEOUT, cji_about_none(0),
                    "%s: not finished within %.3g s", step, seconds);
}

/* How a wait is going; `gone` is a peer that has closed its connection. */
struct watch {
    int gone;
    int64_t until;
};

/* Looks at the clock and the connections: false when the time is over. */
static bool look_around(struct cj_group *group, struct watch *watch)
{
    int64_t now = group->clock.now_ns(group->clock.ctx);

    if (now >= watch->until)
        return false;
    if (watch->gone >= 0)
        return true;
    watch->gone = cji_side_gone(group);
    if (watch->gone >= 0 && watch->until - now > FAREWELL_NS)
        watch->until = now + FAREWELL_NS;
    return true;
}

/*
 * The time is over. This rank may have been stopped for all of it, and what it
 * waits for be here: one more look.
 */
static int poll_at_last(struct cj_group *group, const struct watch *watch)
{
    int n = poll_all(group);

    if (n != 0)
        return n < 0 ? n : CJ_OK;
    return watch->gone < 0 ? fail_timeout(group)
                           : cji_side_fail_gone(group, watch->gone, 0);
}

int cji_await_completion(struct cj_group *group)
{
    struct watch watch = {.gone = -1, .until = group->deadline};

    for (unsigned round = 0;; round++) {
        int n = poll_all(group);

        if (n != 0)
            return n < 0 ? n : CJ_OK;
        if (group->clock.idle(group->clock.ctx, watch.until, round) == 0)
            continue;
        if (!look_around(group, &watch))
            return poll_at_last(group, &watch);
    }
}
