/* verbfault run: the world, from a scenario or from the defaults. */
#include "cli/run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- without a scenario ---------------------------------------------------
 */

/* Without cables one device reaches everyone; with cables there is one for
 * each other rank, named as the simulator names them. */
static void name_device(const struct vf_profile *profile, int slot,
                        char name[VF_NAME_MAX])
{
    if (profile->needs_cable)
        snprintf(name, VF_NAME_MAX, "rdma_en%d", slot + 2);
    else
        snprintf(name, VF_NAME_MAX, "rdma0");
}

/* The slot of rank's device for peer: peers are counted without oneself. */
static int slot_to(int rank, int peer)
{
    return peer < rank ? peer : peer - 1;
}

void run_device_name(const struct run_setup *setup, int rank, int peer,
                     char name[VF_NAME_MAX])
{
    name_device(setup->profile, slot_to(rank, peer), name);
}

static int add_default_machine(struct run_setup *setup, int devices)
{
    struct vf_device_setup device;
    int machine = vf_world_add_machine(setup->world);
    memset(&device, 0, sizeof device);
    device.profile = setup->profile;
    device.max_mr = device.max_qp = device.max_pd = -1;
    for (int slot = 0; slot < devices; slot++) {
        name_device(setup->profile, slot, device.name);
        if (machine < 0 ||
            vf_machine_add_device(setup->world, machine, &device) != 0)
            return -1;
    }
    return 0;
}

static int out_of_memory(void)
{
    fprintf(stderr, "verbfault run: %s\n", strerror(ENOMEM));
    return CLI_ENVIRONMENT;
}

static void add_default_cables(struct run_setup *setup)
{
    char name[VF_NAME_MAX], other[VF_NAME_MAX];
    for (int a = 0; a < setup->ranks; a++)
        for (int b = a + 1; b < setup->ranks; b++) {
            run_device_name(setup, a, b, name);
            run_device_name(setup, b, a, other);
            vf_world_cable(setup->world, a, name, b, other);
        }
}

static int default_world(const struct run_options *options,
                         struct run_setup *setup)
{
    int devices = 1;
    setup->profile = options->profile ? options->profile : &vf_profile_ideal;
    setup->ranks = options->ranks ? options->ranks : 2;
    if (setup->profile->needs_cable && setup->ranks > 2)
        devices = setup->ranks - 1;
    if (devices > VF_DEVICE_MAX)
        return cli_usage("run",
                         "profile %s takes a device for each other rank; a "
                         "rank has %d at most, so -n %d is too many",
                         setup->profile->name, VF_DEVICE_MAX, setup->ranks);
    for (int rank = 0; rank < setup->ranks; rank++)
        if (add_default_machine(setup, devices) != 0)
            return out_of_memory();
    if (setup->profile->needs_cable)
        add_default_cables(setup);
    return CLI_FINE;
}

/* ---- from a scenario --------------------------------------------------------
 */

static const struct scn_statement *find(const struct scn *scenario,
                                        enum scn_kind kind)
{
    for (int i = 0; i < scenario->count; i++)
        if (scenario->statements[i].kind == kind)
            return &scenario->statements[i];
    return NULL;
}

static int complain(const struct run_setup *setup,
                    const struct scn_statement *statement, const char *what,
                    int ranks)
{
    fprintf(stderr, "%s:%d:%d: %s, but -n is %d\n", setup->file.path,
            statement->line, statement->column, what, ranks);
    return CLI_USAGE;
}

/* -n beside a scenario: it must not contradict, and may say what the scenario
 * leaves open. */
static int settle_ranks(const struct run_options *options,
                        struct run_setup *setup)
{
    struct scn *scenario = &setup->file.scenario;
    const struct scn_statement *given = find(scenario, SCN_RANKS);
    struct scn_statement *added;
    char what[64];
    setup->ranks = given ? given->u.ranks.count : 2;
    if (!options->ranks || options->ranks == setup->ranks)
        return CLI_FINE;
    if (given) {
        snprintf(what, sizeof what, "the scenario has %d ranks", setup->ranks);
        return complain(setup, given, what, options->ranks);
    }
    for (int i = 0; i < scenario->count; i++)
        if (scenario->statements[i].kind != SCN_COMMENT &&
            scenario->statements[i].rank >= options->ranks) {
            snprintf(what, sizeof what, "this is about rank %d",
                     scenario->statements[i].rank);
            return complain(setup, &scenario->statements[i], what,
                            options->ranks);
        }
    setup->ranks = options->ranks;
    if (options->ranks == 1) /* the other machine stands idle */
        return CLI_FINE;
    if (options->ranks > SCN_RANKS_MAX)
        return cli_usage("run", "a scenario has %d ranks at most, not %d",
                         SCN_RANKS_MAX, options->ranks);
    added = scn_add(scenario, SCN_RANKS);
    if (!added) {
        fprintf(stderr, "%s: too many statements\n", setup->file.path);
        return CLI_USAGE;
    }
    added->u.ranks.count = options->ranks;
    added->u.ranks.topology = SCN_MESH;
    added->u.ranks.wires = 1;
    return CLI_FINE;
}

static int settle_profile(const struct run_options *options,
                          struct run_setup *setup)
{
    struct scn *scenario = &setup->file.scenario;
    struct scn_statement *statement = NULL;
    for (int i = 0; i < scenario->count; i++)
        if (scenario->statements[i].kind == SCN_PROFILE)
            statement = &scenario->statements[i];
    if (!options->profile) {
        if (!statement)
            fprintf(stderr,
                    "%s: note: it names no profile, so the devices are "
                    "thunderbolt: UC only (--profile takes another)\n",
                    setup->file.path);
        return CLI_FINE;
    }
    if (!statement)
        statement = scn_add(scenario, SCN_PROFILE);
    if (!statement) {
        fprintf(stderr, "%s: too many statements\n", setup->file.path);
        return CLI_USAGE;
    }
    statement->u.profile = options->profile;
    return CLI_FINE;
}

int run_fill_in(struct run_setup *setup)
{
    struct scn_error error;
    if (scn_check(&setup->file.scenario, &error) != 0) {
        if (error.line > 0)
            fprintf(stderr, "%s:%d:%d: %s\n", setup->file.path, error.line,
                    error.column, error.message);
        else
            fprintf(stderr, "%s: %s\n", setup->file.path, error.message);
        return CLI_USAGE;
    }
    scn_copy(&setup->complete, &setup->file.scenario);
    if (scn_complete(&setup->complete) == 0)
        return CLI_FINE;
    fprintf(stderr, "%s: too many statements\n", setup->file.path);
    return CLI_USAGE;
}

/* Statements about the simulator's programs, or about what only it can do. */
static bool is_left_aside(const struct scn_statement *statement)
{
    switch (statement->kind) {
    case SCN_RUN:
    case SCN_CALL:
    case SCN_EXPECT:
    case SCN_CHANNEL:
    case SCN_PEER:
    case SCN_STRAY:
    case SCN_ORDER:
    case SCN_LATE:
        return true;
    case SCN_LIBRARY:
        return statement->u.text.word[0] != '\0';
    case SCN_FAULT: /* real processes have a heap of their own */
        return statement->u.fault.verb == VF_VERB_alloc;
    default:
        return false;
    }
}

static void say_what_is_left_aside(const struct run_setup *setup)
{
    const struct scn *scenario = &setup->file.scenario;
    bool kinds[SCN_KIND_COUNT] = {false};
    const char *separator = "";
    bool any = false;
    for (int i = 0; i < scenario->count; i++)
        if (is_left_aside(&scenario->statements[i]))
            any = kinds[scenario->statements[i].kind] = true;
    if (!any)
        return;
    fprintf(stderr,
            "%s: note: left aside, they mean nothing to real processes: ",
            setup->file.path);
    for (int kind = 0; kind < SCN_KIND_COUNT; kind++)
        if (kinds[kind]) {
            fprintf(stderr, "%s%s%s", separator,
                    scn_kind_name((enum scn_kind)kind),
                    kind == SCN_LIBRARY ? " without"
                    : kind == SCN_FAULT ? " alloc"
                                        : "");
            separator = ", ";
        }
    fprintf(stderr, "\n");
}

static bool names(const struct scn_statement *statement, int rank)
{
    return statement->rank == SCN_ALL || statement->rank == rank;
}

static int not_negative(int number)
{
    return number > 0 ? number : 0;
}

static int add_devices(struct run_setup *setup, int rank)
{
    const struct scn_statement *statement;
    for (int n = 0; (statement = scn_device(&setup->complete, rank, n)); n++) {
        struct vf_device_setup device;
        memset(&device, 0, sizeof device);
        snprintf(device.name, sizeof device.name, "%s",
                 statement->u.device.name);
        device.profile = scn_profile(&setup->complete);
        device.port_down = statement->u.device.port_down;
        device.no_ipv4 = statement->u.device.no_ipv4;
        device.max_mr = statement->u.device.max_mr;
        device.max_qp = statement->u.device.max_qp;
        device.max_pd = statement->u.device.max_pd;
        device.used_mr = not_negative(statement->u.device.used_mr);
        device.used_qp = not_negative(statement->u.device.used_qp);
        device.used_pd = not_negative(statement->u.device.used_pd);
        if (vf_machine_add_device(setup->world, rank, &device) != 0)
            return -1;
    }
    return 0;
}

/* No devices; and with an errno, no list of them either. */
static bool take_device_list(struct run_setup *setup, int rank)
{
    bool taken = false;
    for (int i = 0; i < setup->complete.count; i++) {
        const struct scn_statement *s = &setup->complete.statements[i];
        if (s->kind != SCN_NODEVICES || !names(s, rank))
            continue;
        taken = true;
        if (s->u.number != 0)
            vf_machine_no_device_list(setup->world, rank, s->u.number);
    }
    return taken;
}

int run_add_plan(struct run_setup *setup, int rank)
{
    for (int i = 0; i < setup->complete.count; i++) {
        const struct scn_statement *s = &setup->complete.statements[i];
        if (s->kind == SCN_FAULT && names(s, rank) &&
            vf_machine_plan(setup->world, rank, &s->u.fault) != 0)
            return -1;
    }
    return 0;
}

static int scenario_machines(struct run_setup *setup)
{
    enum scn_topology topology;
    int machines, wires;
    scn_topology(&setup->complete, &machines, &topology, &wires);
    for (int rank = 0; rank < machines; rank++) {
        if (vf_world_add_machine(setup->world) != rank)
            return out_of_memory();
        if ((!take_device_list(setup, rank) && add_devices(setup, rank) != 0) ||
            run_add_plan(setup, rank) != 0) {
            fprintf(stderr, "%s: too much for rank %d\n", setup->file.path,
                    rank);
            return CLI_USAGE;
        }
    }
    for (int i = 0; i < setup->complete.count; i++) {
        const struct scn_statement *s = &setup->complete.statements[i];
        if (s->kind == SCN_CABLE)
            vf_world_cable(setup->world, s->rank, s->u.cable.name,
                           s->u.cable.other_rank, s->u.cable.other_name);
    }
    return CLI_FINE;
}

static int scenario_world(const struct run_options *options,
                          struct run_setup *setup)
{
    int code = settle_ranks(options, setup);
    if (code == CLI_FINE)
        code = settle_profile(options, setup);
    if (code == CLI_FINE)
        code = run_fill_in(setup);
    if (code == CLI_FINE)
        code = scenario_machines(setup);
    if (code == CLI_FINE)
        say_what_is_left_aside(setup);
    return code;
}

bool run_library_absent(const struct run_setup *setup, int rank)
{
    for (int i = 0; setup->from_scenario && i < setup->complete.count; i++) {
        const struct scn_statement *s = &setup->complete.statements[i];
        if (s->kind == SCN_LIBRARY && names(s, rank) &&
            s->u.text.word[0] == '\0')
            return true;
    }
    return false;
}

int run_setup(const struct run_options *options, struct run_setup *setup)
{
    int code = CLI_FINE;
    setup->from_scenario = options->scenario != NULL;
    if (setup->from_scenario)
        code = cli_load(&setup->file, options->scenario);
    if (code != CLI_FINE)
        return code;
    setup->world = vf_world_create();
    if (!setup->world)
        code = out_of_memory();
    else if (options->device)
        code = run_device_world(options, setup);
    else if (setup->from_scenario)
        code = scenario_world(options, setup);
    else
        code = default_world(options, setup);
    if (code != CLI_FINE)
        run_setup_end(setup);
    return code;
}

void run_setup_end(struct run_setup *setup)
{
    vf_world_destroy(setup->world);
    setup->world = NULL;
    if (setup->from_scenario)
        cli_unload(&setup->file);
}
