/* Completions: each is checked, and belongs to something that was posted. */
#include "engine.h"

#include "device.h"
#include "error.h"
#include "notice.h"
#include "side.h"
#include "transport.h"

/* Taken at a time. */
#define COMPLETIONS 4

/* A peer that is through may leave before its last message is here. */
#define FAREWELL_NS ((int64_t)250000000)

static int fail_status(struct cj_group *group, const struct cji_link *link,
                       int status)
{
    const char *advice = "the cable or the peer's queue pair may be gone";

    if (status == IBV_WC_LOC_LEN_ERR)
        advice = "the peer's message has another size: all ranks need the same "
                 "count and type, and systems that use the same sizes";
    else if (status == IBV_WC_WR_FLUSH_ERR)
        advice = "its queue pair has failed: see the errors of the other ranks";
    return cji_fail(group, CJ_COMPLETION, cji_about_link(link, 0),
                    "%s: work for rank %d%s completed with an error: %s; %s",
                    cj_strstep(group->step), link->peer,
                    cji_on_device(link).text, cji_wc_status_text(status).text,
                    advice);
}

static int fail_garbled(struct cj_group *group, const struct cji_link *link,
                        const char *what)
{
    return cji_fail(group, CJ_COMPLETION, cji_about_link(link, 0),
                    "%s: device %s %s of rank %d: its driver is out of order, "
                    "and the data cannot be trusted",
                    cj_strstep(group->step),
                    link->device == NULL ? "(none)" : link->device->name, what,
                    link->peer);
}

static struct cji_slot *find_slot(struct cji_slot *slots, int count,
                                  uint64_t id)
{
    for (int i = 0; i < count; i++) {
        if (slots[i].posted && slots[i].id == id)
            return &slots[i];
    }
    return NULL;
}

/* The oldest receive that is not complete is nearly always the one. */
static struct cji_slot *find_receive(struct cji_traffic *traffic, uint64_t id)
{
    struct cji_slot *next =
        &traffic->recv[traffic->posted_slot[traffic->seen % CJI_RING]];

    if (next->posted && next->id == id)
        return next;
    return find_slot(traffic->recv, traffic->recv_slots, id);
}

static bool take_send(struct cji_traffic *traffic, uint64_t id)
{
    struct cji_slot *slot = find_slot(traffic->send, traffic->send_slots, id);

    if (slot != NULL) {
        slot->posted = false;
        traffic->flow_done++;
        return true;
    }
    if (!traffic->note.posted || traffic->note.id != id)
        return false;
    traffic->note.posted = false;
    return true;
}

static int take(struct cj_group *group, struct cji_link *link,
                const struct ibv_wc *wc)
{
    struct cji_slot *slot;

    if (wc->status != IBV_WC_SUCCESS)
        return fail_status(group, link, (int)wc->status);
    slot = find_receive(&link->traffic, wc->wr_id);
    if (slot == NULL && take_send(&link->traffic, wc->wr_id))
        return CJ_OK;
    if (slot == NULL)
        return fail_garbled(group, link,
                            "completed work that is not outstanding at the "
                            "queue pair");
    if (wc->byte_len > slot->length ||
        (!cji_has_trailers(group) && wc->byte_len != slot->length))
        return fail_garbled(group, link,
                            "delivered a message of the wrong length");
    slot->length = wc->byte_len;
    slot->posted = false;
    return CJ_OK;
}

/* Takes what the link's completions are: how many, or a status. */
static int poll_link(struct cj_group *group, struct cji_link *link)
{
    struct ibv_wc completions[COMPLETIONS];
    int n;

    /* An id that no work has, should the device write nothing. */
    for (int i = 0; i < COMPLETIONS; i++) {
        completions[i].wr_id = 0;
        completions[i].status = IBV_WC_SUCCESS;
        completions[i].byte_len = 0;
    }
    n = group->transport->poll(group, link, COMPLETIONS, completions);
    if (n == 0)
        return 0;
    /* A transport may have said more already. */
    if (n < 0 && group->error.code != CJ_OK)
        return group->error.code;
    if (n < 0 || n > COMPLETIONS)
        return fail_garbled(group, link, "cannot read the completion queue");
    for (int i = 0; i < n; i++) {
        int status = take(group, link, &completions[i]);

        if (status != CJ_OK)
            return status;
    }
    if (cji_receives_look(group, link) != CJ_OK)
        return group->error.code;
    group->progress += (uint64_t)n;
    return n;
}

static int poll_all(struct cj_group *group)
{
    int count = 0;

    for (int i = 0; i < group->link_count; i++) {
        struct cji_link *link = &group->links[i];
        int n;

        if (link->traffic.send_flow == NULL && link->traffic.recv_flow == NULL)
            continue;
        n = poll_link(group, link);
        if (n < 0)
            return n;
        count += n;
    }
    return count;
}

int cji_take_completions(struct cj_group *group)
{
    return poll_all(group) < 0 ? (int)group->error.code : CJ_OK;
}

static int fail_timeout(struct cj_group *group,
                        const struct cji_operation *operation)
{
    double seconds = (double)group->timeout / 1e9;
    const char *step = cj_strstep(group->step);

    for (int i = 0; i < operation->flow_count; i++) {
        const struct cji_flow *flow = &operation->flows[i];
        const struct cji_link *link = flow->links[0];

        if (flow->receives && flow->arrived < flow->messages)
            return cji_fail(group, CJ_TIMEOUT, cji_about_link(link, 0),
                            "%s: nothing came from rank %d%s within %.3g s: is "
                            "it still running, and does it make the same "
                            "calls?",
                            step, link->peer, cji_on_device(link).text,
                            seconds);
    }
    for (int i = 0; i < group->link_count; i++) {
        const struct cji_link *link = &group->links[i];
        const struct cji_flow *flow = link->traffic.send_flow;

        if (flow != NULL && link->traffic.flow_done < flow->messages)
            return cji_fail(group, CJ_TIMEOUT, cji_about_link(link, 0),
                            "%s: rank %d took nothing%s within %.3g s: is it "
                            "still running, and does it make the same calls?",
                            step, link->peer, cji_on_device(link).text,
                            seconds);
    }
    return cji_fail(group, CJ_TIMEOUT, cji_about_none(0),
                    "%s: not finished within %.3g s", step, seconds);
}

/* Whether the operation has something to get from, or to give to that rank. */
static bool needs(const struct cji_operation *operation, int rank)
{
    for (int i = 0; i < operation->flow_count; i++) {
        const struct cji_flow *flow = &operation->flows[i];

        for (int k = 0; k < flow->link_count; k++) {
            const struct cji_link *link = flow->links[k];
            size_t done =
                flow->receives ? flow->arrived : link->traffic.flow_done;

            if (link->peer == rank && done < flow->messages)
                return true;
        }
    }
    return false;
}

/* A rank without which this cannot go on, or -1. One that left is such a rank
 * where it was to do the same collective, or where it is the other end of a
 * send or a recv. */
static int find_gone(struct cj_group *group,
                     const struct cji_operation *operation)
{
    if (!group->has_notices)
        return cji_side_gone(group);
    cji_notices_read(group);
    if (group->failed >= 0 ||
        (group->step != CJ_STEP_SEND && group->step != CJ_STEP_RECV))
        return cji_notices_gone(group);
    for (int i = 0; group->departures > 0 && i < group->link_count; i++) {
        int peer = group->links[i].peer;

        if (group->presence[peer] == CJI_LEFT && needs(operation, peer))
            return peer;
    }
    return -1;
}

/* How a wait is going; `gone` is a rank that was found to be gone. */
struct watch {
    int gone;
    int64_t until;
};

/* The deadline is one without progress. What there was since it was set is
 * noticed here, so that work that goes well costs no look at the clock. */
static void renew_deadline(struct cj_group *group, struct watch *watch)
{
    if (group->progress == group->progress_met)
        return;
    cji_begin(group, group->step, group->timeout);
    group->progress_met = group->progress;
    watch->until = group->deadline;
}

/* Looks at the clock, the ports and the connections: false when the time is
 * over or a port is down. */
static bool look_around(struct cj_group *group,
                        const struct cji_operation *operation,
                        struct watch *watch)
{
    int64_t now;

    renew_deadline(group, watch);
    now = group->clock.now_ns(group->clock.ctx);
    if (now >= watch->until)
        return false;
    if (watch->gone >= 0)
        return true;
    if (group->device_count > 0 && cji_ports_check(group, now) != CJ_OK)
        return false;
    watch->gone = find_gone(group, operation);
    if (watch->gone >= 0 && watch->until - now > FAREWELL_NS)
        watch->until = now + FAREWELL_NS;
    return true;
}

/*
 * The time is over. This rank may have been stopped for all of it, and what it
 * waits for be here: one more look.
 */
static int poll_at_last(struct cj_group *group,
                        const struct cji_operation *operation,
                        const struct watch *watch)
{
    int n;

    if (group->error.code != CJ_OK)
        return group->error.code;
    n = poll_all(group);
    if (n != 0)
        return n < 0 ? n : CJ_OK;
    if (watch->gone < 0)
        return fail_timeout(group, operation);
    return group->has_notices ? cji_notices_fail(group, watch->gone)
                              : cji_side_fail_gone(group, watch->gone, 0);
}

/*
 * There is nothing to do: time for what is not urgent. The receives are posted
 * again, the peers told of those that they wait for, and the clock is read.
 */
static int prepare_to_wait(struct cj_group *group, struct watch *watch)
{
    int status = CJ_OK;

    for (int i = 0; cji_has_credits(group) && i < group->link_count; i++) {
        struct cji_link *link = &group->links[i];

        if (link->traffic.recv_flow == NULL && link->traffic.send_flow == NULL)
            continue;
        status = cji_receives_repost(group, link);
        if (status == CJ_OK)
            status = cji_note_post(group, link);
        if (status != CJ_OK)
            return status;
    }
    if (group->deadline == CJI_LATER) {
        cji_begin(group, group->step, group->timeout);
        group->progress_met = group->progress;
    }
    watch->until = group->deadline;
    return CJ_OK;
}

/* Whether to look around before the next poll. */
static bool idle(struct cj_group *group, int64_t until, unsigned round)
{
    if (group->transport->idle != NULL)
        return group->transport->idle(group, until, round) != 0;
    return group->clock.idle(group->clock.ctx, until, round) != 0;
}

int cji_await_completion(struct cj_group *group,
                         const struct cji_operation *operation)
{
    struct watch watch = {.gone = -1};

    for (unsigned round = 0;; round++) {
        int n = poll_all(group);

        if (n != 0)
            return n < 0 ? n : CJ_OK;
        if (round == 0 && prepare_to_wait(group, &watch) != CJ_OK)
            return group->error.code;
        if (!idle(group, watch.until, round))
            continue;
        if (!look_around(group, operation, &watch))
            return poll_at_last(group, operation, &watch);
    }
}
