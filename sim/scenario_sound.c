/* Can anything go wrong in a scenario? */
#include <string.h>

#include "sim/scenario.h"
#include "sim/scenario_topology.h"

#define LATE_MAX 30000 /* milliseconds */

static bool is_plain_device(const struct scn_statement *s)
{
    return !s->u.device.port_down && !s->u.device.no_ipv4 &&
           s->u.device.max_mr < 0 && s->u.device.max_qp < 0 &&
           s->u.device.max_pd < 0 && s->u.device.used_mr <= 0 &&
           s->u.device.used_qp <= 0 && s->u.device.used_pd <= 0;
}

static bool is_harmless(const struct scn_statement *s, int ranks)
{
    switch (s->kind) {
    case SCN_DEVICE:
        return is_plain_device(s);
    case SCN_ROWS:
        return s->u.number == ranks;
    case SCN_LATE: /* the others wait so long, and longer */
        return s->u.number <= LATE_MAX;
    case SCN_NODEVICES:
    case SCN_COORDINATOR: /* right or wrong is not for us to tell */
    case SCN_LIBRARY:
    case SCN_FAULT:
    case SCN_CHANNEL:
    case SCN_PEER:
    case SCN_STRAY:
        return false;
    default:
        return true;
    }
}

static bool same_cell(const struct scn_statement *a,
                      const struct scn_statement *b)
{
    if (!a || !b)
        return (!a || a->u.cell.count == 0) && (!b || b->u.cell.count == 0);
    if (a->u.cell.count != b->u.cell.count)
        return false;
    for (int i = 0; i < a->u.cell.count; i++) {
        if (strcmp(a->u.cell.names[i], b->u.cell.names[i]) != 0)
            return false;
    }
    return true;
}

/* Is wire i of a cell a cable to the same wire of the peer's cell? */
static bool wire_is_joined(const struct scn *complete, int row, int column,
                           int i)
{
    const char *name = scn_cell(complete, row, row, column)->u.cell.names[i];
    const char *peer = scn_cell(complete, row, column, row)->u.cell.names[i];
    const struct scn_statement *cable = scn_cable_of(complete, row, name);
    /* Being cabled, the device exists. One cable has two different ends. */
    return cable && scn_is_end(cable, column, peer);
}

static bool cell_is_sound(const struct scn *complete,
                          const struct scn_shape *shape, int row, int column)
{
    const struct scn_statement *cell = scn_cell(complete, 0, row, column);
    for (int view = 1; view < shape->ranks; view++) {
        if (!same_cell(cell, scn_cell(complete, view, row, column)))
            return false;
    }
    const struct scn_statement *back = scn_cell(complete, 0, column, row);
    int wires = scn_slot_to(shape, row, column) < 0 ? 0 : shape->wires;
    if (wires == 0)
        return !cell || cell->u.cell.count == 0;
    if (!cell || !back || cell->u.cell.count != wires ||
        back->u.cell.count != wires)
        return false;
    for (int i = 0; i < wires; i++) {
        for (int j = 0; j < i; j++) {
            if (strcmp(cell->u.cell.names[i], cell->u.cell.names[j]) == 0)
                return false;
        }
        if (!wire_is_joined(complete, row, column, i))
            return false;
    }
    return true;
}

/* Ranks that ask for different things do not make one group. */
static bool settings_agree(const struct scn *scenario, int ranks)
{
    static const enum scn_setting shared[] = {SCN_SETTING_TOPOLOGY,
                                              SCN_SETTING_BACKEND};
    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++)
        for (int rank = 1; rank < ranks; rank++)
            if (scn_setting(scenario, rank, shared[i]) !=
                scn_setting(scenario, 0, shared[i]))
                return false;
    return true;
}

bool scn_makes_ring(const struct scn *scenario)
{
    struct scn_shape shape = scn_shape(scenario);
    /* Of three ranks a ring's file is a mesh's, too. */
    bool can_be_mesh = shape.topology == SCN_MESH || shape.ranks <= 3;
    return scn_setting(scenario, 0, SCN_SETTING_BACKEND) != 0 || !can_be_mesh ||
           scn_setting(scenario, 0, SCN_SETTING_TOPOLOGY) == SCN_RING;
}

bool scn_sends_reach(const struct scn *scenario, bool ring)
{
    struct scn_shape shape = scn_shape(scenario);
    for (int i = 0; i < scenario->count; i++) {
        const struct scn_statement *s = &scenario->statements[i];
        if (s->kind != SCN_RUN || s->u.run.operation != SCN_SEND)
            continue;
        int from = s->u.run.from, to = s->u.run.to;
        if (from == to || from >= shape.ranks || to >= shape.ranks)
            return false;
        if (ring && (from + 1) % shape.ranks != to &&
            (to + 1) % shape.ranks != from)
            return false;
    }
    return true;
}

/* The most groups that are alive at a time. */
static uint32_t groups_at_once(const struct scn *scenario)
{
    uint32_t alive = 0, most = 0;
    for (int i = 0; i < scenario->count; i++) {
        const struct scn_statement *s = &scenario->statements[i];
        if (s->kind != SCN_RUN)
            continue;
        alive += s->u.run.operation == SCN_INIT;
        alive -= s->u.run.operation == SCN_FINALIZE;
        most = alive > most ? alive : most;
    }
    return most;
}

/* A group needs one queue pair, region and domain a device and direction. */
static bool limits_are_enough(const struct scn *scenario,
                              const struct scn_shape *shape)
{
    const struct vf_profile *p = scn_profile(scenario);
    bool twice = scn_makes_ring(scenario) && shape->ranks == 2;
    uint32_t needed = groups_at_once(scenario) * (twice ? 2 : 1);
    return (p->qp_limit == 0 || needed <= p->qp_limit) &&
           (p->mr_limit == 0 || needed <= p->mr_limit) &&
           (p->pd_limit == 0 || needed <= p->pd_limit);
}

bool scn_is_sound(const struct scn *scenario)
{
    struct scn_shape shape = scn_shape(scenario);
    for (int i = 0; i < scenario->count; i++) {
        if (!is_harmless(&scenario->statements[i], shape.ranks))
            return false;
    }
    if (!settings_agree(scenario, shape.ranks) ||
        !scn_sends_reach(scenario, scn_makes_ring(scenario)) ||
        !limits_are_enough(scenario, &shape))
        return false;
    struct scn complete;
    scn_copy(&complete, scenario);
    if (scn_complete(&complete) < 0)
        return false;
    for (int row = 0; row < shape.ranks; row++) {
        for (int column = 0; column < shape.ranks; column++) {
            if (!cell_is_sound(&complete, &shape, row, column))
                return false;
        }
    }
    return true;
}
