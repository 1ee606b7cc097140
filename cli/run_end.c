/*
 * verbfault run: how ranks are made to end.
 *
 * In stages, two seconds each: what the user typed (SIGINT, as a terminal would
 * send it), SIGTERM, SIGKILL. The last one is repeated until nothing is left.
 */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/run.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* Milliseconds: */
enum {
    STAGE = 2000,    /* between two stages */
    REPEAT = 300,    /* two signals within that are one: front and keeper were
                        both meant */
    STRAYS = 500,    /* for what a rank leaves behind to end by itself */
    PATIENCE = 10000 /* until what SIGKILL does not end is given up */
};

static void signal_groups(const struct run *run, int number)
{
    for (int i = 0; i < run->setup->ranks; i++)
        if (run->ranks[i].running)
            kill(-run->ranks[i].pid, number);
}

static void signal_all(const struct run *run, int number)
{
    run_os_signal_all(number, run->shared->groups, run->setup->ranks, NULL, 0);
}

static void send_stage(struct run *run)
{
    switch (run->stage) {
    case RUN_GOING:
        break;
    case RUN_INTERRUPT:
        signal_groups(run, SIGINT);
        break;
    case RUN_TERMINATE:
        signal_all(run, SIGTERM);
        signal_groups(run, SIGCONT); /* a stopped process would not see it */
        break;
    case RUN_KILL:
        signal_groups(run, SIGKILL); /* a whole group at once, then the rest */
        signal_all(run, SIGKILL);
        break;
    }
}

void run_end(struct run *run, enum run_stage stage)
{
    if (stage <= run->stage)
        return;
    run->stage = stage;
    run->stage_since = run_now();
    run->stage_ends = run->stage_since + STAGE;
    if (stage == RUN_KILL)
        run->give_up_at = run->stage_since + PATIENCE;
    for (int i = 0; i < run->setup->ranks; i++)
        run->ranks[i].made_to_end |= run->ranks[i].running;
    send_stage(run);
}

static enum run_stage after(enum run_stage stage)
{
    return stage < RUN_KILL ? (enum run_stage)(stage + 1) : RUN_KILL;
}

void run_end_on_signal(struct run *run, int number)
{
    enum run_stage stage = number == SIGINT ? RUN_INTERRUPT : RUN_TERMINATE;
    if (!run->cut_short) {
        char name[32];
        run_say(&run->output, "%s: ending the ranks",
                run_signal_name(number, name));
    }
    run->cut_short = true;
    if (run->stage < stage)
        run_end(run, stage);
    else if (run_now() - run->stage_since > REPEAT)
        run_end(run, after(run->stage)); /* impatience */
}

static bool is_running(const struct run *run, int rank)
{
    return run->ranks[rank].running;
}

static bool has_failed(const struct run *run, int rank)
{
    return !is_running(run, rank) && run_rank_failed(&run->ranks[rank]);
}

/* "10", "0.5" */
static const char *seconds(int64_t milliseconds, char text[32])
{
    snprintf(text, 32, "%g", (double)milliseconds / 1000);
    return text;
}

static void time_is_over(struct run *run)
{
    char ranks[256], limit[32];
    int count = run_list_ranks(run, is_running, ranks, sizeof ranks);
    run_say(&run->output,
            "rank%s %s still running after %s s (--timeout): "
            "ended",
            count == 1 ? "" : "s", ranks,
            seconds(run->options->timeout, limit));
    run->cut_short = true;
    run_end(run, RUN_TERMINATE);
}

static void grace_is_over(struct run *run)
{
    char ranks[256], failed[256], limit[32];
    int count = run_list_ranks(run, has_failed, failed, sizeof failed);
    run_list_ranks(run, is_running, ranks, sizeof ranks);
    run_say(&run->output,
            "rank%s %s failed, and %s did not end within %s s (--grace): ended",
            count == 1 ? "" : "s", failed, ranks,
            seconds(run->options->grace, limit));
    run_end(run, RUN_TERMINATE);
}

/* All ranks are gone, and something that they started is not. */
static void strays_are_over(struct run *run)
{
    int count =
        run_os_signal_all(0, run->shared->groups, run->setup->ranks, NULL, 0);
    if (count > 0)
        run_say(&run->output,
                "note: %d process%s outlived the rank that "
                "started %s: ended",
                count, count == 1 ? "" : "es", count == 1 ? "it" : "them");
    run_end(run, RUN_TERMINATE);
}

static bool is_due(int64_t deadline, int64_t now)
{
    return deadline >= 0 && now >= deadline;
}

bool run_end_when_due(struct run *run, int64_t now)
{
    if (run->running == 0 && run->children && run->strays_at < 0)
        run->strays_at = now + STRAYS;
    if (run->stage == RUN_GOING && run->running > 0) {
        if (is_due(run->timeout_at, now))
            time_is_over(run);
        else if (is_due(run->grace_ends, now))
            grace_is_over(run);
    } else if (run->stage == RUN_GOING) {
        if (is_due(run->strays_at, now))
            strays_are_over(run);
    } else if (run->stage == RUN_KILL) {
        send_stage(run); /* what was started since */
        return !is_due(run->give_up_at, now);
    } else if (is_due(run->stage_ends, now)) {
        run_end(run, after(run->stage));
    }
    return true;
}
