/*
 * Compare-and-swap and fetch-and-add on eight bytes of the peer's memory: the
 * result is what was there before, in the byte order of the machine.
 */
#include "pair_support.h"

static void set_word(const struct host *host, size_t at, uint64_t value)
{
    memcpy(host->memory + at, &value, sizeof(value));
}

static uint64_t word(const struct host *host, size_t at)
{
    uint64_t value;

    memcpy(&value, host->memory + at, sizeof(value));
    return value;
}

static struct ask add_of(uint64_t id, size_t at, uint64_t value)
{
    return (struct ask){.id = id,
                        .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
                        .at = at,
                        .length = 8,
                        .compare_add = value};
}

static struct ask swap_of(uint64_t id, size_t at, uint64_t compare,
                          uint64_t value)
{
    return (struct ask){.id = id,
                        .opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
                        .at = at,
                        .length = 8,
                        .compare_add = compare,
                        .swap = value};
}

static void an_add_gives_what_was_there(void **state)
{
    struct ibv_wc wc;

    pair_open(state, &usual);
    set_word(&b, 64, UINT64_C(0x1122334455667788));
    set_word(&b, 56, 1);
    set_word(&b, 72, 2);
    assert_int_equal(ask(&a, &b, add_of(1, 64, 5)), 0);
    wc = expect_done(&a, 1, IBV_WC_FETCH_ADD);
    assert_int_equal(wc.byte_len, 8);
    assert_true(word(&a, 0) == UINT64_C(0x1122334455667788));
    assert_true(word(&b, 64) == UINT64_C(0x112233445566778d));
    assert_int_equal(word(&b, 56), 1);
    assert_int_equal(word(&b, 72), 2);
    expect_none(&b);
    pair_end();
}

static void an_add_wraps_around(void **state)
{
    pair_open(state, &usual);
    set_word(&b, 0, UINT64_MAX);
    assert_int_equal(ask(&a, &b, add_of(1, 0, 3)), 0);
    expect_done(&a, 1, IBV_WC_FETCH_ADD);
    assert_int_equal(word(&b, 0), 2);
    assert_int_equal(ask(&a, &b, add_of(2, 0, UINT64_MAX)), 0);
    expect_done(&a, 2, IBV_WC_FETCH_ADD);
    assert_int_equal(word(&b, 0), 1);
    pair_end();
}

static void a_swap_takes_place_when_it_compares(void **state)
{
    struct ibv_wc wc;

    pair_open(state, &usual);
    set_word(&b, 0, 7);
    assert_int_equal(ask(&a, &b, swap_of(1, 0, 8, 9)), 0);
    wc = expect_done(&a, 1, IBV_WC_COMP_SWAP);
    assert_int_equal(wc.byte_len, 8);
    assert_int_equal(word(&a, 0), 7);
    assert_int_equal(word(&b, 0), 7);
    assert_int_equal(ask(&a, &b, swap_of(2, 0, 7, 9)), 0);
    expect_done(&a, 2, IBV_WC_COMP_SWAP);
    assert_int_equal(word(&a, 0), 7);
    assert_int_equal(word(&b, 0), 9);
    pair_end();
}

/* Both ends count in one word; a's own through a second queue pair to itself.
 */
static void none_is_lost_among_several(void **state)
{
    struct ibv_qp *to_b;
    struct ibv_qp *to_self;
    uint64_t seen[20];

    pair_open(state, &usual);
    to_b = a.qp;
    to_self = pair_qp(&b, &usual, NULL);
    pair_connect_one(to_self, &usual, &b.gid, to_self->qp_num);
    for (unsigned i = 0; i < 20; i++) {
        struct host *host = i % 2 ? &b : &a;
        struct ibv_qp *kept = host->qp;

        host->qp = i % 2 ? to_self : to_b;
        assert_int_equal(ask(host, &b,
                             (struct ask){.id = i,
                                          .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
                                          .from = 1024,
                                          .at = 8,
                                          .length = 8,
                                          .compare_add = 1}),
                         0);
        expect_done(host, i, IBV_WC_FETCH_ADD);
        seen[i] = word(host, 1024);
        host->qp = kept;
    }
    for (unsigned i = 0; i < 20; i++)
        assert_int_equal(seen[i], i);
    assert_int_equal(word(&b, 8), 20);
    assert_int_equal(ibv_destroy_qp(to_self), 0);
    pair_end();
}

static void a_chain_of_them_is_in_order(void **state)
{
    struct ask asks[3] = {add_of(1, 0, 10), swap_of(2, 0, 15, 100),
                          add_of(3, 0, 1)};
    struct ibv_send_wr wr[3], *bad;
    struct ibv_sge sge[3];

    pair_open(state, &usual);
    set_word(&b, 0, 5);
    for (unsigned i = 0; i < 3; i++) {
        sge[i] = (struct ibv_sge){(uintptr_t)a.memory + 8 * i, 8, a.mr->lkey};
        wr[i] = ask_wr(&b, &asks[i], &sge[i]);
        wr[i].next = i < 2 ? &wr[i + 1] : NULL;
    }
    wr[0].send_flags = 0;
    wr[1].send_flags = 0;
    assert_int_equal(ibv_post_send(a.qp, wr, &bad), 0);
    expect_done(&a, 3, IBV_WC_FETCH_ADD);
    assert_int_equal(word(&a, 0), 5);
    assert_int_equal(word(&a, 8), 15);
    assert_int_equal(word(&a, 16), 100);
    assert_int_equal(word(&b, 0), 101);
    pair_end();
}

/* ---- what is not allowed ---- */

static void refused(struct ask what, int status, int event_type)
{
    assert_int_equal(ask(&a, &b, what), 0);
    expect_completion(&a, what.id, (enum ibv_wc_status)status);
    assert_int_equal(state_of(a.qp), IBV_QPS_ERR);
    assert_int_equal(state_of(b.qp), IBV_QPS_ERR);
    assert_int_equal(word(&b, 0), 0);
    expect_told(&b, event_type);
}

static void an_odd_place_is_an_invalid_request(void **state)
{
    const struct vf_profile *profile = *state;

    pair_open(state, &usual);
    if (profile->atomics_checked)
        assert_int_equal(ask(&a, &b, add_of(1, 4, 1)), EINVAL);
    else
        refused(add_of(1, 4, 1), IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
    FOUND("bad-atomic in post_send");
    pair_end();
}

static void less_than_eight_bytes_are_an_invalid_request(void **state)
{
    struct ask what = add_of(1, 0, 1);

    pair_open(state, &usual);
    what.length = 4;
    refused(what, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
    FOUND("bad-atomic in post_send");
    pair_end();
}

static void a_key_without_the_right_is_refused(void **state)
{
    struct ask what = add_of(1, 0, 1);
    struct ibv_mr *mr;

    pair_open(state, &usual);
    mr = ibv_reg_mr(b.pd, b.memory, MEMORY, ALL_ACCESS);
    what.rkey = mr->rkey;
    refused(what, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    pair_end();
}

static void the_last_bytes_must_all_be_inside(void **state)
{
    struct ask what = add_of(1, 0, 1);
    struct ibv_mr *mr;

    pair_open(state, &usual);
    mr = ibv_reg_mr(b.pd, b.memory, 12, EVERY_ACCESS);
    what.rkey = mr->rkey;
    assert_int_equal(ask(&a, &b, what), 0);
    expect_done(&a, 1, IBV_WC_FETCH_ADD);
    set_word(&b, 0, 0);
    what.at = 8;
    refused(what, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    pair_end();
}

static void a_queue_pair_without_the_right_refuses(void **state)
{
    struct pair pair = usual;

    pair.access = ALL_ACCESS;
    pair_open(state, &pair);
    refused(add_of(1, 0, 1), IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
    pair_end();
}

static void over_uc_there_are_none(void **state)
{
    struct pair pair = of_type(IBV_QPT_UC);

    pair_open(state, &pair);
    assert_int_equal(ask(&a, &b, add_of(1, 0, 1)), 0);
    FOUND("bad-opcode in post_send");
    expect_completion(&a, 1, IBV_WC_LOC_QP_OP_ERR);
    assert_int_equal(word(&b, 0), 0);
    pair_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(an_add_gives_what_was_there),
        EACH(an_add_wraps_around),
        EACH(a_swap_takes_place_when_it_compares),
        EACH(none_is_lost_among_several),
        EACH(a_chain_of_them_is_in_order),
        EACH(an_odd_place_is_an_invalid_request),
        EACH(less_than_eight_bytes_are_an_invalid_request),
        EACH(a_key_without_the_right_is_refused),
        EACH(the_last_bytes_must_all_be_inside),
        EACH(a_queue_pair_without_the_right_refuses),
        EACH(over_uc_there_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, stage_teardown);
}
