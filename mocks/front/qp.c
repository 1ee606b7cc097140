#include <errno.h>
#include <string.h>

#include "front/contract.h"
#include "front/extended.h"
#include "front/inline_verbs.h"

struct create_qp_call {
    struct vf_call call;
    struct ibv_qp_init_attr *attr;
    struct vf_object *send_cq, *recv_cq, *srq;
};

static bool may_lack_queue(const struct vf_call *call,
                           const struct ibv_qp_init_attr *attr)
{
    return call->provider->meet && attr->qp_type != IBV_QPT_RC &&
           attr->qp_type != IBV_QPT_UC && attr->qp_type != IBV_QPT_UD;
}

static void create_qp_contract(struct vf_call *call)
{
    struct create_qp_call *create = (struct create_qp_call *)call;
    const struct ibv_qp_init_attr *attr = create->attr;

    /* Other services of real devices may do without a queue. */
    if (attr->send_cq || !may_lack_queue(call, attr))
        create->send_cq = vf_contract_handle(call, attr->send_cq, VF_KIND_CQ,
                                             offsetof(struct ibv_cq, handle));
    if (call->answered)
        return;
    if (attr->recv_cq || !may_lack_queue(call, attr))
        create->recv_cq = vf_contract_handle(call, attr->recv_cq, VF_KIND_CQ,
                                             offsetof(struct ibv_cq, handle));
    if (!call->answered && attr->srq)
        create->srq = vf_contract_handle(call, attr->srq, VF_KIND_SRQ,
                                         offsetof(struct ibv_srq, handle));
}

void vf_qp_fill(struct vf_object *qp, const struct ibv_qp_init_attr *attr)
{
    struct ibv_qp *handle = qp->handle;
    struct ibv_pd *pd = qp->parent[0]->handle;

    handle->context = pd->context;
    handle->qp_context = attr->qp_context;
    handle->pd = pd;
    handle->send_cq = attr->send_cq;
    handle->recv_cq = attr->recv_cq;
    handle->srq = attr->srq;
    handle->state = IBV_QPS_RESET;
    handle->qp_type = attr->qp_type;
}

void vf_qp_shadow(struct vf_object *qp, const struct ibv_qp_init_attr *attr)
{
    qp->shadow.qp.state = IBV_QPS_RESET;
    qp->shadow.qp.type = (uint8_t)attr->qp_type;
    qp->shadow.qp.all_signaled = attr->sq_sig_all != 0;
    /* A provider that says less than its queues take has noted how much. */
    if (qp->shadow.qp.send.depth < attr->cap.max_send_wr)
        qp->shadow.qp.send.depth = attr->cap.max_send_wr;
    if (qp->shadow.qp.recv.depth < attr->cap.max_recv_wr)
        qp->shadow.qp.recv.depth = attr->cap.max_recv_wr;
    qp->shadow.qp.send_sge = attr->cap.max_send_sge;
    qp->shadow.qp.recv_sge = attr->cap.max_recv_sge;
    qp->shadow.qp.max_inline = attr->cap.max_inline_data;
}

static void create_qp(struct vf_call *call)
{
    struct create_qp_call *create = (struct create_qp_call *)call;
    struct vf_object *qp = vf_call_new(call, VF_KIND_QP, call->object);

    if (!qp)
        return;
    qp->parent[1] = create->send_cq;
    qp->parent[2] = create->recv_cq;
    qp->parent[3] = create->srq;
    vf_qp_fill(qp, create->attr);
    vf_call_made(call, qp, call->provider->create_qp(qp, create->attr));
    if (!call->err)
        vf_qp_shadow(qp, create->attr);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd,
                             struct ibv_qp_init_attr *qp_init_attr)
{
    struct create_qp_call create = {
        .call =
            {
                .verb = VF_VERB_create_qp,
                .kind = VF_KIND_PD,
                .handle = pd,
                .given = qp_init_attr,
                .args = {qp_init_attr->qp_type, qp_init_attr->cap.max_send_wr,
                         qp_init_attr->cap.max_recv_wr},
            },
        .attr = qp_init_attr,
    };

    vf_call_run(&create.call, create_qp_contract, create_qp);
    return vf_call_pointer(&create.call);
}

struct modify_qp_call {
    struct vf_call call;
    struct ibv_qp_attr *attr;
    int mask;
};

static void modify_qp_contract(struct vf_call *call)
{
    struct modify_qp_call *modify = (struct modify_qp_call *)call;

    vf_contract_not_null(call, modify->attr, "null-attr");
    if (!call->answered)
        vf_contract_modify(call, modify->attr, modify->mask);
}

static void modify_qp(struct vf_call *call)
{
    struct modify_qp_call *modify = (struct modify_qp_call *)call;
    struct vf_object *qp = call->object;
    struct ibv_qp *handle = qp->handle;
    const struct ibv_qp_attr *attr = modify->attr;

    call->err = call->provider->modify_qp(qp, attr, modify->mask);
    if (call->err || !(modify->mask & IBV_QP_STATE))
        return;
    handle->state = attr->qp_state;
    qp->shadow.qp.state = (uint8_t)attr->qp_state;
    if (attr->qp_state == IBV_QPS_RESET)
        vf_contract_forget(qp);
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask)
{
    bool moves = attr && attr_mask & IBV_QP_STATE;
    struct modify_qp_call modify = {
        .call =
            {
                .verb = VF_VERB_modify_qp,
                .kind = VF_KIND_QP,
                .handle = qp,
                .given = attr,
                .args = {moves ? (uint64_t)attr->qp_state : UINT64_MAX,
                         (uint64_t)(unsigned)attr_mask},
            },
        .attr = attr,
        .mask = attr_mask,
    };

    vf_call_run(&modify.call, modify_qp_contract, modify_qp);
    return vf_call_errno(&modify.call);
}

struct query_qp_call {
    struct vf_call call;
    struct ibv_qp_init_attr *init;
};

static void query_qp_contract(struct vf_call *call)
{
    struct query_qp_call *query = (struct query_qp_call *)call;

    vf_contract_not_null(call, call->out, "null-attr");
    vf_contract_not_null(call, query->init, "null-init-attr");
}

static void query_qp(struct vf_call *call)
{
    struct query_qp_call *query = (struct query_qp_call *)call;
    struct ibv_qp_init_attr astray;
    bool kept = call->fault && call->fault->effect != VF_EFFECT_UNPLUG;

    call->err =
        call->provider->query_qp(call->object, call->out, (int)call->args[0],
                                 kept ? &astray : query->init);
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask,
                 struct ibv_qp_init_attr *init_attr)
{
    struct query_qp_call query = {
        .call =
            {
                .verb = VF_VERB_query_qp,
                .kind = VF_KIND_QP,
                .handle = qp,
                .args = {(uint64_t)(unsigned)attr_mask},
                .out = attr,
                .out_size = sizeof(*attr),
            },
        .init = init_attr,
    };

    vf_call_run(&query.call, query_qp_contract, query_qp);
    return vf_call_errno(&query.call);
}

static void destroy_qp(struct vf_call *call)
{
    struct vf_object *qp = call->object;
    int err = call->provider->destroy_qp(qp);

    if (!err && qp->live) {
        vf_chain_stop(qp->memory);
        vf_contract_forget(qp);
    }
    vf_call_released(call, err);
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    struct vf_call call = {
        .verb = VF_VERB_destroy_qp,
        .kind = VF_KIND_QP,
        .handle = qp,
    };

    vf_call_run(&call, vf_contract_acked, destroy_qp);
    return vf_call_errno(&call);
}
