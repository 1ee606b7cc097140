/*
 * run.h: one scenario, one subject, one result.
 *
 * sim_run() sets the world up as the scenario says, runs every rank as a fiber
 * until all are done or none can go on, and says what became of each. The same
 * scenario and subject give the same result and the same trace, byte for byte,
 * in any build.
 *
 * A rank whose program would fault ends as `crash` at the finding that names
 * the fault; the others live on and see what a dead peer looks like. With
 * keep_going the finding is reported and the program really goes on into the
 * fault: that is for seeing the debugger's or AddressSanitizer's own report.
 *
 * sim_run() is for one thread at a time and calls nothing but the subject. A
 * fault that no finding foresaw brings the process down: sim_run_isolated()
 * runs in a child process and makes a `crash` of that too ("fault in reg_mr").
 */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "sim/event.h"
#include "sim/subject.h"
#include "sim/watch.h"
#include "verbfault/world.h"

#define SIM_FINDINGS_MAX 8 /* kept per rank; more are counted */
#define SIM_STACK_MAX 2048 /* text */
#define SIM_PLAN_WORDS 4   /* of 64 faults each: as many as a plan has */

struct sim_rank_result {
    enum scn_outcome outcome;
    char title[96];      /* of the outcome; "" for ready */
    char message[512];   /* the subject's error, or the finding's detail */
    int err_code;        /* the subject's */
    unsigned calls;      /* verbs calls made */
    unsigned faults_hit; /* planned faults that took effect */
    uint64_t struck[SIM_PLAN_WORDS]; /* which of the rank's, a bit for each */
    unsigned channel_struck; /* a bit for each enum scn_channel that did */
    int findings;
    struct vf_finding finding[SIM_FINDINGS_MAX];
    char stack[SIM_STACK_MAX]; /* of a crash, one frame a line */
};

struct sim_result {
    enum scn_outcome outcome; /* of the worst rank */
    int worst;                /* that rank */
    char title[96];           /* its title */
    int ranks;
    struct sim_rank_result rank[SCN_RANKS_MAX];
    /* Only with recover: did a new start without the faults work? */
    bool recovery_tried, recovered;
    char recovery_message[512];
    /* For fixed subjects: "" or the promise that was broken. */
    char broken[256];
    /* Of a recording of some of the ranks: "" or how far it goes without the
     * others. What came before was as recorded. */
    char partial[192];
    unsigned long steps; /* calls of all ranks */
    bool whole;          /* the run came to its end, and counted all that */
};

struct sim_options {
    const struct sim_subject *subject;
    bool keep_going;
    bool recover; /* then lift the faults and start again in the same process */
    bool stacks;  /* take stacks of crashes (slow) */
    /* Each finished call; NULL: no trace. */
    void (*trace)(void *context, int rank, const char *line);
    /* Each finding, as it happens; NULL: none. */
    void (*finding)(void *context, const struct vf_finding *finding);
    /* What else happens (event.h); NULL: none. */
    void (*event)(void *context, const struct sim_event *event);
    void *context;
    struct sim_watch *watch; /* filled in (watch.h); NULL: not wanted */
    /* Of a run in a child process: is it to be ended? Asked when a signal comes
     * and once in a second; NULL: never. */
    bool (*stop)(void);
};

/* 0; -1 if the scenario is not runnable (error filled in). */
int sim_run(const struct scn *scenario, const struct sim_options *options,
            struct sim_result *result, struct scn_error *error);
/* The same in a child process: survives any fault, and a run that gives no sign
 * of life (a finished call when traced, else its end) for `seconds` of real
 * time is a `spin`. Traces arrive through a pipe. -2: the environment failed;
 * -3: options->stop said so, and there is no result. */
int sim_run_isolated(const struct scn *scenario,
                     const struct sim_options *options, int seconds,
                     struct sim_result *result, struct scn_error *error);

/* Did statement n of the scenario, a `fault` or a `channel`, ever take effect
 * in the run? Of a run that is not whole it is not known: true. */
bool sim_struck(const struct scn *scenario, const struct sim_result *result,
                int statement);

/* Calls that a device refused in the last sim_run(), as faults that would do
 * the same; for the minimizer. Returns how many (at most room). */
int sim_refused(struct vf_fault *faults, int *ranks, int room);
/* The same of the last sim_run_isolated(). */
int sim_refused_isolated(struct vf_fault *faults, int *ranks, int room);

/* Frees what sim_run() keeps between runs (stacks, memory, the world). */
void sim_shutdown(void);

#endif
