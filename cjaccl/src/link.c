#include "link.h"

#include "error.h"

#include <errno.h>
#include <string.h>

/*
 * The depth that is asked for. Thunderbolt counts work requests in 4 KiB frames
 * (TN3205), everybody else in requests; 2 of JACCL's largest messages fit both
 * ways.
 */
#define LARGEST_FRAMES (1 << (CJI_CLASS_COUNT - 1))
#define DEPTH (CJI_SLOTS * LARGEST_FRAMES)

/* JACCL's. */
#define CQ_ENTRIES 64

/* `limit` 0 is one that is not known. */
static int at_most(int wanted, int limit)
{
    return limit > 0 && limit < wanted ? limit : wanted;
}

static int create_cq(struct cj_group *group, struct cji_link *link)
{
    struct cji_device *device = link->device;

    group->step = CJ_STEP_CREATE_CQ;
    errno = 0;
    link->cq = group->verbs.create_cq(
        device->context, at_most(CQ_ENTRIES, device->max_cqe), NULL, NULL, 0);
    if (link->cq != NULL)
        return CJ_OK;
    return cji_fail(group, CJ_VERBS, cji_about_link(link, errno),
                    "device %s gives no completion queue for rank %d: %s; end "
                    "other processes that use the device",
                    device->name, link->peer, cji_errno_text(errno).text);
}

static int fail_create_qp(struct cj_group *group, const struct cji_link *link,
                          int err_no)
{
    const struct cji_device *device = link->device;
    struct cji_about about = cji_about_link(link, err_no);

    if (err_no == EBUSY)
        return cji_fail(group, CJ_VERBS, about,
                        "device %s has no queue pair left for rank %d: EBUSY "
                        "(%d); the number is limited per device (max_qp is "
                        "%s), for all processes together, and trying again "
                        "does not help: end other groups and processes that "
                        "use the device",
                        device->name, link->peer, err_no,
                        cji_limit_text(device->max_qp).text);
    /* 102 is EOPNOTSUPP on macOS. */
    if (err_no == EOPNOTSUPP || err_no == 102)
        return cji_fail(group, CJ_UNSUPPORTED, about,
                        "device %s has no UC queue pairs (errno %d), which "
                        "JACCL's protocol needs: use another device for rank "
                        "%d",
                        device->name, err_no, link->peer);
    return cji_fail(group, CJ_VERBS, about,
                    "device %s gives no queue pair for rank %d: %s; end other "
                    "processes that use the device",
                    device->name, link->peer, cji_errno_text(err_no).text);
}

static int create_qp(struct cj_group *group, struct cji_link *link)
{
    int depth = at_most(DEPTH, link->device->max_qp_wr);
    struct ibv_qp_init_attr attr;

    group->step = CJ_STEP_CREATE_QP;
    memset(&attr, 0, sizeof attr);
    attr.send_cq = link->cq;
    attr.recv_cq = link->cq;
    attr.cap.max_send_wr = (uint32_t)depth;
    attr.cap.max_recv_wr = (uint32_t)depth;
    attr.cap.max_send_sge = (uint32_t)link->device->send_entries;
    attr.cap.max_recv_sge = 1;
    attr.qp_type = IBV_QPT_UC;
    errno = 0;
    link->qp = group->verbs.create_qp(link->device->pd, &attr);
    if (link->qp == NULL)
        return fail_create_qp(group, link, errno);
    return CJ_OK;
}

/* The depth that was granted, of the shallower queue. */
static int granted_depth(struct cj_group *group, const struct cji_link *link)
{
    int requested = at_most(DEPTH, link->device->max_qp_wr);
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init_attr;
    uint32_t depth;

    memset(&attr, 0, sizeof attr);
    memset(&init_attr, 0, sizeof init_attr);
    if (group->verbs.query_qp == NULL ||
        group->verbs.query_qp(link->qp, &attr, IBV_QP_CAP, &init_attr) != 0)
        return requested;
    depth = attr.cap.max_send_wr < attr.cap.max_recv_wr ? attr.cap.max_send_wr
                                                        : attr.cap.max_recv_wr;
    /* Nothing written, or nonsense: as good as no answer. */
    if (depth == 0 || depth > INT32_MAX)
        return requested;
    return (int)depth;
}

static int to_init(struct cj_group *group, struct cji_link *link)
{
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
        link->qp, &attr,
        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
    if (err_no == 0)
        return CJ_OK;
    return cji_fail(group, CJ_VERBS, cji_about_link(link, err_no),
                    "device %s refuses to initialize the queue pair for rank "
                    "%d: %s; is its cable still plugged in?",
                    link->device->name, link->peer,
                    cji_errno_text(err_no).text);
}

int cji_links_create(struct cj_group *group)
{
    int status = CJ_OK;

    for (int i = 0; status == CJ_OK && i < group->link_count; i++) {
        struct cji_link *link = &group->links[i];

        status = create_cq(group, link);
        if (status == CJ_OK)
            status = create_qp(group, link);
        if (status == CJ_OK)
            link->depth = granted_depth(group, link);
        if (status == CJ_OK)
            status = to_init(group, link);
    }
    return status;
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

static int to_rtr(struct cj_group *group, const struct cji_link *link,
                  const struct cji_destination *theirs)
{
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
    attr.ah_attr.grh.sgid_index = (uint8_t)link->device->gid_index;
    memcpy(attr.ah_attr.grh.dgid.raw, theirs->gid, sizeof theirs->gid);
    errno = 0;
    err_no = cji_verbs_errno(
        group->verbs.modify_qp(link->qp, &attr,
                               IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                                   IBV_QP_DEST_QPN | IBV_QP_RQ_PSN));
    if (err_no == 0)
        return CJ_OK;
    return cji_fail(group, CJ_VERBS, cji_about_link(link, err_no),
                    "device %s cannot connect its queue pair to rank %d: %s: "
                    "%s",
                    link->device->name, link->peer, cji_errno_text(err_no).text,
                    rtr_advice(err_no));
}

static int to_rts(struct cj_group *group, struct cji_link *link)
{
    struct ibv_qp_attr attr;
    int err_no;

    group->step = CJ_STEP_RTS;
    memset(&attr, 0, sizeof attr);
    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn = CJI_PSN;
    errno = 0;
    err_no = cji_verbs_errno(
        group->verbs.modify_qp(link->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
    if (err_no == 0)
        return CJ_OK;
    return cji_fail(group, CJ_VERBS, cji_about_link(link, err_no),
                    "device %s cannot start its queue pair to rank %d: %s; is "
                    "the cable still plugged in?",
                    link->device->name, link->peer,
                    cji_errno_text(err_no).text);
}

int cji_links_connect(struct cj_group *group,
                      const struct cji_destination theirs[CJI_MAX_LINKS])
{
    int status = CJ_OK;

    for (int i = 0; status == CJ_OK && i < group->link_count; i++) {
        status = to_rtr(group, &group->links[i], &theirs[i]);
        if (status == CJ_OK)
            status = to_rts(group, &group->links[i]);
    }
    return status;
}
