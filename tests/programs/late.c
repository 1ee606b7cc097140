/*
 * A program that sleeps on its completion channel's descriptor, for run.sh.
 * Two queue pairs of one process are connected. usage: late WHAT HOW
 *
 *   late sends HOW    8 sends: each completion comes, in its order
 *   late retries HOW  a send to a queue pair that does not answer: the error
 *                     comes when the retries are over
 *
 * HOW it sleeps: poll, select, or wait (ibv_get_cq_event). It arms the queue,
 * polls it once more, sleeps five seconds at most, and never polls without
 * having been woken. Exit 1 and a line where that is not enough.
 */
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>

#define SENDS 8
#define PATIENCE 5 /* seconds */

static char memory[4096];

struct ends {
    struct ibv_context *context;
    struct ibv_comp_channel *channel;
    struct ibv_pd *pd;
    struct ibv_mr *mr;
    struct ibv_cq *cq, *quiet;
    struct ibv_qp *from, *to;
    union ibv_gid gid;
};

static void need(bool holds, const char *what)
{
    if (holds)
        return;
    printf("late: %s\n", what);
    exit(1);
}

static struct ibv_qp *make_qp(const struct ends *ends, struct ibv_cq *cq)
{
    struct ibv_qp_init_attr attr = {
        .send_cq = cq,
        .recv_cq = ends->quiet,
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1,
        .cap = {SENDS, SENDS, 1, 1, 0},
    };
    struct ibv_qp *qp = ibv_create_qp(ends->pd, &attr);
    need(qp != NULL, "create_qp");
    return qp;
}

static void connect_qp(const struct ends *ends, struct ibv_qp *qp,
                       uint32_t number)
{
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    struct ibv_qp_attr rtr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_1024,
        .dest_qp_num = number,
        .max_dest_rd_atomic = 1,
        .min_rnr_timer = 12,
        .ah_attr = {.is_global = 1,
                    .port_num = 1,
                    .grh = {.dgid = ends->gid, .hop_limit = 1}},
    };
    struct ibv_qp_attr rts = {
        .qp_state = IBV_QPS_RTS,
        .timeout = 12,
        .retry_cnt = 3,
        .rnr_retry = 3,
        .max_rd_atomic = 1,
    };
    int err = ibv_modify_qp(qp, &init,
                            IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                                IBV_QP_ACCESS_FLAGS);
    if (!err)
        err =
            ibv_modify_qp(qp, &rtr,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                              IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    if (!err)
        err = ibv_modify_qp(qp, &rts,
                            IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
                                IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                IBV_QP_MAX_QP_RD_ATOMIC);
    need(err == 0, "modify_qp");
}

static void make(struct ends *ends, bool answers)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    need(list && list[0], "no device");
    ends->context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    need(ends->context != NULL, "open_device");
    need(ibv_query_gid(ends->context, 1, 0, &ends->gid) == 0, "query_gid");
    ends->pd = ibv_alloc_pd(ends->context);
    ends->mr =
        ibv_reg_mr(ends->pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
    ends->channel = ibv_create_comp_channel(ends->context);
    ends->cq = ibv_create_cq(ends->context, SENDS, NULL, ends->channel, 0);
    ends->quiet = ibv_create_cq(ends->context, 2 * SENDS, NULL, NULL, 0);
    need(ends->mr && ends->channel && ends->cq && ends->quiet, "making");
    ends->from = make_qp(ends, ends->cq);
    ends->to = make_qp(ends, ends->quiet);
    if (answers)
        connect_qp(ends, ends->to, ends->from->qp_num);
    connect_qp(ends, ends->from, ends->to->qp_num);
}

static void post(const struct ends *ends, uint64_t number, bool receive)
{
    struct ibv_sge entry = {(uintptr_t)memory, 64, ends->mr->lkey};
    struct ibv_recv_wr recv = {
        .wr_id = number, .sg_list = &entry, .num_sge = 1};
    struct ibv_send_wr send = {.wr_id = number,
                               .sg_list = &entry,
                               .num_sge = 1,
                               .opcode = IBV_WR_SEND};
    struct ibv_recv_wr *bad_recv;
    struct ibv_send_wr *bad_send;
    if (receive)
        need(ibv_post_recv(ends->to, &recv, &bad_recv) == 0, "post_recv");
    need(ibv_post_send(ends->from, &send, &bad_send) == 0, "post_send");
}

static void sleep_on(const struct ends *ends, const char *how)
{
    struct pollfd wanted = {.fd = ends->channel->fd, .events = POLLIN};
    struct timeval patience = {.tv_sec = PATIENCE};
    struct ibv_cq *cq;
    void *context;
    fd_set set;
    FD_ZERO(&set);
    FD_SET(ends->channel->fd, &set);
    if (strcmp(how, "poll") == 0)
        need(poll(&wanted, 1, PATIENCE * 1000) == 1, "nothing woke it");
    else if (strcmp(how, "select") == 0)
        need(select(ends->channel->fd + 1, &set, NULL, NULL, &patience) == 1,
             "nothing woke it");
    need(ibv_get_cq_event(ends->channel, &cq, &context) == 0, "get_cq_event");
    ibv_ack_cq_events(cq, 1);
}

static struct ibv_wc next(const struct ends *ends, const char *how)
{
    struct ibv_wc wc;
    while (ibv_poll_cq(ends->cq, 1, &wc) == 0) {
        need(ibv_req_notify_cq(ends->cq, 0) == 0, "req_notify_cq");
        if (ibv_poll_cq(ends->cq, 1, &wc) > 0)
            break;
        sleep_on(ends, how);
    }
    return wc;
}

int main(int argc, char **argv)
{
    bool retries = argc > 1 && strcmp(argv[1], "retries") == 0;
    const char *how = argc > 2 ? argv[2] : "poll";
    static struct ends ends;
    struct ibv_wc wc;
    make(&ends, !retries);
    for (uint64_t i = 0; i < (retries ? 1 : SENDS); i++)
        post(&ends, i, !retries);
    if (retries) {
        wc = next(&ends, how);
        need(wc.status == IBV_WC_RETRY_EXC_ERR, "another status");
    } else {
        for (uint64_t i = 0; i < SENDS; i++) {
            wc = next(&ends, how);
            need(wc.status == IBV_WC_SUCCESS && wc.wr_id == i,
                 "out of its order");
        }
    }
    need(ibv_destroy_qp(ends.from) == 0 && ibv_destroy_qp(ends.to) == 0 &&
             ibv_destroy_cq(ends.cq) == 0 && ibv_destroy_cq(ends.quiet) == 0 &&
             ibv_destroy_comp_channel(ends.channel) == 0 &&
             ibv_dereg_mr(ends.mr) == 0 && ibv_dealloc_pd(ends.pd) == 0 &&
             ibv_close_device(ends.context) == 0,
         "giving back");
    printf("in its order\n");
    return 0;
}
