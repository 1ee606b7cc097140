/*
 * Which calls of real programs are made to fail, and how.
 *
 * A program may make thousands of calls, and each run takes a process or two:
 * of each verb the first ones are taken, where programs prepare, and the last
 * one, where they end.
 */
#include "cli/sweep_programs.h"

#include <stdlib.h>

/* So many calls of a verb that was called count times, and of which at most cap
 * are wanted. */
static unsigned wanted(unsigned count, unsigned cap)
{
    return count < cap ? count : cap;
}

static bool is_swept(const struct sweep_programs *programs, int rank, int verb)
{
    return programs->plan.ranks >> rank & 1 &&
           programs->plan.verbs >> verb & 1 && verb != VF_VERB_alloc;
}

static int count_points(const struct sweep_programs *programs, unsigned cap)
{
    unsigned sum = 0;
    for (int rank = 0; rank < SCN_RANKS_MAX; rank++)
        for (int verb = 0; verb < VF_VERB_COUNT; verb++)
            if (is_swept(programs, rank, verb))
                sum += wanted(programs->counts[rank][verb], cap);
    return sum > SCN_CALL_MAX ? SCN_CALL_MAX : (int)sum;
}

/* The largest cap that leaves few enough. */
static unsigned choose_cap(const struct sweep_programs *programs)
{
    unsigned cap = SCN_CALL_MAX;
    while (cap > 1 && programs->max_points > 0 &&
           count_points(programs, cap) > programs->max_points)
        cap = cap > 64 ? cap / 2 : cap - 1;
    return cap;
}

/* Every point that the cap leaves, by rank and verb. */
static int put_points(struct sweep_programs *programs, unsigned cap)
{
    int at = 0;
    for (int rank = 0; rank < SCN_RANKS_MAX; rank++)
        for (int verb = 0; verb < VF_VERB_COUNT; verb++) {
            unsigned all = programs->counts[rank][verb];
            unsigned take = wanted(all, cap);
            if (!is_swept(programs, rank, verb))
                continue;
            for (unsigned i = 1; i <= take && at < SCN_CALL_MAX; i++)
                programs->points[at++] = (struct sweep_point){
                    .kind = SWEEP_CALL,
                    .rank = rank,
                    .verb = (enum vf_verb)verb,
                    .nth = (int)(i < take ? i : all)}; /* and the last */
        }
    return at;
}

int sweep_calls_list(struct sweep_programs *programs)
{
    unsigned cap = choose_cap(programs);
    int most = programs->max_points, count;
    programs->points = calloc((size_t)count_points(programs, cap) + 1,
                              sizeof *programs->points);
    if (!programs->points)
        return CLI_ENVIRONMENT;
    count = put_points(programs, cap);
    /* Fewer than verbs that were called: some of every rank. */
    if (most > 0 && count > most) {
        for (int i = 0; i < most; i++)
            programs->points[i] =
                programs->points[(int)((long)i * count / most)];
        count = most;
    }
    programs->point_count = count;
    programs->left_out = count_points(programs, SCN_CALL_MAX) - count;
    return CLI_FINE;
}

/* Does it take a rank's end to see it? */
static bool is_end(const struct sweep_fault *fault)
{
    enum vf_effect effect = fault->statements[0].u.fault.effect;
    return effect == VF_EFFECT_EXIT || effect == VF_EFFECT_HANG;
}

bool sweep_calls_fault(struct sweep_programs *programs,
                       const struct sweep_point *point, int n,
                       struct sweep_fault *fault, bool *skip)
{
    if (!sweep_fault_of(&programs->plan, point, n, fault))
        return false;
    *skip = (is_end(fault) && !programs->ends) ||
            !sweep_add(&programs->run, programs->base.count, fault);
    return true;
}

int sweep_calls_count(struct sweep_programs *programs)
{
    struct sweep_fault fault;
    bool skip;
    int count = 0;
    for (int i = 0; i < programs->point_count; i++)
        for (int n = 0; sweep_calls_fault(programs, &programs->points[i], n,
                                          &fault, &skip);
             n++)
            count += !skip;
    return count;
}
