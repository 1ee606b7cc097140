/*
 * tests/fabric_support.h: children that share memory with their test.
 *
 * share() gives zeroed memory that children inherit. start() forks a child that
 * runs a function and ends with what it returns: 0 is well. A child that never
 * ends fails its test by ending itself (alarm).
 */
#ifndef FABRIC_SUPPORT_H
#define FABRIC_SUPPORT_H

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "mocks/mock/os.h"

#define CHILD_SECONDS 120

static inline void *share(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(memory != MAP_FAILED);
    return memory;
}

static inline pid_t start(int (*run)(void *argument), void *argument)
{
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(CHILD_SECONDS);
        _exit(run(argument));
    }
    return pid;
}

/* 0 to 255: how it ended by itself; -signal: what it was killed by. */
static inline int ended(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) != pid)
        assert_int_equal(errno, EINTR);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Waits, without sleeping long, until *word is value. */
static inline void await(_Atomic uint32_t *word, uint32_t value)
{
    while (atomic_load(word) != value)
        sched_yield();
}

static inline void die(void)
{
    raise(SIGKILL);
}

#endif
