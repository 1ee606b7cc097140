/* verbfault doctor: a queue pair, as JACCL makes and connects it. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cjaccl/src/error.h"
#include "cli/doctor.h"

enum {
    DEPTH = 32, /* JACCL's */
    PSN = 7,    /* JACCL's */
    ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
             IBV_ACCESS_REMOTE_WRITE
};

bool doctor_create_qp(struct doctor *doctor, const struct doctor_device *device,
                      struct ibv_qp **qp)
{
    struct ibv_qp_init_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.send_cq = device->cq;
    attr.recv_cq = device->cq;
    attr.cap.max_send_wr = DEPTH;
    attr.cap.max_recv_wr = DEPTH;
    attr.cap.max_send_sge = 1;
    attr.cap.max_recv_sge = 1;
    attr.qp_type = IBV_QPT_UC;
    *qp = doctor->verbs.create_qp(device->pd, &attr);
    return *qp != NULL;
}

bool doctor_to_init(struct doctor *doctor, struct ibv_qp *qp,
                    struct doctor_flaw *flaw)
{
    struct ibv_qp_attr attr;
    int err_no;
    memset(&attr, 0, sizeof attr);
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.qp_access_flags = ACCESS;
    errno = 0;
    err_no = cji_verbs_errno(doctor->verbs.modify_qp(
        qp, &attr,
        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
    return err_no == 0 ||
           doctor_flaw(flaw, "INIT", "is its cable still plugged in?",
                       "the device refuses to initialize a queue pair: %s",
                       cji_errno_text(err_no).text);
}

/* What the numbers mean that devices answer here (mlx#3207, #3467, #3468). */
static const char *rtr_advice(int err_no)
{
    if (err_no == EINVAL)
        return "there is no way from this device to that address: both ends "
               "of the cable need IPv4 addresses of one network, and the "
               "device file has to name the two ends of one cable";
    if (err_no == 60 || err_no == ETIMEDOUT)
        return "the other end does not answer at that address (ETIMEDOUT; 60 "
               "on macOS): the cable may lead to another machine, or the GID "
               "index is a link-local one";
    if (err_no == EBUSY)
        return "the device still holds what a process that crashed had: end "
               "that process, or restart the machine";
    if (err_no == 96 || err_no == ENODATA)
        return "the GID has gone (ENODATA; 96 on macOS): the network interface "
               "has lost its IPv4 address, so give it one again";
    return "check the cable and the addresses of both ends";
}

bool doctor_to_rtr(struct doctor *doctor, const struct doctor_device *device,
                   struct ibv_qp *qp, const struct doctor_place *there,
                   struct doctor_flaw *flaw, int *err_no)
{
    struct ibv_qp_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.rq_psn = PSN;
    attr.dest_qp_num = there->qp_num;
    attr.ah_attr.dlid = there->lid;
    attr.ah_attr.port_num = 1;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.grh.hop_limit = 1;
    attr.ah_attr.grh.sgid_index = (uint8_t)device->gid_index;
    attr.ah_attr.grh.dgid = there->gid;
    errno = 0;
    *err_no = cji_verbs_errno(
        doctor->verbs.modify_qp(qp, &attr,
                                IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                                    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN));
    return *err_no == 0 || doctor_flaw(flaw, "RTR", rtr_advice(*err_no),
                                       "a queue pair cannot be connected: %s",
                                       cji_errno_text(*err_no).text);
}

bool doctor_to_rts(struct doctor *doctor, struct ibv_qp *qp,
                   struct doctor_flaw *flaw)
{
    struct ibv_qp_attr attr;
    int err_no;
    memset(&attr, 0, sizeof attr);
    attr.qp_state = IBV_QPS_RTS;
    attr.sq_psn = PSN;
    errno = 0;
    err_no = cji_verbs_errno(
        doctor->verbs.modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
    return err_no == 0 ||
           doctor_flaw(flaw, "RTS", "is the cable still plugged in?",
                       "a connected queue pair cannot be started: %s",
                       cji_errno_text(err_no).text);
}

/* ---- an end ------------------------------------------------------------- */

bool doctor_open_end(struct doctor *doctor, const struct doctor_device *device,
                     struct doctor_end *end, struct doctor_flaw *flaw)
{
    static const char busy[] = "end other processes that use the device";
    void *memory;
    memset(end, 0, sizeof *end);
    if (posix_memalign(&memory, (size_t)sysconf(_SC_PAGESIZE),
                       (size_t)2 * DOCTOR_BYTES) != 0)
        return doctor_flaw(flaw, "message", busy, "no memory for a message");
    end->memory = memory;
    memset(end->memory, 0, (size_t)2 * DOCTOR_BYTES);
    errno = 0;
    end->mr = doctor->verbs.reg_mr(device->pd, memory, (size_t)2 * DOCTOR_BYTES,
                                   ACCESS);
    if (!end->mr)
        return doctor_flaw(flaw, "message", busy,
                           "no region for a message can be registered: %s",
                           cji_errno_text(errno).text);
    errno = 0;
    if (!doctor_create_qp(doctor, device, &end->qp))
        return doctor_flaw(flaw, "message", busy,
                           "the device gives no queue pair for a message: %s",
                           cji_errno_text(errno).text);
    return doctor_to_init(doctor, end->qp, flaw);
}

/* The queue pair first: until it has gone, the device may write to memory. */
void doctor_close_end(struct doctor *doctor, const struct doctor_device *device,
                      struct doctor_end *end)
{
    bool kept = false;
    if (end->qp) {
        int answer = doctor->verbs.destroy_qp(end->qp);
        doctor_undone(doctor, device->name, "queue pair", answer);
        kept = answer != 0;
    }
    if (end->mr) {
        int answer = doctor->verbs.dereg_mr(end->mr);
        doctor_undone(doctor, device->name, "region", answer);
        kept = kept || answer != 0;
    }
    if (!kept)
        free(end->memory);
    memset(end, 0, sizeof *end);
}

struct doctor_place doctor_place_of(const struct doctor_device *device,
                                    const struct doctor_end *end)
{
    return (struct doctor_place){
        .qp_num = end->qp->qp_num, .lid = device->port.lid, .gid = device->gid};
}
