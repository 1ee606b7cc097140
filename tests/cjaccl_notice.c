/*
 * Who leaves, who failed: what the other ranks of a group hear of it.
 */
#include "cjaccl/src/defaults.h"
#include "cjaccl/src/group.h"

#include "cjaccl_ranks.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

static struct ranks ranks;

/* Ranks take turns at what has an order. */
static atomic_int turn;

static void await_turn(int number)
{
    while (atomic_load(&turn) < number)
        (void)sched_yield();
}

static void end_turn(void)
{
    (void)atomic_fetch_add(&turn, 1);
}

/*
 * Time passes when a rank waits in an operation: no test takes as long as its
 * deadlines, and none of them passes because the machine is slow. The net's
 * deadlines are this clock's, which is never behind the real one.
 */
static atomic_llong ticks; /* of all ranks */
static atomic_int looks[CJ_MAX_RANKS];
static int64_t origin;

#define TICK (RANKS_SECOND / 1000)

static int64_t now_ns(void *ctx)
{
    (void)ctx;
    return origin + (int64_t)atomic_load(&ticks) * TICK;
}

/* Only start-up sleeps, until rank 0 is there. */
static void sleep_until(void *ctx, int64_t until)
{
    (void)ctx;
    (void)until;
    (void)sched_yield();
}

static void tick(const struct rank *rank)
{
    (void)atomic_fetch_add(&ticks, 1);
    (void)atomic_fetch_add(&looks[rank->number], 1);
    (void)sched_yield();
}

static int idle(void *ctx, int64_t until, unsigned round)
{
    (void)until;
    (void)round;
    tick(ctx);
    return 1;
}

/* As ranks wait over sockets. */
static int wait_for_any(void *ctx, const int *ends, int count, int64_t deadline)
{
    for (;;) {
        int ready = cji_default_net.wait(NULL, ends, count, INT64_MIN);

        if (ready != -ETIMEDOUT || now_ns(NULL) >= deadline)
            return ready;
        tick(ctx);
    }
}

static struct cj_clock clocks[CJ_MAX_RANKS];
static struct cj_net nets[CJ_MAX_RANKS];

static void use_ticks(void)
{
    origin = cji_default_clock.now_ns(NULL);
    atomic_store(&ticks, 0);
    for (int i = 0; i < ranks.size; i++) {
        struct rank *rank = &ranks.rank[i];

        clocks[i] = (struct cj_clock){rank, now_ns, sleep_until, idle};
        nets[i] = cji_default_net;
        nets[i].ctx = rank;
        nets[i].wait = wait_for_any;
        rank->config.clock = &clocks[i];
        rank->config.net = &nets[i];
        rank->config.start_timeout_ns = 100000 * RANKS_SECOND;
        rank->config.operation_timeout_ns = 100000 * RANKS_SECOND;
    }
}

enum kind { MESH, RING, SOCKETS, KIND_COUNT };

static void prepare(enum kind kind, int size)
{
    if (kind == RING)
        ranks_init_ring(&ranks, size, 1);
    else
        ranks_init(&ranks, size);
    for (int i = 0; kind == SOCKETS && i < size; i++)
        ranks.rank[i].config.backend = CJ_BACKEND_SOCKETS;
    atomic_store(&turn, 0);
    use_ticks();
}

static void start_prepared(void)
{
    ranks_start(&ranks);
    for (int i = 0; i < ranks.size; i++)
        assert_string_equal(
            ranks.rank[i].status == CJ_OK ? "" : ranks.rank[i].error.message,
            "");
}

static void start(enum kind kind, int size)
{
    prepare(kind, size);
    start_prepared();
}

static void expect_part(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

static void expect_peer(int rank, int peer, const char *part)
{
    const struct cj_error *error = &ranks.rank[rank].error;

    assert_int_not_equal(ranks.rank[rank].status, CJ_OK);
    expect_part(error->message, part);
    assert_int_equal(error->peer, peer);
}

static void finalize(struct rank *rank)
{
    rank->status = cj_finalize(rank->group, &rank->error);
    rank->group = NULL;
}

/* ---- a rank that leaves ---------------------------------------------------
 */

/* The first to leave is `leaver`; the two behind it in the ring talk on. */
static int leaver;

static void await_looks(int rank, int count)
{
    int first = atomic_load(&looks[rank]);

    while (atomic_load(&looks[rank]) - first < count)
        (void)sched_yield();
}

static void talk_on(struct rank *rank)
{
    int size = rank->all->size;
    int place = (rank->number - leaver + size) % size;
    unsigned char data[10000];

    memset(data, place == 1 ? 7 : 0, sizeof data);
    if (place == 0) {
        finalize(rank);
        end_turn();
        return;
    }
    await_turn(1);
    for (int i = 0; i < 40 && rank->status == CJ_OK && place <= 2; i++) {
        if ((place == 1) == (i % 2 == 0))
            rank->status = cj_send(rank->group, data, sizeof data,
                                   (leaver + 3 - place) % size, &rank->error);
        else
            rank->status = cj_recv(rank->group, data, sizeof data,
                                   (leaver + 3 - place) % size, &rank->error);
        /* Long enough for the other one to see that somebody has left. */
        if (i == 20 && place == 1)
            await_looks((leaver + 2) % size, 500);
    }
    if (rank->status == CJ_OK && place <= 2 && data[9999] != 7)
        rank->status = CJ_PROTOCOL;
}

static void others_go_on_without_it(void **state)
{
    (void)state;
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        for (leaver = 0; leaver < 4; leaver++) {
            start((enum kind)kind, 4);
            ranks_run(&ranks, talk_on);
            for (int i = 0; i < 4; i++)
                assert_string_equal(ranks.rank[i].status == CJ_OK
                                        ? ""
                                        : ranks.rank[i].error.message,
                                    "");
            ranks_finish(&ranks);
            for (int i = 0; i < 4; i++)
                assert_int_equal(ranks.rank[i].status, CJ_OK);
        }
    }
}

static int place_in_order[4];

static void finalize_in_turn(struct rank *rank)
{
    await_turn(place_in_order[rank->number]);
    finalize(rank);
    end_turn();
}

static void groups_end_in_any_order(void **state)
{
    (void)state;
    for (int first = 0; first < 4; first++) {
        for (int step = 1; step < 4; step += 2) {
            start(first % 2 == 0 ? MESH : RING, 4);
            for (int i = 0; i < 4; i++)
                place_in_order[(first + i * step) % 4] = i;
            ranks_run(&ranks, finalize_in_turn);
            for (int i = 0; i < 4; i++)
                assert_int_equal(ranks.rank[i].status, CJ_OK);
        }
    }
}

static void sum_without_leaver(struct rank *rank)
{
    float value = 1;

    if (rank->number == leaver) {
        finalize(rank);
        end_turn();
        return;
    }
    await_turn(1);
    rank->status =
        cj_all_sum(rank->group, &value, &value, 1, CJ_FLOAT32, &rank->error);
}

static void what_needs_it_is_an_error(void **state)
{
    (void)state;
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        for (leaver = 0; leaver < 4; leaver++) {
            start((enum kind)kind, 4);
            ranks_run(&ranks, sum_without_leaver);
            for (int i = 0; i < 4; i++) {
                if (i != leaver)
                    /* A socket's end may be seen before the notice. */
                    expect_peer(i, leaver,
                                kind == SOCKETS ? "rank" : "cj_finalize()");
            }
            ranks_finish(&ranks);
        }
    }
}

/* ---- a rank that fails ----------------------------------------------------
 */

static int failing;

/* Rank `failing` does another operation, which the others notice, or goes. */
static void fail_in_sum(struct rank *rank)
{
    float values[3000] = {0};

    if (rank->number == failing)
        rank->machine.fail_verb = "post_send";
    rank->machine.fail_errno = 12;
    rank->machine.fail_call = 1;
    rank->machine.calls = 0;
    rank->status =
        cj_all_sum(rank->group, values, values, 3000, CJ_FLOAT32, &rank->error);
}

static void a_failure_is_told_with_its_reason(void **state)
{
    (void)state;
    for (int kind = 0; kind < SOCKETS; kind++) {
        for (failing = 0; failing < 4; failing++) {
            start((enum kind)kind, 4);
            ranks_run(&ranks, fail_in_sum);
            for (int i = 0; i < 4; i++) {
                char part[64];

                (void)snprintf(part, sizeof part, "rank %d failed, in all_sum",
                               failing);
                if (i == failing)
                    continue;
                expect_peer(i, failing, part);
                expect_part(ranks.rank[i].error.message,
                            "does not take a send");
            }
            ranks_finish(&ranks);
        }
    }
}

static void fail_before_rank_2(struct rank *rank)
{
    if (rank->number == 2)
        await_turn(2);
    fail_in_sum(rank);
    end_turn();
}

/* Rank 2 comes when rank 0 has failed as well, because of rank 1. What it hears
 * first is what rank 0 passed on, and that stays the reason. */
static void the_first_that_failed_is_named(void **state)
{
    (void)state;
    failing = 1;
    for (int kind = 0; kind < SOCKETS; kind++) {
        start((enum kind)kind, 3);
        ranks_run(&ranks, fail_before_rank_2);
        expect_peer(0, 1, "rank 0: all_sum: rank 1 failed, in all_sum");
        expect_peer(2, 1, "rank 2: all_sum: rank 1 failed, in all_sum");
        ranks_finish(&ranks);
    }
}

/* As the end of its process does. */
static void go(struct rank *rank)
{
    float value = 0;

    if (rank->number == failing) {
        for (int i = 0; i < CJ_MAX_RANKS; i++) {
            if (rank->group->ends[i] >= 0)
                rank->group->net.close(NULL, rank->group->ends[i]);
            rank->group->ends[i] = -1;
        }
        return;
    }
    rank->status =
        cj_all_sum(rank->group, &value, &value, 1, CJ_FLOAT32, &rank->error);
}

static void a_lost_rank_is_named_by_all(void **state)
{
    (void)state;
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        for (failing = 0; failing < 4; failing++) {
            char part[64];

            start((enum kind)kind, 4);
            (void)snprintf(part, sizeof part, "rank %d went away", failing);
            ranks_run(&ranks, go);
            for (int i = 0; i < 4; i++) {
                if (i != failing)
                    expect_peer(i, failing, part);
            }
            ranks_finish(&ranks);
        }
    }
}

/* ---- what no rank sends ---------------------------------------------------
 */

/* Rank 1 sends these bytes in place of a notice. */
static struct cji_notice forged;
static size_t forged_size;

static void forge(struct rank *rank)
{
    float value = 0;

    if (rank->number == 1) {
        (void)rank->group->net.send(NULL, rank->group->ends[0], &forged,
                                    forged_size, INT64_MAX);
        await_turn(2);
        return;
    }
    rank->status =
        cj_all_sum(rank->group, &value, &value, 1, CJ_FLOAT32, &rank->error);
    end_turn();
}

static void expect_refused(void)
{
    start(MESH, 3);
    ranks_run(&ranks, forge);
    expect_peer(0, 1, "sent what no rank of cjaccl sends");
    expect_peer(2, 1, "sent what no rank of cjaccl sends");
    ranks_finish(&ranks);
}

static void what_is_no_notice_is_refused(void **state)
{
    static const struct cji_notice sound = {
        .text = "cj notice 1", .presence = CJI_FAILED, .rank = 1, .peer = 1};

    (void)state;
    forged_size = sizeof forged;
    forged = sound;
    forged.text[3]++;
    expect_refused();
    forged = sound;
    forged.presence = 99;
    expect_refused();
    forged = sound;
    forged.rank = 2;
    expect_refused();
    forged = sound;
    forged.rank = -1;
    expect_refused();
    forged = sound;
    forged.peer = 64;
    expect_refused();
    forged = sound;
    forged.step = CJ_STEP_COUNT;
    expect_refused();
}

static void its_text_is_tamed(void **state)
{
    (void)state;
    forged = (struct cji_notice){
        .text = "cj notice 1", .presence = CJI_FAILED, .rank = 1, .peer = 1};
    forged_size = sizeof forged;
    memset(forged.message, '\n', sizeof forged.message);
    forged.message[1] = '\x7f';
    forged.message[2] = (char)0x9b;
    start(MESH, 3);
    ranks_run(&ranks, forge);
    expect_peer(0, 1, "rank 1 failed, in none: ???");
    expect_peer(2, 1, "rank 1 failed, in none: ???");
    ranks_finish(&ranks);
}

static void half_a_notice_is_none(void **state)
{
    (void)state;
    forged = (struct cji_notice){.text = "cj notice 1", .rank = 1};
    forged_size = 100;
    prepare(MESH, 3);
    /* The net waits for the rest, by its own clock. */
    for (int i = 0; i < 3; i++) {
        ranks.rank[i].config.clock = NULL;
        ranks.rank[i].config.net = NULL;
    }
    start_prepared();
    ranks_run(&ranks, forge);
    expect_peer(0, 1, "rank 1 went away");
    expect_peer(2, 1, "rank 1 went away");
    ranks_finish(&ranks);
}

/* ---- in start-up ----------------------------------------------------------
 */

/* Rank 2 of four sends something else in its n-th send, and goes. */
static struct {
    int sends;
    int change_at;
    bool has_gone;
} turncoat;

static int64_t send_else(void *ctx, int end, const void *data, size_t size,
                         int64_t deadline)
{
    if (turncoat.has_gone)
        return -EPIPE;
    if (++turncoat.sends != turncoat.change_at)
        return cji_default_net.send(ctx, end, data, size, deadline);
    if (forged_size > 0)
        (void)cji_default_net.send(ctx, end, &forged, forged_size, deadline);
    (void)shutdown(end, SHUT_WR);
    turncoat.has_gone = true;
    return -EPIPE;
}

static void start_with_turncoat(enum kind kind, int change_at)
{
    prepare(kind, 4);
    memset(&turncoat, 0, sizeof turncoat);
    turncoat.change_at = change_at;
    nets[2].send = send_else;
    ranks_start(&ranks);
    for (int i = 0; i < 4; i++) {
        assert_int_not_equal(ranks.rank[i].status, CJ_OK);
        assert_null(ranks.rank[i].group);
    }
}

/* What a rank has sent when all know that all are cjaccl's: its rank, and
 * lengths and addresses once or twice. Sockets: its rank and that it has none.
 */
static const int sends_before[KIND_COUNT] = {3, 5, 2};

static void one_lost_in_start_is_named_by_all(void **state)
{
    (void)state;
    forged_size = 0;
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        /* The card or the place, the second card, the barrier. */
        for (int i = 1; i <= (kind == SOCKETS ? 2 : 3); i++) {
            start_with_turncoat((enum kind)kind, sends_before[kind] + i);
            for (int rank = 0; rank < 4; rank++) {
                if (rank != 2)
                    expect_peer(rank, 2, "rank 2 went away");
            }
        }
    }
}

/* A JACCL rank would take a notice for what it waits for. */
static void before_all_are_known_there_are_no_notices(void **state)
{
    (void)state;
    forged_size = 0;
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        for (int i = 2; i <= sends_before[kind]; i++) {
            start_with_turncoat((enum kind)kind, i);
            expect_peer(0, 2, "rank 2 went away");
            expect_peer(1, 0, "rank 0 went away");
            expect_peer(3, 0, "rank 0 went away");
        }
    }
}

static void a_failure_in_start_is_told_with_its_reason(void **state)
{
    (void)state;
    for (int kind = 0; kind < SOCKETS; kind++) {
        for (failing = 0; failing < 3; failing++) {
            char part[64];

            prepare((enum kind)kind, 3);
            ranks.rank[failing].machine.fail_verb = "reg_mr";
            ranks.rank[failing].machine.fail_call = 1;
            ranks.rank[failing].machine.fail_errno = ENOMEM;
            ranks_start(&ranks);
            (void)snprintf(part, sizeof part,
                           "rank %d failed, in register arena: ", failing);
            for (int i = 0; i < 3; i++) {
                if (i == failing)
                    continue;
                expect_peer(i, failing, part);
                expect_part(ranks.rank[i].error.message, "ENOMEM");
            }
        }
    }
}

/* In the place of its card. */
static void forged_in_start_it_is_refused(void **state)
{
    static const struct cji_notice sound = {
        .text = "cj notice 1", .presence = CJI_FAILED, .rank = 2, .peer = 2};

    (void)state;
    forged_size = sizeof forged;
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        forged = sound;
        forged.rank = 3;
        start_with_turncoat((enum kind)kind, sends_before[kind] + 1);
        expect_peer(0, 2, "sent what no rank of cjaccl sends");
        expect_peer(1, 2, "sent what no rank of cjaccl sends");
        expect_peer(3, 2, "sent what no rank of cjaccl sends");
        /* Nobody leaves a group that is none yet; this is not missed. */
        forged = sound;
        forged.presence = CJI_LEFT;
        start_with_turncoat((enum kind)kind, sends_before[kind] + 1);
        expect_peer(0, 2, "rank 2 has left the group");
        expect_peer(1, 2, "rank 2 has left the group");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(others_go_on_without_it),
        cmocka_unit_test(groups_end_in_any_order),
        cmocka_unit_test(what_needs_it_is_an_error),
        cmocka_unit_test(a_failure_is_told_with_its_reason),
        cmocka_unit_test(the_first_that_failed_is_named),
        cmocka_unit_test(a_lost_rank_is_named_by_all),
        cmocka_unit_test(what_is_no_notice_is_refused),
        cmocka_unit_test(its_text_is_tamed),
        cmocka_unit_test(half_a_notice_is_none),
        cmocka_unit_test(one_lost_in_start_is_named_by_all),
        cmocka_unit_test(before_all_are_known_there_are_no_notices),
        cmocka_unit_test(a_failure_in_start_is_told_with_its_reason),
        cmocka_unit_test(forged_in_start_it_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
