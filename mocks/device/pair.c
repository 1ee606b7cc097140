/*
 * Queue pairs, shared receive queues and address handles of the library
 * beneath.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"

/* ---- queue pairs ------------------------------------------------------------
 */

int device_qp_own(struct vf_object *qp)
{
    struct ibv_qp *handle = qp->handle;
    struct device_qp *own = device_qp_of(handle);

    if (!own) {
        own = calloc(1, sizeof(*own));
        if (!own)
            return ENOMEM;
        own->context = device_context_of(handle->context);
        if (device_keep(DEVICE_QPS, handle, own) != 0) {
            free(own);
            return ENOMEM;
        }
    }
    qp->own = own;
    device_number(qp, handle->qp_num);
    return 0;
}

static void disown(struct vf_object *qp, uint32_t number)
{
    struct device_qp *own = qp->own;

    device_unnumber(qp, number);
    if (own)
        vf_chain_stop(&own->chain);
    free(own);
    qp->own = NULL;
}

/* Does every completion of the queue tell whose it is? */
static bool is_seen(const struct vf_object *cq)
{
    const struct device_cq *own = cq ? cq->own : NULL;

    return own && !cq->stranger && !own->blind;
}

/* The contract has rules for three services over InfiniBand or RoCE, and counts
 * on seeing what completes. */
static bool is_judged(const struct vf_object *qp, enum ibv_qp_type type)
{
    return device_part(qp)->judged && type >= IBV_QPT_RC &&
           type <= IBV_QPT_UD && is_seen(qp->parent[1]) &&
           is_seen(qp->parent[2]);
}

int device_qp_made(struct vf_object *qp, struct ibv_qp *made,
                   enum ibv_qp_type type)
{
    qp->handle = made;
    qp->stranger = !is_judged(qp, type);
    device_keep(DEVICE_QPS, made, NULL); /* of one that ended unseen */
    return device_qp_own(qp);
}

int device_create_qp(struct vf_object *qp, struct ibv_qp_init_attr *attr)
{
    const struct ibv_qp *asked = qp->handle;
    struct real_pause pause;
    struct ibv_qp *made;
    int err;

    real_begin(qp->machine->world, &pause);
    made = real.ibv_create_qp(asked->pd, attr);
    err = real_missing(made);
    real_end(&pause);
    if (!made)
        return err;
    if (pause.call)
        return device_qp_made(qp, made, attr->qp_type);
    qp->handle = made;
    return 0;
}

int device_modify_qp(struct vf_object *qp, const struct ibv_qp_attr *attr,
                     int mask)
{
    struct real_pause pause;
    int err;

    real_begin(qp->machine->world, &pause);
    err = real_error(real.ibv_modify_qp(
        qp->handle, (struct ibv_qp_attr *)(uintptr_t)attr, mask));
    real_end(&pause);
    return err;
}

int device_query_qp(struct vf_object *qp, struct ibv_qp_attr *attr, int mask,
                    struct ibv_qp_init_attr *init)
{
    struct real_pause pause;
    int err;

    real_begin(qp->machine->world, &pause);
    err = real_error(real.ibv_query_qp(qp->handle, attr, mask, init));
    real_end(&pause);
    return err;
}

int device_destroy_qp(struct vf_object *qp)
{
    uint32_t number = ((const struct ibv_qp *)qp->handle)->qp_num;
    struct real_pause pause;
    int err;

    device_keep(DEVICE_QPS, qp->handle, NULL);
    device_forget_builders();
    real_begin(qp->machine->world, &pause);
    err = real_error(real.ibv_destroy_qp(qp->handle));
    real_end(&pause);
    if (err && qp->own)
        device_keep(DEVICE_QPS, qp->handle, qp->own);
    else if (pause.call)
        disown(qp, number);
    return err;
}

/* A completion was made to fail: the device follows. */
void device_fail_qp(struct vf_object *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

    if (qp->kind != VF_KIND_QP)
        return;
    qp->shadow.qp.state = IBV_QPS_ERR;
    real_enter();
    (void)real.ibv_modify_qp(qp->handle, &attr, IBV_QP_STATE);
    real_leave();
}

int device_post_send(struct vf_object *qp, struct ibv_send_wr *wr,
                     struct ibv_send_wr **bad)
{
    const struct device_qp *own = qp->own;
    struct real_pause pause;
    int err;

    if (!own || !own->context)
        return EOPNOTSUPP;
    if (qp->device->state->unplugged) {
        device_post_unplugged(qp);
        return 0;
    }
    if (device_is_completing(qp))
        return device_complete(qp);
    if (own->ex) { /* who is between wr_start and wr_complete may have it locked
                    */
        real_begin(qp->machine->world, &pause);
        err = real_error(own->context->ops.post_send(qp->handle, wr, bad));
        real_end(&pause);
        return err;
    }
    real_enter();
    err = real_error(own->context->ops.post_send(qp->handle, wr, bad));
    real_leave();
    return err;
}

int device_post_recv(struct vf_object *qp, struct ibv_recv_wr *wr,
                     struct ibv_recv_wr **bad)
{
    const struct device_qp *own = qp->own;
    int err;

    if (!own || !own->context)
        return EOPNOTSUPP;
    if (qp->device->state->unplugged) {
        device_post_unplugged(qp);
        return 0;
    }
    real_enter();
    err = real_error(own->context->ops.post_recv(qp->handle, wr, bad));
    real_leave();
    return err;
}

int device_attach(struct vf_object *qp, const union ibv_gid *gid, uint16_t lid)
{
    struct real_pause pause;
    int err;

    real_begin(qp->machine->world, &pause);
    err = real_error(real.ibv_attach_mcast(qp->handle, gid, lid));
    real_end(&pause);
    return err;
}

int device_detach(struct vf_object *qp, const union ibv_gid *gid, uint16_t lid)
{
    struct real_pause pause;
    int err;

    real_begin(qp->machine->world, &pause);
    err = real_error(real.ibv_detach_mcast(qp->handle, gid, lid));
    real_end(&pause);
    return err;
}

/* ---- address handles --------------------------------------------------------
 */

int device_create_ah(struct vf_object *ah, const struct ibv_ah_attr *attr)
{
    const struct ibv_ah *asked = ah->handle;
    struct real_pause pause;
    struct ibv_ah *made;
    int err;

    real_begin(ah->machine->world, &pause);
    made = real.ibv_create_ah(asked->pd, (struct ibv_ah_attr *)(uintptr_t)attr);
    err = real_missing(made);
    real_end(&pause);
    if (made)
        ah->handle = made;
    return err;
}

int device_destroy_ah(struct vf_object *ah)
{
    struct real_pause pause;
    int err;

    real_begin(ah->machine->world, &pause);
    err = real_error(real.ibv_destroy_ah(ah->handle));
    real_end(&pause);
    return err;
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
                                     struct ibv_grh *grh, uint8_t port_num)
{
    struct ibv_ah_attr attr;

    if (ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attr) != 0)
        return NULL;
    return ibv_create_ah(pd, &attr);
}

/* ---- shared receive queues --------------------------------------------------
 */

int device_create_srq(struct vf_object *srq, struct ibv_srq_init_attr *attr)
{
    const struct ibv_srq *asked = srq->handle;
    struct real_pause pause;
    struct ibv_srq *made;
    int err;

    real_begin(srq->machine->world, &pause);
    made = real.ibv_create_srq(asked->pd, attr);
    err = real_missing(made);
    real_end(&pause);
    if (made)
        srq->handle = made;
    return err;
}

int device_destroy_srq(struct vf_object *srq)
{
    struct real_pause pause;
    int err;

    real_begin(srq->machine->world, &pause);
    err = real_error(real.ibv_destroy_srq(srq->handle));
    real_end(&pause);
    return err;
}

int device_modify_srq(struct vf_object *srq, const struct ibv_srq_attr *attr,
                      int mask)
{
    struct real_pause pause;
    int err;

    real_begin(srq->machine->world, &pause);
    err = real_error(real.ibv_modify_srq(
        srq->handle, (struct ibv_srq_attr *)(uintptr_t)attr, mask));
    real_end(&pause);
    return err;
}

int device_query_srq(struct vf_object *srq, struct ibv_srq_attr *attr)
{
    struct real_pause pause;
    int err;

    real_begin(srq->machine->world, &pause);
    err = real_error(real.ibv_query_srq(srq->handle, attr));
    real_end(&pause);
    return err;
}

int device_post_srq_recv(struct vf_object *srq, struct ibv_recv_wr *wr,
                         struct ibv_recv_wr **bad)
{
    struct ibv_srq *handle = srq->handle;
    const struct device_context *kept = srq->own;
    int err;

    if (!kept)
        kept = srq->own = device_context_of(handle->context);
    if (!kept || !kept->ops.post_srq_recv)
        return EOPNOTSUPP;
    if (srq->device->state->unplugged)
        return 0;
    real_enter();
    err = real_error(kept->ops.post_srq_recv(handle, wr, bad));
    real_leave();
    return err;
}

/* By attributes of more kinds: with a limit, for XRC, for matching tags. */
struct create_srq_call {
    struct vf_call call;
    struct ibv_srq_init_attr_ex *attr;
};

static bool is_basic(const struct ibv_srq_init_attr_ex *attr)
{
    return !(attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) ||
           attr->srq_type == IBV_SRQT_BASIC;
}

static void create_srq_ex(struct vf_call *call)
{
    struct create_srq_call *create = (struct create_srq_call *)call;
    struct ibv_pd *pd = call->object->handle;
    struct device_context *kept = device_context_of(pd->context);
    struct vf_object *srq = vf_call_new(call, VF_KIND_SRQ, call->object);
    struct real_pause pause;
    struct ibv_srq *made;
    int err;

    if (!srq)
        return;
    real_begin(call->world, &pause);
    made = kept->extended.create_srq_ex(pd->context, create->attr);
    err = real_missing(made);
    real_end(&pause);
    if (made)
        srq->handle = made;
    srq->stranger = !is_basic(create->attr);
    vf_call_made(call, srq, err);
    if (call->err)
        return;
    srq->shadow.srq.recv.depth = create->attr->attr.max_wr;
    srq->shadow.srq.recv_sge = create->attr->attr.max_sge;
}

struct ibv_srq *device_create_srq_ex(struct ibv_context *context,
                                     struct ibv_srq_init_attr_ex *attr)
{
    struct create_srq_call create = {
        .call =
            {
                .verb = VF_VERB_create_srq,
                .kind = VF_KIND_PD,
                .handle = attr->pd,
                .given = attr, /* begins as ibv_srq_init_attr does */
                .args = {attr->attr.max_wr},
            },
        .attr = attr,
    };

    (void)context;
    vf_call_run(&create.call, NULL, create_srq_ex);
    return vf_call_pointer(&create.call);
}
