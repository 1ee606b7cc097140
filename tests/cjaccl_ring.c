/*
 * Rings of 2 to 5 ranks and 1 to 4 wires: every collective gives what a plain
 * loop gives, whatever the size, over devices that hold messages back and over
 * such that drop them; and a ring that cannot be is told.
 */
#define _DEFAULT_SOURCE /* POSIX, with a strict -std=c11 */

#include "cjaccl_ranks.h"
#include "thinned.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum call { SUM, MAX, MIN, GATHER, SCATTER, SCATTER_FIRST, SCATTER_OWN, PASS };

static const char *const call_names[] = {"all_sum",
                                         "all_max",
                                         "all_min",
                                         "all_gather",
                                         "sum_scatter",
                                         "sum_scatter over the first elements",
                                         "sum_scatter in place",
                                         "send and recv"};

/* What all ranks do in a run. */
static struct {
    enum call call;
    bool in_place;
    size_t count; /* of int32 */
    bool leftwards;
} plan;

static struct ranks ranks;

/* Rank r's element i: no two alike, and not in any order. */
static int32_t value(int rank, size_t i)
{
    uint32_t x = (uint32_t)i * 2654435761u + (uint32_t)rank * 40503u;

    return (int32_t)(x ^ x >> 15);
}

static int32_t combined(enum call call, int size, size_t i)
{
    int32_t result = value(0, i);

    for (int rank = 1; rank < size; rank++) {
        int32_t other = value(rank, i);

        if (call == MAX)
            result = result > other ? result : other;
        else if (call == MIN)
            result = result < other ? result : other;
        else
            result = (int32_t)((uint32_t)result + (uint32_t)other);
    }
    return result;
}

static size_t in_count(const struct rank *rank)
{
    bool scatters = plan.call >= SCATTER && plan.call <= SCATTER_OWN;

    return plan.count * (scatters ? (size_t)rank->config.size : 1);
}

static size_t out_count(const struct rank *rank)
{
    return plan.count * (plan.call == GATHER ? (size_t)rank->config.size : 1);
}

/* Even ranks send first. In an odd ring so does the last, to an even one. */
static int pass(struct rank *rank, const void *in, void *out)
{
    int size = rank->config.size;
    int right = (rank->number + 1) % size;
    int left = (rank->number + size - 1) % size;
    int to = plan.leftwards ? left : right;
    int from = plan.leftwards ? right : left;
    size_t bytes = plan.count * sizeof(int32_t);
    int status = CJ_OK;

    for (int i = 0; i < 2 && status == CJ_OK; i++) {
        bool sends = (rank->number == 0) == (i == 0);

        status = sends ? cj_send(rank->group, in, bytes, to, &rank->error)
                       : cj_recv(rank->group, out, bytes, from, &rank->error);
    }
    return status;
}

static int make_call(struct rank *rank, const void *in, void *out)
{
    struct cj_group *group = rank->group;
    size_t count = plan.count;
    struct cj_error *error = &rank->error;

    switch (plan.call) {
    case SUM:
        return cj_all_sum(group, in, out, count, CJ_INT32, error);
    case MAX:
        return cj_all_max(group, in, out, count, CJ_INT32, error);
    case MIN:
        return cj_all_min(group, in, out, count, CJ_INT32, error);
    case GATHER:
        return cj_all_gather(group, in, out, count * sizeof(int32_t), error);
    case PASS:
        return pass(rank, in, out);
    default:
        return cj_sum_scatter(group, in, out, count, CJ_INT32, error);
    }
}

/* Where the result goes: into the input, or to a place of its own. */
static int32_t *place(const struct rank *rank, int32_t *in, int32_t *out)
{
    if (plan.call == SCATTER_FIRST)
        return in;
    if (plan.call == SCATTER_OWN)
        return in + (size_t)rank->number * plan.count;
    return plan.in_place && plan.call <= MIN ? in : out;
}

static int32_t expected(const struct rank *rank, size_t i)
{
    int size = rank->config.size;
    size_t first = (size_t)rank->number * plan.count;

    if (plan.call == GATHER)
        return value((int)(i / plan.count), i % plan.count);
    if (plan.call == PASS)
        return value((rank->number + (plan.leftwards ? 1 : size - 1)) % size,
                     i);
    return combined(plan.call, size, plan.call >= SCATTER ? first + i : i);
}

static void check(struct rank *rank)
{
    int32_t *in = malloc(in_count(rank) * sizeof *in + 1);
    int32_t *out = malloc(out_count(rank) * sizeof *out + 1);
    int32_t *result = place(rank, in, out);
    int32_t *from = in;

    for (size_t i = 0; i < in_count(rank); i++)
        in[i] = value(rank->number, i);
    for (size_t i = 0; i < out_count(rank); i++)
        out[i] = -1;
    if (plan.call == GATHER && plan.in_place) {
        from = out + (size_t)rank->number * plan.count;
        memcpy(from, in, plan.count * sizeof *in);
    }
    rank->status = make_call(rank, from, result);
    for (size_t i = 0; rank->status == CJ_OK && i < out_count(rank); i++) {
        if (result[i] == expected(rank, i))
            continue;
        rank->status = 1;
        (void)snprintf(rank->error.message, sizeof rank->error.message,
                       "element %zu is %d and should be %d", i, (int)result[i],
                       (int)expected(rank, i));
    }
    free(in);
    free(out);
}

static void expect_all_ready(const char *what)
{
    for (int i = 0; i < ranks.size; i++) {
        if (ranks.rank[i].status != CJ_OK)
            fail_msg("%s: %d ranks, %d wires, %zu elements%s, rank %d: %s",
                     what, ranks.size, ranks.cells[1].count, plan.count,
                     plan.in_place ? ", in place" : "", i,
                     ranks.rank[i].error.message);
    }
}

static void expect_nothing_left(void)
{
    for (int i = 0; i < ranks.size; i++)
        assert_int_equal(ranks.rank[i].machine.alive, 0);
}

static void run_call(enum call call, size_t count, bool in_place)
{
    plan.call = call;
    plan.count = count;
    plan.in_place = in_place;
    plan.leftwards = in_place;
    ranks_run(&ranks, check);
    expect_all_ready(call_names[call]);
}

/* way: which fifth of them a sanitizer sees. */
static void run_all_calls(size_t count, size_t way)
{
    for (int call = SUM; call <= PASS; call++) {
        if (is_left_out(way, (size_t)call, 0))
            continue;
        run_call((enum call)call, count, false);
        run_call((enum call)call, count, true);
    }
}

/* Elements of 4 bytes: A9, JACCL's thresholds, and many messages. */
static const size_t counts[] = {0,    1,    2,    3,    7,     63,    1023,
                                1024, 1025, 8192, 8193, 16384, 16385, 50001};

static void start(int size, int wires, int transport, bool drops)
{
    ranks_init_ring(&ranks, size, wires);
    for (int i = 0; i < size; i++) {
        ranks.rank[i].machine.transport = transport;
        ranks.rank[i].machine.drops = drops;
    }
    ranks_start(&ranks);
    expect_all_ready("start");
}

/* Every count with every size, and with half of the numbers of wires. */
static void expect_exact_results(int transport, bool drops)
{
    for (int size = 2; size <= 5; size++) {
        for (int wires = 1; wires <= CJ_MAX_WIRES; wires++) {
            start(size, wires, transport, drops);
            for (size_t i = (size_t)wires / 2 % 2;
                 i < sizeof counts / sizeof *counts; i += 2)
                run_all_calls(counts[i], (size_t)(size + wires) + i / 2);
            ranks_finish(&ranks);
            expect_all_ready("finish");
            expect_nothing_left();
        }
    }
}

static void results_are_exact_where_messages_are_held_back(void **state)
{
    (void)state;
    expect_exact_results(100, false);
}

static void results_are_exact_where_messages_are_dropped(void **state)
{
    (void)state;
    expect_exact_results(0, true);
    for (int i = 0; i < ranks.size; i++)
        assert_int_equal(ranks.rank[i].machine.lost, 0);
}

static void large_messages_are_exact(void **state)
{
    (void)state;
    start(3, 2, 100, false);
    run_all_calls(1000003, 0);
    ranks_finish(&ranks);
    start(4, 3, 0, true);
    run_all_calls(700001, 1);
    ranks_finish(&ranks);
    expect_nothing_left();
}

static void barrier(struct rank *rank)
{
    rank->status = CJ_OK;
    for (int i = 0; i < 50 && rank->status == CJ_OK; i++)
        rank->status = cj_barrier(rank->group, &rank->error);
}

static void barriers_end(void **state)
{
    (void)state;
    for (int size = 2; size <= 8; size++) {
        start(size, 1, size % 2 == 0 ? 100 : 0, size % 2 != 0);
        ranks_run(&ranks, barrier);
        expect_all_ready("barrier");
        ranks_finish(&ranks);
        expect_nothing_left();
    }
}

/* As many as there can be, and more than a mesh could have. */
static void the_largest_ring_works(void **state)
{
    static const int sizes[] = {CJ_MAX_MESH_RANKS + 1, CJ_MAX_RANKS};

    (void)state;
    for (int i = 0; i < 2; i++) {
        start(sizes[i], 1, 100, false);
        run_call(SUM, 1001, false);
        run_call(GATHER, 10, false);
        run_call(SCATTER, 10, false);
        ranks_finish(&ranks);
        expect_nothing_left();
    }
}

/* One device, or one per wire: each is opened once, with one region. */
static void a_ring_tells_what_it_is(void **state)
{
    struct cj_info info;

    (void)state;
    start(3, 2, 100, false);
    cj_group_info(ranks.rank[1].group, &info);
    assert_true(info.ring);
    assert_false(info.sockets);
    assert_true(info.all_cjaccl);
    assert_int_equal(info.wires, 2);
    assert_int_equal(info.queue_pairs, 4);
    assert_int_equal(info.regions, 2);
    assert_int_equal(ranks.rank[1].machine.opened, 2);
    ranks_finish(&ranks);
}

static void try_strangers(struct rank *rank)
{
    char byte = 0;
    int opposite = (rank->number + 2) % rank->config.size;

    rank->status =
        cj_send(rank->group, &byte, 1, opposite, &rank->error) == CJ_INVALID &&
                cj_recv(rank->group, &byte, 1, opposite, &rank->error) ==
                    CJ_INVALID
            ? CJ_OK
            : 1;
}

static void only_neighbours_talk(void **state)
{
    (void)state;
    start(4, 1, 100, false);
    ranks_run(&ranks, try_strangers);
    expect_all_ready("send to no neighbour");
    run_call(SUM, 5, false);
    ranks_finish(&ranks);
}

static void expect_error_everywhere(const char *part)
{
    bool told = false;

    ranks_start(&ranks);
    for (int i = 0; i < ranks.size; i++) {
        assert_int_not_equal(ranks.rank[i].status, CJ_OK);
        assert_int_equal(ranks.rank[i].status, ranks.rank[i].error.code);
        assert_null(ranks.rank[i].group);
        told = told || strstr(ranks.rank[i].error.message, part) != NULL;
    }
    if (!told)
        fail_msg("no \"%s\" in \"%s\"", part, ranks.rank[0].error.message);
    expect_nothing_left();
}

/* A mesh's cells also make a ring: who wishes what decides. */
static void a_mesh_and_a_ring_do_not_mix(void **state)
{
    (void)state;
    for (int size = 2; size <= 3; size++) {
        for (int odd = 0; odd < size; odd++) {
            for (int wires = 1; wires <= 3; wires++) {
                ranks_init_ring(&ranks, size, wires);
                ranks.rank[odd].config.topology = CJ_TOPOLOGY_AUTO;
                expect_error_everywhere("for a ring or a mesh");
            }
        }
    }
}

static void the_number_of_wires_has_to_be_the_same(void **state)
{
    struct cj_cell cells[9];

    (void)state;
    ranks_init_ring(&ranks, 3, 2);
    memcpy(cells, ranks.cells, sizeof cells);
    for (int i = 0; i < 9; i++)
        cells[i].count = cells[i].count > 0 ? 3 : 0;
    ranks.rank[2].config.cells = cells;
    ranks.rank[2].machine.names[2] = "rdma_en4";
    expect_error_everywhere("same device file");
}

/* As in a mesh: the failing step is named, the others hear of it. */
static void every_failing_step_of_a_ring_is_undone(void **state)
{
    static const char *const verbs[] = {"open_device", "alloc_pd",  "reg_mr",
                                        "create_cq",   "create_qp", "init",
                                        "rtr",         "rts"};

    (void)state;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        for (int call = 1; call <= 2; call++) {
            ranks_init_ring(&ranks, 3, 2);
            ranks.rank[1].machine.fail_verb = verbs[i];
            ranks.rank[1].machine.fail_call = call;
            ranks.rank[1].machine.fail_errno = 12;
            expect_error_everywhere("ENOMEM (12)");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_exact_where_messages_are_held_back),
        cmocka_unit_test(results_are_exact_where_messages_are_dropped),
        cmocka_unit_test(large_messages_are_exact),
        cmocka_unit_test(barriers_end),
        cmocka_unit_test(the_largest_ring_works),
        cmocka_unit_test(a_ring_tells_what_it_is),
        cmocka_unit_test(only_neighbours_talk),
        cmocka_unit_test(a_mesh_and_a_ring_do_not_mix),
        cmocka_unit_test(the_number_of_wires_has_to_be_the_same),
        cmocka_unit_test(every_failing_step_of_a_ring_is_undone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
