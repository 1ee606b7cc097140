/*
 * The contract names every mistake by one stable title, says whether going on
 * would fault, and says nothing where there is no mistake.
 */
#include "mocks_support.h"

#ifdef __linux__
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN
#endif

static struct host a, b;

static void open_one(void)
{
    stage_set(&vf_profile_ideal, 2);
    host_start(&a, 0);
}

static void null_handles_are_fatal(void **state)
{
    struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_UC};
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    struct ibv_port_attr port;
    struct ibv_ah_attr ah = {.port_num = 1};
    struct ibv_srq_init_attr srq = {.attr = {.max_wr = 1}};
    union ibv_gid gid;
    int (*query_port)(struct ibv_context *, uint8_t,
                      struct _compat_ibv_port_attr *) = (ibv_query_port);

    (void)state;
    open_one();
    FATAL("null-device-list in free_device_list",
          (ibv_free_device_list(NULL), 0));
    FATAL("null-device in get_device_name", ibv_get_device_name(NULL));
    FATAL("null-device in get_device_guid", ibv_get_device_guid(NULL));
    FATAL("null-device in open_device", ibv_open_device(NULL));
    FATAL("null-context in close_device", ibv_close_device(NULL));
    FATAL("null-context in query_port", query_port(NULL, 1, (void *)&port));
    FATAL("null-context in query_gid", ibv_query_gid(NULL, 1, 0, &gid));
    FATAL("null-context in alloc_pd", ibv_alloc_pd(NULL));
    FATAL("null-pd in dealloc_pd", ibv_dealloc_pd(NULL));
    FATAL("null-pd in reg_mr", ibv_reg_mr(NULL, a.memory, 64, 1));
    FATAL("null-mr in dereg_mr", ibv_dereg_mr(NULL));
    FATAL("null-context in create_cq", ibv_create_cq(NULL, 1, NULL, NULL, 0));
    FATAL("null-cq in destroy_cq", ibv_destroy_cq(NULL));
    FATAL("null-pd in create_qp", ibv_create_qp(NULL, &init));
    FATAL("null-cq in create_qp", ibv_create_qp(a.pd, &init));
    FATAL("null-qp in modify_qp", ibv_modify_qp(NULL, &attr, IBV_QP_STATE));
    FATAL("null-qp in destroy_qp", ibv_destroy_qp(NULL));
    FATAL("null-pd in create_ah", ibv_create_ah(NULL, &ah));
    FATAL("null-ah in destroy_ah", ibv_destroy_ah(NULL));
    FATAL("null-pd in create_srq", ibv_create_srq(NULL, &srq));
    FATAL("null-srq in destroy_srq", ibv_destroy_srq(NULL));
    FATAL("null-channel in destroy_comp_channel",
          ibv_destroy_comp_channel(NULL));
    host_drop(&a);
}

static void freed_handles_are_fatal(void **state)
{
    struct ibv_sge sge = {0};
    struct ibv_send_wr wr = {.sg_list = &sge};
    struct ibv_send_wr *bad;
    struct ibv_wc wc;
    struct ibv_device **list;

    (void)state;
    open_one();
    list = ibv_get_device_list(NULL);
    ibv_free_device_list(list);
    FATAL("freed-device-list in free_device_list",
          (ibv_free_device_list(list), 0));
    assert_int_equal(ibv_dereg_mr(a.mr), 0);
    FATAL("freed-mr in dereg_mr", ibv_dereg_mr(a.mr));
    assert_int_equal(ibv_destroy_qp(a.qp), 0);
    FATAL("freed-qp in destroy_qp", ibv_destroy_qp(a.qp));
    FATAL("freed-qp in post_send", ibv_post_send(a.qp, &wr, &bad));
    assert_int_equal(ibv_destroy_cq(a.cq), 0);
    FATAL("freed-cq in destroy_cq", ibv_destroy_cq(a.cq));
    FATAL("freed-cq in poll_cq", ibv_poll_cq(a.cq, 1, &wc));
    assert_int_equal(ibv_dealloc_pd(a.pd), 0);
    FATAL("freed-pd in dealloc_pd", ibv_dealloc_pd(a.pd));
    FATAL("freed-pd in reg_mr", ibv_reg_mr(a.pd, a.memory, 64, 1));
    assert_int_equal(ibv_close_device(a.context), 0);
    FATAL("freed-context in close_device", ibv_close_device(a.context));
    FATAL("freed-context in alloc_pd", ibv_alloc_pd(a.context));
    host_drop(&a);
}

static void foreign_handles_are_fatal(void **state)
{
    struct ibv_pd pd = {0};
    struct ibv_mr mr = {0};

    (void)state;
    open_one();
    FATAL("foreign-pd in dealloc_pd", ibv_dealloc_pd(&pd));
    FATAL("foreign-mr in dereg_mr", ibv_dereg_mr(&mr));
    FATAL("foreign-mr in dereg_mr", ibv_dereg_mr((void *)16));
    FATAL("foreign-mr in dereg_mr", ibv_dereg_mr((void *)((char *)a.mr + 8)));
    host_drop(&a);
}

static void handles_of_another_process_are_fatal(void **state)
{
    struct ibv_qp_init_attr attr = {.send_cq = NULL, .qp_type = IBV_QPT_UC};

    (void)state;
    two_hosts(&vf_profile_thunderbolt, &a, &b);
    attr.send_cq = attr.recv_cq = b.cq;
    FATAL("foreign-cq in create_qp", ibv_create_qp(a.pd, &attr));
    host_end(&a);
    host_end(&b);
    assert_int_equal(vf_machine_leaks(stage.world, 1), 0);
}

/* The kernel looks for a handle's number among those of the same context. */
static void handles_of_another_context_are_refused(void **state)
{
    struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_UC};
    struct ibv_context *other;
    struct ibv_comp_channel *channel;
    struct ibv_pd *pd;

    (void)state;
    open_one();
    other = ibv_open_device(a.context->device);
    assert_non_null(other);
    pd = ibv_alloc_pd(other);
    channel = ibv_create_comp_channel(other);
    attr.send_cq = attr.recv_cq = a.cq;
    errno = 0;
    assert_null(ibv_create_qp(pd, &attr));
    assert_int_equal(errno, EINVAL);
    FOUND("wrong-context in create_qp");
    assert_null(ibv_create_cq(a.context, 4, NULL, channel, 0));
    FOUND("wrong-context in create_cq");
    assert_int_equal(ibv_rereg_mr(a.mr, IBV_REREG_MR_CHANGE_PD, pd, NULL, 0, 0),
                     IBV_REREG_MR_ERR_CMD);
    FOUND("wrong-context in rereg_mr");
    assert_int_equal(ibv_destroy_comp_channel(channel), 0);
    assert_int_equal(ibv_dealloc_pd(pd), 0);
    assert_int_equal(ibv_close_device(other), 0);
    host_end(&a);
}

static void handles_of_the_wrong_kind_are_fatal(void **state)
{
    (void)state;
    open_one();
    FATAL("cq-not-qp in destroy_qp", ibv_destroy_qp((void *)a.cq));
    FATAL("pd-not-mr in dereg_mr", ibv_dereg_mr((void *)a.pd));
    FATAL("context-not-pd in dealloc_pd", ibv_dealloc_pd((void *)a.context));
    host_drop(&a);
}

static void handles_of_a_closed_context_are_fatal(void **state)
{
    (void)state;
    open_one();
    assert_int_equal(ibv_close_device(a.context), 0);
    FOUND("children-alive in close_device");
    FATAL("freed-context in dereg_mr", ibv_dereg_mr(a.mr));
    FATAL("freed-context in destroy_qp", ibv_destroy_qp(a.qp));
    host_drop(&a);
}

static void planned_failures_do_not_excuse_the_call(void **state)
{
    (void)state;
    open_one();
    plan(0, VF_VERB_dereg_mr, 1, true, VF_EFFECT_ERRNO, EIO);
    FATAL("null-mr in dereg_mr", ibv_dereg_mr(NULL));
    host_drop(&a);
}

static void released_with_children_alive(void **state)
{
    (void)state;
    open_one();
    assert_int_equal(ibv_dealloc_pd(a.pd), EBUSY);
    FOUND("children-alive in dealloc_pd");
    assert_int_equal(ibv_destroy_cq(a.cq), EBUSY);
    FOUND("children-alive in destroy_cq");
    host_drop(&a);
}

static void detail_of_pd(const char *expected)
{
    stage.finding_count = 0;
    assert_int_equal(ibv_dealloc_pd(a.pd), EBUSY);
    assert_string_equal(stage.findings[0].detail, expected);
    stage.finding_count = 0;
}

static void what_still_uses_it_is_named(void **state)
{
    struct ibv_mr *second, *third;

    (void)state;
    open_one();
    detail_of_pd("pd 1 is released while 2 objects still use it: mr 1, qp 1");
    assert_int_equal(ibv_destroy_cq(a.cq), EBUSY);
    assert_string_equal(stage.findings[0].detail,
                        "cq 1 is released while 1 object still uses it: qp 1");
    second = ibv_reg_mr(a.pd, a.memory, 64, ALL_ACCESS);
    detail_of_pd(
        "pd 1 is released while 3 objects still use it: mr 1, mr 2, qp 1");
    third = ibv_reg_mr(a.pd, a.memory, 64, ALL_ACCESS);
    detail_of_pd("pd 1 is released while 4 objects still use it: mr 1, mr 2, "
                 "mr 3 and 1 more");
    assert_int_equal(ibv_dereg_mr(second), 0);
    assert_int_equal(ibv_destroy_qp(a.qp), 0);
    assert_int_equal(ibv_dereg_mr(a.mr), 0);
    detail_of_pd("pd 1 is released while 1 object still uses it: mr 3");
    assert_int_equal(ibv_dereg_mr(third), 0);
    assert_int_equal(vf_machine_leaks(stage.world, 0), 3);
    assert_string_equal(stage.findings[1].detail, "1 left at the end: pd 1");
    stage.finding_count = 0;
    host_drop(&a);
}

static void one_request_is_no_more_than_one(void **state)
{
    (void)state;
    open_one();
    assert_int_equal(to_init(a.qp), 0);
    assert_int_equal(post_recv(&a, 1, 0, 64), 0);
    assert_int_equal(ibv_dereg_mr(a.mr), 0);
    assert_string_equal(stage.findings[0].detail,
                        "1 work request still names region 1");
    stage.finding_count = 0;
    host_drop(&a);
}

static void bad_transitions_and_masks(void **state)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};

    (void)state;
    open_one();
    assert_int_equal(to_rts(a.qp), EINVAL);
    FOUND("bad-transition in modify_qp");
    assert_int_equal(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), EINVAL);
    FOUND("bad-mask in modify_qp");
    assert_int_equal(ibv_modify_qp(a.qp, &attr, INIT_MASK | IBV_QP_QKEY),
                     EINVAL);
    FOUND("bad-mask in modify_qp");
    assert_int_equal(ibv_modify_qp(a.qp, &attr, INIT_MASK), 0);
    NOTHING_FOUND();
    host_drop(&a);
}

/* V7: what the mask does not name may be anything. */
static void attributes_outside_the_mask_are_not_looked_at(void **state)
{
    struct ibv_qp_attr attr;

    (void)state;
    open_one();
    memset(&attr, 0xee, sizeof(attr));
    attr.qp_state = IBV_QPS_INIT;
    attr.port_num = 1;
    attr.pkey_index = 0;
    attr.qp_access_flags = 0;
    assert_int_equal(ibv_modify_qp(a.qp, &attr, INIT_MASK), 0);
    NOTHING_FOUND();
    host_drop(&a);
}

static void posts_in_the_wrong_state(void **state)
{
    (void)state;
    open_one();
    assert_int_equal(post_recv(&a, 1, 0, 64), EINVAL);
    FOUND("wrong-state in post_recv");
    assert_int_equal(post_send(&a, 1, 0, 64), EINVAL);
    FOUND("wrong-state in post_send");
    host_drop(&a);
}

static void posts_in_the_wrong_state_name_the_first_request(void **state)
{
    struct ibv_send_wr send = {0};
    struct ibv_send_wr *bad_send = NULL;
    struct ibv_recv_wr recv = {0};
    struct ibv_recv_wr *bad_recv = NULL;

    (void)state;
    open_one();
    assert_int_equal(ibv_post_send(a.qp, &send, &bad_send), EINVAL);
    assert_ptr_equal(bad_send, &send);
    assert_int_equal(ibv_post_recv(a.qp, &recv, &bad_recv), EINVAL);
    assert_ptr_equal(bad_recv, &recv);
    host_drop(&a);
}

static void missing_parts_of_a_call_are_fatal(void **state)
{
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    struct ibv_send_wr send = {.num_sge = 1};
    struct ibv_send_wr *bad_send;
    struct ibv_recv_wr recv = {.num_sge = 1};
    struct ibv_recv_wr *bad_recv;

    (void)state;
    two_hosts(&vf_profile_ideal, &a, &b);
    FATAL("null-init-attr in query_qp",
          ibv_query_qp(a.qp, &attr, IBV_QP_CAP, NULL));
    FATAL("null-attr in query_qp", ibv_query_qp(a.qp, NULL, IBV_QP_CAP, &init));
    FATAL("null-attr in modify_qp", ibv_modify_qp(a.qp, NULL, IBV_QP_STATE));
    FATAL("null-sg-list in post_send", ibv_post_send(a.qp, &send, &bad_send));
    FATAL("null-sg-list in post_recv", ibv_post_recv(a.qp, &recv, &bad_recv));
    host_drop(&a);
    host_drop(&b);
}

/* What the device does not look at may be missing. */
static void unread_entries_may_be_missing(void **state)
{
    struct ibv_recv_wr none = {.num_sge = 0};
    struct ibv_recv_wr many = {.num_sge = 2};
    struct ibv_recv_wr *bad;

    (void)state;
    open_one();
    assert_int_equal(to_init(a.qp), 0);
    assert_int_equal(ibv_post_recv(a.qp, &none, &bad), 0);
    assert_int_equal(ibv_post_recv(a.qp, &many, &bad), EINVAL);
    assert_ptr_equal(bad, &many);
    NOTHING_FOUND();
    host_drop(&a);
}

static void entries_outside_their_region(void **state)
{
    (void)state;
    two_hosts(&vf_profile_ideal, &a, &b);
    assert_int_equal(post_recv(&a, 1, MEMORY - 63, 64), 0);
    FOUND("sge-outside-mr in post_recv");
    assert_int_equal(post_send(&a, 1, MEMORY - 63, 64), 0);
    FOUND("sge-outside-mr in post_send");
    host_drop(&a);
    host_drop(&b);
}

static void entries_at_the_edge_of_their_region_are_fine(void **state)
{
    (void)state;
    two_hosts(&vf_profile_ideal, &a, &b);
    assert_int_equal(post_recv(&b, 1, MEMORY - 64, 64), 0);
    assert_int_equal(post_send(&a, 1, 0, 64), 0);
    expect_completion(&b, 1, IBV_WC_SUCCESS);
    NOTHING_FOUND();
    host_drop(&a);
    host_drop(&b);
}

static void keys_of_another_domain_freed_and_unknown(void **state)
{
    struct ibv_pd *other;
    struct ibv_mr *mr;
    uint32_t lkey;

    (void)state;
    two_hosts(&vf_profile_ideal, &a, &b);
    other = ibv_alloc_pd(a.context);
    mr = ibv_reg_mr(other, a.memory, 4096, ALL_ACCESS);
    lkey = mr->lkey;
    assert_int_equal(post_recv_key(&a, 1, 0, 64, lkey), 0);
    FOUND("wrong-domain-key in post_recv");
    assert_int_equal(to_state(a.qp, IBV_QPS_RESET), 0);
    assert_int_equal(to_init(a.qp), 0);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    NOTHING_FOUND();
    assert_int_equal(post_recv_key(&a, 1, 0, 64, lkey), 0);
    FOUND("freed-key in post_recv");
    assert_int_equal(post_recv_key(&a, 1, 0, 64, 0xffffff00), 0);
    FOUND("unknown-key in post_recv");
    assert_int_equal(post_recv_key(&a, 1, 0, 64, b.mr->lkey), 0);
    FOUND("unknown-key in post_recv");
    host_drop(&a);
    host_drop(&b);
}

static void sends_past_the_granted_depth(void **state)
{
    int err = 0;
    int taken = 0;

    (void)state;
    two_hosts(&vf_profile_ideal, &a, &b);
    while (!err && taken < 1000) {
        err = post_send(&a, 1, 0, 64);
        taken += !err;
    }
    assert_int_equal(err, ENOMEM);
    assert_int_equal(taken, 32);
    FOUND("queue-overflow in post_send");
    host_drop(&a);
    host_drop(&b);
}

/* Sends of a, with room for few completions in its queue, complete at once. */
static void duplicate_all(int machine, uint32_t cqe)
{
    stage_set(&vf_profile_ideal, 2);
    host_start(&a, 0);
    host_start(&b, 1);
    if (cqe > 0) {
        b.cq = ibv_create_cq(b.context, (int)cqe, NULL, NULL, 0);
        b.qp = host_qp(&b, IBV_QPT_UC, 32);
    }
    connect_hosts(&a, &b);
    plan(machine, VF_VERB_completion, 1, true, VF_EFFECT_DUPLICATE, 0);
}

/* A program that believes its device posts one receive for each completion: the
 * device lied, and the queue is full. */
static void a_completion_told_twice_is_no_overflow_of_the_programs(void **state)
{
    (void)state;
    duplicate_all(1, 0);
    for (int i = 0; i < 32; i++)
        assert_int_equal(post_recv(&b, 1, 0, 64), 0);
    assert_int_equal(post_send(&a, 2, 0, 64), 0);
    expect_completion(&b, 1, IBV_WC_SUCCESS);
    expect_completion(&b, 1, IBV_WC_SUCCESS);
    assert_int_equal(post_recv(&b, 1, 0, 64), 0);
    assert_int_equal(post_recv(&b, 1, 0, 64), ENOMEM);
    NOTHING_FOUND();
    host_drop(&a);
    host_drop(&b);
}

static void but_one_more_than_that_is(void **state)
{
    struct ibv_sge sge;
    struct ibv_recv_wr list[2], *bad;

    (void)state;
    duplicate_all(1, 0);
    for (int i = 0; i < 32; i++)
        assert_int_equal(post_recv(&b, 1, 0, 64), 0);
    assert_int_equal(post_send(&a, 2, 0, 64), 0);
    expect_completion(&b, 1, IBV_WC_SUCCESS);
    expect_completion(&b, 1, IBV_WC_SUCCESS);
    assert_int_equal(post_recv(&b, 1, 0, 64), 0);
    sge = (struct ibv_sge){(uintptr_t)b.memory, 64, b.mr->lkey};
    for (int i = 0; i < 2; i++)
        list[i] = (struct ibv_recv_wr){
            .next = i == 0 ? &list[1] : NULL, .sg_list = &sge, .num_sge = 1};
    assert_int_equal(ibv_post_recv(b.qp, list, &bad), ENOMEM);
    FOUND("queue-overflow in post_recv");
    host_drop(&a);
    host_drop(&b);
}

/* Of sends likewise. */
static void a_send_told_twice_is_no_overflow(void **state)
{
    (void)state;
    duplicate_all(0, 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(post_recv(&b, 1, 0, 64), 0);
    assert_int_equal(post_send(&a, 2, 0, 64), 0);
    expect_completion(&a, 2, IBV_WC_SUCCESS);
    expect_completion(&a, 2, IBV_WC_SUCCESS);
    vf_device_unplug(stage.world, 0, "rdma_en2");
    for (int i = 0; i < 32; i++)
        assert_int_equal(post_send(&a, 2, 0, 64), 0);
    assert_int_equal(post_send(&a, 2, 0, 64), ENOMEM);
    NOTHING_FOUND();
    host_drop(&a);
    host_drop(&b);
}

/* A queue that has room for all requests has none for what the device makes
 * up. */
static void completions_told_twice_overflow_no_completion_queue(void **state)
{
    struct ibv_wc wc[16];

    (void)state;
    duplicate_all(1, 2);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 2; i++)
            assert_int_equal(post_recv(&b, 1, 0, 64), 0);
        for (int i = 0; i < 2; i++)
            assert_int_equal(post_send(&a, 2, 0, 64), 0);
        assert_int_equal(ibv_poll_cq(b.cq, 16, wc), 4);
        NOTHING_FOUND();
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(post_recv(&b, 1, 0, 64), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(post_send(&a, 2, 0, 64), 0);
    ibv_poll_cq(b.cq, 16, wc);
    FOUND("cq-overflow in poll_cq");
    host_drop(&a);
    host_drop(&b);
}

static void completed_requests_free_their_places(void **state)
{
    (void)state;
    two_hosts(&vf_profile_ideal, &a, &b);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(post_recv(&b, 1, 0, 64), 0);
        assert_int_equal(post_send(&a, 2, 0, 64), 0);
        expect_completion(&b, 1, IBV_WC_SUCCESS);
        expect_completion(&a, 2, IBV_WC_SUCCESS);
    }
    NOTHING_FOUND();
    host_drop(&a);
    host_drop(&b);
}

static void completion_queue_overflow(void **state)
{
    struct ibv_wc wc[8];

    (void)state;
    stage_set(&vf_profile_ideal, 2);
    host_start(&a, 0);
    host_start(&b, 1);
    a.cq = ibv_create_cq(a.context, 2, NULL, NULL, 0);
    a.qp = host_qp(&a, IBV_QPT_UC, 32);
    connect_hosts(&a, &b);
    for (int i = 0; i < 3; i++)
        assert_int_equal(post_recv(&a, 1, 0, 64), 0);
    assert_int_equal(to_state(a.qp, IBV_QPS_ERR), 0);
    NOTHING_FOUND();
    assert_int_equal(ibv_poll_cq(a.cq, 8, wc), 2);
    FOUND("cq-overflow in poll_cq");
    host_drop(&a);
    host_drop(&b);
}

/* V8 */
static void region_released_while_posted(void **state)
{
    (void)state;
    two_hosts(&vf_profile_ideal, &a, &b);
    assert_int_equal(post_recv(&a, 1, 0, 64), 0);
    assert_int_equal(ibv_dereg_mr(a.mr), 0);
    FOUND("mr-released-while-posted in dereg_mr");
    host_drop(&a);
    host_drop(&b);
}

static void region_may_go_after_its_queue_pair(void **state)
{
    (void)state;
    two_hosts(&vf_profile_ideal, &a, &b);
    assert_int_equal(post_recv(&a, 1, 0, 64), 0);
    assert_int_equal(ibv_destroy_qp(a.qp), 0);
    assert_int_equal(ibv_dereg_mr(a.mr), 0);
    NOTHING_FOUND();
    host_drop(&a);
    host_drop(&b);
}

static void region_may_go_after_its_completion(void **state)
{
    (void)state;
    two_hosts(&vf_profile_ideal, &a, &b);
    assert_int_equal(post_recv(&b, 1, 0, 64), 0);
    assert_int_equal(post_send(&a, 1, 0, 64), 0);
    assert_int_equal(ibv_dereg_mr(a.mr), 0);
    assert_int_equal(ibv_dereg_mr(b.mr), 0);
    NOTHING_FOUND();
    host_drop(&a);
    host_drop(&b);
}

static void memory_that_is_freed(void **state)
{
    (void)state;
    two_hosts(&vf_profile_ideal, &a, &b);
    stage.memory_dead = true;
    assert_null(ibv_reg_mr(a.pd, a.memory, 64, ALL_ACCESS));
    FOUND("memory-freed in reg_mr");
    assert_int_equal(post_recv(&a, 1, 0, 64), 0);
    FOUND("memory-freed in post_recv");
    assert_int_equal(post_send(&a, 1, 0, 64), 0);
    FOUND("memory-freed in post_send");
    assert_int_equal(ibv_destroy_qp(a.qp), 0);
    assert_int_equal(ibv_dereg_mr(a.mr), 0);
    FOUND("memory-freed in dereg_mr");
    host_drop(&a);
    host_drop(&b);
}

#ifdef UNDER_ASAN
static void address_sanitizer_knows_what_is_freed(void **state)
{
    struct vf_hooks hooks = {.finding = stage_finding};
    struct vf_device_setup setup = stage_device(&vf_profile_ideal, "rdma_en2");
    struct ibv_mr *mr;
    char *memory = malloc(100000);

    (void)state;
    stage_clear();
    vf_world_reset(stage.world, &hooks);
    vf_world_add_machine(stage.world);
    vf_machine_add_device(stage.world, 0, &setup);
    host_start(&a, 0);
    mr = ibv_reg_mr(a.pd, memory, 100000, ALL_ACCESS);
    NOTHING_FOUND();
    assert_null(ibv_reg_mr(a.pd, memory, 100001, ALL_ACCESS));
    FOUND("memory-freed in reg_mr");
    free(memory);
    assert_int_equal(ibv_dereg_mr(mr), 0);
    FOUND("memory-freed in dereg_mr");
    host_drop(&a);
}
#endif

/* The device must not write where the program has freed. */
static void nothing_is_written_to_freed_memory(void **state)
{
    (void)state;
    two_hosts(&vf_profile_ideal, &a, &b);
    memset(a.memory, 0x33, MEMORY);
    assert_int_equal(post_recv(&b, 1, 0, 64), 0);
    stage.memory_dead = true;
    assert_int_equal(post_send(&a, 1, 0, 64), 0);
    assert_int_equal(b.memory[0], 0);
    host_drop(&a);
    host_drop(&b);
}

static void requests_that_were_not_taken_are_not_posted(void **state)
{
    struct ibv_sge sge;
    struct ibv_recv_wr wr[40];
    struct ibv_recv_wr *bad;

    (void)state;
    open_one();
    assert_int_equal(to_init(a.qp), 0);
    sge = (struct ibv_sge){(uintptr_t)a.memory, 64, a.mr->lkey};
    for (int i = 0; i < 40; i++)
        wr[i] = (struct ibv_recv_wr){
            .next = i < 39 ? &wr[i + 1] : NULL, .sg_list = &sge, .num_sge = 1};
    assert_int_equal(ibv_post_recv(a.qp, wr, &bad), ENOMEM);
    assert_ptr_equal(bad, &wr[32]);
    stage.finding_count = 0;
    assert_int_equal(ibv_dereg_mr(a.mr), 0);
    assert_string_equal(stage.findings[0].detail,
                        "32 work requests still name region 1");
    host_drop(&a);
}

static void sends_that_were_not_taken_are_not_posted(void **state)
{
    struct ibv_sge sge;
    struct ibv_send_wr wr[40];
    struct ibv_send_wr *bad;

    (void)state;
    two_hosts(&vf_profile_ideal, &a, &b);
    sge = (struct ibv_sge){(uintptr_t)a.memory, 64, a.mr->lkey};
    for (int i = 0; i < 40; i++)
        wr[i] = (struct ibv_send_wr){.next = i < 39 ? &wr[i + 1] : NULL,
                                     .sg_list = &sge,
                                     .num_sge = 1,
                                     .opcode = IBV_WR_SEND};
    assert_int_equal(ibv_post_send(a.qp, wr, &bad), ENOMEM);
    assert_ptr_equal(bad, &wr[32]);
    stage.finding_count = 0;
    assert_int_equal(ibv_dereg_mr(a.mr), 0);
    assert_string_equal(stage.findings[0].detail,
                        "32 work requests still name region 1");
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

/* A list without an end fills the queue, and that is all. */
static void receive_list_that_is_a_ring_ends(void **state)
{
    struct ibv_recv_wr ring[3];
    struct ibv_recv_wr *bad;
    struct ibv_sge sge;

    (void)state;
    open_one();
    assert_int_equal(to_init(a.qp), 0);
    sge = (struct ibv_sge){(uintptr_t)a.memory, 64, a.mr->lkey};
    for (int i = 0; i < 3; i++)
        ring[i] = (struct ibv_recv_wr){
            .next = &ring[(i + 1) % 3], .sg_list = &sge, .num_sge = 1};
    for (int i = 0; i < 5; i++)
        assert_int_equal(post_recv(&a, 1, 0, 64), 0);
    NOTHING_FOUND();
    assert_int_equal(ibv_post_recv(a.qp, ring, &bad), ENOMEM);
    FOUND("queue-overflow in post_recv");
    assert_ptr_equal(bad, &ring[(32 - 5) % 3]);
    assert_int_equal(posted_on(a.mr), 32);
    host_drop(&a);
}

static void send_list_that_is_a_ring_ends(void **state)
{
    struct ibv_send_wr ring = {.opcode = IBV_WR_SEND, .num_sge = 1};
    struct ibv_send_wr *bad;
    struct ibv_sge sge;

    (void)state;
    two_hosts(&vf_profile_ideal, &a, &b);
    sge = (struct ibv_sge){(uintptr_t)a.memory, 64, a.mr->lkey};
    ring.sg_list = &sge;
    ring.next = &ring;
    assert_int_equal(post_send(&a, 1, 0, 64), 0);
    assert_int_equal(ibv_post_send(a.qp, &ring, &bad), ENOMEM);
    FOUND("queue-overflow in post_send");
    assert_ptr_equal(bad, &ring);
    assert_int_equal(posted_on(a.mr), 32);
    host_drop(&a);
    host_drop(&b);
}

/* There, requests complete at once and leave their places. */
static void ring_ends_in_the_error_state(void **state)
{
    struct ibv_send_wr send = {.opcode = IBV_WR_SEND};
    struct ibv_send_wr *bad_send;
    struct ibv_recv_wr recv = {0};
    struct ibv_recv_wr *bad_recv;

    (void)state;
    open_one();
    assert_int_equal(to_init(a.qp), 0);
    assert_int_equal(to_state(a.qp, IBV_QPS_ERR), 0);
    send.next = &send;
    recv.next = &recv;
    assert_int_equal(ibv_post_send(a.qp, &send, &bad_send), ENOMEM);
    assert_ptr_equal(bad_send, &send);
    assert_int_equal(ibv_post_recv(a.qp, &recv, &bad_recv), ENOMEM);
    assert_ptr_equal(bad_recv, &recv);
    host_drop(&a);
}

static struct ibv_srq *open_shared_queue(void)
{
    struct ibv_srq_init_attr attr = {.attr = {.max_wr = 4, .max_sge = 1}};
    struct ibv_srq *srq;

    open_one();
    srq = ibv_create_srq(a.pd, &attr);
    assert_non_null(srq);
    assert_int_equal(attr.attr.max_wr, 4);
    return srq;
}

static int post_shared(struct ibv_srq *srq, uint64_t wr_id, size_t offset,
                       uint32_t lkey)
{
    struct ibv_sge sge = {(uintptr_t)a.memory + offset, 64, lkey};
    struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad;

    return ibv_post_srq_recv(srq, &wr, &bad);
}

static void shared_receives_are_checked(void **state)
{
    struct ibv_srq *srq = open_shared_queue();
    struct ibv_recv_wr wr = {.num_sge = 1};
    struct ibv_recv_wr *bad;

    (void)state;
    assert_int_equal(post_shared(srq, 1, 0, 0xffffff00), 0);
    FOUND("unknown-key in post_srq_recv");
    assert_int_equal(post_shared(srq, 1, MEMORY - 63, a.mr->lkey), 0);
    FOUND("sge-outside-mr in post_srq_recv");
    FATAL("null-sg-list in post_srq_recv", ibv_post_srq_recv(srq, &wr, &bad));
    host_drop(&a);
}

static void shared_receives_past_the_granted_depth(void **state)
{
    struct ibv_srq *srq = open_shared_queue();
    struct ibv_recv_wr ring = {.next = &ring};
    struct ibv_recv_wr *bad;

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(post_shared(srq, 1, 0, a.mr->lkey), 0);
    NOTHING_FOUND();
    assert_int_equal(post_shared(srq, 1, 0, a.mr->lkey), ENOMEM);
    FOUND("queue-overflow in post_srq_recv");
    assert_int_equal(ibv_post_srq_recv(srq, &ring, &bad), ENOMEM);
    assert_ptr_equal(bad, &ring);
    FOUND("queue-overflow in post_srq_recv");
    assert_int_equal(posted_on(a.mr), 4);
    host_drop(&a);
}

static void shared_queue_takes_its_requests_with_it(void **state)
{
    struct ibv_srq *srq = open_shared_queue();

    (void)state;
    assert_int_equal(post_shared(srq, 1, 0, a.mr->lkey), 0);
    assert_int_equal(ibv_destroy_srq(srq), 0);
    assert_int_equal(posted_on(a.mr), 0);
    host_drop(&a);
}

static void completed_shared_receives_free_their_places(void **state)
{
    struct ibv_srq *srq = open_shared_queue();
    struct ibv_qp_init_attr attr = {
        .send_cq = a.cq,
        .recv_cq = a.cq,
        .srq = srq,
        .qp_type = IBV_QPT_UC,
        .cap = {.max_send_wr = 1, .max_send_sge = 1},
    };

    (void)state;
    a.qp = ibv_create_qp(a.pd, &attr);
    assert_non_null(a.qp);
    host_start(&b, 1);
    connect_hosts(&a, &b);
    for (uint64_t i = 0; i < 20; i++) {
        assert_int_equal(post_shared(srq, i, 0, a.mr->lkey), 0);
        assert_int_equal(post_send(&b, 1, 0, 64), 0);
        expect_completion(&b, 1, IBV_WC_SUCCESS);
        expect_completion(&a, i, IBV_WC_SUCCESS);
    }
    NOTHING_FOUND();
    assert_int_equal(posted_on(a.mr), 0);
    host_drop(&a);
    host_drop(&b);
}

/* Nothing but the sanitizer, if there is one, knows what is allocated here. */
static void lengths_past_the_last_address_are_a_finding(void **state)
{
    struct vf_hooks hooks = {.finding = stage_finding};
    struct vf_device_setup setup = stage_device(&vf_profile_ideal, "rdma_en2");

    (void)state;
    stage_clear();
    vf_world_reset(stage.world, &hooks);
    vf_world_add_machine(stage.world);
    vf_machine_add_device(stage.world, 0, &setup);
    host_start(&a, 0);
    assert_null(ibv_reg_mr(a.pd, a.memory, SIZE_MAX, ALL_ACCESS));
    FOUND("memory-freed in reg_mr");
    assert_null(ibv_reg_mr(a.pd, a.memory, SIZE_MAX / 2, ALL_ACCESS));
    NOTHING_FOUND(); /* absurd, but for the device to say */
    host_drop(&a);
}

static void null_addresses(void **state)
{
    (void)state;
    open_one();
    assert_null(ibv_reg_mr(a.pd, NULL, 64, ALL_ACCESS));
    FOUND("null-address in reg_mr");
    assert_null(ibv_reg_mr(a.pd, a.memory, 0, ALL_ACCESS));
    FOUND("null-address in reg_mr");
    host_drop(&a);
}

static void what_only_the_device_can_judge_is_no_finding(void **state)
{
    struct vf_device_setup setup = stage_device(&vf_profile_ideal, "rdma_en2");
    static const union ibv_gid zero;

    (void)state;
    setup.max_mr = 1;
    setup.max_qp = 1;
    setup.max_pd = 1;
    stage_set_devices(&setup, 1);
    host_start(&a, 0);
    assert_null(ibv_reg_mr(a.pd, a.memory, 64, ALL_ACCESS));
    assert_null(host_qp(&a, IBV_QPT_UC, 8));
    assert_null(ibv_alloc_pd(a.context));
    assert_null(ibv_create_cq(a.context, 1 << 30, NULL, NULL, 0));
    assert_int_equal(to_init(a.qp), 0);
    assert_int_equal(to_rtr(a.qp, &zero, 1), EINVAL);
    NOTHING_FOUND();
    host_drop(&a);
}

static void leaks_are_told_by_kind_with_their_number(void **state)
{
    static const char *const titles[] = {
        "leak of device-list", "leak of context", "leak of pd",
        "leak of mr",          "leak of cq",      "leak of qp",
    };

    (void)state;
    open_one();
    assert_non_null(ibv_reg_mr(a.pd, a.memory, 64, ALL_ACCESS));
    assert_non_null(ibv_get_device_list(NULL));
    assert_int_equal(vf_machine_leaks(stage.world, 0), 7);
    assert_int_equal(stage.finding_count, 6);
    for (int i = 0; i < 6; i++) {
        assert_string_equal(stage.findings[i].title, titles[i]);
        assert_true(stage.findings[i].leak);
        assert_false(stage.findings[i].fatal);
        assert_int_equal(stage.findings[i].nth, 0);
    }
    assert_string_equal(stage.findings[3].detail,
                        "2 left at the end: mr 1, mr 2");
    stage.finding_count = 0;
    host_drop(&a);
}

/* S14: who cannot release a thing is not to blame for it, nor for what cannot
 * go before it: such leaks are marked. */
static void what_the_plan_keeps_from_release_is_a_planned_leak(void **state)
{
    (void)state;
    open_one();
    assert_int_equal(to_init(a.qp), 0);
    assert_int_equal(post_recv(&a, 1, 0, 64), 0);
    plan(0, VF_VERB_destroy_qp, 1, true, VF_EFFECT_ERRNO, EBUSY);
    assert_int_equal(ibv_destroy_qp(a.qp), EBUSY);
    assert_int_equal(ibv_dereg_mr(a.mr), 0);
    assert_int_equal(ibv_destroy_cq(a.cq), EBUSY);
    assert_int_equal(ibv_dealloc_pd(a.pd), EBUSY);
    assert_int_equal(ibv_close_device(a.context), 0);
    assert_int_equal(stage.finding_count, 0);
    assert_int_equal(vf_machine_leaks(stage.world, 0), 3);
    assert_int_equal(stage.finding_count, 3);
    for (int i = 0; i < 3; i++)
        assert_true(stage.findings[i].leak && stage.findings[i].planned);
    stage.finding_count = 0;
    host_drop(&a);
}

static void what_nobody_kept_is_a_leak_beside_it(void **state)
{
    (void)state;
    open_one();
    plan(0, VF_VERB_dereg_mr, 1, false, VF_EFFECT_ERRNO, EBUSY);
    assert_int_equal(ibv_dereg_mr(a.mr), EBUSY);
    assert_int_equal(ibv_destroy_qp(a.qp), 0);
    assert_int_equal(ibv_destroy_cq(a.cq), 0);
    assert_int_equal(vf_machine_leaks(stage.world, 0), 3);
    assert_int_equal(stage.finding_count, 3);
    assert_string_equal(stage.findings[0].title, "leak of context");
    assert_false(stage.findings[0].planned);
    assert_string_equal(stage.findings[1].title, "leak of pd");
    assert_true(stage.findings[1].planned);
    assert_string_equal(stage.findings[2].title, "leak of mr");
    assert_true(stage.findings[2].planned);
    stage.finding_count = 0;
    host_drop(&a);
}

static void clean_life_has_no_findings(void **state)
{
    (void)state;
    two_hosts(&vf_profile_ideal, &a, &b);
    assert_int_equal(post_recv(&b, 1, 0, 64), 0);
    assert_int_equal(post_send(&a, 1, 0, 64), 0);
    expect_completion(&a, 1, IBV_WC_SUCCESS);
    expect_completion(&b, 1, IBV_WC_SUCCESS);
    host_end(&a);
    host_end(&b);
    assert_int_equal(vf_machine_leaks(stage.world, 0), 0);
    assert_int_equal(vf_machine_leaks(stage.world, 1), 0);
    NOTHING_FOUND();
}

#ifdef __linux__
static void go_on(void *context, const struct vf_finding *seen)
{
    (void)context;
    (void)seen;
}

/* Does this call end its process with a signal (or a sanitizer's report) when
 * the finding's hook returns? */
static void expect_crash(void (*call)(void))
{
    struct vf_hooks hooks = {.finding = go_on};
    int status;
    pid_t child = fork();

    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* cmocka would take it for a failure */
        signal(SIGBUS, SIG_DFL);
        fclose(stderr);
        vf_world_reset(stage.world, &hooks);
        vf_world_add_machine(stage.world);
        call();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
}

static void child_host(void)
{
    struct vf_device_setup setup = stage_device(&vf_profile_ideal, "rdma_en2");

    vf_machine_add_device(stage.world, 0, &setup);
    host_start(&a, 0);
}

static void call_null_mr(void)
{
    ibv_dereg_mr(NULL);
}

static void call_null_pd(void)
{
    char byte;

    ibv_reg_mr(NULL, &byte, 1, 0);
}

static void call_null_context(void)
{
    ibv_alloc_pd(NULL);
}

static void call_null_list(void)
{
    ibv_free_device_list(NULL);
}

static void call_freed_mr(void)
{
    child_host();
    ibv_dereg_mr(a.mr);
    ibv_dereg_mr(a.mr);
}

static void call_freed_qp(void)
{
    child_host();
    ibv_destroy_qp(a.qp);
    to_init(a.qp);
}

static void call_freed_cq(void)
{
    struct ibv_wc wc;

    child_host();
    ibv_destroy_qp(a.qp);
    ibv_destroy_cq(a.cq);
    ibv_poll_cq(a.cq, 1, &wc);
}

static void call_orphaned_pd(void)
{
    child_host();
    ibv_close_device(a.context);
    ibv_dealloc_pd(a.pd);
}

static void call_orphaned_mr(void)
{
    child_host();
    ibv_close_device(a.context);
    ibv_dereg_mr(a.mr);
}

static void call_null_init_attr(void)
{
    struct ibv_qp_attr attr;

    child_host();
    ibv_query_qp(a.qp, &attr, IBV_QP_CAP, NULL);
}

static void call_null_list_of_entries(void)
{
    struct ibv_recv_wr wr = {.num_sge = 1};
    struct ibv_recv_wr *bad;

    child_host();
    ibv_post_recv(a.qp, &wr, &bad);
}

static void going_on_faults(void **state)
{
    static void (*const calls[])(void) = {
        call_null_mr,
        call_null_pd,
        call_null_context,
        call_null_list,
        call_freed_mr,
        call_freed_qp,
        call_freed_cq,
        call_orphaned_pd,
        call_orphaned_mr,
        call_null_init_attr,
        call_null_list_of_entries,
    };

    (void)state;
    stage_set(&vf_profile_ideal, 1);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        expect_crash(calls[i]);
}
#endif

#define TEST(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(null_handles_are_fatal),
        TEST(freed_handles_are_fatal),
        TEST(foreign_handles_are_fatal),
        TEST(handles_of_another_process_are_fatal),
        TEST(handles_of_another_context_are_refused),
        TEST(handles_of_the_wrong_kind_are_fatal),
        TEST(handles_of_a_closed_context_are_fatal),
        TEST(planned_failures_do_not_excuse_the_call),
        TEST(released_with_children_alive),
        TEST(what_still_uses_it_is_named),
        TEST(one_request_is_no_more_than_one),
        TEST(bad_transitions_and_masks),
        TEST(attributes_outside_the_mask_are_not_looked_at),
        TEST(posts_in_the_wrong_state),
        TEST(posts_in_the_wrong_state_name_the_first_request),
        TEST(missing_parts_of_a_call_are_fatal),
        TEST(unread_entries_may_be_missing),
        TEST(entries_outside_their_region),
        TEST(entries_at_the_edge_of_their_region_are_fine),
        TEST(keys_of_another_domain_freed_and_unknown),
        TEST(sends_past_the_granted_depth),
        TEST(a_completion_told_twice_is_no_overflow_of_the_programs),
        TEST(but_one_more_than_that_is),
        TEST(a_send_told_twice_is_no_overflow),
        TEST(completions_told_twice_overflow_no_completion_queue),
        TEST(completed_requests_free_their_places),
        TEST(completion_queue_overflow),
        TEST(region_released_while_posted),
        TEST(region_may_go_after_its_queue_pair),
        TEST(region_may_go_after_its_completion),
        TEST(memory_that_is_freed),
#ifdef UNDER_ASAN
        TEST(address_sanitizer_knows_what_is_freed),
#endif
        TEST(nothing_is_written_to_freed_memory),
        TEST(requests_that_were_not_taken_are_not_posted),
        TEST(sends_that_were_not_taken_are_not_posted),
        TEST(receive_list_that_is_a_ring_ends),
        TEST(send_list_that_is_a_ring_ends),
        TEST(ring_ends_in_the_error_state),
        TEST(shared_receives_are_checked),
        TEST(shared_receives_past_the_granted_depth),
        TEST(shared_queue_takes_its_requests_with_it),
        TEST(completed_shared_receives_free_their_places),
        TEST(lengths_past_the_last_address_are_a_finding),
        TEST(null_addresses),
        TEST(what_only_the_device_can_judge_is_no_finding),
        TEST(leaks_are_told_by_kind_with_their_number),
        TEST(what_the_plan_keeps_from_release_is_a_planned_leak),
        TEST(what_nobody_kept_is_a_leak_beside_it),
        TEST(clean_life_has_no_findings),
#ifdef __linux__
        TEST(going_on_faults),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, stage_teardown);
}
