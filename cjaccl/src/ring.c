#include "ring.h"

#include "error.h"
#include "flow.h"

#include <errno.h>
#include <string.h>

/* JACCL's: up to these many bytes fewer lanes are faster. */
#define SMALL_REDUCE ((size_t)32 * 1024)
#define SMALL_SCATTER ((size_t)64 * 1024)

enum kind { REDUCE, GATHER, SCATTER };

struct lane {
    bool to_left;
    size_t begin; /* its slice of every chunk: elements */
    size_t end;
    struct cji_flow *send;
    struct cji_flow *recv;
};

/* A collective that runs. */
struct pass {
    enum kind kind;
    int rank;
    int size;
    const unsigned char *in;
    unsigned char *out; /* SCATTER: one chunk, what is combined so far */
    enum cji_reduction reduction;
    enum cj_type type;
    size_t element;  /* bytes */
    size_t count;    /* elements in all, ... */
    size_t chunk;    /* ... of each chunk but the last ones, ... */
    size_t message;  /* ... and of each message */
    size_t messages; /* of each step */
    size_t steps;
    int lane_count;
    struct lane lanes[2 * CJ_MAX_WIRES];
};

static size_t divide_up(size_t a, size_t b)
{
    return a / b + (a % b != 0);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The part of a chunk that a message carries, in elements. */
struct part {
    size_t offset; /* in the chunk */
    size_t start;  /* in all of the data */
    size_t count;
};

/*
 * Message m of a lane: whose chunk, and which part of it. What is received in
 * one step is sent in the next. The last chunks may be short, or empty.
 */
static struct part part_of(const struct pass *pass, const struct lane *lane,
                           bool receives, size_t m)
{
    size_t size = (size_t)pass->size;
    size_t turn =
        (m / pass->messages + (receives ? 1 : 0) + (pass->kind == SCATTER)) %
        size;
    size_t chunk =
        ((size_t)pass->rank + (lane->to_left ? turn : size - turn)) % size;
    struct part part = {
        .offset = lane->begin + m % pass->messages * pass->message,
    };
    size_t end = lane->end;

    part.start = chunk * pass->chunk;
    end = least(end, pass->count - least(pass->count, part.start));
    if (part.offset < end)
        part.count = least(pass->message, end - part.offset);
    part.start += part.offset;
    return part;
}

/* One byte at least: a message always carries something. */
static size_t size_of(const struct cji_operation *operation,
                      const struct cji_flow *flow, size_t m)
{
    const struct pass *pass = operation->ctx;
    struct part part = part_of(pass, flow->tag, flow->receives, m);

    return part.count > 0 ? part.count * pass->element : 1;
}

static void fill(struct cji_operation *operation, const struct cji_flow *flow,
                 size_t m, unsigned char *data)
{
    const struct pass *pass = operation->ctx;
    struct part part = part_of(pass, flow->tag, false, m);
    bool own = m < pass->messages && pass->kind != GATHER;
    bool packed = !own && pass->kind == SCATTER;
    const unsigned char *from = own ? pass->in : pass->out;

    if (part.count == 0)
        data[0] = 0;
    else
        memcpy(data, from + (packed ? part.offset : part.start) * pass->element,
               part.count * pass->element);
}

static bool is_combined(const struct pass *pass, size_t m)
{
    return pass->kind == REDUCE && m / pass->messages < (size_t)pass->size - 1;
}

/* Operands in the order in which JACCL has them. */
static void use(struct pass *pass, const struct lane *lane, size_t m,
                const unsigned char *data)
{
    struct part part = part_of(pass, lane, true, m);
    const unsigned char *in = pass->in + part.start * pass->element;
    unsigned char *out = pass->out + part.start * pass->element;

    if (part.count == 0)
        return;
    if (pass->kind == SCATTER)
        cji_reduce_to(pass->reduction, pass->type, data, in,
                      pass->out + part.offset * pass->element, part.count);
    else if (!is_combined(pass, m))
        memcpy(out, data, part.count * pass->element);
    else if (pass->in == pass->out)
        cji_reduce(pass->reduction, pass->type, data, out, part.count);
    else
        cji_reduce_to(pass->reduction, pass->type, in, data, out, part.count);
}

/*
 * sum_scatter has room for one chunk: what came in the last step has to be
 * under way before it is replaced.
 */
static bool may_use(const struct pass *pass, const struct lane *lane)
{
    return lane->recv->used < lane->recv->arrived &&
           (pass->kind != SCATTER || lane->recv->used < lane->send->posted);
}

static void progress(struct cj_group *group, struct cji_operation *operation)
{
    struct pass *pass = operation->ctx;

    for (int i = 0; i < pass->lane_count; i++) {
        struct lane *lane = &pass->lanes[i];

        while (may_use(pass, lane)) {
            use(pass, lane, lane->recv->used,
                cji_flow_data(group, lane->recv, lane->recv->used));
            lane->recv->used++;
        }
        lane->send->ready =
            least(lane->send->messages, pass->messages + lane->recv->used);
    }
}

static struct cji_link *link_of(struct cj_group *group, bool left, int wire)
{
    return &group->links[left ? wire : group->wires + wire];
}

static struct cji_flow *add_flow(struct cji_operation *operation,
                                 struct cji_link *link, bool receives,
                                 void *tag)
{
    struct cji_flow *flow = &operation->flows[operation->flow_count++];

    memset(flow, 0, sizeof *flow);
    flow->receives = receives;
    flow->link_count = 1;
    flow->links[0] = link;
    flow->tag = tag;
    return flow;
}

/* `slice`: elements of a chunk that each lane has, but for the last ones. */
static void add_lane(struct cj_group *group, struct pass *pass,
                     struct cji_operation *operation, bool to_left, int wire,
                     int wires, size_t slice)
{
    struct lane *lane = &pass->lanes[pass->lane_count++];
    size_t position = (size_t)(wire + (to_left ? wires : 0));
    size_t bytes = pass->message * pass->element;

    lane->to_left = to_left;
    lane->begin = position * slice;
    lane->end = least(pass->chunk, lane->begin + slice);
    lane->send =
        add_flow(operation, link_of(group, to_left, wire), false, lane);
    lane->recv =
        add_flow(operation, link_of(group, !to_left, wire), true, lane);
    lane->send->messages = lane->recv->messages = pass->steps * pass->messages;
    lane->send->message = lane->recv->message = bytes;
    lane->send->round = lane->recv->round = pass->messages;
    lane->send->ready = pass->messages;
}

uint64_t cji_ring_digest(const struct cj_group *group, size_t count,
                         enum cj_type type)
{
    return cji_digest(cji_digest(cji_digest(0, (uint64_t)group->step), count),
                      (uint64_t)type);
}

/* Sets up the lanes and runs it. */
static int run(struct cj_group *group, struct pass *pass, int directions,
               int wires)
{
    size_t slice = divide_up(pass->chunk, (size_t)(directions * wires));
    size_t bytes = cji_payload(group, slice * pass->element);
    struct cji_operation operation = {
        .digest = cji_ring_digest(group, pass->count, pass->type),
        .size = size_of,
        .fill = fill,
        .progress = progress,
        .ctx = pass,
    };

    pass->rank = group->rank;
    pass->size = group->size;
    pass->message = bytes / pass->element;
    pass->messages = divide_up(slice, pass->message);
    for (int wire = 0; wire < wires; wire++) {
        for (int direction = 0; direction < directions; direction++)
            add_lane(group, pass, &operation, direction == 1, wire, wires,
                     slice);
    }
    return cji_run(group, &operation);
}

static bool is_few(const struct cj_group *group, size_t count)
{
    return count < 2 * (size_t)group->size * (size_t)group->wires;
}

int cji_ring_all_reduce(struct cj_group *group, enum cji_reduction reduction,
                        const void *in, void *out, size_t count,
                        enum cj_type type)
{
    size_t element = cj_type_size(type);
    bool small = count * element <= SMALL_REDUCE || is_few(group, count);
    struct pass pass = {
        .kind = REDUCE,
        .in = in,
        .out = out,
        .reduction = reduction,
        .type = type,
        .element = element,
        .count = count,
        .chunk = divide_up(count, (size_t)group->size),
        .steps = 2 * ((size_t)group->size - 1),
    };

    if (small && cji_ring_pair_can(group, count * element))
        return cji_ring_pair_reduce(group, reduction, in, out, count, type);
    return run(group, &pass, small ? 1 : 2, small ? 1 : group->wires);
}

bool cji_ring_has_gather(const struct cj_group *group)
{
    return group->wire != CJI_WIRE_JACCL;
}

int cji_ring_all_gather(struct cj_group *group, const void *in, void *out,
                        size_t bytes)
{
    bool small = bytes <= SMALL_REDUCE || is_few(group, bytes);
    unsigned char *own = (unsigned char *)out + (size_t)group->rank * bytes;
    struct pass pass = {
        .kind = GATHER,
        .in = out,
        .out = out,
        .type = CJ_UINT8,
        .element = 1,
        .count = bytes * (size_t)group->size,
        .chunk = bytes,
        .steps = (size_t)group->size - 1,
    };

    if (own != in)
        memcpy(own, in, bytes);
    return run(group, &pass, small ? 1 : 2, small ? 1 : group->wires);
}

/* Where one chunk is combined: not in what is still to be read. */
static unsigned char *get_room(struct cj_group *group, const void *in,
                               void *out, size_t chunk)
{
    uintptr_t first = (uintptr_t)in;
    uintptr_t place = (uintptr_t)out;
    size_t all = chunk * (size_t)group->size;

    if (place >= first + all || first >= place + chunk)
        return out;
    return group->allocator.alloc(group->allocator.ctx, CJI_FRAME_SIZE, chunk);
}

int cji_ring_sum_scatter(struct cj_group *group, const void *in, void *out,
                         size_t count, enum cj_type type)
{
    size_t element = cj_type_size(type);
    size_t bytes = count * element;
    size_t all = count * (size_t)group->size;
    bool small = bytes <= SMALL_SCATTER || is_few(group, all);
    unsigned char *room = get_room(group, in, out, bytes);
    struct pass pass = {
        .kind = SCATTER,
        .in = in,
        .out = room,
        .reduction = CJI_SUM,
        .type = type,
        .element = element,
        .count = all,
        .chunk = count,
        .steps = (size_t)group->size - 1,
    };
    int status;

    if (room == NULL)
        return cji_fail(group, CJ_NO_MEMORY, cji_about_none(ENOMEM),
                        "sum_scatter: no memory for %zu bytes, which it needs "
                        "where its output is part of its input",
                        bytes);
    status = run(group, &pass, 2, small ? 1 : group->wires);
    if (room == out)
        return status;
    if (status == CJ_OK)
        memcpy(out, room, bytes);
    group->allocator.free(group->allocator.ctx, room, bytes);
    return status;
}
