/* A sweep from the clean run to the sum. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "sim/sweep.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/sweep_work.h"
#include "sim/watch.h"

#define CLEAN_MS 60000

void sweep_plan_default(struct sweep_plan *plan, const struct scn *scenario,
                        const struct sim_subject *subject)
{
    memset(plan, 0, sizeof *plan);
    plan->scenario = scenario;
    plan->subject = subject;
    plan->depth = 1;
    plan->verbs = ((uint64_t)1 << VF_VERB_COUNT) - 1;
    plan->ranks = (1u << SCN_RANKS_MAX) - 1;
    plan->channel = plan->setup = true;
    plan->once = plan->onward = true;
}

/* ---- the clean run ------------------------------------------------------- */

/* What the process that makes it leaves. */
struct clean {
    const struct sweep_plan *plan;
    int status; /* sim_run's; 1: it never came back */
    struct scn_error error;
    struct sim_watch watch;
    enum scn_outcome outcome;
    char title[96];
    struct sim_last_words words;
};

static void run_clean(void *context, int end)
{
    static struct sim_result result;
    struct clean *clean = context;
    struct sim_options options = {.subject = clean->plan->subject,
                                  .watch = &clean->watch};
    (void)end;
    sim_leave_words_in(&clean->words);
    clean->status =
        sim_run(clean->plan->scenario, &options, &result, &clean->error);
    clean->outcome = result.outcome;
    memcpy(clean->title, result.title, sizeof clean->title);
}

/* The pipe's end is all that comes through it. false: it took too long. */
static bool wait_for_end(int end)
{
    struct pollfd ready = {end, POLLIN, 0};
    int64_t until = sweep_now_ms() + CLEAN_MS;
    while (sweep_now_ms() < until)
        if (poll(&ready, 1, 1000) > 0)
            return true;
    return false;
}

static int complain(struct scn_error *error, int status, const char *what)
{
    error->line = error->column = 0;
    snprintf(error->message, sizeof error->message, "%s", what);
    return status;
}

static int make_clean_run(struct clean *clean, struct scn_error *error)
{
    pid_t pid;
    int end = sweep_start(run_clean, clean, NULL, 0, &pid);
    bool over;
    if (end < 0)
        return complain(error, -2, "cannot start a process");
    over = wait_for_end(end);
    if (!over)
        kill(pid, SIGKILL);
    sweep_wait(pid);
    close(end);
    if (!over)
        return complain(error, -1,
                        "without any fault it makes no call for a minute");
    if (clean->status > 0)
        return complain(error, -1, "without any fault it faults already");
    if (clean->status < 0)
        *error = clean->error;
    return clean->status;
}

/* ---- points -------------------------------------------------------------- */

static void print_statement(const struct scn_statement *statement, char *name)
{
    static struct scn scratch;
    size_t length;
    scratch.count = 1;
    scratch.statements[0] = *statement;
    length = scn_print(&scratch, name, SWEEP_NAME_MAX);
    if (length > 0 && length < SWEEP_NAME_MAX)
        name[length - 1] = '\0'; /* the new line */
}

/* Of a device among others, the one that is not as it should be. */
static const struct scn_statement *told(const struct sweep_fault *setup)
{
    for (int i = 0; i < setup->count; i++) {
        const struct scn_statement *s = &setup->statements[i];
        if (s->kind != SCN_DEVICE || s->u.device.port_down ||
            s->u.device.no_ipv4 || s->u.device.used_mr > 0 ||
            s->u.device.used_qp > 0 || s->u.device.used_pd > 0 ||
            s->u.device.max_mr == 0 || s->u.device.max_qp == 0 ||
            s->u.device.max_pd == 0)
            return s;
    }
    return &setup->statements[0];
}

static void name_group(const struct sweep *sweep, struct sweep_group *group)
{
    const struct sweep_point *point = &group->point;
    switch (point->kind) {
    case SWEEP_SETUP:
        print_statement(told(&sweep->setups[point->nth]), group->name);
        break;
    case SWEEP_CALL:
        snprintf(group->name, sizeof group->name, "%d %s %d", point->rank,
                 vf_verb_name(point->verb), point->nth);
        break;
    case SWEEP_CHANNEL:
        snprintf(group->name, sizeof group->name, "%d channel %d", point->rank,
                 point->nth);
        break;
    }
}

/* Setups first, as they come first. */
static int make_groups(struct sweep *sweep, const struct sim_watch *watch)
{
    struct sweep_points points = {NULL, 0, 0, false};
    int setups = 0, status = 0;
    if (sweep->plan.setup)
        setups = sweep_setups(&sweep->plan, watch, &sweep->setups);
    if (setups < 0 || sweep_points_of(&sweep->plan, watch, NULL, &points) != 0)
        status = -1;
    if (status == 0)
        sweep->groups =
            calloc((size_t)(setups + points.count) + 1, sizeof *sweep->groups);
    if (sweep->groups) {
        sweep->count = setups + points.count;
        sweep->left_out = points.left_out;
        for (int i = 0; i < sweep->count; i++) {
            struct sweep_group *group = &sweep->groups[i];
            if (i < setups)
                group->point = (struct sweep_point){
                    .kind = SWEEP_SETUP,
                    .rank = sweep->setups[i].statements[0].rank,
                    .nth = i};
            else
                group->point = points.at[i - setups];
            name_group(sweep, group);
        }
    }
    free(points.at);
    return sweep->groups ? status : -1;
}

int sweep_prepare(struct sweep *sweep, const struct sweep_plan *plan,
                  struct scn_error *error)
{
    struct clean *clean = sweep_share(sizeof *clean);
    int status;
    memset(sweep, 0, sizeof *sweep);
    sweep->plan = *plan;
    if (!clean)
        return complain(error, -2, "out of memory");
    clean->plan = &sweep->plan;
    clean->status = 1;
    status = make_clean_run(clean, error);
    if (status == 0) {
        sweep->outcome = clean->outcome;
        memcpy(sweep->title, clean->title, sizeof sweep->title);
        if (make_groups(sweep, &clean->watch) != 0)
            status = complain(error, -2, "out of memory");
    }
    sweep_unshare(clean, sizeof *clean);
    if (status != 0)
        sweep_free(sweep);
    return status;
}

int sweep_total(const struct sweep *sweep, struct sweep_tally *total)
{
    for (int i = 0; i < sweep->count; i++)
        if (sweep->groups[i].done &&
            sweep_sum(total, &sweep->groups[i].tally) != 0)
            return -1;
    return 0;
}

void sweep_free(struct sweep *sweep)
{
    for (int i = 0; i < sweep->count; i++)
        free(sweep->groups[i].tally.entries);
    free(sweep->groups);
    free(sweep->setups);
    sweep->groups = NULL;
    sweep->setups = NULL;
    sweep->count = 0;
}
