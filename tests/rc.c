/*
 * A reliable connection: what is sent arrives, once and in order, or both ends
 * learn why not. Time is virtual, so waits are tested to the nanosecond.
 */
#include "pair_support.h"

static const struct vf_profile *profile_of(void **state)
{
    return *state;
}

static struct ask send_of(uint64_t id, size_t from, uint32_t length)
{
    return (struct ask){
        .id = id, .opcode = IBV_WR_SEND, .from = from, .length = length};
}

static void expect_status(struct host *host, uint64_t id, int status)
{
    expect_completion(host, id, (enum ibv_wc_status)status);
}

/* ---- what arrives ---- */

static void sends_arrive_in_order_both_ways(void **state)
{
    pair_open(state, &usual);
    paint(a.memory, MEMORY / 2, 1);
    paint(b.memory, MEMORY / 2, 2);
    for (unsigned i = 0; i < 20; i++) {
        assert_int_equal(post_recv(&a, 100 + i, MEMORY / 2 + i * 100, 100), 0);
        assert_int_equal(post_recv(&b, 200 + i, MEMORY / 2 + i * 100, 100), 0);
        assert_int_equal(ask(&a, &b, send_of(i, i * 100, 100)), 0);
        assert_int_equal(ask(&b, &a, send_of(i, i * 100, 100)), 0);
    }
    for (unsigned i = 0; i < 20; i++) {
        expect_done(&a, i, IBV_WC_SEND);
        expect_done(&a, 100 + i, IBV_WC_RECV);
        expect_done(&b, 200 + i, IBV_WC_RECV);
        expect_done(&b, i, IBV_WC_SEND);
    }
    assert_memory_equal(a.memory, b.memory + MEMORY / 2, 2000);
    assert_memory_equal(b.memory, a.memory + MEMORY / 2, 2000);
    expect_none(&a);
    expect_none(&b);
    pair_end();
}

static void receives_say_what_arrived(void **state)
{
    unsigned grh = profile_of(state)->recv_grh ? IBV_WC_GRH : 0;
    struct ibv_wc wc;

    pair_open(state, &usual);
    assert_int_equal(post_recv(&b, 1, 0, 4096), 0);
    assert_int_equal(post_recv(&b, 2, 4096, 4096), 0);
    assert_int_equal(ask(&a, &b, send_of(3, 0, 77)), 0);
    assert_int_equal(ask(&a, &b,
                         (struct ask){.id = 4,
                                      .opcode = IBV_WR_SEND_WITH_IMM,
                                      .length = 78,
                                      .other = 0xabcd0123}),
                     0);
    wc = expect_done(&b, 1, IBV_WC_RECV);
    assert_int_equal(wc.byte_len, 77);
    assert_int_equal(wc.wc_flags, grh);
    assert_int_equal(wc.src_qp, 0);
    wc = expect_done(&b, 2, IBV_WC_RECV);
    assert_int_equal(wc.byte_len, 78);
    assert_int_equal(wc.wc_flags, grh | IBV_WC_WITH_IMM);
    assert_int_equal(ntohl(wc.imm_data), 0xabcd0123);
    expect_done(&a, 3, IBV_WC_SEND);
    expect_done(&a, 4, IBV_WC_SEND);
    pair_end();
}

static void a_receiver_in_rtr_receives(void **state)
{
    pair_make(state, &usual);
    assert_int_equal(pair_init(b.qp, &usual), 0);
    assert_int_equal(post_recv(&b, 1, 0, 64), 0);
    assert_int_equal(pair_rtr(b.qp, &usual, &a.gid, a.qp->qp_num), 0);
    pair_connect_one(a.qp, &usual, &b.gid, b.qp->qp_num);
    assert_int_equal(ask(&a, &b, send_of(2, 0, 64)), 0);
    expect_done(&b, 1, IBV_WC_RECV);
    expect_done(&a, 2, IBV_WC_SEND);
    pair_end();
}

static void entries_are_gathered_and_scattered(void **state)
{
    static const uint32_t gather[4] = {3, 0, 500, 97};
    static const uint32_t scatter[4] = {1, 400, 0, 300};
    struct ibv_sge from[4], to[4];
    struct ibv_send_wr send = {.wr_id = 1,
                               .sg_list = from,
                               .num_sge = 4,
                               .opcode = IBV_WR_SEND,
                               .send_flags = IBV_SEND_SIGNALED};
    struct ibv_recv_wr recv = {.wr_id = 2, .sg_list = to, .num_sge = 4};
    struct ibv_send_wr *bad_send;
    struct ibv_recv_wr *bad_recv;
    unsigned char sent[600], got[600];
    size_t at = 0;

    pair_open(state, &usual);
    paint(a.memory, MEMORY, 3);
    for (unsigned i = 0; i < 4; i++) {
        from[i] = (struct ibv_sge){(uintptr_t)a.memory + i * 1000 + i,
                                   gather[i], a.mr->lkey};
        to[i] = (struct ibv_sge){(uintptr_t)b.memory + i * 2000, scatter[i],
                                 b.mr->lkey};
        memcpy(sent + at, a.memory + i * 1000 + i, gather[i]);
        at += gather[i];
    }
    assert_int_equal(ibv_post_recv(b.qp, &recv, &bad_recv), 0);
    assert_int_equal(ibv_post_send(a.qp, &send, &bad_send), 0);
    assert_int_equal(expect_done(&b, 2, IBV_WC_RECV).byte_len, 600);
    memcpy(got, b.memory, 1);
    memcpy(got + 1, b.memory + 2000, 400);
    memcpy(got + 401, b.memory + 6000, 199);
    assert_memory_equal(sent, got, 600);
    assert_int_equal(b.memory[6199], 0);
    expect_done(&a, 1, IBV_WC_SEND);
    pair_end();
}

static void nothing_at_all_can_be_sent(void **state)
{
    pair_open(state, &usual);
    assert_int_equal(post_recv(&b, 1, 0, 0), 0);
    assert_int_equal(post_recv(&b, 2, 0, 64), 0);
    assert_int_equal(ask(&a, &b, send_of(3, 0, 0)), 0);
    assert_int_equal(post_send(&a, 4, 0, 0), 0);
    assert_int_equal(expect_done(&b, 1, IBV_WC_RECV).byte_len, 0);
    assert_int_equal(expect_done(&b, 2, IBV_WC_RECV).byte_len, 0);
    expect_done(&a, 3, IBV_WC_SEND);
    expect_done(&a, 4, IBV_WC_SEND);
    pair_end();
}

static void inline_bytes_are_those_of_the_post(void **state)
{
    struct ibv_sge sge;
    struct ibv_send_wr wr = {.wr_id = 1,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE};
    struct ibv_send_wr *bad;
    unsigned char bytes[64];

    pair_open(state, &usual);
    paint(bytes, sizeof(bytes), 4);
    sge = (struct ibv_sge){(uintptr_t)bytes, sizeof(bytes), 0}; /* no key */
    assert_int_equal(ibv_post_send(a.qp, &wr, &bad), 0);
    memset(bytes, 0, sizeof(bytes));
    assert_int_equal(post_recv(&b, 2, 0, 64), 0);
    expect_done(&b, 2, IBV_WC_RECV);
    expect_done(&a, 1, IBV_WC_SEND);
    paint(bytes, sizeof(bytes), 4);
    assert_memory_equal(b.memory, bytes, sizeof(bytes));
    pair_end();
}

static void more_inline_than_granted_is_refused(void **state)
{
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr;
    struct ask what;

    pair_open(state, &usual);
    assert_int_equal(ibv_query_qp(a.qp, &attr, IBV_QP_CAP, &init), 0);
    what = send_of(1, 0, init.cap.max_inline_data + 1);
    what.flags = IBV_SEND_INLINE;
    assert_int_equal(ask(&a, &b, what), EINVAL);
    FOUND("inline-too-long in post_send");
    expect_none(&a);
    pair_close();
}

static void only_what_asks_for_it_completes(void **state)
{
    struct ask quiet = send_of(1, 0, 64);

    pair_open(state, &usual);
    quiet.unsignaled = true;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(post_recv(&b, 10 + i, 0, 64), 0);
    assert_int_equal(ask(&a, &b, quiet), 0);
    assert_int_equal(ask(&a, &b, quiet), 0);
    expect_none(&a);
    assert_int_equal(ask(&a, &b, send_of(2, 0, 64)), 0);
    expect_done(&a, 2, IBV_WC_SEND);
    expect_none(&a);
    for (unsigned i = 0; i < 3; i++)
        expect_done(&b, 10 + i, IBV_WC_RECV);
    pair_end();
}

static void a_queue_pair_may_signal_all(void **state)
{
    struct pair pair = usual;
    struct ask quiet = send_of(1, 0, 64);

    pair.all_signaled = 1;
    pair_open(state, &pair);
    quiet.unsignaled = true;
    assert_int_equal(post_recv(&b, 2, 0, 64), 0);
    assert_int_equal(ask(&a, &b, quiet), 0);
    expect_done(&a, 1, IBV_WC_SEND);
    expect_done(&b, 2, IBV_WC_RECV);
    pair_end();
}

static void a_failure_completes_unasked(void **state)
{
    struct ask quiet = send_of(1, 0, 64);

    pair_open(state, &usual);
    quiet.unsignaled = true;
    assert_int_equal(ask(&a, &b, quiet), 0);
    assert_int_equal(to_state(a.qp, IBV_QPS_ERR), 0);
    expect_completion(&a, 1, IBV_WC_WR_FLUSH_ERR);
    pair_end();
}

static void a_chain_is_taken_in_order(void **state)
{
    struct ibv_send_wr wr[8];
    struct ibv_recv_wr receives[8];
    struct ibv_send_wr *bad_send;
    struct ibv_recv_wr *bad_recv;

    pair_open(state, &usual);
    for (unsigned i = 0; i < 8; i++) {
        wr[i] = (struct ibv_send_wr){.wr_id = i,
                                     .next = i < 7 ? &wr[i + 1] : NULL,
                                     .opcode = IBV_WR_SEND_WITH_IMM,
                                     .imm_data = htonl(i),
                                     .send_flags = IBV_SEND_SIGNALED};
        receives[i] = (struct ibv_recv_wr){
            .wr_id = 10 + i, .next = i < 7 ? &receives[i + 1] : NULL};
    }
    assert_int_equal(ibv_post_recv(b.qp, receives, &bad_recv), 0);
    assert_int_equal(ibv_post_send(a.qp, wr, &bad_send), 0);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(ntohl(expect_done(&b, 10 + i, IBV_WC_RECV).imm_data),
                         i);
        expect_done(&a, i, IBV_WC_SEND);
    }
    pair_end();
}

static void a_queue_pair_talks_to_itself(void **state)
{
    pair_make(state, &usual);
    pair_connect_one(a.qp, &usual, &a.gid, a.qp->qp_num);
    paint(a.memory, 64, 5);
    assert_int_equal(ask(&a, &a, send_of(1, 0, 64)), 0);
    assert_int_equal(post_recv(&a, 2, 4096, 64), 0);
    expect_done(&a, 2, IBV_WC_RECV);
    expect_done(&a, 1, IBV_WC_SEND);
    assert_memory_equal(a.memory, a.memory + 4096, 64);
    assert_int_equal(ask(&a, &a,
                         (struct ask){.id = 3,
                                      .opcode = IBV_WR_RDMA_WRITE,
                                      .at = 8192,
                                      .length = 64}),
                     0);
    expect_done(&a, 3, IBV_WC_RDMA_WRITE);
    assert_memory_equal(a.memory, a.memory + 8192, 64);
    pair_end();
}

/* ---- a receiver that is not ready ---- */

static struct pair not_ready(uint8_t tries, uint8_t timer)
{
    struct pair pair = usual;

    pair.rnr_retry = tries;
    pair.min_rnr_timer = timer;
    return pair;
}

static void no_receive_fails_after_the_last_try(void **state)
{
    static const struct {
        uint8_t timer;
        int64_t step;
    } rows[] = {{1, 10}, {12, 640}, {31, 491520}, {0, 655360}};

    for (unsigned i = 0; i < 4; i++) {
        int64_t wait = 3 * rows[i].step * MICROSECOND;
        struct pair pair = not_ready(3, rows[i].timer);

        pair_open(state, &pair);
        assert_int_equal(ask(&a, &b, send_of(1, 0, 64)), 0);
        assert_int_equal(ask(&a, &b, send_of(2, 0, 64)), 0);
        assert_int_equal(vf_world_advance(stage.world), wait);
        pass(wait - 1);
        expect_none(&a);
        pass(wait);
        expect_status(&a, 1, IBV_WC_RNR_RETRY_EXC_ERR);
        expect_status(&a, 2, IBV_WC_WR_FLUSH_ERR);
        assert_int_equal(state_of(a.qp), IBV_QPS_ERR);
        assert_int_equal(state_of(b.qp), IBV_QPS_RTS);
        assert_int_equal(vf_world_advance(stage.world), -1);
        pair_end();
    }
}

static void without_tries_it_fails_at_once(void **state)
{
    struct pair pair = not_ready(0, 12);

    pair_open(state, &pair);
    assert_int_equal(ask(&a, &b, send_of(1, 0, 64)), 0);
    expect_status(&a, 1, IBV_WC_RNR_RETRY_EXC_ERR);
    assert_int_equal(state_of(a.qp), IBV_QPS_ERR);
    pair_end();
}

static void seven_tries_are_for_ever(void **state)
{
    pair_open(state, &usual);
    assert_int_equal(ask(&a, &b, send_of(1, 0, 64)), 0);
    assert_int_equal(vf_world_advance(stage.world), -1);
    pass(INT64_C(3600000) * MILLISECOND);
    expect_none(&a);
    assert_int_equal(post_recv(&b, 2, 0, 64), 0);
    expect_done(&a, 1, IBV_WC_SEND);
    expect_done(&b, 2, IBV_WC_RECV);
    pair_end();
}

static void a_receive_in_time_is_filled(void **state)
{
    struct pair pair = not_ready(3, 12);

    pair_open(state, &pair);
    assert_int_equal(ask(&a, &b, send_of(1, 0, 64)), 0);
    assert_int_equal(ask(&a, &b, send_of(2, 0, 64)), 0);
    pass(1919999);
    assert_int_equal(post_recv(&b, 3, 0, 64), 0);
    expect_done(&a, 1, IBV_WC_SEND);
    expect_done(&b, 3, IBV_WC_RECV);
    /* The second one has waited in line so far: its time begins now. */
    pass(1919999 + 1920000 - 1);
    expect_none(&a);
    pass(1919999 + 1920000);
    expect_status(&a, 2, IBV_WC_RNR_RETRY_EXC_ERR);
    pair_end();
}

/* ---- a peer that does not answer ---- */

static const int64_t patience = 3 * (INT64_C(4096) << 10);

static struct pair impatient(void)
{
    struct pair pair = usual;

    pair.timeout = 10;
    pair.retry_cnt = 2;
    return pair;
}

static void expect_no_answer(void)
{
    expect_none(&a);
    assert_int_equal(vf_world_advance(stage.world), patience);
    pass(patience - 1);
    expect_none(&a);
    pass(patience);
    expect_status(&a, 1, IBV_WC_RETRY_EXC_ERR);
    expect_status(&a, 2, IBV_WC_WR_FLUSH_ERR);
    assert_int_equal(state_of(a.qp), IBV_QPS_ERR);
}

static void two_sends(void)
{
    assert_int_equal(ask(&a, &b, send_of(1, 0, 64)), 0);
    assert_int_equal(ask(&a, &b, send_of(2, 0, 64)), 0);
}

static void nobody_there_fails_after_the_last_try(void **state)
{
    struct pair pair = impatient();

    pair_make(state, &pair);
    pair_connect_one(a.qp, &pair, &b.gid, 0xabcdef);
    two_sends();
    expect_no_answer();
    pair_end();
}

static void a_peer_in_the_wrong_state_is_nobody(void **state)
{
    static const enum ibv_qp_state states[] = {IBV_QPS_RESET, IBV_QPS_INIT,
                                               IBV_QPS_ERR};
    struct pair pair = impatient();

    for (unsigned i = 0; i < 3; i++) {
        pair_make(state, &pair);
        pair_connect_one(a.qp, &pair, &b.gid, b.qp->qp_num);
        if (states[i] != IBV_QPS_RESET)
            assert_int_equal(pair_init(b.qp, &pair), 0);
        if (states[i] == IBV_QPS_ERR)
            assert_int_equal(to_state(b.qp, IBV_QPS_ERR), 0);
        two_sends();
        expect_no_answer();
        assert_int_equal(state_of(b.qp), states[i]);
        pair_end();
    }
}

/* The send waits for a receive for ever; then the peer goes, in one way or
 * another, and it waits for an answer, which has an end. */
static void a_peer_that_goes_is_noticed(void **state)
{
    struct pair pair = impatient();

    for (int how = 0; how < 4; how++) {
        pair_open(state, &pair);
        two_sends();
        assert_int_equal(vf_world_advance(stage.world), -1);
        if (how == 0)
            assert_int_equal(to_state(b.qp, IBV_QPS_ERR), 0);
        else if (how == 1)
            assert_int_equal(to_state(b.qp, IBV_QPS_RESET), 0);
        else if (how == 2)
            assert_int_equal(ibv_destroy_qp(b.qp), 0);
        else
            vf_machine_end(stage.world, 1);
        expect_no_answer();
        pair_close();
    }
}

static void a_peer_whose_port_goes_is_noticed(void **state)
{
    struct pair pair = impatient();

    pair_open(state, &pair);
    two_sends();
    vf_device_port(stage.world, 1, "rdma_en2", false);
    expect_no_answer();
    pair_end();
}

static void a_port_that_comes_back_in_time_is_no_failure(void **state)
{
    struct pair pair = impatient();

    pair_open(state, &pair);
    vf_device_port(stage.world, 0, "rdma_en2", false);
    assert_int_equal(post_recv(&b, 3, 0, 64), 0);
    assert_int_equal(post_recv(&b, 4, 0, 64), 0);
    two_sends();
    pass(patience - 1);
    expect_none(&a);
    vf_device_port(stage.world, 0, "rdma_en2", true);
    expect_done(&a, 1, IBV_WC_SEND);
    expect_done(&a, 2, IBV_WC_SEND);
    expect_done(&b, 3, IBV_WC_RECV);
    expect_done(&b, 4, IBV_WC_RECV);
    pair_end();
}

static void a_wrong_packet_number_is_never_answered(void **state)
{
    struct pair pair = impatient();

    pair.psn_ahead = 1;
    pair_open(state, &pair);
    assert_int_equal(post_recv(&b, 3, 0, 64), 0);
    two_sends();
    expect_no_answer();
    expect_none(&b);
    pair_end();
}

static void no_timeout_is_for_ever(void **state)
{
    struct pair pair = impatient();

    pair.timeout = 0;
    pair_make(state, &pair);
    pair_connect_one(a.qp, &pair, &b.gid, 0xabcdef);
    two_sends();
    pass(INT64_C(3600000) * MILLISECOND);
    expect_none(&a);
    pair_end();
}

static void a_peer_that_comes_in_time_is_served(void **state)
{
    struct pair pair = impatient();

    pair_make(state, &pair);
    pair_connect_one(a.qp, &pair, &b.gid, b.qp->qp_num);
    two_sends();
    pass(patience - 1);
    assert_int_equal(pair_init(b.qp, &pair), 0);
    assert_int_equal(post_recv(&b, 3, 0, 64), 0);
    assert_int_equal(post_recv(&b, 4, 0, 64), 0);
    assert_int_equal(pair_rtr(b.qp, &pair, &a.gid, a.qp->qp_num), 0);
    expect_done(&a, 1, IBV_WC_SEND);
    expect_done(&a, 2, IBV_WC_SEND);
    expect_done(&b, 3, IBV_WC_RECV);
    pass(patience * 2);
    assert_int_equal(state_of(a.qp), IBV_QPS_RTS);
    pair_close();
}

/* ---- errors of one end and the other ---- */

static void too_long_a_send_fails_both_ends(void **state)
{
    const struct vf_profile *profile = profile_of(state);

    pair_open(state, &usual);
    memset(a.memory, 0x11, MEMORY);
    assert_int_equal(post_recv(&b, 11, 0, 64), 0);
    assert_int_equal(post_recv(&b, 12, 4096, 64), 0);
    assert_int_equal(ask(&a, &b, send_of(1, 0, 65)), 0);
    expect_status(&a, 1, profile->rc_too_long_status);
    expect_status(&b, 11, profile->too_long_status);
    expect_status(&b, 12, IBV_WC_WR_FLUSH_ERR);
    assert_int_equal(state_of(a.qp), IBV_QPS_ERR);
    assert_int_equal(state_of(b.qp), IBV_QPS_ERR);
    assert_int_equal(b.memory[64], 0);
    pair_end();
}

static void a_receive_that_cannot_be_written_fails_both_ends(void **state)
{
    const struct vf_profile *profile = profile_of(state);

    pair_open(state, &usual);
    assert_int_equal(post_recv_key(&b, 11, 0, 64, 0x12300), 0);
    FOUND("unknown-key in post_recv");
    assert_int_equal(ask(&a, &b, send_of(1, 0, 64)), 0);
    expect_status(&a, 1, profile->rc_refused_status);
    expect_status(&b, 11, profile->recv_key_status);
    assert_int_equal(state_of(a.qp), IBV_QPS_ERR);
    assert_int_equal(state_of(b.qp), IBV_QPS_ERR);
    pair_end();
}

static void a_send_that_cannot_be_read_fails_its_own_end(void **state)
{
    const struct vf_profile *profile = profile_of(state);

    for (int outside = 0; outside < 2; outside++) {
        pair_open(state, &usual);
        assert_int_equal(post_recv(&b, 11, 0, 64), 0);
        if (outside)
            assert_int_equal(ask(&a, &b, send_of(1, MEMORY - 63, 64)), 0);
        else
            assert_int_equal(post_send_key(&a, 1, 0, 64, 0x12300), 0);
        FOUND(outside ? "sge-outside-mr in post_send"
                      : "unknown-key in post_send");
        expect_status(&a, 1,
                      outside ? profile->send_range_status
                              : profile->send_key_status);
        assert_int_equal(state_of(a.qp), IBV_QPS_ERR);
        expect_none(&b);
        assert_int_equal(state_of(b.qp), IBV_QPS_RTS);
        pair_end();
    }
}

static void an_error_flushes_in_order(void **state)
{
    pair_open(state, &usual);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(ask(&a, &b, send_of(i, 0, 64)), 0);
    for (unsigned i = 4; i < 8; i++)
        assert_int_equal(post_recv(&a, i, 0, 64), 0);
    assert_int_equal(to_state(a.qp, IBV_QPS_ERR), 0);
    for (unsigned i = 0; i < 8; i++)
        expect_completion(&a, i, IBV_WC_WR_FLUSH_ERR);
    expect_none(&a);
    pair_end();
}

static void a_full_send_queue_is_enomem(void **state)
{
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr;
    uint32_t depth;

    pair_open(state, &usual);
    assert_int_equal(ibv_query_qp(a.qp, &attr, IBV_QP_CAP, &init), 0);
    depth = init.cap.max_send_wr;
    assert_true(depth >= usual.send_depth);
    for (uint32_t i = 0; i < depth; i++)
        assert_int_equal(ask(&a, &b, send_of(i, 0, 64)), 0);
    NOTHING_FOUND();
    assert_int_equal(ask(&a, &b, send_of(depth, 0, 64)), ENOMEM);
    FOUND("queue-overflow in post_send");
    assert_int_equal(post_recv(&b, 1, 0, 64), 0);
    expect_done(&a, 0, IBV_WC_SEND);
    assert_int_equal(ask(&a, &b, send_of(depth, 0, 64)), 0);
    NOTHING_FOUND();
    pair_close();
}

static void more_entries_than_granted_are_refused(void **state)
{
    struct ibv_sge sge[64];
    struct ibv_send_wr send = {.sg_list = sge, .opcode = IBV_WR_SEND};
    struct ibv_recv_wr recv = {.sg_list = sge};
    struct ibv_send_wr *bad_send = NULL;
    struct ibv_recv_wr *bad_recv = NULL;
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr;

    pair_open(state, &usual);
    assert_int_equal(ibv_query_qp(a.qp, &attr, IBV_QP_CAP, &init), 0);
    memset(sge, 0, sizeof(sge));
    send.num_sge = (int)init.cap.max_send_sge + 1;
    recv.num_sge = (int)init.cap.max_recv_sge + 1;
    assert_int_equal(ibv_post_send(a.qp, &send, &bad_send), EINVAL);
    assert_ptr_equal(bad_send, &send);
    assert_int_equal(ibv_post_recv(a.qp, &recv, &bad_recv), EINVAL);
    assert_ptr_equal(bad_recv, &recv);
    pair_close();
}

/* ---- states ---- */

static void a_reset_forgets_and_can_begin_again(void **state)
{
    pair_open(state, &usual);
    assert_int_equal(ask(&a, &b, send_of(1, 0, 64)), 0);
    assert_int_equal(post_recv(&a, 2, 0, 64), 0);
    assert_int_equal(to_state(a.qp, IBV_QPS_RESET), 0);
    assert_int_equal(to_state(b.qp, IBV_QPS_RESET), 0);
    expect_none(&a);
    pair_connect(&usual);
    assert_int_equal(post_recv(&b, 3, 0, 64), 0);
    assert_int_equal(ask(&a, &b, send_of(4, 0, 64)), 0);
    expect_done(&a, 4, IBV_WC_SEND);
    expect_done(&b, 3, IBV_WC_RECV);
    expect_none(&a);
    pair_end();
}

static void a_drained_queue_holds_its_sends(void **state)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD,
                               .en_sqd_async_notify = 1};
    struct ibv_async_event event;

    pair_open(state, &usual);
    assert_int_equal(post_recv(&b, 1, 0, 64), 0);
    assert_int_equal(post_recv(&a, 2, 0, 64), 0);
    assert_int_equal(
        ibv_modify_qp(a.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY),
        0);
    event = async_event(&a);
    assert_int_equal(event.event_type, IBV_EVENT_SQ_DRAINED);
    assert_ptr_equal(event.element.qp, a.qp);
    ibv_ack_async_event(&event);
    assert_int_equal(ask(&a, &b, send_of(3, 0, 64)), 0);
    expect_none(&a);
    assert_int_equal(ask(&b, &a, send_of(4, 0, 64)), 0);
    expect_done(&a, 2, IBV_WC_RECV);
    expect_done(&b, 4, IBV_WC_SEND);
    assert_int_equal(to_state(a.qp, IBV_QPS_RTS), 0);
    expect_done(&a, 3, IBV_WC_SEND);
    expect_done(&b, 1, IBV_WC_RECV);
    pair_end();
}

static void what_was_set_can_be_read_back(void **state)
{
    const struct vf_profile *profile = *state;
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr;

    pair_open(state, &usual);
    assert_int_equal(ibv_query_qp(a.qp, &attr, ~0, &init), 0);
    assert_int_equal(attr.qp_state, IBV_QPS_RTS);
    assert_int_equal(attr.cur_qp_state, profile->query_keeps_cur_state
                                            ? IBV_QPS_RESET
                                            : IBV_QPS_RTS);
    assert_int_equal(attr.path_mtu, IBV_MTU_1024);
    assert_int_equal(attr.dest_qp_num, b.qp->qp_num);
    assert_int_equal(attr.rq_psn, 7);
    assert_int_equal(attr.sq_psn, 7);
    assert_int_equal(attr.qp_access_flags, EVERY_ACCESS);
    assert_int_equal(attr.timeout, usual.timeout);
    assert_int_equal(attr.retry_cnt, usual.retry_cnt);
    assert_int_equal(attr.rnr_retry, usual.rnr_retry);
    assert_int_equal(attr.min_rnr_timer, usual.min_rnr_timer);
    assert_int_equal(attr.max_rd_atomic, usual.reads);
    assert_int_equal(attr.max_dest_rd_atomic, usual.reads);
    assert_int_equal(attr.port_num, 1);
    assert_memory_equal(&attr.ah_attr.grh.dgid, &b.gid, sizeof(b.gid));
    assert_int_equal(init.qp_type, IBV_QPT_RC);
    assert_ptr_equal(init.send_cq, a.cq);
    assert_int_equal(init.sq_sig_all, 0);
    pair_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(sends_arrive_in_order_both_ways),
        EACH(receives_say_what_arrived),
        EACH(a_receiver_in_rtr_receives),
        EACH(entries_are_gathered_and_scattered),
        EACH(nothing_at_all_can_be_sent),
        EACH(inline_bytes_are_those_of_the_post),
        EACH(more_inline_than_granted_is_refused),
        EACH(only_what_asks_for_it_completes),
        EACH(a_queue_pair_may_signal_all),
        EACH(a_failure_completes_unasked),
        EACH(a_chain_is_taken_in_order),
        EACH(a_queue_pair_talks_to_itself),
        EACH(no_receive_fails_after_the_last_try),
        EACH(without_tries_it_fails_at_once),
        EACH(seven_tries_are_for_ever),
        EACH(a_receive_in_time_is_filled),
        EACH(nobody_there_fails_after_the_last_try),
        EACH(a_peer_in_the_wrong_state_is_nobody),
        EACH(a_peer_that_goes_is_noticed),
        EACH(a_peer_whose_port_goes_is_noticed),
        EACH(a_port_that_comes_back_in_time_is_no_failure),
        EACH(a_wrong_packet_number_is_never_answered),
        EACH(no_timeout_is_for_ever),
        EACH(a_peer_that_comes_in_time_is_served),
        EACH(too_long_a_send_fails_both_ends),
        EACH(a_receive_that_cannot_be_written_fails_both_ends),
        EACH(a_send_that_cannot_be_read_fails_its_own_end),
        EACH(an_error_flushes_in_order),
        EACH(a_full_send_queue_is_enomem),
        EACH(more_entries_than_granted_are_refused),
        EACH(a_reset_forgets_and_can_begin_again),
        EACH(a_drained_queue_holds_its_sends),
        EACH(what_was_set_can_be_read_back),
    };

    return cmocka_run_group_tests(tests, NULL, stage_teardown);
}
