/*
 * A run as text: a column for each rank, and beside it what the rank did.
 *
 *   r0 r1
 *   |  o  #1-71 get_device_list, open_device, reg_mr x64
 *   !  |  #8 reg_mr(pd=1, len=4096, access=0x7) = NULL ENOMEM (planned)
 *
 * It is put together in box drawing characters, and turned to ASCII at the end
 * where those cannot be shown.
 */
#include "cli/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LANE 3      /* columns of a rank */
#define TEXT_MIN 36 /* columns of what is beside them */

struct drawing {
    const struct explain *explain;
    int width;
    bool colour;
    int ends[SCN_RANKS_MAX]; /* the last row of a rank */
    struct text *text;
};

static const struct {
    const char *mark, *colour, *legend;
} styles[EXPLAIN_STYLES] = {
    [EXPLAIN_PLAIN] = {"\u25cb", "", "calls"},
    [EXPLAIN_PHASE] = {"\u2500", "\033[2m", NULL},
    [EXPLAIN_CLOCK] = {"\u250a", "\033[2m", NULL},
    [EXPLAIN_CUT] = {"\u250a", "\033[2m", NULL},
    [EXPLAIN_MESSAGE] = {"\u25cf", "\033[34m", "sends or receives"},
    [EXPLAIN_UNDO] = {"\u21a9", "\033[36m", "undo"},
    [EXPLAIN_REFUSED] = {"\u00d7", "\033[33m", "failed"},
    [EXPLAIN_PLANNED] = {"!", "\033[1;33m", "planned fault"},
    [EXPLAIN_WRONG] = {"\u2717", "\033[1;31m", "finding"},
};

static void colour(const struct drawing *drawing, const char *sequence)
{
    if (drawing->colour && *sequence)
        text_put(drawing->text, sequence);
}

/* ---- the lanes ----------------------------------------------------------- */

/* The lanes that send to this row, a bit for each. */
static unsigned senders(const struct explain *explain, int row)
{
    unsigned ranks = 0;
    for (int i = 0; i < explain->arrow_count; i++)
        if (explain->arrows[i].to == row)
            ranks |= 1u << explain->rows[explain->arrows[i].from].rank;
    return ranks;
}

static bool is_over(const struct drawing *drawing, int rank, int row)
{
    return row > drawing->ends[rank];
}

/* One lane of a row, and what is between it and the next. from, to: the
 * outermost lanes that its arrows touch. */
static void put_lane(const struct drawing *drawing, int number, int rank,
                     unsigned ranks, int from, int to)
{
    const struct explain_row *row = &drawing->explain->rows[number];
    bool over = is_over(drawing, rank, number);
    bool inside = ranks && rank >= from && rank <= to;
    const char *lane = over ? " " : "\u2502", *gap = "  ";
    if (row->rank == rank || (row->rank < 0 && !over)) {
        colour(drawing, styles[row->style].colour);
        text_put(drawing->text, styles[row->style].mark);
        colour(drawing, *styles[row->style].colour ? "\033[0m" : "");
    } else {
        if (inside && ranks >> rank & 1)
            lane = rank < row->rank ? "\u251c" : "\u2524";
        else if (inside)
            lane = over ? "\u2500" : "\u253c";
        text_put(drawing->text, lane);
    }
    if (ranks && rank >= from && rank < to) {
        gap = "\u2500\u2500";
        if (rank + 1 == row->rank)
            gap = "\u2500\u25b6";
        if (rank == row->rank)
            gap = "\u25c0\u2500";
    }
    text_put(drawing->text, gap);
}

static void put_lanes(const struct drawing *drawing, int row)
{
    unsigned ranks = senders(drawing->explain, row);
    int from = drawing->explain->rows[row].rank, to = from;
    for (int i = 0; i < drawing->explain->result.ranks; i++)
        if (ranks >> i & 1) {
            from = i < from ? i : from;
            to = i > to ? i : to;
        }
    for (int i = 0; i < drawing->explain->result.ranks; i++)
        put_lane(drawing, row, i, ranks, from, to);
}

/* Beside the second line of a row, and the following ones. */
static void put_lanes_below(const struct drawing *drawing, int row)
{
    for (int i = 0; i < drawing->explain->result.ranks; i++)
        text_put(drawing->text,
                 is_over(drawing, i, row + 1) ? "   " : "\u2502  ");
}

/* ---- lines --------------------------------------------------------------- */

/* Bytes of the next line that has so many columns at most: up to a blank, if
 * there is one. */
static size_t next_line(const char *words, int columns)
{
    size_t length = 0, blank = 0;
    for (int i = 0; words[length] && i < columns; i++) {
        if (words[length] == ' ')
            blank = length;
        length++;
        while (((unsigned char)words[length] & 0xc0) == 0x80)
            length++;
    }
    return words[length] && blank > 0 && words[length] != ' ' ? blank : length;
}

static void put_row(const struct drawing *drawing, int number)
{
    const struct explain_row *row = &drawing->explain->rows[number];
    int beside = drawing->width - LANE * drawing->explain->result.ranks - 1;
    struct text words = {NULL, 0, 0};
    const char *at;
    bool first = true;
    text_put(&words, row->text);
    explain_arrows_of(drawing->explain, number, &words);
    for (at = words.at; *at; first = false) {
        size_t length =
            next_line(at, first || beside <= TEXT_MIN ? beside : beside - 2);
        if (first)
            put_lanes(drawing, number);
        else
            put_lanes_below(drawing, number);
        text_put(drawing->text, first ? " " : "   ");
        colour(drawing, styles[row->style].colour);
        text_put_n(drawing->text, at, length);
        colour(drawing, *styles[row->style].colour ? "\033[0m" : "");
        text_put(drawing->text, "\n");
        at += length;
        at += strspn(at, " ");
    }
    free(words.at);
}

/* Words with a left margin; what follows the first line has more of it. */
static void put_words(const struct drawing *drawing, int margin, int more,
                      const char *words)
{
    bool first = true;
    while (*words) {
        int left = first ? margin : margin + more;
        size_t length = next_line(words, drawing->width - left);
        text_add(drawing->text, "%*s%.*s\n", left, "", (int)length, words);
        words += length;
        words += strspn(words, " ");
        first = false;
    }
}

static void put_lines(const struct drawing *drawing, int margin,
                      const struct text *lines)
{
    for (const char *at = lines->at; at && *at;) {
        size_t length = strcspn(at, "\n");
        struct text line = {NULL, 0, 0};
        text_put_n(&line, at, length);
        put_words(drawing, margin, 2, line.at);
        free(line.at);
        at += length + (at[length] == '\n');
    }
}

/* ---- the whole ----------------------------------------------------------- */

static void put_head(const struct drawing *drawing)
{
    const struct explain *explain = drawing->explain;
    struct text text = {NULL, 0, 0};
    text_add(&text, "%s on %s: %s%s%s\n", explain->name, explain->subject->name,
             scn_outcome_name(explain->result.outcome),
             explain->result.title[0] ? ": " : "", explain->result.title);
    put_lines(drawing, 0, &text);
    text.length = 0;
    explain_scenario(explain, &text);
    text_put(drawing->text, "\nScenario\n");
    put_lines(drawing, 2, &text);
    text.length = 0;
    text_put(&text, "");
    explain_plan(explain, &text);
    if (text.length > 0) {
        text_put(drawing->text, "\nWhat is planned to go wrong\n");
        put_lines(drawing, 2, &text);
    }
    free(text.at);
}

static void put_legend(const struct drawing *drawing)
{
    int columns = 0;
    for (int i = 0; i < EXPLAIN_STYLES; i++)
        if (styles[i].legend) {
            int more = 5 + text_columns(styles[i].legend);
            if (columns + more > drawing->width) {
                text_put(drawing->text, "\n");
                columns = 0;
            }
            text_put(drawing->text, columns ? "   " : "");
            columns += more;
            colour(drawing, styles[i].colour);
            text_put(drawing->text, styles[i].mark);
            colour(drawing, *styles[i].colour ? "\033[0m" : "");
            text_add(drawing->text, " %s", styles[i].legend);
        }
    text_put(drawing->text, "\n");
}

static void put_ends(const struct drawing *drawing)
{
    const struct explain *explain = drawing->explain;
    text_put(drawing->text, "\nWhat became of the ranks\n");
    for (int i = 0; i < explain->result.ranks; i++) {
        struct text text = {NULL, 0, 0};
        text_add(&text, "r%d %s", i,
                 scn_outcome_name(explain->result.rank[i].outcome));
        text.length = 0;
        text_add(&text, "r%d  ", i);
        explain_outcome(explain, i, &text);
        put_words(drawing, 2, 4, text.at);
        text.length = 0;
        explain_balance(explain, i, &text);
        put_words(drawing, 6, 2, text.at);
        free(text.at);
    }
    if (explain->result.partial[0])
        put_words(drawing, 2, 4, explain->result.partial);
    if (explain->result.broken[0])
        text_add(drawing->text, "  broken promise: %s\n",
                 explain->result.broken);
}

/* Blanks that a line is not broken at were for this file only. */
static void put_fancy(struct text *to, const char *from)
{
    for (const char *at = strstr(from, "\u00a0"); at;
         from = at + 2, at = strstr(from, "\u00a0")) {
        text_put_n(to, from, (size_t)(at - from));
        text_put(to, " ");
    }
    text_put(to, from);
}

/* ASCII for each of the characters that are used here; `?` for others. */
static void put_plain(struct text *to, const char *from)
{
    static const struct {
        const char *character, *plain;
    } table[] = {
        {"\u25cb", "o"}, {"\u25cf", "*"}, {"\u21a9", "u"},  {"\u00d7", "x"},
        {"\u2717", "X"}, {"\u2502", "|"}, {"\u2500", "-"},  {"\u251c", "+"},
        {"\u2524", "+"}, {"\u253c", "+"}, {"\u25b6", ">"},  {"\u25c0", "<"},
        {"\u250a", ":"}, {"\u00a0", " "}, {"\u2192", "->"}, {"\u2190", "<-"}};
    while (*from) {
        size_t n = sizeof table / sizeof table[0], i;
        for (i = 0; i < n; i++)
            if (strncmp(from, table[i].character, strlen(table[i].character)) ==
                0)
                break;
        if (i < n) {
            text_put(to, table[i].plain);
            from += strlen(table[i].character);
        } else if ((unsigned char)*from < 0x80) {
            text_put_n(to, from++, 1);
        } else {
            text_put(to, "?");
            from++;
            while (((unsigned char)*from & 0xc0) == 0x80)
                from++;
        }
    }
}

static void find_ends(struct drawing *drawing)
{
    const struct explain *explain = drawing->explain;
    for (int i = 0; i < SCN_RANKS_MAX; i++)
        drawing->ends[i] = -1;
    for (int i = 0; i < explain->row_count; i++)
        for (int k = explain->rows[i].first; k <= explain->rows[i].last; k++)
            if (explain->items[k].rank >= 0)
                drawing->ends[explain->items[k].rank] = i;
}

void explain_text(const struct explain *explain, int width, bool fancy,
                  bool coloured, struct text *text)
{
    struct text own = {NULL, 0, 0};
    struct drawing drawing = {
        .explain = explain, .colour = coloured, .text = &own};
    int lanes = LANE * explain->result.ranks + 1;
    drawing.width = width > lanes + TEXT_MIN ? width : lanes + TEXT_MIN;
    find_ends(&drawing);
    put_head(&drawing);
    text_put(&own, "\nWhat happened, from top to bottom\n");
    put_legend(&drawing);
    text_put(&own, "\n");
    for (int i = 0; i < explain->result.ranks; i++)
        text_add(&own, "r%d ", i);
    text_put(&own, "\n");
    for (int i = 0; i < explain->row_count; i++)
        put_row(&drawing, i);
    put_ends(&drawing);
    if (fancy)
        put_fancy(text, own.at);
    else
        put_plain(text, own.at);
    free(own.at);
}
