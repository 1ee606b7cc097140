/*
 * Datagrams: to whoever has the address and the key, each with a header of 40
 * bytes before it; what finds nobody is lost, and nobody says so.
 */
#include "pair_support.h"

#define HEADER 40

static struct ibv_ah *to_b, *to_a;

static struct ibv_ah *address_of(const struct host *from,
                                 const union ibv_gid *gid)
{
    struct ibv_ah_attr attr = {
        .is_global = 1,
        .port_num = 1,
        .grh = {.dgid = *gid, .sgid_index = 1, .hop_limit = 1}};
    struct ibv_ah *ah = ibv_create_ah(from->pd, &attr);

    assert_non_null(ah);
    return ah;
}

static void open_datagrams(void **state)
{
    struct pair pair = of_type(IBV_QPT_UD);

    pair_open(state, &pair);
    to_b = address_of(&a, &b.gid);
    to_a = address_of(&b, &a.gid);
}

static void close_datagrams(void)
{
    assert_int_equal(ibv_destroy_ah(to_b), 0);
    assert_int_equal(ibv_destroy_ah(to_a), 0);
    pair_end();
}

struct datagram {
    uint64_t id;
    struct ibv_ah *ah;
    uint32_t number, qkey, length;
    uint32_t imm;
    enum ibv_wr_opcode opcode;
};

static struct datagram for_b(uint64_t id, uint32_t length)
{
    return (struct datagram){.id = id,
                             .ah = to_b,
                             .number = b.qp->qp_num,
                             .qkey = QKEY,
                             .length = length,
                             .opcode = IBV_WR_SEND};
}

static int throw_at(struct host *host, struct datagram what)
{
    struct ibv_sge sge = {(uintptr_t)host->memory, what.length, host->mr->lkey};
    struct ibv_send_wr wr = {
        .wr_id = what.id,
        .sg_list = &sge,
        .num_sge = what.length > 0,
        .opcode = what.opcode,
        .imm_data = htonl(what.imm),
        .send_flags = IBV_SEND_SIGNALED,
        .wr.ud = {.ah = what.ah,
                  .remote_qpn = what.number,
                  .remote_qkey = what.qkey},
    };
    struct ibv_send_wr *bad;

    return ibv_post_send(host->qp, &wr, &bad);
}

/* It was sent, into nothing. */
static void expect_lost(struct host *host, uint64_t id)
{
    pass(stage.clock + 1000 * MILLISECOND);
    expect_done(host, id, IBV_WC_SEND);
    expect_none(&b);
    assert_int_equal(state_of(host->qp), IBV_QPS_RTS);
}

static void a_datagram_says_where_it_is_from(void **state)
{
    struct ibv_wc wc;

    open_datagrams(state);
    paint(a.memory, 100, 1);
    memset(b.memory, 0xee, 200);
    assert_int_equal(post_recv(&b, 1, 0, 200), 0);
    assert_int_equal(throw_at(&a, for_b(2, 100)), 0);
    expect_done(&a, 2, IBV_WC_SEND);
    wc = expect_done(&b, 1, IBV_WC_RECV);
    assert_int_equal(wc.byte_len, HEADER + 100);
    assert_int_equal(wc.src_qp, a.qp->qp_num);
    assert_int_equal(wc.wc_flags, IBV_WC_GRH);
    assert_memory_equal(b.memory + HEADER, a.memory, 100);
    assert_int_equal(b.memory[HEADER + 100], 0xee);
    /* Of IPv4, in the second half: who, to whom. */
    assert_memory_equal(b.memory + 32, a.gid.raw + 12, 4);
    assert_memory_equal(b.memory + 36, b.gid.raw + 12, 4);
    assert_int_equal(b.memory[20] >> 4, 4);
    close_datagrams();
}

static void the_header_leads_back(void **state)
{
    struct ibv_wc wc;
    struct ibv_ah *back;

    open_datagrams(state);
    assert_int_equal(post_recv(&b, 1, 0, 200), 0);
    assert_int_equal(post_recv(&a, 2, 0, 200), 0);
    assert_int_equal(throw_at(&a, for_b(3, 10)), 0);
    expect_done(&a, 3, IBV_WC_SEND);
    wc = expect_done(&b, 1, IBV_WC_RECV);
    back = ibv_create_ah_from_wc(b.pd, &wc, (struct ibv_grh *)b.memory, 1);
    assert_non_null(back);
    assert_int_equal(throw_at(&b, (struct datagram){.id = 4,
                                                    .ah = back,
                                                    .number = wc.src_qp,
                                                    .qkey = QKEY,
                                                    .length = 10,
                                                    .opcode = IBV_WR_SEND}),
                     0);
    expect_done(&b, 4, IBV_WC_SEND);
    assert_int_equal(expect_done(&a, 2, IBV_WC_RECV).src_qp, b.qp->qp_num);
    assert_int_equal(ibv_destroy_ah(back), 0);
    close_datagrams();
}

static void a_datagram_may_carry_a_number(void **state)
{
    struct datagram what;
    struct ibv_wc wc;

    open_datagrams(state);
    what = for_b(1, 0);
    what.opcode = IBV_WR_SEND_WITH_IMM;
    what.imm = 0x0a0b0c0d;
    assert_int_equal(post_recv(&b, 2, 0, HEADER), 0);
    assert_int_equal(throw_at(&a, what), 0);
    wc = expect_done(&b, 2, IBV_WC_RECV);
    assert_int_equal(wc.byte_len, HEADER);
    assert_int_equal(wc.wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
    assert_int_equal(ntohl(wc.imm_data), 0x0a0b0c0d);
    expect_done(&a, 1, IBV_WC_SEND);
    close_datagrams();
}

static void the_key_must_be_the_receivers(void **state)
{
    struct datagram what;

    open_datagrams(state);
    what = for_b(1, 10);
    what.qkey = QKEY + 1;
    assert_int_equal(post_recv(&b, 2, 0, 200), 0);
    assert_int_equal(throw_at(&a, what), 0);
    expect_lost(&a, 1);
    close_datagrams();
}

static void a_key_with_the_high_bit_is_ones_own(void **state)
{
    struct datagram what;

    open_datagrams(state);
    what = for_b(1, 10);
    what.qkey = 0x80000001;
    assert_int_equal(post_recv(&b, 2, 0, 200), 0);
    assert_int_equal(throw_at(&a, what), 0);
    expect_done(&b, 2, IBV_WC_RECV);
    expect_done(&a, 1, IBV_WC_SEND);
    close_datagrams();
}

static void without_a_receive_it_is_lost(void **state)
{
    open_datagrams(state);
    assert_int_equal(throw_at(&a, for_b(1, 10)), 0);
    expect_lost(&a, 1);
    assert_int_equal(post_recv(&b, 2, 0, 200), 0);
    expect_none(&b);
    close_datagrams();
}

static void to_nobody_it_is_lost(void **state)
{
    struct datagram what;
    union ibv_gid nobody;

    open_datagrams(state);
    assert_int_equal(post_recv(&b, 9, 0, 200), 0);
    what = for_b(1, 10);
    what.number = 0xabcdef;
    assert_int_equal(throw_at(&a, what), 0);
    expect_lost(&a, 1);
    nobody = b.gid;
    nobody.raw[15] = 77;
    what = for_b(2, 10);
    what.ah = address_of(&a, &nobody);
    assert_int_equal(throw_at(&a, what), 0);
    expect_lost(&a, 2);
    assert_int_equal(ibv_destroy_ah(what.ah), 0);
    vf_device_port(stage.world, 1, "rdma_en2", false);
    assert_int_equal(throw_at(&a, for_b(3, 10)), 0);
    expect_lost(&a, 3);
    close_datagrams();
}

static void a_connected_queue_pair_takes_none(void **state)
{
    struct datagram what;
    struct ibv_qp *reliable;

    open_datagrams(state);
    reliable = pair_qp(&b, &usual, NULL);
    pair_connect_one(reliable, &usual, &a.gid, a.qp->qp_num);
    what = for_b(1, 10);
    what.number = reliable->qp_num;
    assert_int_equal(throw_at(&a, what), 0);
    expect_lost(&a, 1);
    assert_int_equal(ibv_destroy_qp(reliable), 0);
    close_datagrams();
}

static void the_header_must_fit_too(void **state)
{
    const struct vf_profile *profile = *state;
    struct ibv_wc wc;

    open_datagrams(state);
    assert_int_equal(post_recv(&b, 1, 0, HEADER + 10), 0);
    assert_int_equal(post_recv(&b, 2, 0, HEADER + 9), 0);
    assert_int_equal(throw_at(&a, for_b(3, 10)), 0);
    assert_int_equal(throw_at(&a, for_b(4, 10)), 0);
    expect_done(&b, 1, IBV_WC_RECV);
    wc = polled(&b);
    assert_int_equal(wc.wr_id, 2);
    assert_int_equal(wc.status, profile->too_long_status);
    expect_done(&a, 3, IBV_WC_SEND);
    expect_done(&a, 4, IBV_WC_SEND);
    close_datagrams();
}

static void the_longest_is_the_mtu(void **state)
{
    const struct vf_profile *profile = *state;
    uint32_t mtu = 128u << profile->active_mtu;

    open_datagrams(state);
    paint(a.memory, mtu + 1, 1);
    assert_int_equal(post_recv(&b, 1, 0, HEADER + mtu + 1), 0);
    assert_int_equal(throw_at(&a, for_b(2, mtu)), 0);
    expect_done(&a, 2, IBV_WC_SEND);
    assert_int_equal(expect_done(&b, 1, IBV_WC_RECV).byte_len, HEADER + mtu);
    assert_memory_equal(b.memory + HEADER, a.memory, mtu);
    assert_int_equal(post_recv(&b, 3, 0, HEADER + mtu + 1), 0);
    assert_int_equal(throw_at(&a, for_b(4, mtu + 1)), 0);
    expect_completion(&a, 4, (enum ibv_wc_status)profile->ud_too_long_status);
    expect_none(&b);
    close_datagrams();
}

static void there_is_nothing_but_sends(void **state)
{
    static const enum ibv_wr_opcode opcodes[] = {
        IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD};
    bool late = ((const struct vf_profile *)*state)->ud_opcode_is_late;

    open_datagrams(state);
    for (unsigned i = 0; i < 3; i++) {
        struct datagram what = for_b(1, 8);

        what.opcode = opcodes[i];
        assert_int_equal(throw_at(&a, what), late ? 0 : EINVAL);
        FOUND("bad-opcode in post_send");
        if (late)
            expect_completion(
                &a, 1, i == 0 ? IBV_WC_LOC_QP_OP_ERR : IBV_WC_WR_FLUSH_ERR);
    }
    expect_none(&a);
    close_datagrams();
}

static void a_queue_pair_talks_to_itself(void **state)
{
    struct datagram what;
    struct ibv_ah *self;

    open_datagrams(state);
    self = address_of(&a, &a.gid);
    what = for_b(1, 10);
    what.ah = self;
    what.number = a.qp->qp_num;
    paint(a.memory, 10, 1);
    assert_int_equal(post_recv(&a, 2, 4096, 200), 0);
    assert_int_equal(throw_at(&a, what), 0);
    expect_done(&a, 2, IBV_WC_RECV);
    expect_done(&a, 1, IBV_WC_SEND);
    assert_memory_equal(a.memory, a.memory + 4096 + HEADER, 10);
    assert_int_equal(ibv_destroy_ah(self), 0);
    close_datagrams();
}

/* ---- groups ---- */

static const union ibv_gid group = {
    .raw = {0xff, 0x0e, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 239, 1, 2, 3}};

static struct datagram for_group(uint64_t id, struct ibv_ah *ah)
{
    return (struct datagram){.id = id,
                             .ah = ah,
                             .number = 0xffffff,
                             .qkey = QKEY,
                             .length = 10,
                             .opcode = IBV_WR_SEND};
}

static void a_group_is_all_that_joined_it(void **state)
{
    struct pair pair = of_type(IBV_QPT_UD);
    struct ibv_ah *to_group;
    struct ibv_qp *other;
    struct host c;

    open_datagrams(state);
    other = pair_qp(&b, &pair, NULL);
    pair_connect_one(other, &pair, &a.gid, 0);
    c = b;
    c.qp = other;
    to_group = address_of(&a, &group);
    assert_int_equal(post_recv(&b, 1, 0, 200), 0);
    assert_int_equal(post_recv(&c, 2, 0, 200), 0);
    assert_int_equal(throw_at(&a, for_group(3, to_group)), 0);
    expect_lost(&a, 3);
    assert_int_equal(ibv_attach_mcast(b.qp, &group, 0), 0);
    assert_int_equal(ibv_attach_mcast(b.qp, &group, 0), 0); /* once is enough */
    assert_int_equal(ibv_attach_mcast(other, &group, 0), 0);
    assert_int_equal(post_recv(&b, 10, 0, 200), 0);
    assert_int_equal(throw_at(&a, for_group(4, to_group)), 0);
    expect_done(&a, 4, IBV_WC_SEND);
    expect_done(&b, 1, IBV_WC_RECV);
    expect_done(&c, 2, IBV_WC_RECV);
    expect_none(&b);
    assert_int_equal(ibv_detach_mcast(b.qp, &group, 0), 0);
    assert_int_equal(ibv_detach_mcast(b.qp, &group, 0), EINVAL);
    assert_int_equal(post_recv(&c, 5, 0, 200), 0);
    assert_int_equal(throw_at(&a, for_group(6, to_group)), 0);
    expect_done(&c, 5, IBV_WC_RECV);
    expect_done(&a, 6, IBV_WC_SEND);
    expect_none(&b);
    assert_int_equal(ibv_destroy_qp(other), 0);
    assert_int_equal(throw_at(&a, for_group(7, to_group)), 0);
    expect_lost(&a, 7);
    assert_int_equal(ibv_destroy_ah(to_group), 0);
    close_datagrams();
}

static void a_group_ends_where_the_way_ends(void **state)
{
    struct ibv_ah *to_group;

    open_datagrams(state);
    to_group = address_of(&a, &group);
    assert_int_equal(ibv_attach_mcast(b.qp, &group, 0), 0);
    assert_int_equal(post_recv(&b, 1, 0, 200), 0);
    vf_device_port(stage.world, 1, "rdma_en2", false);
    assert_int_equal(throw_at(&a, for_group(2, to_group)), 0);
    expect_lost(&a, 2);
    vf_device_port(stage.world, 1, "rdma_en2", true);
    assert_int_equal(throw_at(&a, for_group(3, to_group)), 0);
    expect_done(&a, 3, IBV_WC_SEND);
    expect_done(&b, 1, IBV_WC_RECV);
    assert_int_equal(ibv_destroy_ah(to_group), 0);
    close_datagrams();
}

static void only_datagrams_join_groups(void **state)
{
    pair_open(state, &usual);
    assert_int_equal(ibv_attach_mcast(a.qp, &group, 0), EINVAL);
    pair_end();
    open_datagrams(state);
    assert_int_equal(ibv_attach_mcast(a.qp, &b.gid, 0), EINVAL);
    close_datagrams();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_datagram_says_where_it_is_from),
        EACH(the_header_leads_back),
        EACH(a_datagram_may_carry_a_number),
        EACH(the_key_must_be_the_receivers),
        EACH(a_key_with_the_high_bit_is_ones_own),
        EACH(without_a_receive_it_is_lost),
        EACH(to_nobody_it_is_lost),
        EACH(a_connected_queue_pair_takes_none),
        EACH(the_header_must_fit_too),
        EACH(the_longest_is_the_mtu),
        EACH(there_is_nothing_but_sends),
        EACH(a_queue_pair_talks_to_itself),
        EACH(a_group_is_all_that_joined_it),
        EACH(a_group_ends_where_the_way_ends),
        EACH(only_datagrams_join_groups),
    };

    return cmocka_run_group_tests(tests, NULL, stage_teardown);
}
