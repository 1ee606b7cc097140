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
    case IBV_QPT_XRC_SEND:
    case IBV_QPT_XRC_RECV:
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
    uint32_t used = device->state->qps + (uint32_t)device->setup.used_qp;

    if ((limit || device->setup.max_qp >= 0) && used >= limit)
        return profile->qp_limit_errno;
    return 0;
}

static struct room_qp *room_of(const struct vf_object *qp)
{
    return ((struct mock_qp *)qp->handle)->room;
}

static uint32_t cq_index(const struct vf_object *cq)
{
    return ((struct mock_cq *)cq->handle)->room->object.index;
}

static int take_qp(struct vf_object *object)
{
    struct vf_world *world = object->machine->world;
    struct mock_qp *mock = object->handle;
    int err = check_limit(object->device);
    struct room_qp *qp;

    if (err)
        return err;
    qp = room_new(world, ROOM_QP, object);
    if (!qp)
        return ENOMEM;
    if (room_number(world->view, qp) == 0) {
        room_free(world, &qp->object);
        return ENOMEM;
    }
    object->device->state->qps++;
    mock->handle.ex.qp_base.qp_num = qp->number;
    mock->room = qp;
    return 0;
}

static void share_entries(struct ibv_qp_cap *cap)
{
    uint32_t entry = sizeof(struct ibv_sge);
    uint32_t entries = cap->max_inline_data / entry;

    if (cap->max_send_sge < entries)
        cap->max_send_sge = entries;
    if (cap->max_inline_data < cap->max_send_sge * entry)
        cap->max_inline_data = cap->max_send_sge * entry;
}

/* What the queues take goes to the shadow: create_qp may say less. */
static void grant_depths(struct vf_object *object, struct room_qp *qp,
                         struct ibv_qp_cap *cap)
{
    const struct vf_profile *profile = object->device->setup.profile;

    qp->send.depth = mock_grant(profile, cap->max_send_wr);
    qp->recv.depth = mock_grant(profile, cap->max_recv_wr);
    object->shadow.qp.send.depth = qp->send.depth;
    object->shadow.qp.recv.depth = qp->recv.depth;
    qp->cap = *cap;
    qp->cap.max_send_wr = qp->send.depth;
    qp->cap.max_recv_wr = qp->recv.depth;
    if (profile->depth_as_asked)
        return;
    *cap = qp->cap;
}

static void fill_qp(struct vf_object *object, struct room_qp *qp,
                    struct ibv_qp_init_attr *attr)
{
    const struct vf_profile *profile = object->device->setup.profile;

    qp->state = IBV_QPS_RESET;
    qp->type = (uint8_t)attr->qp_type;
    qp->all_signaled = attr->sq_sig_all != 0;
    qp->domain = mock_domain(object->parent[0]);
    qp->send_cq = cq_index(object->parent[1]);
    qp->recv_cq = cq_index(object->parent[2]);
    if (object->parent[3])
        qp->srq =
            ((struct mock_srq *)object->parent[3]->handle)->room->object.index;
    qp->attr.path_mtu = (enum ibv_mtu)profile->unset_mtu;
    if (profile->entries_inline)
        share_entries(&attr->cap);
    grant_depths(object, qp, &attr->cap);
}

int mock_create_qp(struct vf_object *object, struct ibv_qp_init_attr *attr)
{
    const struct vf_profile *profile = object->device->setup.profile;
    struct vf_world *world = object->machine->world;
    int err = check_type(profile, (int)attr->qp_type);

    if (!err && attr->srq && !profile->srq)
        err = profile->unsupported_errno;
    if (!err)
        err = check_sizes(profile, &attr->cap);
    if (err)
        return err;
    room_enter(world);
    err = take_qp(object);
    if (!err)
        fill_qp(object, room_of(object), attr);
    room_leave(world);
    return err;
}

static void flush_sends(struct vf_world *world, struct room_qp *qp)
{
    while (qp->send.first)
        mock_complete_error(world, qp, mock_take(world->view, &qp->send), false,
                            IBV_WC_WR_FLUSH_ERR);
}

static void flush(struct vf_world *world, struct room_qp *qp)
{
    flush_sends(world, qp);
    while (qp->recv.first)
        mock_complete_error(world, qp, mock_take(world->view, &qp->recv), true,
                            IBV_WC_WR_FLUSH_ERR);
}

static void fail(struct vf_world *world, struct room_qp *qp, bool was)
{
    qp->state = IBV_QPS_ERR;
    if (mock_is_ours(world, &qp->object)) {
        struct mock_qp *mock = mock_owner(&qp->object)->handle;

        mock->handle.ex.qp_base.state = IBV_QPS_ERR;
    }
    expire_set(world, qp, 0);
    flush(world, qp);
    if (!was && qp->srq &&
        !mock_profile(world, &qp->object)->responder_is_quiet)
        notice_object(world, &qp->object, IBV_EVENT_QP_LAST_WQE_REACHED);
    if (!was)
        move_gone(world, qp);
}

void mock_fail(struct vf_world *world, struct room_qp *qp)
{
    if (qp->state == IBV_QPS_ERR &&
        mock_profile(world, &qp->object)->late_receives_stay)
        flush_sends(world, qp); /* it has failed before */
    else
        fail(world, qp, qp->state == IBV_QPS_ERR);
}

/* A planned completion has failed. In a shared room whoever made it has seen
 * to that already. */
void mock_fail_qp(struct vf_object *object)
{
    struct vf_world *world = object->machine->world;

    if (!world->view->shared)
        mock_fail(world, room_of(object));
}

static int check_path(const struct vf_object *object,
                      const struct ibv_ah_attr *path)
{
    const struct vf_profile *profile = object->device->setup.profile;
    int err = 0;

    if (path->port_num != 1)
        return EINVAL;
    if (path->is_global)
        err = route_check(object->device, &path->grh);
    else if (profile->rtr_needs_global)
        err = EINVAL;
    else if (!profile->cable_lids)
        return 0;
    if (err)
        return err;
    if (path->is_global && profile->rtr_link_local_gid_errno &&
        profile->gid_table[path->grh.sgid_index] == VF_GID_LINK_LOCAL)
        return profile->rtr_link_local_gid_errno;
    if (profile->rtr_unroutable_errno && !route_path(object->device, path))
        return profile->rtr_unroutable_errno;
    if (profile->rtr_stale_errno && object->device->state->kept_pds > 0)
        return profile->rtr_stale_errno;
    return 0;
}

static int check_modify(const struct vf_object *object,
                        const struct ibv_qp_attr *attr, int mask)
{
    const struct room_qp *qp = room_of(object);
    enum ibv_qp_state from = (enum ibv_qp_state)qp->state;
    enum ibv_qp_state to = mask & IBV_QP_STATE ? attr->qp_state : from;

    if (vf_transition_check((enum ibv_qp_type)qp->type, from, to, mask) !=
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
    if (mask & IBV_QP_CUR_STATE)
        kept->cur_qp_state = attr->cur_qp_state;
}

static void forget_attributes(struct vf_world *world, struct room_qp *qp)
{
    const struct vf_profile *profile = mock_profile(world, &qp->object);

    if (profile->attr_outlives_reset)
        return;
    memset(&qp->attr, 0, sizeof(qp->attr));
    qp->attr.path_mtu = (enum ibv_mtu)profile->unset_mtu;
}

static void enter_state(struct vf_world *world, struct room_qp *qp,
                        enum ibv_qp_state state)
{
    bool failed = qp->state == IBV_QPS_ERR;

    qp->state = (uint8_t)state;
    switch (state) {
    case IBV_QPS_RESET:
        move_settle(world, qp);
        expire_set(world, qp, 0);
        mock_empty(world->view, &qp->send);
        mock_empty(world->view, &qp->recv);
        move_gone(world, qp);
        forget_attributes(world, qp);
        break;
    case IBV_QPS_RTR:
        move_ready(world, qp);
        break;
    case IBV_QPS_RTS:
        move_pump(world, qp);
        break;
    case IBV_QPS_ERR:
        move_settle(world, qp);
        fail(world, qp, failed);
        break;
    default:
        break;
    }
}

/* Messages that wait in the room go to their places while the program still
 * keeps these; or they go with their completions. */
static void settle_completions(const struct vf_object *qp, struct vf_object *cq)
{
    if (qp->device->setup.profile->reset_drops)
        mock_drop_completions(cq, room_of(qp)->number);
    else
        mock_harvest(cq);
}

int mock_modify_qp(struct vf_object *object, const struct ibv_qp_attr *attr,
                   int mask)
{
    struct vf_world *world = object->machine->world;
    struct room_qp *qp = room_of(object);
    int err;

    room_enter(world);
    err = check_modify(object, attr, mask);
    if (!err) {
        keep_attributes(&qp->attr, attr, mask);
        if (mask & IBV_QP_SQ_PSN)
            qp->next_sent = attr->sq_psn;
        if (mask & IBV_QP_RQ_PSN)
            qp->next_come = attr->rq_psn;
        ((struct mock_qp *)object->handle)->route = NULL;
        if (mask & IBV_QP_STATE)
            enter_state(world, qp, attr->qp_state);
        /* Nothing is ever half sent. */
        if (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY && attr->en_sqd_async_notify)
            notice_object(world, &qp->object, IBV_EVENT_SQ_DRAINED);
    }
    room_leave(world);
    if (!err && mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RESET) {
        settle_completions(object, object->parent[1]);
        settle_completions(object, object->parent[2]);
    }
    return err;
}

static void tell(const struct vf_profile *profile, const struct room_qp *qp,
                 struct ibv_qp_attr *attr)
{
    *attr = qp->attr;
    attr->qp_state = (enum ibv_qp_state)qp->state;
    if (!profile->query_keeps_cur_state)
        attr->cur_qp_state = attr->qp_state;
    if (profile->query_counts_packets) {
        attr->sq_psn = qp->next_sent;
        attr->rq_psn = qp->next_come;
    }
    attr->cap = qp->cap;
    if (qp->srq) { /* its receives are elsewhere */
        attr->cap.max_recv_wr = 0;
        attr->cap.max_recv_sge = 0;
    }
}

int mock_query_qp(struct vf_object *object, struct ibv_qp_attr *attr, int mask,
                  struct ibv_qp_init_attr *init)
{
    struct vf_world *world = object->machine->world;
    const struct ibv_qp *handle = object->handle;
    const struct room_qp *qp = room_of(object);

    (void)mask;        /* a device may tell more than it is asked for */
    room_enter(world); /* a peer may count packets */
    tell(object->device->setup.profile, qp, attr);
    room_leave(world);
    memset(init, 0, sizeof(*init));
    init->qp_context = handle->qp_context;
    init->send_cq = handle->send_cq;
    init->recv_cq = handle->recv_cq;
    init->srq = handle->srq;
    init->cap = attr->cap;
    init->qp_type = handle->qp_type;
    init->sq_sig_all = qp->all_signaled;
    return 0;
}

static void leave_groups(struct room *room, const struct room_qp *qp)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < room->group_count; i++)
        if (room->groups[i].qp != qp->object.index)
            room->groups[kept++] = room->groups[i];
    room->group_count = kept;
}

void mock_drop_qp(struct vf_world *world, struct room_qp *qp)
{
    qp->state = IBV_QPS_RESET;
    move_settle(world, qp);
    expire_set(world, qp, 0);
    mock_empty(world->view, &qp->send);
    mock_empty(world->view, &qp->recv);
    move_gone(world, qp);
    leave_groups(world->view->room, qp);
    room_unnumber(world->view, qp);
    mock_device(world, &qp->object)->state->qps--;
    room_free(world, &qp->object);
}

/* Its completions stay where they are; what they need of it is taken now: no
 * more come once it has left RTR. */
int mock_destroy_qp(struct vf_object *object)
{
    struct vf_world *world = object->machine->world;
    struct room_qp *qp = room_of(object);

    room_enter(world);
    qp->state = IBV_QPS_RESET;
    move_settle(world, qp);
    room_leave(world);
    mock_harvest(object->parent[1]);
    mock_harvest(object->parent[2]);
    room_enter(world);
    mock_drop_qp(world, qp);
    room_leave(world);
    return 0;
}

static bool in_group(const struct room *room, const struct room_qp *qp,
                     const union ibv_gid *gid)
{
    for (uint32_t i = 0; i < room->group_count; i++)
        if (room->groups[i].qp == qp->object.index &&
            memcmp(&room->groups[i].gid, gid, sizeof(*gid)) == 0)
            return true;
    return false;
}

int mock_attach(struct vf_object *object, const union ibv_gid *gid,
                uint16_t lid)
{
    struct vf_world *world = object->machine->world;
    struct room *room = world->view->room;
    int err = 0;

    (void)lid;
    if (room_of(object)->type != IBV_QPT_UD || gid->raw[0] != 0xff)
        return EINVAL;
    room_enter(world);
    if (in_group(room, room_of(object), gid)) {
        /* Once is enough. */
    } else if (room->group_count == ROOM_GROUPS) {
        err = ENOMEM;
    } else {
        room->groups[room->group_count].gid = *gid;
        room->groups[room->group_count].qp = room_of(object)->object.index;
        room->group_count++;
    }
    room_leave(world);
    return err;
}

int mock_detach(struct vf_object *object, const union ibv_gid *gid,
                uint16_t lid)
{
    struct vf_world *world = object->machine->world;
    struct room *room = world->view->room;
    int err = EINVAL;

    (void)lid;
    room_enter(world);
    for (uint32_t i = 0; i < room->group_count && err; i++) {
        if (room->groups[i].qp != room_of(object)->object.index ||
            memcmp(&room->groups[i].gid, gid, sizeof(*gid)) != 0)
            continue;
        room->groups[i] = room->groups[--room->group_count];
        err = 0;
    }
    room_leave(world);
    return err;
}
