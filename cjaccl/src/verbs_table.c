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

_Static_assert(sizeof entries / sizeof *entries == CJI_VERBS, "all of them");

int cji_verbs_find(struct cj_verbs *verbs, const struct cj_library *library,
                   void *handle, const char *missing[CJI_VERBS])
{
    int count = 0;

    for (size_t i = 0; i < CJI_VERBS; i++) {
        void *symbol = library->symbol(library->ctx, handle, entries[i].name);

        if (symbol == NULL && !entries[i].optional)
            missing[count++] = entries[i].name;
        /* ISO C has no cast from an object's pointer to a function's. */
        memcpy((char *)verbs + entries[i].offset, &symbol, sizeof symbol);
    }
    return count;
}

int cji_verbs_load(struct cj_group *group)
{
    const struct cj_library *library = &group->library;
    const char *missing[CJI_VERBS];

    group->step = CJ_STEP_LIBRARY;
    group->library_handle = library->open(library->ctx, CJI_LIBRARY_NAME);
    if (group->library_handle == NULL)
        return cji_fail(group, CJ_NO_LIBRARY, cji_about_none(0),
                        "the verbs library %s cannot be loaded: this machine "
                        "has no RDMA support installed (Linux: package "
                        "libibverbs1; macOS: 26.2 or later)",
                        CJI_LIBRARY_NAME);
    if (cji_verbs_find(&group->verbs, library, group->library_handle, missing) >
        0)
        return cji_fail(group, CJ_NO_LIBRARY, cji_about_none(0),
                        "the verbs library %s lacks the symbol %s: it is "
                        "too old, or another library of the same name",
                        CJI_LIBRARY_NAME, missing[0]);
    return CJ_OK;
}
