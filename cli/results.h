/*
 * results.h: what replay and sweep found, for other programs.
 *
 * Both commands fill one table, a row for each thing that became of a subject:
 * of a replay one for each scenario and subject, of a sweep one for each title.
 * Three writers print it: --json for scripts, --junit for what shows tests,
 * --sarif for what shows findings beside the code that they are in. Each takes
 * a FILE, or - for standard output.
 *
 * A row is WRONG where the command's exit code says so (a broken promise, not
 * as the scenario expects); FOUND where a subject did badly and nobody expected
 * better of it; SKIPPED where nothing ran, and the message says why; else it is
 * FINE.
 */
#ifndef CLI_RESULTS_H
#define CLI_RESULTS_H

#include <stdbool.h>
#include <stdio.h>

#include "sim/scenario.h"

#define CLI_VERSION "0.1.0"

enum cli_verdict {
    CLI_ROW_FINE,
    CLI_ROW_FOUND,
    CLI_ROW_WRONG,
    CLI_ROW_SKIPPED
};

struct cli_row {
    const char *scenario; /* a path, or what it is */
    bool is_file;
    const char *subject;
    enum scn_outcome outcome;
    const char *title;    /* "" for ready */
    const char *message;  /* one line, or "" */
    const char *example;  /* of a sweep: statements, "; " between; or NULL */
    const char *unstruck; /* of a replay: planned faults that the run never came
                             to, likewise; or NULL */
    unsigned long count;  /* runs */
    enum cli_verdict verdict;
};

/* Of a sweep: what was walked. */
struct cli_walk {
    const char *scenario;
    const char *subject;
    int depth;
    int points, done;
    unsigned long runs, broken;
};

struct cli_results {
    const char *command; /* "replay", "sweep" */
    struct cli_row *rows;
    int count, room;
    struct cli_walk *walks;
    int walk_count, walk_room;
    bool interrupted;
};

/* A row or a walk more; its words are copied. Memory that is out ends the
 * process with a line on standard error: there is no result to give then. */
void cli_results_row(struct cli_results *results, const struct cli_row *row);
void cli_results_walk(struct cli_results *results, const struct cli_walk *walk);
void cli_results_free(struct cli_results *results);
int cli_results_wrong(const struct cli_results *results);

/* Where to; NULL: not wanted. */
struct cli_outputs {
    const char *json, *junit, *sarif;
};
/* getopt_long's numbers of the options, and their entries. */
enum { CLI_JSON = 256, CLI_JUNIT, CLI_SARIF, CLI_OUTPUT_END };
#define CLI_OUTPUT_OPTIONS                                                     \
    {"json", required_argument, NULL, CLI_JSON},                               \
        {"junit", required_argument, NULL, CLI_JUNIT},                         \
    {                                                                          \
        "sarif", required_argument, NULL, CLI_SARIF                            \
    }
#define CLI_OUTPUT_HELP                                                        \
    "  --json FILE    all results, for scripts; - is standard output\n"        \
    "  --junit FILE   the same as test cases, for what shows tests: a "        \
    "broken\n"                                                                 \
    "                 promise fails, and so does what a scenario did not\n"    \
    "                 expect; a model that crashes as it should does not\n"    \
    "  --sarif FILE   what was found, for what shows findings (SARIF 2.1)\n"
/* Takes the option's value, if it is one of the three. */
bool cli_output_option(struct cli_outputs *outputs, int option, const char *at);
/* Does one of them go to standard output? Then nothing else may. */
bool cli_outputs_to_stdout(const struct cli_outputs *outputs);
/* Can they be written? CLI_FINE, or another code after a line. */
int cli_outputs_check(const struct cli_outputs *outputs,
                      const char *subcommand);
/* Writes what is wanted: CLI_FINE, or CLI_ENVIRONMENT after a line on standard
 * error. */
int cli_outputs_write(const struct cli_outputs *outputs,
                      const struct cli_results *results);

/* The writers: 0, or -1 when memory is out or the stream is full. */
int cli_write_json(const struct cli_results *results, FILE *stream);
int cli_write_junit(const struct cli_results *results, FILE *stream);
int cli_write_sarif(const struct cli_results *results, FILE *stream);

/* "crash: null-mr in dereg_mr", as one rule or one failure is called. */
void cli_row_name(const struct cli_row *row, char *text, size_t room);
/* Bytes at `at` that are one character of valid UTF-8 and no control character
 * but tab and new line; 0: they are none. */
int cli_character(const char *at);

#endif
