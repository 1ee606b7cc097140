/*
 * cli.h: what the verbfault command's subcommands share.
 *
 * Every subcommand is one file with one function, cli_NAME(argc, argv), whose
 * argv[0] is the subcommand. It prints results on standard output, everything
 * else on standard error, and answers the process's exit code:
 */
#ifndef CLI_H
#define CLI_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "sim/run.h"

enum cli_exit {
    CLI_FINE = 0,
    CLI_FINDINGS = 1,    /* something is not as it should be */
    CLI_USAGE = 2,       /* usage, or bad input: file, line and column said */
    CLI_ENVIRONMENT = 3, /* the machine lacks something */
};

int cli_doctor(int argc, char **argv);
int cli_explain(int argc, char **argv);
int cli_fmt(int argc, char **argv);
int cli_list(int argc, char **argv);
int cli_minimize(int argc, char **argv);
int cli_minimize_program(int argc, char **argv); /* behind a -- */
int cli_record(int argc, char **argv);
int cli_replay(int argc, char **argv);
int cli_run(int argc, char **argv);
int cli_sweep(int argc, char **argv);
int cli_trace(int argc, char **argv);

/* A loaded scenario file; free with cli_unload(). An `expect` for a subject
 * that does not exist is bad input too: it would never be checked. */
struct cli_file {
    const char *path;
    char *text;
    struct scn scenario;
};
/* CLI_FINE, or CLI_USAGE after one line on standard error. */
int cli_load(struct cli_file *file, const char *path);
void cli_unload(struct cli_file *file);
/* A scenario with faults and without a `run` is for verbfault run: there is
 * nothing in it that a model could do. CLI_FINE, or CLI_USAGE after a line. */
int cli_check_runs(const struct cli_file *file);
/* cli_load() of one that is to be run. */
int cli_load_runs(struct cli_file *file, const char *path);

/* Sets *subject; else, after one line on standard error, answers CLI_USAGE
 * (there is none of that name) or CLI_ENVIRONMENT (this build has it not). */
int cli_subject(const struct sim_subject **subject, const char *name);
/* After getopt_long answered '?' (with opterr 0): one line about the option
 * that it did not take; answers CLI_USAGE. */
int cli_bad_option(const char *subcommand, char **argv);
/* One line about wrong usage, pointing at --help; answers CLI_USAGE. */
int cli_usage(const char *subcommand, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* This command as it was called, as one word of a shell: what it prints to be
 * pasted begins with it. */
const char *cli_self(void);
void cli_set_self(const char *program);
/* "s" unless there is one. */
static inline const char *cli_s(unsigned long count)
{
    return count == 1 ? "" : "s";
}
/* The scenario's text, malloc'ed; NULL: out of memory. */
char *cli_text(const struct scn *scenario);
/* Prints the scenario on the stream. */
void cli_print(const struct scn *scenario, void *stream);
/* The next fault, or fault of a channel, that never took effect in the run: its
 * statement into words. *at is 0 before the first one. false: no more. */
bool cli_unstruck(const struct scn *scenario, const struct sim_result *result,
                  int *at, char *words, size_t room);
/* Ctrl-C: sets a flag instead of ending the process, and ends the child that
 * this process waits for. */
void cli_catch_interrupt(void);
bool cli_interrupted(void);
/* fork() and waitpid() for that child, one at a time. A signal that comes
 * before, between or after is not lost: it is passed on. The child has no
 * handler of its own. Answer as fork(); waitpid()'s status. */
pid_t cli_fork(void);
int cli_wait(pid_t child);
/* Waits for a child whose number a signal handler passes signals on to, and
 * sets that to 0 before it may be somebody else's. waitpid()'s status. */
int cli_reap(pid_t child, volatile sig_atomic_t *number);

#endif
