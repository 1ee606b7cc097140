/*
 * A ring group: one connection per wire to the left neighbour and to the
 * right one, which are the same rank if there are two.
 */
#include "sim/subjects/legacy.h"

#define ALL_WIRES_FROM (64 * 1024) /* bytes; 2026-04 */

static void allocate(struct legacy_group *group)
{
    int sides = 2 * group->wires;
    legacy_buffers_reserve(group, &group->send_buffers, LEGACY_SETS * sides);
    legacy_buffers_reserve(group, &group->recv_buffers, LEGACY_SETS * sides);
    for (int set = 0; set < LEGACY_SETS; set++) {
        size_t bytes = (size_t)LEGACY_FRAME << (set / LEGACY_COPIES);
        for (int i = 0; i < sides; i++) {
            legacy_buffers_add(group, &group->send_buffers, bytes);
            legacy_buffers_add(group, &group->recv_buffers, bytes);
        }
    }
}

static int register_with(struct legacy_group *group,
                         struct legacy_buffer *buffer,
                         struct legacy_connections *list, int wire)
{
    struct legacy_connection *connection =
        legacy_connection_at(group, legacy_span_of(list), wire);
    return legacy_buffer_register(group, buffer, connection->domain);
}

/* Direction 0, then 1; its send buffer and its receive buffer by turns. */
static int register_all(struct legacy_group *group)
{
    int wires = group->wires;
    for (int i = 0; i < LEGACY_SETS * 2 * wires; i++) {
        bool leftward = i / wires % 2 != 0;
        struct legacy_connections *to = leftward ? &group->left : &group->right;
        struct legacy_connections *from =
            leftward ? &group->right : &group->left;
        if (register_with(group, &group->send_buffers.at[i], to, i % wires) ||
            register_with(group, &group->recv_buffers.at[i], from, i % wires))
            return -1;
    }
    return 0;
}

/* One step for every connection, left ones first. */
static int for_all(struct legacy_group *group,
                   int (*step)(struct legacy_group *group,
                               struct legacy_connection *connection))
{
    for (int i = 0; i < group->left.count; i++)
        if (step(group, &group->left.at[i]))
            return -1;
    for (int i = 0; i < group->right.count; i++)
        if (step(group, &group->right.at[i]))
            return -1;
    return 0;
}

static int gather(struct legacy_group *group,
                  const struct legacy_connections *list,
                  struct legacy_gathered *infos)
{
    struct legacy_destination mine[LEGACY_LIST_MAX];
    for (int i = 0; i < list->count; i++)
        mine[i] = list->at[i].source;
    return legacy_channel_gather(group, mine, list->count, infos);
}

static int start_side(struct legacy_group *group,
                      struct legacy_connections *list,
                      const struct legacy_gathered *infos, int peer)
{
    for (int i = 0; i < list->count; i++) {
        const struct legacy_destination *info =
            legacy_gathered_at(group, infos, peer, i);
        if (legacy_connection_start(group, &list->at[i], info))
            return -1;
    }
    return 0;
}

/* My left end meets my left peer's right end, and the other way round. */
static int exchange(struct legacy_group *group)
{
    struct legacy_gathered lefts, rights;
    int left_peer = (group->rank + group->size - 1) % group->size;
    int right_peer = (group->rank + 1) % group->size;
    int status = -1;
    if (for_all(group, legacy_connection_info) ||
        gather(group, &group->left, &lefts))
        return -1;
    if (gather(group, &group->right, &rights) == 0) {
        status = start_side(group, &group->left, &rights, left_peer);
        if (status == 0)
            status = start_side(group, &group->right, &lefts, right_peer);
        legacy_gathered_free(group, &rights);
    }
    legacy_gathered_free(group, &lefts);
    return status;
}

static int create_side(struct legacy_group *group,
                       struct legacy_connections *list, int peer)
{
    const struct sim_cell *cell = sim_rank_cell(group->sim, group->rank, peer);
    return legacy_connections_create(group, list, cell->names, cell->count);
}

int legacy_ring_start(struct legacy_group *group)
{
    int left = (group->rank + group->size - 1) % group->size;
    int right = (group->rank + 1) % group->size;
    group->wires = sim_rank_cell(group->sim, group->rank, left)->count;
    if (create_side(group, &group->left, left) ||
        create_side(group, &group->right, right))
        return -1;
    if (group->left.count > LEGACY_WIRES_MAX ||
        group->right.count > LEGACY_WIRES_MAX)
        return legacy_throw(group, "a ring has at most %d wires a side, not %d",
                            LEGACY_WIRES_MAX, group->left.count);
    if (for_all(group, legacy_connection_build))
        return -1;
    allocate(group);
    if (register_all(group) || for_all(group, legacy_connection_init) ||
        exchange(group))
        return -1;
    return legacy_channel_barrier(group);
}

int legacy_ring_sum(const struct legacy_ring *ring, const char *in, char *out,
                    int64_t count, enum scn_type type, int directions,
                    int wires)
{
    if (ring->group->revision->wire_passes)
        return legacy_ring_sum_by_wire(ring, in, out, count, type, directions,
                                       wires);
    return legacy_ring_sum_in_one(ring, in, out, count, type, directions,
                                  wires);
}

int legacy_ring_all_sum(struct legacy_group *group, const void *in, void *out,
                        int64_t count, enum scn_type type)
{
    struct legacy_ring ring = {.group = group, .wires = group->wires};
    int64_t bytes = count * (int64_t)scn_type_size(type);
    bool few = count < (int64_t)group->size * 2 * group->wires;
    ring.left = legacy_span_of(&group->left);
    ring.right = legacy_span_of(&group->right);
    ring.pooled = group->revision->pooled_wires;
    if (group->revision->wire_passes) {
        if (few || bytes <= LEGACY_SMALL_MESSAGE)
            return legacy_ring_sum(&ring, in, out, count, type, 1, 1);
    } else if (few) {
        return legacy_ring_sum(&ring, in, out, count, type, 1, 1);
    } else if (bytes <= ALL_WIRES_FROM) {
        return legacy_ring_sum(&ring, in, out, count, type, 2, 1);
    }
    return legacy_ring_sum(&ring, in, out, count, type, 2, group->wires);
}

struct legacy_buffer *legacy_ring_buffer(const struct legacy_ring *ring,
                                         bool sending, int size_class, int copy,
                                         int direction, int wire)
{
    struct legacy_group *group = ring->group;
    int64_t set = (int64_t)size_class * LEGACY_COPIES + copy;
    int64_t index = (set * 2 + direction) * ring->wires + wire;
    return legacy_buffer_at(
        group, sending ? &group->send_buffers : &group->recv_buffers, index);
}

int legacy_ring_send(const struct legacy_ring *ring, int size_class, int copy,
                     int direction, int wire, int label)
{
    struct legacy_span span = direction ? ring->left : ring->right;
    struct legacy_connection *connection =
        legacy_connection_at(ring->group, span, wire);
    struct legacy_buffer *buffer =
        legacy_ring_buffer(ring, true, size_class, copy, direction, wire);
    return legacy_post_send(ring->group, connection, buffer,
                            (uint64_t)LEGACY_SEND << 16 | (uint64_t)copy << 8 |
                                (uint64_t)label);
}

int legacy_ring_recv(const struct legacy_ring *ring, int size_class, int copy,
                     int direction, int wire, int label)
{
    struct legacy_span span = direction ? ring->right : ring->left;
    struct legacy_connection *connection =
        legacy_connection_at(ring->group, span, wire);
    struct legacy_buffer *buffer =
        legacy_ring_buffer(ring, false, size_class, copy, direction, wire);
    return legacy_post_recv(ring->group, connection, buffer,
                            (uint64_t)LEGACY_RECV << 16 | (uint64_t)copy << 8 |
                                (uint64_t)label);
}
