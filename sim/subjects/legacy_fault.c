/* Exceptions as return codes, and faults that are known before they happen:
 * see legacy.h. */
#include "sim/subjects/legacy.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int legacy_throw(struct legacy_group *group, const char *format, ...)
{
    char *message = group->failure->message;
    size_t room = sizeof group->failure->message;
    int head = snprintf(message, room, "%s: ", group->revision->name);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message + head, room - (size_t)head, format, arguments);
    va_end(arguments);
    group->failure->code = 0; /* JACCL's exceptions carry text only */
    return -1;
}

void legacy_crash(struct legacy_group *group, const char *title,
                  const char *format, ...)
{
    char detail[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    sim_crash(group->sim, title, detail);
}

/* A block of exactly count elements, and where index is in it. A vector of no
 * elements has no memory: NULL. */
static volatile unsigned char *exact(unsigned char **block, size_t bytes,
                                     int64_t count, int64_t index)
{
    *block = NULL;
    if (count > 0)
        *block = calloc((size_t)count, bytes);
    uintptr_t place = (uintptr_t)*block + (uintptr_t)(index * (int64_t)bytes);
    return (volatile unsigned char *)place;
}

void legacy_touch(size_t bytes, int64_t count, int64_t index)
{
    unsigned char *block;
    volatile unsigned char *place = exact(&block, bytes, count, index);
    (void)*place;
    free(block);
}

void legacy_touch_write(size_t bytes, int64_t count, int64_t index)
{
    unsigned char *block;
    volatile unsigned char *place = exact(&block, bytes, count, index);
    *place = LEGACY_RUBBISH;
    free(block);
}

void legacy_past(struct legacy_group *group, const char *what,
                 const char *where, size_t bytes, int64_t count, int64_t index)
{
    char title[96];
    snprintf(title, sizeof title, "%s %s in %s",
             count > 0 ? "read past" : "index of empty", what, where);
    legacy_crash(group, title, "index %lld, %lld there", (long long)index,
                 (long long)count);
    legacy_touch(bytes, count, index);
}

void legacy_need(struct legacy_group *group, bool there, const char *symbol)
{
    char title[96];
    if (there)
        return;
    snprintf(title, sizeof title, "call through NULL %s", symbol);
    legacy_crash(group, title, "%s was not found when the library was loaded",
                 symbol);
}

/* Really does it: a fault on x86-64, 0 on arm64. The zero is one that neither
 * the compiler nor a checker can know. */
static int64_t divide_by_zero(int64_t number)
{
    return number / strtoll("0", NULL, 10);
}

int64_t legacy_divide(struct legacy_group *group, int64_t number,
                      int64_t divisor)
{
    if (divisor != 0)
        return number / divisor;
    legacy_crash(group, "division by zero in ring",
                 "%lld elements over no wires", (long long)number);
    return divide_by_zero(number);
}

int64_t legacy_modulo(struct legacy_group *group, int64_t number,
                      int64_t divisor)
{
    if (divisor != 0)
        return number % divisor;
    legacy_crash(group, "division by zero in ring",
                 "the windows of a sum of no elements are rotated");
    return divide_by_zero(number);
}
