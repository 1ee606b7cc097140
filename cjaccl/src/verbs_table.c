#include "verbs_table.h"

#include "error.h"

#include <stddef.h>
#include <string.h>

struct entry {
    const char *name;
    size_t offset; /* of its pointer in struct cj_verbs */
    bool optional;
};

#define ENTRY(verb, optional)                                                  \
    {                                                                          \
        "ibv_" #verb, offsetof(struct cj_verbs, verb), optional                \
    }

static const struct entry entries[] = {
    ENTRY(get_device_list, false), ENTRY(free_device_list, false),
    ENTRY(get_device_name, false), ENTRY(open_device, false),
    ENTRY(close_device, false),    ENTRY(query_device, true),
    ENTRY(query_port, false),      ENTRY(query_gid, false),
    ENTRY(alloc_pd, false),        ENTRY(dealloc_pd, false),
    ENTRY(reg_mr, false),          ENTRY(dereg_mr, false),
    ENTRY(create_cq, false),       ENTRY(destroy_cq, false),
    ENTRY(create_qp, false),       ENTRY(modify_qp, false),
    ENTRY(query_qp, true),         ENTRY(destroy_qp, false),
};

int cji_verbs_load(struct cj_group *group)
{
    const struct cj_library *library = &group->library;

    group->step = CJ_STEP_LIBRARY;
    group->library_handle = library->open(library->ctx, CJI_LIBRARY_NAME);
    if (group->library_handle == NULL)
        return cji_fail(group, CJ_NO_LIBRARY, cji_about_none(0),
                        "the verbs library %s cannot be loaded: this machine "
                        "has no RDMA support installed (Linux: package "
                        "libibverbs1; macOS: 26.2 or later)",
                        CJI_LIBRARY_NAME);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *symbol = library->symbol(library->ctx, group->library_handle,
                                       entries[i].name);

        if (symbol == NULL && !entries[i].optional)
            return cji_fail(group, CJ_NO_LIBRARY, cji_about_none(0),
                            "the verbs library %s lacks the symbol %s: it is "
                            "too old, or another library of the same name",
                            CJI_LIBRARY_NAME, entries[i].name);
        /* ISO C has no cast from an object's pointer to a function's. */
        memcpy((char *)&group->verbs + entries[i].offset, &symbol,
               sizeof symbol);
    }
    return CJ_OK;
}
