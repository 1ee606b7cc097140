#include <errno.h>
#include <string.h>

#include "front/transition.h"
#include "mock/mock.h"

uint32_t mock_grant(const struct vf_profile *profile, uint32_t asked)
{
    uint32_t depth =
        asked > profile->depth_floor ? asked : profile->depth_floor;
    uint32_t granted = 0;

    if (!profile->depth_round)
        return depth;
    while (granted < depth)
        granted = granted * 2 + 1;
    if (profile->depth_cap && granted > profile->depth_cap)
        granted = profile->depth_cap;
    return granted;
}

static int check_type(const struct vf_profile *profile, int type)
{
    switch (type) {
    case IBV_QPT_RC:
        return profile->rc ? 0 : profile->unsupported_errno;
    case IBV_QPT_UC:
        return profile->uc ? 0 : profile->unsupported_errno;
    case IBV_QPT_UD:
        return profile->ud ? 0 : profile->unsupported_errno;
    case IBV_QPT_RAW_PACKET:
        return profile->unsupported_errno;
    default:
        return EINVAL;
    }
}

static int check_sizes(const struct vf_profile *profile,
                       const struct ibv_qp_cap *cap)
{
    if (cap->max_send_wr > profile->max_qp_wr ||
        cap->max_recv_wr > profile->max_qp_wr ||
        cap->max_send_sge > profile->max_sge ||
        cap->max_recv_sge > profile->max_sge ||
        cap->max_inline_data > profile->max_inline)
        return EINVAL;
    return 0;
}

static int check_limit(const struct vf_device *device)
{
    const struct vf_profile *profile = device->setup.profile;
    uint32_t limit = vf_device_limit(device->setup.max_qp, profile->qp_limit);
    uint32_t used = device->qps + (uint32_t)device->setup.used_qp;

    if ((limit || device->setup.max_qp >= 0) && used >= limit)
        return profile->qp_limit_errno;
    return 0;
}

int mock_create_qp(struct vf_object *object, struct ibv_qp_init_attr *attr)
{
    struct vf_device *device = object->device;
    const struct vf_profile *profile = device->setup.profile;
    struct mock_qp *qp = object->handle;
    int err = check_type(profile, (int)attr->qp_type);

    if (!err && attr->srq && !profile->srq)
        err = profile->unsupported_errno;
    if (!err)
        err = check_sizes(profile, &attr->cap);
    if (!err)
        err = check_limit(device);
    if (err)
        return err;
    qp->qp.qp_num = vf_registry_number(object);
    if (qp->qp.qp_num == 0)
        return ENOMEM;
    device->qps++;
    qp->object = object;
    qp->state = IBV_QPS_RESET;
    qp->all_signaled = attr->sq_sig_all != 0;
    qp->send.depth = mock_grant(profile, attr->cap.max_send_wr);
    qp->recv.depth = mock_grant(profile, attr->cap.max_recv_wr);
    attr->cap.max_send_wr = qp->send.depth;
    attr->cap.max_recv_wr = qp->recv.depth;
    qp->cap = attr->cap;
    return 0;
}

struct mock_work *mock_take(struct mock_queue *queue)
{
    struct mock_work *first = queue->first;

    queue->first = first->next;
    if (!queue->first)
        queue->last = NULL;
    queue->slots -= first->slots;
    return first;
}

void mock_empty_queue(struct vf_object *owner, struct mock_queue *queue)
{
    while (queue->first) {
        struct mock_work *work = mock_take(queue);

        vf_pool_put(&owner->machine->world->registry, work, work->size);
    }
}

static void flush(struct mock_qp *qp)
{
    while (qp->send.first)
        mock_complete(qp, mock_take(&qp->send), false, IBV_WC_WR_FLUSH_ERR,
                      NULL);
    while (qp->recv.first)
        mock_complete(qp, mock_take(&qp->recv), true, IBV_WC_WR_FLUSH_ERR,
                      NULL);
}

void mock_fail_qp(struct vf_object *object)
{
    struct mock_qp *qp = object->handle;

    qp->state = IBV_QPS_ERR;
    qp->qp.state = IBV_QPS_ERR;
    flush(qp);
}

static int check_path(const struct vf_object *object,
                      const struct ibv_ah_attr *path)
{
    static const union ibv_gid zero;
    const struct vf_profile *profile = object->device->setup.profile;
    int index = path->grh.sgid_index;
    union ibv_gid source;

    if (path->port_num != 1)
        return EINVAL;
    if (!path->is_global)
        return profile->rtr_needs_global ? EINVAL : 0;
    if (index >= profile->gid_table_len)
        return EINVAL;
    if (!fabric_gid(object->device, index, &source))
        return profile->rtr_empty_gid_errno;
    if (memcmp(&path->grh.dgid, &zero, sizeof(zero)) == 0)
        return profile->rtr_zero_gid_errno;
    if (profile->rtr_link_local_gid_errno &&
        profile->gid_table[index] == VF_GID_LINK_LOCAL)
        return profile->rtr_link_local_gid_errno;
    if (profile->rtr_unroutable_errno &&
        !fabric_route(object->device, &path->grh.dgid))
        return profile->rtr_unroutable_errno;
    return 0;
}

static int check_modify(const struct vf_object *object,
                        const struct ibv_qp_attr *attr, int mask)
{
    const struct mock_qp *qp = object->handle;
    enum ibv_qp_state to = mask & IBV_QP_STATE ? attr->qp_state : qp->state;

    if (vf_transition_check(qp->qp.qp_type, qp->state, to, mask) !=
        VF_TRANSITION_OK)
        return EINVAL;
    if (mask & IBV_QP_PORT && attr->port_num != 1)
        return EINVAL;
    if (mask & IBV_QP_AV)
        return check_path(object, &attr->ah_attr);
    return 0;
}

/* Only what the mask names is read: the rest may be uninitialised. */
static void keep_attributes(struct ibv_qp_attr *kept,
                            const struct ibv_qp_attr *attr, int mask)
{
    if (mask & IBV_QP_ACCESS_FLAGS)
        kept->qp_access_flags = attr->qp_access_flags;
    if (mask & IBV_QP_PKEY_INDEX)
        kept->pkey_index = attr->pkey_index;
    if (mask & IBV_QP_PORT)
        kept->port_num = attr->port_num;
    if (mask & IBV_QP_QKEY)
        kept->qkey = attr->qkey;
    if (mask & IBV_QP_AV)
        kept->ah_attr = attr->ah_attr;
    if (mask & IBV_QP_PATH_MTU)
        kept->path_mtu = attr->path_mtu;
    if (mask & IBV_QP_TIMEOUT)
        kept->timeout = attr->timeout;
    if (mask & IBV_QP_RETRY_CNT)
        kept->retry_cnt = attr->retry_cnt;
    if (mask & IBV_QP_RNR_RETRY)
        kept->rnr_retry = attr->rnr_retry;
    if (mask & IBV_QP_RQ_PSN)
        kept->rq_psn = attr->rq_psn;
    if (mask & IBV_QP_SQ_PSN)
        kept->sq_psn = attr->sq_psn;
    if (mask & IBV_QP_MAX_QP_RD_ATOMIC)
        kept->max_rd_atomic = attr->max_rd_atomic;
    if (mask & IBV_QP_MAX_DEST_RD_ATOMIC)
        kept->max_dest_rd_atomic = attr->max_dest_rd_atomic;
    if (mask & IBV_QP_MIN_RNR_TIMER)
        kept->min_rnr_timer = attr->min_rnr_timer;
    if (mask & IBV_QP_DEST_QPN)
        kept->dest_qp_num = attr->dest_qp_num;
}

static void enter_state(struct mock_qp *qp, enum ibv_qp_state state)
{
    qp->state = state;
    switch (state) {
    case IBV_QPS_RESET:
        mock_empty_queue(qp->object, &qp->send);
        mock_empty_queue(qp->object, &qp->recv);
        memset(&qp->attr, 0, sizeof(qp->attr));
        break;
    case IBV_QPS_RTR:
        fabric_ready(qp);
        break;
    case IBV_QPS_RTS:
        fabric_pump(qp);
        break;
    case IBV_QPS_ERR:
        flush(qp);
        break;
    default:
        break;
    }
}

int mock_modify_qp(struct vf_object *object, const struct ibv_qp_attr *attr,
                   int mask)
{
    struct mock_qp *qp = object->handle;
    int err = check_modify(object, attr, mask);

    if (err)
        return err;
    keep_attributes(&qp->attr, attr, mask);
    if (mask & IBV_QP_STATE)
        enter_state(qp, attr->qp_state);
    return 0;
}

int mock_query_qp(struct vf_object *object, struct ibv_qp_attr *attr, int mask,
                  struct ibv_qp_init_attr *init)
{
    const struct mock_qp *qp = object->handle;

    (void)mask; /* a device may tell more than it is asked for */
    *attr = qp->attr;
    attr->qp_state = qp->state;
    attr->cur_qp_state = qp->state;
    attr->cap = qp->cap;
    memset(init, 0, sizeof(*init));
    init->qp_context = qp->qp.qp_context;
    init->send_cq = qp->qp.send_cq;
    init->recv_cq = qp->qp.recv_cq;
    init->srq = qp->qp.srq;
    init->cap = qp->cap;
    init->qp_type = qp->qp.qp_type;
    init->sq_sig_all = qp->all_signaled;
    return 0;
}

int mock_destroy_qp(struct vf_object *object)
{
    struct mock_qp *qp = object->handle;

    mock_empty_queue(object, &qp->send);
    mock_empty_queue(object, &qp->recv);
    vf_registry_unnumber(object, qp->qp.qp_num);
    object->device->qps--;
    return 0;
}
