/* What a worker of a sweep does. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "sim/sweep_work.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim/watch.h"

/* There is one in a process. */
static struct {
    const struct sweep_worker *self;
    int end; /* of the pipe */
    struct sim_options options, watched;
    struct sim_watch watch;
    struct scn scenario; /* the plan's, with the faults of this run */
    int own;             /* statements of the plan's */
    struct sim_result result;
    struct sweep_points after; /* the first fault */
} worker;

static const struct sweep_plan *plan(void)
{
    return &worker.self->sweep->plan;
}

static void send_all(const void *data, size_t length)
{
    const char *at = data;
    while (length > 0) {
        ssize_t n = write(worker.end, at, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(1); /* nobody listens any more */
        at += n;
        length -= (size_t)n;
    }
}

/* The parent has to tell a worker that leaves from one that dies in a run. */
static void leave(void)
{
    worker.self->slot->place.group = -1;
    _exit(0);
}

static void start_run(int first, int second)
{
    struct sweep_slot *slot = worker.self->slot;
    if (atomic_load_explicit(&worker.self->shared->stop, memory_order_relaxed))
        leave();
    slot->place.first = first;
    slot->place.second = second;
    atomic_fetch_add_explicit(&slot->beat, 1, memory_order_relaxed);
}

/* The scenario was checked when the sweep was prepared, and so was the fault:
 * what can still fail is the machine. */
static void run(const struct sim_options *options)
{
    struct scn_error error;
    if (sim_run(&worker.scenario, options, &worker.result, &error) != 0)
        leave();
}

/* Where the first fault's run is only needed for what comes after it, it was
 * counted by a worker that died on the way. */
static bool run_first(const struct sweep_fault *fault, int first, bool count)
{
    start_run(first, -1);
    if (plan()->depth < 2) {
        run(&worker.options);
    } else {
        run(&worker.watched);
        if (!worker.watch.hit && fault->statements[0].kind != SCN_FAULT &&
            fault->statements[0].kind != SCN_CHANNEL)
            worker.watch.hit = true; /* it was so from the beginning */
    }
    if (count && plan()->each)
        sweep_list(&worker.self->slot->tally, &worker.result, fault);
    else if (count)
        sweep_count(&worker.self->slot->tally, &worker.result, fault, NULL);
    return plan()->depth >= 2 && worker.watch.hit;
}

/* All second faults of one first, from number `from` on. */
static void run_seconds(const struct sweep_fault *fault, int first, int from)
{
    struct sweep_fault second;
    int number = 0, with_first = worker.own + fault->count;
    if (sweep_points_of(plan(), &worker.watch, fault, &worker.after) != 0)
        leave();
    for (int i = 0; i < worker.after.count; i++)
        for (int n = 0; sweep_fault_of(plan(), &worker.after.at[i], n, &second);
             n++) {
            if (number++ < from ||
                !sweep_add(&worker.scenario, with_first, &second))
                continue;
            worker.self->slot->second_point = worker.after.at[i];
            worker.self->slot->second_outcome = n;
            start_run(first, number - 1);
            run(&worker.options);
            sweep_count(&worker.self->slot->tally, &worker.result, fault,
                        &second);
        }
}

/* One outcome of the group's point: from.second -1, all of it; else the second
 * faults from that number on. */
static void run_outcome(const struct sweep_fault *fault, int first, int second)
{
    if (!sweep_add(&worker.scenario, worker.own, fault))
        return;
    if (run_first(fault, first, second < 0))
        run_seconds(fault, first, second < 0 ? 0 : second);
}

static void run_group(int number, int first, int second)
{
    const struct sweep_group *group = &worker.self->sweep->groups[number];
    struct sweep_fault fault;
    worker.self->slot->place.group = number;
    if (group->point.kind == SWEEP_SETUP) {
        if (first == 0)
            run_outcome(&worker.self->sweep->setups[group->point.nth], 0,
                        second);
        return;
    }
    for (; sweep_fault_of(plan(), &group->point, first, &fault); first++) {
        run_outcome(&fault, first, second);
        second = -1;
    }
}

static void finish_group(int number)
{
    struct sweep_tally *tally = &worker.self->slot->tally;
    struct sweep_message message = {number, tally->count, tally->runs};
    send_all(&message, sizeof message);
    send_all(tally->entries, (size_t)tally->count * sizeof *tally->entries);
    tally->runs = 0;
    tally->count = 0;
}

static void prepare(const struct sweep_worker *self, int end)
{
    worker.self = self;
    worker.end = end;
    worker.options.subject = plan()->subject;
    worker.options.recover = plan()->subject->fixed;
    worker.watched = worker.options;
    worker.watched.watch = &worker.watch;
    scn_copy(&worker.scenario, plan()->scenario);
    worker.own = worker.scenario.count;
    sim_leave_words_in(&self->slot->words);
}

void sweep_worker_body(void *context, int end)
{
    const struct sweep_worker *self = context;
    prepare(self, end);
    if (self->from.group >= 0) {
        run_group(self->from.group, self->from.first, self->from.second);
        finish_group(self->from.group);
    }
    for (;;) {
        int next = atomic_fetch_add(&self->shared->next, 1);
        if (next >= self->todo_count)
            leave();
        run_group(self->todo[next], 0, -1);
        finish_group(self->todo[next]);
    }
}
