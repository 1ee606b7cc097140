/*
 * The ring's sum at 2026-04: one loop over all wires, whose frames are
 * interleaved. The output begins as a copy of the input; the first size - 1
 * steps reduce into it, the others copy.
 */
#include "sim/subjects/legacy.h"

#include <string.h>

#define LABELS_MAX (2 * LEGACY_WIRES_MAX)

struct loop {
    const struct legacy_ring *ring;
    struct legacy_group *group;
    enum scn_type type;
    int64_t item; /* bytes of an element; all else counts elements */
    int directions, wires;
    int64_t size, chunk, slice;
    int64_t send_at[2], recv_at[2];
    char *out;
    bool reduces;
    int size_class;
    int64_t frame, frames;
    int64_t send_limit[2], recv_limit[2];
    int sent[LABELS_MAX], received[LABELS_MAX]; /* by label */
    int in_flight;
    struct legacy_completions completions;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int label_of(int direction, int wire)
{
    return direction * LEGACY_WIRES_MAX + wire;
}

/* Where frame number n of a wire is in a chunk. */
static int64_t offset_of(const struct loop *loop, int direction, int wire,
                         int n)
{
    int64_t wires = loop->wires;
    return (wire + n * wires) * loop->frame + direction * wires * loop->slice;
}

static void set_limits(struct loop *loop)
{
    for (int i = 0; i < loop->directions; i++) {
        int64_t end = loop->chunk;
        if (i == 0 && loop->directions == 2)
            end = loop->wires * loop->slice;
        loop->send_limit[i] =
            least(end, most(0, loop->size - loop->send_at[i]));
        loop->recv_limit[i] =
            least(end, most(0, loop->size - loop->recv_at[i]));
    }
}

static void stage(struct loop *loop, int copy, int direction, int wire)
{
    int label = label_of(direction, wire);
    int64_t offset = offset_of(loop, direction, wire, loop->sent[label]);
    int64_t elements =
        least(offset + loop->frame, loop->send_limit[direction]) - offset;
    struct legacy_buffer *buffer = legacy_ring_buffer(
        loop->ring, true, loop->size_class, copy, direction, wire);
    if (elements > 0)
        memcpy(legacy_buffer_data(loop->group, buffer),
               loop->out + (loop->send_at[direction] + offset) * loop->item,
               (size_t)(elements * loop->item));
}

static int post(struct loop *loop, bool sending, int copy, int direction,
                int wire)
{
    int label = label_of(direction, wire);
    return sending ? legacy_ring_send(loop->ring, loop->size_class, copy,
                                      direction, wire, label)
                   : legacy_ring_recv(loop->ring, loop->size_class, copy,
                                      direction, wire, label);
}

static int post_all(struct loop *loop, bool sending, int copy)
{
    for (int i = 0; i < loop->directions; i++)
        for (int wire = 0; wire < loop->wires; wire++)
            if (post(loop, sending, copy, i, wire))
                return -1;
    return 0;
}

static int prefill(struct loop *loop)
{
    for (int copy = 0; copy < LEGACY_COPIES && copy < loop->frames; copy++) {
        if (post_all(loop, false, copy))
            return -1;
        for (int i = 0; i < loop->directions; i++) {
            for (int wire = 0; wire < loop->wires; wire++) {
                stage(loop, copy, i, wire);
                loop->sent[label_of(i, wire)]++;
            }
        }
        if (post_all(loop, true, copy))
            return -1;
        loop->in_flight += 2 * loop->directions * loop->wires;
    }
    return 0;
}

static void take(struct loop *loop, int copy, int direction, int wire)
{
    int label = label_of(direction, wire);
    int64_t offset = offset_of(loop, direction, wire, loop->received[label]);
    int64_t elements = least(loop->frame, loop->recv_limit[direction] - offset);
    char *out = loop->out + (loop->recv_at[direction] + offset) * loop->item;
    struct legacy_buffer *buffer = legacy_ring_buffer(
        loop->ring, false, loop->size_class, copy, direction, wire);
    if (elements <= 0)
        return;
    const void *data = legacy_buffer_data(loop->group, buffer);
    if (loop->reduces)
        legacy_sum(loop->type, out, data, out, elements);
    else
        memcpy(out, data, (size_t)(elements * loop->item));
}

static int handle(struct loop *loop, struct legacy_work work)
{
    int direction = work.index / LEGACY_WIRES_MAX;
    int wire = work.index % LEGACY_WIRES_MAX;
    loop->in_flight--;
    if (work.kind != LEGACY_SEND && work.kind != LEGACY_RECV)
        return 0;
    if (direction >= loop->directions) {
        legacy_past(loop->group, "directions", "ring", sizeof loop->sent[0],
                    (int64_t)loop->directions * LEGACY_WIRES_MAX, work.index);
        return 0;
    }
    if (work.kind == LEGACY_SEND) {
        if (loop->sent[work.index] >= loop->frames)
            return 0;
        stage(loop, work.copy, direction, wire);
        loop->in_flight++;
        loop->sent[work.index]++;
        return post(loop, true, work.copy, direction, wire);
    }
    take(loop, work.copy, direction, wire);
    loop->received[work.index]++;
    if (loop->received[work.index] + LEGACY_COPIES - 1 >= loop->frames)
        return 0;
    loop->in_flight++;
    return post(loop, false, work.copy, direction, wire);
}

static int step(struct loop *loop)
{
    struct legacy_span spans[2] = {loop->ring->left, loop->ring->right};
    if (prefill(loop))
        return -1;
    while (loop->in_flight > 0) {
        int count = legacy_poll(loop->group, spans, 2, &loop->completions);
        for (int i = 0; i < count; i++) {
            struct legacy_work work =
                legacy_completion_work(loop->group, &loop->completions, i);
            if (handle(loop, work))
                return -1;
        }
    }
    return 0;
}

static void rotate(struct loop *loop)
{
    struct legacy_group *group = loop->group;
    int64_t total = group->size * loop->chunk, chunk = loop->chunk;
    int64_t back = total - chunk;
    loop->send_at[0] = legacy_modulo(group, loop->send_at[0] + back, total);
    loop->recv_at[0] = legacy_modulo(group, loop->recv_at[0] + back, total);
    if (loop->directions == 2) {
        loop->send_at[1] =
            legacy_modulo(group, loop->send_at[1] + chunk, total);
        loop->recv_at[1] =
            legacy_modulo(group, loop->recv_at[1] + chunk, total);
    }
    set_limits(loop);
    memset(loop->sent, 0, sizeof loop->sent);
    memset(loop->received, 0, sizeof loop->received);
}

static int run(struct loop *loop)
{
    int size = loop->group->size, rank = loop->group->rank;
    loop->send_at[0] = loop->send_at[1] = rank * loop->chunk;
    loop->recv_at[0] = (rank + size - 1) % size * loop->chunk;
    loop->recv_at[1] = (rank + 1) % size * loop->chunk;
    set_limits(loop);
    for (int k = 0; k < 2 * (size - 1); k++) {
        loop->reduces = k < size - 1;
        if (step(loop))
            return -1;
        rotate(loop);
    }
    return 0;
}

int legacy_ring_sum_in_one(const struct legacy_ring *ring, const char *in,
                           char *out, int64_t count, enum scn_type type,
                           int directions, int wires)
{
    struct legacy_group *group = ring->group;
    struct loop loop;
    int64_t slices = (int64_t)directions * wires;
    memset(&loop, 0, offsetof(struct loop, completions));
    loop.ring = ring;
    loop.group = group;
    loop.type = type;
    loop.item = (int64_t)scn_type_size(type);
    loop.directions = directions;
    loop.wires = wires;
    loop.size = count;
    loop.out = out;
    if (in != out && count > 0)
        memcpy(out, in, (size_t)(count * loop.item));
    loop.chunk = (count + group->size - 1) / group->size;
    loop.slice = legacy_divide(group, loop.chunk + slices - 1, slices);
    loop.size_class = legacy_class_of(loop.slice * loop.item);
    loop.frame = ((int64_t)LEGACY_FRAME << loop.size_class) / loop.item;
    loop.frames = (loop.slice + loop.frame - 1) / loop.frame;
    legacy_completions_init(&loop.completions,
                            LEGACY_COPIES * LEGACY_WIRES_MAX * 2 * directions);
    return run(&loop);
}
