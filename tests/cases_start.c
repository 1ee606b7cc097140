/*
 * The reported cases of the side channel that a simulator can show (C5 to C9),
 * what ranks ask for, machines on their own, and sockets in RDMA's stead: with
 * each step of the start failing on each rank.
 */
#include "cases_support.h"

static const char sum[] = "run init\nrun all_sum float32 5000\nrun barrier\n";

static const char *with_sum(const char *text)
{
    static char whole[512];
    snprintf(whole, sizeof whole, "%s%s", text, sum);
    return whole;
}

static void c5_strays_do_not_keep_a_group_from_starting(void **state)
{
    static const char *const texts[] = {"stray\n",
                                        "stray\nstray\nstray\nranks 4 mesh\n",
                                        "stray\nranks 3 ring\n"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        expect("cjaccl", with_sum(texts[i]), SCN_READY, "");
        expect("sockets", with_sum(texts[i]), SCN_READY, "");
        expect("legacy-2026-08-22", with_sum(texts[i]), SCN_HANG, NULL);
    }
}

static void c6_every_coordinator_works_or_is_named(void **state)
{
    static const char *const wrong[] = {
        "10.0.0.1", "10.0.0.1:0", "10.0.0.1:70000", "a:b:c",      "", ":9000",
        "[::1]",    "[::1:9000",  "10.0.0.1:x",     "10.0.0.1:-1"};
    char text[128];
    (void)state;
    expect("cjaccl", with_sum("coordinator * [::1]:9000\n"), SCN_READY, "");
    expect("cjaccl", with_sum("coordinator * mac.local:9\n"), SCN_READY, "");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        snprintf(text, sizeof text, "coordinator * \"%s\"\nrun init\n",
                 wrong[i]);
        expect("cjaccl", text, SCN_ERROR, "error in init: configuration");
        cjaccl_says(text, 1, wrong[i]);
    }
}

static void c7_ranks_may_start_apart_within_the_deadline(void **state)
{
    char text[128];
    (void)state;
    for (int rank = 0; rank < 3; rank++)
        for (int late = 1; late <= 100000; late = late * 3 + 1000) {
            snprintf(text, sizeof text, "ranks 3 mesh\nlate %d %d\n%s", rank,
                     late, sum);
            expect("cjaccl", text, late < 58000 ? SCN_READY : SCN_ERROR, NULL);
        }
    cjaccl_says("coordinator 1 10.0.0.1:9001\nrun init\n", 1, "9001");
    cjaccl_says("coordinator 1 10.0.0.1:9001\nrun init\n", 0, "rank 1");
}

/* Of rows, cells, wires, topologies and backends. */
static void c9_ranks_that_differ_are_told_so(void **state)
{
    static const char *const texts[] = {
        "rows 1 3\n",
        "rows 0 3\n",
        "rows 2 1\nranks 3 mesh\n",
        "ranks 3 mesh\nsetting 1 topology ring\n",
        "ranks 3 mesh\nsetting 1 backend sockets\n",
        "ranks 3 mesh\nsetting * backend sockets\nsetting 0 backend rdma\n",
        "ranks 3 ring 2\ncell 2 2 0 rdma_en4\ncell 2 0 2 rdma_en2\n",
        "ranks 4 ring 2\ncell 1 0 1 rdma_en4\n",
        "ranks 3 mesh\ncell 2 2 0\n"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        expect("cjaccl", with_sum(texts[i]), SCN_ERROR, "error in init");
        for (int rank = 0; rank < result.ranks; rank++)
            assert_int_equal(result.rank[rank].outcome, SCN_ERROR);
    }
}

static void a_machine_on_its_own_needs_nothing(void **state)
{
    static const char text[] =
        "ranks 1 mesh\nnodevices 0\nlibrary 0 absent\nrun init\n"
        "run all_sum float32 9\nrun all_max bool 3 in-place\n"
        "run all_min int8 1\nrun all_gather int16 40 in-place\n"
        "run sum_scatter float16 7\nrun barrier\nrun all_sum int8 0\n"
        "run finalize\nrun init\nrun barrier\n";
    (void)state;
    expect("cjaccl", text, SCN_READY, "");
    expect("sockets", text, SCN_READY, "");
    cjaccl_says("ranks 1 mesh\nrun init\nrun send int8 1 0 0\n", 0, "itself");
}

/* Whatever keeps RDMA from starting, on whatever rank. */
static const char *const obstacles[] = {
    "library %d absent",
    "library %d without ibv_reg_mr",
    "nodevices %d ENOSYS",
    "nodevices %d",
    "fault %d get_device_list 1 null ENOMEM",
    "fault %d open_device 1 null EIO",
    "fault %d open_device 2 null EBUSY",
    "fault %d query_port 1 errno EIO",
    "fault %d query_port 2 errno EIO",
    "fault %d query_gid 1+ errno EIO",
    "fault %d alloc_pd 2 null ENOMEM",
    "fault %d create_cq 2 null ENOMEM",
    "fault %d create_qp 1 null EBUSY",
    "fault %d create_qp 2 null EBUSY",
    "fault %d alloc 2 null ENOMEM",
    "fault %d reg_mr 1 null ENOMEM",
    "fault %d reg_mr 2 null ENOMEM",
    "fault %d modify_qp 1 errno EINVAL",
    "fault %d modify_qp 2 errno EINVAL",
    "fault %d modify_qp 3 errno EINVAL",
    "fault %d modify_qp 4 errno EINVAL",
    "fault %d modify_qp 5 errno EINVAL",
    "fault %d modify_qp 6 errno EINVAL"};

#define OBSTACLES (sizeof obstacles / sizeof obstacles[0])

static const char *const shapes[] = {"ranks 3 mesh\n", "ranks 3 ring\n",
                                     "profile rxe\nranks 3 mesh\n"};

static const char *hindered(size_t shape, size_t obstacle, int rank,
                            const char *settings)
{
    static char text[512];
    int length = snprintf(text, sizeof text, "%s%s", shapes[shape], settings);
    length += snprintf(text + length, sizeof text - (size_t)length,
                       obstacles[obstacle], rank);
    snprintf(text + length, sizeof text - (size_t)length,
             "\n%srun send int8 70000 2 1\nrun all_gather int16 3000\n", sum);
    return text;
}

static void sockets_take_over_whatever_fails_on_whatever_rank(void **state)
{
    (void)state;
    for (size_t s = 0; s < 3; s++)
        for (size_t i = 0; i < OBSTACLES; i++)
            for (int rank = 0; rank < 3; rank++)
                expect("cjaccl",
                       hindered(s, i, rank, "setting * fallback sockets\n"),
                       SCN_READY, "");
}

/* One rank that does not want them is enough. */
static void without_leave_of_all_ranks_it_is_an_error_on_all(void **state)
{
    static const char *const settings[] = {
        "", "setting 0 fallback sockets\n",
        "setting * fallback sockets\nsetting 1 fallback none\n"};
    (void)state;
    for (size_t i = 0; i < OBSTACLES; i++)
        for (int rank = 0; rank < 3; rank++) {
            expect("cjaccl",
                   hindered(i % 3, i, rank, settings[(i + (size_t)rank) % 3]),
                   SCN_ERROR, "error in init");
            for (int r = 0; r < 3; r++)
                assert_int_equal(result.rank[r].outcome, SCN_ERROR);
            assert_true(result.recovered || !result.recovery_tried);
        }
}

/* While the ranks agree on sockets, one of them goes. */
static void a_fallback_that_fails_is_an_error_too(void **state)
{
    char text[256];
    (void)state;
    for (int n = 0; n < 700; n += 3)
        for (int rank = 0; rank < 3; rank++) {
            snprintf(text, sizeof text,
                     "ranks 3 mesh\nsetting * fallback sockets\n"
                     "fault 1 reg_mr 1 null ENOMEM\nchannel %d %s %d\n%s",
                     rank, n % 2 ? "close" : "silent", n, sum);
            run("cjaccl", text);
        }
}

static void several_groups_of_any_kind_share_the_devices(void **state)
{
    static const char *const texts[] = {"ranks 3 mesh\n", "ranks 2 ring\n",
                                        "profile rxe\nranks 3 ring 2\n",
                                        "setting * backend sockets\n"};
    char text[512];
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        snprintf(text, sizeof text,
                 "%srun init\nrun all_sum float32 5000\nrun init\n"
                 "run all_gather int8 70000\nrun init\nrun send int8 9 1 0\n"
                 "run finalize\nrun all_max int32 9\nrun finalize\n"
                 "run sum_scatter float64 77\nrun init\nrun barrier\n",
                 texts[i]);
        expect("cjaccl", text, SCN_READY, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(c5_strays_do_not_keep_a_group_from_starting),
        cmocka_unit_test(c6_every_coordinator_works_or_is_named),
        cmocka_unit_test(c7_ranks_may_start_apart_within_the_deadline),
        cmocka_unit_test(c9_ranks_that_differ_are_told_so),
        cmocka_unit_test(a_machine_on_its_own_needs_nothing),
        cmocka_unit_test(sockets_take_over_whatever_fails_on_whatever_rank),
        cmocka_unit_test(without_leave_of_all_ranks_it_is_an_error_on_all),
        cmocka_unit_test(a_fallback_that_fails_is_an_error_too),
        cmocka_unit_test(several_groups_of_any_kind_share_the_devices),
    };
    return cmocka_run_group_tests(tests, NULL, stop);
}
