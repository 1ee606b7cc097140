/*
 * Rows: the device, its port, completion queues and channels.
 */
#include "rows.h"

/* Device and port. */

static void device_query(struct bench *bench)
{
    act_open(bench, 0);
    act_query_device(bench, 0);
}

static void port_query(struct bench *bench)
{
    act_open(bench, 0);
    act_query_port(bench, 0, 1);
}

static void port_query_wrong(struct bench *bench)
{
    act_open(bench, 0);
    act_query_port(bench, 0, 0);
    act_query_port(bench, 0, 2);
    act_query_port(bench, 0, 255);
}

static void gid_query(struct bench *bench)
{
    act_open(bench, 0);
    for (int i = 0; i < 4; i++)
        act_query_gid(bench, 0, 1, i);
}

static void gid_query_wrong(struct bench *bench)
{
    act_open(bench, 0);
    act_query_gid(bench, 0, 1, 1023);
    act_query_gid(bench, 0, 1, 1024);
    act_query_gid(bench, 0, 1, 5000);
    act_query_gid(bench, 0, 1, -1);
    act_query_gid(bench, 0, 2, 0);
    act_query_gid(bench, 0, 0, 0);
}

static void pkey_query(struct bench *bench)
{
    act_open(bench, 0);
    act_query_pkey(bench, 0, 1, 0);
    act_query_pkey(bench, 0, 1, 1);
    act_query_pkey(bench, 0, 1, 63);
    act_query_pkey(bench, 0, 1, 64);
    act_query_pkey(bench, 0, 2, 0);
}

/* Completion queues. */

static void cq_bad_sizes(struct bench *bench)
{
    act_open(bench, 0);
    act_create_cq(bench, 0, 0, 0, 0, false);
    act_create_cq(bench, 0, 0, -1, 0, false);
    act_create_cq(bench, 0, 0, 32768, 0, false);
    act_create_cq(bench, 0, 0, 32767, 0, false);
}

static void cq_bad_vectors(struct bench *bench)
{
    act_open(bench, 0);
    act_create_cq(bench, 0, 0, 16, -1, false);
    act_create_cq(bench, 0, 0, 16, 1000, false);
}

static void cq_rounding(struct bench *bench)
{
    static const int sizes[] = {1, 2, 3, 10, 15, 16, 100, 127, 128};

    act_open(bench, 0);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        act_create_cq(bench, 0, 0, sizes[i], 0, false);
        act_destroy_cq(bench, 0);
    }
}

static void cq_resize(struct bench *bench)
{
    static const int sizes[] = {10, 100, 1, 0, -1, 40000};

    bench_start(bench);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        act_resize_cq(bench, 0, sizes[i]);
}

static void cq_overflow(struct bench *bench)
{
    struct queue_wish wish = usual_wish(IBV_QPT_UC);
    struct work work = usual_work(IBV_WR_SEND);

    bench_start(bench);
    act_create_cq(bench, 2, 0, 1, 0, false);
    wish.send_cq = 2;
    wish.send_wr = 16;
    act_create_qp(bench, 0, &wish);
    create(bench, 1, IBV_QPT_UC);
    act_connect(bench, 0, 1);
    act_connect(bench, 1, 0);
    work.count = 3;
    act_post_send(bench, 0, &work);
    act_drain(bench, 1);
    act_drain(bench, 2);
    act_events(bench, 0);
    act_query_qp(bench, 0);
}

static void cq_in_use(struct bench *bench)
{
    bench_start(bench);
    create(bench, 0, IBV_QPT_UC);
    act_destroy_cq(bench, 0);
    act_destroy_cq(bench, 1);
    act_destroy_qp(bench, 0);
    act_destroy_cq(bench, 0);
    act_destroy_cq(bench, 1);
}

static void channel_in_use(struct bench *bench)
{
    act_open(bench, 0);
    act_create_channel(bench);
    act_create_cq(bench, 0, 0, 16, 0, true);
    act_destroy_channel(bench);
    act_destroy_cq(bench, 0);
    act_destroy_channel(bench);
}

/* One event for what is notified, none for what is not. */
static void channel_events(struct bench *bench)
{
    struct queue_wish wish = usual_wish(IBV_QPT_RC);

    bench_start(bench);
    act_create_channel(bench);
    act_create_cq(bench, 2, 0, 16, 0, true);
    wish.recv_cq = 2;
    act_create_qp(bench, 0, &wish);
    act_create_qp(bench, 1, &wish);
    act_connect(bench, 0, 1);
    act_connect(bench, 1, 0);
    recv_on(bench, 1);
    recv_on(bench, 1);
    send_on(bench, 0);
    act_drain_sends(bench, 0);
    act_channel_event(bench);
    act_notify(bench, 2, false);
    send_on(bench, 0);
    act_drain_sends(bench, 0);
    act_channel_event(bench);
    act_drain(bench, 2);
}

static void channel_solicited(struct bench *bench)
{
    struct queue_wish wish = usual_wish(IBV_QPT_RC);
    struct work work = usual_work(IBV_WR_SEND);

    bench_start(bench);
    act_create_channel(bench);
    act_create_cq(bench, 2, 0, 16, 0, true);
    wish.recv_cq = 2;
    act_create_qp(bench, 0, &wish);
    act_create_qp(bench, 1, &wish);
    act_connect(bench, 0, 1);
    act_connect(bench, 1, 0);
    recv_on(bench, 1);
    recv_on(bench, 1);
    act_notify(bench, 2, true);
    act_post_send(bench, 0, &work);
    act_drain_sends(bench, 0);
    act_channel_event(bench);
    work.flags |= IBV_SEND_SOLICITED;
    act_post_send(bench, 0, &work);
    act_drain_sends(bench, 0);
    act_channel_event(bench);
}

const struct row rows_device[] = {
    {ROW(device_query)},      {ROW(port_query)},
    {ROW(port_query_wrong)},  {ROW(gid_query)},
    {ROW(gid_query_wrong)},   {ROW(pkey_query)},
    {ROW(cq_bad_sizes)},      {ROW(cq_bad_vectors)},
    {ROW(cq_rounding)},       {ROW(cq_resize)},
    {ROW(cq_overflow)},       {ROW(cq_in_use)},
    {ROW(channel_in_use)},    {ROW(channel_events)},
    {ROW(channel_solicited)}, {0},
};
