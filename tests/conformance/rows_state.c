/*
 * Rows: the state machine, and posting in each state.
 */
#include "rows.h"

/* The state machine: from each state to each. */

static void transitions(struct bench *bench, int type, int from)
{
    static const int to[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
                             IBV_QPS_RTS,   IBV_QPS_SQD,  IBV_QPS_ERR};

    bench_start(bench);
    create(bench, 1, type);
    for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
        create(bench, 0, type);
        reach(bench, 0, from);
        move_to(bench, 0, to[i], 1);
        act_query_qp(bench, 0);
        act_destroy_qp(bench, 0);
    }
}

static void uc_from_reset(struct bench *bench)
{
    transitions(bench, IBV_QPT_UC, IBV_QPS_RESET);
}

static void uc_from_init(struct bench *bench)
{
    transitions(bench, IBV_QPT_UC, IBV_QPS_INIT);
}

static void uc_from_rtr(struct bench *bench)
{
    transitions(bench, IBV_QPT_UC, IBV_QPS_RTR);
}

static void uc_from_rts(struct bench *bench)
{
    transitions(bench, IBV_QPT_UC, IBV_QPS_RTS);
}

static void uc_from_err(struct bench *bench)
{
    transitions(bench, IBV_QPT_UC, IBV_QPS_ERR);
}

static void rc_from_init(struct bench *bench)
{
    transitions(bench, IBV_QPT_RC, IBV_QPS_INIT);
}

static void rc_from_rts(struct bench *bench)
{
    transitions(bench, IBV_QPT_RC, IBV_QPS_RTS);
}

static void ud_from_init(struct bench *bench)
{
    transitions(bench, IBV_QPT_UD, IBV_QPS_INIT);
}

static void ud_from_rts(struct bench *bench)
{
    transitions(bench, IBV_QPT_UD, IBV_QPS_RTS);
}

/* A queue pair in INIT, and one wrong move to RTR at a time. */
static void rtr_with(struct bench *bench, const struct move *move)
{
    bench_start(bench);
    create(bench, 0, IBV_QPT_UC);
    create(bench, 1, IBV_QPT_UC);
    move_to(bench, 0, IBV_QPS_INIT, 1);
    act_modify_qp(bench, 0, move);
    act_query_qp(bench, 0);
}

static void rtr_zero_gid(struct bench *bench)
{
    struct move move = usual_move(IBV_QPS_RTR, 1);

    move.zero_gid = true;
    rtr_with(bench, &move);
}

static void rtr_not_global(struct bench *bench)
{
    struct move move = usual_move(IBV_QPS_RTR, 1);

    move.global = false;
    rtr_with(bench, &move);
}

static void rtr_wrong_port(struct bench *bench)
{
    struct move move = usual_move(IBV_QPS_RTR, 1);

    move.port = 2;
    rtr_with(bench, &move);
}

static void rtr_no_address(struct bench *bench)
{
    struct move move = usual_move(IBV_QPS_RTR, 1);

    move.drop = IBV_QP_AV;
    rtr_with(bench, &move);
}

static void rtr_extra_mask(struct bench *bench)
{
    struct move move = usual_move(IBV_QPS_RTR, 1);

    move.add = IBV_QP_SQ_PSN;
    rtr_with(bench, &move);
}

static void rtr_empty_gid_index(struct bench *bench)
{
    struct move move = usual_move(IBV_QPS_RTR, 1);

    move.sgid_index = 5;
    rtr_with(bench, &move);
}

static void rtr_link_local_index(struct bench *bench)
{
    struct move move = usual_move(IBV_QPS_RTR, 1);

    move.sgid_index = 0;
    rtr_with(bench, &move);
}

static void rtr_absent_peer(struct bench *bench)
{
    struct move move = usual_move(IBV_QPS_RTR, 1);

    move.absent_gid = true;
    rtr_with(bench, &move);
}

static void rtr_nobody(struct bench *bench)
{
    struct move move = usual_move(IBV_QPS_RTR, NOBODY);

    rtr_with(bench, &move);
}

static void rtr_mtu_above(struct bench *bench)
{
    struct move move = usual_move(IBV_QPS_RTR, 1);

    move.mtu = IBV_MTU_4096;
    rtr_with(bench, &move);
}

static void init_with(struct bench *bench, const struct move *move)
{
    bench_start(bench);
    create(bench, 0, IBV_QPT_UC);
    act_modify_qp(bench, 0, move);
    act_query_qp(bench, 0);
}

static void init_port_2(struct bench *bench)
{
    struct move move = usual_move(IBV_QPS_INIT, 1);

    move.port = 2;
    init_with(bench, &move);
}

static void init_pkey_5(struct bench *bench)
{
    struct move move = usual_move(IBV_QPS_INIT, 1);

    move.pkey = 5;
    init_with(bench, &move);
}

/* Posting, in each state. */

static void posts_in(struct bench *bench, int type, int state)
{
    bench_start(bench);
    create(bench, 0, type);
    create(bench, 1, type);
    if (type == IBV_QPT_UD)
        act_create_ah(bench, 0, 0, 0, 1, true, 1);
    reach(bench, 0, state);
    recv_on(bench, 0);
    send_on(bench, 0);
    finish(bench);
}

static void posts_in_reset(struct bench *bench)
{
    posts_in(bench, IBV_QPT_UC, IBV_QPS_RESET);
}

static void posts_in_init(struct bench *bench)
{
    posts_in(bench, IBV_QPT_UC, IBV_QPS_INIT);
}

static void posts_in_rtr(struct bench *bench)
{
    posts_in(bench, IBV_QPT_UC, IBV_QPS_RTR);
}

static void posts_in_err(struct bench *bench)
{
    posts_in(bench, IBV_QPT_UC, IBV_QPS_ERR);
}

static void posts_in_err_rc(struct bench *bench)
{
    posts_in(bench, IBV_QPT_RC, IBV_QPS_ERR);
}

static void posts_in_err_ud(struct bench *bench)
{
    posts_in(bench, IBV_QPT_UD, IBV_QPS_ERR);
}

static void recv_queue_full(struct bench *bench)
{
    struct work work = usual_recv();

    bench_pair(bench, IBV_QPT_UC);
    work.count = 12;
    act_post_recv(bench, 1, &work);
    work.count = 1;
    act_post_recv(bench, 1, &work);
}

static void send_queue_full(struct bench *bench)
{
    struct work work = usual_work(IBV_WR_SEND);

    bench_pair(bench, IBV_QPT_UC);
    work.count = 12;
    act_post_send(bench, 0, &work);
    finish(bench);
}

static void too_many_sges(struct bench *bench)
{
    struct work work = usual_work(IBV_WR_SEND);

    bench_pair(bench, IBV_QPT_UC);
    work.sges = 5;
    act_post_send(bench, 0, &work);
    work.sges = 40;
    act_post_send(bench, 0, &work);
    work = usual_recv();
    work.sges = 5;
    act_post_recv(bench, 0, &work);
    finish(bench);
}

const struct row rows_state[] = {
    {ROW(uc_from_reset)},
    {ROW(uc_from_init)},
    {ROW(uc_from_rtr)},
    {ROW(uc_from_rts)},
    {ROW(uc_from_err)},
    {ROW(rc_from_init)},
    {ROW(rc_from_rts)},
    {ROW(ud_from_init)},
    {ROW(ud_from_rts)},
    {ROW(rtr_zero_gid)},
    {ROW(rtr_not_global)},
    {ROW(rtr_wrong_port)},
    {ROW(rtr_no_address)},
    {ROW(rtr_extra_mask)},
    {ROW(rtr_empty_gid_index)},
    {ROW(rtr_link_local_index)},
    {ROW(rtr_absent_peer)},
    {ROW(rtr_nobody)},
    {ROW(rtr_mtu_above)},
    {ROW(init_port_2)},
    {ROW(init_pkey_5)},
    {ROW(posts_in_reset)},
    {ROW(posts_in_init)},
    {ROW(posts_in_rtr)},
    {ROW(posts_in_err)},
    {ROW(posts_in_err_rc)},
    {ROW(posts_in_err_ud)},
    {ROW(recv_queue_full)},
    {ROW(send_queue_full)},
    {ROW(too_many_sges)},
    {0},
};
