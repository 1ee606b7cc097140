/*
 * Rows: shared receive queues and memory windows.
 */
#include "rows.h"

/* Shared receive queues. */

static void srq_sizes(struct bench *bench)
{
    bench_start(bench);
    act_create_srq(bench, 0, 0, 0, 1);
    act_create_srq(bench, 1, 0, 10, 0);
    act_create_srq(bench, 2, 0, 2000000, 1);
    act_create_srq(bench, 3, 0, 10, 28);
    act_create_srq(bench, 3, 0, 10, 27);
}

static void srq_messages(struct bench *bench)
{
    struct queue_wish wish = usual_wish(IBV_QPT_RC);
    struct work work = usual_recv();

    bench_start(bench);
    act_create_srq(bench, 0, 0, 4, 2);
    wish.srq = 0;
    act_create_qp(bench, 0, &wish);
    act_create_qp(bench, 1, &wish);
    act_connect(bench, 0, 1);
    act_connect(bench, 1, 0);
    recv_on(bench, 1);
    work.count = 3;
    act_post_srq(bench, 0, &work);
    act_query_srq(bench, 0);
    send_on(bench, 0);
    send_on(bench, 1);
    finish(bench);
    act_destroy_srq(bench, 0);
}

static void srq_limit(struct bench *bench)
{
    struct queue_wish wish = usual_wish(IBV_QPT_UC);
    struct work work = usual_recv();

    bench_start(bench);
    act_create_srq(bench, 0, 0, 8, 1);
    act_modify_srq(bench, 0, 0, 2, IBV_SRQ_LIMIT);
    act_modify_srq(bench, 0, 0, 1000, IBV_SRQ_LIMIT);
    wish.srq = 0;
    act_create_qp(bench, 0, &wish);
    create(bench, 1, IBV_QPT_UC);
    act_connect(bench, 0, 1);
    act_connect(bench, 1, 0);
    work.count = 3;
    act_post_srq(bench, 0, &work);
    send_on(bench, 1);
    send_on(bench, 1);
    finish(bench);
    act_query_srq(bench, 0);
}

static void srq_overflow(struct bench *bench)
{
    struct work work = usual_recv();

    bench_start(bench);
    act_create_srq(bench, 0, 0, 4, 1);
    work.count = 12;
    act_post_srq(bench, 0, &work);
    work.count = 1;
    work.sges = 5;
    act_post_srq(bench, 0, &work);
}

static void srq_resize(struct bench *bench)
{
    bench_start(bench);
    act_create_srq(bench, 0, 0, 4, 1);
    act_modify_srq(bench, 0, 20, 0, IBV_SRQ_MAX_WR);
    act_query_srq(bench, 0);
    act_modify_srq(bench, 0, 2000000, 0, IBV_SRQ_MAX_WR);
    act_query_srq(bench, 0);
}

/* Memory windows. */

static void mw_types(struct bench *bench)
{
    bench_start(bench);
    act_alloc_mw(bench, 0, 0, IBV_MW_TYPE_1);
    act_alloc_mw(bench, 1, 0, IBV_MW_TYPE_2);
    act_alloc_mw(bench, 2, 0, 9);
    act_dealloc_pd(bench, 0);
    act_dealloc_mw(bench, 0);
    act_dealloc_mw(bench, 1);
}

static void mw_bind(struct bench *bench)
{
    bench_pair(bench, IBV_QPT_RC);
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, ARENA,
               ALL_ACCESS | IBV_ACCESS_MW_BIND);
    act_alloc_mw(bench, 0, 0, IBV_MW_TYPE_1);
    act_bind_mw(bench, 0, 0, 1, 0, 4096, IBV_ACCESS_REMOTE_WRITE);
    act_drain_sends(bench, 0);
    act_bind_mw(bench, 0, 0, 0, 0, 4096, IBV_ACCESS_REMOTE_WRITE);
    act_drain_sends(bench, 0);
    act_bind_mw(bench, 0, 0, 1, 0, 2 * ARENA, IBV_ACCESS_REMOTE_WRITE);
    finish(bench);
    act_dereg_mr(bench, 1);
    act_dealloc_mw(bench, 0);
    act_dereg_mr(bench, 1);
}

const struct row rows_shared[] = {
    {ROW(srq_sizes)},  {ROW(srq_messages)},
    {ROW(srq_limit)},  {ROW(srq_overflow)},
    {ROW(srq_resize)}, {ROW(mw_types)},
    {ROW(mw_bind)},    {0},
};
