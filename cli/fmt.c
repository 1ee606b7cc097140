/* verbfault fmt: scenarios in canonical form. */
#include "cli/cli.h"

#include <getopt.h>
#include <stdio.h>

static const char help[] =
    "usage: verbfault fmt [--full] [--canonical] FILE...\n"
    "\n"
    "Prints each scenario with canonical spacing. FILE - is standard input.\n"
    "\n"
    "  --full       fill in what defaults leave out: devices, cables, cells\n"
    "  --canonical  without comments, statements in canonical order\n";

int cli_fmt(int argc, char **argv)
{
    static const struct option options[] = {
        {"full", no_argument, NULL, 'f'},
        {"canonical", no_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}};
    static struct cli_file file;
    bool full = false, canonical = false;
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return CLI_FINE;
        }
        if (option == '?')
            return cli_bad_option("fmt", argv);
        full = full || option == 'f';
        canonical = canonical || option == 'c';
    }
    if (optind == argc)
        return cli_usage("fmt", "a file is missing");
    for (int i = optind; i < argc; i++) {
        if (cli_load(&file, argv[i]) != CLI_FINE)
            return CLI_USAGE;
        if (full && scn_complete(&file.scenario) != 0) {
            fprintf(stderr, "%s: too many statements to fill in\n", argv[i]);
            cli_unload(&file);
            return CLI_USAGE;
        }
        if (canonical)
            scn_canonical(&file.scenario);
        cli_print(&file.scenario, stdout);
        cli_unload(&file);
    }
    return CLI_FINE;
}
