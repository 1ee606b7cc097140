/* What is in force: topology, profile, devices, cells and cables. */
#include <string.h>

#include "sim/scenario.h"
#include "sim/scenario_topology.h"

static const struct scn_statement *find(const struct scn *scenario,
                                        enum scn_kind kind)
{
    for (int i = 0; i < scenario->count; i++) {
        if (scenario->statements[i].kind == kind)
            return &scenario->statements[i];
    }
    return NULL;
}

void scn_topology(const struct scn *scenario, int *ranks,
                  enum scn_topology *topology, int *wires)
{
    const struct scn_statement *s = find(scenario, SCN_RANKS);
    *ranks = s ? s->u.ranks.count : 2;
    *topology = s ? s->u.ranks.topology : SCN_MESH;
    *wires = s ? s->u.ranks.wires : 1;
}

const struct vf_profile *scn_profile(const struct scn *scenario)
{
    const struct scn_statement *s = find(scenario, SCN_PROFILE);
    return s ? s->u.profile : vf_profile_by_name("thunderbolt");
}

int scn_setting(const struct scn *scenario, int rank, enum scn_setting what)
{
    const struct scn_statement *all = NULL;
    for (int i = 0; i < scenario->count; i++) {
        const struct scn_statement *s = &scenario->statements[i];
        if (s->kind != SCN_SETTING || s->u.setting.what != what)
            continue;
        if (s->rank == rank)
            return s->u.setting.value;
        if (s->rank == SCN_ALL)
            all = s;
    }
    if (all)
        return all->u.setting.value;
    return what == SCN_SETTING_TOPOLOGY ? (int)scn_shape(scenario).topology : 0;
}

const struct scn_statement *scn_device(const struct scn *scenario, int rank,
                                       int n)
{
    for (int own = 0; own < 2; own++) {
        for (int i = 0; i < scenario->count; i++) {
            const struct scn_statement *s = &scenario->statements[i];
            if (s->kind == SCN_DEVICE && s->rank == (own ? rank : SCN_ALL) &&
                n-- == 0)
                return s;
        }
    }
    return NULL;
}

const struct scn_statement *scn_given_cell(const struct scn *scenario, int view,
                                           int row, int column)
{
    for (int i = 0; i < scenario->count; i++) {
        const struct scn_statement *s = &scenario->statements[i];
        if (s->kind == SCN_CELL && s->rank == view && s->u.cell.row == row &&
            s->u.cell.column == column)
            return s;
    }
    return NULL;
}

const struct scn_statement *scn_cell(const struct scn *scenario, int view,
                                     int row, int column)
{
    int rows = scn_rows(scenario, view);
    if (row >= rows || column >= rows)
        return NULL;
    const struct scn_statement *s = scn_given_cell(scenario, view, row, column);
    return s ? s : scn_given_cell(scenario, SCN_ALL, row, column);
}

int scn_rows(const struct scn *scenario, int view)
{
    const struct scn_statement *all = NULL;
    for (int i = 0; i < scenario->count; i++) {
        const struct scn_statement *s = &scenario->statements[i];
        if (s->kind == SCN_ROWS && s->rank == view)
            return s->u.number;
        if (s->kind == SCN_ROWS && s->rank == SCN_ALL)
            all = s;
    }
    if (all)
        return all->u.number;
    const struct scn_statement *ranks = find(scenario, SCN_RANKS);
    return ranks ? ranks->u.ranks.count : 2;
}

int scn_rows_most(const struct scn *scenario)
{
    enum scn_topology topology;
    int ranks, wires, most = 0;
    scn_topology(scenario, &ranks, &topology, &wires);
    if (!find(scenario, SCN_ROWS))
        return ranks;
    for (int view = 0; view < ranks; view++) {
        int rows = scn_rows(scenario, view);
        most = rows > most ? rows : most;
    }
    return most;
}

/* ---- the topology's slots ---- */

struct scn_shape scn_shape(const struct scn *scenario)
{
    struct scn_shape shape;
    scn_topology(scenario, &shape.ranks, &shape.topology, &shape.wires);
    return shape;
}

int scn_slots(const struct scn_shape *shape)
{
    if (shape->topology == SCN_MESH)
        return shape->ranks - 1;
    return shape->ranks == 2 ? shape->wires : 2 * shape->wires;
}

int scn_slot_to(const struct scn_shape *shape, int rank, int peer)
{
    if (rank == peer || rank >= shape->ranks || peer >= shape->ranks)
        return -1;
    if (shape->topology == SCN_MESH)
        return peer < rank ? peer : peer - 1;
    if (peer == (rank + shape->ranks - 1) % shape->ranks)
        return 0;
    return peer == (rank + 1) % shape->ranks ? shape->wires : -1;
}

void scn_default_name(char *name, int slot)
{
    memcpy(name, "rdma_en", 7);
    name[7] = (char)('2' + slot); /* slots are 0..7 */
    name[8] = '\0';
}

static bool is_default_name(const char *name, int slots)
{
    return strncmp(name, "rdma_en", 7) == 0 && name[7] >= '2' &&
           name[7] < '2' + slots && name[8] == '\0';
}

static bool lists_nothing(const struct scn *scenario, int rank)
{
    for (int i = 0; i < scenario->count; i++) {
        const struct scn_statement *s = &scenario->statements[i];
        if (s->kind == SCN_NODEVICES && (s->rank == rank || s->rank == SCN_ALL))
            return true;
    }
    return false;
}

bool scn_has_default_devices(const struct scn *scenario, int rank)
{
    return !scn_device(scenario, rank, 0) && !lists_nothing(scenario, rank);
}

bool scn_has_device(const struct scn *scenario, int rank, const char *name)
{
    bool any = false;
    for (int i = 0; i < scenario->count; i++) {
        const struct scn_statement *s = &scenario->statements[i];
        if (s->kind != SCN_DEVICE || (s->rank != rank && s->rank != SCN_ALL))
            continue;
        if (strcmp(s->u.device.name, name) == 0)
            return true;
        any = true;
    }
    if (any || lists_nothing(scenario, rank))
        return false;
    struct scn_shape shape = scn_shape(scenario);
    return is_default_name(name, scn_slots(&shape));
}

bool scn_is_end(const struct scn_statement *s, int rank, const char *name)
{
    return (s->rank == rank && strcmp(s->u.cable.name, name) == 0) ||
           (s->u.cable.other_rank == rank &&
            strcmp(s->u.cable.other_name, name) == 0);
}

const struct scn_statement *scn_cable_of(const struct scn *scenario, int rank,
                                         const char *name)
{
    for (int i = 0; i < scenario->count; i++) {
        const struct scn_statement *s = &scenario->statements[i];
        if (s->kind == SCN_CABLE && scn_is_end(s, rank, name))
            return s;
    }
    return NULL;
}
