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
 * string and every kind of run once, and a statement or a sentence with `#` in
 * place of the number of the call. Its script (page_script.c) makes the details
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

/* Every string once; its number is its place. */
struct page_strings {
    char **at;
    int count, room;
    int *table; /* of numbers + 1, by hash */
    int table_size;
};

struct page {
    struct text totals;      /* HTML */
    struct text data;        /* JSON */
    int parts, points, runs; /* runs: of the last point */
    bool closed;             /* the last point's list of first faults */
    struct page_strings strings;
    struct page_strings kinds; /* of runs: what page_run() says, as JSON */
    size_t message_bytes;      /* of the strings: messages of runs */
};

void page_begin(struct page *page);
void page_part(struct page *page, const struct page_part *part);
/* number: the call, or the bytes before; label: of its row. */
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

/* page_script.c */
void page_style(struct text *text);
void page_script(struct text *text);

#endif
