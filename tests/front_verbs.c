/*
 * Memory windows, regions made anew, queues that change their size, multicast:
 * the verbs beyond what JACCL calls, through the public entries.
 */
#include "mocks_support.h"

static struct host a, b;
static struct ibv_mw *window;

#define WINDOW_ACCESS (ALL_ACCESS | IBV_ACCESS_MW_BIND)

static int rc_to_rtr(struct ibv_qp *qp, const union ibv_gid *gid,
                     uint32_t number)
{
    struct ibv_qp_attr attr = rtr_attr(gid, number);

    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 12;
    return ibv_modify_qp(
        qp, &attr, RTR_MASK | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static int rc_to_rts(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTS,
        .sq_psn = 7,
        .timeout = 14,
        .retry_cnt = 7,
        .rnr_retry = 7,
        .max_rd_atomic = 1,
    };

    return ibv_modify_qp(qp, &attr,
                         RTS_MASK | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                             IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

/* Two hosts whose queue pairs are connected and reliable. */
static void reliable_hosts(void)
{
    stage_set(&vf_profile_ideal, 2);
    host_start(&a, 0);
    host_start(&b, 1);
    a.qp = host_qp(&a, IBV_QPT_RC, 8);
    b.qp = host_qp(&b, IBV_QPT_RC, 8);
    assert_int_equal(to_init(a.qp), 0);
    assert_int_equal(to_init(b.qp), 0);
    assert_int_equal(rc_to_rtr(a.qp, &b.gid, b.qp->qp_num), 0);
    assert_int_equal(rc_to_rtr(b.qp, &a.gid, a.qp->qp_num), 0);
    assert_int_equal(rc_to_rts(a.qp), 0);
    assert_int_equal(rc_to_rts(b.qp), 0);
    vf_thread_set_machine(0);
    NOTHING_FOUND();
}

static void drop_hosts(void)
{
    host_drop(&a);
    host_drop(&b);
}

static void open_one(void)
{
    stage_set(&vf_profile_ideal, 2);
    host_start(&a, 0);
}

static struct ibv_mr *region(unsigned access)
{
    struct ibv_mr *mr = ibv_reg_mr(a.pd, a.memory, 4096, (int)access);

    assert_non_null(mr);
    return mr;
}

/* Out of line: FATAL jumps back into its caller. */
static __attribute__((noinline)) struct ibv_mw *
new_window(struct ibv_pd *pd, enum ibv_mw_type type)
{
    return ibv_alloc_mw(pd, type);
}

/* ---- handles and plans ---- */

static void null_and_freed_handles_are_named(void **state)
{
    struct ibv_mw_bind bind = {0};
    struct ibv_srq_attr attr;
    union ibv_gid gid = {.raw = {0xff}};

    (void)state;
    open_one();
    FATAL("null-mr in rereg_mr", ibv_rereg_mr(NULL, 0, NULL, NULL, 0, 0));
    FATAL("null-pd in alloc_mw", a.context->ops.alloc_mw(NULL, IBV_MW_TYPE_1));
    FATAL("null-mw in dealloc_mw", a.context->ops.dealloc_mw(NULL));
    FATAL("null-cq in resize_cq", ibv_resize_cq(NULL, 8));
    FATAL("null-srq in modify_srq", ibv_modify_srq(NULL, &attr, 0));
    FATAL("null-srq in query_srq", ibv_query_srq(NULL, &attr));
    FATAL("null-qp in attach_mcast", ibv_attach_mcast(NULL, &gid, 0));
    FATAL("null-qp in detach_mcast", ibv_detach_mcast(NULL, &gid, 0));
    FATAL("null-gid in attach_mcast", ibv_attach_mcast(a.qp, NULL, 0));
    window = new_window(a.pd, IBV_MW_TYPE_1);
    assert_non_null(window);
    FATAL("null-qp in bind_mw", ibv_bind_mw(NULL, window, &bind));
    assert_int_equal(to_init(a.qp), 0);
    assert_int_equal(ibv_dealloc_mw(window), 0);
    FATAL("freed-mw in dealloc_mw", ibv_dealloc_mw(window));
    host_drop(&a);
}

static void a_freed_window_is_named_where_it_is_bound(void **state)
{
    struct ibv_mw_bind bind = {0};

    (void)state;
    reliable_hosts();
    window = new_window(a.pd, IBV_MW_TYPE_1);
    assert_int_equal(ibv_dealloc_mw(window), 0);
    FATAL("freed-mw in bind_mw", ibv_bind_mw(a.qp, window, &bind));
    drop_hosts();
}

static void effects_follow_from_the_answer(void **state)
{
    static const enum vf_verb with_errno[] = {
        VF_VERB_rereg_mr,     VF_VERB_dealloc_mw,   VF_VERB_bind_mw,
        VF_VERB_resize_cq,    VF_VERB_modify_srq,   VF_VERB_query_srq,
        VF_VERB_attach_mcast, VF_VERB_detach_mcast,
    };

    (void)state;
    for (size_t i = 0; i < sizeof(with_errno) / sizeof(with_errno[0]); i++) {
        assert_true(vf_effect_fits(VF_EFFECT_ERRNO, with_errno[i]));
        assert_true(vf_effect_fits(VF_EFFECT_UNPLUG, with_errno[i]));
        assert_false(vf_effect_fits(VF_EFFECT_NULL, with_errno[i]));
        assert_int_equal(vf_effect_fits(VF_EFFECT_GARBLED, with_errno[i]),
                         with_errno[i] == VF_VERB_query_srq);
    }
    assert_true(vf_effect_fits(VF_EFFECT_NULL, VF_VERB_alloc_mw));
    assert_false(vf_effect_fits(VF_EFFECT_ERRNO, VF_VERB_alloc_mw));
}

static void what_the_plan_answers_reaches_no_device(void **state)
{
    struct ibv_mw_bind bind = {0};
    struct ibv_mw *mw;

    (void)state;
    reliable_hosts();
    plan(0, VF_VERB_alloc_mw, 1, false, VF_EFFECT_NULL, ENOMEM);
    plan(0, VF_VERB_bind_mw, 1, false, VF_EFFECT_ERRNO, EIO);
    plan(0, VF_VERB_dealloc_mw, 1, true, VF_EFFECT_ERRNO, EBUSY);
    errno = 0;
    assert_null(ibv_alloc_mw(a.pd, IBV_MW_TYPE_1));
    assert_int_equal(errno, ENOMEM);
    mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_1);
    bind.bind_info = (struct ibv_mw_bind_info){region(WINDOW_ACCESS),
                                               (uintptr_t)a.memory, 64, 0};
    assert_int_equal(ibv_bind_mw(a.qp, mw, &bind), EIO);
    assert_int_equal(ibv_dereg_mr(bind.bind_info.mr), 0);
    NOTHING_FOUND(); /* nothing was posted that names the region */
    assert_int_equal(ibv_dealloc_mw(mw), EBUSY);
    vf_machine_leaks(stage.world, 0);
    for (int i = 0; i < stage.finding_count; i++)
        if (strcmp(stage.findings[i].title, "leak of mw") == 0)
            assert_true(stage.findings[i].planned);
    stage.finding_count = 0;
    drop_hosts();
}

/* ---- regions made anew ---- */

static void rereg_input_errors_leave_the_region_as_it_was(void **state)
{
    (void)state;
    open_one();
    assert_int_equal(to_init(a.qp), 0);
    assert_int_equal(ibv_rereg_mr(a.mr, 8, NULL, NULL, 0, 0),
                     IBV_REREG_MR_ERR_INPUT);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(
        ibv_rereg_mr(a.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, NULL, 64, 0),
        IBV_REREG_MR_ERR_INPUT);
    assert_int_equal(ibv_rereg_mr(a.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
                                  a.memory, 0, 0),
                     IBV_REREG_MR_ERR_INPUT);
    assert_int_equal(ibv_rereg_mr(a.mr, 0, NULL, NULL, 0, ALL_ACCESS),
                     IBV_REREG_MR_ERR_INPUT);
    assert_int_equal(post_recv(&a, 1, 0, 64), 0);
    NOTHING_FOUND();
    host_drop(&a);
}

static void rereg_moves_region_to_other_memory_access_and_domain(void **state)
{
    struct ibv_pd *other;
    struct ibv_mr *mr;

    (void)state;
    open_one();
    assert_int_equal(to_init(a.qp), 0);
    other = ibv_alloc_pd(a.context);
    mr = ibv_reg_mr(other, a.memory, 4096, 0);
    assert_int_equal(ibv_rereg_mr(mr,
                                  IBV_REREG_MR_CHANGE_TRANSLATION |
                                      IBV_REREG_MR_CHANGE_PD |
                                      IBV_REREG_MR_CHANGE_ACCESS,
                                  a.pd, a.memory + 4096, 8192, ALL_ACCESS),
                     0);
    assert_ptr_equal(mr->pd, a.pd);
    assert_ptr_equal(mr->addr, a.memory + 4096);
    assert_int_equal(mr->length, 8192);
    assert_int_equal(ibv_dealloc_pd(other), 0); /* it has no children now */
    assert_int_equal(post_recv_key(&a, 1, 4096 + 8192 - 64, 64, mr->lkey), 0);
    NOTHING_FOUND();
    assert_int_equal(post_recv_key(&a, 1, 0, 64, mr->lkey), 0);
    FOUND("sge-outside-mr in post_recv");
    host_drop(&a);
}

static void a_failed_rereg_costs_the_region(void **state)
{
    struct ibv_mr *mr;

    (void)state;
    open_one();
    assert_int_equal(to_init(a.qp), 0);
    mr = region(ALL_ACCESS);
    plan(0, VF_VERB_rereg_mr, 1, false, VF_EFFECT_ERRNO, ENOMEM);
    assert_int_equal(
        ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
        IBV_REREG_MR_ERR_CMD);
    assert_int_equal(errno, ENOMEM);
    post_recv_key(&a, 1, 0, 64, mr->lkey);
    FOUND("lost-key in post_recv");
    assert_int_equal(ibv_dereg_mr(mr), 0);
    NOTHING_FOUND();
    host_drop(&a);
}

static void regions_in_use_are_not_made_anew(void **state)
{
    struct ibv_mr *mr;

    (void)state;
    open_one();
    assert_int_equal(to_init(a.qp), 0);
    mr = region(ALL_ACCESS);
    assert_int_equal(post_recv_key(&a, 1, 0, 64, mr->lkey), 0);
    ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL_ACCESS);
    FOUND("mr-changed-while-posted in rereg_mr");
    FATAL("null-pd in rereg_mr",
          ibv_rereg_mr(a.mr, IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0));
    host_drop(&a);
}

/* ---- windows ---- */

static int bind_one(struct ibv_mw *mw, struct ibv_mr *mr, size_t offset,
                    size_t length, unsigned access)
{
    struct ibv_mw_bind bind = {
        .wr_id = 7,
        .send_flags = IBV_SEND_SIGNALED,
        .bind_info = {mr, mr ? (uintptr_t)a.memory + offset : 0, length,
                      access},
    };

    return ibv_bind_mw(a.qp, mw, &bind);
}

static void bound(struct ibv_mw *mw, struct ibv_mr *mr, size_t length)
{
    struct ibv_wc wc;

    assert_int_equal(bind_one(mw, mr, 0, length, IBV_ACCESS_REMOTE_WRITE), 0);
    wc = polled(&a);
    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_int_equal(wc.wr_id, 7);
    assert_int_equal(wc.opcode, IBV_WC_BIND_MW);
}

static void a_region_does_not_go_from_under_a_window(void **state)
{
    struct ibv_mr *mr;
    struct ibv_mw *mw;
    uint32_t rkey;

    (void)state;
    reliable_hosts();
    mr = region(WINDOW_ACCESS);
    mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_1);
    rkey = mw->rkey;
    bound(mw, mr, 64);
    assert_int_not_equal(mw->rkey, rkey);
    NOTHING_FOUND();
    ibv_dereg_mr(mr);
    FOUND("window-bound in dereg_mr");
    drop_hosts();
}

static void an_unbound_window_holds_no_region(void **state)
{
    struct ibv_mr *mr, *other;
    struct ibv_mw *mw;

    (void)state;
    reliable_hosts();
    mr = region(WINDOW_ACCESS);
    other = region(WINDOW_ACCESS);
    mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_1);
    bound(mw, mr, 64);
    bound(mw, other, 64);
    assert_int_equal(ibv_dereg_mr(mr), 0); /* it has moved on */
    bound(mw, NULL, 0);
    assert_int_equal(ibv_dereg_mr(other), 0);
    mr = region(WINDOW_ACCESS);
    bound(mw, mr, 64);
    assert_int_equal(ibv_dealloc_mw(mw), 0);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    NOTHING_FOUND();
    drop_hosts();
}

static void windows_are_children_of_their_domain(void **state)
{
    struct ibv_pd *pd;

    (void)state;
    open_one();
    pd = ibv_alloc_pd(a.context);
    assert_non_null(ibv_alloc_mw(pd, IBV_MW_TYPE_2));
    ibv_dealloc_pd(pd);
    FOUND("children-alive in dealloc_pd");
    host_drop(&a);
}

static void a_window_that_is_left_is_a_leak(void **state)
{
    bool seen = false;

    (void)state;
    open_one();
    assert_non_null(ibv_alloc_mw(a.pd, IBV_MW_TYPE_2));
    vf_machine_leaks(stage.world, 0);
    for (int i = 0; i < stage.finding_count; i++)
        seen |= strcmp(stage.findings[i].title, "leak of mw") == 0;
    assert_true(seen);
    stage.finding_count = 0;
    host_drop(&a);
}

static void bad_bindings_are_named(void **state)
{
    struct ibv_pd *other;
    struct ibv_mw *mw, *foreign;
    struct ibv_mr *mr;

    (void)state;
    reliable_hosts();
    other = ibv_alloc_pd(a.context);
    mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_1);
    bind_one(mw, region(ALL_ACCESS), 0, 64, 0);
    FOUND("no-window-access in bind_mw");
    mr = region(IBV_ACCESS_MW_BIND);
    bind_one(mw, mr, 0, 64, IBV_ACCESS_REMOTE_WRITE);
    FOUND("no-local-write in bind_mw");
    bind_one(mw, mr, 4096 - 63, 64, IBV_ACCESS_REMOTE_READ);
    FOUND("window-outside-mr in bind_mw");
    foreign = ibv_alloc_mw(other, IBV_MW_TYPE_1);
    bind_one(foreign, NULL, 0, 0, 0);
    FOUND("wrong-domain-window in bind_mw");
    drop_hosts();
}

static int post_request(struct ibv_send_wr *wr)
{
    struct ibv_send_wr *bad;

    wr->send_flags |= IBV_SEND_SIGNALED;
    return ibv_post_send(a.qp, wr, &bad);
}

static int bind_two(struct ibv_mw *mw, struct ibv_mr *mr, uint32_t rkey)
{
    struct ibv_send_wr wr = {.wr_id = 8, .opcode = IBV_WR_BIND_MW};

    wr.bind_mw.mw = mw;
    wr.bind_mw.rkey = rkey;
    wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
        mr, (uintptr_t)a.memory, 64, IBV_ACCESS_REMOTE_WRITE};
    return post_request(&wr);
}

static void type_two_windows_are_bound_and_invalidated_by_requests(void **state)
{
    struct ibv_send_wr wr = {.wr_id = 9, .opcode = IBV_WR_LOCAL_INV};
    struct ibv_mr *mr;
    struct ibv_mw *mw;

    (void)state;
    reliable_hosts();
    mr = region(WINDOW_ACCESS);
    mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_2);
    mw->rkey = ibv_inc_rkey(mw->rkey);
    assert_int_equal(bind_two(mw, mr, mw->rkey), 0);
    expect_completion(&a, 8, IBV_WC_SUCCESS);
    NOTHING_FOUND();
    ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, WINDOW_ACCESS);
    FOUND("window-bound in rereg_mr");
    wr.invalidate_rkey = mw->rkey;
    assert_int_equal(post_request(&wr), 0);
    expect_completion(&a, 9, IBV_WC_SUCCESS);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    assert_int_equal(ibv_dealloc_mw(mw), 0);
    NOTHING_FOUND();
    drop_hosts();
}

static void a_peer_may_invalidate_a_window(void **state)
{
    struct ibv_send_wr wr = {.wr_id = 3,
                             .opcode = IBV_WR_SEND_WITH_INV,
                             .send_flags = IBV_SEND_SIGNALED};
    struct ibv_send_wr *bad;
    struct ibv_mr *mr;
    struct ibv_mw *mw;
    struct ibv_wc wc;

    (void)state;
    reliable_hosts();
    mr = region(WINDOW_ACCESS);
    mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_2);
    mw->rkey = ibv_inc_rkey(mw->rkey);
    assert_int_equal(bind_two(mw, mr, mw->rkey), 0);
    expect_completion(&a, 8, IBV_WC_SUCCESS);
    assert_int_equal(post_recv(&a, 2, 0, 64), 0);
    wr.invalidate_rkey = mw->rkey;
    assert_int_equal(ibv_post_send(b.qp, &wr, &bad), 0);
    wc = polled(&a);
    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_true(wc.wc_flags & IBV_WC_WITH_INV);
    assert_int_equal(wc.invalidated_rkey, mw->rkey);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    NOTHING_FOUND();
    drop_hosts();
}

static void window_requests_that_cannot_be(void **state)
{
    struct ibv_send_wr wr = {.opcode = IBV_WR_LOCAL_INV,
                             .invalidate_rkey = 0xffffff00};

    (void)state;
    reliable_hosts();
    window = new_window(a.pd, IBV_MW_TYPE_1);
    FATAL("null-mw in post_send", bind_two(NULL, a.mr, 1));
    post_request(&wr);
    FOUND("unknown-key in post_send");
    bind_two(window, region(WINDOW_ACCESS), window->rkey);
    FOUND("wrong-window-type in post_send");
    drop_hosts();
}

/* ---- queues ---- */

static void a_completion_queue_shrinks_to_what_it_holds(void **state)
{
    struct ibv_wc wc[4];

    (void)state;
    two_hosts(&vf_profile_ideal, &a, &b);
    for (int i = 0; i < 3; i++)
        assert_int_equal(post_recv(&a, 1, 0, 64), 0);
    assert_int_equal(to_state(a.qp, IBV_QPS_ERR), 0);
    assert_int_equal(ibv_resize_cq(a.cq, 0), EINVAL);
    assert_int_equal(ibv_resize_cq(a.cq, 2), EINVAL);
    assert_int_equal(ibv_resize_cq(a.cq, 3), 0);
    assert_true(a.cq->cqe >= 3);
    assert_int_equal(ibv_resize_cq(a.cq, 200), 0);
    assert_true(a.cq->cqe >= 200);
    assert_int_equal(ibv_poll_cq(a.cq, 4, wc), 3);
    NOTHING_FOUND();
    drop_hosts();
}

static void a_shared_queue_is_asked_and_changed(void **state)
{
    struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
    struct ibv_srq_attr attr = {.max_wr = 8};
    struct ibv_srq *srq;

    (void)state;
    open_one();
    srq = ibv_create_srq(a.pd, &init);
    assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), 0);
    memset(&attr, 0xee, sizeof(attr));
    assert_int_equal(ibv_query_srq(srq, &attr), 0);
    assert_true(attr.max_wr >= 8 && attr.max_wr < 0xee);
    assert_int_equal(attr.max_sge, 1);
    FATAL("null-attr in query_srq", ibv_query_srq(srq, NULL));
    FATAL("null-attr in modify_srq", ibv_modify_srq(srq, NULL, 0));
    for (uint32_t i = 0; i < attr.max_wr; i++) {
        struct ibv_sge sge = {(uintptr_t)a.memory, 64, a.mr->lkey};
        struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
        struct ibv_recv_wr *bad;

        assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
    }
    NOTHING_FOUND();
    plan(0, VF_VERB_query_srq, 3, false, VF_EFFECT_GARBLED, 0);
    assert_int_equal(ibv_query_srq(srq, &attr), 0);
    assert_int_equal(attr.max_wr, 0xa5a5a5a5);
    host_drop(&a);
}

/* rdma-core waits in destroy_cq for acknowledgements that never come. */
static void events_are_acknowledged_before_their_queue_goes(void **state)
{
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    void *context;

    (void)state;
    stage_set(&vf_profile_ideal, 2);
    host_start(&a, 0);
    host_start(&b, 1);
    channel = ibv_create_comp_channel(a.context);
    a.cq = ibv_create_cq(a.context, 8, NULL, channel, 0);
    a.qp = host_qp(&a, IBV_QPT_UC, 8);
    connect_hosts(&a, &b);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(post_recv(&a, 1, 0, 64), 0);
        assert_int_equal(ibv_req_notify_cq(a.cq, 0), 0);
        assert_int_equal(post_send(&b, 1, 0, 64), 0);
        assert_int_equal(ibv_get_cq_event(channel, &cq, &context), 0);
    }
    assert_ptr_equal(cq, a.cq);
    ibv_ack_cq_events(a.cq, 1);
    assert_int_equal(ibv_destroy_qp(a.qp), 0);
    assert_int_equal(ibv_destroy_cq(a.cq), 0);
    FOUND("unacked-events in destroy_cq");
    drop_hosts();
}

/* ---- multicast ---- */

static void groups_are_for_datagrams_and_multicast_addresses(void **state)
{
    union ibv_gid group = {.raw = {0xff, 0x0e, [15] = 1}};
    struct ibv_qp *datagrams;

    (void)state;
    open_one();
    datagrams = host_qp(&a, IBV_QPT_UD, 8);
    assert_non_null(datagrams);
    assert_int_equal(ibv_attach_mcast(a.qp, &group, 0xc000), EINVAL);
    assert_int_equal(ibv_attach_mcast(datagrams, &a.gid, 0xc000), EINVAL);
    assert_int_equal(ibv_attach_mcast(datagrams, &group, 0xc000), 0);
    assert_int_equal(ibv_detach_mcast(datagrams, &group, 0xc000), 0);
    assert_int_equal(ibv_destroy_qp(datagrams), 0);
    NOTHING_FOUND();
    host_drop(&a);
}

/* ---- traces ---- */

static void lines_of_the_new_verbs(void **state)
{
    static const char *const lines[] = {
        "r0 #14 alloc_mw(pd=1, type=1) = mw=1\n",
        "r0 #15 bind_mw(qp=2, wr_id=0x7, len=64) = 0\n",
        "r0 #16 poll_cq(cq=1, room=1) = 1 [wr_id=0x7 BIND_MW SUCCESS]\n",
        "r0 #17 dealloc_mw(mw=1) = 0\n",
        "r0 #18 rereg_mr(mr=2, flags=0x4, len=0, access=0x1) = 0\n",
        "r0 #19 rereg_mr(mr=2, flags=0x8, len=0, access=0x0) = 22 EINVAL\n",
        "r0 #20 resize_cq(cq=1, cqe=128) = 0\n",
        "r0 #21 attach_mcast(qp=2, lid=0xc000) = 22 EINVAL\n",
        "opcode=LOCAL_INV) = 0 (unknown-key)\n",
    };
    union ibv_gid group = {.raw = {0xff}};
    struct ibv_send_wr wr = {
        .wr_id = 9, .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = 0xffffff00};
    struct ibv_mr *mr;
    struct ibv_mw *mw;

    (void)state;
    reliable_hosts();
    mr = region(WINDOW_ACCESS);
    mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_1);
    bound(mw, mr, 64);
    assert_int_equal(ibv_dealloc_mw(mw), 0);
    assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
                                  IBV_ACCESS_LOCAL_WRITE),
                     0);
    ibv_rereg_mr(mr, 8, NULL, NULL, 0, 0);
    assert_int_equal(ibv_resize_cq(a.cq, 128), 0);
    ibv_attach_mcast(a.qp, &group, 0xc000);
    post_request(&wr);
    stage.finding_count = 0;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        if (!strstr(stage.text, lines[i]))
            fail_msg("no line %s in\n%s", lines[i], stage.text);
    drop_hosts();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_and_freed_handles_are_named),
        cmocka_unit_test(a_freed_window_is_named_where_it_is_bound),
        cmocka_unit_test(effects_follow_from_the_answer),
        cmocka_unit_test(what_the_plan_answers_reaches_no_device),
        cmocka_unit_test(rereg_input_errors_leave_the_region_as_it_was),
        cmocka_unit_test(rereg_moves_region_to_other_memory_access_and_domain),
        cmocka_unit_test(a_failed_rereg_costs_the_region),
        cmocka_unit_test(regions_in_use_are_not_made_anew),
        cmocka_unit_test(a_region_does_not_go_from_under_a_window),
        cmocka_unit_test(an_unbound_window_holds_no_region),
        cmocka_unit_test(windows_are_children_of_their_domain),
        cmocka_unit_test(a_window_that_is_left_is_a_leak),
        cmocka_unit_test(bad_bindings_are_named),
        cmocka_unit_test(
            type_two_windows_are_bound_and_invalidated_by_requests),
        cmocka_unit_test(a_peer_may_invalidate_a_window),
        cmocka_unit_test(window_requests_that_cannot_be),
        cmocka_unit_test(a_completion_queue_shrinks_to_what_it_holds),
        cmocka_unit_test(a_shared_queue_is_asked_and_changed),
        cmocka_unit_test(events_are_acknowledged_before_their_queue_goes),
        cmocka_unit_test(groups_are_for_datagrams_and_multicast_addresses),
        cmocka_unit_test(lines_of_the_new_verbs),
    };

    return cmocka_run_group_tests(tests, NULL, stage_teardown);
}
