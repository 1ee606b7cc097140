/*
 * The reported cases, whole kinds and not only their numbers: every call that
 * can fail is failed, every byte of the side channel is the last one, and each
 * time the quarry does what was reported and cjaccl what it promises.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cases_support.h"

static const struct {
    const char *name;
    int regions;
} revisions[] = {{"legacy-2026-04", 96},
                 {"legacy-2026-08-04", 96},
                 {"legacy-2026-08-22", 64}};

#define REVISIONS (sizeof revisions / sizeof revisions[0])

static void s1_a_null_region_at_every_call_crashes_the_quarry(void **state)
{
    char text[96];
    (void)state;
    for (size_t i = 0; i < REVISIONS; i++)
        for (int rank = 0; rank < 2; rank++)
            for (int k = 1; k <= revisions[i].regions + 1; k++) {
                bool reached = k <= revisions[i].regions;
                snprintf(text, sizeof text,
                         "fault %d reg_mr %d null ENOMEM\nrun init\n", rank, k);
                expect(revisions[i].name, text, reached ? SCN_CRASH : SCN_READY,
                       reached ? "null-mr in dereg_mr" : "");
                if (reached)
                    assert_int_equal(result.worst, rank);
            }
}

static void s1_the_ring_crashes_as_the_mesh_does(void **state)
{
    char text[96];
    (void)state;
    for (size_t i = 0; i < REVISIONS; i++)
        for (int k = 1; k <= 64; k++) {
            snprintf(text, sizeof text,
                     "ranks 2 ring\nfault 0 reg_mr %d null ENOMEM\nrun init\n",
                     k);
            expect(revisions[i].name, text, SCN_CRASH, "null-mr in dereg_mr");
        }
}

static void s1_cjaccl_names_device_count_and_limit(void **state)
{
    static const char text[] = "fault 0 reg_mr 1 null ENOMEM\nrun init\n";
    (void)state;
    cjaccl_says(text, 0, "rdma_en2");
    cjaccl_says(text, 0, "1 region");
    cjaccl_says(text, 0, "100");
    assert_true(result.recovered);
    expect("cjaccl", "fault 0 reg_mr 2+ null ENOMEM\nrun init\n", SCN_READY,
           "");
}

/* Every limit below what a group needs, on the device of every rank. */
static void s2_a_limit_below_the_need_crashes_at_the_call_past_it(void **state)
{
    char text[96];
    (void)state;
    for (size_t i = 0; i < REVISIONS; i++)
        for (int limit = 0; limit <= revisions[i].regions; limit += 4) {
            bool enough = limit >= revisions[i].regions;
            snprintf(text, sizeof text,
                     "device 0 rdma_en2 max_mr=%d\nrun init\n", limit);
            expect(revisions[i].name, text, enough ? SCN_READY : SCN_CRASH,
                   enough ? "" : "null-mr in dereg_mr");
            expect("cjaccl", text, limit ? SCN_READY : SCN_ERROR, NULL);
        }
}

static void s2_ten_groups_of_cjaccl_fit_where_jaccl_has_one(void **state)
{
    (void)state;
    /* Eight is what a scenario holds; ten queue pairs are the device's. */
    expect("cjaccl",
           "run init\nrun init\nrun init\nrun init\nrun init\nrun init\n"
           "run init\nrun init\nrun all_sum float32 64\n",
           SCN_READY, "");
}

static void s3_s5_the_message_names_what_is_wrong_in_the_file(void **state)
{
    (void)state;
    cjaccl_says("cell * 0 1 rdma_en3\nrun init\n", 0, "rdma_en3");
    cjaccl_says("cell * 0 1 rdma_en3\nrun init\n", 0, "rdma_en2");
    cjaccl_says("cell * 1 0 rdma_en9\nrun init\n", 1, "rdma_en9");
    cjaccl_says("nodevices 0\nrun init\n", 0, "no device");
    cjaccl_says("cell * 0 1 \"\"\nrun init\n", 0, "row 0");
    cjaccl_says("cell * 0 1 \"\"\nrun init\n", 0, "column 1");
}

static void s6_to_s12_the_message_says_what_to_do(void **state)
{
    (void)state;
    cjaccl_says("device 0 rdma_en2 port=down\nrun init\n", 0, "down");
    cjaccl_says("ranks 3 mesh\nfault 0 open_device 2 null EBUSY\nrun init\n", 0,
                "rdma_en3");
    cjaccl_says("device 0 rdma_en2 used_qp=10\nrun init\n", 0, "per device");
    cjaccl_says("library 0 absent\nrun init\n", 0, "library");
    cjaccl_says("library 0 without ibv_alloc_pd\nrun init\n", 0,
                "ibv_alloc_pd");
    cjaccl_says("device 0 rdma_en2 ipv4=no\nrun init\n", 0, "IPv4");
    cjaccl_says("fault 0 query_port 1 errno EIO\nrun init\n", 0, "port");
    cjaccl_says("fault 0 modify_qp 2 errno 22\nrun init\n", 0, "IPv4");
    cjaccl_says("fault 0 modify_qp 2 errno 60\nrun init\n", 0, "cable");
    cjaccl_says("fault 0 modify_qp 2 errno 16\nrun init\n", 0, "16");
    cjaccl_says("fault 0 modify_qp 2 errno 96\nrun init\n", 0, "96");
}

/* ---- S13: what is released before what ------------------------------------
 */

static char order[4096];

static void note_releases(void *context, int rank, const char *line)
{
    static const char *const verbs[] = {"destroy_qp", "dereg_mr", "destroy_cq",
                                        "dealloc_pd", "close_device"};
    (void)context;
    for (size_t i = 0; rank == 0 && i < sizeof verbs / sizeof verbs[0]; i++)
        if (strstr(line, verbs[i]))
            snprintf(order + strlen(order), sizeof order - strlen(order), "%s ",
                     verbs[i]);
}

static void s13_queue_pairs_go_first_then_regions_and_so_on(void **state)
{
    static const char text[] = "ranks 3 mesh\nfault 0 modify_qp 6 errno "
                               "EINVAL\nrun init\n";
    static struct scn scenario;
    struct sim_options options = {.subject = sim_subject_by_name("cjaccl"),
                                  .trace = note_releases};
    struct scn_error error;
    (void)state;
    order[0] = '\0';
    assert_int_equal(scn_parse(&scenario, text, strlen(text), &error), 0);
    assert_int_equal(sim_run(&scenario, &options, &result, &error), 0);
    assert_int_equal(result.outcome, SCN_ERROR);
    assert_string_equal(order, "destroy_qp destroy_qp dereg_mr dereg_mr "
                               "destroy_cq destroy_cq dealloc_pd dealloc_pd "
                               "close_device close_device ");
}

static void
s14_every_refused_release_is_reported_and_the_rest_goes(void **state)
{
    static const char *const verbs[] = {"destroy_qp", "dereg_mr", "destroy_cq",
                                        "dealloc_pd", "close_device"};
    char text[160];
    (void)state;
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        snprintf(text, sizeof text,
                 "fault 0 modify_qp 2 errno EINVAL\n"
                 "fault 0 %s 1 errno EBUSY\nrun init\n",
                 verbs[i]);
        cjaccl_says(text, 0, verbs[i]);
        /* and when nothing else is wrong, finalize says so */
        snprintf(text, sizeof text, "fault 0 %s 1 errno EBUSY\nrun init\n",
                 verbs[i]);
        cjaccl_says(text, 0, verbs[i]);
    }
}

/* Neither the region nor the device is given back: the memory has to stay. */
static void s14_memory_that_a_device_keeps_is_no_leak(void **state)
{
    (void)state;
    cjaccl_says("fault 0 close_device 1 errno EBUSY\n"
                "fault 0 dereg_mr 1 errno EBUSY\nrun init\n",
                0, "dereg_mr");
    assert_true(result.recovered);
}

static void s15_the_second_init_succeeds_after_any_first_failure(void **state)
{
    static const char *const faults[] = {
        "get_device_list 1 null ENOSYS", "open_device 1 null EIO",
        "alloc_pd 1 null ENOMEM",        "create_cq 1 null EINVAL",
        "create_qp 1 null EBUSY",        "reg_mr 1 null ENOMEM",
        "modify_qp 1 errno EINVAL",      "modify_qp 2 errno EINVAL",
        "modify_qp 3 errno EINVAL",      "query_port 1 errno EIO",
        "alloc 1 null ENOMEM",           "alloc 2 null ENOMEM"};
    char text[160];
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        for (int rank = 0; rank < 2; rank++) {
            snprintf(text, sizeof text,
                     "fault %d %s\nrun init\nrun init\n"
                     "run all_sum float32 1024\n",
                     rank, faults[i]);
            expect("cjaccl", text, SCN_ERROR, "error in init");
            assert_true(result.recovered);
        }
}

static void s16_every_allocation_that_fails_is_an_error(void **state)
{
    char text[96];
    (void)state;
    for (int rank = 0; rank < 2; rank++)
        for (int k = 1; k <= 3; k++) {
            snprintf(text, sizeof text,
                     "fault %d alloc %d null ENOMEM\nrun init\n", rank, k);
            expect("cjaccl", text, k <= 2 ? SCN_ERROR : SCN_READY, NULL);
        }
}

static void c1_c2_any_rank_but_the_right_one_is_named(void **state)
{
    char text[96];
    (void)state;
    for (int value = -3; value < 12; value++) {
        uint32_t bits = (uint32_t)value;
        if (value == 1)
            continue;
        snprintf(text, sizeof text, "peer 1 sends %02x%02x%02x%02x\nrun init\n",
                 bits & 255, bits >> 8 & 255, bits >> 16 & 255, bits >> 24);
        cjaccl_says(text, 0, "10.0.9.9");
        if (value != 0)
            expect("legacy-2026-08-22", text, SCN_CRASH,
                   "swap past sockets in side channel");
    }
    cjaccl_says("ranks 3 mesh\npeer 1 sends 02000000\nrun init\n", 0, "rank 2");
    expect("legacy-2026-08-22",
           "ranks 3 mesh\npeer 1 sends 02000000\nrun init\n", SCN_SPIN,
           "spin outside of verbs");
}

static void c3_any_length_but_the_right_one_is_an_error(void **state)
{
    static const char *const lengths[] = {"ffffffff", "00000000", "01000000",
                                          "03000000", "ffffff7f", "00000080"};
    char text[256];
    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        snprintf(text, sizeof text,
                 "peer 1 sends 01000000 %s 00000000 00000000\nrun init\n",
                 lengths[i]);
        expect("cjaccl", text, SCN_ERROR, "error in init");
    }
}

/* A two-rank start sends 80 bytes from rank 1; what rank 0 sends is longer. */
static void c4_a_peer_that_goes_after_any_byte_is_an_error(void **state)
{
    static const char *const ways[] = {"close", "silent"};
    char text[128];
    (void)state;
    for (size_t way = 0; way < 2; way++)
        for (int rank = 0; rank < 2; rank++)
            for (int n = 0; n < 80; n++) {
                snprintf(text, sizeof text, "channel %d %s %d\nrun init\n",
                         rank, ways[way], n);
                expect("cjaccl", text, SCN_ERROR, "error in init");
                assert_true(result.recovered);
            }
    cjaccl_says("channel 1 close 40\nrun init\n", 0, "rank 1 went away");
    cjaccl_says("channel 1 close 40\nrun init\n", 0, "exchange");
}

/* Of what rank 1 sends to start: its rank, a length, its list, and a digest;
 * the barrier after that carries nothing. Rank 0 sends each of them to all. */
static void c4_every_garbled_byte_of_a_start_is_an_error(void **state)
{
    static const char *const profiles[] = {"thunderbolt", "rxe"};
    char text[160];
    (void)state;
    for (int ranks = 2; ranks <= 4; ranks++)
        for (int rank = 0; rank < ranks; rank++)
            for (int n = 0; n < 12 + ranks * 32; n++) {
                snprintf(text, sizeof text,
                         "profile %s\nranks %d mesh\nchannel %d garble %d\n"
                         "run init\nrun all_sum float32 1024\nrun barrier\n",
                         profiles[n % 2], ranks, rank, n);
                expect("cjaccl", text, SCN_ERROR, "error in init");
            }
}

static void c4_no_garbled_byte_is_worse_than_an_error(void **state)
{
    char text[160];
    (void)state;
    for (int rank = 0; rank < 3; rank++)
        for (int n = 0; n < 1200; n += rank ? 1 : 3) {
            snprintf(text, sizeof text,
                     "profile rxe\nranks 3 mesh\nchannel %d garble %d\n"
                     "run init\nrun all_sum float32 8\nrun barrier\n",
                     rank, n);
            run("cjaccl", text); /* which checks the promises */
        }
}

static void a1_every_error_status_is_an_error(void **state)
{
    char text[128];
    (void)state;
    for (int status = 1; status <= 20; status++)
        for (int rank = 0; rank < 2; rank++)
            for (int n = 1; n <= 2; n++) {
                snprintf(text, sizeof text,
                         "fault %d completion %d status %d\nrun init\n"
                         "run all_sum float32 1024\n",
                         rank, n, status);
                expect("cjaccl", text, SCN_ERROR, "error in all_sum");
                assert_true(result.recovered);
            }
}

static void a2_any_lost_completion_is_an_error_that_names_the_peer(void **state)
{
    char text[128];
    (void)state;
    for (int rank = 0; rank < 2; rank++)
        for (int n = 1; n <= 2; n++) {
            snprintf(text, sizeof text,
                     "fault %d completion %d drop\nrun init\n"
                     "run all_sum float32 2048\n",
                     rank, n);
            cjaccl_says(text, rank, rank == 0 ? "rank 1" : "rank 0");
        }
}

/* Completions that come when all is over are nobody's time. */
static void a2_late_completions_do_not_count_against_a_deadline(void **state)
{
    (void)state;
    run("cjaccl", "profile rxe\nfault 0 completion 1+ delay 544179\nrun init\n"
                  "run all_sum int32 2233\nrun init\n"
                  "run all_sum int32 2233\n");
}

static void a3_a_poll_that_fails_is_an_error(void **state)
{
    (void)state;
    for (int n = 1; n <= 3; n++) {
        char text[128];
        snprintf(text, sizeof text,
                 "fault 0 poll_cq %d+ return -1\nrun init\n"
                 "run all_sum float32 2048\n",
                 n);
        expect("cjaccl", text, SCN_ERROR, "error in all_sum");
    }
}

static void
a4_a_peer_that_dies_at_any_call_is_an_error_on_the_others(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 4; ranks++)
        for (int n = 1; n <= 2 * (ranks - 1); n++) {
            char text[160];
            snprintf(text, sizeof text,
                     "ranks %d mesh\nfault 1 post_send %d exit\nrun init\n"
                     "run all_sum float32 2048\n",
                     ranks, n);
            run("cjaccl", text);
            if (result.outcome == SCN_READY) /* it had sent everything */
                continue;
            expect("cjaccl", text, SCN_ERROR, "error in all_sum");
            expect("legacy-2026-08-22", text, SCN_HANG,
                   "waits for completions");
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(s1_a_null_region_at_every_call_crashes_the_quarry),
        cmocka_unit_test(s1_the_ring_crashes_as_the_mesh_does),
        cmocka_unit_test(s1_cjaccl_names_device_count_and_limit),
        cmocka_unit_test(s2_a_limit_below_the_need_crashes_at_the_call_past_it),
        cmocka_unit_test(s2_ten_groups_of_cjaccl_fit_where_jaccl_has_one),
        cmocka_unit_test(s3_s5_the_message_names_what_is_wrong_in_the_file),
        cmocka_unit_test(s6_to_s12_the_message_says_what_to_do),
        cmocka_unit_test(s13_queue_pairs_go_first_then_regions_and_so_on),
        cmocka_unit_test(
            s14_every_refused_release_is_reported_and_the_rest_goes),
        cmocka_unit_test(s14_memory_that_a_device_keeps_is_no_leak),
        cmocka_unit_test(s15_the_second_init_succeeds_after_any_first_failure),
        cmocka_unit_test(s16_every_allocation_that_fails_is_an_error),
        cmocka_unit_test(c1_c2_any_rank_but_the_right_one_is_named),
        cmocka_unit_test(c3_any_length_but_the_right_one_is_an_error),
        cmocka_unit_test(c4_a_peer_that_goes_after_any_byte_is_an_error),
        cmocka_unit_test(c4_every_garbled_byte_of_a_start_is_an_error),
        cmocka_unit_test(c4_no_garbled_byte_is_worse_than_an_error),
        cmocka_unit_test(a1_every_error_status_is_an_error),
        cmocka_unit_test(
            a2_any_lost_completion_is_an_error_that_names_the_peer),
        cmocka_unit_test(a2_late_completions_do_not_count_against_a_deadline),
        cmocka_unit_test(a3_a_poll_that_fails_is_an_error),
        cmocka_unit_test(
            a4_a_peer_that_dies_at_any_call_is_an_error_on_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, stop);
}
