/* verbfault replay: scenarios on subjects, against what is expected. */
#include "cli/cli.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/results.h"
#include "sim/calls.h"

static const char help[] =
    "usage: verbfault replay [--subject S]... [--verbose] [OPTIONS] FILE...\n"
    "\n"
    "Runs each scenario on each subject and prints one row for each:\n"
    "\n"
    "  FILE  SUBJECT  OUTCOME  as expected|UNEXPECTED|-  TITLE\n"
    "\n"
    "\"-\": the file expects nothing of that subject. For a subject that must\n"
    "keep its promises (cjaccl) a broken promise is unexpected in any case; "
    "and\n"
    "after its run the faults are lifted and it must start again.\n"
    "\n"
    "A recording (verbfault record) is replayed by the subject recording:\n"
    "where the mock parts with it, the message says at which call and how.\n"
    "\n"
    "  --subject S    only this subject; may be given again\n"
    "  --verbose      what became of each rank, and its "
    "message\n" CLI_OUTPUT_HELP "\n"
    "Exit 0: nothing unexpected; 1: something was.\n";

#define CHOSEN_MAX 16

struct replay {
    const struct sim_subject *chosen[CHOSEN_MAX];
    int chosen_count;
    bool by_default; /* no subject was named */
    bool verbose;
    int rows, surprises;
    bool quiet; /* standard output is for something else */
    struct cli_outputs outputs;
    struct cli_results results;
};

static const struct scn_statement *expectation(const struct scn *scenario,
                                               const char *subject)
{
    for (int i = 0; i < scenario->count; i++) {
        const struct scn_statement *statement = &scenario->statements[i];
        if (statement->kind == SCN_EXPECT &&
            strcmp(statement->u.expect.subject, subject) == 0)
            return statement;
    }
    return NULL;
}

static bool as_expected(const struct scn_statement *expected,
                        const struct sim_result *result)
{
    return expected->u.expect.outcome == result->outcome &&
           (expected->u.expect.title[0] == '\0' ||
            strcmp(expected->u.expect.title, result->title) == 0);
}

static void print_details(const struct scn_statement *expected,
                          const struct sim_result *result, bool surprise,
                          bool verbose)
{
    if (surprise && result->broken[0])
        printf("    broken promise: %s\n", result->broken);
    else if (surprise)
        printf("    expected %s%s%s\n",
               scn_outcome_name(expected->u.expect.outcome),
               expected->u.expect.title[0] ? ": " : "",
               expected->u.expect.title);
    for (int i = 0; (surprise || verbose) && i < result->ranks; i++)
        printf("    rank %d: %s%s%s%s%s\n", i,
               scn_outcome_name(result->rank[i].outcome),
               result->rank[i].title[0] ? ": " : "", result->rank[i].title,
               result->rank[i].message[0] ? ": " : "", result->rank[i].message);
    if (verbose && result->recovery_tried)
        printf("    faults lifted, started again: %s\n",
               result->recovered ? "ready" : result->recovery_message);
}

static void note(struct replay *replay, const char *path,
                 const struct sim_subject *subject,
                 const struct sim_result *result, bool surprise)
{
    struct cli_row row = {.scenario = path,
                          .is_file = strcmp(path, "standard input") != 0,
                          .subject = subject->name,
                          .outcome = result->outcome,
                          .title = result->title,
                          .message = surprise && result->broken[0]
                                         ? result->broken
                                         : result->rank[result->worst].message,
                          .count = 1,
                          .verdict = surprise ? CLI_ROW_WRONG
                                     : result->outcome > SCN_ERROR
                                         ? CLI_ROW_FOUND
                                         : CLI_ROW_FINE};
    cli_results_row(&replay->results, &row);
}

static int replay_one(struct replay *replay, const struct cli_file *file,
                      const struct sim_subject *subject)
{
    static struct sim_result result;
    struct sim_options options = {.subject = subject,
                                  .recover = subject->fixed};
    const struct scn_statement *expected =
        expectation(&file->scenario, subject->name);
    struct scn_error error;
    bool surprise;
    int status;
    status = sim_run_isolated(&file->scenario, &options, 60, &result, &error);
    if (status != 0) {
        fprintf(stderr, "%s: %s\n", file->path, error.message);
        return status == -2 ? CLI_ENVIRONMENT : CLI_USAGE;
    }
    surprise = result.broken[0] != '\0' ||
               (expected && !as_expected(expected, &result));
    replay->rows++;
    replay->surprises += surprise;
    note(replay, file->path, subject, &result, surprise);
    if (replay->quiet)
        return CLI_FINE;
    printf("%-36s  %-17s  %-10s  %-11s  %s\n", file->path, subject->name,
           scn_outcome_name(result.outcome),
           surprise   ? "UNEXPECTED"
           : expected ? "as expected"
                      : "-",
           result.title);
    print_details(expected, &result, surprise, replay->verbose);
    return CLI_FINE;
}

static void warn_if_idle(const struct cli_file *file)
{
    for (int i = 0; i < file->scenario.count; i++)
        if (file->scenario.statements[i].kind == SCN_RUN)
            return;
    fprintf(stderr, "%s: nothing runs: there is no \"run\" in it\n",
            file->path);
}

static int replay_file(struct replay *replay, const char *path)
{
    static struct cli_file file;
    const struct sim_subject *own;
    int code = cli_load(&file, path);
    if (code != CLI_FINE)
        return code;
    own = replay->by_default ? sim_subject_for(&file.scenario) : NULL;
    if (own) {
        code = replay_one(replay, &file, own);
        cli_unload(&file);
        return code;
    }
    if (!scn_has_calls(&file.scenario))
        warn_if_idle(&file);
    for (int i = 0; i < replay->chosen_count && code == CLI_FINE; i++)
        code = replay_one(replay, &file, replay->chosen[i]);
    cli_unload(&file);
    return code;
}

/* All of them before the first run, so that a wrong one is not found late. */
static int check_files(int count, char **paths)
{
    static struct cli_file file;
    int code = CLI_FINE;
    for (int i = 0; i < count && code == CLI_FINE; i++) {
        /* Standard input can be read only once. */
        if (strcmp(paths[i], "-") == 0)
            continue;
        code = cli_load(&file, paths[i]);
        if (code == CLI_FINE)
            cli_unload(&file);
    }
    return code;
}

static int choose(struct replay *replay, const char *name)
{
    const struct sim_subject *subject;
    int code = cli_subject(&subject, name);
    if (code != CLI_FINE)
        return code;
    if (replay->chosen_count == CHOSEN_MAX)
        return cli_usage("replay", "too many subjects");
    replay->chosen[replay->chosen_count++] = subject;
    return CLI_FINE;
}

static int parse(struct replay *replay, int argc, char **argv)
{
    static const struct option options[] = {
        {"subject", required_argument, NULL, 's'},
        {"verbose", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},
        CLI_OUTPUT_OPTIONS,
        {NULL, 0, NULL, 0}};
    int option, code = CLI_FINE;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "hs:v", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return -1;
        }
        if (option == '?')
            return cli_bad_option("replay", argv);
        if (cli_output_option(&replay->outputs, option, optarg))
            continue;
        if (option == 'v')
            replay->verbose = true;
        if (option == 's')
            code = choose(replay, optarg);
        if (code != CLI_FINE)
            return code;
    }
    replay->by_default = replay->chosen_count == 0;
    for (int i = 0; optind < argc && replay->chosen_count == i; i++)
        if (!sim_subject_at(i))
            break;
        else if (i < CHOSEN_MAX)
            replay->chosen[replay->chosen_count++] = sim_subject_at(i);
    return CLI_FINE;
}

int cli_replay(int argc, char **argv)
{
    struct replay replay = {.results = {.command = "replay"}};
    int written, code = parse(&replay, argc, argv);
    if (code != CLI_FINE)
        return code < 0 ? CLI_FINE : code;
    if (optind == argc)
        return cli_usage("replay", "a file is missing");
    replay.quiet = cli_outputs_to_stdout(&replay.outputs);
    code = check_files(argc - optind, argv + optind);
    cli_catch_interrupt();
    for (int i = optind; i < argc && code == CLI_FINE && !cli_interrupted();
         i++)
        code = replay_file(&replay, argv[i]);
    replay.results.interrupted = cli_interrupted();
    written = code == CLI_FINE
                  ? cli_outputs_write(&replay.outputs, &replay.results)
                  : code;
    cli_results_free(&replay.results);
    if (written != CLI_FINE)
        return written;
    if (!replay.quiet)
        printf("%d runs, %d unexpected%s\n", replay.rows, replay.surprises,
               cli_interrupted() ? " (interrupted)" : "");
    return replay.surprises > 0 || cli_interrupted() ? CLI_FINDINGS : CLI_FINE;
}
