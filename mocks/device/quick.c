#include "device/quick.h"

#include "device/device.h"
#include "front/sanitize.h"

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define ALONE __libc_single_threaded
#endif
#endif
#ifndef ALONE
#define ALONE false
#endif

/* Only the steps know which memory is poisoned. */
#ifdef VF_ASAN
#define POSSIBLE false
#else
#define POSSIBLE true
#endif

/* The world, locked if that is needed; NULL: not here. */
static inline struct vf_world *enter(bool *locked)
{
    struct vf_world *world =
        atomic_load_explicit(&vf_installed_world, memory_order_acquire);

    if (!POSSIBLE || !world || world->hooks.trace || real_depth > 0)
        return NULL;
    *locked = !ALONE;
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

/* The region of the entry, if it is as it should be. */
static inline struct vf_object *region_of(const struct vf_object *qp,
                                          const struct ibv_sge *sge,
                                          uint32_t access)
{
    struct vf_object *mr = device_region(qp, sge->lkey);
    uint64_t start;

    if (!mr || !mr->live || mr->stranger || mr->shadow.mr.lost ||
        mr->parent[0] != qp->parent[0] ||
        (mr->shadow.mr.access & access) != access)
        return NULL;
    start = sge->addr - mr->shadow.mr.address;
    if (start > mr->shadow.mr.length ||
        sge->length > mr->shadow.mr.length - start)
        return NULL;
    return mr;
}

static inline bool has_place(const struct vf_object *qp,
                             const struct vf_posted_queue *queue)
{
    return queue->slots < queue->depth && !qp->stranger &&
           ((const struct device_qp *)qp->own)->context &&
           !((const struct device_qp *)qp->own)->ex;
}

/* What the opcode writes to here; false: not plain. */
static inline bool plain_send(const struct vf_object *qp,
                              const struct ibv_send_wr *wr, uint32_t *access)
{
    *access = 0;
    if (wr->next || wr->num_sge != 1 || qp->shadow.qp.send_sge == 0 ||
        qp->shadow.qp.state < IBV_QPS_RTS)
        return false;
    switch (wr->opcode) {
    case IBV_WR_RDMA_READ:
        *access = IBV_ACCESS_LOCAL_WRITE;
        return qp->shadow.qp.type == IBV_QPT_RC;
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        return qp->shadow.qp.type == IBV_QPT_RC ||
               qp->shadow.qp.type == IBV_QPT_UC;
    default:
        return false;
    }
}

/* The request was remembered, and the device has not taken it. */
static void take_back(struct vf_object *qp, enum vf_verb verb)
{
    struct vf_call call = {.verb = verb, .object = qp};

    vf_contract_untake(&call, 1);
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
        take_back(qp, VF_VERB_post_send);
    return answer;
}

static inline bool can_send(struct vf_object *qp, const struct ibv_send_wr *wr)
{
    struct vf_object *mr;
    uint32_t access;

    if (!wr || !has_place(qp, &qp->shadow.qp.send) ||
        !plain_send(qp, wr, &access) || wr->sg_list->length == 0)
        return false;
    if (wr->send_flags & IBV_SEND_INLINE) {
        mr = NULL;
        if (access || wr->sg_list->length > qp->shadow.qp.max_inline)
            return false;
    } else {
        mr = region_of(qp, wr->sg_list, access);
        if (!mr)
            return false;
    }
    return vf_contract_plain(
        qp, &qp->shadow.qp.send, wr->wr_id,
        qp->shadow.qp.all_signaled || wr->send_flags & IBV_SEND_SIGNALED, mr);
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
        take_back(qp, VF_VERB_post_recv);
    return answer;
}

static inline bool can_recv(struct vf_object *qp, const struct ibv_recv_wr *wr)
{
    struct vf_object *mr;

    if (!wr || wr->next || wr->num_sge != 1 || qp->parent[3] ||
        qp->shadow.qp.recv_sge == 0 || qp->shadow.qp.state < IBV_QPS_INIT ||
        !has_place(qp, &qp->shadow.qp.recv) || wr->sg_list->length == 0)
        return false;
    mr = region_of(qp, wr->sg_list, IBV_ACCESS_LOCAL_WRITE);
    return mr &&
           vf_contract_plain(qp, &qp->shadow.qp.recv, wr->wr_id, true, mr);
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
