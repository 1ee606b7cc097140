/* Who runs next, what time it is, and when nobody can go on. */
#include "sim/state.h"

#include <stdio.h>
#include <string.h>

/* An empty poll looks at one completion queue; a rank has at most this many,
 * so after as many empty ones in a row it has looked at them all, twice. */
#define EMPTY_POLLS (2 * SCN_RANKS_MAX)
/* A program that makes this many calls while nothing changes never stops. */
#define SPIN_CALLS 20000u

void sim_changed(void)
{
    sim.epoch++;
    for (int i = 0; i < sim.rank_count; i++)
        if (sim.ranks[i].state == SIM_WAITING)
            sim.ranks[i].state = SIM_RUNNABLE;
}

void sim_outcome(struct sim_rank *rank, enum scn_outcome outcome,
                 const char *title, const char *message)
{
    struct sim_rank_result *result = rank->result;
    if (outcome <= result->outcome)
        return;
    result->outcome = outcome;
    snprintf(result->title, sizeof result->title, "%s", title);
    if (message)
        snprintf(result->message, sizeof result->message, "%s", message);
}

void sim_leave(struct sim_rank *rank)
{
    rank->inner_leaves = rank->inner != NULL;
    fiber_yield(rank->inner ? rank->inner : rank->fiber);
}

void sim_stop_rank(struct sim_rank *rank, enum sim_state state)
{
    rank->state = state;
    if (sim.live)
        sim.live->stop(sim.live->context, state == SIM_STOPPED);
    for (;;)
        sim_leave(rank);
}

void sim_wait(struct sim_rank *rank, int64_t deadline, const char *what)
{
    if (deadline <= sim.now)
        return;
    rank->state = SIM_WAITING;
    rank->deadline = deadline;
    rank->waits_for = what;
    sim_leave(rank);
}

void sim_wait_change(struct sim_rank *rank, int64_t deadline, const char *what)
{
    if (rank->looked_at == sim.epoch)
        sim_wait(rank, deadline, what);
    rank->looked_at = sim.epoch;
}

int64_t sim_now(const struct sim_rank *rank)
{
    (void)rank;
    return sim.live ? sim_live_now() : sim.now;
}

void sim_sleep(struct sim_rank *rank, int64_t nanoseconds)
{
    int64_t until = sim.now + nanoseconds;
    if (sim.live) {
        sim_live_sleep(nanoseconds);
        return;
    }
    while (sim.now < until)
        sim_wait(rank, until, "the end of a sleep");
}

/* Which loop it is: the verb that it calls for ever, if it calls any. */
static void spin(struct sim_rank *rank)
{
    enum vf_verb verb = vf_machine_inside(sim.world, rank->number);
    char title[96];
    if (verb < VF_VERB_COUNT)
        snprintf(title, sizeof title, "spin in %s", vf_verb_name(verb));
    else
        snprintf(title, sizeof title, "spin outside of verbs");
    sim_outcome(rank, SCN_SPIN, title,
                "makes calls for ever while nothing changes");
    sim_stop_rank(rank, SIM_STOPPED);
}

void sim_tick(struct sim_rank *rank)
{
    if (rank->idle_at != sim.epoch) {
        rank->idle_at = sim.epoch;
        rank->idle_calls = 0;
    }
    if (++rank->idle_calls >= SPIN_CALLS)
        spin(rank);
}

void sim_step(struct sim_rank *rank)
{
    sim_tick(rank);
    /* With a seed, any call is a place where another rank may go first. */
    if (sim.seed != 0 && scn_random_below(&sim.random, 4) == 0)
        sim_leave(rank);
    else if (sim.counted && sim.calls_left-- == 0)
        sim_leave(rank);
}

void sim_empty(struct sim_rank *rank)
{
    if (sim.options->subject->empty) {
        sim.options->subject->empty(rank);
        return;
    }
    if (sim.options->subject->waits)
        return;
    if (rank->empty_at != sim.epoch) {
        rank->empty_at = sim.epoch;
        rank->empty_polls = 0;
    }
    if (++rank->empty_polls < EMPTY_POLLS)
        return;
    rank->empty_polls = 0;
    sim_wait(rank, SIM_FOREVER, "completions");
}

static struct sim_rank *runnable_from(int start)
{
    for (int i = 0; i < sim.rank_count; i++) {
        struct sim_rank *rank = &sim.ranks[(start + i) % sim.rank_count];
        if (rank->state == SIM_RUNNABLE)
            return rank;
    }
    return NULL;
}

/* The next byte of an order in bytes: its low three bits say who goes next (or
 * whoever can, after that one), the others how many calls it makes before the
 * next byte's turn; it may have to wait sooner. */
static int follow_order(int start)
{
    int byte;
    sim.counted = sim.order_at < sim.order->u.order.count;
    if (!sim.counted || !runnable_from(start))
        return start;
    byte = sim.order->u.order.bytes[sim.order_at++];
    sim.calls_left = byte >> 3;
    return (byte & 7) % sim.rank_count;
}

/* The next rank in turn, or any at random when the order has a seed. */
static struct sim_rank *next_runnable(void)
{
    int start = sim.current + 1;
    if (sim.seed != 0)
        start = (int)scn_random_below(&sim.random, (uint32_t)sim.rank_count);
    else if (sim.order)
        start = follow_order(start);
    return runnable_from(start);
}

/* Everybody waits: time jumps to the next deadline. false: there is none. */
static bool advance_time(void)
{
    int64_t next;
    bool waits = false;
    /* Late completions that nobody waits for take nobody's time. */
    for (int i = 0; i < sim.rank_count; i++)
        waits = waits || sim.ranks[i].state == SIM_WAITING;
    if (!waits)
        return false;
    next = vf_world_advance(sim.world);
    if (next < 0)
        next = SIM_FOREVER;
    for (int i = 0; i < sim.rank_count; i++)
        if (sim.ranks[i].state == SIM_WAITING && sim.ranks[i].deadline < next)
            next = sim.ranks[i].deadline;
    if (next == SIM_FOREVER)
        return false;
    if (next > sim.now) {
        sim.now = next;
        sim_tell(SIM_EVENT_TIME, -1, -1, 0, 0);
    }
    vf_world_advance(sim.world);
    for (int i = 0; i < sim.rank_count; i++)
        if (sim.ranks[i].state == SIM_WAITING &&
            sim.ranks[i].deadline <= sim.now)
            sim.ranks[i].state = SIM_RUNNABLE;
    return true;
}

void sim_meet(struct sim_rank *rank)
{
    if (sim.live) {
        sim.live->meet(sim.live->context);
        return;
    }
    rank->state = SIM_MEETING;
    sim_leave(rank);
}

/* Nobody else is left to come: those that meet go on. false: none meet. */
static bool end_meeting(void)
{
    bool met = false;
    for (int i = 0; i < sim.rank_count; i++)
        if (sim.ranks[i].state == SIM_MEETING) {
            sim.ranks[i].state = SIM_RUNNABLE;
            met = true;
        }
    return met;
}

static void report_hangs(void)
{
    for (int i = 0; i < sim.rank_count; i++) {
        struct sim_rank *rank = &sim.ranks[i];
        char title[96];
        if (rank->state != SIM_WAITING)
            continue;
        snprintf(title, sizeof title, "waits for %s", rank->waits_for);
        sim_outcome(rank, SCN_HANG, title,
                    "nothing can bring it any more: every rank waits, and no "
                    "deadline is left");
        rank->state = SIM_STOPPED;
    }
}

/* A process is gone: the kernel takes back what it held. */
void sim_bury(struct sim_rank *rank)
{
    vf_machine_end(sim.world, rank->number);
    sim_sockets_end(rank);
    sim_memory_end(rank);
    sim_changed();
}

void sim_schedule(void)
{
    for (;;) {
        struct sim_rank *rank = next_runnable();
        if (!rank) {
            if (advance_time() || end_meeting())
                continue;
            break;
        }
        sim.current = rank->number;
        vf_thread_set_machine(rank->number);
        if (sim.options->subject->resume)
            sim.options->subject->resume(rank);
        fiber_resume(rank->fiber);
        if (rank->state == SIM_ENDED)
            sim_bury(rank);
    }
    report_hangs();
}
