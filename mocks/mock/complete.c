/*
 * Completions on their way.
 *
 * In a private room a completion goes to its owner at once. In a shared one
 * it is put into its queue's ring, in the room, and its owner takes it from
 * there at its next poll (mock/cq.c). An entry is written when its turn says
 * so: the owner looks at that word alone and needs no lock.
 *
 * A message to another process that is not long is copied once into the room
 * (mock/park.h; a short one into the receive's own memory there), and once
 * more, by its owner, to where it belongs. The completion says so by naming
 * the receive.
 */
#include <string.h>

#include "mock/hold.h"
#include "mock/mock.h"
#include "mock/park.h"

/* Nobody asks how many there were where no plan counts them; and a count that
 * all processes write costs more than the rest. */
const struct vf_fault *mock_plan(struct vf_world *world,
                                 const struct room_qp *qp)
{
    struct vf_machine *machine = &world->machines[qp->object.machine];

    if (world->view->shared && !vf_plan_has(&machine->plan, VF_VERB_completion))
        return NULL;
    return vf_completion_next(machine);
}

uint32_t mock_count_completion(struct vf_machine *machine)
{
    return ++machine->world->view->room->machines[machine->number].completions;
}

static bool is_full(struct room_cq *cq)
{
    if (cq->tail - cq->known < cq->cqe)
        return false;
    cq->known = atomic_load_explicit(&cq->head, memory_order_acquire);
    return cq->tail - cq->known >= cq->cqe;
}

static void make_event(struct vf_world *world, struct room_cq *cq,
                       const struct ibv_wc *wc)
{
    bool solicited =
        wc->status != IBV_WC_SUCCESS || wc->wc_flags & MOCK_WC_SOLICITED;

    if (cq->armed == 0 || (cq->armed == 2 && !solicited))
        return;
    cq->armed = 0;
    cq->event = 1;
    notice_ring(world, cq->object.process);
}

/* A completion that is late or never comes makes no event now; and what waits
 * behind it only its owner knows. */
static void tell_owner(struct vf_world *world, struct room_cq *cq,
                       const struct ibv_wc *wc, const struct vf_fault *fault)
{
    if (fault && (fault->effect == VF_EFFECT_DELAY ||
                  fault->effect == VF_EFFECT_OVERTAKEN ||
                  fault->effect == VF_EFFECT_DROP))
        cq->planned = 1;
    if (!cq->planned) {
        make_event(world, cq, wc);
        return;
    }
    atomic_store(&cq->look, 1);
    notice_ring(world, cq->object.process);
}

static int16_t fault_place(const struct vf_world *world,
                           const struct room_qp *qp,
                           const struct vf_fault *fault)
{
    const struct vf_plan *plan = &world->machines[qp->object.machine].plan;

    return fault ? (int16_t)(fault - plan->faults + 1) : 0;
}

void mock_unpark(struct vf_world *world, uint32_t ref)
{
    struct room_work *work = mock_work(world->view, ref);
    uint32_t parked = work->parked;

    work->parked = 0; /* first: no place is left twice */
    atomic_signal_fence(memory_order_seq_cst);
    if (parked)
        park_leave(world, parked);
}

void mock_drop_work(struct vf_world *world, uint32_t ref)
{
    if (!ref)
        return;
    mock_unpark(world, ref);
    room_put(world->view, ref, mock_work(world->view, ref)->size);
}

/* Whoever dies in between has given back one less: it is lost to the room, and
 * nothing is given back twice. */
void mock_drop_work_later(struct vf_world *world, uint32_t ref)
{
    const struct room_view *view = world->view;
    struct room_process *self = &view->room->processes[view->self];
    uint32_t rested = self->resting;

    if (!ref)
        return;
    if (mock_work(view, ref)->parked)
        mock_unpark(world, ref);
    self->resting = ref;
    atomic_signal_fence(memory_order_seq_cst);
    if (rested)
        room_put(world->view, rested, mock_work(view, rested)->size);
}

static _Atomic uint32_t *underway_of(struct vf_world *world, uint32_t process)
{
    return &world->view->room->processes[process].underway;
}

static struct room_completion *next_entry(const struct room_view *view,
                                          const struct room_cq *cq)
{
    return (struct room_completion *)room_at(view, cq->ring) +
           (cq->tail & (cq->slots - 1));
}

/* The queue, if completions can be put into it: its owner may have died while
 * it made or changed it. */
static struct room_cq *open_queue(const struct room_view *view, uint32_t index)
{
    struct room_cq *cq = room_find(view, ROOM_CQ, index);

    return cq && cq->object.live && cq->ring ? cq : NULL;
}

struct room_completion *mock_next(struct vf_world *world, uint32_t index)
{
    struct room_cq *cq = open_queue(world->view, index);

    return cq && !is_full(cq) ? next_entry(world->view, cq) : NULL;
}

const struct room_completion *mock_next_ahead(struct vf_world *world,
                                              uint32_t index, unsigned more)
{
    const struct room_cq *cq = open_queue(world->view, index);
    const struct room_completion *ring;

    if (!cq)
        return NULL;
    ring = room_at(world->view, cq->ring);
    return ring + ((cq->tail + more) & (cq->slots - 1));
}

static uint8_t about(bool recv, enum mock_kept kept)
{
    unsigned word = recv ? ROOM_OF_RECV : 0;

    if (kept & MOCK_UNREACHED)
        word |= ROOM_UNREACHED;
    if (kept & MOCK_INSIDE)
        word |= ROOM_BROUGHT;
    return (uint8_t)word;
}

/* kept: the message waits in the request. False: the completion is lost. */
static bool push(struct vf_world *world, struct room_qp *qp, uint32_t work,
                 bool recv, const struct ibv_wc *wc,
                 const struct vf_fault *fault, enum mock_kept kept)
{
    struct room_cq *cq =
        open_queue(world->view, recv ? qp->recv_cq : qp->send_cq);
    struct room_completion *entry;

    if (!cq)
        return false;
    if (is_full(cq)) {
        cq->lost++;
        notice_object(world, &cq->object, IBV_EVENT_CQ_ERR);
        return false;
    }
    hold_turn(world, cq, work);
    entry = next_entry(world->view, cq);
    if (wc != &entry->wc)
        entry->wc = *wc;
    entry->qp = qp->object.index;
    entry->generation = (uint8_t)qp->object.generation;
    entry->about = about(recv, kept);
    entry->fault = fault_place(world, qp, fault);
    atomic_store_explicit(&entry->work, kept ? work : 0, memory_order_relaxed);
    if (kept && !(kept & MOCK_UNREACHED))
        atomic_fetch_add_explicit(underway_of(world, qp->object.process), 1,
                                  memory_order_relaxed);
    atomic_store_explicit(&entry->turn, ++cq->tail, memory_order_release);
    tell_owner(world, cq, wc, fault);
    return true;
}

void mock_complete(struct vf_world *world, struct room_qp *qp, uint32_t work,
                   bool recv, const struct ibv_wc *wc,
                   const struct vf_fault *fault, enum mock_kept kept)
{
    struct vf_object *owner;

    if (world->view->shared) {
        if (!push(world, qp, work, recv, wc, fault, kept))
            kept = MOCK_NOT_KEPT;
        hold_completed(world, work);
        if (!kept)
            mock_drop_work(world, work);
        if (vf_completion_fails(fault))
            mock_fail(world, qp);
        return;
    }
    mock_drop_work(world, work);
    owner = mock_owner(&qp->object);
    vf_completion(owner, owner->parent[recv ? 2 : 1], wc, recv, fault);
}

static enum ibv_wc_opcode opcode_of(const struct room_work *work)
{
    switch ((enum ibv_wr_opcode)work->opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ:
        return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
        return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        return IBV_WC_FETCH_ADD;
    case IBV_WR_LOCAL_INV:
        return IBV_WC_LOCAL_INV;
    case IBV_WR_BIND_MW:
        return IBV_WC_BIND_MW;
    default:
        return IBV_WC_SEND;
    }
}

static uint32_t answered_bytes(const struct room_work *work)
{
    switch ((enum ibv_wr_opcode)work->opcode) {
    case IBV_WR_RDMA_READ:
        return work->length;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        return sizeof(uint64_t);
    default:
        return 0;
    }
}

unsigned mock_send_flags(struct vf_world *world, const struct room_qp *qp,
                         uint8_t opcode)
{
    if (opcode != IBV_WR_SEND_WITH_IMM && opcode != IBV_WR_RDMA_WRITE_WITH_IMM)
        return 0;
    return mock_profile(world, &qp->object)->send_imm_flagged ? IBV_WC_WITH_IMM
                                                              : 0;
}

void mock_complete_send(struct vf_world *world, struct room_qp *qp,
                        uint32_t ref, int status)
{
    const struct room_work *work = mock_work(world->view, ref);
    struct ibv_wc wc = {
        .wr_id = work->wr_id,
        .status = (enum ibv_wc_status)status,
        .qp_num = qp->number,
    };

    if (status == IBV_WC_SUCCESS) {
        if (!qp->all_signaled && !(work->flags & IBV_SEND_SIGNALED)) {
            hold_completed(world, ref);
            mock_drop_work(world, ref);
            return;
        }
        wc.opcode = opcode_of(work);
        wc.byte_len = answered_bytes(work);
        wc.wc_flags = mock_send_flags(world, qp, work->opcode);
    }
    mock_complete(world, qp, ref, false, &wc, mock_plan(world, qp),
                  MOCK_NOT_KEPT);
}

void mock_complete_error(struct vf_world *world, struct room_qp *qp,
                         uint32_t ref, bool recv, int status)
{
    struct ibv_wc wc = {
        .wr_id = mock_work(world->view, ref)->wr_id,
        .status = (enum ibv_wc_status)status,
        .qp_num = qp->number,
    };

    mock_complete(world, qp, ref, recv, &wc, mock_plan(world, qp),
                  MOCK_NOT_KEPT);
}

void mock_unpack_bytes(struct vf_world *world, struct room_completion *entry,
                       uint32_t ref)
{
    uint32_t length = entry->wc.byte_len;
    struct room_work *work = mock_work(world->view, ref);
    struct ibv_sge bytes = {
        .addr = (uintptr_t)(entry->about & ROOM_BROUGHT ? entry->bytes
                            : work->parked ? park_at(world, work->parked)
                                           : mock_bytes(work)),
        .length = length,
    };
    struct copy_place from = {
        .process = ROOM_PROCESSES,
        .list = &bytes,
        .count = 1,
    };
    struct copy_place to = {
        .process = work->process,
        .list = work->sge,
        .count = work->entries,
    };

    if (length > 0)
        copy_short(world, &to, &from, length);
}

/* The order matters: whoever dies in between leaves the entry taken, and what
 * is copied twice does no harm, but what is freed twice does. */
void mock_unpack(struct vf_world *world, struct room_completion *entry,
                 uint32_t taken)
{
    uint32_t ref = taken & ~MOCK_WORK_TAKEN;
    const struct room_work *work = mock_work(world->view, ref);

    mock_unpack_bytes(world, entry, ref);
    atomic_store_explicit(&entry->work, 0, memory_order_release);
    atomic_fetch_sub_explicit(underway_of(world, work->process), 1,
                              memory_order_release);
    mock_drop_work(world, ref);
}
