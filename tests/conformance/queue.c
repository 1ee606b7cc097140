/*
 * Actions on queue pairs: see bench.h.
 */
#include "bench.h"

#include <stdio.h>
#include <string.h>

#define ABSENT_HOST 99 /* 10.77.0.99: nobody */

struct queue_wish usual_wish(int type)
{
    return (struct queue_wish){.type = type,
                               .recv_cq = 1,
                               .srq = NOBODY,
                               .send_wr = 4,
                               .recv_wr = 4,
                               .send_sge = 2,
                               .recv_sge = 2};
}

static void say_grant(const struct ibv_qp_cap *cap)
{
    printf("  wr=%u/%u sge=%u/%u inline=%u\n", cap->max_send_wr,
           cap->max_recv_wr, cap->max_send_sge, cap->max_recv_sge,
           cap->max_inline_data);
}

bool act_create_qp(struct bench *bench, int qp, const struct queue_wish *wish)
{
    struct ibv_qp_init_attr attr = {
        .send_cq = bench->cq[wish->send_cq],
        .recv_cq = bench->cq[wish->recv_cq],
        .srq = wish->srq == NOBODY ? NULL : bench->srq[wish->srq],
        .cap = {.max_send_wr = wish->send_wr,
                .max_recv_wr = wish->recv_wr,
                .max_send_sge = wish->send_sge,
                .max_recv_sge = wish->recv_sge,
                .max_inline_data = wish->inline_bytes},
        .qp_type = (enum ibv_qp_type)wish->type,
        .sq_sig_all = wish->sig_all,
    };

    printf("create_qp(q%d %s c%d/c%d", qp, type_word(wish->type), wish->send_cq,
           wish->recv_cq);
    if (wish->srq != NOBODY)
        printf(" s%d", wish->srq);
    printf(" wr=%u/%u sge=%u/%u inline=%u%s)", wish->send_wr, wish->recv_wr,
           wish->send_sge, wish->recv_sge, wish->inline_bytes,
           wish->sig_all ? " sig_all" : "");
    if (!bench->pd[wish->pd] || !attr.send_cq || !attr.recv_cq ||
        (wish->srq != NOBODY && !attr.srq)) {
        printf(" = (nothing there)\n");
        return false;
    }
    bench->qp[qp] = ibv_create_qp(bench->pd[wish->pd], &attr);
    say_pointer(bench->qp[qp]);
    printf("\n");
    if (bench->qp[qp]) {
        bench->number[qp] = bench->qp[qp]->qp_num;
        say_grant(&attr.cap);
    }
    return bench->qp[qp] != NULL;
}

static void say_attributes(const struct ibv_qp_attr *attr,
                           const struct ibv_qp_init_attr *init)
{
    printf("  %s/%s\n", state_word(attr->qp_state),
           state_word(attr->cur_qp_state));
    say_grant(&attr->cap);
    printf("  port=%u pkey=%u mtu=%d psn=%u/%u access=0x%x sig_all=%d\n",
           attr->port_num, attr->pkey_index, attr->path_mtu, attr->sq_psn,
           attr->rq_psn, attr->qp_access_flags, init->sq_sig_all);
    printf("  rd=%u/%u timeout=%u retry=%u/%u rnr=%u\n", attr->max_rd_atomic,
           attr->max_dest_rd_atomic, attr->timeout, attr->retry_cnt,
           attr->rnr_retry, attr->min_rnr_timer);
}

void act_query_qp(struct bench *bench, int qp)
{
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    int result;

    printf("query_qp(q%d)", qp);
    if (!bench->qp[qp]) {
        printf(" = (nothing there)\n");
        return;
    }
    memset(&attr, 0, sizeof(attr));
    memset(&init, 0, sizeof(init));
    result = ibv_query_qp(bench->qp[qp], &attr, 0xffffff, &init);
    say_result(result);
    if (result == 0)
        say_attributes(&attr, &init);
}

void act_destroy_qp(struct bench *bench, int qp)
{
    int result;

    printf("destroy_qp(q%d)", qp);
    if (!bench->qp[qp]) {
        printf(" = (nothing there)\n");
        return;
    }
    result = ibv_destroy_qp(bench->qp[qp]);
    say_result(result);
    if (result == 0)
        bench->qp[qp] = NULL;
}

struct move usual_move(int to, int peer)
{
    return (struct move){.to = to,
                         .port = 1,
                         .mtu = IBV_MTU_1024,
                         .peer = peer,
                         .sgid_index = 1,
                         .global = true,
                         .access =
                             IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                             IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
                         .rd_atomic = 4};
}

/* What the state asks for: the table of the InfiniBand specification. */
static int mask_for(enum ibv_qp_type type, int to)
{
    bool rc = type == IBV_QPT_RC, ud = type == IBV_QPT_UD;

    switch (to) {
    case IBV_QPS_INIT:
        return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
               (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
    case IBV_QPS_RTR:
        if (ud)
            return IBV_QP_STATE;
        return IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
               IBV_QP_RQ_PSN |
               (rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
    case IBV_QPS_RTS:
        return IBV_QP_STATE | IBV_QP_SQ_PSN |
               (rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                         IBV_QP_MAX_QP_RD_ATOMIC
                   : 0);
    default:
        return IBV_QP_STATE;
    }
}

static void destination(struct bench *bench, const struct move *move,
                        struct ibv_ah_attr *attr)
{
    attr->is_global = move->global;
    attr->port_num = (uint8_t)move->port;
    attr->grh.sgid_index = (uint8_t)move->sgid_index;
    attr->grh.hop_limit = 64;
    if (!move->zero_gid)
        attr->grh.dgid = bench->gid[move->peer_device];
    if (move->absent_gid)
        attr->grh.dgid.raw[15] = ABSENT_HOST;
}

/* Only what is not as usual. */
static void say_move(int qp, const struct move *move)
{
    const struct move usual = usual_move(move->to, move->peer);

    printf("modify_qp(q%d to=%s", qp, state_word(move->to));
    if (move->add)
        printf(" mask+0x%x", (unsigned)move->add);
    if (move->drop)
        printf(" mask-0x%x", (unsigned)move->drop);
    if (move->port != usual.port)
        printf(" port=%d", move->port);
    if (move->pkey != usual.pkey)
        printf(" pkey=%d", move->pkey);
    if (move->mtu != usual.mtu)
        printf(" mtu=%d", move->mtu);
    if (move->to == IBV_QPS_RTR && move->peer == NOBODY)
        printf(" peer=nobody");
    if (move->sgid_index != usual.sgid_index)
        printf(" sgid_index=%d", move->sgid_index);
    if (!move->global)
        printf(" not-global");
    if (move->zero_gid)
        printf(" zero-gid");
    if (move->absent_gid)
        printf(" absent-gid");
    if (move->access != usual.access)
        printf(" access=0x%x", move->access);
    if (move->rd_atomic != usual.rd_atomic)
        printf(" rd_atomic=%d", move->rd_atomic);
    printf(")");
}

bool act_modify_qp(struct bench *bench, int qp, const struct move *move)
{
    struct ibv_qp_attr attr;
    int peer = move->peer;
    int mask, result;

    say_move(qp, move);
    if (!bench->qp[qp]) {
        printf(" = (nothing there)\n");
        return false;
    }
    memset(&attr, 0, sizeof(attr));
    attr.qp_state = (enum ibv_qp_state)move->to;
    attr.pkey_index = (uint16_t)move->pkey;
    attr.port_num = (uint8_t)move->port;
    attr.qp_access_flags = move->access;
    attr.qkey = QKEY;
    attr.path_mtu = (enum ibv_mtu)move->mtu;
    attr.dest_qp_num = peer == NOBODY ? 0xabcdef : bench->number[peer];
    attr.rq_psn = (uint32_t)(100 + (peer == NOBODY ? 9 : peer));
    attr.sq_psn = (uint32_t)(100 + qp);
    attr.max_rd_atomic = (uint8_t)move->rd_atomic;
    attr.max_dest_rd_atomic = (uint8_t)move->rd_atomic;
    attr.min_rnr_timer = 1;
    attr.timeout = 12; /* 17 ms */
    attr.retry_cnt = 2;
    attr.rnr_retry = 2;
    destination(bench, move, &attr.ah_attr);
    attr.alt_ah_attr = attr.ah_attr;
    mask =
        (mask_for(bench->qp[qp]->qp_type, move->to) | move->add) & ~move->drop;
    result = ibv_modify_qp(bench->qp[qp], &attr, mask);
    say_result(result);
    return result == 0;
}

void act_connect(struct bench *bench, int qp, int peer)
{
    static const int steps[] = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS};

    for (int i = 0; i < 3; i++) {
        struct move move = usual_move(steps[i], peer);

        if (!act_modify_qp(bench, qp, &move))
            return;
    }
}

void bench_start(struct bench *bench)
{
    act_open(bench, 0);
    act_alloc_pd(bench, 0, 0);
    act_reg_mr(bench, 0, 0, PLACE_ARENA, 0, ARENA,
               IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
    act_create_cq(bench, 0, 0, 63, 0, false);
    act_create_cq(bench, 1, 0, 63, 0, false);
}

void bench_pair(struct bench *bench, int type)
{
    struct queue_wish wish = usual_wish(type);

    bench_start(bench);
    act_create_qp(bench, 0, &wish);
    act_create_qp(bench, 1, &wish);
    act_connect(bench, 0, 1);
    act_connect(bench, 1, 0);
    if (type == IBV_QPT_UD)
        act_create_ah(bench, 0, 0, 0, 1, true, 1);
}
