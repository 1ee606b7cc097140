/* Fibers keep what they promise in fiber.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/fiber.h"

#define ROUNDS 1000

struct counter {
    struct fiber *fiber;
    int steps;
    double sum;
};

static void count(void *argument)
{
    struct counter *counter = argument;
    double part = 0.5; /* lives in a register across the switches */
    for (int i = 0; i < ROUNDS; i++) {
        counter->steps++;
        part += 0.25;
        fiber_yield(counter->fiber);
    }
    counter->sum = part;
}

static void a_fiber_runs_step_by_step_and_keeps_its_values(void **state)
{
    struct counter counter = {fiber_create(), 0, 0};
    (void)state;
    assert_non_null(counter.fiber);
    assert_true(fiber_over(counter.fiber));
    fiber_start(counter.fiber, count, &counter);
    for (int i = 0; i < ROUNDS; i++) {
        assert_false(fiber_over(counter.fiber));
        assert_int_equal(counter.steps, i);
        fiber_resume(counter.fiber);
    }
    fiber_resume(counter.fiber);
    assert_true(fiber_over(counter.fiber));
    assert_true(counter.sum == 0.5 + 0.25 * ROUNDS);
    fiber_destroy(counter.fiber);
}

static void two_fibers_do_not_disturb_each_other(void **state)
{
    struct counter a = {fiber_create(), 0, 0}, b = {fiber_create(), 0, 0};
    (void)state;
    fiber_start(a.fiber, count, &a);
    fiber_start(b.fiber, count, &b);
    for (int i = 0; i <= ROUNDS; i++) {
        fiber_resume(a.fiber);
        fiber_resume(b.fiber);
    }
    assert_true(fiber_over(a.fiber) && fiber_over(b.fiber));
    assert_true(a.sum == b.sum);
    fiber_destroy(a.fiber);
    fiber_destroy(b.fiber);
}

static int depth(struct fiber *fiber, int n)
{
    volatile char local[512]; /* frames with red zones, left behind */
    local[n % 512] = (char)n;
    if (n == 0) {
        fiber_yield(fiber);
        return local[0];
    }
    return depth(fiber, n - 1) + local[n % 512];
}

static void dive(void *argument)
{
    depth(argument, 100);
}

static void an_abandoned_fiber_starts_again_from_the_top(void **state)
{
    struct fiber *fiber = fiber_create();
    struct counter counter = {fiber, 0, 0};
    (void)state;
    for (int i = 0; i < 50; i++) {
        fiber_start(fiber, dive, fiber);
        fiber_resume(fiber);
        assert_false(fiber_over(fiber));
    }
    fiber_start(fiber, count, &counter);
    while (!fiber_over(fiber))
        fiber_resume(fiber);
    assert_int_equal(counter.steps, ROUNDS);
    fiber_destroy(fiber);
}

static void aligned(void *argument)
{
    _Alignas(16) volatile char local[64];
    *(uintptr_t *)argument = (uintptr_t)&local[0];
    local[0] = 0;
}

static void the_stack_is_aligned_as_the_abi_wants(void **state)
{
    struct fiber *fiber = fiber_create();
    uintptr_t address = 1;
    (void)state;
    fiber_start(fiber, aligned, &address);
    fiber_resume(fiber);
    assert_int_equal(address % 16, 0);
    fiber_destroy(fiber);
}

/* ---- what a thread has, each fiber has -------------------------------------
 */

static uintptr_t thread_state[FIBER_STATE_WORDS];

static void *state_of_thread(void)
{
    return thread_state;
}

struct keeper {
    struct fiber *fiber;
    uintptr_t mark;
    int wrong;
};

static void keep(void *argument)
{
    struct keeper *keeper = argument;
    for (uintptr_t i = 0; i < ROUNDS; i++) {
        uintptr_t expected = i == 0 ? 0 : keeper->mark + i - 1;
        keeper->wrong += thread_state[0] != expected;
        keeper->wrong += thread_state[1] != expected;
        thread_state[0] = thread_state[1] = keeper->mark + i;
        fiber_yield(keeper->fiber);
    }
}

static void each_fiber_keeps_its_part_of_the_thread(void **state)
{
    struct keeper a = {fiber_create(), 10000, 0};
    struct keeper b = {fiber_create(), 20000, 0};
    (void)state;
    fiber_thread_state = state_of_thread;
    thread_state[0] = thread_state[1] = 7;
    fiber_start(a.fiber, keep, &a);
    fiber_start(b.fiber, keep, &b);
    for (int i = 0; i < ROUNDS / 2; i++) {
        fiber_resume(a.fiber);
        fiber_resume(b.fiber);
        assert_true(thread_state[0] == 7 && thread_state[1] == 7);
    }
    fiber_start(a.fiber, keep, &a); /* abandoned half-way: from nothing again */
    for (int i = 0; i < ROUNDS / 2; i++)
        fiber_resume(a.fiber);
    assert_true(thread_state[0] == 7 && thread_state[1] == 7);
    assert_int_equal(a.wrong, 0);
    assert_int_equal(b.wrong, 0);
    fiber_thread_state = NULL;
    fiber_destroy(a.fiber);
    fiber_destroy(b.fiber);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fiber_runs_step_by_step_and_keeps_its_values),
        cmocka_unit_test(two_fibers_do_not_disturb_each_other),
        cmocka_unit_test(an_abandoned_fiber_starts_again_from_the_top),
        cmocka_unit_test(the_stack_is_aligned_as_the_abi_wants),
        cmocka_unit_test(each_fiber_keeps_its_part_of_the_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
