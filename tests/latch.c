/*
 * front/latch.h: one thread at a time, the same thread as often as it likes,
 * and whoever waits gets its turn.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sched.h>

#include "front/latch.h"

#define THREADS 4
#define ROUNDS 20000

static struct {
    struct vf_latch latch;
    uint64_t first, second; /* differ in the middle of a change only */
    unsigned torn;
    atomic_int ready;
} scene;

/* Now and then others run in the middle, and find it taken. */
static void change(int round)
{
    vf_latch_take(&scene.latch);
    scene.torn += scene.first != scene.second;
    scene.first++;
    if (round % 8 == 0)
        sched_yield();
    for (int i = 0; i < 20; i++) {
        vf_latch_take(&scene.latch); /* as a driver does that calls verbs */
        vf_latch_open(&scene.latch);
    }
    scene.second++;
    scene.torn += scene.first != scene.second;
    vf_latch_open(&scene.latch);
}

static void *change_often(void *unused)
{
    atomic_fetch_add(&scene.ready, 1);
    while (atomic_load(&scene.ready) < THREADS)
        continue;
    for (int i = 0; i < ROUNDS; i++)
        change(i);
    return unused;
}

static void threads_take_turns(void **state)
{
    pthread_t threads[THREADS];

    (void)state;
    scene.ready = 0;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, change_often, NULL),
                         0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(scene.torn, 0);
    assert_int_equal(scene.first, THREADS * ROUNDS);
    assert_int_equal(scene.second, THREADS * ROUNDS);
    assert_int_equal(scene.latch.owner, 0);
}

static void *take_once(void *done)
{
    atomic_fetch_add(&scene.ready, 1);
    vf_latch_take(&scene.latch);
    *(bool *)done = true;
    vf_latch_open(&scene.latch);
    return NULL;
}

/* Taken twice is given back twice. */
static void what_was_taken_twice_is_open_after_two(void **state)
{
    pthread_t thread;
    bool done = false;

    (void)state;
    scene.ready = 0;
    vf_latch_take(&scene.latch);
    vf_latch_take(&scene.latch);
    assert_int_equal(pthread_create(&thread, NULL, take_once, &done), 0);
    while (atomic_load(&scene.ready) == 0)
        continue;
    vf_latch_open(&scene.latch);
    for (int i = 0; i < 1000; i++) /* it has its chance */
        sched_yield();
    assert_false(done);
    vf_latch_open(&scene.latch);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(done);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_take_turns),
        cmocka_unit_test(what_was_taken_twice_is_open_after_two)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
