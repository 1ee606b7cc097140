/*
 * The side channel between real processes: signals, deaths, forks. What is
 * waited for here is always an event of another process, over a pipe.
 */
#define _GNU_SOURCE /* POSIX, with a strict -std=c11 */

#include "cjaccl/src/address.h"
#include "cjaccl/src/defaults.h"
#include "cjaccl/src/side.h"

#include "cjaccl_fake.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND ((int64_t)1000000000)
#define LONG (20 * SECOND)
#define RANKS 4

/* What a process of the test says when it is through. */
struct report {
    int status;
    int peer;
    int signals; /* that its handler saw */
    int wrong;   /* blocks of gathers that were */
    char message[CJ_MESSAGE_SIZE];
};

struct process {
    pid_t pid;
    int reports; /* the pipe's end to read from */
};

static struct cji_address address;

/* As much of a group as the side channel uses. */
static void init_group(struct cj_group *group, int rank, int size,
                       int64_t timeout)
{
    memset(group, 0, sizeof *group);
    group->rank = rank;
    group->size = size;
    group->clock = cji_default_clock;
    group->net = cji_default_net;
    group->timeout = timeout;
    group->deadline = cji_default_clock.now_ns(NULL) + timeout;
    for (int i = 0; i < CJ_MAX_RANKS; i++)
        group->ends[i] = -1;
}

static void gather(struct cj_group *group, size_t bytes, int round,
                   struct report *report)
{
    unsigned char *mine = malloc(bytes);
    unsigned char *all = malloc(bytes * (size_t)group->size);

    memset(mine, group->rank * 50 + round, bytes);
    report->status = cji_side_gather(group, mine, all, bytes);
    for (int i = 0; report->status == CJ_OK && i < group->size; i++) {
        unsigned char expected = (unsigned char)(i * 50 + round);

        report->wrong += all[(size_t)i * bytes] != expected ||
                         all[(size_t)(i + 1) * bytes - 1] != expected;
    }
    free(all);
    free(mine);
}

static void send_report(int fd, const struct cj_group *group,
                        struct report *report)
{
    report->peer = group->error.peer;
    memcpy(report->message, group->error.message, sizeof report->message);
    if (write(fd, report, sizeof *report) != (ssize_t)sizeof *report)
        _exit(3);
}

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
    (void)number;
    signals++;
}

/* A timer that does not restart system calls, every 100 microseconds. */
static void start_timer(void)
{
    struct sigaction action = {.sa_handler = count_signal};
    struct itimerval often = {{0, 100}, {0, 100}};

    (void)sigaction(SIGALRM, &action, NULL);
    (void)setitimer(ITIMER_REAL, &often, NULL);
}

static void stop_timer(void)
{
    struct itimerval never = {{0, 0}, {0, 0}};

    (void)setitimer(ITIMER_REAL, &never, NULL);
}

static bool under_fire; /* processes start a timer before all else */

/* Runs the body in a process of its own. */
static void start_process(struct process *process, int rank, int size,
                          int64_t timeout,
                          void (*body)(struct cj_group *group,
                                       struct report *report, int fd))
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    process->pid = fork();
    assert_true(process->pid >= 0);
    if (process->pid == 0) {
        struct cj_group group;
        struct report report = {.status = CJ_OK};

        init_group(&group, rank, size, timeout);
        /* None outlives a test that failed. */
        if (under_fire)
            start_timer();
        else
            (void)alarm(120);
        report.status = cji_side_open(&group, &address);
        if (report.status == CJ_OK)
            body(&group, &report, ends[1]);
        send_report(ends[1], &group, &report);
        cji_side_close(&group);
        _exit(0);
    }
    (void)close(ends[1]);
    process->reports = ends[0];
}

/* Whether a whole report came; else the process, and all its children that
 * have the pipe, ended without one. */
static bool read_report(const struct process *process, struct report *report)
{
    size_t got = 0;

    while (got < sizeof *report) {
        ssize_t n =
            read(process->reports, (char *)report + got, sizeof *report - got);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    report->message[CJ_MESSAGE_SIZE - 1] = '\0';
    return true;
}

static void end_process(struct process *process)
{
    int status;

    (void)close(process->reports);
    assert_int_equal(waitpid(process->pid, &status, 0), process->pid);
}

static void choose_address(void)
{
    char text[32];

    assert_null(cji_address_parse(&address, fake_coordinator(text)));
}

static void gather_under_fire(struct cj_group *group, struct report *report,
                              int fd)
{
    (void)fd;
    for (int round = 0; round < 50 && report->status == CJ_OK; round++)
        gather(group, 30001, round, report);
    /* Rank 0 stays until it was hit: it waits for what does not come. */
    if (group->rank == 0 && report->status == CJ_OK) {
        int end = group->ends[1];
        int64_t now = cji_default_clock.now_ns(NULL);

        while (signals < 100 && now < group->deadline) {
            (void)cji_default_net.wait(NULL, &end, 1, now + SECOND / 100);
            now = cji_default_clock.now_ns(NULL);
        }
    }
    stop_timer();
    report->signals = signals;
}

/* C8, while it opens and while it gathers. */
static void timers_interrupt_nothing(void **state)
{
    struct process processes[RANKS];

    (void)state;
    choose_address();
    under_fire = true;
    for (int i = 0; i < RANKS; i++)
        start_process(&processes[i], i, RANKS, LONG, gather_under_fire);
    under_fire = false;
    for (int i = 0; i < RANKS; i++) {
        struct report report;

        assert_true(read_report(&processes[i], &report));
        if (report.status != CJ_OK)
            fail_msg("rank %d: %s", i, report.message);
        assert_int_equal(report.wrong, 0);
        if (i == 0)
            assert_true(report.signals >= 100);
        end_process(&processes[i]);
    }
}

/* Says that it has come here; the test kills it then. */
static void wait_to_be_killed(struct cj_group *group, struct report *report,
                              int fd)
{
    send_report(fd, group, report);
    for (;;)
        (void)pause();
}

static void gather_once(struct cj_group *group, struct report *report, int fd)
{
    (void)fd;
    gather(group, 8, 0, report);
}

/* C4, the hard way: the kernel closes what the process had. */
static void a_killed_rank_is_told_by_all(void **state)
{
    (void)state;
    for (int victim = 0; victim < RANKS; victim++) {
        struct process processes[RANKS];
        struct report report;

        choose_address();
        for (int i = 0; i < RANKS; i++)
            start_process(&processes[i], i, RANKS, LONG,
                          i == victim ? wait_to_be_killed : gather_once);
        assert_true(read_report(&processes[victim], &report));
        (void)kill(processes[victim].pid, SIGKILL);
        for (int i = 0; i < RANKS; i++) {
            if (i != victim) {
                assert_true(read_report(&processes[i], &report));
                assert_int_equal(report.status, CJ_PEER_GONE);
                assert_int_equal(report.peer, i == 0 ? victim : 0);
            }
            end_process(&processes[i]);
        }
    }
}

/*
 * A rank 1 with a child that lives on. The child holds the reports' pipe, and
 * ends when nobody reads from its standard input's other end.
 */
enum child_kind { CHILD_EXECS, CHILD_DROPS, CHILD_KEEPS };

static enum child_kind child_kind;
static bool parent_closes;
static int leash[2]; /* the child ends with it */

static void be_child(void)
{
    char byte;

    (void)alarm(120);
    (void)close(leash[1]);
    (void)dup2(leash[0], 0);
    if (child_kind == CHILD_EXECS) {
        (void)execl("/bin/cat", "cat", (char *)NULL);
        _exit(9);
    }
    while (read(0, &byte, 1) > 0)
        ;
    _exit(0);
}

static void fork_and_stay(struct cj_group *group, struct report *report, int fd)
{
    pid_t child;
    int ready[2];
    char byte = 0;

    if (pipe(ready) != 0)
        _exit(4);
    (void)fcntl(ready[1], F_SETFD, FD_CLOEXEC);
    child = fork();
    if (child == 0) {
        (void)close(fd);
        if (child_kind == CHILD_DROPS)
            cji_side_drop(group);
        /* What says that it got this far; exec closes this end by itself. */
        if (child_kind != CHILD_EXECS)
            (void)close(ready[1]);
        be_child();
    }
    (void)close(ready[1]);
    while (read(ready[0], &byte, 1) < 0 && errno == EINTR)
        ;
    /* What the child did has done this rank no harm. */
    gather(group, 8, 0, report);
    send_report(fd, group, report);
    if (parent_closes) {
        cji_side_close(group);
        _exit(0);
    }
    for (;;)
        (void)pause();
}

static void gather_twice(struct cj_group *group, struct report *report, int fd)
{
    (void)fd;
    gather(group, 8, 0, report);
    if (report->status == CJ_OK)
        gather(group, 8, 1, report);
}

/* What rank 0 sees when rank 1 ends, while a child of that one lives on. */
static void end_with_child(enum child_kind kind, bool closes, int64_t timeout,
                           struct report *report)
{
    struct process processes[2];

    choose_address();
    child_kind = kind;
    parent_closes = closes;
    assert_int_equal(pipe(leash), 0);
    start_process(&processes[1], 1, 2, LONG, fork_and_stay);
    start_process(&processes[0], 0, 2, timeout, gather_twice);
    assert_true(read_report(&processes[1], report));
    if (report->status != CJ_OK)
        fail_msg("rank 1: %s", report->message);
    assert_int_equal(report->wrong, 0);
    if (!closes)
        (void)kill(processes[1].pid, SIGKILL);
    assert_true(read_report(&processes[0], report));
    end_process(&processes[0]);
    end_process(&processes[1]);
    (void)close(leash[0]);
    (void)close(leash[1]);
}

static void a_child_that_execs_keeps_nothing(void **state)
{
    struct report report;

    (void)state;
    end_with_child(CHILD_EXECS, false, LONG, &report);
    assert_int_equal(report.status, CJ_PEER_GONE);
    assert_int_equal(report.peer, 1);
}

static void a_child_that_drops_its_copies_keeps_nothing(void **state)
{
    struct report report;

    (void)state;
    end_with_child(CHILD_DROPS, false, LONG, &report);
    assert_int_equal(report.status, CJ_PEER_GONE);
    assert_int_equal(report.peer, 1);
}

static void an_orderly_end_is_seen_whatever_children_hold(void **state)
{
    struct report report;

    (void)state;
    end_with_child(CHILD_KEEPS, true, LONG, &report);
    assert_int_equal(report.status, CJ_PEER_GONE);
    assert_int_equal(report.peer, 1);
}

/* What cannot be done: see side.h. The deadline is what is left. */
static void a_child_that_keeps_its_copies_hides_a_death(void **state)
{
    struct report report;

    (void)state;
    end_with_child(CHILD_KEEPS, false, SECOND / 2, &report);
    assert_int_equal(report.status, CJ_TIMEOUT);
    assert_int_equal(report.peer, 1);
}

/* Every end is closed by exec: of rank 0 the listener and all clients. */
static int checked_ends;

static int checking_wait(void *ctx, const int *ends, int count,
                         int64_t deadline_ns)
{
    for (int i = 0; i < count; i++) {
        checked_ends++;
        if ((fcntl(ends[i], F_GETFD) & FD_CLOEXEC) == 0)
            return -EBADF;
    }
    return cji_default_net.wait(ctx, ends, count, deadline_ns);
}

static void every_descriptor_is_closed_by_exec(void **state)
{
    struct process processes[3];
    struct cj_group group;
    int32_t mine = 0;
    int32_t all[3];

    (void)state;
    choose_address();
    for (int i = 1; i < 3; i++)
        start_process(&processes[i], i, 3, LONG, gather_once);
    init_group(&group, 0, 3, LONG);
    group.net.wait = checking_wait;
    checked_ends = 0;
    assert_int_equal(cji_side_open(&group, &address), CJ_OK);
    assert_int_equal(cji_side_gather(&group, &mine, all, sizeof mine), CJ_OK);
    assert_true(checked_ends > 4);
    for (int i = 1; i < 3; i++)
        assert_true(fcntl(group.ends[i], F_GETFD) & FD_CLOEXEC);
    cji_side_close(&group);
    for (int i = 1; i < 3; i++)
        end_process(&processes[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_interrupt_nothing),
        cmocka_unit_test(a_killed_rank_is_told_by_all),
        cmocka_unit_test(a_child_that_execs_keeps_nothing),
        cmocka_unit_test(a_child_that_drops_its_copies_keeps_nothing),
        cmocka_unit_test(an_orderly_end_is_seen_whatever_children_hold),
        cmocka_unit_test(a_child_that_keeps_its_copies_hides_a_death),
        cmocka_unit_test(every_descriptor_is_closed_by_exec),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
