/*
 * A run in a child process.
 *
 * The child sends what happens through a pipe, as records: a trace line, a
 * finding, an event, and at last the result. A signal in the child becomes a
 * `crash` named after the verb it was in. What the child has to say of that is
 * in a page that both share, written before the process is gone.
 */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _GNU_SOURCE /* MAP_ANON */
#endif

#include "sim/state.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum record_kind {
    RECORD_TRACE,
    RECORD_FINDING,
    RECORD_EVENT,
    RECORD_RESULT,
    RECORD_ERROR
};

struct record {
    enum record_kind kind;
    int rank;
    unsigned length;
};

static int pipe_out = -1;
static struct sim_last_words *last_words;

static void put(const void *data, size_t length)
{
    const char *at = data;
    while (length > 0) {
        ssize_t n = write(pipe_out, at, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(1); /* nobody listens any more */
        at += n;
        length -= (size_t)n;
    }
}

static void put_record(enum record_kind kind, int rank, const void *data,
                       size_t length)
{
    struct record record;
    memset(&record, 0, sizeof record);
    record.kind = kind;
    record.rank = rank;
    record.length = (unsigned)length;
    put(&record, sizeof record);
    put(data, length);
}

static void child_trace(void *context, int rank, const char *line)
{
    (void)context;
    put_record(RECORD_TRACE, rank, line, strlen(line) + 1);
}

static void child_finding(void *context, const struct vf_finding *finding)
{
    (void)context;
    put_record(RECORD_FINDING, finding->machine, finding, sizeof *finding);
}

static void child_event(void *context, const struct sim_event *event)
{
    (void)context;
    put_record(RECORD_EVENT, event->rank, event, sizeof *event);
}

static void leave_last_words(int signal_number)
{
    last_words->rank = sim.current;
    last_words->verb = sim.current >= 0 && sim.world
                           ? (int)vf_machine_inside(sim.world, sim.current)
                           : (int)VF_VERB_COUNT;
    last_words->signal = signal_number;
}

static void on_signal(int number)
{
    leave_last_words(number);
    signal(number, SIG_DFL);
    raise(number);
}

#ifdef SIM_ASAN
/* AddressSanitizer takes the signals itself and calls this at the end. */
static void on_sanitizer_death(void)
{
    leave_last_words(SIGSEGV);
}
#endif

static void watch_signals(void)
{
#ifdef SIM_ASAN
    __sanitizer_set_death_callback(on_sanitizer_death);
#else
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    static char stack[65536];
    struct sigaction action;
    stack_t alternate;
    memset(&alternate, 0, sizeof alternate);
    alternate.ss_sp = stack;
    alternate.ss_size = sizeof stack;
    sigaltstack(&alternate, NULL);
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK;
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
        sigaction(fatal[i], &action, NULL);
#endif
}

void sim_leave_words_in(struct sim_last_words *words)
{
    last_words = words;
    last_words->signal = 0;
    last_words->rank = -1;
    last_words->verb = VF_VERB_COUNT;
    watch_signals();
}

static void run_child(const struct scn *scenario,
                      const struct sim_options *options)
{
    static struct sim_result result;
    struct sim_options own = *options;
    struct scn_error error;
    own.trace = options->trace ? child_trace : NULL;
    own.finding = options->finding ? child_finding : NULL;
    own.event = options->event ? child_event : NULL;
    watch_signals();
    if (sim_run(scenario, &own, &result, &error) != 0) {
        put_record(RECORD_ERROR, 0, &error, sizeof error);
    } else {
        struct vf_fault faults[8];
        int ranks[8], count;
        memset(faults, 0, sizeof faults);
        memset(ranks, 0, sizeof ranks);
        count = sim_refused(faults, ranks, 8);
        put_record(RECORD_RESULT, count, &result, sizeof result);
        put(faults, sizeof faults);
        put(ranks, sizeof ranks);
    }
    _exit(0);
}

/* ---- the parent's side --------------------------------------------------- */

static struct vf_fault last_faults[8];
static int last_ranks[8], last_count;

int sim_refused_isolated(struct vf_fault *faults, int *ranks, int room)
{
    int count = last_count < room ? last_count : room;
    memcpy(faults, last_faults, (size_t)count * sizeof *faults);
    memcpy(ranks, last_ranks, (size_t)count * sizeof *ranks);
    return count;
}

static int64_t real_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool (*stop)(void); /* the last run's */

static bool is_stopped(void)
{
    return stop && stop();
}

/* 1: got it; 0: end of the pipe; -1: time is up, or the run is to be ended. */
static int get(int pipe_in, void *data, size_t length, int64_t until)
{
    char *at = data;
    while (length > 0) {
        struct pollfd ready = {pipe_in, POLLIN, 0};
        int64_t left = until - real_ms();
        ssize_t n;
        if (left <= 0 || is_stopped())
            return -1;
        if (poll(&ready, 1, (int)(left > 1000 ? 1000 : left)) <= 0)
            continue;
        n = read(pipe_in, at, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return 0;
        at += n;
        length -= (size_t)n;
    }
    return 1;
}

static int get_result(int pipe_in, const struct record *record,
                      struct sim_result *result, int64_t until)
{
    last_count = record->rank;
    if (get(pipe_in, result, sizeof *result, until) != 1 ||
        get(pipe_in, last_faults, sizeof last_faults, until) != 1 ||
        get(pipe_in, last_ranks, sizeof last_ranks, until) != 1)
        return 0;
    return 1;
}

static int get_trace(int pipe_in, const struct record *record,
                     const struct sim_options *options, int64_t until)
{
    char line[1024];
    if (record->length > sizeof line ||
        get(pipe_in, line, record->length, until) != 1)
        return 0;
    if (options->trace)
        options->trace(options->context, record->rank, line);
    return 1;
}

static int get_finding(int pipe_in, const struct sim_options *options,
                       int64_t until)
{
    struct vf_finding finding;
    if (get(pipe_in, &finding, sizeof finding, until) != 1)
        return 0;
    if (options->finding)
        options->finding(options->context, &finding);
    return 1;
}

static int get_event(int pipe_in, const struct sim_options *options,
                     int64_t until)
{
    struct sim_event event;
    if (get(pipe_in, &event, sizeof event, until) != 1)
        return 0;
    if (options->event)
        options->event(options->context, &event);
    return 1;
}

enum ending { ENDING_RESULT, ENDING_ERROR, ENDING_DEATH, ENDING_TIME };

/* patience: milliseconds without a sign of life. What the callbacks take (a
 * pager that is not read on) is not the child's time. */
static enum ending listen_to(int pipe_in, const struct sim_options *options,
                             int64_t patience, struct sim_result *result,
                             struct scn_error *error)
{
    for (;;) {
        struct record record;
        int64_t until = real_ms() + patience;
        int got = get(pipe_in, &record, sizeof record, until);
        if (got < 0)
            return ENDING_TIME;
        if (got == 0)
            return ENDING_DEATH;
        if (record.kind == RECORD_TRACE)
            got = get_trace(pipe_in, &record, options, until);
        else if (record.kind == RECORD_FINDING)
            got = get_finding(pipe_in, options, until);
        else if (record.kind == RECORD_EVENT)
            got = get_event(pipe_in, options, until);
        else if (record.kind == RECORD_ERROR)
            return get(pipe_in, error, sizeof *error, until) == 1
                       ? ENDING_ERROR
                       : ENDING_DEATH;
        else
            return get_result(pipe_in, &record, result, until) == 1
                       ? ENDING_RESULT
                       : ENDING_DEATH;
        if (got != 1)
            return ENDING_DEATH;
    }
}

void sim_make_up(struct sim_result *result, const struct scn *scenario,
                 enum scn_outcome outcome, const char *title, int rank,
                 bool fixed)
{
    enum scn_topology topology;
    int wires;
    memset(result, 0, sizeof *result);
    scn_topology(scenario, &result->ranks, &topology, &wires);
    if (rank < 0 || rank >= result->ranks)
        rank = 0;
    result->outcome = result->rank[rank].outcome = outcome;
    result->worst = rank;
    snprintf(result->title, sizeof result->title, "%s", title);
    snprintf(result->rank[rank].title, sizeof result->rank[rank].title, "%s",
             title);
    if (fixed)
        snprintf(result->broken, sizeof result->broken,
                 "rank %d: %s (promise 1: never)", rank, title);
}

void sim_make_up_death(struct sim_result *result, const struct scn *scenario,
                       const struct sim_last_words *words, bool fixed)
{
    char title[96];
    /* Which signal it was differs between builds with and without sanitizers,
     * so it is no part of a title. */
    if (words->signal == 0)
        snprintf(title, sizeof title, "process ended by itself");
    else if (words->verb < (int)VF_VERB_COUNT)
        snprintf(title, sizeof title, "fault in %s",
                 vf_verb_name((enum vf_verb)words->verb));
    else
        snprintf(title, sizeof title, "fault outside of verbs");
    sim_make_up(result, scenario, SCN_CRASH, title, words->rank, fixed);
}

static bool share_last_words(void)
{
    if (!last_words) {
        last_words = mmap(NULL, sizeof *last_words, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANON, -1, 0);
        if (last_words == MAP_FAILED)
            last_words = NULL;
    }
    if (!last_words)
        return false;
    last_words->signal = 0;
    last_words->rank = -1;
    last_words->verb = VF_VERB_COUNT;
    return true;
}

/* The signal that ended it, or 0. */
static int wait_for(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

int sim_run_isolated(const struct scn *scenario,
                     const struct sim_options *options, int seconds,
                     struct sim_result *result, struct scn_error *error)
{
    int ends[2];
    pid_t child;
    enum ending ending;
    bool fixed = options->subject->fixed;
    if (!share_last_words() || pipe(ends) != 0) {
        error->line = error->column = 0;
        snprintf(error->message, sizeof error->message, "out of resources");
        return -1;
    }
    fflush(NULL); /* or the child would print it again */
    child = fork();
    if (child == 0) {
        close(ends[0]);
        pipe_out = ends[1];
        run_child(scenario, options);
    }
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        error->line = error->column = 0;
        snprintf(error->message, sizeof error->message,
                 "cannot start a process: %s", strerror(errno));
        return -1;
    }
    last_count = 0;
    stop = options->stop;
    ending =
        listen_to(ends[0], options, (int64_t)seconds * 1000, result, error);
    close(ends[0]);
    if (ending == ENDING_TIME)
        kill(child, SIGKILL);
    if (wait_for(child) == SIGKILL && ending == ENDING_DEATH && !is_stopped()) {
        error->line = error->column = 0;
        snprintf(error->message, sizeof error->message,
                 "the run's process was killed from outside (out of memory?)");
        return -2;
    }
    if (is_stopped() && ending != ENDING_RESULT)
        return -3;
    if (ending == ENDING_TIME)
        sim_make_up(result, scenario, SCN_SPIN, "spin without a call", 0,
                    fixed);
    else if (ending == ENDING_DEATH)
        sim_make_up_death(result, scenario, last_words, fixed);
    return ending == ENDING_ERROR ? -1 : 0;
}
