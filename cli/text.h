/*
 * text.h: text that grows, and how it is escaped.
 *
 * Pictures and pages are put together in memory and written at once. Whatever
 * comes from a scenario, a program or a device goes in through text_html() or
 * text_json(): both let only valid UTF-8 and no control character through
 * (others become `?`), and what text_json() writes is safe inside of a page's
 * <script>, too. Memory that is out ends the process with a line on standard
 * error: half a page is none.
 */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct text {
    char *at; /* zero-terminated; NULL: empty. Free it. */
    size_t length, room;
};

void text_add(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void text_put(struct text *text, const char *words);
void text_put_n(struct text *text, const char *words, size_t length);
/* For a terminal: nothing that could be taken for a command of its. */
void text_clean(struct text *text, const char *words);
/* As the content of an element or of an attribute in double quotes. */
void text_html(struct text *text, const char *words);
void text_html_n(struct text *text, const char *words, size_t length);
/* As a string of JSON, with its quotes. */
void text_json(struct text *text, const char *words);
/* As one word of a shell. */
void text_shell(struct text *text, const char *word);

/* Columns of a terminal that the text takes, if each character takes one. */
int text_columns(const char *words);

/* memory with room for one more than count of that size: it doubles. */
void *text_grow(void *memory, int count, int *room, size_t size);

/* Writes it to a file, `-` is standard output: CLI_FINE, or CLI_ENVIRONMENT
 * after a line that begins with who. */
int text_write(const struct text *text, const char *who, const char *path);

#endif
