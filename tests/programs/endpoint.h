/*
 * endpoint.h: the verbs objects that the test programs share: the first device,
 * a domain, a completion queue, and connected queue pairs. What cannot be had
 * ends the program with status 2 and one line.
 */
#ifndef PROGRAMS_ENDPOINT_H
#define PROGRAMS_ENDPOINT_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENDPOINT_GID 0 /* index; every profile has it */

struct endpoint {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel; /* NULL: polled */
    struct ibv_cq *cq;
    union ibv_gid gid;
};

static inline void give_up(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(2);
}

static inline struct ibv_context *open_first_device(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *context;

    if (!list || !list[0])
        give_up("ibv_get_device_list");
    context = ibv_open_device(list[0]);
    if (!context)
        give_up("ibv_open_device");
    ibv_free_device_list(list);
    return context;
}

static inline void endpoint_open(struct endpoint *endpoint, int cqe, int events)
{
    memset(endpoint, 0, sizeof *endpoint);
    endpoint->context = open_first_device();
    if (ibv_query_gid(endpoint->context, 1, ENDPOINT_GID, &endpoint->gid) != 0)
        give_up("ibv_query_gid");
    endpoint->pd = ibv_alloc_pd(endpoint->context);
    if (!endpoint->pd)
        give_up("ibv_alloc_pd");
    if (events) {
        endpoint->channel = ibv_create_comp_channel(endpoint->context);
        if (!endpoint->channel)
            give_up("ibv_create_comp_channel");
    }
    endpoint->cq =
        ibv_create_cq(endpoint->context, cqe, NULL, endpoint->channel, 0);
    if (!endpoint->cq)
        give_up("ibv_create_cq");
}

static inline void endpoint_close(struct endpoint *endpoint)
{
    if (ibv_destroy_cq(endpoint->cq) != 0)
        give_up("ibv_destroy_cq");
    if (endpoint->channel && ibv_destroy_comp_channel(endpoint->channel) != 0)
        give_up("ibv_destroy_comp_channel");
    if (ibv_dealloc_pd(endpoint->pd) != 0)
        give_up("ibv_dealloc_pd");
    ibv_close_device(endpoint->context);
}

static inline struct ibv_mr *endpoint_register(struct endpoint *endpoint,
                                               void *memory, size_t size)
{
    struct ibv_mr *mr =
        ibv_reg_mr(endpoint->pd, memory, size,
                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                       IBV_ACCESS_REMOTE_READ);

    if (!mr)
        give_up("ibv_reg_mr");
    return mr;
}

/* An RC queue pair in INIT. srq may be NULL. */
static inline struct ibv_qp *endpoint_qp(struct endpoint *endpoint,
                                         struct ibv_srq *srq, uint32_t depth)
{
    struct ibv_qp_init_attr init = {
        .send_cq = endpoint->cq,
        .recv_cq = endpoint->cq,
        .srq = srq,
        .cap = {.max_send_wr = depth,
                .max_recv_wr = srq ? 0 : depth,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 64},
        .qp_type = IBV_QPT_RC,
    };
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT,
        .port_num = 1,
        .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
    };
    struct ibv_qp *qp = ibv_create_qp(endpoint->pd, &init);

    if (!qp)
        give_up("ibv_create_qp");
    errno = ibv_modify_qp(qp, &attr,
                          IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
                              IBV_QP_ACCESS_FLAGS);
    if (errno)
        give_up("ibv_modify_qp to INIT");
    return qp;
}

/* From INIT to RTS. Retries of a peer that is not there end after 8 times
 * 4.096 us * 2^timeout; for one that is not ready they never do. */
static inline void endpoint_connect(struct ibv_qp *qp, const union ibv_gid *gid,
                                    uint32_t number, uint8_t timeout)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_1024,
        .dest_qp_num = number,
        .max_dest_rd_atomic = 1,
        .min_rnr_timer = 1,
        .ah_attr = {.is_global = 1,
                    .grh = {.dgid = *gid,
                            .sgid_index = ENDPOINT_GID,
                            .hop_limit = 1},
                    .port_num = 1},
    };

    errno = ibv_modify_qp(qp, &attr,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                              IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                              IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    if (errno)
        give_up("ibv_modify_qp to RTR");
    attr.qp_state = IBV_QPS_RTS;
    attr.timeout = timeout;
    attr.retry_cnt = 7;
    attr.rnr_retry = 7;
    attr.max_rd_atomic = 1;
    errno = ibv_modify_qp(qp, &attr,
                          IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                              IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                              IBV_QP_MAX_QP_RD_ATOMIC);
    if (errno)
        give_up("ibv_modify_qp to RTS");
}

static inline void post_receive(struct ibv_qp *qp, uint64_t id, void *memory,
                                uint32_t length, uint32_t key)
{
    struct ibv_sge sge = {(uintptr_t)memory, length, key};
    struct ibv_recv_wr *bad, wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1};

    errno = ibv_post_recv(qp, &wr, &bad);
    if (errno)
        give_up("ibv_post_recv");
}

/* One completion, by events if the queue has a channel. */
static inline void next_completion(struct endpoint *endpoint, struct ibv_wc *wc)
{
    int got = ibv_poll_cq(endpoint->cq, 1, wc);

    while (got == 0) {
        struct ibv_cq *cq;
        void *context;

        if (endpoint->channel) {
            errno = ibv_req_notify_cq(endpoint->cq, 0);
            if (errno)
                give_up("ibv_req_notify_cq");
            got = ibv_poll_cq(endpoint->cq, 1, wc);
            if (got != 0)
                break;
            if (ibv_get_cq_event(endpoint->channel, &cq, &context) != 0)
                give_up("ibv_get_cq_event");
            ibv_ack_cq_events(cq, 1);
        }
        got = ibv_poll_cq(endpoint->cq, 1, wc);
    }
    if (got < 0)
        give_up("ibv_poll_cq");
}

#endif
