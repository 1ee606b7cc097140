/*
 * Sends its argument to itself, from a region and inline: no recording may hold
 * any of it.
 *
 * usage: secret TEXT
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

#define BYTES 4096

static struct {
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    union ibv_gid gid;
    char memory[2 * BYTES];
} program;

static int change(enum ibv_qp_state state, int mask)
{
    struct ibv_qp_attr attr = {
        .qp_state = state,
        .port_num = 1,
        .qp_access_flags = IBV_ACCESS_LOCAL_WRITE,
        .path_mtu = IBV_MTU_1024,
        .dest_qp_num = program.qp->qp_num,
        .max_dest_rd_atomic = 1,
        .max_rd_atomic = 1,
        .min_rnr_timer = 12,
        .timeout = 14,
        .retry_cnt = 7,
        .rnr_retry = 7,
        .ah_attr = {.is_global = 1,
                    .port_num = 1,
                    .grh = {.dgid = program.gid, .hop_limit = 1}},
    };
    return ibv_modify_qp(program.qp, &attr, IBV_QP_STATE | mask);
}

static int connect_to_itself(void)
{
    if (change(IBV_QPS_INIT,
               IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0)
        return -1;
    if (change(IBV_QPS_RTR, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
                                IBV_QP_MIN_RNR_TIMER) != 0)
        return -1;
    return change(IBV_QPS_RTS, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                   IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                   IBV_QP_MAX_QP_RD_ATOMIC);
}

static int message(const char *text, unsigned flags)
{
    struct ibv_sge out = {(uintptr_t)program.memory, (uint32_t)strlen(text),
                          program.mr->lkey};
    struct ibv_sge in = {(uintptr_t)program.memory + BYTES, BYTES,
                         program.mr->lkey};
    struct ibv_recv_wr recv = {.sg_list = &in, .num_sge = 1};
    struct ibv_send_wr send = {.sg_list = &out,
                               .num_sge = 1,
                               .opcode = IBV_WR_SEND_WITH_IMM,
                               .send_flags = IBV_SEND_SIGNALED | flags};
    struct ibv_recv_wr *bad_recv;
    struct ibv_send_wr *bad_send;
    struct ibv_wc wc[2];
    int got = 0;
    memcpy(&send.imm_data, text, sizeof send.imm_data);
    memcpy(program.memory, text, strlen(text));
    if (ibv_post_recv(program.qp, &recv, &bad_recv) != 0 ||
        ibv_post_send(program.qp, &send, &bad_send) != 0)
        return -1;
    while (got < 2) {
        int more = ibv_poll_cq(program.cq, 2, wc);
        if (more < 0)
            return -1;
        got += more;
    }
    return strcmp(program.memory + BYTES, text);
}

int main(int argc, char **argv)
{
    struct ibv_qp_init_attr attr = {.cap = {4, 4, 1, 1, 64},
                                    .qp_type = IBV_QPT_RC};
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *context =
        list && list[0] ? ibv_open_device(list[0]) : NULL;
    struct ibv_pd *pd = context ? ibv_alloc_pd(context) : NULL;
    int status;
    if (!pd || argc < 2 || strlen(argv[1]) < 4 || strlen(argv[1]) > 64)
        return 2;
    program.mr = ibv_reg_mr(pd, program.memory, sizeof program.memory,
                            IBV_ACCESS_LOCAL_WRITE);
    program.cq = ibv_create_cq(context, 8, NULL, NULL, 0);
    attr.send_cq = attr.recv_cq = program.cq;
    program.qp = ibv_create_qp(pd, &attr);
    if (!program.mr || !program.cq || !program.qp ||
        ibv_query_gid(context, 1, 0, &program.gid) != 0 ||
        connect_to_itself() != 0)
        return 3;
    status = message(argv[1], 0) != 0 || message(argv[1], IBV_SEND_INLINE) != 0;
    puts(status ? "broken" : "whole");
    ibv_destroy_qp(program.qp);
    ibv_destroy_cq(program.cq);
    ibv_dereg_mr(program.mr);
    ibv_dealloc_pd(pd);
    ibv_close_device(context);
    ibv_free_device_list(list);
    return status;
}
