/*
 * A cable that goes is pretended: the device goes on, and nobody hears of it.
 *
 * Posts are taken and not passed on. Reliable queue pairs notice, as the mock's
 * do, though at once and not when their retries are over: the oldest send fails
 * with RETRY_EXC_ERR, everything behind it is flushed, and the real queue pair
 * goes to ERR. Others say nothing.
 */
#include "device/device.h"

static void hand(struct vf_object *cq, uint64_t wr_id, uint32_t number,
                 enum ibv_wc_status status)
{
    const struct ibv_wc wc = {
        .wr_id = wr_id, .status = status, .qp_num = number};

    if (!cq || !cq->live || !cq->own)
        return;
    cq->shadow.cq.held++;
    device_deliver(cq, &wc);
}

static void hand_all(const struct vf_object *qp, struct vf_object *cq,
                     const struct vf_posted_queue *queue,
                     enum ibv_wc_status status)
{
    uint32_t number = ((const struct ibv_qp *)qp->handle)->qp_num;
    const struct vf_posted *posted = queue->first;

    for (; posted; posted = posted->next) {
        hand(cq, posted->wr_id, number, status);
        status = IBV_WC_WR_FLUSH_ERR;
    }
}

/* Everything that is posted comes back. */
static void cut(struct vf_object *qp)
{
    bool over = qp->shadow.qp.state == IBV_QPS_ERR;

    hand_all(qp, qp->parent[1], &qp->shadow.qp.send,
             over ? IBV_WC_WR_FLUSH_ERR : IBV_WC_RETRY_EXC_ERR);
    hand_all(qp, qp->parent[2], &qp->shadow.qp.recv, IBV_WC_WR_FLUSH_ERR);
    vf_contract_forget(qp);
    if (!over)
        device_fail_qp(qp);
}

static bool notices(const struct vf_object *qp)
{
    return qp->shadow.qp.type == IBV_QPT_RC &&
           (qp->shadow.qp.send.first ||
            (qp->shadow.qp.state == IBV_QPS_ERR && qp->shadow.qp.recv.first));
}

void device_post_unplugged(struct vf_object *qp)
{
    if (notices(qp))
        cut(qp);
}

void device_unplug(struct vf_device *device)
{
    struct vf_object *qp = device->machine->live[VF_KIND_QP];

    device->state->unplugged = true;
    for (; qp; qp = qp->next)
        if (qp->device == device && notices(qp))
            cut(qp);
}
