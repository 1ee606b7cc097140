/*
 * What the verbs themselves cost: the start-up of two ranks as JACCL does it
 * (64 regions each), one 4 KiB exchange, tear-down and reset of the world.
 *
 *   bench_front_door [RUNS]    prints "name value unit" lines
 */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "verbfault/world.h"

#define REGIONS 64
#define ACCESS                                                                 \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

struct rank {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *regions[REGIONS];
    void *buffers[REGIONS];
    union ibv_gid gid;
};

static struct rank ranks[2];
static unsigned findings;

static void need(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "mocks_bench: %s failed\n", what);
    exit(1);
}

static void finding(void *context, const struct vf_finding *seen)
{
    (void)context;
    (void)seen;
    findings++;
}

/* Eight size classes from 4 KiB, as many regions of each. */
static size_t size_of(int region)
{
    return (size_t)4096 << region / (REGIONS / 8);
}

static void open_rank(struct rank *rank, int machine)
{
    struct ibv_qp_init_attr attr = {
        .qp_type = IBV_QPT_UC,
        .cap = {.max_send_wr = 32,
                .max_recv_wr = 32,
                .max_send_sge = 1,
                .max_recv_sge = 1},
    };
    struct ibv_device **list;

    vf_thread_set_machine(machine);
    list = ibv_get_device_list(NULL);
    need(list && ibv_get_device_name(list[0]), "get_device_list");
    rank->context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    rank->pd = ibv_alloc_pd(rank->context);
    rank->cq = ibv_create_cq(rank->context, 64, NULL, NULL, 0);
    attr.send_cq = rank->cq;
    attr.recv_cq = rank->cq;
    rank->qp = ibv_create_qp(rank->pd, &attr);
    need(rank->qp != NULL, "create_qp");
}

static void prepare(struct rank *rank)
{
    struct ibv_qp_attr init = {
        .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = ACCESS};
    struct ibv_port_attr port;

    for (int i = 0; i < REGIONS; i++) {
        rank->regions[i] =
            ibv_reg_mr(rank->pd, rank->buffers[i], size_of(i), ACCESS);
        need(rank->regions[i] != NULL, "reg_mr");
    }
    need(ibv_modify_qp(rank->qp, &init,
                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                           IBV_QP_ACCESS_FLAGS) == 0,
         "INIT");
    need(ibv_query_port(rank->context, 1, &port) == 0, "query_port");
    for (int i = 0; i < 2; i++)
        need(ibv_query_gid(rank->context, 1, i, &rank->gid) == 0, "query_gid");
}

static void connect_rank(struct rank *rank, const struct rank *peer)
{
    struct ibv_qp_attr rtr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_1024,
        .dest_qp_num = peer->qp->qp_num,
        .ah_attr = {.is_global = 1,
                    .port_num = 1,
                    .grh = {.dgid = peer->gid, .sgid_index = 1}},
    };
    struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS};

    need(ibv_modify_qp(rank->qp, &rtr,
                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                           IBV_QP_DEST_QPN | IBV_QP_RQ_PSN) == 0,
         "RTR");
    need(ibv_modify_qp(rank->qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0,
         "RTS");
}

static void post(struct rank *rank)
{
    struct ibv_sge from = {(uintptr_t)rank->buffers[0], 4096,
                           rank->regions[0]->lkey};
    struct ibv_sge to = {(uintptr_t)rank->buffers[1], 4096,
                         rank->regions[1]->lkey};
    struct ibv_recv_wr recv = {.sg_list = &to, .num_sge = 1};
    struct ibv_send_wr send = {.sg_list = &from,
                               .num_sge = 1,
                               .opcode = IBV_WR_SEND,
                               .send_flags = IBV_SEND_SIGNALED};
    struct ibv_recv_wr *bad_recv;
    struct ibv_send_wr *bad_send;

    need(ibv_post_recv(rank->qp, &recv, &bad_recv) == 0, "post_recv");
    need(ibv_post_send(rank->qp, &send, &bad_send) == 0, "post_send");
}

static void close_rank(struct rank *rank)
{
    struct ibv_wc wc[4];

    need(ibv_poll_cq(rank->cq, 4, wc) == 2, "poll_cq");
    for (int i = 0; i < REGIONS; i++)
        need(ibv_dereg_mr(rank->regions[i]) == 0, "dereg_mr");
    need(ibv_destroy_qp(rank->qp) == 0, "destroy_qp");
    need(ibv_destroy_cq(rank->cq) == 0, "destroy_cq");
    need(ibv_dealloc_pd(rank->pd) == 0, "dealloc_pd");
    need(ibv_close_device(rank->context) == 0, "close_device");
}

static void run(struct vf_world *world)
{
    static const struct vf_hooks hooks = {.finding = finding};
    struct vf_device_setup setup = {.name = "rdma_en2",
                                    .profile = &vf_profile_thunderbolt,
                                    .max_mr = -1,
                                    .max_qp = -1,
                                    .max_pd = -1};

    vf_world_reset(world, &hooks);
    for (int i = 0; i < 2; i++) {
        vf_world_add_machine(world);
        vf_machine_add_device(world, i, &setup);
    }
    vf_world_cable(world, 0, setup.name, 1, setup.name);
    for (int i = 0; i < 2; i++) {
        open_rank(&ranks[i], i);
        prepare(&ranks[i]);
    }
    for (int i = 0; i < 2; i++)
        connect_rank(&ranks[i], &ranks[!i]);
    for (int i = 0; i < 2; i++)
        post(&ranks[i]);
    for (int i = 0; i < 2; i++)
        close_rank(&ranks[i]);
    for (int i = 0; i < 2; i++)
        need(vf_machine_leaks(world, i) == 0, "release");
}

static double microseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
    int runs = argc > 1 ? atoi(argv[1]) : 1000;
    struct vf_world *world = vf_world_create();
    double best = 1e9, all = microseconds();
    unsigned calls;

    need(world != NULL && runs > 0, "set-up");
    vf_world_install(world);
    for (int i = 0; i < 2 * REGIONS; i++) {
        void **buffer = &ranks[i % 2].buffers[i / 2];

        need(posix_memalign(buffer, 4096, size_of(i / 2)) == 0, "memory");
        memset(*buffer, 0, size_of(i / 2));
    }
    all = microseconds();
    for (int i = 0; i < runs; i++) {
        double start = microseconds();

        run(world);
        start = microseconds() - start;
        best = start < best ? start : best;
    }
    all = microseconds() - all;
    calls = vf_machine_all_calls(world, 0) + vf_machine_all_calls(world, 1);
    printf("mocks-run %.2f us\n", all / runs);
    printf("mocks-run-best %.2f us\n", best);
    printf("mocks-run-calls %u calls\n", calls);
    printf("mocks-call-best %.1f ns\n", best * 1e3 / calls);
    vf_world_destroy(world);
    for (int i = 0; i < 2 * REGIONS; i++)
        free(ranks[i % 2].buffers[i / 2]);
    return findings != 0;
}
