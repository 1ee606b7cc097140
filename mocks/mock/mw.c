/*
 * Memory windows. A window is a region without memory of its own: bound, it
 * gives a part of a region a key and rights of its own. The low byte of a
 * window's key is its user's (type 2) or counts its binds (type 1).
 */
#include <errno.h>

#include "mock/mock.h"

#define KEY_TAG 0xffu

static int take_window(struct vf_object *object, enum ibv_mw_type type)
{
    struct room_region *window =
        room_new(object->machine->world, ROOM_REGION, object);
    struct mock_mw *mw = object->handle;

    if (!window)
        return ENOMEM;
    window->window = (uint8_t)type;
    window->domain = mock_domain(object->parent[0]);
    window->key =
        window->object.index << 8 | (window->object.generation & 0x7f);
    mw->room = window;
    mw->mw.rkey = window->key;
    return 0;
}

int mock_alloc_mw(struct vf_object *object, enum ibv_mw_type type)
{
    const struct vf_profile *profile = object->device->setup.profile;
    struct vf_world *world = object->machine->world;
    int err;

    if (!profile->windows)
        return profile->unsupported_errno;
    if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
        return EINVAL;
    room_enter(world);
    err = take_window(object, type);
    room_leave(world);
    return err;
}

void mock_unbind(struct vf_world *world, struct room_region *window)
{
    struct room_region *region =
        room_find(world->view, ROOM_REGION, window->under);

    if (region && region->windows > 0)
        region->windows--;
    window->under = 0;
    window->length = 0;
    window->valid = false;
}

void mock_unbind_all(struct vf_world *world, const struct room_region *region)
{
    const struct room_process *process =
        &world->view->room->processes[region->object.process];
    uint32_t index = region->windows > 0 ? process->objects[ROOM_REGION] : 0;

    while (index) {
        struct room_region *window = room_find(world->view, ROOM_REGION, index);

        index = window->object.next;
        if (window->window && window->under == region->object.index)
            mock_unbind(world, window);
    }
}

int mock_dealloc_mw(struct vf_object *object)
{
    struct vf_world *world = object->machine->world;
    struct room_region *window = ((struct mock_mw *)object->handle)->room;

    room_enter(world);
    window->valid = false;
    while (window->busy > 0) {
        room_leave(world);
        vf_os_pause();
        room_enter(world);
    }
    mock_unbind(world, window);
    room_free(world, &window->object);
    room_leave(world);
    return 0;
}

static bool may_bind(const struct room_region *region,
                     const struct room_bind *bind)
{
    uint64_t start = bind->address - region->iova;

    if (!region->object.live || !region->valid ||
        !(region->access & IBV_ACCESS_MW_BIND))
        return false;
    if (bind->access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC) &&
        !(region->access & IBV_ACCESS_LOCAL_WRITE))
        return false;
    return start <= region->length && bind->length <= region->length - start;
}

int mock_bind(struct vf_world *world, struct room_qp *qp,
              const struct room_bind *bind)
{
    struct room_region *window =
        room_find(world->view, ROOM_REGION, bind->window);
    struct room_region *region =
        room_find(world->view, ROOM_REGION, bind->region);

    if (!window || !window->object.live || window->domain != qp->domain)
        return IBV_WC_MW_BIND_ERR;
    if (window->window == IBV_MW_TYPE_2 && window->valid)
        return IBV_WC_MW_BIND_ERR; /* it has to be invalidated first */
    if (bind->length > 0 && (!region || !may_bind(region, bind)))
        return IBV_WC_MW_BIND_ERR;
    mock_unbind(world, window);
    window->key = (window->key & ~KEY_TAG) | (bind->key & KEY_TAG);
    if (bind->length == 0)
        return IBV_WC_SUCCESS; /* a window without length is closed */
    window->under = bind->region;
    region->windows++;
    window->address = region->address + (bind->address - region->iova);
    window->iova = bind->access & IBV_ACCESS_ZERO_BASED ? 0 : bind->address;
    window->length = bind->length;
    window->access = bind->access;
    window->number = qp->number;
    window->valid = true;
    return IBV_WC_SUCCESS;
}

bool mock_invalidate(struct vf_world *world, struct room_qp *qp, uint32_t key,
                     bool remote)
{
    struct room_region *region = room_find(world->view, ROOM_REGION, key >> 8);

    if (!region || !region->object.live || region->domain != qp->domain ||
        !region->valid)
        return false;
    if (region->window ? region->key != key
                       : region->key != (key & ~VF_RKEY_BIT))
        return false;
    if (region->window == IBV_MW_TYPE_1 || region->windows > 0)
        return false;
    if (region->window) {
        if (region->number != qp->number)
            return false;
        mock_unbind(world, region);
        return true;
    }
    /* A plain region has no way back: what programs register stays. */
    (void)remote;
    return false;
}

/* Type 1: through the send queue, like a request of the program's own. */
int mock_bind_mw(struct vf_object *qp, struct vf_object *object,
                 struct ibv_mw_bind *bind)
{
    struct mock_mw *mw = object->handle;
    struct ibv_send_wr *bad;
    struct ibv_send_wr wr = {
        .wr_id = bind->wr_id,
        .opcode = IBV_WR_BIND_MW,
        .send_flags = bind->send_flags,
        .bind_mw = {.mw = &mw->mw,
                    .rkey = (mw->mw.rkey & ~KEY_TAG) |
                            ((mw->mw.rkey + 1) & KEY_TAG),
                    .bind_info = bind->bind_info},
    };
    int err;

    if (mw->mw.type != IBV_MW_TYPE_1)
        return EINVAL;
    err = mock_post_send(qp, &wr, &bad);
    if (!err)
        mw->mw.rkey = wr.bind_mw.rkey;
    return err;
}
