/* The life of a group: cj_init, the operations' entry, cj_finalize. */
#include "group.h"

#include "all_sum.h"
#include "arena.h"
#include "config.h"
#include "connection.h"
#include "defaults.h"
#include "destination.h"
#include "device.h"
#include "error.h"
#include "release.h"
#include "side.h"
#include "verbs_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SECOND_NS ((int64_t)1000000000)
#define START_TIMEOUT_NS (60 * SECOND_NS)
#define OPERATION_TIMEOUT_NS (600 * SECOND_NS)

/* The step `step` begins and may take `timeout`. */
static void begin(struct cj_group *group, enum cj_step step, int64_t timeout)
{
    int64_t now = group->clock.now_ns(group->clock.ctx);

    group->step = step;
    group->timeout = timeout;
    group->deadline = now > INT64_MAX - timeout ? INT64_MAX : now + timeout;
}

static struct cj_group *create(const struct cj_config *config)
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
    group->operation_timeout = config->operation_timeout_ns != 0
                                   ? config->operation_timeout_ns
                                   : OPERATION_TIMEOUT_NS;
    group->wish = config->handshake;
    group->allocator = *allocator;
    group->library =
        config->library != NULL ? *config->library : cji_default_library;
    group->clock = config->clock != NULL ? *config->clock : cji_default_clock;
    group->net = config->net != NULL ? *config->net : cji_default_net;
    for (int rank = 0; rank < CJ_MAX_MESH_RANKS; rank++)
        group->ends[rank] = -1;
    return group;
}

static void destroy(struct cj_group *group)
{
    struct cj_allocator allocator = group->allocator;

    allocator.free(allocator.ctx, group, sizeof *group);
}

static int load_verbs(struct cj_group *group, const struct cj_config *config)
{
    if (config->verbs == NULL)
        return cji_verbs_load(group);
    group->verbs = *config->verbs;
    return CJ_OK;
}

/* Have all cjaccl ranks been told the same? A JACCL rank says 0 here. */
static int compare_digests(struct cj_group *group, const int32_t *all)
{
    for (int rank = 0; rank < group->size; rank++) {
        if (all[rank] != 0 && all[rank] != group->digest)
            return cji_fail(group, CJ_PROTOCOL, cji_about_peer(rank, 0),
                            "rank %d and rank %d were told different addresses "
                            "of the group: the side channel alters bytes, "
                            "which no network should; start again",
                            group->rank, rank);
    }
    return CJ_OK;
}

/*
 * JACCL meets twice here and does not look at what is said, so that is what its
 * ranks expect; cjaccl uses the first time to see that all know the same.
 */
static int start_barrier(struct cj_group *group)
{
    int32_t mine = group->digest;
    int32_t all[CJ_MAX_MESH_RANKS];
    int status;

    group->step = CJ_STEP_START_BARRIER;
    status = cji_side_gather(group, &mine, all, sizeof mine);
    if (status == CJ_OK)
        status = compare_digests(group, all);
    mine = 0;
    if (status == CJ_OK)
        status = cji_side_gather(group, &mine, all, sizeof mine);
    return status;
}

static int start(struct cj_group *group, const struct cj_config *config,
                 const struct cji_address *coordinator)
{
    struct cji_destination peers[CJ_MAX_MESH_RANKS];
    int status = cji_side_open(group, coordinator);

    if (status == CJ_OK)
        status = load_verbs(group, config);
    if (status == CJ_OK)
        status = cji_devices_open(group, config);
    if (status == CJ_OK)
        status = cji_devices_query(group);
    if (status == CJ_OK)
        status = cji_devices_alloc_pd(group);
    if (status == CJ_OK)
        status = cji_arena_alloc(group);
    if (status == CJ_OK)
        status = cji_arena_register(group);
    if (status == CJ_OK)
        status = cji_connections_create(group);
    if (status == CJ_OK)
        status = cji_destinations_exchange(group, peers);
    if (status == CJ_OK)
        status = cji_connections_connect(group, peers);
    if (status == CJ_OK)
        status = start_barrier(group);
    return status;
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
static int abandon(struct cj_group *group, int status, struct cj_error *error)
{
    cji_release(group);
    *error = group->error;
    append_release_failure(group, error);
    destroy(group);
    return status;
}

int cj_init(const struct cj_config *config, struct cj_group **result,
            struct cj_error *error)
{
    struct cj_error unwanted;
    struct cji_address coordinator;
    struct cj_group *group;
    int status;

    if (error == NULL)
        error = &unwanted;
    *result = NULL;
    status = cji_config_check(config, &coordinator, error);
    if (status != CJ_OK)
        return status;
    group = create(config);
    if (group == NULL)
        return cji_error_fill(error, CJ_NO_MEMORY, CJ_STEP_CONFIG, config->rank,
                              cji_about_none(ENOMEM),
                              "no memory for a group (%zu bytes)",
                              sizeof *group);
    begin(group, CJ_STEP_CONFIG,
          config->start_timeout_ns != 0 ? config->start_timeout_ns
                                        : START_TIMEOUT_NS);
    status = config->size == 1 ? CJ_OK : start(group, config, &coordinator);
    if (status != CJ_OK)
        return abandon(group, status, error);
    *result = group;
    error->code = CJ_OK;
    return CJ_OK;
}

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
static int conclude(struct cj_group *group, int status, struct cj_error *error)
{
    if (status == CJ_OK) {
        error->code = CJ_OK;
        return CJ_OK;
    }
    cji_side_close(group);
    *error = group->error;
    return status;
}

static bool overlap(const void *in, const void *out, size_t bytes)
{
    uintptr_t a = (uintptr_t)in;
    uintptr_t b = (uintptr_t)out;

    return a != b && (a < b ? b - a : a - b) < bytes;
}

/* What is wrong with the arguments of an all_sum, or NULL. */
static const char *find_flaw(const void *in, const void *out, size_t count,
                             enum cj_type type)
{
    size_t element = cj_type_size(type);
    size_t align = type == CJ_COMPLEX64 ? sizeof(float) : element;

    if (element == 0)
        return "there is no such type";
    if (count == 0)
        return NULL;
    if (count > PTRDIFF_MAX / element)
        return "no memory holds so many elements";
    if (in == NULL || out == NULL)
        return "an address is NULL";
    if ((uintptr_t)in % align != 0 || (uintptr_t)out % align != 0)
        return "an address is not aligned for the type";
    if (overlap(in, out, count * element))
        return "input and output overlap, and are not the same";
    return NULL;
}

int cj_all_sum(struct cj_group *group, const void *in, void *out, size_t count,
               enum cj_type type, struct cj_error *error)
{
    struct cj_error unwanted;
    const char *flaw = find_flaw(in, out, count, type);
    int status = CJ_OK;

    if (error == NULL)
        error = &unwanted;
    if (group->error.code != CJ_OK)
        return report_failed(group, CJ_STEP_ALL_SUM, error);
    if (flaw != NULL)
        return cji_error_fill(
            error, CJ_INVALID, CJ_STEP_ALL_SUM, group->rank, cji_about_none(0),
            "all_sum of %zu elements of type %d: %s", count, (int)type, flaw);
    if (group->size == 1 && count > 0 && in != out)
        memcpy(out, in, count * cj_type_size(type));
    if (group->size > 1 && count > 0) {
        begin(group, CJ_STEP_ALL_SUM, group->operation_timeout);
        status = cji_all_sum(group, in, out, count, type);
    }
    return conclude(group, status, error);
}

/* As in JACCL: nobody has the sum of a byte before everybody has sent one. */
int cj_barrier(struct cj_group *group, struct cj_error *error)
{
    struct cj_error unwanted;
    unsigned char byte = 0;
    int status = CJ_OK;

    if (error == NULL)
        error = &unwanted;
    if (group->error.code != CJ_OK)
        return report_failed(group, CJ_STEP_BARRIER, error);
    if (group->size > 1) {
        begin(group, CJ_STEP_BARRIER, group->operation_timeout);
        status = cji_all_sum(group, &byte, &byte, 1, CJ_UINT8);
    }
    return conclude(group, status, error);
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
    return group->rank;
}

int cj_size(const struct cj_group *group)
{
    return group->size;
}
