/* What the subcommands share. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/cli.h"
#include "cli/file.h"
#include "cli/text.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* CLI_FINE, or CLI_USAGE for the first expectation that names nobody. */
static int check_subjects(const struct cli_file *file)
{
    for (int i = 0; i < file->scenario.count; i++) {
        const struct scn_statement *statement = &file->scenario.statements[i];
        if (statement->kind != SCN_EXPECT ||
            sim_subject_by_name(statement->u.expect.subject) ||
            sim_subject_left_out(statement->u.expect.subject))
            continue;
        fprintf(stderr, "%s:%d:%d: no subject \"%s\"; see verbfault list\n",
                file->path, statement->line, statement->column,
                statement->u.expect.subject);
        return CLI_USAGE;
    }
    return CLI_FINE;
}

/* Something that is run, by mistake in a scenario's place. */
static bool is_program(const char *path)
{
    char begin[512];
    struct stat there;
    FILE *stream;
    size_t length;
    if (stat(path, &there) != 0 || !S_ISREG(there.st_mode) ||
        access(path, X_OK) != 0)
        return false;
    stream = fopen(path, "r");
    length = stream ? fread(begin, 1, sizeof begin, stream) : 0;
    if (stream)
        fclose(stream);
    return memchr(begin, '\0', length) != NULL ||
           (length > 2 && memcmp(begin, "#!", 2) == 0);
}

int cli_load(struct cli_file *file, const char *path)
{
    struct scn_error error;
    bool standard_input = strcmp(path, "-") == 0;
    file->path = standard_input ? "standard input" : path;
    file->text = NULL;
    if (!standard_input && cli_file_is_output(path)) {
        fprintf(stderr,
                "%s: it is to be read and to be written: give the results "
                "another name\n",
                path);
        return CLI_USAGE;
    }
    if (scn_load(&file->scenario, standard_input ? "/dev/stdin" : path,
                 &file->text, &error) == 0) {
        int code = check_subjects(file);
        if (code != CLI_FINE)
            cli_unload(file);
        return code;
    }
    if (!standard_input && is_program(path))
        fprintf(stderr,
                "%s: a program, not a scenario: verbfault run, record and "
                "sweep take programs, behind a --\n",
                path);
    else if (error.line > 0)
        fprintf(stderr, "%s:%d:%d: %s\n", file->path, error.line, error.column,
                error.message);
    else
        fprintf(stderr, "%s: %s\n", file->path, error.message);
    free(file->text);
    file->text = NULL;
    return CLI_USAGE;
}

int cli_check_runs(const struct cli_file *file)
{
    bool runs = false, faults = false;
    for (int i = 0; i < file->scenario.count; i++) {
        enum scn_kind kind = file->scenario.statements[i].kind;
        runs = runs || kind == SCN_RUN || kind == SCN_CALL;
        faults = faults || kind == SCN_FAULT;
    }
    if (runs || !faults)
        return CLI_FINE;
    fprintf(stderr,
            "%s: its faults are for a program of yours: verbfault run "
            "--scenario %s -- COMMAND (a model needs a \"run\" in it)\n",
            file->path, file->path);
    return CLI_USAGE;
}

int cli_load_runs(struct cli_file *file, const char *path)
{
    int code = cli_load(file, path);
    if (code != CLI_FINE)
        return code;
    code = cli_check_runs(file);
    if (code != CLI_FINE)
        cli_unload(file);
    return code;
}

void cli_unload(struct cli_file *file)
{
    free(file->text);
    file->text = NULL;
}

int cli_subject(const struct sim_subject **subject, const char *name)
{
    *subject = sim_subject_by_name(name);
    if (*subject)
        return CLI_FINE;
    if (sim_subject_left_out(name)) {
        fprintf(stderr, "verbfault: subject %s is left out: %s\n", name,
                sim_subject_left_out(name));
        return CLI_ENVIRONMENT;
    }
    fprintf(stderr, "verbfault: no subject \"%s\"; there are", name);
    for (int i = 0; sim_subject_at(i); i++)
        fprintf(stderr, "%s %s", i ? "," : "", sim_subject_at(i)->name);
    fprintf(stderr, "\n");
    return CLI_USAGE;
}

static struct text self;

void cli_set_self(const char *program)
{
    self.length = 0;
    text_shell(&self, program && *program ? program : "verbfault");
}

const char *cli_self(void)
{
    return self.at ? self.at : "verbfault";
}

int cli_bad_option(const char *subcommand, char **argv)
{
    return cli_usage(subcommand, "unknown option, or one without its value: %s",
                     argv[optind - 1]);
}

int cli_usage(const char *subcommand, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "verbfault%s%s: ", subcommand ? " " : "",
            subcommand ? subcommand : "");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "; try %s%s%s --help\n", cli_self(), subcommand ? " " : "",
            subcommand ? subcommand : "");
    va_end(arguments);
    return CLI_USAGE;
}

char *cli_text(const struct scn *scenario)
{
    size_t length = scn_print(scenario, NULL, 0);
    char *text = malloc(length + 1);
    if (text)
        scn_print(scenario, text, length + 1);
    return text;
}

void cli_print(const struct scn *scenario, void *stream)
{
    char *text = cli_text(scenario);
    if (!text)
        return;
    fputs(text, stream);
    free(text);
}

bool cli_unstruck(const struct scn *scenario, const struct sim_result *result,
                  int *at, char *words, size_t room)
{
    static struct scn one = {.count = 1};
    while (*at < scenario->count) {
        int n = (*at)++;
        enum scn_kind kind = scenario->statements[n].kind;
        if ((kind != SCN_FAULT && kind != SCN_CHANNEL) ||
            sim_struck(scenario, result, n))
            continue;
        one.statements[0] = scenario->statements[n];
        one.statements[0].comment = NULL;
        scn_print(&one, words, room);
        words[strcspn(words, "\n")] = '\0';
        return true;
    }
    return false;
}

static const int interrupts[] = {SIGINT, SIGTERM, SIGHUP};
#define INTERRUPTS (sizeof interrupts / sizeof interrupts[0])

static volatile sig_atomic_t interrupted; /* the signal; 0: none came */
static volatile sig_atomic_t awaited;     /* a child; 0: none */

static void on_interrupt(int number)
{
    int kept = errno;
    interrupted = number;
    if (awaited > 0)
        kill((pid_t)awaited, number);
    errno = kept;
}

void cli_catch_interrupt(void)
{
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    /* A terminal that goes; nohup's children have it ignored. */
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
}

static void block_interrupts(sigset_t *before)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < INTERRUPTS; i++)
        sigaddset(&set, interrupts[i]);
    sigprocmask(SIG_BLOCK, &set, before);
}

static void forget_handlers(void)
{
    struct sigaction action;
    for (size_t i = 0; i < INTERRUPTS; i++)
        if (sigaction(interrupts[i], NULL, &action) == 0 &&
            action.sa_handler == on_interrupt)
            signal(interrupts[i], SIG_DFL);
}

pid_t cli_fork(void)
{
    sigset_t before;
    pid_t child;
    block_interrupts(&before);
    child = fork();
    if (child == 0)
        forget_handlers();
    if (child > 0)
        awaited = (sig_atomic_t)child;
    if (child > 0 && interrupted)
        kill(child, interrupted);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return child;
}

int cli_reap(pid_t child, volatile sig_atomic_t *number)
{
    siginfo_t info;
    int status = 0;
    while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) != 0 &&
           errno == EINTR)
        continue;
    *number = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

int cli_wait(pid_t child)
{
    return cli_reap(child, &awaited);
}

bool cli_interrupted(void)
{
    return interrupted != 0;
}
