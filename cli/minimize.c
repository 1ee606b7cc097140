/* verbfault minimize: the smallest scenario with the same finding. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/cli.h"
#include "cli/file.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/calls.h"
#include "sim/minimize.h"

static const char help[] =
    "usage: verbfault minimize [--subject S] [--title T] [-o FILE] FILE\n"
    "       verbfault minimize --scenario FILE [OPTIONS] -- COMMAND...\n"
    "\n"
    "Prints the smallest scenario that ends with the same outcome and title:\n"
    "without any one of its statements, or with any value made simpler, it\n"
    "would not. What a device refused by itself (a limit, a port that is "
    "down)\n"
    "becomes a planned fault of the same call where that gives the same "
    "title.\n"
    "\n"
    "  --subject S   whose run (default legacy-2026-08-22)\n"
    "  --title T     keep this title instead of the one the file gives\n"
    "  -o FILE       write there instead of to standard output\n"
    "\n"
    "With a command: the faults of the scenario, of which none can be left out "
    "or\n"
    "made simpler. Each trial is a verbfault run of the command; what is no "
    "fault\n"
    "stays.\n"
    "\n"
    "  -n RANKS      how many (default: the scenario's)\n"
    "  --timeout S, --grace S, --leaks, --device\n"
    "                as verbfault sweep has them (defaults 10 and 2)\n"
    "\n"
    "Ctrl-C prints the smallest one found so far. Exit 0: minimized; 1: it "
    "was\n"
    "interrupted, or the scenario ends well and there is nothing to keep.\n";

struct target {
    const struct sim_subject *subject;
    enum scn_outcome outcome;
    char title[96];
    bool tty;
};

static bool run(const struct target *target, const struct scn *scenario,
                struct sim_result *result)
{
    struct sim_options options = {.subject = target->subject,
                                  .recover = target->subject->fixed};
    struct scn_error error;
    return sim_run_isolated(scenario, &options, 20, result, &error) == 0;
}

static bool holds(void *context, const struct scn *scenario)
{
    static struct sim_result result;
    const struct target *target = context;
    return run(target, scenario, &result) &&
           result.outcome == target->outcome &&
           strcmp(result.title, target->title) == 0;
}

static int causes(void *context, struct vf_fault *faults, int *ranks, int room)
{
    (void)context;
    return sim_refused_isolated(faults, ranks, room);
}

static bool stop(void *context)
{
    (void)context;
    return cli_interrupted();
}

static void progress(void *context, unsigned trials, int statements)
{
    const struct target *target = context;
    if (target->tty)
        fprintf(stderr, "\r%u trial%s, %d statement%s \b", trials,
                cli_s(trials), statements, cli_s((unsigned long)statements));
}

/* Its calls follow from each other: none can be left out. */
static int refuse_recording(const struct cli_file *file)
{
    fprintf(stderr,
            "%s: a recording cannot be minimized: each call needs those before "
            "it; cut it by hand behind the call that matters, or replay it\n",
            file->path);
    return CLI_USAGE;
}

static int aim(struct target *target, const struct cli_file *file,
               const char *title)
{
    static struct sim_result result;
    if (scn_has_calls(&file->scenario))
        return refuse_recording(file);
    if (!run(target, &file->scenario, &result)) {
        fprintf(stderr, "%s: cannot be run\n", file->path);
        return CLI_USAGE;
    }
    if (result.outcome == SCN_READY) {
        fprintf(stderr, "%s: %s ends ready: nothing to minimize\n", file->path,
                target->subject->name);
        return CLI_FINDINGS;
    }
    target->outcome = result.outcome;
    snprintf(target->title, sizeof target->title, "%s",
             title ? title : result.title);
    return CLI_FINE;
}

static int write_out(const struct scn *scenario, const char *path)
{
    struct cli_written file;
    FILE *stream = cli_file_begin(&file, path ? path : "-");
    if (stream)
        cli_print(scenario, stream);
    return cli_file_end(&file, "verbfault minimize", stream != NULL);
}

static int minimize_file(struct target *target, const char *path,
                         const char *title, const char *output)
{
    static struct cli_file file;
    struct minimize how = {.holds = holds,
                           .causes = causes,
                           .stop = stop,
                           .progress = progress,
                           .context = target};
    long trials;
    int code = cli_file_check("verbfault minimize", output);
    if (code == CLI_FINE)
        code = cli_load_runs(&file, path);
    if (code != CLI_FINE)
        return code;
    code = aim(target, &file, title);
    if (code == CLI_FINE) {
        cli_catch_interrupt();
        trials = scn_minimize(&file.scenario, &how);
        if (target->tty)
            fprintf(stderr, "\r                              \r");
        if (trials < 0) {
            fprintf(stderr, "%s: %s does not end with \"%s\"\n", path,
                    target->subject->name, target->title);
            code = CLI_FINDINGS;
        } else {
            fprintf(stderr, "%s: %s: %s, %ld trial%s%s\n", path,
                    scn_outcome_name(target->outcome), target->title, trials,
                    cli_s((unsigned long)trials),
                    cli_interrupted() ? " (interrupted: not minimal yet)" : "");
            code = write_out(&file.scenario, output);
            if (cli_interrupted() && code == CLI_FINE)
                code = CLI_FINDINGS;
        }
    }
    cli_unload(&file);
    return code;
}

static bool has_command(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--") == 0)
            return true;
    return false;
}

int cli_minimize(int argc, char **argv)
{
    static const struct option options[] = {
        {"subject", required_argument, NULL, 's'},
        {"title", required_argument, NULL, 't'},
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}};
    struct target target = {.tty = isatty(2) != 0};
    const char *title = NULL, *output = NULL;
    int option, code = CLI_FINE;
    if (has_command(argc, argv))
        return cli_minimize_program(argc, argv);
    target.subject = sim_subject_by_name("legacy-2026-08-22");
    opterr = 0;
    while ((option = getopt_long(argc, argv, "hs:t:o:", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return CLI_FINE;
        }
        if (option == '?')
            return cli_bad_option("minimize", argv);
        if (option == 's')
            code = cli_subject(&target.subject, optarg);
        if (option == 't')
            title = optarg;
        if (option == 'o')
            output = optarg;
        if (code != CLI_FINE)
            return code;
    }
    if (argc - optind != 1)
        return cli_usage("minimize", "takes one file");
    return minimize_file(&target, argv[optind], title, output);
}
