#include "front/contract.h"
#include "front/inline_verbs.h"

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
    vf_call_released(call, call->provider->destroy_srq(call->object));
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

struct post_srq_recv_call {
    struct vf_call call;
    struct ibv_recv_wr *wr;
    struct ibv_recv_wr **bad;
};

static void post_srq_recv(struct vf_call *call)
{
    struct post_srq_recv_call *post = (struct post_srq_recv_call *)call;

    call->err =
        call->provider->post_srq_recv(call->object, post->wr, post->bad);
}

int vf_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
                     struct ibv_recv_wr **bad)
{
    struct post_srq_recv_call post = {
        .call =
            {
                .verb = VF_VERB_post_srq_recv,
                .kind = VF_KIND_SRQ,
                .handle = srq,
                .args = {wr ? wr->wr_id : 0,
                         wr && wr->num_sge > 0 ? wr->sg_list[0].length : 0},
            },
        .wr = wr,
        .bad = bad,
    };

    vf_call_run(&post.call, NULL, post_srq_recv);
    return vf_call_errno(&post.call);
}
