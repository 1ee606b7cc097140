#include "device/quick.h"

#include "device/device.h"
#include "front/alone.h"

/* The world, locked if that is needed; NULL: not here. */
static inline struct vf_world *enter(bool *locked)
{
    struct vf_world *world =
        atomic_load_explicit(&vf_installed_world, memory_order_acquire);

    if (!world || world->hooks.trace || world->hooks.record || real_depth > 0)
        return NULL;
    *locked = !VF_ALONE;
    if (*locked)
        vf_world_lock(world);
    return world;
}

static inline void leave(struct vf_world *world, bool locked)
{
    if (locked)
        vf_world_unlock(world);
}

/* A live object whose machine has no plan; NULL: not so. */
static inline struct vf_object *find(const struct vf_world *world,
                                     const void *handle, enum vf_kind kind)
{
    struct vf_object *object =
        vf_map_find(&world->registry.foreign, (uintptr_t)handle);

    if (!object || !object->live || object->kind != (uint8_t)kind ||
        object->orphan || object->machine->plan.count > 0 || !object->own)
        return NULL;
    return object;
}

static inline void count(struct vf_machine *machine, enum vf_verb verb)
{
    machine->calls[verb]++;
    machine->all_calls++;
}

/* ---- polling ----------------------------------------------------------------
 */

static bool can_poll(const struct vf_object *cq)
{
    const struct device_cq *own = cq->own;

    return own->context && !own->ex && own->held.count == 0;
}

/* The common end of a request, or all that the steps do of it. */
static inline void note(struct vf_object *cq, const struct ibv_wc *wc)
{
    struct vf_object *qp = device_numbered(cq, wc->qp_num);

    if (wc->status != IBV_WC_SUCCESS || !qp || qp->stranger) {
        device_note(cq, wc);
        return;
    }
    cq->machine->calls[VF_VERB_completion]++;
    vf_contract_completed(qp, wc, wc->opcode & IBV_WC_RECV);
}

int device_quick_poll(struct ibv_cq *cq, int room, struct ibv_wc *wc)
{
    bool locked;
    struct vf_world *world = enter(&locked);
    struct vf_object *object = world ? find(world, cq, VF_KIND_CQ) : NULL;
    int got;

    if (!object || !can_poll(object)) {
        if (world)
            leave(world, locked);
        return vf_poll_cq(cq, room, wc);
    }
    count(object->machine, VF_VERB_poll_cq);
    real_enter();
    got = ((struct device_cq *)object->own)->context->ops.poll_cq(cq, room, wc);
    real_leave();
    for (int i = 0; i < got; i++)
        note(object, &wc[i]);
    leave(world, locked);
    return got;
}

/* ---- posting ----------------------------------------------------------------
 */

static inline bool is_plain(const struct vf_object *qp, const void *next,
                            int count)
{
    const struct device_qp *own = qp->own;

    return !next && count == 1 && !qp->stranger && own->context && !own->ex;
}

static int send_plain(struct vf_object *qp, struct ibv_send_wr *wr,
                      struct ibv_send_wr **bad)
{
    const struct device_qp *own = qp->own;
    int answer;

    real_enter();
    answer = own->context->ops.post_send(qp->handle, wr, bad);
    real_leave();
    if (answer != 0)
        vf_contract_take_back(qp, &qp->shadow.qp.send);
    return answer;
}

/* Remembers it, if it is as it should be. */
static inline bool can_send(struct vf_object *qp, const struct ibv_send_wr *wr)
{
    struct vf_plain plain;

    if (!wr || !is_plain(qp, wr->next, wr->num_sge) ||
        (wr->opcode != IBV_WR_SEND && wr->opcode != IBV_WR_SEND_WITH_IMM &&
         wr->opcode != IBV_WR_RDMA_WRITE &&
         wr->opcode != IBV_WR_RDMA_WRITE_WITH_IMM))
        return false;
    plain.wr_id = wr->wr_id;
    plain.entry = wr->sg_list;
    plain.inlined = wr->send_flags & IBV_SEND_INLINE;
    plain.signaled =
        qp->shadow.qp.all_signaled || wr->send_flags & IBV_SEND_SIGNALED;
    return plain.entry && vf_contract_plain_send(qp, &plain);
}

int device_quick_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
                      struct ibv_send_wr **bad)
{
    bool locked;
    struct vf_world *world = enter(&locked);
    struct vf_object *object = world ? find(world, qp, VF_KIND_QP) : NULL;
    int answer;

    if (!object || !can_send(object, wr)) {
        if (world)
            leave(world, locked);
        return vf_post_send(qp, wr, bad);
    }
    count(object->machine, VF_VERB_post_send);
    answer = send_plain(object, wr, bad);
    leave(world, locked);
    return answer;
}

static int recv_plain(struct vf_object *qp, struct ibv_recv_wr *wr,
                      struct ibv_recv_wr **bad)
{
    const struct device_qp *own = qp->own;
    int answer;

    real_enter();
    answer = own->context->ops.post_recv(qp->handle, wr, bad);
    real_leave();
    if (answer != 0)
        vf_contract_take_back(qp, &qp->shadow.qp.recv);
    return answer;
}

static inline bool can_recv(struct vf_object *qp, const struct ibv_recv_wr *wr)
{
    struct vf_plain plain;

    if (!wr || !is_plain(qp, wr->next, wr->num_sge))
        return false;
    plain.wr_id = wr->wr_id;
    plain.entry = wr->sg_list;
    plain.inlined = false;
    plain.signaled = true;
    return plain.entry && vf_contract_plain_recv(qp, &plain);
}

int device_quick_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
                      struct ibv_recv_wr **bad)
{
    bool locked;
    struct vf_world *world = enter(&locked);
    struct vf_object *object = world ? find(world, qp, VF_KIND_QP) : NULL;
    int answer;

    if (!object || !can_recv(object, wr)) {
        if (world)
            leave(world, locked);
        return vf_post_recv(qp, wr, bad);
    }
    count(object->machine, VF_VERB_post_recv);
    answer = recv_plain(object, wr, bad);
    leave(world, locked);
    return answer;
}
