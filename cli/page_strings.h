/* Every string once: its number is its place. */
#ifndef CLI_PAGE_STRINGS_H
#define CLI_PAGE_STRINGS_H

#include <stdbool.h>

#include "cli/text.h"

struct page_strings {
    char **at;
    int count, room;
    int *table; /* of numbers + 1, by hash */
    int table_size;
};

/* The number of the words, which are copied if they are new. */
int page_strings_number(struct page_strings *strings, const char *words);
/* All of them as an array of JSON, one a line; json: they are JSON already. */
void page_strings_put(const struct page_strings *strings, struct text *text,
                      bool json);
/* Frees them, and leaves none. */
void page_strings_free(struct page_strings *strings);

#endif
