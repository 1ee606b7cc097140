#include <errno.h>

#include "mock/mock.h"

#define KNOWN_ACCESS                                                           \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |                        \
     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND |  \
     IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_OPTIONAL_RANGE)
#define NEEDS_LOCAL_WRITE (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)

static int check_access(unsigned access)
{
    if (access & ~(unsigned)KNOWN_ACCESS)
        return EINVAL;
    if (access & NEEDS_LOCAL_WRITE && !(access & IBV_ACCESS_LOCAL_WRITE))
        return EINVAL;
    return 0;
}

static int check_range(const struct vf_object *mr, const void *address,
                       size_t length)
{
    const struct vf_profile *profile = mr->device->setup.profile;

    if (length == 0 || length > VF_ABSURD_LENGTH)
        return EINVAL;
    if (!address)
        return profile->null_address_errno;
    if (profile->mr_page_aligned && (uintptr_t)address % profile->page_size)
        return EINVAL;
    if (profile->dead_memory_errno &&
        !vf_memory_alive(mr->machine->world, address, length))
        return profile->dead_memory_errno;
    return 0;
}

int mock_reg_mr(struct vf_object *object, void *address, size_t length,
                uint64_t iova, unsigned access)
{
    struct vf_device *device = object->device;
    const struct vf_profile *profile = device->setup.profile;
    uint32_t limit = vf_device_limit(device->setup.max_mr, profile->mr_limit);
    uint32_t used = device->mrs + (uint32_t)device->setup.used_mr;
    struct mock_mr *mr = object->handle;
    int err = check_access(access);

    if (!err)
        err = check_range(object, address, length);
    if (err)
        return err;
    if ((limit || device->setup.max_mr >= 0) && used >= limit)
        return profile->mr_limit_errno;
    device->mrs++;
    mr->iova = iova;
    mr->access = access;
    mr->mr.lkey = vf_object_key(object);
    mr->mr.rkey = mr->mr.lkey | VF_RKEY_BIT;
    return 0;
}

int mock_dereg_mr(struct vf_object *mr)
{
    mr->device->mrs--;
    return 0;
}
