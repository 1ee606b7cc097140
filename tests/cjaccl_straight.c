/*
 * Large data go straight from the caller's memory (cjaccl/src/straight.h): the
 * results are the same, nothing stays registered, and where a device does not
 * take part they are copied.
 */
#include "cjaccl_ranks.h"

#include "cjaccl/src/straight.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Large enough for each part of three, and its last message ends anywhere. */
#define COUNT (CJI_STRAIGHT_LEAST / sizeof(uint32_t) * 3 + 5)

static struct ranks ranks;
static bool in_place;
static bool wrong[CJ_MAX_MESH_RANKS];

static uint32_t element(size_t i, int rank)
{
    return (uint32_t)(i * 2654435761u) ^ (uint32_t)rank << 20;
}

static void start(int size, int entries)
{
    ranks_init(&ranks, size);
    for (int i = 0; i < size; i++) {
        ranks.rank[i].machine.transport = 0;
        ranks.rank[i].machine.entries = entries;
    }
    ranks_start(&ranks);
    for (int i = 0; i < size; i++) {
        if (ranks.rank[i].status != CJ_OK)
            fail_msg("rank %d: %s", i, ranks.rank[i].error.message);
    }
}

static void finish(void)
{
    ranks_finish(&ranks);
    for (int i = 0; i < ranks.size; i++) {
        assert_int_equal(ranks.rank[i].status, CJ_OK);
        assert_int_equal(ranks.rank[i].machine.alive, 0);
    }
}

static void sum(struct rank *rank)
{
    uint32_t *in = malloc(COUNT * sizeof *in);
    uint32_t *out = in_place ? in : calloc(COUNT, sizeof *out);

    for (size_t i = 0; i < COUNT; i++)
        in[i] = element(i, rank->number);
    rank->status =
        cj_all_sum(rank->group, in, out, COUNT, CJ_UINT32, &rank->error);
    wrong[rank->number] = false;
    for (size_t i = 0; i < COUNT; i++) {
        uint32_t expected = 0;

        for (int r = 0; r < rank->all->size; r++)
            expected += element(i, r);
        wrong[rank->number] = wrong[rank->number] || out[i] != expected;
    }
    if (out != in)
        free(out);
    free(in);
}

static void gather(struct rank *rank)
{
    size_t size = (size_t)rank->all->size;
    uint32_t *in = malloc(COUNT * sizeof *in);
    uint32_t *out = calloc(size * COUNT, sizeof *out);

    for (size_t i = 0; i < COUNT; i++)
        in[i] = element(i, rank->number);
    rank->status =
        cj_all_gather(rank->group, in, out, COUNT * sizeof *in, &rank->error);
    wrong[rank->number] = false;
    for (size_t i = 0; i < size * COUNT; i++)
        wrong[rank->number] = wrong[rank->number] ||
                              out[i] != element(i % COUNT, (int)(i / COUNT));
    free(out);
    free(in);
}

static void hand_over(struct rank *rank)
{
    uint32_t *data = calloc(COUNT, sizeof *data);

    for (size_t i = 0; rank->number == 0 && i < COUNT; i++)
        data[i] = element(i, 7);
    rank->status =
        rank->number == 0
            ? cj_send(rank->group, data, COUNT * sizeof *data, 1, &rank->error)
            : cj_recv(rank->group, data, COUNT * sizeof *data, 0, &rank->error);
    wrong[rank->number] = false;
    for (size_t i = 0; i < COUNT; i++)
        wrong[rank->number] = wrong[rank->number] || data[i] != element(i, 7);
    free(data);
}

static void run(void (*body)(struct rank *rank))
{
    ranks_run(&ranks, body);
    for (int i = 0; i < ranks.size; i++) {
        if (ranks.rank[i].status != CJ_OK)
            fail_msg("rank %d: %s", i, ranks.rank[i].error.message);
        assert_false(wrong[i]);
    }
}

/* Slow devices read the bytes when they come to it: an output that is the
 * input must not be written before. */
static void set_slow(bool slow)
{
    for (int i = 0; i < ranks.size; i++)
        ranks.rank[i].machine.slow = slow;
}

static void large_sums_go_straight(void **state)
{
    (void)state;
    for (int size = 2; size <= CJI_STRAIGHT_RANKS; size++) {
        start(size, 2);
        for (int round = 0; round < 4; round++) {
            in_place = round % 2 == 1;
            set_slow(round >= 2);
            run(sum);
        }
        for (int i = 0; i < size; i++) {
            struct fake_machine *machine = &ranks.rank[i].machine;

            assert_true(machine->straight > 0);
            assert_true(machine->regions > 1);
            for (int k = 1; k < FAKE_REGIONS; k++)
                assert_null(machine->live[k]);
        }
        finish();
    }
}

static void so_do_other_operations(void **state)
{
    int before;

    (void)state;
    start(2, 2);
    run(gather);
    before = ranks.rank[0].machine.straight;
    assert_true(before > 0);
    run(hand_over);
    assert_true(ranks.rank[0].machine.straight > before);
    finish();
}

static void expect_copied(int size, int entries)
{
    start(size, entries);
    run(sum);
    for (int i = 0; i < size; i++) {
        assert_int_equal(ranks.rank[i].machine.straight, 0);
        assert_int_equal(ranks.rank[i].machine.regions, 1);
    }
    finish();
}

static void a_device_of_one_entry_has_one_region(void **state)
{
    (void)state;
    expect_copied(2, 1);
}

static void many_ranks_send_from_their_slots(void **state)
{
    (void)state;
    expect_copied(CJI_STRAIGHT_RANKS + 1, 2);
}

/* No error, and it is not asked again; the other rank goes on as it does. */
static void what_is_not_registered_is_copied(void **state)
{
    struct fake_machine *machine = &ranks.rank[0].machine;

    (void)state;
    start(2, 2);
    machine->fail_verb = "reg_mr";
    machine->fail_call = 1;
    machine->fail_errno = ENOMEM;
    machine->calls = 0;
    run(sum);
    run(sum);
    assert_int_equal(machine->calls, 1);
    assert_int_equal(machine->straight, 0);
    assert_true(ranks.rank[1].machine.straight > 0);
    finish();
}

/* A failure in the middle leaves nothing of the caller's registered. */
static void a_failed_operation_gives_its_region_back(void **state)
{
    struct fake_machine *machine = &ranks.rank[0].machine;

    (void)state;
    start(2, 2);
    machine->fail_verb = "post_send";
    machine->fail_call = 3;
    machine->fail_errno = EIO;
    machine->calls = 0;
    ranks_run(&ranks, sum);
    for (int i = 0; i < 2; i++) {
        assert_int_not_equal(ranks.rank[i].status, CJ_OK);
        assert_true(ranks.rank[i].machine.regions > 1);
        assert_non_null(ranks.rank[i].machine.live[0]);
        assert_null(ranks.rank[i].machine.live[1]);
        assert_string_equal(ranks.rank[i].machine.log, "destroy_qp dereg_mr ");
    }
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_sums_go_straight),
        cmocka_unit_test(so_do_other_operations),
        cmocka_unit_test(a_device_of_one_entry_has_one_region),
        cmocka_unit_test(many_ranks_send_from_their_slots),
        cmocka_unit_test(what_is_not_registered_is_copied),
        cmocka_unit_test(a_failed_operation_gives_its_region_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
