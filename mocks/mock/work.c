/*
 * Posting: what the program gives becomes a request in the room.
 */
#include <errno.h>
#include <string.h>

#include "mock/mock.h"

/* Bytes of a short message that a receive has room for, in a shared room. */
#define SHORT_MESSAGE 192u

static uint32_t slots_for(const struct vf_profile *profile, uint64_t length)
{
    uint32_t frame = profile->frame_bytes;

    if (!frame || length <= frame)
        return 1;
    return (uint32_t)((length + frame - 1) / frame);
}

uint32_t mock_bytes_room(const struct room_work *work)
{
    return work->size - (uint32_t)(offsetof(struct room_work, sge) +
                                   work->entries * sizeof(struct ibv_sge));
}

static bool needs_extra(const struct room_qp *qp, enum ibv_wr_opcode opcode)
{
    switch (opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
        return qp->type == IBV_QPT_UD;
    case IBV_WR_SEND_WITH_INV:
    case IBV_WR_LOCAL_INV:
        return false;
    default:
        return true;
    }
}

static size_t work_bytes(int entries, uint32_t bytes)
{
    return offsetof(struct room_work, sge) +
           (size_t)entries * sizeof(struct ibv_sge) + bytes;
}

/* A piece of memory for the request, its entries summed up; 0: err set. */
static uint32_t new_work(struct vf_object *owner, const struct ibv_sge *list,
                         int entries, uint32_t bytes, int *err)
{
    const struct vf_profile *profile = owner->device->setup.profile;
    struct room_view *view = owner->machine->world->view;
    size_t size = work_bytes(entries, bytes);
    struct room_work *work;
    uint64_t length = 0;
    uint32_t ref;

    for (int i = 0; i < entries; i++)
        length += list[i].length;
    *err = length > profile->max_message ? EINVAL : ENOMEM;
    if (length > profile->max_message)
        return 0;
    ref = room_get(view, size);
    if (!ref)
        return 0;
    work = mock_work(view, ref);
    memset(work, 0, sizeof(*work));
    work->size = (uint32_t)size;
    work->length = (uint32_t)length;
    work->slots = slots_for(profile, length);
    work->entries = (uint8_t)entries;
    work->process = (uint16_t)view->self;
    if (entries > 0)
        memcpy(work->sge, list, (size_t)entries * sizeof(struct ibv_sge));
    for (int i = 0; view->room->shifted && i < entries; i++)
        work->sge[i].addr = mock_place(owner, &work->sge[i]);
    return ref;
}

static void drop(struct room_view *view, uint32_t ref)
{
    room_put(view, ref, mock_work(view, ref)->size);
}

void mock_put(struct room_view *view, struct room_queue *queue, uint32_t ref)
{
    struct room_work *work = mock_work(view, ref);

    work->next = 0;
    if (queue->last)
        mock_work(view, queue->last)->next = ref;
    else
        queue->first = ref;
    queue->last = ref;
    queue->slots += work->slots;
}

void mock_put_first(struct room_view *view, struct room_queue *queue,
                    uint32_t ref)
{
    struct room_work *work = mock_work(view, ref);

    work->next = queue->first;
    if (!queue->first)
        queue->last = ref;
    queue->first = ref;
    queue->slots += work->slots;
}

uint32_t mock_take(struct room_view *view, struct room_queue *queue)
{
    uint32_t ref = queue->first;
    const struct room_work *work;

    if (!ref)
        return 0;
    work = mock_work(view, ref);
    queue->first = work->next;
    if (!queue->first)
        queue->last = 0;
    queue->slots -= work->slots;
    return ref;
}

void mock_empty(struct room_view *view, struct room_queue *queue)
{
    while (queue->first)
        drop(view, mock_take(view, queue));
}

static bool fits(const struct room_queue *queue, const struct room_work *work)
{
    return work->slots <= queue->depth &&
           queue->slots <= queue->depth - work->slots;
}

/* An inline request's bytes are taken now; its entries stay as they were. */
static void take_inline(struct room_work *work, const struct ibv_send_wr *wr)
{
    unsigned char *bytes = mock_bytes(work);

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

static bool is_send(enum ibv_wr_opcode opcode)
{
    return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM;
}

static int check_opcode(const struct vf_profile *profile, uint8_t type,
                        enum ibv_wr_opcode opcode)
{
    if (is_send(opcode))
        return 0;
    if (type == IBV_QPT_UD)
        return EINVAL;
    switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
    case IBV_WR_RDMA_READ:
        return profile->rdma ? 0 : profile->unsupported_errno;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        return profile->atomics ? 0 : profile->unsupported_errno;
    case IBV_WR_SEND_WITH_INV:
    case IBV_WR_LOCAL_INV:
    case IBV_WR_BIND_MW:
        return profile->windows ? 0 : profile->unsupported_errno;
    default:
        return EINVAL;
    }
}

static int check_send(const struct room_qp *qp,
                      const struct vf_profile *profile,
                      const struct ibv_send_wr *wr)
{
    if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->cap.max_send_sge)
        return EINVAL;
    if (wr->send_flags & IBV_SEND_INLINE &&
        inline_bytes(wr) > qp->cap.max_inline_data)
        return EINVAL;
    if (wr->opcode == IBV_WR_BIND_MW && !wr->bind_mw.mw)
        return EINVAL;
    return check_opcode(profile, qp->type, wr->opcode);
}

static void take_bind(struct room_bind *taken, const struct ibv_send_wr *wr)
{
    const struct ibv_mw_bind_info *info = &wr->bind_mw.bind_info;
    const struct mock_mw *mw = (const struct mock_mw *)wr->bind_mw.mw;

    taken->window = mw->room->object.index;
    taken->region =
        info->mr ? ((const struct mock_mr *)info->mr)->room->object.index : 0;
    taken->key = wr->bind_mw.rkey;
    taken->address = info->addr;
    taken->length = info->length;
    taken->access = info->mw_access_flags;
}

static void take_address(struct room_extra *extra, const struct ibv_send_wr *wr)
{
    const struct mock_ah *ah = (const struct mock_ah *)wr->wr.ud.ah;

    extra->datagram.gid = ah->attr.grh.dgid;
    extra->datagram.number = wr->wr.ud.remote_qpn;
    extra->datagram.key = wr->wr.ud.remote_qkey;
}

/* What the opcode needs besides its entries. */
static void take_rest(struct room_work *work, const struct ibv_send_wr *wr)
{
    struct room_extra *extra = mock_extra(work);

    switch (wr->opcode) {
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        work->imm = wr->imm_data;
        /* fallthrough */
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_READ:
        extra->remote.address = wr->wr.rdma.remote_addr;
        extra->rkey = wr->wr.rdma.rkey;
        break;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        extra->remote.address = wr->wr.atomic.remote_addr;
        extra->remote.compare_add = wr->wr.atomic.compare_add;
        extra->remote.swap = wr->wr.atomic.swap;
        extra->rkey = wr->wr.atomic.rkey;
        break;
    case IBV_WR_BIND_MW:
        take_bind(&extra->bind, wr);
        break;
    case IBV_WR_SEND_WITH_INV:
    case IBV_WR_LOCAL_INV:
        work->imm = wr->invalidate_rkey;
        break;
    default:
        work->imm = wr->opcode == IBV_WR_SEND_WITH_IMM ? wr->imm_data : 0;
        if (work->extra)
            take_address(extra, wr);
    }
}

static int post_one_send(struct vf_object *object, struct room_qp *qp,
                         const struct ibv_send_wr *wr)
{
    struct vf_world *world = object->machine->world;
    int err = check_send(qp, object->device->setup.profile, wr);
    bool inlined = wr->send_flags & IBV_SEND_INLINE;
    bool extra = needs_extra(qp, wr->opcode);
    uint32_t bytes = extra ? sizeof(struct room_extra) : 0;
    struct room_work *work;
    uint32_t ref;

    if (err)
        return err;
    if (short_send(object, qp, wr))
        return 0;
    if (inlined)
        bytes += inline_bytes(wr);
    ref = new_work(object, wr->sg_list, wr->num_sge, bytes, &err);
    if (!ref)
        return err;
    work = mock_work(world->view, ref);
    work->extra = extra;
    if (!fits(&qp->send, work)) {
        drop(world->view, ref);
        return ENOMEM;
    }
    work->wr_id = wr->wr_id;
    work->flags = wr->send_flags;
    work->opcode = (uint8_t)wr->opcode;
    take_rest(work, wr);
    if (inlined)
        take_inline(work, wr);
    if (qp->state == IBV_QPS_ERR)
        mock_complete_error(world, qp, ref, false, IBV_WC_WR_FLUSH_ERR);
    else
        mock_put(world->view, &qp->send, ref);
    return 0;
}

/* In no state does a queue take more requests at once than it has places: an
 * endless list must end. */
static int check_count(uint32_t count, const struct room_queue *queue)
{
    return count < queue->depth ? 0 : ENOMEM;
}

int mock_post_send(struct vf_object *object, struct ibv_send_wr *wr,
                   struct ibv_send_wr **bad)
{
    struct vf_world *world = object->machine->world;
    struct room_qp *qp = ((struct mock_qp *)object->handle)->room;
    uint32_t count = 0;
    int err = 0;

    if (qp->state < IBV_QPS_RTS) {
        *bad = object->device->setup.profile->state_error_is_bare ? NULL : wr;
        return EINVAL;
    }
    room_enter(world);
    for (; wr && !err; wr = err ? wr : wr->next) {
        err = check_count(count++, &qp->send);
        if (!err)
            err = post_one_send(object, qp, wr);
    }
    if (err)
        *bad = wr;
    if (qp->send.first)
        move_pump(world, qp);
    room_leave(world);
    return err;
}

static uint32_t bytes_beside(const struct room_view *view)
{
    return view->shared ? SHORT_MESSAGE : 0;
}

/* A receive that is ready comes to the queue. */
static int take_in(struct vf_object *owner, struct room_queue *queue,
                   uint32_t ref, uint32_t *posted)
{
    struct room_view *view = owner->machine->world->view;

    *posted = 0;
    if (!fits(queue, mock_work(view, ref))) {
        drop(view, ref);
        return owner->device->setup.profile->recv_over_depth_refused ? ENOMEM
                                                                     : 0;
    }
    *posted = ref;
    return 0;
}

static uint32_t new_recv(struct vf_object *owner, uint32_t max_sge,
                         const struct ibv_recv_wr *wr, int *err)
{
    struct room_view *view = owner->machine->world->view;
    uint32_t ref;

    *err = EINVAL;
    if (wr->num_sge < 0 || (uint32_t)wr->num_sge > max_sge)
        return 0;
    ref = new_work(owner, wr->sg_list, wr->num_sge, bytes_beside(view), err);
    if (ref)
        mock_work(view, ref)->wr_id = wr->wr_id;
    return ref;
}

int mock_post_one_recv(struct vf_object *owner, struct room_queue *queue,
                       uint32_t max_sge, const struct ibv_recv_wr *wr,
                       uint32_t *posted)
{
    int err;
    uint32_t ref = new_recv(owner, max_sge, wr, &err);

    *posted = 0;
    return ref ? take_in(owner, queue, ref, posted) : err;
}

/* Most often one receive is posted, and memory for it is at hand. It is filled
 * before the room is entered, whose lock may be on the way here meanwhile: then
 * nothing is left to do there but the queue. (Whoever dies in between takes one
 * piece of memory along.) 0: not so, or an error, which is found again. */
static uint32_t ready_recv(struct vf_object *object, const struct room_qp *qp,
                           const struct ibv_recv_wr *wr)
{
    struct room_view *view = object->machine->world->view;
    int err;

    if (!view->shared || !wr || wr->next || wr->num_sge < 0 ||
        qp->recv.depth == 0 ||
        !room_has(view, work_bytes(wr->num_sge, bytes_beside(view))))
        return 0;
    return new_recv(object, qp->cap.max_recv_sge, wr, &err);
}

int mock_post_recv(struct vf_object *object, struct ibv_recv_wr *wr,
                   struct ibv_recv_wr **bad)
{
    struct vf_world *world = object->machine->world;
    struct room_qp *qp = ((struct mock_qp *)object->handle)->room;
    uint32_t count = 0;
    uint32_t ready;
    int err = 0;

    if (qp->state == IBV_QPS_RESET || qp->srq) {
        *bad = object->device->setup.profile->state_error_is_bare ? NULL : wr;
        return EINVAL;
    }
    ready = ready_recv(object, qp, wr);
    room_enter(world);
    for (; wr && !err; wr = err ? wr : wr->next) {
        uint32_t work = 0;

        err = check_count(count++, &qp->recv);
        if (!err && ready)
            err = take_in(object, &qp->recv, ready, &work);
        else if (!err)
            err = mock_post_one_recv(object, &qp->recv, qp->cap.max_recv_sge,
                                     wr, &work);
        if (work && qp->state == IBV_QPS_ERR)
            mock_complete_error(world, qp, work, true, IBV_WC_WR_FLUSH_ERR);
        else if (work)
            mock_put(world->view, &qp->recv, work);
    }
    if (err)
        *bad = wr;
    move_posted(world, qp);
    room_leave(world);
    return err;
}
