#include <errno.h>
#include <string.h>

#include "mock/mock.h"

static uint32_t slots_for(const struct vf_profile *profile, uint64_t length)
{
    uint32_t frame = profile->frame_bytes;

    if (!frame || length <= frame)
        return 1;
    return (uint32_t)((length + frame - 1) / frame);
}

/* A piece of memory for the request, its entries summed up; NULL: err set. */
static struct mock_work *new_work(struct vf_object *owner,
                                  const struct ibv_sge *list, int entries,
                                  uint32_t inlined, int *err)
{
    size_t size = sizeof(struct mock_work) +
                  (size_t)entries * sizeof(struct ibv_sge) + inlined;
    const struct vf_profile *profile = owner->device->setup.profile;
    struct mock_work *work;
    uint64_t length = 0;

    for (int i = 0; i < entries; i++)
        length += list[i].length;
    *err = length > profile->max_message ? EINVAL : ENOMEM;
    if (length > profile->max_message)
        return NULL;
    work = vf_pool_get(&owner->machine->world->registry, size);
    if (!work)
        return NULL;
    memset(work, 0, sizeof(*work));
    work->size = (uint32_t)size;
    work->length = (uint32_t)length;
    work->slots = slots_for(profile, length);
    work->entries = entries;
    if (entries > 0)
        memcpy(work->sge, list, (size_t)entries * sizeof(struct ibv_sge));
    return work;
}

static void put(struct mock_queue *queue, struct mock_work *work)
{
    work->next = NULL;
    if (queue->last)
        queue->last->next = work;
    else
        queue->first = work;
    queue->last = work;
    queue->slots += work->slots;
}

static bool fits(const struct mock_queue *queue, const struct mock_work *work)
{
    return work->slots <= queue->depth &&
           queue->slots <= queue->depth - work->slots;
}

static void drop(struct vf_object *owner, struct mock_work *work)
{
    vf_pool_put(&owner->machine->world->registry, work, work->size);
}

/* An inline request's bytes are taken now; one entry stands for them. */
static void take_inline(struct mock_work *work, const struct ibv_send_wr *wr)
{
    unsigned char *bytes = (unsigned char *)&work->sge[work->entries];

    for (int i = 0; i < wr->num_sge; i++) {
        const void *from = (const void *)(uintptr_t)wr->sg_list[i].addr;

        if (wr->sg_list[i].length > 0)
            memcpy(bytes, from, wr->sg_list[i].length);
        bytes += wr->sg_list[i].length;
    }
}

static uint32_t inline_bytes(const struct ibv_send_wr *wr)
{
    uint64_t length = 0;

    for (int i = 0; i < wr->num_sge; i++)
        length += wr->sg_list[i].length;
    return length > UINT32_MAX ? UINT32_MAX : (uint32_t)length;
}

static int check_send(const struct mock_qp *qp, const struct ibv_send_wr *wr)
{
    const struct vf_profile *profile = qp->object->device->setup.profile;

    if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->cap.max_send_sge)
        return EINVAL;
    if (wr->send_flags & IBV_SEND_INLINE &&
        inline_bytes(wr) > qp->cap.max_inline_data)
        return EINVAL;
    if (wr->opcode != IBV_WR_SEND && wr->opcode != IBV_WR_SEND_WITH_IMM)
        return profile->unsupported_errno;
    return qp->qp.qp_type == IBV_QPT_UD ? profile->unsupported_errno : 0;
}

/* In no state does a queue take more requests at once than it has places: an
 * endless list must end. */
static int check_count(unsigned count, const struct mock_queue *queue)
{
    return count < queue->depth ? 0 : ENOMEM;
}

static int post_one_send(struct mock_qp *qp, const struct ibv_send_wr *wr)
{
    int err = check_send(qp, wr);
    bool inlined = wr->send_flags & IBV_SEND_INLINE;
    struct mock_work *work;

    if (err)
        return err;
    work = new_work(qp->object, wr->sg_list, wr->num_sge,
                    inlined ? inline_bytes(wr) : 0, &err);
    if (!work)
        return err;
    if (!fits(&qp->send, work)) {
        drop(qp->object, work);
        return ENOMEM;
    }
    work->wr_id = wr->wr_id;
    work->flags = wr->send_flags;
    work->has_imm = wr->opcode == IBV_WR_SEND_WITH_IMM;
    work->imm = work->has_imm ? wr->imm_data : 0;
    if (inlined)
        take_inline(work, wr);
    if (qp->state == IBV_QPS_ERR)
        mock_complete(qp, work, false, IBV_WC_WR_FLUSH_ERR, NULL);
    else
        put(&qp->send, work);
    return 0;
}

int mock_post_send(struct vf_object *object, struct ibv_send_wr *wr,
                   struct ibv_send_wr **bad)
{
    struct mock_qp *qp = object->handle;
    unsigned count = 0;
    int err = 0;

    if (qp->state < IBV_QPS_RTS) {
        *bad = object->device->setup.profile->state_error_is_bare ? NULL : wr;
        return EINVAL;
    }
    for (; wr && !err; wr = err ? wr : wr->next) {
        err = check_count(count++, &qp->send);
        if (!err)
            err = post_one_send(qp, wr);
    }
    if (err)
        *bad = wr;
    fabric_pump(qp);
    return err;
}

static int post_one_recv(struct vf_object *owner, struct mock_queue *queue,
                         uint32_t max_sge, const struct ibv_recv_wr *wr,
                         struct mock_work **posted)
{
    struct mock_work *work;
    int err;

    *posted = NULL;
    if (wr->num_sge < 0 || (uint32_t)wr->num_sge > max_sge)
        return EINVAL;
    work = new_work(owner, wr->sg_list, wr->num_sge, 0, &err);
    if (!work)
        return err;
    if (!fits(queue, work)) {
        drop(owner, work);
        return owner->device->setup.profile->recv_over_depth_refused ? ENOMEM
                                                                     : 0;
    }
    work->wr_id = wr->wr_id;
    *posted = work;
    return 0;
}

int mock_post_recv(struct vf_object *object, struct ibv_recv_wr *wr,
                   struct ibv_recv_wr **bad)
{
    struct mock_qp *qp = object->handle;
    unsigned count = 0;
    int err = 0;

    if (qp->state == IBV_QPS_RESET || qp->qp.srq) {
        *bad = object->device->setup.profile->state_error_is_bare ? NULL : wr;
        return EINVAL;
    }
    for (; wr && !err; wr = err ? wr : wr->next) {
        struct mock_work *work = NULL;

        err = check_count(count++, &qp->recv);
        if (!err)
            err = post_one_recv(object, &qp->recv, qp->cap.max_recv_sge, wr,
                                &work);
        if (work && qp->state == IBV_QPS_ERR)
            mock_complete(qp, work, true, IBV_WC_WR_FLUSH_ERR, NULL);
        else if (work)
            put(&qp->recv, work);
    }
    if (err)
        *bad = wr;
    fabric_ready(qp);
    return err;
}

int mock_create_srq(struct vf_object *object, struct ibv_srq_init_attr *attr)
{
    const struct vf_profile *profile = object->device->setup.profile;
    struct mock_srq *srq = object->handle;

    if (!profile->srq)
        return profile->unsupported_errno;
    if (attr->attr.max_wr == 0 || attr->attr.max_wr > profile->max_qp_wr ||
        attr->attr.max_sge > profile->max_sge)
        return EINVAL;
    srq->recv.depth = mock_grant(profile, attr->attr.max_wr);
    srq->max_sge = attr->attr.max_sge;
    attr->attr.max_wr = srq->recv.depth;
    return 0;
}

int mock_destroy_srq(struct vf_object *object)
{
    struct mock_srq *srq = object->handle;

    if (object->children > 0)
        return EBUSY;
    mock_empty_queue(object, &srq->recv);
    return 0;
}

int mock_post_srq_recv(struct vf_object *object, struct ibv_recv_wr *wr,
                       struct ibv_recv_wr **bad)
{
    struct mock_srq *srq = object->handle;
    unsigned count = 0;
    int err = 0;

    for (; wr && !err; wr = err ? wr : wr->next) {
        struct mock_work *work = NULL;

        err = check_count(count++, &srq->recv);
        if (!err)
            err = post_one_recv(object, &srq->recv, srq->max_sge, wr, &work);
        if (work)
            put(&srq->recv, work);
    }
    if (err)
        *bad = wr;
    for (struct vf_object *qp = object->machine->live[VF_KIND_QP]; qp;
         qp = qp->next)
        if (qp->parent[3] == object)
            fabric_ready(qp->handle);
    return err;
}

void mock_complete(struct mock_qp *qp, struct mock_work *work, bool recv,
                   enum ibv_wc_status status, const struct mock_work *sent)
{
    const struct vf_profile *profile = qp->object->device->setup.profile;
    struct vf_object *object = qp->object;
    bool signaled = recv || qp->all_signaled || work->flags & IBV_SEND_SIGNALED;
    struct ibv_wc wc = {
        .wr_id = work->wr_id,
        .status = status,
        .qp_num = qp->qp.qp_num,
    };

    if (status == IBV_WC_SUCCESS && recv) {
        wc.opcode = IBV_WC_RECV;
        wc.byte_len = sent->length;
        wc.wc_flags = profile->recv_grh ? IBV_WC_GRH : 0;
        if (sent->has_imm) {
            wc.wc_flags |= IBV_WC_WITH_IMM;
            wc.imm_data = sent->imm;
        }
    }
    drop(object, work);
    if (status != IBV_WC_SUCCESS || signaled)
        vf_completion(object, object->parent[recv ? 2 : 1], &wc, recv);
}
