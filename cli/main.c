/* verbfault: the command. */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/file.h"
#include "cli/results.h"

static const char help[] =
    "verbfault finds, minimizes and replays what makes RDMA programs crash "
    "when\n"
    "their device misbehaves, with no RDMA device and no kernel module.\n"
    "\n"
    "usage: verbfault SUBCOMMAND [OPTIONS] [FILE...]\n"
    "\n"
    "  run COMMAND...    run a program on mock devices, a process for each "
    "rank,\n"
    "                    and report what it does wrong\n"
    "  record COMMAND... run a program and write its calls as a scenario\n"
    "  replay FILE...    run scenarios on every subject and compare what "
    "became\n"
    "                    of them with what the file expects\n"
    "  trace FILE        the verbs calls of a run, one a line, like strace\n"
    "  explain FILE      a run as a picture: lanes, messages, the fault, the "
    "undo\n"
    "  doctor [FILE]     why a start-up fails on this machine's devices\n"
    "  minimize FILE     the smallest scenario with the same finding\n"
    "  sweep [FILE...]   run a scenario once for each fault that is possible "
    "in it\n"
    "  fmt FILE...       print scenarios in canonical form\n"
    "  list              subjects, profiles, verbs, effects, outcomes\n"
    "\n"
    "A scenario is a text file: what the machines are like, which verbs call\n"
    "fails and how, and what every rank runs. This one lets the first region\n"
    "registration of rank 0 fail while two ranks start:\n"
    "\n"
    "  fault 0 reg_mr 1 null ENOMEM\n"
    "  run init\n"
    "\n"
    "Try it:\n"
    "\n"
    "  printf 'fault 0 reg_mr 1 null ENOMEM\\nrun init\\n' > first.scn\n"
    "  verbfault replay first.scn\n"
    "  verbfault trace --subject legacy-2026-08-22 first.scn\n"
    "\n"
    "verbfault help SUBCOMMAND says more about each. Exit code: 0 fine,\n"
    "1 findings, 2 usage or bad input, 3 the machine lacks something.\n";

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} subcommands[] = {
    {"doctor", cli_doctor}, {"explain", cli_explain},   {"fmt", cli_fmt},
    {"list", cli_list},     {"minimize", cli_minimize}, {"record", cli_record},
    {"replay", cli_replay}, {"run", cli_run},           {"sweep", cli_sweep},
    {"trace", cli_trace},
};

/* Results that did not reach the disk or the pipe are no results. code: the
 * subcommand's, which may have said so. */
static int check_output(int code)
{
    int failed = fflush(stdout);
    int err = failed ? errno : 0;
    if ((!failed && !ferror(stdout)) || code == CLI_ENVIRONMENT)
        return code;
    return cli_file_refuse("verbfault", "-", err);
}

static int run_subcommand(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof subcommands / sizeof subcommands[0]; i++)
        if (strcmp(argv[0], subcommands[i].name) == 0) {
            int code = subcommands[i].run(argc, argv);
            sim_shutdown();
            return check_output(code);
        }
    return cli_usage(NULL, "no subcommand \"%s\"", argv[0]);
}

/* `help` alone, or of a subcommand: what its --help prints. */
static int print_help(int argc, char **argv)
{
    static char option[] = "--help";
    char *arguments[] = {argv[argc - 1], option, NULL};
    if (argc > 1)
        return run_subcommand(2, arguments);
    fputs(help, stdout);
    return check_output(CLI_FINE);
}

int main(int argc, char **argv)
{
    cli_set_self(argc > 0 ? argv[0] : NULL);
    if (argc < 2)
        return cli_usage(NULL, "a subcommand is missing");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return print_help(1, argv);
    if (strcmp(argv[1], "help") == 0)
        return print_help(argc > 2 ? 2 : 1, argv + 1);
    if (strcmp(argv[1], "--version") == 0) {
        puts("verbfault " CLI_VERSION);
        return check_output(CLI_FINE);
    }
    return run_subcommand(argc - 1, argv + 1);
}
