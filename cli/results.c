/* The table of results, and where it is written. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/results.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/file.h"

static void *must(void *memory)
{
    if (memory)
        return memory;
    fprintf(stderr, "verbfault: out of memory\n");
    exit(CLI_ENVIRONMENT);
}

static char *copy(const char *text)
{
    return must(strdup(text ? text : ""));
}

/* Room for one more of size bytes each. */
static void *grow(void *memory, int count, int *room, size_t size)
{
    if (count < *room)
        return memory;
    *room = *room ? *room * 2 : 32;
    return must(realloc(memory, (size_t)*room * size));
}

void cli_results_row(struct cli_results *results, const struct cli_row *row)
{
    struct cli_row *mine;
    results->rows = grow(results->rows, results->count, &results->room,
                         sizeof *results->rows);
    mine = &results->rows[results->count++];
    *mine = *row;
    mine->scenario = copy(row->scenario);
    mine->subject = copy(row->subject);
    mine->title = copy(row->title);
    mine->message = copy(row->message);
    mine->example = row->example ? copy(row->example) : NULL;
    mine->unstruck = row->unstruck ? copy(row->unstruck) : NULL;
}

void cli_results_walk(struct cli_results *results, const struct cli_walk *walk)
{
    struct cli_walk *mine;
    results->walks = grow(results->walks, results->walk_count,
                          &results->walk_room, sizeof *results->walks);
    mine = &results->walks[results->walk_count++];
    *mine = *walk;
    mine->scenario = copy(walk->scenario);
    mine->subject = copy(walk->subject);
}

/* They are const for everybody else. */
static void drop(const char *text)
{
    free((void *)(uintptr_t)text);
}

void cli_results_free(struct cli_results *results)
{
    for (int i = 0; i < results->count; i++) {
        drop(results->rows[i].scenario);
        drop(results->rows[i].subject);
        drop(results->rows[i].title);
        drop(results->rows[i].message);
        drop(results->rows[i].example);
        drop(results->rows[i].unstruck);
    }
    for (int i = 0; i < results->walk_count; i++) {
        drop(results->walks[i].scenario);
        drop(results->walks[i].subject);
    }
    free(results->rows);
    free(results->walks);
    results->rows = NULL;
    results->walks = NULL;
    results->count = results->room = 0;
    results->walk_count = results->walk_room = 0;
}

int cli_results_wrong(const struct cli_results *results)
{
    int wrong = 0;
    for (int i = 0; i < results->count; i++)
        wrong += results->rows[i].verdict == CLI_ROW_WRONG;
    return wrong;
}

bool cli_output_option(struct cli_outputs *outputs, int option, const char *at)
{
    switch (option) {
    case CLI_JSON:
        outputs->json = at;
        return true;
    case CLI_JUNIT:
        outputs->junit = at;
        return true;
    case CLI_SARIF:
        outputs->sarif = at;
        return true;
    default:
        return false;
    }
}

static bool is_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

bool cli_outputs_to_stdout(const struct cli_outputs *outputs)
{
    return is_stdout(outputs->json) || is_stdout(outputs->junit) ||
           is_stdout(outputs->sarif);
}

static int write_one(const char *path, const struct cli_results *results,
                     int (*writer)(const struct cli_results *, FILE *))
{
    struct cli_written file;
    char who[64];
    FILE *stream;
    if (!path)
        return CLI_FINE;
    snprintf(who, sizeof who, "verbfault %s", results->command);
    stream = cli_file_begin(&file, path);
    return cli_file_end(&file, who, stream && writer(results, stream) == 0);
}

int cli_outputs_check(const struct cli_outputs *outputs, const char *subcommand)
{
    const char *paths[] = {outputs->json, outputs->junit, outputs->sarif};
    return cli_file_check_all(subcommand, paths,
                              (int)(sizeof paths / sizeof paths[0]));
}

int cli_outputs_write(const struct cli_outputs *outputs,
                      const struct cli_results *results)
{
    int json = write_one(outputs->json, results, cli_write_json);
    int junit = write_one(outputs->junit, results, cli_write_junit);
    int sarif = write_one(outputs->sarif, results, cli_write_sarif);
    return json != CLI_FINE ? json : junit != CLI_FINE ? junit : sarif;
}

void cli_row_name(const struct cli_row *row, char *text, size_t room)
{
    const char *outcome = scn_outcome_name(row->outcome);
    if (row->title[0])
        snprintf(text, room, "%s: %s", outcome, row->title);
    else
        snprintf(text, room, "%s", outcome);
}

/* How long a character is by its first byte; 0: none begins so. */
static int length_of(unsigned char first)
{
    if (first < 0x80)
        return first >= ' ' || first == '\t' || first == '\n' ? 1 : 0;
    if (first >= 0xc2 && first < 0xe0)
        return 2;
    if (first >= 0xe0 && first < 0xf0)
        return 3;
    return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

int cli_character(const char *at)
{
    const unsigned char *byte = (const unsigned char *)at;
    int length = length_of(byte[0]);
    for (int i = 1; i < length; i++)
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
    /* What would be shorter, a surrogate, past the end of Unicode, no
     * character. */
    if ((byte[0] == 0xe0 && byte[1] < 0xa0) ||
        (byte[0] == 0xed && byte[1] >= 0xa0) ||
        (byte[0] == 0xf0 && byte[1] < 0x90) ||
        (byte[0] == 0xf4 && byte[1] >= 0x90) ||
        (byte[0] == 0xef && byte[1] == 0xbf && byte[2] >= 0xbe) ||
        byte[0] == 0x7f)
        return 0;
    return length;
}
