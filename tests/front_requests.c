/*
 * The contract of work requests beyond a plain SEND: what a service can do,
 * what comes in and needs write access, inline data, address handles, and every
 * entry's region. What a device makes of the requests is not asked for here.
 */
#include "mocks_support.h"

static struct host a, b;

#define QKEY 0x11111111

static int post_wr(struct ibv_send_wr *wr)
{
    struct ibv_send_wr *bad;

    wr->send_flags |= IBV_SEND_SIGNALED;
    return ibv_post_send(a.qp, wr, &bad);
}

/* Eight bytes or so of the first host's memory, to the second one's. */
static void post(enum ibv_wr_opcode opcode, uint32_t length, uint32_t lkey,
                 uint64_t remote)
{
    struct ibv_sge sge = {(uintptr_t)a.memory, length, lkey};
    struct ibv_send_wr wr = {.opcode = opcode, .sg_list = &sge, .num_sge = 1};

    if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
        opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr.wr.atomic.remote_addr = remote;
        wr.wr.atomic.rkey = b.mr->rkey;
    } else {
        wr.wr.rdma.remote_addr = remote;
        wr.wr.rdma.rkey = b.mr->rkey;
    }
    post_wr(&wr);
}

static int receive(struct ibv_sge *list, int count)
{
    struct ibv_recv_wr wr = {.sg_list = list, .num_sge = count};
    struct ibv_recv_wr *bad;

    return ibv_post_recv(a.qp, &wr, &bad);
}

/* The way to RTS; masks of what each step needs besides the state. */
static void ready(struct ibv_qp *qp, const union ibv_gid *gid, uint32_t number,
                  const int masks[3])
{
    struct ibv_qp_attr attr = rtr_attr(gid, number);

    attr.max_dest_rd_atomic = attr.max_rd_atomic = 1;
    attr.min_rnr_timer = 12;
    attr.timeout = 14;
    attr.retry_cnt = attr.rnr_retry = 7;
    attr.qkey = QKEY;
    attr.port_num = 1;
    attr.qp_access_flags = ALL_ACCESS;
    for (int i = 0; i < 3; i++) {
        attr.qp_state = (enum ibv_qp_state)(IBV_QPS_INIT + i);
        assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | masks[i]), 0);
    }
}

static const int reliable[3] = {
    INIT_MASK, RTR_MASK | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
    RTS_MASK | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
        IBV_QP_MAX_QP_RD_ATOMIC};
static const int datagram[3] = {IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
                                0, RTS_MASK};

static struct ibv_qp *make_qp(struct host *host, enum ibv_qp_type type)
{
    struct ibv_qp_init_attr attr = {
        .send_cq = host->cq,
        .recv_cq = host->cq,
        .qp_type = type,
        .cap = {.max_send_wr = 32,
                .max_recv_wr = 32,
                .max_send_sge = 2,
                .max_recv_sge = 2,
                .max_inline_data = 64},
    };
    struct ibv_qp *qp;

    vf_thread_set_machine(host->machine);
    qp = ibv_create_qp(host->pd, &attr);
    assert_non_null(qp);
    return qp;
}

/* Two hosts with queue pairs of this type that are ready. */
static void hosts_of(enum ibv_qp_type type)
{
    const int *masks = type == IBV_QPT_UD ? datagram : reliable;

    stage_set(&vf_profile_ideal, 2);
    host_start(&a, 0);
    host_start(&b, 1);
    a.qp = make_qp(&a, type);
    b.qp = make_qp(&b, type);
    ready(a.qp, &b.gid, b.qp->qp_num, masks);
    ready(b.qp, &a.gid, a.qp->qp_num, masks);
    vf_thread_set_machine(0);
    NOTHING_FOUND();
}

static void drop_hosts(void)
{
    host_drop(&a);
    host_drop(&b);
}

/* How many requests still name the region, told when it goes. */
static unsigned posted_on(struct ibv_mr *mr)
{
    unsigned posted = 0;

    stage.finding_count = 0;
    assert_int_equal(ibv_dereg_mr(mr), 0);
    if (stage.finding_count > 0)
        sscanf(stage.findings[0].detail, "%u", &posted);
    stage.finding_count = 0;
    return posted;
}

/* ---- opcodes ---- */

static void opcodes_that_the_service_lacks(void **state)
{
    uint64_t remote;

    (void)state;
    two_hosts(&vf_profile_ideal, &a, &b);
    remote = (uintptr_t)b.memory;
    post(IBV_WR_RDMA_WRITE, 8, a.mr->lkey, remote);
    NOTHING_FOUND();
    post(IBV_WR_RDMA_READ, 8, a.mr->lkey, remote);
    FOUND("bad-opcode in post_send");
    post(IBV_WR_ATOMIC_FETCH_AND_ADD, 8, a.mr->lkey, remote);
    FOUND("bad-opcode in post_send");
    post(IBV_WR_TSO, 8, a.mr->lkey, remote);
    FOUND("bad-opcode in post_send");
    post((enum ibv_wr_opcode)99, 8, a.mr->lkey, remote);
    FOUND("bad-opcode in post_send");
    drop_hosts();
    hosts_of(IBV_QPT_UD);
    post(IBV_WR_RDMA_WRITE, 8, a.mr->lkey, (uintptr_t)b.memory);
    FOUND("bad-opcode in post_send");
    drop_hosts();
}

static void reliable_queue_pairs_have_them_all(void **state)
{
    static const enum ibv_wr_opcode opcodes[] = {
        IBV_WR_RDMA_WRITE,
        IBV_WR_RDMA_READ,
        IBV_WR_ATOMIC_CMP_AND_SWP,
        IBV_WR_ATOMIC_FETCH_AND_ADD,
        IBV_WR_SEND_WITH_IMM,
        IBV_WR_RDMA_WRITE_WITH_IMM,
        IBV_WR_SEND,
        IBV_WR_SEND_WITH_INV,
    };

    (void)state;
    hosts_of(IBV_QPT_RC);
    for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++)
        post(opcodes[i], 8, a.mr->lkey, (uintptr_t)b.memory);
    NOTHING_FOUND();
    drop_hosts();
}

static void what_comes_in_needs_local_write_access(void **state)
{
    struct ibv_sge sge;
    struct ibv_mr *mr;
    uint64_t remote;

    (void)state;
    hosts_of(IBV_QPT_RC);
    remote = (uintptr_t)b.memory;
    mr = ibv_reg_mr(a.pd, a.memory, 4096, IBV_ACCESS_REMOTE_READ);
    sge = (struct ibv_sge){(uintptr_t)a.memory, 64, mr->lkey};
    assert_int_equal(receive(&sge, 1), 0);
    FOUND("no-local-write in post_recv");
    post(IBV_WR_RDMA_WRITE, 8, mr->lkey, remote);
    post(IBV_WR_SEND, 8, mr->lkey, remote);
    NOTHING_FOUND();
    post(IBV_WR_RDMA_READ, 8, mr->lkey, remote);
    FOUND("no-local-write in post_send");
    post(IBV_WR_ATOMIC_CMP_AND_SWP, 8, mr->lkey, remote);
    FOUND("no-local-write in post_send");
    drop_hosts();
}

static void atomics_take_eight_bytes_at_a_multiple_of_eight(void **state)
{
    uint64_t remote;

    (void)state;
    hosts_of(IBV_QPT_RC);
    remote = (uintptr_t)b.memory;
    post(IBV_WR_ATOMIC_FETCH_AND_ADD, 4, a.mr->lkey, remote);
    FOUND("bad-atomic in post_send");
    post(IBV_WR_ATOMIC_FETCH_AND_ADD, 8, a.mr->lkey, remote + 4);
    FOUND("bad-atomic in post_send");
    drop_hosts();
}

static void inline_data_needs_no_key_and_has_a_limit(void **state)
{
    struct ibv_sge sge = {0, 64, 0xffffff00};
    struct ibv_send_wr wr = {.opcode = IBV_WR_SEND,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .send_flags = IBV_SEND_INLINE};
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr;

    (void)state;
    hosts_of(IBV_QPT_RC);
    sge.addr = (uintptr_t)a.memory;
    assert_int_equal(post_wr(&wr), 0);
    NOTHING_FOUND();
    assert_int_equal(ibv_query_qp(a.qp, &attr, IBV_QP_CAP, &init), 0);
    sge.length = init.cap.max_inline_data + 1;
    assert_int_not_equal(post_wr(&wr), 0);
    FOUND("inline-too-long in post_send");
    sge.length = 8;
    sge.lkey = a.mr->lkey;
    wr.opcode = IBV_WR_RDMA_READ;
    wr.wr.rdma.remote_addr = (uintptr_t)b.memory;
    wr.wr.rdma.rkey = b.mr->rkey;
    post_wr(&wr);
    FOUND("bad-flags in post_send");
    drop_hosts();
}

/* ---- datagrams ---- */

static struct ibv_ah *way_to_peer(struct ibv_pd *pd)
{
    struct ibv_qp_attr attr = rtr_attr(&b.gid, 0);
    struct ibv_ah *ah = ibv_create_ah(pd, &attr.ah_attr);

    assert_non_null(ah);
    return ah;
}

static int post_datagram(struct ibv_ah *ah)
{
    struct ibv_sge sge = {(uintptr_t)a.memory, 8, a.mr->lkey};
    struct ibv_send_wr wr = {
        .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1};

    wr.wr.ud.ah = ah;
    wr.wr.ud.remote_qpn = b.qp->qp_num;
    wr.wr.ud.remote_qkey = QKEY;
    return post_wr(&wr);
}

static void datagrams_need_a_live_address_handle(void **state)
{
    static struct ibv_ah *ah, foreign;

    (void)state;
    hosts_of(IBV_QPT_UD);
    FATAL("null-ah in post_send", post_datagram(NULL));
    FATAL("foreign-ah in post_send", post_datagram(&foreign));
    FATAL("mr-not-ah in post_send", post_datagram((void *)a.mr));
    ah = way_to_peer(a.pd);
    post_datagram(ah);
    NOTHING_FOUND();
    assert_int_equal(ibv_destroy_ah(ah), 0);
    FATAL("freed-ah in post_send", post_datagram(ah));
    post_datagram(way_to_peer(ibv_alloc_pd(a.context)));
    FOUND("wrong-domain-ah in post_send");
    drop_hosts();
}

/* ---- entries ---- */

static struct ibv_mr *two_regions(struct ibv_sge list[2])
{
    struct ibv_mr *other = ibv_reg_mr(a.pd, a.memory, 4096, ALL_ACCESS);

    assert_non_null(other);
    list[0] = (struct ibv_sge){(uintptr_t)a.memory, 64, a.mr->lkey};
    list[1] = (struct ibv_sge){(uintptr_t)a.memory + 64, 64, other->lkey};
    return other;
}

/* Each region of a request is in use, once. */
static void second_entry_keeps_its_region_too(void **state)
{
    struct ibv_sge list[2];
    struct ibv_mr *other;

    (void)state;
    hosts_of(IBV_QPT_RC);
    other = two_regions(list);
    assert_int_equal(receive(list, 2), 0);
    list[1].lkey = a.mr->lkey;
    assert_int_equal(receive(list, 2), 0);
    NOTHING_FOUND();
    assert_int_equal(posted_on(other), 1);
    assert_int_equal(posted_on(a.mr), 2);
    drop_hosts();
}

static void all_regions_are_released_with_their_request(void **state)
{
    struct ibv_sge list[2];
    struct ibv_mr *other;

    (void)state;
    hosts_of(IBV_QPT_RC);
    other = two_regions(list);
    assert_int_equal(receive(list, 2), 0);
    assert_int_equal(to_state(a.qp, IBV_QPS_ERR), 0);
    assert_int_equal(polled(&a).status, IBV_WC_WR_FLUSH_ERR);
    assert_int_equal(posted_on(other), 0);
    assert_int_equal(posted_on(a.mr), 0);
    drop_hosts();
}

/* What a program calls the first byte need not be its address. */
static void addresses_of_a_region_are_what_its_program_called_them(void **state)
{
    struct ibv_sge sge = {0x1000, 64, 0};
    struct ibv_mr *mr;

    (void)state;
    hosts_of(IBV_QPT_RC);
    mr = ibv_reg_mr_iova(a.pd, a.memory, 4096, 0x1000, ALL_ACCESS);
    assert_non_null(mr);
    sge.lkey = mr->lkey;
    assert_int_equal(receive(&sge, 1), 0);
    NOTHING_FOUND();
    sge.addr = (uintptr_t)a.memory;
    assert_int_equal(receive(&sge, 1), 0);
    FOUND("sge-outside-mr in post_recv");
    drop_hosts();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opcodes_that_the_service_lacks),
        cmocka_unit_test(reliable_queue_pairs_have_them_all),
        cmocka_unit_test(what_comes_in_needs_local_write_access),
        cmocka_unit_test(atomics_take_eight_bytes_at_a_multiple_of_eight),
        cmocka_unit_test(inline_data_needs_no_key_and_has_a_limit),
        cmocka_unit_test(datagrams_need_a_live_address_handle),
        cmocka_unit_test(second_entry_keeps_its_region_too),
        cmocka_unit_test(all_regions_are_released_with_their_request),
        cmocka_unit_test(
            addresses_of_a_region_are_what_its_program_called_them),
    };

    return cmocka_run_group_tests(tests, NULL, stage_teardown);
}
