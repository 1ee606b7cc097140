/*
 * Collectives over fake devices when a device or a rank does what it should
 * not: an error, never wrong data or a hang. (cjaccl_operations.c has what they
 * do when all is well.)
 */
#include "cjaccl_ranks.h"
#include "thinned.h"

#include "cjaccl/src/defaults.h"
#include "cjaccl/src/reduce.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct ranks ranks;

/* What the ranks do, and what went wrong on them. */
static struct {
    enum cj_type type;
    size_t count;
    bool in_place;
    int times;
} plan;
static bool wrong[CJ_MAX_MESH_RANKS];

static void expect_text(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

/* Element i of a rank: small, of both signs, and no two alike for long. */
static void set_element(unsigned char *data, enum cj_type type, size_t i,
                        int rank)
{
    int value = (int)((i * 7 + (size_t)rank * 13) % 41) - 20;
    size_t size = cj_type_size(type);
    /* Not exact, so that the order of additions shows in the bits. */
    float real = (float)value * 0.1f + 0.01f;

    if (type == CJ_FLOAT16 || type == CJ_BFLOAT16) {
        uint16_t bits = type == CJ_FLOAT16 ? cji_half_from_float(real)
                                           : cji_bfloat_from_float(real);

        memcpy(data + i * size, &bits, size);
    } else if (type == CJ_FLOAT32) {
        memcpy(data + i * size, &real, size);
    } else if (type == CJ_COMPLEX64) {
        float pair[2] = {real, -2 * real};

        memcpy(data + i * size, pair, size);
    } else if (type == CJ_FLOAT64) {
        double wide = value * 0.1 + 0.01;

        memcpy(data + i * size, &wide, size);
    } else {
        int64_t whole = type == CJ_BOOL ? value > 14 : value;

        /* Two's complement: a narrower integer is the lower bytes. */
        for (size_t b = 0; b < size; b++)
            data[i * size + b] = (unsigned char)((uint64_t)whole >> (8 * b));
    }
}

static void set_all(unsigned char *data, int rank)
{
    for (size_t i = 0; i < plan.count; i++)
        set_element(data, plan.type, i, rank);
}

/* The sum of all ranks, added in their order. */
static void set_expected(unsigned char *sum, int size)
{
    size_t bytes = plan.count * cj_type_size(plan.type);
    unsigned char *data = malloc(bytes + 1);

    set_all(sum, 0);
    for (int rank = 1; rank < size; rank++) {
        set_all(data, rank);
        cji_reduce(CJI_SUM, plan.type, data, sum, plan.count);
    }
    free(data);
}

static void sum_and_compare(struct rank *rank)
{
    size_t bytes = plan.count * cj_type_size(plan.type);
    unsigned char *in = calloc(1, bytes + 1);
    unsigned char *out = plan.in_place ? in : malloc(bytes + 1);
    unsigned char *expected = malloc(bytes + 1);

    wrong[rank->number] = false;
    set_expected(expected, rank->all->size);
    for (int i = 0; i < plan.times && rank->status == CJ_OK; i++) {
        out[bytes] = 0x77;
        set_all(in, rank->number);
        rank->status = cj_all_sum(rank->group, in, out, plan.count, plan.type,
                                  &rank->error);
        if (rank->status == CJ_OK &&
            (memcmp(out, expected, bytes) != 0 || out[bytes] != 0x77))
            wrong[rank->number] = true;
    }
    free(expected);
    if (!plan.in_place)
        free(out);
    free(in);
}

static void barrier(struct rank *rank)
{
    rank->status = cj_barrier(rank->group, &rank->error);
}

static void start(int size)
{
    ranks_init(&ranks, size);
    ranks_start(&ranks);
    for (int i = 0; i < size; i++) {
        if (ranks.rank[i].status != CJ_OK)
            fail_msg("rank %d: %s", i, ranks.rank[i].error.message);
    }
}

static void finish(void)
{
    ranks_finish(&ranks);
    for (int i = 0; i < ranks.size; i++)
        assert_int_equal(ranks.rank[i].machine.alive, 0);
}

static void run(enum cj_type type, size_t count, bool in_place, int times)
{
    plan.type = type;
    plan.count = count;
    plan.in_place = in_place;
    plan.times = times;
    ranks_run(&ranks, sum_and_compare);
}

static void run_exactly(enum cj_type type, size_t count, bool in_place)
{
    run(type, count, in_place, 1);
    for (int i = 0; i < ranks.size; i++) {
        if (ranks.rank[i].status != CJ_OK)
            fail_msg("rank %d: %s", i, ranks.rank[i].error.message);
        if (wrong[i])
            fail_msg("rank %d of %d: wrong sum of %zu of type %d", i,
                     ranks.size, count, (int)type);
    }
}

/* Around every border: frames, classes, the two algorithms, uneven parts. */
static const size_t sizes[] = {0,     1,     2,      7,      4095,    4096,
                               4097,  8191,  8192,   8193,   32767,   32768,
                               32769, 65537, 131072, 262145, 1048577, 2200001};
#define SIZES (sizeof sizes / sizeof *sizes)

static void sums_of_all_sizes_are_exact(void **state)
{
    (void)state;
    for (int size = 2; size <= CJ_MAX_MESH_RANKS; size += size == 4 ? 4 : 1) {
        start(size);
        for (size_t i = 0; i < SIZES; i++) {
            if (is_left_out((size_t)size, 0, i))
                continue;
            if (i % 2 == 0 || size == 3)
                run_exactly(CJ_UINT8, sizes[i], false);
            if (i % 2 == 1 || size == 3)
                run_exactly(CJ_FLOAT32, sizes[i] / 4, i % 4 == 1);
        }
        finish();
    }
}

static void sums_of_all_types_are_exact(void **state)
{
    (void)state;
    for (int size = 2; size <= 3; size++) {
        start(size);
        for (int type = 0; type < CJ_TYPE_COUNT; type++) {
            if (is_left_out((size_t)size, 0, (size_t)type))
                continue;
            run_exactly((enum cj_type)type, 1, false);
            run_exactly((enum cj_type)type, 1000, true);
            run_exactly((enum cj_type)type, 20011, false);
            run_exactly((enum cj_type)type, 20011, true);
        }
        finish();
    }
}

/* A10: one operation's late messages are not the next one's. */
static void operations_follow_each_other(void **state)
{
    (void)state;
    start(3);
    run(CJ_INT32, 300, false, 200);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ranks.rank[i].status, CJ_OK);
        assert_false(wrong[i]);
    }
    run_exactly(CJ_INT32, 30000, false);
    run_exactly(CJ_INT32, 3, false);
    ranks_run(&ranks, barrier);
    for (int i = 0; i < 3; i++)
        assert_int_equal(ranks.rank[i].status, CJ_OK);
    finish();
}

/* A7: a device that drops what finds no receive gets nothing to drop. */
static void no_send_meets_an_unposted_receive(void **state)
{
    (void)state;
    for (int size = 2; size <= 4; size++) {
        ranks_init(&ranks, size);
        for (int i = 0; i < size; i++) {
            ranks.rank[i].machine.drops = true;
            /* One is enough for all to do it. */
            ranks.rank[i].machine.transport = i == 1 ? 0 : 100;
        }
        ranks_start(&ranks);
        for (size_t i = 0; i < SIZES; i++)
            if (!is_left_out((size_t)size, 1, i))
                run_exactly(CJ_UINT8, sizes[i], false);
        for (int i = 0; i < size; i++)
            assert_int_equal(ranks.rank[i].machine.lost, 0);
        finish();
    }
}

/* A queue that holds one of the largest messages only. */
static void a_shallow_queue_is_respected(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        ranks_init(&ranks, 2);
        ranks.rank[1].machine.depth = 128;
        ranks.rank[1].machine.late_sends = late != 0;
        ranks_start(&ranks);
        run_exactly(CJ_UINT8, 2200001, false);
        finish();
    }
}

/* Where messages are lost, one receive for data and one for a note have to fit.
 */
static void a_queue_of_one_message_is_refused(void **state)
{
    (void)state;
    ranks_init(&ranks, 2);
    for (int i = 0; i < 2; i++)
        ranks.rank[i].machine.transport = 0;
    ranks.rank[1].machine.depth = 1;
    ranks_start(&ranks);
    assert_int_equal(ranks.rank[1].status, CJ_VERBS);
    expect_text(ranks.rank[1].error.message, "a queue of depth 1");
    assert_int_not_equal(ranks.rank[0].status, CJ_OK);
    ranks_finish(&ranks);
    for (int i = 0; i < 2; i++)
        assert_int_equal(ranks.rank[i].machine.alive, 0);
}

/* The others hear it from a connection that closes, not from a deadline. */
static void expect_others_heard(void)
{
    for (int i = 0; i < ranks.size; i++) {
        const struct rank *rank = &ranks.rank[i];

        if (i == 1)
            continue;
        if (rank->status != CJ_GROUP_FAILED)
            assert_int_equal(rank->status, CJ_PEER_GONE);
        assert_int_equal(rank->error.peer, 1);
        expect_text(rank->error.message, "rank 1 failed, in all_sum");
    }
}

/*
 * After a fault on rank 1: it tells its own error, and refuses to go on. The
 * others fail too, in this operation or, when they had all they needed, in the
 * next one.
 */
static void expect_failure(enum cj_status code, const char *part)
{
    const struct rank *rank = &ranks.rank[1];

    assert_int_equal(rank->status, code);
    assert_int_equal(rank->error.code, code);
    assert_int_equal(rank->error.step, CJ_STEP_ALL_SUM);
    expect_text(rank->error.message, part);
    for (int i = 0; i < ranks.size; i++)
        assert_false(wrong[i]);
    ranks_run(&ranks, barrier);
    expect_others_heard();
    assert_int_equal(rank->status, CJ_GROUP_FAILED);
    expect_text(rank->error.message, "failed earlier, in all_sum");
    expect_text(rank->error.message, part);
    finish();
}

/* A1, A3, A6 */
static const struct {
    const char *verb;
    int err_no;
    enum ibv_wc_status wc_status;
    enum cj_status code;
    const char *part;
} faults[] = {
    {"completion", 0, IBV_WC_LOC_LEN_ERR, CJ_COMPLETION, "local length (1)"},
    {"completion", 0, IBV_WC_WR_FLUSH_ERR, CJ_COMPLETION, "flushed (5)"},
    {"completion", 0, (enum ibv_wc_status)77, CJ_COMPLETION, "status (77)"},
    {"garbled", 0, 0, CJ_COMPLETION, "not outstanding"},
    {"duplicate", 0, 0, CJ_COMPLETION, "not outstanding"},
    {"poll_cq", 0, 0, CJ_COMPLETION, "completion queue"},
    {"post_send", ENOMEM, 0, CJ_VERBS, "ENOMEM (12)"},
    {"post_recv", EIO, 0, CJ_VERBS, "EIO"},
    {"post_send", -ENOMEM, 0, CJ_VERBS, "ENOMEM (12)"},
    {"post_send", -1, 0, CJ_VERBS, "EIO"},
    {"post_recv", -ENOMEM, 0, CJ_VERBS, "ENOMEM (12)"},
    {"post_recv", -1, 0, CJ_VERBS, "EIO"},
};

static void every_failing_operation_is_an_error_everywhere(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct fake_machine *machine = &ranks.rank[1].machine;

        start(3);
        machine->fail_verb = faults[i].verb;
        machine->fail_call = 3;
        machine->fail_errno = faults[i].err_no;
        machine->fail_status = faults[i].wc_status;
        run(CJ_UINT8, 3000000, false, 1);
        expect_failure(faults[i].code, faults[i].part);
    }
}

static void a_message_of_another_length_is_an_error(void **state)
{
    struct fake_machine *machine = &ranks.rank[1].machine;

    (void)state;
    start(2);
    machine->fail_verb = "length";
    machine->fail_call = 2;
    run(CJ_UINT8, 100000, false, 1);
    expect_failure(CJ_PROTOCOL, "no message of cjaccl");
}

/* A2: the message of rank 0 disappears, and rank 1 waits for it. */
static void a_lost_message_ends_at_the_deadline(void **state)
{
    (void)state;
    ranks_init(&ranks, 2);
    ranks.rank[1].config.operation_timeout_ns = RANKS_SECOND / 2;
    ranks_start(&ranks);
    ranks.rank[0].machine.fail_verb = "vanish";
    ranks.rank[0].machine.fail_call = 1;
    run(CJ_UINT8, 100, false, 1);
    assert_int_equal(ranks.rank[1].error.peer, 0);
    expect_failure(CJ_TIMEOUT, "nothing came from rank 0");
}

/* Rank 0 pauses whenever it has to wait. */
static int slow_idle(void *ctx, int64_t until_ns, unsigned round)
{
    if (round == 0)
        cji_default_clock.sleep(ctx, cji_default_clock.now_ns(ctx) +
                                         RANKS_SECOND / 10);
    return cji_default_clock.idle(ctx, until_ns, round);
}

static int64_t slow_transfer;

static void send_or_recv_slowly(struct rank *rank)
{
    static unsigned char bytes[2][8000000];
    int64_t before = cji_default_clock.now_ns(NULL);

    if (rank->number == 0) {
        rank->status =
            cj_send(rank->group, bytes[0], sizeof bytes[0], 1, &rank->error);
        return;
    }
    rank->status =
        cj_recv(rank->group, bytes[1], sizeof bytes[1], 0, &rank->error);
    slow_transfer = cji_default_clock.now_ns(NULL) - before;
}

static void what_moves_has_no_deadline(void **state)
{
    struct cj_clock clock = cji_default_clock;

    (void)state;
    clock.idle = slow_idle;
    ranks_init(&ranks, 2);
    ranks.rank[0].config.clock = &clock;
    ranks.rank[0].config.net = &cji_default_net;
    ranks.rank[1].config.operation_timeout_ns = RANKS_SECOND * 4 / 10;
    for (int i = 0; i < 2; i++)
        ranks.rank[i].machine.transport = 0;
    ranks_start(&ranks);
    ranks_run(&ranks, send_or_recv_slowly);
    for (int i = 0; i < 2; i++)
        assert_string_equal(
            ranks.rank[i].status == CJ_OK ? "" : ranks.rank[i].error.message,
            "");
    assert_true(slow_transfer > RANKS_SECOND * 8 / 10);
    finish();
}

/*
 * Rank 1 is stopped in its wait until rank 0 has finished, and for longer than
 * its deadline: what it waited for is here all the same.
 */
static struct {
    atomic_bool stopped;
    atomic_bool rank_0_is_through;
    atomic_llong skipped;
    int64_t until;
} stop;

static int64_t skipping_now(void *ctx)
{
    (void)ctx;
    return cji_default_clock.now_ns(NULL) + atomic_load(&stop.skipped);
}

static int stopping_idle(void *ctx, int64_t until_ns, unsigned round)
{
    (void)ctx;
    (void)round;
    stop.until = until_ns;
    atomic_store(&stop.stopped, true);
    while (!atomic_load(&stop.rank_0_is_through))
        (void)sched_yield();
    atomic_store(&stop.skipped, until_ns);
    return 1;
}

static void stop_or_sum(struct rank *rank)
{
    while (rank->number == 0 && !atomic_load(&stop.stopped))
        (void)sched_yield();
    sum_and_compare(rank);
    if (rank->number == 0)
        atomic_store(&stop.rank_0_is_through, true);
}

static void what_came_before_the_deadline_was_noticed_counts(void **state)
{
    struct cj_clock clock = cji_default_clock;
    int64_t before;

    (void)state;
    clock.now_ns = skipping_now;
    clock.idle = stopping_idle;
    ranks_init(&ranks, 2);
    ranks.rank[1].config.clock = &clock;
    ranks.rank[1].config.net = &cji_default_net;
    ranks.rank[1].config.operation_timeout_ns = 0;
    ranks_start(&ranks);
    plan.type = CJ_UINT8;
    plan.count = 100;
    plan.in_place = false;
    plan.times = 1;
    before = cji_default_clock.now_ns(NULL);
    ranks_run(&ranks, stop_or_sum);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ranks.rank[i].status, CJ_OK);
        assert_false(wrong[i]);
    }
    /* The deadline is the one that is promised where none was given. */
    assert_in_range(stop.until, before + 600 * RANKS_SECOND,
                    before + 601 * RANKS_SECOND);
    finish();
}

static void leave_or_sum(struct rank *rank)
{
    if (rank->number != 2) {
        sum_and_compare(rank);
        return;
    }
    wrong[2] = false;
    rank->status = cj_finalize(rank->group, &rank->error);
    rank->group = NULL;
}

/* A4 */
static void a_rank_that_leaves_is_an_error_on_the_others(void **state)
{
    (void)state;
    for (int transport = 0; transport <= 100; transport += 100) {
        ranks_init(&ranks, 3);
        for (int i = 0; i < 3; i++)
            ranks.rank[i].machine.transport = transport;
        ranks_start(&ranks);
        plan.type = CJ_UINT8;
        plan.count = 100000;
        plan.in_place = false;
        plan.times = 1;
        ranks_run(&ranks, leave_or_sum);
        assert_int_equal(ranks.rank[0].status, CJ_PEER_GONE);
        assert_int_equal(ranks.rank[0].error.peer, 2);
        assert_int_equal(ranks.rank[1].status, CJ_PEER_GONE);
        assert_int_equal(ranks.rank[2].status, CJ_OK);
        finish();
    }
}

/* Rank 0 makes one of these calls, rank 1 another. */
static struct {
    unsigned call[2];
} calls;

static int call(struct rank *rank, unsigned number)
{
    static unsigned char data[2][300000];
    unsigned char *out = data[rank->number];
    struct cj_group *group = rank->group;
    struct cj_error *error = &rank->error;
    int peer = 1 - rank->number;

    switch (number) {
    case 0:
        return cj_all_sum(group, out, out, 64, CJ_UINT8, error);
    case 1:
        return cj_all_sum(group, out, out, 16, CJ_FLOAT32, error);
    case 2:
        return cj_all_max(group, out, out, 64, CJ_UINT8, error);
    case 3:
        return cj_barrier(group, error);
    case 4:
        return cj_all_gather(group, out, out + 64, 32, error);
    case 5:
        return cj_sum_scatter(group, out, out + 200, 64, CJ_UINT8, error);
    case 6:
        return cj_all_sum(group, out, out, 100000, CJ_UINT8, error);
    case 7:
        return rank->number == 0 ? cj_send(group, out, 64, peer, error)
                                 : cj_recv(group, out, 64, peer, error);
    default:
        return rank->number == 0 ? cj_send(group, out, 300000, peer, error)
                                 : cj_recv(group, out, 300000, peer, error);
    }
}
#define CALLS 9

static void make_calls(struct rank *rank)
{
    rank->status = call(rank, calls.call[rank->number]);
    /* Rank 0 may be through with a send that nobody has taken. */
    if (rank->status == CJ_OK && rank->number == 0)
        rank->status = cj_barrier(rank->group, &rank->error);
}

static void run_different_calls(int transport)
{
    int noticed = 0;
    int failed = 0;

    ranks_init(&ranks, 2);
    for (int i = 0; i < 2; i++)
        ranks.rank[i].machine.transport = transport;
    ranks_start(&ranks);
    ranks_run(&ranks, make_calls);
    for (int i = 0; i < 2; i++) {
        const struct rank *rank = &ranks.rank[i];

        if (rank->status == CJ_TIMEOUT)
            fail_msg("calls %u and %u, rank %d: %s", calls.call[0],
                     calls.call[1], i, rank->error.message);
        noticed += rank->status == CJ_PROTOCOL;
        failed += rank->status != CJ_OK;
        if (rank->status == CJ_PROTOCOL)
            expect_text(rank->error.message, "another operation");
    }
    /* Frames of another number are noticed by the device. */
    assert_true(transport == 100 ? failed > 0 : noticed > 0);
    finish();
}

static void different_calls_are_noticed(void **state)
{
    (void)state;
    for (int transport = 0; transport <= 100; transport += 100) {
        for (unsigned i = 0; i < CALLS * CALLS; i++) {
            calls.call[0] = i % CALLS;
            calls.call[1] = i / CALLS;
            if (calls.call[0] != calls.call[1])
                run_different_calls(transport);
        }
    }
}

/* What becomes of a message on its way from rank 0 to rank 1. */
static const struct {
    const char *what;
    int call;
    const char *part;
} ways[] = {
    {"vanish", 1, "1 message of rank 0 was lost"},
    {"vanish", 2, "1 message of rank 0 was lost"},
    {"twice", 1, "a stale message of rank 0"},
    {"twice", 2, "a stale message of rank 0"},
    {"scribble", 1, "no message of cjaccl"},
};

/* Rank 1 is ready first, so that an echo finds a receive. */
static atomic_bool rank_1_waits;

static int telling_idle(void *ctx, int64_t until_ns, unsigned round)
{
    (void)ctx;
    atomic_store(&rank_1_waits, true);
    return cji_default_clock.idle(NULL, until_ns, round);
}

static void send_or_recv(struct rank *rank)
{
    static unsigned char data[2][327680];

    if (rank->number == 1) {
        rank->status = cj_recv(rank->group, data[1], 327680, 0, &rank->error);
        return;
    }
    while (!atomic_load(&rank_1_waits))
        (void)sched_yield();
    rank->status = cj_send(rank->group, data[0], 327680, 1, &rank->error);
}

static void lost_and_stale_messages_are_told_apart(void **state)
{
    struct cj_clock clock = cji_default_clock;

    (void)state;
    clock.idle = telling_idle;
    for (size_t i = 0; i < 2 * sizeof ways / sizeof *ways; i++) {
        size_t way = i / 2;

        ranks_init(&ranks, 2);
        ranks.rank[1].config.clock = &clock;
        ranks.rank[1].config.net = &cji_default_net;
        for (int r = 0; r < 2; r++)
            ranks.rank[r].machine.transport = i % 2 == 0 ? 0 : 100;
        ranks_start(&ranks);
        atomic_store(&rank_1_waits, false);
        ranks.rank[0].machine.fail_verb = ways[way].what;
        ranks.rank[0].machine.fail_call = ways[way].call;
        ranks_run(&ranks, send_or_recv);
        expect_text(ranks.rank[1].error.message, ways[way].part);
        assert_int_equal(ranks.rank[1].status, CJ_PROTOCOL);
        assert_int_equal(ranks.rank[1].error.peer, 0);
        finish();
    }
}

static void expect_refusal(const void *in, void *out, size_t count, int type,
                           const char *part)
{
    struct cj_error error;

    assert_int_equal(cj_all_sum(ranks.rank[0].group, in, out, count,
                                (enum cj_type)type, &error),
                     CJ_INVALID);
    assert_int_equal(error.step, CJ_STEP_ALL_SUM);
    expect_text(error.message, part);
}

static void wrong_arguments_are_refused_and_do_no_harm(void **state)
{
    _Alignas(8) unsigned char bytes[64];

    (void)state;
    start(2);
    expect_refusal(bytes, bytes, 4, CJ_TYPE_COUNT, "no such type");
    expect_refusal(bytes, bytes, 4, -1, "no such type");
    expect_refusal(NULL, bytes, 4, CJ_UINT8, "NULL");
    expect_refusal(bytes, NULL, 4, CJ_UINT8, "NULL");
    expect_refusal(bytes + 1, bytes + 32, 4, CJ_INT32, "aligned");
    expect_refusal(bytes, bytes + 34, 4, CJ_COMPLEX64, "aligned");
    expect_refusal(bytes, bytes + 4, 8, CJ_UINT8, "overlap");
    expect_refusal(bytes + 4, bytes, 8, CJ_UINT8, "overlap");
    expect_refusal(bytes, bytes, SIZE_MAX / 4, CJ_FLOAT64, "so many");
    run_exactly(CJ_UINT8, 100, false);
    finish();
}

static void expect_invalid(int status, const struct cj_error *error,
                           const char *part)
{
    assert_int_equal(status, CJ_INVALID);
    assert_int_equal(error->code, CJ_INVALID);
    expect_text(error->message, part);
}

/* A11, and every overlap that is not documented. */
static void every_operation_checks_its_arguments(void **state)
{
    static _Alignas(8) unsigned char bytes[64];
    struct cj_error error;
    struct cj_group *group;

    (void)state;
    start(3);
    group = ranks.rank[1].group;
    fake_enter(&ranks.rank[1].machine);
    expect_invalid(cj_send(group, bytes, 4, 1, &error), &error, "itself");
    expect_invalid(cj_recv(group, bytes, 4, 1, &error), &error, "itself");
    expect_invalid(cj_send(group, bytes, 4, 3, &error), &error, "no such rank");
    expect_invalid(cj_recv(group, bytes, 4, -1, &error), &error,
                   "no such rank");
    expect_invalid(cj_send(group, NULL, 4, 0, &error), &error, "NULL");
    expect_invalid(cj_send(group, bytes, SIZE_MAX, 0, &error), &error,
                   "so many");
    expect_invalid(cj_all_gather(group, bytes, bytes, 8, &error), &error,
                   "overlap");
    expect_invalid(cj_all_gather(group, bytes + 23, bytes, 8, &error), &error,
                   "overlap");
    expect_invalid(cj_all_gather(group, bytes, NULL, 8, &error), &error,
                   "NULL");
    expect_invalid(cj_all_gather(group, bytes, bytes, SIZE_MAX / 2, &error),
                   &error, "so many");
    expect_invalid(
        cj_sum_scatter(group, bytes, bytes + 16, 2, CJ_INT32, &error), &error,
        "overlap");
    expect_invalid(cj_sum_scatter(group, bytes, bytes + 2, 2, CJ_INT32, &error),
                   &error, "aligned");
    assert_int_equal(
        cj_sum_scatter(group, bytes, bytes, 2, CJ_TYPE_COUNT, NULL),
        CJ_INVALID);
    expect_invalid(
        cj_all_max(group, bytes, bytes, SIZE_MAX / 8, CJ_INT64, &error), &error,
        "so many");
    /* Nothing was sent, and nothing is empty. */
    assert_int_equal(cj_send(group, NULL, 0, 0, &error), CJ_OK);
    assert_int_equal(cj_all_gather(group, NULL, NULL, 0, &error), CJ_OK);
    assert_int_equal(cj_sum_scatter(group, NULL, NULL, 0, CJ_INT8, &error),
                     CJ_OK);
    run_exactly(CJ_UINT8, 100, false);
    finish();
}

static void null_is_refused(void **state)
{
    const struct cj_config config = {.size = 1};
    struct cj_settings settings;
    struct cj_group *group = NULL;
    struct cj_error error;
    struct cj_info info;
    char byte = 0;

    (void)state;
    expect_invalid(cj_init(NULL, &group, &error), &error, "configuration is");
    expect_invalid(cj_init(&config, NULL, &error), &error, "for the group is");
    assert_int_equal(cj_init(NULL, NULL, NULL), CJ_INVALID);
    expect_invalid(cj_all_sum(NULL, &byte, &byte, 1, CJ_INT8, &error), &error,
                   "all_sum: the group is NULL");
    expect_invalid(cj_all_max(NULL, &byte, &byte, 0, CJ_INT8, &error), &error,
                   "all_max: the group is NULL");
    expect_invalid(cj_all_min(NULL, &byte, &byte, 1, CJ_INT8, &error), &error,
                   "all_min: the group is NULL");
    expect_invalid(cj_all_gather(NULL, &byte, &byte, 1, &error), &error,
                   "all_gather: the group is NULL");
    expect_invalid(cj_sum_scatter(NULL, &byte, &byte, 1, CJ_INT8, &error),
                   &error, "sum_scatter: the group is NULL");
    expect_invalid(cj_send(NULL, &byte, 1, 0, &error), &error,
                   "send: the group is NULL");
    expect_invalid(cj_recv(NULL, &byte, 1, 0, &error), &error,
                   "recv: the group is NULL");
    expect_invalid(cj_barrier(NULL, &error), &error,
                   "barrier: the group is NULL");
    assert_int_equal(cj_barrier(NULL, NULL), CJ_INVALID);
    assert_int_equal(cj_finalize(NULL, &error), CJ_OK);
    assert_int_equal(cj_finalize(NULL, NULL), CJ_OK);
    assert_int_equal(cj_rank(NULL), -1);
    assert_int_equal(cj_size(NULL), 0);
    cj_group_info(NULL, &info);
    assert_int_equal(info.memory, 0);
    cj_group_info(NULL, NULL);
    expect_invalid(cj_settings_from_env(NULL, &error), &error, "NULL");
    expect_invalid(cj_settings_from_file(NULL, "x", 0, NULL, &error), &error,
                   "NULL");
    expect_invalid(cj_settings_from_file(&settings, NULL, 0, NULL, &error),
                   &error, "the path is NULL");
    expect_invalid(cj_settings_from_text(NULL, "", 0, "x", 0, NULL, &error),
                   &error, "NULL");
    expect_invalid(
        cj_settings_from_text(&settings, NULL, 9, "x", 0, NULL, NULL) ==
                CJ_INVALID
            ? cj_settings_from_text(&settings, NULL, 9, "x", 0, NULL, &error)
            : CJ_OK,
        &error, "the text is NULL");
    assert_int_equal(
        cj_settings_from_text(&settings, NULL, 0, NULL, 0, NULL, &error),
        CJ_INVALID);
    cj_settings_free(NULL);
}

static void hooks_without_functions_are_refused(void **state)
{
    const struct cj_library library = {NULL, NULL, NULL, NULL};
    const struct cj_clock clock = {NULL, NULL, NULL, NULL};
    const struct cj_allocator allocator = {NULL, NULL, NULL};
    const struct cj_net net = {.ctx = NULL};
    struct cj_config config = {.size = 1, .clock = &clock};
    struct cj_group *group;
    struct cj_error error;

    (void)state;
    expect_invalid(cj_init(&config, &group, &error), &error, "clock that");
    config = (struct cj_config){.size = 1, .allocator = &allocator};
    expect_invalid(cj_init(&config, &group, &error), &error, "allocator that");
    ranks_init(&ranks, 2);
    config = ranks.rank[0].config;
    config.net = &net;
    expect_invalid(cj_init(&config, &group, &error), &error, "net that");
    config.net = NULL;
    config.verbs = NULL;
    config.library = &library;
    expect_invalid(cj_init(&config, &group, &error), &error, "library that");
    /* In a group of one neither is called. */
    config = (struct cj_config){.size = 1, .library = &library, .net = &net};
    assert_int_equal(cj_init(&config, &group, &error), CJ_OK);
    assert_int_equal(cj_finalize(group, &error), CJ_OK);
}

static void a_group_of_one_needs_no_device(void **state)
{
    const struct cj_config config = {.size = 1};
    int32_t in[3] = {1, -2, 3};
    int32_t out[3] = {0};
    struct cj_error error;
    struct cj_group *group;

    (void)state;
    assert_int_equal(cj_init(&config, &group, &error), CJ_OK);
    assert_int_equal(cj_all_sum(group, in, out, 3, CJ_INT32, &error), CJ_OK);
    assert_memory_equal(in, out, sizeof in);
    out[0] = 0;
    assert_int_equal(cj_all_gather(group, in, out, sizeof in, &error), CJ_OK);
    assert_memory_equal(in, out, sizeof in);
    out[0] = 0;
    assert_int_equal(cj_sum_scatter(group, in, out, 3, CJ_INT32, &error),
                     CJ_OK);
    assert_memory_equal(in, out, sizeof in);
    assert_int_equal(cj_all_min(group, in, in, 3, CJ_INT32, &error), CJ_OK);
    assert_int_equal(cj_barrier(group, &error), CJ_OK);
    expect_invalid(cj_send(group, in, 4, 0, &error), &error, "itself");
    expect_invalid(cj_recv(group, in, 4, 1, &error), &error, "no such rank");
    assert_int_equal(cj_finalize(group, &error), CJ_OK);
}

/* A tenth of JACCL's buffers, and one region. */
static void what_became_of_a_group_is_told(void **state)
{
    struct cj_info info;

    (void)state;
    start(3);
    cj_group_info(ranks.rank[0].group, &info);
    assert_false(info.ring);
    assert_false(info.sockets);
    assert_true(info.all_cjaccl);
    assert_int_equal(info.wires, 1);
    assert_int_equal(info.queue_pairs, 2);
    assert_int_equal(info.regions, 1);
    assert_in_range(info.memory, 1, 2 * 800000);
    assert_in_range(info.registered, 1, info.memory);
    finish();
}

/* The child of a fork leaves the group alone; the parent goes on. */
static void a_forked_child_cannot_use_the_group(void **state)
{
    unsigned char byte = 1;
    int result = -1;
    pid_t child;

    (void)state;
    start(2);
    child = fork();
    if (child == 0)
        _exit(cj_all_sum(ranks.rank[0].group, &byte, &byte, 1, CJ_UINT8,
                         NULL) == CJ_INVALID
                  ? 0
                  : 1);
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_true(WIFEXITED(result));
    assert_int_equal(WEXITSTATUS(result), 0);
    run_exactly(CJ_UINT8, 100, false);
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_all_sizes_are_exact),
        cmocka_unit_test(sums_of_all_types_are_exact),
        cmocka_unit_test(operations_follow_each_other),
        cmocka_unit_test(no_send_meets_an_unposted_receive),
        cmocka_unit_test(a_shallow_queue_is_respected),
        cmocka_unit_test(a_queue_of_one_message_is_refused),
        cmocka_unit_test(every_failing_operation_is_an_error_everywhere),
        cmocka_unit_test(a_message_of_another_length_is_an_error),
        cmocka_unit_test(a_lost_message_ends_at_the_deadline),
        cmocka_unit_test(what_moves_has_no_deadline),
        cmocka_unit_test(null_is_refused),
        cmocka_unit_test(hooks_without_functions_are_refused),
        cmocka_unit_test(what_came_before_the_deadline_was_noticed_counts),
        cmocka_unit_test(a_rank_that_leaves_is_an_error_on_the_others),
        cmocka_unit_test(different_calls_are_noticed),
        cmocka_unit_test(lost_and_stale_messages_are_told_apart),
        cmocka_unit_test(wrong_arguments_are_refused_and_do_no_harm),
        cmocka_unit_test(every_operation_checks_its_arguments),
        cmocka_unit_test(a_group_of_one_needs_no_device),
        cmocka_unit_test(what_became_of_a_group_is_told),
        cmocka_unit_test(a_forked_child_cannot_use_the_group),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
