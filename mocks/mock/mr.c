#include <errno.h>

#include "mock/mock.h"

#define KNOWN_ACCESS                                                           \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |                        \
     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND |  \
     IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_OPTIONAL_RANGE)
#define NEEDS_LOCAL_WRITE (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)
/* What lets peers reach the memory of a region. */
#define REACHED                                                                \
    (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |                        \
     IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)
/* A key is the region's index and how often the index was used before. */
#define KEY_GENERATIONS 0x7fu

static int check_access(unsigned access)
{
    if (access & ~(unsigned)KNOWN_ACCESS)
        return EINVAL;
    if (access & NEEDS_LOCAL_WRITE && !(access & IBV_ACCESS_LOCAL_WRITE))
        return EINVAL;
    return 0;
}

/* What makes a kernel pin pages to be written to. */
#define WRITES (IBV_ACCESS_LOCAL_WRITE | NEEDS_LOCAL_WRITE | IBV_ACCESS_MW_BIND)

/* The kernel knows what is mapped; it is asked in real processes only, so that
 * a simulated run is the same on every machine. */
static bool is_there(const struct vf_world *world, const void *address,
                     size_t length, unsigned access)
{
    if (!vf_memory_alive(world, address, length))
        return false;
    if (!world->hooks.descriptors || access & IBV_ACCESS_ON_DEMAND)
        return true;
    return vf_os_check_memory(address, length, (access & WRITES) != 0) == 0;
}

static uint64_t pages_of(uint64_t address, uint64_t length, uint64_t page)
{
    return (address % page + length + page - 1) / page;
}

/* Pages of all regions of this process are counted, one in two regions twice,
 * as the kernel does. */
static bool may_lock(const struct vf_object *mr, const void *address,
                     size_t length)
{
    const struct vf_world *world = mr->machine->world;
    const struct room_view *view = world->view;
    uint64_t page = mr->device->setup.profile->page_size;
    uint64_t most = vf_os_lockable();
    uint64_t pages = pages_of((uintptr_t)address, length, page);
    const struct room_region *region;
    uint32_t index = view->room->processes[view->self].objects[ROOM_REGION];

    if (most == UINT64_MAX)
        return true;
    for (; index; index = region->object.next) {
        region = room_find(view, ROOM_REGION, index);
        if (!region->window)
            pages += pages_of(region->address, region->length, page);
    }
    return pages <= most / page;
}

static int check_range(const struct vf_object *mr, const void *address,
                       size_t length, unsigned access)
{
    const struct vf_profile *profile = mr->device->setup.profile;

    if (length == 0 || length > VF_ABSURD_LENGTH)
        return EINVAL;
    if (!address)
        return profile->null_address_errno;
    if (profile->mr_page_aligned && (uintptr_t)address % profile->page_size)
        return EINVAL;
    if (profile->dead_memory_errno &&
        !is_there(mr->machine->world, address, length, access))
        return profile->dead_memory_errno;
    return 0;
}

static int check_limit(const struct vf_device *device)
{
    const struct vf_profile *profile = device->setup.profile;
    uint32_t limit = vf_device_limit(device->setup.max_mr, profile->mr_limit);
    uint32_t used = device->state->mrs + (uint32_t)device->setup.used_mr;

    if ((limit || device->setup.max_mr >= 0) && used >= limit)
        return profile->mr_limit_errno;
    return 0;
}

static uint64_t offsets(const struct vf_profile *profile)
{
    return profile->mr_offset_bits
               ? (UINT64_C(1) << profile->mr_offset_bits) - 1
               : UINT64_MAX;
}

static uint32_t key_of(const struct room_region *region)
{
    return region->object.index << 8 |
           (region->object.generation & KEY_GENERATIONS);
}

static int take_region(struct vf_object *object, const void *address,
                       size_t length)
{
    const struct vf_profile *profile = object->device->setup.profile;
    int err = check_limit(object->device);
    struct room_region *region;

    if (err)
        return err;
    if (profile->memlock_errno && object->machine->world->hooks.descriptors &&
        !may_lock(object, address, length))
        return profile->memlock_errno;
    region = room_new(object->machine->world, ROOM_REGION, object);
    if (!region)
        return ENOMEM;
    object->device->state->mrs++;
    region->key = key_of(region);
    region->valid = true;
    ((struct mock_mr *)object->handle)->room = region;
    return 0;
}

/* Messages that have landed and wait to be taken go to their places while
 * these are still there: once a region is given back, its memory may be, too.
 * Not entered. */
static void settle_arrived(const struct vf_machine *machine)
{
    struct vf_object *cq = machine->live[VF_KIND_CQ];

    for (; cq; cq = cq->next)
        mock_harvest(cq);
}

/* Before the first region that peers can reach. A message that came earlier is
 * in nobody's way in the room, but would be copied over what a peer writes:
 * it goes to its place now, later ones are looked for (remote.c). */
static void open_to_peers(const struct vf_machine *machine, unsigned access)
{
    struct vf_world *world = machine->world;
    struct room_process *self =
        &world->view->room->processes[world->view->self];

    if (!world->view->shared || self->reached || !(access & REACHED))
        return;
    room_enter(world);
    self->reached = true;
    room_leave(world);
    settle_arrived(machine);
}

int mock_reg_mr(struct vf_object *object, void *address, size_t length,
                uint64_t iova, unsigned access)
{
    const struct vf_profile *profile = object->device->setup.profile;
    struct vf_world *world = object->machine->world;
    struct mock_mr *mr = object->handle;
    int err = check_access(access);

    if (!err)
        err = check_range(object, address, length, access);
    if (err)
        return err;
    open_to_peers(object->machine, access);
    room_enter(world);
    err = take_region(object, address, length);
    if (!err) {
        mr->room->domain = mock_domain(object->parent[0]);
        mr->room->iova = iova;
        mr->room->address = (uintptr_t)address;
        mr->room->length = length;
        mr->room->access = access;
        if (iova != (uintptr_t)address || length - 1 > offsets(profile))
            world->view->room->shifted = true;
        mr->mr.lkey = mr->room->key;
        mr->mr.rkey = mr->room->key | VF_RKEY_BIT;
    }
    room_leave(world);
    return err;
}

/* Nobody may copy to or from memory that its program takes back. */
static void wait_for_copies(struct vf_world *world,
                            const struct room_region *region)
{
    while (region->busy > 0) {
        room_leave(world);
        vf_os_pause();
        room_enter(world);
    }
}

int mock_dereg_mr(struct vf_object *object)
{
    struct vf_world *world = object->machine->world;
    struct room_region *region = ((struct mock_mr *)object->handle)->room;

    room_enter(world);
    region->object.live = false;
    mock_unbind_all(world, region);
    wait_for_copies(world, region);
    room_free(world, &region->object);
    object->device->state->mrs--;
    room_leave(world);
    settle_arrived(object->machine);
    return 0;
}

int mock_rereg_mr(struct vf_object *object, int flags, struct vf_object *pd,
                  void *address, size_t length, unsigned access)
{
    struct vf_world *world = object->machine->world;
    struct mock_mr *mr = object->handle;
    struct room_region *region = mr->room;
    const struct vf_profile *profile = object->device->setup.profile;
    int err = flags & IBV_REREG_MR_CHANGE_ACCESS ? check_access(access) : 0;

    if (!profile->rereg)
        return profile->unsupported_errno;
    if (!err && flags & IBV_REREG_MR_CHANGE_TRANSLATION)
        err = check_range(object, address, length,
                          flags & IBV_REREG_MR_CHANGE_ACCESS ? access
                                                             : region->access);
    if (err)
        return err;
    if (flags & IBV_REREG_MR_CHANGE_ACCESS)
        open_to_peers(object->machine, access);
    room_enter(world);
    if (region->windows > 0) {
        room_leave(world);
        return EBUSY;
    }
    wait_for_copies(world, region);
    if (flags & IBV_REREG_MR_CHANGE_PD)
        region->domain = mock_domain(pd);
    if (flags & IBV_REREG_MR_CHANGE_ACCESS)
        region->access = access;
    if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
        region->iova = (uintptr_t)address;
        region->address = (uintptr_t)address;
        region->length = length;
    }
    region->valid = true;
    mr->mr.lkey = region->key;
    mr->mr.rkey = region->key | VF_RKEY_BIT;
    room_leave(world);
    settle_arrived(object->machine);
    return 0;
}

static struct room_region *with_key(const struct room_view *view, uint32_t key)
{
    struct room_region *region = room_find(view, ROOM_REGION, key >> 8);

    if (!region)
        return NULL;
    if (!region->window)
        key &= ~VF_RKEY_BIT;
    return region->key == key ? region : NULL;
}

struct vf_object *mock_region_of_key(const struct vf_object *asking,
                                     uint32_t key)
{
    const struct vf_machine *machine = asking->machine;
    const struct room_region *region = with_key(machine->world->view, key);
    struct vf_object *owner;

    if (!region || region->window || key & VF_RKEY_BIT ||
        !mock_is_ours(machine->world, &region->object))
        return NULL;
    owner = mock_owner(&region->object);
    /* The handle may be another region's by now. */
    if (owner->machine != machine || owner->kind != VF_KIND_MR ||
        (owner->live && ((struct mock_mr *)owner->handle)->room != region))
        return NULL;
    return owner;
}

struct vf_object *mock_window_of_key(const struct vf_object *asking,
                                     uint32_t key)
{
    const struct vf_machine *machine = asking->machine;
    const struct room_region *window = with_key(machine->world->view, key);

    if (!window || !window->window || !window->object.live ||
        !mock_is_ours(machine->world, &window->object))
        return NULL;
    return mock_owner(&window->object);
}

uint64_t mock_place(const struct vf_object *owner, const struct ibv_sge *sge)
{
    const struct room_region *region =
        with_key(owner->machine->world->view, sge->lkey);
    uint64_t offset;

    if (!region || !region->object.live || region->window)
        return sge->addr;
    offset = sge->addr - region->iova;
    if (offset < region->length)
        offset &= offsets(owner->device->setup.profile);
    return region->address + offset;
}

struct room_region *mock_region(struct vf_world *world,
                                const struct room_qp *qp, uint32_t key,
                                bool remote, uint64_t address, uint64_t length,
                                uint32_t access, bool *outside)
{
    struct room_region *region = with_key(world->view, key);
    uint64_t start;

    *outside = false;
    if (!region || !region->object.live || !region->valid ||
        region->domain != qp->domain ||
        region->object.machine != qp->object.machine ||
        region->object.device != qp->object.device ||
        (region->access & access) != access)
        return NULL;
    if (remote ? !(key & VF_RKEY_BIT) && !region->window
               : key & VF_RKEY_BIT || region->window)
        return NULL;
    if (region->window == IBV_MW_TYPE_2 && region->number != qp->number)
        return NULL;
    start = address - (remote ? region->iova : region->address);
    *outside = start > region->length || length > region->length - start;
    return *outside ? NULL : region;
}
