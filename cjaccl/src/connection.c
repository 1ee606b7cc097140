#include "connection.h"

#include "error.h"

#include <errno.h>
#include <string.h>

/*
 * The depth that is asked for. Thunderbolt counts work requests in 4 KiB frames
 * (TN3205), everybody else in requests; 2 of the largest messages fit both
 * ways.
 */
#define FRAMES_PER_SLOT ((int)(CJI_SLOT_SIZE / CJI_FRAME_SIZE))
#define DEPTH (CJI_SLOTS * FRAMES_PER_SLOT)

/* JACCL's; at most 2 sends and 2 receives can complete at a time. */
#define CQ_ENTRIES 64

/* `limit` 0 is one that is not known. */
static int at_most(int wanted, int limit)
{
    return limit > 0 && limit < wanted ? limit : wanted;
}

static int create_cq(struct cj_group *group, int peer)
{
    struct cji_connection *connection = &group->connections[peer];
    struct cji_device *device = connection->device;

    group->step = CJ_STEP_CREATE_CQ;
    errno = 0;
    connection->cq = group->verbs.create_cq(
        device->context, at_most(CQ_ENTRIES, device->max_cqe), NULL, NULL, 0);
    if (connection->cq != NULL)
        return CJ_OK;
    return cji_fail(group, CJ_VERBS, cji_about_link(group, peer, errno),
                    "device %s gives no completion queue for rank %d: %s; end "
                    "other processes that use the device",
                    device->name, peer, cji_errno_text(errno).text);
}

static int fail_create_qp(struct cj_group *group, int peer, int err_no)
{
    const struct cji_device *device = group->connections[peer].device;
    struct cji_about about = cji_about_link(group, peer, err_no);

    if (err_no == EBUSY)
        return cji_fail(group, CJ_VERBS, about,
                        "device %s has no queue pair left for rank %d: EBUSY "
                        "(%d); the number is limited per device (max_qp is "
                        "%s), for all processes together, and trying again "
                        "does not help: end other groups and processes that "
                        "use the device",
                        device->name, peer, err_no,
                        cji_limit_text(device->max_qp).text);
    /* 102 is EOPNOTSUPP on macOS. */
    if (err_no == EOPNOTSUPP || err_no == 102)
        return cji_fail(group, CJ_UNSUPPORTED, about,
                        "device %s has no UC queue pairs (errno %d), which "
                        "JACCL's protocol needs: use another device for rank "
                        "%d",
                        device->name, err_no, peer);
    return cji_fail(group, CJ_VERBS, about,
                    "device %s gives no queue pair for rank %d: %s; end other "
                    "processes that use the device",
                    device->name, peer, cji_errno_text(err_no).text);
}

static int create_qp(struct cj_group *group, int peer)
{
    struct cji_connection *connection = &group->connections[peer];
    int depth = at_most(DEPTH, connection->device->max_qp_wr);
    struct ibv_qp_init_attr attr;

    group->step = CJ_STEP_CREATE_QP;
    memset(&attr, 0, sizeof attr);
    attr.send_cq = connection->cq;
    attr.recv_cq = connection->cq;
    attr.cap.max_send_wr = (uint32_t)depth;
    attr.cap.max_recv_wr = (uint32_t)depth;
    attr.cap.max_send_sge = 1;
    attr.cap.max_recv_sge = 1;
    attr.qp_type = IBV_QPT_UC;
    errno = 0;
    connection->qp = group->verbs.create_qp(connection->device->pd, &attr);
    if (connection->qp == NULL)
        return fail_create_qp(group, peer, errno);
    return CJ_OK;
}

/* The depth that was granted, of the shallower queue. */
static int granted_depth(struct cj_group *group,
                         const struct cji_connection *connection)
{
    int requested = at_most(DEPTH, connection->device->max_qp_wr);
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init_attr;
    uint32_t depth;

    memset(&attr, 0, sizeof attr);
    memset(&init_attr, 0, sizeof init_attr);
    if (group->verbs.query_qp == NULL ||
        group->verbs.query_qp(connection->qp, &attr, IBV_QP_CAP, &init_attr) !=
            0)
        return requested;
    depth = attr.cap.max_send_wr < attr.cap.max_recv_wr ? attr.cap.max_send_wr
                                                        : attr.cap.max_recv_wr;
    /* Nothing written, or nonsense: as good as no answer. */
    if (depth == 0 || depth > INT32_MAX)
        return requested;
    return (int)depth;
}

static int set_window(struct cj_group *group, int peer)
{
    struct cji_connection *connection = &group->connections[peer];
    int depth = granted_depth(group, connection);
    int per_message = connection->device->thunderbolt ? FRAMES_PER_SLOT : 1;

    connection->window = depth / per_message;
    if (connection->window > CJI_SLOTS)
        connection->window = CJI_SLOTS;
    if (connection->window >= 1)
        return CJ_OK;
    return cji_fail(group, CJ_VERBS, cji_about_link(group, peer, 0),
                    "device %s grants rank %d a queue of depth %d, and one "
                    "message takes %d: this device cannot be used",
                    connection->device->name, peer, depth, per_message);
}

static int to_init(struct cj_group *group, int peer)
{
    struct cji_connection *connection = &group->connections[peer];
    struct ibv_qp_attr attr;
    int err_no;

    group->step = CJ_STEP_INIT_QP;
    memset(&attr, 0, sizeof attr);
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = CJI_PORT;
    attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                           IBV_ACCESS_REMOTE_WRITE;
    errno = 0;
    err_no = cji_verbs_errno(group->verbs.modify_qp(
        connection->qp, &attr,
        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
    if (err_no == 0)
        return CJ_OK;
    return cji_fail(group, CJ_VERBS, cji_about_link(group, peer, err_no),
                    "device %s refuses to initialize the queue pair for rank "
                    "%d: %s; is its cable still plugged in?",
                    connection->device->name, peer,
                    cji_errno_text(err_no).text);
}

int cji_connections_create(struct cj_group *group)
{
    for (int peer = 0; peer < group->size; peer++) {
        int status;

        if (peer == group->rank)
            continue;
        status = create_cq(group, peer);
        if (status == CJ_OK)
            status = create_qp(group, peer);
        if (status == CJ_OK)
            status = set_window(group, peer);
        if (status == CJ_OK)
            status = to_init(group, peer);
        if (status != CJ_OK)
            return status;
    }
    return CJ_OK;
}

/* What the numbers mean that devices answer here (mlx#3207, #3467, #3468). */
static const char *rtr_advice(int err_no)
{
    if (err_no == EINVAL)
        return "the peer's address cannot be reached from this device: both "
               "ends of the cable need IPv4 addresses of one network, and the "
               "device file has to name the two ends of one cable";
    if (err_no == 60 || err_no == ETIMEDOUT)
        return "the peer did not answer (ETIMEDOUT): the cable may lead to "
               "another machine than the device file says";
    if (err_no == EBUSY)
        return "the device still holds what a process that crashed had: end "
               "that process, or restart the machine";
    if (err_no == 96 || err_no == ENODATA)
        return "the device's GID has gone (ENODATA): its network interface has "
               "lost its IPv4 address";
    return "check the cable and the addresses of both ends";
}

static int to_rtr(struct cj_group *group, int peer,
                  const struct cji_destination *theirs)
{
    struct cji_connection *connection = &group->connections[peer];
    struct ibv_qp_attr attr;
    int err_no;

    group->step = CJ_STEP_RTR;
    memset(&attr, 0, sizeof attr);
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.rq_psn = (uint32_t)theirs->psn;
    attr.dest_qp_num = (uint32_t)theirs->qp_num;
    attr.ah_attr.dlid = (uint16_t)theirs->lid;
    attr.ah_attr.port_num = CJI_PORT;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.grh.hop_limit = 1;
    attr.ah_attr.grh.sgid_index = (uint8_t)connection->device->gid_index;
    memcpy(attr.ah_attr.grh.dgid.raw, theirs->gid, sizeof theirs->gid);
    errno = 0;
    err_no = cji_verbs_errno(
        group->verbs.modify_qp(connection->qp, &attr,
                               IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                                   IBV_QP_DEST_QPN | IBV_QP_RQ_PSN));
    if (err_no == 0)
        return CJ_OK;
    return cji_fail(group, CJ_VERBS, cji_about_link(group, peer, err_no),
                    "device %s cannot connect its queue pair to rank %d: %s: "
                    "%s",
                    connection->device->name, peer, cji_errno_text(err_no).text,
                    rtr_advice(err_no));
}

static int to_rts(struct cj_group *group, int peer)
{
    struct cji_connection *connection = &group->connections[peer];
    struct ibv_qp_attr attr;
    int err_no;

    group->step = CJ_STEP_RTS;
    memset(&attr, 0, sizeof attr);
    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn = CJI_PSN;
    errno = 0;
    err_no = cji_verbs_errno(group->verbs.modify_qp(
        connection->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
    if (err_no == 0)
        return CJ_OK;
    return cji_fail(group, CJ_VERBS, cji_about_link(group, peer, err_no),
                    "device %s cannot start its queue pair to rank %d: %s; is "
                    "the cable still plugged in?",
                    connection->device->name, peer,
                    cji_errno_text(err_no).text);
}

int cji_connections_connect(
    struct cj_group *group,
    const struct cji_destination peers[CJ_MAX_MESH_RANKS])
{
    for (int peer = 0; peer < group->size; peer++) {
        int status;

        if (peer == group->rank)
            continue;
        status = to_rtr(group, peer, &peers[peer]);
        if (status == CJ_OK)
            status = to_rts(group, peer);
        if (status != CJ_OK)
            return status;
    }
    return CJ_OK;
}
