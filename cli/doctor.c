/* verbfault doctor: why a JACCL start-up fails here. This file: options. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/doctor.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: verbfault doctor [HOSTFILE] [--rank N] [--device NAME] [--json]\n"
    "                        [--listen [PORT] | --peer HOST[:PORT]]\n"
    "                        [--timeout SECONDS]\n"
    "\n"
    "Says why a JACCL start-up fails on this machine. It makes the start-up's\n"
    "calls step by step, on the devices of this machine and by its own verbs\n"
    "library, gives everything back, and says of each step\n"
    "\n"
    "  ok   STEP: what was seen\n"
    "  FAIL STEP: what is wrong: what to do\n"
    "  skip STEP: why it was not made\n"
    "\n"
    "HOSTFILE is an mlx.launch hostfile or a device file; without one it is\n"
    "what JACCL_IBV_DEVICES or MLX_IBV_DEVICES names, and without those every\n"
    "device is looked at.\n"
    "\n"
    "  --rank N          this machine's row of the file (default: JACCL_RANK\n"
    "                    or MLX_RANK)\n"
    "  --device NAME     this device only\n"
    "  --listen [PORT]   then wait for the doctor of another machine, and "
    "send\n"
    "                    a message each way (default port 32324; 0: any)\n"
    "  --peer HOST       the other machine, where the doctor listens\n"
    "  --timeout SECONDS how long to wait for the other machine (default 30)\n"
    "  --json            all of it as one JSON object\n"
    "\n"
    "Two machines: verbfault doctor --listen on one, then verbfault doctor\n"
    "--peer HOST on the other, each with the --device that the cable is in.\n"
    "\n"
    "On a mock device: verbfault run -n 1 -- verbfault doctor\n"
    "\n"
    "Exit 0: no problem; 1: a problem, or interrupted; 2: usage, or a bad\n"
    "file; 3: the machine has no verbs library, or one that lacks something.\n";

enum { DEVICE = 256, JSON, LISTEN, PEER, RANK, TIMEOUT };

/* ---- options ------------------------------------------------------------ */

/* 0 to most, or -1. */
static long number_of(const char *text, long most)
{
    char *end;
    long number;
    if (*text < '0' || *text > '9')
        return -1;
    errno = 0;
    number = strtol(text, &end, 10);
    return errno == 0 && *end == '\0' && number <= most ? number : -1;
}

static int take_rank(struct doctor_options *options, const char *text,
                     const char *where)
{
    options->rank = (int)number_of(text, CJ_MAX_RANKS - 1);
    return options->rank >= 0
               ? CLI_FINE
               : cli_usage("doctor", "%s takes 0 to %d, not \"%s\"", where,
                           CJ_MAX_RANKS - 1, text);
}

/* getopt knows optional values only where they are joined by a "=". */
static int take_listen(struct doctor_options *options, int argc, char **argv)
{
    const char *text = optarg;
    long port = DOCTOR_PORT;
    if (!text && optind < argc && number_of(argv[optind], 999999) >= 0)
        text = argv[optind++];
    if (text)
        port = number_of(text, 65535);
    if (port < 0)
        return cli_usage("doctor",
                         "--listen takes a port, 0 to 65535, not "
                         "\"%s\"",
                         text);
    options->listen = true;
    options->port = (uint16_t)port;
    return CLI_FINE;
}

static int take_timeout(struct doctor_options *options, const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    /* A NaN fails both comparisons. */
    if (end == text || *end != '\0' || !(seconds >= 0.1 && seconds <= 86400))
        return cli_usage(
            "doctor", "--timeout takes 0.1 to 86400 seconds, not \"%s\"", text);
    options->timeout_ns = (int64_t)(seconds * 1e9);
    return CLI_FINE;
}

static int take_peer(struct doctor_options *options, const char *text)
{
    const char *flaw = doctor_flaw_of_peer(text);
    if (flaw)
        return cli_usage("doctor", "--peer \"%s\" %s", text, flaw);
    options->peer = text;
    return CLI_FINE;
}

static int take(struct doctor_options *options, int option, int argc,
                char **argv)
{
    switch (option) {
    case DEVICE:
        options->device = optarg;
        return CLI_FINE;
    case JSON:
        options->json = true;
        return CLI_FINE;
    case LISTEN:
        return take_listen(options, argc, argv);
    case PEER:
        return take_peer(options, optarg);
    case RANK:
        return take_rank(options, optarg, "--rank");
    case TIMEOUT:
        return take_timeout(options, optarg);
    default:
        return cli_bad_option("doctor", argv);
    }
}

/* What JACCL reads; of two names the first that is set counts. */
static const char *from_environment(const char *first, const char *second)
{
    const char *value = getenv(first);
    return value ? value : getenv(second);
}

static int complete(struct doctor_options *options, int argc, char **argv)
{
    const char *rank = from_environment("JACCL_RANK", "MLX_RANK");
    if (argc - optind > 1)
        return cli_usage("doctor", "more than one file: %s", argv[optind + 1]);
    if (options->peer && options->listen)
        return cli_usage("doctor", "--peer and --listen exclude each other: "
                                   "one on each machine");
    options->file = optind < argc ? argv[optind]
                                  : from_environment("JACCL_IBV_DEVICES",
                                                     "MLX_IBV_DEVICES");
    if (!options->file || options->rank >= 0)
        return CLI_FINE;
    if (access(options->file, R_OK) != 0)
        return cli_usage("doctor", "%s: %s", options->file, strerror(errno));
    if (rank)
        return take_rank(options, rank, "MLX_RANK (or JACCL_RANK)");
    return cli_usage("doctor",
                     "%s has a row for each rank: give --rank N, "
                     "this machine's",
                     options->file);
}

/* CLI_FINE; -1 after --help; else CLI_USAGE after one line. */
static int parse(struct doctor_options *options, int argc, char **argv)
{
    static const struct option names[] = {
        {"device", required_argument, NULL, DEVICE},
        {"help", no_argument, NULL, 'h'},
        {"json", no_argument, NULL, JSON},
        {"listen", optional_argument, NULL, LISTEN},
        {"peer", required_argument, NULL, PEER},
        {"rank", required_argument, NULL, RANK},
        {"timeout", required_argument, NULL, TIMEOUT},
        {NULL, 0, NULL, 0}};
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "h", names, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return -1;
        }
        if (take(options, option, argc, argv) != CLI_FINE)
            return CLI_USAGE;
    }
    return complete(options, argc, argv);
}

/* ---- the order of things ------------------------------------------------ */

static void examine_all(struct doctor *doctor)
{
    for (int i = 0; i < doctor->want_count && !cli_interrupted(); i++)
        doctor_examine(doctor, &doctor->wants[i]);
    if (doctor->want_count > 0 && !doctor->wants[0].asked &&
        doctor->active == 0 && !cli_interrupted() &&
        doctor->counts[DOCTOR_FAIL] == 0)
        doctor_say(doctor, DOCTOR_FAIL, "port", NULL,
                   "plug in the cable, and turn off a Thunderbolt bridge that "
                   "owns the interface (on Linux: ip link set INTERFACE up)",
                   "no device has an active port");
}

static int see(struct doctor *doctor)
{
    doctor_open_report(doctor);
    if (doctor_open_library(doctor)) {
        if (doctor_list_devices(doctor))
            examine_all(doctor);
        doctor_with_peer(doctor, NULL);
        doctor_free_devices(doctor);
    }
    doctor_close_library(doctor);
    return doctor_close_report(doctor);
}

int cli_doctor(int argc, char **argv)
{
    static struct doctor doctor;
    struct doctor_options options = {.rank = -1,
                                     .timeout_ns = INT64_C(30000000000)};
    int code = parse(&options, argc, argv);
    if (code != CLI_FINE)
        return code < 0 ? CLI_FINE : code;
    memset(&doctor, 0, sizeof doctor);
    doctor.options = &options;
    cli_catch_interrupt();
    code = doctor_read_file(&doctor);
    if (code == CLI_FINE)
        code = see(&doctor);
    cj_settings_free(&doctor.settings);
    return code;
}
