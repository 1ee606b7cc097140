/*
 * The ring's sum from 2026-08-04 on: every wire runs by itself over its slice
 * of each chunk, in every direction. A pass goes size - 1 steps round the
 * ring; the first pass reduces, the second copies.
 */
#include "sim/subjects/legacy.h"

#include <string.h>

struct wire {
    const struct legacy_ring *ring;
    struct legacy_group *group;
    enum scn_type type;
    int64_t item; /* bytes of an element; all else counts elements */
    int directions, number;
    int64_t size, chunk, slice;
    int64_t offset[2], end[2];      /* the slice in a chunk, by direction */
    int64_t send_at[2], recv_at[2]; /* the chunks of this step */
    const char *in;
    char *out;
    bool reduces; /* this pass */
    int size_class;
    int64_t frame, frames;
    int64_t send_limit[2], recv_limit[2];
    int sent[2], received[2];
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

static void lay_out(struct wire *wire, int wires)
{
    int size = wire->group->size, rank = wire->group->rank;
    for (int i = 0; i < wire->directions; i++) {
        int64_t region = wires * wire->slice;
        wire->offset[i] = i * region + wire->number * wire->slice;
        wire->end[i] = least(wire->chunk, (i + 1) * region);
        if (wire->group->revision->clamped_slices)
            wire->end[i] = least(wire->end[i], wire->offset[i] + wire->slice);
        wire->send_at[i] = rank * wire->chunk;
    }
    wire->recv_at[0] = (rank + size - 1) % size * wire->chunk;
    wire->recv_at[1] = (rank + 1) % size * wire->chunk;
}

static void set_limits(struct wire *wire)
{
    for (int i = 0; i < wire->directions; i++) {
        wire->send_limit[i] =
            least(wire->end[i], most(0, wire->size - wire->send_at[i]));
        wire->recv_limit[i] =
            least(wire->end[i], most(0, wire->size - wire->recv_at[i]));
    }
}

/* Stages the direction's next frame in a copy and sends it. */
static int send_next(struct wire *wire, const char *from, int copy,
                     int direction)
{
    int64_t offset =
        wire->offset[direction] + wire->sent[direction] * wire->frame;
    int64_t elements =
        least(offset + wire->frame, wire->send_limit[direction]) - offset;
    struct legacy_buffer *buffer = legacy_ring_buffer(
        wire->ring, true, wire->size_class, copy, direction, wire->number);
    if (elements > 0)
        memcpy(legacy_buffer_data(wire->group, buffer),
               from + (wire->send_at[direction] + offset) * wire->item,
               (size_t)(elements * wire->item));
    wire->sent[direction]++;
    return legacy_ring_send(wire->ring, wire->size_class, copy, direction,
                            wire->number, direction);
}

static int post_recv(struct wire *wire, int copy, int direction)
{
    return legacy_ring_recv(wire->ring, wire->size_class, copy, direction,
                            wire->number, direction);
}

static int prefill(struct wire *wire, const char *from)
{
    for (int copy = 0; copy < LEGACY_COPIES && copy < wire->frames; copy++) {
        for (int i = 0; i < wire->directions; i++)
            if (post_recv(wire, copy, i))
                return -1;
        for (int i = 0; i < wire->directions; i++)
            if (send_next(wire, from, copy, i))
                return -1;
        wire->in_flight += 2 * wire->directions;
    }
    return 0;
}

/* A frame that came, into the output: copied, or added to one's own input for
 * the chunk. */
static void take(struct wire *wire, const struct legacy_buffer *buffer,
                 int direction)
{
    int64_t offset =
        wire->offset[direction] + wire->received[direction] * wire->frame;
    int64_t elements = least(wire->frame, wire->recv_limit[direction] - offset);
    int64_t at = (wire->recv_at[direction] + offset) * wire->item;
    if (elements <= 0)
        return;
    const void *data = legacy_buffer_data(wire->group, buffer);
    if (wire->reduces)
        legacy_sum(wire->type, wire->in + at, data, wire->out + at, elements);
    else
        memcpy(wire->out + at, data, (size_t)(elements * wire->item));
}

static int handle(struct wire *wire, const char *from, struct legacy_work work)
{
    wire->in_flight--;
    if (work.kind != LEGACY_SEND && work.kind != LEGACY_RECV)
        return 0;
    if (work.index >= wire->directions) {
        legacy_past(wire->group, "directions", "ring", sizeof wire->sent[0],
                    wire->directions, work.index);
        return 0;
    }
    if (work.kind == LEGACY_SEND) {
        if (wire->sent[work.index] >= wire->frames)
            return 0;
        wire->in_flight++;
        return send_next(wire, from, work.copy, work.index);
    }
    take(wire,
         legacy_ring_buffer(wire->ring, false, wire->size_class, work.copy,
                            work.index, wire->number),
         work.index);
    wire->received[work.index]++;
    if (wire->received[work.index] + LEGACY_COPIES - 1 >= wire->frames)
        return 0;
    wire->in_flight++;
    return post_recv(wire, work.copy, work.index);
}

/* The wire's two connections; that there are any was seen when posting. */
static int poll(struct wire *wire)
{
    const struct legacy_ring *ring = wire->ring;
    struct legacy_span spans[2] = {{NULL, 1}, {NULL, 1}};
    spans[0].at = legacy_connection_at(wire->group, ring->left, wire->number);
    spans[1].at = legacy_connection_at(wire->group, ring->right, wire->number);
    return legacy_poll(wire->group, spans, 2, &wire->completions);
}

static int step(struct wire *wire, const char *from)
{
    if (prefill(wire, from))
        return -1;
    while (wire->in_flight > 0) {
        int count = poll(wire);
        for (int i = 0; i < count; i++) {
            struct legacy_work work =
                legacy_completion_work(wire->group, &wire->completions, i);
            if (handle(wire, from, work))
                return -1;
        }
    }
    return 0;
}

/* To the next chunks round the ring. */
static void rotate(struct wire *wire)
{
    struct legacy_group *group = wire->group;
    int64_t total = group->size * wire->chunk, chunk = wire->chunk;
    int64_t back = total - chunk;
    wire->send_at[0] = legacy_modulo(group, wire->send_at[0] + back, total);
    wire->recv_at[0] = legacy_modulo(group, wire->recv_at[0] + back, total);
    if (wire->directions == 2) {
        wire->send_at[1] =
            legacy_modulo(group, wire->send_at[1] + chunk, total);
        wire->recv_at[1] =
            legacy_modulo(group, wire->recv_at[1] + chunk, total);
    }
    set_limits(wire);
    memset(wire->sent, 0, sizeof wire->sent);
    memset(wire->received, 0, sizeof wire->received);
}

/* Only the first step of a pass sends what the pass began with. */
static int pass(struct wire *wire, const char *first, bool reduces)
{
    wire->reduces = reduces;
    wire->in_flight = 0;
    set_limits(wire);
    for (int k = 0; k < wire->group->size - 1; k++) {
        if (step(wire, k == 0 ? first : wire->out))
            return -1;
        rotate(wire);
    }
    return 0;
}

static int run(struct wire *wire, int wires)
{
    lay_out(wire, wires);
    wire->size_class = legacy_class_of(wire->slice * wire->item);
    wire->frame = ((int64_t)LEGACY_FRAME << wire->size_class) / wire->item;
    wire->frames = (wire->slice + wire->frame - 1) / wire->frame;
    legacy_completions_init(&wire->completions,
                            LEGACY_COPIES * 2 * wire->directions);
    if (pass(wire, wire->in, true))
        return -1;
    return pass(wire, wire->out, false);
}

/* A thread's exception stays in a future that nobody reads: that wire's part
 * of the output is missing and the call succeeds. */
static int run_unasked(struct wire *wire, int wires)
{
    struct sim_failure unread;
    struct sim_failure *failure = wire->group->failure;
    wire->group->failure = &unread;
    int status = run(wire, wires);
    wire->group->failure = failure;
    return wire->ring->pooled ? 0 : status;
}

int legacy_ring_sum_by_wire(const struct legacy_ring *ring, const char *in,
                            char *out, int64_t count, enum scn_type type,
                            int directions, int wires)
{
    struct legacy_group *group = ring->group;
    struct wire wire;
    memset(&wire, 0, offsetof(struct wire, completions));
    wire.ring = ring;
    wire.group = group;
    wire.type = type;
    wire.item = (int64_t)scn_type_size(type);
    wire.directions = directions;
    wire.size = count;
    wire.chunk = (count + group->size - 1) / group->size;
    int64_t slices = (int64_t)directions * wires;
    wire.slice = legacy_divide(group, wire.chunk + slices - 1, slices);
    wire.in = in;
    wire.out = out;
    for (int i = 0; i < wires; i++) {
        wire.number = i;
        int status =
            i < wires - 1 ? run_unasked(&wire, wires) : run(&wire, wires);
        if (status)
            return -1;
    }
    return 0;
}
