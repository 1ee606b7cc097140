/*
 * An unreliable connection: a send completes once it has left, and what became
 * of it its sender never learns. Whether one that finds no receive waits or is
 * lost, the profile says.
 */
#include "pair_support.h"

static bool waits(void **state)
{
    return ((const struct vf_profile *)*state)->send_waits;
}

static void open_uc(void **state)
{
    struct pair pair = of_type(IBV_QPT_UC);

    pair_open(state, &pair);
}

static struct ask send_of(uint64_t id, uint32_t length)
{
    return (struct ask){
        .id = id, .opcode = IBV_WR_SEND, .from = id * 64, .length = length};
}

static void sends_arrive_in_order(void **state)
{
    struct ibv_wc wc;

    open_uc(state);
    paint(a.memory, MEMORY, 1);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(post_recv(&b, 10 + i, i * 64, 64), 0);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(ask(&a, &b, send_of(i, 64 - i)), 0);
    for (unsigned i = 0; i < 8; i++) {
        expect_done(&a, i, IBV_WC_SEND);
        wc = expect_done(&b, 10 + i, IBV_WC_RECV);
        assert_int_equal(wc.byte_len, 64 - i);
        assert_memory_equal(b.memory + 64 * i, a.memory + 64 * i, 64 - i);
    }
    pair_end();
}

static void an_early_send_waits_or_is_lost(void **state)
{
    open_uc(state);
    assert_int_equal(ask(&a, &b, send_of(1, 64)), 0);
    if (!waits(state))
        expect_done(&a, 1, IBV_WC_SEND);
    expect_none(&a);
    assert_int_equal(vf_world_advance(stage.world), -1);
    assert_int_equal(post_recv(&b, 2, 0, 64), 0);
    if (waits(state)) {
        expect_done(&a, 1, IBV_WC_SEND);
        expect_done(&b, 2, IBV_WC_RECV);
    }
    expect_none(&b);
    assert_int_equal(state_of(a.qp), IBV_QPS_RTS);
    pair_end();
}

static void an_error_of_the_receiver_is_its_own(void **state)
{
    const struct vf_profile *profile = *state;

    open_uc(state);
    assert_int_equal(post_recv(&b, 1, 0, 63), 0);
    assert_int_equal(post_recv(&b, 2, 0, 64), 0);
    assert_int_equal(ask(&a, &b, send_of(3, 64)), 0);
    expect_done(&a, 3, IBV_WC_SEND);
    expect_completion(&b, 1, (enum ibv_wc_status)profile->too_long_status);
    expect_completion(&b, 2, IBV_WC_WR_FLUSH_ERR);
    assert_int_equal(state_of(a.qp), IBV_QPS_RTS);
    assert_int_equal(state_of(b.qp), IBV_QPS_ERR);
    pair_end();
}

static void a_peer_that_is_gone_is_not_noticed(void **state)
{
    open_uc(state);
    assert_int_equal(to_state(b.qp, IBV_QPS_ERR), 0);
    assert_int_equal(ask(&a, &b, send_of(1, 64)), 0);
    if (!waits(state))
        expect_done(&a, 1, IBV_WC_SEND);
    expect_none(&a);
    assert_int_equal(state_of(a.qp), IBV_QPS_RTS);
    pair_end();
}

static void packet_numbers_do_not_matter(void **state)
{
    struct pair pair = of_type(IBV_QPT_UC);

    pair.psn_ahead = 5;
    pair_open(state, &pair);
    assert_int_equal(post_recv(&b, 1, 0, 64), 0);
    assert_int_equal(ask(&a, &b, send_of(2, 64)), 0);
    expect_done(&b, 1, IBV_WC_RECV);
    expect_done(&a, 2, IBV_WC_SEND);
    pair_end();
}

/* What is sent to the other kind of queue pair is not understood there. */
static void a_connection_has_two_ends_of_a_kind(void **state)
{
    struct pair pair = of_type(IBV_QPT_UC);

    pair_hosts(state);
    a.qp = pair_qp(&a, &pair, NULL);
    b.qp = pair_qp(&b, &usual, NULL);
    pair_connect_one(a.qp, &pair, &b.gid, b.qp->qp_num);
    pair_connect_one(b.qp, &usual, &a.gid, a.qp->qp_num);
    assert_int_equal(post_recv(&b, 1, 0, 64), 0);
    assert_int_equal(ask(&a, &b, send_of(2, 64)), 0);
    expect_none(&b);
    pair_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(sends_arrive_in_order),
        EACH(an_early_send_waits_or_is_lost),
        EACH(an_error_of_the_receiver_is_its_own),
        EACH(a_peer_that_is_gone_is_not_noticed),
        EACH(packet_numbers_do_not_matter),
        EACH(a_connection_has_two_ends_of_a_kind),
    };

    return cmocka_run_group_tests(tests, NULL, stage_teardown);
}
