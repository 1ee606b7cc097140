/*
 * Rows: messages that arrive, and those that do not.
 */
#include "rows.h"

/* Messages. */

static void message(struct bench *bench, int type, bool receive,
                    uint32_t length, unsigned flags)
{
    struct work work = usual_work(IBV_WR_SEND);

    bench_pair(bench, type);
    if (receive)
        recv_on(bench, 1);
    recv_on(bench, 1);
    if (!receive) {
        act_destroy_qp(bench, 1);
        create(bench, 1, type);
        act_connect(bench, 1, 0);
    }
    work.length = length;
    work.flags = flags;
    act_post_send(bench, 0, &work);
    finish(bench);
}

static void uc_message(struct bench *bench)
{
    message(bench, IBV_QPT_UC, true, 64, IBV_SEND_SIGNALED);
}

static void rc_message(struct bench *bench)
{
    message(bench, IBV_QPT_RC, true, 64, IBV_SEND_SIGNALED);
}

static void ud_message(struct bench *bench)
{
    message(bench, IBV_QPT_UD, true, 64, IBV_SEND_SIGNALED);
}

static void uc_empty_message(struct bench *bench)
{
    message(bench, IBV_QPT_UC, true, 0, IBV_SEND_SIGNALED);
}

static void uc_too_long(struct bench *bench)
{
    message(bench, IBV_QPT_UC, true, 200, IBV_SEND_SIGNALED);
}

static void rc_too_long(struct bench *bench)
{
    message(bench, IBV_QPT_RC, true, 200, IBV_SEND_SIGNALED);
}

static void ud_too_long_for_receive(struct bench *bench)
{
    message(bench, IBV_QPT_UD, true, 200, IBV_SEND_SIGNALED);
}

static void ud_above_mtu(struct bench *bench)
{
    message(bench, IBV_QPT_UD, true, 2000, IBV_SEND_SIGNALED);
}

static void uc_many_packets(struct bench *bench)
{
    struct work work = usual_work(IBV_WR_SEND);

    bench_pair(bench, IBV_QPT_UC);
    work.offset = RECV_AT;
    work.length = 10000;
    act_post_recv(bench, 1, &work);
    work.offset = 0;
    act_post_send(bench, 0, &work);
    finish(bench);
}

static void no_receive(struct bench *bench, int type)
{
    bench_pair(bench, type);
    send_on(bench, 0);
    finish(bench);
    recv_on(bench, 1);
    send_on(bench, 0);
    finish(bench);
}

static void uc_no_receive(struct bench *bench)
{
    no_receive(bench, IBV_QPT_UC);
}

static void rc_no_receive(struct bench *bench)
{
    no_receive(bench, IBV_QPT_RC);
}

static void ud_no_receive(struct bench *bench)
{
    no_receive(bench, IBV_QPT_UD);
}

static void peer_in_init(struct bench *bench, int type)
{
    bench_start(bench);
    create(bench, 0, type);
    create(bench, 1, type);
    move_to(bench, 1, IBV_QPS_INIT, 0);
    recv_on(bench, 1);
    act_connect(bench, 0, 1);
    send_on(bench, 0);
    finish(bench);
}

static void uc_peer_in_init(struct bench *bench)
{
    peer_in_init(bench, IBV_QPT_UC);
}

static void rc_peer_in_init(struct bench *bench)
{
    peer_in_init(bench, IBV_QPT_RC);
}

static void peer_destroyed(struct bench *bench, int type)
{
    bench_pair(bench, type);
    recv_on(bench, 1);
    act_destroy_qp(bench, 1);
    send_on(bench, 0);
    finish(bench);
}

static void uc_peer_destroyed(struct bench *bench)
{
    peer_destroyed(bench, IBV_QPT_UC);
}

static void rc_peer_destroyed(struct bench *bench)
{
    peer_destroyed(bench, IBV_QPT_RC);
}

static void peer_absent(struct bench *bench, int type)
{
    struct move move = usual_move(IBV_QPS_RTR, NOBODY);

    bench_start(bench);
    create(bench, 0, type);
    move_to(bench, 0, IBV_QPS_INIT, NOBODY);
    act_modify_qp(bench, 0, &move);
    move_to(bench, 0, IBV_QPS_RTS, NOBODY);
    send_on(bench, 0);
    finish(bench);
}

static void uc_peer_absent(struct bench *bench)
{
    peer_absent(bench, IBV_QPT_UC);
}

static void rc_peer_absent(struct bench *bench)
{
    peer_absent(bench, IBV_QPT_RC);
}

static void uc_to_itself(struct bench *bench)
{
    bench_start(bench);
    create(bench, 0, IBV_QPT_UC);
    act_connect(bench, 0, 0);
    recv_on(bench, 0);
    send_on(bench, 0);
    finish(bench);
}

/* Inline data, solicited and unsignalled sends. */

static void inline_send(struct bench *bench)
{
    struct queue_wish wish = usual_wish(IBV_QPT_UC);
    struct work work = usual_work(IBV_WR_SEND);

    bench_start(bench);
    wish.inline_bytes = 64;
    act_create_qp(bench, 0, &wish);
    create(bench, 1, IBV_QPT_UC);
    act_connect(bench, 0, 1);
    act_connect(bench, 1, 0);
    recv_on(bench, 1);
    recv_on(bench, 1);
    work.flags |= IBV_SEND_INLINE;
    work.key = KEY_BOGUS;
    act_post_send(bench, 0, &work);
    work.length = 300;
    act_post_send(bench, 0, &work);
    finish(bench);
}

static void unsignalled(struct bench *bench)
{
    bench_pair(bench, IBV_QPT_UC);
    recv_on(bench, 1);
    recv_on(bench, 1);
    for (unsigned flags = 0; flags <= IBV_SEND_SIGNALED;
         flags += IBV_SEND_SIGNALED) {
        struct work work = usual_work(IBV_WR_SEND);

        work.flags = flags;
        act_post_send(bench, 0, &work);
    }
    finish(bench);
}

static void sig_all(struct bench *bench)
{
    struct queue_wish wish = usual_wish(IBV_QPT_UC);
    struct work work = usual_work(IBV_WR_SEND);

    bench_start(bench);
    wish.sig_all = 1;
    act_create_qp(bench, 0, &wish);
    create(bench, 1, IBV_QPT_UC);
    act_connect(bench, 0, 1);
    act_connect(bench, 1, 0);
    recv_on(bench, 1);
    work.flags = 0;
    act_post_send(bench, 0, &work);
    act_drain(bench, 0);
    finish(bench);
}

/* Flushes and resets. */

static void error_flushes(struct bench *bench)
{
    bench_pair(bench, IBV_QPT_UC);
    recv_on(bench, 1);
    recv_on(bench, 1);
    move_to(bench, 1, IBV_QPS_ERR, 0);
    finish(bench);
}

static void reset_forgets(struct bench *bench)
{
    bench_pair(bench, IBV_QPT_UC);
    recv_on(bench, 1);
    recv_on(bench, 1);
    move_to(bench, 1, IBV_QPS_RESET, 0);
    finish(bench);
    act_connect(bench, 1, 0);
    send_on(bench, 0);
    finish(bench);
}

const struct row rows_message[] = {
    {ROW(uc_message)},
    {ROW(rc_message)},
    {ROW(ud_message)},
    {ROW(uc_empty_message)},
    {ROW(uc_too_long)},
    {ROW(rc_too_long)},
    {ROW(ud_too_long_for_receive)},
    {ROW(ud_above_mtu)},
    {ROW(uc_many_packets)},
    {ROW(uc_no_receive)},
    {ROW(rc_no_receive)},
    {ROW(ud_no_receive)},
    {ROW(uc_peer_in_init)},
    {ROW(rc_peer_in_init)},
    {ROW(uc_peer_destroyed)},
    {ROW(rc_peer_destroyed)},
    {ROW(uc_peer_absent)},
    {ROW(rc_peer_absent)},
    {ROW(uc_to_itself)},
    {ROW(inline_send)},
    {ROW(unsignalled)},
    {ROW(sig_all)},
    {ROW(error_flushes)},
    {ROW(reset_forgets)},
    {0},
};
