/*
 * What can be wrong before the first call.
 *
 * A scenario that says itself what a rank's devices are like keeps them: they
 * would have to be changed, and a setup only adds.
 */
#include "sim/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/watch.h"
#include "verbfault/library.h"

/* Nobody has a device of that name, nobody listens there. */
#define NO_DEVICE "rdma_en99"
#define NOBODY "10.0.9.9:9000"

struct list {
    struct scn complete; /* the scenario with its defaults */
    struct sweep_fault *faults;
    int count, room;
    bool full; /* memory is out */
};

/* A new fault of one statement; the statement, or NULL. */
static struct scn_statement *put(struct list *list, enum scn_kind kind,
                                 int rank)
{
    struct sweep_fault *fault;
    if (list->count == list->room) {
        int room = list->room ? list->room * 2 : 64;
        struct sweep_fault *faults =
            realloc(list->faults, (size_t)room * sizeof *faults);
        if (!faults) {
            list->full = true;
            return NULL;
        }
        list->faults = faults;
        list->room = room;
    }
    fault = &list->faults[list->count++];
    memset(fault, 0, sizeof *fault);
    fault->count = 1;
    fault->statements[0].kind = kind;
    fault->statements[0].rank = rank;
    return &fault->statements[0];
}

static void put_word(struct list *list, enum scn_kind kind, int rank,
                     const char *word)
{
    struct scn_statement *statement = put(list, kind, rank);
    if (statement)
        snprintf(statement->u.text.word, sizeof statement->u.text.word, "%s",
                 word);
}

static void put_number(struct list *list, enum scn_kind kind, int rank,
                       int number)
{
    struct scn_statement *statement = put(list, kind, rank);
    if (statement)
        statement->u.number = number;
}

static void put_library(struct list *list, const struct sim_watch *watch,
                        int rank)
{
    put_word(list, SCN_LIBRARY, rank, "");
    for (int i = 0; i < watch->symbol_count; i++)
        if (vf_library_symbol(watch->symbols[i]))
            put_word(list, SCN_LIBRARY, rank, watch->symbols[i]);
}

/* ---- devices ------------------------------------------------------------- */

enum state { PORT_DOWN, NO_IPV4, NO_MR, NO_QP, NO_PD, STATES };

/* Somebody else holds all there are; or, where there is no limit, there are
 * none. */
static void use_up(int *used, int *most, uint32_t limit)
{
    if (limit > 0)
        *used = (int)limit;
    else
        *most = 0;
}

static void spoil(struct scn_statement *device,
                  const struct vf_profile *profile, enum state state)
{
    switch (state) {
    case PORT_DOWN:
        device->u.device.port_down = true;
        break;
    case NO_IPV4:
        device->u.device.no_ipv4 = true;
        break;
    case NO_MR:
        use_up(&device->u.device.used_mr, &device->u.device.max_mr,
               profile->mr_limit);
        break;
    case NO_QP:
        use_up(&device->u.device.used_qp, &device->u.device.max_qp,
               profile->qp_limit);
        break;
    case NO_PD:
        use_up(&device->u.device.used_pd, &device->u.device.max_pd,
               profile->pd_limit);
        break;
    case STATES:
        break;
    }
}

static bool has_own_devices(const struct scn *scenario, int rank)
{
    for (int i = 0; i < scenario->count; i++) {
        const struct scn_statement *s = &scenario->statements[i];
        if ((s->kind == SCN_DEVICE || s->kind == SCN_NODEVICES) &&
            (s->rank == rank || s->rank == SCN_ALL))
            return true;
    }
    return false;
}

/* All devices of the rank as they are, but the n-th in that state. */
static void put_device(struct list *list, const struct scn *scenario, int rank,
                       int n, enum state state)
{
    struct sweep_fault *fault;
    if (!put(list, SCN_DEVICE, rank))
        return;
    fault = &list->faults[list->count - 1];
    fault->count = 0;
    for (int i = 0; fault->count < SWEEP_STATEMENTS_MAX; i++) {
        const struct scn_statement *device =
            scn_device(&list->complete, rank, i);
        if (!device)
            break;
        fault->statements[fault->count] = *device;
        fault->statements[fault->count].rank = rank; /* it may say * */
        if (i == n)
            spoil(&fault->statements[fault->count], scn_profile(scenario),
                  state);
        fault->count++;
    }
}

static void put_devices(struct list *list, const struct scn *scenario, int rank)
{
    put_number(list, SCN_NODEVICES, rank, 0);
    if (has_own_devices(scenario, rank))
        return;
    for (int n = 0; scn_device(&list->complete, rank, n); n++)
        for (int state = 0; state < STATES; state++)
            put_device(list, scenario, rank, n, (enum state)state);
}

/* ---- the device file ----------------------------------------------------- */

static void put_cell(struct list *list, const struct scn_statement *cell,
                     int view, int count, int at, const char *name)
{
    struct scn_statement *statement = put(list, SCN_CELL, view);
    if (!statement)
        return;
    statement->u.cell = cell->u.cell;
    statement->u.cell.count = count;
    if (count > 0)
        snprintf(statement->u.cell.names[at],
                 sizeof statement->u.cell.names[at], "%s", name);
}

/* Null; its first name empty; its last one that of no device. */
static void put_cells(struct list *list, int view, int row, int column)
{
    const struct scn_statement *cell =
        scn_cell(&list->complete, view, row, column);
    if (!cell || cell->u.cell.count == 0)
        return;
    put_cell(list, cell, view, 0, 0, "");
    put_cell(list, cell, view, cell->u.cell.count, 0, "");
    put_cell(list, cell, view, cell->u.cell.count, cell->u.cell.count - 1,
             NO_DEVICE);
}

static void put_file(struct list *list, int view)
{
    int rows = scn_rows(&list->complete, view);
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < rows; column++)
            put_cells(list, view, row, column);
    put_number(list, SCN_ROWS, view, rows - 1);
    put_number(list, SCN_ROWS, view, rows + 1);
    put_word(list, SCN_COORDINATOR, view, NOBODY);
}

/* A rank's cell for itself names its device, as if it were its own peer. */
static void put_diagonal(struct list *list, int rank)
{
    const struct scn_statement *device = scn_device(&list->complete, rank, 0);
    struct scn_statement *cell;
    if (!device)
        return;
    cell = put(list, SCN_CELL, rank);
    if (!cell)
        return;
    cell->u.cell.row = cell->u.cell.column = rank;
    cell->u.cell.count = 1;
    memcpy(cell->u.cell.names[0], device->u.device.name,
           sizeof device->u.device.name);
}

/* ---- somebody else in a rank's place ------------------------------------- */

/* Numbers of four bytes, the lowest first, as JACCL's side channel has them. */
static void put_peer(struct list *list, int rank, const int32_t *numbers,
                     int count)
{
    struct scn_statement *peer = put(list, SCN_PEER, rank);
    if (!peer)
        return;
    for (int i = 0; i < count; i++)
        for (int byte = 0; byte < 4; byte++)
            peer->u.peer.bytes[peer->u.peer.count++] =
                (unsigned char)((uint32_t)numbers[i] >> 8 * byte & 0xff);
}

/* A rank says who it is, and then how many bytes follow; rank 0 is asked. What
 * it says is out of range, another's, or of a length that cannot be. */
static void put_peers(struct list *list, int rank, int ranks)
{
    static const int32_t lengths[] = {-1, 0, 1, INT32_MAX};
    const int32_t names[] = {-1, 0, ranks, 99999,
                             rank + 1 < ranks ? rank + 1 : 1};
    put_peer(list, rank, NULL, 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0] && rank > 0; i++)
        if (names[i] != rank)
            put_peer(list, rank, &names[i], 1);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const int32_t numbers[] = {rank, lengths[i]};
        if (rank > 0)
            put_peer(list, rank, numbers, 2);
        else
            put_peer(list, rank, &lengths[i], 1);
    }
}

/* Those that the scenario contradicts are taken out again. */
static void keep_possible(struct list *list, const struct scn *scenario)
{
    static struct scn tried;
    int kept = 0;
    scn_copy(&tried, scenario);
    for (int i = 0; i < list->count; i++)
        if (sweep_add(&tried, scenario->count, &list->faults[i]))
            list->faults[kept++] = list->faults[i];
    list->count = kept;
}

int sweep_setups(const struct sweep_plan *plan, const struct sim_watch *watch,
                 struct sweep_fault **setups)
{
    static struct list list;
    bool any = false;
    list.faults = NULL;
    list.count = list.room = 0;
    list.full = false;
    scn_copy(&list.complete, plan->scenario);
    *setups = NULL;
    if (scn_complete(&list.complete) != 0)
        return 0; /* such a scenario cannot be run */
    for (int rank = 0; rank < watch->ranks; rank++) {
        if (!(plan->ranks >> rank & 1))
            continue;
        any = true;
        put_library(&list, watch, rank);
        put_devices(&list, plan->scenario, rank);
        put_file(&list, rank);
        put_diagonal(&list, rank);
        put_peers(&list, rank, watch->ranks);
    }
    if (any) /* it is told of rank 0, and comes to whoever listens */
        put(&list, SCN_STRAY, 0);
    keep_possible(&list, plan->scenario);
    *setups = list.faults;
    return list.full ? -1 : list.count;
}
