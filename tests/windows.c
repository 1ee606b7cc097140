/*
 * Memory windows: a key that gives a part of a region, for a while. Type 1 is
 * bound by a call and by zero bytes unbound; type 2 is bound by a request, to
 * one queue pair, and invalidated by either end.
 */
#include "pair_support.h"

#include <sys/mman.h>

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

#define PLACE 4096 /* of the window in b's memory */
#define LENGTH 256

static struct ibv_mw *mw;

static void open_window(void **state, enum ibv_mw_type type)
{
    pair_open(state, &usual);
    mw = ibv_alloc_mw(b.pd, type);
    assert_non_null(mw);
    assert_int_equal(mw->type, type);
}

static void close_window(void)
{
    assert_int_equal(ibv_dealloc_mw(mw), 0);
    pair_end();
}

static int bind_first(uint64_t id, size_t at, uint64_t length, unsigned access)
{
    struct ibv_mw_bind bind = {
        .wr_id = id,
        .send_flags = IBV_SEND_SIGNALED,
        .bind_info = {.mr = length ? b.mr : NULL,
                      .addr = length ? (uintptr_t)b.memory + at : 0,
                      .length = length,
                      .mw_access_flags = access},
    };

    return ibv_bind_mw(b.qp, mw, &bind);
}

static int bind_second(uint64_t id, size_t at, uint64_t length, unsigned access)
{
    struct ibv_send_wr wr = {
        .wr_id = id,
        .opcode = IBV_WR_BIND_MW,
        .send_flags = IBV_SEND_SIGNALED,
        .bind_mw = {.mw = mw,
                    .rkey = ibv_inc_rkey(mw->rkey),
                    .bind_info = {.mr = b.mr,
                                  .addr = (uintptr_t)b.memory + at,
                                  .length = length,
                                  .mw_access_flags = access}},
    };
    struct ibv_send_wr *bad;
    int err = ibv_post_send(b.qp, &wr, &bad);

    if (!err)
        mw->rkey = wr.bind_mw.rkey;
    return err;
}

static struct ask write_to(uint64_t id, size_t at, uint32_t length,
                           uint32_t rkey)
{
    return (struct ask){.id = id,
                        .opcode = IBV_WR_RDMA_WRITE,
                        .at = at,
                        .length = length,
                        .rkey = rkey};
}

static void expect_written(size_t at, uint32_t rkey)
{
    paint(a.memory, 64, (unsigned)at);
    assert_int_equal(ask(&a, &b, write_to(at, at, 64, rkey)), 0);
    expect_done(&a, at, IBV_WC_RDMA_WRITE);
    assert_memory_equal(a.memory, b.memory + at, 64);
}

static void expect_no_access(struct ask what)
{
    assert_int_equal(ask(&a, &b, what), 0);
    expect_completion(&a, what.id, IBV_WC_REM_ACCESS_ERR);
    expect_told(&b, IBV_EVENT_QP_ACCESS_ERR);
}

/* ---- both types ---- */

static void bind_window(uint64_t id, size_t at, uint64_t length,
                        unsigned access)
{
    if (mw->type == IBV_MW_TYPE_1)
        assert_int_equal(bind_first(id, at, length, access), 0);
    else
        assert_int_equal(bind_second(id, at, length, access), 0);
    expect_done(&b, id, IBV_WC_BIND_MW);
}

static const enum ibv_mw_type types[] = {IBV_MW_TYPE_1, IBV_MW_TYPE_2};

static void a_window_is_no_key_before_it_is_bound(void **state)
{
    for (int i = 0; i < 2; i++) {
        open_window(state, types[i]);
        expect_no_access(write_to(1, PLACE, 64, mw->rkey));
        close_window();
    }
}

static void a_bound_window_gives_its_part(void **state)
{
    for (int i = 0; i < 2; i++) {
        open_window(state, types[i]);
        bind_window(1, PLACE, LENGTH, IBV_ACCESS_REMOTE_WRITE);
        expect_written(PLACE, mw->rkey);
        expect_written(PLACE + LENGTH - 64, mw->rkey);
        close_window();
    }
}

static void a_bound_window_gives_no_more(void **state)
{
    static const size_t places[] = {PLACE - 1, PLACE + LENGTH - 63};

    for (int i = 0; i < 4; i++) {
        open_window(state, types[i / 2]);
        bind_window(1, PLACE, LENGTH, IBV_ACCESS_REMOTE_WRITE);
        expect_no_access(write_to(2, places[i % 2], 64, mw->rkey));
        close_window();
    }
}

static void a_window_has_rights_of_its_own(void **state)
{
    for (int i = 0; i < 2; i++) {
        struct ask what = write_to(2, PLACE, 64, 0);

        open_window(state, types[i]);
        bind_window(1, PLACE, LENGTH, IBV_ACCESS_REMOTE_READ);
        what.rkey = mw->rkey;
        what.opcode = IBV_WR_RDMA_READ;
        assert_int_equal(ask(&a, &b, what), 0);
        expect_done(&a, 2, IBV_WC_RDMA_READ);
        expect_no_access(write_to(3, PLACE, 64, mw->rkey));
        close_window();
    }
}

static void a_window_is_no_local_key(void **state)
{
    const struct vf_profile *profile = *state;

    open_window(state, IBV_MW_TYPE_1);
    bind_window(1, PLACE, LENGTH, IBV_ACCESS_REMOTE_WRITE);
    assert_int_equal(post_send_key(&b, 2, PLACE, 64, mw->rkey), 0);
    FOUND("unknown-key in post_send");
    expect_completion(&b, 2, (enum ibv_wc_status)profile->send_key_status);
    close_window();
}

static void a_window_may_begin_at_zero(void **state)
{
    struct ask what;

    open_window(state, IBV_MW_TYPE_2);
    bind_window(1, PLACE, LENGTH,
                IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED);
    what = write_to(2, 0, 64, mw->rkey);
    what.at = 10 - (uintptr_t)b.memory;
    paint(a.memory, 64, 3);
    assert_int_equal(ask(&a, &b, what), 0);
    expect_done(&a, 2, IBV_WC_RDMA_WRITE);
    assert_memory_equal(b.memory + PLACE + 10, a.memory, 64);
    close_window();
}

/* ---- what cannot be bound ---- */

static void bind_fails(enum ibv_mw_type type, size_t at, uint64_t length,
                       unsigned access, const char *finding)
{
    int err = type == IBV_MW_TYPE_1 ? bind_first(1, at, length, access)
                                    : bind_second(1, at, length, access);

    assert_int_equal(err, 0);
    FOUND(finding);
    expect_completion(&b, 1, IBV_WC_MW_BIND_ERR);
    assert_int_equal(state_of(b.qp), IBV_QPS_ERR);
}

static void a_window_lies_in_its_region(void **state)
{
    open_window(state, IBV_MW_TYPE_1);
    bind_fails(IBV_MW_TYPE_1, MEMORY - LENGTH + 1, LENGTH,
               IBV_ACCESS_REMOTE_READ, "window-outside-mr in bind_mw");
    close_window();
    open_window(state, IBV_MW_TYPE_2);
    bind_fails(IBV_MW_TYPE_2, MEMORY - LENGTH + 1, LENGTH,
               IBV_ACCESS_REMOTE_READ, "window-outside-mr in post_send");
    close_window();
}

static void a_region_must_allow_windows(void **state)
{
    open_window(state, IBV_MW_TYPE_2);
    assert_int_equal(ibv_dereg_mr(b.mr), 0);
    b.mr = ibv_reg_mr(b.pd, b.memory, MEMORY, ALL_ACCESS);
    bind_fails(IBV_MW_TYPE_2, PLACE, LENGTH, IBV_ACCESS_REMOTE_READ,
               "no-window-access in post_send");
    close_window();
}

static void a_window_to_write_needs_local_write(void **state)
{
    open_window(state, IBV_MW_TYPE_2);
    assert_int_equal(ibv_dereg_mr(b.mr), 0);
    b.mr = ibv_reg_mr(b.pd, b.memory, MEMORY,
                      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND);
    bind_fails(IBV_MW_TYPE_2, PLACE, LENGTH, IBV_ACCESS_REMOTE_WRITE,
               "no-local-write in post_send");
    close_window();
}

/* ---- type 1 ---- */

static void a_new_bind_makes_a_new_key(void **state)
{
    uint32_t first;

    open_window(state, IBV_MW_TYPE_1);
    bind_window(1, PLACE, LENGTH, IBV_ACCESS_REMOTE_WRITE);
    first = mw->rkey;
    bind_window(2, PLACE + LENGTH, LENGTH, IBV_ACCESS_REMOTE_WRITE);
    assert_int_not_equal(mw->rkey, first);
    expect_written(PLACE + LENGTH, mw->rkey);
    expect_no_access(write_to(3, PLACE, 64, first));
    close_window();
}

static void no_bytes_unbind(void **state)
{
    uint32_t first;

    open_window(state, IBV_MW_TYPE_1);
    bind_window(1, PLACE, LENGTH, IBV_ACCESS_REMOTE_WRITE);
    first = mw->rkey;
    bind_window(2, PLACE, 0, 0);
    expect_no_access(write_to(3, PLACE, 64, first));
    close_window();
}

static void an_unbound_window_gives_nothing(void **state)
{
    open_window(state, IBV_MW_TYPE_1);
    bind_window(1, PLACE, LENGTH, IBV_ACCESS_REMOTE_WRITE);
    bind_window(2, PLACE, 0, 0);
    expect_no_access(write_to(3, PLACE, 64, mw->rkey));
    close_window();
}

/* Any queue pair of the domain will do. */
static void type_one_is_for_every_queue_pair(void **state)
{
    struct ibv_qp *first_a, *first_b;

    open_window(state, IBV_MW_TYPE_1);
    bind_window(1, PLACE, LENGTH, IBV_ACCESS_REMOTE_WRITE);
    first_a = a.qp;
    first_b = b.qp;
    a.qp = pair_qp(&a, &usual, NULL);
    b.qp = pair_qp(&b, &usual, NULL);
    pair_connect(&usual);
    expect_written(PLACE, mw->rkey);
    assert_int_equal(ibv_destroy_qp(first_a), 0);
    assert_int_equal(ibv_destroy_qp(first_b), 0);
    expect_written(PLACE, mw->rkey);
    close_window();
}

static void binds_are_in_line_with_sends(void **state)
{
    struct ask send = {.id = 1, .opcode = IBV_WR_SEND, .length = 64};

    open_window(state, IBV_MW_TYPE_1);
    assert_int_equal(ask(&b, &a, send), 0); /* waits for a receive */
    assert_int_equal(bind_first(2, PLACE, LENGTH, IBV_ACCESS_REMOTE_WRITE), 0);
    expect_none(&b);
    assert_int_equal(post_recv(&a, 3, 0, 64), 0);
    expect_done(&b, 1, IBV_WC_SEND);
    expect_done(&b, 2, IBV_WC_BIND_MW);
    expect_done(&a, 3, IBV_WC_RECV);
    expect_written(PLACE, mw->rkey);
    close_window();
}

/* ---- type 2 ---- */

static void type_two_is_for_one_queue_pair(void **state)
{
    struct ibv_qp *first_a, *first_b;

    open_window(state, IBV_MW_TYPE_2);
    bind_window(1, PLACE, LENGTH, IBV_ACCESS_REMOTE_WRITE);
    first_a = a.qp;
    first_b = b.qp;
    a.qp = pair_qp(&a, &usual, NULL);
    b.qp = pair_qp(&b, &usual, NULL);
    pair_connect(&usual);
    expect_no_access(write_to(2, PLACE, 64, mw->rkey));
    assert_int_equal(ibv_destroy_qp(a.qp), 0);
    assert_int_equal(ibv_destroy_qp(b.qp), 0);
    a.qp = first_a;
    b.qp = first_b;
    expect_written(PLACE, mw->rkey);
    close_window();
}

static int invalidate(struct host *host, uint64_t id, uint32_t rkey)
{
    return ask(
        host, &a,
        (struct ask){.id = id, .opcode = IBV_WR_LOCAL_INV, .other = rkey});
}

static void its_owner_can_invalidate_it(void **state)
{
    open_window(state, IBV_MW_TYPE_2);
    bind_window(1, PLACE, LENGTH, IBV_ACCESS_REMOTE_WRITE);
    assert_int_equal(invalidate(&b, 2, mw->rkey), 0);
    expect_done(&b, 2, IBV_WC_LOCAL_INV);
    bind_window(3, PLACE, LENGTH, IBV_ACCESS_REMOTE_WRITE);
    expect_written(PLACE, mw->rkey);
    assert_int_equal(invalidate(&b, 4, mw->rkey), 0);
    expect_done(&b, 4, IBV_WC_LOCAL_INV);
    expect_no_access(write_to(5, PLACE, 64, mw->rkey));
    close_window();
}

static void its_peer_can_invalidate_it(void **state)
{
    bool grh = ((const struct vf_profile *)*state)->recv_grh;
    struct ibv_wc wc;

    open_window(state, IBV_MW_TYPE_2);
    bind_window(1, PLACE, LENGTH, IBV_ACCESS_REMOTE_WRITE);
    expect_written(PLACE, mw->rkey);
    assert_int_equal(post_recv(&b, 2, 0, 64), 0);
    assert_int_equal(ask(&a, &b,
                         (struct ask){.id = 3,
                                      .opcode = IBV_WR_SEND_WITH_INV,
                                      .length = 10,
                                      .other = mw->rkey}),
                     0);
    expect_done(&a, 3, IBV_WC_SEND);
    wc = expect_done(&b, 2, IBV_WC_RECV);
    assert_int_equal(wc.wc_flags, IBV_WC_WITH_INV | (grh ? IBV_WC_GRH : 0));
    assert_int_equal(wc.invalidated_rkey, mw->rkey);
    assert_int_equal(wc.byte_len, 10);
    expect_no_access(write_to(4, PLACE, 64, mw->rkey));
    close_window();
}

static void a_key_of_nothing_cannot_be_invalidated(void **state)
{
    open_window(state, IBV_MW_TYPE_2);
    assert_int_equal(invalidate(&b, 1, 0x12300), 0);
    FOUND("unknown-key in post_send");
    expect_completion(&b, 1, IBV_WC_LOC_QP_OP_ERR);
    assert_int_equal(state_of(b.qp), IBV_QPS_ERR);
    close_window();
}

static void a_peer_cannot_invalidate_a_region(void **state)
{
    const struct vf_profile *profile = *state;

    open_window(state, IBV_MW_TYPE_2);
    assert_int_equal(post_recv(&b, 1, 0, 64), 0);
    assert_int_equal(ask(&a, &b,
                         (struct ask){.id = 2,
                                      .opcode = IBV_WR_SEND_WITH_INV,
                                      .length = 10,
                                      .other = b.mr->rkey}),
                     0);
    expect_completion(&a, 2, (enum ibv_wc_status)profile->rc_refused_status);
    assert_int_not_equal(polled(&b).status, IBV_WC_SUCCESS);
    assert_int_equal(state_of(b.qp), IBV_QPS_ERR);
    close_window();
}

static void a_bound_window_is_not_bound_again(void **state)
{
    open_window(state, IBV_MW_TYPE_2);
    bind_window(1, PLACE, LENGTH, IBV_ACCESS_REMOTE_WRITE);
    assert_int_equal(bind_second(2, PLACE, LENGTH, IBV_ACCESS_REMOTE_WRITE), 0);
    expect_completion(&b, 2, IBV_WC_MW_BIND_ERR);
    close_window();
}

/* ---- the region under it ---- */

static void a_region_stays_under_its_window(void **state)
{
    for (int i = 0; i < 2; i++) {
        open_window(state, types[i]);
        bind_window(1, PLACE, LENGTH, IBV_ACCESS_REMOTE_WRITE);
        assert_int_equal(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL,
                                      NULL, 0, IBV_ACCESS_LOCAL_WRITE),
                         IBV_REREG_MR_ERR_CMD);
        FOUND("window-bound in rereg_mr");
        close_window();
    }
}

static void a_window_without_its_region_gives_nothing(void **state)
{
    const struct vf_profile *profile = *state;

    for (int i = 0; i < 2; i++) {
        uint32_t rkey;

        open_window(state, types[i]);
        bind_window(1, PLACE, LENGTH, IBV_ACCESS_REMOTE_WRITE);
        rkey = mw->rkey;
        assert_int_equal(ibv_dereg_mr(b.mr), profile->bound_mr_errno);
        FOUND("window-bound in dereg_mr");
        assert_int_equal(ask(&a, &b, write_to(2, PLACE, 64, rkey)), 0);
        expect_completion(&a, 2,
                          profile->bound_mr_errno ? IBV_WC_SUCCESS
                                                  : IBV_WC_REM_ACCESS_ERR);
        pair_close();
    }
}

static void a_window_that_is_gone_gives_nothing(void **state)
{
    uint32_t rkey;

    open_window(state, IBV_MW_TYPE_1);
    bind_window(1, PLACE, LENGTH, IBV_ACCESS_REMOTE_WRITE);
    rkey = mw->rkey;
    assert_int_equal(ibv_dealloc_mw(mw), 0);
    expect_no_access(write_to(2, PLACE, 64, rkey));
    pair_end();
}

static void a_region_can_be_made_anew(void **state)
{
    struct ibv_pd *pd;

    pair_open(state, &usual);
    assert_int_equal(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
                                  b.memory + 8192, 4096, 0),
                     0);
    assert_ptr_equal(b.mr->addr, b.memory + 8192);
    assert_int_equal(b.mr->length, 4096);
    expect_written(8192, b.mr->rkey);
    assert_int_equal(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL,
                                  0, IBV_ACCESS_LOCAL_WRITE),
                     0);
    expect_no_access(write_to(1, 8192, 64, b.mr->rkey));
    pd = ibv_alloc_pd(b.context);
    assert_int_equal(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0),
                     0);
    assert_ptr_equal(b.mr->pd, pd);
    assert_int_equal(ibv_dereg_mr(b.mr), 0);
    assert_int_equal(ibv_dealloc_pd(pd), 0);
    b.mr = ibv_reg_mr(b.pd, b.memory, MEMORY, EVERY_ACCESS);
    pair_end();
}

static void a_region_made_anew_has_lost_its_old_place(void **state)
{
    pair_open(state, &usual);
    assert_int_equal(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
                                  b.memory + 8192, 4096, 0),
                     0);
    expect_no_access(write_to(1, 0, 64, b.mr->rkey));
    pair_end();
}

/* The kernel says what memory there is. */
static void a_region_of_no_memory_is_not_made_anew(void **state)
{
    unsigned char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(memory != MAP_FAILED);
    assert_int_equal(munmap(memory + 4096, 4096), 0);
    stage.real = true;
    pair_open(state, &usual);
    stage.real = false;
    errno = 0;
    assert_int_equal(ibv_rereg_mr(b.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
                                  memory, 8192, 0),
                     IBV_REREG_MR_ERR_CMD);
    assert_int_equal(errno, EFAULT);
    munmap(memory, 4096);
    pair_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_window_is_no_key_before_it_is_bound),
        EACH(a_bound_window_gives_its_part),
        EACH(a_bound_window_gives_no_more),
        EACH(a_window_has_rights_of_its_own),
        EACH(a_window_is_no_local_key),
        EACH(a_window_may_begin_at_zero),
        EACH(a_window_lies_in_its_region),
        EACH(a_region_must_allow_windows),
        EACH(a_window_to_write_needs_local_write),
        EACH(a_new_bind_makes_a_new_key),
        EACH(no_bytes_unbind),
        EACH(an_unbound_window_gives_nothing),
        EACH(type_one_is_for_every_queue_pair),
        EACH(binds_are_in_line_with_sends),
        EACH(type_two_is_for_one_queue_pair),
        EACH(its_owner_can_invalidate_it),
        EACH(its_peer_can_invalidate_it),
        EACH(a_key_of_nothing_cannot_be_invalidated),
        EACH(a_peer_cannot_invalidate_a_region),
        EACH(a_bound_window_is_not_bound_again),
        EACH(a_region_stays_under_its_window),
        EACH(a_window_without_its_region_gives_nothing),
        EACH(a_window_that_is_gone_gives_nothing),
        ON(a_region_can_be_made_anew, ideal),
        ON(a_region_made_anew_has_lost_its_old_place, ideal),
        ON(a_region_of_no_memory_is_not_made_anew, ideal),
    };

    return cmocka_run_group_tests(tests, NULL, stage_teardown);
}
