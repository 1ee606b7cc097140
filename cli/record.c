/* verbfault record: a program's calls as a scenario. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/record.h"
#include "cli/file.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/calls.h"
#include "sim/recording.h"

/* Refusals that the replay is made to repeat. */
#define PLANNED_MAX 200

static const char help[] =
    "usage: verbfault record -o FILE [-n RANKS] [--device | --profile P |\n"
    "                        --scenario FILE] [--keep-names] [OPTIONS] --\n"
    "                        COMMAND...\n"
    "       verbfault record --join -o FILE RECORDING RECORDING...\n"
    "\n"
    "Runs COMMAND as verbfault run does and writes a scenario: the devices, "
    "and\n"
    "every verbs call with its answer. It is replayed on the mock, anywhere:\n"
    "\n"
    "  verbfault replay FILE    makes the calls again, compares call by call\n"
    "  verbfault trace FILE     and shows them\n"
    "\n"
    "Where the mock answers otherwise, replay says at which call and how:\n"
    "\"parted in reg_mr\". Of messages no byte is recorded, of programs "
    "neither\n"
    "path nor arguments; names of devices, GUIDs, GIDs and addresses are\n"
    "replaced. Processes may be killed, or crash: what they called before is\n"
    "there.\n"
    "\n"
    "With --join: recordings that were made on several machines at the same\n"
    "time, each of its own ranks, become one, which replays as a whole. The\n"
    "ranks are those of the files in their order.\n"
    "\n"
    "  -o FILE           what is written\n"
    "  -n RANKS          how many processes, 1 to 8 (default as verbfault "
    "run)\n"
    "  --device          over the machine's own devices; the default where "
    "there\n"
    "                    are any\n"
    "  --profile P       over the mock's (default ideal); with --device: what\n"
    "                    the replay's are like (default: by the device's "
    "name)\n"
    "  --scenario FILE   over the mock's, with devices, cables and faults; "
    "with\n"
    "                    --device: faults\n"
    "  --keep-names      names of devices, and GIDs, as they are\n"
    "  --keep-going, --grace SECONDS, --timeout SECONDS\n"
    "                    as verbfault run has them\n"
    "\n"
    "Exit 0: recorded, every rank exited with 0, and the replay is the same\n"
    "(of one side: as far as it goes without the other); 1: recorded or\n"
    "joined, and one of that is not so; 2: usage, nothing was recorded;\n"
    "3: the machine lacks something.\n";

enum { PROFILE = 256, DEVICE, SCENARIO, NAMES, KEEP, GRACE, TIMEOUT, JOIN };

/* What stands on the command line, beyond what a run takes. */
struct asked {
    const char *file;
    bool join;
    char **recordings; /* that are joined */
    int count;
    bool runs; /* an option says how to run */
};

static int take_seconds(int64_t *milliseconds, const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds >= 0 && seconds <= 1e6))
        return cli_usage("record", "not seconds: \"%s\"", text);
    *milliseconds = (int64_t)(seconds * 1000 + 0.5);
    return CLI_FINE;
}

static int take_ranks(struct run_options *run, const char *text)
{
    char *end;
    long ranks = strtol(text, &end, 10);
    if (end == text || *end != '\0' || ranks < 1 || ranks > SCN_RANKS_MAX)
        return cli_usage("record", "-n takes 1 to %d ranks, not \"%s\"",
                         SCN_RANKS_MAX, text);
    run->ranks = (int)ranks;
    return CLI_FINE;
}

static int take(struct run_options *run, struct asked *asked, int option,
                char **argv)
{
    asked->runs = asked->runs || (option != 'o' && option != JOIN);
    switch (option) {
    case 'o':
        asked->file = optarg;
        return CLI_FINE;
    case JOIN:
        asked->join = true;
        return CLI_FINE;
    case 'n':
        return take_ranks(run, optarg);
    case PROFILE:
        run->profile = vf_profile_by_name(optarg);
        return run->profile ? CLI_FINE
                            : cli_usage("record", "no profile \"%s\"", optarg);
    case DEVICE:
        run->device = true;
        return CLI_FINE;
    case SCENARIO:
        run->scenario = optarg;
        return CLI_FINE;
    case NAMES:
        run->keep_names = true;
        return CLI_FINE;
    case KEEP:
        run->keep_going = true;
        return CLI_FINE;
    case GRACE:
        return take_seconds(&run->grace, optarg);
    case TIMEOUT:
        return take_seconds(&run->timeout, optarg);
    default:
        return cli_bad_option("record", argv);
    }
}

/* Has this machine RDMA devices? */
static bool has_devices(void)
{
#ifdef __APPLE__
    return true; /* the library says if not */
#else
    DIR *directory = opendir("/sys/class/infiniband");
    const struct dirent *entry;
    bool any = false;
    while (directory && !any && (entry = readdir(directory)) != NULL)
        any = entry->d_name[0] != '.';
    if (directory)
        closedir(directory);
    return any;
#endif
}

/* Nothing was said of devices: the machine's own, if it has any. */
static void choose_devices(struct run_options *run)
{
    if (run->device || run->profile || run->scenario)
        return;
    run->device = has_devices();
    if (!run->device)
        fprintf(stderr, "verbfault record: note: there is no RDMA device here: "
                        "recorded on the mock, profile ideal\n");
}

static int check_join(struct asked *asked, int count, char **files)
{
    asked->recordings = files;
    asked->count = count;
    if (asked->runs)
        return cli_usage("record", "--join takes -o FILE and recordings only");
    if (count < 2)
        return cli_usage("record", "--join takes at least two recordings");
    return cli_file_check("verbfault record", asked->file);
}

/* CLI_FINE; -1 after --help; else another code after one line. */
static int parse(struct run_options *run, struct asked *asked, int argc,
                 char **argv)
{
    static const struct option options[] = {
        {"ranks", required_argument, NULL, 'n'},
        {"profile", required_argument, NULL, PROFILE},
        {"device", no_argument, NULL, DEVICE},
        {"scenario", required_argument, NULL, SCENARIO},
        {"join", no_argument, NULL, JOIN},
        {"keep-names", no_argument, NULL, NAMES},
        {"keep-going", no_argument, NULL, KEEP},
        {"grace", required_argument, NULL, GRACE},
        {"timeout", required_argument, NULL, TIMEOUT},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}};
    int option, code = CLI_FINE;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "+hn:o:", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return -1;
        }
        code = take(run, asked, option, argv);
        if (code != CLI_FINE)
            return code;
    }
    run->command = argv + optind;
    if (!asked->file)
        return cli_usage("record", "-o FILE is missing");
    if (asked->join)
        return check_join(asked, argc - optind, argv + optind);
    if (optind == argc)
        return cli_usage("record", "a command is missing");
    if (cli_file_check("verbfault record", asked->file) != CLI_FINE)
        return CLI_ENVIRONMENT;
    choose_devices(run);
    return CLI_FINE;
}

/* ---- the replay mends it ---- */

/* What a failed call answered, as a plan's answer; false: it did not fail. */
static bool plan_of(const struct scn_call *call, char *plan, size_t room)
{
    struct scn_piece words = call->answer;
    struct scn_piece first = scn_next_word(&words);
    struct scn_piece name = scn_next_word(&words);
    if (!first.text || scn_value(call->details, "planned").text)
        return false;
    if (vf_verb_answer(call->verb) == VF_ANSWER_POINTER) {
        if (first.length != 4 || memcmp(first.text, "NULL", 4) != 0)
            return false;
        snprintf(plan, room, "null:%.*s", (int)name.length, name.text);
        return true;
    }
    if (vf_verb_answer(call->verb) == VF_ANSWER_COUNT) {
        if (scn_number(first, 0) >= 0)
            return false;
        snprintf(plan, room, "return:%.*s", (int)first.length, first.text);
        return true;
    }
    if (scn_number(first, 0) == 0 || !name.text)
        return false;
    snprintf(plan, room, "errno:%.*s", (int)name.length, name.text);
    return true;
}

/* "(planned)" behind the answer, and the plan among the details. false: no plan
 * would give that answer. */
static bool make_planned(struct record_call *recorded)
{
    struct scn_call call;
    char plan[64], *line;
    size_t room = strlen(recorded->line) + sizeof plan + 32;
    if (!scn_call_read_bare(&call, recorded->line, strlen(recorded->line)) ||
        !plan_of(&call, plan, sizeof plan))
        return false;
    line = malloc(room);
    if (!line)
        return false;
    snprintf(line, room, "%.*s (planned) ; planned=%s%s%.*s",
             (int)(call.answer.text + call.answer.length - recorded->line),
             recorded->line, plan, call.details.text ? " " : "",
             (int)call.details.length,
             call.details.text ? call.details.text : "");
    free(recorded->line);
    recorded->line = line;
    return true;
}

/* Replays the text; false: it cannot be parsed or run. */
static bool replay(const char *text, struct sim_result *result,
                   struct sim_parting *parting)
{
    static struct scn scenario;
    struct sim_options options = {.subject = sim_subject_by_name("recording")};
    struct scn_error error;
    bool ran;
    if (scn_parse(&scenario, text, strlen(text), &error) != 0) {
        fprintf(stderr, "verbfault record: line %d:%d: %s\n", error.line,
                error.column, error.message);
        return false;
    }
    ran = sim_run(&scenario, &options, result, &error) == 0;
    if (!ran)
        fprintf(stderr, "verbfault record: %s\n", error.message);
    sim_recording_parting(parting);
    return ran;
}

/* Plans what the mock does not refuse by itself; *text is the last text. */
static bool mend(struct recording *recording, char **text,
                 struct sim_result *result)
{
    struct sim_parting parting;
    for (int n = 0; n <= PLANNED_MAX; n++) {
        free(*text);
        *text = record_text(recording);
        if (!*text || !replay(*text, result, &parting))
            return false;
        if (parting.call < 0 || parting.call >= recording->count ||
            !make_planned(&recording->calls[parting.call]))
            return true;
    }
    return true;
}

/* ---- all of it ---- */

static bool as_recorded(const char *text, const struct sim_result *result)
{
    char wanted[160];
    snprintf(wanted, sizeof wanted, "expect recording %s%s%s%s\n",
             scn_outcome_name(result->outcome), result->title[0] ? " \"" : "",
             result->title, result->title[0] ? "\"" : "");
    return strstr(text, wanted) != NULL;
}

static int write_text(const char *text, const char *path)
{
    struct cli_written file;
    FILE *stream = cli_file_begin(&file, path);
    return cli_file_end(&file, "verbfault record",
                        stream && fputs(text, stream) >= 0);
}

/* CLI_FINE: it was as recorded, as far as it goes without who was not. */
static int tell_replay(const char *text, const struct sim_result *result)
{
    bool same = as_recorded(text, result);
    if (result->partial[0])
        fprintf(stderr, "verbfault record: note: replayed: %s\n",
                result->partial);
    else if (!same)
        fprintf(stderr, "verbfault record: replayed: %s: %s: %s\n",
                scn_outcome_name(result->outcome), result->title,
                result->rank[result->worst].message);
    return same ? CLI_FINE : CLI_FINDINGS;
}

static int make_scenario(struct recording *recording, const char *part,
                         const char *file)
{
    int code = record_read(recording, part, recording->setup->ranks,
                           recording->options->keep_names);
    if (code == CLI_FINE && recording->count == 0) {
        fprintf(stderr, "verbfault record: no verbs call was made\n");
        code = CLI_USAGE;
    }
    return code == CLI_FINE ? record_finish(recording, file) : code;
}

int record_finish(struct recording *recording, const char *file)
{
    static struct sim_result result;
    char *text = NULL;
    int code = CLI_FINE;
    if (!mend(recording, &text, &result)) {
        fprintf(stderr, "verbfault record: it cannot be replayed\n");
        code = CLI_FINDINGS;
    }
    if (text && write_text(text, file) != CLI_FINE)
        code = CLI_ENVIRONMENT;
    if (code == CLI_FINE)
        code = tell_replay(text, &result);
    if (text && strcmp(file, "-") != 0)
        fprintf(stderr, "verbfault record: %s: %d call%s of %d rank%s\n", file,
                recording->count, cli_s((unsigned long)recording->count),
                recording->ranks, cli_s((unsigned long)recording->ranks));
    free(text);
    return code;
}

/* The worse of the run's code and the recording's; nothing recorded counts
 * most. */
static int worse(int run, int recorded)
{
    if (recorded == CLI_USAGE || recorded == CLI_ENVIRONMENT)
        return run == CLI_FINE || run == CLI_FINDINGS ? recorded : run;
    return run > recorded ? run : recorded;
}

int cli_record(int argc, char **argv)
{
    static struct run_setup setup;
    static struct recording recording;
    static char part[RUN_PATH_MAX];
    struct run_options options = {
        .grace = 10000, .timeout = -1, .record = true};
    const struct vf_profile *profile;
    struct asked asked = {.file = NULL};
    const char *file;
    int code = parse(&options, &asked, argc, argv);
    if (code != CLI_FINE)
        return code < 0 ? CLI_FINE : code;
    if (asked.join)
        return record_join(asked.file, asked.count, asked.recordings);
    file = asked.file;
    snprintf(part, sizeof part, "%s.part",
             strcmp(file, "-") == 0 ? "recording" : file);
    options.trace = part;
    profile = options.profile;
    if (options.device)
        options.profile = NULL; /* the replay's, not the run's */
    code = run_setup(&options, &setup);
    if (code != CLI_FINE)
        return code;
    if (setup.ranks > SCN_RANKS_MAX)
        code = cli_usage("record", "at most %d ranks", SCN_RANKS_MAX);
    if (code == CLI_FINE)
        code = run_execute(&options, &setup);
    if (code == CLI_FINE || code == CLI_FINDINGS) {
        options.profile = profile;
        recording.setup = &setup;
        recording.options = &options;
        code = worse(code, make_scenario(&recording, options.trace, file));
        record_free(&recording);
    }
    unlink(options.trace);
    run_setup_end(&setup);
    return code;
}
