#include "mock/park.h"

/* place = process * ROOM_PARKED + n + 1 */

static struct room_process *owner_of(struct vf_world *world, uint32_t place)
{
    return &world->view->room->processes[(place - 1) / ROOM_PARKED];
}

uint32_t park_take(struct vf_world *world)
{
    struct room_view *view = world->view;
    struct room_process *self = &view->room->processes[view->self];
    uint32_t taken =
        atomic_load_explicit(&self->parked_taken, memory_order_acquire);

    for (uint32_t n = 0; n < ROOM_PARKED; n++) {
        if (taken >> n & 1)
            continue;
        if (!self->parked[n])
            self->parked[n] = room_get(view, PARK_BYTES);
        if (!self->parked[n])
            return 0;
        atomic_fetch_or_explicit(&self->parked_taken, 1u << n,
                                 memory_order_relaxed);
        return view->self * ROOM_PARKED + n + 1;
    }
    return 0;
}

void park_leave(struct vf_world *world, uint32_t place)
{
    uint32_t n = (place - 1) % ROOM_PARKED;

    atomic_fetch_and_explicit(&owner_of(world, place)->parked_taken,
                              ~(1u << n), memory_order_release);
}

void *park_at(struct vf_world *world, uint32_t place)
{
    const struct room_process *owner = owner_of(world, place);

    return room_at(world->view, owner->parked[(place - 1) % ROOM_PARKED]);
}
