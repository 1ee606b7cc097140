/*
 * Items become rows.
 *
 * What follows on one rank without news is one row: its calls, its undo, its
 * posts and polls, its bytes on the side channel. Nothing of another rank lies
 * in between, so every arrow still points down. Whatever went wrong has a row
 * of its own.
 */
#include "cli/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 240  /* more are cut, but for --all */
#define KEEP_FIRST 40 /* of those, and around whatever went wrong */
#define KEEP_AROUND 12
#define KEEP_LAST 50
#define LOUD_MAX                                                               \
    60 /* rows that are kept because something is wrong in them                \
        */
#define SHORT_NS INT64_C(1000000)

/* What may share a row. */
enum class {
    CLASS_ALONE,
    CLASS_CALLS,
    CLASS_DATA, /* posts and polls */
    CLASS_UNDO,
    CLASS_SENT,
    CLASS_RECEIVED,
    CLASS_BEGIN,
    CLASS_NOTHING /* no row */
};

static bool is_data(enum vf_verb verb)
{
    return verb == VF_VERB_post_send || verb == VF_VERB_post_recv ||
           verb == VF_VERB_post_srq_recv || verb == VF_VERB_poll_cq ||
           verb == VF_VERB_req_notify_cq || verb == VF_VERB_get_cq_event ||
           verb == VF_VERB_ack_cq_events;
}

static bool is_finding_of(const struct explain *explain, int item)
{
    return item + 1 < explain->count &&
           explain->items[item].kind == EXPLAIN_CALL &&
           strstr(explain->items[item].text, ") = ?") != NULL &&
           explain->items[item + 1].kind == EXPLAIN_FINDING &&
           explain->items[item + 1].rank == explain->items[item].rank &&
           explain->items[item + 1].fatal;
}

/* The operation that this rank's error names, and this is its end. */
static bool is_failure(const struct explain *explain, int number)
{
    const struct explain_item *item = &explain->items[number];
    const struct sim_rank_result *rank = &explain->result.rank[item->rank];
    const char *name;
    size_t length;
    if (rank->outcome != SCN_ERROR || item->statement < 0 ||
        strncmp(rank->title, "error in ", 9) != 0)
        return false;
    name = scn_operation_name(
        explain->scenario->statements[item->statement].u.run.operation);
    length = strlen(name);
    if (strncmp(rank->title + 9, name, length) != 0 ||
        (rank->title[9 + length] && rank->title[9 + length] != ':'))
        return false;
    for (int i = 0; i < number; i++) /* the first one */
        if (explain->items[i].kind == EXPLAIN_END &&
            explain->items[i].rank == item->rank &&
            explain->items[i].statement >= 0 &&
            explain->scenario->statements[explain->items[i].statement]
                    .u.run.operation ==
                explain->scenario->statements[item->statement].u.run.operation)
            return false;
    return true;
}

static enum class class_of(const struct explain *explain, int number) {
    const struct explain_item *item = &explain->items[number];
    switch (item->kind){
        case
        EXPLAIN_CALL : if (item->planned || item->refused || explain->all ||
                           is_finding_of(explain, number)) return CLASS_ALONE;
        return item->undo            ? CLASS_UNDO
               : is_data(item->verb) ? CLASS_DATA
                                     : CLASS_CALLS;
        case EXPLAIN_SENT : return CLASS_SENT;
        case EXPLAIN_RECEIVED : return CLASS_RECEIVED;
        case EXPLAIN_BEGIN : return CLASS_BEGIN;
        case EXPLAIN_END : return is_failure(explain, number) ? CLASS_ALONE
                                                              : CLASS_NOTHING;
        case EXPLAIN_TIME : case EXPLAIN_FINDING : case EXPLAIN_CHANNEL : break;
    }
return CLASS_ALONE;
}

/* ---- what a row says ----------------------------------------------------- */

static void add_number(const struct explain *explain,
                       const struct explain_row *row, struct text *text)
{
    const struct explain_item *first = &explain->items[row->first];
    const struct explain_item *last = &explain->items[row->last];
    text_add(text, "#%u", first->number);
    if (last->number > first->number)
        text_add(text, "-%u", last->number);
    text_put(text, " ");
}

static void add_count(struct text *text, int count)
{
    if (count > 1)
        text_add(text, "\u00a0\u00d7%d", count);
}

/* "open_device, reg_mr x64", each verb where it came first. */
static void say_verbs(const struct explain *explain,
                      const struct explain_row *row, struct text *text)
{
    int counts[VF_VERB_COUNT] = {0};
    const char *comma = "";
    for (int i = row->first; i <= row->last; i++)
        if (explain->items[i].kind == EXPLAIN_CALL)
            counts[explain->items[i].verb]++;
    for (int i = row->first; i <= row->last; i++) {
        const struct explain_item *item = &explain->items[i];
        if (item->kind != EXPLAIN_CALL || counts[item->verb] == 0)
            continue;
        text_add(text, "%s%s", comma, vf_verb_name(item->verb));
        add_count(text, counts[item->verb]);
        counts[item->verb] = 0;
        comma = ", ";
    }
}

static void say_calls(const struct explain *explain,
                      const struct explain_row *row, struct text *text)
{
    const struct explain_item *first = &explain->items[row->first];
    bool one_verb = true;
    for (int i = row->first; i <= row->last; i++)
        one_verb = one_verb && (explain->items[i].kind != EXPLAIN_CALL ||
                                explain->items[i].verb == first->verb);
    add_number(explain, row, text);
    if (row->calls == 1 || (one_verb && row->style >= EXPLAIN_REFUSED)) {
        text_put(text, first->text);
        add_count(text, row->calls);
        return;
    }
    say_verbs(explain, row, text);
}

/* "sends 72 bytes to r1, r2" */
static void say_bytes(const struct explain *explain,
                      const struct explain_row *row, struct text *text)
{
    bool sent = explain->items[row->first].kind == EXPLAIN_SENT;
    long bytes[SCN_RANKS_MAX + 1] = {0}, sum = 0;
    const char *comma = "";
    for (int i = row->first; i <= row->last; i++)
        if (explain->items[i].kind == EXPLAIN_SENT ||
            explain->items[i].kind == EXPLAIN_RECEIVED) {
            bytes[explain->items[i].peer + 1] += explain->items[i].bytes;
            sum += explain->items[i].bytes;
        }
    text_add(text, "side channel: %s %ld %s %s ", sent ? "sends" : "receives",
             sum, sum == 1 ? "byte" : "bytes", sent ? "to" : "from");
    for (int i = 0; i <= SCN_RANKS_MAX; i++)
        if (bytes[i] > 0) {
            if (i == 0)
                text_add(text, "%sa stranger", comma);
            else
                text_add(text, "%sr%d", comma, i - 1);
            comma = ", ";
        }
    if (sum == 0)
        text_put(text, "nobody");
}

static void say_statement(const struct scn_statement *statement,
                          struct text *text)
{
    static struct scn one;
    char line[SCN_LINE_MAX];
    one.count = 1;
    one.statements[0] = *statement;
    one.statements[0].comment = NULL;
    scn_print(&one, line, sizeof line);
    line[strcspn(line, "\n")] = '\0';
    text_put(text, line);
}

static void say_begin(const struct explain *explain,
                      const struct explain_row *row, struct text *text)
{
    int statement = explain->items[row->first].statement;
    if (statement < 0)
        text_put(text, "the end: groups are ended, leaks are counted");
    else
        say_statement(&explain->scenario->statements[statement], text);
}

static void say_end(const struct explain *explain,
                    const struct explain_row *row, struct text *text)
{
    const struct explain_item *item = &explain->items[row->first];
    const struct sim_rank_result *rank = &explain->result.rank[item->rank];
    text_add(text, "%s", rank->title);
    if (rank->message[0])
        text_add(text, ": %s", rank->message);
}

static void say_channel(const struct explain *explain,
                        const struct explain_row *row, struct text *text)
{
    static const char *const words[] = {
        [SCN_CHANNEL_CLOSE] = "the side channel closes",
        [SCN_CHANNEL_SILENT] = "nothing of the side channel arrives any more",
        [SCN_CHANNEL_GARBLE] = "a byte of the side channel is inverted"};
    text_add(text, "%s (planned)", words[explain->items[row->first].statement]);
}

static void say_time(const struct explain *explain,
                     const struct explain_row *row, struct text *text)
{
    text_add(text, "everybody waits; it is now %.3f s",
             (double)explain->items[row->last].now / 1e9);
}

static void say(const struct explain *explain, struct explain_row *row)
{
    struct text text = {NULL, 0, 0};
    switch (explain->items[row->first].kind) {
    case EXPLAIN_CALL:
        say_calls(explain, row, &text);
        break;
    case EXPLAIN_FINDING:
        text_put(&text, explain->items[row->first].text);
        break;
    case EXPLAIN_SENT:
    case EXPLAIN_RECEIVED:
        say_bytes(explain, row, &text);
        break;
    case EXPLAIN_CHANNEL:
        say_channel(explain, row, &text);
        break;
    case EXPLAIN_BEGIN:
        say_begin(explain, row, &text);
        break;
    case EXPLAIN_END:
        say_end(explain, row, &text);
        break;
    case EXPLAIN_TIME:
        say_time(explain, row, &text);
        break;
    }
    row->text = text.at;
}

/* ---- rows ---------------------------------------------------------------- */

static enum explain_style style_of(const struct explain *explain, int number,
                                   enum class class)
{
    const struct explain_item *item = &explain->items[number];
    if (item->kind == EXPLAIN_FINDING || is_finding_of(explain, number))
        return EXPLAIN_WRONG;
    if (item->kind == EXPLAIN_TIME)
        return EXPLAIN_CLOCK;
    if (item->planned)
        return EXPLAIN_PLANNED;
    if (item->refused || item->kind == EXPLAIN_END)
        return EXPLAIN_REFUSED;
    if (class == CLASS_UNDO || item->undo)
        return EXPLAIN_UNDO;
    if (class == CLASS_BEGIN)
        return EXPLAIN_PHASE;
    return item->message || item->kind == EXPLAIN_SENT ||
                   item->kind == EXPLAIN_RECEIVED
               ? EXPLAIN_MESSAGE
               : EXPLAIN_PLAIN;
}

/* May the item be part of the last row? */
static bool joins(const struct explain *explain, const struct explain_row *row,
                  int number, enum class class, enum class last)
{
    const struct explain_item *item = &explain->items[number];
    const struct explain_item *first = &explain->items[row->first];
    if (class == CLASS_BEGIN && last == CLASS_BEGIN)
        return item->statement == first->statement;
    if (item->rank != row->rank)
        return false;
    /* The same call that fails in the same way again and again. */
    if (class == CLASS_ALONE)
        return last == CLASS_ALONE && !explain->all &&
               item->kind == EXPLAIN_CALL && first->kind == EXPLAIN_CALL &&
               item->verb == first->verb && item->planned == first->planned &&
               item->refused == first->refused &&
               !is_finding_of(explain, number) && row->style != EXPLAIN_WRONG &&
               strcmp(strstr(item->text, ") = "),
                      strstr(first->text, ") = ")) == 0;
    return class == last;
}

static void add_row(struct explain *explain, int number, enum class class)
{
    struct explain_row *row;
    explain->rows = text_grow(explain->rows, explain->row_count,
                              &explain->row_room, sizeof *explain->rows);
    row = &explain->rows[explain->row_count++];
    memset(row, 0, sizeof *row);
    row->rank = explain->items[number].rank;
    row->first = row->last = number;
    row->style = style_of(explain, number, class);
}

static void make_rows(struct explain *explain)
{
    enum class last = CLASS_NOTHING;
    int64_t now = 0;
    for (int i = 0; i < explain->count; i++) {
        struct explain_item *item = &explain->items[i];
        enum class class = class_of(explain, i);
        struct explain_row *row;
        if (item->kind == EXPLAIN_TIME) {
            if (item->now - now < SHORT_NS && !explain->all)
                class = CLASS_NOTHING;
            else
                now = item->now;
        }
        if (class == CLASS_NOTHING)
            continue;
        if (explain->row_count == 0 ||
            !joins(explain, &explain->rows[explain->row_count - 1], i, class,
                   last))
            add_row(explain, i, class);
        row = &explain->rows[explain->row_count - 1];
        row->last = i;
        row->calls += item->kind == EXPLAIN_CALL;
        if (row->style == EXPLAIN_PLAIN && item->message)
            row->style = EXPLAIN_MESSAGE;
        if (item->kind == EXPLAIN_BEGIN && item->rank != row->rank)
            row->rank = -1;
        last = class;
    }
}

/* ---- what is cut --------------------------------------------------------- */

static void keep_around(const struct explain *explain, bool *keep, int row,
                        int before, int after)
{
    for (int i = row - before; i <= row + after; i++)
        if (i >= 0 && i < explain->row_count)
            keep[i] = true;
}

static void choose(const struct explain *explain, bool *keep)
{
    int loud = 0;
    keep_around(explain, keep, 0, 0, KEEP_FIRST);
    keep_around(explain, keep, explain->row_count - 1, KEEP_LAST, 0);
    for (int i = 0; i < explain->row_count && loud < LOUD_MAX; i++)
        if (explain->rows[i].style >= EXPLAIN_REFUSED) {
            keep_around(explain, keep, i, loud ? 1 : KEEP_AROUND,
                        loud ? 2 : KEEP_AROUND);
            loud++;
        }
}

/* Rows first..last become one. */
static struct explain_row cut(struct explain *explain, int first, int last)
{
    struct explain_row row = explain->rows[first];
    struct text text = {NULL, 0, 0};
    row.rank = -1;
    row.style = EXPLAIN_CUT;
    row.last = explain->rows[last].last;
    row.calls = 0;
    for (int i = first; i <= last; i++) {
        row.calls += explain->rows[i].calls;
        free(explain->rows[i].text);
    }
    text_add(&text, "%d row%s with %d call%s %s left out here; --all has %s",
             last - first + 1, last > first ? "s" : "", row.calls,
             cli_s((unsigned long)row.calls), last > first ? "are" : "is",
             last > first ? "them" : "it");
    row.text = text.at;
    return row;
}

static void cut_rows(struct explain *explain)
{
    bool *keep;
    int count = 0;
    if (explain->all || explain->row_count <= ROWS_MAX)
        return;
    keep = calloc((size_t)explain->row_count, sizeof *keep);
    if (!keep)
        return;
    choose(explain, keep);
    for (int i = 0; i < explain->row_count;) {
        int end = i;
        while (end < explain->row_count && !keep[end])
            end++;
        if (end > i + 1)
            explain->rows[count++] = cut(explain, i, end - 1);
        else
            explain->rows[count++] = explain->rows[end = i];
        i = end > i + 1 ? end : i + 1;
    }
    explain->row_count = count;
    free(keep);
}

/* ---- arrows -------------------------------------------------------------- */

static void place_items(struct explain *explain)
{
    for (int i = 0; i < explain->row_count; i++)
        if (explain->rows[i].style != EXPLAIN_CUT)
            for (int k = explain->rows[i].first; k <= explain->rows[i].last;
                 k++)
                explain->items[k].row = i;
}

static void make_arrows(struct explain *explain)
{
    for (int i = 0; i < explain->message_count; i++) {
        const struct explain_message *message = &explain->messages[i];
        int from = explain->items[message->from].row;
        int to = explain->items[message->to].row, k;
        struct explain_arrow *arrow;
        if (from < 0 || to < 0 || from >= to)
            continue;
        for (k = explain->arrow_count - 1;
             k >= 0 && explain->arrows[k].to == to; k--)
            if (explain->arrows[k].from == from &&
                explain->arrows[k].channel == message->channel)
                break;
        if (k < 0 || explain->arrows[k].to != to) {
            explain->arrows =
                text_grow(explain->arrows, explain->arrow_count,
                          &explain->arrow_room, sizeof *explain->arrows);
            k = explain->arrow_count++;
            explain->arrows[k] =
                (struct explain_arrow){from, to, 0, 0, message->channel};
        }
        arrow = &explain->arrows[k];
        arrow->count++;
        arrow->bytes += message->bytes;
    }
}

void explain_fold(struct explain *explain)
{
    make_rows(explain);
    for (int i = 0; i < explain->row_count; i++)
        say(explain, &explain->rows[i]);
    cut_rows(explain);
    place_items(explain);
    make_arrows(explain);
}
