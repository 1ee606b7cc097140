/* verbfault run: the life of the keeper. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK 20    /* milliseconds: reports are looked for that often */
#define SWEEP 100  /* and processes that nobody told of */
#define FLUSH 2000 /* for the last output, once the run was cut short */
#define SIGNALS 0  /* places in the table that is polled */
#define FRONT 1
#define STREAMS 2
#define POLLS_MAX (STREAMS + 2 * RUN_RANKS_MAX + 2)

int64_t run_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- ranks that end
 * ------------------------------------------------------------------ */

static void read_streams(struct run *run, int number)
{
    struct run_rank *rank = &run->ranks[number];
    for (int to = 0; to < 2; to++)
        while (!run_output_full(&run->output) &&
               run_stream_read(&rank->streams[to], &run->output,
                               (enum run_to)to, number))
            continue;
}

static void rank_ended(struct run *run, int number, int status)
{
    struct run_rank *rank = &run->ranks[number];
    rank->running = false;
    rank->status = status;
    run->running--;
    read_streams(run, number); /* what it said before what is said of it */
    run_reports(run);
    run_report_death(run, number);
    if (run_rank_failed(rank) && run->grace_ends < 0)
        run->grace_ends = run_now() + run->options->grace;
}

static void reap(struct run *run)
{
    int status, number;
    for (;;) {
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid < 0 && errno == EINTR)
            continue;
        run->children = pid >= 0;
        if (pid <= 0)
            return;
        vf_room_process_ended(run->room, pid);
        for (number = 0; number < run->setup->ranks; number++)
            if (run->ranks[number].pid == pid && run->ranks[number].running)
                rank_ended(run, number, status);
    }
}

/* ---- one turn
 * ------------------------------------------------------------------------- */

/* The table's rest, in the order in which take_streams() reads it. */
static int add_streams(const struct run *run, struct pollfd *polls)
{
    int count = 0;
    if (run_output_full(&run->output))
        return 0; /* let the ranks wait */
    for (int i = 0; i < 2 * run->setup->ranks; i++) {
        int fd = run->ranks[i / 2].streams[i % 2].fd;
        if (fd < 0)
            continue;
        polls[count].fd = fd;
        polls[count].events = POLLIN;
        polls[count++].revents = 0;
    }
    return count;
}

static void take_streams(struct run *run, const struct pollfd *polls, int count)
{
    for (int i = 0, at = 0; i < 2 * run->setup->ranks && at < count; i++) {
        struct run_stream *stream = &run->ranks[i / 2].streams[i % 2];
        if (stream->fd < 0 || stream->fd != polls[at].fd)
            continue;
        if (polls[at++].revents != 0)
            run_stream_read(stream, &run->output, (enum run_to)(i % 2), i / 2);
    }
}

static void take_signals(struct run *run)
{
    int number;
    while ((number = run_signal_next()) != 0)
        if (number != SIGCHLD)
            run_end_on_signal(run, number);
}

static void front_died(struct run *run)
{
    run->front_died = true;
    run_end(run, RUN_KILL);
}

static void output_is_gone(struct run *run)
{
    if (run->cut_short)
        return;
    run->cut_short = true;
    run_say(&run->output, "standard output cannot be written");
    run_end(run, RUN_TERMINATE);
}

static void turn(struct run *run, struct pollfd *polls)
{
    int streams = add_streams(run, polls + STREAMS);
    int count = STREAMS + streams;
    count += run_output_polls(&run->output, polls + count);
    polls[SIGNALS].revents = polls[FRONT].revents = 0;
    if (poll(polls, (nfds_t)count, TICK) < 0)
        return; /* EINTR: the next turn sees why */
    if (polls[FRONT].revents != 0 && !run->front_died) {
        polls[FRONT].fd = -1;
        front_died(run);
    }
    take_streams(run, polls + STREAMS, streams);
    run_reports(run);
    take_signals(run);
    reap(run);
    run_output_write(&run->output);
    if (run->output.to[RUN_STDOUT]->broken)
        output_is_gone(run);
}

/* Until no process is left. */
static void live(struct run *run, struct pollfd *polls)
{
    int64_t now = run_now(), sweep_at = now + SWEEP;
    bool can_end = true;
    while (run->children && can_end) {
        turn(run, polls);
        now = run_now();
        if (now >= sweep_at) {
            vf_room_sweep(run->room);
            sweep_at = now + SWEEP;
        }
        can_end = run_end_when_due(run, now);
    }
    if (!can_end)
        run_say(&run->output, "some processes do not end, not even by SIGKILL");
}

/* ---- from start to end
 * ------------------------------------------------------------------ */

/* Waits for whoever reads, unless the user has lost patience. */
static void flush(struct run *run, struct pollfd *polls)
{
    int64_t give_up = run_now() + FLUSH;
    int count;
    run_output_write(&run->output);
    while ((count = run_output_polls(&run->output, polls + STREAMS)) > 0 &&
           !run->front_died && (!run->cut_short || run_now() < give_up)) {
        poll(polls, (nfds_t)(STREAMS + count), TICK);
        run->front_died = run->front_died || polls[FRONT].revents != 0;
        run->cut_short = run->cut_short || run_signal_next() != 0;
        run_output_write(&run->output);
    }
}

static void close_streams(struct run *run)
{
    for (int i = 0; i < run->setup->ranks; i++) {
        read_streams(run, i);
        for (int to = 0; to < 2; to++)
            run_stream_close(&run->ranks[i].streams[to], &run->output,
                             (enum run_to)to, i);
    }
}

static int open_room(struct run *run)
{
    struct vf_room_options options = {.keep_going = run->options->keep_going,
                                      .leaks = run->options->leaks,
                                      .copy_twice = run->options->copy_twice,
                                      .trace = run->options->trace,
                                      .record = run->options->record};
    run->room = vf_room_create(run->setup->world, &options, run->room_path);
    if (run->room)
        return 0;
    if (errno == ENOSPC)
        run_say(&run->output, "no space in shared memory");
    else
        run_say(&run->output, "no shared memory: %s", strerror(errno));
    return -1;
}

static void prepare(struct run *run)
{
    run->grace_ends = run->timeout_at = run->strays_at = run->give_up_at = -1;
    if (run->options->timeout >= 0)
        run->timeout_at = run_now() + run->options->timeout;
    for (int i = 0; i < RUN_RANKS_MAX; i++) {
        run->device_files[i] = -1;
        run->ranks[i].streams[0].fd = run->ranks[i].streams[1].fd = -1;
    }
}

/* Of a recording that nobody is there to read any more nothing is left. */
static void close_files(struct run *run)
{
    run_unlink_files(run->shared);
    if (run->front_died && run->options->record)
        unlink(run->options->trace);
    for (int i = 0; i < RUN_RANKS_MAX; i++)
        if (run->device_files[i] >= 0)
            close(run->device_files[i]);
}

static int keep_ranks(struct run *run, struct pollfd *polls)
{
    int code = run_spawn(run);
    run->failed_start = code != CLI_FINE;
    if (run->failed_start)
        run_end(run, RUN_KILL);
    live(run, polls);
    close_streams(run);
    run_reports(run);
    if (code == CLI_FINE)
        code = run_report_all(run);
    close_files(run);
    return code;
}

int run_keep(void *context, int front, struct run_shared *shared)
{
    struct run *run = context;
    struct pollfd polls[POLLS_MAX];
    int code = CLI_ENVIRONMENT;
    memset(polls, 0, sizeof polls);
    run->shared = shared;
    prepare(run);
    run_os_adopt();
    run_output_open(&run->output);
    polls[SIGNALS].fd = run_signal_open();
    polls[FRONT].fd = front;
    polls[SIGNALS].events = polls[FRONT].events = POLLIN;
    if (polls[SIGNALS].fd < 0)
        run_say(&run->output, "%s", strerror(errno));
    else if (open_room(run) == 0) {
        code = keep_ranks(run, polls);
        vf_room_destroy(run->room);
    }
    flush(run, polls);
    if (run->output.to[RUN_STDOUT]->broken)
        code = CLI_ENVIRONMENT;
    run_output_close(&run->output);
    return code;
}
