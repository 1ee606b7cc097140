/*
 * The character files of our devices, for programs that look whether they are
 * there before they use a device: UCX ignores one whose file
 * /dev/infiniband/uverbsN it cannot stat and access. There is no such file,
 * and none is made; these functions, which stand before the C library's where
 * this library is preloaded, answer for them as for /dev/null. Whatever else is
 * asked for goes on to the C library, and so does the file of a device that
 * this process's machine does not have.
 *
 * They carry no version: those of the C library's that a program was linked
 * with are met by a symbol without one.
 */
#define _GNU_SOURCE /* RTLD_NEXT, stat64 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "front/world_private.h"

#define FILES "/dev/infiniband/uverbs"
#define STAND_IN "/dev/null"

/* Is it the file of one of our devices? */
static bool is_ours(const char *path)
{
    struct vf_world *world;
    char name[64];
    int machine, count;

    if (!path || strncmp(path, FILES, sizeof(FILES) - 1) != 0)
        return false;
    world = vf_world_installed();
    machine = vf_thread_machine();
    if (!world || machine < 0 || machine >= world->machine_count)
        return false;
    count = world->machines[machine].device_count;
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof(name), FILES "%d", i);
        if (strcmp(path, name) == 0)
            return true;
    }
    return false;
}

static const char *stand_in(const char *path)
{
    return is_ours(path) ? STAND_IN : path;
}

/* The C library's function of this name into *function; false and ENOSYS: it
 * has none. A function's address is no object's: it is copied by its bytes. */
static bool find_next(const char *name, void *function, size_t size)
{
    void *found = dlsym(RTLD_NEXT, name);

    memcpy(function, &found, size);
    if (!found)
        errno = ENOSYS;
    return found != NULL;
}

/* vf_path_NAME stands before NAME. */
#define IN_PLACE_OF(name, parameters, arguments)                               \
    int vf_path_##name parameters;                                             \
    __asm__(".symver vf_path_" #name ", " #name "@@");                         \
    int vf_path_##name parameters                                              \
    {                                                                          \
        int(*next) parameters;                                                 \
                                                                               \
        if (!find_next(#name, &next, sizeof(next)))                            \
            return -1;                                                         \
        path = stand_in(path);                                                 \
        return next arguments;                                                 \
    }

IN_PLACE_OF(stat, (const char *path, struct stat *answer), (path, answer))
IN_PLACE_OF(stat64, (const char *path, struct stat64 *answer), (path, answer))
IN_PLACE_OF(access, (const char *path, int mode), (path, mode))
/* Programs that were linked before glibc 2.33 call these for stat. */
IN_PLACE_OF(__xstat, (int version, const char *path, struct stat *answer),
            (version, path, answer))
IN_PLACE_OF(__xstat64, (int version, const char *path, struct stat64 *answer),
            (version, path, answer))
