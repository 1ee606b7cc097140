/* Is RDMA there at all? */
#include "defaults.h"
#include "verbs_table.h"

#include <stddef.h>
#include <string.h>

/* The function of that name; NULL where there is none. */
static void find(const struct cj_library *library, void *handle,
                 const char *name, void *function)
{
    void *symbol = library->symbol(library->ctx, handle, name);

    /* ISO C has no cast from an object's pointer to a function's. */
    memcpy(function, &symbol, sizeof symbol);
}

static bool has_device(const struct cj_library *library, void *handle)
{
    struct cj_verbs verbs;
    struct ibv_device **list;
    int count = 0;

    find(library, handle, "ibv_get_device_list", &verbs.get_device_list);
    find(library, handle, "ibv_free_device_list", &verbs.free_device_list);
    if (verbs.get_device_list == NULL || verbs.free_device_list == NULL)
        return false;
    list = verbs.get_device_list(&count);
    if (list == NULL)
        return false;
    verbs.free_device_list(list);
    return count > 0;
}

bool cj_is_available(const struct cj_library *library)
{
    bool available;
    void *handle;

    if (library == NULL)
        library = &cji_default_library;
    handle = library->open(library->ctx, CJI_LIBRARY_NAME);
    if (handle == NULL)
        return false;
    available = has_device(library, handle);
    library->close(library->ctx, handle);
    return available;
}
