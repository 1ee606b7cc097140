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
    /* The provider may have noted that it takes more. */
    if (srq->shadow.srq.recv.depth < create->attr->attr.max_wr)
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
                .given = srq_init_attr,
                .args = {srq_init_attr->attr.max_wr},
            },
        .attr = srq_init_attr,
    };

    vf_call_run(&create.call, NULL, create_srq);
    return vf_call_pointer(&create.call);
}

struct modify_srq_call {
    struct vf_call call;
    struct ibv_srq_attr *attr;
};

static void modify_srq_contract(struct vf_call *call)
{
    vf_contract_not_null(call, ((struct modify_srq_call *)call)->attr,
                         "null-attr");
}

static void modify_srq(struct vf_call *call)
{
    const struct vf_provider_ops *provider = call->provider;
    struct vf_object *srq = call->object;
    int mask = (int)call->args[0];
    struct ibv_srq_attr granted;

    call->err =
        provider->modify_srq(srq, ((struct modify_srq_call *)call)->attr, mask);
    if (!call->err && mask & IBV_SRQ_MAX_WR &&
        !provider->query_srq(srq, &granted))
        srq->shadow.srq.recv.depth = granted.max_wr;
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *srq_attr,
                   int srq_attr_mask)
{
    struct modify_srq_call modify = {
        .call =
            {
                .verb = VF_VERB_modify_srq,
                .kind = VF_KIND_SRQ,
                .handle = srq,
                .given = srq_attr,
                .args = {(uint64_t)(unsigned)srq_attr_mask},
            },
        .attr = srq_attr,
    };

    vf_call_run(&modify.call, modify_srq_contract, modify_srq);
    return vf_call_errno(&modify.call);
}

static void query_srq_contract(struct vf_call *call)
{
    vf_contract_not_null(call, call->out, "null-attr");
}

static void query_srq(struct vf_call *call)
{
    call->err = call->provider->query_srq(call->object, call->out);
}

int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *srq_attr)
{
    struct vf_call call = {
        .verb = VF_VERB_query_srq,
        .kind = VF_KIND_SRQ,
        .handle = srq,
        .out = srq_attr,
        .out_size = sizeof(*srq_attr),
    };

    vf_call_run(&call, query_srq_contract, query_srq);
    return vf_call_errno(&call);
}

static void destroy_srq_contract(struct vf_call *call)
{
    vf_contract_childless(call);
    vf_contract_acked(call);
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

    vf_call_run(&call, destroy_srq_contract, destroy_srq);
    return vf_call_errno(&call);
}
