#include "front/contract.h"

struct create_srq_call {
    struct vf_call call;
    struct ibv_srq_init_attr *attr;
};

static void create_srq(struct vf_call *call)
{
    struct create_srq_call *create = (struct create_srq_call *)call;
    struct vf_object *srq = vf_call_new(call, VF_KIND_SRQ, call->object);
    struct ibv_srq *handle;

    if (!srq)
        return;
    handle = srq->handle;
    handle->context = ((struct ibv_pd *)call->object->handle)->context;
    handle->srq_context = create->attr->srq_context;
    handle->pd = call->object->handle;
    vf_call_made(call, srq, call->provider->create_srq(srq, create->attr));
    if (call->err)
        return;
    srq->shadow.srq.recv.depth = create->attr->attr.max_wr;
    srq->shadow.srq.recv_sge = create->attr->attr.max_sge;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd,
                               struct ibv_srq_init_attr *srq_init_attr)
{
    struct create_srq_call create = {
        .call =
            {
                .verb = VF_VERB_create_srq,
                .kind = VF_KIND_PD,
                .handle = pd,
                .args = {srq_init_attr->attr.max_wr},
            },
        .attr = srq_init_attr,
    };

    vf_call_run(&create.call, NULL, create_srq);
    return vf_call_pointer(&create.call);
}

static void destroy_srq(struct vf_call *call)
{
    struct vf_object *srq = call->object;
    int err = call->provider->destroy_srq(srq);

    if (!err)
        vf_contract_forget(srq);
    vf_call_released(call, err);
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
    struct vf_call call = {
        .verb = VF_VERB_destroy_srq,
        .kind = VF_KIND_SRQ,
        .handle = srq,
    };

    vf_call_run(&call, vf_contract_childless, destroy_srq);
    return vf_call_errno(&call);
}
