/*
 * The legacy subjects keep JACCL's behaviour: its calls, their order and
 * number, its results where nothing is wrong, and what becomes of it where
 * something is. Every expectation is a fact measured on the real library.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/run.h"
#include "sim/subjects/subjects.h"

#define REVISIONS 3
static const struct sim_subject *const revisions[REVISIONS] = {
    &sim_subject_legacy_2026_04,
    &sim_subject_legacy_2026_08_04,
    &sim_subject_legacy_2026_08_22,
};
#define ALL 7 /* sets of revisions, as bits */
#define BEFORE_FIXES 3
#define APRIL 1
#define FROM_AUGUST 6
#define FIXES 4

/* What the last run made of its scenario. */
static struct sim_result result;
static unsigned counts[SCN_RANKS_MAX][VF_VERB_COUNT];
/* The verbs of rank 0 in order, repetitions as "verb*n". */
static char order[4096];
static char last_verb[32];
static unsigned last_count;

static void order_flush(void)
{
    size_t used = strlen(order);
    if (last_count > 1)
        snprintf(order + used, sizeof order - used, "%s*%u ", last_verb,
                 last_count);
    else if (last_count == 1)
        snprintf(order + used, sizeof order - used, "%s ", last_verb);
    last_count = 0;
}

static void note_order(const char *verb)
{
    if (strcmp(verb, last_verb) != 0) {
        order_flush();
        snprintf(last_verb, sizeof last_verb, "%s", verb);
    }
    last_count++;
}

/* "r0 #17 reg_mr(...) = ..." */
static void trace(void *context, int rank, const char *line)
{
    char verb[32] = "";
    (void)context;
    if (sscanf(line, "r%*d #%*u %31[a-z_]", verb) != 1)
        return;
    enum vf_verb number = vf_verb_by_name(verb);
    if (number == VF_VERB_COUNT)
        return;
    counts[rank][number]++;
    if (rank == 0)
        note_order(verb);
}

static void run(int revision, const char *text)
{
    struct scn_error error;
    static struct scn scenario;
    struct sim_options options;
    memset(&options, 0, sizeof options);
    options.subject = revisions[revision];
    options.trace = trace;
    memset(counts, 0, sizeof counts);
    order[0] = last_verb[0] = '\0';
    last_count = 0;
    if (scn_parse(&scenario, text, strlen(text), &error) != 0)
        fail_msg("%d:%d: %s\n%s", error.line, error.column, error.message,
                 text);
    if (sim_run(&scenario, &options, &result, &error) != 0)
        fail_msg("%s\n%s", error.message, text);
    order_flush();
}

static unsigned calls(int rank, const char *verb)
{
    return counts[rank][vf_verb_by_name(verb)];
}

static void print_ranks(int revision, const char *text)
{
    print_message("%s:\n%s", revisions[revision]->name, text);
    for (int i = 0; i < result.ranks; i++)
        print_message("  rank %d: %s \"%s\": %s\n", i,
                      scn_outcome_name(result.rank[i].outcome),
                      result.rank[i].title, result.rank[i].message);
}

/* The rank ends so at each of the revisions; title NULL: any. */
static void expect(int set, const char *text, int rank,
                   enum scn_outcome outcome, const char *title)
{
    for (int i = 0; i < REVISIONS; i++) {
        if (!(set >> i & 1))
            continue;
        run(i, text);
        const struct sim_rank_result *got = &result.rank[rank];
        if (got->outcome == outcome &&
            (!title || strcmp(got->title, title) == 0))
            continue;
        print_ranks(i, text);
        fail_msg("rank %d should be %s \"%s\"", rank, scn_outcome_name(outcome),
                 title ? title : "");
    }
}

static void expect_ready(int set, const char *text)
{
    for (int i = 0; i < REVISIONS; i++) {
        if (!(set >> i & 1))
            continue;
        run(i, text);
        if (result.outcome == SCN_READY)
            continue;
        print_ranks(i, text);
        fail_msg("should be ready");
    }
}

/* ---- calls ----------------------------------------------------------------
 */

static void expect_call_counts(int rank, unsigned lists, unsigned connections,
                               unsigned regions)
{
    assert_int_equal(calls(rank, "get_device_list"), lists);
    assert_int_equal(calls(rank, "free_device_list"), lists);
    assert_int_equal(calls(rank, "open_device"), connections);
    assert_int_equal(calls(rank, "alloc_pd"), connections);
    assert_int_equal(calls(rank, "create_cq"), connections);
    assert_int_equal(calls(rank, "create_qp"), connections);
    assert_int_equal(calls(rank, "modify_qp"), 3 * connections);
    assert_int_equal(calls(rank, "query_port"), connections);
    assert_int_equal(calls(rank, "query_gid"), 2 * connections);
    assert_int_equal(calls(rank, "reg_mr"), regions);
    assert_int_equal(calls(rank, "dereg_mr"), regions);
    assert_int_equal(calls(rank, "destroy_qp"), connections);
    assert_int_equal(calls(rank, "destroy_cq"), connections);
    assert_int_equal(calls(rank, "dealloc_pd"), connections);
    assert_int_equal(calls(rank, "close_device"), connections);
    assert_int_equal(calls(rank, "post_send"), 0);
}

static void mesh_makes_the_calls_of_its_table(void **state)
{
    char text[64];
    (void)state;
    for (unsigned ranks = 2; ranks <= 4; ranks++) {
        snprintf(text, sizeof text, "ranks %u mesh\nrun init\n", ranks);
        for (int i = 0; i < REVISIONS; i++) {
            unsigned peers = ranks - 1;
            run(i, text);
            assert_int_equal(result.outcome, SCN_READY);
            for (unsigned k = 0; k < ranks; k++)
                expect_call_counts((int)k, 1, peers,
                                   i == 2 ? 64 * peers : 32 * peers + 64);
        }
    }
}

static void ring_makes_the_calls_of_its_table(void **state)
{
    char text[64];
    (void)state;
    for (unsigned ranks = 2; ranks <= 3; ranks++) {
        for (unsigned wires = 1; wires <= 2; wires++) {
            snprintf(text, sizeof text, "ranks %u ring %u\nrun init\n", ranks,
                     wires);
            for (int i = 0; i < REVISIONS; i++) {
                run(i, text);
                assert_int_equal(result.outcome, SCN_READY);
                for (unsigned k = 0; k < ranks; k++)
                    expect_call_counts((int)k, 2, 2 * wires, 64 * wires);
            }
        }
    }
}

static void mesh_makes_its_calls_in_order(void **state)
{
    static const char text[] = "ranks 2 mesh\nrun init\n";
    static const char *const expected[REVISIONS] = {"96", "96", "64"};
    char line[512];
    (void)state;
    for (int i = 0; i < REVISIONS; i++) {
        run(i, text);
        snprintf(line, sizeof line,
                 "get_device_list get_device_name open_device "
                 "free_device_list alloc_pd create_cq create_qp reg_mr*%s "
                 "modify_qp query_port query_gid*2 modify_qp*2 dereg_mr*%s "
                 "destroy_qp destroy_cq dealloc_pd close_device ",
                 expected[i], expected[i]);
        assert_string_equal(order, line);
    }
}

static void ring_makes_its_calls_in_order(void **state)
{
    (void)state;
    for (int i = 0; i < REVISIONS; i++) {
        run(i, "ranks 2 ring 1\nrun init\n");
        assert_string_equal(
            order, "get_device_list get_device_name open_device "
                   "free_device_list get_device_list get_device_name "
                   "open_device free_device_list alloc_pd create_cq create_qp "
                   "alloc_pd create_cq create_qp reg_mr*64 modify_qp*2 "
                   "query_port query_gid*2 query_port query_gid*2 modify_qp*4 "
                   "dereg_mr*64 destroy_qp destroy_cq dealloc_pd close_device "
                   "destroy_qp destroy_cq dealloc_pd close_device ");
    }
}

/* ---- data -----------------------------------------------------------------
 */

/* -1 ends it. */
static const int sizes[] = {0,     1,     4,     1024,   4092,    4095,
                            4096,  4097,  4100,  8192,   32768,   32772,
                            40960, 65536, 65540, 100000, 1 << 20, -1};

static void expect_sums(const char *topology, const char *type, int item,
                        bool empty)
{
    char text[160];
    for (int i = 0; sizes[i] >= 0; i++) {
        int count = sizes[i] / item;
        if (count == 0 && (!empty || sizes[i] != 0))
            continue;
        snprintf(text, sizeof text,
                 "ranks %s\nrun init\nrun all_sum %s %d\nrun barrier\n"
                 "run all_sum %s %d\nrun finalize\n",
                 topology, type, count, type, count);
        expect_ready(ALL, text);
    }
}

static void mesh_sums_are_exact(void **state)
{
    (void)state;
    expect_sums("2 mesh", "uint8", 1, true);
    expect_sums("3 mesh", "uint8", 1, true);
    expect_sums("4 mesh", "uint8", 1, true);
    expect_sums("2 mesh", "float32", 4, true);
    expect_sums("3 mesh", "float32", 4, true);
    expect_sums("4 mesh", "float32", 4, true);
}

static void ring_sums_are_exact(void **state)
{
    (void)state;
    expect_sums("2 ring 1", "uint8", 1, false);
    expect_sums("2 ring 2", "uint8", 1, false);
    expect_sums("3 ring 1", "uint8", 1, false);
    expect_sums("3 ring 2", "uint8", 1, false);
    expect_sums("2 ring 2", "float32", 4, false);
    expect_sums("3 ring 2", "float32", 4, false);
    expect_sums("4 ring 4", "float32", 4, false);
}

static void sums_of_every_type_are_exact(void **state)
{
    static const char *const topologies[] = {"2 mesh", "3 mesh", "3 ring 2"};
    char text[128];
    (void)state;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < SCN_TYPE_COUNT; k++) {
            snprintf(text, sizeof text,
                     "ranks %s\nrun init\n"
                     "run all_sum %s 10001\n",
                     topologies[i], scn_type_name((enum scn_type)k));
            expect_ready(ALL, text);
        }
    }
}

static void a_mesh_with_a_ring_in_it_sums_large_messages(void **state)
{
    (void)state;
    expect_ready(BEFORE_FIXES, "ranks 3 mesh\nrun init\n"
                               "run all_sum bfloat16 262145\n");
    expect_ready(BEFORE_FIXES, "ranks 4 mesh\nrun init\n"
                               "run all_sum float32 2097153\n");
}

static void any_order_of_steps_gives_exact_sums(void **state)
{
    static const char *const topologies[] = {"2 mesh", "3 mesh", "3 ring 2"};
    char text[160];
    (void)state;
    /* The April revision refills its staging memory too early. */
    for (int i = 0; i < 3; i++) {
        for (int seed = 1; seed <= 5; seed++) {
            snprintf(text, sizeof text,
                     "ranks %s\norder %d\nrun init\nrun all_sum int32 20000\n"
                     "run barrier\n",
                     topologies[i], seed);
            expect_ready(FROM_AUGUST, text);
        }
    }
}

static void an_empty_sum_over_a_ring_divides_by_zero(void **state)
{
    (void)state;
    expect(ALL, "ranks 2 ring 1\nrun init\nrun all_sum float32 0\n", 0,
           SCN_CRASH, "division by zero in ring");
}

/* ---- failures at start-up ---------------------------------------------------
 */

static void expect_reg_mr_crashes(int set, const char *topology, int count)
{
    char text[96];
    for (int nth = 1; nth <= count; nth++) {
        snprintf(text, sizeof text,
                 "ranks %s\nfault 0 reg_mr %d null ENOMEM\nrun init\n",
                 topology, nth);
        expect(set, text, 0, SCN_CRASH, "null-mr in dereg_mr");
    }
}

static void a_region_that_fails_is_released_as_null(void **state)
{
    (void)state;
    expect_reg_mr_crashes(BEFORE_FIXES, "2 mesh", 96);
    expect_reg_mr_crashes(FIXES, "2 mesh", 64);
    expect_reg_mr_crashes(ALL, "2 ring 1", 64);
}

static void a_second_group_runs_into_the_region_limit(void **state)
{
    (void)state;
    for (int i = 0; i < REVISIONS; i++) {
        run(i, "device * rdma_en2 max_mr=100\nrun init\nrun init\n");
        assert_int_equal(result.rank[0].outcome, SCN_CRASH);
        assert_string_equal(result.rank[0].title, "null-mr in dereg_mr");
        /* The 37th of the second group, or the 5th. */
        assert_int_equal(calls(0, "reg_mr"), 101);
    }
}

static void an_empty_name_has_no_domain(void **state)
{
    (void)state;
    expect(ALL, "cell * 0 1 \"\"\nrun init\n", 0, SCN_CRASH,
           "null-pd in reg_mr");
    expect(ALL, "cell * 1 0 \"\"\nrun init\n", 1, SCN_CRASH,
           "null-pd in reg_mr");
    expect(ALL, "ranks 2 ring 1\ncell * 0 1 \"\"\nrun init\n", 0, SCN_CRASH,
           "null-context in alloc_pd");
}

static void a_missing_device_makes_the_vector_short(void **state)
{
    (void)state;
    expect(BEFORE_FIXES, "cell * 0 1 rdma_en9\nrun init\n", 0, SCN_CRASH,
           "read past connections in mesh");
    expect(BEFORE_FIXES, "cell * 1 0 rdma_en9\nrun init\n", 1, SCN_CRASH,
           "null-pd in reg_mr");
    expect(BEFORE_FIXES, "nodevices 0\nrun init\n", 0, SCN_CRASH,
           "read past connections in mesh");
    expect(BEFORE_FIXES, "ranks 2 ring 1\ncell * 0 1 rdma_en9\nrun init\n", 0,
           SCN_CRASH, "index of empty connections in ring");
    expect(BEFORE_FIXES,
           "ranks 2 ring 2\ncell * 0 1 rdma_en2 rdma_en9\nrun init\n", 0,
           SCN_CRASH, "read past connections in ring");
}

static void a_missing_device_leaks_the_list_once_it_throws(void **state)
{
    (void)state;
    expect(FIXES, "cell * 0 1 rdma_en9\nrun init\n", 0, SCN_LEAK,
           "leak of device-list");
    expect(FIXES, "ranks 2 ring 1\ncell * 0 1 rdma_en9\nrun init\n", 0,
           SCN_LEAK, "leak of device-list");
    expect(ALL, "fault 0 open_device 1 null ENODEV\nrun init\n", 0, SCN_LEAK,
           "leak of device-list");
}

static void a_null_device_list_is_freed(void **state)
{
    (void)state;
    expect(BEFORE_FIXES, "nodevices 0 ENOSYS\nrun init\n", 0, SCN_CRASH,
           "null-device-list in free_device_list");
    expect(FIXES, "nodevices 0 ENOSYS\nrun init\n", 0, SCN_ERROR, NULL);
}

static void a_null_device_name_is_compared(void **state)
{
    (void)state;
    expect(ALL, "fault 0 get_device_name 1 null ENOENT\nrun init\n", 0,
           SCN_CRASH, "compare with NULL name in device search");
}

static void these_failures_are_clean_exceptions(void **state)
{
    static const char *const faults[] = {
        "alloc_pd 1 null ENOMEM",      "create_cq 1 null ENOMEM",
        "create_qp 1 null EBUSY",      "modify_qp 1 errno EINVAL",
        "modify_qp 2 errno ETIMEDOUT", "modify_qp 3 errno EBUSY"};
    char text[96];
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        snprintf(text, sizeof text, "fault 0 %s\nrun init\n", faults[i]);
        expect(ALL, text, 0, SCN_ERROR, "error in init");
        snprintf(text, sizeof text, "ranks 2 ring 2\nfault 0 %s\nrun init\n",
                 faults[i]);
        expect(ALL, text, 0, SCN_ERROR, "error in init");
    }
    run(2, "fault 0 create_qp 1 null EBUSY\nrun init\n");
    assert_non_null(strstr(result.rank[0].message, "(16)"));
    run(0, "fault 0 modify_qp 2 errno 60\nrun init\n");
    assert_non_null(strstr(result.rank[0].message, "60"));
}

static void a_failed_port_query_is_not_noticed(void **state)
{
    static const char text[] =
        "profile ideal\nfault 0 query_port 1 errno EIO\nrun init\n";
    (void)state;
    /* What is not there to be noticed until the GID is looked for. */
    expect(FIXES, text, 0, SCN_ERROR, "error in init");
    for (int i = 0; i < 2; i++) {
        run(i, text);
        assert_int_equal(result.outcome, SCN_READY);
        assert_int_equal(calls(0, "query_gid"), 2);
        assert_int_equal(calls(0, "modify_qp"), 3);
    }
}

static void a_missing_gid_is_rubbish_before_it_throws(void **state)
{
    static const char text[] = "device 0 rdma_en2 ipv4=no\nrun init\n";
    (void)state;
    expect(FIXES, text, 0, SCN_ERROR, "error in init");
    for (int i = 0; i < 2; i++) {
        run(i, text);
        assert_true(calls(0, "query_gid") >= 2);
        assert_true(calls(0, "modify_qp") >= 2);
    }
}

static void failed_releases_are_ignored(void **state)
{
    static const char *const verbs[] = {"dereg_mr", "destroy_qp", "destroy_cq",
                                        "dealloc_pd", "close_device"};
    char text[96];
    (void)state;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        snprintf(text, sizeof text, "fault 0 %s 1 errno EBUSY\nrun init\n",
                 verbs[i]);
        for (int k = 0; k < REVISIONS; k++) {
            run(k, text);
            /* Nobody is told, nothing is tried again, the rest goes on. */
            assert_true(result.rank[0].outcome != SCN_ERROR);
            assert_true(result.rank[0].outcome != SCN_CRASH);
            assert_int_equal(calls(0, "dereg_mr"), calls(0, "reg_mr"));
            assert_int_equal(calls(0, "destroy_qp"), 1);
            assert_int_equal(calls(0, "destroy_cq"), 1);
            assert_int_equal(calls(0, "dealloc_pd"), 1);
            assert_int_equal(calls(0, "close_device"), 1);
            assert_int_equal(result.rank[1].outcome, SCN_READY);
        }
    }
}

static void an_absent_library_is_called_through_null(void **state)
{
    (void)state;
    expect(ALL, "library 0 absent\nrun init\n", 0, SCN_CRASH,
           "call through NULL ibv_get_device_list");
    expect(ALL, "library 0 without ibv_dereg_mr\nrun init\n", 0, SCN_CRASH,
           "call through NULL ibv_dereg_mr");
    /* What is looked up after the missing symbol is NULL with it. */
    expect(ALL, "library 0 without ibv_query_gid\nrun init\n", 0, SCN_CRASH,
           "call through NULL ibv_reg_mr");
}

static void failed_memory_is_registered_as_null(void **state)
{
    (void)state;
    /* The group itself is the first allocation. */
    expect(ALL, "fault 0 alloc 1 null ENOMEM\nrun init\n", 0, SCN_ERROR,
           "error in init");
    for (int i = 0; i < REVISIONS; i++) {
        run(i, "fault 0 alloc 2 null ENOMEM\nrun init\n");
        assert_true(calls(0, "reg_mr") > 0);
        assert_true(result.rank[0].outcome >= SCN_VIOLATION);
    }
}

/* ---- the side channel -------------------------------------------------------
 */

static void ranks_out_of_range_are_swapped(void **state)
{
    (void)state;
    expect(ALL, "peer 1 sends 63000000\nrun init\n", 0, SCN_CRASH,
           "swap past sockets in side channel");
    expect(ALL, "peer 1 sends 00000000\nrun init\n", 0, SCN_CRASH,
           "swap past sockets in side channel");
    expect(ALL, "peer 1 sends ffffffff\nrun init\n", 0, SCN_CRASH,
           "swap past sockets in side channel");
}

static void the_same_rank_twice_swaps_for_ever(void **state)
{
    (void)state;
    expect(ALL, "ranks 3 mesh\npeer 1 sends 02000000\nrun init\n", 0, SCN_SPIN,
           NULL);
}

static void lengths_are_believed(void **state)
{
    (void)state;
    /* 2 becomes 0xff000002: no vector at all, or one that throws. */
    expect(FROM_AUGUST, "channel 1 garble 7\nrun init\n", 0, SCN_CRASH,
           "index of empty infos in mesh");
    expect(APRIL, "channel 1 garble 7\nrun init\n", 0, SCN_ERROR, NULL);
    /* 253 elements: longer than needed. */
    expect_ready(ALL, "channel 1 garble 4\nrun init\n");
}

static void ranks_that_disagree_read_past_infos(void **state)
{
    (void)state;
    expect(ALL,
           "ranks 2 ring 1\n"
           "device 1 rdma_en2\ndevice 1 rdma_en3\n"
           "cell 1 1 0 rdma_en2 rdma_en3\ncell 1 0 1 rdma_en2 rdma_en3\n"
           "run init\n",
           1, SCN_CRASH, "read past infos in ring");
    /* Rank 1's file is no ring, but a mesh. */
    expect(ALL,
           "ranks 2 ring 1\n"
           "cell 1 0 1 rdma_en2 rdma_en3\nrun init\n",
           1, SCN_CRASH, "read past infos in mesh");
}

static void files_of_different_sizes_do_not_end_well(void **state)
{
    (void)state;
    /* The third rank has no row: seen from August on. */
    expect(APRIL, "ranks 3 mesh\nrows 2 2\nrun init\n", 2, SCN_CRASH,
           "read past rows in device file");
    expect(FROM_AUGUST, "ranks 3 mesh\nrows 2 2\nrun init\n", 2, SCN_ERROR,
           NULL);
}

static void silence_is_waited_for(void **state)
{
    (void)state;
    expect(ALL, "channel 1 silent 8\nrun init\n", 0, SCN_HANG, NULL);
    expect(ALL, "ranks 2 mesh\nstray\nrun init\n", 0, SCN_HANG, NULL);
}

static void a_closed_channel_is_an_exception(void **state)
{
    char text[64];
    (void)state;
    for (int bytes = 0; bytes <= 80; bytes += 4) {
        snprintf(text, sizeof text, "channel 1 close %d\nrun init\n", bytes);
        for (int i = 0; i < REVISIONS; i++) {
            run(i, text);
            assert_int_equal(result.outcome, SCN_ERROR);
        }
    }
}

static void bad_coordinators_are_exceptions(void **state)
{
    static const char *const addresses[] = {
        "[::1]:9000", "host:port", "10.0.0.1", "10.0.0.1:70000", "a:b:c"};
    char text[96];
    (void)state;
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        snprintf(text, sizeof text, "coordinator 0 %s\nrun init\n",
                 addresses[i]);
        expect(ALL, text, 0, SCN_ERROR, "error in init");
        expect(ALL, text, 1, SCN_ERROR, "error in init");
    }
}

/* ---- collectives
 * -------------------------------------------------------------- */

static void poll_of_minus_one_is_added_up(void **state)
{
    (void)state;
    expect(ALL,
           "fault 0 poll_cq 1+ return -1\nrun init\n"
           "run all_sum float32 1024\n",
           0, SCN_SPIN, NULL);
    expect(ALL,
           "ranks 3 mesh\nfault 0 poll_cq 1+ return -1\nrun init\n"
           "run all_sum float32 1024\n",
           0, SCN_SPIN, NULL);
    expect(ALL,
           "ranks 2 mesh\nfault 0 poll_cq 1 return 40\nrun init\n"
           "run all_sum float32 1024\n",
           0, SCN_CRASH, "read past completions in poll");
}

static void a_poll_after_minus_one_writes_before_the_array(void **state)
{
    (void)state;
    /* Rank 2 comes last and finds both its queues filled. */
    expect(ALL,
           "ranks 3 mesh\nfault 2 poll_cq 1 return -1\nrun init\n"
           "run all_sum float32 1024\n",
           2, SCN_CRASH, "write before completions in poll");
}

static void a_post_that_fails_hangs_the_others(void **state)
{
    static const char sum[] = "run init\nrun all_sum float32 16\n";
    char text[128];
    (void)state;
    snprintf(text, sizeof text, "fault 0 post_recv 1 errno ENOMEM\n%s", sum);
    expect(ALL, text, 0, SCN_ERROR, "error in all_sum");
    expect(ALL, text, 1, SCN_HANG, NULL);
    /* Its receive is still posted when its memory is released. */
    snprintf(text, sizeof text, "fault 0 post_send 1 errno ENOMEM\n%s", sum);
    expect(ALL, text, 0, SCN_VIOLATION, "mr-released-while-posted in dereg_mr");
    expect(ALL, text, 1, SCN_HANG, NULL);
}

static void a_failed_completion_is_taken_for_success(void **state)
{
    static const char text[] =
        "fault 0 completion 1 status LOC_LEN_ERR\nrun init\n"
        "run all_sum float32 16\n";
    (void)state;
    for (int i = 0; i < REVISIONS; i++) {
        run(i, text);
        assert_true(result.rank[0].outcome != SCN_ERROR);
    }
}

static void an_exception_of_a_pooled_wire_is_lost(void **state)
{
    /* The first large post is wire 0's: its thread throws, nobody hears. */
    static const char text[] = "ranks 2 ring 2\n"
                               "fault 0 post_recv 1 errno ENOMEM\n"
                               "run init\nrun all_sum float32 65536\n";
    (void)state;
    for (int i = 1; i < REVISIONS; i++) {
        run(i, text);
        assert_true(result.rank[0].outcome != SCN_ERROR);
        assert_true(result.outcome > SCN_ERROR);
    }
    run(0, text);
    assert_non_null(strstr(result.rank[0].message, "posted"));
}

static void a_ring_of_no_wires_starts_and_then_faults(void **state)
{
    static const char start[] = "ranks 2 ring 1\ncell * 0 1\ncell * 1 0\n"
                                "run init\n";
    char text[128];
    (void)state;
    expect_ready(ALL, start);
    snprintf(text, sizeof text, "%srun all_sum float32 16\n", start);
    expect(ALL, text, 0, SCN_CRASH, "index of empty connections in ring");
    snprintf(text, sizeof text, "%srun all_sum float32 65536\n", start);
    expect(ALL, text, 0, SCN_CRASH, "division by zero in ring");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mesh_makes_the_calls_of_its_table),
        cmocka_unit_test(ring_makes_the_calls_of_its_table),
        cmocka_unit_test(mesh_makes_its_calls_in_order),
        cmocka_unit_test(ring_makes_its_calls_in_order),
        cmocka_unit_test(mesh_sums_are_exact),
        cmocka_unit_test(ring_sums_are_exact),
        cmocka_unit_test(sums_of_every_type_are_exact),
        cmocka_unit_test(a_mesh_with_a_ring_in_it_sums_large_messages),
        cmocka_unit_test(any_order_of_steps_gives_exact_sums),
        cmocka_unit_test(an_empty_sum_over_a_ring_divides_by_zero),
        cmocka_unit_test(a_region_that_fails_is_released_as_null),
        cmocka_unit_test(a_second_group_runs_into_the_region_limit),
        cmocka_unit_test(an_empty_name_has_no_domain),
        cmocka_unit_test(a_missing_device_makes_the_vector_short),
        cmocka_unit_test(a_missing_device_leaks_the_list_once_it_throws),
        cmocka_unit_test(a_null_device_list_is_freed),
        cmocka_unit_test(a_null_device_name_is_compared),
        cmocka_unit_test(these_failures_are_clean_exceptions),
        cmocka_unit_test(a_failed_port_query_is_not_noticed),
        cmocka_unit_test(a_missing_gid_is_rubbish_before_it_throws),
        cmocka_unit_test(failed_releases_are_ignored),
        cmocka_unit_test(an_absent_library_is_called_through_null),
        cmocka_unit_test(failed_memory_is_registered_as_null),
        cmocka_unit_test(ranks_out_of_range_are_swapped),
        cmocka_unit_test(the_same_rank_twice_swaps_for_ever),
        cmocka_unit_test(lengths_are_believed),
        cmocka_unit_test(ranks_that_disagree_read_past_infos),
        cmocka_unit_test(files_of_different_sizes_do_not_end_well),
        cmocka_unit_test(silence_is_waited_for),
        cmocka_unit_test(a_closed_channel_is_an_exception),
        cmocka_unit_test(bad_coordinators_are_exceptions),
        cmocka_unit_test(poll_of_minus_one_is_added_up),
        cmocka_unit_test(a_poll_after_minus_one_writes_before_the_array),
        cmocka_unit_test(a_post_that_fails_hangs_the_others),
        cmocka_unit_test(a_failed_completion_is_taken_for_success),
        cmocka_unit_test(an_exception_of_a_pooled_wire_is_lost),
        cmocka_unit_test(a_ring_of_no_wires_starts_and_then_faults),
    };
    int status = cmocka_run_group_tests(tests, NULL, NULL);
    sim_shutdown();
    return status;
}
