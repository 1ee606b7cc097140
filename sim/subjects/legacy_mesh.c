/*
 * A mesh group: one connection to every peer.
 */
#include "sim/subjects/legacy.h"

/* All of a mesh's memory; registered only when everything is allocated. */
static void allocate(struct legacy_group *group)
{
    bool scatter = group->revision->scatter_buffers;
    int size = group->size;
    legacy_buffers_reserve(group, &group->mesh_buffers, LEGACY_SETS * size);
    if (scatter) {
        legacy_buffers_reserve(group, &group->scatter_buffers,
                               LEGACY_SETS * 2 * size);
    } else {
        legacy_buffers_reserve(group, &group->send_buffers, LEGACY_SETS * 2);
        legacy_buffers_reserve(group, &group->recv_buffers, LEGACY_SETS * 2);
    }
    for (int set = 0; set < LEGACY_SETS; set++) {
        size_t bytes = (size_t)LEGACY_FRAME << (set / LEGACY_COPIES);
        for (int i = 0; i < size; i++)
            legacy_buffers_add(group, &group->mesh_buffers, bytes);
        for (int i = 0; scatter && i < 2 * size; i++)
            legacy_buffers_add(group, &group->scatter_buffers, bytes);
        for (int i = 0; !scatter && i < 2; i++) {
            legacy_buffers_add(group, &group->send_buffers, bytes);
            legacy_buffers_add(group, &group->recv_buffers, bytes);
        }
    }
}

/* With the domain of the connection at index, as the vector has it: neither
 * that there is one nor that it has a domain is certain. */
static int register_at(struct legacy_group *group, struct legacy_buffer *buffer,
                       int index)
{
    struct legacy_connection *connection =
        legacy_connection_at(group, legacy_span_of(&group->mesh), index);
    return legacy_buffer_register(group, buffer, connection->domain);
}

/* One's own slot is the send buffer: it goes to everybody. */
static int register_own(struct legacy_group *group,
                        struct legacy_buffer *buffer)
{
    for (int i = 0; i < group->mesh.count; i++) {
        struct legacy_connection *connection = &group->mesh.at[i];
        if (connection->context &&
            legacy_buffer_register(group, buffer, connection->domain))
            return -1;
    }
    return 0;
}

static int register_mesh(struct legacy_group *group, int set)
{
    struct legacy_buffer *buffers = &group->mesh_buffers.at[set * group->size];
    for (int i = 0; i < group->size; i++) {
        int status = i == group->rank ? register_own(group, &buffers[i])
                                      : register_at(group, &buffers[i], i);
        if (status)
            return -1;
    }
    return 0;
}

static int register_scatter(struct legacy_group *group, int set)
{
    int size = group->size;
    struct legacy_buffer *buffers = &group->scatter_buffers.at[set * 2 * size];
    for (int i = 0; i < size; i++) {
        if (i == group->rank)
            continue;
        if (register_at(group, &buffers[i], i) ||
            register_at(group, &buffers[size + i], i))
            return -1;
    }
    return 0;
}

static int register_ring(struct legacy_group *group, int set)
{
    int left = (group->rank + group->size - 1) % group->size;
    int right = (group->rank + 1) % group->size;
    struct legacy_buffer *sends = &group->send_buffers.at[set * 2];
    struct legacy_buffer *recvs = &group->recv_buffers.at[set * 2];
    if (register_at(group, &sends[0], right) ||
        register_at(group, &recvs[0], left) ||
        register_at(group, &sends[1], left) ||
        register_at(group, &recvs[1], right))
        return -1;
    return 0;
}

static int register_all(struct legacy_group *group)
{
    for (int set = 0; set < LEGACY_SETS; set++) {
        if (register_mesh(group, set))
            return -1;
        int status = group->revision->scatter_buffers
                         ? register_scatter(group, set)
                         : register_ring(group, set);
        if (status)
            return -1;
    }
    return 0;
}

static int to_init(struct legacy_group *group)
{
    for (int peer = 0; peer < group->size; peer++) {
        if (peer == group->rank)
            continue;
        struct legacy_connection *connection =
            legacy_connection_at(group, legacy_span_of(&group->mesh), peer);
        if (legacy_connection_init(group, connection))
            return -1;
    }
    return 0;
}

static int start_all(struct legacy_group *group,
                     const struct legacy_gathered *infos)
{
    for (int peer = 0; peer < group->size; peer++) {
        if (peer == group->rank)
            continue;
        const struct legacy_destination *info =
            legacy_gathered_at(group, infos, peer, group->rank);
        struct legacy_connection *connection =
            legacy_connection_at(group, legacy_span_of(&group->mesh), peer);
        if (legacy_connection_start(group, connection, info))
            return -1;
    }
    return 0;
}

static int exchange(struct legacy_group *group)
{
    struct legacy_destination mine[LEGACY_LIST_MAX];
    struct legacy_gathered infos;
    for (int i = 0; i < group->mesh.count; i++) {
        if (legacy_connection_info(group, &group->mesh.at[i]))
            return -1;
        mine[i] = group->mesh.at[i].source;
    }
    if (legacy_channel_gather(group, mine, group->mesh.count, &infos))
        return -1;
    int status = start_all(group, &infos);
    legacy_gathered_free(group, &infos);
    return status;
}

static int build_all(struct legacy_group *group)
{
    for (int i = 0; i < group->mesh.count; i++)
        if (group->mesh.at[i].context &&
            legacy_connection_build(group, &group->mesh.at[i]))
            return -1;
    return 0;
}

/* The first name of each cell; one's own is the empty name. */
static int create_connections(struct legacy_group *group)
{
    const char *names[LEGACY_LIST_MAX];
    for (int peer = 0; peer < group->size; peer++) {
        const struct sim_cell *cell =
            sim_rank_cell(group->sim, group->rank, peer);
        names[peer] = peer == group->rank ? "" : cell->names[0];
    }
    return legacy_connections_create(group, &group->mesh, names, group->size);
}

int legacy_mesh_start(struct legacy_group *group)
{
    if (create_connections(group))
        return -1;
    if (group->size > LEGACY_MESH_MAX)
        return legacy_throw(group, "a mesh has at most %d ranks, not %d",
                            LEGACY_MESH_MAX, group->size);
    if (build_all(group))
        return -1;
    allocate(group);
    if (register_all(group) || to_init(group) || exchange(group) ||
        legacy_channel_barrier(group))
        return -1;
    group->staging =
        sim_alloc(group->sim, 16, (size_t)LEGACY_COPIES * LEGACY_LARGEST);
    if (!group->staging)
        return legacy_throw(group, "no memory for staging");
    return 0;
}

/* A mesh with a ring in it takes the ring for what it calls large. */
static bool large_for_ring(int64_t count, enum scn_type type)
{
    int64_t item = (int64_t)scn_type_size(type);
    return (type == SCN_BFLOAT16 && count > 256 * 1024) ||
           count >= 8 * 1024 * 1024 / item;
}

static int ring_inside_sum(struct legacy_group *group, const void *in,
                           void *out, int64_t count, enum scn_type type)
{
    int left = (group->rank + group->size - 1) % group->size;
    int right = (group->rank + 1) % group->size;
    struct legacy_ring ring = {.group = group, .wires = 1, .pooled = false};
    ring.left.at = &group->mesh.at[left];
    ring.right.at = &group->mesh.at[right];
    ring.left.count = ring.right.count = 1;
    return legacy_ring_sum(&ring, in, out, count, type, 2, 1);
}

int legacy_mesh_all_sum(struct legacy_group *group, const void *in, void *out,
                        int64_t count, enum scn_type type)
{
    int64_t bytes = count * (int64_t)scn_type_size(type);
    if (group->size > 2) {
        if (group->revision->scatter_buffers) {
            if (bytes > LEGACY_SMALL_MESSAGE)
                return legacy_mesh_scatter_sum(group, in, out, count, type);
        } else if (large_for_ring(count, type)) {
            return ring_inside_sum(group, in, out, count, type);
        }
    }
    return legacy_mesh_sum(group, in, out, count, type);
}
