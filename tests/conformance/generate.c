/*
 * Sequences made up from a seed. Each has a theme, so that most of its calls
 * get somewhere; what is drawn never depends on what a device answered, so
 * both devices are asked the same.
 */
#include "bench.h"

#include <stdio.h>

#define CALLS_MOST 14
#define QUEUES 3

enum theme {
    THEME_REGIONS,
    THEME_QUEUES,
    THEME_STATES,
    THEME_UC,
    THEME_RC,
    THEME_UD,
    THEME_ONE_SIDED,
    THEME_SHARED,
    THEME_TEARDOWN,
    THEME_COUNT
};

static const char *const theme_words[THEME_COUNT] = {
    "regions", "queues",    "states", "uc",      "rc",
    "ud",      "one-sided", "shared", "teardown"};

/* xorshift: no libc, the same everywhere. */
static uint64_t dice;

static uint32_t below(uint32_t limit)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (uint32_t)((dice >> 16) % limit);
}

/* One time in so many. */
static bool seldom(uint32_t often)
{
    return below(often) == 0;
}

#define PICK(array) array[below(sizeof(array) / sizeof((array)[0]))]

static enum theme theme_of(int n)
{
    return (enum theme)(n % THEME_COUNT);
}

void generated_name(int n, char *name, size_t size)
{
    snprintf(name, size, "%s-%d", theme_words[theme_of(n)], n / THEME_COUNT);
}

static void any_region(struct bench *bench)
{
    static const size_t lengths[] = {1,    64,   100,   4095, 4096,
                                     4097, 8192, 65536, 0};
    static const size_t offsets[] = {0, 1, 8, 100, 4096, 5000};
    static const int accesses[] = {0, 1, 1, 3, 5, 7, 9, 15, 2, 4, 8, 16, 17};
    enum place place = seldom(5) ? (enum place)below(PLACE_COUNT) : PLACE_ARENA;
    size_t offset = place == PLACE_ARENA ? PICK(offsets) : 0;
    size_t length = PICK(lengths);
    int access = PICK(accesses);
    int mr = (int)below(PLACES);

    if (place != PLACE_ARENA)
        length = 4096 + 4096 * below(2);
    else if (offset + length > ARENA)
        length = ARENA - offset;
    if (bench->mr[mr])
        act_dereg_mr(bench, mr);
    else
        act_reg_mr(bench, mr, (int)below(2), place, offset, length, access);
}

static void regions(struct bench *bench)
{
    act_alloc_pd(bench, 1, 0);
    for (uint32_t i = 4 + below(CALLS_MOST - 4); i > 0; i--)
        any_region(bench);
    act_dealloc_pd(bench, (int)below(2));
}

static struct queue_wish any_wish(void)
{
    static const int types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
    static const uint32_t depths[] = {0, 1, 2, 3, 5, 8, 16, 33, 64, 1000};
    static const uint32_t sges[] = {0, 1, 2, 3, 4, 5, 16, 32, 33};
    static const uint32_t inlines[] = {0, 0, 0, 8, 33, 100, 512, 600};
    struct queue_wish wish = usual_wish(PICK(types));

    wish.send_cq = (int)below(3);
    wish.recv_cq = (int)below(3);
    wish.send_wr = PICK(depths);
    wish.recv_wr = PICK(depths);
    wish.send_sge = PICK(sges);
    wish.recv_sge = PICK(sges);
    wish.inline_bytes = PICK(inlines);
    wish.sig_all = (int)below(2);
    return wish;
}

static void queues(struct bench *bench)
{
    static const int entries[] = {1, 2, 5, 16, 17, 300, 0};

    act_create_cq(bench, 2, 0, PICK(entries), 0, false);
    for (uint32_t i = 3 + below(6); i > 0; i--) {
        struct queue_wish wish = any_wish();
        int qp = (int)below(PLACES);

        if (seldom(4)) {
            act_resize_cq(bench, (int)below(3), PICK(entries));
        } else if (bench->qp[qp]) {
            act_query_qp(bench, qp);
            act_destroy_qp(bench, qp);
        } else {
            act_create_qp(bench, qp, &wish);
        }
    }
}

static struct move any_move(void)
{
    /* mostly the way up, so that something is reached */
    static const int states[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_INIT,
                                 IBV_QPS_RTR,   IBV_QPS_RTR,  IBV_QPS_RTS,
                                 IBV_QPS_RTS,   IBV_QPS_ERR,  IBV_QPS_SQD};
    static const int bits[] = {IBV_QP_ACCESS_FLAGS, IBV_QP_PKEY_INDEX,
                               IBV_QP_PORT,         IBV_QP_QKEY,
                               IBV_QP_AV,           IBV_QP_PATH_MTU,
                               IBV_QP_TIMEOUT,      IBV_QP_RETRY_CNT,
                               IBV_QP_RNR_RETRY,    IBV_QP_RQ_PSN,
                               IBV_QP_SQ_PSN,       IBV_QP_MAX_QP_RD_ATOMIC,
                               IBV_QP_ALT_PATH,     IBV_QP_MIN_RNR_TIMER,
                               IBV_QP_CUR_STATE,    IBV_QP_MAX_DEST_RD_ATOMIC,
                               IBV_QP_DEST_QPN,     IBV_QP_PATH_MIG_STATE};
    struct move move = usual_move(PICK(states), (int)below(2));

    if (seldom(5))
        move.add = PICK(bits);
    if (seldom(8))
        move.drop = PICK(bits);
    if (seldom(12))
        move.port = (int)below(3);
    if (seldom(12))
        move.mtu = (int)below(7);
    if (seldom(12))
        move.sgid_index = (int)below(4);
    if (seldom(16))
        move.global = false;
    if (seldom(16))
        move.zero_gid = true;
    if (seldom(16))
        move.rd_atomic = (int)below(200);
    if (seldom(16))
        move.peer = NOBODY;
    return move;
}

static void small_work(struct bench *bench, int qp, bool receive)
{
    struct work work = usual_work(IBV_WR_SEND);

    if (receive) {
        work.offset = 16384 + 256 * bench->next_work;
        work.length = 128;
        act_post_recv(bench, qp, &work);
    } else {
        act_post_send(bench, qp, &work);
    }
}

static void states(struct bench *bench)
{
    static const int types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UC, IBV_QPT_UD};
    int type = PICK(types);
    struct queue_wish wish = usual_wish(type);

    act_create_qp(bench, 0, &wish);
    act_create_qp(bench, 1, &wish);
    if (type == IBV_QPT_UD)
        act_create_ah(bench, 0, 0, 0, 1, true, 1);
    for (uint32_t i = 6 + below(CALLS_MOST - 6); i > 0; i--) {
        struct move move = any_move();

        if (seldom(6))
            small_work(bench, 0, below(2));
        else
            act_modify_qp(bench, 0, &move);
    }
    act_query_qp(bench, 0);
    act_drain_sends(bench, 0);
    act_drain(bench, 1);
}

static enum key any_key(void)
{
    return seldom(10) ? (enum key)(1 + below(KEY_COUNT - 1)) : KEY_GOOD;
}

static void any_recv(struct bench *bench, int qp)
{
    static const uint32_t lengths[] = {0, 1, 64, 64, 128, 300, 2048, 4096};
    struct work work = usual_work(IBV_WR_SEND);

    work.length = PICK(lengths);
    work.offset = 16384 + 4096 * below(4);
    work.key = any_key();
    work.count = seldom(4) ? 1 + (int)below(3) : 1;
    work.sges = seldom(6) ? 1 + (int)below(3) : 1;
    if (seldom(20))
        work.offset = ARENA - 100;
    act_post_recv(bench, qp, &work);
}

static void any_send(struct bench *bench, int qp, const int *opcodes,
                     uint32_t count)
{
    static const uint32_t lengths[] = {0, 1, 64, 64, 64, 100, 1024, 1025, 3000};
    struct work work = usual_work(opcodes[below(count)]);

    work.length = PICK(lengths);
    work.offset = 64 * below(16);
    work.key = any_key();
    work.remote_key = any_key();
    work.remote_offset = 32768 + 4096 * below(4);
    work.count = seldom(6) ? 1 + (int)below(4) : 1;
    work.sges = seldom(6) ? 1 + (int)below(3) : 1;
    work.peer = 1 - qp;
    if (seldom(12))
        work.flags |= IBV_SEND_SOLICITED;
    if (seldom(12))
        work.offset = ARENA - 32;
    if (seldom(12))
        work.remote_offset = ARENA - 32;
    /* One packet: of more, the first ones would be written before the last one
     * finds that it has no receive (rows.c: *_write_imm_long). */
    if (work.opcode == IBV_WR_RDMA_WRITE_WITH_IMM && work.length > 1024)
        work.length = 1024;
    if (work.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
        work.opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
        work.length = 8;
        work.sges = 1;
    }
    act_post_send(bench, qp, &work);
}

/* One after the other: what overlaps may come in any order. */
static void settle(struct bench *bench)
{
    act_drain_sends(bench, 0);
    act_drain(bench, 1);
}

static void traffic(struct bench *bench, int type, const int *opcodes,
                    uint32_t count)
{
    struct queue_wish wish = usual_wish(type);

    wish.send_wr = 8;
    wish.recv_wr = 8;
    act_create_qp(bench, 0, &wish);
    act_create_qp(bench, 1, &wish);
    act_connect(bench, 0, 1);
    act_connect(bench, 1, 0);
    if (type == IBV_QPT_UD)
        act_create_ah(bench, 0, 0, 0, 1, true, 1);
    if (seldom(2)) {
        act_reg_mr(bench, 1, 0, PLACE_ARENA, 0, ARENA, 7);
        act_dereg_mr(bench, 1);
    }
    for (uint32_t i = 3 + below(4); i > 0; i--) {
        for (uint32_t more = below(3); more > 0; more--)
            any_recv(bench, 1);
        if (seldom(4))
            any_recv(bench, 0);
        any_send(bench, seldom(4) ? 1 : 0, opcodes, count);
        settle(bench);
    }
    act_query_qp(bench, 0);
    act_query_qp(bench, 1);
    act_memory(bench);
}

static void shared(struct bench *bench)
{
    static const int opcodes[] = {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM};
    static const int types[] = {IBV_QPT_RC, IBV_QPT_UC};
    static const uint32_t sizes[] = {1, 2, 4, 5, 16};
    struct queue_wish wish = usual_wish(PICK(types));

    act_create_srq(bench, 0, 0, PICK(sizes), 1 + below(3));
    wish.srq = 0;
    act_create_qp(bench, 0, &wish);
    act_create_qp(bench, 1, &wish);
    act_connect(bench, 0, 1);
    act_connect(bench, 1, 0);
    for (uint32_t i = 3 + below(4); i > 0; i--) {
        struct work work = usual_work(IBV_WR_SEND);

        work.offset = 16384 + 4096 * below(4);
        work.length = 4096;
        work.count = 1 + (int)below(3);
        act_post_srq(bench, 0, &work);
        if (seldom(3))
            act_modify_srq(bench, 0, 0, below(6), IBV_SRQ_LIMIT);
        any_send(bench, (int)below(2), opcodes, 2);
        settle(bench);
    }
    act_query_srq(bench, 0);
    act_memory(bench);
}

static void release_one(struct bench *bench)
{
    int place = (int)below(2);

    switch (below(8)) {
    case 0:
        act_dealloc_pd(bench, place);
        break;
    case 1:
        act_dereg_mr(bench, place);
        break;
    case 2:
    case 3:
        act_destroy_qp(bench, place);
        break;
    case 4:
    case 5:
        act_destroy_cq(bench, place);
        break;
    case 6:
        act_destroy_ah(bench, 0);
        break;
    default:
        act_dealloc_mw(bench, 0);
        break;
    }
}

static void teardown(struct bench *bench)
{
    static const int types[] = {IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD};
    struct queue_wish wish = usual_wish(PICK(types));

    act_alloc_pd(bench, 1, 0);
    act_reg_mr(bench, 1, (int)below(2), PLACE_ARENA, 0, 4096, 1);
    act_create_qp(bench, 0, &wish);
    wish.pd = (int)below(2);
    wish.send_cq = (int)below(2);
    act_create_qp(bench, 1, &wish);
    act_create_ah(bench, 0, (int)below(2), 0, 1, true, 1);
    act_alloc_mw(bench, 0, (int)below(2), IBV_MW_TYPE_1);
    if (seldom(2))
        act_connect(bench, 0, 1);
    if (seldom(2))
        small_work(bench, 0, true);
    for (uint32_t i = 8 + below(12); i > 0; i--)
        release_one(bench);
}

void generated_run(int n, struct bench *bench)
{
    static const int sends[] = {IBV_WR_SEND, IBV_WR_SEND, IBV_WR_SEND_WITH_IMM,
                                IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM};
    static const int remotes[] = {
        IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE_WITH_IMM,
        IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP};

    dice = UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(n + 1);
    for (int i = 0; i < 8; i++)
        below(2);
    bench_start(bench);
    switch (theme_of(n)) {
    case THEME_REGIONS:
        regions(bench);
        break;
    case THEME_QUEUES:
        queues(bench);
        break;
    case THEME_STATES:
        states(bench);
        break;
    case THEME_UC:
        traffic(bench, IBV_QPT_UC, sends, 5);
        break;
    case THEME_RC:
        traffic(bench, IBV_QPT_RC, sends, 5);
        break;
    case THEME_UD:
        traffic(bench, IBV_QPT_UD, sends, 3);
        break;
    case THEME_ONE_SIDED:
        traffic(bench, IBV_QPT_RC, remotes, 5);
        break;
    case THEME_SHARED:
        shared(bench);
        break;
    default:
        teardown(bench);
        break;
    }
    act_events(bench, 0);
}
