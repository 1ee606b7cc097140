/* The front door by name. */
#include "verbfault/library.h"
#include "front/infiniband.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* verbs.h turns these two into macros over inline functions; what a program
 * finds by name is the function behind them. */
#undef ibv_query_port
#undef ibv_reg_mr

typedef void function(void);

#define ENTRY(name)                                                            \
    {                                                                          \
#name, (function *)name                                                \
    }

/* keep sorted */
static const struct entry {
    const char *name;
    function *address;
} symbols[] = {
    ENTRY(ibv_alloc_pd),         ENTRY(ibv_close_device),
    ENTRY(ibv_create_cq),        ENTRY(ibv_create_qp),
    ENTRY(ibv_dealloc_pd),       ENTRY(ibv_dereg_mr),
    ENTRY(ibv_destroy_cq),       ENTRY(ibv_destroy_qp),
    ENTRY(ibv_free_device_list), ENTRY(ibv_get_device_list),
    ENTRY(ibv_get_device_name),  ENTRY(ibv_modify_qp),
    ENTRY(ibv_open_device),      ENTRY(ibv_query_device),
    ENTRY(ibv_query_gid),        ENTRY(ibv_query_port),
    ENTRY(ibv_query_qp),         ENTRY(ibv_reg_mr),
};

static int compare(const void *name, const void *element)
{
    return strcmp(name, ((const struct entry *)element)->name);
}

void *vf_library_symbol(const char *symbol)
{
    const struct entry *entry =
        bsearch(symbol, symbols, sizeof symbols / sizeof symbols[0],
                sizeof symbols[0], compare);
    void *found;
    if (!entry)
        return NULL;
    /* As dlsym: C has no cast from a function to void *. */
    memcpy(&found, &entry->address, sizeof found);
    return found;
}
