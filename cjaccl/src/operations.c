/* The operations' entries: what is wrong is refused, what is trivial is done,
 * the rest goes to the mesh or the ring. */
#include "arguments.h"
#include "device.h"
#include "error.h"
#include "mesh.h"
#include "notice.h"
#include "ring.h"
#include "side.h"

#include <string.h>

static int report_failed(const struct cj_group *group, enum cj_step step,
                         struct cj_error *error)
{
    const struct cj_error *first = &group->error;
    struct cji_about about = {
        .peer = first->peer,
        .device = first->device,
        .err_no = first->err_no,
    };

    return cji_error_fill(error, CJ_GROUP_FAILED, step, group->rank, about,
                          "the group failed earlier, in %s, and can only be "
                          "finalized; that error was: %s",
                          cj_strstep(first->step), first->message);
}

/* After a failure the others have to hear that this rank does not go on. */
static int leave(struct cj_group *group, int status, struct cj_error *error)
{
    if (status == CJ_OK)
        return CJ_OK;
    cji_notices_send(group);
    cji_side_close(group);
    *error = group->error;
    return status;
}

/*
 * Whether the operation may begin: not in a group that failed or in a child of
 * its process, and not with arguments that have a flaw. Where it may, the group
 * is in its step; there will be a deadline once something is waited for.
 */
static int enter(struct cj_group *group, enum cj_step step, const char *flaw,
                 struct cj_error *error)
{
    if (group->owner != cji_process())
        return cji_error_fill(error, CJ_INVALID, step, group->rank,
                              cji_about_none(0),
                              "%s: this process was forked from the one that "
                              "the group belongs to, and can only finalize it",
                              cj_strstep(step));
    if (group->error.code != CJ_OK)
        return report_failed(group, step, error);
    if (flaw != NULL)
        return cji_error_fill(error, CJ_INVALID, step, group->rank,
                              cji_about_none(0), "%s: %s", cj_strstep(step),
                              flaw);
    group->step = step;
    group->timeout = group->operation_timeout;
    group->deadline = CJI_LATER;
    error->code = CJ_OK;
    if (group->device_count == 0)
        return CJ_OK;
    return leave(group,
                 cji_ports_check(group, group->clock.now_ns(group->clock.ctx)),
                 error);
}

/* What all ranks have to do is not begun when one is known to be gone. */
static int begin_collective(struct cj_group *group)
{
    int gone;

    group->collectives++;
    gone = cji_notices_gone(group);
    return gone < 0 ? CJ_OK : cji_notices_fail(group, gone);
}

static int all_reduce(struct cj_group *group, enum cj_step step,
                      enum cji_reduction reduction, const void *in, void *out,
                      size_t count, enum cj_type type, struct cj_error *error)
{
    struct cj_error unwanted;
    int status;

    if (group == NULL)
        return cji_error_null(error, step, "the group");
    error = error != NULL ? error : &unwanted;
    status =
        enter(group, step, cji_flaw_of_reduce(in, out, count, type), error);
    if (status != CJ_OK || count == 0)
        return status;
    if (group->size == 1) {
        if (in != out)
            memcpy(out, in, count * cj_type_size(type));
        return CJ_OK;
    }
    status = begin_collective(group);
    if (status == CJ_OK)
        status =
            group->ring
                ? cji_ring_all_reduce(group, reduction, in, out, count, type)
                : cji_mesh_all_reduce(group, reduction, in, out, count, type);
    return leave(group, status, error);
}

int cj_all_sum(struct cj_group *group, const void *in, void *out, size_t count,
               enum cj_type type, struct cj_error *error)
{
    return all_reduce(group, CJ_STEP_ALL_SUM, CJI_SUM, in, out, count, type,
                      error);
}

int cj_all_max(struct cj_group *group, const void *in, void *out, size_t count,
               enum cj_type type, struct cj_error *error)
{
    return all_reduce(group, CJ_STEP_ALL_MAX, CJI_MAX, in, out, count, type,
                      error);
}

int cj_all_min(struct cj_group *group, const void *in, void *out, size_t count,
               enum cj_type type, struct cj_error *error)
{
    return all_reduce(group, CJ_STEP_ALL_MIN, CJI_MIN, in, out, count, type,
                      error);
}

int cj_all_gather(struct cj_group *group, const void *in, void *out,
                  size_t bytes, struct cj_error *error)
{
    struct cj_error unwanted;
    int status;

    if (group == NULL)
        return cji_error_null(error, CJ_STEP_ALL_GATHER, "the group");
    error = error != NULL ? error : &unwanted;
    status = enter(group, CJ_STEP_ALL_GATHER,
                   cji_flaw_of_gather(group, in, out, bytes), error);
    if (status != CJ_OK || bytes == 0)
        return status;
    if (group->size == 1) {
        if (in != out)
            memcpy(out, in, bytes);
        return CJ_OK;
    }
    if (group->ring && !cji_ring_has_gather(group))
        return cji_error_fill(error, CJ_UNSUPPORTED, CJ_STEP_ALL_GATHER,
                              group->rank, cji_about_none(0),
                              "all_gather: a rank of this ring is JACCL, whose "
                              "own all_gather gives wrong data in a ring: use "
                              "cjaccl on every rank, or a mesh");
    status = begin_collective(group);
    if (status == CJ_OK)
        status = group->ring ? cji_ring_all_gather(group, in, out, bytes)
                             : cji_mesh_all_gather(group, in, out, bytes);
    return leave(group, status, error);
}

int cj_sum_scatter(struct cj_group *group, const void *in, void *out,
                   size_t count, enum cj_type type, struct cj_error *error)
{
    struct cj_error unwanted;
    int status;

    if (group == NULL)
        return cji_error_null(error, CJ_STEP_SUM_SCATTER, "the group");
    error = error != NULL ? error : &unwanted;
    status = enter(group, CJ_STEP_SUM_SCATTER,
                   cji_flaw_of_scatter(group, in, out, count, type), error);
    if (status != CJ_OK || count == 0)
        return status;
    if (group->size == 1) {
        if (in != out)
            memcpy(out, in, count * cj_type_size(type));
        return CJ_OK;
    }
    status = begin_collective(group);
    if (status == CJ_OK)
        status = group->ring
                     ? cji_ring_sum_scatter(group, in, out, count, type)
                     : cji_mesh_sum_scatter(group, in, out, count, type);
    return leave(group, status, error);
}

int cj_send(struct cj_group *group, const void *in, size_t bytes, int to,
            struct cj_error *error)
{
    struct cj_error unwanted;
    int status;

    if (group == NULL)
        return cji_error_null(error, CJ_STEP_SEND, "the group");
    error = error != NULL ? error : &unwanted;
    status = enter(group, CJ_STEP_SEND, cji_flaw_of_move(group, in, bytes, to),
                   error);
    if (status != CJ_OK || bytes == 0)
        return status;
    status = group->ring ? cji_ring_send(group, in, bytes, to)
                         : cji_mesh_send(group, in, bytes, to);
    return leave(group, status, error);
}

int cj_recv(struct cj_group *group, void *out, size_t bytes, int from,
            struct cj_error *error)
{
    struct cj_error unwanted;
    int status;

    if (group == NULL)
        return cji_error_null(error, CJ_STEP_RECV, "the group");
    error = error != NULL ? error : &unwanted;
    status = enter(group, CJ_STEP_RECV,
                   cji_flaw_of_move(group, out, bytes, from), error);
    if (status != CJ_OK || bytes == 0)
        return status;
    status = group->ring ? cji_ring_recv(group, out, bytes, from)
                         : cji_mesh_recv(group, out, bytes, from);
    return leave(group, status, error);
}

/* As in JACCL: nobody has the sum of a byte before everybody has sent one. */
int cj_barrier(struct cj_group *group, struct cj_error *error)
{
    unsigned char byte = 0;

    return all_reduce(group, CJ_STEP_BARRIER, CJI_SUM, &byte, &byte, 1,
                      CJ_UINT8, error);
}

void cj_group_info(const struct cj_group *group, struct cj_info *info)
{
    if (info == NULL)
        return;
    memset(info, 0, sizeof *info);
    if (group == NULL)
        return;
    info->ring = group->ring;
    info->sockets = group->wire == CJI_WIRE_STREAM;
    info->all_cjaccl = group->size == 1 || group->all_cjaccl;
    info->wires = group->ring ? group->wires : group->size > 1;
    info->memory = group->arena_size + sizeof *group;
    for (int i = 0; i < group->link_count; i++)
        info->queue_pairs += group->links[i].qp != NULL;
    for (int i = 0; i < group->device_count; i++) {
        if (group->devices[i].mr == NULL)
            continue;
        info->regions++;
        info->registered += group->arena_size;
    }
}
