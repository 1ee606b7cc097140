/* verbfault run: where libverbfault is. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _XOPEN_SOURCE 700
#endif

#include "cli/run.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int complain(const char *file, const char *what)
{
    fprintf(stderr, "verbfault run: %s: %s\n", file, what);
    return CLI_ENVIRONMENT;
}

/* Cuts the last component off. */
static void to_directory(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
}

/* DIRECTORY + middle + name + ".so", where it is from here. */
static bool try_beside(struct run_library *library, const char *directory,
                       const char *middle, const char *name)
{
    int length = snprintf(library->file, sizeof library->file, "%s/%s%s%s",
                          directory, middle, name, run_os_library_suffix);
    return length > 0 && (size_t)length < sizeof library->file &&
           access(library->file, R_OK) == 0;
}

static int locate(struct run_library *library, const char *name)
{
    char here[RUN_PATH_MAX];
    char missing[RUN_PATH_MAX];
    const char *named = getenv("VERBFAULT_LIBRARY");
    if (named) {
        snprintf(library->file, sizeof library->file, "%s", named);
        return access(named, R_OK) == 0
                   ? CLI_FINE
                   : complain(named, "no such library (VERBFAULT_LIBRARY)");
    }
    if (!run_os_executable(here))
        return complain("VERBFAULT_LIBRARY",
                        "must say where libverbfault is on this system");
    to_directory(here);
    if (try_beside(library, here, "../lib/", name)) /* bin/ beside lib/ */
        return CLI_FINE;
    if (try_beside(library, here, "lib/", name))
        return CLI_FINE;
    snprintf(missing, sizeof missing, "%s", library->file);
    return complain(missing, "is missing: build it (scripts/build plain), or "
                             "name it in VERBFAULT_LIBRARY");
}

/* The loader's lists end a name at a blank or a colon: the same folder under
 * another name. false: there is none. */
static bool make_plain(struct run_library *library, char *directory)
{
    char name[RUN_PATH_MAX], file[RUN_PATH_MAX];
    snprintf(name, sizeof name, "%s", library->file + strlen(directory) + 1);
    if (strpbrk(name, " :") || !run_os_plain_folder(directory, file) ||
        strlen(file) + strlen(name) + 2 > sizeof library->file)
        return false;
    strcpy(directory, file);
    strcpy(library->file, file);
    strcat(library->file, "/");
    strcat(library->file, name);
    return true;
}

int run_library_find(struct run_library *library, bool device)
{
    char directory[RUN_PATH_MAX];
    char *absolute;
    int code = locate(library, device ? "libverbfault-device" : "libverbfault");
    if (code != CLI_FINE)
        return code;
    absolute = realpath(library->file, NULL); /* ranks may change directory */
    if (!absolute || strlen(absolute) >= sizeof library->file) {
        free(absolute);
        return complain(library->file, "cannot be opened");
    }
    strcpy(library->file, absolute);
    free(absolute);
    strcpy(directory, library->file);
    to_directory(directory);
    if (strpbrk(library->file, " :") && !make_plain(library, directory))
        return complain(library->file,
                        "the loader takes no path with a space or a colon: "
                        "put the library elsewhere (VERBFAULT_LIBRARY)");
    if (device) /* libibverbs stays what it is; librdma.dylib has a stand-in */
        snprintf(library->path, sizeof library->path, "%s/device", directory);
    else
        snprintf(library->path, sizeof library->path, "%s:%s/dropin", directory,
                 directory);
    return CLI_FINE;
}
