/*
 * Polls that find what a recording says.
 *
 * How many completions a poll finds depends on who was faster. A replay shall
 * find as many as the recording did, so the provider's poll_cq is replaced by
 * one that takes completions out of the queue until the expected ones are
 * there, and keeps those that came too early.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front/provider.h"
#include "front/trace.h"

#define KEPT_MAX 4096 /* completions of one machine that came early */
#define TEXT_MAX 160  /* one completion as text */

struct kept {
    const struct vf_object *cq;
    uint8_t generation;
    struct ibv_wc wc;
};

/* Of every machine; kept from run to run. NULL: nothing was ever paced. */
static struct pace {
    const char *expected;
    int wanted;
    struct vf_object *event; /* a queue whose event is given once */
    int count;
    struct kept kept[KEPT_MAX];
} * paces;

static struct vf_provider_ops paced;
static const struct vf_provider_ops *behind;

static void tell(const struct ibv_wc *wc, char text[TEXT_MAX])
{
    const struct vf_record_completion completion = {
        .wr_id = wc->wr_id,
        .status = (uint8_t)wc->status,
        .opcode = (uint8_t)wc->opcode,
        .length = wc->byte_len,
    };

    vf_completion_print(&completion, text, TEXT_MAX);
}

/* The first word of the list, "[...]"; *rest is behind it. NULL: none. */
static const char *next_piece(const char **rest, size_t *length)
{
    const char *begin = strchr(*rest, '[');
    const char *end = begin ? strchr(begin, ']') : NULL;

    if (!end)
        return NULL;
    *rest = end + 1;
    *length = (size_t)(end + 1 - begin);
    return begin;
}

/* The first one kept for cq that is the piece (NULL: any) and is not in taken;
 * -1: none. */
static int find(const struct pace *pace, const struct vf_object *cq,
                const char *piece, size_t length, const bool *taken)
{
    char text[TEXT_MAX];

    for (int i = 0; i < pace->count; i++) {
        const struct kept *kept = &pace->kept[i];

        if (taken[i] || kept->cq != cq || kept->generation != cq->generation)
            continue;
        tell(&kept->wc, text);
        if (!piece ||
            (strlen(text) == length && memcmp(text, piece, length) == 0))
            return i;
    }
    return -1;
}

static void drop_taken(struct pace *pace, const bool *taken)
{
    int left = 0;

    for (int i = 0; i < pace->count; i++)
        if (!taken[i])
            pace->kept[left++] = pace->kept[i];
    pace->count = left;
}

/* All of what is expected, or nothing. */
static int take(struct pace *pace, const struct vf_object *cq,
                struct ibv_wc *wc)
{
    static bool taken[KEPT_MAX];
    const char *rest = pace->expected;

    memset(taken, 0, sizeof(taken));
    for (int n = 0; n < pace->wanted; n++) {
        size_t length = 0;
        const char *piece = next_piece(&rest, &length);
        int at = find(pace, cq, piece, length, taken);

        if (at < 0)
            return 0;
        taken[at] = true;
        wc[n] = pace->kept[at].wc;
    }
    drop_taken(pace, taken);
    return pace->wanted;
}

static int poll_freely(struct pace *pace, struct vf_object *cq, int room,
                       struct ibv_wc *wc)
{
    int count = 0;

    while (count < room && pace->count > 0 && pace->kept[0].cq == cq) {
        wc[count++] = pace->kept[0].wc;
        memmove(&pace->kept[0], &pace->kept[1],
                (size_t)--pace->count * sizeof(pace->kept[0]));
    }
    if (count > 0)
        return count;
    return behind->poll_cq(cq, room, wc);
}

/* One more out of the queue; what the provider answers. */
static int keep_next(struct pace *pace, struct vf_object *cq)
{
    struct kept *kept = &pace->kept[pace->count];
    int count;

    memset(kept, 0, sizeof(*kept));
    count = behind->poll_cq(cq, 1, &kept->wc);
    if (count <= 0)
        return count;
    kept->cq = cq;
    kept->generation = cq->generation;
    pace->count++;
    return count;
}

static int paced_poll(struct vf_object *cq, int room, struct ibv_wc *wc)
{
    struct pace *pace = &paces[cq->machine->number];
    int count;

    if (!pace->expected || pace->wanted > room)
        return poll_freely(pace, cq, room, wc);
    for (;;) {
        count = take(pace, cq, wc);
        if (count > 0 || pace->count == KEPT_MAX)
            return count;
        count = keep_next(pace, cq);
        if (count <= 0)
            return count;
    }
}

static int paced_event(struct vf_object *channel, struct vf_object **cq)
{
    struct pace *pace = &paces[channel->machine->number];
    int err = behind->get_cq_event(channel, cq);

    if (err != EAGAIN || !pace->event)
        return err;
    *cq = pace->event;
    pace->event = NULL;
    return 0;
}

bool vf_machine_event(struct vf_world *world, int machine, const void *cq)
{
    struct vf_object *object = vf_registry_find(&world->registry, cq);
    struct pace *pace = paces ? &paces[machine] : NULL;

    if (!pace || !object || !object->live || object->kind != VF_KIND_CQ)
        return false;
    while (pace->count < KEPT_MAX && keep_next(pace, object) > 0)
        continue;
    for (int i = 0; i < pace->count; i++)
        if (pace->kept[i].cq == object)
            pace->event = object;
    return pace->event == object;
}

void vf_world_pace(struct vf_world *world)
{
    if (world->provider == &paced)
        return;
    if (!paces)
        paces = calloc(VF_MACHINE_MAX, sizeof(*paces));
    if (!paces)
        return;
    behind = world->provider;
    paced = *behind;
    paced.poll_cq = paced_poll;
    paced.get_cq_event = paced_event;
    world->provider = &paced;
    for (int i = 0; i < VF_MACHINE_MAX; i++) {
        paces[i].expected = NULL;
        paces[i].event = NULL;
        paces[i].count = 0;
    }
}

void vf_world_unpace(struct vf_world *world)
{
    if (world->provider == &paced)
        world->provider = behind;
}

void vf_machine_expect(struct vf_world *world, int machine,
                       const char *completions, int count)
{
    (void)world;
    if (!paces)
        return;
    paces[machine].expected = completions;
    paces[machine].wanted = count;
}

void vf_machine_unexpected(const struct vf_world *world, int machine,
                           char *text, size_t room)
{
    const struct pace *pace = paces ? &paces[machine] : NULL;
    char one[TEXT_MAX];
    size_t used = 0;

    (void)world;
    text[0] = '\0';
    for (int i = 0; pace && i < pace->count; i++) {
        tell(&pace->kept[i].wc, one);
        if (used + strlen(one) + 2 > room) {
            if (used == 0)
                snprintf(text, room, "%s", one);
            return;
        }
        if (used > 0)
            text[used++] = ' ';
        strcpy(text + used, one);
        used += strlen(one);
    }
}

/* A context that stands for no program's. */
static int as_context(struct vf_world *world, int machine, int device,
                      struct vf_object *context)
{
    struct vf_machine *owner = &world->machines[machine];

    if (machine < 0 || machine >= world->machine_count || device < 0 ||
        device >= owner->device_count)
        return ENODEV;
    memset(context, 0, sizeof(*context));
    context->kind = VF_KIND_CONTEXT;
    context->machine = owner;
    context->device = &owner->devices[device];
    return 0;
}

int vf_device_gid(struct vf_world *world, int machine, int device,
                  unsigned port, int index, void *gid)
{
    struct vf_object context;
    int err = as_context(world, machine, device, &context);

    return err ? err : world->provider->query_gid(&context, port, index, gid);
}

int vf_device_lid(struct vf_world *world, int machine, int device,
                  unsigned port, unsigned *lid)
{
    struct ibv_port_attr attr;
    struct vf_object context;
    int err = as_context(world, machine, device, &context);

    memset(&attr, 0, sizeof(attr));
    if (!err)
        err = world->provider->query_port(&context, port, &attr);
    *lid = attr.lid;
    return err;
}
