/*
 * sweep_programs.h: `verbfault sweep -n 2 -- COMMAND`, a sweep of real
 * programs.
 *
 * A clean `verbfault run` of the command, traced, tells which verbs each rank
 * called and how often: the points. Then there is one `verbfault run` for each
 * point and outcome, with a scenario made for it; what it prints tells what
 * became of the ranks:
 *
 *   crash       a finding that faults, or a rank that ended by a signal (a
 *               shell's status above 128 tells of one)
 *   hang        a rank that still ran when the time was over
 *   violation   a finding that does not fault
 *   leak        a rank ended by itself and left objects (with --leaks)
 *   error       a rank ended with another status than 0
 *   ready       none of these: the fault was of no consequence
 *
 * The worst of these is the run's, but that a rank waits for one that failed
 * until --grace is over says less than a finding does. Whatever else was found
 * in the run is listed as well: such a run is counted under each title.
 *
 * Processes are not simulated: their calls may differ from run to run. A fault
 * that a run never reached is counted as that. The faults that are known before
 * (a call's n-th) are those of one process; polls are not counted by anybody,
 * so of them only the first is made to fail, and from there on. An end or a
 * stop of a rank is left out unless it is asked for: most programs then wait
 * for ever, and it takes all of the time to see it.
 */
#ifndef CLI_SWEEP_PROGRAMS_H
#define CLI_SWEEP_PROGRAMS_H

#include "cli/sweep.h"

#define TRIAL_PATH_MAX 4096

struct trial_options {
    char self[TRIAL_PATH_MAX];    /* this program */
    char scratch[TRIAL_PATH_MAX]; /* a directory of its own */
    int ranks;
    const char *timeout, *grace; /* seconds */
    bool leaks;
    bool device;    /* real ones */
    char **command; /* ends in NULL */
    /* Each whole line that a rank printed, without "[0] "; NULL: not wanted. */
    void (*said)(void *context, int rank, const char *line);
    void *context;
};

/* ---- sweep_trial.c: one run */

#define TRIAL_FOUND_MAX 8

/* One finding of a run: a crash's, an illegal call, a leak. */
struct trial_found {
    enum scn_outcome outcome;
    int rank;
    char title[96];
    char message[200]; /* what that rank said last */
};

/* What became of it. */
struct trial {
    enum scn_outcome outcome;
    char title[96];
    int whose;         /* the rank that decided it; -1: none */
    char message[200]; /* what that rank said last */
    struct trial_found found[TRIAL_FOUND_MAX]; /* all there were, each once */
    int found_count;
    bool reached; /* its fault took effect */
    bool interrupted;
    double seconds;
};

/* Options' self and scratch, which is made (scratch.h). CLI_FINE, or
 * CLI_ENVIRONMENT after a line of `verbfault SUBCOMMAND`. */
int trial_open(struct trial_options *options, const char *subcommand);
void trial_close(void);
/* Runs the command under the scenario (its text); trace: a file for every
 * call, or NULL. CLI_FINE, or another code after what the run itself printed:
 * it cannot be run at all. */
int trial_run(const struct trial_options *options, const char *scenario,
              const char *trace, struct trial *trial);
/* Counts the calls of a trace: how many of each rank and verb; completions that
 * polls brought are counted as such, polls themselves as at most one. false: it
 * cannot be read. */
bool trial_count(const char *trace,
                 unsigned counts[SCN_RANKS_MAX][VF_VERB_COUNT]);

/* A run that was made, for the page. */
struct sweep_noted {
    struct sweep_point point;
    bool reached;
    struct sweep_entry entry;
    struct sweep_fault fault;
};

struct sweep_programs {
    struct trial_options trial;
    struct sweep_plan plan;
    const char *profile, *scenario, *examples, *html;
    int max_points;
    bool ends;
    struct cli_outputs outputs;

    struct scn base, run;
    char name[160];     /* the command */
    struct trial clean; /* without any fault */
    unsigned counts[SCN_RANKS_MAX][VF_VERB_COUNT];
    struct sweep_point *points;
    int point_count, left_out;
    int runs_wanted, unreached;
    double seconds; /* of all runs */
    bool tty;
    struct sweep_tally tally;
    struct sweep_noted *noted; /* with html, in order; malloc'ed */
    int noted_count, noted_room;
};

/* ---- sweep_calls.c: which calls, and how */

/* The points, of the clean run's counts. CLI_FINE, or CLI_ENVIRONMENT. */
int sweep_calls_list(struct sweep_programs *programs);
/* The n-th outcome of a point: fault is it, programs->run the scenario with it.
 * false: there is none. *skip: it is not wanted. */
bool sweep_calls_fault(struct sweep_programs *programs,
                       const struct sweep_point *point, int n,
                       struct sweep_fault *fault, bool *skip);
/* How many are wanted, over all points. */
int sweep_calls_count(struct sweep_programs *programs);

/* ---- sweep_programs.c: options, and what came of it */

int cli_sweep_programs(int argc, char **argv);
/* Is it an option that only a sweep of programs has? */
bool sweep_programs_only(const char *word);
/* Part of --help. */
extern const char cli_sweep_programs_help[];

#endif
