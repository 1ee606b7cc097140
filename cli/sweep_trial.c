/* One `verbfault run` of a sweep of programs. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/run.h"
#include "cli/sweep_programs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/scratch.h"

#define ARGUMENTS_MAX 512
#define SCRATCH_WORD "{scratch}"

/* ---- the process --------------------------------------------------------- */

/* The argument with each {scratch} replaced; malloc'ed. */
static char *expand(const char *argument, const char *directory)
{
    size_t room = strlen(argument) + 1, length = 0;
    const char *at = argument;
    char *text;
    for (at = strstr(at, SCRATCH_WORD); at; at = strstr(at + 1, SCRATCH_WORD))
        room += strlen(directory);
    text = malloc(room);
    for (at = argument; text && *at;) {
        if (strncmp(at, SCRATCH_WORD, strlen(SCRATCH_WORD)) == 0) {
            memcpy(text + length, directory, strlen(directory));
            length += strlen(directory);
            at += strlen(SCRATCH_WORD);
        } else {
            text[length++] = *at++;
        }
    }
    if (text)
        text[length] = '\0';
    return text;
}

/* The words of the command line, in the child: nothing is given back. */
static void execute(const struct trial_options *options, char *scenario,
                    char *trace, const char *directory)
{
    static char run[] = "run", n[] = "-n", from[] = "--scenario",
                limit[] = "--timeout", grace[] = "--grace", leaks[] = "--leaks",
                to[] = "--trace", device[] = "--device", end[] = "--";
    char *words[ARGUMENTS_MAX], ranks[16];
    int count = 0;
    snprintf(ranks, sizeof ranks, "%d", options->ranks);
    words[count++] = strdup(options->self);
    words[count++] = run;
    words[count++] = n;
    words[count++] = ranks;
    words[count++] = from;
    words[count++] = scenario;
    words[count++] = limit;
    words[count++] = strdup(options->timeout);
    words[count++] = grace;
    words[count++] = strdup(options->grace);
    if (options->leaks)
        words[count++] = leaks;
    if (options->device)
        words[count++] = device;
    if (trace) {
        words[count++] = to;
        words[count++] = trace;
    }
    words[count++] = end;
    for (char **word = options->command; *word && count < ARGUMENTS_MAX - 1;
         word++)
        words[count++] = expand(*word, directory);
    words[count] = NULL;
    execv(options->self, words);
    _exit(CLI_ENVIRONMENT);
}

/* In the child: what is printed goes to the log. */
static void redirect(const char *log)
{
    int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int empty = open("/dev/null", O_RDONLY);
    if (fd < 0 || empty < 0)
        _exit(CLI_ENVIRONMENT);
    dup2(empty, 0);
    dup2(fd, 1);
    dup2(fd, 2);
}

/* ---- what it printed ----------------------------------------------------- */

struct reading {
    const struct trial_options *options;
    struct trial *trial;
    int last;   /* the rank that said something */
    int waiter; /* that did not end when another had failed; -1: none */
    char said[SCN_RANKS_MAX][sizeof((struct trial *)0)->message];
};

static void become(struct reading *reading, int rank, enum scn_outcome outcome,
                   const char *title)
{
    struct trial *trial = reading->trial;
    if (outcome <= trial->outcome)
        return;
    trial->outcome = outcome;
    trial->whose = rank;
    snprintf(trial->title, sizeof trial->title, "%s", title);
}

/* A finding is one of the run's, whatever else became of that. */
static void find(struct reading *reading, int rank, enum scn_outcome outcome,
                 const char *title)
{
    struct trial *trial = reading->trial;
    struct trial_found *found = trial->found;
    struct trial_found *end = found + trial->found_count;
    become(reading, rank, outcome, title);
    while (found < end &&
           (found->outcome != outcome || strcmp(found->title, title) != 0))
        found++;
    if (found < end || trial->found_count == TRIAL_FOUND_MAX)
        return;
    trial->found_count++;
    found->outcome = outcome;
    found->rank = rank;
    snprintf(found->title, sizeof found->title, "%s", title);
}

/* What begins with that word; NULL: it does not. */
static const char *after(const char *line, const char *word)
{
    size_t length = strlen(word);
    return strncmp(line, word, length) == 0 ? line + length : NULL;
}

/* "crash: null-mr in dereg_mr", behind "r0: ". */
static void read_report(struct reading *reading, int rank, const char *line)
{
    const char *title = after(line, "crash: ");
    if (title) {
        find(reading, rank, SCN_CRASH, title);
        return;
    }
    title = after(line, "finding: ");
    if (title) {
        find(reading, rank, SCN_VIOLATION, title);
        return;
    }
    title = after(line, "leak: ");
    if (title || after(line, "leak of "))
        find(reading, rank, SCN_LEAK, title ? title : line);
    /* Those that the run itself ended say so in its own lines. */
    if (after(line, "ended by ") && !strstr(line, "SIGTERM") &&
        !strstr(line, "SIGKILL") && !strstr(line, "SIGINT"))
        become(reading, rank, SCN_CRASH, line);
}

/* The signal that a shell reports as its own status; NULL: it is none that a
 * program gets for a mistake. */
static const char *signal_behind(int code)
{
    switch (code - 128) {
    case SIGABRT:
        return "SIGABRT";
    case SIGBUS:
        return "SIGBUS";
    case SIGFPE:
        return "SIGFPE";
    case SIGILL:
        return "SIGILL";
    case SIGSEGV:
        return "SIGSEGV";
    default:
        return NULL;
    }
}

/* "rank 0: exit 1, 0 findings", behind "verbfault run: ". */
static void read_rank(struct reading *reading, const char *line)
{
    char title[64];
    const char *name;
    int code, rank;
    if (sscanf(line, "rank %d: exit %d", &rank, &code) != 2 || code == 0)
        return;
    name = signal_behind(code);
    snprintf(title, sizeof title, "exit %d%s%s", code,
             name ? ": behind a shell, ended by " : "", name ? name : "");
    become(reading, rank, name ? SCN_CRASH : SCN_ERROR, title);
}

/* The first number in it. */
static int first_rank(const char *line)
{
    return atoi(line + strcspn(line, "0123456789"));
}

static void read_own(struct reading *reading, const char *line)
{
    struct trial *trial = reading->trial;
    if (after(line, "as planned: "))
        trial->reached = true;
    else if (strstr(line, " still running after "))
        become(reading, first_rank(line), SCN_HANG,
               "still runs when the time is over");
    else if (strstr(line, " did not end within "))
        reading->waiter = first_rank(line);
    else if (after(line, "rank "))
        read_rank(reading, line);
    else if (strstr(line, ": ending the ranks"))
        trial->interrupted = true;
}

/* "[0] what rank 0 said" */
static void read_said(struct reading *reading, const char *line)
{
    int rank = atoi(line + 1);
    if (strlen(line) <= 4 || rank < 0 || rank >= SCN_RANKS_MAX)
        return;
    reading->last = rank;
    snprintf(reading->said[rank], sizeof reading->said[rank], "%.*s",
             (int)sizeof reading->said[rank] - 1, line);
    if (reading->options->said)
        reading->options->said(reading->options->context, rank,
                               strchr(line, ' ') + 1);
}

static void read_line(struct reading *reading, char *line)
{
    const char *own = after(line, "verbfault run: ");
    line[strcspn(line, "\n")] = '\0';
    if (own) {
        read_own(reading, own);
        return;
    }
    if (line[0] == 'r' && line[1] >= '0' && line[1] <= '9') {
        const char *colon = strstr(line, ": ");
        if (colon &&
            (size_t)(colon - line) == 1 + strspn(line + 1, "0123456789"))
            read_report(reading, atoi(line + 1), colon + 2);
        return;
    }
    if (line[0] == '[')
        read_said(reading, line);
}

/* Of all that was said, what the rank said last that decided the outcome: the
 * others mostly tell that it went away. */
static void choose_message(struct reading *reading)
{
    struct trial *trial = reading->trial;
    int rank = trial->whose;
    if (rank < 0 || rank >= SCN_RANKS_MAX || !reading->said[rank][0])
        rank = reading->last;
    memcpy(trial->message, reading->said[rank], sizeof trial->message);
}

static void choose(struct reading *reading)
{
    struct trial *trial = reading->trial;
    if (reading->waiter >= 0 && trial->outcome < SCN_VIOLATION)
        become(reading, reading->waiter, SCN_HANG,
               "waits for a rank that failed");
    choose_message(reading);
    for (int i = 0; i < trial->found_count; i++)
        if (trial->found[i].rank >= 0 && trial->found[i].rank < SCN_RANKS_MAX)
            memcpy(trial->found[i].message, reading->said[trial->found[i].rank],
                   sizeof trial->found[i].message);
}

static bool read_log(const struct trial_options *options, struct trial *trial,
                     const char *log)
{
    FILE *stream = fopen(log, "r");
    struct reading reading = {.options = options, .trial = trial, .waiter = -1};
    char line[1024];
    if (!stream)
        return false;
    while (fgets(line, sizeof line, stream))
        read_line(&reading, line);
    fclose(stream);
    choose(&reading);
    return true;
}

static void show_log(const char *log)
{
    FILE *stream = fopen(log, "r");
    char line[1024];
    while (stream && fgets(line, sizeof line, stream))
        fputs(line, stderr);
    if (stream)
        fclose(stream);
}

/* ---- the whole ----------------------------------------------------------- */

static bool write_text(const char *path, const char *text)
{
    FILE *stream = fopen(path, "w");
    if (!stream)
        return false;
    fputs(text, stream);
    return fclose(stream) == 0;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int trial_open(struct trial_options *options, const char *subcommand)
{
    if (run_os_executable(options->self))
        return cli_scratch_open(subcommand, options->scratch,
                                sizeof options->scratch);
    fprintf(stderr, "verbfault %s: %s\n", subcommand, strerror(errno));
    return CLI_ENVIRONMENT;
}

void trial_close(void)
{
    cli_scratch_close();
}

static int run_it(const struct trial_options *options, char *scenario,
                  char *trace, const char *log, const char *directory)
{
    pid_t child;
    int status;
    fflush(NULL);
    child = cli_fork();
    if (child == 0) {
        cli_scratch_run();
        redirect(log);
        execute(options, scenario, trace, directory);
    }
    if (child < 0)
        return CLI_ENVIRONMENT;
    status = cli_wait(child);
    cli_scratch_idle();
    return WIFEXITED(status) ? WEXITSTATUS(status) : CLI_ENVIRONMENT;
}

int trial_run(const struct trial_options *options, const char *scenario,
              const char *trace, struct trial *trial)
{
    char file[TRIAL_PATH_MAX + 16], log[TRIAL_PATH_MAX + 16];
    char directory[TRIAL_PATH_MAX + 16], *trace_word = NULL;
    double began = now();
    int code;
    memset(trial, 0, sizeof *trial);
    trial->whose = -1;
    snprintf(file, sizeof file, "%s/run.scn", options->scratch);
    snprintf(log, sizeof log, "%s/log", options->scratch);
    snprintf(directory, sizeof directory, "%s/own", options->scratch);
    if (!write_text(file, scenario) || mkdir(directory, 0700) != 0) {
        fprintf(stderr, "verbfault: %s: %s\n", options->scratch,
                strerror(errno));
        return CLI_ENVIRONMENT;
    }
    if (trace)
        trace_word = strdup(trace);
    code = run_it(options, file, trace_word, log, directory);
    free(trace_word);
    if (rmdir(directory) != 0) /* mostly nothing is in it */
        cli_scratch_remove(directory);
    trial->seconds = now() - began;
    trial->interrupted = cli_interrupted();
    if (trial->interrupted) /* it may have ended before it was a run */
        return CLI_FINE;
    if (code >= CLI_USAGE || !read_log(options, trial, log)) {
        show_log(log);
        return code >= CLI_USAGE ? code : CLI_ENVIRONMENT;
    }
    return CLI_FINE;
}

/* "r0 #12 poll_cq(cq=1, room=16) = 2 [...]" */
static void count_line(const char *line,
                       unsigned counts[SCN_RANKS_MAX][VF_VERB_COUNT])
{
    char name[48];
    const char *answer = strstr(line, ") = ");
    unsigned rank, number;
    enum vf_verb verb;
    if (sscanf(line, "r%u #%u %47[a-z_]", &rank, &number, name) != 3 ||
        rank >= SCN_RANKS_MAX)
        return;
    verb = vf_verb_by_name(name);
    if (verb == VF_VERB_COUNT)
        return;
    if (verb != VF_VERB_poll_cq) {
        counts[rank][verb]++;
        return;
    }
    counts[rank][verb] = 1;
    if (answer && atoi(answer + 4) > 0)
        counts[rank][VF_VERB_completion] += (unsigned)atoi(answer + 4);
}

bool trial_count(const char *trace,
                 unsigned counts[SCN_RANKS_MAX][VF_VERB_COUNT])
{
    FILE *stream = fopen(trace, "r");
    char line[2048];
    if (!stream)
        return false;
    memset(counts, 0, SCN_RANKS_MAX * sizeof counts[0]);
    while (fgets(line, sizeof line, stream))
        count_line(line, counts);
    fclose(stream);
    return true;
}
