/*
 * Threads of a native rank, as fibers inside of the rank's own.
 *
 * The rank's first fiber runs the others: a thread runs from where it was
 * started or notified to where it waits for an event, and comes back. When a
 * thread waits for the world (a completion, time), the whole rank does: it
 * comes back with sim_rank.inner_leaves set, and the first fiber leaves in its
 * place and resumes it afterwards. So stacks are strictly nested.
 */
#include "sim/state.h"
#include "sim/subjects/native.h"

#define THREADS_MAX 32 /* of a rank: eight groups, three wires beside one */

struct thread {
    struct fiber *fiber; /* kept from run to run */
    bool used, over, ready;
    bool again;        /* ready at the next occasion */
    const void *event; /* it waits for; NULL: none */
    void (*entry)(void *argument);
    void *argument;
};

static struct thread threads[SCN_RANKS_MAX][THREADS_MAX];
static struct thread *running[SCN_RANKS_MAX]; /* NULL: the first fiber */

static void body(void *argument)
{
    struct thread *thread = argument;
    thread->entry(thread->argument);
    thread->over = true;
}

/* On the rank's first fiber: until the thread waits or is over. */
static void run(struct sim_rank *rank, struct thread *thread)
{
    bool leaves;
    thread->ready = false;
    running[rank->number] = thread;
    do {
        rank->inner = thread->fiber;
        rank->inner_leaves = false;
        fiber_resume(thread->fiber);
        rank->inner = NULL;
        leaves = rank->inner_leaves;
        if (leaves)
            sim_leave(rank);
    } while (leaves);
    running[rank->number] = NULL;
}

/* Did any run? */
static bool run_ready(struct sim_rank *rank)
{
    bool any = false;
    if (running[rank->number])
        return false; /* the first fiber will */
    for (int i = 0; i < THREADS_MAX; i++) {
        struct thread *thread = &threads[rank->number][i];
        if (!thread->used || thread->over || !thread->ready)
            continue;
        run(rank, thread);
        any = true;
        i = -1; /* it may have woken an earlier one */
    }
    for (int i = 0; i < THREADS_MAX; i++) {
        struct thread *thread = &threads[rank->number][i];
        thread->ready = thread->ready || thread->again;
        thread->again = false;
    }
    return any;
}

unsigned native_thread_start(struct sim_rank *rank, void (*entry)(void *),
                             void *argument)
{
    for (int i = 0; i < THREADS_MAX; i++) {
        struct thread *thread = &threads[rank->number][i];
        if (thread->used)
            continue;
        if (!thread->fiber)
            thread->fiber = fiber_create();
        if (!thread->fiber)
            return 0;
        thread->used = thread->ready = true;
        thread->over = thread->again = false;
        thread->event = NULL;
        thread->entry = entry;
        thread->argument = argument;
        fiber_start(thread->fiber, body, thread);
        run_ready(rank);
        return (unsigned)i + 1;
    }
    return 0;
}

void native_thread_join(struct sim_rank *rank, unsigned id)
{
    struct thread *thread = &threads[rank->number][id - 1];
    while (!thread->over)
        native_thread_wait(rank, thread);
    thread->used = false;
}

void native_thread_wait(struct sim_rank *rank, const void *event)
{
    struct thread *self = running[rank->number];
    if (self) {
        self->event = event;
        fiber_yield(self->fiber);
    } else if (!run_ready(rank)) {
        /* Nobody is left to notify it: it looks for ever. */
        sim_tick(rank);
    }
}

void native_thread_again(struct sim_rank *rank)
{
    struct thread *self = running[rank->number];
    if (!self) {
        native_thread_wait(rank, NULL);
        return;
    }
    self->again = true;
    self->event = NULL;
    fiber_yield(self->fiber);
}

void native_thread_notify(struct sim_rank *rank, const void *event)
{
    for (int i = 0; i < THREADS_MAX; i++) {
        struct thread *thread = &threads[rank->number][i];
        if (!thread->used || thread->over || thread->event != event)
            continue;
        thread->event = NULL;
        thread->ready = true;
    }
    run_ready(rank);
}

void native_threads_forget(struct sim_rank *rank)
{
    for (int i = 0; i < THREADS_MAX; i++)
        threads[rank->number][i].used = false;
    running[rank->number] = NULL;
}
