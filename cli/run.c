/* verbfault run: real processes on a shared world. This file: options. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/run.h"
#include "cli/file.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
    "usage: verbfault run [-n RANKS] [--profile P] [--scenario FILE]\n"
    "                     [--trace FILE] [--keep-going] [OPTIONS] -- "
    "COMMAND...\n"
    "       verbfault run --device [-n RANKS] [--scenario FILE]\n"
    "                     [--trace FILE] [--keep-going] [OPTIONS] -- "
    "COMMAND...\n"
    "\n"
    "Runs COMMAND once for each rank, every rank a process on a machine of "
    "its\n"
    "own as far as RDMA goes: libverbfault takes the place of libibverbs and\n"
    "librdma, and the ranks' devices reach each other through shared memory.\n"
    "{rank} and {ranks} in COMMAND's arguments are replaced. Lines that a "
    "rank\n"
    "prints begin with [RANK]; findings are reported on standard error:\n"
    "\n"
    "  r0: finding: null-mr in dereg_mr\n"
    "\n"
    "  -n RANKS          how many, 1 to 64 (default: the scenario's, else 2)\n"
    "  --profile P       what the devices are like: see verbfault list "
    "profiles\n"
    "                    (default: the scenario's, thunderbolt if it names\n"
    "                    none; without a scenario ideal)\n"
    "  --scenario FILE   devices, cables and faults, for up to 8 ranks; what\n"
    "                    it says of runs and of the side channel is left "
    "aside\n"
    "  --trace FILE      every verbs call of every rank, one a line; \"-\": "
    "among\n"
    "                    the rank's own output\n"
    "  --keep-going      do not end a rank at a crash finding (a handle that "
    "is\n"
    "                    NULL or freed, ...): let it really fault. Other "
    "findings\n"
    "                    never end a rank\n"
    "  --leaks           report what a rank still holds when it ends by "
    "itself\n"
    "  --grace SECONDS   how long the other ranks may run once one has failed\n"
    "                    (default 10)\n"
    "  --timeout SECONDS how long all of it may run (default: no limit)\n"
    "  --copy-twice      do not copy from process to process directly, as "
    "where\n"
    "                    that is forbidden\n"
    "\n"
    "With --device the ranks use the machine's own libibverbs and devices:\n"
    "every call is counted, checked and traced, and a scenario's faults are\n"
    "answered in the device's place. One rank unless -n or the scenario says\n"
    "otherwise. What a scenario says of devices, profiles, cables and limits "
    "is\n"
    "left aside; `unplug` and the like are pretended. A launcher's variables\n"
    "(JACCL's, MPI's) stay as they are. VERBFAULT_REAL_LIBRARY names another\n"
    "libibverbs beneath.\n"
    "\n"
    "Without a scenario a rank has one device, rdma0; with a profile that "
    "needs\n"
    "cables, one for each other rank: rdma_en2, rdma_en3, ... With a scenario\n"
    "they are the scenario's (verbfault fmt --full FILE shows them).\n"
    "\n"
    "A rank finds in its environment VERBFAULT_RANK and VERBFAULT_RANKS and, "
    "for\n"
    "JACCL, MLX_RANK, MLX_IBV_DEVICES and MLX_JACCL_COORDINATOR (and the same\n"
    "under JACCL's names). Its standard input is empty; with -n 1 it is "
    "yours,\n"
    "and a terminal is handed on as it is. Every process that a rank started\n"
    "ends with the run. VERBFAULT_LIBRARY names another libverbfault.\n"
    "\n"
    "Exit 0: every rank exited with 0, no findings; 1: not so, or "
    "interrupted;\n"
    "2: the command cannot be run this way, or bad input; 3: the machine "
    "lacks\n"
    "something.\n";

enum {
    PROFILE = 256,
    DEVICE,
    SCENARIO,
    TRACE,
    KEEP,
    LEAKS,
    GRACE,
    TIMEOUT,
    TWICE
};

static int take_ranks(struct run_options *run, const char *text)
{
    char *end;
    long number = strtol(text, &end, 10);
    if (end == text || *end != '\0' || number < 1 || number > RUN_RANKS_MAX)
        return cli_usage("run", "-n takes 1 to %d ranks, not \"%s\"",
                         RUN_RANKS_MAX, text);
    run->ranks = (int)number;
    return CLI_FINE;
}

static int take_profile(struct run_options *run, const char *name)
{
    run->profile = vf_profile_by_name(name);
    if (run->profile)
        return CLI_FINE;
    fprintf(stderr, "verbfault run: no profile \"%s\"; there are", name);
    for (int i = 0; vf_profile_at(i); i++)
        fprintf(stderr, "%s %s", i ? "," : "", vf_profile_at(i)->name);
    fprintf(stderr, "\n");
    return CLI_USAGE;
}

/* Seconds, with a fraction if need be. */
static int take_seconds(int64_t *milliseconds, const char *option,
                        const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    /* A NaN fails both comparisons. */
    if (end == text || *end != '\0' || !(seconds >= 0 && seconds <= 1e6))
        return cli_usage("run", "%s takes seconds, not \"%s\"", option, text);
    *milliseconds = (int64_t)(seconds * 1000 + 0.5);
    return CLI_FINE;
}

static int take(struct run_options *run, int option, char **argv)
{
    int code;
    switch (option) {
    case 'n':
        return take_ranks(run, optarg);
    case PROFILE:
        return take_profile(run, optarg);
    case DEVICE:
        run->device = true;
        return CLI_FINE;
    case SCENARIO:
        run->scenario = optarg;
        return CLI_FINE;
    case TRACE:
        run->trace = optarg;
        return CLI_FINE;
    case KEEP:
        run->keep_going = true;
        return CLI_FINE;
    case LEAKS:
        run->leaks = true;
        return CLI_FINE;
    case TWICE:
        run->copy_twice = true;
        return CLI_FINE;
    case GRACE:
        return take_seconds(&run->grace, "--grace", optarg);
    case TIMEOUT:
        code = take_seconds(&run->timeout, "--timeout", optarg);
        if (code == CLI_FINE && run->timeout == 0)
            return cli_usage("run", "--timeout %s leaves no time to run",
                             optarg);
        return code;
    default:
        return cli_bad_option("run", argv);
    }
}

/* CLI_FINE; -1 after --help; else CLI_USAGE after one line. */
static int parse(struct run_options *run, int argc, char **argv)
{
    static const struct option options[] = {
        {"ranks", required_argument, NULL, 'n'},
        {"profile", required_argument, NULL, PROFILE},
        {"device", no_argument, NULL, DEVICE},
        {"scenario", required_argument, NULL, SCENARIO},
        {"trace", required_argument, NULL, TRACE},
        {"keep-going", no_argument, NULL, KEEP},
        {"leaks", no_argument, NULL, LEAKS},
        {"grace", required_argument, NULL, GRACE},
        {"timeout", required_argument, NULL, TIMEOUT},
        {"copy-twice", no_argument, NULL, TWICE},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}};
    int option;
    opterr = 0;
    /* "+": what follows the command's name is the command's. */
    while ((option = getopt_long(argc, argv, "+hn:", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return -1;
        }
        if (take(run, option, argv) != CLI_FINE)
            return CLI_USAGE;
    }
    run->command = argv + optind;
    if (optind == argc)
        return cli_usage("run", "a command is missing");
    if (run->device && (run->profile || run->copy_twice))
        return cli_usage("run", "%s is for the mock's devices, not --device",
                         run->profile ? "--profile" : "--copy-twice");
    return CLI_FINE;
}

/* A descriptor below 3 that is closed would become one of the pipes. */
static void open_standard_files(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= 2);
    if (fd > 2)
        close(fd);
}

/* Ranks append to the trace from wherever they are: an absolute path to an
 * empty file. */
static int start_trace(struct run_options *run)
{
    static char path[RUN_PATH_MAX];
    char here[RUN_PATH_MAX / 2];
    int fd, length;
    if (!run->trace)
        return CLI_FINE;
    if (strcmp(run->trace, "-") == 0)
        run->trace = "/dev/stdout";
    if (run->trace[0] == '/')
        length = snprintf(path, sizeof path, "%s", run->trace);
    else if (getcwd(here, sizeof here))
        length = snprintf(path, sizeof path, "%s/%s", here, run->trace);
    else
        length = -1;
    if (length < 0 || (size_t)length >= sizeof path)
        return cli_file_refuse("verbfault run", run->trace, ENAMETOOLONG);
    run->trace = path;
    if (strncmp(path, "/dev/", 5) == 0) /* the ranks' own, or a device */
        return CLI_FINE;
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0)
        return cli_file_refuse("verbfault run", path, errno);
    close(fd);
    return CLI_FINE;
}

int run_execute(struct run_options *options, struct run_setup *setup)
{
    static struct run_program program;
    static struct run_library library;
    static struct run run;
    int code;
    open_standard_files();
    code = run_program_find(&program, options->command[0]);
    if (code == CLI_FINE)
        code = run_library_find(&library, options->device);
    if (code == CLI_FINE)
        code = start_trace(options);
    if (code != CLI_FINE)
        return code;
    run.options = options;
    run.setup = setup;
    run.program = &program;
    run.library = &library;
    return run_guarded(run_keep, &run);
}

int cli_run(int argc, char **argv)
{
    static struct run_setup setup;
    struct run_options options = {.grace = 10000, .timeout = -1};
    int code = parse(&options, argc, argv);
    if (code != CLI_FINE)
        return code < 0 ? CLI_FINE : code;
    open_standard_files();
    code = run_setup(&options, &setup);
    if (code != CLI_FINE)
        return code;
    code = run_execute(&options, &setup);
    run_setup_end(&setup);
    return code;
}
