/*
 * Completion channels and asynchronous events. The descriptors are the
 * library's and the program may wait on them; what comes through is counted
 * and traced on its way.
 *
 * One thing is added: while completions are held back (a `delay`), a program
 * that sleeps in get_cq_event is woken when one is due, with an event that the
 * library knows nothing of, and does not hear of when it is acknowledged.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>

#include "device/device.h"

#define MILLISECOND INT64_C(1000000)

/* ---- channels ---------------------------------------------------------------
 */

static void create_channel(struct vf_call *call)
{
    struct vf_object *channel =
        vf_call_new(call, VF_KIND_CHANNEL, call->object);
    struct ibv_comp_channel *made;
    struct real_pause pause;
    int err;

    if (!channel)
        return;
    real_begin(call->world, &pause);
    made = real.ibv_create_comp_channel(call->object->handle);
    err = real_missing(made);
    real_end(&pause);
    if (made)
        channel->handle = made;
    vf_call_made(call, channel, err);
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
    struct vf_call call = {
        .verb = VF_VERB_create_comp_channel,
        .kind = VF_KIND_CONTEXT,
        .handle = context,
    };

    vf_call_run(&call, NULL, create_channel);
    return vf_call_pointer(&call);
}

static void destroy_channel(struct vf_call *call)
{
    struct real_pause pause;
    int err;

    real_begin(call->world, &pause);
    err = real_error(real.ibv_destroy_comp_channel(call->object->handle));
    real_end(&pause);
    vf_call_released(call, err);
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
    struct vf_call call = {
        .verb = VF_VERB_destroy_comp_channel,
        .kind = VF_KIND_CHANNEL,
        .handle = channel,
    };

    vf_call_run(&call, vf_contract_childless, destroy_channel);
    return vf_call_errno(&call);
}

/* The mock's devices tell of events this way; these have the library for it. */
void vf_channel_signal(struct vf_object *channel)
{
    (void)channel;
}

void vf_channel_forget(struct vf_object *channel)
{
    (void)channel;
}

/* ---- events of completion ---------------------------------------------------
 */

struct cq_event_call {
    struct vf_call call;
    struct ibv_cq *cq;
    void *context;
};

/* A queue of the channel in which a completion that was late has become due. */
static struct vf_object *find_due(const struct vf_call *call)
{
    struct vf_object *cq = call->machine->live[VF_KIND_CQ];

    for (; cq; cq = cq->next) {
        const struct device_cq *own = cq->own;

        if (cq->parent[1] == call->object && own && own->held.count > 0)
            return cq;
    }
    return NULL;
}

static bool tell_due(struct vf_call *call, struct cq_event_call *event)
{
    struct vf_object *cq = find_due(call);
    struct device_cq *own;

    if (!cq)
        return false;
    own = cq->own;
    own->unreal++;
    event->cq = cq->handle;
    event->context = event->cq->cq_context;
    return true;
}

/* Waits for the library's event no longer than until something is due. False:
 * that is so now. The world is locked. */
static bool wait_in_time(struct vf_call *call)
{
    const struct ibv_comp_channel *handle = call->object->handle;
    struct pollfd wanted = {.fd = handle->fd, .events = POLLIN};
    const struct vf_hooks *hooks = &call->world->hooks;
    int64_t due = vf_world_advance(call->world);
    int64_t left = hooks->now ? due - hooks->now(hooks->context) : 0;
    struct real_pause pause;
    int ready;

    if (due < 0)
        return true;
    real_begin(call->world, &pause);
    ready = poll(&wanted, 1, left > 0 ? (int)(left / MILLISECOND) + 1 : 0);
    real_end(&pause);
    return ready != 0;
}

static void get_cq_event(struct vf_call *call)
{
    struct cq_event_call *event = (struct cq_event_call *)call;
    struct ibv_comp_channel *channel = call->object->handle;
    struct vf_object *cq;
    struct real_pause pause;
    int answer;

    if (call->object->device->state->unplugged && tell_due(call, event))
        return;
    while (call->world->delayed && !wait_in_time(call))
        if (vf_world_advance(call->world), tell_due(call, event))
            return;
    real_begin(call->world, &pause);
    answer = real.ibv_get_cq_event(channel, &event->cq, &event->context);
    call->err = answer ? (errno ? errno : EIO) : 0;
    real_end(&pause);
    if (call->err)
        return;
    call->given = event->cq;
    cq = vf_registry_find(&call->world->registry, event->cq);
    if (cq && cq->live && cq->kind == VF_KIND_CQ)
        cq->shadow.cq.events++;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq,
                     void **cq_context)
{
    struct cq_event_call event = {
        .call =
            {
                .verb = VF_VERB_get_cq_event,
                .kind = VF_KIND_CHANNEL,
                .handle = channel,
            },
    };

    vf_call_run(&event.call, NULL, get_cq_event);
    if (event.cq && !event.call.err) {
        *cq = event.cq;
        *cq_context = event.context;
    }
    return vf_call_minus(&event.call);
}

static void ack_cq_events(struct vf_call *call)
{
    struct device_cq *own = call->object->own;
    unsigned count = (unsigned)call->args[0];
    unsigned unreal = own && own->unreal < count ? own->unreal : count;

    if (own)
        own->unreal -= unreal;
    else
        unreal = 0;
    if (count == unreal)
        return;
    real_enter();
    real.ibv_ack_cq_events(call->object->handle, count - unreal);
    real_leave();
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
    struct vf_call call = {
        .verb = VF_VERB_ack_cq_events,
        .kind = VF_KIND_CQ,
        .handle = cq,
        .args = {nevents},
    };

    vf_call_run(&call, NULL, ack_cq_events);
}

/* ---- asynchronous events ----------------------------------------------------
 */

static struct vf_object *live(struct vf_call *call, const void *handle,
                              enum vf_kind kind)
{
    struct vf_object *object = vf_registry_find(&call->world->registry, handle);

    return object && object->live && object->kind == kind ? object : NULL;
}

/* The program has it in hand, and so has to acknowledge it. */
static void count_event(struct vf_call *call,
                        const struct ibv_async_event *event)
{
    struct vf_object *object = NULL;

    switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
        object = live(call, event->element.cq, VF_KIND_CQ);
        if (object)
            object->shadow.cq.events++;
        break;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        object = live(call, event->element.qp, VF_KIND_QP);
        if (object)
            object->shadow.qp.events++;
        break;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        object = live(call, event->element.srq, VF_KIND_SRQ);
        if (object)
            object->shadow.srq.events++;
        break;
    default:
        break;
    }
}

struct async_call {
    struct vf_call call;
    struct ibv_async_event *event;
};

static void get_async_event(struct vf_call *call)
{
    struct ibv_async_event *event = ((struct async_call *)call)->event;
    struct real_pause pause;
    int answer;

    real_begin(call->world, &pause);
    answer = real.ibv_get_async_event(call->object->handle, event);
    call->err = answer ? (errno ? errno : EIO) : 0;
    real_end(&pause);
    if (!call->err)
        count_event(call, event);
}

int ibv_get_async_event(struct ibv_context *context,
                        struct ibv_async_event *event)
{
    struct async_call async = {
        .call =
            {
                .verb = VF_VERB_get_async_event,
                .kind = VF_KIND_CONTEXT,
                .handle = context,
                .first_read = offsetof(struct ibv_context, async_fd),
            },
        .event = event,
    };

    vf_call_run(&async.call, NULL, get_async_event);
    return vf_call_minus(&async.call);
}

static void ack_async_event(struct vf_call *call)
{
    real_enter();
    real.ibv_ack_async_event(((struct async_call *)call)->event);
    real_leave();
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
    struct async_call ack = {
        .call = {.verb = VF_VERB_ack_async_event},
        .event = event,
    };

    vf_call_run(&ack.call, NULL, ack_async_event);
}

void vf_async_object(struct vf_object *object, enum ibv_event_type type)
{
    (void)object;
    (void)type;
}

void vf_async_forget(struct vf_object *object)
{
    (void)object;
}

void vf_async_port(struct vf_device *device, enum ibv_event_type type)
{
    (void)device;
    (void)type;
}
