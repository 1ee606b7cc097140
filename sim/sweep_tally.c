/* What became of many runs: each outcome and title, how often, and the first.
 */
#include "sim/sweep.h"

#include <stdlib.h>
#include <string.h>

#define OTHERS "other titles"

/* A tab or a new line would end a field of a file. */
static void put_text(char *to, size_t room, const char *from)
{
    size_t length = 0;
    for (; *from && length + 1 < room; from++)
        to[length++] = *from;
    to[length] = '\0';
    for (; *to; to++)
        if ((unsigned char)*to < ' ')
            *to = ' ';
}

static struct sweep_entry *find(const struct sweep_tally *tally,
                                enum scn_outcome outcome, bool broken,
                                const char *title)
{
    for (int i = 0; i < tally->count; i++) {
        struct sweep_entry *entry = &tally->entries[i];
        if (entry->outcome == outcome && entry->broken == broken &&
            strcmp(entry->title, title) == 0)
            return entry;
    }
    return NULL;
}

static size_t append_fault(char *text, size_t length,
                           const struct sweep_fault *fault)
{
    static struct scn scratch;
    if (!fault || length >= SWEEP_EXAMPLE_MAX)
        return length;
    scratch.count = fault->count;
    memcpy(scratch.statements, fault->statements,
           (size_t)fault->count * sizeof fault->statements[0]);
    return length +
           scn_print(&scratch, text + length, SWEEP_EXAMPLE_MAX - length);
}

/* Statements on one line, "; " between them. */
static void put_example(char *to, const struct sweep_fault *fault,
                        const struct sweep_fault *second)
{
    char text[SWEEP_EXAMPLE_MAX];
    size_t length = 0;
    text[0] = '\0';
    append_fault(text, append_fault(text, 0, fault), second);
    for (const char *at = text; *at; at++) {
        const char *put = *at == '\n' ? at[1] ? "; " : "" : NULL;
        if (length + 3 > SWEEP_EXAMPLE_MAX)
            break;
        if (!put)
            to[length++] = *at;
        for (; put && *put; put++)
            to[length++] = *put;
    }
    to[length] = '\0';
}

static struct sweep_entry *add(struct sweep_tally *tally,
                               const struct sim_result *result,
                               const char *title,
                               const struct sweep_fault *fault,
                               const struct sweep_fault *second)
{
    struct sweep_entry *entry = &tally->entries[tally->count++];
    bool broken = result->broken[0] != '\0';
    entry->outcome = result->outcome;
    entry->broken = broken;
    entry->count = 0;
    put_text(entry->title, sizeof entry->title, title);
    put_text(entry->why, sizeof entry->why,
             broken ? result->broken : result->rank[result->worst].message);
    put_example(entry->example, fault, second);
    return entry;
}

void sweep_count(struct sweep_tally *tally, const struct sim_result *result,
                 const struct sweep_fault *fault,
                 const struct sweep_fault *second)
{
    bool broken = result->broken[0] != '\0';
    struct sweep_entry *entry =
        find(tally, result->outcome, broken, result->title);
    /* The last places are kept for what has none. */
    if (!entry && tally->count >= tally->room - 2 * SCN_OUTCOME_COUNT) {
        entry = find(tally, result->outcome, broken, OTHERS);
        if (!entry)
            entry = add(tally, result, OTHERS, fault, second);
    }
    if (!entry)
        entry = add(tally, result, result->title, fault, second);
    entry->count++;
    tally->runs++;
}

void sweep_list(struct sweep_tally *tally, const struct sim_result *result,
                const struct sweep_fault *fault)
{
    tally->runs++;
    if (tally->count < tally->room)
        add(tally, result, result->title, fault, NULL)->count = 1;
}

int sweep_sum(struct sweep_tally *to, const struct sweep_tally *from)
{
    for (int i = 0; i < from->count; i++) {
        const struct sweep_entry *entry = &from->entries[i];
        struct sweep_entry *there =
            find(to, entry->outcome, entry->broken, entry->title);
        if (there) {
            there->count += entry->count;
            continue;
        }
        if (to->count == to->room) {
            int room = to->room ? to->room * 2 : 8;
            struct sweep_entry *entries =
                realloc(to->entries, (size_t)room * sizeof *entries);
            if (!entries)
                return -1;
            to->entries = entries;
            to->room = room;
        }
        to->entries[to->count++] = *entry;
    }
    to->runs += from->runs;
    return 0;
}

static int compare(const void *left, const void *right)
{
    const struct sweep_entry *a = left, *b = right;
    if (a->broken != b->broken)
        return a->broken ? -1 : 1;
    if (a->outcome != b->outcome)
        return a->outcome > b->outcome ? -1 : 1;
    return strcmp(a->title, b->title);
}

void sweep_sort(struct sweep_tally *tally)
{
    if (tally->count > 1)
        qsort(tally->entries, (size_t)tally->count, sizeof *tally->entries,
              compare);
}

unsigned long sweep_broken(const struct sweep_tally *tally)
{
    unsigned long broken = 0;
    for (int i = 0; i < tally->count; i++)
        if (tally->entries[i].broken)
            broken += tally->entries[i].count;
    return broken;
}
