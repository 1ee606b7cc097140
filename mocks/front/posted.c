/*
 * The contract of work requests: may they be posted, and which are on their
 * way? Queue pairs and shared receive queues keep a shadow of each request from
 * its post to its completion. What is particular to an opcode is in request.c.
 */
#include <errno.h>

#include "front/contract.h"
#include "front/transition.h"

#define ROOM_MAX UINT8_MAX

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

    if (!device->state->unplugged || !device->setup.profile->unplug_faults)
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
    int least = call->verb == VF_VERB_post_recv ? IBV_QPS_INIT : IBV_QPS_RTS;

    check_plug(call);
    if (qp->kind == VF_KIND_QP && qp->shadow.qp.state < least)
        vf_contract_finding(call, false, "wrong-state", "qp %u is in state %s",
                            (unsigned)qp->id,
                            vf_state_name(qp->shadow.qp.state));
}

/* ---- entries ---- */

static bool in_region(const struct vf_object *mr, const struct ibv_sge *sge)
{
    uint64_t start = sge->addr - mr->shadow.mr.address;

    return start <= mr->shadow.mr.length &&
           sge->length <= mr->shadow.mr.length - start;
}

static void name_key_mistake(struct vf_call *call, const struct vf_object *mr)
{
    if (!mr)
        vf_contract_finding(call, false, "unknown-key",
                            "no region ever had the lkey");
    else if (!mr->live)
        vf_contract_finding(call, false, "freed-key",
                            "the lkey of region %u, released before",
                            (unsigned)mr->id);
    else
        vf_contract_finding(call, false, "lost-key",
                            "the lkey of region %u, whose rereg_mr has failed",
                            (unsigned)mr->id);
}

static void name_entry_mistake(struct vf_call *call, const struct ibv_sge *sge,
                               const struct vf_object *mr)
{
    const struct vf_object *owner = call->object;

    if (!vf_same_domain(mr, owner))
        vf_contract_finding(call, false, "wrong-domain-key",
                            "region %u is of domain %u, the %s of %u",
                            (unsigned)mr->id, (unsigned)mr->parent[0]->id,
                            vf_kind_word((enum vf_kind)owner->kind),
                            (unsigned)owner->parent[0]->id);
    else if (!in_region(mr, sge))
        vf_contract_finding(call, false, "sge-outside-mr",
                            "%u bytes at offset %lld of a region of %llu",
                            (unsigned)sge->length,
                            (long long)(sge->addr - mr->shadow.mr.address),
                            (unsigned long long)mr->shadow.mr.length);
    else
        vf_contract_finding(call, false, "no-local-write",
                            "region %u, which is to be written to, was "
                            "registered without IBV_ACCESS_LOCAL_WRITE",
                            (unsigned)mr->id);
}

/* The region of an entry; NULL: it has none. */
static struct vf_object *
entry_region(struct vf_call *call, const struct ibv_sge *sge, uint32_t access)
{
    struct vf_object *mr = call->provider->region(call->object, sge->lkey);

    if (!mr && call->provider->meet)
        return NULL; /* a key that is made elsewhere */
    if (mr && mr->live && mr->stranger)
        return mr;
    if (!mr || !mr->live || mr->shadow.mr.lost) {
        name_key_mistake(call, mr);
        return NULL;
    }
    if (!vf_same_domain(mr, call->object) || !in_region(mr, sge) ||
        (mr->shadow.mr.access & access) != access)
        name_entry_mistake(call, sge, mr);
    else
        vf_contract_memory(call, (uintptr_t)(sge->addr + mr->shadow.mr.shift),
                           sge->length);
    return mr;
}

static void name_region(struct vf_posted *posted, struct vf_object *mr)
{
    for (unsigned i = 0; i < posted->regions; i++)
        if (posted->region[i] == mr)
            return;
    if (posted->regions == posted->room)
        return;
    posted->region[posted->regions++] = mr;
    mr->shadow.mr.posted++;
}

/* The bytes of a chain of wr_* were taken when they were set. */
static bool is_ours(const struct vf_call *call, uint64_t address)
{
    const struct vf_registry *registry = &call->world->registry;

    return address - (uintptr_t)registry->base < registry->used;
}

static void check_entries(struct vf_call *call,
                          const struct vf_request *request, unsigned count,
                          struct vf_posted *posted)
{
    const struct ibv_sge *list = request->list;

    for (unsigned i = 0; i < count; i++) {
        struct vf_object *mr;

        if (list[i].length == 0)
            continue;
        if (request->inlined) {
            if (!is_ours(call, list[i].addr))
                vf_contract_memory(call, (uintptr_t)list[i].addr,
                                   list[i].length);
            continue;
        }
        mr = entry_region(call, &list[i], request->access);
        if (mr)
            name_region(posted, mr);
    }
}

/* ---- requests on their way ---- */

static size_t bytes_of(unsigned room)
{
    return sizeof(struct vf_posted) + room * sizeof(struct vf_object *);
}

static uint32_t slots_of(const struct vf_object *owner, uint64_t bytes)
{
    uint32_t frame = owner->device->setup.profile->frame_bytes;

    if (!frame || bytes <= frame)
        return 1;
    return (uint32_t)((bytes + frame - 1) / frame);
}

static struct vf_posted *new_posted(struct vf_call *call,
                                    const struct vf_request *request,
                                    unsigned count)
{
    unsigned room = count < ROOM_MAX ? count : ROOM_MAX;
    struct vf_posted *posted;

    if (request->change)
        room = 2;
    posted = vf_pool_get(&call->world->registry, bytes_of(room));
    if (!posted)
        return NULL;
    posted->wr_id = request->wr_id;
    posted->room = (uint8_t)room;
    posted->regions = 0;
    posted->change = (uint8_t)request->change;
    posted->signaled = request->signaled;
    if (request->change) {
        posted->region[1] = request->window;
        if (request->region)
            name_region(posted, request->region);
    }
    return posted;
}

static void append(struct vf_posted_queue *queue, struct vf_posted *posted)
{
    posted->next = NULL;
    posted->previous = queue->last;
    if (queue->last)
        queue->last->next = posted;
    else
        queue->first = posted;
    queue->last = posted;
    queue->slots += posted->slots;
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
    for (unsigned i = 0; i < posted->regions; i++) {
        struct vf_object *mr = posted->region[i];

        if (mr->live && mr->shadow.mr.posted > 0)
            mr->shadow.mr.posted--;
    }
    vf_pool_put(&owner->machine->world->registry, posted,
                bytes_of(posted->room));
}

/* A device that refuses the number of entries does not look at them. */
static unsigned readable_entries(struct vf_call *call,
                                 const struct vf_request *request)
{
    if (request->count <= 0 || (uint32_t)request->count > most_entries(call))
        return 0;
    vf_contract_not_null(call, request->list, "null-sg-list");
    return request->list ? (unsigned)request->count : 0;
}

void vf_contract_request(struct vf_call *call, struct vf_request *request)
{
    unsigned count = readable_entries(call, request);
    struct vf_posted *posted;
    uint64_t bytes = 0;

    for (unsigned i = 0; i < count; i++)
        bytes += request->list[i].length;
    if (call->object->stranger)
        return; /* not all of its completions are seen */
    if (request->send)
        vf_contract_send(call, request, count, bytes);
    posted = new_posted(call, request, count);
    if (!posted)
        return;
    check_entries(call, request, count, posted);
    posted->slots = slots_of(call->object, bytes);
    append(queue_of(call), posted);
}

/* ---- plain requests ---- */

/* Nothing is wrong with the entry, for certain. *mr: its region; NULL: it needs
 * none. */
static bool is_plain_entry(const struct vf_object *owner,
                           const struct ibv_sge *entry, bool inlined,
                           uint32_t access, struct vf_object **mr)
{
    const struct vf_world *world = owner->machine->world;
    struct vf_object *region;
    uintptr_t address = (uintptr_t)entry->addr;

    *mr = NULL;
    if (entry->length == 0)
        return true;
    if (!inlined) {
        region = world->provider->region(owner, entry->lkey);
        if (!region || !region->live || region->stranger ||
            region->shadow.mr.lost || region->parent[0] != owner->parent[0] ||
            !in_region(region, entry) ||
            (region->shadow.mr.access & access) != access)
            return false;
        address = (uintptr_t)(entry->addr + region->shadow.mr.shift);
        *mr = region;
    }
    return vf_memory_alive(world, (const void *)address, entry->length);
}

/* The queue may be posted to, and has room. */
static bool takes_plain(const struct vf_object *qp,
                        const struct vf_posted_queue *queue, uint32_t slots,
                        int least)
{
    return !qp->device->state->unplugged && qp->shadow.qp.state >= least &&
           slots <= queue->depth && queue->slots <= queue->depth - slots;
}

static bool remember(struct vf_object *qp, struct vf_posted_queue *queue,
                     const struct vf_plain *plain, uint32_t slots,
                     struct vf_object *mr)
{
    unsigned room = plain->entry ? 1 : 0;
    struct vf_posted *posted =
        vf_pool_get(&qp->machine->world->registry, bytes_of(room));

    if (!posted)
        return false;
    posted->wr_id = plain->wr_id;
    posted->slots = slots;
    posted->room = (uint8_t)room;
    posted->regions = 0;
    posted->change = VF_WINDOW_SAME;
    posted->signaled = plain->signaled;
    if (mr)
        name_region(posted, mr);
    append(queue, posted);
    return true;
}

bool vf_contract_plain_send(struct vf_object *qp, const struct vf_plain *plain)
{
    struct vf_posted_queue *queue = &qp->shadow.qp.send;
    uint32_t length = vf_plain_length(plain);
    uint32_t slots = slots_of(qp, length);
    struct vf_object *mr = NULL;

    if ((qp->shadow.qp.type != IBV_QPT_RC &&
         qp->shadow.qp.type != IBV_QPT_UC) ||
        (plain->inlined && length > qp->shadow.qp.max_inline) ||
        !takes_plain(qp, queue, slots, IBV_QPS_RTS))
        return false;
    if (plain->entry &&
        (qp->shadow.qp.send_sge == 0 ||
         !is_plain_entry(qp, plain->entry, plain->inlined, 0, &mr)))
        return false;
    return remember(qp, queue, plain, slots, mr);
}

bool vf_contract_plain_recv(struct vf_object *qp, const struct vf_plain *plain)
{
    struct vf_posted_queue *queue = &qp->shadow.qp.recv;
    uint32_t slots = slots_of(qp, vf_plain_length(plain));
    struct vf_object *mr = NULL;

    if (qp->parent[3] || !takes_plain(qp, queue, slots, IBV_QPS_INIT))
        return false;
    if (plain->entry &&
        (qp->shadow.qp.recv_sge == 0 ||
         !is_plain_entry(qp, plain->entry, false, IBV_ACCESS_LOCAL_WRITE, &mr)))
        return false;
    return remember(qp, queue, plain, slots, mr);
}

void vf_contract_take_back(struct vf_object *qp, struct vf_posted_queue *queue)
{
    if (queue->last)
        forget(qp, queue, queue->last);
}

void vf_contract_depth(struct vf_call *call)
{
    const struct vf_posted_queue *queue = queue_of(call);

    if (queue->slots <= queue->depth + queue->again)
        return; /* the provider may refuse it, though */
    if (call->verb == VF_VERB_post_recv && call->object->parent[3])
        return; /* its receives are in the shared queue: refused, not lost */
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

/* ---- completions ---- */

static void change_window(struct vf_object *qp, const struct vf_posted *posted)
{
    struct vf_object *window = posted->region[posted->room - 1];

    if (!window || !window->live)
        return;
    if (posted->change == VF_WINDOW_BOUND && posted->regions > 0)
        vf_window_bind(window, posted->region[0], qp);
    else
        vf_window_unbind(window);
}

/* An unsignaled request is known to be done when a later one completes. */
static void retire(struct vf_object *qp, struct vf_posted_queue *queue,
                   const struct ibv_wc *wc, bool recv)
{
    bool fine = wc->status == IBV_WC_SUCCESS;
    bool last = false;

    while (queue->first && !last) {
        const struct vf_posted *first = queue->first;

        last = recv || (fine ? first->signaled : first->wr_id == wc->wr_id);
        if (first->change && (fine || !last))
            change_window(qp, first);
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

static void invalidate(const struct vf_object *qp, uint32_t rkey)
{
    struct vf_object *window = qp->machine->world->provider->window(qp, rkey);

    if (window && window->live)
        vf_window_unbind(window);
}

/* The queue that a completion of the queue pair is of; NULL: it is gone. */
static struct vf_posted_queue *completing(struct vf_object *qp, bool recv)
{
    if (!recv)
        return &qp->shadow.qp.send;
    if (!qp->parent[3])
        return &qp->shadow.qp.recv;
    return qp->parent[3]->live ? &qp->parent[3]->shadow.srq.recv : NULL;
}

void vf_contract_told_again(struct vf_object *qp, bool recv, uint32_t places)
{
    struct vf_posted_queue *queue = completing(qp, recv);

    if (queue)
        queue->again += places;
}

uint32_t vf_contract_completed(struct vf_object *qp, const struct ibv_wc *wc,
                               bool recv)
{
    const struct vf_posted_queue *queue = completing(qp, recv);
    uint32_t before = queue ? queue->slots : 0;

    if (qp->machine->world->hooks.unchecked)
        return 0;
    if (!recv)
        retire(qp, &qp->shadow.qp.send, wc, false);
    else if (!qp->parent[3])
        retire(qp, &qp->shadow.qp.recv, wc, true);
    else if (qp->parent[3]->live)
        retire_shared(qp->parent[3], wc->wr_id);
    if (wc->status != IBV_WC_SUCCESS)
        qp->shadow.qp.state =
            qp->machine->world->provider->meet ? IBV_QPS_UNKNOWN : IBV_QPS_ERR;
    else if (recv && wc->wc_flags & IBV_WC_WITH_INV)
        invalidate(qp, wc->invalidated_rkey);
    return queue ? before - queue->slots : 0;
}

static void empty(struct vf_object *owner, struct vf_posted_queue *queue)
{
    while (queue->first)
        forget(owner, queue, queue->first);
    queue->again = 0;
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
