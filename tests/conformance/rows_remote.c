/*
 * Rows: RDMA, atomics and datagrams' addresses.
 */
#include "rows.h"

/* RDMA and atomics. */

static void remote(struct bench *bench, int type, int opcode, enum key key,
                   unsigned length)
{
    struct work work = usual_work(opcode);

    bench_pair(bench, type);
    recv_on(bench, 1);
    work.remote_key = key;
    work.length = length;
    act_post_send(bench, 0, &work);
    send_on(bench, 0);
    finish(bench);
}

static void uc_write(struct bench *bench)
{
    remote(bench, IBV_QPT_UC, IBV_WR_RDMA_WRITE, KEY_GOOD, 64);
}

static void uc_write_bad_key(struct bench *bench)
{
    remote(bench, IBV_QPT_UC, IBV_WR_RDMA_WRITE, KEY_BOGUS, 64);
}

static void uc_write_imm(struct bench *bench)
{
    remote(bench, IBV_QPT_UC, IBV_WR_RDMA_WRITE_WITH_IMM, KEY_GOOD, 64);
}

/* Three packets, and no receive for the immediate, which is in the last. */
static void write_imm_long(struct bench *bench, int type)
{
    struct work work = usual_work(IBV_WR_RDMA_WRITE_WITH_IMM);

    bench_pair(bench, type);
    work.length = 3000;
    act_post_send(bench, 0, &work);
    finish(bench);
}

static void uc_write_imm_long(struct bench *bench)
{
    write_imm_long(bench, IBV_QPT_UC);
}

static void rc_write_imm_long(struct bench *bench)
{
    write_imm_long(bench, IBV_QPT_RC);
}

/* A receive that is posted when it is too late already. */
static void receive_after_error(struct bench *bench)
{
    bench_pair(bench, IBV_QPT_RC);
    recv_on(bench, 1);
    move_to(bench, 1, IBV_QPS_ERR, 0);
    act_drain(bench, 1);
    recv_on(bench, 1);
    act_drain(bench, 1);
    send_on(bench, 1);
    finish(bench);
}

static void uc_read(struct bench *bench)
{
    remote(bench, IBV_QPT_UC, IBV_WR_RDMA_READ, KEY_GOOD, 64);
}

static void uc_atomic(struct bench *bench)
{
    remote(bench, IBV_QPT_UC, IBV_WR_ATOMIC_FETCH_AND_ADD, KEY_GOOD, 8);
}

static void rc_write(struct bench *bench)
{
    remote(bench, IBV_QPT_RC, IBV_WR_RDMA_WRITE, KEY_GOOD, 64);
}

static void rc_write_bad_key(struct bench *bench)
{
    remote(bench, IBV_QPT_RC, IBV_WR_RDMA_WRITE, KEY_BOGUS, 64);
}

static void rc_write_imm(struct bench *bench)
{
    remote(bench, IBV_QPT_RC, IBV_WR_RDMA_WRITE_WITH_IMM, KEY_GOOD, 64);
}

static void rc_read(struct bench *bench)
{
    remote(bench, IBV_QPT_RC, IBV_WR_RDMA_READ, KEY_GOOD, 64);
}

static void rc_read_bad_key(struct bench *bench)
{
    remote(bench, IBV_QPT_RC, IBV_WR_RDMA_READ, KEY_BOGUS, 64);
}

static void rc_fetch_add(struct bench *bench)
{
    remote(bench, IBV_QPT_RC, IBV_WR_ATOMIC_FETCH_AND_ADD, KEY_GOOD, 8);
}

static void rc_cmp_swap(struct bench *bench)
{
    remote(bench, IBV_QPT_RC, IBV_WR_ATOMIC_CMP_AND_SWP, KEY_GOOD, 8);
}

static void rc_atomic_unaligned(struct bench *bench)
{
    struct work work = usual_work(IBV_WR_ATOMIC_FETCH_AND_ADD);

    bench_pair(bench, IBV_QPT_RC);
    work.length = 8;
    work.remote_offset = 32769;
    act_post_send(bench, 0, &work);
    finish(bench);
}

static void ud_write(struct bench *bench)
{
    remote(bench, IBV_QPT_UD, IBV_WR_RDMA_WRITE, KEY_GOOD, 64);
}

static void ud_wrong_qkey(struct bench *bench)
{
    struct work work = usual_work(IBV_WR_SEND);

    bench_pair(bench, IBV_QPT_UD);
    recv_on(bench, 1);
    work.qkey = 5;
    act_post_send(bench, 0, &work);
    finish(bench);
}

static void ud_nobody(struct bench *bench)
{
    struct work work = usual_work(IBV_WR_SEND);

    bench_pair(bench, IBV_QPT_UD);
    work.peer = NOBODY;
    act_post_send(bench, 0, &work);
    finish(bench);
}

static void ah_errors(struct bench *bench)
{
    bench_start(bench);
    act_create_ah(bench, 0, 0, 0, 1, false, 1);
    act_create_ah(bench, 1, 0, 0, 1, true, 2);
    act_create_ah(bench, 2, 0, 0, 5, true, 1);
    act_create_ah(bench, 3, 0, 0, 0, true, 1);
}

const struct row rows_remote[] = {
    {ROW(uc_write)},
    {ROW(uc_write_bad_key)},
    {ROW(uc_write_imm)},
    {ROW(uc_write_imm_long)},
    {ROW(rc_write_imm_long)},
    {ROW(receive_after_error)},
    {ROW(uc_read)},
    {ROW(uc_atomic)},
    {ROW(rc_write)},
    {ROW(rc_write_bad_key)},
    {ROW(rc_write_imm)},
    {ROW(rc_read)},
    {ROW(rc_read_bad_key)},
    {ROW(rc_fetch_add)},
    {ROW(rc_cmp_swap)},
    {ROW(rc_atomic_unaligned)},
    {ROW(ud_write)},
    {ROW(ud_wrong_qkey)},
    {ROW(ud_nobody)},
    {ROW(ah_errors)},
    {0},
};
