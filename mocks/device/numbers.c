/*
 * Queue pairs by their numbers, regions by their keys. Both are a device's:
 * two devices may give the same.
 */
#include <string.h>

#include "device/device.h"

#define FREED 1024u /* keys that are remembered; a power of two */

static struct {
    struct vf_map pairs, regions; /* the world is locked */
    uint64_t freed[FREED];        /* names of keys, in a ring */
    unsigned count;
} numbers;

void device_numbers_reset(void)
{
    vf_map_clear(&numbers.pairs);
    vf_map_clear(&numbers.regions);
    numbers.count = 0;
}

static uint64_t name_of(const struct vf_object *object, uint32_t number)
{
    const struct device_part *part = device_part(object);

    return (uint64_t)(part ? part->number : 0) << 32 | number;
}

struct vf_object *device_numbered(const struct vf_object *cq, uint32_t number)
{
    struct vf_object *qp = vf_map_find(&numbers.pairs, name_of(cq, number));

    return qp && qp->live && qp->kind == VF_KIND_QP ? qp : NULL;
}

void device_number(struct vf_object *qp, uint32_t number)
{
    (void)vf_map_put(&numbers.pairs, name_of(qp, number), qp);
}

void device_unnumber(const struct vf_object *qp, uint32_t number)
{
    uint64_t name = name_of(qp, number);

    if (vf_map_find(&numbers.pairs, name) == qp)
        vf_map_take(&numbers.pairs, name);
}

/* The entry may be another region's by now. */
struct vf_object *device_region(const struct vf_object *asking, uint32_t key)
{
    struct vf_object *mr = vf_map_find(&numbers.regions, name_of(asking, key));

    if (!mr || mr->kind != VF_KIND_MR || (uintptr_t)mr->own != key)
        return NULL;
    return mr;
}

void device_key(struct vf_object *mr)
{
    uint32_t key = ((const struct ibv_mr *)mr->handle)->lkey;

    mr->own = (void *)(uintptr_t)key;
    (void)vf_map_put(&numbers.regions, name_of(mr, key), mr);
}

static void drop_oldest(uint64_t name)
{
    const struct vf_object *mr = vf_map_find(&numbers.regions, name);

    if (mr && !(mr->live && mr->kind == VF_KIND_MR &&
                (uintptr_t)mr->own == (uint32_t)name))
        vf_map_take(&numbers.regions, name);
}

void device_key_freed(const struct vf_object *mr)
{
    uint64_t *place = &numbers.freed[numbers.count++ & (FREED - 1)];

    if (numbers.count > FREED)
        drop_oldest(*place);
    *place = name_of(mr, (uint32_t)(uintptr_t)mr->own);
}

void device_key_lost(const struct ibv_pd *pd, uint32_t key)
{
    struct vf_world *world = vf_world_installed();
    struct vf_object *object;

    if (!world)
        return;
    vf_world_lock(world);
    object = vf_registry_find(&world->registry, pd);
    if (object)
        vf_map_take(&numbers.regions, name_of(object, key));
    vf_world_unlock(world);
}

/* There are few, and only an invalidation asks. */
struct vf_object *device_window(const struct vf_object *asking, uint32_t rkey)
{
    struct vf_object *window = asking->machine->live[VF_KIND_MW];

    while (window && (window->device != asking->device ||
                      ((const struct ibv_mw *)window->handle)->rkey != rkey))
        window = window->next;
    return window;
}
