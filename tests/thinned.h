/*
 * thinned.h: a fifth of the cases under a sanitizer.
 *
 * Each costs ten times as much there, and that each result is exact is shown
 * by the other builds. Which fifth differs with the way and the operation: the
 * memory that is touched is the same.
 */
#ifndef VF_TESTS_THINNED_H
#define VF_TESTS_THINNED_H

#include <stdbool.h>
#include <stddef.h>

#ifdef SANITIZED
#define THINNED_STEP 5
#else
#define THINNED_STEP 1
#endif

static inline bool is_left_out(size_t way, size_t operation, size_t number)
{
    return (way + operation + number) % THINNED_STEP != 0;
}

#endif
