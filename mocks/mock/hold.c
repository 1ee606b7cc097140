#include "mock/hold.h"

#include <string.h>

void hold_region(struct vf_world *world, struct room_region *region)
{
    struct room_process *process =
        &world->view->room->processes[world->view->self];

    if (process->held == ROOM_HELD)
        return;
    region->busy++;
    process->regions[process->held++] = region->object.index;
}

/* In a private room nobody else runs meanwhile. */
void hold_receiver(struct vf_world *world, struct room_qp *receiver,
                   const struct room_work *work, uint64_t length)
{
    struct room_process *process =
        &world->view->room->processes[world->view->self];

    if (!world->view->shared || length < COPY_LONG)
        return;
    receiver->landing++;
    process->landing = receiver->object.index;
    for (int i = 0; i < work->entries; i++) {
        struct room_region *region =
            room_find(world->view, ROOM_REGION, work->sge[i].lkey >> 8);

        if (region && work->sge[i].length > 0)
            hold_region(world, region);
    }
}

void hold_bury(struct vf_world *world, uint32_t number)
{
    struct room_process *process = &world->view->room->processes[number];
    struct room_qp *receiver =
        room_find(world->view, ROOM_QP, process->landing);

    if (receiver && receiver->landing > 0)
        receiver->landing--;
    process->landing = 0;
    while (process->held > 0) {
        struct room_region *region = room_find(
            world->view, ROOM_REGION, process->regions[--process->held]);

        if (region && region->busy > 0)
            region->busy--;
    }
}

void hold_release(struct vf_world *world)
{
    if (world->view->shared)
        hold_bury(world, world->view->self);
}

static struct room_move *own_move(const struct vf_world *world)
{
    return &world->view->room->processes[world->view->self].move;
}

/* A death leaves the room as it was at some instruction: what is said of a
 * request has to be written before what is done to it. */
static void written(void)
{
    atomic_signal_fence(memory_order_seq_cst);
}

void hold_send(struct vf_world *world, const struct room_qp *sender)
{
    struct room_move *move = own_move(world);

    if (!world->view->shared)
        return;
    move->sender = sender->object.index;
    move->sender_generation = sender->object.generation;
    move->sent = sender->send.first;
    written();
}

void hold_receive(struct vf_world *world, const struct room_qp *receiver,
                  const struct room_queue *queue)
{
    struct room_move *move = own_move(world);

    if (!world->view->shared)
        return;
    move->receiver = receiver->object.index;
    move->receiver_generation = receiver->object.generation;
    move->received = queue->first;
    written();
}

void hold_turn(struct vf_world *world, const struct room_cq *cq, uint32_t work)
{
    struct room_move *move = own_move(world);

    move->cq = cq->object.index;
    move->turn = cq->tail + 1;
    move->completed = work;
    written();
}

static void strike_out(struct room_move *move, uint32_t work)
{
    if (move->received == work)
        move->received = 0;
    else if (move->sent == work)
        move->sent = 0;
}

void hold_completed(struct vf_world *world, uint32_t work)
{
    struct room_move *move = own_move(world);

    if (!world->view->shared)
        return;
    written();
    strike_out(move, work);
    written();
    move->completed = 0;
}

/* Nobody was in the room since: the queue's last completion tells. */
static void mend_move(const struct room_view *view, struct room_move *move)
{
    const struct room_cq *cq = room_find(view, ROOM_CQ, move->cq);

    if (move->completed && cq && cq->tail == move->turn)
        strike_out(move, move->completed);
    move->completed = 0;
}

void hold_mend(struct vf_world *world)
{
    const struct room_view *view = world->view;
    struct room *room = view->room;

    for (uint32_t i = 1; i <= room->tables[ROOM_QP].count; i++)
        ((struct room_qp *)room_find(view, ROOM_QP, i))->landing = 0;
    for (uint32_t i = 1; i <= room->tables[ROOM_REGION].count; i++)
        ((struct room_region *)room_find(view, ROOM_REGION, i))->busy = 0;
    for (uint32_t i = 0; i < ROOM_PROCESSES; i++) {
        struct room_process *process = &room->processes[i];
        struct room_qp *receiver = room_find(view, ROOM_QP, process->landing);

        mend_move(view, &process->move);
        if (receiver)
            receiver->landing++;
        for (uint32_t n = 0; n < process->held; n++) {
            struct room_region *region =
                room_find(view, ROOM_REGION, process->regions[n]);

            if (region)
                region->busy++;
        }
    }
}

static bool outlives(const struct room_qp *qp, uint16_t generation,
                     uint32_t process)
{
    return qp && qp->object.live && qp->object.generation == generation &&
           qp->object.process != process;
}

static void put_back_send(struct vf_world *world, struct room_qp *qp,
                          uint32_t ref)
{
    if (qp->send.first == ref)
        return;
    if (qp->state == IBV_QPS_ERR)
        mock_complete_error(world, qp, ref, false, IBV_WC_WR_FLUSH_ERR);
    else
        mock_put_first(world->view, &qp->send, ref);
}

static void put_back_receive(struct vf_world *world, struct room_qp *qp,
                             uint32_t ref)
{
    struct room_srq *srq = room_find(world->view, ROOM_SRQ, qp->srq);
    struct room_queue *queue = srq ? &srq->recv : &qp->recv;

    if (queue->first == ref)
        return;
    mock_unpark(world, ref);
    if (!srq && qp->state == IBV_QPS_ERR)
        mock_complete_error(world, qp, ref, true, IBV_WC_WR_FLUSH_ERR);
    else
        mock_put_first(world->view, queue, ref);
    if (srq)
        srq->count++;
}

void hold_return_send(struct vf_world *world)
{
    struct room_move *move = own_move(world);
    uint32_t sent = move->sent;

    move->sent = 0;
    if (sent)
        put_back_send(world, room_find(world->view, ROOM_QP, move->sender),
                      sent);
}

void hold_return_receive(struct vf_world *world)
{
    struct room_move *move = own_move(world);
    uint32_t received = move->received;

    move->received = 0;
    if (received)
        put_back_receive(world, room_find(world->view, ROOM_QP, move->receiver),
                         received);
}

void hold_put_back(struct vf_world *world, uint32_t process)
{
    struct room_move *listed = &world->view->room->processes[process].move;
    const struct room_move move = *listed;
    struct room_qp *sender = room_find(world->view, ROOM_QP, move.sender);
    struct room_qp *receiver = room_find(world->view, ROOM_QP, move.receiver);

    memset(listed, 0, sizeof(*listed));
    if (move.sent && outlives(sender, move.sender_generation, process))
        put_back_send(world, sender, move.sent);
    if (move.received && outlives(receiver, move.receiver_generation, process))
        put_back_receive(world, receiver, move.received);
}
