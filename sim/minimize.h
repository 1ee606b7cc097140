/*
 * minimize.h: the smallest scenario that still does it.
 *
 * Given a scenario and a predicate ("is the title still the same?"), finds a
 * scenario that is 1-minimal: no statement can be left out and no value made
 * simpler without losing the predicate. The order of attempts is fixed, so
 * the result depends on nothing but the scenario and the predicate:
 *
 *   1. all comments and expectations go, canonical order
 *   2. halves, quarters, ... of the statements go, then single ones
 *   3. a cause is named: what a device refused because of a limit or a state
 *      becomes a planned fault of that call (through `causes`, see below), so
 *      that different ways to the same failing call end in the same text
 *   4. values become simpler, each towards the first of its kind: rank 0,
 *      call 1, not onward, the effect's plainest errno, count 1, fewer ranks,
 *      mesh, one wire, profile thunderbolt, order 0; numbers by trying 0 or 1,
 *      then halving the distance
 *   5. from 2 again until nothing changes
 *
 * A trial is remembered by its text and never made twice. A candidate that
 * contradicts itself is no trial.
 */
#ifndef SIM_MINIMIZE_H
#define SIM_MINIMIZE_H

#include "sim/scenario.h"

struct minimize {
    /* true if the scenario still does it; may be expensive. */
    bool (*holds)(void *context, const struct scn *scenario);
    /* Optional: lists calls that a device refused in the last `holds` run as
     * faults, at most room; returns how many. ranks[] gets each one's rank. */
    int (*causes)(void *context, struct vf_fault *faults, int *ranks, int room);
    /* Optional: asked between trials; true ends early with what there is. */
    bool (*stop)(void *context);
    /* Optional: told after each trial. */
    void (*progress)(void *context, unsigned trials, int statements);
    void *context;
};

/* Makes the scenario minimal in place; returns the number of trials, or -1 if
 * the predicate does not hold to begin with. */
long scn_minimize(struct scn *scenario, const struct minimize *how);

/* What scn_simpler() made of it. */
enum scn_simpler {
    SCN_SIMPLER_END,     /* there is no n-th simpler version */
    SCN_SIMPLER_INVALID, /* there is, but it contradicts itself */
    SCN_SIMPLER_MADE     /* result is it, in canonical form */
};
/*
 * The n-th simpler version of one statement, from 0: result is the scenario
 * with it in place. The versions are those of step 4; the table of them is in
 * simpler.c. Fewer ranks come twice: statements about the ranks that are gone
 * are moved to the last one left, or dropped. A rank also changes places with
 * rank 0 in every statement, where that makes the ranks smaller as a whole.
 * That a scenario is 1-minimal means: it holds for no scenario without one
 * statement and for no n of any statement here.
 */
enum scn_simpler scn_simpler(const struct scn *scenario, int statement, int n,
                             struct scn *result);

#endif
