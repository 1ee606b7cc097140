#include "front/contract.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "front/alone.h"
#include "front/detail.h"
#include "front/sanitize.h"
#include "front/transition.h"

/* How long a destroyed object's events may take to be acknowledged, in
 * nanoseconds, until that is a finding. */
#define ACK_PATIENCE INT64_C(2000000000)

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

    if (!fatal && call->object && call->object->stranger)
        return;
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
        if (hooks->record)
            vf_detail_tell(call);
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

/* A resting queue pair still shows its context, a window all of its struct, and
 * a closed context is still mapped: what is behind them is not. */
static void follow_freed(const struct vf_object *object)
{
    ptrdiff_t past = object->kind == VF_KIND_MW ? sizeof(struct ibv_mw) : 16;
    uintptr_t scribbled = vf_dereference(object->handle, past);

    vf_dereference((const void *)scribbled, 0);
}

static const char *static_words(enum vf_kind kind, int row)
{
    static const char *const words[3][VF_KIND_COUNT] = {
        {"null-handle", "null-device-list", "null-device", "null-context",
         "null-pd", "null-mr", "null-cq", "null-qp", "null-ah", "null-srq",
         "null-channel", "null-mw"},
        {"freed-handle", "freed-device-list", "freed-device", "freed-context",
         "freed-pd", "freed-mr", "freed-cq", "freed-qp", "freed-ah",
         "freed-srq", "freed-channel", "freed-mw"},
        {"foreign-handle", "foreign-device-list", "foreign-device",
         "foreign-context", "foreign-pd", "foreign-mr", "foreign-cq",
         "foreign-qp", "foreign-ah", "foreign-srq", "foreign-channel",
         "foreign-mw"},
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

static void name_mistake(struct vf_call *call, const struct vf_object *object,
                         const void *handle, enum vf_kind kind)
{
    const char *word = vf_kind_word(kind);

    if (!handle)
        vf_contract_finding(call, true, static_words(kind, 0),
                            "a NULL %s was passed on", word);
    else if (!object)
        vf_contract_finding(call, true, static_words(kind, 2),
                            "the %s is no handle of this library", word);
    else if (object->kind != kind)
        vf_contract_finding(call, true,
                            wrong_kind((enum vf_kind)object->kind, kind),
                            "%s %u was passed for a %s",
                            vf_kind_word((enum vf_kind)object->kind),
                            (unsigned)object->id, word);
    else if (!object->live)
        vf_contract_finding(call, true, static_words(kind, 1),
                            "%s %u was released before", word,
                            (unsigned)object->id);
    else
        vf_contract_finding(call, true, static_words(VF_KIND_CONTEXT, 1),
                            "the context of %s %u was closed before", word,
                            (unsigned)object->id);
}

/* A kernel looks for the number of a further handle among those of the call's
 * context: it finds none, or another object. */
static bool is_of_context(struct vf_call *call, const struct vf_object *object)
{
    const struct vf_object *context = vf_contract_root(object);

    if (!call->object || vf_contract_root(call->object) == context ||
        call->provider->meet) /* a real kernel looks itself */
        return true;
    vf_contract_finding(
        call, false, "wrong-context", "%s %u is of context %u, the call of %u",
        vf_kind_word((enum vf_kind)object->kind), (unsigned)object->id,
        (unsigned)context->id, (unsigned)vf_contract_root(call->object)->id);
    call->answered = true;
    call->err = EINVAL;
    return false;
}

struct vf_object *vf_contract_handle(struct vf_call *call, const void *handle,
                                     enum vf_kind kind, ptrdiff_t first_read)
{
    struct vf_object *object =
        handle == call->handle
            ? call->found
            : vf_registry_find(&call->world->registry, handle);

    if (handle && call->provider->meet)
        object = call->provider->meet(call->machine, object, handle, kind);
    /* What another machine's process holds is nothing here. */
    if (object && object->machine != call->machine)
        object = NULL;
    note_handle(call, handle, object);
    if (object && vf_contract_usable(object, kind))
        return is_of_context(call, object) ? object : NULL;
    name_mistake(call, object, handle, kind);
    if (!call->reads_nothing && !(handle && call->provider->meet)) {
        follow(handle, kind, first_read);
        if (object && object->kind == kind)
            follow_freed(object->live ? vf_contract_root(object) : object);
    }
    call->answered = true;
    call->err = EINVAL;
    return NULL;
}

static bool is_child(const struct vf_naming *naming,
                     const struct vf_object *object)
{
    for (int i = 0; i < 4; i++)
        if (object->parent[i] == naming->parent && !object->excused)
            return true;
    return false;
}

/* One object may use it in two ways, as a queue pair does its queue. */
void vf_contract_childless(struct vf_call *call)
{
    const struct vf_object *object = call->object;
    struct vf_naming children = {
        .machine = call->machine, .is = is_child, .parent = object};
    char names[128];
    unsigned left;

    if (object->children <= object->excused_children)
        return;
    left = vf_name_objects(&children, names, sizeof(names));
    vf_contract_finding(
        call, false, "children-alive",
        "%s %u is released while %u object%s still use%s it: %s",
        vf_kind_word((enum vf_kind)object->kind), (unsigned)object->id, left,
        left == 1 ? "" : "s", left == 1 ? "s" : "", names);
}

/* Events that the program was given and has not acknowledged. */
static int32_t unacked(const struct vf_object *object)
{
    uint32_t acked = 0, events = 0;

    if (object->kind == VF_KIND_CQ) {
        const struct ibv_cq *cq = object->handle;

        events = object->shadow.cq.events;
        acked = cq->comp_events_completed + cq->async_events_completed;
    } else if (object->kind == VF_KIND_QP) {
        events = object->shadow.qp.events;
        acked = ((const struct ibv_qp *)object->handle)->events_completed;
    } else if (object->kind == VF_KIND_SRQ) {
        events = object->shadow.srq.events;
        acked = ((const struct ibv_srq *)object->handle)->events_completed;
    }
    return (int32_t)(events - acked);
}

/* rdma-core waits here for another thread, which has an event in hand, to
 * acknowledge it: for ever, so that no event outlives its object. */
static void wait_for_acks(struct vf_call *call)
{
    const struct vf_hooks *hooks = &call->world->hooks;
    int64_t until;

    if (!hooks->threads || !hooks->descriptors || !hooks->now ||
        unacked(call->object) <= 0)
        return;
    until = hooks->now(hooks->context) + ACK_PATIENCE;
    while (unacked(call->object) > 0 && hooks->now(hooks->context) < until)
        if (!vf_call_wait(call)) {
            call->answered = true; /* another thread has destroyed it */
            call->err = EINVAL;
            return;
        }
}

/* A real library waits by itself, for as long as it takes. That it waits for
 * ever is certain only where nobody else is there to acknowledge. */
static bool is_the_library_s(const struct vf_call *call)
{
    return call->provider->meet && !VF_ALONE;
}

void vf_contract_acked(struct vf_call *call)
{
    const struct vf_object *object = call->object;
    int32_t count;

    if (is_the_library_s(call))
        return;
    if (!call->provider->meet)
        wait_for_acks(call);
    count = unacked(object);
    if (!call->answered && count > 0)
        vf_contract_finding(call, false, "unacked-events",
                            "%u event%s of %s %u %s got and not acknowledged",
                            (unsigned)count, count == 1 ? "" : "s",
                            vf_kind_word((enum vf_kind)object->kind),
                            (unsigned)object->id, count == 1 ? "was" : "were");
}

bool vf_memory_alive(const struct vf_world *world, const void *address,
                     size_t length)
{
    const struct vf_hooks *hooks = &world->hooks;
    const unsigned char *bytes = address;
    size_t step;

    if (length == 0 || !address)
        return true;
    if (length - 1 > UINTPTR_MAX - (uintptr_t)address)
        return false; /* it would go past the last address */
    if (length > VF_ABSURD_LENGTH)
        return true; /* for the device to refuse */
    if (hooks->memory_alive)
        return hooks->memory_alive(hooks->context, address, length);
    /* Sampled: what is freed is freed from end to end. */
    step = length / SAMPLES > SAMPLE_STEP ? length / SAMPLES : SAMPLE_STEP;
    for (size_t at = 0; at < length; at += step)
        if (VF_IS_POISONED(bytes + at))
            return false;
    return !VF_IS_POISONED(bytes + (length - 1));
}

void vf_contract_not_null(struct vf_call *call, const void *pointer,
                          const char *what)
{
    if (pointer || call->answered)
        return;
    vf_contract_finding(call, true, what, "a NULL pointer was passed on");
    vf_dereference(NULL, 0);
    call->answered = true;
    call->err = EINVAL;
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

    if (from == IBV_QPS_UNKNOWN)
        return;
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
