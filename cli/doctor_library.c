/* verbfault doctor: the verbs library. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _DEFAULT_SOURCE /* dladdr */
#define _GNU_SOURCE
#endif

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cjaccl/src/verbs_table.h"
#include "cli/doctor.h"

static const struct {
    const char *name;
    size_t offset; /* of its pointer in struct cj_verbs */
    bool optional;
} entries[] = {
#define ENTRY(verb, optional)                                                  \
    {                                                                          \
        "ibv_" #verb, offsetof(struct cj_verbs, verb), optional                \
    }
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
#define ENTRIES (sizeof entries / sizeof entries[0])

#ifdef __APPLE__
#define INSTALL_IT                                                             \
    "RDMA over Thunderbolt came with macOS 26.2: update the system"
#else
#define INSTALL_IT                                                             \
    "install it (Debian, Ubuntu: apt-get install libibverbs1 "                 \
    "ibverbs-providers), and look at LD_LIBRARY_PATH"
#endif

/* Looks up all; writes the names of those that are missing. */
static int look_up(struct doctor *doctor, char *missing, size_t room)
{
    size_t used = 0;
    int count = 0;
    missing[0] = '\0';
    for (size_t i = 0; i < ENTRIES; i++) {
        void *symbol = dlsym(doctor->library, entries[i].name);
        /* ISO C has no cast from an object's pointer to a function's. */
        memcpy((char *)&doctor->verbs + entries[i].offset, &symbol,
               sizeof symbol);
        if (symbol || entries[i].optional)
            continue;
        if (used < room)
            used += (size_t)snprintf(missing + used, room - used, "%s%s",
                                     count > 0 ? ", " : "", entries[i].name);
        count++;
    }
    return count;
}

/* The file that the library was loaded from. */
static const char *path_of(const struct doctor *doctor)
{
    Dl_info info;
    for (size_t i = 0; i < ENTRIES; i++) {
        void *symbol = dlsym(doctor->library, entries[i].name);
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
               "%s is %s, with all %zu symbols", CJI_LIBRARY_NAME,
               path_of(doctor), ENTRIES);
    return true;
}

void doctor_close_library(struct doctor *doctor)
{
    if (doctor->library)
        dlclose(doctor->library);
    doctor->library = NULL;
}
