/*
 * For LD_PRELOAD: memory is out for a posix_memalign() of just the bytes that
 * $DOCTOR_NO_MEMORY says.
 */
#include <errno.h>
#include <stdlib.h>

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    const char *none = getenv("DOCTOR_NO_MEMORY");

    if (none && strtoul(none, NULL, 10) == size)
        return ENOMEM;
    *memory = aligned_alloc(alignment,
                            (size + alignment - 1) / alignment * alignment);
    return *memory ? 0 : ENOMEM;
}
