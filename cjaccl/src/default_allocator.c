/* Memory from the C library. */
#include "defaults.h"

#include <stdlib.h>

static void *allocate(void *ctx, size_t align, size_t size)
{
    void *memory = NULL;

    (void)ctx;
    if (align < sizeof(void *))
        align = sizeof(void *);
    if (posix_memalign(&memory, align, size) != 0)
        return NULL;
    return memory;
}

static void release(void *ctx, void *memory, size_t size)
{
    (void)ctx;
    (void)size;
    free(memory);
}

const struct cj_allocator cji_default_allocator = {
    .alloc = allocate,
    .free = release,
};
