#include "arena.h"

#include "engine.h"
#include "error.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Apple silicon's page, and the alignment its driver wants (TN3205). */
#define LEAST_ALIGNMENT ((size_t)16384)

/* A note of the largest mesh. */
#define NOTE_SIZE ((size_t)256)

static size_t note_size(const struct cj_group *group)
{
    return group->whole ? cji_slot_size(group) : NOTE_SIZE;
}

static size_t alignment(void)
{
    long page = sysconf(_SC_PAGESIZE);

    return page > (long)LEAST_ALIGNMENT ? (size_t)page : LEAST_ALIGNMENT;
}

/* Gives a link its slots, in the order in which they are used. */
static unsigned char *hand_out(const struct cj_group *group,
                               struct cji_link *link, unsigned char *next)
{
    struct cji_traffic *traffic = &link->traffic;
    size_t size = cji_slot_size(group);

    memset(traffic, 0, sizeof *traffic);
    traffic->send_slots = cji_send_slots(group);
    traffic->recv_slots = cji_recv_slots(group);
    for (int i = 0; i < traffic->send_slots; i++, next += size)
        traffic->send[i].data = next;
    for (int i = 0; i < traffic->recv_slots; i++, next += size)
        traffic->recv[i].data = next;
    return next;
}

int cji_arena_alloc(struct cj_group *group)
{
    size_t slots = (size_t)(cji_send_slots(group) + cji_recv_slots(group));
    size_t links = (size_t)group->link_count;
    unsigned char *next;

    group->step = CJ_STEP_ARENA;
    group->arena_size =
        links * slots * cji_slot_size(group) + links * note_size(group);
    group->arena = group->allocator.alloc(group->allocator.ctx, alignment(),
                                          group->arena_size);
    if (group->arena == NULL)
        return cji_fail(group, CJ_NO_MEMORY, cji_about_none(ENOMEM),
                        "no memory for the %zu KiB of buffers that a group of "
                        "%d ranks needs",
                        group->arena_size / 1024, group->size);
    next = group->arena;
    for (int i = 0; i < group->link_count; i++)
        next = hand_out(group, &group->links[i], next);
    for (int i = 0; i < group->link_count; i++, next += note_size(group))
        group->links[i].traffic.note.data = next;
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
                "registering %.1f MiB failed: %s. This group asks for 1 "
                "region, "
                "and the device allows %s to all processes together: another "
                "process may hold the rest; on Linux look at ulimit -l, too",
                (double)group->arena_size / (1024 * 1024),
                cji_errno_text(errno).text,
                cji_limit_text(device->max_mr).text);
    }
    return CJ_OK;
}
