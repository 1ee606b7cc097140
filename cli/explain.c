/* verbfault explain: what happened in one run. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _DEFAULT_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/explain.h"
#include "cli/file.h"

#include <getopt.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const char help[] =
    "usage: verbfault explain [--subject S] [--all] [--svg FILE] "
    "[--html FILE]\n"
    "                         SCENARIO\n"
    "\n"
    "Draws what happened in one run: a lane for each rank, its calls from top "
    "to\n"
    "bottom, the messages between them, what was planned to go wrong, what "
    "was\n"
    "found, what was released after it (the undo), and what became of each "
    "rank.\n"
    "What repeats itself is one row: \"reg_mr x64\".\n"
    "\n"
    "  --subject S    whose run (default legacy-2026-08-22; of a recording: "
    "recording)\n                 see verbfault "
    "list\n"
    "  --all          every call a row of its own, and no row left out\n"
    "  --svg FILE     as a picture; - is standard output\n"
    "  --html FILE    as a page with the picture in it\n"
    "\n"
    "Without --svg and --html it is printed. Colours only on a terminal, and "
    "not\n"
    "if NO_COLOR is set; as wide as the terminal, or as COLUMNS says, else "
    "100\n"
    "columns; box drawing where the locale has UTF-8.\n"
    "\n"
    "Exit 0: every rank ready or with an error; 1: anything worse.\n";

#define WIDTH 100
#define WIDTH_MIN 40
#define WIDTH_MAX 400

struct options {
    const struct sim_subject *subject;
    const char *svg, *html;
    bool all;
};

static int screen_width(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    int width = WIDTH;
    if (isatty(1) && ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        width = size.ws_col;
    else if (columns && atoi(columns) > 0)
        width = atoi(columns);
    return width < WIDTH_MIN   ? WIDTH_MIN
           : width > WIDTH_MAX ? WIDTH_MAX
                               : width;
}

static bool wants_colour(void)
{
    const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(1) && !(no && *no) &&
           !(terminal && strcmp(terminal, "dumb") == 0);
}

static bool has_utf8(void)
{
    setlocale(LC_CTYPE, "");
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static int draw(const struct explain *explain, const struct options *options)
{
    struct text text = {NULL, 0, 0};
    int code = CLI_FINE;
    if (!options->svg && !options->html) {
        explain_text(explain, screen_width(), has_utf8(), wants_colour(),
                     &text);
        code = text_write(&text, "verbfault explain", "-");
    }
    if (options->svg) {
        explain_svg(explain, false, &text);
        code = text_write(&text, "verbfault explain", options->svg);
        text.length = 0;
    }
    if (options->html && code == CLI_FINE) {
        explain_html(explain, &text);
        code = text_write(&text, "verbfault explain", options->html);
    }
    free(text.at);
    return code;
}

static int explain_file(const struct options *options, const char *path)
{
    static struct cli_file file;
    static struct explain explain;
    int code = cli_load_runs(&file, path);
    if (code != CLI_FINE)
        return code;
    explain.name = file.path;
    explain.scenario = &file.scenario;
    explain.subject = options->subject;
    if (!explain.subject)
        explain.subject = sim_subject_for(&file.scenario);
    if (!explain.subject)
        explain.subject = sim_subject_by_name("legacy-2026-08-22");
    explain.all = options->all;
    code = explain_record(&explain);
    if (code == CLI_FINE) {
        explain_match(&explain);
        explain_fold(&explain);
        code = draw(&explain, options);
    }
    explain_free(&explain);
    cli_unload(&file);
    if (code != CLI_FINE)
        return code;
    return explain.result.outcome > SCN_ERROR ? CLI_FINDINGS : CLI_FINE;
}

static int check_outputs(const struct options *options)
{
    const char *paths[] = {options->svg, options->html};
    return cli_file_check_all("explain", paths, 2);
}

enum { ALL = 256, SVG, HTML };

static int parse(struct options *options, int argc, char **argv)
{
    static const struct option long_options[] = {
        {"subject", required_argument, NULL, 's'},
        {"all", no_argument, NULL, ALL},
        {"svg", required_argument, NULL, SVG},
        {"html", required_argument, NULL, HTML},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}};
    int option, code = CLI_FINE;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "hs:", long_options, NULL)) !=
           -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return -1;
        }
        if (option == '?')
            return cli_bad_option("explain", argv);
        if (option == 's')
            code = cli_subject(&options->subject, optarg);
        if (option == ALL)
            options->all = true;
        if (option == SVG)
            options->svg = optarg;
        if (option == HTML)
            options->html = optarg;
        if (code != CLI_FINE)
            return code;
    }
    if (argc - optind != 1)
        return cli_usage("explain", "takes one file");
    return check_outputs(options);
}

int cli_explain(int argc, char **argv)
{
    struct options options = {.subject = NULL};
    int code = parse(&options, argc, argv);
    if (code != CLI_FINE)
        return code < 0 ? CLI_FINE : code;
    return explain_file(&options, argv[optind]);
}
