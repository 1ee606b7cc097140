/*
 * Rows: creating queue pairs, and what is in use.
 */
#include "rows.h"

/* Queue pairs. */

static void qp_limits(struct bench *bench)
{
    struct queue_wish wish = usual_wish(IBV_QPT_UC);

    bench_start(bench);
    wish.send_wr = 1048577;
    act_create_qp(bench, 0, &wish);
    wish = usual_wish(IBV_QPT_UC);
    wish.recv_wr = 1048577;
    act_create_qp(bench, 0, &wish);
    wish = usual_wish(IBV_QPT_UC);
    wish.send_sge = 33;
    act_create_qp(bench, 0, &wish);
    wish = usual_wish(IBV_QPT_UC);
    wish.recv_sge = 33;
    act_create_qp(bench, 0, &wish);
    wish = usual_wish(IBV_QPT_UC);
    wish.inline_bytes = 513;
    act_create_qp(bench, 0, &wish);
}

static void qp_types(struct bench *bench)
{
    bench_start(bench);
    create(bench, 0, IBV_QPT_RC);
    create(bench, 1, IBV_QPT_UC);
    create(bench, 2, IBV_QPT_UD);
    create(bench, 3, 77);
    create(bench, 3, 0);
    create(bench, 3, IBV_QPT_RAW_PACKET);
    create(bench, 3, IBV_QPT_XRC_SEND);
}

static void qp_no_requests(struct bench *bench)
{
    struct queue_wish wish = usual_wish(IBV_QPT_UC);

    bench_start(bench);
    wish.send_wr = 0;
    wish.recv_wr = 0;
    act_create_qp(bench, 0, &wish);
    act_query_qp(bench, 0);
    wish.send_sge = 0;
    wish.recv_sge = 0;
    act_create_qp(bench, 1, &wish);
    act_query_qp(bench, 1);
}

static void qp_larger_than_cq(struct bench *bench)
{
    struct queue_wish wish = usual_wish(IBV_QPT_UC);

    bench_start(bench);
    wish.send_wr = 500;
    wish.recv_wr = 500;
    act_create_qp(bench, 0, &wish);
    act_query_qp(bench, 0);
}

static void qp_rounding(struct bench *bench)
{
    static const uint32_t depths[] = {1, 2, 3, 4, 7, 8, 16, 100};
    static const uint32_t inlines[] = {0, 1, 16, 17, 64, 200, 512};

    bench_start(bench);
    for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
        struct queue_wish wish = usual_wish(IBV_QPT_RC);

        wish.send_wr = depths[i];
        wish.recv_wr = depths[i];
        act_create_qp(bench, 0, &wish);
        act_destroy_qp(bench, 0);
    }
    for (size_t i = 0; i < sizeof(inlines) / sizeof(inlines[0]); i++) {
        struct queue_wish wish = usual_wish(IBV_QPT_RC);

        wish.inline_bytes = inlines[i];
        act_create_qp(bench, 0, &wish);
        act_destroy_qp(bench, 0);
    }
}

static void qp_destroy_with_receives(struct bench *bench)
{
    bench_pair(bench, IBV_QPT_UC);
    recv_on(bench, 1);
    recv_on(bench, 1);
    act_destroy_qp(bench, 1);
    act_drain(bench, 1);
}

static void pd_in_use(struct bench *bench)
{
    bench_start(bench);
    act_dealloc_pd(bench, 0);
    create(bench, 0, IBV_QPT_UC);
    act_dereg_mr(bench, 0);
    act_dealloc_pd(bench, 0);
    act_destroy_qp(bench, 0);
    act_dealloc_pd(bench, 0);
}

static void close_with_everything(struct bench *bench)
{
    bench_pair(bench, IBV_QPT_UC);
    recv_on(bench, 1);
    act_close(bench, 0);
}

const struct row rows_queue[] = {
    {ROW(qp_limits)},
    {ROW(qp_types)},
    {ROW(qp_no_requests)},
    {ROW(qp_larger_than_cq)},
    {ROW(qp_rounding)},
    {ROW(qp_destroy_with_receives)},
    {ROW(pd_in_use)},
    {ROW(close_with_everything)},
    {0},
};
