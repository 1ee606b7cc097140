/* A scenario with what its defaults leave out, and without its faults. */
#include <string.h>

#include "sim/scenario.h"
#include "sim/scenario_topology.h"

static struct scn_statement *add_device(struct scn *scenario, int rank,
                                        int slot)
{
    struct scn_statement *s = scn_add(scenario, SCN_DEVICE);
    if (s) {
        s->rank = rank;
        scn_default_name(s->u.device.name, slot);
    }
    return s;
}

/* One `device *` per slot if no rank says otherwise, else rank by rank. */
static int complete_devices(struct scn *scenario, const struct scn_shape *shape)
{
    bool needs[SCN_RANKS_MAX] = {false};
    int needing = 0;
    for (int rank = 0; rank < shape->ranks; rank++) {
        needs[rank] = scn_has_default_devices(scenario, rank);
        needing += needs[rank];
    }
    bool together = needing == shape->ranks;
    for (int rank = 0; rank < (together ? 1 : shape->ranks); rank++) {
        for (int slot = 0; needs[rank] && slot < scn_slots(shape); slot++) {
            if (!add_device(scenario, together ? SCN_ALL : rank, slot))
                return -1;
        }
    }
    return 0;
}

/* Do statements give the cell in every view? */
static bool cell_is_given(const struct scn *scenario, int ranks, int row,
                          int column)
{
    if (scn_given_cell(scenario, SCN_ALL, row, column))
        return true;
    for (int view = 0; view < ranks; view++) {
        if (!scn_given_cell(scenario, view, row, column))
            return false;
    }
    return true;
}

static int complete_cell(struct scn *scenario, const struct scn_shape *shape,
                         int row, int column)
{
    int slot = scn_slot_to(shape, row, column);
    if (slot < 0 || cell_is_given(scenario, shape->ranks, row, column))
        return 0;
    struct scn_statement *s = scn_add(scenario, SCN_CELL);
    if (!s)
        return -1;
    s->rank = SCN_ALL;
    s->u.cell.row = row;
    s->u.cell.column = column;
    s->u.cell.count = shape->wires;
    for (int wire = 0; wire < shape->wires; wire++) {
        const struct scn_statement *device =
            scn_device(scenario, row, slot + wire);
        if (device)
            strcpy(s->u.cell.names[wire], device->u.device.name);
        else
            scn_default_name(s->u.cell.names[wire], slot + wire);
    }
    return 0;
}

static int complete_cells(struct scn *scenario, const struct scn_shape *shape)
{
    int rows = scn_rows_most(scenario);
    int end = rows < shape->ranks ? rows : shape->ranks;
    for (int row = 0; row < end; row++) {
        for (int column = 0; column < end; column++) {
            if (complete_cell(scenario, shape, row, column) < 0)
                return -1;
        }
    }
    return 0;
}

static int complete_cable(struct scn *scenario, int rank, const char *name,
                          int other, const char *other_name)
{
    if (!scn_has_device(scenario, rank, name) ||
        !scn_has_device(scenario, other, other_name) ||
        scn_cable_of(scenario, rank, name) ||
        scn_cable_of(scenario, other, other_name))
        return 0;
    struct scn_statement *s = scn_add(scenario, SCN_CABLE);
    if (!s)
        return -1;
    s->rank = rank;
    s->u.cable.other_rank = other;
    strcpy(s->u.cable.name, name);
    strcpy(s->u.cable.other_name, other_name);
    return 0;
}

/* Each rank's own view says which of its devices leads to the other. */
static int complete_cables(struct scn *scenario, const struct scn_shape *shape)
{
    for (int i = 0; i < scenario->count; i++) {
        if (scenario->statements[i].kind == SCN_CABLE)
            return 0;
    }
    for (int rank = 0; rank < shape->ranks; rank++) {
        for (int other = rank + 1; other < shape->ranks; other++) {
            const struct scn_statement *a =
                scn_cell(scenario, rank, rank, other);
            const struct scn_statement *b =
                scn_cell(scenario, other, other, rank);
            for (int wire = 0;
                 a && b && wire < a->u.cell.count && wire < b->u.cell.count;
                 wire++) {
                if (complete_cable(scenario, rank, a->u.cell.names[wire], other,
                                   b->u.cell.names[wire]) < 0)
                    return -1;
            }
        }
    }
    return 0;
}

int scn_complete(struct scn *scenario)
{
    struct scn_shape shape = scn_shape(scenario);
    scn_canonical(scenario); /* comments make room */
    if (complete_devices(scenario, &shape) < 0 ||
        complete_cells(scenario, &shape) < 0 ||
        complete_cables(scenario, &shape) < 0)
        return -1;
    scn_canonical(scenario);
    return 0;
}

int scn_count_defaults(const struct scn *scenario)
{
    /* Topology statements alone decide, and a copy of them has room. */
    struct scn copy;
    copy.count = 0;
    for (int i = 0; i < scenario->count; i++) {
        if (scenario->statements[i].kind <= SCN_ROWS)
            copy.statements[copy.count++] = scenario->statements[i];
    }
    int before = copy.count;
    if (scn_complete(&copy) < 0)
        return SCN_STATEMENTS_MAX;
    return copy.count - before;
}

void scn_without_faults(struct scn *scenario)
{
    for (int i = scenario->count - 1; i >= 0; i--) {
        switch (scenario->statements[i].kind) {
        case SCN_LIBRARY:
        case SCN_FAULT:
        case SCN_CHANNEL:
        case SCN_PEER:
        case SCN_STRAY:
        case SCN_EXPECT:
            scn_remove(scenario, i);
            break;
        default:
            break;
        }
    }
}
