/*
 * What a fixed subject promises (design.md), on every scenario there is:
 *
 *   1. never a crash, hang, spin, leak or contract violation;
 *   2. nothing wrong in the scenario: ready everywhere, exact results;
 *   3. something wrong: an error that says so, within its deadline, or ready
 *      with exact results; never wrong data;
 *   4. afterwards everything is released, and a new start without the faults
 *      works in the same process.
 */
#include "sim/state.h"

#include <stdio.h>
#include <string.h>

#define SECOND ((int64_t)1000000000)
#define START (61 * SECOND)      /* cjaccl's default deadlines, and a second */
#define OPERATION (601 * SECOND) /* for the clean-up */

/* When the last rank has to be done: every `run` may use up its own deadline.
 */
static int64_t deadline(const struct scn *scenario, bool recovered)
{
    int64_t end = recovered ? START + OPERATION : SECOND;
    for (int i = 0; i < scenario->count; i++) {
        const struct scn_statement *statement = &scenario->statements[i];
        if (statement->kind == SCN_RUN)
            end += statement->u.run.operation == SCN_INIT ? START : OPERATION;
        if (statement->kind == SCN_LATE)
            end += statement->u.number * (SECOND / 1000);
        /* A late completion is the scenario's time, not the subject's. */
        if (statement->kind == SCN_FAULT &&
            (statement->u.fault.effect == VF_EFFECT_DELAY ||
             statement->u.fault.effect == VF_EFFECT_OVERTAKEN))
            end += statement->u.fault.value * (SECOND / 1000);
    }
    return end;
}

/* Nothing went wrong: nothing in the scenario can, or what can was a fault of
 * calls that were never made. */
static bool all_well(const struct scn *scenario,
                     const struct sim_result *result)
{
    static struct scn lifted;
    if (scn_is_sound(scenario))
        return true;
    for (int i = 0; i < scenario->count; i++) {
        enum scn_kind kind = scenario->statements[i].kind;
        if (kind == SCN_CHANNEL || kind == SCN_PEER || kind == SCN_STRAY ||
            kind == SCN_LIBRARY)
            return false;
    }
    for (int i = 0; i < result->ranks; i++)
        if (result->rank[i].faults_hit > 0)
            return false;
    scn_copy(&lifted, scenario);
    scn_without_faults(&lifted);
    return scn_is_sound(&lifted);
}

/*
 * A provider that faults in the post that follows the loss of its cable
 * (mlx#4192, mlx#4319) takes any program down that could not know yet. It is
 * reported as the crash that it is, but it breaks no promise of the subject's.
 */
static bool provider_faulted(const struct sim_rank_result *rank)
{
    return strncmp(rank->title, "post-after-unplug", 17) == 0;
}

static bool worse_than_error(const struct sim_rank_result *rank)
{
    if (provider_faulted(rank))
        return false;
    return rank->outcome > SCN_ERROR || rank->findings > 0;
}

static void check_rank(struct sim_result *result, int number, bool well)
{
    const struct sim_rank_result *rank = &result->rank[number];
    if (worse_than_error(rank))
        snprintf(result->broken, sizeof result->broken,
                 "rank %d: %s: %s (promise 1: never)", number,
                 scn_outcome_name(rank->outcome),
                 rank->title[0] ? rank->title : rank->finding[0].title);
    else if (rank->outcome == SCN_ERROR && well)
        snprintf(result->broken, sizeof result->broken,
                 "rank %d: error although nothing is wrong (promise 2): %.120s",
                 number, rank->message);
    else if (rank->outcome == SCN_ERROR && rank->message[0] == '\0')
        snprintf(result->broken, sizeof result->broken,
                 "rank %d: an error that says nothing (promise 3)", number);
}

void sim_verdict(const struct scn *scenario, struct sim_result *result)
{
    bool beyond =
        sim.options->subject->ring_only && !scn_sends_reach(scenario, true);
    bool well = all_well(scenario, result) && !beyond;
    result->broken[0] = '\0';
    for (int i = 0; i < sim.rank_count && result->broken[0] == '\0'; i++)
        check_rank(result, i, well);
    if (result->broken[0] == '\0' &&
        sim.now > deadline(scenario, result->recovery_tried))
        snprintf(result->broken, sizeof result->broken,
                 "took %lld s (promise 3: within the deadline)",
                 (long long)(sim.now / 1000000000));
    if (result->broken[0] == '\0' && result->recovery_tried &&
        !result->recovered)
        snprintf(result->broken, sizeof result->broken,
                 "no second start (promise 4): %.180s",
                 result->recovery_message);
}
