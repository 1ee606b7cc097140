/* Starting processes, and memory that they share. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _GNU_SOURCE /* MAP_ANON */
#endif

#include "sim/sweep_work.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK_SECONDS 5

/* What a subject or a sanitizer prints, thousands of times, is for a replay. */
static void be_quiet(void)
{
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere < 0)
        return;
    dup2(nowhere, 1);
    dup2(nowhere, 2);
    if (nowhere > 2)
        close(nowhere);
}

static pid_t parent;

/* A worker in an endless run would outlive a parent that was killed. */
static void look_for_parent(int number)
{
    (void)number;
    if (getppid() != parent)
        _exit(1);
    alarm(LOOK_SECONDS);
}

static void be_worker(const int *others, int count)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = look_for_parent;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    sigaction(SIGALRM, &action, NULL);
    alarm(LOOK_SECONDS);
    /* The parent is told of Ctrl-C, and tells its workers. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    for (int i = 0; i < count; i++)
        if (others[i] >= 0)
            close(others[i]);
    be_quiet();
}

int sweep_start(void (*body)(void *context, int end), void *context,
                const int *others, int count, pid_t *pid)
{
    int ends[2];
    if (pipe(ends) != 0)
        return -1;
    parent = getpid();
    fflush(NULL); /* or the child would print it again */
    *pid = fork();
    if (*pid == 0) {
        close(ends[0]);
        be_worker(others, count);
        body(context, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    if (*pid > 0)
        return ends[0];
    close(ends[0]);
    return -1;
}

int sweep_wait(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

void *sweep_share(size_t size)
{
    void *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANON, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void sweep_unshare(void *memory, size_t size)
{
    if (memory)
        munmap(memory, size);
}

int64_t sweep_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
