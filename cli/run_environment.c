/* verbfault run: a rank's environment and arguments. */
#include "cli/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The entry of a name, or -1. */
static int find(const struct run_environment *environment, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < environment->count; i++)
        if (strncmp(environment->entries[i], name, length) == 0 &&
            environment->entries[i][length] == '=')
            return (int)i;
    return -1;
}

/* Takes entry over; NULL: memory ran out. */
static void add(struct run_environment *environment, char *entry)
{
    size_t count = environment->count;
    char **larger;
    if (!entry) {
        environment->failed = true;
        return;
    }
    larger = realloc(environment->entries, (count + 2) * sizeof *larger);
    if (!larger) {
        free(entry);
        environment->failed = true;
        return;
    }
    larger[count] = entry;
    larger[count + 1] = NULL;
    environment->entries = larger;
    environment->count++;
}

static char *join(const char *a, const char *b, const char *c, const char *d,
                  const char *e)
{
    size_t room = strlen(a) + strlen(b) + strlen(c) + strlen(d) + strlen(e) + 1;
    char *text = malloc(room);
    if (text)
        snprintf(text, room, "%s%s%s%s%s", a, b, c, d, e);
    return text;
}

void run_environment_open(struct run_environment *environment, char **from)
{
    memset(environment, 0, sizeof *environment);
    for (; *from; from++)
        add(environment, join(*from, "", "", "", ""));
}

void run_environment_close(struct run_environment *environment)
{
    for (size_t i = 0; i < environment->count; i++)
        free(environment->entries[i]);
    free(environment->entries);
    memset(environment, 0, sizeof *environment);
}

static void put(struct run_environment *environment, const char *name,
                char *entry)
{
    int old = find(environment, name);
    if (old < 0 || !entry) {
        add(environment, entry);
        return;
    }
    free(environment->entries[old]);
    environment->entries[old] = entry;
}

void run_environment_set(struct run_environment *environment, const char *name,
                         const char *value)
{
    put(environment, name, join(name, "=", value, "", ""));
}

/* The value that is there, or "". */
static const char *value_of(const struct run_environment *environment,
                            const char *name)
{
    int old = find(environment, name);
    return old < 0 ? "" : environment->entries[old] + strlen(name) + 1;
}

void run_environment_prepend(struct run_environment *environment,
                             const char *name, const char *value,
                             char separator)
{
    const char *old = value_of(environment, name);
    const char between[2] = {*old ? separator : '\0', '\0'};
    put(environment, name, join(name, "=", value, between, old));
}

void run_environment_append(struct run_environment *environment,
                            const char *name, const char *value, char separator)
{
    const char *old = value_of(environment, name);
    const char between[2] = {*old ? separator : '\0', '\0'};
    put(environment, name, join(name, "=", old, between, value));
}

/* ---- arguments
 * --------------------------------------------------------------- */

/* What stands at text, if it is one of the two words, else NULL. */
static const char *word_at(const char *text, const char *rank,
                           const char *ranks, size_t *length)
{
    if (strncmp(text, "{rank}", 6) == 0) {
        *length = 6;
        return rank;
    }
    if (strncmp(text, "{ranks}", 7) == 0) {
        *length = 7;
        return ranks;
    }
    return NULL;
}

static char *replace(const char *text, const char *rank, const char *ranks)
{
    /* No word is longer than what it replaces. */
    char *result = malloc(strlen(text) + 1), *to = result;
    size_t length;
    while (result && *text) {
        const char *word = word_at(text, rank, ranks, &length);
        if (!word) {
            *to++ = *text++;
            continue;
        }
        strcpy(to, word);
        to += strlen(word);
        text += length;
    }
    if (result)
        *to = '\0';
    return result;
}

char **run_arguments(char **argv, int rank, int ranks)
{
    char this_rank[16], all_ranks[16];
    size_t count = 0;
    char **result;
    while (argv[count])
        count++;
    result = calloc(count + 1, sizeof *result);
    snprintf(this_rank, sizeof this_rank, "%d", rank);
    snprintf(all_ranks, sizeof all_ranks, "%d", ranks);
    for (size_t i = 0; result && i < count; i++) {
        result[i] = replace(argv[i], this_rank, all_ranks);
        if (!result[i]) {
            run_arguments_free(result);
            return NULL;
        }
    }
    return result;
}

void run_arguments_free(char **argv)
{
    for (char **each = argv; each && *each; each++)
        free(*each);
    free(argv);
}
