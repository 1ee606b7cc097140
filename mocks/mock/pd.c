#include <errno.h>

#include "mock/mock.h"

static uint32_t *held_by_us(const struct vf_device *device)
{
    const struct room_view *view = device->machine->world->view;

    return &view->room->processes[view->self].pds[device->index];
}

static int take_domain(struct vf_object *pd)
{
    struct vf_device *device = pd->device;
    const struct vf_profile *profile = device->setup.profile;
    uint32_t limit = vf_device_limit(device->setup.max_pd, profile->pd_limit);
    uint32_t used = device->state->pds + device->state->kept_pds +
                    (uint32_t)device->setup.used_pd;
    struct mock_pd *mock = pd->handle;

    if (profile->alloc_pd_needs_port && !mock_port_up(device))
        return profile->port_down_pd_errno;
    if ((limit || device->setup.max_pd >= 0) && used >= limit)
        return profile->pd_limit_errno;
    mock->pd.handle = device->state->pds++;
    (*held_by_us(device))++;
    mock->domain = ++device->machine->world->view->room->domains;
    return 0;
}

int mock_alloc_pd(struct vf_object *pd)
{
    int err;

    room_enter(pd->machine->world);
    err = take_domain(pd);
    room_leave(pd->machine->world);
    return err;
}

void mock_release_pd(struct vf_object *pd)
{
    room_enter(pd->machine->world);
    pd->device->state->pds--;
    (*held_by_us(pd->device))--;
    room_leave(pd->machine->world);
}

int mock_dealloc_pd(struct vf_object *pd)
{
    if (pd->children > 0)
        return EBUSY;
    mock_release_pd(pd);
    return 0;
}

int mock_create_ah(struct vf_object *ah, const struct ibv_ah_attr *attr)
{
    const struct vf_profile *profile = ah->device->setup.profile;
    int err;

    if (!profile->ud)
        return profile->unsupported_errno;
    /* Over Ethernet there is no way but by GID; the kernel's
     * rdma_check_ah_attr() says so for all of its devices. */
    if (attr->port_num != 1 || !attr->is_global)
        return EINVAL;
    err = route_check(ah->device, &attr->grh);
    if (err)
        return err;
    ((struct mock_ah *)ah->handle)->attr = *attr;
    return 0;
}

int mock_destroy_ah(struct vf_object *ah)
{
    (void)ah;
    return 0;
}
