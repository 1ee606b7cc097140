/*
 * What a poll and a post cost over whatever libibverbs is there:
 *
 *   bench_passthrough [BATCHES]     prints "name value unit" lines, the best of
 *                                   batches
 *
 * The last two are those of a process with a second thread, which sleeps.
 *
 * bench/passthrough runs it with and without the passthrough.
 */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BATCH 2000

static struct {
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_sge entry;
    struct ibv_send_wr request;
    unsigned char buffer[4096];
} bench;

static void to_state(enum ibv_qp_state state, int mask)
{
    struct ibv_qp_attr attr = {.qp_state = state, .port_num = 1};

    if (ibv_modify_qp(bench.qp, &attr, mask) != 0)
        exit(2);
}

static void set_up(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *context = ibv_open_device(list[0]);
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_mr *mr = ibv_reg_mr(pd, bench.buffer, sizeof(bench.buffer),
                                   IBV_ACCESS_LOCAL_WRITE);
    struct ibv_qp_init_attr attr = {
        .qp_type = IBV_QPT_UC,
        .cap = {.max_send_wr = 16,
                .max_recv_wr = 16,
                .max_send_sge = 1,
                .max_recv_sge = 1},
    };

    bench.cq = ibv_create_cq(context, 16, NULL, NULL, 0);
    attr.send_cq = attr.recv_cq = bench.cq;
    bench.qp = ibv_create_qp(pd, &attr);
    to_state(IBV_QPS_INIT, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                               IBV_QP_ACCESS_FLAGS);
    to_state(IBV_QPS_RTR, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                              IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);
    to_state(IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_SQ_PSN);
    bench.entry.addr = (uintptr_t)bench.buffer;
    bench.entry.length = 64;
    bench.entry.lkey = mr->lkey;
    bench.request.sg_list = &bench.entry;
    bench.request.num_sge = 1;
    bench.request.opcode = IBV_WR_SEND;
    bench.request.send_flags = IBV_SEND_SIGNALED;
}

static void poll_once(void)
{
    struct ibv_wc wc;

    ibv_poll_cq(bench.cq, 1, &wc);
}

/* With its completion: else the queue fills. */
static void post_and_poll(void)
{
    struct ibv_send_wr *bad;

    ibv_post_send(bench.qp, &bench.request, &bad);
    poll_once();
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

static void *sleep_on(void *unused)
{
    for (;;)
        pause();
    return unused;
}

int main(int argc, char **argv)
{
    int batches = argc > 1 ? atoi(argv[1]) : 2000;
    pthread_t thread;

    set_up();
    printf("poll %.1f ns\n", best(poll_once, batches));
    printf("post_and_poll %.1f ns\n", best(post_and_poll, batches));
    if (pthread_create(&thread, NULL, sleep_on, NULL) != 0)
        return 2;
    printf("threads_poll %.1f ns\n", best(poll_once, batches));
    printf("threads_post_and_poll %.1f ns\n", best(post_and_poll, batches));
    return 0;
}
