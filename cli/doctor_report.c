/* verbfault doctor: its lines. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cjaccl/src/error.h"
#include "cli/doctor.h"
#include "cli/output_json.h"
#include "cli/results.h"

static const char *const words[] = {"ok", "FAIL", "skip"};

void doctor_open_report(struct doctor *doctor)
{
    const char *terminal = getenv("TERM");
    doctor->colour = !doctor->options->json && isatty(STDOUT_FILENO) &&
                     !getenv("NO_COLOR") && terminal &&
                     strcmp(terminal, "dumb") != 0;
    if (doctor->options->json)
        doctor->lines = json_array();
}

static void print_line(const struct doctor *doctor, enum doctor_verdict verdict,
                       const char *step, const char *device, const char *text,
                       const char *advice)
{
    static const char *const colours[] = {"\033[32m", "\033[1;31m", "\033[33m"};
    printf("%s%-4s%s %s%s%s: %s%s%s\n", doctor->colour ? colours[verdict] : "",
           words[verdict], doctor->colour ? "\033[0m" : "", step,
           device ? " " : "", device ? device : "", text, advice ? ": " : "",
           advice ? advice : "");
    fflush(stdout); /* the next step may take long, or be the last */
}

static void add_line(struct doctor *doctor, enum doctor_verdict verdict,
                     const char *step, const char *device, const char *text,
                     const char *advice)
{
    json_t *line = json_pack("{s:s, s:s, s:o}", "verdict", words[verdict],
                             "step", step, "text", cli_json_text(text));
    if (line && device)
        json_object_set_new(line, "device", cli_json_text(device));
    if (line && advice)
        json_object_set_new(line, "advice", cli_json_text(advice));
    json_array_append_new(doctor->lines, line);
}

static void tell(struct doctor *doctor, enum doctor_verdict verdict,
                 const char *step, const char *device, const char *text,
                 const char *advice)
{
    char name[CJ_DEVICE_NAME_SIZE];
    snprintf(name, sizeof name, "%s", device ? device : "");
    cji_tame(name, sizeof name); /* a file's or a library's, anything */
    doctor->counts[verdict]++;
    if (doctor->options->json)
        add_line(doctor, verdict, step, device ? name : NULL, text, advice);
    else
        print_line(doctor, verdict, step, device ? name : NULL, text, advice);
}

void doctor_say(struct doctor *doctor, enum doctor_verdict verdict,
                const char *step, const char *device, const char *advice,
                const char *format, ...)
{
    char text[2 * DOCTOR_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    cji_tame(text, sizeof text);
    tell(doctor, verdict, step, device, text, advice);
}

void doctor_say_flaw(struct doctor *doctor, const struct doctor_flaw *flaw,
                     const char *device)
{
    doctor_say(doctor, DOCTOR_FAIL, flaw->step, device, flaw->advice, "%s",
               flaw->text);
}

bool doctor_flaw(struct doctor_flaw *flaw, const char *step, const char *advice,
                 const char *format, ...)
{
    va_list arguments;
    flaw->step = step;
    flaw->advice = advice;
    va_start(arguments, format);
    vsnprintf(flaw->text, sizeof flaw->text, format, arguments);
    va_end(arguments);
    cji_tame(flaw->text, sizeof flaw->text);
    return false;
}

static void summarize(const struct doctor *doctor)
{
    int problems = doctor->counts[DOCTOR_FAIL];
    printf("\n");
    if (cli_interrupted())
        printf("interrupted; what was made has been given back. ");
    if (problems > 0)
        printf("%d problem%s found. Begin with the first FAIL: it may explain "
               "the others.\n",
               problems, problems == 1 ? "" : "s");
    else if (!cli_interrupted())
        printf("no problem found (%d steps ok, %d skipped)\n",
               doctor->counts[DOCTOR_OK], doctor->counts[DOCTOR_SKIP]);
    else
        printf("\n");
}

static void write_json(struct doctor *doctor, int code)
{
    json_t *root = json_pack(
        "{s:s, s:s, s:i, s:b, s:i, s:O}", "verbfault", CLI_VERSION, "command",
        "doctor", "problems", doctor->counts[DOCTOR_FAIL], "interrupted",
        cli_interrupted(), "exit", code, "lines", doctor->lines);
    if (!root || json_dumpf(root, stdout, JSON_INDENT(2)) != 0)
        fprintf(stderr, "verbfault doctor: memory ran out\n");
    printf("\n");
    json_decref(root);
}

int doctor_close_report(struct doctor *doctor)
{
    int code = doctor->no_library                ? CLI_ENVIRONMENT
               : doctor->counts[DOCTOR_FAIL] > 0 ? CLI_FINDINGS
               : cli_interrupted()               ? CLI_FINDINGS
                                                 : CLI_FINE;
    if (doctor->options->json)
        write_json(doctor, code);
    else
        summarize(doctor);
    json_decref(doctor->lines);
    doctor->lines = NULL;
    return code;
}
