/*
 * Traces read like strace's, show no pointer and no time, and are the same on
 * every run. A world keeps its memory and forgets everything else.
 */
#include "mocks_support.h"

static struct host a, b;

static void story(void)
{
    struct ibv_wc wc[4];

    two_hosts(&vf_profile_ideal, &a, &b);
    plan(0, VF_VERB_reg_mr, 2, false, VF_EFFECT_NULL, ENOMEM);
    plan(0, VF_VERB_dereg_mr, 1, false, VF_EFFECT_ERRNO, EINVAL);
    plan(1, VF_VERB_completion, 2, false, VF_EFFECT_DROP, 0);
    assert_null(ibv_reg_mr(a.pd, a.memory, 8192, ALL_ACCESS));
    assert_int_equal(ibv_dereg_mr(a.mr), EINVAL);
    assert_int_equal(ibv_query_gid(a.context, 2, 0, &a.gid), -1);
    assert_int_equal(post_recv(&b, 0x20000, 0, 4096), 0);
    assert_int_equal(post_recv(&b, 0x20001, 0, 4096), 0);
    expect_none(&b);
    assert_int_equal(post_send(&a, 1, 0, 4096), 0);
    assert_int_equal(post_send(&a, 2, 0, 4096), 0);
    assert_int_equal(ibv_poll_cq(b.cq, 4, wc), 1);
    assert_int_equal(ibv_poll_cq(a.cq, 4, wc), 2);
    host_end(&a);
    host_end(&b);
}

static const char *const golden =
    "r0 #1 get_device_list() = list=1\n"
    "r0 #2 open_device(device=1) = context=1\n"
    "r0 #3 free_device_list(list=1) = void\n"
    "r0 #4 alloc_pd(context=1) = pd=1\n"
    "r0 #5 create_cq(context=1, cqe=64) = cq=1\n"
    "r0 #6 create_qp(pd=1, type=3, send=32, recv=32) = qp=1\n"
    "r0 #7 reg_mr(pd=1, len=65536, access=0x7) = mr=1\n"
    "r0 #8 query_gid(context=1, port=1, index=1) = 0\n"
    "r1 #1 get_device_list() = list=1\n"
    "r1 #2 open_device(device=1) = context=1\n"
    "r1 #3 free_device_list(list=1) = void\n"
    "r1 #4 alloc_pd(context=1) = pd=1\n"
    "r1 #5 create_cq(context=1, cqe=64) = cq=1\n"
    "r1 #6 create_qp(pd=1, type=3, send=32, recv=32) = qp=1\n"
    "r1 #7 reg_mr(pd=1, len=65536, access=0x7) = mr=1\n"
    "r1 #8 query_gid(context=1, port=1, index=1) = 0\n"
    "r0 #9 modify_qp(qp=1, state=INIT, mask=0x39) = 0\n"
    "r1 #9 modify_qp(qp=1, state=INIT, mask=0x39) = 0\n"
    "r0 #10 modify_qp(qp=1, state=RTR, mask=0x101181) = 0\n"
    "r0 #11 modify_qp(qp=1, state=RTS, mask=0x10001) = 0\n"
    "r1 #10 modify_qp(qp=1, state=RTR, mask=0x101181) = 0\n"
    "r1 #11 modify_qp(qp=1, state=RTS, mask=0x10001) = 0\n"
    "r0 #12 reg_mr(pd=1, len=8192, access=0x7) = NULL ENOMEM (planned)\n"
    "r0 #13 dereg_mr(mr=1) = 22 EINVAL (planned)\n"
    "r0 #14 query_gid(context=1, port=2, index=0) = -1 EINVAL\n"
    "r1 #12 post_recv(qp=1, wr_id=0x20000, len=4096) = 0\n"
    "r1 #13 post_recv(qp=1, wr_id=0x20001, len=4096) = 0\n"
    "r0 #15 post_send(qp=1, wr_id=0x1, len=4096) = 0\n"
    "r1 #13 completion(qp=1, wr_id=0x20001, status=0) = drop (planned)\n"
    "r0 #16 post_send(qp=1, wr_id=0x2, len=4096) = 0\n"
    "r1 #14 poll_cq(cq=1, room=4) = 1 [wr_id=0x20000 RECV SUCCESS len=4096]\n"
    "r0 #17 poll_cq(cq=1, room=4) = 2 [wr_id=0x1 SEND SUCCESS] "
    "[wr_id=0x2 SEND SUCCESS]\n"
    "r0 #18 destroy_qp(qp=1) = 0\n"
    "r0 #19 dereg_mr(mr=1) = 0\n"
    "r0 #20 destroy_cq(cq=1) = 0\n"
    "r0 #21 dealloc_pd(pd=1) = 0\n"
    "r0 #22 close_device(context=1) = 0\n"
    "r1 #15 destroy_qp(qp=1) = 0\n"
    "r1 #16 dereg_mr(mr=1) = 0\n"
    "r1 #17 destroy_cq(cq=1) = 0\n"
    "r1 #18 dealloc_pd(pd=1) = 0\n"
    "r1 #19 close_device(context=1) = 0\n";

static void story_is_told_line_by_line(void **state)
{
    (void)state;
    story();
    assert_string_equal(stage.text, golden);
}

static void reset_world_tells_the_same_story_again(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        story();
        assert_string_equal(stage.text, golden);
    }
}

/* Compares addresses: the handles of the next run lie where the last one's
 * did, so no page is new. */
static void reset_world_uses_the_same_memory_again(void **state)
{
    struct host first;

    (void)state;
    two_hosts(&vf_profile_ideal, &a, &b);
    first = a;
    host_drop(&a);
    host_drop(&b);
    two_hosts(&vf_profile_ideal, &a, &b);
    assert_ptr_equal(first.context, a.context);
    assert_ptr_equal(first.qp, a.qp);
    assert_ptr_equal(first.mr, a.mr);
    host_drop(&a);
    host_drop(&b);
}

static void reset_world_has_nothing_of_the_last_run(void **state)
{
    (void)state;
    stage_set(&vf_profile_ideal, 2);
    plan(0, VF_VERB_reg_mr, 1, true, VF_EFFECT_NULL, ENOMEM);
    host_open(&a, 0);
    stage_set(&vf_profile_ideal, 2);
    assert_int_equal(vf_machine_all_calls(stage.world, 0), 0);
    assert_int_equal(vf_machine_leaks(stage.world, 0), 0);
    host_start(&a, 0); /* the plan is gone */
    host_drop(&a);
}

static void released_memory_is_not_used_again_soon(void **state)
{
    struct ibv_mr *first;

    (void)state;
    stage_set(&vf_profile_ideal, 1);
    host_start(&a, 0);
    first = a.mr;
    assert_int_equal(ibv_dereg_mr(first), 0);
    for (int i = 0; i < 1000; i++) {
        struct ibv_mr *mr = ibv_reg_mr(a.pd, a.memory, 4096, ALL_ACCESS);

        assert_ptr_not_equal(mr, first);
        assert_int_equal(ibv_dereg_mr(mr), 0);
    }
    host_drop(&a);
}

static void long_lives_need_no_more_memory(void **state)
{
    uint32_t first;

    (void)state;
    stage_set(&vf_profile_ideal, 1);
    host_start(&a, 0);
    first = a.mr->lkey;
    assert_int_equal(ibv_dereg_mr(a.mr), 0);
    for (int i = 0; i < 100000; i++) {
        struct ibv_mr *mr = ibv_reg_mr(a.pd, a.memory, 4096, ALL_ACCESS);

        assert_non_null(mr);
        assert_int_not_equal(mr->lkey, first); /* its place is used again */
        stage.text_used = 0;
        assert_int_equal(ibv_dereg_mr(mr), 0);
    }
    host_drop(&a);
}

static void fatal_findings_have_their_line_before_the_crash(void **state)
{
    (void)state;
    stage_set(&vf_profile_ideal, 1);
    FATAL("null-mr in dereg_mr", ibv_dereg_mr(NULL));
    assert_string_equal(stage.text, "r0 #1 dereg_mr(mr=NULL) = ? (null-mr)\n");
    assert_int_equal(vf_machine_inside(stage.world, 0), VF_VERB_dereg_mr);
}

static void other_findings_are_named_in_the_line(void **state)
{
    (void)state;
    stage_set(&vf_profile_ideal, 1);
    host_start(&a, 0);
    stage.text_used = 0;
    assert_int_equal(to_rts(a.qp), EINVAL);
    assert_string_equal(stage.text,
                        "r0 #9 modify_qp(qp=1, state=RTS, mask=0x10001) = "
                        "22 EINVAL (bad-transition)\n");
    host_drop(&a);
}

static void error_completions_show_their_status(void **state)
{
    struct ibv_wc wc;

    (void)state;
    stage_set(&vf_profile_ideal, 1);
    host_start(&a, 0);
    assert_int_equal(to_init(a.qp), 0);
    assert_int_equal(post_recv(&a, 1, 0, 64), 0);
    assert_int_equal(to_state(a.qp, IBV_QPS_ERR), 0);
    stage.text_used = 0;
    assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 1);
    assert_string_equal(
        stage.text,
        "r0 #12 poll_cq(cq=1, room=1) = 1 [wr_id=0x1 WR_FLUSH_ERR]\n");
    host_drop(&a);
}

/* How often an empty queue is polled depends on who waits how. */
static void empty_polls_are_counted_and_not_told(void **state)
{
    (void)state;
    stage_set(&vf_profile_ideal, 1);
    host_start(&a, 0);
    stage.text_used = 0;
    for (int i = 0; i < 7; i++)
        expect_none(&a);
    assert_int_equal(stage.text_used, 0);
    assert_int_equal(vf_machine_calls(stage.world, 0, VF_VERB_poll_cq), 7);
    assert_int_equal(vf_machine_all_calls(stage.world, 0), 15);
    assert_int_equal(ibv_dereg_mr(a.mr), 0);
    assert_string_equal(stage.text, "r0 #9 dereg_mr(mr=1) = 0\n");
    host_drop(&a);
}

static void history_has_the_last_calls_untraced_too(void **state)
{
    struct vf_hooks none = {0};
    struct vf_device_setup setup = stage_device(&vf_profile_ideal, "rdma_en2");
    char line[256];
    unsigned count = 0;

    (void)state;
    stage_clear();
    vf_world_reset(stage.world, &none);
    vf_world_add_machine(stage.world);
    vf_machine_add_device(stage.world, 0, &setup);
    host_open(&a, 0);
    assert_true(vf_machine_history(stage.world, 0, 0, line, sizeof(line)));
    assert_string_equal(line, "r0 #1 get_device_list() = list=1");
    for (int i = 0; i < 100; i++)
        ibv_dealloc_pd(ibv_alloc_pd(a.context));
    while (vf_machine_history(stage.world, 0, count, line, sizeof(line)))
        count++;
    assert_in_range(count, 16, 200);
    assert_string_equal(line, "r0 #203 dealloc_pd(pd=100) = 0");
    vf_machine_end(stage.world, 0);
}

static void long_lines_are_cut_at_the_room_given(void **state)
{
    char line[8] = "1234567";

    (void)state;
    stage_set(&vf_profile_ideal, 1);
    host_start(&a, 0);
    assert_true(vf_machine_history(stage.world, 0, 0, line, sizeof(line)));
    assert_string_equal(line, "r0 #1 g");
    host_drop(&a);
}

static void worlds_have_limits(void **state)
{
    struct vf_device_setup setup = stage_device(&vf_profile_ideal, "x");

    (void)state;
    stage_clear();
    for (int i = 0; i < VF_MACHINE_MAX; i++)
        assert_int_equal(vf_world_add_machine(stage.world), i);
    assert_int_equal(vf_world_add_machine(stage.world), -1);
    for (int i = 0; i < VF_DEVICE_MAX; i++) {
        snprintf(setup.name, sizeof(setup.name), "d%d", i);
        assert_int_equal(vf_machine_add_device(stage.world, 0, &setup), 0);
        assert_int_equal(vf_machine_add_device(stage.world, 0, &setup), -1);
    }
    snprintf(setup.name, sizeof(setup.name), "more");
    assert_int_equal(vf_machine_add_device(stage.world, 0, &setup), -1);
    assert_int_equal(vf_world_cable(stage.world, 0, "d0", 0, "nobody"), -1);
    assert_int_equal(vf_world_cable(stage.world, 0, "d0", 0, "d1"), 0);
    assert_int_equal(vf_world_cable(stage.world, 0, "d2", 0, "d1"), -1);
}

static void end_of_a_machine_gives_back_what_it_held(void **state)
{
    struct vf_device_setup setup = stage_device(&vf_profile_ideal, "rdma_en2");

    (void)state;
    setup.max_mr = 1;
    setup.max_qp = 1;
    stage_set_devices(&setup, 1);
    for (int i = 0; i < 5; i++) {
        host_start(&a, 0);
        host_drop(&a);
        assert_int_equal(vf_machine_leaks(stage.world, 0), 0);
    }
    NOTHING_FOUND();
}

/* Not the status that the device had for it. */
static void planned_status_is_in_the_line(void **state)
{
    (void)state;
    two_hosts(&vf_profile_ideal, &a, &b);
    plan(1, VF_VERB_completion, 1, false, VF_EFFECT_STATUS, IBV_WC_LOC_LEN_ERR);
    assert_int_equal(post_recv(&b, 0x51, 0, 64), 0);
    assert_int_equal(post_send(&a, 1, 0, 64), 0);
    assert_non_null(strstr(stage.text, "r1 #12 completion(qp=1, wr_id=0x51, "
                                       "status=1) = status (planned)\n"));
    host_drop(&a);
    host_drop(&b);
}

static char waiting_line[256];

static void look_at_history(void *context, int machine)
{
    unsigned n = 0;

    (void)context;
    while (vf_machine_history(stage.world, machine, n, waiting_line,
                              sizeof(waiting_line)))
        n++;
}

static void history_ends_with_the_call_that_waits(void **state)
{
    struct vf_hooks hooks = {.empty = look_at_history};
    struct vf_device_setup setup = stage_device(&vf_profile_ideal, "rdma_en2");

    (void)state;
    stage_clear();
    vf_world_reset(stage.world, &hooks);
    vf_world_add_machine(stage.world);
    vf_machine_add_device(stage.world, 0, &setup);
    host_start(&a, 0);
    expect_none(&a);
    assert_string_equal(waiting_line, "r0 #9 poll_cq(cq=1, room=1) = ?");
    assert_true(vf_machine_history(stage.world, 0, 7, waiting_line,
                                   sizeof(waiting_line)));
    assert_false(vf_machine_history(stage.world, 0, 8, waiting_line,
                                    sizeof(waiting_line)));
    host_drop(&a);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(story_is_told_line_by_line),
        TEST(reset_world_tells_the_same_story_again),
        TEST(reset_world_uses_the_same_memory_again),
        TEST(reset_world_has_nothing_of_the_last_run),
        TEST(released_memory_is_not_used_again_soon),
        TEST(long_lives_need_no_more_memory),
        TEST(fatal_findings_have_their_line_before_the_crash),
        TEST(other_findings_are_named_in_the_line),
        TEST(error_completions_show_their_status),
        TEST(empty_polls_are_counted_and_not_told),
        TEST(history_has_the_last_calls_untraced_too),
        TEST(planned_status_is_in_the_line),
        TEST(history_ends_with_the_call_that_waits),
        TEST(long_lines_are_cut_at_the_room_given),
        TEST(worlds_have_limits),
        TEST(end_of_a_machine_gives_back_what_it_held),
    };

    return cmocka_run_group_tests(tests, NULL, stage_teardown);
}
