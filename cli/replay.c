/* verbfault replay: scenarios on subjects, against what is expected. */
#include "cli/cli.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/replay_device.h"
#include "cli/results.h"
#include "cli/text.h"
#include "sim/calls.h"
#include "sim/live.h"

static const char help[] =
    "usage: verbfault replay [--subject S]... [--verbose] [OPTIONS] FILE...\n"
    "       verbfault replay --device[=NAME] [--timeout SECONDS] ... FILE...\n"
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
    "One of a single side goes as far as it can without its peer (\"in "
    "part\");\n"
    "verbfault record --join makes one of both.\n"
    "\n"
    "Under a row stands which of the planned faults its run never came to.\n"
    "\n"
    "With --device the subject runs on one of this machine's RDMA devices, a\n"
    "process for each rank, with the scenario's faults in between; its rows "
    "say\n"
    "\"skipped\" and why where a real device cannot be made to do it.\n"
    "\n"
    "  --subject S    only this subject; may be given again. With --device "
    "cjaccl\n"
    "                 (the default) or sockets\n"
    "  --device[=NAME]  on that device; without a name the first with an "
    "active\n"
    "                 port\n"
    "  --timeout SECONDS  with --device: what a start may take, and an "
    "operation\n"
    "                 in which nothing moves (default 10)\n"
    "  --verbose      what became of each rank, and its "
    "message\n" CLI_OUTPUT_HELP "\n"
    "Exit 0: nothing unexpected; 1: something was; 3: no device.\n";

#define CHOSEN_MAX 16

struct replay {
    const struct sim_subject *chosen[CHOSEN_MAX];
    int chosen_count;
    bool by_default; /* no subject was named */
    bool verbose;
    int rows, surprises;
    bool quiet; /* standard output is for something else */
    bool on_device;
    struct replay_device device;
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

/* Statements, "; " between; NULL: every fault struck. */
static const char *say_unstruck(const struct scn *scenario,
                                const struct sim_result *result,
                                struct text *text)
{
    char words[256];
    for (int at = 0; cli_unstruck(scenario, result, &at, words, sizeof words);)
        text_add(text, "%s%s", text->length > 0 ? "; " : "", words);
    return text->length > 0 ? text->at : NULL;
}

static void note(struct replay *replay, const char *path,
                 const struct sim_subject *subject,
                 const struct sim_result *result, bool surprise,
                 const char *unstruck)
{
    struct cli_row row = {
        .scenario = path,
        .is_file = strcmp(path, "standard input") != 0,
        .subject = subject->name,
        .outcome = result->outcome,
        .title = result->title,
        .message = surprise && result->broken[0] ? result->broken
                   : result->partial[0]          ? result->partial
                                        : result->rank[result->worst].message,
        .unstruck = unstruck,
        .count = 1,
        .verdict = surprise                      ? CLI_ROW_WRONG
                   : result->outcome > SCN_ERROR ? CLI_ROW_FOUND
                                                 : CLI_ROW_FINE};
    cli_results_row(&replay->results, &row);
}

/* What became of the run, beside what was to become of it. */
static void print_row(const char *path, const struct sim_subject *subject,
                      const char *outcome, const char *verdict,
                      const char *title)
{
    printf("%-36s  %-17s  %-10s  %-11s  %s\n", path, subject->name, outcome,
           verdict, title);
}

/* The result is compared with what the file expects. */
static void conclude(struct replay *replay, const struct cli_file *file,
                     const struct sim_subject *subject,
                     const struct scn_statement *expected,
                     const struct sim_result *result)
{
    /* Without its fault the run is another one. */
    bool reached = !replay->on_device || replay->device.reached;
    bool surprise = result->broken[0] != '\0' ||
                    (reached && expected && !as_expected(expected, result));
    struct text text = {NULL, 0, 0};
    const char *unstruck;
    replay->rows++;
    replay->surprises += surprise;
    /* What strikes on a device is not told call by call: what the simulator
     * does not come to, no rank does there either. */
    unstruck = say_unstruck(
        &file->scenario, replay->on_device ? &replay->device.simulated : result,
        &text);
    note(replay, file->path, subject, result, surprise, unstruck);
    if (!replay->quiet)
        print_row(file->path, subject, scn_outcome_name(result->outcome),
                  surprise             ? "UNEXPECTED"
                  : !reached           ? "not reached"
                  : result->partial[0] ? "in part"
                  : expected           ? "as expected"
                                       : "-",
                  result->title);
    if (!replay->quiet)
        print_details(expected, result, surprise, replay->verbose);
    if (!replay->quiet && result->partial[0])
        printf("    %s\n", result->partial);
    if (!replay->quiet && unstruck)
        printf("    never came to: %s\n", unstruck);
    free(text.at);
}

static int replay_simulated(struct replay *replay, const struct cli_file *file,
                            const struct sim_subject *subject)
{
    static struct sim_result result;
    struct sim_options options = {
        .subject = subject, .recover = subject->fixed, .stop = cli_interrupted};
    struct scn_error error;
    int status =
        sim_run_isolated(&file->scenario, &options, 60, &result, &error);
    if (status == -3)
        return CLI_FINE;
    if (status != 0) {
        fprintf(stderr, "%s: %s\n", file->path, error.message);
        return status == -2 ? CLI_ENVIRONMENT : CLI_USAGE;
    }
    conclude(replay, file, subject, expectation(&file->scenario, subject->name),
             &result);
    return CLI_FINE;
}

/* ---- on a device ----------------------------------------------------------
 */

static void skip(struct replay *replay, const char *path,
                 const struct sim_subject *subject, enum replay_skip why,
                 const char *what)
{
    char message[128];
    struct cli_row row = {.scenario = path,
                          .is_file = strcmp(path, "standard input") != 0,
                          .subject = subject->name,
                          .outcome = SCN_READY,
                          .title = "",
                          .message = message,
                          .count = 0,
                          .verdict = CLI_ROW_SKIPPED};
    snprintf(message, sizeof message, "%s: %s", replay_skip_name(why), what);
    replay->device.skipped[why]++;
    cli_results_row(&replay->results, &row);
    if (!replay->quiet)
        print_row(path, subject, "skipped", "-", message);
}

/* What is expected where the file says nothing: what was simulated. */
static void expect_as_simulated(const struct replay *replay,
                                struct scn_statement *expected)
{
    memset(expected, 0, sizeof *expected);
    expected->u.expect.outcome = replay->device.simulated.outcome;
}

static int replay_on_device(struct replay *replay, const struct cli_file *file,
                            const struct sim_subject *subject)
{
    static struct sim_result result;
    static struct scn_statement simulated;
    const struct scn_statement *expected =
        expectation(&file->scenario, subject->name);
    char what[96];
    enum replay_skip why = replay_skip(&file->scenario, subject->name,
                                       (int64_t)(replay->device.seconds * 1000),
                                       what, sizeof what);
    int code;
    if (why != REPLAY_RUNS) {
        skip(replay, file->path, subject, why, what);
        return CLI_FINE;
    }
    code =
        replay_device_run(&replay->device, &file->scenario, subject, &result);
    if (code != CLI_FINE || cli_interrupted())
        return code;
    expect_as_simulated(replay, &simulated);
    conclude(replay, file, subject, expected ? expected : &simulated, &result);
    return CLI_FINE;
}

static void print_skipped(const struct replay *replay)
{
    int all = 0;
    if (replay->device.unreached > 0)
        printf("%d whose fault was not reached\n", replay->device.unreached);
    for (int why = 0; why < REPLAY_SKIP_COUNT; why++)
        all += replay->device.skipped[why];
    if (all == 0)
        return;
    printf("%d skipped:", all);
    for (int why = 0, said = 0; why < REPLAY_SKIP_COUNT; why++)
        if (replay->device.skipped[why] > 0)
            printf("%s %d %s", said++ ? "," : "", replay->device.skipped[why],
                   replay_skip_name((enum replay_skip)why));
    printf("\n");
}

static int replay_one(struct replay *replay, const struct cli_file *file,
                      const struct sim_subject *subject)
{
    if (replay->on_device)
        return replay_on_device(replay, file, subject);
    return replay_simulated(replay, file, subject);
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
    int code = cli_load_runs(&file, path);
    if (code != CLI_FINE)
        return code;
    own = replay->by_default && !replay->on_device
              ? sim_subject_for(&file.scenario)
              : NULL;
    if (own) {
        code = replay_one(replay, &file, own);
        cli_unload(&file);
        return code;
    }
    if (!scn_has_calls(&file.scenario) && !replay->on_device)
        warn_if_idle(&file);
    for (int i = 0;
         i < replay->chosen_count && code == CLI_FINE && !cli_interrupted();
         i++)
        code = replay_one(replay, &file, replay->chosen[i]);
    cli_unload(&file);
    return code;
}

/* Standard input, a pipe. */
static bool is_read_once(const char *path)
{
    struct stat there;
    return strcmp(path, "-") == 0 ||
           (stat(path, &there) == 0 && !S_ISREG(there.st_mode) &&
            !S_ISDIR(there.st_mode));
}

/* All of them before the first run, so that a wrong one is not found late. */
static int check_files(int count, char **paths)
{
    static struct cli_file file;
    int code = CLI_FINE, inputs = 0;
    for (int i = 0; i < count && code == CLI_FINE; i++) {
        inputs += strcmp(paths[i], "-") == 0;
        if (inputs > 1)
            return cli_usage("replay", "standard input is read once");
        if (is_read_once(paths[i]))
            continue;
        code = cli_load_runs(&file, paths[i]);
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

enum { DEVICE = CLI_OUTPUT_END, TIMEOUT };

static int take_timeout(struct replay *replay, const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    /* A NaN fails both comparisons. */
    if (end == text || *end != '\0' || !(seconds >= 0.1 && seconds <= 1e4))
        return cli_usage("replay", "--timeout takes seconds, not \"%s\"", text);
    replay->device.seconds = seconds;
    return CLI_FINE;
}

static int take(struct replay *replay, int option)
{
    switch (option) {
    case 'v':
        replay->verbose = true;
        return CLI_FINE;
    case 's':
        return choose(replay, optarg);
    case TIMEOUT:
        return take_timeout(replay, optarg);
    default:
        replay->on_device = true;
        if (optarg && strlen(optarg) >= sizeof replay->device.device)
            return cli_usage("replay", "no device has a name that long");
        if (optarg)
            strcpy(replay->device.device, optarg);
        return CLI_FINE;
    }
}

/* Without --subject all of them, or on devices cjaccl. */
static int choose_by_default(struct replay *replay)
{
    replay->by_default = replay->chosen_count == 0;
    if (replay->by_default && replay->on_device)
        return choose(replay, "cjaccl");
    for (int i = 0; replay->by_default && i < CHOSEN_MAX && sim_subject_at(i);
         i++)
        replay->chosen[replay->chosen_count++] = sim_subject_at(i);
    for (int i = 0; replay->on_device && i < replay->chosen_count; i++)
        if (!sim_can_live(replay->chosen[i]))
            return cli_usage("replay",
                             "--device is for cjaccl and sockets; %s runs in "
                             "the simulator only",
                             replay->chosen[i]->name);
    return CLI_FINE;
}

static int parse(struct replay *replay, int argc, char **argv)
{
    static const struct option options[] = {
        {"subject", required_argument, NULL, 's'},
        {"verbose", no_argument, NULL, 'v'},
        {"device", optional_argument, NULL, DEVICE},
        {"timeout", required_argument, NULL, TIMEOUT},
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
        code = take(replay, option);
        if (code != CLI_FINE)
            return code;
    }
    if (optind == argc)
        return cli_usage("replay", "a file is missing");
    return choose_by_default(replay);
}

static void replay_files(struct replay *replay, int count, char **paths,
                         int *code)
{
    for (int i = 0; i < count && *code == CLI_FINE && !cli_interrupted(); i++)
        *code = replay_file(replay, paths[i]);
    replay->results.interrupted = cli_interrupted();
}

int cli_replay(int argc, char **argv)
{
    static struct replay replay = {.results = {.command = "replay"},
                                   .device = {.seconds = 10}};
    int written, code;
    if (argc > 1 && strcmp(argv[1], "--rank") == 0)
        return cli_replay_rank(argc, argv);
    code = parse(&replay, argc, argv);
    if (code != CLI_FINE)
        return code < 0 ? CLI_FINE : code;
    code = cli_outputs_check(&replay.outputs, "replay");
    if (code != CLI_FINE)
        return code;
    replay.quiet = cli_outputs_to_stdout(&replay.outputs);
    code = check_files(argc - optind, argv + optind);
    if (code == CLI_FINE && replay.on_device)
        code = replay_device_open(&replay.device);
    if (code != CLI_FINE)
        return code;
    cli_catch_interrupt();
    replay_files(&replay, argc - optind, argv + optind, &code);
    if (replay.on_device)
        replay_device_close();
    written = code == CLI_FINE
                  ? cli_outputs_write(&replay.outputs, &replay.results)
                  : code;
    cli_results_free(&replay.results);
    if (written != CLI_FINE)
        return written;
    if (!replay.quiet)
        print_skipped(&replay);
    if (!replay.quiet)
        printf("%d run%s, %d unexpected%s\n", replay.rows,
               cli_s((unsigned long)replay.rows), replay.surprises,
               cli_interrupted() ? " (interrupted)" : "");
    return replay.surprises > 0 || cli_interrupted() ? CLI_FINDINGS : CLI_FINE;
}
