#include "cli/page_map.h"

#include <stdlib.h>
#include <string.h>

void page_map_begin(struct page_map *map)
{
    memset(map, 0, sizeof *map);
    page_strings_number(&map->lists, "[]");
    text_put(&map->rows, "[");
}

static void put_span(struct page_map *map)
{
    const struct page_span *span = &map->span;
    if (span->count == 0)
        return;
    text_add(&map->rows, "%s[%d,%d,%d", map->span_count++ > 0 ? "," : "",
             span->first, span->count, span->runs[0]);
    if (span->runs[1] > 0 || span->name != PAGE_NO_NAME)
        text_add(&map->rows, ",%d", span->runs[1]);
    if (span->name != PAGE_NO_NAME)
        text_add(&map->rows, ",%d", span->name);
    text_put(&map->rows, "]");
    map->span.count = 0;
}

static int list_of(struct page_map *map, struct text *runs)
{
    int number;
    if (runs->length == 0)
        return 0;
    text_put(runs, "]");
    number = page_strings_number(&map->lists, runs->at);
    runs->length = 0;
    return number;
}

static bool continues(const struct page_span *span,
                      const struct page_span *point)
{
    return span->count > 0 && span->first + span->count == point->first &&
           span->name == point->name && span->runs[0] == point->runs[0] &&
           span->runs[1] == point->runs[1];
}

/* The point is complete: it makes the span longer, or begins one. */
static void close_point(struct page_map *map)
{
    if (map->point.count == 0)
        return;
    for (int i = 0; i < 2; i++)
        map->point.runs[i] = list_of(map, &map->runs[i]);
    if (continues(&map->span, &map->point)) {
        map->span.count++;
    } else {
        put_span(map);
        map->span = map->point;
    }
    map->point.count = 0;
}

static void close_row(struct page_map *map)
{
    close_point(map);
    put_span(map);
    if (map->row_count > 0)
        text_put(&map->rows, "]]");
}

void page_map_point(struct page_map *map, int rank, int label, int number,
                    int name)
{
    close_point(map);
    if (map->row_count == 0 || map->rank != rank || map->label != label) {
        close_row(map);
        text_add(&map->rows, "%s\n[%d,%d,[", map->row_count++ > 0 ? "," : "",
                 rank, label);
        map->rank = rank;
        map->label = label;
        map->span_count = 0;
    }
    map->point = (struct page_span){number, 1, name, {0, 0}};
}

void page_map_run(struct page_map *map, const char *kind, bool more)
{
    struct text *runs = &map->runs[more];
    text_add(runs, "%s%d", runs->length > 0 ? "," : "[",
             page_strings_number(&map->kinds, kind));
}

/* Messages differ in their numbers and little else. */
static void split(const char *words, struct text *pattern, struct text *numbers)
{
    while (*words) {
        size_t other = strcspn(words, "0123456789#");
        size_t digits = strspn(words + other, "0123456789");
        text_put_n(pattern, words, other);
        words += other;
        if (!*words)
            break;
        if (digits == 0) /* # itself */
            digits = 1;
        text_put(pattern, "#");
        if (numbers->length > 0)
            text_put(numbers, " ");
        text_put_n(numbers, words, digits);
        words += digits;
    }
}

int page_map_message(struct page_map *map, struct page_strings *strings,
                     const char *words, size_t *bytes)
{
    struct text pattern = {NULL, 0, 0}, numbers = {NULL, 0, 0};
    struct text message = {NULL, 0, 0};
    int patterns = strings->count, messages = map->messages.count, number;
    text_put(&pattern, "");
    split(words, &pattern, &numbers);
    text_add(&message, "[%d", page_strings_number(strings, pattern.at));
    if (numbers.length > 0) {
        text_put(&message, ",");
        text_json(&message, numbers.at);
    }
    text_put(&message, "]");
    number = page_strings_number(&map->messages, message.at);
    if (strings->count > patterns)
        *bytes += pattern.length;
    if (map->messages.count > messages)
        *bytes += message.length;
    free(pattern.at);
    free(numbers.at);
    free(message.at);
    return number;
}

void page_map_end(struct page_map *map, struct text *text)
{
    close_row(map);
    text_put(text, "{\"messages\":");
    page_strings_put(&map->messages, text, true);
    text_put(text, ",\n\"kinds\":");
    page_strings_put(&map->kinds, text, true);
    text_put(text, ",\n\"lists\":");
    page_strings_put(&map->lists, text, true);
    text_add(text, ",\n\"rows\":%s]}", map->rows.at);
    page_strings_free(&map->messages);
    page_strings_free(&map->kinds);
    page_strings_free(&map->lists);
    free(map->rows.at);
    free(map->runs[0].at);
    free(map->runs[1].at);
}
