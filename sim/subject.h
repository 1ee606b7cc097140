/*
 * subject.h: what can be driven.
 *
 * A subject is a program for one rank, cut into the operations that a scenario
 * can `run`. Its functions are called on the rank's fiber, in the scenario's
 * order. Each answers 0, or -1 with an error filled in; a group that failed to
 * start counts as not started, and operations without a group are skipped.
 */
#ifndef SIM_SUBJECT_H
#define SIM_SUBJECT_H

#include "sim/rank.h"

/* An error as a program reports it. */
struct sim_failure {
    int code;          /* the subject's own; 0 if it has none */
    bool refused;      /* a wrong argument, of an operation; it did no harm */
    const char *step;  /* where, in a word or two that outlive it; or NULL */
    char message[512]; /* as its user sees it */
};

/* One rank's part in an operation. */
struct sim_operation {
    enum scn_operation what; /* one that scn_has_data() */
    enum scn_type type;
    size_t count;
    const void *input; /* NULL: of a send, this rank is the one that receives */
    void *output;      /* NULL: the one that sends */
    int peer;          /* of a send, the rank at its other end */
};

struct sim_subject {
    const char *name;
    const char *about; /* one line for `verbfault list` */
    /* Must keep design.md's promises: any outcome but `ready` with exact
     * data, or `error` where something is wrong, is a finding. */
    bool fixed;
    /* It makes a ring of any topology: sends beyond it may be refused. */
    bool ring_only;
    /* It calls sim_wait() itself when it found nothing to do; poll_cq then
     * returns at once. Else an empty poll_cq waits in its place. */
    bool waits;
    /* Starts a group; *group is the subject's own. */
    int (*init)(struct sim_rank *rank, void **group,
                struct sim_failure *failure);
    /* An operation that it does not have is an error, too. */
    int (*operate)(struct sim_rank *rank, void *group,
                   const struct sim_operation *operation,
                   struct sim_failure *failure);
    int (*barrier)(struct sim_rank *rank, void *group,
                   struct sim_failure *failure);
    /* Ends the group and frees it, whatever it answers. */
    int (*finalize)(struct sim_rank *rank, void *group,
                    struct sim_failure *failure);
    /* For a program that keeps things once a process where all ranks find
     * them; NULL: it does not. resume: the rank's fiber goes on. forget: the
     * run is over, and whatever its ranks still hold goes. */
    void (*resume)(struct sim_rank *rank);
    /* In place of all the operations: each rank runs this, and is asked for no
     * leaks afterwards. NULL: it has operations. Its scenarios are recordings,
     * and only those are. */
    void (*program)(struct sim_rank *rank);
    /* Every call's line, with what a recording has of it (vf_hooks.record). */
    void (*told)(struct sim_rank *rank, const char *line);
    /* In place of waiting where poll_cq or get_cq_event found nothing. */
    void (*empty)(struct sim_rank *rank);
    void (*forget)(void);
};

/* The n-th subject, or NULL past the last. `recording` is not among them: it
 * has nothing to do in other scenarios. */
const struct sim_subject *sim_subject_at(int n);
const struct sim_subject *sim_subject_by_name(const char *name);
/* The subject that a scenario is for by itself: `recording` for one with calls,
 * else NULL. */
const struct sim_subject *sim_subject_for(const struct scn *scenario);
/* Why this build lacks a subject of that name; NULL: it has it, or there is
 * none. In one line. */
const char *sim_subject_left_out(const char *name);

#endif
