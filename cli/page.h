/*
 * page.h: a sweep as one page that people look at.
 *
 * The page is one file without anything from outside. At its top stand totals,
 * for each subject and scenario, outcome and title. Below them is a MAP: for
 * each rank a row for each verb, a cell for each of its calls, with the letter
 * and the colour of the worst that became of any run there. A cell opens the
 * list of its runs: what went wrong, what became of it, the scenario, and the
 * command that repeats it.
 *
 * Five thousand runs say much the same, so the page holds data, not text: every
 * string once, a statement or a sentence with `#` in place of the number of the
 * call, and what belongs to one map in a block of its own (page_map.h). Its
 * script (page_script.c) draws a map when it is opened, and makes the details
 * when they are asked for. Totals and legend are there without it.
 *
 *   struct page page = {0};
 *   page_begin(&page);
 *   page_part(&page, &part);  then for each point page_point(), and
 *   page_run() for each of its runs
 *   page_end(&page, path)
 */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include "cli/page_map.h"
#include "cli/page_strings.h"
#include "cli/text.h"
#include "sim/sweep.h"

/* One subject on one scenario. */
struct page_part {
    const char *subject, *scenario; /* a name, or a command; a path or words */
    const char *text;               /* of the scenario, without the fault */
    const char *replay;  /* a command that reads the scenario from its standard
                            input */
    const char *explain; /* likewise; NULL: there is none */
    int depth;
    bool programs;                    /* real ones */
    const struct sweep_tally *totals; /* sorted */
    int points, done;                 /* of the sweep */
    unsigned long unreached;          /* runs that never came to their fault */
};

struct page {
    struct text totals; /* HTML */
    struct text heads;  /* JSON: of the maps, all but their points */
    struct text maps;   /* HTML: the points, as scripts */
    int parts;
    struct page_map map; /* of the last part */
    struct page_strings strings;
    size_t message_bytes; /* of the messages of runs */
};

void page_begin(struct page *page);
void page_part(struct page *page, const struct page_part *part);
/* number: the call, or the bytes before; label: of its row; name: for a point
 * that these do not name, NULL for others. */
void page_point(struct page *page, int rank, const char *label, int number,
                const char *name);
/* scenario: with the fault in it, its first `own` statements without; NULL:
 * what goes wrong is not said in a sentence. second: a sum of runs with second
 * faults; these come after all others. reached: false where the run never came
 * to its fault. */
void page_run(struct page *page, const struct sweep_entry *entry,
              const struct scn *scenario, int own, bool second, bool reached);
/* Writes it (NULL: does not) and frees all: CLI_FINE, or CLI_ENVIRONMENT after
 * a line. */
int page_end(struct page *page, const char *path);

/* page_style.c, page_script.c */
void page_style(struct text *text);
void page_script(struct text *text);

#endif
