/*
 * A sweep walks every fault: none is left out, none is made twice, and neither
 * crashes nor workers nor interrupts change what comes out of it.
 */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <errno.h>
#include <infiniband/verbs.h>
#include <signal.h>

#include "sim/sweep.h"
#include "sim/watch.h"

static struct scn scenario;
static struct scn_error scn_error;

static void parse(const char *text)
{
    if (scn_parse(&scenario, text, strlen(text), &scn_error) != 0)
        fail_msg("%d:%d: %s", scn_error.line, scn_error.column,
                 scn_error.message);
}

/* ---- a subject so small that its points can be counted by hand ----------- */

#define ADDRESS "10.0.0.1:9000"

/* Rank 1 sends three bytes to rank 0. */
static int talk(struct sim_rank *rank)
{
    char bytes[3] = {1, 2, 3};
    int end = -1, got = 0;
    if (sim_rank_number(rank) == 1) {
        for (int i = 0; i < 10 && end < 0; i++) {
            end = sim_connect(rank, ADDRESS, SIM_FOREVER);
            if (end == -ECONNREFUSED)
                sim_sleep(rank, 1000000);
        }
        got = sim_send(rank, end, bytes, sizeof bytes) == 3;
    } else {
        int listener = sim_listen(rank, ADDRESS);
        end = sim_accept(rank, listener, 1000000000);
        for (int i = 0; end >= 0 && i < 3; i++)
            got += sim_recv(rank, end, bytes, 1, sim_now(rank) + 1000000) == 1;
        sim_close(rank, listener);
    }
    if (end >= 0)
        sim_close(rank, end);
    return got > 0 ? 0 : -1;
}

/* What it does when its device list is NULL. */
static enum { ANSWER, DIE, LEAVE, LOOP } temper;

static void lose_temper(int err)
{
    if (temper == DIE && err == ENOMEM)
        raise(SIGSEGV);
    if (temper == LEAVE && err == ENOMEM)
        _exit(7);
    while (temper == LOOP && err == ENOMEM)
        ;
}

static int small_init(struct sim_rank *rank, void **group,
                      struct sim_failure *failure)
{
    struct ibv_device **list;
    void *memory = sim_alloc(rank, 16, 16);
    snprintf(failure->message, sizeof failure->message, "no");
    if (!memory)
        return -1;
    sim_free(rank, memory);
    list = ibv_get_device_list(NULL);
    if (!list) {
        lose_temper(errno);
        return -1;
    }
    ibv_free_device_list(list);
    *group = NULL;
    return talk(rank);
}

static int small_finalize(struct sim_rank *rank, void *group,
                          struct sim_failure *failure)
{
    (void)rank;
    (void)group;
    (void)failure;
    return 0;
}

static const struct sim_subject small = {
    .name = "small", .init = small_init, .finalize = small_finalize};

/* ---- sweeping ------------------------------------------------------------ */

struct outcome {
    struct sweep sweep;
    struct sweep_tally total;
};

static void prepare(struct outcome *outcome, const struct sweep_plan *plan)
{
    memset(outcome, 0, sizeof *outcome);
    if (sweep_prepare(&outcome->sweep, plan, &scn_error) != 0)
        fail_msg("%s", scn_error.message);
}

static void work(struct outcome *outcome, const struct sweep_work *how)
{
    if (sweep_work(&outcome->sweep, how, &scn_error) != 0)
        fail_msg("%s", scn_error.message);
}

static void add_up(struct outcome *outcome)
{
    assert_int_equal(sweep_total(&outcome->sweep, &outcome->total), 0);
}

static void sweep(struct outcome *outcome, const struct sweep_plan *plan,
                  int jobs)
{
    struct sweep_work how = {.jobs = jobs, .patience = 20};
    prepare(outcome, plan);
    work(outcome, &how);
    add_up(outcome);
}

static void drop(struct outcome *outcome)
{
    free(outcome->total.entries);
    sweep_free(&outcome->sweep);
}

static void must_be_same(const struct sweep_tally *a,
                         const struct sweep_tally *b)
{
    assert_int_equal(a->runs, b->runs);
    assert_int_equal(a->count, b->count);
    for (int i = 0; i < a->count; i++) {
        assert_string_equal(a->entries[i].title, b->entries[i].title);
        assert_string_equal(a->entries[i].example, b->entries[i].example);
        assert_string_equal(a->entries[i].why, b->entries[i].why);
        assert_int_equal(a->entries[i].outcome, b->entries[i].outcome);
        assert_int_equal(a->entries[i].count, b->entries[i].count);
    }
}

static const struct sweep_entry *entry_of(const struct sweep_tally *tally,
                                          enum scn_outcome outcome,
                                          const char *title)
{
    const struct sweep_entry *found = NULL;
    for (int i = 0; i < tally->count; i++)
        if (tally->entries[i].outcome == outcome &&
            strcmp(tally->entries[i].title, title) == 0) {
            assert_null(found); /* each title once */
            found = &tally->entries[i];
        }
    return found;
}

static struct sweep_plan plan_of(const struct sim_subject *subject)
{
    struct sweep_plan plan;
    sweep_plan_default(&plan, &scenario, subject);
    return plan;
}

/* ---- outcomes ------------------------------------------------------------ */

static void every_outcome_fits_its_verb(void **state)
{
    struct vf_fault faults[SWEEP_OUTCOMES_MAX];
    int pairs = 0;
    (void)state;
    for (int verb = 0; verb < VF_VERB_COUNT; verb++) {
        unsigned effects = 0, fitting = 0;
        int count = sweep_outcomes((enum vf_verb)verb, true, true, faults);
        assert_in_range(count, 1, SWEEP_OUTCOMES_MAX - 2);
        for (int i = 0; i < count; i++) {
            char text[64];
            parse("ranks 2 mesh\nrun init\n");
            struct scn_statement *s = scn_add(&scenario, SCN_FAULT);
            s->rank = 1;
            s->u.fault = faults[i];
            scn_print(&scenario, text, sizeof text);
            if (scn_check(&scenario, &scn_error) != 0)
                fail_msg("%s: %s", text, scn_error.message);
            effects |= 1u << faults[i].effect;
            for (int k = 0; k < i; k++)
                assert_memory_not_equal(&faults[i], &faults[k],
                                        sizeof faults[i]);
            pairs++;
        }
        for (int effect = 0; effect < VF_EFFECT_COUNT; effect++)
            if (vf_effect_fits((enum vf_effect)effect, (enum vf_verb)verb) &&
                effect != VF_EFFECT_OVERTAKEN)
                fitting |= 1u << effect;
        assert_int_equal(effects, fitting); /* no other is left out */
    }
    assert_true(pairs > 200);
}

static void an_end_cannot_come_twice(void **state)
{
    struct vf_fault both[SWEEP_OUTCOMES_MAX], some[SWEEP_OUTCOMES_MAX];
    (void)state;
    for (int verb = 0; verb < VF_VERB_COUNT; verb++) {
        enum vf_verb v = (enum vf_verb)verb;
        int count = sweep_outcomes(v, true, true, both);
        int once = sweep_outcomes(v, true, false, some), ends = 0;
        int onward = sweep_outcomes(v, false, true, some);
        for (int i = 0; i < count; i++) {
            bool end = both[i].effect == VF_EFFECT_EXIT ||
                       both[i].effect == VF_EFFECT_HANG ||
                       both[i].effect == VF_EFFECT_UNPLUG;
            ends += end;
            assert_false(end && both[i].onward);
        }
        assert_int_equal(once, onward);
        assert_int_equal(count, 2 * (once - ends) + ends);
    }
}

/* ---- points -------------------------------------------------------------- */

/*
 * Of each rank: an allocation (null once and onward, exit, hang: 4), a device
 * list (NULL in two ways, unwritten, garbled, each once and onward; exit, hang:
 * 10), its release (exit, hang: 2). Of rank 1: a close behind 0 to 3 bytes,
 * silence and an inversion before each of them (10).
 */
static void points_and_runs_are_as_many_as_counted_by_hand(void **state)
{
    struct outcome all, once;
    struct sweep_plan plan;
    (void)state;
    parse("run init\n");
    plan = plan_of(&small);
    plan.setup = false;
    sweep(&all, &plan, 2);
    assert_int_equal(all.sweep.count, 2 * 3 + 4);
    assert_int_equal(all.total.runs, 2 * (4 + 10 + 2) + 10);
    assert_string_equal(all.sweep.groups[0].name, "0 get_device_list 1");
    assert_string_equal(all.sweep.groups[9].name, "1 channel 3");
    plan.onward = false;
    plan.ranks = 1;
    sweep(&once, &plan, 2);
    assert_int_equal(once.sweep.count, 3);
    assert_int_equal(once.total.runs, 3 + 6 + 2);
    drop(&all);
    drop(&once);
}

static void each_region_of_the_quarry_is_a_point(void **state)
{
    struct outcome outcome;
    struct sweep_plan plan;
    const struct sweep_entry *entry;
    (void)state;
    parse("run init\n");
    plan = plan_of(sim_subject_by_name("legacy-2026-08-22"));
    plan.verbs = (uint64_t)1 << VF_VERB_reg_mr;
    plan.channel = plan.setup = false;
    sweep(&outcome, &plan, 2);
    assert_int_equal(outcome.sweep.count, 2 * 64);
    entry = entry_of(&outcome.total, SCN_CRASH, "null-mr in dereg_mr");
    assert_non_null(entry);
    /* NULL with three errnos, once and onward; the others end it otherwise */
    assert_int_equal(entry->count, 2 * 64 * 6);
    assert_string_equal(entry->example, "fault 0 reg_mr 1 null ENOMEM");
    drop(&outcome);
}

/* Polls that found nothing are no points: the trace does not show them. */
static int polls_shown;

static void count_polls(void *context, int rank, const char *line)
{
    (void)context;
    (void)rank;
    polls_shown += strstr(line, " poll_cq(") != NULL;
}

static void polls_that_found_nothing_are_no_points(void **state)
{
    static struct sim_watch watch;
    static struct sim_result result;
    struct sim_options options = {.subject = sim_subject_by_name("cjaccl"),
                                  .trace = count_polls,
                                  .watch = &watch};
    struct sweep_points points = {NULL, 0, 0, false};
    struct sweep_plan plan;
    unsigned called = 0;
    (void)state;
    parse("ranks 3 mesh\nrun init\nrun all_sum float32 1024\n");
    plan = plan_of(options.subject);
    plan.verbs = (uint64_t)1 << VF_VERB_poll_cq;
    plan.channel = false;
    polls_shown = 0;
    assert_int_equal(sim_run(&scenario, &options, &result, &scn_error), 0);
    assert_int_equal(sweep_points_of(&plan, &watch, NULL, &points), 0);
    for (int rank = 0; rank < 3; rank++)
        called += watch.at_end[rank].calls[VF_VERB_poll_cq];
    assert_int_equal(points.count, polls_shown);
    assert_true(points.count > 0);
    assert_true(called > (unsigned)points.count);
    free(points.at);
}

/* ---- two faults ---------------------------------------------------------- */

static char planned[8][32];
static int planned_count;

static void note_planned(void *context, int rank, const char *line)
{
    const char *verb = strchr(line, ' ');
    verb = verb ? strchr(verb + 1, ' ') : NULL;
    (void)context;
    if (!verb || planned_count == 8 ||
        (!strstr(line, "(planned)") && !strstr(line, "? (exit)") &&
         !strstr(line, "? (hang)")))
        return;
    snprintf(planned[planned_count++], sizeof planned[0], "%d%.*s", rank,
             (int)strcspn(verb, "("), verb);
}

static void name_fault(const struct sweep_fault *fault, char *name, size_t room)
{
    const struct scn_statement *s = &fault->statements[0];
    snprintf(name, room, "%d %s", s->rank, vf_verb_name(s->u.fault.verb));
}

/* Runs first and second and checks that they strike in this order. */
static void must_come_second(const struct sweep_fault *first,
                             const struct sweep_fault *second)
{
    static struct sim_result result;
    struct sim_options options = {.subject = sim_subject_by_name("cjaccl"),
                                  .trace = note_planned};
    char names[2][32];
    int hits = 0;
    name_fault(first, names[0], sizeof names[0]);
    name_fault(second, names[1], sizeof names[1]);
    planned_count = 0;
    assert_int_equal(sim_run(&scenario, &options, &result, &scn_error), 0);
    for (int i = 0; i < result.ranks; i++)
        hits += (int)result.rank[i].faults_hit;
    if (hits < 2 || planned_count < 2 || strcmp(planned[0], names[0]) != 0 ||
        strcmp(planned[1], names[1]) != 0)
        fail_msg("%s then %s: %d hits, %s then %s", names[0], names[1], hits,
                 planned_count > 0 ? planned[0] : "nothing",
                 planned_count > 1 ? planned[1] : "nothing");
}

static int check_seconds(const struct sweep_plan *plan, int own,
                         const struct sweep_fault *first,
                         struct sim_watch *watch)
{
    static struct sim_result result;
    static struct sweep_points after;
    struct sim_options options = {.subject = plan->subject, .watch = watch};
    struct sweep_fault second;
    int pairs = 0;
    if (!sweep_add(&scenario, own, first))
        return 0;
    assert_int_equal(sim_run(&scenario, &options, &result, &scn_error), 0);
    assert_true(watch->hit);
    assert_int_equal(sweep_points_of(plan, watch, first, &after), 0);
    for (int i = 0; i < after.count; i++)
        for (int n = 0; sweep_fault_of(plan, &after.at[i], n, &second); n++)
            if (sweep_add(&scenario, own + 1, &second)) {
                must_come_second(first, &second);
                pairs++;
            }
    free(after.at);
    memset(&after, 0, sizeof after);
    return pairs;
}

static void the_second_fault_comes_second(void **state)
{
    static struct sim_watch clean, watch;
    static struct sim_result result;
    struct sim_options options = {.subject = sim_subject_by_name("cjaccl"),
                                  .watch = &clean};
    struct sweep_points points = {NULL, 0, 0, false};
    struct sweep_plan plan;
    int own, pairs = 0;
    (void)state;
    parse("run init\nrun all_sum float32 1024\n");
    own = scenario.count;
    plan = plan_of(options.subject);
    plan.channel = plan.onward = false;
    assert_int_equal(sim_run(&scenario, &options, &result, &scn_error), 0);
    assert_int_equal(sweep_points_of(&plan, &clean, NULL, &points), 0);
    for (int i = 0; i < points.count; i += 3) {
        struct sweep_fault first;
        for (int n = 0; sweep_fault_of(&plan, &points.at[i], n, &first); n++) {
            /* What strikes unseen, or is told behind the next call. */
            if (first.statements[0].u.fault.verb == VF_VERB_alloc ||
                first.statements[0].u.fault.verb == VF_VERB_completion)
                continue;
            pairs += check_seconds(&plan, own, &first, &watch);
            scenario.count = own;
        }
    }
    assert_true(pairs > 500);
    free(points.at);
}

static void depth_2_holds_depth_1(void **state)
{
    struct outcome one, two;
    struct sweep_plan plan;
    (void)state;
    parse("run init\n");
    plan = plan_of(&small);
    sweep(&one, &plan, 2);
    plan.depth = 2;
    sweep(&two, &plan, 2);
    assert_int_equal(one.sweep.count, two.sweep.count);
    assert_true(two.total.runs > 3 * one.total.runs);
    for (int i = 0; i < one.total.count; i++) {
        const struct sweep_entry *entry =
            entry_of(&two.total, one.total.entries[i].outcome,
                     one.total.entries[i].title);
        assert_non_null(entry);
        assert_true(entry->count >= one.total.entries[i].count);
    }
    drop(&one);
    drop(&two);
}

/* ---- subjects that take their process with them -------------------------- */

/* The device list of either rank, ENOMEM, once and onward: four runs. */
static void lose_it(struct outcome *outcome, int how, int depth, int jobs)
{
    struct sweep_work work_how = {.jobs = jobs, .patience = 2};
    struct sweep_plan plan;
    parse("run init\n");
    plan = plan_of(&small);
    plan.setup = false;
    plan.depth = depth;
    /* Each crash costs a process, which under a sanitizer is much. */
    plan.onward = plan.channel = depth == 1;
    temper = how;
    prepare(outcome, &plan);
    work(outcome, &work_how);
    temper = ANSWER;
    add_up(outcome);
}

static void must_count(const struct outcome *outcome, enum scn_outcome what,
                       const char *title, unsigned long count)
{
    const struct sweep_entry *entry = entry_of(&outcome->total, what, title);
    assert_non_null(entry);
    assert_int_equal(entry->count, count);
    assert_string_equal(entry->example,
                        "fault 0 get_device_list 1 null ENOMEM");
}

static void a_crash_is_counted_and_the_rest_still_runs(void **state)
{
    struct outcome outcome;
    (void)state;
    for (int jobs = 1; jobs <= 2; jobs++) {
        lose_it(&outcome, DIE, 1, jobs);
        assert_int_equal(outcome.total.runs, 42);
        must_count(&outcome, SCN_CRASH, "fault outside of verbs", 4);
        drop(&outcome);
        lose_it(&outcome, LEAVE, 1, jobs);
        assert_int_equal(outcome.total.runs, 42);
        must_count(&outcome, SCN_CRASH, "process ended by itself", 4);
        drop(&outcome);
    }
}

static void a_crash_in_a_second_run_is_one_of_them(void **state)
{
    struct outcome calm, one, two;
    (void)state;
    lose_it(&calm, ANSWER, 2, 1);
    lose_it(&one, DIE, 2, 1);
    lose_it(&two, DIE, 2, 2);
    must_be_same(&one.total, &two.total);
    /* Nothing can come behind a first fault that kills. */
    assert_true(one.total.runs < calm.total.runs);
    assert_true(
        entry_of(&one.total, SCN_CRASH, "fault outside of verbs")->count > 4);
    drop(&calm);
    drop(&one);
    drop(&two);
}

static void a_run_without_a_sign_of_life_is_a_spin(void **state)
{
    struct outcome outcome;
    (void)state;
    lose_it(&outcome, LOOP, 1, 2);
    assert_int_equal(outcome.total.runs, 42);
    must_count(&outcome, SCN_SPIN, "spin without a call", 4);
    drop(&outcome);
}

/* ---- who does it does not matter ----------------------------------------- */

static void workers_change_nothing(void **state)
{
    struct outcome one, other;
    struct sweep_plan plan;
    (void)state;
    parse("run init\nrun all_sum float32 1024\n");
    plan = plan_of(sim_subject_by_name("cjaccl"));
    sweep(&one, &plan, 1);
    for (int jobs = 2; jobs <= 5; jobs += 3) {
        sweep(&other, &plan, jobs);
        must_be_same(&one.total, &other.total);
        drop(&other);
    }
    drop(&one);
}

static void shards_add_up_to_the_whole(void **state)
{
    struct outcome whole, parts;
    struct sweep_plan plan;
    (void)state;
    parse("run init\n");
    plan = plan_of(sim_subject_by_name("cjaccl"));
    sweep(&whole, &plan, 2);
    for (int shards = 2; shards <= 7; shards += 5) {
        prepare(&parts, &plan);
        for (int shard = shards - 1; shard >= 0; shard--) {
            struct sweep_work how = {
                .jobs = 2, .shard = shard, .shards = shards};
            work(&parts, &how);
        }
        add_up(&parts);
        must_be_same(&whole.total, &parts.total);
        drop(&parts);
    }
    drop(&whole);
}

struct interrupt {
    int done, after;
};

static void count_done(void *context, const struct sweep *swept, int group)
{
    struct interrupt *interrupt = context;
    assert_true(swept->groups[group].done);
    interrupt->done++;
}

static bool enough(void *context)
{
    struct interrupt *interrupt = context;
    return interrupt->done >= interrupt->after;
}

static void what_was_interrupted_goes_on(void **state)
{
    struct outcome whole, parts;
    struct sweep_plan plan;
    struct interrupt interrupt = {0, 20};
    struct sweep_work how = {
        .jobs = 2, .context = &interrupt, .stop = enough, .done = count_done};
    (void)state;
    parse("run init\n");
    plan = plan_of(sim_subject_by_name("legacy-2026-08-22"));
    plan.depth = 2;
    plan.onward = plan.channel = plan.setup = false;
    plan.verbs = (uint64_t)1 << VF_VERB_create_cq | (uint64_t)1
                                                        << VF_VERB_reg_mr;
    plan.ranks = 1;
    sweep(&whole, &plan, 2);
    prepare(&parts, &plan);
    work(&parts, &how);
    assert_true(interrupt.done >= 20 && interrupt.done < whole.sweep.count);
    interrupt.after = 1000000;
    work(&parts, &how);
    assert_int_equal(interrupt.done, whole.sweep.count); /* none twice */
    add_up(&parts);
    must_be_same(&whole.total, &parts.total);
    drop(&whole);
    drop(&parts);
}

/* ---- what it is for ------------------------------------------------------ */

static void it_finds_every_start_up_crash_of_the_quarry(void **state)
{
    static const struct {
        const char *topology;
        enum scn_outcome outcome;
        const char *title;
    } found[] = {
        {"2 mesh", SCN_CRASH, "null-mr in dereg_mr"},      /* S1, S2 */
        {"2 mesh", SCN_CRASH, "null-pd in reg_mr"},        /* S5 */
        {"2 ring", SCN_CRASH, "null-context in alloc_pd"}, /* S5 */
        {"2 mesh", SCN_CRASH, "call through NULL ibv_get_device_list"}, /* S9 */
        {"2 mesh", SCN_CRASH, "call through NULL ibv_reg_mr"},          /* S9 */
        {"2 mesh", SCN_CRASH, "compare with NULL name in device search"},
        {"2 mesh", SCN_CRASH, "read past infos in mesh"},
        {"2 mesh", SCN_CRASH, "index of empty infos in mesh"},       /* C3 */
        {"2 mesh", SCN_CRASH, "swap past sockets in side channel"},  /* C1 */
        {"3 mesh", SCN_SPIN, "spin outside of verbs"},               /* C2 */
        {"2 mesh", SCN_HANG, "waits for bytes of the side channel"}, /* C4 */
        {"2 mesh", SCN_LEAK, "leak of device-list"},                 /* S7 */
    };
    static const char *const topologies[] = {"2 mesh", "2 ring", "3 mesh"};
    (void)state;
    for (size_t t = 0; t < sizeof topologies / sizeof topologies[0]; t++) {
        char text[64];
        struct outcome outcome;
        struct sweep_plan plan;
        snprintf(text, sizeof text, "ranks %s\nrun init\n", topologies[t]);
        parse(text);
        plan = plan_of(sim_subject_by_name("legacy-2026-08-22"));
        sweep(&outcome, &plan, 2);
        for (size_t i = 0; i < sizeof found / sizeof found[0]; i++)
            if (strcmp(found[i].topology, topologies[t]) == 0 &&
                !entry_of(&outcome.total, found[i].outcome, found[i].title))
                fail_msg("not found: %s", found[i].title);
        drop(&outcome);
    }
}

static void cjaccl_keeps_every_promise(void **state)
{
    static const char *const topologies[] = {"2 mesh", "2 ring", "3 mesh"};
    (void)state;
    for (size_t t = 0; t < sizeof topologies / sizeof topologies[0]; t++) {
        char text[64];
        struct outcome outcome;
        struct sweep_plan plan;
        snprintf(text, sizeof text,
                 "ranks %s\nrun init\nrun all_sum float32 1024\n",
                 topologies[t]);
        parse(text);
        plan = plan_of(sim_subject_by_name("cjaccl"));
        sweep(&outcome, &plan, 2);
        assert_int_equal(outcome.sweep.outcome, SCN_READY);
        assert_true(outcome.total.runs > 1000);
        for (int i = 0; i < outcome.total.count; i++)
            if (outcome.total.entries[i].broken)
                fail_msg("%s: %s", outcome.total.entries[i].why,
                         outcome.total.entries[i].example);
        drop(&outcome);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* first: its process has not run anything, as those of a sweep */
        cmocka_unit_test(points_and_runs_are_as_many_as_counted_by_hand),
        cmocka_unit_test(every_outcome_fits_its_verb),
        cmocka_unit_test(an_end_cannot_come_twice),
        cmocka_unit_test(each_region_of_the_quarry_is_a_point),
        cmocka_unit_test(depth_2_holds_depth_1),
        cmocka_unit_test(a_crash_is_counted_and_the_rest_still_runs),
        cmocka_unit_test(a_crash_in_a_second_run_is_one_of_them),
        cmocka_unit_test(a_run_without_a_sign_of_life_is_a_spin),
        cmocka_unit_test(workers_change_nothing),
        cmocka_unit_test(shards_add_up_to_the_whole),
        cmocka_unit_test(what_was_interrupted_goes_on),
        cmocka_unit_test(it_finds_every_start_up_crash_of_the_quarry),
        cmocka_unit_test(cjaccl_keeps_every_promise),
        cmocka_unit_test(polls_that_found_nothing_are_no_points),
        cmocka_unit_test(the_second_fault_comes_second),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sim_shutdown();
    return failed;
}
