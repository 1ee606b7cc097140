/*
 * page_map.h: the data of one map of a page, as its script reads them.
 *
 * A sweep of all subjects has a hundred thousand points and more runs, and
 * nobody looks at most of them: so a map's data are a block of JSON of their
 * own, which is read when the map is opened. And what lies beside each other is
 * much the same, so all is there once:
 *
 *   messages  [template, "17 64"]: what stands for each `#` of the template
 *   kinds     of runs: [outcome, broken promise, title, message, statements,
 *             sentence, how many]
 *   lists     of kinds; list 0 is empty
 *   rows      [rank, label, spans], in the order of the sweep
 *   spans     [number, how many, runs, more runs, name]: points one after the
 *             other with the same runs (lists). `more` may be missing if it is
 *             list 0, and so may the name.
 *
 * Title, template, statements, sentence, label and name are numbers of the
 * page's strings, message, runs and kinds such of the map.
 *
 *   struct page_map map;
 *   page_map_begin(&map);
 *   for each point page_map_point(), and for each of its runs page_map_run()
 *   page_map_end(&map, text)
 */
#ifndef CLI_PAGE_MAP_H
#define CLI_PAGE_MAP_H

#include <stdbool.h>

#include "cli/page_strings.h"
#include "cli/text.h"

#define PAGE_NO_NAME (-1)

/* One point, or several. */
struct page_span {
    int first, count, name;
    int runs[2]; /* lists: those of the point, and more */
};

struct page_map {
    struct page_strings messages, kinds, lists;
    struct text rows; /* JSON */
    int rank, label;  /* of the last row */
    int row_count, span_count;
    struct page_span span;  /* not written yet */
    struct page_span point; /* likewise; count 0: there is none */
    struct text runs[2];    /* of the point */
};

void page_map_begin(struct page_map *map);
/* number: the call, or the bytes before; name: a string, or PAGE_NO_NAME. */
void page_map_point(struct page_map *map, int rank, int label, int number,
                    int name);
/* kind: as JSON, with the message's number in it. */
void page_map_run(struct page_map *map, const char *kind, bool more);
/* words: a message. Its template becomes one of the page's strings. bytes
 * becomes larger by what the page does. */
int page_map_message(struct page_map *map, struct page_strings *strings,
                     const char *words, size_t *bytes);
/* Writes it as JSON and frees it. */
void page_map_end(struct page_map *map, struct text *text);

#endif
