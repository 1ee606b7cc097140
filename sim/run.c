/* One scenario, one subject, one result. */
#include "sim/calls.h"
#include "sim/state.h"

#include <stdio.h>
#include <string.h>

struct sim sim;

static void clear_rank_result(struct sim_rank_result *rank)
{
    rank->outcome = SCN_READY;
    rank->title[0] = rank->message[0] = rank->stack[0] = '\0';
    rank->err_code = 0;
    rank->calls = rank->faults_hit = rank->channel_struck = 0;
    memset(rank->struck, 0, sizeof rank->struck);
    rank->findings = 0;
}

static void clear_result(struct sim_result *result)
{
    result->outcome = SCN_READY;
    result->worst = 0;
    result->title[0] = result->broken[0] = result->recovery_message[0] = '\0';
    result->partial[0] = '\0';
    result->recovery_tried = result->recovered = false;
    result->steps = 0;
    result->whole = false;
    for (int i = 0; i < SCN_RANKS_MAX; i++)
        clear_rank_result(&result->rank[i]);
}

static void sum_up(struct sim_result *result)
{
    result->ranks = sim.rank_count;
    result->whole = true;
    for (int i = 0; i < sim.rank_count; i++) {
        struct sim_rank_result *rank = &result->rank[i];
        rank->calls = vf_machine_all_calls(sim.world, i);
        rank->faults_hit = vf_machine_faults_hit(sim.world, i);
        result->steps += rank->calls;
        if (rank->outcome > result->outcome) {
            result->outcome = rank->outcome;
            result->worst = i;
        }
    }
    snprintf(result->title, sizeof result->title, "%s",
             result->rank[result->worst].title);
}

/* The faults can be lifted, and what remains can be started. */
static bool can_recover(const struct scn *scenario)
{
    static struct scn lifted;
    for (int i = 0; i < scenario->count; i++)
        if (scenario->statements[i].kind == SCN_FAULT &&
            scenario->statements[i].u.fault.effect == VF_EFFECT_UNPLUG)
            return false;
    scn_copy(&lifted, scenario);
    scn_without_faults(&lifted);
    return scn_is_sound(&lifted);
}

static void recover(struct sim_result *result)
{
    static struct sim_rank_result second[SCN_RANKS_MAX];
    result->recovery_tried = result->recovered = true;
    for (int i = 0; i < sim.rank_count; i++) {
        clear_rank_result(&second[i]);
        sim.ranks[i].result = &second[i];
    }
    sim_lift_faults();
    sim_schedule();
    for (int i = 0; i < sim.rank_count; i++) {
        if (second[i].outcome == SCN_READY)
            continue;
        result->recovered = false;
        snprintf(result->recovery_message, sizeof result->recovery_message,
                 "rank %d: %s: %.200s", i, second[i].title, second[i].message);
    }
}

/* Recordings and the subject that makes their calls belong together. */
static int check_subject(const struct scn *scenario,
                         const struct sim_subject *subject,
                         struct scn_error *error)
{
    bool recording = scn_has_calls(scenario);
    if (recording == (subject->program != NULL))
        return 0;
    error->line = error->column = 0;
    snprintf(error->message, sizeof error->message,
             recording ? "a recording: only the subject recording runs it"
                       : "no recording: there are no calls to make again");
    return -1;
}

int sim_run(const struct scn *scenario, const struct sim_options *options,
            struct sim_result *result, struct scn_error *error)
{
    clear_result(result);
    if (check_subject(scenario, options->subject, error) != 0)
        return -1;
    sim.options = options;
    sim.result = result;
    if (sim_setup(scenario, error) != 0)
        return -1;
    sim_watch_start();
    sim_schedule();
    sim_watch_end();
    sum_up(result);
    if (options->recover && can_recover(scenario))
        recover(result);
    if (options->subject->fixed)
        sim_verdict(scenario, result);
    if (options->subject->forget)
        options->subject->forget();
    for (int i = 0; i < sim.rank_count; i++)
        sim_memory_reset(&sim.ranks[i]);
    vf_world_install(NULL);
    return 0;
}

bool sim_struck(const struct scn *scenario, const struct sim_result *result,
                int statement)
{
    const struct scn_statement *it = &scenario->statements[statement];
    const struct sim_rank_result *rank = &result->rank[it->rank];
    unsigned number = 0; /* in the rank's plan */
    if (!result->whole)
        return true;
    if (it->kind == SCN_CHANNEL)
        return rank->channel_struck >> it->u.channel.what & 1;
    for (int i = 0; i < statement; i++)
        number += scenario->statements[i].kind == SCN_FAULT &&
                  scenario->statements[i].rank == it->rank;
    return number >= 64 * SIM_PLAN_WORDS ||
           (rank->struck[number / 64] >> number % 64 & 1) != 0;
}

void sim_shutdown(void)
{
    for (int i = 0; i < SCN_RANKS_MAX; i++) {
        fiber_destroy(sim.ranks[i].fiber);
        sim.ranks[i].fiber = NULL;
        sim_memory_close(&sim.ranks[i]);
    }
    sim_sockets_free();
    sim_data_free();
    if (sim.world)
        vf_world_destroy(sim.world);
    sim.world = NULL;
}
