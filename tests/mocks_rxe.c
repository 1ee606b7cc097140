/*
 * The rxe profile answers as Linux soft-RoCE was measured to: a test or more
 * for each row of that table.
 */
#include "pair_support.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

static void open_one(void)
{
    stage_set(&vf_profile_rxe, 1);
    host_start(&a, 0);
}

static struct ibv_qp *make_qp(struct ibv_qp_init_attr attr)
{
    attr.send_cq = a.cq;
    attr.recv_cq = a.cq;
    errno = 0;
    return ibv_create_qp(a.pd, &attr);
}

static void receive_completion_has_opcode_length_and_grh(void **state)
{
    struct ibv_wc wc;

    (void)state;
    two_hosts(&vf_profile_rxe, &a, &b);
    assert_int_equal(post_recv(&b, 7, 0, 8192), 0);
    assert_int_equal(post_send(&a, 8, 0, 100), 0);
    wc = polled(&b);
    assert_int_equal(wc.status, IBV_WC_SUCCESS);
    assert_int_equal(wc.opcode, IBV_WC_RECV);
    assert_int_equal(wc.byte_len, 100);
    assert_int_equal(wc.src_qp, 0);
    assert_int_equal(wc.wc_flags, IBV_WC_GRH);
    wc = polled(&a);
    assert_int_equal(wc.opcode, IBV_WC_SEND);
    host_drop(&a);
    host_drop(&b);
}

static void error_completion_has_only_status_wr_id_and_qp_num(void **state)
{
    struct ibv_wc wc;

    (void)state;
    two_hosts(&vf_profile_rxe, &a, &b);
    assert_int_equal(post_recv(&b, 7, 0, 64), 0);
    assert_int_equal(to_state(b.qp, IBV_QPS_ERR), 0);
    wc = polled(&b);
    assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
    assert_int_equal(wc.wr_id, 7);
    assert_int_equal(wc.qp_num, b.qp->qp_num);
    assert_int_equal(wc.opcode, 0);
    assert_int_equal(wc.byte_len, 0);
    assert_int_equal(wc.wc_flags, 0);
    host_drop(&a);
    host_drop(&b);
}

static void device_list_is_null_with_enosys_or_empty(void **state)
{
    int count = 9;
    struct ibv_device **list;

    (void)state;
    stage_clear();
    vf_world_add_machine(stage.world);
    list = ibv_get_device_list(&count);
    assert_non_null(list);
    assert_int_equal(count, 0);
    assert_null(list[0]);
    ibv_free_device_list(list);
    vf_machine_no_device_list(stage.world, 0, ENOSYS);
    errno = 0;
    assert_null(ibv_get_device_list(&count));
    assert_int_equal(errno, ENOSYS);
}

static void create_cq_refuses_bad_sizes_and_vectors(void **state)
{
    struct ibv_device_attr attr;
    static const int sizes[] = {0, -1};

    (void)state;
    open_one();
    assert_int_equal(ibv_query_device(a.context, &attr), 0);
    for (int i = 0; i < 2; i++) {
        errno = 0;
        assert_null(ibv_create_cq(a.context, sizes[i], NULL, NULL, 0));
        assert_int_equal(errno, EINVAL);
    }
    errno = 0;
    assert_null(ibv_create_cq(a.context, attr.max_cqe + 1, NULL, NULL, 0));
    assert_int_equal(errno, EINVAL);
    errno = 0;
    assert_null(ibv_create_cq(a.context, 10, NULL, NULL, 1));
    assert_int_equal(errno, EINVAL);
    NOTHING_FOUND();
    host_drop(&a);
}

static void cqe_rounds_up(void **state)
{
    struct ibv_cq *cq;

    (void)state;
    open_one();
    cq = ibv_create_cq(a.context, 10, NULL, NULL, 0);
    assert_int_equal(cq->cqe, 15);
    cq = ibv_create_cq(a.context, 100, NULL, NULL, 0);
    assert_int_equal(cq->cqe, 127);
    host_drop(&a);
}

static void create_qp_refuses_what_is_too_much(void **state)
{
    const struct vf_profile *rxe = &vf_profile_rxe;

    (void)state;
    open_one();
    assert_null(make_qp((struct ibv_qp_init_attr){
        .qp_type = IBV_QPT_UC, .cap = {.max_send_wr = rxe->max_qp_wr + 1}}));
    assert_int_equal(errno, EINVAL);
    assert_null(make_qp((struct ibv_qp_init_attr){
        .qp_type = IBV_QPT_UC, .cap = {.max_recv_wr = rxe->max_qp_wr + 1}}));
    assert_int_equal(errno, EINVAL);
    assert_null(make_qp((struct ibv_qp_init_attr){
        .qp_type = IBV_QPT_UC, .cap = {.max_send_sge = rxe->max_sge + 1}}));
    assert_int_equal(errno, EINVAL);
    assert_null(make_qp((struct ibv_qp_init_attr){
        .qp_type = IBV_QPT_UC, .cap = {.max_recv_sge = rxe->max_sge + 1}}));
    assert_int_equal(errno, EINVAL);
    assert_null(make_qp((struct ibv_qp_init_attr){
        .qp_type = IBV_QPT_UC,
        .cap = {.max_inline_data = rxe->max_inline + 1}}));
    assert_int_equal(errno, EINVAL);
    assert_null(make_qp((struct ibv_qp_init_attr){.qp_type = 77}));
    assert_int_equal(errno, EINVAL);
    assert_null(
        make_qp((struct ibv_qp_init_attr){.qp_type = IBV_QPT_RAW_PACKET}));
    assert_int_equal(errno, EOPNOTSUPP);
    NOTHING_FOUND();
    host_drop(&a);
}

static void create_qp_takes_no_requests_and_more_than_the_cq(void **state)
{
    (void)state;
    open_one();
    assert_non_null(make_qp((struct ibv_qp_init_attr){.qp_type = IBV_QPT_UC}));
    assert_non_null(make_qp((struct ibv_qp_init_attr){
        .qp_type = IBV_QPT_UC,
        .cap = {.max_send_wr = 1000, .max_recv_wr = 1000}}));
    NOTHING_FOUND();
    host_drop(&a);
}

static void depth_four_grants_seven(void **state)
{
    struct ibv_qp *qp;
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;

    (void)state;
    open_one();
    qp = make_qp((struct ibv_qp_init_attr){
        .qp_type = IBV_QPT_UC, .cap = {.max_send_wr = 4, .max_recv_wr = 4}});
    assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_CAP, &init), 0);
    assert_int_equal(attr.cap.max_send_wr, 7);
    assert_int_equal(init.cap.max_recv_wr, 7);
    host_drop(&a);
}

static void wrong_ways_are_einval_and_change_nothing(void **state)
{
    (void)state;
    open_one();
    assert_int_equal(to_rtr(a.qp, &a.gid, 1), EINVAL);
    FOUND("bad-transition in modify_qp");
    assert_int_equal(to_rts(a.qp), EINVAL);
    FOUND("bad-transition in modify_qp");
    assert_int_equal(to_state(a.qp, IBV_QPS_ERR), EINVAL);
    FOUND("bad-transition in modify_qp");
    assert_int_equal(state_of(a.qp), IBV_QPS_RESET);
    assert_int_equal(to_init(a.qp), 0);
    assert_int_equal(to_rts(a.qp), EINVAL);
    FOUND("bad-transition in modify_qp");
    assert_int_equal(state_of(a.qp), IBV_QPS_INIT);
    assert_int_equal(to_rtr(a.qp, &a.gid, 1), 0);
    assert_int_equal(to_rtr(a.qp, &a.gid, 1), EINVAL);
    FOUND("bad-transition in modify_qp");
    assert_int_equal(to_state(a.qp, IBV_QPS_ERR), 0);
    assert_int_equal(to_rts(a.qp), EINVAL);
    FOUND("bad-transition in modify_qp");
    assert_int_equal(state_of(a.qp), IBV_QPS_ERR);
    host_drop(&a);
}

static void init_again_error_and_reset_are_always_ways(void **state)
{
    (void)state;
    open_one();
    assert_int_equal(to_init(a.qp), 0);
    assert_int_equal(to_init(a.qp), 0);
    for (int way = 0; way < 8; way++) {
        enum ibv_qp_state goal = way % 2 ? IBV_QPS_ERR : IBV_QPS_RESET;

        assert_int_equal(to_state(a.qp, IBV_QPS_RESET), 0);
        if (way / 2 > 0)
            assert_int_equal(to_init(a.qp), 0);
        else if (goal == IBV_QPS_ERR)
            continue; /* the one way that there is not */
        if (way / 2 > 1)
            assert_int_equal(to_rtr(a.qp, &a.gid, 1), 0);
        if (way / 2 > 2)
            assert_int_equal(to_rts(a.qp), 0);
        assert_int_equal(to_state(a.qp, goal), 0);
        assert_int_equal(state_of(a.qp), goal);
    }
    assert_int_equal(to_state(a.qp, IBV_QPS_RESET), 0);
    assert_int_equal(to_init(a.qp), 0);
    NOTHING_FOUND();
    host_drop(&a);
}

static void rtr_values_that_make_no_sense_are_einval(void **state)
{
    static const union ibv_gid zero;
    struct ibv_qp_attr attr;

    (void)state;
    open_one();
    assert_int_equal(to_init(a.qp), 0);
    assert_int_equal(to_rtr(a.qp, &zero, 1), EINVAL);
    attr = rtr_attr(&a.gid, 1);
    attr.ah_attr.is_global = 0;
    assert_int_equal(ibv_modify_qp(a.qp, &attr, RTR_MASK), EINVAL);
    attr = rtr_attr(&a.gid, 1);
    attr.ah_attr.port_num = 2;
    assert_int_equal(ibv_modify_qp(a.qp, &attr, RTR_MASK), EINVAL);
    NOTHING_FOUND();
    attr = rtr_attr(&a.gid, 1);
    assert_int_equal(ibv_modify_qp(a.qp, &attr, RTR_MASK & ~IBV_QP_AV), EINVAL);
    FOUND("bad-mask in modify_qp");
    assert_int_equal(ibv_modify_qp(a.qp, &attr, RTR_MASK | IBV_QP_SQ_PSN),
                     EINVAL);
    FOUND("bad-mask in modify_qp");
    assert_int_equal(state_of(a.qp), IBV_QPS_INIT);
    host_drop(&a);
}

static void rtr_with_an_empty_gid_index_is_enodata(void **state)
{
    struct ibv_qp_attr attr;

    (void)state;
    open_one();
    assert_int_equal(to_init(a.qp), 0);
    attr = rtr_attr(&a.gid, 1);
    attr.ah_attr.grh.sgid_index = 5;
    assert_int_equal(ibv_modify_qp(a.qp, &attr, RTR_MASK), ENODATA);
    assert_int_equal(state_of(a.qp), IBV_QPS_INIT);
    host_drop(&a);
}

static void rtr_takes_absent_peers_bogus_numbers_and_large_mtus(void **state)
{
    union ibv_gid nobody;
    struct ibv_qp_attr attr;

    (void)state;
    open_one();
    nobody = a.gid;
    nobody.raw[15] = 99;
    assert_int_equal(to_init(a.qp), 0);
    attr = rtr_attr(&nobody, 0xabcdef);
    attr.path_mtu = IBV_MTU_4096;
    assert_int_equal(ibv_modify_qp(a.qp, &attr, RTR_MASK), 0);
    NOTHING_FOUND();
    host_drop(&a);
}

static void init_refuses_port_two_and_takes_any_pkey(void **state)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 2};

    (void)state;
    open_one();
    assert_int_equal(ibv_modify_qp(a.qp, &attr, INIT_MASK), EINVAL);
    attr.port_num = 1;
    attr.pkey_index = 5;
    assert_int_equal(ibv_modify_qp(a.qp, &attr, INIT_MASK), 0);
    NOTHING_FOUND();
    host_drop(&a);
}

static void post_recv_needs_init(void **state)
{
    struct ibv_sge sge = {0};
    struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad = (void *)&sge;

    (void)state;
    open_one();
    assert_int_equal(ibv_post_recv(a.qp, &wr, &bad), EINVAL);
    assert_ptr_equal(bad, &sge);
    FOUND("wrong-state in post_recv");
    assert_int_equal(to_init(a.qp), 0);
    assert_int_equal(post_recv(&a, 1, 0, 64), 0);
    assert_int_equal(to_rtr(a.qp, &a.gid, 1), 0);
    assert_int_equal(post_recv(&a, 2, 0, 64), 0);
    NOTHING_FOUND();
    host_drop(&a);
}

static void post_send_needs_rts(void **state)
{
    struct ibv_sge sge = {0};
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1};
    struct ibv_send_wr *bad = (void *)&sge;

    (void)state;
    open_one();
    for (int step = 0; step < 3; step++) {
        if (step == 1)
            assert_int_equal(to_init(a.qp), 0);
        if (step == 2)
            assert_int_equal(to_rtr(a.qp, &a.gid, 1), 0);
        assert_int_equal(ibv_post_send(a.qp, &wr, &bad), EINVAL);
        assert_ptr_equal(bad, &sge);
        FOUND("wrong-state in post_send");
    }
    host_drop(&a);
}

static void sends_in_error_are_flushed(void **state)
{
    (void)state;
    two_hosts(&vf_profile_rxe, &a, &b);
    assert_int_equal(to_state(a.qp, IBV_QPS_ERR), 0);
    assert_int_equal(post_send(&a, 1, 0, 64), 0);
    expect_completion(&a, 1, IBV_WC_WR_FLUSH_ERR);
    NOTHING_FOUND();
    host_drop(&a);
    host_drop(&b);
}

static void full_receive_queue_is_enomem_at_the_first_not_taken(void **state)
{
    struct ibv_sge sge;
    struct ibv_recv_wr wr[40];
    struct ibv_recv_wr *bad = NULL;

    (void)state;
    open_one();
    assert_int_equal(to_init(a.qp), 0);
    a.qp = make_qp((struct ibv_qp_init_attr){
        .qp_type = IBV_QPT_UC, .cap = {.max_recv_wr = 4, .max_recv_sge = 1}});
    assert_int_equal(to_init(a.qp), 0);
    sge = (struct ibv_sge){(uintptr_t)a.memory, 64, a.mr->lkey};
    for (int i = 0; i < 40; i++)
        wr[i] = (struct ibv_recv_wr){
            .next = i < 39 ? &wr[i + 1] : NULL, .sg_list = &sge, .num_sge = 1};
    assert_int_equal(ibv_post_recv(a.qp, wr, &bad), ENOMEM);
    assert_ptr_equal(bad, &wr[7]);
    FOUND("queue-overflow in post_recv");
    host_drop(&a);
}

static void long_send_chain_is_enomem_at_the_first_not_taken(void **state)
{
    struct ibv_sge sge;
    struct ibv_send_wr wr[200];
    struct ibv_send_wr *bad = NULL;
    struct ibv_wc wc[64];
    int depth;

    (void)state;
    two_hosts(&vf_profile_rxe, &a, &b);
    depth = 63; /* what 32 is rounded to */
    sge = (struct ibv_sge){(uintptr_t)a.memory, 64, a.mr->lkey};
    for (int i = 0; i < 200; i++)
        wr[i] = (struct ibv_send_wr){.next = i < 199 ? &wr[i + 1] : NULL,
                                     .sg_list = &sge,
                                     .num_sge = 1,
                                     .opcode = IBV_WR_SEND,
                                     .send_flags = IBV_SEND_SIGNALED};
    assert_int_equal(ibv_post_send(a.qp, wr, &bad), ENOMEM);
    assert_ptr_equal(bad, &wr[depth]);
    FOUND("queue-overflow in post_send");
    assert_int_equal(ibv_poll_cq(a.cq, 64, wc), depth);
    host_drop(&a);
    host_drop(&b);
}

static void releasing_what_is_in_use_is_ebusy(void **state)
{
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;

    (void)state;
    open_one();
    assert_int_equal(ibv_destroy_cq(a.cq), EBUSY);
    FOUND("children-alive in destroy_cq");
    assert_int_equal(ibv_dereg_mr(a.mr), 0);
    errno = 0;
    assert_int_equal(ibv_dealloc_pd(a.pd), EBUSY); /* the queue pair */
    assert_int_equal(errno, EBUSY);
    FOUND("children-alive in dealloc_pd");
    a.mr = ibv_reg_mr(a.pd, a.memory, MEMORY, ALL_ACCESS);
    assert_int_equal(ibv_destroy_qp(a.qp), 0);
    assert_int_equal(ibv_dealloc_pd(a.pd), EBUSY); /* the region */
    FOUND("children-alive in dealloc_pd");
    channel = ibv_create_comp_channel(a.context);
    cq = ibv_create_cq(a.context, 8, NULL, channel, 0);
    assert_non_null(cq);
    assert_int_equal(ibv_destroy_comp_channel(channel), EBUSY);
    FOUND("children-alive in destroy_comp_channel");
    assert_int_equal(ibv_destroy_cq(cq), 0);
    assert_int_equal(ibv_destroy_comp_channel(channel), 0);
    NOTHING_FOUND();
    host_drop(&a);
}

static void destroy_qp_forgets_its_receives(void **state)
{
    (void)state;
    open_one();
    assert_int_equal(to_init(a.qp), 0);
    assert_int_equal(post_recv(&a, 1, 0, 64), 0);
    assert_int_equal(ibv_destroy_qp(a.qp), 0);
    expect_none(&a);
    assert_int_equal(ibv_dereg_mr(a.mr), 0);
    NOTHING_FOUND();
    host_drop(&a);
}

static void close_device_takes_everything_with_it(void **state)
{
    struct vf_device_setup setup = stage_device(&vf_profile_rxe, "rxe0");

    (void)state;
    setup.max_mr = 1;
    setup.max_qp = 1;
    setup.max_pd = 1;
    stage_set_devices(&setup, 1);
    for (int i = 0; i < 3; i++) {
        host_start(&a, 0);
        assert_int_equal(ibv_close_device(a.context), 0);
        FOUND("children-alive in close_device");
        host_drop(&a);
    }
}

static void exit_takes_everything_with_it(void **state)
{
    struct vf_device_setup setup = stage_device(&vf_profile_rxe, "rxe0");

    (void)state;
    setup.max_mr = 1;
    setup.max_qp = 1;
    setup.max_pd = 1;
    stage_set_devices(&setup, 1);
    for (int i = 0; i < 3; i++) {
        host_start(&a, 0);
        host_drop(&a);
    }
    NOTHING_FOUND();
}

static void region_released_under_a_receive_fails_on_arrival(void **state)
{
    (void)state;
    two_hosts(&vf_profile_rxe, &a, &b);
    assert_int_equal(post_recv(&b, 1, 0, 64), 0);
    assert_int_equal(ibv_dereg_mr(b.mr), 0);
    FOUND("mr-released-while-posted in dereg_mr");
    assert_int_equal(post_send(&a, 2, 0, 64), 0);
    expect_completion(&b, 1, IBV_WC_LOC_QP_OP_ERR);
    expect_completion(&a, 2, IBV_WC_SUCCESS);
    assert_int_equal(state_of(b.qp), IBV_QPS_ERR);
    host_drop(&a);
    host_drop(&b);
}

static void posts_in_the_wrong_state_leave_bad_wr(void **state)
{
    struct ibv_send_wr send = {0};
    struct ibv_send_wr *bad_send = NULL;
    struct ibv_recv_wr recv = {0};
    struct ibv_recv_wr *bad_recv = NULL;

    (void)state;
    open_one();
    assert_int_equal(ibv_post_send(a.qp, &send, &bad_send), EINVAL);
    assert_int_equal(ibv_post_recv(a.qp, &recv, &bad_recv), EINVAL);
    assert_null(bad_send);
    assert_null(bad_recv);
    host_drop(&a);
}

static void refuse_region(void *address, size_t length, int access, int err)
{
    errno = 0;
    assert_null(ibv_reg_mr(a.pd, address, length, access));
    assert_int_equal(errno, err);
}

static void reg_mr_refuses_bad_lengths_and_access(void **state)
{
    (void)state;
    open_one();
    refuse_region(a.memory, 0, ALL_ACCESS, EINVAL);
    FOUND("null-address in reg_mr");
    refuse_region(a.memory, SIZE_MAX / 2, ALL_ACCESS, EINVAL);
    refuse_region(a.memory, 64, 1 << 19, EINVAL);
    refuse_region(a.memory, 64, IBV_ACCESS_REMOTE_WRITE, EINVAL);
    NOTHING_FOUND();
    host_drop(&a);
}

static void reg_mr_of_no_memory_is_efault(void **state)
{
    (void)state;
    open_one();
    refuse_region(NULL, 64, ALL_ACCESS, EFAULT);
    FOUND("null-address in reg_mr");
    stage.memory_dead = true;
    refuse_region(a.memory, 64, ALL_ACCESS, EFAULT);
    FOUND("memory-freed in reg_mr");
    host_drop(&a);
}

/* As in a process of its own: the kernel says what memory there is. */
static unsigned char *open_real(size_t pages, int protection)
{
    void *memory;

    stage.real = true;
    open_one();
    stage.real = false;
    memory = mmap(NULL, pages * 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS,
                  -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

static void close_real(void *memory, size_t pages)
{
    NOTHING_FOUND();
    munmap(memory, pages * 4096);
    host_end(&a);
}

static void reg_mr_of_unmapped_memory_is_efault(void **state)
{
    unsigned char *memory = open_real(4, PROT_READ | PROT_WRITE);

    (void)state;
    assert_int_equal(munmap(memory + 4096, 4096), 0);
    refuse_region(memory + 4096, 4096, ALL_ACCESS, EFAULT);
    refuse_region(memory, 4097, ALL_ACCESS, EFAULT);
    refuse_region(memory + 4096 + 4095, 2, ALL_ACCESS, EFAULT);
    refuse_region(memory, 4 * 4096, IBV_ACCESS_REMOTE_READ, EFAULT);
    assert_int_equal(ibv_dereg_mr(a.mr), 0);
    a.mr = ibv_reg_mr(a.pd, memory, 4096, ALL_ACCESS);
    assert_non_null(a.mr);
    close_real(memory, 4);
}

static void reg_mr_of_read_only_memory_must_not_write(void **state)
{
    unsigned char *memory = open_real(2, PROT_READ);

    (void)state;
#if (defined(__linux__) || defined(__APPLE__)) && !defined(NO_MEMORY_RIGHTS)
    refuse_region(memory, 4096, IBV_ACCESS_LOCAL_WRITE, EFAULT);
    refuse_region(memory, 4096, IBV_ACCESS_MW_BIND, EFAULT);
    assert_int_equal(mprotect(memory, 4096, PROT_READ | PROT_WRITE), 0);
    refuse_region(memory, 8192, IBV_ACCESS_LOCAL_WRITE, EFAULT);
#endif
    assert_int_equal(ibv_dereg_mr(a.mr), 0);
    a.mr = ibv_reg_mr(a.pd, memory, 8192, IBV_ACCESS_REMOTE_READ);
    assert_non_null(a.mr);
    close_real(memory, 2);
}

/* rdma-core 44's provider has none. */
static void rereg_mr_is_not_supported(void **state)
{
    (void)state;
    open_one();
    errno = 0;
    assert_int_equal(ibv_rereg_mr(a.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL,
                                  a.memory, 64, 0),
                     IBV_REREG_MR_ERR_CMD);
    assert_int_equal(errno, EOPNOTSUPP);
    NOTHING_FOUND();
    host_end(&a);
}

/* A user that is not root, who may lock 16 pages. Two regions share a page:
 * it counts twice. */
static int lock_too_much(unsigned char *memory)
{
    const struct rlimit limit = {16 * 4096, 16 * 4096};
    struct ibv_mr *first;

    if (ibv_dereg_mr(a.mr) != 0 || setrlimit(RLIMIT_MEMLOCK, &limit) != 0)
        return 1;
    if (!ibv_reg_mr(a.pd, memory, 64 * 4096, ALL_ACCESS) && geteuid() == 0)
        return 2; /* root may */
    if (geteuid() == 0 && seteuid(65534) != 0)
        return 3;
    if (ibv_reg_mr(a.pd, memory, 1, ALL_ACCESS) || errno != ENOMEM)
        return 4;
    if (vf_machine_calls(stage.world, 0, VF_VERB_dereg_mr) != 1)
        return 5;
    vf_machine_end(stage.world, 0);
    host_open(&a, 0);
    a.pd = ibv_alloc_pd(a.context);
    first = ibv_reg_mr(a.pd, memory, 8 * 4096, ALL_ACCESS);
    if (!first || !ibv_reg_mr(a.pd, memory + 10, 7 * 4096, ALL_ACCESS))
        return 6;
    if (ibv_reg_mr(a.pd, memory, 1, ALL_ACCESS) || errno != ENOMEM)
        return 7;
    if (ibv_dereg_mr(first) != 0 ||
        !ibv_reg_mr(a.pd, memory, 8 * 4096, ALL_ACCESS))
        return 8;
    return 0;
}

static void reg_mr_over_the_memory_lock_limit_is_enomem(void **state)
{
    unsigned char *memory = open_real(64, PROT_READ | PROT_WRITE);
    int status = -1;
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(lock_too_much(memory));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    close_real(memory, 64);
}

static void reg_mr_takes_unaligned_and_repeated_ranges(void **state)
{
    (void)state;
    open_one();
    assert_non_null(ibv_reg_mr(a.pd, a.memory + 3, 61, ALL_ACCESS));
    assert_non_null(ibv_reg_mr(a.pd, a.memory + 3, 61, ALL_ACCESS));
    NOTHING_FOUND();
    host_drop(&a);
}

static void send_with_a_wrong_key_fails_its_queue_pair(void **state)
{
    (void)state;
    two_hosts(&vf_profile_rxe, &a, &b);
    assert_int_equal(post_send_key(&a, 1, 0, 64, 0x123), 0);
    FOUND("unknown-key in post_send");
    expect_completion(&a, 1, IBV_WC_LOC_QP_OP_ERR);
    assert_int_equal(state_of(a.qp), IBV_QPS_ERR);
    assert_int_equal(post_send(&a, 2, 0, 64), 0);
    expect_completion(&a, 2, IBV_WC_WR_FLUSH_ERR);
    host_drop(&a);
    host_drop(&b);
}

static void send_outside_its_region_is_a_protection_error(void **state)
{
    (void)state;
    two_hosts(&vf_profile_rxe, &a, &b);
    assert_int_equal(post_send(&a, 1, MEMORY - 10, 11), 0);
    FOUND("sge-outside-mr in post_send");
    expect_completion(&a, 1, IBV_WC_LOC_PROT_ERR);
    assert_int_equal(state_of(a.qp), IBV_QPS_ERR);
    host_drop(&a);
    host_drop(&b);
}

static void receive_with_a_wrong_key_fails_on_arrival(void **state)
{
    (void)state;
    two_hosts(&vf_profile_rxe, &a, &b);
    assert_int_equal(post_recv_key(&b, 1, 0, 64, 0x123), 0);
    FOUND("unknown-key in post_recv");
    expect_none(&b);
    assert_int_equal(post_send(&a, 2, 0, 64), 0);
    expect_completion(&b, 1, IBV_WC_LOC_QP_OP_ERR);
    expect_completion(&a, 2, IBV_WC_SUCCESS);
    assert_int_equal(state_of(b.qp), IBV_QPS_ERR);
    assert_int_equal(state_of(a.qp), IBV_QPS_RTS);
    host_drop(&a);
    host_drop(&b);
}

static void receive_with_another_domains_key_fails_on_arrival(void **state)
{
    struct ibv_mr *mr;

    (void)state;
    two_hosts(&vf_profile_rxe, &a, &b);
    mr = ibv_reg_mr(ibv_alloc_pd(b.context), b.memory, 64, ALL_ACCESS);
    assert_int_equal(post_recv_key(&b, 1, 0, 64, mr->lkey), 0);
    FOUND("wrong-domain-key in post_recv");
    assert_int_equal(post_send(&a, 2, 0, 64), 0);
    expect_completion(&b, 1, IBV_WC_LOC_QP_OP_ERR);
    expect_completion(&a, 2, IBV_WC_SUCCESS);
    host_drop(&a);
    host_drop(&b);
}

static void receive_without_local_write_fails_on_arrival(void **state)
{
    struct ibv_mr *mr;

    (void)state;
    two_hosts(&vf_profile_rxe, &a, &b);
    mr = ibv_reg_mr(b.pd, b.memory, 64, 0);
    assert_int_equal(post_recv_key(&b, 1, 0, 64, mr->lkey), 0);
    assert_int_equal(post_send(&a, 2, 0, 64), 0);
    expect_completion(&b, 1, IBV_WC_LOC_QP_OP_ERR);
    expect_completion(&a, 2, IBV_WC_SUCCESS);
    host_drop(&a);
    host_drop(&b);
}

static void send_without_a_receive_is_lost_with_success(void **state)
{
    (void)state;
    two_hosts(&vf_profile_rxe, &a, &b);
    assert_int_equal(post_send(&a, 1, 0, 64), 0);
    expect_completion(&a, 1, IBV_WC_SUCCESS);
    assert_int_equal(post_recv(&b, 2, 0, 64), 0);
    expect_none(&b);
    assert_int_equal(state_of(a.qp), IBV_QPS_RTS);
    assert_int_equal(state_of(b.qp), IBV_QPS_RTS);
    NOTHING_FOUND();
    host_drop(&a);
    host_drop(&b);
}

static void send_longer_than_the_receive_fails_the_receiver(void **state)
{
    (void)state;
    two_hosts(&vf_profile_rxe, &a, &b);
    memset(a.memory, 0x11, MEMORY);
    assert_int_equal(post_recv(&b, 1, 0, 64), 0);
    assert_int_equal(post_recv(&b, 2, 4096, 64), 0);
    assert_int_equal(post_send(&a, 3, 0, 65), 0);
    expect_completion(&a, 3, IBV_WC_SUCCESS);
    expect_completion(&b, 1, IBV_WC_LOC_QP_OP_ERR);
    expect_completion(&b, 2, IBV_WC_WR_FLUSH_ERR);
    assert_int_equal(state_of(b.qp), IBV_QPS_ERR);
    assert_int_equal(b.memory[64], 0);
    NOTHING_FOUND();
    host_drop(&a);
    host_drop(&b);
}

static void send_to_nobody_succeeds(void **state)
{
    (void)state;
    two_hosts(&vf_profile_rxe, &a, &b);
    assert_int_equal(ibv_destroy_qp(b.qp), 0);
    assert_int_equal(post_send(&a, 1, 0, 64), 0);
    expect_completion(&a, 1, IBV_WC_SUCCESS);
    assert_int_equal(state_of(a.qp), IBV_QPS_RTS);
    host_drop(&b);
    assert_int_equal(post_send(&a, 2, 0, 64), 0);
    expect_completion(&a, 2, IBV_WC_SUCCESS);
    host_drop(&a);
}

static void send_to_a_peer_in_init_succeeds(void **state)
{
    (void)state;
    stage_set(&vf_profile_rxe, 2);
    host_start(&a, 0);
    host_start(&b, 1);
    assert_int_equal(to_init(a.qp), 0);
    assert_int_equal(to_init(b.qp), 0);
    assert_int_equal(post_recv(&b, 9, 0, 64), 0);
    assert_int_equal(to_rtr(a.qp, &b.gid, b.qp->qp_num), 0);
    assert_int_equal(to_rts(a.qp), 0);
    assert_int_equal(post_send(&a, 1, 0, 64), 0);
    expect_completion(&a, 1, IBV_WC_SUCCESS);
    expect_none(&b);
    host_drop(&a);
    host_drop(&b);
}

static void full_completion_queue_loses_the_newest(void **state)
{
    struct ibv_wc wc[8];

    (void)state;
    stage_set(&vf_profile_rxe, 2);
    host_start(&a, 0);
    host_start(&b, 1);
    a.cq = ibv_create_cq(a.context, 2, NULL, NULL, 0);
    assert_int_equal(a.cq->cqe, 3);
    a.qp = host_qp(&a, IBV_QPT_UC, 32);
    connect_hosts(&a, &b);
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(post_send(&a, i, 0, 64), 0);
    assert_int_equal(ibv_poll_cq(a.cq, 8, wc), 3);
    assert_int_equal(wc[2].wr_id, 2);
    FOUND("cq-overflow in poll_cq");
    assert_int_equal(state_of(a.qp), IBV_QPS_RTS);
    host_drop(&a);
    host_drop(&b);
}

static void full_completion_queue_is_told_for_each_loss(void **state)
{
    struct ibv_async_event event;

    (void)state;
    stage.never_waits = true;
    stage_set(&vf_profile_rxe, 2);
    host_start(&a, 0);
    host_start(&b, 1);
    a.cq = ibv_create_cq(a.context, 2, NULL, NULL, 0);
    a.qp = host_qp(&a, IBV_QPT_UC, 32);
    connect_hosts(&a, &b);
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(post_send(&a, i, 0, 64), 0);
    for (int i = 0; i < 2; i++) {
        event = async_event(&a);
        assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
        assert_ptr_equal(event.element.cq, a.cq);
        ibv_ack_async_event(&event);
    }
    no_async_event(&a);
    host_drop(&a);
    host_drop(&b);
}

static void netdev_down_and_up_are_port_events(void **state)
{
    struct ibv_async_event event;
    struct ibv_port_attr attr;

    (void)state;
    stage.never_waits = true;
    open_one();
    vf_device_port(stage.world, 0, "rdma_en2", false);
    event = async_event(&a);
    assert_int_equal(event.event_type, IBV_EVENT_PORT_ERR);
    assert_int_equal(ibv_query_port(a.context, 1, &attr), 0);
    assert_int_equal(attr.state, IBV_PORT_DOWN);
    vf_device_port(stage.world, 0, "rdma_en2", true);
    event = async_event(&a);
    assert_int_equal(event.event_type, IBV_EVENT_PORT_ACTIVE);
    assert_int_equal(ibv_query_port(a.context, 1, &attr), 0);
    assert_int_equal(attr.state, IBV_PORT_ACTIVE);
    NOTHING_FOUND();
    host_end(&a);
}

static void write_with_a_bad_key_is_lost_with_success(void **state)
{
    struct ask what = {
        .id = 1, .opcode = IBV_WR_RDMA_WRITE, .length = 64, .rkey = 0x12380};

    (void)state;
    two_hosts(&vf_profile_rxe, &a, &b);
    a.memory[0] = 1;
    assert_int_equal(ask(&a, &b, what), 0);
    expect_done(&a, 1, IBV_WC_RDMA_WRITE);
    assert_int_equal(b.memory[0], 0);
    assert_int_equal(state_of(a.qp), IBV_QPS_RTS);
    assert_int_equal(state_of(b.qp), IBV_QPS_RTS);
    NOTHING_FOUND();
    host_end(&a);
    host_end(&b);
}

static void read_over_uc_is_a_local_error(void **state)
{
    (void)state;
    two_hosts(&vf_profile_rxe, &a, &b);
    assert_int_equal(
        ask(&a, &b,
            (struct ask){.id = 1, .opcode = IBV_WR_RDMA_READ, .length = 64}),
        0);
    FOUND("bad-opcode in post_send");
    expect_completion(&a, 1, IBV_WC_LOC_QP_OP_ERR);
    host_end(&a);
    host_end(&b);
}

/* Over RC a's first request ends with the status, and a is in ERR. */
static void fails_over_rc(struct ask what, int64_t wait, int status)
{
    assert_int_equal(ask(&a, &b, what), 0);
    pass(wait);
    expect_completion(&a, what.id, (enum ibv_wc_status)status);
    assert_int_equal(state_of(a.qp), IBV_QPS_ERR);
    pair_end();
}

static const struct ask rc_send = {
    .id = 1, .opcode = IBV_WR_SEND, .length = 64};

static void rc_without_a_receive_is_rnr_retry_exceeded(void **state)
{
    struct pair pair = usual;

    pair.rnr_retry = 6;
    pair_open(state, &pair);
    fails_over_rc(rc_send, 6 * 10 * MICROSECOND, IBV_WC_RNR_RETRY_EXC_ERR);
}

static void rc_too_long_is_a_remote_operation_error(void **state)
{
    pair_open(state, &usual);
    assert_int_equal(post_recv(&b, 2, 0, 63), 0);
    fails_over_rc(rc_send, 0, IBV_WC_REM_OP_ERR);
}

static void rc_with_a_bad_key_is_a_remote_access_error(void **state)
{
    pair_open(state, &usual);
    fails_over_rc((struct ask){.id = 1,
                               .opcode = IBV_WR_RDMA_WRITE,
                               .length = 64,
                               .rkey = 0x12380},
                  0, IBV_WC_REM_ACCESS_ERR);
}

static void rc_to_nobody_is_retry_exceeded(void **state)
{
    pair_make(state, &usual);
    pair_connect_one(a.qp, &usual, &b.gid, 0xabcdef);
    fails_over_rc(rc_send, 8 * (INT64_C(4096) << usual.timeout),
                  IBV_WC_RETRY_EXC_ERR);
}

static void gid_slots_may_be_empty_and_have_an_end(void **state)
{
    static const union ibv_gid zero;
    union ibv_gid gid;

    (void)state;
    open_one();
    memset(&gid, 1, sizeof(gid));
    assert_int_equal(ibv_query_gid(a.context, 1, 7, &gid), 0);
    assert_memory_equal(&gid, &zero, sizeof(gid));
    errno = 0;
    assert_int_equal(ibv_query_gid(a.context, 1, 1024, &gid), -1);
    assert_int_equal(errno, EINVAL);
    errno = 0;
    assert_int_equal(ibv_query_gid(a.context, 2, 0, &gid), -1);
    assert_int_equal(errno, EINVAL);
    host_drop(&a);
}

static void ports_other_than_one_are_einval(void **state)
{
    struct ibv_port_attr attr;

    (void)state;
    open_one();
    assert_int_equal(ibv_query_port(a.context, 0, &attr), EINVAL);
    assert_int_equal(ibv_query_port(a.context, 2, &attr), EINVAL);
    assert_int_equal(ibv_query_port(a.context, 1, &attr), 0);
    assert_int_equal(attr.active_mtu, IBV_MTU_1024);
    host_drop(&a);
}

static void errno_is_set_beside_the_answer_and_dirty_after_open(void **state)
{
    (void)state;
    stage_set(&vf_profile_rxe, 1);
    errno = 0;
    host_open(&a, 0);
    assert_int_not_equal(errno, 0);
    host_start(&a, 0);
    errno = 0;
    assert_int_equal(to_rts(a.qp), EINVAL);
    assert_int_equal(errno, EINVAL);
    host_drop(&a);
}

static void devices_without_cables_reach_each_other(void **state)
{
    struct vf_device_setup setup = stage_device(&vf_profile_rxe, "rxe0");

    (void)state;
    stage_clear();
    for (int i = 0; i < 3; i++) {
        vf_world_add_machine(stage.world);
        vf_machine_add_device(stage.world, i, &setup);
    }
    host_start(&a, 0);
    host_start(&b, 2);
    connect_hosts(&a, &b);
    assert_int_equal(post_recv(&b, 1, 0, 64), 0);
    assert_int_equal(post_send(&a, 2, 0, 64), 0);
    expect_completion(&b, 1, IBV_WC_SUCCESS);
    host_drop(&a);
    host_drop(&b);
}

/* ---- measured by the conformance run, tests/vm ---- */

static void create_qp_says_depths_as_asked_and_query_what_there_is(void **state)
{
    struct ibv_qp_init_attr attr = {
        .qp_type = IBV_QPT_UC,
        .send_cq = NULL,
        .cap = {.max_send_wr = 4, .max_recv_wr = 9, .max_recv_sge = 1}};
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr now;
    struct ibv_qp *qp;

    (void)state;
    open_one();
    attr.send_cq = attr.recv_cq = a.cq;
    qp = ibv_create_qp(a.pd, &attr);
    assert_int_equal(attr.cap.max_send_wr, 4);
    assert_int_equal(attr.cap.max_recv_wr, 9);
    assert_int_equal(ibv_query_qp(qp, &now, IBV_QP_CAP, &init), 0);
    assert_int_equal(now.cap.max_send_wr, 7);
    assert_int_equal(now.cap.max_recv_wr, 15);
    host_drop(&a);
}

/* It is not too much to have as many as there are, whatever create_qp said. */
static void nothing_is_found_up_to_the_real_depth(void **state)
{
    (void)state;
    open_one();
    a.qp = host_qp(&a, IBV_QPT_UC, 4);
    assert_int_equal(to_init(a.qp), 0);
    for (uint64_t i = 0; i < 7; i++)
        assert_int_equal(post_recv(&a, i, 0, 64), 0);
    NOTHING_FOUND();
    assert_int_equal(post_recv(&a, 7, 0, 64), ENOMEM);
    FOUND("queue-overflow in post_recv");
    host_drop(&a);
}

static void expect_caps(uint32_t sge, uint32_t inlined, uint32_t granted_sge,
                        uint32_t granted_inline)
{
    struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_UC,
                                    .cap = {.max_send_wr = 1,
                                            .max_send_sge = sge,
                                            .max_inline_data = inlined}};

    attr.send_cq = attr.recv_cq = a.cq;
    assert_non_null(ibv_create_qp(a.pd, &attr));
    assert_int_equal(attr.cap.max_send_sge, granted_sge);
    assert_int_equal(attr.cap.max_inline_data, granted_inline);
}

static void entries_and_inline_bytes_share_their_room(void **state)
{
    (void)state;
    open_one();
    expect_caps(2, 0, 2, 32);
    expect_caps(2, 33, 2, 33);
    expect_caps(5, 100, 6, 100);
    expect_caps(0, 8, 0, 8);
    expect_caps(1, 512, 32, 512);
    host_drop(&a);
}

static struct ibv_srq *srq_of(uint32_t wr, uint32_t sge, uint32_t said_sge)
{
    struct ibv_srq_init_attr attr = {.attr = {.max_wr = wr, .max_sge = sge}};
    struct ibv_srq *srq;

    errno = 0;
    srq = ibv_create_srq(a.pd, &attr);
    if (srq) {
        assert_int_equal(attr.attr.max_wr, wr);
        assert_int_equal(attr.attr.max_sge, said_sge);
    }
    return srq;
}

static void shared_queues_say_depths_as_asked_and_have_an_entry(void **state)
{
    struct ibv_srq_attr now;
    struct ibv_srq *srq;

    (void)state;
    open_one();
    srq = srq_of(4, 0, 1);
    assert_non_null(srq);
    assert_int_equal(ibv_query_srq(srq, &now), 0);
    assert_int_equal(now.max_wr, 7);
    assert_non_null(srq_of(10, vf_profile_rxe.max_srq_sge, 27));
    assert_null(srq_of(10, vf_profile_rxe.max_srq_sge + 1, 0));
    assert_int_equal(errno, EINVAL);
    host_drop(&a);
}

static void full_shared_queue_is_enomem_whatever_comes(void **state)
{
    struct ibv_sge sge[3] = {{0}};
    struct ibv_recv_wr wr = {.sg_list = sge, .num_sge = 1};
    struct ibv_recv_wr *bad;
    struct ibv_srq *srq;

    (void)state;
    open_one();
    srq = srq_of(1, 1, 1);
    assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
    stage.finding_count = 0;
    wr.num_sge = 3;
    assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), ENOMEM);
    host_drop(&a);
}

static struct ibv_qp_attr queried(struct ibv_qp *qp)
{
    struct ibv_qp_init_attr init;
    struct ibv_qp_attr attr;

    assert_int_equal(ibv_query_qp(qp, &attr, 0xffffff, &init), 0);
    return attr;
}

static void query_qp_has_no_current_state_and_the_least_mtu(void **state)
{
    (void)state;
    open_one();
    assert_int_equal(queried(a.qp).path_mtu, IBV_MTU_256);
    assert_int_equal(to_init(a.qp), 0);
    assert_int_equal(queried(a.qp).cur_qp_state, IBV_QPS_RESET);
    assert_int_equal(queried(a.qp).path_mtu, IBV_MTU_256);
    assert_int_equal(to_rtr(a.qp, &a.gid, 1), 0);
    assert_int_equal(queried(a.qp).qp_state, IBV_QPS_RTR);
    assert_int_equal(queried(a.qp).cur_qp_state, IBV_QPS_RESET);
    assert_int_equal(queried(a.qp).path_mtu, IBV_MTU_1024);
    assert_int_equal(to_state(a.qp, IBV_QPS_RESET), 0);
    assert_int_equal(queried(a.qp).port_num, 1);
    assert_int_equal(queried(a.qp).rq_psn, 7);
    host_drop(&a);
}

static void query_qp_counts_packets(void **state)
{
    (void)state;
    two_hosts(&vf_profile_rxe, &a, &b);
    assert_int_equal(post_recv(&b, 1, 0, 4096), 0);
    assert_int_equal(post_recv(&b, 2, 0, 4096), 0);
    assert_int_equal(post_send(&a, 3, 0, 1025), 0);
    assert_int_equal(queried(a.qp).sq_psn, 7 + 2);
    assert_int_equal(queried(b.qp).rq_psn, 7 + 2);
    assert_int_equal(post_send(&a, 4, 0, 16), 0);
    assert_int_equal(post_send(&a, 5, 0, 2048), 0); /* nobody takes it */
    assert_int_equal(queried(a.qp).sq_psn, 7 + 5);
    assert_int_equal(queried(b.qp).rq_psn, 7 + 3);
    assert_int_equal(post_recv(&b, 6, 0, 1500), 0);
    assert_int_equal(post_send(&a, 7, 0, 4096), 0); /* too long */
    assert_int_equal(queried(a.qp).sq_psn, 7 + 9);
    assert_int_equal(queried(b.qp).rq_psn, 7 + 6);
    host_drop(&a);
    host_drop(&b);
}

static void refused_packets_are_the_last(void **state)
{
    pair_open(state, &usual);
    assert_int_equal(post_recv(&b, 1, 0, 1500), 0);
    assert_int_equal(post_send(&a, 2, 0, 4096), 0);
    expect_completion(&a, 2, IBV_WC_REM_OP_ERR);
    assert_int_equal(queried(a.qp).sq_psn, 7 + 2);
    assert_int_equal(queried(b.qp).rq_psn, 7 + 1);
    pair_close();
}

static void addresses_have_to_be_of_one_family(void **state)
{
    struct ibv_ah_attr way;
    struct ibv_qp_attr attr;

    (void)state;
    open_one();
    assert_int_equal(to_init(a.qp), 0);
    attr = rtr_attr(&a.gid, 1);
    attr.ah_attr.grh.sgid_index = 0;
    way = attr.ah_attr;
    assert_int_equal(ibv_modify_qp(a.qp, &attr, RTR_MASK), EINVAL);
    errno = 0;
    assert_null(ibv_create_ah(a.pd, &way));
    assert_int_equal(errno, EINVAL);
    way.grh.sgid_index = 5;
    assert_null(ibv_create_ah(a.pd, &way));
    assert_int_equal(errno, ENODATA);
    way.grh.sgid_index = 1;
    assert_non_null(ibv_create_ah(a.pd, &way));
    assert_int_equal(ibv_query_gid(a.context, 1, 0, &attr.ah_attr.grh.dgid), 0);
    assert_int_equal(ibv_modify_qp(a.qp, &attr, RTR_MASK), 0);
    host_drop(&a);
}

static void sends_with_an_immediate_say_so(void **state)
{
    static const enum ibv_wr_opcode opcodes[] = {
        IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND};

    pair_open(state, &usual);
    for (uint64_t i = 0; i < 3; i++) {
        struct ibv_wc wc;

        assert_int_equal(post_recv(&b, i, 0, 64), 0);
        assert_int_equal(
            ask(&a, &b,
                (struct ask){
                    .id = i, .opcode = opcodes[i], .length = 64, .other = 5}),
            0);
        wc = polled(&a);
        assert_int_equal(wc.status, IBV_WC_SUCCESS);
        assert_int_equal(wc.wc_flags, i < 2 ? IBV_WC_WITH_IMM : 0);
        assert_int_equal(wc.imm_data, 0);
    }
    pair_close();
}

static void reg_mr_counts_pages(void **state)
{
    (void)state;
    open_one();
    assert_non_null(ibv_reg_mr(a.pd, a.memory + 3, 0, ALL_ACCESS));
    stage.finding_count = 0;
    refuse_region(a.memory, 0, ALL_ACCESS, EINVAL);
    refuse_region(a.memory, UINT64_C(1) << 46, ALL_ACCESS, EINVAL);
    refuse_region(a.memory, 64, ALL_ACCESS | IBV_ACCESS_ON_DEMAND, EINVAL);
    host_drop(&a);
}

static void region_under_a_window_stays(void **state)
{
    struct ibv_mw_bind bind = {.send_flags = IBV_SEND_SIGNALED};
    struct ibv_mw *mw;

    pair_open(state, &usual);
    mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_1);
    bind.bind_info = (struct ibv_mw_bind_info){b.mr, (uintptr_t)b.memory, 64,
                                               IBV_ACCESS_REMOTE_READ};
    assert_int_equal(ibv_bind_mw(b.qp, mw, &bind), 0);
    assert_int_equal(ibv_dereg_mr(b.mr), EINVAL);
    stage.finding_count = 0;
    assert_int_equal(ibv_dealloc_mw(mw), 0);
    assert_int_equal(ibv_dereg_mr(b.mr), 0);
    pair_close();
}

static void atomics_off_their_place_are_not_posted(void **state)
{
    pair_open(state, &usual);
    assert_int_equal(ask(&a, &b,
                         (struct ask){.id = 1,
                                      .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
                                      .at = 4,
                                      .length = 8}),
                     EINVAL);
    pair_close();
}

static void ud_write_fails_when_it_is_sent(void **state)
{
    struct pair pair = of_type(IBV_QPT_UD);

    pair_open(state, &pair);
    assert_int_equal(
        ask(&a, &b,
            (struct ask){.id = 1, .opcode = IBV_WR_RDMA_WRITE, .length = 64}),
        0);
    expect_completion(&a, 1, IBV_WC_LOC_QP_OP_ERR);
    assert_int_equal(state_of(a.qp), IBV_QPS_ERR);
    pair_close();
}

static void long_datagram_is_lost_whatever_its_key(void **state)
{
    struct pair pair = of_type(IBV_QPT_UD);
    struct ibv_ah_attr way = rtr_attr(&b.gid, 1).ah_attr;
    struct ibv_sge sge = {0, 1025, 0x123};
    struct ibv_send_wr *bad;
    struct ibv_send_wr wr = {.wr_id = 1,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND,
                             .send_flags = IBV_SEND_SIGNALED};

    pair_open(state, &pair);
    way.grh.dgid = b.gid;
    sge.addr = (uintptr_t)a.memory;
    wr.wr.ud.ah = ibv_create_ah(a.pd, &way);
    wr.wr.ud.remote_qpn = b.qp->qp_num;
    wr.wr.ud.remote_qkey = QKEY;
    assert_int_equal(ibv_post_send(a.qp, &wr, &bad), 0);
    expect_completion(&a, 1, IBV_WC_SUCCESS);
    pair_close();
}

static void xrc_is_not_supported(void **state)
{
    (void)state;
    open_one();
    assert_null(
        make_qp((struct ibv_qp_init_attr){.qp_type = IBV_QPT_XRC_SEND}));
    assert_int_equal(errno, EOPNOTSUPP);
    host_drop(&a);
}

static void device_and_port_say_what_the_driver_says(void **state)
{
    struct ibv_device_attr attr;
    struct ibv_port_attr port;
    __be16 pkey;

    (void)state;
    open_one();
    assert_int_equal(ibv_query_device(a.context, &attr), 0);
    assert_int_equal(attr.max_mr, 524287);
    assert_int_equal(attr.max_pkeys, 64);
    assert_int_equal(attr.page_size_cap, 0xfffff000);
    assert_string_equal(attr.fw_ver, "0.0.0");
    assert_int_equal(ibv_query_port(a.context, 1, &port), 0);
    assert_int_equal(port.flags, IBV_QPF_GRH_REQUIRED);
    assert_int_equal(ibv_query_pkey(a.context, 1, 0, &pkey), 0);
    errno = 0;
    assert_int_equal(ibv_query_pkey(a.context, 1, 1, &pkey), -1);
    assert_int_equal(errno, ENOENT);
    host_drop(&a);
}

static void receives_posted_in_error_stay(void **state)
{
    (void)state;
    two_hosts(&vf_profile_rxe, &a, &b);
    assert_int_equal(post_recv(&a, 1, 0, 64), 0);
    assert_int_equal(to_state(a.qp, IBV_QPS_ERR), 0);
    expect_completion(&a, 1, IBV_WC_WR_FLUSH_ERR);
    assert_int_equal(post_recv(&a, 2, 0, 64), 0);
    expect_none(&a);
    assert_int_equal(post_send(&a, 3, 0, 64), 0);
    expect_completion(&a, 3, IBV_WC_WR_FLUSH_ERR);
    expect_none(&a);
    host_drop(&a);
    host_drop(&b);
}

static void responders_are_not_told(void **state)
{
    pair_open(state, &usual);
    assert_int_equal(ask(&a, &b,
                         (struct ask){.id = 1,
                                      .opcode = IBV_WR_RDMA_WRITE,
                                      .length = 64,
                                      .rkey = 0x12380}),
                     0);
    expect_completion(&a, 1, IBV_WC_REM_ACCESS_ERR);
    assert_int_equal(state_of(b.qp), IBV_QPS_ERR);
    no_async_event(&b);
    pair_close();
}

/* The peer does its part before anybody looks where the answer goes. */
static void places_of_answers_are_looked_at_when_these_come(void **state)
{
    struct ask what = {.id = 1,
                       .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
                       .from = MEMORY - 4,
                       .length = 8,
                       .compare_add = 3};

    pair_open(state, &usual);
    assert_int_equal(ask(&a, &b, what), 0);
    expect_completion(&a, 1, IBV_WC_LOC_PROT_ERR);
    assert_int_equal(*(uint64_t *)(void *)b.memory, 3);
    pair_close();
    pair_open(state, &usual);
    what.opcode = IBV_WR_RDMA_READ;
    what.rkey = 0x12380;
    assert_int_equal(ask(&a, &b, what), 0);
    expect_completion(&a, 1, IBV_WC_REM_ACCESS_ERR);
    pair_close();
}

static void write_with_immediate_takes_its_receive_first(void **state)
{
    static const struct ask what = {.id = 1,
                                    .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
                                    .length = 64,
                                    .rkey = 0x12380};
    struct pair pair = usual;

    pair_open(state, &pair);
    assert_int_equal(post_recv(&b, 2, 0, 64), 0);
    assert_int_equal(ask(&a, &b, what), 0);
    expect_completion(&a, 1, IBV_WC_REM_ACCESS_ERR);
    expect_completion(&b, 2, IBV_WC_REM_ACCESS_ERR);
    pair_close();
    pair.rnr_retry = 0;
    pair_open(state, &pair);
    assert_int_equal(ask(&a, &b, what), 0);
    expect_completion(&a, 1, IBV_WC_RNR_RETRY_EXC_ERR);
    pair_close();
}

static void entries_that_nothing_comes_to_are_not_looked_at(void **state)
{
    struct ibv_sge sge[2];
    struct ibv_recv_wr wr = {.wr_id = 1, .sg_list = sge, .num_sge = 2};
    struct ibv_recv_wr *bad;

    pair_open(state, &usual);
    sge[0] = (struct ibv_sge){(uintptr_t)b.memory, 64, b.mr->lkey};
    sge[1] = (struct ibv_sge){(uintptr_t)b.memory, 64, 0x123};
    assert_int_equal(ibv_post_recv(b.qp, &wr, &bad), 0);
    wr.sg_list = &sge[1];
    wr.num_sge = 1;
    assert_int_equal(ibv_post_recv(b.qp, &wr, &bad), 0);
    assert_int_equal(ibv_post_recv(b.qp, &wr, &bad), 0);
    assert_int_equal(post_send(&a, 2, 0, 64), 0);
    expect_completion(&b, 1, IBV_WC_SUCCESS);
    assert_int_equal(post_send(&a, 3, 0, 0), 0);
    expect_completion(&b, 1, IBV_WC_SUCCESS);
    assert_int_equal(post_send(&a, 4, 0, 1), 0);
    expect_completion(&b, 1, IBV_WC_LOC_QP_OP_ERR);
    pair_close();
}

#define TEST(name) cmocka_unit_test(name)
/* Also as between processes. */
#define ANY(name) TEST(name), SHARED(name, rxe)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ANY(receive_completion_has_opcode_length_and_grh),
        ANY(error_completion_has_only_status_wr_id_and_qp_num),
        TEST(device_list_is_null_with_enosys_or_empty),
        TEST(create_cq_refuses_bad_sizes_and_vectors),
        TEST(cqe_rounds_up),
        TEST(create_qp_refuses_what_is_too_much),
        TEST(create_qp_takes_no_requests_and_more_than_the_cq),
        TEST(depth_four_grants_seven),
        TEST(wrong_ways_are_einval_and_change_nothing),
        TEST(init_again_error_and_reset_are_always_ways),
        TEST(rtr_values_that_make_no_sense_are_einval),
        TEST(rtr_with_an_empty_gid_index_is_enodata),
        TEST(rtr_takes_absent_peers_bogus_numbers_and_large_mtus),
        TEST(init_refuses_port_two_and_takes_any_pkey),
        TEST(post_recv_needs_init),
        TEST(post_send_needs_rts),
        ANY(sends_in_error_are_flushed),
        ANY(full_receive_queue_is_enomem_at_the_first_not_taken),
        ANY(long_send_chain_is_enomem_at_the_first_not_taken),
        TEST(releasing_what_is_in_use_is_ebusy),
        ANY(destroy_qp_forgets_its_receives),
        ANY(close_device_takes_everything_with_it),
        TEST(exit_takes_everything_with_it),
        ANY(region_released_under_a_receive_fails_on_arrival),
        TEST(posts_in_the_wrong_state_leave_bad_wr),
        TEST(reg_mr_refuses_bad_lengths_and_access),
        TEST(reg_mr_of_no_memory_is_efault),
        TEST(reg_mr_of_unmapped_memory_is_efault),
        TEST(reg_mr_of_read_only_memory_must_not_write),
        TEST(rereg_mr_is_not_supported),
        TEST(reg_mr_over_the_memory_lock_limit_is_enomem),
        TEST(reg_mr_takes_unaligned_and_repeated_ranges),
        ANY(send_with_a_wrong_key_fails_its_queue_pair),
        ANY(send_outside_its_region_is_a_protection_error),
        ANY(receive_with_a_wrong_key_fails_on_arrival),
        ANY(receive_with_another_domains_key_fails_on_arrival),
        ANY(receive_without_local_write_fails_on_arrival),
        ANY(send_without_a_receive_is_lost_with_success),
        ANY(send_longer_than_the_receive_fails_the_receiver),
        ANY(send_to_nobody_succeeds),
        ANY(send_to_a_peer_in_init_succeeds),
        TEST(full_completion_queue_loses_the_newest),
        TEST(full_completion_queue_is_told_for_each_loss),
        TEST(netdev_down_and_up_are_port_events),
        ANY(write_with_a_bad_key_is_lost_with_success),
        ANY(read_over_uc_is_a_local_error),
        ON(rc_without_a_receive_is_rnr_retry_exceeded, rxe),
        ON(rc_too_long_is_a_remote_operation_error, rxe),
        ON(rc_with_a_bad_key_is_a_remote_access_error, rxe),
        ON(rc_to_nobody_is_retry_exceeded, rxe),
        TEST(gid_slots_may_be_empty_and_have_an_end),
        TEST(ports_other_than_one_are_einval),
        TEST(errno_is_set_beside_the_answer_and_dirty_after_open),
        TEST(devices_without_cables_reach_each_other),
        TEST(create_qp_says_depths_as_asked_and_query_what_there_is),
        TEST(nothing_is_found_up_to_the_real_depth),
        TEST(entries_and_inline_bytes_share_their_room),
        TEST(shared_queues_say_depths_as_asked_and_have_an_entry),
        TEST(full_shared_queue_is_enomem_whatever_comes),
        TEST(query_qp_has_no_current_state_and_the_least_mtu),
        ANY(query_qp_counts_packets),
        ON(refused_packets_are_the_last, rxe),
        TEST(addresses_have_to_be_of_one_family),
        ON(sends_with_an_immediate_say_so, rxe),
        TEST(reg_mr_counts_pages),
        ON(region_under_a_window_stays, rxe),
        ON(atomics_off_their_place_are_not_posted, rxe),
        ON(ud_write_fails_when_it_is_sent, rxe),
        ON(long_datagram_is_lost_whatever_its_key, rxe),
        TEST(xrc_is_not_supported),
        TEST(device_and_port_say_what_the_driver_says),
        ANY(receives_posted_in_error_stay),
        ON(responders_are_not_told, rxe),
        ON(places_of_answers_are_looked_at_when_these_come, rxe),
        ON(write_with_immediate_takes_its_receive_first, rxe),
        ON(entries_that_nothing_comes_to_are_not_looked_at, rxe),
    };

    return cmocka_run_group_tests(tests, NULL, stage_teardown);
}
