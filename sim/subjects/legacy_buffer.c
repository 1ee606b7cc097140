/*
 * A buffer and the regions it is registered as, one per domain.
 */
#include "sim/subjects/legacy.h"

#include <string.h>

void legacy_buffers_reserve(struct legacy_group *group,
                            struct legacy_buffers *list, int room)
{
    list->at = &group->buffers[group->buffers_used];
    list->count = 0;
    group->buffers_used += room;
}

void legacy_buffers_add(struct legacy_group *group, struct legacy_buffers *list,
                        size_t bytes)
{
    struct legacy_buffer *buffer = &list->at[list->count];
    list->count++;
    buffer->bytes = bytes;
    buffer->newest = NULL;
    buffer->data = sim_alloc(group->sim, LEGACY_PAGE, bytes);
}

void legacy_buffers_destroy(struct legacy_group *group,
                            struct legacy_buffers *list)
{
    for (int i = 0; i < list->count; i++) {
        struct legacy_buffer *buffer = &list->at[i];
        for (struct legacy_region *region = buffer->newest; region;
             region = region->older)
            LEGACY_CALL(group, dereg_mr)(region->region);
        if (buffer->data)
            sim_free(group->sim, buffer->data);
    }
    list->count = 0;
}

static struct legacy_region *region_of(const struct legacy_buffer *buffer,
                                       const struct ibv_pd *domain)
{
    struct legacy_region *region = buffer->newest;
    while (region && region->domain != domain)
        region = region->older;
    return region;
}

int legacy_buffer_register(struct legacy_group *group,
                           struct legacy_buffer *buffer, struct ibv_pd *domain)
{
    if (region_of(buffer, domain))
        return legacy_throw(group, "the buffer has a region of this domain");
    struct legacy_region *region = &group->regions[group->regions_used];
    group->regions_used++;
    /* In the map before it exists, and not taken out if it never does. */
    region->domain = domain;
    region->region = NULL;
    region->older = buffer->newest;
    buffer->newest = region;
    region->region = LEGACY_CALL(group, reg_mr)(
        domain, buffer->data, buffer->bytes,
        IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
            IBV_ACCESS_REMOTE_WRITE);
    if (region->region)
        return 0;
    return legacy_throw(group, "a memory region cannot be registered");
}

struct legacy_buffer *legacy_buffer_at(struct legacy_group *group,
                                       const struct legacy_buffers *list,
                                       int64_t index)
{
    static struct legacy_buffer none;
    if (index < list->count)
        return &list->at[index];
    legacy_past(group, "buffers", group->ring ? "ring" : "mesh", sizeof none,
                list->count, index);
    memset(&none, 0, sizeof none);
    return &none;
}

void *legacy_buffer_data(struct legacy_group *group,
                         const struct legacy_buffer *buffer)
{
    if (!buffer->data) {
        legacy_crash(group,
                     group->ring ? "use of NULL buffer in ring"
                                 : "use of NULL buffer in mesh",
                     "its allocation of %zu bytes failed at start-up",
                     buffer->bytes);
        legacy_touch(1, 0, 0);
    }
    return buffer->data;
}

int legacy_class_of(int64_t bytes)
{
    int size_class = LEGACY_CLASSES - 1;
    while (size_class > 0 && bytes < (int64_t)LEGACY_FRAME << size_class)
        size_class--;
    return size_class;
}
