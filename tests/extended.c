/*
 * The extended interface of verbs.h is the plain one underneath: one plan, one
 * contract, one trace. What no device has is refused, never missing.
 *
 * What a chain of builders becomes is looked at where the provider gets it: a
 * copy of the mock's provider keeps the requests and completes nothing.
 */
#include "mocks_support.h"

#include "front/provider.h"
#include "front/world_private.h"

#define EVERY_OPERATION                                                        \
    (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |          \
     IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |                      \
     IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |            \
     IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV |          \
     IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV)

static struct host a, b;

/* What the provider got. */
static struct {
    int count;
    struct ibv_send_wr wr[16];
    struct ibv_sge sge[16][4];
    unsigned char bytes[64]; /* of the newest inline request */
} got;

static int keep(struct vf_object *qp, struct ibv_send_wr *wr,
                struct ibv_send_wr **bad)
{
    (void)qp;
    (void)bad;
    for (got.count = 0; wr && got.count < 16; wr = wr->next) {
        got.wr[got.count] = *wr;
        if (wr->num_sge > 0)
            memcpy(got.sge[got.count], wr->sg_list,
                   (size_t)wr->num_sge * sizeof(wr->sg_list[0]));
        if (wr->send_flags & IBV_SEND_INLINE && wr->num_sge > 0)
            memcpy(got.bytes, (const void *)(uintptr_t)wr->sg_list[0].addr,
                   wr->sg_list[0].length);
        got.count++;
    }
    return 0;
}

static void keep_posts(void)
{
    static struct vf_provider_ops keeper;

    keeper = *stage.world->provider;
    keeper.post_send = keep;
    stage.world->provider = &keeper;
    memset(&got, 0, sizeof(got));
}

static int set_up(void **state)
{
    (void)state;
    stage_set(&vf_profile_ideal, 2);
    stage.world->provider = &vf_mock_provider;
    host_start(&a, 0);
    host_start(&b, 1);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    stage.world->provider = &vf_mock_provider;
    free(a.memory);
    free(b.memory);
    return 0;
}

static struct ibv_qp *extended_qp(enum ibv_qp_type type, uint64_t operations,
                                  struct ibv_cq *cq)
{
    struct ibv_qp_init_attr_ex attr = {
        .send_cq = cq,
        .recv_cq = cq,
        .cap = {.max_send_wr = 4,
                .max_recv_wr = 4,
                .max_send_sge = 2,
                .max_recv_sge = 2,
                .max_inline_data = 32},
        .qp_type = type,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        .pd = a.pd,
        .send_ops_flags = operations,
    };

    errno = 0;
    return ibv_create_qp_ex(a.context, &attr);
}

/* Connected with itself. */
static void make_ready(struct ibv_qp *qp)
{
    struct ibv_qp_attr rtr = rtr_attr(&a.gid, qp->qp_num);
    struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS, .timeout = 14};
    bool rc = qp->qp_type == IBV_QPT_RC;

    assert_int_equal(to_init(qp), 0);
    assert_int_equal(ibv_modify_qp(qp, &rtr,
                                   RTR_MASK | (rc ? IBV_QP_MAX_DEST_RD_ATOMIC |
                                                        IBV_QP_MIN_RNR_TIMER
                                                  : 0)),
                     0);
    assert_int_equal(
        ibv_modify_qp(qp, &rts,
                      RTS_MASK |
                          (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                    IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC
                              : 0)),
        0);
}

static struct ibv_qp_ex *builders(enum ibv_qp_type type)
{
    uint64_t operations =
        type == IBV_QPT_RC ? EVERY_OPERATION : IBV_QP_EX_WITH_SEND;
    struct ibv_qp *qp = extended_qp(type, operations, a.cq);

    assert_non_null(qp);
    if (type != IBV_QPT_UD)
        make_ready(qp);
    keep_posts();
    return ibv_qp_to_qp_ex(qp);
}

static unsigned calls(enum vf_verb verb)
{
    return vf_machine_calls(stage.world, 0, verb);
}

static void completions_are_read_one_at_a_time(void **state)
{
    struct ibv_cq_init_attr_ex attr = {.cqe = 8,
                                       .wc_flags = IBV_WC_STANDARD_FLAGS};
    struct ibv_poll_cq_attr poll = {.comp_mask = 0};
    struct ibv_cq_ex *cq = ibv_create_cq_ex(a.context, &attr);
    struct ibv_qp *qp;
    unsigned polls;

    (void)state;
    assert_non_null(cq);
    ibv_destroy_qp(a.qp);
    qp = extended_qp(IBV_QPT_UC, IBV_QP_EX_WITH_SEND, ibv_cq_ex_to_cq(cq));
    a.qp = qp;
    connect_hosts(&a, &b);
    assert_int_equal(ibv_start_poll(cq, &poll), ENOENT);
    assert_int_equal(post_recv(&a, 31, 0, 4096), 0);
    assert_int_equal(post_recv(&a, 32, 4096, 4096), 0);
    assert_int_equal(post_send(&b, 1, 0, 100), 0);
    assert_int_equal(post_send(&b, 2, 0, 200), 0);
    polls = calls(VF_VERB_poll_cq);
    assert_int_equal(ibv_start_poll(cq, &poll), 0);
    assert_int_equal(cq->wr_id, 31);
    assert_int_equal(cq->status, IBV_WC_SUCCESS);
    assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_RECV);
    assert_int_equal(ibv_wc_read_byte_len(cq), 100);
    assert_int_equal(ibv_wc_read_qp_num(cq), qp->qp_num);
    assert_int_equal(ibv_wc_read_wc_flags(cq) & IBV_WC_WITH_IMM, 0);
    assert_int_equal(ibv_wc_read_vendor_err(cq), 0);
    assert_int_equal(ibv_next_poll(cq), 0);
    assert_int_equal(cq->wr_id, 32);
    assert_int_equal(ibv_wc_read_byte_len(cq), 200);
    assert_int_equal(ibv_next_poll(cq), ENOENT);
    ibv_end_poll(cq);
    assert_int_equal(calls(VF_VERB_poll_cq), polls + 3);
    NOTHING_FOUND();
}

static void unasked_fields_have_no_reader(void **state)
{
    struct ibv_cq_init_attr_ex attr = {.cqe = 8,
                                       .wc_flags = IBV_WC_EX_WITH_BYTE_LEN};
    struct ibv_cq_ex *cq = ibv_create_cq_ex(a.context, &attr);

    (void)state;
    assert_non_null(cq);
    assert_non_null(cq->read_byte_len);
    assert_non_null(cq->read_opcode);
    assert_null(cq->read_imm_data);
    assert_null(cq->read_completion_ts);
}

static void refused_queues_are_counted_and_traced(void **state)
{
    static const struct {
        struct ibv_cq_init_attr_ex attr;
        int err;
    } rows[] = {
        {{.cqe = 8, .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP},
         EOPNOTSUPP},
        {{.cqe = 8,
          .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
          .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN},
         EOPNOTSUPP},
        {{.cqe = 8, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD}, EOPNOTSUPP},
        {{.cqe = 8, .comp_mask = 1 << 9}, EINVAL},
    };
    unsigned before = calls(VF_VERB_create_cq);

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct ibv_cq_init_attr_ex attr = rows[i].attr;

        errno = 0;
        assert_null(ibv_create_cq_ex(a.context, &attr));
        assert_int_equal(errno, rows[i].err);
    }
    assert_int_equal(calls(VF_VERB_create_cq), before + 4);
    assert_non_null(
        strstr(stage.text, "create_cq(context=1, cqe=8) = NULL EOPNOTSUPP\n"));
}

static void a_plan_knows_no_difference(void **state)
{
    struct ibv_cq_init_attr_ex attr = {.cqe = 8};
    struct ibv_poll_cq_attr poll = {.comp_mask = 0};
    struct ibv_device_attr_ex device;
    struct ibv_gid_entry entry;
    struct ibv_cq_ex *cq = ibv_create_cq_ex(a.context, &attr);

    (void)state;
    plan(0, VF_VERB_create_cq, 3, false, VF_EFFECT_NULL, ENOMEM);
    assert_null(ibv_create_cq_ex(a.context, &attr));
    assert_int_equal(errno, ENOMEM);
    plan(0, VF_VERB_poll_cq, 1, false, VF_EFFECT_RETURN, -1);
    assert_int_equal(ibv_start_poll(cq, &poll), EIO);
    plan(0, VF_VERB_create_qp, 2, false, VF_EFFECT_NULL, ENOSPC);
    assert_null(extended_qp(IBV_QPT_UC, IBV_QP_EX_WITH_SEND, a.cq));
    assert_int_equal(errno, ENOSPC);
    plan(0, VF_VERB_query_device, 1, false, VF_EFFECT_ERRNO, EIO);
    assert_int_equal(ibv_query_device_ex(a.context, NULL, &device), EIO);
    plan(0, VF_VERB_query_gid, 2, false, VF_EFFECT_ERRNO, EBUSY);
    assert_int_equal(ibv_query_gid_ex(a.context, 1, 1, &entry, 0), EBUSY);
}

static void only_what_was_asked_for_has_builders(void **state)
{
    struct ibv_qp *qp = extended_qp(IBV_QPT_UC, IBV_QP_EX_WITH_SEND, a.cq);
    struct ibv_qp *none = extended_qp(IBV_QPT_UC, 0, a.cq);

    (void)state;
    assert_null(ibv_qp_to_qp_ex(a.qp));
    assert_non_null(none);
    assert_null(ibv_qp_to_qp_ex(none));
    assert_ptr_equal(ibv_qp_to_qp_ex(qp), qp);
    assert_non_null(ibv_qp_to_qp_ex(qp)->wr_send);
    assert_null(ibv_qp_to_qp_ex(qp)->wr_rdma_write);
    assert_null(ibv_qp_to_qp_ex(qp)->wr_set_ud_addr);
}

static void refused_queue_pairs_are_counted(void **state)
{
    struct ibv_qp_init_attr_ex attr = {
        .send_cq = a.cq,
        .recv_cq = a.cq,
        .qp_type = IBV_QPT_UC,
        .pd = a.pd,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH,
    };
    unsigned before = calls(VF_VERB_create_qp);

    (void)state;
    assert_null(ibv_create_qp_ex(a.context, &attr));
    assert_int_equal(errno, EOPNOTSUPP);
    attr.comp_mask = IBV_QP_INIT_ATTR_PD | 1u << 20;
    assert_null(ibv_create_qp_ex(a.context, &attr));
    assert_int_equal(errno, EINVAL);
    assert_null(extended_qp(IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ, a.cq));
    assert_int_equal(errno, EOPNOTSUPP);
    assert_null(extended_qp(IBV_QPT_RC, IBV_QP_EX_WITH_TSO, a.cq));
    assert_int_equal(errno, EOPNOTSUPP);
    assert_int_equal(calls(VF_VERB_create_qp), before + 4);
    NOTHING_FOUND();
}

static void a_profile_without_an_operation_refuses_it(void **state)
{
    struct ibv_qp_init_attr_ex attr = {
        .qp_type = IBV_QPT_UC,
        .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1},
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
    };

    (void)state;
    tear_down(NULL);
    two_hosts(&vf_profile_thunderbolt, &a, &b);
    attr.send_cq = attr.recv_cq = a.cq;
    attr.pd = a.pd;
    assert_null(ibv_create_qp_ex(a.context, &attr));
    assert_int_equal(errno, EOPNOTSUPP);
    attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
    assert_non_null(ibv_create_qp_ex(a.context, &attr));
}

static void a_chain_is_one_post(void **state)
{
    struct ibv_qp_ex *qp = builders(IBV_QPT_RC);
    struct ibv_sge list[2] = {
        {(uintptr_t)a.memory, 16, a.mr->lkey},
        {(uintptr_t)a.memory + 64, 32, a.mr->lkey},
    };

    (void)state;
    ibv_wr_start(qp);
    qp->wr_id = 11;
    qp->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_send_imm(qp, 0x1234);
    ibv_wr_set_sge_list(qp, 2, list);
    qp->wr_id = 12;
    qp->wr_flags = 0;
    ibv_wr_rdma_write(qp, 77, 0x8000);
    ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.memory, 8);
    assert_int_equal(ibv_wr_complete(qp), 0);
    assert_int_equal(calls(VF_VERB_post_send), 1);
    assert_int_equal(got.count, 2);
    assert_int_equal(got.wr[0].wr_id, 11);
    assert_int_equal(got.wr[0].opcode, IBV_WR_SEND_WITH_IMM);
    assert_int_equal(got.wr[0].imm_data, 0x1234);
    assert_int_equal(got.wr[0].send_flags, IBV_SEND_SIGNALED);
    assert_int_equal(got.wr[0].num_sge, 2);
    assert_memory_equal(got.sge[0], list, sizeof(list));
    assert_int_equal(got.wr[1].wr_id, 12);
    assert_int_equal(got.wr[1].opcode, IBV_WR_RDMA_WRITE);
    assert_int_equal(got.wr[1].wr.rdma.rkey, 77);
    assert_int_equal(got.wr[1].wr.rdma.remote_addr, 0x8000);
    assert_int_equal(got.wr[1].send_flags, 0);
    assert_null(got.wr[1].next);
}

static void every_operation_becomes_its_request(void **state)
{
    struct ibv_qp_ex *qp = builders(IBV_QPT_RC);
    struct ibv_mw_bind_info bind = {.mr = a.mr, .addr = 5, .length = 6};
    struct ibv_mw *mw;

    (void)state;
    ibv_wr_start(qp);
    ibv_wr_atomic_cmp_swp(qp, 1, 2, 3, 4);
    ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.memory, 8);
    ibv_wr_atomic_fetch_add(qp, 5, 6, 7);
    ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.memory, 8);
    ibv_wr_rdma_read(qp, 8, 9);
    ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.memory, 8);
    ibv_wr_rdma_write_imm(qp, 10, 11, 12);
    assert_int_equal(ibv_wr_complete(qp), 0);
    assert_int_equal(got.count, 4);
    assert_int_equal(got.wr[0].opcode, IBV_WR_ATOMIC_CMP_AND_SWP);
    assert_int_equal(got.wr[0].wr.atomic.rkey, 1);
    assert_int_equal(got.wr[0].wr.atomic.remote_addr, 2);
    assert_int_equal(got.wr[0].wr.atomic.compare_add, 3);
    assert_int_equal(got.wr[0].wr.atomic.swap, 4);
    assert_int_equal(got.wr[1].opcode, IBV_WR_ATOMIC_FETCH_AND_ADD);
    assert_int_equal(got.wr[1].wr.atomic.compare_add, 7);
    assert_int_equal(got.wr[2].opcode, IBV_WR_RDMA_READ);
    assert_int_equal(got.wr[2].wr.rdma.remote_addr, 9);
    assert_int_equal(got.wr[3].opcode, IBV_WR_RDMA_WRITE_WITH_IMM);
    assert_int_equal(got.wr[3].imm_data, 12);
    assert_int_equal(got.wr[3].num_sge, 0);

    mw = ibv_alloc_mw(a.pd, IBV_MW_TYPE_2);
    assert_non_null(mw);
    qp = builders(IBV_QPT_RC);
    ibv_wr_start(qp);
    ibv_wr_send(qp);
    ibv_wr_send_inv(qp, 21);
    ibv_wr_local_inv(qp, 22);
    ibv_wr_bind_mw(qp, mw, 23, &bind);
    ibv_wr_complete(qp);
    assert_int_equal(got.count, 4);
    assert_int_equal(got.wr[0].opcode, IBV_WR_SEND);
    assert_int_equal(got.wr[1].opcode, IBV_WR_SEND_WITH_INV);
    assert_int_equal(got.wr[1].invalidate_rkey, 21);
    assert_int_equal(got.wr[2].opcode, IBV_WR_LOCAL_INV);
    assert_int_equal(got.wr[2].invalidate_rkey, 22);
    assert_int_equal(got.wr[3].opcode, IBV_WR_BIND_MW);
    assert_ptr_equal(got.wr[3].bind_mw.mw, mw);
    assert_int_equal(got.wr[3].bind_mw.rkey, 23);
    assert_int_equal(got.wr[3].bind_mw.bind_info.length, 6);
}

static void inline_data_is_taken_when_it_is_set(void **state)
{
    struct ibv_qp_ex *qp = builders(IBV_QPT_UC);
    char first[] = "abc", second[] = "defg";
    struct ibv_data_buf buffers[2] = {{first, 3}, {second, 4}};

    (void)state;
    ibv_wr_start(qp);
    ibv_wr_send(qp);
    ibv_wr_set_inline_data_list(qp, 2, buffers);
    memset(first, 'x', sizeof(first));
    memset(second, 'x', sizeof(second));
    assert_int_equal(ibv_wr_complete(qp), 0);
    assert_int_equal(got.count, 1);
    assert_true(got.wr[0].send_flags & IBV_SEND_INLINE);
    assert_int_equal(got.sge[0][0].length, 7);
    assert_memory_equal(got.bytes, "abcdefg", 7);
    ibv_wr_start(qp);
    ibv_wr_send(qp);
    ibv_wr_set_inline_data(qp, second, 0);
    assert_int_equal(ibv_wr_complete(qp), 0);
    assert_int_equal(got.wr[0].num_sge, 0);
}

/* The program's memory may be gone by then: the contract asks nobody. */
static void inline_data_is_the_library_s_own(void **state)
{
    struct ibv_qp_ex *qp = builders(IBV_QPT_UC);
    char bytes[] = "abc";

    (void)state;
    ibv_wr_start(qp);
    ibv_wr_send(qp);
    ibv_wr_set_inline_data(qp, bytes, sizeof(bytes));
    stage.memory_dead = true;
    assert_int_equal(ibv_wr_complete(qp), 0);
    NOTHING_FOUND();
    stage.memory_dead = false;
}

static void a_datagram_has_its_address(void **state)
{
    struct ibv_qp_ex *qp = builders(IBV_QPT_UD);
    struct ibv_ah_attr attr = {
        .is_global = 1, .port_num = 1, .grh = {.dgid = b.gid, .sgid_index = 1}};
    struct ibv_ah *ah = ibv_create_ah(a.pd, &attr);

    (void)state;
    assert_non_null(ah);
    ibv_wr_start(qp);
    ibv_wr_send(qp);
    ibv_wr_set_ud_addr(qp, ah, 99, 0x1111);
    ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.memory, 8);
    ibv_wr_complete(qp);
    assert_int_equal(got.count, 1);
    assert_ptr_equal(got.wr[0].wr.ud.ah, ah);
    assert_int_equal(got.wr[0].wr.ud.remote_qpn, 99);
    assert_int_equal(got.wr[0].wr.ud.remote_qkey, 0x1111);
}

static void what_was_given_up_is_not_posted(void **state)
{
    struct ibv_qp_ex *qp = builders(IBV_QPT_UC);
    struct ibv_sge three[3] = {{0}};
    char bytes[33] = {0};

    (void)state;
    ibv_wr_start(qp);
    ibv_wr_send(qp);
    ibv_wr_abort(qp);
    ibv_wr_start(qp);
    assert_int_equal(ibv_wr_complete(qp), 0); /* an empty chain */
    ibv_wr_start(qp);
    ibv_wr_send(qp);
    ibv_wr_set_sge_list(qp, 3, three);
    assert_int_equal(ibv_wr_complete(qp), EINVAL);
    ibv_wr_start(qp);
    ibv_wr_set_sge(qp, 1, 2, 3); /* nothing to set it on */
    assert_int_equal(ibv_wr_complete(qp), EINVAL);
    ibv_wr_start(qp);
    ibv_wr_send(qp);
    ibv_wr_set_inline_data(qp, bytes, sizeof(bytes));
    assert_int_equal(ibv_wr_complete(qp), ENOMEM);
    assert_int_equal(calls(VF_VERB_post_send), 0);
    ibv_wr_start(qp);
    ibv_wr_send(qp);
    assert_int_equal(ibv_wr_complete(qp), 0); /* mistakes are forgotten */
    assert_int_equal(got.count, 1);
}

static void a_chain_too_long_is_an_overflow(void **state)
{
    struct ibv_qp_ex *qp = builders(IBV_QPT_UC);

    (void)state;
    ibv_wr_start(qp);
    for (int i = 0; i < 5; i++)
        ibv_wr_send(qp);
    ibv_wr_complete(qp);
    FOUND("queue-overflow in post_send");
    ibv_wr_start(qp);
    for (int i = 0; i < 6; i++)
        ibv_wr_send(qp);
    assert_int_equal(ibv_wr_complete(qp), ENOMEM);
}

static void a_planned_post_fails_in_complete(void **state)
{
    struct ibv_qp_ex *qp = builders(IBV_QPT_UC);

    (void)state;
    plan(0, VF_VERB_post_send, 1, false, VF_EFFECT_ERRNO, EBUSY);
    ibv_wr_start(qp);
    ibv_wr_send(qp);
    assert_int_equal(ibv_wr_complete(qp), EBUSY);
    assert_int_equal(got.count, 0);
}

static void a_destroyed_queue_pair_gives_its_links_back(void **state)
{
    size_t used = 0;

    (void)state;
    for (int i = 0; i < 3 * VF_QUARANTINE; i++) {
        struct ibv_qp *qp = extended_qp(IBV_QPT_UC, IBV_QP_EX_WITH_SEND, a.cq);
        struct ibv_qp_ex *builder;

        assert_non_null(qp);
        builder = ibv_qp_to_qp_ex(qp);
        ibv_wr_start(builder);
        ibv_wr_send(builder);
        ibv_wr_abort(builder);
        assert_int_equal(ibv_destroy_qp(qp), 0);
        if (i == 2 * VF_QUARANTINE)
            used = stage.world->registry.used;
    }
    assert_int_equal(stage.world->registry.used, used);
}

static void addresses_come_with_their_kind(void **state)
{
    struct ibv_gid_entry entry, table[8];
    union ibv_gid gid;

    (void)state;
    assert_int_equal(ibv_query_gid_ex(a.context, 1, 1, &entry, 0), 0);
    assert_int_equal(ibv_query_gid(a.context, 1, 1, &gid), 0);
    assert_memory_equal(&entry.gid, &gid, sizeof(gid));
    assert_int_equal(entry.gid_index, 1);
    assert_int_equal(entry.port_num, 1);
    assert_int_equal(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
    assert_true(entry.ndev_ifindex > 0);
    assert_int_equal(ibv_query_gid_ex(a.context, 1, 2000, &entry, 0), EINVAL);
    assert_int_equal(ibv_query_gid_ex(a.context, 2, 0, &entry, 0), EINVAL);
    assert_int_equal(ibv_query_gid_ex(a.context, 1, 0, &entry, 1), EOPNOTSUPP);
    assert_int_equal(ibv_query_gid_table(a.context, table, 8, 0), 2);
    assert_memory_equal(&table[1].gid, &gid, sizeof(gid));
    assert_int_equal(ibv_query_gid_table(a.context, table, 1, 0), -EINVAL);
    assert_int_equal(ibv_query_gid_table(a.context, table, 8, 1), -EOPNOTSUPP);
}

static void empty_addresses_are_no_entries(void **state)
{
    struct vf_device_setup setup = stage_device(&vf_profile_rxe, "rdma_en2");
    struct ibv_gid_entry entry, table[8];

    (void)state;
    tear_down(NULL);
    setup.no_ipv4 = true;
    stage_set_devices(&setup, 1);
    host_open(&a, 0);
    a.memory = b.memory = NULL;
    assert_int_equal(ibv_query_gid_ex(a.context, 1, 1, &entry, 0), ENODATA);
    assert_int_equal(ibv_query_gid_table(a.context, table, 8, 0), 1);
}

/* Programs know shorter and longer structs. */
static void no_more_is_written_than_is_known(void **state)
{
    unsigned char bytes[128];
    struct ibv_gid_entry entry;
    struct {
        struct ibv_device_attr_ex attr;
        unsigned char more[64];
    } answer;

    (void)state;
    memset(bytes, 0x5a, sizeof(bytes));
    assert_int_equal(_ibv_query_gid_ex(a.context, 1, 1, (void *)bytes, 0,
                                       sizeof(union ibv_gid)),
                     0);
    assert_int_equal(bytes[sizeof(union ibv_gid)], 0x5a);
    assert_int_equal(_ibv_query_gid_table(a.context, (void *)bytes, 2, 0, 48),
                     2);
    memcpy(&entry, bytes + 48, sizeof(entry));
    assert_int_equal(entry.gid_index, 1);
    assert_int_equal(bytes[95], 0);
    assert_int_equal(bytes[96], 0x5a);

    memset(&answer, 0x5a, sizeof(answer));
    assert_int_equal(
        verbs_get_ctx(a.context)->query_device_ex(
            a.context, NULL, &answer.attr,
            offsetof(struct ibv_device_attr_ex, completion_timestamp_mask)),
        0);
    assert_int_equal(answer.attr.orig_attr.phys_port_cnt, 1);
    assert_int_equal(answer.attr.hca_core_clock, 0x5a5a5a5a5a5a5a5a);
    assert_int_equal(verbs_get_ctx(a.context)->query_device_ex(
                         a.context, NULL, &answer.attr, sizeof(answer)),
                     0);
#ifndef VF_LACKS_PORT_COUNT
    assert_int_equal(answer.attr.phys_port_cnt_ex, 1);
#endif
    assert_int_equal(answer.more[63], 0);
}

static void a_device_says_the_same_both_ways(void **state)
{
    struct ibv_query_device_ex_input input = {.comp_mask = 1};
    struct ibv_device_attr_ex extended;
    struct ibv_device_attr plain;

    (void)state;
    assert_int_equal(ibv_query_device(a.context, &plain), 0);
    assert_int_equal(ibv_query_device_ex(a.context, NULL, &extended), 0);
    assert_memory_equal(&extended.orig_attr, &plain, sizeof(plain));
    assert_int_equal(plain.node_guid, ibv_get_device_guid(a.context->device));
    assert_int_equal(ibv_query_device_ex(a.context, &input, &extended), EINVAL);
}

static void answers_go_back_where_they_came_from(void **state)
{
    struct ibv_wc wc = {.wc_flags = IBV_WC_GRH, .slid = 3, .sl = 2};
    unsigned char bytes[40] = {0};
    struct ibv_grh *grh = (struct ibv_grh *)bytes;
    struct ibv_ah_attr attr;
    struct ibv_ah *ah;

    (void)state;
    bytes[0] = 0x6a; /* IPv6, traffic class 0xab, flow 0xcdef1 */
    bytes[1] = 0xbc;
    bytes[2] = 0xde;
    bytes[3] = 0xf1;
    grh->hop_limit = 9;
    grh->sgid = b.gid;
    grh->dgid = a.gid;
    assert_int_equal(ibv_init_ah_from_wc(a.context, 1, &wc, grh, &attr), 0);
    assert_int_equal(attr.is_global, 1);
    assert_int_equal(attr.grh.sgid_index, 1);
    assert_int_equal(attr.grh.traffic_class, 0xab);
    assert_int_equal(attr.grh.flow_label, 0xcdef1);
    assert_int_equal(attr.grh.hop_limit, 9);
    assert_memory_equal(&attr.grh.dgid, &b.gid, sizeof(b.gid));
    assert_int_equal(attr.dlid, 3);
    assert_int_equal(attr.sl, 2);

    memset(bytes, 0, sizeof(bytes));
    bytes[20] = 0x45;
    memcpy(bytes + 32, b.gid.raw + 12, 4);
    memcpy(bytes + 36, a.gid.raw + 12, 4);
    assert_int_equal(ibv_init_ah_from_wc(a.context, 1, &wc, grh, &attr), 0);
    assert_int_equal(attr.grh.sgid_index, 1);
    assert_memory_equal(&attr.grh.dgid, &b.gid, sizeof(b.gid));
    ah = ibv_create_ah_from_wc(a.pd, &wc, grh, 1);
    assert_non_null(ah);
    assert_int_equal(ibv_destroy_ah(ah), 0);

    bytes[36] ^= 1; /* not to us */
    assert_int_equal(ibv_init_ah_from_wc(a.context, 1, &wc, grh, &attr), -1);
    assert_null(ibv_create_ah_from_wc(a.pd, &wc, grh, 1));
}

static void both_addresses_of_an_interface_are_its_own(void **state)
{
    struct ibv_ah_attr attr = {.is_global = 1};
    uint8_t by_mac[6], by_ip[6];
    uint16_t vlan = 0;

    (void)state;
    assert_int_equal(ibv_query_gid(b.context, 1, 0, &attr.grh.dgid), 0);
    assert_int_equal(
        ibv_resolve_eth_l2_from_gid(a.context, &attr, by_mac, &vlan), 0);
    attr.grh.dgid = b.gid;
    assert_int_equal(ibv_resolve_eth_l2_from_gid(a.context, &attr, by_ip, NULL),
                     0);
    assert_memory_equal(by_mac, by_ip, 6);
    assert_int_equal(vlan, 0xffff);
    assert_int_equal(ibv_get_pkey_index(a.context, 1, 0xffff), 0);
    assert_int_equal(ibv_get_pkey_index(a.context, 1, 0x1234), -1);
}

static void what_no_device_has_is_refused(void **state)
{
    struct ibv_td_init_attr td = {.comp_mask = 0};
    struct ibv_alloc_dm_attr dm = {.length = 64};
    struct ibv_xrcd_init_attr xrcd = {.comp_mask = 0};
    struct ibv_counters_init_attr counters = {.comp_mask = 0};
    struct ibv_wq_init_attr wq = {.wq_type = IBV_WQT_RQ};
    struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
    struct ibv_srq_init_attr_ex srq = {.comp_mask = IBV_SRQ_INIT_ATTR_TYPE,
                                       .srq_type = IBV_SRQT_XRC};
    struct ibv_ece ece = {.vendor_id = 1};

    (void)state;
    errno = 0;
    assert_null(ibv_alloc_td(a.context, &td));
    assert_null(ibv_alloc_dm(a.context, &dm));
    assert_null(ibv_open_xrcd(a.context, &xrcd));
    assert_null(ibv_create_counters(a.context, &counters));
    assert_null(ibv_create_wq(a.context, &wq));
    assert_null(ibv_create_srq_ex(a.context, &srq));
    assert_null(ibv_alloc_null_mr(a.pd));
    assert_int_equal(errno, EOPNOTSUPP);
    assert_int_equal(ibv_query_rt_values_ex(a.context, &values), EOPNOTSUPP);
    assert_int_equal(
        ibv_advise_mr(a.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, NULL, 0),
        EOPNOTSUPP);
    assert_int_equal(ibv_set_ece(a.qp, &ece), EOPNOTSUPP);
    assert_null(ibv_import_pd(a.context, 1));
    assert_null(ibv_reg_dmabuf_mr(a.pd, 0, 1, 0, -1, 0));
    assert_int_equal(ibv_query_qp_data_in_order(a.qp, IBV_WR_SEND, 0), 0);
    NOTHING_FOUND();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(completions_are_read_one_at_a_time),
        TEST(unasked_fields_have_no_reader),
        TEST(refused_queues_are_counted_and_traced),
        TEST(a_plan_knows_no_difference),
        TEST(only_what_was_asked_for_has_builders),
        TEST(refused_queue_pairs_are_counted),
        TEST(a_profile_without_an_operation_refuses_it),
        TEST(a_chain_is_one_post),
        TEST(every_operation_becomes_its_request),
        TEST(inline_data_is_taken_when_it_is_set),
        TEST(inline_data_is_the_library_s_own),
        TEST(a_datagram_has_its_address),
        TEST(what_was_given_up_is_not_posted),
        TEST(a_chain_too_long_is_an_overflow),
        TEST(a_planned_post_fails_in_complete),
        TEST(a_destroyed_queue_pair_gives_its_links_back),
        TEST(addresses_come_with_their_kind),
        TEST(empty_addresses_are_no_entries),
        TEST(no_more_is_written_than_is_known),
        TEST(a_device_says_the_same_both_ways),
        TEST(answers_go_back_where_they_came_from),
        TEST(both_addresses_of_an_interface_are_its_own),
        TEST(what_no_device_has_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, stage_teardown);
}
