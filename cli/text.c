/* Text that grows, and how it is escaped. */
#include "cli/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/file.h"
#include "cli/results.h"

static void *must(void *memory)
{
    if (memory)
        return memory;
    fprintf(stderr, "verbfault: out of memory\n");
    exit(CLI_ENVIRONMENT);
}

void *text_grow(void *memory, int count, int *room, size_t size)
{
    if (count < *room)
        return memory;
    do
        *room = *room ? *room * 2 : 32;
    while (count >= *room);
    return must(realloc(memory, (size_t)*room * size));
}

static void make_room(struct text *text, size_t more)
{
    if (text->length + more + 1 <= text->room)
        return;
    if (text->room == 0)
        text->room = 4096;
    while (text->room < text->length + more + 1)
        text->room *= 2;
    text->at = must(realloc(text->at, text->room));
}

void text_put_n(struct text *text, const char *words, size_t length)
{
    make_room(text, length);
    memcpy(text->at + text->length, words, length);
    text->length += length;
    text->at[text->length] = '\0';
}

void text_put(struct text *text, const char *words)
{
    text_put_n(text, words, strlen(words));
}

void text_add(struct text *text, const char *format, ...)
{
    va_list arguments, again;
    int length;
    va_start(arguments, format);
    va_copy(again, arguments);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length > 0) {
        make_room(text, (size_t)length);
        vsnprintf(text->at + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void text_clean(struct text *text, const char *words)
{
    while (*words) {
        int length = cli_character(words);
        text_put_n(text, length ? words : "?", length ? (size_t)length : 1);
        words += length ? length : 1;
    }
}

/* One character; returns how many bytes of it were taken. */
static size_t put_html(struct text *text, const char *at)
{
    int length = cli_character(at);
    switch (*at) {
    case '&':
        text_put(text, "&amp;");
        return 1;
    case '<':
        text_put(text, "&lt;");
        return 1;
    case '>':
        text_put(text, "&gt;");
        return 1;
    case '"':
        text_put(text, "&quot;");
        return 1;
    case '\'':
        text_put(text, "&#39;");
        return 1;
    default:
        break;
    }
    if (length == 0)
        text_put(text, "?");
    else
        text_put_n(text, at, (size_t)length);
    return length == 0 ? 1 : (size_t)length;
}

void text_html_n(struct text *text, const char *words, size_t length)
{
    const char *end = words + length;
    while (words < end && *words)
        words += put_html(text, words);
}

void text_html(struct text *text, const char *words)
{
    text_html_n(text, words, strlen(words));
}

/* `<` and `&` as numbers: no </script>, no <!--. */
static size_t put_json(struct text *text, const char *at)
{
    int length = cli_character(at);
    if (*at == '"' || *at == '\\')
        text_add(text, "\\%c", *at);
    else if (*at == '\n')
        text_put(text, "\\n");
    else if (*at == '\t')
        text_put(text, "\\t");
    else if (*at == '<' || *at == '>' || *at == '&')
        text_add(text, "\\u%04x", (unsigned)*at);
    else if (length == 0)
        text_put(text, "?");
    else if (length == 3 && memcmp(at, "\xe2\x80", 2) == 0 &&
             ((unsigned char)at[2] & 0xfe) == 0xa8)
        text_put(text, "?"); /* a script takes these two for ends of lines */
    else
        text_put_n(text, at, (size_t)length);
    return length == 0 ? 1 : (size_t)length;
}

void text_json(struct text *text, const char *words)
{
    text_put(text, "\"");
    while (*words)
        words += put_json(text, words);
    text_put(text, "\"");
}

void text_shell(struct text *text, const char *word)
{
    if (*word &&
        strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                     "0123456789_./:=,+-@%") == strlen(word)) {
        text_put(text, word);
        return;
    }
    text_put(text, "'");
    for (; *word; word++)
        if (*word == '\'')
            text_put(text, "'\\''");
        else
            text_put_n(text, word, 1);
    text_put(text, "'");
}

int text_columns(const char *words)
{
    int columns = 0;
    for (; *words; words++)
        columns += ((unsigned char)*words & 0xc0) != 0x80;
    return columns;
}

int text_write(const struct text *text, const char *who, const char *path)
{
    struct cli_written file;
    FILE *stream = cli_file_begin(&file, path);
    bool whole =
        stream && (text->length == 0 ||
                   fwrite(text->at, 1, text->length, stream) == text->length);
    return cli_file_end(&file, who, whole);
}
