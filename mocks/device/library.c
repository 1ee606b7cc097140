/*
 * The library's world: one machine, whose devices are the library's beneath.
 * How a process comes by its plan: front/standalone.h, mock/guest.h.
 */
#include "device/device.h"
#include "front/standalone.h"
#include "mock/guest.h"

static bool inside(void)
{
    return real_depth > 0;
}

struct vf_world *standalone_world(void)
{
    return real_open() ? vf_world_create_over(&vf_device_provider) : NULL;
}

bool standalone_furnish(struct vf_world *world)
{
    return vf_world_add_machine(world) == 0;
}

void standalone_guest(void)
{
    static const struct guest_kind device = {standalone_world, false};

    guest_enter(&device);
}

__attribute__((constructor)) static void arm(void)
{
    vf_call_inside = inside;
}
