/* The operations that are on their way. */
#include "error.h"
#include "group.h"

#include <string.h>

static int not_yet(const struct cj_group *group, enum cj_step step,
                   struct cj_error *error)
{
    struct cj_error unwanted;

    return cji_error_fill(error != NULL ? error : &unwanted, CJ_UNSUPPORTED,
                          step, group->rank, cji_about_none(0), "%s: not yet",
                          cj_strstep(step));
}

int cj_all_max(struct cj_group *group, const void *in, void *out, size_t count,
               enum cj_type type, struct cj_error *error)
{
    (void)in, (void)out, (void)count, (void)type;
    return not_yet(group, CJ_STEP_ALL_MAX, error);
}

int cj_all_min(struct cj_group *group, const void *in, void *out, size_t count,
               enum cj_type type, struct cj_error *error)
{
    (void)in, (void)out, (void)count, (void)type;
    return not_yet(group, CJ_STEP_ALL_MIN, error);
}

int cj_all_gather(struct cj_group *group, const void *in, void *out,
                  size_t bytes, struct cj_error *error)
{
    (void)in, (void)out, (void)bytes;
    return not_yet(group, CJ_STEP_ALL_GATHER, error);
}

int cj_sum_scatter(struct cj_group *group, const void *in, void *out,
                   size_t count, enum cj_type type, struct cj_error *error)
{
    (void)in, (void)out, (void)count, (void)type;
    return not_yet(group, CJ_STEP_SUM_SCATTER, error);
}

int cj_send(struct cj_group *group, const void *in, size_t bytes, int to,
            struct cj_error *error)
{
    (void)in, (void)bytes, (void)to;
    return not_yet(group, CJ_STEP_SEND, error);
}

int cj_recv(struct cj_group *group, void *out, size_t bytes, int from,
            struct cj_error *error)
{
    (void)out, (void)bytes, (void)from;
    return not_yet(group, CJ_STEP_RECV, error);
}

void cj_info(const struct cj_group *group, struct cj_info *info)
{
    memset(info, 0, sizeof *info);
    info->memory = group->arena_size;
}
