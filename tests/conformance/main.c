/*
 * conformance: makes sequences of verbs calls and says what came of each.
 *
 * usage: conformance [-j AT_ONCE] [-n GENERATED] [-q QUIET_MS] [-t]
 *                    [NAME...]
 *
 *   -j   sequences at the same time (default 4): most of their time is waiting
 *   -n   sequences made up from a seed (default 200), beside the named ones
 *   -q   how long nothing has to come before nothing more will (default 100)
 *   -t   on the standard error: how long each was underway
 *
 * With names only those run. Devices: rxe0 and rxe1. See bench.h.
 */
#define _GNU_SOURCE
#include "bench.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define AT_ONCE_MOST 16
#define NAME_MAX_LENGTH 64
#define SECONDS_MOST 30 /* one sequence */

struct running {
    pid_t process;
    FILE *output;
    int64_t since; /* ms */
    int number;
};

static int generated = 200;
static int quiet_ms = 100;
static bool times;

static int64_t now_ms(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* The n-th of all: named ones first. False past the last. */
static bool name_of(int n, char name[NAME_MAX_LENGTH], bool *made_up,
                    int *place)
{
    const char *row;
    int rows = 0;

    while (row_name(rows, &row))
        rows++;
    *made_up = n >= rows;
    *place = *made_up ? n - rows : n;
    if (*made_up) {
        generated_name(*place, name, NAME_MAX_LENGTH);
        return *place < generated;
    }
    row_name(n, &row);
    snprintf(name, NAME_MAX_LENGTH, "%s", row);
    return true;
}

static void run_one(bool made_up, int place)
{
    struct bench bench;

    memset(&bench, 0, sizeof(bench));
    bench.quiet_ms = quiet_ms;
    bench.arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bench.arena == MAP_FAILED)
        exit(3);
    for (size_t i = 0; i < ARENA; i++)
        bench.arena[i] = (unsigned char)(i * 7 + i / 256);
    if (made_up)
        generated_run(place, &bench);
    else
        row_run(place, &bench);
}

static void start(struct running *one, int number, bool made_up, int place)
{
    one->number = number;
    one->output = tmpfile();
    if (!one->output)
        exit(3);
    one->since = now_ms();
    fflush(stdout);
    one->process = fork();
    if (one->process != 0)
        return;
    dup2(fileno(one->output), STDOUT_FILENO);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    alarm(SECONDS_MOST);
    run_one(made_up, place);
    fflush(stdout);
    _exit(0);
}

/* Prints what a sequence has said, and how it ended if not well. */
static void finish(struct running *one)
{
    char name[NAME_MAX_LENGTH];
    char buffer[4096];
    size_t got;
    bool made_up;
    int place, status = 0;

    waitpid(one->process, &status, 0);
    name_of(one->number, name, &made_up, &place);
    printf("== %s\n", name);
    rewind(one->output);
    while ((got = fread(buffer, 1, sizeof(buffer), one->output)) > 0)
        fwrite(buffer, 1, got, stdout);
    if (WIFSIGNALED(status))
        printf("\n!! signal %d\n", WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
        printf("\n!! exit %d\n", WEXITSTATUS(status));
    if (times)
        fprintf(stderr, "%lld ms %s\n", (long long)(now_ms() - one->since),
                name);
    fclose(one->output);
    one->process = 0;
}

static bool wanted(const char *name, char **names)
{
    if (!*names)
        return true;
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

static void run_all(int at_once, char **names)
{
    struct running ring[AT_ONCE_MOST];
    char name[NAME_MAX_LENGTH];
    bool made_up;
    int place, started = 0, finished = 0;

    for (int n = 0; name_of(n, name, &made_up, &place); n++) {
        if (!wanted(name, names))
            continue;
        if (started - finished == at_once)
            finish(&ring[finished++ % at_once]);
        start(&ring[started++ % at_once], n, made_up, place);
    }
    while (finished < started)
        finish(&ring[finished++ % at_once]);
}

int main(int count, char **words)
{
    int at_once = 4, option;

    while ((option = getopt(count, words, "j:n:q:t")) != -1) {
        switch (option) {
        case 'j':
            at_once = atoi(optarg);
            break;
        case 'n':
            generated = atoi(optarg);
            break;
        case 'q':
            quiet_ms = atoi(optarg);
            break;
        case 't':
            times = true;
            break;
        default:
            return 2;
        }
    }
    if (at_once < 1 || at_once > AT_ONCE_MOST || quiet_ms < 1) {
        fprintf(stderr, "conformance: see main.c for what it takes\n");
        return 2;
    }
    run_all(at_once, words + optind);
    return 0;
}
