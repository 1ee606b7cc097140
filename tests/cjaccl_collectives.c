/*
 * all_sum and barrier over fake devices: exact for every type, size and number
 * of ranks, with and without the handshake; and an error, never wrong data or a
 * hang, when a device or a rank does what it should not.
 */
#include "cjaccl_ranks.h"

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
static void with_handshake_no_send_meets_an_unposted_receive(void **state)
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
            run_exactly(CJ_UINT8, sizes[i], false);
        for (int i = 0; i < size; i++)
            assert_int_equal(ranks.rank[i].machine.lost, 0);
        finish();
    }
}

static void a_wish_for_the_handshake_is_everybodys(void **state)
{
    (void)state;
    ranks_init(&ranks, 2);
    ranks.rank[0].config.handshake = CJ_HANDSHAKE_ON;
    ranks.rank[1].config.handshake = CJ_HANDSHAKE_OFF;
    ranks.rank[0].machine.drops = true;
    ranks.rank[1].machine.drops = true;
    ranks_start(&ranks);
    run_exactly(CJ_UINT8, 2200001, false);
    assert_int_equal(ranks.rank[0].machine.lost, 0);
    assert_int_equal(ranks.rank[1].machine.lost, 0);
    finish();
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

/*
 * Then a rank can post its next receive only when it has used the last one up.
 * The others have to know, also those whose own queues hold more.
 */
static void with_handshake_a_queue_of_one_message_loses_nothing(void **state)
{
    (void)state;
    for (int size = 2; size <= 3; size++) {
        ranks_init(&ranks, size);
        for (int i = 0; i < size; i++) {
            ranks.rank[i].machine.drops = true;
            ranks.rank[i].machine.transport = 0;
            ranks.rank[i].machine.depth = i == 1 || size == 2 ? 1 : 2;
            ranks.rank[i].machine.late_sends = true;
        }
        ranks_start(&ranks);
        for (int i = 0; i < 10; i++)
            run_exactly(CJ_UINT8, 2200001, i % 2 == 0);
        for (int i = 0; i < size; i++)
            assert_int_equal(ranks.rank[i].machine.lost, 0);
        finish();
    }
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
        assert_int_equal(rank->error.peer, i == 0 ? 1 : 0);
        expect_text(rank->error.message, "went away");
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
    run(CJ_UINT8, 10000, false, 1);
    expect_failure(CJ_COMPLETION, "wrong length");
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
    for (int on = 0; on < 2; on++) {
        ranks_init(&ranks, 3);
        for (int i = 0; i < 3; i++)
            ranks.rank[i].config.handshake =
                on ? CJ_HANDSHAKE_ON : CJ_HANDSHAKE_OFF;
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

static void different_calls(struct rank *rank)
{
    unsigned char bytes[64] = {0};

    if (rank->number == 0)
        rank->status =
            cj_all_sum(rank->group, bytes, bytes, 64, CJ_UINT8, &rank->error);
    else
        rank->status =
            cj_all_sum(rank->group, bytes, bytes, 16, CJ_FLOAT32, &rank->error);
}

static void with_handshake_different_calls_are_noticed(void **state)
{
    (void)state;
    ranks_init(&ranks, 2);
    ranks.rank[0].config.handshake = CJ_HANDSHAKE_ON;
    ranks_start(&ranks);
    ranks_run(&ranks, different_calls);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ranks.rank[i].status, CJ_PROTOCOL);
        expect_text(ranks.rank[i].error.message, "another operation");
    }
    finish();
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_all_sizes_are_exact),
        cmocka_unit_test(sums_of_all_types_are_exact),
        cmocka_unit_test(operations_follow_each_other),
        cmocka_unit_test(with_handshake_no_send_meets_an_unposted_receive),
        cmocka_unit_test(a_wish_for_the_handshake_is_everybodys),
        cmocka_unit_test(a_shallow_queue_is_respected),
        cmocka_unit_test(with_handshake_a_queue_of_one_message_loses_nothing),
        cmocka_unit_test(every_failing_operation_is_an_error_everywhere),
        cmocka_unit_test(a_message_of_another_length_is_an_error),
        cmocka_unit_test(a_lost_message_ends_at_the_deadline),
        cmocka_unit_test(what_came_before_the_deadline_was_noticed_counts),
        cmocka_unit_test(a_rank_that_leaves_is_an_error_on_the_others),
        cmocka_unit_test(with_handshake_different_calls_are_noticed),
        cmocka_unit_test(wrong_arguments_are_refused_and_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
