/*
 * What is known of soft-RoCE, a sequence for each fact, by name. What a row
 * shows is in its name; that it is so on both devices is the comparison's
 * matter.
 */
#include "bench.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define RECV_AT 16384 /* where receives lie in the arena; sends begin at 0 */
#define ALL_ACCESS                                                            \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |                       \
     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

static struct work usual_recv(void)
{
    struct work work = usual_work(IBV_WR_SEND);

    work.offset = RECV_AT;
    work.length = 128;
    return work;
}

static void recv_on(struct bench *bench, int qp)
{
    struct work work = usual_recv();

    act_post_recv(bench, qp, &work);
}

static void send_on(struct bench *bench, int qp)
{
    struct work work = usual_work(IBV_WR_SEND);

    act_post_send(bench, qp, &work);
}

static void move_to(struct bench *bench, int qp, int to, int peer)
{
    struct move move = usual_move(to, peer);

    act_modify_qp(bench, qp, &move);
}

static void finish(struct bench *bench)
{
    act_drain_sends(bench, 0);
    act_drain(bench, 1);
    act_query_qp(bench, 0);
    act_query_qp(bench, 1);
    act_events(bench, 0);
    act_memory(bench);
}

static void create(struct bench *bench, int qp, int type)
{
    struct queue_wish wish = usual_wish(type);

    act_create_qp(bench, qp, &wish);
}

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

/* The state machine: from each state to each. */

static void reach(struct bench *bench, int qp, int state)
{
    static const int steps[] = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS};

    if (state == IBV_QPS_ERR)
        move_to(bench, qp, IBV_QPS_ERR, 1 - qp);
    for (int i = 0; i < 3 && state != IBV_QPS_ERR && state != IBV_QPS_RESET;
         i++) {
        move_to(bench, qp, steps[i], 1 - qp);
        if (steps[i] == state)
            break;
    }
}

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

/* Regions. */

static void mr_good(struct bench *bench)
{
    bench_start(bench);
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 1, 100, IBV_ACCESS_LOCAL_WRITE);
    act_reg_mr(bench, 2, 0, PLACE_ARENA, 0, ARENA, IBV_ACCESS_LOCAL_WRITE);
    act_reg_mr(bench, 3, 0, PLACE_ARENA, 0, 1, 0);
}

static void mr_bad_lengths(struct bench *bench)
{
    bench_start(bench);
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, 0, IBV_ACCESS_LOCAL_WRITE);
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, (size_t)-1, 0);
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, (size_t)1 << 62, 0);
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, (size_t)1 << 46, 0);
}

static void mr_bad_access(struct bench *bench)
{
    bench_start(bench);
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, 4096, 1 << 15);
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, 4096, IBV_ACCESS_REMOTE_WRITE);
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, 4096, IBV_ACCESS_REMOTE_ATOMIC);
}

static void mr_other_access(struct bench *bench)
{
    static const int access[] = {IBV_ACCESS_MW_BIND,    IBV_ACCESS_ZERO_BASED,
                                 IBV_ACCESS_ON_DEMAND,  IBV_ACCESS_HUGETLB,
                                 IBV_ACCESS_REMOTE_READ};

    bench_start(bench);
    for (size_t i = 0; i < sizeof(access) / sizeof(access[0]); i++) {
        if (act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, 4096,
                       access[i] | IBV_ACCESS_LOCAL_WRITE))
            act_dereg_mr(bench, 1);
    }
}

static void mr_relaxed(struct bench *bench)
{
    bench_start(bench);
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, 4096,
               IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING);
}

static void mr_bad_memory(struct bench *bench)
{
    bench_start(bench);
    act_reg_mr(bench, 1, 0, PLACE_NULL, 0, 4096, IBV_ACCESS_LOCAL_WRITE);
    act_reg_mr(bench, 1, 0, PLACE_UNMAPPED, 0, 4096, IBV_ACCESS_LOCAL_WRITE);
    act_reg_mr(bench, 1, 0, PLACE_HALF, 0, 8192, IBV_ACCESS_LOCAL_WRITE);
    act_reg_mr(bench, 1, 0, PLACE_READ_ONLY, 0, 4096, IBV_ACCESS_LOCAL_WRITE);
    act_reg_mr(bench, 1, 0, PLACE_READ_ONLY, 0, 4096, 0);
}

/* Keys and ranges. */

static void dereg_under_receive(struct bench *bench)
{
    struct work work = usual_recv();

    bench_pair(bench, IBV_QPT_UC);
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, ARENA, IBV_ACCESS_LOCAL_WRITE);
    work.mr = 1;
    act_post_recv(bench, 1, &work);
    act_dereg_mr(bench, 1);
    send_on(bench, 0);
    finish(bench);
}

static void send_keys(struct bench *bench, int type, enum key key,
                      size_t offset, uint32_t length)
{
    struct work work = usual_work(IBV_WR_SEND);

    bench_pair(bench, type);
    if (key == KEY_DEAD) {
        act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, ARENA, 0);
        act_dereg_mr(bench, 1);
    }
    recv_on(bench, 1);
    work.key = key;
    work.offset = offset;
    work.length = length;
    act_post_send(bench, 0, &work);
    send_on(bench, 0);
    finish(bench);
}

static void send_bogus_key(struct bench *bench)
{
    send_keys(bench, IBV_QPT_UC, KEY_BOGUS, 0, 64);
}

static void send_dead_key(struct bench *bench)
{
    send_keys(bench, IBV_QPT_UC, KEY_DEAD, 0, 64);
}

static void send_outside(struct bench *bench)
{
    send_keys(bench, IBV_QPT_UC, KEY_GOOD, ARENA - 32, 64);
}

static void send_bogus_key_rc(struct bench *bench)
{
    send_keys(bench, IBV_QPT_RC, KEY_BOGUS, 0, 64);
}

static void send_outside_rc(struct bench *bench)
{
    send_keys(bench, IBV_QPT_RC, KEY_GOOD, ARENA - 32, 64);
}

static void send_bogus_key_ud(struct bench *bench)
{
    send_keys(bench, IBV_QPT_UD, KEY_BOGUS, 0, 64);
}

static void recv_keys(struct bench *bench, int type, enum key key, int access,
                      size_t offset)
{
    struct work work = usual_recv();

    bench_pair(bench, type);
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, ARENA, access);
    work.mr = 1;
    work.key = key;
    work.offset = offset;
    act_post_recv(bench, 1, &work);
    recv_on(bench, 1);
    send_on(bench, 0);
    finish(bench);
}

static void recv_bogus_key(struct bench *bench)
{
    recv_keys(bench, IBV_QPT_UC, KEY_BOGUS, IBV_ACCESS_LOCAL_WRITE, RECV_AT);
}

static void recv_read_only(struct bench *bench)
{
    recv_keys(bench, IBV_QPT_UC, KEY_GOOD, 0, RECV_AT);
}

static void recv_outside(struct bench *bench)
{
    recv_keys(bench, IBV_QPT_UC, KEY_GOOD, IBV_ACCESS_LOCAL_WRITE, ARENA - 32);
}

static void recv_bogus_key_rc(struct bench *bench)
{
    recv_keys(bench, IBV_QPT_RC, KEY_BOGUS, IBV_ACCESS_LOCAL_WRITE, RECV_AT);
}

static void recv_read_only_rc(struct bench *bench)
{
    recv_keys(bench, IBV_QPT_RC, KEY_GOOD, 0, RECV_AT);
}

static void foreign_domain(struct bench *bench)
{
    struct work work = usual_work(IBV_WR_SEND);

    bench_pair(bench, IBV_QPT_UC);
    act_alloc_pd(bench, 1, 0);
    act_reg_mr(bench, 1, 1, PLACE_ARENA, 0, ARENA, IBV_ACCESS_LOCAL_WRITE);
    recv_on(bench, 1);
    work.mr = 1;
    act_post_send(bench, 0, &work);
    finish(bench);
}

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

/* Limits of the process: an ordinary user may lock so much. */
static void memlock(struct bench *bench)
{
    struct rlimit limit = {8192, 8192};

    bench_start(bench);
    setrlimit(RLIMIT_MEMLOCK, &limit);
    if (setuid(65534) != 0)
        printf("(not root)\n");
    act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, ARENA, IBV_ACCESS_LOCAL_WRITE);
}

#define ROW(name)                                                             \
    {                                                                         \
#name, name                                                           \
    }

static const struct row {
    const char *name;
    void (*run)(struct bench *bench);
} rows[] = {
    ROW(device_query),
    ROW(port_query),
    ROW(port_query_wrong),
    ROW(gid_query),
    ROW(gid_query_wrong),
    ROW(pkey_query),
    ROW(cq_bad_sizes),
    ROW(cq_bad_vectors),
    ROW(cq_rounding),
    ROW(cq_resize),
    ROW(cq_overflow),
    ROW(cq_in_use),
    ROW(channel_in_use),
    ROW(channel_events),
    ROW(channel_solicited),
    ROW(qp_limits),
    ROW(qp_types),
    ROW(qp_no_requests),
    ROW(qp_larger_than_cq),
    ROW(qp_rounding),
    ROW(qp_destroy_with_receives),
    ROW(pd_in_use),
    ROW(close_with_everything),
    ROW(uc_from_reset),
    ROW(uc_from_init),
    ROW(uc_from_rtr),
    ROW(uc_from_rts),
    ROW(uc_from_err),
    ROW(rc_from_init),
    ROW(rc_from_rts),
    ROW(ud_from_init),
    ROW(ud_from_rts),
    ROW(rtr_zero_gid),
    ROW(rtr_not_global),
    ROW(rtr_wrong_port),
    ROW(rtr_no_address),
    ROW(rtr_extra_mask),
    ROW(rtr_empty_gid_index),
    ROW(rtr_link_local_index),
    ROW(rtr_absent_peer),
    ROW(rtr_nobody),
    ROW(rtr_mtu_above),
    ROW(init_port_2),
    ROW(init_pkey_5),
    ROW(posts_in_reset),
    ROW(posts_in_init),
    ROW(posts_in_rtr),
    ROW(posts_in_err),
    ROW(posts_in_err_rc),
    ROW(posts_in_err_ud),
    ROW(recv_queue_full),
    ROW(send_queue_full),
    ROW(too_many_sges),
    ROW(mr_good),
    ROW(mr_bad_lengths),
    ROW(mr_bad_access),
    ROW(mr_other_access),
    ROW(mr_relaxed),
    ROW(mr_bad_memory),
    ROW(dereg_under_receive),
    ROW(send_bogus_key),
    ROW(send_dead_key),
    ROW(send_outside),
    ROW(send_bogus_key_rc),
    ROW(send_outside_rc),
    ROW(send_bogus_key_ud),
    ROW(recv_bogus_key),
    ROW(recv_read_only),
    ROW(recv_outside),
    ROW(recv_bogus_key_rc),
    ROW(recv_read_only_rc),
    ROW(foreign_domain),
    ROW(uc_message),
    ROW(rc_message),
    ROW(ud_message),
    ROW(uc_empty_message),
    ROW(uc_too_long),
    ROW(rc_too_long),
    ROW(ud_too_long_for_receive),
    ROW(ud_above_mtu),
    ROW(uc_many_packets),
    ROW(uc_no_receive),
    ROW(rc_no_receive),
    ROW(ud_no_receive),
    ROW(uc_peer_in_init),
    ROW(rc_peer_in_init),
    ROW(uc_peer_destroyed),
    ROW(rc_peer_destroyed),
    ROW(uc_peer_absent),
    ROW(rc_peer_absent),
    ROW(uc_to_itself),
    ROW(uc_write),
    ROW(uc_write_bad_key),
    ROW(uc_write_imm),
    ROW(uc_read),
    ROW(uc_atomic),
    ROW(rc_write),
    ROW(rc_write_bad_key),
    ROW(rc_write_imm),
    ROW(rc_read),
    ROW(rc_read_bad_key),
    ROW(rc_fetch_add),
    ROW(rc_cmp_swap),
    ROW(rc_atomic_unaligned),
    ROW(ud_write),
    ROW(ud_wrong_qkey),
    ROW(ud_nobody),
    ROW(ah_errors),
    ROW(inline_send),
    ROW(unsignalled),
    ROW(sig_all),
    ROW(error_flushes),
    ROW(reset_forgets),
    ROW(srq_sizes),
    ROW(srq_messages),
    ROW(srq_limit),
    ROW(srq_overflow),
    ROW(srq_resize),
    ROW(mw_types),
    ROW(mw_bind),
    ROW(memlock),
};
#define ROWS ((int)(sizeof(rows) / sizeof(rows[0])))

bool row_name(int n, const char **name)
{
    if (n < 0 || n >= ROWS)
        return false;
    *name = rows[n].name;
    return true;
}

void row_run(int n, struct bench *bench)
{
    rows[n].run(bench);
}
