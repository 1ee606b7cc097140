/* verbfault: a folder that goes with its command. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"

#define TICK 10        /* milliseconds */
#define PATIENCE 1000  /* ticks for a run to end, and its ranks with it */
#define KILLED_FOR 100 /* ticks for one that was killed */

static struct {
    char path[4096];
    pid_t sitter; /* 0: none */
    int line;     /* to the sitter */
} scratch = {.line = -1};

/* rm does it as a shell would. */
void cli_scratch_remove(const char *directory)
{
    pid_t child = fork();
    if (child == 0) {
        execlp("rm", "rm", "-rf", directory, (char *)NULL);
        _exit(127);
    }
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
}

/* ---- the sitter ---------------------------------------------------------- */

/* It outlives its command, and nobody shall wait for what it has open. */
static void stand_apart(int line)
{
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    int nothing = open("/dev/null", O_RDWR);
    setsid();
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        signal(ignored[i], SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    for (int fd = 0; fd <= 2; fd++)
        if (nothing >= 0 && fd != line)
            dup2(nothing, fd);
}

/* The run that goes on when the line ends; 0: none. */
static pid_t listen_to(int line)
{
    pid_t said, running = 0;
    for (;;) {
        ssize_t got = read(line, &said, sizeof said);
        if (got == (ssize_t)sizeof said)
            running = said;
        else if (got >= 0 || errno != EINTR)
            return running;
    }
}

static bool ends_within(pid_t run, int ticks)
{
    while (kill(run, 0) == 0) {
        if (ticks-- == 0)
            return false;
        poll(NULL, 0, TICK);
    }
    return true;
}

/* `verbfault run` ends its ranks when it is told to. */
static void end_run(pid_t run)
{
    if (kill(run, SIGTERM) != 0 || ends_within(run, PATIENCE))
        return;
    kill(run, SIGKILL);
    ends_within(run, KILLED_FOR);
}

static void sit(int line)
{
    pid_t running;
    stand_apart(line);
    running = listen_to(line);
    if (running > 0)
        end_run(running);
    cli_scratch_remove(scratch.path);
    _exit(0);
}

static bool start_sitter(void)
{
    int ends[2];
    if (pipe(ends) != 0)
        return false;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    fflush(NULL);
    scratch.sitter = fork();
    if (scratch.sitter == 0) {
        close(ends[1]);
        sit(ends[0]);
    }
    close(ends[0]);
    if (scratch.sitter < 0) {
        close(ends[1]);
        scratch.sitter = 0;
        return false;
    }
    scratch.line = ends[1];
    return true;
}

/* ---- the command --------------------------------------------------------- */

int cli_scratch_open(const char *word, char *path, size_t room)
{
    const char *base = getenv("TMPDIR");
    int length =
        snprintf(scratch.path, sizeof scratch.path, "%s/verbfault-%s-XXXXXX",
                 base && *base ? base : "/tmp", word);
    bool fits = length < (int)sizeof scratch.path && (size_t)length < room;
    if (!fits)
        errno = ENAMETOOLONG;
    if (fits && mkdtemp(scratch.path)) {
        if (start_sitter()) {
            memcpy(path, scratch.path, (size_t)length + 1);
            return CLI_FINE;
        }
        length = errno;
        rmdir(scratch.path);
        errno = length;
    }
    fprintf(stderr, "verbfault %s: %s: %s\n", word, scratch.path,
            strerror(errno));
    return CLI_ENVIRONMENT;
}

/* The sitter may have been killed: then there is nobody to tell. */
static void tell(pid_t running)
{
    struct sigaction ignore, before;
    if (scratch.line < 0)
        return;
    memset(&ignore, 0, sizeof ignore);
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &before);
    if (write(scratch.line, &running, sizeof running) < 0)
        errno = 0;
    sigaction(SIGPIPE, &before, NULL);
}

void cli_scratch_run(void)
{
    tell(getpid());
}

void cli_scratch_idle(void)
{
    tell(0);
}

void cli_scratch_close(void)
{
    int status = -1;
    if (!scratch.sitter)
        return;
    close(scratch.line);
    while (waitpid(scratch.sitter, &status, 0) < 0 && errno == EINTR)
        continue;
    if (status != 0)
        cli_scratch_remove(scratch.path);
    scratch.sitter = 0;
    scratch.line = -1;
}
