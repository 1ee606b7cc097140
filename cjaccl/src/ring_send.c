/* send and recv between neighbours of a ring. */
#include "flow.h"
#include "ring.h"
#include "topology.h"

#include <string.h>

/* A wire's slice of the data. */
struct slice {
    size_t begin;
    size_t end;
};

struct transfer {
    const unsigned char *in; /* of a send */
    unsigned char *out;      /* of a receive */
    size_t message;          /* bytes */
    struct slice slices[CJ_MAX_WIRES];
};

static size_t size_of(const struct cji_operation *operation,
                      const struct cji_flow *flow, size_t m)
{
    const struct transfer *transfer = operation->ctx;
    const struct slice *slice = flow->tag;
    size_t left = slice->end - slice->begin - m * transfer->message;

    return left < transfer->message ? left : transfer->message;
}

static size_t place_of(const struct transfer *transfer,
                       const struct cji_flow *flow, size_t m)
{
    const struct slice *slice = flow->tag;

    return slice->begin + m * transfer->message;
}

static void fill(struct cji_operation *operation, const struct cji_flow *flow,
                 size_t m, unsigned char *data)
{
    const struct transfer *transfer = operation->ctx;

    memcpy(data, transfer->in + place_of(transfer, flow, m),
           size_of(operation, flow, m));
}

static void progress(struct cj_group *group, struct cji_operation *operation)
{
    struct transfer *transfer = operation->ctx;

    for (int i = 0; i < operation->flow_count; i++) {
        struct cji_flow *flow = &operation->flows[i];

        while (flow->receives && flow->used < flow->arrived) {
            memcpy(transfer->out + place_of(transfer, flow, flow->used),
                   cji_flow_data(group, flow, flow->used),
                   size_of(operation, flow, flow->used));
            flow->used++;
        }
    }
}

static void add_flow(struct cji_operation *operation, struct cji_link *link,
                     bool receives, struct slice *slice, size_t message)
{
    struct cji_flow *flow = &operation->flows[operation->flow_count++];
    size_t bytes = slice->end - slice->begin;

    memset(flow, 0, sizeof *flow);
    flow->receives = receives;
    flow->link_count = 1;
    flow->links[0] = link;
    flow->tag = slice;
    flow->messages = bytes / message + (bytes % message != 0);
    flow->message = message;
    flow->ready = flow->messages;
}

/* What one rank does, in `step`, is the other's send. */
static int run(struct cj_group *group, struct transfer *transfer, size_t bytes,
               bool left, bool receives)
{
    size_t wires = (size_t)group->wires;
    size_t share = bytes / wires + (bytes % wires != 0);
    struct cji_operation operation = {
        .digest = cji_digest(cji_digest(0, CJ_STEP_SEND), bytes),
        .size = size_of,
        .fill = fill,
        .progress = progress,
        .ctx = transfer,
    };

    transfer->message = cji_payload(group, share);
    for (int wire = 0; wire < group->wires; wire++) {
        struct slice *slice = &transfer->slices[wire];
        size_t begin = (size_t)wire * share;

        slice->begin = begin < bytes ? begin : bytes;
        slice->end = begin + share < bytes ? begin + share : bytes;
        if (slice->begin < slice->end)
            add_flow(&operation,
                     &group->links[left ? wire : group->wires + wire], receives,
                     slice, transfer->message);
    }
    return cji_run(group, &operation);
}

int cji_ring_send(struct cj_group *group, const void *in, size_t bytes,
                  int peer)
{
    struct transfer transfer = {.in = in};

    return run(group, &transfer, bytes, peer == cji_left_of(group, group->rank),
               false);
}

int cji_ring_recv(struct cj_group *group, void *out, size_t bytes, int peer)
{
    struct transfer transfer = {.out = out};

    return run(group, &transfer, bytes,
               peer != cji_right_of(group, group->rank), true);
}
