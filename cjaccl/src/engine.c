/* Sizes and depths: what a link of a group has room for, and its start. */
#include "engine.h"

#include "error.h"
#include "trailer.h"
#include "transport.h"

#include <string.h>

/*
 * Bytes of data in the largest message of cjaccl's own, room for a trailer.
 * Each message has a price, whatever its size. It is less than 128 KiB in all;
 * and frames, where a device counts them, are dear.
 */
#define CHUNK ((size_t)64 * 1024)
#define LARGE_CHUNK ((size_t)124 * 1024)
#define TRAILER_ROOM CJI_FRAME_SIZE
#define LARGEST_CLASS (CJI_FRAME_SIZE << (CJI_CLASS_COUNT - 1))

/* As many as keep a link busy while others are filled and used up. */
#define SENDS 3
#define RECEIVES 4
#define LARGE_SENDS 2

/* Before macOS 26.3, JACCL sends no message of more than one frame. */
static bool has_large_messages(void)
{
#ifdef __APPLE__
    if (__builtin_available(macOS 26.3, iOS 26.3, tvOS 26.3, visionOS 26.3, *))
        return true;
    return false;
#else
    return true;
#endif
}

static size_t class_for(size_t bytes)
{
    int k = has_large_messages() ? CJI_CLASS_COUNT - 1 : 0;

    while (k > 0 && bytes < CJI_FRAME_SIZE << k)
        k--;
    return CJI_FRAME_SIZE << k;
}

static bool has_large_chunks(const struct cj_group *group)
{
    return cji_has_credits(group) && !group->whole;
}

static size_t chunk(const struct cj_group *group)
{
    return has_large_chunks(group) ? LARGE_CHUNK : CHUNK;
}

size_t cji_payload(const struct cj_group *group, size_t bytes)
{
    return cji_has_trailers(group) ? chunk(group) : class_for(bytes);
}

size_t cji_slot_size(const struct cj_group *group)
{
    return cji_has_trailers(group) ? chunk(group) + TRAILER_ROOM
                                   : LARGEST_CLASS;
}

int cji_send_slots(const struct cj_group *group)
{
    if (has_large_chunks(group))
        return LARGE_SENDS;
    return cji_has_trailers(group) ? SENDS : CJI_SLOTS;
}

int cji_recv_slots(const struct cj_group *group)
{
    if (cji_has_credits(group))
        return group->credits + 1;
    return cji_has_trailers(group) ? RECEIVES : CJI_SLOTS;
}

/* What a request takes of a queue's depth: Thunderbolt counts frames. */
static size_t units(const struct cji_link *link, size_t bytes)
{
    if (link->device == NULL || !link->device->thunderbolt)
        return 1;
    return (bytes + CJI_FRAME_SIZE - 1) / CJI_FRAME_SIZE;
}

int cji_link_room(const struct cji_link *link, size_t bytes)
{
    size_t room = (size_t)link->depth / units(link, bytes);

    return room > INT16_MAX ? INT16_MAX : (int)room;
}

int cji_post_failed(struct cj_group *group, const struct cji_link *link,
                    const char *what, int err_no)
{
    if (link->device == NULL)
        return cji_fail(group, CJ_NETWORK, cji_about_link(link, err_no),
                        "%s: the connection to rank %d failed: %s: see that "
                        "rank's own error",
                        cj_strstep(group->step), link->peer,
                        cji_errno_text(err_no).text);
    return cji_fail(group, CJ_VERBS, cji_about_link(link, err_no),
                    "%s: device %s does not take a %s for rank %d: %s; is its "
                    "cable still plugged in?",
                    cj_strstep(group->step), link->device->name, what,
                    link->peer, cji_errno_text(err_no).text);
}

/* Those that stay posted, of every link of every rank: one for a note, the
 * others for data. */
static int credits(const struct cj_group *group)
{
    int depth = group->least_depth;

    for (int i = 0; group->least_depth == 0 && i < group->link_count; i++) {
        if (depth == 0 || group->links[i].depth < depth)
            depth = group->links[i].depth;
    }
    if (group->whole)
        depth /= (int)(cji_slot_size(group) / CJI_FRAME_SIZE);
    return depth > RECEIVES ? RECEIVES : depth - 1;
}

int cji_engine_check(struct cj_group *group)
{
    size_t bytes = cji_slot_size(group);
    size_t least = cji_has_credits(group) ? 2 : 1;

    for (int i = 0; i < group->link_count; i++) {
        const struct cji_link *link = &group->links[i];

        if ((size_t)link->depth < least * units(link, bytes))
            return cji_fail(
                group, CJ_VERBS, cji_about_link(link, 0),
                "device %s grants rank %d a queue of depth %d, and "
                "this group needs %zu: this device cannot be used",
                link->device == NULL ? "(none)" : link->device->name,
                link->peer, link->depth, least * units(link, bytes));
    }
    group->credits = cji_has_credits(group) ? credits(group) : 0;
    if (cji_has_credits(group) && group->credits < 1)
        return cji_fail(group, CJ_VERBS, cji_about_none(0),
                        "a device of another rank has queues that hold %d "
                        "message, and this group needs 2: that device cannot "
                        "be used",
                        group->credits + 1);
    return CJ_OK;
}

static int start_link(struct cj_group *group, struct cji_link *link)
{
    struct cji_traffic *traffic = &link->traffic;
    int status = CJ_OK;

    traffic->free_recv = (1u << traffic->recv_slots) - 1;
    while (status == CJ_OK && cji_has_credits(group) && traffic->free_recv != 0)
        status = cji_receive_post(group, link, cji_slot_size(group));
    return status;
}

int cji_engine_start(struct cj_group *group)
{
    int status = CJ_OK;

    if (group->transport == NULL)
        group->transport = &cji_verbs_transport;
    for (int i = 0; status == CJ_OK && i < group->link_count; i++)
        status = start_link(group, &group->links[i]);
    return status;
}
