/*
 * Which process this is. getpid() is a system call on Linux, and too slow for
 * every operation. What is needed is only whether this process was forked since
 * a group was built, and the C library tells when it forks.
 */
#include "group.h"

#include <pthread.h>
#include <stdatomic.h>

/* How many forks led from the first process that asked to this one. */
static atomic_int generation;

static void count_fork(void)
{
    atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
}

/* Where that cannot be had, forks are not noticed. */
static void ask(void)
{
    (void)pthread_atfork(NULL, NULL, count_fork);
}

void cji_process_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, ask);
}

int64_t cji_process(void)
{
    return atomic_load_explicit(&generation, memory_order_relaxed);
}
