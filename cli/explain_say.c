/* What a picture says around its lanes. */
#include "cli/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/words.h"
#include "sim/calls.h"

void explain_arrows_of(const struct explain *explain, int row,
                       struct text *text)
{
    for (int i = 0; i < explain->arrow_count; i++) {
        const struct explain_arrow *arrow = &explain->arrows[i];
        if (arrow->channel) /* the row says it itself */
            continue;
        if (arrow->from == row)
            text_add(text, "  \u2192\u00a0r%d", explain->rows[arrow->to].rank);
        else if (arrow->to == row)
            text_add(text, "  \u2190\u00a0r%d",
                     explain->rows[arrow->from].rank);
        else
            continue;
        if (arrow->count > 1)
            text_add(text, "\u00a0\u00d7%d", arrow->count);
        text_add(text, "\u00a0%ld\u00a0byte%s", arrow->bytes,
                 cli_s((unsigned long)arrow->bytes));
    }
}

void explain_outcome(const struct explain *explain, int rank, struct text *text)
{
    const struct sim_rank_result *result = &explain->result.rank[rank];
    text_put(text, scn_outcome_name(result->outcome));
    if (result->title[0])
        text_add(text, ": %s", result->title);
    if (result->message[0])
        text_put(text, ": ");
    text_clean(text, result->message);
}

/* ---- objects ------------------------------------------------------------- */

struct counts {
    int made, undone, released, left;
};

static struct counts count_objects(const struct explain *explain, int rank)
{
    struct counts counts = {0, 0, 0, 0};
    for (int i = 0; i < explain->object_count; i++) {
        const struct explain_object *it = &explain->objects[i];
        if (it->rank != rank)
            continue;
        counts.made++;
        if (it->released < 0)
            counts.left++;
        else if (explain->items[it->released].undo)
            counts.undone++;
        else
            counts.released++;
    }
    return counts;
}

static bool is_left(const struct explain_object *it, int rank, const char *kind)
{
    return it->rank == rank && it->released < 0 && strcmp(it->kind, kind) == 0;
}

/* "mr 3-9, 11", one kind after the other in the order of their making. */
static void say_left(const struct explain *explain, int rank, struct text *text)
{
    const char *semicolon = "";
    for (int i = 0; i < explain->object_count; i++) {
        const struct explain_object *first = &explain->objects[i];
        const char *comma = " ";
        bool before = false;
        if (!is_left(first, rank, first->kind))
            continue;
        for (int k = 0; k < i; k++)
            before = before || is_left(&explain->objects[k], rank, first->kind);
        if (before)
            continue;
        text_add(text, "%s%s", semicolon, first->kind);
        for (int k = i; k < explain->object_count; k++) {
            unsigned from = explain->objects[k].id, to = from;
            if (!is_left(&explain->objects[k], rank, first->kind))
                continue;
            while (k + 1 < explain->object_count &&
                   is_left(&explain->objects[k + 1], rank, first->kind) &&
                   explain->objects[k + 1].id == to + 1) {
                to++;
                k++;
            }
            text_add(text, from == to ? "%s%u" : "%s%u-%u", comma, from, to);
            comma = ", ";
        }
        semicolon = "; ";
    }
}

static bool has_crashed(const struct explain *explain, int rank)
{
    for (int i = 0; i < explain->count; i++)
        if (explain->items[i].rank == rank && explain->items[i].fatal)
            return true;
    return false;
}

void explain_balance(const struct explain *explain, int rank, struct text *text)
{
    struct counts counts = count_objects(explain, rank);
    if (counts.made == 0) {
        text_put(text, "made no object");
        return;
    }
    text_add(text, "made %d object%s", counts.made,
             cli_s((unsigned long)counts.made));
    if (counts.released > 0)
        text_add(text, ", released %d", counts.released);
    if (counts.undone > 0)
        text_add(text, ", undid %d", counts.undone);
    if (counts.left == 0) {
        text_put(text, ", nothing is left");
        return;
    }
    text_add(text, ", not released %d (", counts.left);
    say_left(explain, rank, text);
    text_put(text, ")");
    if (has_crashed(explain, rank))
        text_put(text, ": its process ends before that");
}

/* ---- the scenario -------------------------------------------------------- */

/* A rank that ended before the calls that were to fail, or its channel. */
static void say_unreached(const struct explain *explain, int rank,
                          struct text *text)
{
    int planned = 0, missed = 0;
    for (int i = 0; i < explain->scenario->count; i++) {
        const struct scn_statement *one = &explain->scenario->statements[i];
        if ((one->kind != SCN_FAULT && one->kind != SCN_CHANNEL) ||
            one->rank != rank)
            continue;
        planned++;
        missed += !sim_struck(explain->scenario, &explain->result, i);
    }
    if (missed == 0)
        return;
    if (missed == planned)
        text_add(text, "Rank %d never came to %s.\n", rank,
                 planned == 1 ? "its fault" : "any of its faults");
    else
        text_add(text, "Rank %d never came to %d of its %d faults.\n", rank,
                 missed, planned);
}

void explain_plan(const struct explain *explain, struct text *text)
{
    for (int i = 0; i < explain->scenario->count; i++) {
        char words[400];
        words_of_statement(&explain->scenario->statements[i], words,
                           sizeof words);
        if (words[0])
            text_add(text, "%s\n", words);
    }
    for (int rank = 0; rank < explain->result.ranks; rank++)
        say_unreached(explain, rank, text);
}

bool explain_is_recording(const struct explain *explain)
{
    for (int i = 0; i < explain->scenario->count; i++)
        if (explain->scenario->statements[i].kind == SCN_CALL)
            return true;
    return false;
}

/* What happened is drawn: recorded calls need not be listed as well. */
static void leave_calls_out(char *words)
{
    char *to = words;
    while (*words) {
        size_t length = strcspn(words, "\n");
        length += words[length] == '\n';
        if (!scn_is_call(words, length)) {
            memmove(to, words, length);
            to += length;
        }
        words += length;
    }
    *to = '\0';
}

void explain_scenario(const struct explain *explain, struct text *text)
{
    size_t length = scn_print(explain->scenario, NULL, 0);
    char *words = malloc(length + 1);
    if (!words)
        return;
    scn_print(explain->scenario, words, length + 1);
    if (explain_is_recording(explain))
        leave_calls_out(words);
    text_clean(text, words);
    free(words);
}
