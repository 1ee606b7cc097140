/* verbfault trace: the verbs calls of one run. */
#include "cli/cli.h"

#include <getopt.h>
#include <stdio.h>

static const char help[] =
    "usage: verbfault trace [--subject S] [--keep-going] FILE\n"
    "\n"
    "Runs the scenario and prints every verbs call, like strace:\n"
    "\n"
    "  r0 #17 reg_mr(pd=1, len=8192, access=0x7) = NULL ENOMEM (planned)\n"
    "\n"
    "is rank 0's 17th call, and says which objects it named, what it "
    "answered,\n"
    "and whether the scenario planned that. Polls that found nothing are\n"
    "counted but not shown. Then what became of each rank, and which planned\n"
    "faults the run never came to, on standard error.\n"
    "\n"
    "  --subject S    whose run (default legacy-2026-08-22, of a\n"
    "                 recording: recording); see verbfault list\n"
    "  --keep-going   do not stop a rank at a finding: let it really fault\n"
    "\n"
    "Exit 0: every rank ready or with an error; 1: anything worse.\n";

static void print_line(void *context, int rank, const char *line)
{
    (void)context;
    (void)rank;
    puts(line);
}

static void print_finding(void *context, const struct vf_finding *finding)
{
    (void)context;
    printf("r%d !! %s%s%s\n", finding->machine, finding->title,
           finding->detail[0] ? ": " : "", finding->detail);
}

static void print_ranks(const struct sim_result *result)
{
    for (int i = 0; i < result->ranks; i++) {
        const struct sim_rank_result *rank = &result->rank[i];
        fprintf(stderr, "rank %d: %s", i, scn_outcome_name(rank->outcome));
        if (rank->title[0])
            fprintf(stderr, ": %s", rank->title);
        if (rank->message[0])
            fprintf(stderr, ": %s", rank->message);
        fprintf(stderr, "\n%s", rank->stack);
    }
}

static void print_unstruck(const struct cli_file *file,
                           const struct sim_result *result)
{
    char words[256];
    for (int at = 0;
         cli_unstruck(&file->scenario, result, &at, words, sizeof words);)
        fprintf(stderr, "never came to: %s\n", words);
}

int cli_trace(int argc, char **argv)
{
    static const struct option options[] = {
        {"subject", required_argument, NULL, 's'},
        {"keep-going", no_argument, NULL, 'k'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}};
    static struct cli_file file;
    static struct sim_result result;
    struct sim_options run = {
        .trace = print_line, .finding = print_finding, .stacks = true};
    struct scn_error error;
    int option, status, code = CLI_FINE;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "hs:k", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return CLI_FINE;
        }
        if (option == '?')
            return cli_bad_option("trace", argv);
        if (option == 's')
            code = cli_subject(&run.subject, optarg);
        if (option == 'k')
            run.keep_going = true;
        if (code != CLI_FINE)
            return code;
    }
    if (argc - optind != 1)
        return cli_usage("trace", "takes one file");
    if (cli_load_runs(&file, argv[optind]) != CLI_FINE)
        return CLI_USAGE;
    if (!run.subject)
        run.subject = sim_subject_for(&file.scenario);
    if (!run.subject)
        run.subject = sim_subject_by_name("legacy-2026-08-22");
    status = sim_run_isolated(&file.scenario, &run, 60, &result, &error);
    if (status != 0)
        fprintf(stderr, "%s: %s\n", file.path, error.message);
    if (status == 0) {
        print_ranks(&result);
        if (result.partial[0])
            fprintf(stderr, "%s\n", result.partial);
        print_unstruck(&file, &result);
    }
    cli_unload(&file);
    if (status != 0)
        return status == -2 ? CLI_ENVIRONMENT : CLI_USAGE;
    return result.outcome > SCN_ERROR ? CLI_FINDINGS : CLI_FINE;
}
