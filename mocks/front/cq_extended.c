/*
 * create_cq_ex, and polling one completion at a time.
 *
 * Status and wr_id stand in the queue's struct; everything else of the
 * completion is read by functions. Those of the fields that the program did
 * not ask for in wc_flags are NULL, as rdma-core's providers leave them.
 */
#include <errno.h>

#include "front/extended.h"
#include "front/inline_verbs.h"

static const struct ibv_wc *current(struct ibv_cq_ex *cq)
{
    return &((struct vf_cq_handle *)cq)->wc;
}

/* ENOENT: the queue is empty. */
static int take_next(struct ibv_cq_ex *cq)
{
    struct vf_cq_handle *handle = (struct vf_cq_handle *)cq;
    int count = vf_poll_cq((struct ibv_cq *)cq, 1, &handle->wc);

    if (count == 0)
        return ENOENT;
    if (count < 0)
        return EIO;
    cq->status = handle->wc.status;
    cq->wr_id = handle->wc.wr_id;
    return 0;
}

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
    return attr->comp_mask ? EINVAL : take_next(cq);
}

static void end_poll(struct ibv_cq_ex *cq)
{
    (void)cq;
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *cq)
{
    return current(cq)->opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *cq)
{
    return current(cq)->vendor_err;
}

static unsigned read_wc_flags(struct ibv_cq_ex *cq)
{
    return current(cq)->wc_flags;
}

static uint32_t read_byte_len(struct ibv_cq_ex *cq)
{
    return current(cq)->byte_len;
}

/* Or the key that the peer invalidated. */
static __be32 read_imm_data(struct ibv_cq_ex *cq)
{
    return current(cq)->imm_data;
}

static uint32_t read_qp_num(struct ibv_cq_ex *cq)
{
    return current(cq)->qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *cq)
{
    return current(cq)->src_qp;
}

static uint32_t read_slid(struct ibv_cq_ex *cq)
{
    return current(cq)->slid;
}

static uint8_t read_sl(struct ibv_cq_ex *cq)
{
    return current(cq)->sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *cq)
{
    return current(cq)->dlid_path_bits;
}

static void set_readers(struct ibv_cq_ex *cq, uint64_t fields)
{
    cq->start_poll = start_poll;
    cq->next_poll = take_next;
    cq->end_poll = end_poll;
    cq->read_opcode = read_opcode;
    cq->read_vendor_err = read_vendor_err;
    cq->read_wc_flags = read_wc_flags;
    if (fields & IBV_WC_EX_WITH_BYTE_LEN)
        cq->read_byte_len = read_byte_len;
    if (fields & IBV_WC_EX_WITH_IMM)
        cq->read_imm_data = read_imm_data;
    if (fields & IBV_WC_EX_WITH_QP_NUM)
        cq->read_qp_num = read_qp_num;
    if (fields & IBV_WC_EX_WITH_SRC_QP)
        cq->read_src_qp = read_src_qp;
    if (fields & IBV_WC_EX_WITH_SLID)
        cq->read_slid = read_slid;
    if (fields & IBV_WC_EX_WITH_SL)
        cq->read_sl = read_sl;
    if (fields & IBV_WC_EX_WITH_DLID_PATH_BITS)
        cq->read_dlid_path_bits = read_dlid_path_bits;
}

/* No device has clocks, tags, thread domains, or queues that may overrun. */
static int check(const struct ibv_cq_init_attr_ex *attr)
{
    const uint32_t known =
        IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;

    if (attr->comp_mask & ~known)
        return EINVAL;
    if (attr->wc_flags & ~(uint64_t)IBV_WC_STANDARD_FLAGS ||
        attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD)
        return EOPNOTSUPP;
    if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
        attr->flags & ~(uint32_t)IBV_CREATE_CQ_ATTR_SINGLE_THREADED)
        return EOPNOTSUPP;
    return 0;
}

struct ibv_cq_ex *vf_create_cq_ex(struct ibv_context *context,
                                  struct ibv_cq_init_attr_ex *attr)
{
    struct vf_call refused = {
        .verb = VF_VERB_create_cq,
        .kind = VF_KIND_CONTEXT,
        .handle = context,
        .first_read = VF_CONTEXT_READ,
        .args = {attr->cqe},
    };
    int err = check(attr);
    struct vf_cq_handle *cq;

    if (err)
        return vf_refuse(&refused, err);
    cq = (struct vf_cq_handle *)ibv_create_cq(context, (int)attr->cqe,
                                              attr->cq_context, attr->channel,
                                              (int)attr->comp_vector);
    if (!cq)
        return NULL;
    cq->extended = true;
    set_readers(&cq->ex, attr->wc_flags);
    return &cq->ex;
}
