/* Reductions in a mesh. */
#include "mesh.h"

#include "mesh_work.h"

#include <string.h>

#define SMALL_BYTES ((size_t)32 * 1024)

/* What tells operations of one step apart. */
enum { EVERYWHERE = 1, SCATTER };

static const unsigned char *place_of_part(const struct cji_operation *operation,
                                          const struct cji_flow *flow, size_t m)
{
    const struct cji_mesh_work *work = operation->ctx;

    return work->in + (size_t)flow->links[0]->peer * work->bytes +
           cji_mesh_offset(work, m);
}

/*
 * The operands of message m, in the order in which they are combined: that of
 * the ranks, or one's own first. Returns where one's own is among them.
 */
static int list_operands(const struct cj_group *group,
                         const struct cji_mesh_work *work, size_t m,
                         unsigned char *operands[CJ_MAX_MESH_RANKS])
{
    const struct cji_operation *operation = &work->operation;
    int own_at = work->own_first ? 0 : work->rank;
    int next = 0;

    for (int i = 0; i < operation->flow_count; i++) {
        const struct cji_flow *flow = &operation->flows[i];

        if (!flow->receives)
            continue;
        next += next == own_at;
        operands[next++] = cji_flow_data(group, flow, m);
    }
    return own_at;
}

/*
 * out = operands[0] OP operands[1] OP ... `out` may be one's own operand, which
 * then must not be written to before its turn: what comes before it is combined
 * in the first one's slot.
 */
static void combine(const struct cji_mesh_work *work, size_t m, int count,
                    unsigned char *operands[CJ_MAX_MESH_RANKS], int own_at)
{
    size_t bytes = cji_mesh_size(work, m);
    size_t n = bytes / cj_type_size(work->type);
    const unsigned char *own = work->own + cji_mesh_offset(work, m);
    unsigned char *out = work->out + cji_mesh_offset(work, m);
    int last = own == out && own_at > 0 ? own_at : 1;

    /* Nobody writes to it, unless it is `out`. */
    operands[own_at] = (unsigned char *)(uintptr_t)own;
    for (int i = 1; i < last; i++)
        cji_reduce(work->reduction, work->type, operands[i], operands[0], n);
    cji_reduce_to(work->reduction, work->type, operands[0], operands[last], out,
                  n);
    for (int i = last + 1; i < count; i++)
        cji_reduce(work->reduction, work->type, operands[i], out, n);
}

/* Come from everybody, and not needed any more where `out` goes. */
static bool is_here(const struct cj_group *group,
                    const struct cji_operation *operation, size_t m)
{
    for (int i = 0; i < operation->flow_count; i++) {
        const struct cji_flow *flow = &operation->flows[i];

        if ((flow->receives ? flow->arrived : cji_flow_let_go(group, flow)) <=
            m)
            return false;
    }
    return true;
}

static void reduce_arrived(struct cj_group *group,
                           struct cji_operation *operation)
{
    struct cji_mesh_work *work = operation->ctx;
    unsigned char *operands[CJ_MAX_MESH_RANKS];
    size_t m = operation->flows[operation->flow_count - 1].used;

    for (; m < operation->flows[0].messages && is_here(group, operation, m);
         m++) {
        int own_at = list_operands(group, work, m, operands);

        combine(work, m, group->size, operands, own_at);
        for (int i = 0; i < operation->flow_count; i++)
            operation->flows[i].used++;
    }
}

static uint64_t kind_of(enum cji_reduction reduction, enum cj_type type,
                        int what)
{
    return (uint64_t)what << 16 | (uint64_t)reduction << 8 | (uint64_t)type;
}

/* The first way. */
static int reduce_everywhere(struct cj_group *group,
                             enum cji_reduction reduction, const void *in,
                             void *out, size_t bytes, enum cj_type type)
{
    struct cji_mesh_work work;

    cji_mesh_prepare(group, &work, bytes, kind_of(reduction, type, EVERYWHERE));
    cji_mesh_set_place(&work, in, bytes, cji_mesh_place);
    work.own = in;
    work.out = out;
    work.reduction = reduction;
    work.type = type;
    work.operation.progress = reduce_arrived;
    cji_mesh_add_send_to_all(group, &work);
    cji_mesh_add_receives(group, &work);
    return cji_run(group, &work.operation);
}

/* Leaves part `rank` of all, `bytes` long, at `out`. */
static int reduce_scatter(struct cj_group *group, enum cji_reduction reduction,
                          const void *in, void *out, size_t bytes,
                          enum cj_type type)
{
    struct cji_mesh_work work;

    cji_mesh_prepare(group, &work, bytes, kind_of(reduction, type, SCATTER));
    cji_mesh_set_place(&work, in, bytes * (size_t)group->size, place_of_part);
    work.own = work.in + (size_t)group->rank * bytes;
    work.own_first = group->wire == CJI_WIRE_JACCL;
    work.out = out;
    work.reduction = reduction;
    work.type = type;
    work.operation.progress = reduce_arrived;
    for (int i = 0; i < group->link_count; i++)
        cji_mesh_add_send(&work, &group->links[i]);
    cji_mesh_add_receives(group, &work);
    return cji_run(group, &work.operation);
}

int cji_mesh_sum_scatter(struct cj_group *group, const void *in, void *out,
                         size_t count, enum cj_type type)
{
    return reduce_scatter(group, CJI_SUM, in, out, count * cj_type_size(type),
                          type);
}

int cji_mesh_all_reduce(struct cj_group *group, enum cji_reduction reduction,
                        const void *in, void *out, size_t count,
                        enum cj_type type)
{
    size_t element = cj_type_size(type);
    size_t bytes = count * element;
    size_t part = count / (size_t)group->size * element;
    size_t divided = part * (size_t)group->size;
    unsigned char *own = (unsigned char *)out + (size_t)group->rank * part;
    int status;

    if (group->size == 2 || bytes <= SMALL_BYTES)
        return reduce_everywhere(group, reduction, in, out, bytes, type);
    status = reduce_scatter(group, reduction, in, own, part, type);
    if (status == CJ_OK)
        status = cji_mesh_all_gather(group, own, out, part);
    if (status == CJ_OK && divided < bytes)
        status = reduce_everywhere(
            group, reduction, (const unsigned char *)in + divided,
            (unsigned char *)out + divided, bytes - divided, type);
    return status;
}
