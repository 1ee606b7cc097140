/*
 * The thunderbolt profile answers as Apple's provider was reported to: a test
 * or more for each of those facts. That the library loads by name, with devices
 * or without, is in mocks_shared.c.
 */
#include "pair_support.h"

#include <sys/mman.h>

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

static void open_one(void)
{
    stage_set(&vf_profile_thunderbolt, 2);
    host_start(&a, 0);
}

static void transport_is_thunderbolt_and_the_port_is_one(void **state)
{
    struct ibv_port_attr attr;

    (void)state;
    open_one();
    assert_int_equal(a.context->device->transport_type, 100);
    assert_int_equal(ibv_query_port(a.context, 1, &attr), 0);
    assert_int_equal(attr.state, IBV_PORT_ACTIVE);
    assert_int_equal(attr.gid_tbl_len, 3);
    assert_int_equal(attr.link_layer, 100);
    assert_int_equal(attr.lid, 1);
    assert_int_equal(attr.sm_lid, 1);
    assert_int_equal(ibv_query_port(a.context, 2, &attr), EINVAL);
    host_drop(&a);
}

static void device_list_may_be_empty(void **state)
{
    int count = 9;
    struct ibv_device **list;

    (void)state;
    stage_clear();
    vf_world_add_machine(stage.world);
    list = ibv_get_device_list(&count);
    assert_non_null(list);
    assert_int_equal(count, 0);
    ibv_free_device_list(list);
}

/* A device is named after the interface it is paired with: on another machine,
 * or after a reboot, it has another one. */
static void names_differ_from_machine_to_machine(void **state)
{
    static const char *const names[2][2] = {{"rdma_en2", "rdma_en5"},
                                            {"rdma_en5", "rdma_en3"}};

    (void)state;
    for (int boot = 0; boot < 2; boot++) {
        stage_clear();
        for (int i = 0; i < 2; i++) {
            struct vf_device_setup setup =
                stage_device(&vf_profile_thunderbolt, names[boot][i]);

            vf_world_add_machine(stage.world);
            vf_machine_add_device(stage.world, i, &setup);
        }
        assert_int_equal(
            vf_world_cable(stage.world, 0, names[boot][0], 1, names[boot][1]),
            0);
        host_start(&a, 0);
        host_start(&b, 1);
        assert_string_equal(ibv_get_device_name(a.context->device),
                            names[boot][0]);
        assert_string_equal(ibv_get_device_name(b.context->device),
                            names[boot][1]);
        connect_hosts(&a, &b);
        assert_int_equal(post_recv(&b, 1, 0, 64), 0);
        assert_int_equal(post_send(&a, 2, 0, 64), 0);
        expect_completion(&b, 1, IBV_WC_SUCCESS);
        host_drop(&a);
        host_drop(&b);
    }
}

static void port_down_opens_but_has_no_domains(void **state)
{
    struct vf_device_setup setup =
        stage_device(&vf_profile_thunderbolt, "rdma_en2");
    struct ibv_port_attr attr;

    (void)state;
    setup.port_down = true;
    stage_set_devices(&setup, 1);
    host_open(&a, 0);
    assert_int_equal(ibv_query_port(a.context, 1, &attr), 0);
    assert_int_equal(attr.state, IBV_PORT_DOWN);
    errno = 0;
    assert_null(ibv_alloc_pd(a.context));
    assert_int_not_equal(errno, 0);
    host_drop(&a);
}

static void only_uc_queue_pairs_exist(void **state)
{
    (void)state;
    open_one();
    errno = 0;
    assert_null(host_qp(&a, IBV_QPT_RC, 8));
    assert_int_equal(errno, EOPNOTSUPP);
    errno = 0;
    assert_null(host_qp(&a, IBV_QPT_UD, 8));
    assert_int_equal(errno, EOPNOTSUPP);
    host_drop(&a);
}

static void eleventh_queue_pair_is_ebusy_whatever_the_context(void **state)
{
    struct ibv_device_attr attr;
    struct host other;

    (void)state;
    open_one();
    assert_int_equal(ibv_query_device(a.context, &attr), 0);
    assert_int_equal(attr.max_qp, 11);
    host_open(&other, 0);
    other.pd = ibv_alloc_pd(other.context);
    other.cq = ibv_create_cq(other.context, 64, NULL, NULL, 0);
    for (int i = 1; i < 10; i++)
        assert_non_null(host_qp(i & 1 ? &other : &a, IBV_QPT_UC, 8));
    errno = 0;
    assert_null(host_qp(&other, IBV_QPT_UC, 8));
    assert_int_equal(errno, EBUSY);
    assert_int_equal(ibv_destroy_qp(a.qp), 0);
    assert_non_null(host_qp(&other, IBV_QPT_UC, 8));
    host_drop(&a);
}

static void hundred_and_first_region_is_null(void **state)
{
    (void)state;
    open_one(); /* registers one */
    for (int i = 1; i < 100; i++)
        assert_non_null(ibv_reg_mr(a.pd, a.memory, 4096, ALL_ACCESS));
    errno = 0;
    assert_null(ibv_reg_mr(a.pd, a.memory, 4096, ALL_ACCESS));
    assert_int_not_equal(errno, 0);
    assert_int_equal(ibv_dereg_mr(a.mr), 0);
    assert_non_null(ibv_reg_mr(a.pd, a.memory, 4096, ALL_ACCESS));
    NOTHING_FOUND();
    host_drop(&a);
}

static void regions_of_another_process_count(void **state)
{
    struct vf_device_setup setup =
        stage_device(&vf_profile_thunderbolt, "rdma_en2");

    (void)state;
    setup.used_mr = 64;
    stage_set_devices(&setup, 1);
    host_start(&a, 0);
    for (int i = 1; i < 36; i++)
        assert_non_null(ibv_reg_mr(a.pd, a.memory, 4096, ALL_ACCESS));
    assert_null(ibv_reg_mr(a.pd, a.memory, 4096, ALL_ACCESS));
    host_drop(&a);
}

static void domains_of_dead_processes_stay_taken(void **state)
{
    struct vf_device_setup setup =
        stage_device(&vf_profile_thunderbolt, "rdma_en2");

    (void)state;
    setup.max_pd = 3;
    stage_set_devices(&setup, 1);
    for (int i = 0; i < 3; i++) {
        host_open(&a, 0);
        assert_non_null(ibv_alloc_pd(a.context));
        vf_machine_end(stage.world, 0);
    }
    host_open(&a, 0);
    assert_null(ibv_alloc_pd(a.context));
    vf_machine_end(stage.world, 0);
}

static void depth_is_rounded_up_and_can_be_read_back(void **state)
{
    static const struct {
        unsigned asked, granted;
    } rows[] = {{32, 1023}, {256, 1023}, {1024, 2047}, {4095, 4095}};
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;

    (void)state;
    open_one();
    for (int i = 0; i < 4; i++) {
        struct ibv_qp *qp = host_qp(&a, IBV_QPT_UC, rows[i].asked);

        assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_CAP, &init), 0);
        assert_int_equal(attr.cap.max_send_wr, rows[i].granted);
        assert_int_equal(attr.cap.max_recv_wr, rows[i].granted);
    }
    errno = 0;
    assert_null(host_qp(&a, IBV_QPT_UC, 4096));
    assert_int_equal(errno, EINVAL);
    host_drop(&a);
}

/* V11: 64 receives of 64 KiB on 1023 frames. */
static void depth_counts_frames(void **state)
{
    (void)state;
    open_one();
    assert_int_equal(to_init(a.qp), 0);
    for (int i = 0; i < 63; i++)
        assert_int_equal(post_recv(&a, 0, 0, 65536), 0);
    NOTHING_FOUND();
    assert_int_equal(post_recv(&a, 0, 0, 65536), ENOMEM);
    FOUND("queue-overflow in post_recv");
    host_drop(&a);
}

static void longest_message_is_4095_frames(void **state)
{
    const uint32_t longest = 4095u * 4096;
    unsigned char *from, *to;
    struct ibv_mr *from_mr, *to_mr;

    (void)state;
    stage_set(&vf_profile_thunderbolt, 2);
    host_start(&a, 0);
    host_start(&b, 1);
    a.qp = host_qp(&a, IBV_QPT_UC, 4095);
    b.qp = host_qp(&b, IBV_QPT_UC, 4095);
    connect_hosts(&a, &b);
    assert_int_equal(posix_memalign((void **)&from, 4096, longest + 4096), 0);
    assert_int_equal(posix_memalign((void **)&to, 4096, longest + 4096), 0);
    memset(from, 0x33, longest + 4096);
    memset(to, 0, longest + 4096);
    from_mr = ibv_reg_mr(a.pd, from, longest + 4096, ALL_ACCESS);
    to_mr = ibv_reg_mr(b.pd, to, longest + 4096, ALL_ACCESS);
    free(a.memory);
    free(b.memory);
    a.memory = from;
    b.memory = to;
    assert_int_equal(post_recv_key(&b, 1, 0, longest, to_mr->lkey), 0);
    assert_int_equal(post_recv_key(&b, 2, 0, 1, to_mr->lkey), ENOMEM);
    FOUND("queue-overflow in post_recv");
    assert_int_equal(post_send_key(&a, 3, 0, longest, from_mr->lkey), 0);
    expect_completion(&a, 3, IBV_WC_SUCCESS);
    expect_completion(&b, 1, IBV_WC_SUCCESS);
    assert_memory_equal(to, from, longest);
    assert_int_equal(to[longest], 0);
    assert_int_equal(post_send_key(&a, 4, 0, longest + 1, from_mr->lkey),
                     EINVAL);
    host_drop(&a);
    host_drop(&b);
}

/* The other report: posting past the depth never fails, and data is lost. */
static void past_the_depth_receives_may_be_lost(void **state)
{
    struct vf_profile losing = vf_profile_thunderbolt;
    struct ibv_wc wc[80];

    (void)state;
    losing.recv_over_depth_refused = false;
    two_hosts(&losing, &a, &b);
    for (uint64_t i = 0; i < 64; i++)
        assert_int_equal(post_recv(&b, i, 0, 65536), 0);
    FOUND("queue-overflow in post_recv");
    for (uint64_t i = 0; i < 15; i++)
        assert_int_equal(post_send(&a, i, 0, 65536), 0);
    assert_int_equal(ibv_poll_cq(b.cq, 80, wc), 15);
    for (uint64_t i = 15; i < 64; i++)
        assert_int_equal(post_send(&a, i, 0, 65536), 0);
    assert_int_equal(ibv_poll_cq(b.cq, 80, wc), 48);
    assert_int_equal(wc[47].wr_id, 62); /* the last one waits for ever */
    host_drop(&a);
    host_drop(&b);
}

static void one_scatter_gather_entry(void **state)
{
    struct ibv_qp_init_attr attr = {
        .qp_type = IBV_QPT_UC,
        .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 2},
    };

    (void)state;
    open_one();
    attr.send_cq = a.cq;
    attr.recv_cq = a.cq;
    assert_null(ibv_create_qp(a.pd, &attr));
    assert_int_equal(errno, EINVAL);
    host_drop(&a);
}

static void no_shared_receive_queues_no_rdma_no_atomics(void **state)
{
    struct ibv_srq_init_attr srq = {.attr = {.max_wr = 4, .max_sge = 1}};
    struct ibv_sge sge;
    struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1};
    struct ibv_send_wr *bad;

    (void)state;
    two_hosts(&vf_profile_thunderbolt, &a, &b);
    errno = 0;
    assert_null(ibv_create_srq(a.pd, &srq));
    assert_int_equal(errno, EOPNOTSUPP);
    sge = (struct ibv_sge){(uintptr_t)a.memory, 64, a.mr->lkey};
    wr.opcode = IBV_WR_RDMA_WRITE;
    assert_int_equal(ibv_post_send(a.qp, &wr, &bad), EOPNOTSUPP);
    wr.opcode = IBV_WR_RDMA_READ;
    assert_int_equal(ibv_post_send(a.qp, &wr, &bad), EOPNOTSUPP);
    wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
    assert_int_equal(ibv_post_send(a.qp, &wr, &bad), EOPNOTSUPP);
    errno = 0;
    assert_null(ibv_alloc_mw(a.pd, IBV_MW_TYPE_1));
    assert_int_equal(errno, EOPNOTSUPP);
    NOTHING_FOUND();
    host_drop(&a);
    host_drop(&b);
}

static void region_size_limit_is_shown_and_not_enforced(void **state)
{
    struct ibv_device_attr attr;
    void *memory = NULL;

    (void)state;
    open_one();
    assert_int_equal(ibv_query_device(a.context, &attr), 0);
    assert_true(attr.max_mr_size < 17000000);
    assert_int_equal(posix_memalign(&memory, 4096, 1 << 25), 0);
    assert_non_null(ibv_reg_mr(a.pd, memory, 1 << 25, ALL_ACCESS));
    host_drop(&a);
    free(memory);
}

/* What lies 2^32 bytes into a region is read from its beginning. */
static void region_past_32_bits_returns_wrong_data(void **state)
{
    const size_t far = (size_t)1 << 32;
    unsigned char *memory;
    struct ibv_mr *mr;

    (void)state;
    two_hosts(&vf_profile_thunderbolt, &a, &b);
    memory = mmap(NULL, far + 8192, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        print_message("skipped: no 4 GiB of address space to be had\n");
        skip();
    }
    memory[4096] = 0x11;
    memory[far + 4096] = 0x22;
    mr = ibv_reg_mr(a.pd, memory, far + 8192, ALL_ACCESS);
    assert_non_null(mr);
    free(a.memory);
    a.memory = NULL;
    for (int i = 0; i < 2; i++) {
        struct ibv_sge sge = {(uintptr_t)memory + 4096 + (i ? far : 0), 4096,
                              mr->lkey};
        struct ibv_send_wr wr = {.wr_id = 1,
                                 .sg_list = &sge,
                                 .num_sge = 1,
                                 .opcode = IBV_WR_SEND,
                                 .send_flags = IBV_SEND_SIGNALED};
        struct ibv_send_wr *bad;

        b.memory[0] = 0;
        assert_int_equal(post_recv(&b, 2, 0, 4096), 0);
        assert_int_equal(ibv_post_send(a.qp, &wr, &bad), 0);
        expect_completion(&a, 1, IBV_WC_SUCCESS);
        expect_completion(&b, 2, IBV_WC_SUCCESS);
        assert_int_equal(b.memory[0], 0x11);
    }
    NOTHING_FOUND();
    host_drop(&a);
    host_drop(&b);
    munmap(memory, far + 8192);
}

static void gid_table_is_link_local_then_ipv4_then_interface(void **state)
{
    static const unsigned char mapped[12] = {0, 0, 0, 0, 0,    0,
                                             0, 0, 0, 0, 0xff, 0xff};
    union ibv_gid gid;

    (void)state;
    open_one();
    assert_int_equal(ibv_query_gid(a.context, 1, 0, &gid), 0);
    assert_int_equal(gid.raw[0], 0xfe);
    assert_int_equal(gid.raw[1], 0x80);
    assert_int_equal(ibv_query_gid(a.context, 1, 1, &gid), 0);
    assert_memory_equal(gid.raw, mapped, sizeof(mapped));
    assert_int_equal(gid.raw[12], 169);
    assert_int_equal(gid.raw[13], 254);
    assert_int_equal(ibv_query_gid(a.context, 1, 2, &gid), 0);
    assert_int_equal(gid.raw[0], 0xfe);
    assert_int_equal(ibv_query_gid(a.context, 1, 3, &gid), -1);
    host_drop(&a);
}

static void without_ipv4_index_one_is_empty_and_rtr_is_einval(void **state)
{
    static const union ibv_gid zero;
    struct vf_device_setup setup =
        stage_device(&vf_profile_thunderbolt, "rdma_en2");

    (void)state;
    setup.no_ipv4 = true;
    stage_set_devices(&setup, 2);
    host_start(&a, 0);
    host_start(&b, 1);
    assert_memory_equal(&a.gid, &zero, sizeof(zero));
    assert_int_equal(ibv_query_gid(b.context, 1, 0, &b.gid), 0);
    assert_int_equal(to_init(a.qp), 0);
    assert_int_equal(to_rtr(a.qp, &b.gid, b.qp->qp_num), EINVAL);
    NOTHING_FOUND();
    host_drop(&a);
    host_drop(&b);
}

static void rtr_to_nowhere_is_einval(void **state)
{
    static const union ibv_gid zero;
    union ibv_gid nobody;

    (void)state;
    open_one();
    nobody = a.gid; /* its own end of the cable cannot be reached either */
    assert_int_equal(to_init(a.qp), 0);
    assert_int_equal(to_rtr(a.qp, &zero, 1), EINVAL);
    assert_int_equal(to_rtr(a.qp, &nobody, 1), EINVAL);
    nobody.raw[15] = 77;
    assert_int_equal(to_rtr(a.qp, &nobody, 1), EINVAL);
    NOTHING_FOUND();
    host_drop(&a);
}

static void rtr_from_gid_index_zero_is_etimedout(void **state)
{
    struct ibv_qp_attr attr;

    (void)state;
    open_one();
    host_start(&b, 1);
    assert_int_equal(to_init(a.qp), 0);
    attr = rtr_attr(&b.gid, b.qp->qp_num);
    attr.ah_attr.grh.sgid_index = 0;
    assert_int_equal(ibv_modify_qp(a.qp, &attr, RTR_MASK), ETIMEDOUT);
    NOTHING_FOUND();
    host_drop(&a);
    host_drop(&b);
}

static void rtr_after_a_crashed_process_is_ebusy_until_a_reboot(void **state)
{
    (void)state;
    stage_set(&vf_profile_thunderbolt, 2);
    host_start(&a, 0);
    host_drop(&a); /* it died, and its domain is still taken */
    host_start(&a, 0);
    host_start(&b, 1);
    assert_int_equal(to_init(a.qp), 0);
    assert_int_equal(to_rtr(a.qp, &b.gid, b.qp->qp_num), EBUSY);
    assert_int_equal(to_init(b.qp), 0);
    assert_int_equal(to_rtr(b.qp, &a.gid, a.qp->qp_num), 0);
    host_drop(&a);
    vf_machine_reboot(stage.world, 0);
    host_start(&a, 0);
    assert_int_equal(to_init(a.qp), 0);
    assert_int_equal(to_rtr(a.qp, &b.gid, b.qp->qp_num), 0);
    NOTHING_FOUND();
    host_drop(&a);
    host_drop(&b);
}

static void frames_must_match_or_the_receive_fails(void **state)
{
    (void)state;
    two_hosts(&vf_profile_thunderbolt, &a, &b);
    memset(a.memory, 0x11, MEMORY);
    assert_int_equal(post_recv(&b, 1, 0, 8192), 0);
    assert_int_equal(post_send(&a, 2, 0, 4096), 0);
    expect_completion(&b, 1, IBV_WC_LOC_LEN_ERR);
    expect_completion(&a, 2, IBV_WC_SUCCESS);
    assert_int_equal(b.memory[0], 0);
    NOTHING_FOUND();
    host_drop(&a);
    host_drop(&b);
}

static void same_number_of_frames_lands(void **state)
{
    (void)state;
    two_hosts(&vf_profile_thunderbolt, &a, &b);
    memset(a.memory, 0x11, MEMORY);
    assert_int_equal(post_recv(&b, 1, 0, 8192), 0);
    assert_int_equal(post_send(&a, 2, 0, 5000), 0);
    expect_completion(&b, 1, IBV_WC_SUCCESS);
    expect_completion(&a, 2, IBV_WC_SUCCESS);
    assert_int_equal(b.memory[4999], 0x11);
    assert_int_equal(b.memory[5000], 0);
    host_drop(&a);
    host_drop(&b);
}

static void send_waits_for_the_receive(void **state)
{
    (void)state;
    two_hosts(&vf_profile_thunderbolt, &a, &b);
    a.memory[0] = 0x22;
    assert_int_equal(post_send(&a, 1, 0, 4096), 0);
    expect_none(&a);
    assert_int_equal(post_recv(&b, 2, 0, 4096), 0);
    expect_completion(&a, 1, IBV_WC_SUCCESS);
    expect_completion(&b, 2, IBV_WC_SUCCESS);
    assert_int_equal(b.memory[0], 0x22);
    NOTHING_FOUND();
    host_drop(&a);
    host_drop(&b);
}

static void send_waits_for_a_peer_that_is_not_ready(void **state)
{
    (void)state;
    stage_set(&vf_profile_thunderbolt, 2);
    host_start(&a, 0);
    host_start(&b, 1);
    assert_int_equal(to_init(a.qp), 0);
    assert_int_equal(to_rtr(a.qp, &b.gid, b.qp->qp_num), 0);
    assert_int_equal(to_rts(a.qp), 0);
    assert_int_equal(to_init(b.qp), 0);
    assert_int_equal(post_recv(&b, 2, 0, 4096), 0);
    assert_int_equal(post_send(&a, 1, 0, 4096), 0);
    expect_none(&a);
    assert_int_equal(to_rtr(b.qp, &a.gid, a.qp->qp_num), 0);
    expect_completion(&a, 1, IBV_WC_SUCCESS);
    expect_completion(&b, 2, IBV_WC_SUCCESS);
    host_drop(&a);
    host_drop(&b);
}

static void death_of_the_peer_is_silent(void **state)
{
    (void)state;
    two_hosts(&vf_profile_thunderbolt, &a, &b);
    assert_int_equal(post_recv(&a, 1, 0, 4096), 0);
    assert_int_equal(post_send(&a, 2, 0, 4096), 0);
    vf_machine_end(stage.world, 1);
    expect_none(&a);
    assert_int_equal(post_send(&a, 3, 0, 4096), 0);
    expect_none(&a);
    assert_int_equal(state_of(a.qp), IBV_QPS_RTS);
    NOTHING_FOUND();
    host_drop(&a);
    free(b.memory);
}

static void posting_after_the_cable_went_faults(void **state)
{
    struct ibv_port_attr attr;

    (void)state;
    two_hosts(&vf_profile_thunderbolt, &a, &b);
    assert_int_equal(post_recv(&a, 1, 0, 4096), 0);
    vf_device_unplug(stage.world, 0, "rdma_en2");
    expect_none(&a);
    assert_int_equal(ibv_query_port(a.context, 1, &attr), 0);
    assert_int_equal(attr.state, IBV_PORT_DOWN);
    FATAL("post-after-unplug in post_send", post_send(&a, 2, 0, 4096));
    FATAL("post-after-unplug in post_recv", post_recv(&b, 2, 0, 4096));
    host_drop(&a);
    host_drop(&b);
}

static void regions_must_be_page_aligned(void **state)
{
    (void)state;
    open_one();
    errno = 0;
    assert_null(ibv_reg_mr(a.pd, a.memory + 64, 4096, ALL_ACCESS));
    assert_int_equal(errno, EINVAL);
    assert_non_null(strstr(stage.text, "= NULL EINVAL (the address must be "
                                       "page aligned)\n"));
    NOTHING_FOUND();
    host_drop(&a);
}

#define TEST(name) cmocka_unit_test(name)
/* Also as between processes. */
#define ANY(name) TEST(name), SHARED(name, thunderbolt)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(transport_is_thunderbolt_and_the_port_is_one),
        TEST(device_list_may_be_empty),
        TEST(names_differ_from_machine_to_machine),
        TEST(port_down_opens_but_has_no_domains),
        TEST(only_uc_queue_pairs_exist),
        TEST(eleventh_queue_pair_is_ebusy_whatever_the_context),
        TEST(hundred_and_first_region_is_null),
        TEST(regions_of_another_process_count),
        TEST(domains_of_dead_processes_stay_taken),
        TEST(depth_is_rounded_up_and_can_be_read_back),
        ANY(depth_counts_frames),
        ANY(longest_message_is_4095_frames),
        ANY(past_the_depth_receives_may_be_lost),
        TEST(one_scatter_gather_entry),
        ANY(no_shared_receive_queues_no_rdma_no_atomics),
        TEST(region_size_limit_is_shown_and_not_enforced),
        ANY(region_past_32_bits_returns_wrong_data),
        TEST(gid_table_is_link_local_then_ipv4_then_interface),
        TEST(without_ipv4_index_one_is_empty_and_rtr_is_einval),
        TEST(rtr_to_nowhere_is_einval),
        TEST(rtr_from_gid_index_zero_is_etimedout),
        TEST(rtr_after_a_crashed_process_is_ebusy_until_a_reboot),
        ANY(frames_must_match_or_the_receive_fails),
        ANY(same_number_of_frames_lands),
        ANY(send_waits_for_the_receive),
        ANY(send_waits_for_a_peer_that_is_not_ready),
        TEST(death_of_the_peer_is_silent),
        ANY(posting_after_the_cable_went_faults),
        TEST(regions_must_be_page_aligned),
    };

    return cmocka_run_group_tests(tests, NULL, stage_teardown);
}
