/*
 * What the front door adds to a call: a poll of an empty completion queue, and
 * a send that nobody receives (soft-RoCE's UC loses it at once, so a post is a
 * post and nothing else), each through the verb and by the provider's own
 * function. No plan has a fault, and nothing is traced; "unchecked" is without
 * the contract too.
 *
 *   bench_door [BATCHES]    prints "name value unit" lines, the best of batches
 */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "front/provider.h"
#include "verbfault/world.h"

#define BATCH 2000

static struct {
    struct vf_world *world;
    struct ibv_context *context;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    struct vf_object *cq_object, *qp_object;
    unsigned char buffer[4096];
} bench;

static void need(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "bench_door: %s failed\n", what);
    exit(1);
}

static void to_state(enum ibv_qp_state state, int mask)
{
    struct ibv_qp_attr attr = {
        .qp_state = state,
        .port_num = 1,
        .path_mtu = IBV_MTU_1024,
        .dest_qp_num = 0x999,
        .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.sgid_index = 1}},
    };

    ibv_query_gid(bench.context, 1, 1, &attr.ah_attr.grh.dgid);
    need(ibv_modify_qp(bench.qp, &attr, mask) == 0, "modify_qp");
}

static void connect_qp(void)
{
    to_state(IBV_QPS_INIT, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                               IBV_QP_ACCESS_FLAGS);
    to_state(IBV_QPS_RTR, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                              IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);
    to_state(IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

static void set_up(bool threads, bool unchecked)
{
    struct vf_hooks hooks = {.threads = threads, .unchecked = unchecked};
    struct vf_device_setup setup = {
        .name = "rxe0",
        .profile = &vf_profile_rxe,
        .max_mr = -1,
        .max_qp = -1,
        .max_pd = -1,
    };
    struct ibv_qp_init_attr attr = {
        .qp_type = IBV_QPT_UC,
        .cap = {.max_send_wr = 16,
                .max_recv_wr = 16,
                .max_send_sge = 1,
                .max_recv_sge = 1},
    };
    struct ibv_device **list;
    struct ibv_pd *pd;

    bench.world = vf_world_create();
    need(bench.world != NULL, "world");
    vf_world_reset(bench.world, &hooks);
    vf_world_install(bench.world);
    vf_world_add_machine(bench.world);
    need(vf_machine_add_device(bench.world, 0, &setup) == 0, "device");
    list = ibv_get_device_list(NULL);
    bench.context = ibv_open_device(list[0]);
    pd = ibv_alloc_pd(bench.context);
    bench.cq = ibv_create_cq(bench.context, 16, NULL, NULL, 0);
    attr.send_cq = bench.cq;
    attr.recv_cq = bench.cq;
    bench.qp = ibv_create_qp(pd, &attr);
    bench.mr = ibv_reg_mr(pd, bench.buffer, sizeof(bench.buffer),
                          IBV_ACCESS_LOCAL_WRITE);
    need(bench.qp && bench.mr, "start-up");
    connect_qp();
    bench.cq_object = vf_registry_find(&bench.world->registry, bench.cq);
    bench.qp_object = vf_registry_find(&bench.world->registry, bench.qp);
}

static void poll_by_verb(void)
{
    struct ibv_wc wc;

    ibv_poll_cq(bench.cq, 1, &wc);
}

static void poll_direct(void)
{
    struct ibv_wc wc;

    bench.world->provider->poll_cq(bench.cq_object, 1, &wc);
}

static struct ibv_sge entry;
static struct ibv_send_wr request = {.sg_list = &entry,
                                     .num_sge = 1,
                                     .opcode = IBV_WR_SEND,
                                     .send_flags = IBV_SEND_SIGNALED};

/* With its completion: else the contract would think the queue fills. */
static void post_by_verb(void)
{
    struct ibv_send_wr *bad;
    struct ibv_wc wc;

    ibv_post_send(bench.qp, &request, &bad);
    ibv_poll_cq(bench.cq, 1, &wc);
}

static void post_direct(void)
{
    struct ibv_send_wr *bad;
    struct ibv_wc wc;

    bench.world->provider->post_send(bench.qp_object, &request, &bad);
    bench.world->provider->poll_cq(bench.cq_object, 1, &wc);
    bench.cq_object->shadow.cq.held = 0;
}

static double best(void (*call)(void), int batches)
{
    double least = 1e30;

    for (int i = 0; i < batches; i++) {
        struct timespec from, to;
        double ns;

        clock_gettime(CLOCK_MONOTONIC, &from);
        for (int j = 0; j < BATCH; j++)
            call();
        clock_gettime(CLOCK_MONOTONIC, &to);
        ns = ((double)(to.tv_sec - from.tv_sec) * 1e9 +
              (double)(to.tv_nsec - from.tv_nsec)) /
             BATCH;
        least = ns < least ? ns : least;
    }
    return least;
}

static void measure(const char *kind, bool threads, bool unchecked,
                    int batches)
{
    double direct, verb, post, posted;

    set_up(threads, unchecked);
    entry.addr = (uintptr_t)bench.buffer;
    entry.length = 64;
    entry.lkey = bench.mr->lkey;
    verb = best(poll_by_verb, batches);
    direct = best(poll_direct, batches);
    posted = best(post_by_verb, batches);
    post = best(post_direct, batches);
    printf("door_poll_%s %.1f ns\n", kind, verb - direct);
    printf("door_post_and_poll_%s %.1f ns\n", kind, posted - post);
    printf("provider_poll_%s %.1f ns\n", kind, direct);
    printf("provider_post_and_poll_%s %.1f ns\n", kind, post);
    vf_world_destroy(bench.world);
}

int main(int argc, char **argv)
{
    int batches = argc > 1 ? atoi(argv[1]) : 2000;

    measure("fibers", false, false, batches);
    measure("threads", true, false, batches);
    measure("unchecked", true, true, batches);
    return 0;
}
