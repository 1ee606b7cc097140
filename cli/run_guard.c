/* verbfault run: front and keeper, each watching the other. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _DEFAULT_SOURCE
#endif

#include "cli/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

#define SPARED_MAX 64
#define PATIENCE 10000 /* milliseconds until what cannot be killed is left */

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP};
#define PASSED_ON (sizeof passed_on / sizeof passed_on[0])

static volatile sig_atomic_t keeper;

static void pass_on(int number)
{
    int kept = errno;
    if (keeper > 0)
        kill((pid_t)keeper, number);
    errno = kept;
}

static void block(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < PASSED_ON; i++)
        sigaddset(&set, passed_on[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

/* What was ignored stays so: then it is ignored in the keeper, too. */
static void pass_signals_on(pid_t pid)
{
    struct sigaction action, before;
    sigset_t set;
    keeper = pid;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = pass_on;
    sigemptyset(&set);
    for (size_t i = 0; i < PASSED_ON; i++) {
        sigaction(passed_on[i], NULL, &before);
        if (before.sa_handler != SIG_IGN)
            sigaction(passed_on[i], &action, NULL);
        sigaddset(&set, passed_on[i]);
    }
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void run_unlink_files(struct run_shared *shared)
{
    for (int i = 0; i < RUN_RANKS_MAX; i++)
        if (shared->files[i][0]) {
            unlink(shared->files[i]);
            shared->files[i][0] = '\0';
        }
}

static void count_groups(const struct run_shared *shared, int *count)
{
    *count = 0;
    while (*count < RUN_RANKS_MAX && shared->groups[*count] > 0)
        ++*count;
}

/* The keeper is dead: its work of ending everything falls to the front. */
static void end_all(struct run_shared *shared, const pid_t *spared,
                    int spared_count)
{
    int64_t give_up = run_now() + PATIENCE;
    int groups;
    count_groups(shared, &groups);
    while (run_os_signal_all(SIGKILL, shared->groups, groups, spared,
                             spared_count) > 0 &&
           run_now() < give_up) {
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
        poll(NULL, 0, 10);
    }
    run_unlink_files(shared);
}

static int complain(void)
{
    fprintf(stderr, "verbfault run: %s\n", strerror(errno));
    return CLI_ENVIRONMENT;
}

/* The children that were there before (of a shell that became verbfault). */
static int children_before(pid_t *pids, int room)
{
    siginfo_t info;
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return 0; /* ECHILD, as nearly always: no need to look */
    return run_os_children(pids, room);
}

static int be_front(pid_t pid, struct run_shared *shared, const pid_t *spared,
                    int spared_count)
{
    char name[32];
    int status;
    pass_signals_on(pid);
    status = cli_reap(pid, &keeper);
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    end_all(shared, spared, spared_count);
    fprintf(stderr,
            "verbfault run: the process that keeps the ranks was ended by %s; "
            "the ranks are ended\n",
            run_signal_name(WTERMSIG(status), name));
    return CLI_ENVIRONMENT;
}

int run_guarded(int (*keep)(void *context, int front,
                            struct run_shared *shared),
                void *context)
{
    pid_t spared[SPARED_MAX];
    int ends[2], spared_count, code;
    struct run_shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid;
    if (shared == MAP_FAILED || pipe(ends) != 0)
        return complain();
    run_signal_save();
    signal(SIGCHLD, SIG_DFL); /* ignored children cannot be waited for */
    block();
    spared_count = children_before(spared, SPARED_MAX);
    run_os_adopt();
    pid = fork();
    if (pid < 0)
        return complain();
    if (pid == 0) {
        setsid();
        close(ends[1]);
        fcntl(ends[0], F_SETFD, FD_CLOEXEC);
        _exit(keep(context, ends[0], shared));
    }
    close(ends[0]);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    code = be_front(pid, shared, spared, spared_count);
    close(ends[1]);
    munmap(shared, sizeof *shared);
    return code;
}
