#include "mesh_work.h"

static size_t size_of(const struct cji_operation *operation,
                      const struct cji_flow *flow, size_t m)
{
    (void)flow;
    return cji_mesh_size(operation->ctx, m);
}

void cji_mesh_prepare(struct cj_group *group, struct cji_mesh_work *work,
                      size_t bytes, uint64_t kind)
{
    work->bytes = bytes;
    work->payload = cji_payload(group, bytes);
    work->rank = group->rank;
    work->own_first = false;
    work->operation.digest =
        cji_digest(cji_digest(cji_digest(kind, (uint64_t)group->step), bytes),
                   (uint64_t)group->size);
    work->operation.flow_count = 0;
    work->operation.size = size_of;
    work->operation.place = NULL;
    work->operation.fill = NULL;
    work->operation.ctx = work;
}

void cji_mesh_set_place(
    struct cji_mesh_work *work, const void *source, size_t size,
    const unsigned char *(*place)(const struct cji_operation *operation,
                                  const struct cji_flow *flow, size_t m))
{
    work->in = source;
    work->operation.source = source;
    work->operation.source_size = size;
    work->operation.place = place;
}

const unsigned char *cji_mesh_place(const struct cji_operation *operation,
                                    const struct cji_flow *flow, size_t m)
{
    const struct cji_mesh_work *work = operation->ctx;

    (void)flow;
    return work->in + cji_mesh_offset(work, m);
}

static struct cji_flow *add_flow(struct cji_mesh_work *work, bool receives)
{
    struct cji_flow *flow =
        &work->operation.flows[work->operation.flow_count++];

    flow->receives = receives;
    flow->link_count = 0;
    flow->messages = (work->bytes + work->payload - 1) / work->payload;
    flow->message = work->payload;
    flow->round = 0;
    flow->ready = flow->messages;
    flow->used = 0;
    flow->tag = NULL;
    return flow;
}

void cji_mesh_add_send(struct cji_mesh_work *work, struct cji_link *link)
{
    struct cji_flow *flow = add_flow(work, false);

    flow->links[flow->link_count++] = link;
}

void cji_mesh_add_send_to_all(struct cj_group *group,
                              struct cji_mesh_work *work)
{
    struct cji_flow *flow = add_flow(work, false);

    for (int i = 0; i < group->link_count; i++)
        flow->links[flow->link_count++] = &group->links[i];
}

void cji_mesh_add_receive(struct cji_mesh_work *work, struct cji_link *link)
{
    struct cji_flow *flow = add_flow(work, true);

    flow->links[flow->link_count++] = link;
}

void cji_mesh_add_receives(struct cj_group *group, struct cji_mesh_work *work)
{
    for (int i = 0; i < group->link_count; i++)
        cji_mesh_add_receive(work, &group->links[i]);
}

struct cji_link *cji_mesh_link(struct cj_group *group, int peer)
{
    return &group->links[peer < group->rank ? peer : peer - 1];
}
