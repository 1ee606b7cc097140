/* verbfault sweep: every fault, not some. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/page_sweep.h"
#include "sim/calls.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char help[] =
    "usage: verbfault sweep [OPTIONS] [SCENARIO...]\n"
    "       verbfault sweep --preset quick|full [OPTIONS]\n"
    "       verbfault sweep --resume FILE\n"
    "       verbfault sweep --merge [-o FILE] FILE...\n"
    "       verbfault sweep -n RANKS [OPTIONS] -- COMMAND...\n"
    "\n"
    "Runs a scenario once as it is, lists what could go wrong in it, and then "
    "runs\n"
    "it again and again, each time with one of these faults. Fuzzing finds; a\n"
    "sweep proves. Without a SCENARIO two ranks start as a mesh and sum 1024\n"
    "numbers. What can go wrong:\n"
    "\n"
    "  each call of each verb, in every way that it can: an errno, NULL, an "
    "output\n"
    "  that is not written, an end or a stop of the process, a cable that "
    "goes;\n"
    "  each completion and each allocation; each byte of the side channel: it "
    "is\n"
    "  the last one, or wrong, or nothing follows; and what is wrong before "
    "the\n"
    "  first call: library, devices, device file.\n"
    "\n"
    "At the end there is one table for each subject and scenario: which "
    "outcomes,\n"
    "how often, and under each title the first fault that led to it. Put such "
    "a\n"
    "line in the scenario to see it again, with verbfault trace or replay:\n"
    "\n"
    "  verbfault sweep --subject legacy-2026-08-22 --verbs reg_mr\n"
    "  printf 'fault 0 reg_mr 1 null ENOMEM\\nrun init\\n' | verbfault replay "
    "-\n"
    "\n"
    "What is swept:\n"
    "  --subject S    only this subject; may be given again (default: all)\n"
    "  --depth 1|2    2: also every second fault that comes after the first: "
    "errors\n"
    "                 while an error is handled (default 1). On the side "
    "channel\n"
    "                 it strikes the first two bytes and the last of what is "
    "sent\n"
    "                 at a time; first faults try every byte\n"
    "  --verbs A,B    only these; \"channel\" and \"setup\" are words here, "
    "too\n"
    "  --ranks 0,1    only faults of these ranks\n"
    "  --once         a fault strikes one call, not all later ones, too\n"
    "  --onward       the other way round (default: both)\n"
    "  --preset P     instead of a SCENARIO: quick (2 ranks as mesh and ring, "
    "3 as\n"
    "                 mesh) or full (also 4 ranks, two wires, and two faults)\n"
    "\n"
    "How:\n"
    "  --jobs N       worker processes (default: one for each processor)\n"
    "  --patience S   a run that makes no call for S seconds is a spin "
    "(default 20)\n"
    "  -o FILE        keep what is done in FILE, a text with one line a point\n"
    "  --resume FILE  go on where FILE stopped (and keep on writing it); the "
    "same\n"
    "                 sweep may be said again, or nothing else\n"
    "  --shard K/N    only every N-th point, from the K-th on: N machines do "
    "all of\n"
    "                 them with K from 1 to N; then --merge their files\n"
    "  --merge        runs nothing: one report of the FILEs of all shards\n"
    "\n"
    "What comes out of it:\n"
    "  --html FILE    a page: a map of every call and what became of it, each "
    "cell\n"
    "                 down to the scenario and the command that repeats it\n"
    "  --examples DIR a scenario for each title, with what it does as "
    "expectation\n" CLI_OUTPUT_HELP "\n"
    "Ctrl-C keeps the points that are done. Exit 0: all promises of the "
    "subjects\n"
    "that make some (cjaccl) were kept; 1: one was broken, or it was "
    "interrupted.\n";

#define CHOSEN_MAX 16
#define CLEAR_LINE "\r\033[K"

struct options {
    const struct sim_subject *subjects[CHOSEN_MAX];
    int subject_count;
    struct sweep_plan plan;
    const char *preset, *output, *resume, *examples, *html;
    bool merge;
    bool chose; /* something of what is swept */
    struct cli_outputs outputs;
};

/* ---- while it runs ------------------------------------------------------- */

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool stop(void *context)
{
    const struct sweep_campaign *campaign = context;
    return cli_interrupted() || campaign->state_full != 0;
}

static void done(void *context, const struct sweep *sweep, int group)
{
    struct sweep_campaign *campaign = context;
    (void)sweep;
    sweep_state_add(campaign, campaign->part, group);
}

static void progress(void *context, unsigned long runs, int points, int all)
{
    struct sweep_campaign *campaign = context;
    const struct sweep_part *part = campaign->parts[campaign->part];
    double seconds = (double)(now_ms() - campaign->began_ms) / 1000;
    campaign->parts[campaign->part]->runs = runs;
    if (!campaign->tty || seconds <= 0)
        return;
    fprintf(
        stderr, CLEAR_LINE "%s, %s: %d of %d point%s, %lu run%s, %.0f a second",
        part->plan.subject->name, part->name, points, all,
        cli_s((unsigned long)all), runs, cli_s(runs), (double)runs / seconds);
    if (points > 0 && points < all && seconds > 1)
        fprintf(stderr, ", about %.0f s left",
                seconds / points * (all - points) + 0.5);
}

static int run_part(struct sweep_campaign *campaign, int number)
{
    struct sweep_part *part = campaign->parts[number];
    struct sweep_work work = {.jobs = campaign->jobs,
                              .shard = campaign->shard,
                              .shards = campaign->shards,
                              .patience = campaign->patience,
                              .context = campaign,
                              .stop = stop,
                              .done = done,
                              .progress = progress};
    struct scn_error error;
    int status;
    campaign->part = number;
    campaign->began_ms = now_ms();
    status = sweep_work(&part->sweep, &work, &error);
    if (campaign->tty)
        fputs(CLEAR_LINE, stderr);
    if (status == 0)
        return CLI_FINE;
    fprintf(stderr, "verbfault sweep: %s\n", error.message);
    return CLI_ENVIRONMENT;
}

static int run_parts(struct sweep_campaign *campaign)
{
    int64_t began = now_ms();
    unsigned long runs = 0;
    double seconds;
    int code = CLI_FINE;
    for (int i = 0; i < campaign->count && code == CLI_FINE && !stop(campaign);
         i++) {
        code = run_part(campaign, i);
        runs += campaign->parts[i]->runs;
    }
    seconds = (double)(now_ms() - began) / 1000;
    if (runs > 0)
        fprintf(stderr, "%lu run%s in %.1f s, %.0f a second\n", runs,
                cli_s(runs), seconds,
                (double)runs / (seconds > 0.001 ? seconds : 0.001));
    /* sweep_state_close() says so. */
    return campaign->state_full ? CLI_ENVIRONMENT : code;
}

/* ---- what is asked for --------------------------------------------------- */

static int choose(struct options *options, const char *name)
{
    const struct sim_subject *subject;
    int code = cli_subject(&subject, name);
    if (code != CLI_FINE)
        return code;
    if (options->subject_count == CHOSEN_MAX)
        return cli_usage("sweep", "too many subjects");
    options->subjects[options->subject_count++] = subject;
    return CLI_FINE;
}

static int take_number(const char *option, const char *word, int low, int high,
                       int *value)
{
    char *end;
    long number = strtol(word, &end, 10);
    if (*word == '\0' || *end != '\0' || number < low || number > high)
        return cli_usage("sweep", "%s takes a number from %d to %d, not \"%s\"",
                         option, low, high, word);
    *value = (int)number;
    return CLI_FINE;
}

static int take_shard(struct sweep_campaign *campaign, const char *word)
{
    char rest;
    int shard, shards;
    if (sscanf(word, "%d/%d%c", &shard, &shards, &rest) != 2 || shards < 1 ||
        shard < 1 || shard > shards)
        return cli_usage("sweep",
                         "--shard takes K/N, K from 1 to N, not "
                         "\"%s\"",
                         word);
    campaign->shard = shard - 1;
    campaign->shards = shards;
    return CLI_FINE;
}

static int
take_list(const char *option, const char *word, struct sweep_plan *plan,
          bool (*parse)(const char *, struct sweep_plan *, const char **))
{
    const char *wrong;
    if (parse(word, plan, &wrong))
        return CLI_FINE;
    return cli_usage("sweep", "%s: no such word: \"%.*s\"", option,
                     (int)strcspn(wrong, ","), wrong);
}

enum {
    MERGE = CLI_OUTPUT_END,
    ONCE,
    ONWARD,
    PRESET,
    RESUME,
    SHARD,
    EXAMPLES,
    PATIENCE,
    HTML
};

static const struct option long_options[] = {
    {"subject", required_argument, NULL, 's'},
    {"depth", required_argument, NULL, 'd'},
    {"verbs", required_argument, NULL, 'v'},
    {"ranks", required_argument, NULL, 'r'},
    {"jobs", required_argument, NULL, 'j'},
    {"output", required_argument, NULL, 'o'},
    {"once", no_argument, NULL, ONCE},
    {"onward", no_argument, NULL, ONWARD},
    {"preset", required_argument, NULL, PRESET},
    {"resume", required_argument, NULL, RESUME},
    {"shard", required_argument, NULL, SHARD},
    {"merge", no_argument, NULL, MERGE},
    {"examples", required_argument, NULL, EXAMPLES},
    {"patience", required_argument, NULL, PATIENCE},
    {"html", required_argument, NULL, HTML},
    {"help", no_argument, NULL, 'h'},
    CLI_OUTPUT_OPTIONS,
    {NULL, 0, NULL, 0}};

/* What is swept. */
static int take_choice(struct options *options, int option)
{
    struct sweep_plan *plan = &options->plan;
    options->chose = true;
    switch (option) {
    case 's':
        return choose(options, optarg);
    case 'd':
        return take_number("--depth", optarg, 1, 2, &plan->depth);
    case 'v':
        return take_list("--verbs", optarg, plan, sweep_parse_verbs);
    case 'r':
        return take_list("--ranks", optarg, plan, sweep_parse_ranks);
    case ONCE:
        plan->onward = false;
        return CLI_FINE;
    case ONWARD:
        plan->once = false;
        return CLI_FINE;
    case PRESET:
        options->preset = optarg;
        return CLI_FINE;
    default:
        return cli_usage("sweep", "unknown option");
    }
}

static int take_option(struct options *options, struct sweep_campaign *campaign,
                       int option)
{
    if (cli_output_option(&options->outputs, option, optarg))
        return CLI_FINE;
    switch (option) {
    case 'j':
        return take_number("--jobs", optarg, 1, 64, &campaign->jobs);
    case PATIENCE:
        return take_number("--patience", optarg, 1, 3600, &campaign->patience);
    case 'o':
        options->output = optarg;
        return CLI_FINE;
    case RESUME:
        options->resume = optarg;
        return CLI_FINE;
    case SHARD:
        return take_shard(campaign, optarg);
    case MERGE:
        options->merge = true;
        return CLI_FINE;
    case EXAMPLES:
        options->examples = optarg;
        return CLI_FINE;
    case HTML:
        options->html = optarg;
        return CLI_FINE;
    default:
        return take_choice(options, option);
    }
}

/* Without the -- a sweep is one of scenarios. */
static int bad_option(char **argv)
{
    const char *word = optopt == 'n' ? "-n" : argv[optind - 1];
    if (!sweep_programs_only(word))
        return cli_bad_option("sweep", argv);
    return cli_usage("sweep",
                     "%s is for programs, and the -- before the command is "
                     "missing: verbfault sweep [OPTIONS] -- COMMAND",
                     word);
}

static int parse(struct options *options, struct sweep_campaign *campaign,
                 int argc, char **argv)
{
    int option, code = CLI_FINE;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "hs:d:v:r:j:o:", long_options,
                                 NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            fputs(cli_sweep_programs_help, stdout);
            return -1;
        }
        if (option == '?')
            return bad_option(argv);
        code = take_option(options, campaign, option);
        if (code != CLI_FINE)
            return code;
    }
    if (!options->plan.once && !options->plan.onward)
        return cli_usage("sweep", "--once and --onward leave nothing; "
                                  "without either, both are run");
    if (options->preset && optind < argc)
        return cli_usage("sweep", "a preset has its own scenarios");
    if (options->resume && options->output)
        return cli_usage("sweep", "--resume writes the file that it reads; "
                                  "-o is one too many");
    if (options->merge &&
        (options->chose || options->resume || campaign->shards > 1))
        return cli_usage("sweep", "--merge takes what to sweep from the files");
    if (options->merge && optind == argc)
        return cli_usage("sweep", "--merge needs the files of the shards");
    return CLI_FINE;
}

/* ---- the parts ----------------------------------------------------------- */

static int add_file(struct sweep_campaign *campaign, const char *path,
                    const struct options *options)
{
    static struct cli_file file;
    int code = cli_load_runs(&file, path);
    size_t length;
    char *text;
    if (code != CLI_FINE)
        return code;
    if (scn_has_calls(&file.scenario)) {
        fprintf(stderr,
                "%s: a recording has nothing to sweep: sweep its program "
                "(verbfault sweep -- COMMAND)\n",
                file.path);
        cli_unload(&file);
        return CLI_USAGE;
    }
    length = scn_print(&file.scenario, NULL, 0);
    text = malloc(length + 1);
    if (text)
        scn_print(&file.scenario, text, length + 1);
    for (int i = 0; i < options->subject_count && text && code == CLI_FINE; i++)
        if (!sweep_part_add(campaign, file.path, strcmp(path, "-") != 0, text,
                            length, options->subjects[i], &options->plan))
            code = CLI_USAGE;
    cli_unload(&file);
    code = text ? code : CLI_ENVIRONMENT;
    free(text);
    return code;
}

static int add_own(struct sweep_campaign *campaign,
                   const struct options *options)
{
    const char *text = sweep_default_text();
    int code = CLI_FINE;
    for (int i = 0; i < options->subject_count && code == CLI_FINE; i++) {
        if (options->preset)
            code = sweep_preset_add(campaign, options->preset,
                                    options->subjects[i], &options->plan);
        else if (!sweep_part_add(campaign, "2 ranks mesh", false, text,
                                 strlen(text), options->subjects[i],
                                 &options->plan))
            code = CLI_USAGE;
    }
    return code;
}

static int check_outputs(const struct options *options)
{
    const char *paths[] = {options->outputs.json,  options->outputs.junit,
                           options->outputs.sarif, options->html,
                           options->output,        options->resume};
    int code;
    if (options->output && strcmp(options->output, "-") == 0)
        return cli_usage("sweep", "-o takes a file, which grows while it runs");
    code = cli_file_check_all("sweep", paths,
                              (int)(sizeof paths / sizeof paths[0]));
    return code == CLI_FINE
               ? cli_file_check_folder("verbfault sweep", options->examples)
               : code;
}

static int add_parts(struct sweep_campaign *campaign, struct options *options,
                     int count, char **paths)
{
    int code = CLI_FINE;
    if (options->merge)
        return sweep_state_parts(campaign, paths[0]);
    if (options->resume && !options->chose && count == 0 &&
        access(options->resume, F_OK) == 0)
        return sweep_state_parts(campaign, options->resume);
    if (options->resume && !options->chose && count == 0)
        return cli_usage("sweep", "--resume %s: %s", options->resume,
                         strerror(errno));
    for (int i = 0; options->subject_count == i && i < CHOSEN_MAX; i++)
        if (sim_subject_at(i))
            options->subjects[options->subject_count++] = sim_subject_at(i);
    if (count == 0)
        return add_own(campaign, options);
    for (int i = 0; i < count && code == CLI_FINE; i++)
        code = add_file(campaign, paths[i], options);
    return code;
}

static int load(struct sweep_campaign *campaign, const struct options *options,
                int count, char **paths)
{
    int code = CLI_FINE;
    for (int i = 0; i < count && options->merge && code == CLI_FINE; i++)
        code = sweep_state_load(campaign, paths[i], false);
    if (options->resume && access(options->resume, F_OK) == 0)
        code = sweep_state_load(campaign, options->resume, true);
    return code;
}

/* ---- the whole ----------------------------------------------------------- */

static bool all_done(const struct sweep_campaign *campaign)
{
    for (int i = 0; i < campaign->count; i++) {
        int done_points;
        if (sweep_points_wanted(campaign, &campaign->parts[i]->sweep,
                                &done_points) != done_points)
            return false;
    }
    return true;
}

/* path: of the state; NULL: it is not kept. */
static void tell_unfinished(const char *path, bool merge)
{
    struct text command = {NULL, 0, 0};
    if (merge) {
        fprintf(stderr, "points are missing: is it all shards?\n");
    } else if (!path) {
        fprintf(stderr, "interrupted; with -o FILE it could go on\n");
    } else {
        text_add(&command, "%s sweep --resume ", cli_self());
        text_shell(&command, path);
        fprintf(stderr, "interrupted; to go on: %s\n", command.at);
    }
    free(command.at);
}

/* The report and the files, whatever came of it. */
static int tell(struct sweep_campaign *campaign, const struct options *options,
                const char *path)
{
    struct cli_results results = {.command = "sweep",
                                  .interrupted = !all_done(campaign)};
    int code = CLI_FINE, written;
    if (!cli_outputs_to_stdout(&options->outputs) &&
        !(options->html && strcmp(options->html, "-") == 0))
        sweep_report(campaign, results.interrupted);
    sweep_results(campaign, &results);
    written = cli_outputs_write(&options->outputs, &results);
    cli_results_free(&results);
    if (options->examples)
        code = sweep_examples(campaign, options->examples);
    if (options->html && code == CLI_FINE)
        code = page_of_campaign(campaign, options->html);
    if (written != CLI_FINE || code != CLI_FINE)
        return CLI_ENVIRONMENT;
    if (!all_done(campaign))
        tell_unfinished(path, options->merge);
    return sweep_campaign_broken(campaign) > 0 || !all_done(campaign)
               ? CLI_FINDINGS
               : CLI_FINE;
}

static int sweep_all(struct sweep_campaign *campaign,
                     const struct options *options, int count, char **paths)
{
    const char *path = options->resume ? options->resume : options->output;
    int code = sweep_campaign_prepare(campaign), closed = CLI_FINE, told;
    if (code == CLI_FINE)
        code = load(campaign, options, count, paths);
    if (code == CLI_FINE && path)
        code = sweep_state_open(campaign, path);
    if (code != CLI_FINE)
        return code;
    cli_catch_interrupt();
    if (!options->merge)
        code = run_parts(campaign);
    if (campaign->state.stream)
        closed = sweep_state_close(campaign, path);
    told = tell(campaign, options, path);
    return code != CLI_FINE ? code : closed != CLI_FINE ? closed : told;
}

int cli_sweep(int argc, char **argv)
{
    static struct sweep_campaign campaign;
    static struct options options;
    int code;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--") == 0)
            return cli_sweep_programs(argc, argv);
    campaign.shards = 1;
    campaign.tty = isatty(2) != 0;
    sweep_plan_default(&options.plan, NULL, NULL);
    code = parse(&options, &campaign, argc, argv);
    if (code != CLI_FINE)
        return code < 0 ? CLI_FINE : code;
    code = check_outputs(&options);
    if (code == CLI_FINE)
        code = add_parts(&campaign, &options, argc - optind, argv + optind);
    if (code == CLI_FINE)
        code = sweep_all(&campaign, &options, argc - optind, argv + optind);
    sweep_campaign_free(&campaign);
    return code;
}
