#include "arena.h"

#include "error.h"

#include <errno.h>
#include <unistd.h>

/* Apple silicon's page, and the alignment its driver wants (TN3205). */
#define LEAST_ALIGNMENT ((size_t)16384)

static size_t alignment(void)
{
    long page = sysconf(_SC_PAGESIZE);

    return page > (long)LEAST_ALIGNMENT ? (size_t)page : LEAST_ALIGNMENT;
}

static void hand_out_slots(struct cj_group *group)
{
    unsigned char *next = group->arena;

    for (int peer = 0; peer < group->size; peer++) {
        struct cji_connection *connection = &group->connections[peer];

        if (peer == group->rank)
            continue;
        for (int i = 0; i < CJI_SLOTS; i++, next += CJI_SLOT_SIZE)
            connection->send_slot[i] = next;
        for (int i = 0; i < CJI_SLOTS; i++, next += CJI_SLOT_SIZE)
            connection->recv_slot[i] = next;
    }
}

int cji_arena_alloc(struct cj_group *group)
{
    size_t peers = (size_t)group->size - 1;

    group->step = CJ_STEP_ARENA;
    group->arena_size = peers * 2 * CJI_SLOTS * CJI_SLOT_SIZE;
    group->arena = group->allocator.alloc(group->allocator.ctx, alignment(),
                                          group->arena_size);
    if (group->arena == NULL)
        return cji_fail(group, CJ_NO_MEMORY, cji_about_none(ENOMEM),
                        "no memory for the %zu KiB of buffers that a group of "
                        "%d ranks needs",
                        group->arena_size / 1024, group->size);
    hand_out_slots(group);
    return CJ_OK;
}

int cji_arena_register(struct cj_group *group)
{
    const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                       IBV_ACCESS_REMOTE_WRITE;

    group->step = CJ_STEP_REG_MR;
    for (int i = 0; i < group->device_count; i++) {
        struct cji_device *device = &group->devices[i];

        errno = 0;
        device->mr = group->verbs.reg_mr(device->pd, group->arena,
                                         group->arena_size, access);
        if (device->mr == NULL)
            return cji_fail(
                group, CJ_VERBS, cji_about_device(device->name, errno),
                "device %s cannot register %zu KiB of memory: %s; this group "
                "asks for 1 region, and the device allows %s to all processes "
                "together: end the others that use it, and on Linux look at "
                "ulimit -l",
                device->name, group->arena_size / 1024,
                cji_errno_text(errno).text,
                cji_limit_text(device->max_mr).text);
    }
    return CJ_OK;
}
