/* The world as the scenario says. */
#include "sim/calls.h"
#include "sim/state.h"

#include <stdio.h>
#include <string.h>

#include "verbfault/library.h"

/* ---- hooks: what the world asks the simulator --------------------------- */

static int64_t hook_now(void *context)
{
    (void)context;
    return sim.now;
}

static void hook_step(void *context, int machine)
{
    (void)context;
    sim_watch_step(machine);
    if (machine == sim.current)
        sim_step(&sim.ranks[machine]);
}

static void hook_empty(void *context, int machine)
{
    (void)context;
    if (machine == sim.current)
        sim_empty(&sim.ranks[machine]);
}

static void hook_changed(void *context, int machine)
{
    (void)context;
    (void)machine;
    sim_changed();
}

/* What the plan does to a rank is not the rank's outcome, but is said. */
static void end_as_planned(struct sim_rank *rank, const char *how)
{
    rank->planned_end = true;
    if (rank->result->outcome == SCN_READY)
        snprintf(rank->result->message, sizeof rank->result->message, "%s",
                 how);
}

static void hook_exit(void *context, int machine)
{
    (void)context;
    end_as_planned(&sim.ranks[machine], "its process ended here, as planned");
    sim_stop_rank(&sim.ranks[machine], SIM_ENDED);
}

static void hook_hang(void *context, int machine)
{
    (void)context;
    end_as_planned(&sim.ranks[machine], "it stopped here for ever, as planned");
    sim_stop_rank(&sim.ranks[machine], SIM_STOPPED);
}

static void hook_planned(void *context, int machine, unsigned fault)
{
    (void)context;
    sim.result->rank[machine].struck[fault / 64] |= UINT64_C(1) << fault % 64;
    sim_watch_hit();
}

static void hook_trace(void *context, int machine, const char *line)
{
    (void)context;
    sim.options->trace(sim.options->context, machine, line);
}

static void hook_no_trace(void *context, int machine, const char *line)
{
    (void)context;
    (void)machine;
    (void)line;
}

static void hook_record(void *context, int machine, const char *line,
                        int64_t began)
{
    (void)context;
    (void)began;
    sim.options->subject->told(&sim.ranks[machine], line);
}

static bool hook_memory_alive(void *context, const void *address, size_t length)
{
    (void)context;
    return sim_memory_alive(address, length);
}

static void hook_finding(void *context, const struct vf_finding *finding)
{
    struct sim_rank *rank = &sim.ranks[finding->machine];
    struct sim_rank_result *result = rank->result;
    (void)context;
    /* A fixed subject that could not release something has to say so: then
     * what is left is no leak of its own. The others are not asked. */
    if (finding->planned && sim.options->subject->fixed &&
        (result->outcome == SCN_ERROR || sim.recovering)) {
        rank->mr_kept = rank->mr_kept || finding->verb == VF_VERB_reg_mr;
        return;
    }
    if (result->findings < SIM_FINDINGS_MAX)
        result->finding[result->findings] = *finding;
    result->findings++;
    if (finding->fatal && result->outcome < SCN_CRASH && sim.options->stacks)
        sim_stack(result->stack, sizeof result->stack);
    sim_outcome(rank,
                finding->fatal  ? SCN_CRASH
                : finding->leak ? SCN_LEAK
                                : SCN_VIOLATION,
                finding->title, finding->detail);
    if (sim.options->finding)
        sim.options->finding(sim.options->context, finding);
    if (finding->fatal && !sim.options->keep_going &&
        finding->machine == sim.current)
        sim_stop_rank(rank, SIM_ENDED);
}

void sim_crash(struct sim_rank *rank, const char *title, const char *detail)
{
    struct vf_finding finding;
    memset(&finding, 0, sizeof finding);
    finding.machine = rank->number;
    finding.verb = vf_machine_inside(sim.world, rank->number);
    finding.fatal = true;
    snprintf(finding.title, sizeof finding.title, "%s", title);
    snprintf(finding.detail, sizeof finding.detail, "%s", detail);
    hook_finding(NULL, &finding);
}

/* The refused calls of this run, for the minimizer. */
#define REFUSED_MAX 16
static struct vf_fault refused[REFUSED_MAX];
static int refused_ranks[REFUSED_MAX];
static int refused_count;

static void hook_refused(void *context, int machine, enum vf_verb verb,
                         unsigned nth, int err_no)
{
    struct vf_fault *fault;
    (void)context;
    if (refused_count == REFUSED_MAX || sim.recovering)
        return;
    refused_ranks[refused_count] = machine;
    fault = &refused[refused_count++];
    fault->verb = verb;
    fault->nth = nth;
    fault->onward = false;
    fault->effect = vf_verb_answer(verb) == VF_ANSWER_POINTER ? VF_EFFECT_NULL
                                                              : VF_EFFECT_ERRNO;
    fault->value = err_no;
}

int sim_refused(struct vf_fault *faults, int *ranks, int room)
{
    int count = refused_count < room ? refused_count : room;
    memcpy(faults, refused, (size_t)count * sizeof *faults);
    memcpy(ranks, refused_ranks, (size_t)count * sizeof *ranks);
    return count;
}

/* ---- the parts of a world ------------------------------------------------ */

static bool names(const struct scn_statement *statement, int rank)
{
    return statement->rank == SCN_ALL || statement->rank == rank;
}

/* Of `used_*` -1 stands for "not given". */
static int given(int used)
{
    return used > 0 ? used : 0;
}

static void add_device(const struct scn_statement *statement, int rank)
{
    struct vf_device_setup setup;
    memset(&setup, 0, sizeof setup);
    snprintf(setup.name, sizeof setup.name, "%s", statement->u.device.name);
    setup.profile = scn_profile(sim.scenario);
    setup.port_down = statement->u.device.port_down;
    setup.no_ipv4 = statement->u.device.no_ipv4;
    setup.max_mr = statement->u.device.max_mr;
    setup.max_qp = statement->u.device.max_qp;
    setup.max_pd = statement->u.device.max_pd;
    setup.used_mr = given(statement->u.device.used_mr);
    setup.used_qp = given(statement->u.device.used_qp);
    setup.used_pd = given(statement->u.device.used_pd);
    vf_machine_add_device(sim.world, rank, &setup);
}

static void fill_cell(struct sim_rank *rank,
                      const struct scn_statement *statement)
{
    int row = statement->u.cell.row, column = statement->u.cell.column;
    struct sim_cell *cell;
    if (row > SCN_RANKS_MAX || column > SCN_RANKS_MAX)
        return;
    cell = &rank->cells[row][column];
    cell->count = statement->u.cell.count;
    for (int i = 0; i < cell->count; i++)
        cell->names[i] = statement->u.cell.names[i];
}

static void set_channel(struct sim_rank *rank,
                        const struct scn_statement *statement)
{
    switch (statement->u.channel.what) {
    case SCN_CHANNEL_CLOSE:
        rank->channel_close = statement->u.channel.bytes;
        break;
    case SCN_CHANNEL_SILENT:
        rank->channel_silent = statement->u.channel.bytes;
        break;
    case SCN_CHANNEL_GARBLE:
        rank->channel_garble = statement->u.channel.bytes;
        break;
    }
}

static void set_library(struct sim_rank *rank,
                        const struct scn_statement *statement)
{
    if (statement->u.text.word[0] == '\0')
        rank->library_absent = true;
    else
        rank->library_without = statement->u.text.word;
}

/* What one statement says of one rank. */
static void apply(struct sim_rank *rank, const struct scn_statement *statement)
{
    if (!names(statement, rank->number))
        return;
    switch (statement->kind) {
    case SCN_DEVICE:
        add_device(statement, rank->number);
        break;
    case SCN_NODEVICES:
        if (statement->u.number != 0)
            vf_machine_no_device_list(sim.world, rank->number,
                                      statement->u.number);
        break;
    case SCN_CELL:
        fill_cell(rank, statement);
        break;
    case SCN_ROWS:
        rank->size = statement->u.number;
        break;
    case SCN_COORDINATOR:
        rank->coordinator = statement->u.text.word;
        break;
    case SCN_LATE:
        rank->late = (int64_t)statement->u.number * 1000000;
        break;
    case SCN_LIBRARY:
        set_library(rank, statement);
        break;
    case SCN_FAULT:
        vf_machine_plan(sim.world, rank->number, &statement->u.fault);
        break;
    case SCN_CHANNEL:
        set_channel(rank, statement);
        break;
    case SCN_PEER:
        sim.hostile[rank->number] = statement;
        break;
    default:
        break;
    }
}

static void start_rank(struct sim_rank *rank)
{
    rank->state = SIM_RUNNABLE;
    rank->waits_for = "nothing";
    rank->empty_polls = rank->idle_calls = 0;
    rank->empty_at = rank->idle_at = rank->looked_at = 0;
    rank->group_count = 0;
    rank->planned_end = rank->mr_kept = false;
    rank->inner = NULL;
    rank->channel_sent = 0;
    fiber_start(rank->fiber, sim_program, rank);
}

static int prepare_rank(struct sim_rank *rank, int number)
{
    rank->number = number;
    if (!rank->fiber)
        rank->fiber = fiber_create();
    if (!rank->fiber || sim_memory_open(rank) != 0)
        return -1;
    rank->size = sim.rank_count;
    for (int row = 0; row <= SCN_RANKS_MAX; row++)
        for (int column = 0; column <= SCN_RANKS_MAX; column++)
            rank->cells[row][column].count = 0;
    rank->coordinator = "10.0.0.1:9000";
    rank->library_absent = false;
    rank->library_without = NULL;
    rank->late = 0;
    for (int i = 0; i < SCN_SETTING_COUNT; i++)
        rank->settings[i] =
            scn_setting(sim.scenario, number, (enum scn_setting)i);
    rank->channel_close = rank->channel_silent = rank->channel_garble = -1;
    rank->result = &sim.result->rank[number];
    return 0;
}

static void reset_world(void)
{
    struct vf_hooks hooks;
    memset(&hooks, 0, sizeof hooks);
    hooks.now = hook_now;
    hooks.step = hook_step;
    hooks.empty = hook_empty;
    hooks.changed = hook_changed;
    hooks.refused = hook_refused;
    hooks.planned = hook_planned;
    hooks.finding = hook_finding;
    hooks.exit = hook_exit;
    hooks.hang = hook_hang;
    hooks.trace = sim.options->trace ? hook_trace : NULL;
    if (sim.options->subject->told) {
        hooks.record = hook_record;
        hooks.trace = hooks.trace ? hooks.trace : hook_no_trace;
    }
    hooks.memory_alive = hook_memory_alive;
    vf_world_reset(sim.world, &hooks);
    vf_world_install(sim.world);
}

static void reset_state(void)
{
    sim.now = 0;
    sim.epoch = 1;
    sim.current = -1;
    sim.seed = 0;
    sim.order = NULL;
    sim.order_at = 0;
    sim.counted = false;
    sim.recovering = false;
    sim.strays = 0;
    refused_count = 0;
    for (int i = 0; i < SCN_RANKS_MAX; i++)
        sim.hostile[i] = NULL;
    sim_sockets_reset();
}

static bool has_device_list(int rank)
{
    for (int i = 0; i < sim.complete.count; i++)
        if (sim.complete.statements[i].kind == SCN_NODEVICES &&
            names(&sim.complete.statements[i], rank))
            return false;
    return true;
}

static int prepare_ranks(void)
{
    for (int i = 0; i < sim.rank_count; i++) {
        if (prepare_rank(&sim.ranks[i], i) != 0 ||
            vf_world_add_machine(sim.world) != i)
            return -1;
        for (int k = 0; k < sim.complete.count; k++) {
            const struct scn_statement *statement = &sim.complete.statements[k];
            if (statement->kind == SCN_DEVICE && !has_device_list(i))
                continue;
            apply(&sim.ranks[i], statement);
        }
    }
    return 0;
}

static void set_order(const struct scn_statement *statement)
{
    sim.seed = statement->u.order.seed;
    if (statement->u.order.count > 0)
        sim.order = statement;
}

static void apply_global(const struct scn_statement *statement)
{
    if (statement->kind == SCN_CABLE)
        vf_world_cable(sim.world, statement->rank, statement->u.cable.name,
                       statement->u.cable.other_rank,
                       statement->u.cable.other_name);
    else if (statement->kind == SCN_STRAY)
        sim.strays++;
    else if (statement->kind == SCN_ORDER)
        set_order(statement);
}

int sim_setup(const struct scn *scenario, struct scn_error *error)
{
    enum scn_topology topology;
    int wires;
    if (!sim.world)
        sim.world = vf_world_create();
    scn_copy(&sim.complete, scenario);
    if (!sim.world || scn_complete(&sim.complete) != 0) {
        error->line = error->column = 0;
        snprintf(error->message, sizeof error->message, "%s",
                 sim.world ? "too many statements" : "out of memory");
        return -1;
    }
    sim.scenario = scenario;
    scn_topology(scenario, &sim.rank_count, &topology, &wires);
    reset_state();
    reset_world();
    if (prepare_ranks() != 0) {
        error->line = error->column = 0;
        snprintf(error->message, sizeof error->message, "out of memory");
        return -1;
    }
    /* A recording says all that there was. */
    for (int i = 0; i < sim.complete.count && !scn_has_calls(scenario); i++)
        apply_global(&sim.complete.statements[i]);
    for (int i = 0; i < scenario->count && scn_has_calls(scenario); i++)
        apply_global(&scenario->statements[i]);
    scn_random_seed(&sim.random, sim.seed);
    for (int i = 0; i < sim.rank_count; i++) {
        start_rank(&sim.ranks[i]);
        if (sim.hostile[i]) {
            sim.ranks[i].state = SIM_DONE;
            end_as_planned(&sim.ranks[i], "a hostile peer stands in its place");
        }
    }
    return 0;
}

void sim_lift_faults(void)
{
    sim.recovering = true;
    sim.strays = 0;
    sim_sockets_reset();
    for (int i = 0; i < sim.rank_count; i++) {
        struct sim_rank *rank = &sim.ranks[i];
        vf_machine_clear_plan(sim.world, i);
        if (rank->state != SIM_DONE)
            sim_bury(rank);
        /* What a device keeps of a dead process is a fault, too, and nothing
         * but this lifts it (mlx#3207). */
        vf_machine_reboot(sim.world, i);
        sim_memory_end(rank); /* what is left was reported, or excused */
        sim.hostile[i] = NULL;
        rank->library_absent = false;
        rank->library_without = NULL;
        rank->late = 0;
        rank->channel_close = rank->channel_silent = rank->channel_garble = -1;
        start_rank(rank);
    }
}

/* ---- what a rank can ask ------------------------------------------------- */

int sim_rank_number(const struct sim_rank *rank)
{
    return rank->number;
}

int sim_rank_size(const struct sim_rank *rank)
{
    return rank->size;
}

const struct sim_cell *sim_rank_cell(const struct sim_rank *rank, int row,
                                     int column)
{
    return &rank->cells[row][column];
}

int sim_rank_setting(const struct sim_rank *rank, enum scn_setting what)
{
    return rank->settings[what];
}

bool sim_rank_prefers_ring(const struct sim_rank *rank)
{
    return rank->settings[SCN_SETTING_TOPOLOGY] == SCN_RING;
}

const char *sim_rank_coordinator(const struct sim_rank *rank)
{
    return rank->coordinator;
}

bool sim_library_present(const struct sim_rank *rank)
{
    return !rank->library_absent;
}

void *sim_library_symbol(const struct sim_rank *rank, const char *symbol)
{
    sim_watch_symbol(symbol);
    if (rank->library_absent ||
        (rank->library_without && strcmp(rank->library_without, symbol) == 0))
        return NULL;
    return vf_library_symbol(symbol);
}
