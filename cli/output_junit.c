/*
 * Results as JUnit's XML: a suite for each subject and scenario, a case for
 * each row, a failure for each that is wrong. What was found and is not wrong
 * is told in the case's output.
 */
#include <string.h>

#include "cli/results.h"

static void put_character(const char *at, int bytes, FILE *stream)
{
    switch (*at) {
    case '&':
        fputs("&amp;", stream);
        return;
    case '<':
        fputs("&lt;", stream);
        return;
    case '>':
        fputs("&gt;", stream);
        return;
    case '"':
        fputs("&quot;", stream);
        return;
    case '\n': /* an attribute would make a space of it */
        fputs("&#10;", stream);
        return;
    case '\t':
        fputs("&#9;", stream);
        return;
    default:
        fwrite(at, 1, (size_t)bytes, stream);
    }
}

static void put_text(const char *text, FILE *stream)
{
    while (*text) {
        int bytes = cli_character(text);
        if (bytes > 0)
            put_character(text, bytes, stream);
        else
            fputc('?', stream);
        text += bytes > 0 ? bytes : 1;
    }
}

static void put_attribute(const char *name, const char *text, FILE *stream)
{
    fprintf(stream, " %s=\"", name);
    put_text(text, stream);
    fputc('"', stream);
}

static void put_details(const struct cli_row *row, FILE *stream)
{
    put_text(row->message, stream);
    if (row->count > 1)
        fprintf(stream, "\n%lu runs", row->count);
    if (row->example) {
        fputs("\nthe first: ", stream);
        put_text(row->example, stream);
    }
}

/* Also of a run that went well: then it tested less than it seems. */
static void put_unstruck(const struct cli_row *row, FILE *stream)
{
    fputs("never came to: ", stream);
    put_text(row->unstruck, stream);
    fputs("\n", stream);
}

static void put_output(const struct cli_row *row, const char *name,
                       FILE *stream)
{
    fputs("      <system-out>", stream);
    if (row->verdict == CLI_ROW_FOUND) {
        put_text(name, stream);
        fputs("\n", stream);
        put_details(row, stream);
    }
    if (row->verdict == CLI_ROW_FOUND && row->unstruck)
        fputs("\n", stream);
    if (row->unstruck)
        put_unstruck(row, stream);
    fputs("</system-out>\n", stream);
}

static void put_case(const struct cli_row *row, FILE *stream)
{
    char name[160];
    cli_row_name(row, name, sizeof name);
    fputs("    <testcase", stream);
    put_attribute("classname", row->subject, stream);
    fputs(" name=\"", stream);
    put_text(row->scenario, stream);
    if (row->example) {
        fputs(": ", stream);
        put_text(name, stream);
    }
    fputs("\">\n", stream);
    if (row->verdict == CLI_ROW_WRONG) {
        fputs("      <failure", stream);
        put_attribute("type", scn_outcome_name(row->outcome), stream);
        put_attribute("message", name, stream);
        fputs(">", stream);
        put_details(row, stream);
        fputs("</failure>\n", stream);
    } else if (row->verdict == CLI_ROW_SKIPPED) {
        fputs("      <skipped", stream);
        put_attribute("message", row->message, stream);
        fputs("/>\n", stream);
    }
    if (row->verdict == CLI_ROW_FOUND || row->unstruck)
        put_output(row, name, stream);
    fputs("    </testcase>\n", stream);
}

static bool same_suite(const struct cli_row *a, const struct cli_row *b)
{
    return strcmp(a->subject, b->subject) == 0 &&
           strcmp(a->scenario, b->scenario) == 0;
}

/* Rows from `from` on that belong together; the first that does not. */
static int put_suite(const struct cli_results *results, int from, FILE *stream)
{
    const struct cli_row *rows = results->rows;
    int end = from, wrong = 0;
    for (; end < results->count && same_suite(&rows[from], &rows[end]); end++)
        wrong += rows[end].verdict == CLI_ROW_WRONG;
    fputs("  <testsuite name=\"", stream);
    put_text(rows[from].subject, stream);
    fputs(" ", stream);
    put_text(rows[from].scenario, stream);
    fprintf(stream, "\" tests=\"%d\" failures=\"%d\">\n", end - from, wrong);
    for (int i = from; i < end; i++)
        put_case(&rows[i], stream);
    fputs("  </testsuite>\n", stream);
    return end;
}

int cli_write_junit(const struct cli_results *results, FILE *stream)
{
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", stream);
    fprintf(stream,
            "<testsuites name=\"verbfault %s\" tests=\"%d\" failures=\"%d\">\n",
            results->command, results->count, cli_results_wrong(results));
    for (int i = 0; i < results->count;)
        i = put_suite(results, i, stream);
    fputs("</testsuites>\n", stream);
    return ferror(stream) ? -1 : 0;
}
