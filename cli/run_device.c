/*
 * verbfault run --device: machines with plans. Devices are the machine's own,
 * so of a scenario only its faults are meant.
 */
#include "cli/run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/real_devices.h"

/* What means nothing to real devices, or only to the simulator. */
static bool is_left_aside(const struct scn_statement *statement)
{
    switch (statement->kind) {
    case SCN_COMMENT:
    case SCN_RANKS:
        return false;
    case SCN_FAULT:
        return statement->u.fault.verb == VF_VERB_alloc;
    default:
        return true;
    }
}

static void say_what_is_left_aside(const struct run_setup *setup)
{
    const struct scn *scenario = &setup->file.scenario;
    bool said[SCN_KIND_COUNT] = {false};
    bool any = false;

    for (int i = 0; i < scenario->count; i++) {
        enum scn_kind kind = scenario->statements[i].kind;

        if (!is_left_aside(&scenario->statements[i]) || said[kind])
            continue;
        if (!any)
            fprintf(stderr,
                    "%s: note: left aside, with --device: ", setup->file.path);
        fprintf(stderr, "%s%s%s", any ? ", " : "", scn_kind_name(kind),
                kind == SCN_FAULT ? " alloc" : "");
        any = said[kind] = true;
    }
    if (any)
        fprintf(stderr, "\n");
}

/* The rank of the scenario that has no process; -1: each has one. */
static int rank_without_process(const struct run_setup *setup, int *at)
{
    const struct scn *scenario = &setup->file.scenario;

    for (int i = 0; i < scenario->count; i++) {
        const struct scn_statement *statement = &scenario->statements[i];

        if (!is_left_aside(statement) && statement->kind == SCN_FAULT &&
            statement->rank >= setup->ranks) {
            *at = i;
            return statement->rank;
        }
    }
    return -1;
}

/* -n, else as the scenario says, else one. */
static int settle_ranks(const struct run_options *options,
                        struct run_setup *setup)
{
    const struct scn *scenario = &setup->file.scenario;
    int at, rank;

    setup->ranks = options->ranks ? options->ranks : 1;
    if (!setup->from_scenario)
        return CLI_FINE;
    for (int i = 0; !options->ranks && i < scenario->count; i++)
        if (scenario->statements[i].kind == SCN_RANKS)
            setup->ranks = scenario->statements[i].u.ranks.count;
    rank = rank_without_process(setup, &at);
    if (rank < 0)
        return CLI_FINE;
    fprintf(stderr, "%s:%d:%d: this is about rank %d, and there %s %d\n",
            setup->file.path, scenario->statements[at].line,
            scenario->statements[at].column, rank,
            setup->ranks == 1 ? "is" : "are", setup->ranks);
    return CLI_USAGE;
}

/* No library: nothing can be run. No device: a program may want to see that,
 * but whoever started it should know. */
static int look_at_devices(void)
{
    struct real_devices devices;

    real_devices_ask(&devices);
    if (devices.no_library) {
        fprintf(stderr, "verbfault run: no verbs library: %s\n", devices.why);
        return CLI_ENVIRONMENT;
    }
    if (devices.count == 0)
        fprintf(stderr,
                "verbfault run: note: this machine has no RDMA device (%s): "
                "%s; without --device there is the mock's\n",
                devices.why, real_devices_advice);
    return CLI_FINE;
}

int run_device_world(const struct run_options *options, struct run_setup *setup)
{
    int code = look_at_devices();

    if (code == CLI_FINE)
        code = settle_ranks(options, setup);

    if (code == CLI_FINE && setup->from_scenario)
        code = run_fill_in(setup);
    if (code != CLI_FINE)
        return code;
    for (int rank = 0; rank < setup->ranks; rank++) {
        if (vf_world_add_machine(setup->world) == rank &&
            (!setup->from_scenario || run_add_plan(setup, rank) == 0))
            continue;
        fprintf(stderr, "verbfault run: too much for rank %d\n", rank);
        return CLI_USAGE;
    }
    if (setup->from_scenario)
        say_what_is_left_aside(setup);
    return CLI_FINE;
}
