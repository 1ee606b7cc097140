#include "cli/page_strings.h"

#include <stdlib.h>
#include <string.h>

static unsigned hash_of(const char *words)
{
    unsigned hash = 2166136261u;
    for (; *words; words++)
        hash = (hash ^ (unsigned char)*words) * 16777619u;
    return hash;
}

static void place(struct page_strings *strings, int number)
{
    unsigned at = hash_of(strings->at[number]);
    while (strings->table[at % (unsigned)strings->table_size])
        at++;
    strings->table[at % (unsigned)strings->table_size] = number + 1;
}

static void grow_table(struct page_strings *strings)
{
    int room = strings->table_size;
    free(strings->table);
    strings->table =
        text_grow(NULL, room ? room : 1023, &strings->table_size, sizeof(int));
    memset(strings->table, 0, (size_t)strings->table_size * sizeof(int));
    for (int i = 0; i < strings->count; i++)
        place(strings, i);
}

int page_strings_number(struct page_strings *strings, const char *words)
{
    struct text copy = {NULL, 0, 0};
    unsigned at = hash_of(words);
    if (strings->count * 2 >= strings->table_size)
        grow_table(strings);
    for (;; at++) {
        int number = strings->table[at % (unsigned)strings->table_size];
        if (number == 0)
            break;
        if (strcmp(strings->at[number - 1], words) == 0)
            return number - 1;
    }
    strings->at = text_grow(strings->at, strings->count, &strings->room,
                            sizeof *strings->at);
    text_put(&copy, words);
    strings->at[strings->count++] = copy.at;
    place(strings, strings->count - 1);
    return strings->count - 1;
}

void page_strings_put(const struct page_strings *strings, struct text *text,
                      bool json)
{
    text_put(text, "[");
    for (int i = 0; i < strings->count; i++) {
        text_put(text, i > 0 ? ",\n" : "\n");
        if (json)
            text_put(text, strings->at[i]);
        else
            text_json(text, strings->at[i]);
    }
    text_put(text, "]");
}

void page_strings_free(struct page_strings *strings)
{
    for (int i = 0; i < strings->count; i++)
        free(strings->at[i]);
    free(strings->at);
    free(strings->table);
    memset(strings, 0, sizeof *strings);
}
