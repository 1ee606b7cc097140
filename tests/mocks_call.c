/*
 * Every call takes the same steps: step hook, count, plan, contract, provider,
 * trace. What a plan can make of a call, and of a completion.
 */
#include "mocks_support.h"

static struct host a, b;

static void open_one(void)
{
    stage_set(&vf_profile_ideal, 2);
    host_start(&a, 0);
}

static void verbs_have_names_and_can_be_found_by_them(void **state)
{
    (void)state;
    for (int verb = 0; verb < VF_VERB_COUNT; verb++)
        assert_int_equal(vf_verb_by_name(vf_verb_name((enum vf_verb)verb)),
                         verb);
    assert_int_equal(vf_verb_by_name("reg"), VF_VERB_COUNT);
    assert_int_equal(vf_verb_answer(VF_VERB_reg_mr), VF_ANSWER_POINTER);
    for (int effect = 0; effect < VF_EFFECT_COUNT; effect++)
        assert_int_equal(
            vf_effect_by_name(vf_effect_name((enum vf_effect)effect)), effect);
    assert_int_equal(vf_effect_by_name("nul"), VF_EFFECT_COUNT);
    for (int status = 0; status <= 22; status++)
        assert_int_equal(vf_status_by_name(vf_status_name(status)), status);
    assert_int_equal(vf_status_by_name("OK"), -1);
    assert_null(vf_status_name(99));
}

static void errnos_have_names(void **state)
{
    (void)state;
    assert_string_equal(vf_errno_name(ENOMEM), "ENOMEM");
    assert_string_equal(vf_errno_name(EOPNOTSUPP), "EOPNOTSUPP");
    assert_int_equal(vf_errno_by_name("ETIMEDOUT"), ETIMEDOUT);
    assert_int_equal(vf_errno_by_name("ENONSENSE"), 0);
    assert_null(vf_errno_name(4000));
    for (int number = 1; number < 200; number++)
        if (vf_errno_name(number))
            assert_int_equal(vf_errno_by_name(vf_errno_name(number)), number);
}

static void effects_that_do_not_fit_are_refused(void **state)
{
    static const struct {
        enum vf_effect effect;
        enum vf_verb verb;
        bool fits;
    } rows[] = {
        {VF_EFFECT_NULL, VF_VERB_reg_mr, true},
        {VF_EFFECT_NULL, VF_VERB_dereg_mr, false},
        {VF_EFFECT_NULL, VF_VERB_alloc, true},
        {VF_EFFECT_ERRNO, VF_VERB_dereg_mr, true},
        {VF_EFFECT_ERRNO, VF_VERB_query_gid, true},
        {VF_EFFECT_ERRNO, VF_VERB_reg_mr, false},
        {VF_EFFECT_ERRNO, VF_VERB_poll_cq, false},
        {VF_EFFECT_RETURN, VF_VERB_poll_cq, true},
        {VF_EFFECT_RETURN, VF_VERB_reg_mr, false},
        {VF_EFFECT_RETURN, VF_VERB_modify_qp, false},
        {VF_EFFECT_UNWRITTEN, VF_VERB_query_port, true},
        {VF_EFFECT_UNWRITTEN, VF_VERB_dereg_mr, false},
        {VF_EFFECT_GARBLED, VF_VERB_completion, true},
        {VF_EFFECT_STATUS, VF_VERB_completion, true},
        {VF_EFFECT_STATUS, VF_VERB_poll_cq, false},
        {VF_EFFECT_DROP, VF_VERB_completion, true},
        {VF_EFFECT_EXIT, VF_VERB_reg_mr, true},
        {VF_EFFECT_EXIT, VF_VERB_completion, false},
        {VF_EFFECT_HANG, VF_VERB_free_device_list, true},
        {VF_EFFECT_UNPLUG, VF_VERB_post_send, true},
        {VF_EFFECT_UNPLUG, VF_VERB_get_device_list, false},
        {VF_EFFECT_NULL, VF_VERB_COUNT, false},
    };

    (void)state;
    stage_set(&vf_profile_ideal, 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct vf_fault fault = {rows[i].verb, 1, false, rows[i].effect, 1};

        assert_int_equal(vf_effect_fits(rows[i].effect, rows[i].verb),
                         rows[i].fits);
        assert_int_equal(vf_machine_plan(stage.world, 0, &fault),
                         rows[i].fits ? 0 : -1);
    }
}

static void nothing_is_the_zeroth_call(void **state)
{
    struct vf_fault fault = {VF_VERB_reg_mr, 0, false, VF_EFFECT_NULL, EIO};

    (void)state;
    stage_set(&vf_profile_ideal, 1);
    assert_int_equal(vf_machine_plan(stage.world, 0, &fault), -1);
    fault.nth = 1;
    assert_int_equal(vf_machine_plan(stage.world, 1, &fault), -1);
}

static bool registers(void)
{
    struct ibv_mr *mr = ibv_reg_mr(a.pd, a.memory, 4096, ALL_ACCESS);

    if (!mr)
        return false;
    assert_int_equal(ibv_dereg_mr(mr), 0);
    return true;
}

static void fault_takes_the_nth_call_and_no_other(void **state)
{
    (void)state;
    open_one(); /* the first reg_mr */
    plan(0, VF_VERB_reg_mr, 3, false, VF_EFFECT_NULL, ENOMEM);
    assert_true(registers());
    errno = 0;
    assert_false(registers());
    assert_int_equal(errno, ENOMEM);
    assert_true(registers());
    assert_int_equal(vf_machine_faults_hit(stage.world, 0), 1);
    assert_int_equal(vf_machine_calls(stage.world, 0, VF_VERB_reg_mr), 4);
    host_drop(&a);
}

static void onward_fault_takes_every_later_call(void **state)
{
    (void)state;
    open_one();
    plan(0, VF_VERB_reg_mr, 3, true, VF_EFFECT_NULL, ENOMEM);
    assert_true(registers());
    for (int i = 0; i < 5; i++)
        assert_false(registers());
    vf_machine_clear_plan(stage.world, 0);
    assert_true(registers());
    host_drop(&a);
}

static void first_fault_that_matches_decides(void **state)
{
    (void)state;
    open_one();
    plan(0, VF_VERB_reg_mr, 3, false, VF_EFFECT_NULL, EIO);
    plan(0, VF_VERB_reg_mr, 2, true, VF_EFFECT_NULL, EPERM);
    registers();
    assert_int_equal(errno, EPERM);
    registers();
    assert_int_equal(errno, EIO);
    host_drop(&a);
}

static void machines_count_for_themselves(void **state)
{
    (void)state;
    stage_set(&vf_profile_ideal, 2);
    plan(1, VF_VERB_alloc_pd, 1, false, VF_EFFECT_NULL, EIO);
    host_start(&a, 0);
    host_open(&b, 1);
    assert_null(ibv_alloc_pd(b.context));
    assert_int_equal(vf_machine_calls(stage.world, 0, VF_VERB_alloc_pd), 1);
    assert_int_equal(vf_machine_calls(stage.world, 1, VF_VERB_alloc_pd), 1);
    host_drop(&a);
    vf_machine_end(stage.world, 1);
}

static void calls_belong_to_the_machine_of_their_handle(void **state)
{
    (void)state;
    stage_set(&vf_profile_ideal, 2);
    host_start(&a, 0);
    vf_thread_set_machine(1);
    assert_true(registers());
    assert_int_equal(vf_machine_calls(stage.world, 0, VF_VERB_reg_mr), 2);
    assert_int_equal(vf_machine_calls(stage.world, 1, VF_VERB_reg_mr), 0);
    host_drop(&a);
}

static void planned_failure_of_a_destroyer_leaves_the_object(void **state)
{
    (void)state;
    open_one();
    plan(0, VF_VERB_dereg_mr, 1, false, VF_EFFECT_ERRNO, EIO);
    plan(0, VF_VERB_destroy_qp, 1, false, VF_EFFECT_ERRNO, EIO);
    plan(0, VF_VERB_destroy_cq, 1, false, VF_EFFECT_ERRNO, EIO);
    plan(0, VF_VERB_dealloc_pd, 1, false, VF_EFFECT_ERRNO, EIO);
    plan(0, VF_VERB_close_device, 1, false, VF_EFFECT_ERRNO, EIO);
    assert_int_equal(ibv_dereg_mr(a.mr), EIO);
    assert_int_equal(ibv_dereg_mr(a.mr), 0);
    assert_int_equal(ibv_destroy_qp(a.qp), EIO);
    assert_int_equal(ibv_destroy_qp(a.qp), 0);
    assert_int_equal(ibv_destroy_cq(a.cq), EIO);
    assert_int_equal(ibv_destroy_cq(a.cq), 0);
    assert_int_equal(ibv_dealloc_pd(a.pd), EIO);
    assert_int_equal(ibv_dealloc_pd(a.pd), 0);
    assert_int_equal(ibv_close_device(a.context), EIO);
    assert_int_equal(ibv_close_device(a.context), 0);
    NOTHING_FOUND();
    assert_int_equal(vf_machine_leaks(stage.world, 0), 0);
    free(a.memory);
}

static void query_port_is_one_call_whatever_way_it_is_reached(void **state)
{
    struct ibv_port_attr attr;
    int (*by_name)(struct ibv_context *, uint8_t,
                   struct _compat_ibv_port_attr *) = (ibv_query_port);

    (void)state;
    open_one();
    assert_int_equal(ibv_query_port(a.context, 1, &attr), 0);
    assert_int_equal(vf_machine_calls(stage.world, 0, VF_VERB_query_port), 1);
    memset(&attr, 0x77, sizeof(attr));
    assert_int_equal(by_name(a.context, 1, (void *)&attr), 0);
    assert_int_equal(vf_machine_calls(stage.world, 0, VF_VERB_query_port), 2);
    assert_int_equal(attr.gid_tbl_len, 2);
    assert_int_equal(attr.link_layer, IBV_LINK_LAYER_ETHERNET);
    assert_int_equal(attr.port_cap_flags2, 0x7777); /* not theirs to write */
    host_drop(&a);
}

static void return_is_answered_as_it_is(void **state)
{
    struct ibv_wc wc;

    (void)state;
    open_one();
    plan(0, VF_VERB_poll_cq, 1, false, VF_EFFECT_RETURN, -1);
    assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), -1);
    assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 0);
    host_drop(&a);
}

static void minus_verbs_answer_minus_one_and_errno(void **state)
{
    union ibv_gid gid;

    (void)state;
    open_one();
    plan(0, VF_VERB_query_gid, 2, false, VF_EFFECT_ERRNO, EIO);
    errno = 0;
    assert_int_equal(ibv_query_gid(a.context, 1, 0, &gid), -1);
    assert_int_equal(errno, EIO);
    host_drop(&a);
}

static void unwritten_output_stays_as_it_was(void **state)
{
    struct ibv_port_attr attr, before;

    (void)state;
    open_one();
    memset(&before, 0x77, sizeof(before));
    attr = before;
    plan(0, VF_VERB_query_port, 1, false, VF_EFFECT_UNWRITTEN, 0);
    assert_int_equal(ibv_query_port(a.context, 1, &attr), 0);
    assert_memory_equal(&attr, &before, sizeof(attr));
    host_drop(&a);
}

static void garbled_output_is_garbage_always_the_same(void **state)
{
    struct ibv_device_attr attr;

    (void)state;
    open_one();
    plan(0, VF_VERB_query_device, 1, false, VF_EFFECT_GARBLED, 0);
    assert_int_equal(ibv_query_device(a.context, &attr), 0);
    for (size_t i = 0; i < sizeof(attr); i++)
        assert_int_equal(((unsigned char *)&attr)[i], 0xa5);
    host_drop(&a);
}

static void unwritten_poll_takes_the_completions_all_the_same(void **state)
{
    struct ibv_wc wc;

    (void)state;
    two_hosts(&vf_profile_ideal, &a, &b);
    plan(1, VF_VERB_poll_cq, 1, false, VF_EFFECT_UNWRITTEN, 0);
    assert_int_equal(post_recv(&b, 1, 0, 64), 0);
    assert_int_equal(post_send(&a, 2, 0, 64), 0);
    memset(&wc, 0x77, sizeof(wc));
    assert_int_equal(ibv_poll_cq(b.cq, 1, &wc), 1);
    assert_int_equal(wc.wr_id, 0x7777777777777777);
    expect_none(&b);
    host_drop(&a);
    host_drop(&b);
}

static void planned_post_leaves_bad_wr_and_posts_nothing(void **state)
{
    struct ibv_sge sge;
    struct ibv_recv_wr wr = {.wr_id = 5, .sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad = NULL;

    (void)state;
    two_hosts(&vf_profile_ideal, &a, &b);
    plan(0, VF_VERB_post_recv, 1, false, VF_EFFECT_ERRNO, ENOMEM);
    sge = (struct ibv_sge){(uintptr_t)a.memory, 64, a.mr->lkey};
    assert_int_equal(ibv_post_recv(a.qp, &wr, &bad), ENOMEM);
    assert_ptr_equal(bad, &wr);
    assert_int_equal(ibv_dereg_mr(a.mr), 0); /* nothing is posted on it */
    NOTHING_FOUND();
    host_drop(&a);
    host_drop(&b);
}

static void exit_and_hang_end_the_call_in_their_hooks(void **state)
{
    (void)state;
    open_one();
    plan(0, VF_VERB_reg_mr, 2, false, VF_EFFECT_EXIT, 0);
    plan(0, VF_VERB_reg_mr, 3, false, VF_EFFECT_HANG, 0);
    for (int expected = 2; expected <= 3; expected++) {
        volatile int got;

        stage.jumps = true;
        got = setjmp(stage.out);
        if (got == 0) {
            registers();
            fail_msg("the process went on");
        }
        stage.jumps = false;
        assert_int_equal(got, expected);
    }
    assert_int_equal(stage.exits, 1);
    assert_int_equal(stage.hangs, 1);
    host_drop(&a);
}

static void unplug_takes_the_cable_at_its_call(void **state)
{
    struct ibv_port_attr attr;

    (void)state;
    two_hosts(&vf_profile_thunderbolt, &a, &b);
    plan(0, VF_VERB_query_port, 1, false, VF_EFFECT_UNPLUG, 0);
    assert_int_equal(ibv_query_port(a.context, 1, &attr), 0);
    assert_int_equal(attr.state, IBV_PORT_DOWN);
    assert_int_equal(ibv_query_port(b.context, 1, &attr), 0);
    assert_int_equal(attr.state, IBV_PORT_DOWN);
    host_drop(&a);
    host_drop(&b);
}

static void allocations_are_counted_and_can_fail(void **state)
{
    (void)state;
    stage_set(&vf_profile_ideal, 1);
    plan(0, VF_VERB_alloc, 2, false, VF_EFFECT_NULL, ENOMEM);
    assert_true(vf_machine_alloc(stage.world, 0, 64));
    assert_false(vf_machine_alloc(stage.world, 0, 64));
    assert_int_equal(errno, ENOMEM);
    assert_true(vf_machine_alloc(stage.world, 0, 64));
    assert_int_equal(vf_machine_calls(stage.world, 0, VF_VERB_alloc), 3);
}

static void every_call_steps_once_and_only_waits_when_empty(void **state)
{
    unsigned before;

    (void)state;
    two_hosts(&vf_profile_ideal, &a, &b);
    before = stage.steps;
    assert_int_equal(post_recv(&b, 1, 0, 64), 0);
    assert_int_equal(stage.steps, before + 1);
    assert_int_equal(stage.empties, 0);
    expect_none(&b);
    assert_int_equal(stage.empties, 1);
    assert_int_equal(stage.changes, 0);
    assert_int_equal(post_send(&a, 1, 0, 64), 0);
    assert_int_equal(stage.changes, 2);
    expect_completion(&b, 1, IBV_WC_SUCCESS);
    assert_int_equal(stage.empties, 1);
    host_drop(&a);
    host_drop(&b);
}

static void without_a_world_verbs_fail_with_enosys(void **state)
{
    int count = 3;

    (void)state;
    stage_clear();
    vf_world_install(NULL);
    errno = 0;
    assert_null(ibv_get_device_list(&count));
    assert_int_equal(errno, ENOSYS);
    assert_int_equal(count, 0);
}

/* One receive on b, one send from a, with a fault on b's first completion. */
static void exchange_with(enum vf_effect effect, int value)
{
    two_hosts(&vf_profile_ideal, &a, &b);
    plan(1, VF_VERB_completion, 1, false, effect, value);
    assert_int_equal(post_recv(&b, 0x51, 0, 64), 0);
    assert_int_equal(post_recv(&b, 0x52, 4096, 64), 0);
    assert_int_equal(post_send(&a, 0x53, 0, 64), 0);
    expect_completion(&a, 0x53, IBV_WC_SUCCESS);
}

static void drop_both(void)
{
    NOTHING_FOUND();
    host_drop(&a);
    host_drop(&b);
}

static void planned_status_fails_the_queue_pair(void **state)
{
    struct ibv_wc wc;

    (void)state;
    exchange_with(VF_EFFECT_STATUS, IBV_WC_LOC_LEN_ERR);
    wc = polled(&b);
    assert_int_equal(wc.status, IBV_WC_LOC_LEN_ERR);
    assert_int_equal(wc.wr_id, 0x51);
    assert_int_equal(wc.qp_num, b.qp->qp_num);
    assert_int_equal(wc.byte_len, 0);
    expect_completion(&b, 0x52, IBV_WC_WR_FLUSH_ERR);
    assert_int_equal(state_of(b.qp), IBV_QPS_ERR);
    drop_both();
}

static void dropped_completion_never_comes(void **state)
{
    (void)state;
    exchange_with(VF_EFFECT_DROP, 0);
    expect_none(&b);
    assert_int_equal(vf_machine_faults_hit(stage.world, 1), 1);
    drop_both();
}

static void duplicated_completion_comes_twice(void **state)
{
    (void)state;
    exchange_with(VF_EFFECT_DUPLICATE, 0);
    expect_completion(&b, 0x51, IBV_WC_SUCCESS);
    expect_completion(&b, 0x51, IBV_WC_SUCCESS);
    expect_none(&b);
    drop_both();
}

static void delayed_completion_comes_when_it_is_due(void **state)
{
    (void)state;
    exchange_with(VF_EFFECT_DELAY, 5);
    expect_none(&b);
    assert_int_equal(vf_world_advance(stage.world), 5000000);
    stage.clock = 4999999;
    assert_int_equal(vf_world_advance(stage.world), 5000000);
    expect_none(&b);
    stage.clock = 5000000;
    assert_int_equal(vf_world_advance(stage.world), -1);
    expect_completion(&b, 0x51, IBV_WC_SUCCESS);
    drop_both();
}

/* V6 */
static void garbled_completion_keeps_nothing_but_its_status(void **state)
{
    struct ibv_wc wc;

    (void)state;
    exchange_with(VF_EFFECT_GARBLED, 0);
    wc = polled(&b);
    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_int_equal(wc.wr_id, 0xa5a5a5a5a5a5a5a5);
    assert_int_equal(wc.byte_len, 0xa5a5a5a5);
    drop_both();
}

static void delayed_completion_of_a_dead_queue_is_forgotten(void **state)
{
    (void)state;
    exchange_with(VF_EFFECT_DELAY, 5);
    assert_int_equal(ibv_destroy_qp(b.qp), 0);
    assert_int_equal(ibv_destroy_cq(b.cq), 0);
    stage.clock = 9000000;
    assert_int_equal(vf_world_advance(stage.world), -1);
    drop_both();
}

static void coverage_tells_machine_verb_and_outcome(void **state)
{
    static unsigned char bytes[VF_COVERAGE_SIZE];
    const unsigned char *reg = bytes + VF_VERB_reg_mr * 4;

    (void)state;
    memset(bytes, 0, sizeof(bytes));
    vf_coverage = bytes;
    open_one();
    assert_int_equal(reg[0], 1);
    assert_int_equal(reg[1] + reg[2] + reg[3], 0);
    plan(0, VF_VERB_reg_mr, 2, false, VF_EFFECT_NULL, EIO);
    registers();
    assert_int_equal(reg[1], 1);
    assert_null(ibv_reg_mr(a.pd, a.memory, 64, 1 << 19));
    assert_int_equal(reg[2], 1);
    assert_int_equal(reg[3], 0);
    assert_null(ibv_reg_mr(a.pd, NULL, 64, ALL_ACCESS));
    assert_int_equal(reg[3], 1);
    vf_coverage = NULL;
    host_drop(&a);
}

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(verbs_have_names_and_can_be_found_by_them),
        TEST(errnos_have_names),
        TEST(effects_that_do_not_fit_are_refused),
        TEST(nothing_is_the_zeroth_call),
        TEST(fault_takes_the_nth_call_and_no_other),
        TEST(onward_fault_takes_every_later_call),
        TEST(first_fault_that_matches_decides),
        TEST(machines_count_for_themselves),
        TEST(calls_belong_to_the_machine_of_their_handle),
        TEST(planned_failure_of_a_destroyer_leaves_the_object),
        TEST(query_port_is_one_call_whatever_way_it_is_reached),
        TEST(return_is_answered_as_it_is),
        TEST(minus_verbs_answer_minus_one_and_errno),
        TEST(unwritten_output_stays_as_it_was),
        TEST(garbled_output_is_garbage_always_the_same),
        TEST(unwritten_poll_takes_the_completions_all_the_same),
        TEST(planned_post_leaves_bad_wr_and_posts_nothing),
        TEST(exit_and_hang_end_the_call_in_their_hooks),
        TEST(unplug_takes_the_cable_at_its_call),
        TEST(allocations_are_counted_and_can_fail),
        TEST(every_call_steps_once_and_only_waits_when_empty),
        TEST(without_a_world_verbs_fail_with_enosys),
        TEST(planned_status_fails_the_queue_pair),
        TEST(dropped_completion_never_comes),
        TEST(duplicated_completion_comes_twice),
        TEST(delayed_completion_comes_when_it_is_due),
        TEST(garbled_completion_keeps_nothing_but_its_status),
        TEST(delayed_completion_of_a_dead_queue_is_forgotten),
        TEST(coverage_tells_machine_verb_and_outcome),
    };

    return cmocka_run_group_tests(tests, NULL, stage_teardown);
}
