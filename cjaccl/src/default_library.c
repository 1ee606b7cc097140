/* The dynamic loader of the system. */
#include "defaults.h"

#include <dlfcn.h>

static void *library_open(void *ctx, const char *name)
{
    (void)ctx;
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

static void *library_symbol(void *ctx, void *library, const char *name)
{
    (void)ctx;
    return dlsym(library, name);
}

static void library_close(void *ctx, void *library)
{
    (void)ctx;
    (void)dlclose(library);
}

const struct cj_library cji_default_library = {
    .open = library_open,
    .symbol = library_symbol,
    .close = library_close,
};
