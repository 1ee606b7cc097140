/*
 * Asynchronous events. No device of the mock raises one yet.
 */
#include <errno.h>

#include "front/contract.h"

static void get_async_event(struct vf_call *call)
{
    vf_call_wait(call);
    call->err = EAGAIN;
}

int ibv_get_async_event(struct ibv_context *context,
                        struct ibv_async_event *event)
{
    struct vf_call call = {
        .verb = VF_VERB_get_async_event,
        .kind = VF_KIND_CONTEXT,
        .handle = context,
        .first_read = offsetof(struct ibv_context, async_fd),
    };

    (void)event;
    vf_call_run(&call, NULL, get_async_event);
    return vf_call_minus(&call);
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
    struct vf_call call = {.verb = VF_VERB_ack_async_event};

    (void)event;
    vf_call_run(&call, NULL, NULL);
}
