/*
 * The table of verbs. JACCL opens librdma.dylib and looks its symbols up one
 * by one; at the first that is missing it forgets the library and leaves the
 * rest of the table NULL. Starting a group never asks whether the table is
 * whole.
 */
#include "sim/subjects/legacy.h"

#include <string.h>

struct entry {
    const char *symbol;
    size_t offset;
};

static const struct entry entries[] = {
#define ENTRY(name, answer, arguments)                                         \
    {"ibv_" #name, offsetof(struct legacy_library, name)},
    LEGACY_SYMBOLS(ENTRY)
#undef ENTRY
};

void legacy_library_load(struct legacy_group *group)
{
    memset(&group->library, 0, sizeof group->library);
    if (!sim_library_present(group->sim))
        return;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        void *found = sim_library_symbol(group->sim, entries[i].symbol);
        if (!found)
            return;
        /* What POSIX asks of dlsym: a pointer to an object has the size and
         * the content of one to a function. */
        memcpy((char *)&group->library + entries[i].offset, &found,
               sizeof found);
    }
}
