/* verbfault doctor: the verbs library. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _DEFAULT_SOURCE /* dladdr */
#define _GNU_SOURCE
#endif

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "cjaccl/src/verbs_table.h"
#include "cli/doctor.h"

#ifdef __APPLE__
#define INSTALL_IT                                                             \
    "RDMA over Thunderbolt came with macOS 26.2: update the system"
#else
#define INSTALL_IT                                                             \
    "install it (Debian, Ubuntu: apt-get install libibverbs1 "                 \
    "ibverbs-providers), and look at LD_LIBRARY_PATH"
#endif

static void *symbol_of(void *ctx, void *library, const char *name)
{
    (void)ctx;
    return dlsym(library, name);
}

/* Looks up all; writes the names of those that are missing. */
static int look_up(struct doctor *doctor, char *text, size_t room)
{
    const struct cj_library library = {.symbol = symbol_of};
    const char *missing[CJI_VERBS];
    int count =
        cji_verbs_find(&doctor->verbs, &library, doctor->library, missing);
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < count && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s",
                                 i > 0 ? ", " : "", missing[i]);
    return count;
}

/* The file that the library was loaded from. */
static const char *path_of(const struct doctor *doctor)
{
    static const char *const some[] = {"ibv_get_device_list",
                                       "ibv_get_device_name"};
    Dl_info info;
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        void *symbol = dlsym(doctor->library, some[i]);
        if (symbol && dladdr(symbol, &info) != 0 && info.dli_fname)
            return info.dli_fname;
    }
    return CJI_LIBRARY_NAME; /* it has none of them, so nothing to ask about */
}

static bool no_library(struct doctor *doctor)
{
    doctor->no_library = true;
    return false;
}

bool doctor_open_library(struct doctor *doctor)
{
    char missing[DOCTOR_TEXT];
    int count;
    doctor->library = dlopen(CJI_LIBRARY_NAME, RTLD_NOW | RTLD_LOCAL);
    if (!doctor->library) {
        const char *why = dlerror();
        doctor_say(doctor, DOCTOR_FAIL, "library", NULL, INSTALL_IT,
                   "%s cannot be loaded (%.400s)", CJI_LIBRARY_NAME,
                   why ? why : "the loader does not say why");
        return no_library(doctor);
    }
    count = look_up(doctor, missing, sizeof missing);
    if (count > 0) {
        doctor_say(doctor, DOCTOR_FAIL, "library", NULL,
                   "it is too old, or another library of the same name: "
                   "update it, or take it out of the loader's way",
                   "%s lacks %d symbol%s: %s", path_of(doctor), count,
                   count == 1 ? "" : "s", missing);
        return no_library(doctor);
    }
    doctor_say(doctor, DOCTOR_OK, "library", NULL, NULL,
               "%s is %s, with all %d symbols", CJI_LIBRARY_NAME,
               path_of(doctor), CJI_VERBS);
    return true;
}

void doctor_close_library(struct doctor *doctor)
{
    if (doctor->library)
        dlclose(doctor->library);
    doctor->library = NULL;
}
