/*
 * Deadlines: how long an RC sender tries again, and a UD send waits. Queue
 * pairs that have one stand in a list, soonest first. Whoever looks at the
 * clock ends what is over, whosever it is.
 */
#include "mock/mock.h"

int64_t expire_now(const struct vf_world *world)
{
    const struct vf_hooks *hooks = &world->hooks;

    return hooks->now ? hooks->now(hooks->context) : 0;
}

static struct room_qp *at(const struct vf_world *world, uint32_t index)
{
    return room_find(world->view, ROOM_QP, index);
}

static void take_out(struct vf_world *world, struct room_qp *qp)
{
    struct room *room = world->view->room;
    struct room_qp *later = at(world, qp->later);
    struct room_qp *sooner = at(world, qp->sooner);

    if (later)
        later->sooner = qp->sooner;
    if (sooner)
        sooner->later = qp->later;
    else
        room->waiting = qp->later;
    qp->deadline = 0;
    qp->later = 0;
    qp->sooner = 0;
}

static void put_in(struct vf_world *world, struct room_qp *qp, int64_t when)
{
    struct room *room = world->view->room;
    struct room_qp *before = NULL;
    struct room_qp *next = at(world, room->waiting);

    while (next && next->deadline <= when) {
        before = next;
        next = at(world, next->later);
    }
    qp->deadline = when;
    qp->later = next ? next->object.index : 0;
    qp->sooner = before ? before->object.index : 0;
    if (next)
        next->sooner = qp->object.index;
    if (before)
        before->later = qp->object.index;
    else
        room->waiting = qp->object.index;
}

static void tell_first(struct vf_world *world)
{
    struct room *room = world->view->room;
    const struct room_qp *first = at(world, room->waiting);

    atomic_store_explicit(&room->deadline, first ? first->deadline : 0,
                          memory_order_release);
}

void expire_mend(struct vf_world *world)
{
    tell_first(world);
}

void expire_set(struct vf_world *world, struct room_qp *qp, int64_t when)
{
    if (qp->deadline == 0 && when == 0)
        return;
    if (qp->deadline)
        take_out(world, qp);
    if (when)
        put_in(world, qp, when);
    tell_first(world);
    if (when && world->view->shared)
        notice_ring(world, qp->object.process);
}

/* Tried often enough. */
static void end(struct vf_world *world, struct room_qp *qp)
{
    int status = qp->rnr ? IBV_WC_RNR_RETRY_EXC_ERR : IBV_WC_RETRY_EXC_ERR;

    expire_set(world, qp, 0);
    if (!qp->send.first || qp->state != IBV_QPS_RTS)
        return;
    if (qp->type == IBV_QPT_UD)
        move_forget(world, qp);
    else
        move_refuse(world, qp, status);
}

int64_t expire_advance(struct vf_world *world, int64_t now)
{
    struct room *room = world->view->room;
    int64_t next = atomic_load_explicit(&room->deadline, memory_order_acquire);
    struct room_qp *first;

    if (next == 0)
        return -1;
    if (next > now)
        return next;
    room_enter(world);
    first = at(world, room->waiting);
    while (first && first->deadline <= now) {
        end(world, first);
        first = at(world, room->waiting);
    }
    next = first ? first->deadline : -1;
    room_leave(world);
    return next;
}
