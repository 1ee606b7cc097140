/*
 * What the mock asks of the operating system, in whichever form was built.
 */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif
#include "fabric_support.h"

#include <pthread.h>
#include <sys/resource.h>

#define PAGE ((size_t)65536) /* a multiple of any page's size */
#define SECOND INT64_C(1000000000)

/* Shared memory. */

static char room_path[VF_OS_PATH_MAX];

static int answer_through_path(void *argument)
{
    const int *inherited = argument;
    size_t size = 0;
    unsigned char *memory;

    close(*inherited);
    memory = vf_os_open_shared(room_path, &size);
    if (memory == NULL || size < 3 * PAGE || memory[3 * PAGE - 1] != 17)
        return 1;
    memory[0] = 18;
    vf_os_unshare(memory, size, -1, NULL);
    return 0;
}

static void another_process_opens_shared_memory_by_its_path(void **state)
{
    int fd = -1;
    unsigned char *memory = vf_os_share(3 * PAGE, room_path, &fd);

    (void)state;
    assert_non_null(memory);
    assert_true(strlen(room_path) < VF_OS_PATH_MAX);
    for (size_t i = 0; i < 3 * PAGE; i++)
        assert_int_equal(memory[i], 0);
    memory[3 * PAGE - 1] = 17;
    assert_int_equal(ended(start(answer_through_path, &fd)), 0);
    assert_int_equal(memory[0], 18);
    vf_os_unshare(memory, 3 * PAGE, fd, room_path);
}

static void two_pieces_of_shared_memory_are_two(void **state)
{
    char paths[2][VF_OS_PATH_MAX];
    unsigned char *memory[2];
    int fds[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        memory[i] = vf_os_share(PAGE, paths[i], &fds[i]);
        assert_non_null(memory[i]);
    }
    assert_string_not_equal(paths[0], paths[1]);
    memory[0][0] = 1;
    assert_int_equal(memory[1][0], 0);
    for (int i = 0; i < 2; i++)
        vf_os_unshare(memory[i], PAGE, fds[i], paths[i]);
}

static void nothing_is_left_of_shared_memory_by_its_path(void **state)
{
    size_t size;
    int fd = -1;
    void *memory = vf_os_share(PAGE, room_path, &fd);

    (void)state;
    assert_non_null(memory);
    vf_os_unshare(memory, PAGE, fd, room_path);
    errno = 0;
    assert_null(vf_os_open_shared(room_path, &size));
    assert_int_equal(errno, ENOENT);
}

static void what_is_no_shared_memory_is_not_opened(void **state)
{
    static const char *const paths[] = {"", "/", "/dev/null", "nowhere",
                                        "/proc/self/fd/0"};
    char file[] = "/tmp/verbfault-test-XXXXXX";
    int fd = mkstemp(file);
    size_t size = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
        assert_null(vf_os_open_shared(paths[i], &size));
    assert_int_equal(write(fd, "no room", 7), 7);
    assert_null(vf_os_open_shared(file, &size));
    close(fd);
    unlink(file);
}

/* Of the mapping at memory, from what Linux says of it. */
static bool is_left_out_of_dumps(const void *memory)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    unsigned long long first, last;
    bool here = false, left_out = false;
    char line[512];

    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%llx-%llx ", &first, &last) == 2)
            here = (uintptr_t)memory >= first && (uintptr_t)memory < last;
        else if (here && strncmp(line, "VmFlags:", 8) == 0)
            left_out = strstr(line, " dd") != NULL;
    }
    fclose(maps);
    return left_out;
}

/* A rank that dumps gigabytes of holes into a pipe lives for minutes. */
static void shared_memory_is_left_out_of_core_dumps(void **state)
{
    char path[VF_OS_PATH_MAX];
    int fd = -1;
    size_t size = 0;
    void *made = vf_os_share(PAGE, path, &fd), *opened;

    (void)state;
    assert_non_null(made);
    if (strncmp(path, "/proc/", 6) != 0) {
        print_message("skipped: only the layer for Linux does that\n");
        vf_os_unshare(made, PAGE, fd, path);
        skip();
    }
    opened = vf_os_open_shared(path, &size);
    assert_true(is_left_out_of_dumps(made));
    assert_true(is_left_out_of_dumps(opened));
    vf_os_unshare(opened, size, -1, NULL);
    vf_os_unshare(made, PAGE, fd, path);
}

static void memory_that_does_not_fit_is_refused(void **state)
{
    char path[VF_OS_PATH_MAX];
    int fd = -1;

    (void)state;
    errno = 0;
    assert_null(vf_os_share((size_t)1 << 60, path, &fd));
    assert_int_equal(errno, ENOSPC);
    errno = 0;
    assert_null(vf_os_share(SIZE_MAX, path, &fd));
    assert_int_equal(errno, ENOSPC);
    errno = 0;
    assert_null(vf_os_share(0, path, &fd));
    assert_int_equal(errno, EINVAL);
    assert_int_equal(fd, -1);
}

static int share_beyond_the_limit(void *argument)
{
    const struct rlimit limit = {PAGE, PAGE};
    char path[VF_OS_PATH_MAX];
    int fd = -1;

    (void)argument;
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    return vf_os_share(2 * PAGE, path, &fd) == NULL && errno == ENOSPC &&
                   fd == -1
               ? 0
               : 2;
}

static void a_limit_for_files_does_not_kill(void **state)
{
    (void)state;
    assert_int_equal(ended(start(share_beyond_the_limit, NULL)), 0);
}

/* Sleeping. */

static void a_word_that_differs_is_not_slept_on(void **state)
{
    _Atomic uint32_t word = 1;

    (void)state;
    vf_os_wait(&word, 2, -1);
}

static void sleep_ends_in_time_and_keeps_errno(void **state)
{
    _Atomic uint32_t word = 1;
    int64_t before = vf_os_now();

    (void)state;
    errno = EXDEV;
    while (vf_os_now() - before < 5000000)
        vf_os_wait(&word, 1, 5000000 - (vf_os_now() - before));
    vf_os_wait(&word, 1, 0);
    assert_int_equal(errno, EXDEV);
    assert_true(vf_os_now() - before < 60 * SECOND);
}

struct ball {
    _Atomic uint32_t word;
};

static int play(void *argument)
{
    struct ball *ball = argument;

    for (uint32_t turn = 1; turn < 400; turn += 2) {
        while (atomic_load(&ball->word) != turn)
            vf_os_wait(&ball->word, turn - 1, -1);
        atomic_store(&ball->word, turn + 1);
        if (turn % 4 == 1)
            vf_os_wake(&ball->word);
        else
            vf_os_wake_one(&ball->word);
    }
    return 0;
}

static void processes_wake_each_other(void **state)
{
    struct ball *ball = share(sizeof(*ball));
    pid_t pid = start(play, ball);

    (void)state;
    for (uint32_t turn = 0; turn < 400; turn += 2) {
        atomic_store(&ball->word, turn + 1);
        vf_os_wake(&ball->word);
        while (atomic_load(&ball->word) != turn + 2)
            vf_os_wait(&ball->word, turn + 1, -1);
    }
    assert_int_equal(ended(pid), 0);
    munmap(ball, sizeof(*ball));
}

static int look_at_the_clock(void *argument)
{
    int64_t *now = argument;

    *now = vf_os_now();
    return 0;
}

static void processes_have_one_clock(void **state)
{
    int64_t *now = share(sizeof(*now));
    int64_t before = vf_os_now();

    (void)state;
    assert_int_equal(ended(start(look_at_the_clock, now)), 0);
    assert_true(before <= *now && *now <= vf_os_now());
    munmap(now, sizeof(*now));
}

/* Who is alive. */

static int stay(void *argument)
{
    _Atomic uint32_t *word = argument;

    atomic_store(word, 1);
    while (atomic_load(word) != 2)
        vf_os_wait(word, 1, -1);
    return 0;
}

static void a_process_is_alive_until_it_dies(void **state)
{
    _Atomic uint32_t *word = share(sizeof(*word));
    pid_t pid = start(stay, word);

    (void)state;
    await(word, 1);
    errno = EXDEV;
    assert_true(vf_os_alive(pid));
    assert_true(vf_os_alive(getpid()));
    kill(pid, SIGKILL);
    while (vf_os_alive(pid)) /* dead soon, and not reaped */
        sched_yield();
    assert_int_equal(errno, EXDEV);
    assert_int_equal(ended(pid), -SIGKILL);
    assert_false(vf_os_alive(pid));
    assert_false(vf_os_alive(0));
    assert_false(vf_os_alive(-1));
    munmap(word, sizeof(*word));
}

static void *stay_as_thread(void *argument)
{
    _exit(stay(argument));
}

static int leave_a_thread(void *argument)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, stay_as_thread, argument) == 0)
        pthread_exit(NULL);
    return 1;
}

static void a_process_without_its_first_thread_is_alive(void **state)
{
    _Atomic uint32_t *word = share(sizeof(*word));
    pid_t pid = start(leave_a_thread, word);

    (void)state;
    await(word, 1);
    for (int i = 0; i < 100; i++) {
        assert_true(vf_os_alive(pid));
        sched_yield();
    }
    atomic_store(word, 2);
    vf_os_wake(word);
    assert_int_equal(ended(pid), 0);
    munmap(word, sizeof(*word));
}

/* Copies. */

struct stage {
    _Atomic uint32_t word; /* 1: the child has its memory */
    uint64_t address;      /* in the child: PAGE good bytes, PAGE bad ones */
};

static int offer_memory(void *argument)
{
    struct stage *stage = argument;
    unsigned char *memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED || munmap(memory + PAGE, PAGE) != 0)
        return 1;
    for (size_t i = 0; i < PAGE; i++)
        memory[i] = (unsigned char)(i % 251);
    vf_os_allow_copies();
    stage->address = (uintptr_t)memory;
    stay(&stage->word);
    for (size_t i = 0; i < PAGE; i++)
        if (memory[i] != (unsigned char)(i % 251 + (i >= 5 && i < 5005)))
            return 2;
    return 0;
}

static pid_t stage_child(struct stage *stage)
{
    pid_t pid = start(offer_memory, stage);
    unsigned char byte;

    await(&stage->word, 1);
    switch (vf_os_read(pid, &byte, stage->address, 1)) {
    case EPERM:
    case ENOSYS:
        kill(pid, SIGKILL);
        ended(pid);
        print_message("skipped: no copies between processes here\n");
        skip();
        break;
    default:
        break;
    }
    return pid;
}

static void bytes_are_copied_both_ways(void **state)
{
    struct stage *stage = share(sizeof(*stage));
    pid_t pid = stage_child(stage);
    unsigned char bytes[5000];

    (void)state;
    assert_int_equal(vf_os_read(pid, bytes, stage->address + 5, 5000), 0);
    for (size_t i = 0; i < 5000; i++) {
        assert_int_equal(bytes[i], (i + 5) % 251);
        bytes[i]++;
    }
    assert_int_equal(vf_os_write(pid, stage->address + 5, bytes, 5000), 0);
    assert_int_equal(vf_os_read(pid, NULL, 0, 0), 0);
    assert_int_equal(vf_os_write(pid, 0, NULL, 0), 0);
    atomic_store(&stage->word, 2);
    vf_os_wake(&stage->word);
    assert_int_equal(ended(pid), 0);
    munmap(stage, sizeof(*stage));
}

static void bad_memory_is_efault_on_either_side(void **state)
{
    struct stage *stage = share(sizeof(*stage));
    pid_t pid = stage_child(stage);
    uint64_t end = stage->address + PAGE;
    unsigned char *bytes = calloc(2, PAGE);
    unsigned char *hole =
        mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_non_null(bytes);
    errno = EXDEV;
    assert_int_equal(vf_os_read(pid, bytes, end, 1), EFAULT);
    assert_int_equal(vf_os_read(pid, bytes, end - PAGE, PAGE + 1), EFAULT);
    assert_int_equal(bytes[250], 250); /* what was good has come */
    assert_int_equal(vf_os_write(pid, end - 1, bytes, 2), EFAULT);
    assert_int_equal(vf_os_read(pid, bytes, 0, 8), EFAULT);
    assert_int_equal(vf_os_read(pid, bytes, UINT64_MAX - 3, 8), EFAULT);
    assert_int_equal(vf_os_read(pid, bytes, end - 8, SIZE_MAX), EFAULT);
    assert_int_equal(vf_os_read(pid, hole, end - 8, 8), EFAULT);
    assert_int_equal(vf_os_write(pid, end - 8, hole, 8), EFAULT);
    assert_int_equal(errno, EXDEV);
    kill(pid, SIGKILL);
    ended(pid);
    assert_int_equal(vf_os_read(pid, bytes, end - 8, 8), ESRCH);
    assert_int_equal(vf_os_write(pid, end - 8, bytes, 8), ESRCH);
    munmap(hole, PAGE);
    munmap(stage, sizeof(*stage));
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_process_opens_shared_memory_by_its_path),
        cmocka_unit_test(two_pieces_of_shared_memory_are_two),
        cmocka_unit_test(nothing_is_left_of_shared_memory_by_its_path),
        cmocka_unit_test(shared_memory_is_left_out_of_core_dumps),
        cmocka_unit_test(what_is_no_shared_memory_is_not_opened),
        cmocka_unit_test(memory_that_does_not_fit_is_refused),
        cmocka_unit_test(a_limit_for_files_does_not_kill),
        cmocka_unit_test(a_word_that_differs_is_not_slept_on),
        cmocka_unit_test(sleep_ends_in_time_and_keeps_errno),
        cmocka_unit_test(processes_wake_each_other),
        cmocka_unit_test(processes_have_one_clock),
        cmocka_unit_test(a_process_is_alive_until_it_dies),
        cmocka_unit_test(a_process_without_its_first_thread_is_alive),
        cmocka_unit_test(bytes_are_copied_both_ways),
        cmocka_unit_test(bad_memory_is_efault_on_either_side),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
