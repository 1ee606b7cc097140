/*
 * Workers, and what becomes of them.
 *
 * The parent waits for finished points, for workers that end, and for runs that
 * take too long. A worker that dies in a run is replaced, in the same slot, by
 * one that goes on behind that run.
 */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "sim/sweep_work.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JOBS_MAX 64
#define LOOK_MS 100 /* so often is looked at everything */
#define PATIENCE 20 /* seconds */
#define LAST_WAIT 2 /* seconds, once it was stopped */

struct crew {
    struct sweep *sweep;
    const struct sweep_work *work;
    struct scn_error *error;
    struct sweep_shared *shared;
    size_t shared_size;
    int jobs;
    int *todo, todo_count;
    int finished; /* points of this call */
    bool failed;  /* the environment */
    bool stopped;
    struct sweep_worker workers[JOBS_MAX];
    struct mate {
        pid_t pid;
        int end; /* of its pipe; -1: none */
        unsigned long beat;
        int64_t since; /* that beat was seen first */
        bool ended;    /* by us: it took too long */
    } mates[JOBS_MAX];
};

bool sweep_in_shard(int group, int shard, int shards)
{
    return shards <= 1 || group % shards == shard;
}

static void fail(struct crew *crew, const char *what)
{
    if (!crew->failed) {
        crew->error->line = crew->error->column = 0;
        snprintf(crew->error->message, sizeof crew->error->message, "%s", what);
    }
    crew->failed = true;
    atomic_store(&crew->shared->stop, true);
}

static void start(struct crew *crew, int n, struct sweep_place from)
{
    struct mate *mate = &crew->mates[n];
    int others[JOBS_MAX];
    for (int i = 0; i < crew->jobs; i++)
        others[i] = crew->mates[i].end;
    crew->workers[n].from = from;
    mate->end = sweep_start(sweep_worker_body, &crew->workers[n], others,
                            crew->jobs, &mate->pid);
    mate->since = sweep_now_ms();
    mate->ended = false;
    if (mate->end < 0)
        fail(crew, "cannot start a process");
}

/* ---- a worker that died in a run ----------------------------------------- */

/* The fault of a place in a group, as the worker that was there made it. */
static bool fault_at(const struct sweep *sweep, struct sweep_place place,
                     struct sweep_fault *fault)
{
    const struct sweep_group *group = &sweep->groups[place.group];
    if (group->point.kind != SWEEP_SETUP)
        return sweep_fault_of(&sweep->plan, &group->point, place.first, fault);
    *fault = sweep->setups[group->point.nth];
    return true;
}

static void count_death(struct crew *crew, int n)
{
    static struct sim_result result;
    static struct sweep_fault fault, second;
    struct sweep_slot *slot = &crew->shared->slots[n];
    const struct sweep_plan *plan = &crew->sweep->plan;
    bool fixed = plan->subject->fixed;
    if (crew->mates[n].ended)
        sim_make_up(&result, plan->scenario, SCN_SPIN, "spin without a call", 0,
                    fixed);
    else
        sim_make_up_death(&result, plan->scenario, &slot->words, fixed);
    if (slot->place.second >= 0)
        sweep_fault_of(plan, &slot->second_point, slot->second_outcome,
                       &second);
    if (!fault_at(crew->sweep, slot->place, &fault))
        return;
    if (plan->each)
        sweep_list(&slot->tally, &result, &fault);
    else
        sweep_count(&slot->tally, &result, &fault,
                    slot->place.second < 0 ? NULL : &second);
}

/* The run behind it. A first fault that kills has nothing behind it. */
static struct sweep_place behind(struct sweep_place place)
{
    if (place.second < 0) {
        place.first++;
        return place;
    }
    place.second++;
    return place;
}

/* ---- what comes from the workers ----------------------------------------- */

/* 1: got it; 0: the pipe has ended. */
static int get(int end, void *data, size_t length)
{
    char *at = data;
    while (length > 0) {
        ssize_t n = read(end, at, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return 0;
        at += n;
        length -= (size_t)n;
    }
    return 1;
}

static void take_group(struct crew *crew, int n,
                       const struct sweep_message *message)
{
    struct sweep_group *group = &crew->sweep->groups[message->group];
    size_t size = (size_t)message->count * sizeof *group->tally.entries;
    group->tally.entries = malloc(size ? size : 1);
    if (!group->tally.entries) {
        fail(crew, "out of memory");
        return;
    }
    if (get(crew->mates[n].end, group->tally.entries, size) != 1) {
        fail(crew, "a worker was ended from outside");
        return;
    }
    group->tally.count = group->tally.room = message->count;
    group->tally.runs = message->runs;
    group->done = true;
    crew->finished++;
    if (crew->work->done)
        crew->work->done(crew->work->context, crew->sweep, message->group);
}

static void worker_ended(struct crew *crew, int n)
{
    struct mate *mate = &crew->mates[n];
    struct sweep_slot *slot = &crew->shared->slots[n];
    int number = sweep_wait(mate->pid);
    close(mate->end);
    mate->end = -1;
    if (slot->place.group < 0) /* it left */
        return;
    if (number == SIGKILL && !mate->ended) {
        fail(crew, "a worker was killed from outside (out of memory?)");
        return;
    }
    if (crew->stopped || crew->failed)
        return;
    count_death(crew, n);
    start(crew, n, behind(slot->place));
}

static void take(struct crew *crew, int n)
{
    struct sweep_message message;
    if (get(crew->mates[n].end, &message, sizeof message) == 1)
        take_group(crew, n, &message);
    else
        worker_ended(crew, n);
}

static void watch_over(struct crew *crew, int n)
{
    struct mate *mate = &crew->mates[n];
    unsigned long beat = atomic_load(&crew->shared->slots[n].beat);
    int64_t now = sweep_now_ms();
    int patience = crew->work->patience ? crew->work->patience : PATIENCE;
    if ((crew->stopped || crew->failed) && patience > LAST_WAIT)
        patience = LAST_WAIT;
    if (mate->end < 0)
        return;
    if (beat != mate->beat) {
        mate->beat = beat;
        mate->since = now;
    } else if (now - mate->since > patience * INT64_C(1000) && !mate->ended) {
        mate->ended = true;
        kill(mate->pid, SIGKILL);
    }
}

/* ---- the crew ------------------------------------------------------------ */

static unsigned long runs(const struct crew *crew)
{
    unsigned long sum = 0;
    for (int i = 0; i < crew->jobs; i++)
        sum += atomic_load(&crew->shared->slots[i].beat);
    return sum;
}

/* One look at everything; false: nobody works any more. */
static bool look(struct crew *crew)
{
    struct pollfd ends[JOBS_MAX];
    bool any = false;
    for (int i = 0; i < crew->jobs; i++) {
        ends[i].fd = crew->mates[i].end;
        ends[i].events = POLLIN;
        ends[i].revents = 0;
        any = any || crew->mates[i].end >= 0;
    }
    if (!any)
        return false;
    if (poll(ends, (nfds_t)crew->jobs, LOOK_MS) > 0)
        for (int i = 0; i < crew->jobs; i++)
            if (ends[i].revents)
                take(crew, i);
    return true;
}

static void oversee(struct crew *crew)
{
    const struct sweep_work *work = crew->work;
    int64_t told = 0;
    while (look(crew)) {
        if (!crew->stopped && work->stop && work->stop(work->context)) {
            crew->stopped = true;
            atomic_store(&crew->shared->stop, true);
        }
        if (sweep_now_ms() - told < LOOK_MS)
            continue;
        told = sweep_now_ms();
        for (int i = 0; i < crew->jobs; i++)
            watch_over(crew, i);
        if (work->progress)
            work->progress(work->context, runs(crew), crew->finished,
                           crew->todo_count);
    }
    if (work->progress)
        work->progress(work->context, runs(crew), crew->finished,
                       crew->todo_count);
}

static int list_todo(struct crew *crew)
{
    const struct sweep *sweep = crew->sweep;
    crew->todo = malloc(((size_t)sweep->count + 1) * sizeof *crew->todo);
    if (!crew->todo)
        return -1;
    for (int i = 0; i < sweep->count; i++)
        if (!sweep->groups[i].done &&
            sweep_in_shard(i, crew->work->shard, crew->work->shards))
            crew->todo[crew->todo_count++] = i;
    return 0;
}

static int processors(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count < 1 ? 1 : count > JOBS_MAX ? JOBS_MAX : (int)count;
}

static int assemble(struct crew *crew)
{
    int jobs = crew->work->jobs > 0 ? crew->work->jobs : processors();
    if (list_todo(crew) != 0)
        return -1;
    if (jobs > JOBS_MAX)
        jobs = JOBS_MAX;
    if (jobs > crew->todo_count)
        jobs = crew->todo_count;
    crew->jobs = jobs;
    crew->shared_size = sizeof *crew->shared +
                        (size_t)(jobs + 1) * sizeof crew->shared->slots[0];
    crew->shared = sweep_share(crew->shared_size);
    if (!crew->shared)
        return -1;
    for (int i = 0; i < jobs; i++) {
        struct sweep_slot *slot = &crew->shared->slots[i];
        slot->place.group = -1;
        slot->tally.entries = slot->entries;
        slot->tally.room = SWEEP_TITLES_MAX;
        crew->mates[i].end = -1;
        crew->workers[i].sweep = crew->sweep;
        crew->workers[i].shared = crew->shared;
        crew->workers[i].slot = slot;
        crew->workers[i].todo = crew->todo;
        crew->workers[i].todo_count = crew->todo_count;
    }
    return 0;
}

int sweep_work(struct sweep *sweep, const struct sweep_work *work,
               struct scn_error *error)
{
    struct crew *crew = calloc(1, sizeof *crew);
    struct sweep_place nowhere = {-1, 0, -1};
    int status = -2;
    if (crew) {
        crew->sweep = sweep;
        crew->work = work;
        crew->error = error;
    }
    if (!crew || assemble(crew) != 0) {
        error->line = error->column = 0;
        snprintf(error->message, sizeof error->message, "out of memory");
    } else {
        for (int i = 0; i < crew->jobs && !crew->failed; i++)
            start(crew, i, nowhere);
        oversee(crew);
        if (!crew->stopped && crew->finished < crew->todo_count)
            fail(crew, "a worker is out of memory");
        status = crew->failed ? -2 : 0;
    }
    if (crew) {
        sweep_unshare(crew->shared, crew->shared_size);
        free(crew->todo);
    }
    free(crew);
    return status;
}
