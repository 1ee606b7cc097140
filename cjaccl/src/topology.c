#include "topology.h"

#include "error.h"

#include <stdio.h>

/* What is in the way of a topology, in words; "" if nothing is. */
struct flaw {
    char text[200];
};

static int count_of(const struct cj_config *config, int row, int column)
{
    return config->cells[(size_t)row * (size_t)config->size + (size_t)column]
        .count;
}

static struct flaw mesh_flaw(const struct cj_config *config)
{
    struct flaw flaw = {""};
    int cells = config->size * config->size;

    for (int i = 0; i < cells; i++) {
        int row = i / config->size;
        int column = i % config->size;

        if ((row == column) == (config->cells[i].count == 0))
            continue;
        if (row == column)
            (void)snprintf(flaw.text, sizeof flaw.text,
                           "row %d names a device for the rank itself (column "
                           "%d): the diagonal has to be empty",
                           row, column);
        else
            (void)snprintf(flaw.text, sizeof flaw.text,
                           "row %d, column %d is empty: a mesh needs a device "
                           "from rank %d to rank %d",
                           row, column, row, column);
        return flaw;
    }
    if (config->size > CJ_MAX_MESH_RANKS)
        (void)snprintf(flaw.text, sizeof flaw.text,
                       "a mesh has up to %d ranks, and there are %d",
                       CJ_MAX_MESH_RANKS, config->size);
    return flaw;
}

/* The cell that leads from a row's rank to one of its neighbours. */
static struct flaw neighbour_flaw(const struct cj_config *config, int row,
                                  int column)
{
    struct flaw flaw = {""};
    int wires = count_of(config, 0, 1);
    int count = count_of(config, row, column);

    if (count == 0)
        (void)snprintf(flaw.text, sizeof flaw.text,
                       "row %d, column %d is empty: a ring needs a device from "
                       "rank %d to its neighbour %d",
                       row, column, row, column);
    else if (count != wires)
        (void)snprintf(flaw.text, sizeof flaw.text,
                       "row %d, column %d names %d devices, and row 0, column "
                       "1 names %d: a ring needs as many between all "
                       "neighbours",
                       row, column, count, wires);
    else if (count > CJ_MAX_WIRES)
        (void)snprintf(flaw.text, sizeof flaw.text,
                       "row %d, column %d names %d devices: a ring has up to "
                       "%d wires between neighbours",
                       row, column, count, CJ_MAX_WIRES);
    return flaw;
}

static struct flaw ring_flaw(const struct cj_config *config)
{
    struct flaw flaw = {""};
    int size = config->size;

    for (int row = 0; row < size; row++) {
        flaw = neighbour_flaw(config, row, (row + 1) % size);
        if (flaw.text[0] == '\0')
            flaw = neighbour_flaw(config, row, (row + size - 1) % size);
        if (flaw.text[0] != '\0')
            break;
    }
    return flaw;
}

int cji_topology_choose(const struct cj_config *config,
                        struct cji_topology *topology, struct cj_error *error)
{
    struct flaw mesh = mesh_flaw(config);
    struct flaw ring = ring_flaw(config);
    bool prefers_ring = config->topology == CJ_TOPOLOGY_RING;

    topology->ring =
        ring.text[0] == '\0' && (prefers_ring || mesh.text[0] != '\0');
    topology->wires = topology->ring ? count_of(config, 0, 1) : 1;
    if (topology->ring || mesh.text[0] == '\0')
        return CJ_OK;
    return cji_error_fill(error, CJ_INVALID, CJ_STEP_CONFIG, config->rank,
                          cji_about_none(0),
                          "the devices make neither a mesh (%s) nor a ring "
                          "(%s)",
                          mesh.text, ring.text);
}

static void add_link(struct cj_group *group, int peer, int wire, bool to_left)
{
    struct cji_link *link = &group->links[group->link_count++];

    link->peer = peer;
    link->wire = wire;
    link->to_left = to_left;
    link->socket = -1;
}

void cji_topology_lay_out(struct cj_group *group)
{
    group->link_count = 0;
    for (int side = 0; group->ring && side < 2; side++) {
        bool left = side == 0;
        int peer = left ? cji_left_of(group, group->rank)
                        : cji_right_of(group, group->rank);

        for (int wire = 0; wire < group->wires; wire++)
            add_link(group, peer, wire, left);
    }
    for (int peer = 0; !group->ring && peer < group->size; peer++) {
        if (peer != group->rank)
            add_link(group, peer, 0, false);
    }
}

int cji_left_of(const struct cj_group *group, int rank)
{
    return rank == 0 ? group->size - 1 : rank - 1;
}

int cji_right_of(const struct cj_group *group, int rank)
{
    return rank == group->size - 1 ? 0 : rank + 1;
}
