/*
 * Results as SARIF 2.1.0 (OASIS): each title is a rule, each row that is not
 * fine a result at the first line of its scenario. What is wrong is an error,
 * what was found a warning.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/output_json.h"
#include "cli/results.h"

#define SCHEMA "https://json.schemastore.org/sarif-2.1.0.json"

/* A path as a relative or absolute URI: what has a meaning there is escaped. */
static json_t *uri_of(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789-._~/";
    char *uri = malloc(strlen(path) * 3 + 1);
    size_t length = 0;
    json_t *string;
    if (!uri)
        return NULL;
    for (; *path; path++) {
        if (strchr(plain, *path))
            uri[length++] = *path;
        else
            length += (size_t)sprintf(uri + length, "%%%02X",
                                      (unsigned)(unsigned char)*path);
    }
    uri[length] = '\0';
    string = json_stringn(uri, length);
    free(uri);
    return string;
}

static json_t *location_of(const struct cli_row *row)
{
    if (row->is_file)
        return json_pack("{s:{s:{s:o}, s:{s:i}}}", "physicalLocation",
                         "artifactLocation", "uri", uri_of(row->scenario),
                         "region", "startLine", 1);
    return json_pack("{s:[{s:o}]}", "logicalLocations", "fullyQualifiedName",
                     cli_json_text(row->scenario));
}

static json_t *message_of(const struct cli_row *row, const char *name)
{
    char text[1024];
    size_t length =
        (size_t)snprintf(text, sizeof text, "%s: %s", row->subject, name);
    if (row->message[0] && length < sizeof text)
        length += (size_t)snprintf(text + length, sizeof text - length, ": %s",
                                   row->message);
    if (row->example && length < sizeof text)
        snprintf(text + length, sizeof text - length, " (%lu run%s; %s)",
                 row->count, cli_s(row->count), row->example);
    if (row->unstruck && length < sizeof text) {
        length = strlen(text);
        snprintf(text + length, sizeof text - length, " (never came to: %s)",
                 row->unstruck);
    }
    return cli_json_text(text);
}

static json_t *result_of(const struct cli_row *row, const char *name, int rule)
{
    char fingerprint[256];
    snprintf(fingerprint, sizeof fingerprint, "%s %s", row->subject, name);
    return json_pack("{s:o, s:i, s:s, s:{s:o}, s:[o], s:{s:o}, s:{s:o, s:I}}",
                     "ruleId", cli_json_text(name), "ruleIndex", rule, "level",
                     row->verdict == CLI_ROW_WRONG ? "error" : "warning",
                     "message", "text", message_of(row, name), "locations",
                     location_of(row), "partialFingerprints", "title/v1",
                     cli_json_text(fingerprint), "properties", "subject",
                     cli_json_text(row->subject), "count",
                     (json_int_t)row->count);
}

/* The rule's number; a new one is added. -1: memory. */
static int rule_of(json_t *rules, const char *name)
{
    json_t *rule;
    size_t count = json_array_size(rules);
    for (size_t i = 0; i < count; i++) {
        const char *id =
            json_string_value(json_object_get(json_array_get(rules, i), "id"));
        if (id && strcmp(id, name) == 0)
            return (int)i;
    }
    rule = json_pack("{s:o, s:{s:o}}", "id", cli_json_text(name),
                     "shortDescription", "text", cli_json_text(name));
    return json_array_append_new(rules, rule) == 0 ? (int)count : -1;
}

static int put_rows(const struct cli_results *results, json_t *rules,
                    json_t *rows)
{
    for (int i = 0; i < results->count; i++) {
        const struct cli_row *row = &results->rows[i];
        char name[160];
        int rule;
        if (row->verdict == CLI_ROW_FINE)
            continue;
        cli_row_name(row, name, sizeof name);
        rule = rule_of(rules, name);
        if (rule < 0 ||
            json_array_append_new(rows, result_of(row, name, rule)) != 0)
            return -1;
    }
    return 0;
}

int cli_write_sarif(const struct cli_results *results, FILE *stream)
{
    json_t *rules = json_array(), *rows = json_array(), *root;
    int status = put_rows(results, rules, rows);
    root = json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:o}}, s:o}]}", "$schema",
                     SCHEMA, "version", "2.1.0", "runs", "tool", "driver",
                     "name", "verbfault", "version", CLI_VERSION, "rules",
                     rules, "results", rows);
    if (!root)
        return -1;
    if (status == 0)
        status = json_dumpf(root, stream, JSON_INDENT(2));
    json_decref(root);
    fputc('\n', stream);
    return status == 0 && !ferror(stream) ? 0 : -1;
}
