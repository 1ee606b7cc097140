/*
 * The porter: copies between processes that may not reach into each other.
 *
 * The child is the target: it has memory, a mailbox and a porter, and does what
 * `word` says. The test asks.
 */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif
#include "fabric_support.h"

#include <fcntl.h>
#include <pthread.h>

#include "mocks/mock/porter.h"

#define PAGE ((size_t)65536) /* a multiple of any page's size */
#define BIG ((size_t)1 << 20)
#define MEMORY (BIG + 2 * PAGE)
#define SECOND INT64_C(1000000000)
#define TARGET 1
#define TEST 2

enum { NEW, READY, LEAVE, RESTART };

struct stage {
    struct vf_mailbox box;
    _Atomic uint32_t word;
    _Atomic int32_t pids[4]; /* by place */
    uint64_t address;        /* in the target: MEMORY good bytes, PAGE bad */
};

static bool alive(void *context, unsigned holder)
{
    struct stage *stage = context;

    return vf_os_alive(atomic_load(&stage->pids[holder]));
}

static struct vf_lock_deaths deaths = {alive, NULL};

static struct vf_asker asker(unsigned self)
{
    return (struct vf_asker){self, &deaths, 60 * SECOND};
}

static unsigned char pattern(size_t i)
{
    return (unsigned char)(i * 7 + i / 251);
}

static unsigned char *memory_with_a_bad_end(void)
{
    unsigned char *memory = mmap(NULL, MEMORY + PAGE, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED || mprotect(memory + MEMORY, PAGE, PROT_NONE) != 0)
        return NULL;
    for (size_t i = 0; i < MEMORY; i++)
        memory[i] = pattern(i);
    return memory;
}

static int be_target(void *argument)
{
    struct stage *stage = argument;
    const struct vf_asker self = asker(TARGET);
    struct vf_porter *porter;

    stage->address = (uintptr_t)memory_with_a_bad_end();
    do {
        atomic_store(&stage->pids[TARGET], (int32_t)getpid());
        porter = vf_porter_start(&stage->box, &self);
        if (porter == NULL || stage->address == 0)
            return 1;
        atomic_store(&stage->word, READY);
        while (atomic_load(&stage->word) == READY)
            vf_os_wait(&stage->word, READY, -1);
        vf_porter_stop(porter);
    } while (atomic_load(&stage->word) == RESTART);
    return 0;
}

static struct stage *stage_new(void)
{
    struct stage *stage = share(sizeof(*stage));

    deaths.context = stage;
    atomic_store(&stage->pids[TEST], (int32_t)getpid());
    return stage;
}

static void tell(struct stage *stage, uint32_t word)
{
    atomic_store(&stage->word, word);
    vf_os_wake(&stage->word);
}

static void end_target(struct stage *stage, pid_t pid)
{
    tell(stage, LEAVE);
    assert_int_equal(ended(pid), 0);
    assert_int_equal(atomic_load(&stage->box.pid), 0);
    munmap(stage, sizeof(*stage));
}

/* Sizes and places that repeat from run to run. */
static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void any_size_is_copied_both_ways(void **state)
{
    struct stage *stage = stage_new();
    pid_t pid = start(be_target, stage);
    const struct vf_asker self = asker(TEST);
    unsigned char *model = malloc(MEMORY);
    unsigned char *bytes = malloc(BIG);
    uint32_t seed = 3;

    (void)state;
    for (size_t i = 0; i < MEMORY; i++)
        model[i] = pattern(i);
    await(&stage->word, READY);
    for (unsigned round = 0; round < 60; round++) {
        size_t most = (size_t)1 << next(&seed) % 21;
        size_t size = next(&seed) % (most + 1);
        size_t at = next(&seed) % (MEMORY - size);

        assert_int_equal(vf_porter_read(&stage->box, pid, &self, bytes,
                                        stage->address + at, size),
                         0);
        assert_memory_equal(bytes, model + at, size);
        at = next(&seed) % (MEMORY - size);
        for (size_t i = 0; i < size; i++)
            model[at + i] = bytes[i] ^= (unsigned char)round;
        assert_int_equal(vf_porter_write(&stage->box, pid, &self,
                                         stage->address + at, bytes, size),
                         0);
    }
    for (size_t at = 0; at < MEMORY; at += PAGE) {
        assert_int_equal(vf_porter_read(&stage->box, pid, &self, bytes,
                                        stage->address + at, PAGE),
                         0);
        assert_memory_equal(bytes, model + at, PAGE);
    }
    free(model);
    free(bytes);
    end_target(stage, pid);
}

static void bad_memory_is_efault_and_harms_nobody(void **state)
{
    struct stage *stage = stage_new();
    pid_t pid = start(be_target, stage);
    const struct vf_asker self = asker(TEST);
    unsigned char *bytes = calloc(2, PAGE);
    uint64_t bad;

    (void)state;
    await(&stage->word, READY);
    bad = stage->address + MEMORY;
    errno = EXDEV;
    assert_int_equal(vf_porter_read(&stage->box, pid, &self, bytes, bad, 1),
                     EFAULT);
    assert_int_equal(vf_porter_write(&stage->box, pid, &self, bad, bytes, 1),
                     EFAULT);
    assert_int_equal(vf_porter_read(&stage->box, pid, &self, bytes, 0, 1),
                     EFAULT);
    assert_int_equal(
        vf_porter_read(&stage->box, pid, &self, bytes, bad - 9, 10), EFAULT);
    assert_int_equal(
        vf_porter_write(&stage->box, pid, &self, bad - PAGE, bytes, PAGE + 1),
        EFAULT);
    assert_int_equal(
        vf_porter_write(&stage->box, pid, &self, bad - 5000, bytes, PAGE),
        EFAULT);
    /* What comes next is not what the bad one left over. */
    memset(bytes, 0xee, PAGE);
    assert_int_equal(
        vf_porter_read(&stage->box, pid, &self, bytes, stage->address + 3, 100),
        0);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(bytes[i], pattern(i + 3));
    assert_int_equal(errno, EXDEV);
    free(bytes);
    end_target(stage, pid);
}

static void nobody_is_there_before_and_after_a_porter(void **state)
{
    struct stage *stage = stage_new();
    const struct vf_asker self = asker(TEST);
    unsigned char byte;
    pid_t pid;

    (void)state;
    assert_int_equal(vf_porter_read(&stage->box, getpid(), &self, &byte, 0, 1),
                     ESRCH);
    pid = start(be_target, stage);
    await(&stage->word, READY);
    assert_int_equal(vf_porter_read(&stage->box, getpid(), &self, &byte, 0, 1),
                     ESRCH);
    for (unsigned i = 0; i < 20; i++) { /* it can stop and start again */
        assert_int_equal(vf_porter_read(&stage->box, pid, &self, &byte,
                                        stage->address + 1, 1),
                         0);
        assert_int_equal(byte, pattern(1));
        tell(stage, RESTART);
        await(&stage->word, READY);
    }
    tell(stage, LEAVE);
    assert_int_equal(ended(pid), 0);
    assert_int_equal(vf_porter_read(&stage->box, pid, &self, &byte, 0, 1),
                     ESRCH);
    munmap(stage, sizeof(*stage));
}

/* The target is killed by a child of the test, when the test is somewhere in
 * its copies. */
static void a_target_killed_in_the_middle_is_esrch(void **state)
{
    const struct vf_asker self = asker(TEST);
    unsigned char *bytes = malloc(BIG);

    (void)state;
    for (unsigned when = 0; when < 20; when++) {
        struct stage *stage = stage_new();
        pid_t pid = start(be_target, stage);
        uint32_t goal = when * 3 + 1;
        pid_t killer;
        int error = 0;

        await(&stage->word, READY);
        killer = fork();
        assert_true(killer >= 0);
        if (killer == 0) {
            alarm(CHILD_SECONDS);
            while (atomic_load(&stage->box.asked) < goal)
                sched_yield();
            kill(pid, SIGKILL);
            _exit(0);
        }
        /* Its end has to be seen where only reaping shows it. */
        while (error == 0)
            error = when % 2 == 0 ? vf_porter_read(&stage->box, pid, &self,
                                                   bytes, stage->address, BIG)
                                  : vf_porter_write(&stage->box, pid, &self,
                                                    stage->address, bytes, BIG);
        assert_int_equal(error, ESRCH);
        assert_int_equal(ended(pid), -SIGKILL);
        assert_int_equal(ended(killer), 0);
        munmap(stage, sizeof(*stage));
    }
    free(bytes);
}

static pid_t stop_target(struct stage *stage)
{
    pid_t pid = start(be_target, stage);

    await(&stage->word, READY);
    kill(pid, SIGSTOP);
    assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
    return pid;
}

static void a_request_under_way_is_not_written_over(void **state)
{
    struct stage *stage = stage_new();
    pid_t pid = stop_target(stage);
    const struct vf_asker self = asker(TEST);
    struct vf_asker hasty = self;
    unsigned char bytes[9];

    (void)state;
    hasty.patience = 1000000;
    assert_int_equal(vf_porter_write(&stage->box, pid, &hasty, stage->address,
                                     "underway", 9),
                     ETIMEDOUT);
    assert_int_equal(vf_porter_write(&stage->box, pid, &hasty,
                                     stage->address + 9, "too late", 9),
                     ETIMEDOUT);
    kill(pid, SIGCONT);
    assert_int_equal(
        vf_porter_read(&stage->box, pid, &self, bytes, stage->address, 9), 0);
    assert_memory_equal(bytes, "underway", 9);
    assert_int_equal(
        vf_porter_read(&stage->box, pid, &self, bytes, stage->address + 9, 1),
        0);
    assert_int_equal(bytes[0], pattern(9));
    end_target(stage, pid);
}

static void who_has_no_patience_goes_and_the_next_is_served(void **state)
{
    struct stage *stage = stage_new();
    pid_t pid = stop_target(stage);
    const struct vf_asker self = asker(TEST);
    struct vf_asker hasty = self;
    unsigned char bytes[100];

    (void)state;
    hasty.patience = 2000000;
    for (int i = 0; i < 3; i++)
        assert_int_equal(vf_porter_read(&stage->box, pid, &hasty, bytes,
                                        stage->address, 100),
                         ETIMEDOUT);
    kill(pid, SIGCONT);
    assert_int_equal(
        vf_porter_read(&stage->box, pid, &self, bytes, stage->address + 9, 100),
        0);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(bytes[i], pattern(i + 9));
    end_target(stage, pid);
}

/* Askers. */

#define ASKERS 3 /* places 1 to 3; the target has none that matters */

struct asking {
    struct stage *stage;
    pid_t pid;
    unsigned place;
};

static int read_and_check(void *argument)
{
    const struct asking *asking = argument;
    struct stage *stage = asking->stage;
    const struct vf_asker self = asker(asking->place);
    unsigned char *bytes = malloc(3 * PAGE);
    uint32_t seed = asking->place;

    atomic_store(&stage->pids[asking->place], (int32_t)getpid());
    for (int round = 0; round < 100; round++) {
        size_t size = next(&seed) % (3 * PAGE);
        size_t at = next(&seed) % (MEMORY - size);

        if (vf_porter_read(&stage->box, asking->pid, &self, bytes,
                           stage->address + at, size) != 0)
            return 1;
        for (size_t i = 0; i < size; i++)
            if (bytes[i] != pattern(at + i))
                return 2;
    }
    free(bytes);
    return 0;
}

static void askers_do_not_mix_up_their_mail(void **state)
{
    struct stage *stage = stage_new();
    pid_t pid = start(be_target, stage);
    pid_t askers[ASKERS];

    (void)state;
    await(&stage->word, READY);
    for (unsigned i = 0; i < ASKERS; i++) {
        struct asking asking = {stage, pid, i + 1};

        askers[i] = start(read_and_check, &asking);
    }
    for (unsigned i = 0; i < ASKERS; i++)
        assert_int_equal(ended(askers[i]), 0);
    atomic_store(&stage->pids[TARGET], (int32_t)pid);
    end_target(stage, pid);
}

static int ask_for_ever(void *argument)
{
    const struct asking *asking = argument;
    struct stage *stage = asking->stage;
    const struct vf_asker self = asker(asking->place);
    unsigned char *bytes = malloc(BIG);

    atomic_store(&stage->pids[asking->place], (int32_t)getpid());
    for (;;)
        if (vf_porter_read(&stage->box, asking->pid, &self, bytes,
                           stage->address, BIG) != 0)
            return 1;
}

static void a_killed_asker_leaves_a_mailbox_that_works(void **state)
{
    struct stage *stage = stage_new();
    pid_t pid = start(be_target, stage);
    const struct vf_asker self = asker(TEST);
    unsigned char bytes[100];

    (void)state;
    await(&stage->word, READY);
    for (uint32_t round = 0; round < 40; round++) {
        struct asking asking = {stage, pid, 3};
        uint32_t goal = atomic_load(&stage->box.asked) + 1 + round % 7;
        pid_t killed = start(ask_for_ever, &asking);

        while ((int32_t)(atomic_load(&stage->box.asked) - goal) < 0)
            sched_yield();
        kill(killed, SIGKILL);
        assert_int_equal(ended(killed), -SIGKILL);
        assert_int_equal(vf_porter_read(&stage->box, pid, &self, bytes,
                                        stage->address + round, 100),
                         0);
        for (size_t i = 0; i < 100; i++)
            assert_int_equal(bytes[i], pattern(i + round));
    }
    end_target(stage, pid);
}

/* As when an asker died after it had asked, before it woke the porter. */
static void a_request_that_woke_nobody_is_served_all_the_same(void **state)
{
    struct stage *stage = stage_new();
    pid_t pid = start(be_target, stage);
    const struct vf_asker self = asker(TEST);
    unsigned char byte;

    (void)state;
    await(&stage->word, READY);
    await(&stage->box.porter_sleeps, 1);
    assert_false(vf_lock_take(&stage->box.lock, 3, &deaths));
    stage->box.address = stage->address;
    stage->box.size = 1;
    stage->box.kind = 0;
    atomic_fetch_add(&stage->box.asked, 1);
    assert_int_equal(
        vf_porter_read(&stage->box, pid, &self, &byte, stage->address + 1, 1),
        0);
    assert_int_equal(byte, pattern(1));
    end_target(stage, pid);
}

/* What a porter does to its process. */

static volatile sig_atomic_t handled;

static void handle(int number)
{
    (void)number;
    handled = 1;
}

/* A signal that the program does not take now waits until it does, while its
 * porter works. */
static bool signals_wait(struct stage *stage)
{
    const struct vf_asker self = asker(TARGET);
    unsigned char from = 77;
    unsigned char to = 0;
    sigset_t set;
    bool waited;

    signal(SIGUSR1, handle);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    kill(getpid(), SIGUSR1);
    if (vf_porter_read(&stage->box, getpid(), &self, &to, (uintptr_t)&from,
                       1) != 0)
        return false;
    sigpending(&set);
    waited = to == from && sigismember(&set, SIGUSR1) == 1 && !handled;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    return waited && handled;
}

static int open_descriptors(void)
{
    int count = 0;

    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) != -1;
    return count;
}

static int has_a_porter(void *argument)
{
    struct stage *stage = argument;
    const struct vf_asker self = asker(TARGET);
    int before = open_descriptors();
    struct vf_porter *porter;
    unsigned char to = 0;
    pid_t child;

    atomic_store(&stage->pids[TARGET], (int32_t)getpid());
    porter = vf_porter_start(&stage->box, &self);
    if (porter == NULL)
        return 1;
    if (!signals_wait(stage))
        return 2;
    while (atomic_load(&stage->box.porter_sleeps) == 0)
        sched_yield();
    if (open_descriptors() != before)
        return 3;
    child = fork();
    if (child == 0) {
        vf_porter_stop(porter);
        _exit(0);
    }
    if (waitpid(child, NULL, 0) != child ||
        vf_porter_read(&stage->box, getpid(), &self, &to, (uintptr_t)&to, 1) !=
            0)
        return 4;
    vf_porter_stop(porter);
    return open_descriptors() == before ? 0 : 5;
}

static void a_porter_takes_no_signals_and_keeps_no_descriptors(void **state)
{
    struct stage *stage = stage_new();

    (void)state;
    assert_int_equal(ended(start(has_a_porter, stage)), 0);
    munmap(stage, sizeof(*stage));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_size_is_copied_both_ways),
        cmocka_unit_test(bad_memory_is_efault_and_harms_nobody),
        cmocka_unit_test(nobody_is_there_before_and_after_a_porter),
        cmocka_unit_test(a_target_killed_in_the_middle_is_esrch),
        cmocka_unit_test(a_request_under_way_is_not_written_over),
        cmocka_unit_test(who_has_no_patience_goes_and_the_next_is_served),
        cmocka_unit_test(askers_do_not_mix_up_their_mail),
        cmocka_unit_test(a_killed_asker_leaves_a_mailbox_that_works),
        cmocka_unit_test(a_request_that_woke_nobody_is_served_all_the_same),
        cmocka_unit_test(a_porter_takes_no_signals_and_keeps_no_descriptors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
