/*
 * A small all-reduce in a ring of two ranks of cjaccl. Over the ring it takes
 * two steps and uses each wire in one direction only, so that credits need
 * messages of their own. Here both ranks send all they have over one wire, and
 * combine it as the ring would: each half by what the rank that it ends its
 * first step at has, then the other's.
 */
#include "flow.h"
#include "ring.h"

#include <string.h>

struct exchange {
    int rank;
    const unsigned char *in;
    unsigned char *out;
    enum cji_reduction reduction;
    enum cj_type type;
    size_t count;
};

static size_t size_of(const struct cji_operation *operation,
                      const struct cji_flow *flow, size_t m)
{
    const struct exchange *exchange = operation->ctx;

    (void)flow;
    (void)m;
    return exchange->count * cj_type_size(exchange->type);
}

static void fill(struct cji_operation *operation, const struct cji_flow *flow,
                 size_t m, unsigned char *data)
{
    const struct exchange *exchange = operation->ctx;

    memcpy(data, exchange->in, size_of(operation, flow, m));
}

/* Half 0 is rank 0's to begin with, and ends its first step at rank 1. */
static void combine_half(const struct exchange *exchange, int half,
                         unsigned char *theirs)
{
    size_t element = cj_type_size(exchange->type);
    size_t first = (exchange->count + 1) / 2;
    size_t begin = half == 0 ? 0 : first * element;
    size_t count = half == 0 ? first : exchange->count - first;
    const unsigned char *in = exchange->in + begin;
    unsigned char *out = exchange->out + begin;

    theirs += begin;
    if (half == exchange->rank) {
        cji_reduce(exchange->reduction, exchange->type, in, theirs, count);
        memcpy(out, theirs, count * element);
    } else if (in == out) {
        cji_reduce(exchange->reduction, exchange->type, theirs, out, count);
    } else {
        cji_reduce_to(exchange->reduction, exchange->type, in, theirs, out,
                      count);
    }
}

/* `out` may be where `in` is: that has to be under way first. */
static void progress(struct cj_group *group, struct cji_operation *operation)
{
    const struct exchange *exchange = operation->ctx;
    const struct cji_flow *send = &operation->flows[0];
    struct cji_flow *recv = &operation->flows[1];

    if (send->posted == 0 || recv->used == recv->arrived)
        return;
    combine_half(exchange, 0, cji_flow_data(group, recv, 0));
    combine_half(exchange, 1, cji_flow_data(group, recv, 0));
    recv->used = 1;
}

bool cji_ring_pair_can(const struct cj_group *group, size_t bytes)
{
    return group->size == 2 && group->wire != CJI_WIRE_JACCL &&
           bytes <= cji_payload(group, bytes);
}

int cji_ring_pair_reduce(struct cj_group *group, enum cji_reduction reduction,
                         const void *in, void *out, size_t count,
                         enum cj_type type)
{
    /* Rank 0's first wire to the right is rank 1's first to the left. */
    struct cji_link *link = &group->links[group->rank == 0 ? group->wires : 0];
    struct exchange exchange = {
        .rank = group->rank,
        .in = in,
        .out = out,
        .reduction = reduction,
        .type = type,
        .count = count,
    };
    struct cji_operation operation = {
        .digest = cji_ring_digest(group, count, type),
        .flow_count = 2,
        .size = size_of,
        .fill = fill,
        .progress = progress,
        .ctx = &exchange,
    };

    for (int i = 0; i < 2; i++) {
        struct cji_flow *flow = &operation.flows[i];

        flow->receives = i == 1;
        flow->link_count = 1;
        flow->links[0] = link;
        flow->messages = 1;
        flow->message = cji_payload(group, count * cj_type_size(type));
        flow->ready = 1;
    }
    return cji_run(group, &operation);
}
