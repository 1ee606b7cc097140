/*
 * An installed libjaccl does in the simulator what its model does; without one
 * the command says why. Skipped, with that reason, where there is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/fiber.h"
#include "sim/run.h"

static struct sim_result result;
static char trace[1 << 20];
static size_t traced;

static void note(void *context, int rank, const char *line)
{
    (void)context;
    (void)rank;
    traced +=
        (size_t)snprintf(trace + traced, sizeof trace - traced, "%s\n", line);
    assert_true(traced < sizeof trace);
}

static void run(const char *text)
{
    static struct scn scenario;
    struct sim_options options = {.subject = sim_subject_by_name("native"),
                                  .trace = note};
    struct scn_error error;
    if (!options.subject) {
        print_message("skipped: no libjaccl was found (JACCL_ROOT)\n");
        skip();
    }
    traced = 0;
    if (scn_parse(&scenario, text, strlen(text), &error) != 0 ||
        sim_run(&scenario, &options, &result, &error) != 0)
        fail_msg("%s\n%s", error.message, text);
}

static void expect(const char *text, enum scn_outcome outcome,
                   const char *title)
{
    run(text);
    if (result.outcome != outcome || strcmp(result.title, title) != 0)
        fail_msg("%s: %s: %s\n%s", scn_outcome_name(result.outcome),
                 result.title, result.rank[result.worst].message, text);
}

static void a_missing_library_has_a_reason(void **state)
{
    const char *why = sim_subject_left_out("native");
    (void)state;
    assert_true((why == NULL) == (sim_subject_by_name("native") != NULL));
    if (!why)
        return;
    assert_true(strlen(why) > 0 && !strchr(why, '\n'));
    print_message("native is left out: %s\n", why);
}

static void sums_of_every_type_are_exact(void **state)
{
    char text[256];
    (void)state;
    for (int type = 0; type < SCN_TYPE_COUNT; type++)
        for (int ranks = 2; ranks <= 8; ranks += 3) {
            snprintf(text, sizeof text,
                     "ranks %d mesh\nrun init\nrun all_sum %s 1\n"
                     "run all_sum %s 1025\nrun all_sum %s 9000\n"
                     "run barrier\n",
                     ranks, scn_type_name((enum scn_type)type),
                     scn_type_name((enum scn_type)type),
                     scn_type_name((enum scn_type)type));
            expect(text, SCN_READY, "");
        }
}

/* Not all revisions have all of them; those that they have are right. */
static void operations_over_a_mesh_are_exact(void **state)
{
    static const char *const operations[] = {
        "all_max int16 %d", "all_min float64 %d", "all_gather int32 %d",
        "send bfloat16 %d 1 0", "sum_scatter float32 %d"};
    static const int counts[] = {1, 1025, 40000};
    char text[256];
    (void)state;
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
            int length = snprintf(text, sizeof text,
                                  "ranks 3 mesh\norder %zu\nrun init\nrun ", k);
            length += snprintf(text + length, sizeof text - (size_t)length,
                               operations[i], counts[k]);
            snprintf(text + length, sizeof text - (size_t)length, "\n");
            run(text);
            if (strstr(result.rank[0].message, "this revision has no"))
                assert_int_equal(result.outcome, SCN_ERROR);
            else if (result.outcome != SCN_READY)
                fail_msg("%s: %s\n%s", result.title,
                         result.rank[result.worst].message, text);
        }
}

/* Wires beside the first one run on threads. */
static void rings_of_several_wires_work(void **state)
{
    char text[128];
    (void)state;
    for (int ranks = 2; ranks <= 4; ranks++)
        for (int wires = 1; wires <= 4; wires++) {
            snprintf(text, sizeof text,
                     "ranks %d ring %d\nrun init\nrun all_sum int32 3\n"
                     "run all_sum int32 60000\n",
                     ranks, wires);
            expect(text, SCN_READY, "");
        }
}

static void a_refused_region_ends_in_the_reported_crash(void **state)
{
    char text[96];
    (void)state;
    for (int rank = 0; rank < 2; rank++)
        for (int k = 1; k <= 64; k++) {
            snprintf(text, sizeof text,
                     "fault %d reg_mr %d null ENOMEM\nrun init\n", rank, k);
            expect(text, SCN_CRASH, "null-mr in dereg_mr");
            assert_int_equal(result.worst, rank);
        }
}

/* One rank's exception is in flight while the others run and throw too. */
static void exceptions_of_ranks_do_not_mix(void **state)
{
    char text[512] = "ranks 8 mesh\n";
    int length = (int)strlen(text);
    (void)state;
    for (int i = 0; i < 8; i++)
        length += snprintf(text + length, sizeof text - (size_t)length,
                           "fault %d alloc_pd 1 null ENOMEM\n", i);
    snprintf(text + length, sizeof text - (size_t)length, "run init\n");
    expect(text, SCN_ERROR, "error in init");
    for (int i = 0; i < 8; i++)
        assert_non_null(strstr(result.rank[i].message, "protection domain"));
    expect("ranks 4 mesh\nfault 2 create_cq 3 null ENOMEM\norder 5\n"
           "run init\nrun init\nrun all_sum float32 9\n",
           SCN_ERROR, "error in init");
    assert_non_null(strstr(result.rank[2].message, "completion queue"));
    assert_non_null(strstr(result.rank[0].message, "failed"));
}

/* Rank 1 loads its library after rank 0 found none, and before rank 0 uses what
 * it found. The crash is a real one, so it needs a process. */
static void each_rank_has_a_library_of_its_own(void **state)
{
    static const char text[] = "library 0 absent\nrun init\n";
    static struct scn scenario;
    struct sim_options options = {.subject = sim_subject_by_name("native")};
    struct scn_error error;
    (void)state;
    if (!options.subject) {
        print_message("skipped: no libjaccl was found (JACCL_ROOT)\n");
        skip();
    }
    assert_int_equal(scn_parse(&scenario, text, strlen(text), &error), 0);
    assert_int_equal(sim_run_isolated(&scenario, &options, 20, &result, &error),
                     0);
    assert_int_equal(result.outcome, SCN_CRASH);
    assert_int_equal(result.worst, 0);
    expect("run init\nrun all_sum float32 4\n", SCN_READY, "");
}

static void a_sleep_takes_no_time(void **state)
{
    (void)state;
    /* Nobody listens: four tries, 15 s of waiting. */
    expect("coordinator 1 10.0.0.1:9001\nrun init\n", SCN_HANG,
           "waits for a connection");
    assert_non_null(strstr(result.rank[1].message, "connect"));
}

static void the_same_run_makes_the_same_calls(void **state)
{
    static const char text[] = "ranks 3 ring 2\norder 7\n"
                               "fault 1 modify_qp 3 errno EINVAL\nrun init\n"
                               "run init\nrun all_sum float32 50000\n";
    static char first[sizeof trace];
    (void)state;
    run(text);
    memcpy(first, trace, traced + 1);
    run("ranks 2 mesh\nfault 0 reg_mr 7 null ENOMEM\nrun init\n");
    run(text);
    assert_string_equal(trace, first);
}

/* The model of its revision is found by what it calls. */
static void the_model_makes_the_same_calls(void **state)
{
    static const char *const models[] = {"legacy-2026-04", "legacy-2026-08-04",
                                         "legacy-2026-08-22"};
    static const char text[] = "run init\nrun all_sum float32 1024\n";
    static char native[sizeof trace];
    struct sim_options options = {.trace = note};
    static struct scn scenario;
    struct scn_error error;
    int same = 0;
    (void)state;
    run(text);
    memcpy(native, trace, traced + 1);
    assert_int_equal(scn_parse(&scenario, text, strlen(text), &error), 0);
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        options.subject = sim_subject_by_name(models[i]);
        traced = 0;
        assert_int_equal(sim_run(&scenario, &options, &result, &error), 0);
        same += strcmp(trace, native) == 0;
    }
    if (same == 0)
        print_message("no model is of the installed revision\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_library_has_a_reason),
        cmocka_unit_test(sums_of_every_type_are_exact),
        cmocka_unit_test(operations_over_a_mesh_are_exact),
        cmocka_unit_test(rings_of_several_wires_work),
        cmocka_unit_test(a_refused_region_ends_in_the_reported_crash),
        cmocka_unit_test(exceptions_of_ranks_do_not_mix),
        cmocka_unit_test(each_rank_has_a_library_of_its_own),
        cmocka_unit_test(a_sleep_takes_no_time),
        cmocka_unit_test(the_same_run_makes_the_same_calls),
        cmocka_unit_test(the_model_makes_the_same_calls),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    sim_shutdown();
    return failed;
}
