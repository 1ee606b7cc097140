/*
 * Events that nobody took of objects that are gone, for run.sh: poll() promises
 * none of them, and the others are still there.
 */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONG 10000 /* milliseconds; only a failure waits for so long */
#define ACCESS                                                                 \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

#define NEED(condition)                                                        \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "line %d: %s (errno %d)\n", __LINE__, #condition,  \
                    errno);                                                    \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static _Alignas(4096) char memory[4096];

static int readable(int fd, int patience)
{
    struct pollfd wanted = {.fd = fd, .events = POLLIN};

    return poll(&wanted, 1, patience);
}

/* A queue pair that is connected with itself. */
static struct ibv_qp *loop(struct ibv_cq *cq)
{
    struct ibv_qp_init_attr init = {
        .send_cq = cq,
        .recv_cq = cq,
        .cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1},
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1,
    };
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    struct ibv_qp *qp = ibv_create_qp(pd, &init);

    NEED(qp);
    attr.qp_access_flags = ACCESS & ~IBV_ACCESS_LOCAL_WRITE;
    NEED(ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                           IBV_QP_ACCESS_FLAGS) == 0);
    attr.qp_state = IBV_QPS_RTR;
    attr.path_mtu = IBV_MTU_1024;
    attr.dest_qp_num = qp->qp_num;
    attr.max_dest_rd_atomic = 1;
    attr.min_rnr_timer = 1;
    attr.ah_attr.is_global = 1;
    attr.ah_attr.port_num = 1;
    NEED(ibv_query_gid(context, 1, 0, &attr.ah_attr.grh.dgid) == 0);
    NEED(ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                           IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) ==
         0);
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = 14;
    attr.max_rd_atomic = 1;
    NEED(ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
                           IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                           IBV_QP_MAX_QP_RD_ATOMIC) == 0);
    return qp;
}

static void write_to(struct ibv_qp *qp, uint32_t rkey)
{
    struct ibv_sge sge = {(uintptr_t)memory, 8, mr->lkey};
    struct ibv_send_wr *bad, wr = {.sg_list = &sge, .num_sge = 1};

    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.wr.rdma.remote_addr = (uintptr_t)memory + 64;
    wr.wr.rdma.rkey = rkey;
    NEED(ibv_post_send(qp, &wr, &bad) == 0);
}

static void completion_events(void)
{
    struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
    struct ibv_cq *gone, *stays, *told;
    struct ibv_qp *first, *second;
    void *with;

    NEED(channel);
    gone = ibv_create_cq(context, 8, NULL, channel, 0);
    stays = ibv_create_cq(context, 8, &second, channel, 0);
    NEED(gone && stays);
    NEED(ibv_req_notify_cq(gone, 0) == 0 && ibv_req_notify_cq(stays, 0) == 0);
    first = loop(gone);
    second = loop(stays);
    write_to(first, mr->rkey);
    NEED(readable(channel->fd, LONG) == 1);
    NEED(ibv_destroy_qp(first) == 0 && ibv_destroy_cq(gone) == 0);
    NEED(readable(channel->fd, 0) == 0);
    write_to(second, mr->rkey);
    NEED(readable(channel->fd, LONG) == 1);
    NEED(ibv_get_cq_event(channel, &told, &with) == 0);
    NEED(told == stays && with == &second);
    ibv_ack_cq_events(stays, 1);
    NEED(readable(channel->fd, 0) == 0);
    NEED(ibv_destroy_qp(second) == 0 && ibv_destroy_cq(stays) == 0);
    NEED(ibv_destroy_comp_channel(channel) == 0);
}

/* Its peer, itself, is told that it was to write where it may not. */
static struct ibv_qp *offender(struct ibv_cq *cq)
{
    struct ibv_qp *qp = loop(cq);
    struct ibv_wc wc;

    write_to(qp, mr->rkey + 0x100);
    while (ibv_poll_cq(cq, 1, &wc) == 0)
        continue;
    NEED(wc.status == IBV_WC_REM_ACCESS_ERR);
    return qp;
}

static void async_events(void)
{
    struct ibv_cq *cq = ibv_create_cq(context, 8, NULL, NULL, 0);
    struct ibv_async_event event;
    struct ibv_qp *gone, *stays;
    int fd = context->async_fd;

    NEED(cq);
    gone = offender(cq);
    NEED(readable(fd, LONG) == 1);
    NEED(ibv_destroy_qp(gone) == 0);
    NEED(readable(fd, 0) == 0);

    gone = offender(cq);
    stays = offender(cq);
    NEED(readable(fd, LONG) == 1);
    NEED(ibv_destroy_qp(gone) == 0);
    NEED(readable(fd, LONG) == 1);
    NEED(ibv_get_async_event(context, &event) == 0);
    NEED(event.element.qp == stays);
    ibv_ack_async_event(&event);
    NEED(readable(fd, 0) == 0);
    NEED(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    NEED(ibv_get_async_event(context, &event) == -1 && errno == EAGAIN);
    NEED(ibv_destroy_qp(stays) == 0 && ibv_destroy_cq(cq) == 0);
}

int main(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);

    NEED(list && list[0]);
    context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    NEED(context);
    pd = ibv_alloc_pd(context);
    NEED(pd);
    mr = ibv_reg_mr(pd, memory, sizeof(memory), ACCESS);
    NEED(mr);
    completion_events();
    async_events();
    NEED(ibv_dereg_mr(mr) == 0 && ibv_dealloc_pd(pd) == 0);
    NEED(ibv_close_device(context) == 0);
    puts("forgotten");
    return 0;
}
