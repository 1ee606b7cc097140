#include <errno.h>

#include "mock/mock.h"

int mock_alloc_pd(struct vf_object *pd)
{
    struct vf_device *device = pd->device;
    const struct vf_profile *profile = device->setup.profile;
    uint32_t limit = vf_device_limit(device->setup.max_pd, profile->pd_limit);
    uint32_t used = device->pds + (uint32_t)device->setup.used_pd;

    if (profile->alloc_pd_needs_port && !mock_port_up(device))
        return profile->port_down_pd_errno;
    if ((limit || device->setup.max_pd >= 0) && used >= limit)
        return profile->pd_limit_errno;
    ((struct ibv_pd *)pd->handle)->handle = device->pds++;
    return 0;
}

int mock_dealloc_pd(struct vf_object *pd)
{
    if (pd->children > 0)
        return EBUSY;
    pd->device->pds--;
    return 0;
}

int mock_create_ah(struct vf_object *ah, const struct ibv_ah_attr *attr)
{
    const struct vf_profile *profile = ah->device->setup.profile;

    if (!profile->ud)
        return profile->unsupported_errno;
    return attr->port_num == 1 ? 0 : EINVAL;
}

int mock_destroy_ah(struct vf_object *ah)
{
    (void)ah;
    return 0;
}
