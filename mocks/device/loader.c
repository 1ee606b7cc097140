#define _GNU_SOURCE /* RTLD_NEXT, dladdr */
#include "device/loader.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "device/real.h"

#ifdef __APPLE__
/* Programs open librdma.dylib by a name that DYLD_LIBRARY_PATH turns to us. */
void *loader_open(const char *name, int mode)
{
    return dlopen(name, mode);
}
#else

typedef void *open_function(const char *name, int mode);

static open_function *next_open(void)
{
    void *found = dlsym(RTLD_NEXT, "dlopen");
    open_function *function;

    memcpy(&function, &found, sizeof(function));
    return function;
}

void *loader_open(const char *name, int mode)
{
    return next_open()(name, mode);
}

static bool is_libibverbs(const char *path)
{
    const char *name = path ? strrchr(path, '/') : NULL;

    name = name ? name + 1 : path;
    return name && (strcmp(name, "libibverbs.so.1") == 0 ||
                    strcmp(name, "libibverbs.so") == 0);
}

/* This file's name. */
static const char *own_name(void)
{
    Dl_info info;

    if (!dladdr((void *)(uintptr_t)loader_open, &info))
        return NULL;
    return info.dli_fname;
}

/* Without a version it meets the C library's of any. */
void *loader_in_place_of_dlopen(const char *name, int mode);
__asm__(".symver loader_in_place_of_dlopen, dlopen@@");
void *loader_in_place_of_dlopen(const char *name, int mode)
{
    if (real_depth == 0 && is_libibverbs(name)) {
        const char *own = own_name();

        if (own)
            return next_open()(own, mode);
    }
    return next_open()(name, mode);
}
#endif
