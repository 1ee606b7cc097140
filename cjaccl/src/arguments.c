#include "arguments.h"

#define NO_TYPE "there is no such type"
#define TOO_MUCH "no memory holds so many elements"
#define NO_ADDRESS "an address is NULL"
#define NOT_ALIGNED "an address is not aligned for the type"

static bool overlap(const void *a, size_t a_bytes, const void *b,
                    size_t b_bytes)
{
    uintptr_t x = (uintptr_t)a;
    uintptr_t y = (uintptr_t)b;

    return x < y ? y - x < a_bytes : x - y < b_bytes;
}

static bool is_aligned(const void *address, enum cj_type type)
{
    size_t align = type == CJ_COMPLEX64 ? sizeof(float) : cj_type_size(type);

    return ((uintptr_t)address & (align - 1)) == 0;
}

/* Of `count` elements `times` over. */
static const char *flaw_of_elements(const void *in, const void *out,
                                    size_t count, size_t times,
                                    enum cj_type type)
{
    size_t element = cj_type_size(type);

    if (element == 0)
        return NO_TYPE;
    if (count == 0)
        return NULL;
    /* Few need the division. */
    if (count > PTRDIFF_MAX / 1024 && count > PTRDIFF_MAX / element / times)
        return TOO_MUCH;
    if (in == NULL || out == NULL)
        return NO_ADDRESS;
    return is_aligned(in, type) && is_aligned(out, type) ? NULL : NOT_ALIGNED;
}

const char *cji_flaw_of_reduce(const void *in, const void *out, size_t count,
                               enum cj_type type)
{
    const char *flaw = flaw_of_elements(in, out, count, 1, type);
    size_t bytes = count * cj_type_size(type);

    if (flaw != NULL || count == 0)
        return flaw;
    return in != out && overlap(in, bytes, out, bytes)
               ? "input and output overlap, and are not the same"
               : NULL;
}

const char *cji_flaw_of_gather(const struct cj_group *group, const void *in,
                               const void *out, size_t bytes)
{
    size_t size = (size_t)group->size;

    if (bytes == 0)
        return NULL;
    if (bytes > PTRDIFF_MAX / size)
        return TOO_MUCH;
    if (in == NULL || out == NULL)
        return NO_ADDRESS;
    if (in == (const unsigned char *)out + (size_t)group->rank * bytes)
        return NULL;
    return overlap(in, bytes, out, size * bytes)
               ? "input and output overlap, and the input is not this rank's "
                 "place in the output"
               : NULL;
}

const char *cji_flaw_of_scatter(const struct cj_group *group, const void *in,
                                const void *out, size_t count,
                                enum cj_type type)
{
    size_t size = (size_t)group->size;
    const char *flaw = flaw_of_elements(in, out, count, size, type);
    size_t bytes = count * cj_type_size(type);

    if (flaw != NULL || count == 0)
        return flaw;
    if (in == out ||
        out == (const unsigned char *)in + (size_t)group->rank * bytes)
        return NULL;
    return overlap(in, size * bytes, out, bytes)
               ? "input and output overlap, and the output is neither the "
                 "input's first part nor this rank's part of it"
               : NULL;
}

static bool is_neighbour(const struct cj_group *group, int peer)
{
    return peer == (group->rank + 1) % group->size ||
           peer == (group->rank + group->size - 1) % group->size;
}

const char *cji_flaw_of_move(const struct cj_group *group, const void *data,
                             size_t bytes, int peer)
{
    if (peer < 0 || peer >= group->size)
        return "there is no such rank";
    if (peer == group->rank)
        return "that is this rank itself";
    if (group->ring && !is_neighbour(group, peer))
        return "in a ring, only neighbours have a link";
    if (bytes == 0)
        return NULL;
    if (bytes > PTRDIFF_MAX)
        return TOO_MUCH;
    return data == NULL ? NO_ADDRESS : NULL;
}
