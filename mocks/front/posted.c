/*
 * The contract of work requests: may they be posted, and which are on their
 * way? Queue pairs and shared receive queues keep a shadow of each request from
 * its post to its completion.
 */
#include <errno.h>

#include "front/contract.h"
#include "front/transition.h"

static struct vf_posted_queue *queue_of(const struct vf_call *call)
{
    if (call->verb == VF_VERB_post_srq_recv)
        return &call->object->shadow.srq.recv;
    if (call->verb == VF_VERB_post_recv)
        return &call->object->shadow.qp.recv;
    return &call->object->shadow.qp.send;
}

const struct vf_posted_queue *vf_contract_queue(const struct vf_call *call)
{
    return queue_of(call);
}

static uint32_t most_entries(const struct vf_call *call)
{
    if (call->verb == VF_VERB_post_srq_recv)
        return call->object->shadow.srq.recv_sge;
    if (call->verb == VF_VERB_post_recv)
        return call->object->shadow.qp.recv_sge;
    return call->object->shadow.qp.send_sge;
}

static void check_plug(struct vf_call *call)
{
    const struct vf_device *device = call->object->device;

    if (!device->unplugged || !device->setup.profile->unplug_faults)
        return;
    vf_contract_finding(call, true, "post-after-unplug",
                        "the cable of %s is gone, and the queue with it",
                        device->setup.name);
    vf_dereference(NULL, 0);
    call->answered = true;
    call->err = EIO;
}

void vf_contract_post(struct vf_call *call)
{
    const struct vf_object *qp = call->object;
    int least = call->verb == VF_VERB_post_send ? IBV_QPS_RTS : IBV_QPS_INIT;

    check_plug(call);
    if (qp->kind == VF_KIND_QP && qp->shadow.qp.state < least)
        vf_contract_finding(call, false, "wrong-state", "qp %u is in state %s",
                            (unsigned)qp->id,
                            vf_state_name(qp->shadow.qp.state));
}

/* The region of an entry, when the entry may use it. */
static struct vf_object *entry_region(struct vf_call *call,
                                      const struct ibv_sge *sge)
{
    struct vf_object *mr = vf_registry_region(call->machine, sge->lkey);
    const struct vf_object *owner = call->object;
    uint64_t start;

    if (!mr) {
        vf_contract_finding(call, false, "unknown-key",
                            "no region ever had the lkey");
        return NULL;
    }
    if (!mr->live) {
        vf_contract_finding(call, false, "freed-key",
                            "the lkey of region %u, released before",
                            (unsigned)mr->id);
        return NULL;
    }
    if (mr->parent[0] != owner->parent[0]) {
        vf_contract_finding(call, false, "wrong-domain-key",
                            "region %u is of domain %u, the %s of %u",
                            (unsigned)mr->id, (unsigned)mr->parent[0]->id,
                            vf_kind_word((enum vf_kind)owner->kind),
                            (unsigned)owner->parent[0]->id);
        return mr;
    }
    start = sge->addr - mr->shadow.mr.address;
    if (start > mr->shadow.mr.length ||
        sge->length > mr->shadow.mr.length - start) {
        vf_contract_finding(call, false, "sge-outside-mr",
                            "%u bytes at offset %lld of a region of %llu",
                            (unsigned)sge->length, (long long)start,
                            (unsigned long long)mr->shadow.mr.length);
        return mr;
    }
    vf_contract_memory(call, (uintptr_t)sge->addr, sge->length);
    return mr;
}

/* Checks the entries; returns the region of the first one. */
static struct vf_object *
check_entries(struct vf_call *call, const struct vf_request *request, int count)
{
    const struct ibv_sge *list = request->list;
    struct vf_object *first = NULL;

    for (int i = 0; i < count; i++) {
        struct vf_object *mr = NULL;

        if (list[i].length == 0)
            continue;
        if (!request->inlined)
            mr = entry_region(call, &list[i]);
        else
            vf_contract_memory(call, (uintptr_t)list[i].addr, list[i].length);
        if (i == 0)
            first = mr;
    }
    return first;
}

static uint32_t slots_of(const struct vf_call *call, const struct ibv_sge *list,
                         int count)
{
    uint32_t frame = call->object->device->setup.profile->frame_bytes;
    uint64_t bytes = 0;

    if (!frame)
        return 1;
    for (int i = 0; i < count; i++)
        bytes += list[i].length;
    return bytes <= frame ? 1 : (uint32_t)((bytes + frame - 1) / frame);
}

static void remember(struct vf_call *call, const struct vf_request *request,
                     struct vf_object *region, uint32_t slots)
{
    struct vf_posted_queue *queue = queue_of(call);
    struct vf_posted *posted =
        vf_pool_get(&call->world->registry, sizeof(*posted));

    if (!posted)
        return;
    posted->next = NULL;
    posted->previous = queue->last;
    posted->region = region;
    posted->wr_id = request->wr_id;
    posted->slots = slots;
    posted->signaled = request->signaled;
    if (queue->last)
        queue->last->next = posted;
    else
        queue->first = posted;
    queue->last = posted;
    queue->slots += slots;
    if (region && region->live)
        region->shadow.mr.posted++;
}

static void forget(struct vf_object *owner, struct vf_posted_queue *queue,
                   struct vf_posted *posted)
{
    if (posted->previous)
        posted->previous->next = posted->next;
    else
        queue->first = posted->next;
    if (posted->next)
        posted->next->previous = posted->previous;
    else
        queue->last = posted->previous;
    queue->slots -= posted->slots;
    if (posted->region && posted->region->live &&
        posted->region->shadow.mr.posted > 0)
        posted->region->shadow.mr.posted--;
    vf_pool_put(&owner->machine->world->registry, posted, sizeof(*posted));
}

/* A device that refuses the number of entries does not look at them. */
void vf_contract_request(struct vf_call *call, const struct vf_request *request)
{
    bool readable =
        request->count > 0 && (uint32_t)request->count <= most_entries(call);
    int count = readable ? request->count : 0;
    struct vf_object *region;

    if (count > 0)
        vf_contract_not_null(call, request->list, "null-sg-list");
    if (!request->list)
        count = 0;
    region = check_entries(call, request, count);
    remember(call, request, region, slots_of(call, request->list, count));
}

void vf_contract_depth(struct vf_call *call)
{
    const struct vf_posted_queue *queue = queue_of(call);

    if (queue->slots > queue->depth)
        vf_contract_finding(call, false, "queue-overflow",
                            "%u places taken of the %u granted",
                            (unsigned)queue->slots, (unsigned)queue->depth);
}

void vf_contract_untake(struct vf_call *call, unsigned count)
{
    struct vf_posted_queue *queue = queue_of(call);

    for (; count > 0 && queue->last; count--)
        forget(call->object, queue, queue->last);
}

/* An unsignaled request is known to be done when a later one completes. */
static void retire(struct vf_object *qp, struct vf_posted_queue *queue,
                   const struct ibv_wc *wc, bool recv)
{
    bool last = false;

    while (queue->first && !last) {
        const struct vf_posted *first = queue->first;

        last =
            recv || (wc->status == IBV_WC_SUCCESS ? first->signaled
                                                  : first->wr_id == wc->wr_id);
        forget(qp, queue, queue->first);
    }
}

/* The queue pairs of a shared queue complete in no order. */
static void retire_shared(struct vf_object *srq, uint64_t wr_id)
{
    struct vf_posted *posted = srq->shadow.srq.recv.first;

    while (posted && posted->wr_id != wr_id)
        posted = posted->next;
    if (posted)
        forget(srq, &srq->shadow.srq.recv, posted);
}

void vf_contract_completed(struct vf_object *qp, const struct ibv_wc *wc,
                           bool recv)
{
    if (!recv)
        retire(qp, &qp->shadow.qp.send, wc, false);
    else if (!qp->parent[3])
        retire(qp, &qp->shadow.qp.recv, wc, true);
    else if (qp->parent[3]->live)
        retire_shared(qp->parent[3], wc->wr_id);
    if (wc->status != IBV_WC_SUCCESS)
        qp->shadow.qp.state = IBV_QPS_ERR;
}

static void empty(struct vf_object *owner, struct vf_posted_queue *queue)
{
    while (queue->first)
        forget(owner, queue, queue->first);
}

void vf_contract_forget(struct vf_object *object)
{
    if (object->kind == VF_KIND_QP) {
        empty(object, &object->shadow.qp.send);
        empty(object, &object->shadow.qp.recv);
    } else if (object->kind == VF_KIND_SRQ) {
        empty(object, &object->shadow.srq.recv);
    }
}
