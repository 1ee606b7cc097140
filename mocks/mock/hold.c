#include "mock/hold.h"

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
                   const struct room_work *received)
{
    struct room_process *process =
        &world->view->room->processes[world->view->self];

    if (!world->view->shared)
        return;
    receiver->landing++;
    process->landing = receiver->object.index;
    for (int i = 0; i < received->entries; i++) {
        struct room_region *region = room_find(
            world->view, ROOM_REGION, received->sge[i].lkey >> 8);

        if (region && received->sge[i].length > 0)
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
