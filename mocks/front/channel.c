#include <errno.h>

#include "front/contract.h"
#include "front/descriptor.h"

static void create_channel(struct vf_call *call)
{
    struct vf_object *channel =
        vf_call_new(call, VF_KIND_CHANNEL, call->object);
    struct ibv_comp_channel *handle;
    int err = 0;

    if (!channel)
        return;
    handle = channel->handle;
    handle->context = call->object->handle;
    handle->fd = -1;
    channel->shadow.channel.signal = -1;
    if (call->world->hooks.descriptors)
        err = vf_descriptor_open(&handle->fd, &channel->shadow.channel.signal);
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
    struct vf_object *channel = call->object;
    const struct ibv_comp_channel *handle = channel->handle;
    int err = channel->children > 0 ? EBUSY : 0;

    if (!err)
        vf_descriptor_close(handle->fd, channel->shadow.channel.signal);
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

void vf_channel_signal(struct vf_object *channel)
{
    vf_descriptor_signal(channel->shadow.channel.signal);
}

void vf_channel_forget(struct vf_object *channel)
{
    const struct ibv_comp_channel *handle = channel->handle;

    if (channel->live && channel->shadow.channel.signal >= 0)
        vf_descriptor_forget(handle->fd);
}

struct cq_event_call {
    struct vf_call call;
    struct vf_object *cq;
};

/* Nothing to take: waits, and says whether to look again. */
static bool wait_for_event(struct vf_call *call)
{
    const struct ibv_comp_channel *handle = call->object->handle;

    if (call->world->hooks.descriptors)
        return vf_call_read(call, handle->fd);
    return vf_call_wait(call);
}

/* With a descriptor the byte is taken first: it says that there is one. */
static void get_cq_event(struct vf_call *call)
{
    struct cq_event_call *event = (struct cq_event_call *)call;
    bool first_wait = call->world->hooks.descriptors;

    if (first_wait && !wait_for_event(call))
        return;
    call->err = call->provider->get_cq_event(call->object, &event->cq);
    while (call->err == EAGAIN && wait_for_event(call))
        call->err = call->provider->get_cq_event(call->object, &event->cq);
    if (call->err || !event->cq)
        return;
    call->given = event->cq->handle;
    event->cq->shadow.cq.events++;
}

/* Waits on the descriptor, or in the empty hook; without either it answers
 * EAGAIN at once. */
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
    if (event.cq) {
        *cq = event.cq->handle;
        *cq_context = (*cq)->cq_context;
    }
    return vf_call_minus(&event.call);
}

static void ack_cq_events(struct vf_call *call)
{
    ((struct ibv_cq *)call->object->handle)->comp_events_completed +=
        (uint32_t)call->args[0];
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
