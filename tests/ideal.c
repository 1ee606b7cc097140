/*
 * What the profile `ideal` does where devices differ and unmodified programs
 * want it so: LIDs beside GIDs, datagrams that wait a while, a RESET that
 * leaves nothing behind.
 */
#include "pair_support.h"

#define ON_IDEAL(name) ON(name, ideal), SHARED(name, ideal)

static struct ibv_port_attr port_of(const struct host *host)
{
    struct ibv_port_attr port;

    memset(&port, 0, sizeof(port));
    assert_int_equal(ibv_query_port(host->context, 1, &port), 0);
    return port;
}

static void a_device_says_what_programs_ask_for(void **state)
{
    struct ibv_device_attr attr;

    pair_hosts(state);
    assert_int_equal(ibv_query_device(a.context, &attr), 0);
    assert_int_not_equal(attr.vendor_id, 0);
    assert_true(attr.max_qp_rd_atom > 0 && attr.max_qp_rd_atom < 256);
    assert_true(attr.max_qp_init_rd_atom > 0);
    assert_true(attr.max_srq_wr >= 4096);
    assert_int_not_equal(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW, 0);
    assert_int_equal(attr.device_cap_flags & IBV_DEVICE_XRC, 0);
    assert_int_equal(port_of(&a).active_width, 2);
    assert_int_equal(port_of(&a).max_vl_num, 1);
    pair_close();
}

static void every_port_has_a_lid_of_its_own(void **state)
{
    pair_hosts(state);
    assert_int_not_equal(port_of(&a).lid, 0);
    assert_int_not_equal(port_of(&b).lid, 0);
    assert_int_not_equal(port_of(&a).lid, port_of(&b).lid);
    pair_close();
}

static void connect_by_lid(struct host *host, const struct host *peer)
{
    struct ibv_qp_attr attr = rtr_attr(&peer->gid, peer->qp->qp_num);

    memset(&attr.ah_attr, 0, sizeof(attr.ah_attr));
    attr.ah_attr.port_num = 1;
    attr.ah_attr.dlid = port_of(peer).lid;
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 1;
    assert_int_equal(pair_init(host->qp, &usual), 0);
    assert_int_equal(ibv_modify_qp(host->qp, &attr,
                                   RTR_MASK | IBV_QP_MAX_DEST_RD_ATOMIC |
                                       IBV_QP_MIN_RNR_TIMER),
                     0);
    assert_int_equal(pair_rts(host->qp, &usual), 0);
}

static void a_connection_without_a_gid_goes_by_lid(void **state)
{
    pair_make(state, &usual);
    connect_by_lid(&a, &b);
    connect_by_lid(&b, &a);
    assert_int_equal(post_recv(&b, 1, 0, 64), 0);
    assert_int_equal(post_send(&a, 2, 0, 64), 0);
    expect_done(&a, 2, IBV_WC_SEND);
    expect_done(&b, 1, IBV_WC_RECV);
    pair_end();
}

static void an_address_without_a_gid_is_refused(void **state)
{
    struct ibv_ah_attr attr = {.port_num = 1};

    pair_hosts(state);
    attr.dlid = port_of(&b).lid;
    errno = 0;
    assert_null(ibv_create_ah(a.pd, &attr));
    assert_int_equal(errno, EINVAL);
    pair_close();
}

/* ---- datagrams ---- */

static struct ibv_ah *to_b;

static void open_datagrams(void **state)
{
    struct pair pair = of_type(IBV_QPT_UD);
    struct ibv_ah_attr attr = {
        .is_global = 1, .port_num = 1, .grh = {.sgid_index = 1}};

    pair_open(state, &pair);
    attr.grh.dgid = b.gid;
    to_b = ibv_create_ah(a.pd, &attr);
    assert_non_null(to_b);
}

static void close_datagrams(void)
{
    assert_int_equal(ibv_destroy_ah(to_b), 0);
    pair_end();
}

static void throw_at_b(uint64_t id)
{
    struct ibv_sge sge = {(uintptr_t)a.memory, 64, a.mr->lkey};
    struct ibv_send_wr wr = {
        .wr_id = id,
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = IBV_WR_SEND,
        .send_flags = IBV_SEND_SIGNALED,
        .wr.ud = {.ah = to_b, .remote_qpn = b.qp->qp_num, .remote_qkey = QKEY},
    };
    struct ibv_send_wr *bad;

    assert_int_equal(ibv_post_send(a.qp, &wr, &bad), 0);
}

static void a_datagram_waits_for_a_receive(void **state)
{
    open_datagrams(state);
    throw_at_b(1);
    throw_at_b(2);
    expect_none(&a);
    assert_int_equal(post_recv(&b, 3, 0, 200), 0);
    expect_done(&a, 1, IBV_WC_SEND);
    expect_done(&b, 3, IBV_WC_RECV);
    expect_none(&a);
    assert_int_equal(post_recv(&b, 4, 0, 200), 0);
    expect_done(&a, 2, IBV_WC_SEND);
    expect_done(&b, 4, IBV_WC_RECV);
    close_datagrams();
}

static void a_datagram_does_not_wait_for_ever(void **state)
{
    open_datagrams(state);
    throw_at_b(1);
    pass(199 * MILLISECOND);
    expect_none(&a);
    pass(201 * MILLISECOND);
    expect_done(&a, 1, IBV_WC_SEND);
    assert_int_equal(post_recv(&b, 2, 0, 200), 0);
    expect_none(&b);
    close_datagrams();
}

/* By IPv6 1, by IPv4 2, as some devices' completions say. */
static void a_datagram_says_how_it_came(void **state)
{
    open_datagrams(state);
    assert_int_equal(post_recv(&b, 1, 0, 200), 0);
    throw_at_b(2);
    assert_int_equal(expect_done(&b, 1, IBV_WC_RECV).sl, 2);
    expect_done(&a, 2, IBV_WC_SEND);
    close_datagrams();
}

/* ---- completion queues ---- */

static void a_reset_takes_its_completions_away(void **state)
{
    pair_open(state, &usual);
    assert_int_equal(post_recv(&b, 1, 0, 64), 0);
    assert_int_equal(post_send(&a, 2, 0, 64), 0);
    assert_int_equal(to_state(a.qp, IBV_QPS_ERR), 0);
    assert_int_equal(post_recv(&a, 3, 0, 64), 0);
    assert_int_equal(to_state(a.qp, IBV_QPS_RESET), 0);
    expect_none(&a);
    expect_done(&b, 1, IBV_WC_RECV);
    pair_end();
}

static void a_reset_leaves_the_completions_of_others(void **state)
{
    struct ibv_sge sge;
    struct ibv_recv_wr *bad;
    struct ibv_recv_wr wr = {.wr_id = 9, .sg_list = &sge, .num_sge = 1};
    struct ibv_qp *other;
    struct ibv_wc wc;

    pair_open(state, &usual);
    other = pair_qp(&a, &usual, NULL);
    pair_connect_one(other, &usual, &b.gid, b.qp->qp_num);
    sge = (struct ibv_sge){(uintptr_t)a.memory, 64, a.mr->lkey};
    assert_int_equal(ibv_post_recv(other, &wr, &bad), 0);
    assert_int_equal(post_recv(&a, 3, 0, 64), 0);
    assert_int_equal(to_state(a.qp, IBV_QPS_ERR), 0);
    assert_int_equal(to_state(other, IBV_QPS_ERR), 0);
    assert_int_equal(to_state(a.qp, IBV_QPS_RESET), 0);
    wc = polled(&a);
    assert_int_equal(wc.wr_id, 9);
    expect_none(&a);
    assert_int_equal(ibv_destroy_qp(other), 0);
    pair_end();
}

static void a_queue_does_not_shrink_below_what_is_to_come(void **state)
{
    open_datagrams(state);
    throw_at_b(1);
    throw_at_b(2);
    assert_int_equal(ibv_resize_cq(a.cq, 1), EINVAL);
    assert_int_equal(ibv_resize_cq(a.cq, 2), 0);
    pass(1000 * MILLISECOND);
    expect_done(&a, 1, IBV_WC_SEND);
    close_datagrams();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_IDEAL(a_device_says_what_programs_ask_for),
        ON_IDEAL(every_port_has_a_lid_of_its_own),
        ON_IDEAL(a_connection_without_a_gid_goes_by_lid),
        ON_IDEAL(an_address_without_a_gid_is_refused),
        ON_IDEAL(a_datagram_waits_for_a_receive),
        ON_IDEAL(a_datagram_does_not_wait_for_ever),
        ON_IDEAL(a_datagram_says_how_it_came),
        ON_IDEAL(a_reset_takes_its_completions_away),
        ON_IDEAL(a_reset_leaves_the_completions_of_others),
        ON_IDEAL(a_queue_does_not_shrink_below_what_is_to_come),
    };

    return cmocka_run_group_tests(tests, NULL, stage_teardown);
}
