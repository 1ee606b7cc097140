/*
 * Shared receive queues: several queue pairs of one domain take their receives
 * from one queue, in the order in which messages arrive.
 */
#include "pair_support.h"

static struct ibv_srq *srq;
static struct host c; /* a second queue pair of a's that sends to b */

static struct ibv_srq *srq_of(const struct host *host, uint32_t depth)
{
    struct ibv_srq_init_attr attr = {.attr = {.max_wr = depth, .max_sge = 2}};
    struct ibv_srq *made;

    errno = 0;
    made = ibv_create_srq(host->pd, &attr);
    assert_non_null(made);
    assert_true(attr.attr.max_wr >= depth);
    return made;
}

/* a.qp to b.qp and c.qp (on a's machine) to c's peer: both of b's queue pairs
 * hang on the shared queue. */
static struct ibv_qp *second;

static void open_both(void **state, const struct pair *asked)
{
    struct pair pair = *asked;

    pair_hosts(state);
    srq = srq_of(&b, 16);
    a.qp = pair_qp(&a, &pair, NULL);
    b.qp = pair_qp(&b, &pair, srq);
    pair_connect(&pair);
    c = a;
    c.qp = pair_qp(&a, &pair, NULL);
    second = pair_qp(&b, &pair, srq);
    pair_connect_one(c.qp, &pair, &b.gid, second->qp_num);
    pair_connect_one(second, &pair, &a.gid, c.qp->qp_num);
}

static void close_both(void)
{
    assert_int_equal(ibv_destroy_qp(c.qp), 0);
    assert_int_equal(ibv_destroy_qp(second), 0);
    assert_int_equal(ibv_destroy_qp(b.qp), 0);
    assert_int_equal(ibv_destroy_srq(srq), 0);
    b.qp = pair_qp(&b, &usual, NULL);
    pair_end();
}

static int post_shared(uint64_t id, size_t at, uint32_t length)
{
    struct ibv_sge sge = {(uintptr_t)b.memory + at, length, b.mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad = NULL;

    return ibv_post_srq_recv(srq, &wr, &bad);
}

static int send_from(struct host *host, uint64_t id, size_t from)
{
    return ask(
        host, &b,
        (struct ask){
            .id = id, .opcode = IBV_WR_SEND, .from = from, .length = 64});
}

static void expect_received(uint64_t id, const struct ibv_qp *qp)
{
    struct ibv_wc wc = polled(&b);

    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_int_equal(wc.opcode, IBV_WC_RECV);
    assert_int_equal(wc.wr_id, id);
    assert_int_equal(wc.qp_num, qp->qp_num);
    assert_int_equal(wc.byte_len, 64);
}

static void all_take_from_one_queue(void **state)
{
    open_both(state, &usual);
    paint(a.memory, 4096, 1);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(post_shared(i, i * 64, 64), 0);
    assert_int_equal(send_from(&a, 10, 0), 0);
    assert_int_equal(send_from(&c, 11, 64), 0);
    assert_int_equal(send_from(&c, 12, 128), 0);
    assert_int_equal(send_from(&a, 13, 192), 0);
    expect_received(0, b.qp);
    expect_received(1, second);
    expect_received(2, second);
    expect_received(3, b.qp);
    assert_memory_equal(a.memory, b.memory, 256);
    expect_done(&a, 10, IBV_WC_SEND);
    expect_done(&c, 11, IBV_WC_SEND);
    expect_done(&c, 12, IBV_WC_SEND);
    expect_done(&a, 13, IBV_WC_SEND);
    close_both();
}

static void sends_wait_for_a_receive_of_the_queue(void **state)
{
    open_both(state, &usual);
    assert_int_equal(send_from(&c, 1, 0), 0);
    assert_int_equal(send_from(&a, 2, 0), 0);
    expect_none(&a);
    assert_int_equal(post_shared(10, 0, 64), 0);
    assert_int_equal(post_shared(11, 0, 64), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(polled(&b).status, IBV_WC_SUCCESS);
    for (int i = 0; i < 2; i++)
        assert_int_equal(polled(&a).status, IBV_WC_SUCCESS);
    close_both();
}

static void a_receive_may_have_several_entries(void **state)
{
    struct ibv_sge sge[2];
    struct ibv_recv_wr wr = {.wr_id = 1, .sg_list = sge, .num_sge = 2};
    struct ibv_recv_wr *bad;

    open_both(state, &usual);
    paint(a.memory, 64, 1);
    sge[0] = (struct ibv_sge){(uintptr_t)b.memory + 100, 10, b.mr->lkey};
    sge[1] = (struct ibv_sge){(uintptr_t)b.memory + 200, 54, b.mr->lkey};
    assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
    assert_int_equal(send_from(&a, 2, 0), 0);
    expect_received(1, b.qp);
    expect_done(&a, 2, IBV_WC_SEND);
    assert_memory_equal(b.memory + 100, a.memory, 10);
    assert_memory_equal(b.memory + 200, a.memory + 10, 54);
    close_both();
}

static void more_entries_than_granted_are_refused(void **state)
{
    struct ibv_sge sge[3];
    struct ibv_recv_wr wr = {.wr_id = 1, .sg_list = sge, .num_sge = 3};
    struct ibv_recv_wr *bad = NULL;

    open_both(state, &usual);
    memset(sge, 0, sizeof(sge));
    assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), EINVAL);
    assert_ptr_equal(bad, &wr);
    close_both();
}

static void a_full_queue_is_enomem_at_the_first_not_taken(void **state)
{
    struct ibv_recv_wr wr[40];
    struct ibv_recv_wr *bad = NULL;
    struct ibv_srq_attr attr;

    open_both(state, &usual);
    assert_int_equal(ibv_query_srq(srq, &attr), 0);
    assert_true(attr.max_wr >= 16 && attr.max_wr < 40);
    for (unsigned i = 0; i < 40; i++)
        wr[i] = (struct ibv_recv_wr){.wr_id = i,
                                     .next = i < 39 ? &wr[i + 1] : NULL};
    assert_int_equal(ibv_post_srq_recv(srq, wr, &bad), ENOMEM);
    assert_ptr_equal(bad, &wr[attr.max_wr]);
    FOUND("queue-overflow in post_srq_recv");
    close_both();
}

static void its_queue_pairs_have_no_queue_of_their_own(void **state)
{
    struct ibv_recv_wr wr = {.wr_id = 1};
    struct ibv_recv_wr *bad;

    open_both(state, &usual);
    assert_int_equal(ibv_post_recv(b.qp, &wr, &bad), EINVAL);
    close_both();
}

static void it_cannot_go_before_its_queue_pairs(void **state)
{
    open_both(state, &usual);
    assert_int_equal(ibv_destroy_srq(srq), EBUSY);
    FOUND("children-alive in destroy_srq");
    close_both();
}

static void the_limit_is_told_once(void **state)
{
    struct ibv_srq_attr attr = {.srq_limit = 3};
    struct ibv_async_event event;

    open_both(state, &usual);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(post_shared(i, 0, 64), 0);
    assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
    assert_int_equal(send_from(&a, 1, 0), 0);
    assert_int_equal(send_from(&a, 2, 0), 0);
    no_async_event(&b); /* three are left: not below the limit */
    assert_int_equal(send_from(&c, 3, 0), 0);
    event = async_event(&b);
    assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
    assert_ptr_equal(event.element.srq, srq);
    ibv_ack_async_event(&event);
    assert_int_equal(send_from(&a, 4, 0), 0);
    no_async_event(&b);
    assert_int_equal(ibv_query_srq(srq, &attr), 0);
    assert_int_equal(attr.srq_limit, 0);
    attr.srq_limit = 1;
    assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
    assert_int_equal(send_from(&a, 5, 0), 0);
    event = async_event(&b);
    assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
    ibv_ack_async_event(&event);
    close_both();
}

static void a_limit_above_the_depth_is_refused(void **state)
{
    struct ibv_srq_attr attr;

    open_both(state, &usual);
    assert_int_equal(ibv_query_srq(srq, &attr), 0);
    attr.srq_limit = attr.max_wr + 1;
    assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
    close_both();
}

static void its_depth_can_change_but_not_below_what_it_holds(void **state)
{
    struct ibv_srq_attr attr = {.max_wr = 100};

    open_both(state, &usual);
    assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), 0);
    assert_int_equal(ibv_query_srq(srq, &attr), 0);
    assert_true(attr.max_wr >= 100);
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(post_shared(i, 0, 64), 0);
    NOTHING_FOUND();
    attr.max_wr = 10;
    assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
    assert_int_equal(ibv_query_srq(srq, &attr), 0);
    assert_true(attr.max_wr >= 100);
    close_both();
}

static void the_last_receive_of_a_failed_queue_pair_is_told(void **state)
{
    open_both(state, &usual);
    assert_int_equal(post_shared(1, 0, 64), 0);
    assert_int_equal(to_state(b.qp, IBV_QPS_ERR), 0);
    expect_told(&b, IBV_EVENT_QP_LAST_WQE_REACHED);
    no_async_event(&b);
    /* The queue's receives stay, for the others. */
    expect_none(&b);
    assert_int_equal(send_from(&c, 2, 0), 0);
    expect_received(1, second);
    expect_done(&c, 2, IBV_WC_SEND);
    close_both();
}

static void an_error_of_one_takes_one_receive(void **state)
{
    const struct vf_profile *profile = *state;
    struct ibv_wc wc;

    open_both(state, &usual);
    assert_int_equal(post_shared(1, 0, 32), 0);
    assert_int_equal(post_shared(2, 0, 64), 0);
    assert_int_equal(send_from(&a, 3, 0), 0);
    expect_completion(&a, 3, (enum ibv_wc_status)profile->rc_too_long_status);
    wc = polled(&b);
    assert_int_equal(wc.wr_id, 1);
    assert_int_equal(wc.status, profile->too_long_status);
    assert_int_equal(wc.qp_num, b.qp->qp_num);
    expect_told(&b, IBV_EVENT_QP_LAST_WQE_REACHED);
    assert_int_equal(send_from(&c, 4, 0), 0);
    expect_received(2, second);
    expect_done(&c, 4, IBV_WC_SEND);
    close_both();
}

static void its_keys_are_those_of_its_domain(void **state)
{
    const struct vf_profile *profile = *state;
    struct ibv_sge sge;
    struct ibv_recv_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad;
    struct ibv_pd *pd;
    struct ibv_mr *mr;

    open_both(state, &usual);
    pd = ibv_alloc_pd(b.context);
    mr = ibv_reg_mr(pd, b.memory, 64, EVERY_ACCESS);
    sge = (struct ibv_sge){(uintptr_t)b.memory, 64, mr->lkey};
    assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
    FOUND("wrong-domain-key in post_srq_recv");
    assert_int_equal(send_from(&a, 2, 0), 0);
    expect_completion(&a, 2, (enum ibv_wc_status)profile->rc_refused_status);
    expect_completion(&b, 1, (enum ibv_wc_status)profile->recv_key_status);
    expect_told(&b, IBV_EVENT_QP_LAST_WQE_REACHED);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    assert_int_equal(ibv_dealloc_pd(pd), 0);
    close_both();
}

static void over_uc_it_works_as_well(void **state)
{
    struct pair pair = of_type(IBV_QPT_UC);

    open_both(state, &pair);
    assert_int_equal(post_shared(1, 0, 64), 0);
    assert_int_equal(post_shared(2, 0, 64), 0);
    assert_int_equal(send_from(&a, 3, 0), 0);
    assert_int_equal(send_from(&c, 4, 0), 0);
    expect_received(1, b.qp);
    expect_received(2, second);
    expect_done(&a, 3, IBV_WC_SEND);
    expect_done(&c, 4, IBV_WC_SEND);
    close_both();
}

static void an_announced_write_takes_a_receive(void **state)
{
    struct ibv_wc wc;

    open_both(state, &usual);
    assert_int_equal(post_shared(1, 0, 0), 0);
    assert_int_equal(ask(&c, &b,
                         (struct ask){.id = 2,
                                      .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
                                      .length = 64}),
                     0);
    expect_done(&c, 2, IBV_WC_RDMA_WRITE);
    wc = polled(&b);
    assert_int_equal(wc.wr_id, 1);
    assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
    assert_int_equal(wc.qp_num, second->qp_num);
    close_both();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(all_take_from_one_queue),
        EACH(sends_wait_for_a_receive_of_the_queue),
        EACH(a_receive_may_have_several_entries),
        EACH(more_entries_than_granted_are_refused),
        EACH(a_full_queue_is_enomem_at_the_first_not_taken),
        EACH(its_queue_pairs_have_no_queue_of_their_own),
        EACH(it_cannot_go_before_its_queue_pairs),
        EACH(the_limit_is_told_once),
        EACH(a_limit_above_the_depth_is_refused),
        EACH(its_depth_can_change_but_not_below_what_it_holds),
        EACH(the_last_receive_of_a_failed_queue_pair_is_told),
        EACH(an_error_of_one_takes_one_receive),
        EACH(its_keys_are_those_of_its_domain),
        EACH(over_uc_it_works_as_well),
        EACH(an_announced_write_takes_a_receive),
    };

    return cmocka_run_group_tests(tests, NULL, stage_teardown);
}
