/*
 * The lock in shared memory. What it guards here is a counter kept twice: the
 * copies differ only in the middle of a change.
 */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif
#include "fabric_support.h"

#include <pthread.h>

#include "mocks/mock/lock.h"

#define PROCESSES 4
#define ROUNDS 100000
#define MORTAL_ROUNDS 40

enum moment { TAKEN, HALF, WHOLE, GIVEN, MOMENTS };

struct scene {
    struct vf_lock lock;
    _Alignas(64) uint64_t first;
    uint64_t second;
    uint64_t takeovers;
    _Atomic uint32_t ready;
    _Atomic int32_t pids[PROCESSES + 1]; /* by place */
};

struct part {
    struct scene *scene;
    unsigned self;
    int rounds;
    int dies; /* in which round, from 1; 0: never */
    enum moment moment;
};

static bool alive(void *context, unsigned holder)
{
    struct scene *scene = context;

    return vf_os_alive(atomic_load(&scene->pids[holder]));
}

static void maybe_die(const struct part *part, int round, enum moment moment)
{
    if (part->dies == round && part->moment == moment)
        die();
}

/* False: the copies differed though nobody had died. */
static bool change(const struct part *part, int round,
                   const struct vf_lock_deaths *deaths)
{
    struct scene *scene = part->scene;
    bool whole;

    if (vf_lock_take(&scene->lock, part->self, deaths)) {
        scene->takeovers++;
        scene->second = scene->first;
    }
    maybe_die(part, round, TAKEN);
    whole = scene->first == scene->second;
    scene->first++;
    maybe_die(part, round, HALF);
    if (round % 128 == 0)
        sched_yield(); /* so that the others come, wait and sleep */
    scene->second++;
    maybe_die(part, round, WHOLE);
    vf_lock_give(&scene->lock, part->self);
    maybe_die(part, round, GIVEN);
    return whole;
}

static int run_part(void *argument)
{
    const struct part *part = argument;
    struct scene *scene = part->scene;
    const struct vf_lock_deaths deaths = {alive, scene};

    atomic_store(&scene->pids[part->self], (int32_t)getpid());
    atomic_fetch_add(&scene->ready, 1);
    await(&scene->ready, PROCESSES);
    for (int round = 1; round <= part->rounds; round++)
        if (!change(part, round, &deaths))
            return 1;
    return 0;
}

static void a_free_lock_names_nobody(void **state)
{
    struct vf_lock lock = {0};

    (void)state;
    assert_int_equal(vf_lock_holder(&lock), 0);
    assert_false(vf_lock_take(&lock, 255, NULL));
    assert_int_equal(vf_lock_holder(&lock), 255);
    vf_lock_give(&lock, 254); /* not its */
    assert_int_equal(vf_lock_holder(&lock), 255);
    vf_lock_give(&lock, 255);
    assert_int_equal(vf_lock_holder(&lock), 0);
    assert_int_equal(sizeof(lock), 64);
}

static void processes_lose_no_count(void **state)
{
    struct scene *scene = share(sizeof(*scene));
    pid_t pids[PROCESSES];

    (void)state;
    for (unsigned i = 0; i < PROCESSES; i++) {
        struct part part = {scene, i + 1, ROUNDS, 0, TAKEN};

        pids[i] = start(run_part, &part);
    }
    for (unsigned i = 0; i < PROCESSES; i++)
        assert_int_equal(ended(pids[i]), 0);
    assert_int_equal(scene->first, PROCESSES * ROUNDS);
    assert_int_equal(scene->second, PROCESSES * ROUNDS);
    assert_int_equal(scene->takeovers, 0);
    assert_int_equal(vf_lock_holder(&scene->lock), 0);
    munmap(scene, sizeof(*scene));
}

/* Places 1 and 3 die. As they come: not every system can tell that a process
 * is dead before it is reaped. */
static void reap(const pid_t pids[PROCESSES])
{
    for (int left = PROCESSES; left > 0; left--) {
        int status;
        pid_t pid = waitpid(-1, &status, 0);

        if (pid == pids[0] || pid == pids[2])
            assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        else
            assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

/* Two of the four die, in rounds and at moments of their own. */
static void kill_two(int round, enum moment moment)
{
    struct scene *scene = share(sizeof(*scene));
    const enum moment other = (moment + 1) % MOMENTS;
    const unsigned held = (moment != GIVEN) + (other != GIVEN);
    unsigned counted = 2 * MORTAL_ROUNDS + 2 * (unsigned)(round - 1) +
                       (moment != TAKEN) + (other != TAKEN);
    struct part parts[PROCESSES] = {
        {scene, 1, MORTAL_ROUNDS, round, moment},
        {scene, 2, MORTAL_ROUNDS, 0, TAKEN},
        {scene, 3, MORTAL_ROUNDS, round, other},
        {scene, 4, MORTAL_ROUNDS, 0, TAKEN},
    };
    pid_t pids[PROCESSES];

    for (unsigned i = 0; i < PROCESSES; i++)
        pids[i] = start(run_part, &parts[i]);
    reap(pids);
    if (vf_lock_holder(&scene->lock) == 0) {
        assert_int_equal(scene->takeovers, held);
        assert_int_equal(scene->first, counted);
        assert_int_equal(scene->second, counted);
    } else { /* the last to come died */
        assert_int_equal(scene->takeovers, held - 1);
        assert_int_equal(vf_lock_holder(&scene->lock) % 2, 1);
    }
    munmap(scene, sizeof(*scene));
}

static void a_dead_holder_is_noticed_and_told_of(void **state)
{
    (void)state;
    for (int round = 1; round <= MORTAL_ROUNDS; round += 3)
        for (enum moment moment = TAKEN; moment < MOMENTS; moment++)
            kill_two(round, moment);
}

/* The two moments between which a waiter can be lost. */

static int take_once(void *argument)
{
    const struct part *part = argument;
    struct scene *scene = part->scene;
    const struct vf_lock_deaths deaths = {alive, scene};

    atomic_store(&scene->pids[part->self], (int32_t)getpid());
    atomic_fetch_add(&scene->ready, 1);
    if (vf_lock_take(&scene->lock, part->self, &deaths))
        return 1;
    scene->first++;
    vf_lock_give(&scene->lock, part->self);
    return 0;
}

static void await_sleepers(struct scene *scene, unsigned self)
{
    while (atomic_load(&scene->lock.word) == self)
        sched_yield();
}

static void a_sleeper_is_woken(void **state)
{
    struct scene *scene = share(sizeof(*scene));
    struct part part = {scene, 1, 1, 0, TAKEN};
    pid_t pid;

    (void)state;
    atomic_store(&scene->pids[4], (int32_t)getpid());
    vf_lock_take(&scene->lock, 4, NULL);
    pid = start(take_once, &part);
    await_sleepers(scene, 4);
    assert_int_equal(vf_lock_holder(&scene->lock), 4);
    vf_lock_give(&scene->lock, 4);
    assert_int_equal(ended(pid), 0);
    assert_int_equal(scene->first, 1);
    munmap(scene, sizeof(*scene));
}

static void a_sleeper_that_dies_wakes_nobody_and_harms_nobody(void **state)
{
    struct scene *scene = share(sizeof(*scene));
    struct part parts[2] = {{scene, 1, 1, 0, TAKEN}, {scene, 2, 1, 0, TAKEN}};
    pid_t pids[2];

    (void)state;
    atomic_store(&scene->pids[4], (int32_t)getpid());
    vf_lock_take(&scene->lock, 4, NULL);
    pids[0] = start(take_once, &parts[0]);
    await_sleepers(scene, 4);
    pids[1] = start(take_once, &parts[1]);
    await(&scene->ready, 2);
    kill(pids[0], SIGKILL);
    assert_int_equal(ended(pids[0]), -SIGKILL);
    vf_lock_give(&scene->lock, 4);
    assert_int_equal(ended(pids[1]), 0);
    assert_int_equal(scene->first, 1);
    munmap(scene, sizeof(*scene));
}

/* As when a holder gave the lock back and died before it woke anybody. */
static void who_was_not_woken_wakes_by_itself(void **state)
{
    struct scene *scene = share(sizeof(*scene));
    struct part part = {scene, 1, 1, 0, TAKEN};
    pid_t pid;

    (void)state;
    atomic_store(&scene->pids[4], (int32_t)getpid());
    vf_lock_take(&scene->lock, 4, NULL);
    pid = start(take_once, &part);
    await_sleepers(scene, 4);
    atomic_store(&scene->lock.word, 0);
    assert_int_equal(ended(pid), 0);
    assert_int_equal(scene->first, 1);
    munmap(scene, sizeof(*scene));
}

static void a_place_is_cleared_of_its_locks(void **state)
{
    struct vf_lock lock = {0};
    uint32_t before;

    (void)state;
    assert_false(vf_lock_take_from(&lock, 7, 1));
    assert_false(vf_lock_take_from(&lock, 0, 1));
    vf_lock_take(&lock, 7, NULL);
    assert_false(vf_lock_take_from(&lock, 6, 1));
    before = atomic_load(&lock.word);
    assert_true(vf_lock_take_from(&lock, 7, 1));
    assert_int_equal(vf_lock_holder(&lock), 1);
    vf_lock_give(&lock, 1);
    /* One who saw the dead 7 does not mistake the new 7 for it. */
    assert_false(vf_lock_take(&lock, 7, NULL));
    assert_int_not_equal(atomic_load(&lock.word), before);
    vf_lock_give(&lock, 7);
}

/* Threads: for ThreadSanitizer. Some share a place. */

static struct scene common;

static void *run_thread(void *argument)
{
    const struct part *part = argument;
    bool *whole = malloc(sizeof(*whole));

    *whole = true;
    for (int round = 1; round <= part->rounds; round++)
        *whole = change(part, round, NULL) && *whole;
    return whole;
}

static void threads_see_what_the_last_holder_wrote(void **state)
{
    pthread_t threads[PROCESSES];
    struct part parts[PROCESSES];

    (void)state;
    for (unsigned i = 0; i < PROCESSES; i++) {
        parts[i] = (struct part){&common, i / 2 + i % 2 + 1, 20000, 0, TAKEN};
        assert_int_equal(
            pthread_create(&threads[i], NULL, run_thread, &parts[i]), 0);
    }
    for (unsigned i = 0; i < PROCESSES; i++) {
        void *whole;

        pthread_join(threads[i], &whole);
        assert_true(*(bool *)whole);
        free(whole);
    }
    assert_int_equal(common.first, PROCESSES * 20000);
    assert_int_equal(common.second, PROCESSES * 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_free_lock_names_nobody),
        cmocka_unit_test(processes_lose_no_count),
        cmocka_unit_test(a_dead_holder_is_noticed_and_told_of),
        cmocka_unit_test(a_sleeper_is_woken),
        cmocka_unit_test(a_sleeper_that_dies_wakes_nobody_and_harms_nobody),
        cmocka_unit_test(who_was_not_woken_wakes_by_itself),
        cmocka_unit_test(a_place_is_cleared_of_its_locks),
        cmocka_unit_test(threads_see_what_the_last_holder_wrote),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
