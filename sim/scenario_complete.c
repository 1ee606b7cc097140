/* What a scenario means: its topology, its defaults, its canonical form. */
#include <string.h>

#include "sim/scenario.h"
#include "sim/scenario_topology.h"

/* ---- statements ---- */

void scn_copy(struct scn *to, const struct scn *from)
{
    to->count = from->count;
    memcpy(to->statements, from->statements,
           (size_t)from->count * sizeof from->statements[0]);
}

void scn_remove(struct scn *scenario, int i)
{
    scenario->count--;
    memmove(&scenario->statements[i], &scenario->statements[i + 1],
            (size_t)(scenario->count - i) * sizeof scenario->statements[0]);
}

struct scn_statement *scn_add(struct scn *scenario, enum scn_kind kind)
{
    if (scenario->count >= SCN_STATEMENTS_MAX)
        return NULL;
    struct scn_statement *s = &scenario->statements[scenario->count++];
    memset(s, 0, sizeof *s);
    s->kind = kind;
    if (kind == SCN_DEVICE) {
        s->u.device.max_mr = s->u.device.max_qp = s->u.device.max_pd = -1;
        s->u.device.used_mr = s->u.device.used_qp = s->u.device.used_pd = -1;
    }
    return s;
}

static const struct scn_statement *find(const struct scn *scenario,
                                        enum scn_kind kind)
{
    for (int i = 0; i < scenario->count; i++) {
        if (scenario->statements[i].kind == kind)
            return &scenario->statements[i];
    }
    return NULL;
}

/* ---- what is in force ---- */

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

/* The cell that a statement with exactly this VIEW gives. */
static const struct scn_statement *given_cell(const struct scn *scenario,
                                              int view, int row, int column)
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
    const struct scn_statement *s = given_cell(scenario, view, row, column);
    return s ? s : given_cell(scenario, SCN_ALL, row, column);
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

struct shape {
    int ranks, wires;
    enum scn_topology topology;
};

static struct shape shape_of(const struct scn *scenario)
{
    struct shape shape;
    scn_topology(scenario, &shape.ranks, &shape.topology, &shape.wires);
    return shape;
}

/* Slots of a rank. */
static int slots(const struct shape *shape)
{
    if (shape->topology == SCN_MESH)
        return shape->ranks - 1;
    return shape->ranks == 2 ? shape->wires : 2 * shape->wires;
}

/* The slot of rank's first wire to peer, or -1 if none leads there. */
static int slot_to(const struct shape *shape, int rank, int peer)
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

/* Does the scenario leave the devices of a rank to the defaults? */
static bool has_default_devices(const struct scn *scenario, int rank)
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
    struct shape shape = shape_of(scenario);
    return is_default_name(name, slots(&shape));
}

/* ---- completing ---- */

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
static int complete_devices(struct scn *scenario, const struct shape *shape)
{
    bool needs[SCN_RANKS_MAX];
    int needing = 0;
    for (int rank = 0; rank < shape->ranks; rank++) {
        needs[rank] = has_default_devices(scenario, rank);
        needing += needs[rank];
    }
    bool together = needing == shape->ranks;
    for (int rank = 0; rank < (together ? 1 : shape->ranks); rank++) {
        for (int slot = 0; needs[rank] && slot < slots(shape); slot++) {
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
    if (given_cell(scenario, SCN_ALL, row, column))
        return true;
    for (int view = 0; view < ranks; view++) {
        if (!given_cell(scenario, view, row, column))
            return false;
    }
    return true;
}

static int complete_cell(struct scn *scenario, const struct shape *shape,
                         int row, int column)
{
    int slot = slot_to(shape, row, column);
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

static int complete_cells(struct scn *scenario, const struct shape *shape)
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

static bool is_end(const struct scn_statement *s, int rank, const char *name)
{
    return (s->rank == rank && strcmp(s->u.cable.name, name) == 0) ||
           (s->u.cable.other_rank == rank &&
            strcmp(s->u.cable.other_name, name) == 0);
}

/* The cable of a device, or NULL. */
static const struct scn_statement *cable_of(const struct scn *scenario,
                                            int rank, const char *name)
{
    for (int i = 0; i < scenario->count; i++) {
        const struct scn_statement *s = &scenario->statements[i];
        if (s->kind == SCN_CABLE && is_end(s, rank, name))
            return s;
    }
    return NULL;
}

static int complete_cable(struct scn *scenario, int rank, const char *name,
                          int other, const char *other_name)
{
    if (!scn_has_device(scenario, rank, name) ||
        !scn_has_device(scenario, other, other_name) ||
        cable_of(scenario, rank, name) ||
        cable_of(scenario, other, other_name))
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
static int complete_cables(struct scn *scenario, const struct shape *shape)
{
    if (find(scenario, SCN_CABLE))
        return 0;
    for (int rank = 0; rank < shape->ranks; rank++) {
        for (int other = rank + 1; other < shape->ranks; other++) {
            const struct scn_statement *a =
                scn_cell(scenario, rank, rank, other);
            const struct scn_statement *b =
                scn_cell(scenario, other, other, rank);
            for (int wire = 0; a && b && wire < a->u.cell.count &&
                               wire < b->u.cell.count;
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
    struct shape shape = shape_of(scenario);
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

/* ---- soundness ---- */

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
    const struct scn_statement *cable = cable_of(complete, row, name);
    /* Being cabled, the device exists. One cable has two different ends. */
    return cable && is_end(cable, column, peer);
}

static bool cell_is_sound(const struct scn *complete,
                          const struct shape *shape, int row, int column)
{
    const struct scn_statement *cell = scn_cell(complete, 0, row, column);
    for (int view = 1; view < shape->ranks; view++) {
        if (!same_cell(cell, scn_cell(complete, view, row, column)))
            return false;
    }
    const struct scn_statement *back = scn_cell(complete, 0, column, row);
    int wires = slot_to(shape, row, column) < 0 ? 0 : shape->wires;
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
                              const struct shape *shape)
{
    const struct vf_profile *p = scn_profile(scenario);
    bool twice = shape->topology == SCN_RING && shape->ranks == 2;
    uint32_t needed = groups_at_once(scenario) * (twice ? 2 : 1);
    return (p->qp_limit == 0 || needed <= p->qp_limit) &&
           (p->mr_limit == 0 || needed <= p->mr_limit) &&
           (p->pd_limit == 0 || needed <= p->pd_limit);
}

bool scn_is_sound(const struct scn *scenario)
{
    struct shape shape = shape_of(scenario);
    for (int i = 0; i < scenario->count; i++) {
        if (!is_harmless(&scenario->statements[i], shape.ranks))
            return false;
    }
    if (!limits_are_enough(scenario, &shape))
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

/* ---- canonical form ---- */

static int sign(long long difference)
{
    return (difference > 0) - (difference < 0);
}

static int compare_cables(const struct scn_statement *a,
                          const struct scn_statement *b)
{
    int order = strcmp(a->u.cable.name, b->u.cable.name);
    if (order == 0)
        order = a->u.cable.other_rank - b->u.cable.other_rank;
    return order ? order : strcmp(a->u.cable.other_name, b->u.cable.other_name);
}

/* Single calls first, then the later of those that go on: the first that
 * matches decides, and so each of them still does what it did. */
static int compare_faults(const struct vf_fault *a, const struct vf_fault *b)
{
    if (a->verb != b->verb)
        return strcmp(vf_verb_name(a->verb), vf_verb_name(b->verb));
    if (a->onward != b->onward)
        return a->onward ? 1 : -1;
    int order = sign((long long)a->nth - (long long)b->nth);
    return a->onward ? -order : order;
}

static int compare(const struct scn_statement *a,
                   const struct scn_statement *b)
{
    if (a->kind != b->kind)
        return (int)a->kind - (int)b->kind;
    if (a->kind == SCN_RUN)
        return 0;
    if (a->kind == SCN_EXPECT)
        return strcmp(a->u.expect.subject, b->u.expect.subject);
    if (a->rank != b->rank)
        return a->rank - b->rank;
    switch (a->kind) {
    case SCN_CABLE:
        return compare_cables(a, b);
    case SCN_CELL:
        return a->u.cell.row != b->u.cell.row
                   ? a->u.cell.row - b->u.cell.row
                   : a->u.cell.column - b->u.cell.column;
    case SCN_LIBRARY:
        return strcmp(a->u.text.word, b->u.text.word);
    case SCN_FAULT:
        return compare_faults(&a->u.fault, &b->u.fault);
    case SCN_CHANNEL:
        return a->u.channel.what != b->u.channel.what
                   ? (int)a->u.channel.what - (int)b->u.channel.what
                   : a->u.channel.bytes - b->u.channel.bytes;
    default:
        return 0;
    }
}

static void turn_cable(struct scn_statement *s)
{
    int order = s->rank - s->u.cable.other_rank;
    if (order == 0)
        order = strcmp(s->u.cable.name, s->u.cable.other_name);
    if (order <= 0)
        return;
    char name[SCN_NAME_MAX];
    int rank = s->rank;
    s->rank = s->u.cable.other_rank;
    s->u.cable.other_rank = rank;
    memcpy(name, s->u.cable.name, sizeof name);
    memcpy(s->u.cable.name, s->u.cable.other_name, sizeof name);
    memcpy(s->u.cable.other_name, name, sizeof name);
}

/* Moves the statements so that the i-th is the one that was order[i]-th. */
static void arrange(struct scn *scenario, int *order)
{
    for (int i = 0; i < scenario->count; i++) {
        if (order[i] == i)
            continue;
        struct scn_statement first = scenario->statements[i];
        int at = i;
        while (order[at] != i) {
            int from = order[at];
            scenario->statements[at] = scenario->statements[from];
            order[at] = at;
            at = from;
        }
        scenario->statements[at] = first;
        order[at] = at;
    }
}

void scn_canonical(struct scn *scenario)
{
    struct scn_statement *all = scenario->statements;
    int order[SCN_STATEMENTS_MAX], kept = 0;
    for (int i = 0; i < scenario->count; i++) {
        if (all[i].kind == SCN_COMMENT)
            continue;
        if (kept != i)
            all[kept] = all[i];
        all[kept].comment = NULL;
        all[kept].comment_length = 0;
        if (all[kept].kind == SCN_CABLE)
            turn_cable(&all[kept]);
        kept++;
    }
    scenario->count = kept;
    for (int i = 0; i < kept; i++) {
        int at = i;
        for (; at > 0 && compare(&all[order[at - 1]], &all[i]) > 0; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    arrange(scenario, order);
}
