/*
 * RDMA WRITE and READ: the peer's program takes no part, and its memory is
 * touched where its keys allow it and nowhere else.
 */
#include "pair_support.h"

static struct ask write_of(uint64_t id, size_t at, uint32_t length)
{
    return (struct ask){
        .id = id, .opcode = IBV_WR_RDMA_WRITE, .at = at, .length = length};
}

static struct ask read_of(uint64_t id, size_t at, uint32_t length)
{
    return (struct ask){
        .id = id, .opcode = IBV_WR_RDMA_READ, .at = at, .length = length};
}

static const uint32_t sizes[] = {1, 7, 4095, 4096, 4097, 40000};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void writes_land_where_they_should(void **state)
{
    pair_open(state, &usual);
    for (unsigned i = 0; i < SIZES; i++) {
        struct ibv_wc wc;

        memset(b.memory, 0xee, MEMORY);
        paint(a.memory, MEMORY, i);
        assert_int_equal(ask(&a, &b, write_of(i, 100, sizes[i])), 0);
        wc = expect_done(&a, i, IBV_WC_RDMA_WRITE);
        assert_int_equal(wc.wc_flags, 0);
        assert_memory_equal(b.memory + 100, a.memory, sizes[i]);
        assert_int_equal(b.memory[99], 0xee);
        assert_int_equal(b.memory[100 + sizes[i]], 0xee);
    }
    expect_none(&b);
    pair_end();
}

static void reads_fetch_what_is_there(void **state)
{
    pair_open(state, &usual);
    for (unsigned i = 0; i < SIZES; i++) {
        memset(a.memory, 0xee, MEMORY);
        paint(b.memory, MEMORY, i);
        assert_int_equal(ask(&a, &b, read_of(i, 100, sizes[i])), 0);
        assert_int_equal(expect_done(&a, i, IBV_WC_RDMA_READ).byte_len,
                         sizes[i]);
        assert_memory_equal(a.memory, b.memory + 100, sizes[i]);
        assert_int_equal(a.memory[sizes[i]], 0xee);
    }
    expect_none(&b);
    pair_end();
}

static void a_write_may_be_announced(void **state)
{
    bool grh = ((const struct vf_profile *)*state)->recv_grh;
    struct ask what = write_of(1, 4096, 500);
    struct ibv_wc wc;

    pair_open(state, &usual);
    paint(a.memory, 500, 1);
    memset(b.memory, 0xee, MEMORY);
    what.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    what.other = 0x01020304;
    assert_int_equal(post_recv(&b, 2, 0, 16), 0); /* shorter: it is not used */
    assert_int_equal(ask(&a, &b, what), 0);
    expect_done(&a, 1, IBV_WC_RDMA_WRITE);
    wc = expect_done(&b, 2, IBV_WC_RECV_RDMA_WITH_IMM);
    assert_int_equal(wc.byte_len, 500);
    assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM | (grh ? IBV_WC_GRH : 0));
    assert_int_equal(ntohl(wc.imm_data), 0x01020304);
    assert_memory_equal(b.memory + 4096, a.memory, 500);
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(b.memory[i], 0xee);
    pair_end();
}

static void an_announced_write_waits_for_a_receive(void **state)
{
    struct ask what = write_of(1, 4096, 500);

    pair_open(state, &usual);
    what.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    assert_int_equal(ask(&a, &b, what), 0);
    expect_none(&a);
    assert_int_equal(post_recv(&b, 2, 0, 0), 0);
    expect_done(&a, 1, IBV_WC_RDMA_WRITE);
    expect_done(&b, 2, IBV_WC_RECV_RDMA_WITH_IMM);
    pair_end();
}

static void nothing_needs_no_key(void **state)
{
    struct ask what = write_of(1, 0, 0);

    pair_open(state, &usual);
    what.rkey = 0x12345;
    assert_int_equal(ask(&a, &b, what), 0);
    expect_done(&a, 1, IBV_WC_RDMA_WRITE);
    what = read_of(2, 0, 0);
    what.rkey = 0x12345;
    assert_int_equal(ask(&a, &b, what), 0);
    assert_int_equal(expect_done(&a, 2, IBV_WC_RDMA_READ).byte_len, 0);
    what = write_of(3, 0, 0);
    what.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    what.other = 9;
    assert_int_equal(post_recv(&b, 4, 0, 0), 0);
    assert_int_equal(ask(&a, &b, what), 0);
    expect_done(&a, 3, IBV_WC_RDMA_WRITE);
    assert_int_equal(expect_done(&b, 4, IBV_WC_RECV_RDMA_WITH_IMM).byte_len, 0);
    pair_end();
}

static void entries_are_gathered_and_scattered(void **state)
{
    struct ibv_sge sge[3];
    struct ask what = write_of(1, 100, 1);
    struct ibv_send_wr wr, *bad;

    pair_open(state, &usual);
    paint(a.memory, MEMORY, 1);
    sge[0] = (struct ibv_sge){(uintptr_t)a.memory, 5, a.mr->lkey};
    sge[1] = (struct ibv_sge){(uintptr_t)a.memory + 1000, 0, 0};
    sge[2] = (struct ibv_sge){(uintptr_t)a.memory + 2000, 5000, a.mr->lkey};
    wr = ask_wr(&b, &what, sge);
    wr.num_sge = 3;
    assert_int_equal(ibv_post_send(a.qp, &wr, &bad), 0);
    expect_done(&a, 1, IBV_WC_RDMA_WRITE);
    assert_memory_equal(b.memory + 100, a.memory, 5);
    assert_memory_equal(b.memory + 105, a.memory + 2000, 5000);
    what = read_of(2, 100, 1);
    wr = ask_wr(&b, &what, sge);
    wr.num_sge = 3;
    paint(b.memory, MEMORY, 2);
    assert_int_equal(ibv_post_send(a.qp, &wr, &bad), 0);
    assert_int_equal(expect_done(&a, 2, IBV_WC_RDMA_READ).byte_len, 5005);
    assert_memory_equal(b.memory + 100, a.memory, 5);
    assert_memory_equal(b.memory + 105, a.memory + 2000, 5000);
    pair_end();
}

static void inline_bytes_are_those_of_the_post(void **state)
{
    struct ask what = write_of(1, 100, 64);

    pair_open(state, &usual);
    paint(a.memory, 64, 1);
    what.flags = IBV_SEND_INLINE;
    assert_int_equal(ask(&a, &b, what), 0);
    expect_done(&a, 1, IBV_WC_RDMA_WRITE);
    assert_memory_equal(b.memory + 100, a.memory, 64);
    pair_end();
}

/* What one asks for takes place after what one asked for before. */
static void requests_take_place_in_order(void **state)
{
    struct ibv_sge sge[3];
    struct ask asks[3] = {write_of(1, 0, 8), read_of(2, 0, 8),
                          write_of(3, 0, 8)};
    struct ibv_send_wr wr[3], *bad;

    pair_open(state, &usual);
    paint(a.memory, 24, 1);
    asks[0].unsignaled = true;
    for (unsigned i = 0; i < 3; i++) {
        sge[i] = (struct ibv_sge){(uintptr_t)a.memory + 8 * i, 8, a.mr->lkey};
        wr[i] = ask_wr(&b, &asks[i], &sge[i]);
        wr[i].next = i < 2 ? &wr[i + 1] : NULL;
    }
    assert_int_equal(ibv_post_send(a.qp, wr, &bad), 0);
    expect_done(&a, 2, IBV_WC_RDMA_READ);
    expect_done(&a, 3, IBV_WC_RDMA_WRITE);
    assert_memory_equal(a.memory + 8, a.memory, 8);
    assert_memory_equal(b.memory, a.memory + 16, 8);
    pair_end();
}

static void a_write_overtakes_no_send(void **state)
{
    pair_open(state, &usual);
    a.memory[0] = 1;
    assert_int_equal(
        ask(&a, &b, (struct ask){.id = 1, .opcode = IBV_WR_SEND, .length = 8}),
        0);
    assert_int_equal(ask(&a, &b, write_of(2, 100, 8)), 0);
    assert_int_equal(b.memory[100], 0);
    expect_none(&a);
    assert_int_equal(post_recv(&b, 3, 0, 8), 0);
    expect_done(&a, 1, IBV_WC_SEND);
    expect_done(&a, 2, IBV_WC_RDMA_WRITE);
    assert_int_equal(b.memory[100], 1);
    expect_done(&b, 3, IBV_WC_RECV);
    pair_end();
}

/* Both ends' regions have addresses of their own choice. */
static void regions_may_have_other_addresses(void **state)
{
    const uint64_t near = 0x10000, far = UINT64_C(0x7000000000);
    struct ibv_sge sge;
    struct ask what = write_of(1, 0, 0);
    struct ibv_recv_wr recv = {.wr_id = 4, .sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad_recv;
    struct ibv_send_wr wr, *bad;
    struct ibv_mr *from, *to;

    pair_open(state, &usual);
    paint(a.memory, MEMORY, 1);
    from = ibv_reg_mr_iova(a.pd, a.memory, MEMORY, near, EVERY_ACCESS);
    to = ibv_reg_mr_iova(b.pd, b.memory, MEMORY, far, EVERY_ACCESS);
    wr = ask_wr(&b, &what, &sge);
    wr.num_sge = 1;
    wr.wr.rdma.remote_addr = far + 200;
    wr.wr.rdma.rkey = to->rkey;
    sge = (struct ibv_sge){near + 100, 64, from->lkey};
    assert_int_equal(ibv_post_send(a.qp, &wr, &bad), 0);
    expect_done(&a, 1, IBV_WC_RDMA_WRITE);
    assert_memory_equal(b.memory + 200, a.memory + 100, 64);
    wr.opcode = IBV_WR_RDMA_READ;
    sge.addr = near + 1000;
    assert_int_equal(ibv_post_send(a.qp, &wr, &bad), 0);
    expect_done(&a, 1, IBV_WC_RDMA_READ);
    assert_memory_equal(a.memory + 1000, a.memory + 100, 64);
    sge = (struct ibv_sge){far + 8192, 64, to->lkey};
    assert_int_equal(ibv_post_recv(b.qp, &recv, &bad_recv), 0);
    sge = (struct ibv_sge){near + MEMORY - 64, 64, from->lkey};
    wr.opcode = IBV_WR_SEND;
    assert_int_equal(ibv_post_send(a.qp, &wr, &bad), 0);
    expect_done(&a, 1, IBV_WC_SEND);
    expect_done(&b, 4, IBV_WC_RECV);
    assert_memory_equal(b.memory + 8192, a.memory + MEMORY - 64, 64);
    NOTHING_FOUND();
    sge.addr++;
    assert_int_equal(ibv_post_send(a.qp, &wr, &bad), 0);
    FOUND("sge-outside-mr in post_send");
    expect_completion(&a, 1,
                      (enum ibv_wc_status)((const struct vf_profile *)*state)
                          ->send_range_status);
    assert_int_equal(ibv_dereg_mr(from), 0);
    assert_int_equal(ibv_dereg_mr(to), 0);
    pair_end();
}

/* ---- what is not allowed ---- */

/* How the receive ends that waits at the responder. */
static enum ibv_wc_status receive_of(const struct ask *what, int status)
{
    const struct vf_machine *machine = &stage.world->machines[b.machine];

    return what->opcode == IBV_WR_RDMA_WRITE_WITH_IMM &&
                   status == IBV_WC_REM_ACCESS_ERR &&
                   machine->devices[0].setup.profile->receive_before_key
               ? IBV_WC_REM_ACCESS_ERR
               : IBV_WC_WR_FLUSH_ERR;
}

/* The request fails with the status, both ends are in ERR, nothing moved, and
 * the peer's program is told. */
static void refused(struct ask what, int status, int event_type)
{
    unsigned char before[64];

    memcpy(before, b.memory, sizeof(before));
    paint(a.memory, 64, 9);
    assert_int_equal(post_recv(&b, 50, 0, 64), 0);
    assert_int_equal(ask(&a, &b, what), 0);
    expect_completion(&a, what.id, (enum ibv_wc_status)status);
    expect_completion(&b, 50, receive_of(&what, status));
    assert_int_equal(state_of(a.qp), IBV_QPS_ERR);
    assert_int_equal(state_of(b.qp), IBV_QPS_ERR);
    assert_memory_equal(before, b.memory, sizeof(before));
    expect_told(&b, event_type);
    no_async_event(&a);
}

static void not_allowed(struct ask what)
{
    refused(what, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
}

static void every_kind(void **state, void (*spoil)(struct ask *what))
{
    const struct ask kinds[] = {
        write_of(1, 0, 64),
        read_of(2, 0, 64),
        {.id = 3, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .length = 64}};

    for (unsigned i = 0; i < 3; i++) {
        struct ask what = kinds[i];

        pair_open(state, &usual);
        spoil(&what);
        not_allowed(what);
        pair_end();
    }
}

static void use_no_key(struct ask *what)
{
    what->rkey = 0x12380;
}

static void a_key_of_nothing_is_refused(void **state)
{
    every_kind(state, use_no_key);
}

static void use_local_key(struct ask *what)
{
    what->rkey = b.mr->lkey;
}

static void a_local_key_is_no_remote_one(void **state)
{
    every_kind(state, use_local_key);
}

static void go_outside(struct ask *what)
{
    what->at = MEMORY - 63;
}

static void one_byte_outside_is_outside(void **state)
{
    every_kind(state, go_outside);
}

static void go_before(struct ask *what)
{
    what->at = (size_t)-1;
}

static void one_byte_before_is_outside(void **state)
{
    every_kind(state, go_before);
}

static void the_last_byte_is_inside(void **state)
{
    pair_open(state, &usual);
    a.memory[0] = 5;
    assert_int_equal(ask(&a, &b, write_of(1, MEMORY - 1, 1)), 0);
    expect_done(&a, 1, IBV_WC_RDMA_WRITE);
    assert_int_equal(b.memory[MEMORY - 1], 5);
    pair_end();
}

static void a_key_gives_what_its_region_gives(void **state)
{
    static const struct {
        int access;
        enum ibv_wr_opcode opcode;
    } rows[] = {
        {IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ, IBV_WR_RDMA_WRITE},
        {IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, IBV_WR_RDMA_READ},
        {0, IBV_WR_RDMA_READ}};

    for (unsigned i = 0; i < 3; i++) {
        struct ask what = {.id = 1, .opcode = rows[i].opcode, .length = 64};
        struct ibv_mr *narrow;

        pair_open(state, &usual);
        narrow = ibv_reg_mr(b.pd, b.memory, 64, rows[i].access);
        what.rkey = narrow->rkey;
        not_allowed(what);
        assert_int_equal(ibv_dereg_mr(narrow), 0);
        pair_end();
    }
}

static void a_key_of_another_domain_is_refused(void **state)
{
    struct ask what = write_of(1, 0, 64);
    struct ibv_pd *pd;
    struct ibv_mr *mr;

    pair_open(state, &usual);
    pd = ibv_alloc_pd(b.context);
    mr = ibv_reg_mr(pd, b.memory, MEMORY, EVERY_ACCESS);
    what.rkey = mr->rkey;
    not_allowed(what);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    assert_int_equal(ibv_dealloc_pd(pd), 0);
    pair_end();
}

static void a_key_dies_with_its_region(void **state)
{
    struct ask what = write_of(1, 0, 64);
    struct ibv_mr *mr;

    pair_open(state, &usual);
    mr = ibv_reg_mr(b.pd, b.memory, MEMORY, EVERY_ACCESS);
    what.rkey = mr->rkey;
    assert_int_equal(ask(&a, &b, what), 0);
    expect_done(&a, 1, IBV_WC_RDMA_WRITE);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    not_allowed(what);
    pair_end();
}

static void a_queue_pair_gives_what_its_flags_give(void **state)
{
    static const enum ibv_wr_opcode opcodes[] = {IBV_WR_RDMA_WRITE,
                                                 IBV_WR_RDMA_READ};

    for (unsigned i = 0; i < 2; i++) {
        struct pair pair = usual;

        pair.access &=
            ~(unsigned)(i ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE);
        pair_open(state, &pair);
        refused((struct ask){.id = 1, .opcode = opcodes[i], .length = 64},
                IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
        pair_end();
    }
}

static void a_peer_that_grants_no_reads_refuses_them(void **state)
{
    struct pair none = usual;

    pair_make(state, &usual);
    none.reads = 0;
    pair_connect_one(a.qp, &usual, &b.gid, b.qp->qp_num);
    pair_connect_one(b.qp, &none, &a.gid, a.qp->qp_num);
    refused(read_of(1, 0, 64), IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
    pair_end();
}

static void a_read_needs_local_write(void **state)
{
    const struct vf_profile *profile = *state;
    struct ibv_mr *mr;

    pair_open(state, &usual);
    mr = a.mr;
    a.mr = ibv_reg_mr(a.pd, a.memory, MEMORY, 0);
    assert_int_equal(ask(&a, &b, read_of(1, 0, 64)), 0);
    FOUND("no-local-write in post_send");
    expect_completion(&a, 1,
                      (enum ibv_wc_status)(profile->fetch_key_status
                                               ? profile->fetch_key_status
                                               : profile->send_key_status));
    assert_int_equal(state_of(b.qp), IBV_QPS_RTS);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    pair_end();
}

/* ---- over UC ---- */

static void over_uc_a_write_lands(void **state)
{
    struct pair pair = of_type(IBV_QPT_UC);
    struct ask what = write_of(2, 200, 64);

    pair_open(state, &pair);
    paint(a.memory, 64, 1);
    assert_int_equal(ask(&a, &b, write_of(1, 100, 64)), 0);
    expect_done(&a, 1, IBV_WC_RDMA_WRITE);
    assert_memory_equal(b.memory + 100, a.memory, 64);
    what.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    what.other = 7;
    assert_int_equal(post_recv(&b, 3, 0, 0), 0);
    assert_int_equal(ask(&a, &b, what), 0);
    expect_done(&a, 2, IBV_WC_RDMA_WRITE);
    assert_int_equal(
        ntohl(expect_done(&b, 3, IBV_WC_RECV_RDMA_WITH_IMM).imm_data), 7);
    assert_memory_equal(b.memory + 200, a.memory, 64);
    pair_end();
}

static void over_uc_a_bad_key_is_lost_with_success(void **state)
{
    struct pair pair = of_type(IBV_QPT_UC);
    struct ask what = write_of(1, 0, 64);

    pair_open(state, &pair);
    paint(a.memory, 64, 1);
    what.rkey = 0x12380;
    assert_int_equal(ask(&a, &b, what), 0);
    expect_done(&a, 1, IBV_WC_RDMA_WRITE);
    what.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    assert_int_equal(post_recv(&b, 2, 0, 64), 0);
    assert_int_equal(ask(&a, &b, what), 0);
    expect_done(&a, 1, IBV_WC_RDMA_WRITE);
    expect_none(&b);
    assert_int_equal(b.memory[0], 0);
    assert_int_equal(state_of(a.qp), IBV_QPS_RTS);
    assert_int_equal(state_of(b.qp), IBV_QPS_RTS);
    pair_close();
}

static void over_uc_nothing_is_read(void **state)
{
    struct pair pair = of_type(IBV_QPT_UC);

    pair_open(state, &pair);
    assert_int_equal(ask(&a, &b, read_of(1, 0, 64)), 0);
    FOUND("bad-opcode in post_send");
    expect_completion(&a, 1, IBV_WC_LOC_QP_OP_ERR);
    assert_int_equal(state_of(a.qp), IBV_QPS_ERR);
    assert_int_equal(state_of(b.qp), IBV_QPS_RTS);
    pair_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(writes_land_where_they_should),
        EACH(reads_fetch_what_is_there),
        EACH(a_write_may_be_announced),
        EACH(an_announced_write_waits_for_a_receive),
        EACH(nothing_needs_no_key),
        EACH(entries_are_gathered_and_scattered),
        EACH(inline_bytes_are_those_of_the_post),
        EACH(requests_take_place_in_order),
        EACH(a_write_overtakes_no_send),
        EACH(regions_may_have_other_addresses),
        EACH(a_key_of_nothing_is_refused),
        EACH(a_local_key_is_no_remote_one),
        EACH(one_byte_outside_is_outside),
        EACH(one_byte_before_is_outside),
        EACH(the_last_byte_is_inside),
        EACH(a_key_gives_what_its_region_gives),
        EACH(a_key_of_another_domain_is_refused),
        EACH(a_key_dies_with_its_region),
        EACH(a_queue_pair_gives_what_its_flags_give),
        EACH(a_peer_that_grants_no_reads_refuses_them),
        EACH(a_read_needs_local_write),
        EACH(over_uc_a_write_lands),
        EACH(over_uc_a_bad_key_is_lost_with_success),
        EACH(over_uc_nothing_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, stage_teardown);
}
