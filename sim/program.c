/*
 * What each rank runs: the scenario's `run`s in order, then the clean-up a
 * program does before it ends.
 *
 * Ranks run freely, but for one thing: every `run init` begins on all ranks
 * together. When a start fails on one rank and is tried again, somebody (a
 * launcher, a person) starts it again on all of them; a rank that tried alone
 * would find the others in their old attempt, and the operations that follow
 * would pair up wrongly, which is no fault of the subject's. For the same
 * reason a start that failed leaves an empty place among the rank's groups.
 */
#include "sim/state.h"

#include <stdio.h>
#include <string.h>

static void clear(struct sim_failure *failure)
{
    failure->code = 0;
    failure->refused = false;
    failure->step = NULL;
    failure->message[0] = '\0';
}

static void run_init(struct sim_rank *rank)
{
    const struct sim_subject *subject = sim.options->subject;
    struct sim_failure failure;
    void *group = NULL;
    clear(&failure);
    if (rank->group_count == SIM_GROUPS_MAX)
        return;
    sim_meet(rank);
    sim_sleep(rank, rank->late);
    rank->late = 0; /* not once more */
    if (subject->init(rank, &group, &failure) != 0) {
        sim_failed(rank, "init", &failure);
        group = NULL;
    }
    rank->groups[rank->group_count++] = group;
}

/* 0, or -1 when the group is of no more use. */
static int run_barrier(struct sim_rank *rank, void *group)
{
    struct sim_failure failure;
    clear(&failure);
    if (sim.options->subject->barrier(rank, group, &failure) == 0)
        return 0;
    sim_failed(rank, "barrier", &failure);
    return -1;
}

static void run_finalize(struct sim_rank *rank)
{
    struct sim_failure failure;
    clear(&failure);
    rank->group_count--;
    if (!rank->groups[rank->group_count])
        return;
    if (sim.options->subject->finalize(rank, rank->groups[rank->group_count],
                                       &failure) != 0)
        sim_failed(rank, "finalize", &failure);
}

/* A group that failed has to say so from then on. */
static void check_refused(struct sim_rank *rank, void *group)
{
    struct sim_failure failure;
    clear(&failure);
    if (sim.options->subject->fixed &&
        sim.options->subject->barrier(rank, group, &failure) == 0)
        sim_outcome(rank, SCN_VIOLATION, "success after a failure",
                    "a group that had failed answered a barrier with success");
}

/* One `run`. usable: the newest group may still be used. */
static void run_one(struct sim_rank *rank, const struct scn_statement *run,
                    unsigned number, bool *usable)
{
    void *group =
        rank->group_count > 0 ? rank->groups[rank->group_count - 1] : NULL;
    switch (run->u.run.operation) {
    case SCN_INIT:
        run_init(rank);
        *usable = rank->group_count > 0;
        break;
    case SCN_ALL_SUM:
    case SCN_ALL_MAX:
    case SCN_ALL_MIN:
    case SCN_ALL_GATHER:
    case SCN_SUM_SCATTER:
    case SCN_SEND:
        if (group && !*usable)
            check_refused(rank, group);
        else if (group)
            *usable = sim_operate(rank, group, run, number);
        break;
    case SCN_BARRIER:
        if (group && !*usable)
            check_refused(rank, group);
        else if (group)
            *usable = run_barrier(rank, group) == 0;
        break;
    case SCN_FINALIZE:
        if (rank->group_count > 0)
            run_finalize(rank);
        *usable = rank->group_count > 0;
        break;
    case SCN_OPERATION_COUNT:
        break;
    }
}

static void report_leaks(struct sim_rank *rank)
{
    size_t bytes;
    int blocks = sim_memory_live(rank, &bytes);
    int sockets = sim_sockets_open(rank);
    char message[160];
    vf_machine_leaks(sim.world, rank->number);
    if (sockets > 0) {
        snprintf(message, sizeof message, "%d socket%s left open", sockets,
                 sockets == 1 ? "" : "s");
        sim_outcome(rank, SCN_LEAK, "leak of socket", message);
    }
    if (blocks > 0 && !rank->mr_kept) {
        snprintf(message, sizeof message, "%d allocation%s, %zu byte%s", blocks,
                 blocks == 1 ? "" : "s", bytes, bytes == 1 ? "" : "s");
        sim_outcome(rank, SCN_LEAK, "leak of memory", message);
    }
}

static void second_start(struct sim_rank *rank)
{
    static const struct scn_statement sum = {
        .kind = SCN_RUN,
        .u.run = {.operation = SCN_ALL_SUM, .type = SCN_FLOAT32, .count = 16}};
    run_init(rank);
    if (rank->groups[0])
        sim_operate(rank, rank->groups[0], &sum, 0);
}

static void all_runs(struct sim_rank *rank)
{
    bool usable = false;
    for (int i = 0; i < sim.scenario->count; i++) {
        const struct scn_statement *statement = &sim.scenario->statements[i];
        if (statement->kind != SCN_RUN)
            continue;
        sim_tell(SIM_EVENT_BEGIN, rank->number, -1, i, 0);
        run_one(rank, statement, (unsigned)i, &usable);
        sim_tell(SIM_EVENT_END, rank->number, -1, i, 0);
    }
}

void sim_program(void *argument)
{
    struct sim_rank *rank = argument;
    if (sim.options->subject->program) {
        sim.options->subject->program(rank);
        rank->state = SIM_DONE;
        return;
    }
    if (sim.recovering)
        second_start(rank);
    else
        all_runs(rank);
    sim_tell(SIM_EVENT_BEGIN, rank->number, -1, -1, 0);
    while (rank->group_count > 0)
        run_finalize(rank);
    report_leaks(rank);
    rank->state = SIM_DONE;
}
