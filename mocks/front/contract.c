#include "front/contract.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "front/sanitize.h"
#include "front/transition.h"

#define SAMPLES 8
#define SAMPLE_STEP 4096

void vf_contract_finding(struct vf_call *call, bool fatal, const char *what,
                         const char *detail, ...)
{
    const struct vf_hooks *hooks = &call->world->hooks;
    struct vf_finding finding = {
        .machine = call->machine->number,
        .verb = call->verb,
        .nth = call->nth,
        .fatal = fatal,
    };
    va_list list;
    char line[VF_LINE_MAX];

    snprintf(finding.title, sizeof(finding.title), "%s in %s", what,
             vf_verb_name(call->verb));
    va_start(list, detail);
    vsnprintf(finding.detail, sizeof(finding.detail), detail, list);
    va_end(list);
    if (!call->record->finding)
        call->record->finding = what;
    if (vf_coverage && finding.machine < 4)
        vf_coverage[(finding.machine * VF_VERB_COUNT + (int)call->verb) * 4 +
                    3] = 1;
    if (fatal) {
        /* Whatever comes next, the line is out. */
        call->record->end = VF_RECORD_FAULT;
        if (hooks->trace) {
            vf_record_print(call->record, finding.machine, line, sizeof(line));
            hooks->trace(hooks->context, finding.machine, line);
        }
    }
    if (hooks->finding)
        hooks->finding(hooks->context, &finding);
}

/* Goes where rdma-core goes: the field it reads first, then, for a handle that
 * starts with its context, what it needs of that. */
static void follow(const void *handle, enum vf_kind kind, ptrdiff_t first_read)
{
    uintptr_t context;

    vf_dereference(handle, first_read);
    if (kind == VF_KIND_DEVICE_LIST || kind == VF_KIND_DEVICE ||
        kind == VF_KIND_CONTEXT)
        return;
    context = vf_dereference(handle, 0);
    vf_dereference((const void *)context, VF_CONTEXT_READ);
}

/* A resting queue pair still shows its context; what is behind it does not. */
static void follow_freed(const struct vf_object *object)
{
    uintptr_t scribbled = vf_dereference(object->handle, 16);

    vf_dereference((const void *)scribbled, 0);
}

static const char *static_words(enum vf_kind kind, int row)
{
    static const char *const words[3][VF_KIND_COUNT] = {
        {"null-handle", "null-device-list", "null-device", "null-context",
         "null-pd", "null-mr", "null-cq", "null-qp", "null-ah", "null-srq",
         "null-channel"},
        {"freed-handle", "freed-device-list", "freed-device", "freed-context",
         "freed-pd", "freed-mr", "freed-cq", "freed-qp", "freed-ah",
         "freed-srq", "freed-channel"},
        {"foreign-handle", "foreign-device-list", "foreign-device",
         "foreign-context", "foreign-pd", "foreign-mr", "foreign-cq",
         "foreign-qp", "foreign-ah", "foreign-srq", "foreign-channel"},
    };

    return words[row][kind];
}

/* "cq-not-qp". One buffer per pair, so that a record can point at it. */
static const char *wrong_kind(enum vf_kind is, enum vf_kind wanted)
{
    static char words[VF_KIND_COUNT][VF_KIND_COUNT][32];

    if (!words[is][wanted][0])
        snprintf(words[is][wanted], sizeof(words[0][0]), "%s-not-%s",
                 vf_kind_word(is), vf_kind_word(wanted));
    return words[is][wanted];
}

/* Only the call's first handle is in its trace line. */
static void note_handle(struct vf_call *call, const void *handle,
                        const struct vf_object *object)
{
    if (handle != call->handle)
        return;
    call->record->handle = object ? 1 : handle ? 2 : 0;
    if (object)
        call->record->handle_id = object->id;
}

static bool alive(const struct vf_object *object)
{
    const struct vf_object *context = object;

    if (!object->live)
        return false;
    while (context->kind > VF_KIND_CONTEXT && context->parent[0])
        context = context->parent[0];
    return context->live;
}

struct vf_object *vf_contract_handle(struct vf_call *call, const void *handle,
                                     enum vf_kind kind, ptrdiff_t first_read)
{
    struct vf_object *object =
        handle == call->handle
            ? call->found
            : vf_registry_find(&call->world->registry, handle);

    note_handle(call, handle, object);
    if (object && object->kind == kind && alive(object) && !object->orphan)
        return object;
    if (!handle)
        vf_contract_finding(call, true, static_words(kind, 0),
                            "a NULL %s was passed on", vf_kind_word(kind));
    else if (!object)
        vf_contract_finding(call, true, static_words(kind, 2),
                            "the %s is no handle of this library",
                            vf_kind_word(kind));
    else if (object->kind != kind)
        vf_contract_finding(call, true,
                            wrong_kind((enum vf_kind)object->kind, kind),
                            "%s %u was passed for a %s",
                            vf_kind_word((enum vf_kind)object->kind),
                            (unsigned)object->id, vf_kind_word(kind));
    else if (!object->live)
        vf_contract_finding(call, true, static_words(kind, 1),
                            "%s %u was released before", vf_kind_word(kind),
                            (unsigned)object->id);
    else
        vf_contract_finding(call, true, static_words(VF_KIND_CONTEXT, 1),
                            "the context of %s %u was closed before",
                            vf_kind_word(kind), (unsigned)object->id);
    if (!call->reads_nothing) {
        follow(handle, kind, first_read);
        if (object && object->kind == kind && !object->live)
            follow_freed(object);
    }
    call->answered = true;
    call->err = EINVAL;
    return NULL;
}

void vf_contract_childless(struct vf_call *call)
{
    const struct vf_object *object = call->object;

    if (object->children <= object->excused_children)
        return;
    vf_contract_finding(
        call, false, "children-alive",
        "%s %u is released while %u objects still use it",
        vf_kind_word((enum vf_kind)object->kind), (unsigned)object->id,
        (unsigned)(object->children - object->excused_children));
}

bool vf_memory_alive(const struct vf_world *world, const void *address,
                     size_t length)
{
    const struct vf_hooks *hooks = &world->hooks;
    const unsigned char *bytes = address;
    size_t step;

    if (length == 0 || !address)
        return true;
    if (hooks->memory_alive)
        return hooks->memory_alive(hooks->context, address, length);
    /* Sampled: what is freed is freed from end to end. */
    step = length / SAMPLES > SAMPLE_STEP ? length / SAMPLES : SAMPLE_STEP;
    for (size_t at = 0; at < length; at += step)
        if (VF_IS_POISONED(bytes + at))
            return false;
    return !VF_IS_POISONED(bytes + (length - 1));
}

void vf_contract_memory(struct vf_call *call, uintptr_t address,
                        uint64_t length)
{
    if (vf_memory_alive(call->world, (const void *)address, length))
        return;
    vf_contract_finding(call, false, "memory-freed",
                        "%llu bytes of memory that is not allocated",
                        (unsigned long long)length);
}

void vf_contract_modify(struct vf_call *call, const struct ibv_qp_attr *attr,
                        int mask)
{
    struct vf_object *qp = call->object;
    enum ibv_qp_state from = (enum ibv_qp_state)qp->shadow.qp.state;
    enum ibv_qp_state to = mask & IBV_QP_STATE ? attr->qp_state : from;

    switch (vf_transition_check((enum ibv_qp_type)qp->shadow.qp.type, from, to,
                                mask)) {
    case VF_TRANSITION_OK:
        break;
    case VF_TRANSITION_NONE:
        vf_contract_finding(call, false, "bad-transition",
                            "qp %u cannot go from %s to %s", (unsigned)qp->id,
                            vf_state_name((int)from), vf_state_name((int)to));
        break;
    case VF_TRANSITION_MISSING:
        vf_contract_finding(call, false, "bad-mask",
                            "the way from %s to %s needs more than mask 0x%x",
                            vf_state_name((int)from), vf_state_name((int)to),
                            (unsigned)mask);
        break;
    case VF_TRANSITION_EXTRA:
        vf_contract_finding(call, false, "bad-mask",
                            "the way from %s to %s does not allow mask 0x%x",
                            vf_state_name((int)from), vf_state_name((int)to),
                            (unsigned)mask);
        break;
    }
}

/* The region of an entry, when the entry may use it. */
static struct vf_object *entry_region(struct vf_call *call,
                                      const struct ibv_sge *sge)
{
    struct vf_object *mr = vf_registry_region(call->machine, sge->lkey);
    struct vf_object *qp = call->object;
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
    if (mr->parent[0] != qp->parent[0]) {
        vf_contract_finding(call, false, "wrong-domain-key",
                            "region %u is of domain %u, the qp of %u",
                            (unsigned)mr->id, (unsigned)mr->parent[0]->id,
                            (unsigned)qp->parent[0]->id);
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
static struct vf_object *check_entries(struct vf_call *call,
                                       const struct ibv_sge *list, int count,
                                       bool keys)
{
    struct vf_object *first = NULL;

    for (int i = 0; i < count; i++) {
        struct vf_object *mr = NULL;

        if (list[i].length == 0)
            continue;
        if (keys)
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

static void remember(struct vf_call *call, struct vf_posted_queue *queue,
                     struct vf_object *region, uint64_t wr_id, uint32_t slots,
                     bool signaled)
{
    struct vf_posted *posted =
        vf_pool_get(&call->world->registry, sizeof(*posted));

    if (!posted)
        return;
    posted->next = NULL;
    posted->previous = queue->last;
    posted->region = region;
    posted->wr_id = wr_id;
    posted->slots = slots;
    posted->signaled = signaled;
    if (queue->last)
        queue->last->next = posted;
    else
        queue->first = posted;
    queue->last = posted;
    queue->slots += slots;
    if (region && region->live)
        region->shadow.mr.posted++;
}

static void forget(struct vf_object *qp, struct vf_posted_queue *queue,
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
    vf_pool_put(&qp->machine->world->registry, posted, sizeof(*posted));
}

/* Once a call, however many requests are too many. */
static void check_depth(struct vf_call *call,
                        const struct vf_posted_queue *queue)
{
    if (queue->slots > queue->depth)
        vf_contract_finding(call, false, "queue-overflow",
                            "%u places taken of the %u granted",
                            (unsigned)queue->slots, (unsigned)queue->depth);
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

void vf_contract_post_send(struct vf_call *call, struct ibv_send_wr *wr)
{
    struct vf_object *qp = call->object;
    struct vf_posted_queue *queue = &qp->shadow.qp.send;

    check_plug(call);
    if (qp->shadow.qp.state < IBV_QPS_RTS)
        vf_contract_finding(call, false, "wrong-state", "qp %u is in state %s",
                            (unsigned)qp->id,
                            vf_state_name(qp->shadow.qp.state));
    for (; wr; wr = wr->next) {
        bool keys = !(wr->send_flags & IBV_SEND_INLINE);
        bool readable =
            wr->num_sge > 0 && (uint32_t)wr->num_sge <= qp->shadow.qp.send_sge;
        int count = readable ? wr->num_sge : 0;
        struct vf_object *region =
            check_entries(call, wr->sg_list, count, keys);

        remember(
            call, queue, region, wr->wr_id, slots_of(call, wr->sg_list, count),
            qp->shadow.qp.all_signaled || wr->send_flags & IBV_SEND_SIGNALED);
    }
    check_depth(call, queue);
}

void vf_contract_post_recv(struct vf_call *call, struct ibv_recv_wr *wr)
{
    struct vf_object *qp = call->object;
    struct vf_posted_queue *queue = &qp->shadow.qp.recv;

    check_plug(call);
    if (qp->shadow.qp.state == IBV_QPS_RESET)
        vf_contract_finding(call, false, "wrong-state",
                            "qp %u is in state RESET", (unsigned)qp->id);
    for (; wr; wr = wr->next) {
        bool readable =
            wr->num_sge > 0 && (uint32_t)wr->num_sge <= qp->shadow.qp.recv_sge;
        int count = readable ? wr->num_sge : 0;
        struct vf_object *region =
            check_entries(call, wr->sg_list, count, true);

        remember(call, queue, region, wr->wr_id,
                 slots_of(call, wr->sg_list, count), true);
    }
    check_depth(call, queue);
}

void vf_contract_untake(struct vf_object *qp, bool recv, unsigned count,
                        unsigned taken)
{
    struct vf_posted_queue *queue =
        recv ? &qp->shadow.qp.recv : &qp->shadow.qp.send;

    for (; count > taken && queue->last; count--)
        forget(qp, queue, queue->last);
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

void vf_contract_completed(struct vf_object *qp, const struct ibv_wc *wc,
                           bool recv)
{
    if (!recv)
        retire(qp, &qp->shadow.qp.send, wc, false);
    else if (!qp->parent[3])
        retire(qp, &qp->shadow.qp.recv, wc, true);
    if (wc->status != IBV_WC_SUCCESS)
        qp->shadow.qp.state = IBV_QPS_ERR;
}

void vf_contract_forget(struct vf_object *qp)
{
    while (qp->shadow.qp.send.first)
        forget(qp, &qp->shadow.qp.send, qp->shadow.qp.send.first);
    while (qp->shadow.qp.recv.first)
        forget(qp, &qp->shadow.qp.recv, qp->shadow.qp.recv.first);
}

void vf_contract_poll(struct vf_call *call)
{
    struct vf_object *cq = call->object;

    if (!cq->shadow.cq.overflow)
        return;
    cq->shadow.cq.overflow = false;
    vf_contract_finding(call, false, "cq-overflow",
                        "more completions than the %u places of cq %u",
                        (unsigned)cq->shadow.cq.room, (unsigned)cq->id);
}
