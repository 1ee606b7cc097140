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

#include "sim/sanitizer.h"

static void failed(struct sim_rank *rank, const char *what,
                   const struct sim_failure *failure)
{
    char title[96];
    if (failure->step && strcmp(failure->step, what) != 0)
        snprintf(title, sizeof title, "error in %s: %s", what, failure->step);
    else
        snprintf(title, sizeof title, "error in %s", what);
    rank->result->err_code = failure->code;
    sim_outcome(rank, SCN_ERROR, title, failure->message);
}

static void clear(struct sim_failure *failure)
{
    failure->code = 0;
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
    if (subject->init(rank, &group, &failure) != 0) {
        failed(rank, "init", &failure);
        group = NULL;
    }
    rank->groups[rank->group_count++] = group;
}

/* 0, or -1 when the group is of no more use. */
static int run_all_sum(struct sim_rank *rank, void *group, unsigned operation,
                       enum scn_type type, size_t count)
{
    size_t bytes = count * scn_type_size(type);
    char *input = sim_data_buffer(rank->number, 0, bytes);
    char *output = sim_data_buffer(rank->number, 1, bytes);
    struct sim_failure failure;
    char title[96];
    clear(&failure);
    if (!input || !output)
        return -1;
    sim_data_input(input, rank->number, operation, count, type);
    memset(output, 0xa5, bytes); /* what is not written stays wrong */
    if (sim.options->subject->all_sum(rank, group, input, output, count, type,
                                      &failure) != 0) {
        failed(rank, "all_sum", &failure);
        return -1;
    }
    if (!sim.options->subject->fixed)
        sanitizer_initialised(output, bytes);
    if (sim_data_is_sum(output, sim_rank_size(rank), operation, count, type))
        return 0;
    snprintf(title, sizeof title, "wrong data in all_sum");
    sim_outcome(rank, SCN_WRONG_DATA, title,
                "all_sum answered success with a wrong result");
    return 0;
}

static int run_barrier(struct sim_rank *rank, void *group)
{
    struct sim_failure failure;
    clear(&failure);
    if (sim.options->subject->barrier(rank, group, &failure) == 0)
        return 0;
    failed(rank, "barrier", &failure);
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
        failed(rank, "finalize", &failure);
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
        if (group && !*usable)
            check_refused(rank, group);
        else if (group)
            *usable = run_all_sum(rank, group, number, run->u.run.type,
                                  (size_t)run->u.run.count) == 0;
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
        snprintf(message, sizeof message, "%d sockets left open", sockets);
        sim_outcome(rank, SCN_LEAK, "leak of socket", message);
    }
    if (blocks > 0 && !rank->mr_kept) {
        snprintf(message, sizeof message, "%d allocations, %zu bytes", blocks,
                 bytes);
        sim_outcome(rank, SCN_LEAK, "leak of memory", message);
    }
}

static void second_start(struct sim_rank *rank)
{
    run_init(rank);
    if (rank->groups[0])
        run_all_sum(rank, rank->groups[0], 0, SCN_FLOAT32, 16);
}

static void all_runs(struct sim_rank *rank)
{
    bool usable = false;
    for (int i = 0; i < sim.scenario->count; i++)
        if (sim.scenario->statements[i].kind == SCN_RUN)
            run_one(rank, &sim.scenario->statements[i], (unsigned)i, &usable);
}

void sim_program(void *argument)
{
    struct sim_rank *rank = argument;
    if (sim.recovering)
        second_start(rank);
    else
        all_runs(rank);
    while (rank->group_count > 0)
        run_finalize(rank);
    report_leaks(rank);
    rank->state = SIM_DONE;
}
