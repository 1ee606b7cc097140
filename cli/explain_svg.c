/*
 * A run as a picture: SVG that needs nothing from outside.
 *
 * Lanes on the left, what a rank did beside them on the right, in one column,
 * so that two ranks and eight are read in the same way. Colours follow the
 * reader's light or dark; each kind of row has a shape of its own, too. Text
 * stays text. Every mark has a <title> with the calls behind it.
 */
#include "cli/explain_svg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN 16
#define LINE 16       /* height of a line of text */
#define ROW 22        /* of a row's first line */
#define COLUMNS 96    /* of text beside the lanes */
#define CHARACTER 7.3 /* width of one */
#define TITLE_LINES 40

struct picture {
    const struct explain *explain;
    struct text *text;
    int spacing; /* of lanes */
    int beside;  /* where text begins */
    int width;
    int *top; /* of each row; one more: the bottom */
};

static const struct {
    const char *class, *legend;
} styles[EXPLAIN_STYLES] = {
    [EXPLAIN_PLAIN] = {"plain", "calls that went well"},
    [EXPLAIN_PHASE] = {"phase", NULL},
    [EXPLAIN_CLOCK] = {"clock", NULL},
    [EXPLAIN_CUT] = {"clock", NULL},
    [EXPLAIN_MESSAGE] = {"message", "sends or receives"},
    [EXPLAIN_UNDO] = {"undo", "undo: released after the trouble"},
    [EXPLAIN_REFUSED] = {"refused", "failed, or answered with an error"},
    [EXPLAIN_PLANNED] = {"planned", "planned fault"},
    [EXPLAIN_WRONG] = {"wrong", "finding"},
};

static const char *const css[] = {
    ".vf{color-scheme:light dark;--bg:#fff;--fg:#1c1e21;--muted:#5f6368;",
    "--lane:#b9bec5;--hover:#eef2f7;--wrong:#b3261e;--planned:#8a5a00;",
    "--refused:#9a4b00;--undo:#00695c;--message:#1a56b0}\n",
    "@media (prefers-color-scheme:dark){.vf{--bg:#16181c;--fg:#e4e6ea;",
    "--muted:#a0a6ad;--lane:#4d535b;--hover:#23272e;--wrong:#ff8a80;",
    "--planned:#f2b84b;--refused:#ffab70;--undo:#5fd0c0;",
    "--message:#8ab4f8}}\n",
    "svg.vf text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,",
    "\"DejaVu Sans Mono\",monospace;fill:var(--fg);white-space:pre}\n",
    "svg.vf .bg{fill:var(--bg)}\n",
    "svg.vf text.h{font-weight:bold}svg.vf text.t{font-size:16px;",
    "font-weight:bold}\n",
    "svg.vf .m,svg.vf .clock text,svg.vf .phase text{fill:var(--muted)}\n",
    "svg.vf .lane{stroke:var(--lane);stroke-width:2}\n",
    "svg.vf .rule{stroke:var(--lane);stroke-dasharray:2 4}\n",
    "svg.vf .hit{fill:transparent}svg.vf .row:hover .hit{fill:var(--hover)}\n",
    "svg.vf .mark{stroke-width:2;fill:var(--bg);stroke:var(--muted)}\n",
    "svg.vf .message .mark{stroke:var(--message);fill:var(--message)}\n",
    "svg.vf .undo .mark{stroke:var(--undo)}\n",
    "svg.vf .undo text{fill:var(--undo)}\n",
    "svg.vf .refused .mark{stroke:var(--refused)}\n",
    "svg.vf .refused text{fill:var(--refused)}\n",
    "svg.vf .planned .mark{stroke:var(--planned);fill:var(--planned)}\n",
    "svg.vf .planned text{fill:var(--planned);font-weight:bold}\n",
    "svg.vf .wrong .mark{stroke:var(--wrong);stroke-width:3}\n",
    "svg.vf .wrong text{fill:var(--wrong);font-weight:bold}\n",
    "svg.vf .arrow{stroke:var(--message);stroke-width:1.5;fill:none}\n",
    "svg.vf .channel{stroke:var(--muted);stroke-width:1.2;",
    "stroke-dasharray:4 3}\n",
    "svg.vf .tip{fill:var(--message)}svg.vf .channel-tip{fill:var(--muted)}\n",
};

void explain_css(struct text *text)
{
    for (size_t i = 0; i < sizeof css / sizeof css[0]; i++)
        text_put(text, css[i]);
}

/* ---- lines of text ------------------------------------------------------- */

/* Bytes of the next line: at a blank, if there is one. */
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

static int count_lines(const char *words, int columns)
{
    int lines = 0;
    while (*words) {
        words += next_line(words, columns);
        words += strspn(words, " ");
        lines++;
    }
    return lines ? lines : 1;
}

/* Returns where the next one would be. */
static int put_words(const struct picture *picture, int x, int y, int columns,
                     const char *class, const char *words)
{
    text_add(picture->text, "<text class=\"%s\">", class);
    while (*words) {
        size_t length = next_line(words, columns);
        text_add(picture->text, "<tspan x=\"%d\" y=\"%d\">", x, y);
        text_html_n(picture->text, words, length);
        text_put(picture->text, "</tspan>");
        words += length;
        words += strspn(words, " ");
        y += LINE;
    }
    text_put(picture->text, "</text>\n");
    return y;
}

static int put_lines(const struct picture *picture, int y, const char *class,
                     const char *lines)
{
    while (lines && *lines) {
        size_t length = strcspn(lines, "\n");
        struct text line = {NULL, 0, 0};
        text_put_n(&line, lines, length);
        if (length == 0)
            y += LINE;
        y = put_words(picture, MARGIN, y,
                      (int)((picture->width - 2 * MARGIN) / CHARACTER), class,
                      line.at);
        free(line.at);
        lines += length + (lines[length] == '\n');
    }
    return y;
}

/* ---- rows ---------------------------------------------------------------- */

static int lane_x(const struct picture *picture, int rank)
{
    return MARGIN + picture->spacing / 2 + rank * picture->spacing;
}

static int mark_y(const struct picture *picture, int row)
{
    return picture->top[row] + ROW / 2;
}

static void row_words(const struct picture *picture, int row,
                      struct text *words)
{
    text_put(words, picture->explain->rows[row].text);
    explain_arrows_of(picture->explain, row, words);
}

/* The shape tells the style where colours do not. */
void explain_mark(enum explain_style style, int x, int y, struct text *text)
{
    switch (style) {
    case EXPLAIN_PLAIN:
        text_add(text, "<circle class=\"mark\" cx=\"%d\" cy=\"%d\" r=\"4\"/>",
                 x, y);
        break;
    case EXPLAIN_MESSAGE:
        text_add(text, "<circle class=\"mark\" cx=\"%d\" cy=\"%d\" r=\"5\"/>",
                 x, y);
        break;
    case EXPLAIN_UNDO:
        text_add(text,
                 "<rect class=\"mark\" x=\"%d\" y=\"%d\" width=\"9\" "
                 "height=\"9\"/>",
                 x - 4, y - 4);
        break;
    case EXPLAIN_REFUSED:
        text_add(text, "<path class=\"mark\" d=\"M%d %dl6 11h-12z\"/>", x,
                 y - 7);
        break;
    case EXPLAIN_PLANNED:
        text_add(text, "<path class=\"mark\" d=\"M%d %dl7 7l-7 7l-7 -7z\"/>", x,
                 y - 7);
        break;
    case EXPLAIN_WRONG:
        text_add(text, "<path class=\"mark\" d=\"M%d %dl12 12m0 -12l-12 12\"/>",
                 x - 6, y - 6);
        break;
    case EXPLAIN_PHASE:
    case EXPLAIN_CLOCK:
    case EXPLAIN_CUT:
    case EXPLAIN_STYLES:
        text_add(text, "<path class=\"mark\" d=\"M%d %dh12\"/>", x - 6, y);
        break;
    }
}

/* The calls behind a mark. */
static void put_title(const struct picture *picture, int number)
{
    const struct explain *explain = picture->explain;
    const struct explain_row *row = &explain->rows[number];
    int lines = 0, left = 0;
    text_put(picture->text, "<title>");
    if (row->rank >= 0)
        text_add(picture->text, "rank %d: ", row->rank);
    text_html(picture->text, row->text);
    for (int i = row->first;
         i <= row->last && row->calls > 1 && row->style != EXPLAIN_CUT; i++) {
        const struct explain_item *item = &explain->items[i];
        if (item->kind != EXPLAIN_CALL)
            continue;
        if (lines++ >= TITLE_LINES) {
            left++;
            continue;
        }
        text_add(picture->text, "\n#%u ", item->number);
        text_html(picture->text, item->text);
    }
    if (left > 0)
        text_add(picture->text, "\nand %d more", left);
    text_put(picture->text, "</title>");
}

static void put_row(const struct picture *picture, int number)
{
    const struct explain_row *row = &picture->explain->rows[number];
    struct text words = {NULL, 0, 0};
    int y = mark_y(picture, number);
    row_words(picture, number, &words);
    text_add(picture->text, "<g class=\"row %s\">", styles[row->style].class);
    put_title(picture, number);
    text_add(picture->text,
             "<rect class=\"hit\" x=\"0\" y=\"%d\" width=\"%d\" "
             "height=\"%d\"/>",
             picture->top[number], picture->width,
             picture->top[number + 1] - picture->top[number]);
    if (row->rank < 0) {
        text_add(picture->text, "<path class=\"rule\" d=\"M%d %dH%d\"/>",
                 MARGIN, y, picture->beside - 10);
    } else {
        explain_mark(row->style, lane_x(picture, row->rank), y, picture->text);
        text_add(picture->text,
                 "<text class=\"m\" x=\"%d\" y=\"%d\">r%d</text>",
                 picture->beside, y + 4, row->rank);
    }
    put_words(picture, picture->beside + 28, y + 4, COLUMNS,
              row->style == EXPLAIN_PHASE ? "h" : "w", words.at);
    text_put(picture->text, "</g>\n");
    free(words.at);
}

/* ---- lanes and arrows ---------------------------------------------------- */

static int last_row(const struct explain *explain, int rank)
{
    int last = 0;
    for (int i = 0; i < explain->row_count; i++)
        for (int k = explain->rows[i].first; k <= explain->rows[i].last; k++)
            if (explain->items[k].rank == rank)
                last = i;
    return last;
}

static void put_lanes(const struct picture *picture, int top)
{
    const struct explain *explain = picture->explain;
    for (int i = 0; i < explain->result.ranks; i++) {
        int x = lane_x(picture, i);
        int bottom =
            explain->row_count ? mark_y(picture, last_row(explain, i)) : top;
        text_add(picture->text,
                 "<text class=\"h\" x=\"%d\" y=\"%d\" "
                 "text-anchor=\"middle\">%s%d</text>\n"
                 "<path class=\"lane\" d=\"M%d %dV%d\"/>\n",
                 x, top - 6, picture->spacing < 60 ? "r" : "rank ", i, x, top,
                 bottom);
    }
}

/* A line from mark to mark, and a tip: markers would need ids, and two
 * pictures on one page would share them. */
static void put_arrow(const struct picture *picture,
                      const struct explain_arrow *arrow)
{
    const struct explain_row *from = &picture->explain->rows[arrow->from];
    const struct explain_row *to = &picture->explain->rows[arrow->to];
    int x = lane_x(picture, from->rank), y = mark_y(picture, arrow->from);
    int tip = lane_x(picture, to->rank), low = mark_y(picture, arrow->to);
    int side = tip > x ? 1 : tip < x ? -1 : 0;
    text_add(picture->text, "<g><title>%s from rank %d to rank %d, %ld byte%s",
             arrow->channel ? "side channel" : "message", from->rank, to->rank,
             arrow->bytes, cli_s((unsigned long)arrow->bytes));
    if (arrow->count > 1)
        text_add(picture->text, " in %d", arrow->count);
    text_add(picture->text,
             "</title><path class=\"arrow%s\" d=\"M%d %dL%d %dL%d %d\"/>",
             arrow->channel ? " channel" : "", x + 6 * side, y, tip - 18 * side,
             low, tip - 12 * side, low);
    text_add(picture->text, "<path class=\"%s\" d=\"M%d %dl%d -4v8z\"/></g>\n",
             arrow->channel ? "channel-tip" : "tip", tip - 6 * side, low,
             -8 * side);
}

static void put_arrows(const struct picture *picture)
{
    for (int channel = 1; channel >= 0; channel--)
        for (int i = 0; i < picture->explain->arrow_count; i++)
            if (picture->explain->arrows[i].channel == (channel == 1))
                put_arrow(picture, &picture->explain->arrows[i]);
}

/* ---- the whole ----------------------------------------------------------- */

static int legend_rows(void)
{
    int rows = 0;
    for (int i = 0; i < EXPLAIN_STYLES; i++)
        rows += styles[i].legend != NULL;
    return (rows + 2 + 2) / 3; /* and the two arrows */
}

static void put_legend(const struct picture *picture, int y)
{
    int step = (picture->width - 2 * MARGIN) / 3, place = 0;
    for (int i = 0; i < EXPLAIN_STYLES + 2; i++) {
        int x = MARGIN + place % 3 * step, line = y + place / 3 * ROW;
        const char *words;
        if (i < EXPLAIN_STYLES && !styles[i].legend)
            continue;
        if (i < EXPLAIN_STYLES) {
            text_add(picture->text, "<g class=\"%s\">", styles[i].class);
            explain_mark((enum explain_style)i, x + 8, line, picture->text);
            words = styles[i].legend;
        } else {
            bool channel = i > EXPLAIN_STYLES;
            text_add(picture->text,
                     "<g><path class=\"arrow%s\" d=\"M%d %dh14\"/>"
                     "<path class=\"%s\" d=\"M%d %dl-8 -4v8z\"/>",
                     channel ? " channel" : "", x - 4, line,
                     channel ? "channel-tip" : "tip", x + 18, line);
            words = channel ? "bytes of the side channel"
                            : "a SEND to its receive's completion";
        }
        text_add(picture->text, "<text x=\"%d\" y=\"%d\">%s</text></g>\n",
                 x + 26, line + 4, words);
        place++;
    }
}

static int put_head(const struct picture *picture, int y)
{
    const struct explain *explain = picture->explain;
    struct text words = {NULL, 0, 0};
    text_add(&words, "%s%s%s", scn_outcome_name(explain->result.outcome),
             explain->result.title[0] ? ": " : "", explain->result.title);
    y = put_words(picture, MARGIN, y + 8, 110, "t", words.at) + 4;
    words.length = 0;
    text_add(&words, "%s on %s", explain->name, explain->subject->name);
    y = put_words(picture, MARGIN, y, 120, "m", words.at);
    words.length = 0;
    text_put(&words, "");
    explain_plan(explain, &words);
    y = put_lines(picture, y + 4, "w", words.at) + LINE;
    y = put_words(picture, MARGIN, y, 100, "h", "Scenario");
    words.length = 0;
    explain_scenario(explain, &words);
    y = put_lines(picture, y, "m", words.at) + 6;
    free(words.at);
    return y;
}

static int put_ends(const struct picture *picture, int y)
{
    for (int i = 0; i < picture->explain->result.ranks; i++) {
        struct text words = {NULL, 0, 0};
        text_add(&words, "rank %d: ", i);
        explain_outcome(picture->explain, i, &words);
        y = put_lines(picture, y, "h", words.at);
        words.length = 0;
        explain_balance(picture->explain, i, &words);
        y = put_lines(picture, y, "m", words.at) + 4;
        free(words.at);
    }
    if (picture->explain->result.broken[0]) {
        struct text words = {NULL, 0, 0};
        text_add(&words, "broken promise: %s", picture->explain->result.broken);
        y = put_lines(picture, y, "h", words.at);
        free(words.at);
    }
    return y;
}

static void place_rows(struct picture *picture, int y)
{
    for (int i = 0; i < picture->explain->row_count; i++) {
        struct text words = {NULL, 0, 0};
        row_words(picture, i, &words);
        picture->top[i] = y;
        y += ROW + LINE * (count_lines(words.at, COLUMNS) - 1);
        free(words.at);
    }
    picture->top[picture->explain->row_count] = y;
}

/* Everything but the <svg> around it; returns the height. */
static int put_all(struct picture *picture, bool inside)
{
    int y = MARGIN;
    if (!inside)
        y = put_head(picture, y);
    put_legend(picture, y + 10);
    y += legend_rows() * ROW + 34;
    place_rows(picture, y);
    put_lanes(picture, y);
    put_arrows(picture);
    for (int i = 0; i < picture->explain->row_count; i++)
        put_row(picture, i);
    y = picture->top[picture->explain->row_count] + LINE;
    return inside ? y : put_ends(picture, y + LINE);
}

void explain_svg(const struct explain *explain, bool inside, struct text *text)
{
    struct text body = {NULL, 0, 0};
    struct picture picture = {.explain = explain, .text = &body};
    int height, room = 0;
    picture.spacing = explain->result.ranks <= 4 ? 84 : 46;
    picture.beside = MARGIN + explain->result.ranks * picture.spacing + 8;
    picture.width = picture.beside + 28 + (int)(COLUMNS * CHARACTER) + MARGIN;
    picture.top =
        text_grow(NULL, explain->row_count, &room, sizeof *picture.top);
    height = put_all(&picture, inside);
    text_add(text,
             "<svg class=\"vf\" xmlns=\"http://www.w3.org/2000/svg\" "
             "role=\"group\" width=\"%d\" height=\"%d\" "
             "viewBox=\"0 0 %d %d\">\n<title>",
             picture.width, height, picture.width, height);
    text_html(text, explain->name);
    text_add(text, " on %s: what the ranks did, from top to bottom</title>\n",
             explain->subject->name);
    if (!inside) {
        text_put(text, "<style>\n");
        explain_css(text);
        text_put(text, "</style>\n");
    }
    text_put(text, "<rect class=\"bg\" x=\"0\" y=\"0\" width=\"100%\" "
                   "height=\"100%\"/>\n");
    text_put(text, body.at);
    text_put(text, "</svg>\n");
    free(body.at);
    free(picture.top);
}
