/* What a mesh moves without combining it. */
#include "mesh.h"

#include "mesh_work.h"

#include <string.h>

/* The digest of a send and of the recv that takes it. */
#define BETWEEN_TWO 0x70327021u
#define GATHER 0x67617468u

/* Takes out what the flow has got, to `out`. */
static void take(const struct cj_group *group, const struct cji_mesh_work *work,
                 struct cji_flow *flow, unsigned char *out)
{
    for (; flow->used < flow->arrived; flow->used++)
        memcpy(out + cji_mesh_offset(work, flow->used),
               cji_flow_data(group, flow, flow->used),
               cji_mesh_size(work, flow->used));
}

static void take_parts(struct cj_group *group, struct cji_operation *operation)
{
    struct cji_mesh_work *work = operation->ctx;

    /* One's own part, while the first messages are on their way. */
    if (work->own != NULL)
        memmove(work->out + (size_t)work->rank * work->bytes, work->own,
                work->bytes);
    work->own = NULL;
    for (int i = 0; i < operation->flow_count; i++) {
        struct cji_flow *flow = &operation->flows[i];

        if (flow->receives)
            take(group, work, flow,
                 work->out + (size_t)flow->links[0]->peer * work->bytes);
    }
}

int cji_mesh_all_gather(struct cj_group *group, const void *in, void *out,
                        size_t bytes)
{
    struct cji_mesh_work work;

    cji_mesh_prepare(group, &work, bytes, GATHER);
    cji_mesh_set_place(&work, in, bytes, cji_mesh_place);
    work.out = out;
    work.own = in == work.out + (size_t)group->rank * bytes ? NULL : in;
    work.operation.progress = take_parts;
    cji_mesh_add_send_to_all(group, &work);
    cji_mesh_add_receives(group, &work);
    return cji_run(group, &work.operation);
}

static void nothing(struct cj_group *group, struct cji_operation *operation)
{
    (void)group;
    (void)operation;
}

static void take_all(struct cj_group *group, struct cji_operation *operation)
{
    struct cji_mesh_work *work = operation->ctx;

    take(group, work, &operation->flows[0], work->out);
}

/* A send and its recv have the same digest, and so not the same step. */
static void prepare(struct cj_group *group, struct cji_mesh_work *work,
                    size_t bytes)
{
    cji_mesh_prepare(group, work, bytes, 0);
    work->operation.digest = cji_digest(BETWEEN_TWO, bytes);
}

int cji_mesh_send(struct cj_group *group, const void *in, size_t bytes, int to)
{
    struct cji_mesh_work work;

    prepare(group, &work, bytes);
    cji_mesh_set_place(&work, in, bytes, cji_mesh_place);
    work.operation.progress = nothing;
    cji_mesh_add_send(&work, cji_mesh_link(group, to));
    return cji_run(group, &work.operation);
}

int cji_mesh_recv(struct cj_group *group, void *out, size_t bytes, int from)
{
    struct cji_mesh_work work;

    prepare(group, &work, bytes);
    work.out = out;
    work.operation.progress = take_all;
    cji_mesh_add_receive(&work, cji_mesh_link(group, from));
    return cji_run(group, &work.operation);
}
