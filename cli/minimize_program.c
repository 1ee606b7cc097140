/*
 * verbfault minimize --scenario FILE -- COMMAND: which of the faults a program
 * needs to end as it does.
 *
 * As with a model, but a trial is a `verbfault run`, of which each takes as
 * long as the program does. So only faults are taken away or made simpler;
 * devices, cables and ranks stay what the program was started with.
 */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/file.h"
#include "cli/sweep_programs.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/calls.h"
#include "sim/minimize.h"

struct search {
    struct trial_options trial;
    const char *scenario, *title, *output;
    char *around; /* the scenario without its faults, as text */
    enum scn_outcome outcome;
    char wanted[96]; /* the title that is kept */
    int code;        /* of a trial that could not be made */
    bool tty;
};

/* The scenario's text without its faults; malloc'ed. */
static char *text_around(const struct scn *scenario)
{
    static struct scn rest;
    scn_copy(&rest, scenario);
    for (int i = rest.count - 1; i >= 0; i--)
        if (rest.statements[i].kind == SCN_FAULT ||
            rest.statements[i].kind == SCN_COMMENT ||
            rest.statements[i].kind == SCN_EXPECT)
            scn_remove(&rest, i);
    scn_canonical(&rest);
    return cli_text(&rest);
}

static bool run(struct search *search, const struct scn *scenario,
                struct trial *trial)
{
    char *text = cli_text(scenario);
    int code =
        text ? trial_run(&search->trial, text, NULL, trial) : CLI_ENVIRONMENT;
    free(text);
    if (search->code == CLI_FINE)
        search->code = code;
    return code == CLI_FINE && !trial->interrupted;
}

static bool holds(void *context, const struct scn *scenario)
{
    struct search *search = context;
    char *around = text_around(scenario);
    bool same = around && strcmp(around, search->around) == 0;
    struct trial trial;
    free(around);
    return same && search->code == CLI_FINE && run(search, scenario, &trial) &&
           trial.outcome == search->outcome &&
           strcmp(trial.title, search->wanted) == 0;
}

static bool stop(void *context)
{
    const struct search *search = context;
    return search->code != CLI_FINE || cli_interrupted();
}

static void progress(void *context, unsigned trials, int statements)
{
    const struct search *search = context;
    if (search->tty)
        fprintf(stderr, "\r%u trial%s, %d statement%s \b", trials,
                cli_s(trials), statements, cli_s((unsigned long)statements));
}

/* How it ends with all of the faults: that is what is to stay. */
static int aim(struct search *search, const struct scn *scenario)
{
    struct trial trial;
    if (!run(search, scenario, &trial))
        return cli_interrupted() ? CLI_FINDINGS : search->code;
    if (trial.outcome == SCN_READY) {
        fprintf(stderr, "%s: the command ends well: nothing to minimize\n",
                search->scenario);
        return CLI_FINDINGS;
    }
    search->outcome = trial.outcome;
    snprintf(search->wanted, sizeof search->wanted, "%s",
             search->title ? search->title : trial.title);
    return CLI_FINE;
}

static int write_out(const struct search *search, const struct scn *scenario)
{
    struct cli_written file;
    FILE *stream = cli_file_begin(&file, search->output ? search->output : "-");
    if (stream)
        cli_print(scenario, stream);
    return cli_file_end(&file, "verbfault minimize", stream != NULL);
}

static int shrink(struct search *search, struct scn *scenario)
{
    struct minimize how = {
        .holds = holds, .stop = stop, .progress = progress, .context = search};
    long trials = scn_minimize(scenario, &how);
    int code;
    if (search->tty)
        fprintf(stderr, "\r                              \r");
    if (search->code != CLI_FINE)
        return search->code;
    if (trials < 0) {
        fprintf(stderr, "%s: the command does not end with \"%s\" each time\n",
                search->scenario, search->wanted);
        return CLI_FINDINGS;
    }
    fprintf(stderr, "%s: %s: %s%s\n", search->scenario,
            scn_outcome_name(search->outcome), search->wanted,
            cli_interrupted() ? " (interrupted: not minimal yet)" : "");
    code = write_out(search, scenario);
    return cli_interrupted() && code == CLI_FINE ? CLI_FINDINGS : code;
}

static int search_file(struct search *search)
{
    static struct cli_file file;
    int code = cli_load(&file, search->scenario);
    if (code != CLI_FINE)
        return code;
    if (scn_has_calls(&file.scenario))
        code = cli_usage("minimize", "%s is a recording: no program runs it",
                         search->scenario);
    if (search->trial.ranks == 0)
        search->trial.ranks = sweep_ranks_of(&file.scenario);
    search->around = text_around(&file.scenario);
    if (code == CLI_FINE)
        code = search->around ? trial_open(&search->trial, "minimize")
                              : CLI_ENVIRONMENT;
    if (code == CLI_FINE) {
        cli_catch_interrupt();
        code = aim(search, &file.scenario);
        if (code == CLI_FINE)
            code = shrink(search, &file.scenario);
        trial_close();
    }
    free(search->around);
    cli_unload(&file);
    return code;
}

static int take_ranks(struct search *search, const char *text)
{
    char *end;
    long ranks = strtol(text, &end, 10);
    if (end == text || *end != '\0' || ranks < 1 || ranks > SCN_RANKS_MAX)
        return cli_usage("minimize", "-n takes 1 to %d ranks, not \"%s\"",
                         SCN_RANKS_MAX, text);
    search->trial.ranks = (int)ranks;
    return CLI_FINE;
}

static int take_seconds(const char **seconds, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= 0 && value <= 1e6))
        return cli_usage("minimize", "not seconds: \"%s\"", text);
    *seconds = text;
    return CLI_FINE;
}

enum { SCENARIO = 256, TIMEOUT, GRACE, LEAKS, DEVICE };

static int take(struct search *search, int option, char **argv)
{
    switch (option) {
    case 'n':
        return take_ranks(search, optarg);
    case 't':
        search->title = optarg;
        return CLI_FINE;
    case 'o':
        search->output = optarg;
        return CLI_FINE;
    case SCENARIO:
        search->scenario = optarg;
        return CLI_FINE;
    case TIMEOUT:
        return take_seconds(&search->trial.timeout, optarg);
    case GRACE:
        return take_seconds(&search->trial.grace, optarg);
    case LEAKS:
        search->trial.leaks = true;
        return CLI_FINE;
    case DEVICE:
        search->trial.device = true;
        return CLI_FINE;
    default:
        return cli_bad_option("minimize", argv);
    }
}

int cli_minimize_program(int argc, char **argv)
{
    static const struct option options[] = {
        {"ranks", required_argument, NULL, 'n'},
        {"scenario", required_argument, NULL, SCENARIO},
        {"title", required_argument, NULL, 't'},
        {"output", required_argument, NULL, 'o'},
        {"timeout", required_argument, NULL, TIMEOUT},
        {"grace", required_argument, NULL, GRACE},
        {"leaks", no_argument, NULL, LEAKS},
        {"device", no_argument, NULL, DEVICE},
        {NULL, 0, NULL, 0}};
    static struct search search;
    int option, code = CLI_FINE;
    search.trial.timeout = "10";
    search.trial.grace = "2";
    search.tty = isatty(2) != 0;
    opterr = 0;
    while (code == CLI_FINE &&
           (option = getopt_long(argc, argv, "+n:t:o:", options, NULL)) != -1)
        code = take(&search, option, argv);
    if (code != CLI_FINE)
        return code;
    if (optind < argc && strcmp(argv[optind - 1], "--") != 0)
        return cli_usage("minimize",
                         "\"%s\" stands before the --: a program's scenario is "
                         "--scenario FILE",
                         argv[optind]);
    if (!search.scenario)
        return cli_usage("minimize", "--scenario FILE is missing: the faults "
                                     "that the command is run with");
    if (optind == argc)
        return cli_usage("minimize", "behind the -- a command is missing");
    search.trial.command = argv + optind;
    code = cli_file_check("verbfault minimize", search.output);
    return code == CLI_FINE ? search_file(&search) : code;
}
