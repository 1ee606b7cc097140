/*
 * What a device says without being asked: completion events, for programs that
 * sleep instead of polling, and async events, for what concerns no completion.
 */
#include "pair_support.h"

static struct ibv_comp_channel *channel;

/* b's completions make events. */
static void open_channel(void **state, const struct pair *pair)
{
    pair_hosts(state);
    channel = ibv_create_comp_channel(b.context);
    assert_non_null(channel);
    assert_int_equal(ibv_destroy_cq(b.cq), 0);
    b.cq = ibv_create_cq(b.context, 64, &b, channel, 0);
    assert_non_null(b.cq);
    a.qp = pair_qp(&a, pair, NULL);
    b.qp = pair_qp(&b, pair, NULL);
    pair_connect(pair);
}

static void close_channel(void)
{
    host_end(&a);
    vf_thread_set_machine(1);
    assert_int_equal(ibv_destroy_qp(b.qp), 0);
    assert_int_equal(ibv_dereg_mr(b.mr), 0);
    assert_int_equal(ibv_destroy_cq(b.cq), 0);
    assert_int_equal(ibv_destroy_comp_channel(channel), 0);
    assert_int_equal(ibv_dealloc_pd(b.pd), 0);
    assert_int_equal(ibv_close_device(b.context), 0);
    free(b.memory);
    NOTHING_FOUND();
}

static void expect_event(void)
{
    struct ibv_cq *cq = NULL;
    void *context = NULL;

    pair_attend(&b);
    assert_int_equal(ibv_get_cq_event(channel, &cq, &context), 0);
    assert_ptr_equal(cq, b.cq);
    assert_ptr_equal(context, &b);
    ibv_ack_cq_events(cq, 1);
}

static void no_event(void)
{
    struct ibv_cq *cq;
    void *context;

    pair_attend(&b);
    assert_int_equal(ibv_get_cq_event(channel, &cq, &context), -1);
    assert_int_equal(errno, EAGAIN);
}

static void arm(int solicited_only)
{
    assert_int_equal(ibv_req_notify_cq(b.cq, solicited_only), 0);
}

static void send_one(unsigned flags)
{
    assert_int_equal(post_recv(&b, 1, 0, 64), 0);
    assert_int_equal(
        ask(&a, &b,
            (struct ask){
                .id = 2, .opcode = IBV_WR_SEND, .length = 64, .flags = flags}),
        0);
}

static void without_asking_there_is_no_event(void **state)
{
    open_channel(state, &usual);
    send_one(IBV_SEND_SOLICITED);
    no_event();
    close_channel();
}

static void one_request_is_for_one_event(void **state)
{
    open_channel(state, &usual);
    arm(0);
    send_one(0);
    send_one(0);
    expect_event();
    no_event();
    send_one(0);
    no_event();
    arm(0);
    no_event(); /* what was there before makes none */
    send_one(0);
    expect_event();
    close_channel();
}

static void ones_own_sends_make_events_too(void **state)
{
    open_channel(state, &usual);
    arm(0);
    assert_int_equal(post_recv(&a, 1, 0, 64), 0);
    assert_int_equal(
        ask(&b, &a, (struct ask){.id = 2, .opcode = IBV_WR_SEND, .length = 64}),
        0);
    expect_event();
    close_channel();
}

static void solicited_only_waits_for_the_sender_s_flag(void **state)
{
    open_channel(state, &usual);
    arm(1);
    send_one(0);
    no_event();
    send_one(IBV_SEND_SOLICITED);
    expect_event();
    send_one(IBV_SEND_SOLICITED);
    no_event();
    close_channel();
}

static void the_sender_s_flag_is_not_for_the_sender(void **state)
{
    open_channel(state, &usual);
    arm(1);
    assert_int_equal(post_recv(&a, 1, 0, 64), 0);
    assert_int_equal(ask(&b, &a,
                         (struct ask){.id = 2,
                                      .opcode = IBV_WR_SEND,
                                      .length = 64,
                                      .flags = IBV_SEND_SOLICITED}),
                     0);
    no_event();
    close_channel();
}

static void an_announced_write_can_be_solicited(void **state)
{
    open_channel(state, &usual);
    arm(1);
    for (int i = 0; i < 2; i++) {
        no_event();
        assert_int_equal(post_recv(&b, 1, 0, 64), 0);
        assert_int_equal(ask(&a, &b,
                             (struct ask){.id = 2,
                                          .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
                                          .length = 64,
                                          .flags = i ? IBV_SEND_SOLICITED : 0}),
                         0);
    }
    expect_event();
    close_channel();
}

static void an_error_is_always_solicited(void **state)
{
    open_channel(state, &usual);
    arm(1);
    assert_int_equal(post_recv(&b, 1, 0, 64), 0);
    assert_int_equal(to_state(b.qp, IBV_QPS_ERR), 0);
    expect_event();
    close_channel();
}

static void asking_for_all_outdoes_solicited_only(void **state)
{
    for (int order = 0; order < 2; order++) {
        open_channel(state, &usual);
        arm(order);
        arm(!order);
        send_one(0);
        expect_event();
        no_event();
        close_channel();
    }
}

static void events_are_counted_until_acknowledged(void **state)
{
    struct ibv_cq *cq;
    void *context;

    open_channel(state, &usual);
    arm(0);
    send_one(0);
    pair_attend(&b);
    assert_int_equal(ibv_get_cq_event(channel, &cq, &context), 0);
    assert_int_equal(ibv_destroy_qp(b.qp), 0);
    (void)ibv_destroy_cq(b.cq);
    FOUND("unacked-events in destroy_cq");
    pair_close();
}

static void several_queues_share_a_channel(void **state)
{
    struct ibv_cq *other, *cq;
    void *context;
    int mine = 0, others = 0;

    open_channel(state, &usual);
    other = ibv_create_cq(b.context, 16, &other, channel, 0);
    assert_int_equal(ibv_destroy_qp(b.qp), 0);
    b.qp =
        ibv_create_qp(b.pd, &(struct ibv_qp_init_attr){.send_cq = other,
                                                       .recv_cq = b.cq,
                                                       .qp_type = IBV_QPT_RC,
                                                       .cap = {4, 4, 1, 1, 0}});
    assert_int_equal(to_state(a.qp, IBV_QPS_RESET), 0);
    pair_connect(&usual);
    arm(0);
    assert_int_equal(ibv_req_notify_cq(other, 0), 0);
    send_one(0);
    assert_int_equal(post_recv(&a, 3, 0, 64), 0);
    assert_int_equal(
        ask(&b, &a, (struct ask){.id = 4, .opcode = IBV_WR_SEND, .length = 64}),
        0);
    pair_attend(&b);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ibv_get_cq_event(channel, &cq, &context), 0);
        mine += cq == b.cq;
        others += cq == other;
        ibv_ack_cq_events(cq, 1);
    }
    assert_int_equal(mine, 1);
    assert_int_equal(others, 1);
    assert_int_equal(ibv_destroy_qp(b.qp), 0);
    assert_int_equal(ibv_destroy_cq(other), 0);
    b.qp = pair_qp(&b, &usual, NULL);
    close_channel();
}

/* ---- async events ---- */

/* A port tells the processes on its machine: here there is but one, so these
 * are not run as between processes. */
static void port(const struct host *host, bool up, enum ibv_port_state state)
{
    struct ibv_async_event event;
    struct ibv_port_attr attr;

    vf_device_port(stage.world, host->machine, "rdma_en2", up);
    event = async_event(host);
    assert_int_equal(event.event_type,
                     up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
    assert_int_equal(event.element.port_num, 1);
    ibv_ack_async_event(&event);
    assert_int_equal(ibv_query_port(host->context, 1, &attr), 0);
    assert_int_equal(attr.state, state);
}

static void a_port_tells_of_its_changes(void **state)
{
    pair_open(state, &usual);
    port(&a, false, IBV_PORT_DOWN);
    vf_device_port(stage.world, 0, "rdma_en2", false);
    no_async_event(&a);
    no_async_event(&b); /* its own port is up */
    port(&a, true, IBV_PORT_ACTIVE);
    no_async_event(&a);
    vf_device_port(stage.world, 0, "no such device", false);
    pair_end();
}

static void every_context_is_told(void **state)
{
    struct ibv_async_event event;
    struct host other;

    pair_open(state, &usual);
    host_open(&other, 0);
    port(&a, false, IBV_PORT_DOWN);
    event = async_event(&other);
    assert_int_equal(event.event_type, IBV_EVENT_PORT_ERR);
    ibv_ack_async_event(&event);
    assert_int_equal(ibv_close_device(other.context), 0);
    pair_end();
}

static void a_cable_that_goes_is_told_at_both_ends(void **state)
{
    struct ibv_async_event event;

    pair_open(state, &usual);
    vf_device_unplug(stage.world, 0, "rdma_en2");
    event = async_event(&a);
    assert_int_equal(event.event_type, IBV_EVENT_PORT_ERR);
    event = async_event(&b);
    assert_int_equal(event.event_type, IBV_EVENT_PORT_ERR);
    pair_end();
}

static void a_queue_that_overflows_is_told_for_each_loss(void **state)
{
    struct ibv_async_event event;
    struct ibv_wc wc[64];
    int places;

    pair_make(state, &usual);
    assert_int_equal(ibv_destroy_qp(a.qp), 0);
    assert_int_equal(ibv_destroy_cq(a.cq), 0);
    a.cq = ibv_create_cq(a.context, 3, NULL, NULL, 0);
    places = a.cq->cqe;
    a.qp = pair_qp(&a, &usual, NULL);
    pair_connect(&usual);
    for (int i = 0; i < places + 2; i++) {
        assert_int_equal(post_recv(&b, 100, 0, 64), 0);
        assert_int_equal(ask(&a, &b,
                             (struct ask){.id = (uint64_t)i,
                                          .opcode = IBV_WR_SEND,
                                          .length = 64}),
                         0);
    }
    for (int i = 0; i < 2; i++) {
        event = async_event(&a);
        assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
        assert_ptr_equal(event.element.cq, a.cq);
        ibv_ack_async_event(&event);
    }
    no_async_event(&a);
    assert_int_equal(ibv_poll_cq(a.cq, 64, wc), places);
    assert_int_equal(wc[places - 1].wr_id, places - 1);
    expect_none(&a);
    FOUND("cq-overflow in poll_cq");
    assert_int_equal(state_of(a.qp), IBV_QPS_RTS);
    pair_close();
}

static void an_event_of_what_has_gone_is_not_told(void **state)
{
    pair_open(state, &usual);
    assert_int_equal(ask(&a, &b,
                         (struct ask){.id = 1,
                                      .opcode = IBV_WR_RDMA_WRITE,
                                      .length = 64,
                                      .rkey = 0x12380}),
                     0);
    expect_completion(&a, 1, IBV_WC_REM_ACCESS_ERR);
    assert_int_equal(ibv_destroy_qp(b.qp), 0);
    no_async_event(&b);
    b.qp = pair_qp(&b, &usual, NULL);
    pair_end();
}

/* An event that no device made, with a handle of another kind in it. */
static void an_event_of_the_wrong_kind_spoils_no_handle(void **state)
{
    static const enum ibv_event_type types[] = {
        IBV_EVENT_CQ_ERR, IBV_EVENT_SRQ_LIMIT_REACHED, IBV_EVENT_QP_FATAL};
    struct ibv_async_event event;
    struct ibv_mr before;

    pair_open(state, &usual);
    before = *a.mr;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        unsigned char past[128], *end = (unsigned char *)a.mr;

        memcpy(past, end, sizeof(past));
        event.event_type = types[i];
        event.element.cq = (struct ibv_cq *)a.mr;
        ibv_ack_async_event(&event);
        assert_memory_equal(end, past, sizeof(past));
    }
    assert_memory_equal(a.mr, &before, sizeof(before));
    pair_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(without_asking_there_is_no_event),
        EACH(one_request_is_for_one_event),
        EACH(ones_own_sends_make_events_too),
        EACH(solicited_only_waits_for_the_sender_s_flag),
        EACH(the_sender_s_flag_is_not_for_the_sender),
        EACH(an_announced_write_can_be_solicited),
        EACH(an_error_is_always_solicited),
        EACH(asking_for_all_outdoes_solicited_only),
        EACH(events_are_counted_until_acknowledged),
        EACH(several_queues_share_a_channel),
        BOTH(a_port_tells_of_its_changes),
        BOTH(every_context_is_told),
        BOTH(a_cable_that_goes_is_told_at_both_ends),
        EACH(a_queue_that_overflows_is_told_for_each_loss),
        EACH(an_event_of_what_has_gone_is_not_told),
        EACH(an_event_of_the_wrong_kind_spoils_no_handle),
    };

    return cmocka_run_group_tests(tests, NULL, stage_teardown);
}
