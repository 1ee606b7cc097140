/*
 * What a rank can be made to do, for run.sh. usage: rank MODE [ARGUMENT...]
 *
 *   torrent LINES     writes so many lines to both standard output and error,
 *                     in pieces that end anywhere
 *   partial TEXT      writes TEXT without a newline
 *   raise SIGNAL      dies by that signal's number
 *   wait              says "ready", then waits for ever
 *   stubborn          the same, ignoring SIGINT and SIGTERM
 *   patient           the same; at SIGINT says so and exits with 3
 *   daemon            leaves a process behind that has its own session, no
 *                     parent, an empty environment and ignores SIGTERM; exits
 *   leave             the same, but a child in a process group of its own
 *   linger            what these leave behind
 *   unignored COMMAND...  executes COMMAND with SIGINT as it is by default
 *   terminal COMMAND...   runs COMMAND on a terminal of its own and copies what
 *                     it prints; answers its exit status
 */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _XOPEN_SOURCE 700
#endif

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *text)
{
    if (write(STDOUT_FILENO, text, strlen(text)) < 0)
        _exit(1);
}

/* Lines of growing and shrinking length, cut up without regard to them. */
static int torrent(long lines)
{
    static char buffer[1 << 16];
    size_t used = 0, piece = 1;
    for (long i = 0; i < lines; i++) {
        used += (size_t)sprintf(buffer + used, "<%ld:", i);
        for (long k = 0; k < i % 97; k++)
            buffer[used++] = 'x';
        buffer[used++] = '>';
        buffer[used++] = '\n';
        if (used < sizeof buffer - 256 && i + 1 < lines)
            continue;
        for (size_t at = 0; at < used; at += piece) {
            piece = 1 + (at * 7 + 13) % 5000;
            if (piece > used - at)
                piece = used - at;
            if (write(STDOUT_FILENO, buffer + at, piece) != (ssize_t)piece ||
                write(STDERR_FILENO, buffer + at, piece) != (ssize_t)piece)
                return 1;
        }
        used = 0;
    }
    return 0;
}

static _Noreturn void wait_for_ever(void)
{
    say("ready\n");
    for (;;)
        pause();
}

static void on_interrupt(int number)
{
    (void)number;
    say("interrupted\n");
    _exit(3);
}

/* The process left behind, as it executes a program with nothing to know it
 * by: that closes the pipe, too. */
static _Noreturn void be_left(const char *self, bool detached)
{
    char *command[] = {(char *)(size_t)self, (char[]){"linger"}, NULL};
    char *none[] = {NULL};
    char line[64];
    if (detached) {
        setsid();
        if (fork() != 0)
            _exit(0);
    } else {
        setpgid(0, 0);
    }
    signal(SIGTERM, SIG_IGN);
    snprintf(line, sizeof line, "left %ld\n", (long)getpid());
    say(line);
    execve(self, command, none);
    _exit(1);
}

/* Ends when the one left behind is on its own. */
static int leave(const char *self, bool detached)
{
    int ends[2];
    char byte;
    pid_t pid;
    if (pipe(ends) != 0)
        return 1;
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    pid = fork();
    if (pid == 0)
        be_left(self, detached);
    close(ends[1]);
    return pid < 0 || read(ends[0], &byte, 1) != 0;
}

static void copy_from(int terminal)
{
    char bytes[4096];
    ssize_t got;
    /* Linux ends with EIO when nobody has the other end any more. */
    while ((got = read(terminal, bytes, sizeof bytes)) > 0)
        if (write(STDOUT_FILENO, bytes, (size_t)got) != got)
            _exit(1);
}

static int on_terminal(char **command)
{
    int status, master = posix_openpt(O_RDWR | O_NOCTTY);
    pid_t pid;
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        return 126;
    pid = fork();
    if (pid == 0) {
        int end;
        setsid();
        end = open(ptsname(master), O_RDWR);
        for (int fd = 0; fd < 3; fd++)
            dup2(end, fd);
        if (end > 2)
            close(end);
        close(master);
        execvp(command[0], command);
        _exit(127);
    }
    copy_from(master);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return 126;
    return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    const char *argument = argc > 2 ? argv[2] : "";
    if (strcmp(mode, "torrent") == 0)
        return torrent(strtol(argument, NULL, 10));
    if (strcmp(mode, "partial") == 0) {
        say(argument);
        return 0;
    }
    if (strcmp(mode, "raise") == 0)
        return raise((int)strtol(argument, NULL, 10));
    if (strcmp(mode, "stubborn") == 0) {
        signal(SIGINT, SIG_IGN);
        signal(SIGTERM, SIG_IGN);
    }
    if (strcmp(mode, "patient") == 0)
        signal(SIGINT, on_interrupt);
    if (strcmp(mode, "wait") == 0 || strcmp(mode, "stubborn") == 0 ||
        strcmp(mode, "patient") == 0)
        wait_for_ever();
    if (strcmp(mode, "daemon") == 0 || strcmp(mode, "leave") == 0)
        return leave(argv[0], strcmp(mode, "daemon") == 0);
    if (strcmp(mode, "linger") == 0)
        for (;;)
            pause();
    if (strcmp(mode, "unignored") == 0 && argc > 2) {
        signal(SIGINT, SIG_DFL);
        execvp(argv[2], argv + 2);
        return 127;
    }
    if (strcmp(mode, "terminal") == 0 && argc > 2)
        return on_terminal(argv + 2);
    fprintf(stderr, "rank: no mode \"%s\"\n", mode);
    return 2;
}
