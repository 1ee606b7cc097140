/*
 * Completion queues: what is in one stays in order, whatever its size becomes,
 * and an error says which request and which queue pair, and nothing else.
 */
#include "pair_support.h"

/* A send takes its place in the queue until it has been polled. */
static void open_deep(void **state)
{
    struct pair deep = usual;

    deep.send_depth = 200;
    pair_open(state, &deep);
}

static void complete(uint64_t first, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(ask(&a, &b,
                             (struct ask){.id = first + i,
                                          .opcode = IBV_WR_RDMA_WRITE,
                                          .length = 8}),
                         0);
}

static void expect_in_order(uint64_t first, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        expect_done(&a, first + i, IBV_WC_RDMA_WRITE);
    expect_none(&a);
}

static void a_poll_takes_as_many_as_it_asks_for(void **state)
{
    struct ibv_wc wc[16];

    open_deep(state);
    complete(0, 10);
    assert_int_equal(ibv_poll_cq(a.cq, 0, wc), 0);
    assert_int_equal(ibv_poll_cq(a.cq, 4, wc), 4);
    assert_int_equal(wc[3].wr_id, 3);
    assert_int_equal(ibv_poll_cq(a.cq, 16, wc), 6);
    assert_int_equal(wc[0].wr_id, 4);
    assert_int_equal(wc[5].wr_id, 9);
    assert_int_equal(ibv_poll_cq(a.cq, 16, wc), 0);
    pair_end();
}

static void a_queue_that_grows_keeps_what_it_has(void **state)
{
    open_deep(state);
    complete(0, 40);
    assert_int_equal(ibv_resize_cq(a.cq, 200), 0);
    assert_true(a.cq->cqe >= 200);
    complete(40, 100);
    expect_in_order(0, 140);
    NOTHING_FOUND();
    pair_end();
}

static void a_queue_that_shrinks_keeps_what_it_has(void **state)
{
    open_deep(state);
    complete(0, 10);
    assert_int_equal(ibv_resize_cq(a.cq, 12), 0);
    assert_true(a.cq->cqe >= 12 && a.cq->cqe < 64);
    expect_in_order(0, 10);
    complete(10, 12);
    expect_in_order(10, 12);
    pair_end();
}

static void a_queue_does_not_shrink_below_what_it_has(void **state)
{
    int before;

    open_deep(state);
    before = a.cq->cqe;
    complete(0, 40);
    assert_int_equal(ibv_resize_cq(a.cq, 7), EINVAL);
    assert_int_equal(a.cq->cqe, before);
    expect_in_order(0, 40);
    assert_int_equal(ibv_resize_cq(a.cq, 7), 0);
    pair_end();
}

static void sizes_that_make_no_sense_are_refused(void **state)
{
    struct ibv_device_attr attr;

    open_deep(state);
    assert_int_equal(ibv_query_device(a.context, &attr), 0);
    assert_int_equal(ibv_resize_cq(a.cq, 0), EINVAL);
    assert_int_equal(ibv_resize_cq(a.cq, -1), EINVAL);
    assert_int_equal(ibv_resize_cq(a.cq, attr.max_cqe + 1), EINVAL);
    pair_end();
}

/* After an overflow the queue works on with what it kept. */
static void a_queue_that_was_too_small_can_grow(void **state)
{
    int places;

    open_deep(state);
    assert_int_equal(ibv_resize_cq(a.cq, 3), 0);
    places = a.cq->cqe;
    complete(0, (unsigned)places + 2);
    assert_int_equal(ibv_resize_cq(a.cq, 50), 0);
    complete(100, 1);
    for (int i = 0; i < places; i++)
        expect_done(&a, (uint64_t)i, IBV_WC_RDMA_WRITE);
    expect_done(&a, 100, IBV_WC_RDMA_WRITE);
    FOUND("cq-overflow in poll_cq");
    pair_close();
}

static void sends_and_receives_may_have_queues_of_their_own(void **state)
{
    struct ibv_cq *sends, *receives;
    struct ibv_wc wc;

    pair_make(state, &usual);
    sends = a.cq;
    receives = ibv_create_cq(a.context, 16, NULL, NULL, 0);
    assert_int_equal(ibv_destroy_qp(a.qp), 0);
    a.qp =
        ibv_create_qp(a.pd, &(struct ibv_qp_init_attr){.send_cq = sends,
                                                       .recv_cq = receives,
                                                       .qp_type = IBV_QPT_RC,
                                                       .cap = {4, 4, 1, 1, 0}});
    pair_connect(&usual);
    assert_int_equal(post_recv(&a, 1, 0, 64), 0);
    assert_int_equal(post_recv(&a, 2, 0, 64), 0);
    assert_int_equal(
        ask(&b, &a, (struct ask){.id = 3, .opcode = IBV_WR_SEND, .length = 64}),
        0);
    complete(4, 1);
    expect_done(&a, 4, IBV_WC_RDMA_WRITE);
    expect_none(&a);
    assert_int_equal(ibv_poll_cq(receives, 1, &wc), 1);
    assert_int_equal(wc.wr_id, 1);
    assert_int_equal(to_state(a.qp, IBV_QPS_ERR), 0);
    expect_none(&a);
    assert_int_equal(ibv_poll_cq(receives, 1, &wc), 1);
    assert_int_equal(wc.wr_id, 2);
    assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
    assert_int_equal(ibv_destroy_qp(a.qp), 0);
    assert_int_equal(ibv_destroy_cq(receives), 0);
    a.qp = pair_qp(&a, &usual, NULL);
    pair_end();
}

static void an_error_says_which_request_and_no_more(void **state)
{
    struct ibv_wc wc;

    pair_open(state, &usual);
    assert_int_equal(post_recv(&a, UINT64_C(0x1234567890abcdef), 0, 64), 0);
    assert_int_equal(to_state(a.qp, IBV_QPS_ERR), 0);
    memset(&wc, 0xff, sizeof(wc));
    assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 1);
    assert_true(wc.wr_id == UINT64_C(0x1234567890abcdef));
    assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
    assert_int_equal(wc.qp_num, a.qp->qp_num);
    assert_int_equal(wc.opcode, 0);
    assert_int_equal(wc.byte_len, 0);
    assert_int_equal(wc.wc_flags, 0);
    assert_int_equal(wc.imm_data, 0);
    assert_int_equal(wc.src_qp, 0);
    pair_end();
}

/* Each comes, in this order, and nothing else. */
static void expect_numbers(const uint64_t *numbers, int count)
{
    for (int i = 0; i < count; i++)
        expect_done(&a, numbers[i], IBV_WC_RDMA_WRITE);
    expect_none(&a);
}
#define EXPECT_NUMBERS(...)                                                    \
    expect_numbers(                                                            \
        (const uint64_t[]){__VA_ARGS__},                                       \
        (int)(sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)))

static void a_late_completion_is_not_overtaken_by_its_own_queue(void **state)
{
    pair_open(state, &usual);
    plan(0, VF_VERB_completion, 2, false, VF_EFFECT_DELAY, 30);
    complete(0, 4);
    EXPECT_NUMBERS(0);
    pass(29 * MILLISECOND);
    complete(4, 1);
    expect_none(&a);
    pass(30 * MILLISECOND);
    EXPECT_NUMBERS(1, 2, 3, 4);
    complete(5, 1);
    EXPECT_NUMBERS(5);
    pair_end();
}

static void a_later_one_with_less_delay_does_not_overtake_either(void **state)
{
    pair_open(state, &usual);
    plan(0, VF_VERB_completion, 1, false, VF_EFFECT_DELAY, 30);
    plan(0, VF_VERB_completion, 2, false, VF_EFFECT_DELAY, 10);
    plan(0, VF_VERB_completion, 4, false, VF_EFFECT_DELAY, 50);
    complete(0, 5);
    expect_none(&a);
    pass(20 * MILLISECOND);
    expect_none(&a);
    pass(30 * MILLISECOND);
    EXPECT_NUMBERS(0, 1, 2);
    pass(50 * MILLISECOND);
    EXPECT_NUMBERS(3, 4);
    pair_end();
}

static void a_plan_may_have_it_overtaken_all_the_same(void **state)
{
    pair_open(state, &usual);
    plan(0, VF_VERB_completion, 2, false, VF_EFFECT_OVERTAKEN, 30);
    complete(0, 4);
    EXPECT_NUMBERS(0, 2, 3);
    pass(30 * MILLISECOND);
    EXPECT_NUMBERS(1);
    pair_end();
}

/* Sends do not wait for receives, and the other way round. */
static void the_other_queue_of_the_pair_overtakes(void **state)
{
    pair_open(state, &usual);
    plan(0, VF_VERB_completion, 1, false, VF_EFFECT_DELAY, 30);
    complete(0, 1);
    assert_int_equal(post_recv(&a, 7, 0, 64), 0);
    assert_int_equal(
        ask(&b, &a, (struct ask){.id = 3, .opcode = IBV_WR_SEND, .length = 64}),
        0);
    expect_done(&a, 7, IBV_WC_RECV);
    expect_none(&a);
    pass(30 * MILLISECOND);
    EXPECT_NUMBERS(0);
    pair_end();
}

static void what_else_is_planned_waits_behind_it_too(void **state)
{
    struct ibv_wc wc;

    pair_open(state, &usual);
    plan(0, VF_VERB_completion, 1, false, VF_EFFECT_DELAY, 30);
    plan(0, VF_VERB_completion, 2, false, VF_EFFECT_DUPLICATE, 0);
    plan(0, VF_VERB_completion, 3, false, VF_EFFECT_DROP, 0);
    plan(0, VF_VERB_completion, 4, false, VF_EFFECT_STATUS,
         IBV_WC_LOC_QP_OP_ERR);
    complete(0, 4);
    expect_none(&a);
    pass(30 * MILLISECOND);
    for (uint64_t id = 0; id < 3; id++)
        expect_done(&a, id == 2 ? 1 : id, IBV_WC_RDMA_WRITE);
    wc = polled(&a);
    assert_int_equal(wc.wr_id, 3);
    assert_int_equal(wc.status, IBV_WC_LOC_QP_OP_ERR);
    expect_none(&a);
    pair_close();
}

/* A destroyed queue pair's completions are gone, or still come, as those in the
 * queue are. */
static void what_is_late_goes_with_its_queue_pair(void **state)
{
    const struct vf_profile *profile = *state;

    pair_open(state, &usual);
    plan(0, VF_VERB_completion, 1, false, VF_EFFECT_DELAY, 30);
    complete(0, 2);
    expect_none(&a);
    assert_int_equal(to_state(a.qp, IBV_QPS_RESET), 0);
    pass(30 * MILLISECOND);
    if (!profile->reset_drops)
        EXPECT_NUMBERS(0, 1);
    expect_none(&a);
    pair_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_poll_takes_as_many_as_it_asks_for),
        EACH(a_queue_that_grows_keeps_what_it_has),
        EACH(a_queue_that_shrinks_keeps_what_it_has),
        EACH(a_queue_does_not_shrink_below_what_it_has),
        EACH(sizes_that_make_no_sense_are_refused),
        EACH(a_queue_that_was_too_small_can_grow),
        EACH(sends_and_receives_may_have_queues_of_their_own),
        EACH(an_error_says_which_request_and_no_more),
        EACH(a_late_completion_is_not_overtaken_by_its_own_queue),
        EACH(a_later_one_with_less_delay_does_not_overtake_either),
        EACH(a_plan_may_have_it_overtaken_all_the_same),
        EACH(the_other_queue_of_the_pair_overtakes),
        EACH(what_else_is_planned_waits_behind_it_too),
        EACH(what_is_late_goes_with_its_queue_pair),
    };

    return cmocka_run_group_tests(tests, NULL, stage_teardown);
}
