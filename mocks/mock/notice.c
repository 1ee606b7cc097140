/*
 * Async events, from wherever they are noticed to the process that they
 * concern.
 */
#include "mock/mock.h"

void notice_ring(struct vf_world *world, uint32_t number)
{
    struct room_process *process = &world->view->room->processes[number];

    atomic_fetch_add_explicit(&process->bell, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&process->asleep, memory_order_seq_cst))
        vf_os_wake(&process->bell);
}

void notice_due(struct vf_world *world)
{
    if (world->view->shared)
        notice_ring(world, world->view->self);
}

static void put(struct vf_world *world, uint32_t number,
                const struct room_event *event)
{
    struct room_process *process = &world->view->room->processes[number];

    if (process->event_tail - process->event_head >= ROOM_EVENTS)
        return; /* as a kernel does with a reader that never reads */
    process->events[process->event_tail % ROOM_EVENTS] = *event;
    atomic_signal_fence(memory_order_seq_cst); /* should we die here */
    process->event_tail++;
    notice_ring(world, number);
}

void notice_object(struct vf_world *world, struct room_object *object,
                   enum ibv_event_type type)
{
    struct room_event event = {
        .owner = object->owner,
        .type = type,
        .kind = object->kind,
        .device = object->device,
    };

    if (world->view->shared)
        put(world, object->process, &event);
    else
        vf_async_object(mock_owner(object), type);
}

void notice_port(struct vf_world *world, struct vf_device *device,
                 enum ibv_event_type type)
{
    struct room *room = world->view->room;
    struct room_event event = {
        .type = type,
        .kind = ROOM_KINDS,
        .device = (uint8_t)device->index,
    };

    if (!world->view->shared) {
        vf_async_port(device, type);
        return;
    }
    for (uint32_t i = 0; i < ROOM_PROCESSES; i++)
        if (atomic_load(&room->processes[i].pid) &&
            room->processes[i].machine == device->machine->number)
            put(world, i, &event);
}

static bool take(struct vf_world *world, struct room_event *event)
{
    struct room_process *process =
        &world->view->room->processes[world->view->self];
    bool found;

    room_enter(world);
    found = process->event_head != process->event_tail;
    if (found)
        *event = process->events[process->event_head++ % ROOM_EVENTS];
    room_leave(world);
    return found;
}

/* The object may have gone since: its handle's kind and life tell. */
static void pass_on(struct vf_world *world, const struct room_event *event)
{
    static const enum vf_kind kinds[ROOM_KINDS] = {
        [ROOM_QP] = VF_KIND_QP,
        [ROOM_CQ] = VF_KIND_CQ,
        [ROOM_SRQ] = VF_KIND_SRQ,
        [ROOM_REGION] = VF_KIND_MR,
    };
    struct vf_object *owner = (struct vf_object *)event->owner;

    if (event->kind == ROOM_KINDS)
        vf_async_port(&world->machines[world->home].devices[event->device],
                      (enum ibv_event_type)event->type);
    else if (owner->live && owner->kind == kinds[event->kind])
        vf_async_object(owner, (enum ibv_event_type)event->type);
}

void notice_take(struct vf_world *world)
{
    struct room_event event;
    struct vf_object *cq;

    if (!world->view->shared)
        return;
    for (cq = world->machines[world->home].live[VF_KIND_CQ]; cq;
         cq = cq->next) {
        if (((struct mock_cq *)cq->handle)->room->event)
            mock_take_event(cq);
        mock_take_planned(cq);
    }
    while (take(world, &event))
        pass_on(world, &event);
}
