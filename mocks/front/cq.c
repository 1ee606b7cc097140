#include <errno.h>

#include "front/contract.h"
#include "front/inline_verbs.h"
#include "front/quick.h"

struct create_cq_call {
    struct vf_call call;
    void *cq_context;
    struct ibv_comp_channel *channel;
    struct vf_object *channel_object;
    int vector;
};

static void create_cq_contract(struct vf_call *call)
{
    struct create_cq_call *create = (struct create_cq_call *)call;

    if (create->channel)
        create->channel_object =
            vf_contract_handle(call, create->channel, VF_KIND_CHANNEL,
                               offsetof(struct ibv_comp_channel, fd));
}

static void create_cq(struct vf_call *call)
{
    struct create_cq_call *create = (struct create_cq_call *)call;
    struct vf_object *cq = vf_call_new(call, VF_KIND_CQ, call->object);
    struct ibv_cq *handle;

    if (!cq)
        return;
    handle = cq->handle;
    handle->context = call->object->handle;
    handle->channel = create->channel;
    handle->cq_context = create->cq_context;
    cq->parent[1] = create->channel_object;
    vf_call_made(
        call, cq,
        call->provider->create_cq(cq, (int)call->args[0], create->vector));
    if (!call->err)
        cq->shadow.cq.room = (uint32_t)((struct ibv_cq *)cq->handle)->cqe;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe,
                             void *cq_context, struct ibv_comp_channel *channel,
                             int comp_vector)
{
    struct create_cq_call create = {
        .call =
            {
                .verb = VF_VERB_create_cq,
                .kind = VF_KIND_CONTEXT,
                .handle = context,
                .first_read = VF_CONTEXT_READ,
                .args = {(uint64_t)(int64_t)cqe},
            },
        .cq_context = cq_context,
        .channel = channel,
        .vector = comp_vector,
    };

    vf_call_run(&create.call, create_cq_contract, create_cq);
    return vf_call_pointer(&create.call);
}

static void destroy_cq_contract(struct vf_call *call)
{
    vf_contract_childless(call);
    vf_contract_acked(call);
}

static void destroy_cq(struct vf_call *call)
{
    vf_call_released(call, call->provider->destroy_cq(call->object));
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
    struct vf_call call = {
        .verb = VF_VERB_destroy_cq,
        .kind = VF_KIND_CQ,
        .handle = cq,
        .first_read = offsetof(struct ibv_cq, channel),
    };

    vf_call_run(&call, destroy_cq_contract, destroy_cq);
    return vf_call_errno(&call);
}

static void resize_cq(struct vf_call *call)
{
    struct vf_object *cq = call->object;

    call->err = call->provider->resize_cq(cq, (int)call->args[0]);
    if (!call->err)
        cq->shadow.cq.room = (uint32_t)((struct ibv_cq *)cq->handle)->cqe;
}

int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
    struct vf_call call = {
        .verb = VF_VERB_resize_cq,
        .kind = VF_KIND_CQ,
        .handle = cq,
        .args = {(uint64_t)(int64_t)cqe},
    };

    vf_call_run(&call, NULL, resize_cq);
    return vf_call_errno(&call);
}

static void poll_once(struct vf_call *call)
{
    struct vf_object *cq = call->object;

    call->result = call->provider->poll_cq(cq, (int)call->args[0], call->out);
    if (call->result > 0) {
        vf_record_completions(call->record, call->out, (int)call->result);
        cq->shadow.cq.held -= (uint32_t)call->result;
    }
}

/* A simulated rank waits here. Threads are told after the call (below): they
 * spin on this, and need not let go of the world in its middle. */
static void poll_cq(struct vf_call *call)
{
    poll_once(call);
    if (call->result == 0 && call->args[0] > 0 && !call->world->hooks.threads &&
        vf_call_wait(call))
        poll_once(call);
}

static void tell_empty(const struct vf_call *call)
{
    const struct vf_hooks *hooks;

    if (!call->machine || call->result != 0 || call->err)
        return;
    hooks = &call->world->hooks;
    if (hooks->threads && hooks->empty)
        hooks->empty(hooks->context, call->machine->number);
}

VF_ASIDE
static int poll_in_steps(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
    struct vf_call call = {
        .verb = VF_VERB_poll_cq,
        .kind = VF_KIND_CQ,
        .handle = cq,
        .args = {num_entries > 0 ? (uint64_t)num_entries : 0},
        .out = wc,
        .out_size = sizeof(*wc),
    };

    vf_call_run(&call, vf_contract_poll, poll_cq);
    tell_empty(&call);
    return vf_call_count(&call);
}

int vf_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
    int answer;

    if (vf_quick_poll_cq(cq, num_entries, wc, &answer))
        return answer;
    return poll_in_steps(cq, num_entries, wc);
}

struct notify_call {
    struct vf_call call;
    int solicited_only;
};

static void req_notify_cq(struct vf_call *call)
{
    struct notify_call *notify = (struct notify_call *)call;

    call->err =
        call->provider->req_notify_cq(call->object, notify->solicited_only);
}

int vf_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
    struct notify_call notify = {
        .call =
            {
                .verb = VF_VERB_req_notify_cq,
                .kind = VF_KIND_CQ,
                .handle = cq,
                .given = solicited_only ? cq : NULL,
            },
        .solicited_only = solicited_only,
    };

    vf_call_run(&notify.call, NULL, req_notify_cq);
    return vf_call_errno(&notify.call);
}
