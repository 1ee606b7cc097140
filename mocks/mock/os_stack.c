/*
 * The stack of a thread, where the C library can tell it (glibc, macOS).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <string.h>

#include "mock/os.h"

#if defined(__GLIBC__) || defined(__APPLE__)
#include <dlfcn.h>
#include <execinfo.h>

#define FRAMES 32
#define SKIPPED 2 /* this function and whoever describes the crash */

void vf_os_stack(char *text, size_t room)
{
    void *frames[FRAMES];
    size_t used = 0;
    int count = backtrace(frames, FRAMES);

    if (room > 0)
        text[0] = '\0';
    for (int i = SKIPPED; i < count && used < room; i++) {
        const char *file, *slash;
        Dl_info info;
        int wrote;

        if (!dladdr(frames[i], &info) || !info.dli_fname)
            continue;
        slash = strrchr(info.dli_fname, '/');
        file = slash ? slash + 1 : info.dli_fname;
        if (info.dli_sname)
            wrote = snprintf(text + used, room - used, "  at %s+0x%lx (%s)\n",
                             info.dli_sname,
                             (unsigned long)((uintptr_t)frames[i] -
                                             (uintptr_t)info.dli_saddr),
                             file);
        else
            wrote = snprintf(text + used, room - used, "  at %s+0x%lx\n", file,
                             (unsigned long)((uintptr_t)frames[i] -
                                             (uintptr_t)info.dli_fbase));
        if (wrote > 0)
            used += (size_t)wrote;
    }
}

#else

void vf_os_stack(char *text, size_t room)
{
    if (room > 0)
        text[0] = '\0';
}

#endif
