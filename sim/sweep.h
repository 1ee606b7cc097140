/*
 * sweep.h: every fault, not some.
 *
 * A sweep runs a scenario once as it is, lists what could have gone wrong in
 * that run, and then lets each of it go wrong, one run each. Where fuzzing
 * finds, a sweep proves: the list is finite, and it is walked to its end.
 *
 * A POINT is a place where something can go wrong:
 *   call     the n-th call of a verb on a rank. Completions and allocations
 *            count as verbs, as they do in scenarios. Of the polls only those
 *            that found something are points: how many others there are is a
 *            matter of timing, and they are all alike.
 *   channel  a byte boundary of what a rank sends on the side channel.
 *   setup    what is wrong before the first call: no library or one symbol
 *            less, no device, a port that is down, a limit used up by somebody
 *            else, a cell of the device file that is null, empty or names what
 *            is not there, a stranger who speaks in a rank's place.
 *
 * A point has OUTCOMES, each a statement of the scenario language: the effects
 * that the verb can have, with the values that devices answer
 * (sweep_outcomes.c); close, silent and garble for a byte; a setup point has
 * one. An effect that answers something can hold ONCE or ONWARD, for this call
 * and every later one of its verb: both are run. An end (exit, hang) and a
 * cable that goes cannot come twice: once is all.
 *
 * DEPTH 2 is errors while handling an error. What came after a fault is a run
 * of its own: its undo, its error path, the others' reaction. So for each first
 * fault the run WITH that fault is watched (sim/watch.h), and its points after
 * the fault took effect get every outcome, too. Before the fault the two runs
 * are the same, and the simulator repeats itself, so a second fault does come
 * second, and each pair is run once. Setups come before everything: they are
 * first faults only. On the side channel a second fault strikes the first two
 * bytes and the last of each send: which of the others is lost makes no other
 * error to handle, and every byte is a first fault.
 *
 * A run takes 10 to 40 microseconds, so there is no process for each. WORKERS,
 * as many as there are processors, take one point after the other, with all of
 * its outcomes and, at depth 2, all that comes after them. A subject that
 * faults for real takes its worker with it: what the worker had counted lies in
 * memory that it shares with its parent, which counts the crash and starts
 * another worker behind it. A run that gives no sign for too long is ended and
 * counted as a spin.
 *
 * A result is a TALLY: how many runs, and of each outcome and title how many
 * and the first one. Points are numbered, and tallies are added up in that
 * order, so the result does not depend on how many workers there were, which
 * was faster, how the points were shared out to machines (shards), or whether
 * the sweep was interrupted and went on later.
 *
 *   struct sweep sweep;
 *   sweep_prepare(&sweep, &plan, &error);   one clean run; the list of points
 *   sweep.points[i].tally = ...             what is known already, if anything
 *   sweep_work(&sweep, &work, &error);      all the others
 *   sweep_total(&sweep, &tally);
 *   sweep_free(&sweep);
 */
#ifndef SIM_SWEEP_H
#define SIM_SWEEP_H

#include "sim/run.h"

#define SWEEP_CALLS_MAX 4096  /* of one verb on one rank */
#define SWEEP_BYTES_MAX 65536 /* of one rank on the side channel */
#define SWEEP_EXAMPLE_MAX 480 /* text */
#define SWEEP_NAME_MAX 128    /* text */
#define SWEEP_OUTCOMES_MAX 48 /* of one point */
#define SWEEP_STATEMENTS_MAX                                                   \
    8 /* of one outcome: a rank has that many devices */

/* What is swept. */
struct sweep_plan {
    const struct scn *scenario; /* valid as long as the sweep */
    const struct sim_subject *subject;
    int depth;      /* 1 or 2 */
    uint64_t verbs; /* a bit for each enum vf_verb */
    bool channel, setup;
    unsigned ranks; /* a bit for each */
    bool once, onward;
    bool each; /* of depth 1: a tally has every run, not every title */
};

/* All of it, depth 1. */
void sweep_plan_default(struct sweep_plan *plan, const struct scn *scenario,
                        const struct sim_subject *subject);

/* ---- outcomes ------------------------------------------------------------ */

/* The faults of one call of a verb, as a rank's first call, in a fixed order;
 * at most SWEEP_OUTCOMES_MAX. Returns how many. */
int sweep_outcomes(enum vf_verb verb, bool once, bool onward,
                   struct vf_fault *faults);

/* ---- points -------------------------------------------------------------- */

enum sweep_kind { SWEEP_SETUP, SWEEP_CALL, SWEEP_CHANNEL };

struct sweep_point {
    enum sweep_kind kind;
    int rank;
    enum vf_verb verb; /* of a call */
    int nth;       /* call: from 1; channel: bytes before it; setup: which */
    unsigned ways; /* channel: a bit for each enum scn_channel it can have */
};

/* What is added to the scenario to make one outcome of a point. */
struct sweep_fault {
    int count;
    struct scn_statement statements[SWEEP_STATEMENTS_MAX];
};

struct sweep_points {
    struct sweep_point *at; /* malloc'ed */
    int count, room;
    bool left_out; /* a rank made or sent more than SWEEP_*_MAX */
};

/* Fills in the calls and channel bytes of a watched run that come after its
 * first fault took effect; all of them if none did. first: that fault, or NULL.
 * 0, or -1 when memory is out. */
int sweep_points_of(const struct sweep_plan *plan,
                    const struct sim_watch *watch,
                    const struct sweep_fault *first,
                    struct sweep_points *points);
/* The setups of the plan's scenario; watch: its clean run. *setups is
 * malloc'ed. Their number, or -1 when memory is out. */
int sweep_setups(const struct sweep_plan *plan, const struct sim_watch *watch,
                 struct sweep_fault **setups);
/* The n-th outcome of a call or a channel byte, from 0; false: there is none.
 */
bool sweep_fault_of(const struct sweep_plan *plan,
                    const struct sweep_point *point, int n,
                    struct sweep_fault *fault);
/* The scenario with a fault added, in place: its first `count` statements are
 * kept. false: that would contradict it. */
bool sweep_add(struct scn *scenario, int count,
               const struct sweep_fault *fault);

/* ---- results ------------------------------------------------------------- */

/* One outcome with one title. */
struct sweep_entry {
    enum scn_outcome outcome;
    bool broken; /* a promise of a fixed subject */
    unsigned long count;
    char title[96];
    char why[200]; /* the broken promise, or what the rank said; the first's */
    char
        example[SWEEP_EXAMPLE_MAX]; /* statements of the first one, "; " between
                                     */
};

struct sweep_tally {
    unsigned long runs;
    int count, room;
    struct sweep_entry *entries; /* in the order in which they came up */
};

/* One run more. fault, second: what was added; second may be NULL. Where there
 * is no room for a new title it is counted as "other titles". */
void sweep_count(struct sweep_tally *tally, const struct sim_result *result,
                 const struct sweep_fault *fault,
                 const struct sweep_fault *second);
/* The same as an entry of its own: a list of runs. */
void sweep_list(struct sweep_tally *tally, const struct sim_result *result,
                const struct sweep_fault *fault);
/* Adds up; entries of `to` are malloc'ed and grow. 0, or -1: memory is out. */
int sweep_sum(struct sweep_tally *to, const struct sweep_tally *from);
/* Broken promises first, then from the worst outcome to the mildest, by title.
 */
void sweep_sort(struct sweep_tally *tally);
unsigned long sweep_broken(const struct sweep_tally *tally);

/* ---- a sweep ------------------------------------------------------------- */

/* A point of the clean run, and what became of it. */
struct sweep_group {
    struct sweep_point point;
    char name[SWEEP_NAME_MAX]; /* "0 reg_mr 3", "1 channel 40", "library 0
                                  absent" */
    bool done;
    struct sweep_tally tally; /* malloc'ed entries */
};

struct sweep {
    struct sweep_plan plan;
    int count;
    struct sweep_group *groups;
    struct sweep_fault *setups;
    bool left_out;            /* see sweep_points */
    enum scn_outcome outcome; /* of the clean run */
    char title[96];
};

/* The clean run, in a process of its own, and its points. 0; -1 with an error:
 * the scenario cannot be run; -2: the environment failed. */
int sweep_prepare(struct sweep *sweep, const struct sweep_plan *plan,
                  struct scn_error *error);

struct sweep_work {
    int jobs;          /* workers; 0: as many as there are processors */
    int shard, shards; /* only groups whose number is shard modulo shards */
    int patience;      /* seconds without a sign of life; 0: 20 */
    void *context;
    /* Asked often; true: end now. What a point has done so far is lost. May be
     * NULL, as the others. */
    bool (*stop)(void *context);
    /* A point is done, in the order in which they finish. */
    void (*done)(void *context, const struct sweep *sweep, int group);
    /* Several times a second: runs of this call so far, and points. */
    void (*progress)(void *context, unsigned long runs, int points, int all);
};

/* Runs what is not done. 0: all done, or stopped; -2 with an error: the
 * environment failed. */
int sweep_work(struct sweep *sweep, const struct sweep_work *work,
               struct scn_error *error);
/* Is group n one of this shard's? */
bool sweep_in_shard(int group, int shard, int shards);
/* The sum of the groups that are done. 0, or -1: memory is out. */
int sweep_total(const struct sweep *sweep, struct sweep_tally *total);
void sweep_free(struct sweep *sweep);

#endif
