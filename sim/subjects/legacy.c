/*
 * The three legacy subjects: which group the device file makes, and the life
 * of a group.
 */
#include "sim/subjects/legacy.h"

#include <string.h>

#include "sim/subjects/subjects.h"

static const struct legacy_revision revision_2026_04 = {
    .name = "jaccl 2026-04",
};

static const struct legacy_revision revision_2026_08_04 = {
    .name = "jaccl 2026-08-04",
    .checks_rank = true,
    .flat_gather = true,
    .late_staging = true,
    .wire_passes = true,
    .pooled_wires = true,
};

static const struct legacy_revision revision_2026_08_22 = {
    .name = "jaccl 2026-08-22",
    .checks_rank = true,
    .missing_device_throws = true,
    .missing_gid_throws = true,
    .names_qp_errno = true,
    .scatter_buffers = true,
    .flat_gather = true,
    .late_staging = true,
    .wire_passes = true,
    .pooled_wires = true,
    .clamped_slices = true,
};

/* Every cell but the diagonal has a name, even if it is the empty one. */
static bool is_mesh(const struct sim_rank *sim, int size)
{
    for (int row = 0; row < size; row++)
        for (int column = 0; column < size; column++)
            if ((sim_rank_cell(sim, row, column)->count == 0) !=
                (row == column))
                return false;
    return size >= 2;
}

/* Every neighbour's cell has as many names as the first: none will do. */
static bool is_ring(const struct sim_rank *sim, int size)
{
    if (size < 2)
        return false;
    int wires = sim_rank_cell(sim, 0, 1)->count;
    for (int row = 0; row < size; row++) {
        int left = (row + size - 1) % size, right = (row + 1) % size;
        if (sim_rank_cell(sim, row, left)->count != wires ||
            sim_rank_cell(sim, row, right)->count != wires)
            return false;
    }
    return true;
}

/* Ring or mesh, by what the file can be and what is preferred. */
static int choose(struct legacy_group *group)
{
    const struct sim_rank *sim = group->sim;
    bool mesh = is_mesh(sim, group->size), ring = is_ring(sim, group->size);
    if (group->revision->checks_rank &&
        (group->rank >= group->size || sim_rank_coordinator(sim)[0] == '\0'))
        return legacy_throw(group, "rank, device file and coordinator are "
                                   "needed");
    if (!mesh && !ring)
        return legacy_throw(group, "the devices are neither a mesh nor a "
                                   "ring");
    group->ring = ring && (sim_rank_prefers_ring(sim) || !mesh);
    if (group->rank < group->size)
        return 0;
    legacy_past(group, "rows", "device file", sizeof(struct sim_cell),
                group->size, group->rank);
    return legacy_throw(group, "the device file has no row for this rank");
}

/* The destructor, of a group that is whole or half built. */
static void destroy(struct legacy_group *group)
{
    if (group->staging)
        sim_free(group->sim, group->staging);
    legacy_buffers_destroy(group, &group->scatter_buffers);
    legacy_buffers_destroy(group, &group->recv_buffers);
    legacy_buffers_destroy(group, &group->send_buffers);
    legacy_buffers_destroy(group, &group->mesh_buffers);
    legacy_connections_destroy(group, &group->right);
    legacy_connections_destroy(group, &group->left);
    legacy_connections_destroy(group, &group->mesh);
    legacy_channel_close(group);
    sim_free(group->sim, group);
}

/* Only what is read before it is written. */
static struct legacy_group *create(struct sim_rank *rank,
                                   const struct legacy_revision *revision)
{
    struct legacy_group *group = sim_alloc(rank, 16, sizeof *group);
    if (!group)
        return NULL;
    group->sim = rank;
    group->revision = revision;
    group->rank = sim_rank_number(rank);
    group->size = sim_rank_size(rank);
    group->wires = 0;
    group->channel.count = 0;
    group->mesh.count = group->left.count = group->right.count = 0;
    group->mesh_buffers.count = group->scatter_buffers.count = 0;
    group->send_buffers.count = group->recv_buffers.count = 0;
    group->buffers_used = group->regions_used = 0;
    group->staging = NULL;
    return group;
}

static int start(struct legacy_group *group)
{
    if (choose(group) || legacy_channel_open(group))
        return -1;
    legacy_library_load(group);
    return group->ring ? legacy_ring_start(group) : legacy_mesh_start(group);
}

static int init(struct sim_rank *rank, void **result,
                struct sim_failure *failure,
                const struct legacy_revision *revision)
{
    struct legacy_group *group = create(rank, revision);
    if (!group) {
        static const char message[] = "no memory for the group";
        memcpy(failure->message, message, sizeof message);
        failure->code = 0;
        return -1;
    }
    group->failure = failure;
    if (start(group)) {
        destroy(group);
        return -1;
    }
    *result = group;
    return 0;
}

static int init_2026_04(struct sim_rank *rank, void **group,
                        struct sim_failure *failure)
{
    return init(rank, group, failure, &revision_2026_04);
}

static int init_2026_08_04(struct sim_rank *rank, void **group,
                           struct sim_failure *failure)
{
    return init(rank, group, failure, &revision_2026_08_04);
}

static int init_2026_08_22(struct sim_rank *rank, void **group,
                           struct sim_failure *failure)
{
    return init(rank, group, failure, &revision_2026_08_22);
}

static int all_sum(struct legacy_group *group, const void *input, void *output,
                   int64_t count, enum scn_type type)
{
    if (group->ring)
        return legacy_ring_all_sum(group, input, output, count, type);
    return legacy_mesh_all_sum(group, input, output, count, type);
}

static int operate(struct sim_rank *rank, void *handle,
                   const struct sim_operation *operation,
                   struct sim_failure *failure)
{
    struct legacy_group *group = handle;
    (void)rank;
    group->failure = failure;
    if (operation->what != SCN_ALL_SUM)
        return legacy_throw(group, "not modelled: of the operations only "
                                   "all_sum is");
    return all_sum(group, operation->input, operation->output,
                   (int64_t)operation->count, operation->type);
}

/* A sum of one byte, in place. 2026-04 has no barrier: this is what its users
 * write instead. */
static int barrier(struct sim_rank *rank, void *handle,
                   struct sim_failure *failure)
{
    struct legacy_group *group = handle;
    uint8_t byte = 0;
    (void)rank;
    group->failure = failure;
    return all_sum(group, &byte, &byte, 1, SCN_UINT8);
}

static int finalize(struct sim_rank *rank, void *handle,
                    struct sim_failure *failure)
{
    struct legacy_group *group = handle;
    (void)rank;
    group->failure = failure;
    destroy(group);
    return 0;
}

const struct sim_subject sim_subject_legacy_2026_04 = {
    .name = "legacy-2026-04",
    .about = "model of JACCL of 2026-04-16, call for call",
    .init = init_2026_04,
    .operate = operate,
    .barrier = barrier,
    .finalize = finalize,
};

const struct sim_subject sim_subject_legacy_2026_08_04 = {
    .name = "legacy-2026-08-04",
    .about = "model of JACCL of 2026-08-04, call for call",
    .init = init_2026_08_04,
    .operate = operate,
    .barrier = barrier,
    .finalize = finalize,
};

const struct sim_subject sim_subject_legacy_2026_08_22 = {
    .name = "legacy-2026-08-22",
    .about = "model of JACCL of 2026-08-22, call for call",
    .init = init_2026_08_22,
    .operate = operate,
    .barrier = barrier,
    .finalize = finalize,
};
