#include "straight.h"

#include "engine.h"
#include "release.h"
#include "trailer.h"

static bool can_go(const struct cj_group *group,
                   const struct cji_operation *operation)
{
    if (!cji_has_credits(group) || group->whole || group->straight_refused ||
        group->size > CJI_STRAIGHT_RANKS || operation->place == NULL ||
        operation->source_size < CJI_STRAIGHT_LEAST)
        return false;
    for (int i = 0; i < group->device_count; i++) {
        if (group->devices[i].send_entries < 2)
            return false;
    }
    return true;
}

/* Read only: no access is asked for, and memory that is constant will do. */
void cji_straight_begin(struct cj_group *group,
                        const struct cji_operation *operation)
{
    if (!can_go(group, operation))
        return;
    for (int i = 0; i < group->device_count; i++) {
        struct cji_device *device = &group->devices[i];

        device->straight = group->verbs.reg_mr(
            device->pd, (void *)(uintptr_t)operation->source,
            operation->source_size, 0);
        if (device->straight != NULL)
            continue;
        group->straight_refused = true;
        cji_straight_end(group, false);
        return;
    }
    group->straight = true;
}

bool cji_is_straight(const struct cj_group *group, size_t bytes)
{
    return group->straight && bytes % CJI_TRAILER_ALIGN == 0;
}

void cji_straight_end(struct cj_group *group, bool failed)
{
    if (failed && group->straight)
        cji_release_qps(group);
    for (int i = 0; i < group->device_count; i++)
        cji_release_straight(group, &group->devices[i]);
    group->straight = false;
}
