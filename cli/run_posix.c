/*
 * verbfault run: where there is no more than POSIX (and macOS).
 *
 * Descendants that leave their rank's process group cannot be found here, and
 * nobody is killed because a parent dies: the groups are killed instead.
 */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __APPLE__
#include <mach-o/dyld.h>

const char *const run_os_preload = "DYLD_INSERT_LIBRARIES";
const char *const run_os_library_path = "DYLD_LIBRARY_PATH";
const char *const run_os_library_suffix = ".dylib";
#else
const char *const run_os_preload = "LD_PRELOAD";
const char *const run_os_library_path = "LD_LIBRARY_PATH";
const char *const run_os_library_suffix = ".so";
#endif

void run_os_adopt(void)
{
}

void run_os_die_with(pid_t parent)
{
    (void)parent;
}

int run_os_signal_all(int signal, const pid_t *groups, int group_count,
                      const pid_t *spare, int spare_count)
{
    int count = 0;
    (void)spare;
    (void)spare_count;
    for (int i = 0; i < group_count; i++)
        if (groups[i] > 0 && kill(-groups[i], signal) == 0)
            count++;
    return count;
}

int run_os_children(pid_t *pids, int room)
{
    (void)pids;
    (void)room;
    return 0;
}

int run_os_file(const char *text, size_t length, char path[RUN_FILE_MAX],
                int *fd)
{
    const char *directory = getenv("TMPDIR");
    int file, used = snprintf(path, RUN_FILE_MAX, "%s/verbfault-XXXXXX",
                              directory ? directory : "/tmp");
    *fd = -1;
    if (used >= RUN_FILE_MAX)
        snprintf(path, RUN_FILE_MAX, "/tmp/verbfault-XXXXXX");
    file = mkstemp(path);
    if (file < 0) {
        path[0] = '\0';
        return -1;
    }
    used = write(file, text, length) == (ssize_t)length;
    return close(file) == 0 && used ? 0 : -1;
}

bool run_os_plain_folder(const char *folder, char name[RUN_PATH_MAX])
{
    (void)folder;
    (void)name;
    return false;
}

bool run_os_executable(char path[RUN_PATH_MAX])
{
#ifdef __APPLE__
    uint32_t room = RUN_PATH_MAX;
    return _NSGetExecutablePath(path, &room) == 0;
#else
    (void)path;
    return false;
#endif
}
