/* verbfault sweep of real programs: what is run, and what came of it. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/sweep_programs.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/page_sweep.h"
#include "cli/run.h"

#define TITLES_MAX 512
#define CLEAR_LINE "\r\033[K"

const char cli_sweep_programs_help[] =
    "\n"
    "Real programs:\n"
    "\n"
    "  verbfault sweep -n RANKS [OPTIONS] -- COMMAND...\n"
    "\n"
    "runs COMMAND as verbfault run does, once clean and then once for each "
    "fault,\n"
    "one after the other, and counts what crashes, hangs, makes illegal calls "
    "or\n"
    "ends with an error. {scratch} in an argument is a directory that is empty "
    "at\n"
    "the start of each run. --verbs, --ranks, --once, --onward, --examples, "
    "--html\n"
    "and the formats are as above, and\n"
    "\n"
    "  -n RANKS         how many, up to 8 (default: the scenario's, else 2)\n"
    "  --profile P      what the devices are like (default ideal)\n"
    "  --scenario FILE  devices and cables, and what goes wrong in every run\n"
    "  --timeout S      what one run may take, in seconds (default 10): a "
    "rank\n"
    "                   that still runs then hangs\n"
    "  --grace S        what the others may take once one has failed (default "
    "2)\n"
    "  --leaks          count what ranks leave behind, too\n"
    "  --ends           let ranks end and stop, too: most programs wait for "
    "ever\n"
    "                   then, and each of these runs takes its whole time\n"
    "  --max-points N   at most N points: of each verb the first calls and the "
    "last,\n"
    "                   as many as fit\n"
    "\n"
    "A run with several findings is counted under each. Under each title is "
    "what the\n"
    "rank said last that it is about, and the first fault that led to it. What "
    "the\n"
    "clean run shows, too, is marked. Exit 1 if anything was worse than an "
    "error; 2 if\n"
    "there was no call to fail. A run in which a rank fails and another waits "
    "for it\n"
    "takes --grace.\n";

/* ---- options ------------------------------------------------------------- */

enum {
    PROFILE = CLI_OUTPUT_END,
    SCENARIO,
    TIMEOUT,
    GRACE,
    LEAKS,
    ENDS,
    MAX_POINTS,
    ONCE,
    ONWARD,
    EXAMPLES,
    HTML
};

static const struct option long_options[] = {
    {"profile", required_argument, NULL, PROFILE},
    {"scenario", required_argument, NULL, SCENARIO},
    {"timeout", required_argument, NULL, TIMEOUT},
    {"grace", required_argument, NULL, GRACE},
    {"leaks", no_argument, NULL, LEAKS},
    {"ends", no_argument, NULL, ENDS},
    {"max-points", required_argument, NULL, MAX_POINTS},
    {"once", no_argument, NULL, ONCE},
    {"onward", no_argument, NULL, ONWARD},
    {"examples", required_argument, NULL, EXAMPLES},
    {"html", required_argument, NULL, HTML},
    {"verbs", required_argument, NULL, 'v'},
    {"ranks", required_argument, NULL, 'r'},
    {"help", no_argument, NULL, 'h'},
    CLI_OUTPUT_OPTIONS,
    {NULL, 0, NULL, 0}};

/* Options that only programs have. */
bool sweep_programs_only(const char *word)
{
    static const char *const others[] = {"profile",   "scenario", "timeout",
                                         "grace",     "leaks",    "ends",
                                         "max-points"};
    size_t length = strcspn(word, "=");
    if (word[0] == '-' && word[1] == 'n')
        return true;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (length == strlen(others[i]) + 2 && strncmp(word, "--", 2) == 0 &&
            strncmp(word + 2, others[i], length - 2) == 0)
            return true;
    return false;
}

static int take_number(const char *option, int low, int high, int *value)
{
    char *end;
    long number = strtol(optarg, &end, 10);
    if (*optarg == '\0' || *end != '\0' || number < low || number > high)
        return cli_usage("sweep", "%s takes a number from %d to %d, not \"%s\"",
                         option, low, high, optarg);
    *value = (int)number;
    return CLI_FINE;
}

static int take_list(const char *option, struct sweep_plan *plan,
                     bool (*parse)(const char *, struct sweep_plan *,
                                   const char **))
{
    const char *wrong;
    if (parse(optarg, plan, &wrong))
        return CLI_FINE;
    return cli_usage("sweep", "%s: no such word: \"%.*s\"", option,
                     (int)strcspn(wrong, ","), wrong);
}

static int take_flag(struct sweep_programs *programs, int option)
{
    switch (option) {
    case LEAKS:
        programs->trial.leaks = true;
        return CLI_FINE;
    case ENDS:
        programs->ends = true;
        return CLI_FINE;
    case ONCE:
        programs->plan.onward = false;
        return CLI_FINE;
    case ONWARD:
        programs->plan.once = false;
        return CLI_FINE;
    default:
        return cli_usage("sweep", "this option is not for programs");
    }
}

static int take(struct sweep_programs *programs, int option)
{
    if (cli_output_option(&programs->outputs, option, optarg))
        return CLI_FINE;
    switch (option) {
    case 'n':
        return take_number("-n", 1, SCN_RANKS_MAX, &programs->trial.ranks);
    case 'v':
        return take_list("--verbs", &programs->plan, sweep_parse_verbs);
    case 'r':
        return take_list("--ranks", &programs->plan, sweep_parse_ranks);
    case PROFILE:
        programs->profile = optarg;
        return CLI_FINE;
    case SCENARIO:
        programs->scenario = optarg;
        return CLI_FINE;
    case TIMEOUT:
        programs->trial.timeout = optarg;
        return CLI_FINE;
    case GRACE:
        programs->trial.grace = optarg;
        return CLI_FINE;
    case EXAMPLES:
        programs->examples = optarg;
        return CLI_FINE;
    case HTML:
        programs->html = optarg;
        return CLI_FINE;
    case MAX_POINTS:
        return take_number("--max-points", 1, SCN_CALL_MAX,
                           &programs->max_points);
    default:
        return take_flag(programs, option);
    }
}

static int parse(struct sweep_programs *programs, int argc, char **argv)
{
    int option, code = CLI_FINE;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "+hn:v:r:", long_options, NULL)) !=
           -1) {
        if (option == 'h') {
            fputs(cli_sweep_programs_help + 1, stdout);
            return -1;
        }
        if (option == '?')
            return cli_bad_option("sweep", argv);
        code = take(programs, option);
        if (code != CLI_FINE)
            return code;
    }
    programs->trial.command = argv + optind;
    if (optind < argc && strcmp(argv[optind - 1], "--") != 0)
        return cli_usage("sweep",
                         "\"%s\" stands before the --: behind it stands the "
                         "command, and a scenario is --scenario FILE",
                         argv[optind]);
    if (optind == argc)
        return cli_usage("sweep", "behind the -- a command is missing");
    if (!programs->plan.once && !programs->plan.onward)
        return cli_usage("sweep", "--once and --onward leave nothing");
    return CLI_FINE;
}

/* ---- the scenario -------------------------------------------------------- */

static int make_base(struct sweep_programs *programs)
{
    static struct cli_file file;
    char text[160];
    struct scn_error error;
    const struct vf_profile *profile =
        vf_profile_by_name(programs->profile ? programs->profile : "ideal");
    int code = CLI_FINE;
    if (!profile)
        return cli_usage("sweep", "no profile \"%s\"", programs->profile);
    if (programs->scenario) {
        code = cli_load(&file, programs->scenario);
        if (code == CLI_FINE)
            scn_copy(&programs->base, &file.scenario);
        for (int i = programs->base.count - 1; i >= 0; i--) {
            programs->base.statements[i].comment = NULL;
            if (programs->base.statements[i].kind == SCN_COMMENT ||
                programs->base.statements[i].kind == SCN_EXPECT)
                scn_remove(&programs->base, i);
        }
        cli_unload(&file);
        if (programs->trial.ranks == 0)
            programs->trial.ranks = sweep_ranks_of(&programs->base);
        return code;
    }
    if (programs->trial.ranks == 0)
        programs->trial.ranks = 2;
    /* As without a scenario: one device that reaches all, or cables. */
    snprintf(text, sizeof text, "profile %s\n%s", profile->name,
             profile->needs_cable ? "" : "device * rdma0\n");
    if (programs->trial.ranks > 2) /* two are what there is without a word */
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "ranks %d mesh\n", programs->trial.ranks);
    if (scn_parse(&programs->base, text, strlen(text), &error) != 0)
        return cli_usage("sweep", "%s", error.message);
    return CLI_FINE;
}

/* ---- running ------------------------------------------------------------- */

static void count(struct sweep_programs *programs, enum scn_outcome outcome,
                  const char *title, const char *message,
                  const struct sweep_fault *fault)
{
    static struct sim_result result;
    result.outcome = outcome;
    snprintf(result.title, sizeof result.title, "%s", title);
    snprintf(result.rank[0].message, sizeof result.rank[0].message, "%s",
             message);
    sweep_count(&programs->tally, &result, fault, NULL);
}

/* Under its title, and under each finding's: still one run. */
static void count_trial(struct sweep_programs *programs,
                        const struct trial *trial,
                        const struct sweep_fault *fault)
{
    unsigned long runs = programs->tally.runs + 1;
    if (!trial->reached) {
        programs->unreached++;
        return;
    }
    count(programs, trial->outcome, trial->title, trial->message, fault);
    for (int i = 0; i < trial->found_count; i++) {
        const struct trial_found *found = &trial->found[i];
        if (found->outcome != trial->outcome ||
            strcmp(found->title, trial->title) != 0)
            count(programs, found->outcome, found->title, found->message,
                  fault);
    }
    programs->tally.runs = runs;
}

static void show(const struct sweep_programs *programs, int runs)
{
    double each = runs > 0 ? programs->seconds / runs : 0;
    if (programs->tty)
        fprintf(stderr,
                CLEAR_LINE "%d of %d run%s, %.1f s each, about %.0f s left",
                runs, programs->runs_wanted,
                cli_s((unsigned long)programs->runs_wanted), each,
                each * (programs->runs_wanted - runs));
}

static int run_all(struct sweep_programs *programs)
{
    struct sweep_fault fault;
    struct trial trial;
    bool skip;
    int code = CLI_FINE, runs = 0;
    for (int i = 0; i < programs->point_count; i++)
        for (int n = 0; sweep_calls_fault(programs, &programs->points[i], n,
                                          &fault, &skip);
             n++) {
            char *text;
            if (skip)
                continue;
            show(programs, runs++);
            text = cli_text(&programs->run);
            code = text ? trial_run(&programs->trial, text, NULL, &trial)
                        : CLI_ENVIRONMENT;
            free(text);
            if (code != CLI_FINE || trial.interrupted)
                return code;
            programs->seconds += trial.seconds;
            count_trial(programs, &trial, &fault);
            if (programs->html)
                page_note(programs, &programs->points[i], &trial, &fault);
        }
    return CLI_FINE;
}

/* Verbs that were asked for and that no chosen rank called. */
static void tell_unused(const struct sweep_programs *programs)
{
    struct sweep_plan found;
    memset(&found, 0, sizeof found);
    for (int rank = 0; rank < SCN_RANKS_MAX; rank++)
        for (int verb = 0; verb < VF_VERB_COUNT; verb++)
            if (programs->plan.ranks >> rank & 1 &&
                programs->counts[rank][verb] > 0 && verb != VF_VERB_alloc)
                found.verbs |= (uint64_t)1 << verb;
    sweep_tell_unused(&programs->plan, &found);
}

/* The clean run, which tells what there is. */
static int run_clean(struct sweep_programs *programs)
{
    char trace[TRIAL_PATH_MAX + 16], *text = cli_text(&programs->base);
    struct trial trial;
    int code = CLI_ENVIRONMENT;
    snprintf(trace, sizeof trace, "%s/trace", programs->trial.scratch);
    if (text)
        code = trial_run(&programs->trial, text, trace, &trial);
    free(text);
    if (code != CLI_FINE)
        return code;
    programs->clean = trial;
    if (trial.outcome != SCN_READY)
        fprintf(stderr, "without any fault: %s: %s%s%s\n",
                scn_outcome_name(trial.outcome), trial.title,
                trial.message[0] ? ": " : "", trial.message);
    if (trial.outcome == SCN_HANG)
        return cli_usage("sweep",
                         "without any fault it takes longer than "
                         "--timeout %s",
                         programs->trial.timeout);
    if (!trial_count(trace, programs->counts))
        return CLI_ENVIRONMENT;
    if (trial.interrupted)
        return CLI_FINDINGS;
    code = sweep_calls_list(programs);
    /* A gate that tests nothing must not be green. */
    if (code == CLI_FINE && programs->point_count == 0)
        return cli_usage("sweep", "there is no call to fail: the command makes "
                                  "no verbs call, or none of those that were "
                                  "asked for");
    if (code == CLI_FINE)
        tell_unused(programs);
    return code;
}

/* ---- what came of it ----------------------------------------------------- */

static enum cli_verdict verdict_of(const struct sweep_entry *entry)
{
    return entry->outcome > SCN_ERROR ? CLI_ROW_WRONG : CLI_ROW_FINE;
}

static int write_results(const struct sweep_programs *programs)
{
    struct cli_results results = {.command = "sweep",
                                  .interrupted = cli_interrupted()};
    const char *scenario = programs->scenario  ? programs->scenario
                           : programs->profile ? programs->profile
                                               : "ideal";
    struct cli_walk walk = {.scenario = scenario,
                            .subject = programs->name,
                            .depth = 1,
                            .points = programs->point_count,
                            .done = programs->point_count,
                            .runs = programs->tally.runs};
    int code;
    cli_results_walk(&results, &walk);
    for (int i = 0; i < programs->tally.count; i++) {
        const struct sweep_entry *entry = &programs->tally.entries[i];
        struct cli_row row = {.scenario = scenario,
                              .is_file = programs->scenario != NULL,
                              .subject = programs->name,
                              .outcome = entry->outcome,
                              .title = entry->title,
                              .message = entry->why,
                              .example = entry->example,
                              .count = entry->count,
                              .verdict = verdict_of(entry)};
        cli_results_row(&results, &row);
    }
    code = cli_outputs_write(&programs->outputs, &results);
    cli_results_free(&results);
    return code;
}

static bool is_clean_too(const struct trial *clean,
                         const struct sweep_entry *entry)
{
    if (entry->outcome == clean->outcome &&
        strcmp(entry->title, clean->title) == 0)
        return true;
    for (int i = 0; i < clean->found_count; i++)
        if (entry->outcome == clean->found[i].outcome &&
            strcmp(entry->title, clean->found[i].title) == 0)
            return true;
    return false;
}

/* What the clean run showed, too, is no fault's doing. */
static void mark_clean(struct sweep_programs *programs)
{
    for (int i = 0; i < programs->tally.count; i++) {
        struct sweep_entry *entry = &programs->tally.entries[i];
        char why[sizeof entry->why];
        if (entry->outcome == SCN_READY ||
            !is_clean_too(&programs->clean, entry))
            continue;
        snprintf(why, sizeof why, "without any fault, too%s%.*s",
                 entry->why[0] ? ": " : "", (int)sizeof why - 32, entry->why);
        memcpy(entry->why, why, sizeof why);
    }
}

static int report(struct sweep_programs *programs)
{
    int code, worse = 0;
    sweep_sort(&programs->tally);
    mark_clean(programs);
    if (programs->tty)
        fputs(CLEAR_LINE, stderr);
    if (!cli_outputs_to_stdout(&programs->outputs) &&
        !(programs->html && strcmp(programs->html, "-") == 0)) {
        printf("== %s: %d point%s, %lu run%s", programs->name,
               programs->point_count,
               cli_s((unsigned long)programs->point_count),
               programs->tally.runs, cli_s(programs->tally.runs));
        if (programs->left_out > 0)
            printf(", %d point%s left out", programs->left_out,
                   cli_s((unsigned long)programs->left_out));
        if (programs->unreached > 0)
            printf(", %d run%s that never came to %s fault",
                   programs->unreached,
                   cli_s((unsigned long)programs->unreached),
                   programs->unreached == 1 ? "its" : "their");
        printf("%s\n", cli_interrupted() ? " (interrupted)" : "");
        sweep_print_tally(&programs->tally, true);
    }
    code = write_results(programs);
    if (programs->examples &&
        sweep_write_examples(&programs->base, "program", 0, false,
                             &programs->tally, programs->examples) != CLI_FINE)
        code = CLI_ENVIRONMENT;
    if (programs->html && code == CLI_FINE)
        code = page_of_programs(programs, programs->html);
    for (int i = 0; i < programs->tally.count; i++)
        worse += programs->tally.entries[i].outcome > SCN_ERROR;
    if (code != CLI_FINE)
        return code;
    return worse > 0 || cli_interrupted() ? CLI_FINDINGS : CLI_FINE;
}

static int check_outputs(const struct sweep_programs *programs)
{
    const char *paths[] = {programs->outputs.json, programs->outputs.junit,
                           programs->outputs.sarif, programs->html};
    int code = cli_file_check_all("sweep", paths,
                                  (int)(sizeof paths / sizeof paths[0]));
    return code == CLI_FINE
               ? cli_file_check_folder("verbfault sweep", programs->examples)
               : code;
}

static void name_command(struct sweep_programs *programs)
{
    size_t length = 0;
    for (char **word = programs->trial.command;
         *word && length < sizeof programs->name; word++)
        length += (size_t)snprintf(programs->name + length,
                                   sizeof programs->name - length, "%s%s",
                                   length ? " " : "", *word);
}

static int sweep_it(struct sweep_programs *programs)
{
    int code = run_clean(programs);
    if (code != CLI_FINE)
        return code;
    programs->runs_wanted = sweep_calls_count(programs);
    if (programs->runs_wanted == 0)
        return cli_usage("sweep", "there is nothing to run: %s",
                         programs->ends ? "none of these calls can go wrong "
                                          "in the way that was asked for"
                                        : "without --ends these calls cannot "
                                          "go wrong in the way that was asked "
                                          "for");
    fprintf(stderr, "%d point%s, %d run%s\n", programs->point_count,
            cli_s((unsigned long)programs->point_count), programs->runs_wanted,
            cli_s((unsigned long)programs->runs_wanted));
    code = run_all(programs);
    return code != CLI_FINE ? code : report(programs);
}

int cli_sweep_programs(int argc, char **argv)
{
    static struct sweep_programs programs;
    static struct sweep_entry entries[TITLES_MAX];
    int code;
    programs.trial.timeout = "10";
    programs.trial.grace = "2";
    programs.tty = isatty(2) != 0;
    programs.tally.entries = entries;
    programs.tally.room = TITLES_MAX;
    sweep_plan_default(&programs.plan, NULL, NULL);
    code = parse(&programs, argc, argv);
    if (code != CLI_FINE)
        return code < 0 ? CLI_FINE : code;
    code = check_outputs(&programs);
    if (code == CLI_FINE)
        code = make_base(&programs);
    if (code == CLI_FINE)
        code = sweep_check_ranks(&programs.plan, programs.trial.ranks);
    if (code == CLI_FINE)
        code = trial_open(&programs.trial, "sweep");
    if (code != CLI_FINE)
        return code;
    scn_copy(&programs.run, &programs.base);
    name_command(&programs);
    cli_catch_interrupt();
    code = sweep_it(&programs);
    trial_close();
    free(programs.points);
    page_forget(&programs);
    return code;
}
