/*
 * Asynchronous events: what a device has to say that no call asked for. They
 * wait with their context until the program takes them.
 */
#include <errno.h>

#include "front/contract.h"
#include "front/descriptor.h"

struct vf_async {
    struct vf_async *next;
    struct ibv_async_event event;
};

static void add(struct vf_object *context, const struct ibv_async_event *event)
{
    struct vf_registry *registry = &context->machine->world->registry;
    struct vf_async *async = vf_pool_get(registry, sizeof(*async));

    if (!async)
        return;
    async->next = NULL;
    async->event = *event;
    if (context->shadow.context.last)
        context->shadow.context.last->next = async;
    else
        context->shadow.context.first = async;
    context->shadow.context.last = async;
    vf_descriptor_signal(context->shadow.context.signal);
}

static struct vf_object *context_of(struct vf_object *object)
{
    while (object->kind != VF_KIND_CONTEXT)
        object = object->parent[0];
    return object;
}

static const void *element_of(const struct ibv_async_event *event)
{
    switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
        return event->element.cq;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        return event->element.srq;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        return event->element.qp;
    default:
        return NULL;
    }
}

/* The kernel does so, too: else poll() would promise an event that nobody is
 * ever given. */
void vf_async_forget(struct vf_object *object)
{
    struct vf_registry *registry = &object->machine->world->registry;
    struct vf_object *context = context_of(object);
    struct vf_async **link = &context->shadow.context.first;
    const struct ibv_context *handle = context->handle;

    context->shadow.context.last = NULL;
    while (*link) {
        struct vf_async *async = *link;

        if (element_of(&async->event) == object->handle) {
            *link = async->next;
            vf_pool_put(registry, async, sizeof(*async));
            if (context->shadow.context.signal >= 0)
                vf_descriptor_forget(handle->async_fd);
        } else {
            context->shadow.context.last = async;
            link = &async->next;
        }
    }
}

void vf_async_object(struct vf_object *object, enum ibv_event_type type)
{
    struct ibv_async_event event = {.event_type = type};

    if (object->orphan)
        return;
    switch (object->kind) {
    case VF_KIND_CQ:
        event.element.cq = object->handle;
        break;
    case VF_KIND_QP:
        event.element.qp = object->handle;
        break;
    case VF_KIND_SRQ:
        event.element.srq = object->handle;
        break;
    default:
        return;
    }
    add(context_of(object), &event);
}

void vf_async_port(struct vf_device *device, enum ibv_event_type type)
{
    struct vf_object *context = device->machine->live[VF_KIND_CONTEXT];
    struct ibv_async_event event = {
        .event_type = type,
        .element.port_num = 1,
    };

    for (; context; context = context->next)
        if (context->device == device)
            add(context, &event);
}

/* Handed out, and so to be acknowledged. */
static void hand_out(struct vf_world *world,
                     const struct ibv_async_event *event)
{
    const void *element = element_of(event);
    struct vf_object *object =
        element ? vf_registry_find(&world->registry, element) : NULL;

    if (!object || !object->live)
        return;
    switch (object->kind) {
    case VF_KIND_CQ:
        object->shadow.cq.events++;
        break;
    case VF_KIND_QP:
        object->shadow.qp.events++;
        break;
    case VF_KIND_SRQ:
        object->shadow.srq.events++;
        break;
    default:
        break;
    }
}

static bool take(struct vf_call *call, struct ibv_async_event *event)
{
    struct vf_object *context = call->object;
    struct vf_async *first = context->shadow.context.first;

    if (!first)
        return false;
    *event = first->event;
    context->shadow.context.first = first->next;
    if (!first->next)
        context->shadow.context.last = NULL;
    vf_pool_put(&call->world->registry, first, sizeof(*first));
    hand_out(call->world, event);
    return true;
}

struct async_call {
    struct vf_call call;
    struct ibv_async_event *event;
};

static void get_async_event(struct vf_call *call)
{
    struct async_call *async = (struct async_call *)call;
    const struct ibv_context *context = call->object->handle;
    bool descriptors = call->world->hooks.descriptors;

    do {
        if (descriptors && !vf_call_read(call, context->async_fd))
            return;
        if (take(call, async->event)) {
            call->err = 0;
            return;
        }
    } while (descriptors || vf_call_wait(call));
    call->err = EAGAIN;
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

struct ack_call {
    struct vf_call call;
    const struct ibv_async_event *event;
};

/* False: it has gone, or is no object of that kind. */
static bool is_live(const struct vf_call *call, const void *handle,
                    enum vf_kind kind)
{
    const struct vf_object *object =
        vf_registry_find(&call->world->registry, handle);

    return object && object->live && object->kind == (uint8_t)kind;
}

static void ack_async_event(struct vf_call *call)
{
    const struct ibv_async_event *event = ((struct ack_call *)call)->event;

    switch (event->event_type) {
    case IBV_EVENT_CQ_ERR:
        if (is_live(call, event->element.cq, VF_KIND_CQ))
            event->element.cq->async_events_completed++;
        break;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        if (is_live(call, event->element.srq, VF_KIND_SRQ))
            event->element.srq->events_completed++;
        break;
    case IBV_EVENT_PORT_ACTIVE:
    case IBV_EVENT_PORT_ERR:
    case IBV_EVENT_DEVICE_FATAL:
        break;
    default:
        if (is_live(call, event->element.qp, VF_KIND_QP))
            event->element.qp->events_completed++;
        break;
    }
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
    struct ack_call ack = {
        .call = {.verb = VF_VERB_ack_async_event},
        .event = event,
    };

    vf_call_run(&ack.call, NULL, ack_async_event);
}
