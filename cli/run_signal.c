/* verbfault run: signals as events of a poll loop. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int ends[2] = {-1, -1}; /* of the pipe: a byte wakes the poll */

static const int taken[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGPIPE};
#define TAKEN (sizeof taken / sizeof taken[0])

static volatile sig_atomic_t came[TAKEN];
static struct sigaction before[TAKEN];
static sigset_t mask_before;

void run_signal_save(void)
{
    for (size_t i = 0; i < TAKEN; i++)
        sigaction(taken[i], NULL, &before[i]);
    sigprocmask(SIG_SETMASK, NULL, &mask_before);
}

void run_signal_restore(void)
{
    for (size_t i = 0; i < TAKEN; i++)
        sigaction(taken[i], &before[i], NULL);
    sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

static void on_signal(int number)
{
    const char byte = 0;
    int kept = errno;
    for (size_t i = 0; i < TAKEN; i++)
        if (taken[i] == number)
            came[i] = 1;
    if (write(ends[1], &byte, 1) < 0)
        errno = kept; /* full: then it wakes already */
    errno = kept;
}

static bool stays_ignored(size_t i)
{
    return (taken[i] == SIGINT || taken[i] == SIGHUP) &&
           before[i].sa_handler == SIG_IGN;
}

int run_signal_open(void)
{
    struct sigaction action;
    sigset_t none;
    if (pipe(ends) != 0)
        return -1;
    for (int i = 0; i < 2; i++) {
        fcntl(ends[i], F_SETFD, FD_CLOEXEC);
        fcntl(ends[i], F_SETFL, O_NONBLOCK);
    }
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    for (size_t i = 0; i < TAKEN; i++) {
        action.sa_handler = taken[i] == SIGPIPE ? SIG_IGN : on_signal;
        if (!stays_ignored(i))
            sigaction(taken[i], &action, NULL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    return ends[0];
}

int run_signal_next(void)
{
    char bytes[64];
    while (read(ends[0], bytes, sizeof bytes) > 0)
        continue;
    for (size_t i = 0; i < TAKEN; i++)
        if (came[i]) {
            came[i] = 0;
            return taken[i];
        }
    return 0;
}

const char *run_signal_name(int number, char *text)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {
        {SIGSEGV, "SIGSEGV"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"},
        {SIGFPE, "SIGFPE"},   {SIGILL, "SIGILL"},   {SIGKILL, "SIGKILL"},
        {SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"},   {SIGHUP, "SIGHUP"},
        {SIGPIPE, "SIGPIPE"}, {SIGQUIT, "SIGQUIT"}, {SIGTRAP, "SIGTRAP"},
        {SIGALRM, "SIGALRM"}, {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"},
        {SIGSYS, "SIGSYS"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].number == number)
            return names[i].name;
    snprintf(text, 32, "signal %d", number);
    return text;
}
