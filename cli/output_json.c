/* Results as JSON. */
#include "cli/output_json.h"

#include <stdlib.h>
#include <string.h>

#include "cli/results.h"

json_t *cli_json_text(const char *text)
{
    char *clean = malloc(strlen(text) + 1);
    size_t length = 0;
    json_t *string;
    if (!clean)
        return NULL;
    while (*text) {
        int bytes = cli_character(text);
        if (bytes == 0)
            clean[length++] = '?';
        for (int i = 0; i < bytes; i++)
            clean[length++] = text[i];
        text += bytes > 0 ? bytes : 1;
    }
    string = json_stringn(clean, length);
    free(clean);
    return string;
}

static const char *verdict_name(enum cli_verdict verdict)
{
    return verdict == CLI_ROW_WRONG     ? "wrong"
           : verdict == CLI_ROW_FOUND   ? "found"
           : verdict == CLI_ROW_SKIPPED ? "skipped"
                                        : "fine";
}

/* Statements with "; " between, each as one string. */
static json_t *list_of(const char *statements)
{
    json_t *list = json_array();
    while (list && *statements) {
        const char *end = strstr(statements, "; ");
        size_t length = end ? (size_t)(end - statements) : strlen(statements);
        json_array_append_new(list, json_stringn(statements, length));
        statements += length + (end ? 2 : 0);
    }
    return list;
}

/* "o" steals its reference, and a NULL makes json_pack answer NULL. */
static json_t *row_of(const struct cli_row *row)
{
    json_t *object = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:I, s:s}", "scenario",
        cli_json_text(row->scenario), "subject", cli_json_text(row->subject),
        "outcome", cli_json_text(scn_outcome_name(row->outcome)), "title",
        cli_json_text(row->title), "message", cli_json_text(row->message),
        "count", (json_int_t)row->count, "verdict", verdict_name(row->verdict));
    if (object && row->example)
        json_object_set_new(object, "example", cli_json_text(row->example));
    if (object && row->unstruck)
        json_object_set_new(object, "never_struck", list_of(row->unstruck));
    return object;
}

static json_t *walk_of(const struct cli_walk *walk)
{
    return json_pack(
        "{s:o, s:o, s:i, s:i, s:i, s:I, s:I}", "scenario",
        cli_json_text(walk->scenario), "subject", cli_json_text(walk->subject),
        "depth", walk->depth, "points", walk->points, "points_done", walk->done,
        "runs", (json_int_t)walk->runs, "broken", (json_int_t)walk->broken);
}

int cli_write_json(const struct cli_results *results, FILE *stream)
{
    json_t *rows = json_array(), *walks = json_array(), *root;
    int status = 0;
    for (int i = 0; i < results->count && status == 0; i++)
        status = json_array_append_new(rows, row_of(&results->rows[i]));
    for (int i = 0; i < results->walk_count && status == 0; i++)
        status = json_array_append_new(walks, walk_of(&results->walks[i]));
    root = json_pack("{s:s, s:s, s:b, s:i, s:o, s:o}", "verbfault", CLI_VERSION,
                     "command", results->command, "interrupted",
                     results->interrupted, "wrong", cli_results_wrong(results),
                     "results", rows, "walks", walks);
    if (!root)
        return -1;
    if (results->walk_count == 0)
        json_object_del(root, "walks");
    if (status == 0)
        status = json_dumpf(root, stream, JSON_INDENT(2));
    json_decref(root);
    fputc('\n', stream);
    return status == 0 && !ferror(stream) ? 0 : -1;
}
