/*
 * sweep_work.h: processes that a sweep starts; for the files of sim/ only.
 *
 * A worker shares a `sweep_slot` with its parent. In it stands what it is at:
 * when it dies in a run, that run is the one that killed it. What it has
 * counted of the point so far stands there, too, and stays when another worker
 * takes its place. A finished point goes to the parent through a pipe.
 */
#ifndef SIM_SWEEP_WORK_H
#define SIM_SWEEP_WORK_H

#include <stdatomic.h>
#include <sys/types.h>

#include "sim/state.h"
#include "sim/sweep.h"

#define SWEEP_TITLES_MAX 512 /* of one point */

/* Which run. first counts the outcomes of the group's point, second those of
 * the points that come after it, -1: the first fault alone. */
struct sweep_place {
    int group; /* -1: none */
    int first, second;
};

struct sweep_slot {
    atomic_ulong beat; /* runs begun */
    volatile struct sweep_place place;
    /* Of place.second: the point, and which of its outcomes. */
    struct sweep_point second_point;
    int second_outcome;
    struct sim_last_words words;
    struct sweep_tally tally; /* of place.group */
    struct sweep_entry entries[SWEEP_TITLES_MAX];
};

struct sweep_shared {
    atomic_int next; /* in todo[] */
    atomic_bool stop;
    struct sweep_slot slots[];
};

/* In front of the entries of a finished group. */
struct sweep_message {
    int group, count;
    unsigned long runs;
};

/* A new process that runs body(context, end), where end is a pipe to the
 * parent, and ends. Its standard output and error go nowhere. The other end, or
 * -1. others: ends that it shall not have, -1 for none. */
int sweep_start(void (*body)(void *context, int end), void *context,
                const int *others, int count, pid_t *pid);
/* The signal that ended it, or 0. */
int sweep_wait(pid_t pid);
/* Zeroed memory for this process and those that it starts; NULL. */
void *sweep_share(size_t size);
void sweep_unshare(void *memory, size_t size);
int64_t sweep_now_ms(void);

/* What a worker does, until there is nothing left: the groups in todo[], from
 * `from` on if that is one. */
struct sweep_worker {
    const struct sweep *sweep;
    struct sweep_shared *shared;
    struct sweep_slot *slot;
    const int *todo;
    int todo_count;
    struct sweep_place from;
};
void sweep_worker_body(void *worker, int end);

#endif
