/* The life of a group: cj_init, cj_finalize. */
#include "group.h"

#include "config.h"
#include "defaults.h"
#include "error.h"
#include "release.h"
#include "start.h"
#include "topology.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SECOND_NS ((int64_t)1000000000)
#define START_TIMEOUT_NS (60 * SECOND_NS)
#define OPERATION_TIMEOUT_NS (600 * SECOND_NS)

void cji_begin(struct cj_group *group, enum cj_step step, int64_t timeout)
{
    int64_t now = group->clock.now_ns(group->clock.ctx);

    group->step = step;
    group->timeout = timeout;
    group->deadline = now > INT64_MAX - timeout ? INT64_MAX : now + timeout;
}

static void set_hooks(struct cj_group *group, const struct cj_config *config)
{
    group->library =
        config->library != NULL ? *config->library : cji_default_library;
    group->clock = config->clock != NULL ? *config->clock : cji_default_clock;
    group->net = config->net != NULL ? *config->net : cji_default_net;
    if (config->gather != NULL)
        group->gather = *config->gather;
}

static struct cj_group *create(const struct cj_config *config,
                               const struct cji_topology *topology)
{
    const struct cj_allocator *allocator = config->allocator;
    struct cj_group *group;

    if (allocator == NULL)
        allocator = &cji_default_allocator;
    group = allocator->alloc(allocator->ctx, _Alignof(struct cj_group),
                             sizeof *group);
    if (group == NULL)
        return NULL;
    memset(group, 0, sizeof *group);
    group->rank = config->rank;
    group->size = config->size;
    group->ring = topology->ring;
    group->wires = topology->wires;
    group->operation_timeout = config->operation_timeout_ns != 0
                                   ? config->operation_timeout_ns
                                   : OPERATION_TIMEOUT_NS;
    cji_process_watch();
    group->owner = cji_process();
    group->allocator = *allocator;
    set_hooks(group, config);
    for (int rank = 0; rank < CJ_MAX_RANKS; rank++)
        group->ends[rank] = -1;
    if (config->size > 1 && config->backend == CJ_BACKEND_RDMA)
        cji_topology_lay_out(group);
    return group;
}

static void destroy(struct cj_group *group)
{
    struct cj_allocator allocator = group->allocator;

    allocator.free(allocator.ctx, group, sizeof *group);
}

/* Adds what could not be released to the end of the message. */
static void append_release_failure(const struct cj_group *group,
                                   struct cj_error *error)
{
    size_t used = strlen(error->message);

    if (group->release_failures == 0)
        return;
    (void)snprintf(error->message + used, sizeof error->message - used,
                   " (and %d of what was built could not be released, first "
                   "%s)",
                   group->release_failures, group->release_failure);
}

/* Takes down what start-up has built so far, and tells why. */
static int abandon(struct cj_group *group, struct cj_error *error)
{
    cji_release(group);
    *error = group->error;
    append_release_failure(group, error);
    destroy(group);
    return error->code;
}

int cj_init(const struct cj_config *config, struct cj_group **result,
            struct cj_error *error)
{
    struct cj_error unwanted;
    struct cji_address coordinator;
    struct cji_topology topology;
    struct cj_group *group;
    int status;

    if (error == NULL)
        error = &unwanted;
    if (result != NULL)
        *result = NULL;
    if (config == NULL || result == NULL)
        return cji_error_null(error, CJ_STEP_CONFIG,
                              config == NULL ? "the configuration"
                                             : "the place for the group");
    status = cji_config_check(config, &coordinator, &topology, error);
    if (status != CJ_OK)
        return status;
    group = create(config, &topology);
    if (group == NULL)
        return cji_error_fill(error, CJ_NO_MEMORY, CJ_STEP_CONFIG, config->rank,
                              cji_about_none(ENOMEM),
                              "no memory for a group (%zu bytes)",
                              sizeof *group);
    cji_begin(group, CJ_STEP_CONFIG,
              config->start_timeout_ns != 0 ? config->start_timeout_ns
                                            : START_TIMEOUT_NS);
    status = config->size == 1 ? CJ_OK : cji_start(group, config, &coordinator);
    if (status != CJ_OK)
        return abandon(group, error);
    *result = group;
    error->code = CJ_OK;
    return CJ_OK;
}

int cj_finalize(struct cj_group *group, struct cj_error *error)
{
    struct cj_error unwanted;
    int status = CJ_OK;

    if (error == NULL)
        error = &unwanted;
    error->code = CJ_OK;
    if (group == NULL)
        return CJ_OK;
    cji_release(group);
    if (group->release_failures > 0)
        status = cji_error_fill(
            error, CJ_VERBS, CJ_STEP_FINALIZE, group->rank, cji_about_none(0),
            "%d of the group's objects could not be released, first %s; the "
            "rest was, and the end of the process releases these",
            group->release_failures, group->release_failure);
    destroy(group);
    return status;
}

int cj_rank(const struct cj_group *group)
{
    return group == NULL ? -1 : group->rank;
}

int cj_size(const struct cj_group *group)
{
    return group == NULL ? 0 : group->size;
}
