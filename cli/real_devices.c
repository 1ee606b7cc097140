/* Which RDMA devices this machine has. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/real_devices.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cjaccl/src/verbs_table.h"
#include "cli/cli.h"

#ifdef __APPLE__
#define USUAL "/usr/lib/librdma.dylib"
const char *const real_devices_advice =
    "RDMA is enabled in recoveryOS (rdma_ctl enable) and needs Thunderbolt 5; "
    "verbfault doctor says more";
#else
#define USUAL "libibverbs.so.1"
const char *const real_devices_advice =
    "load its driver, or make a soft-RoCE one: rdma link add rxe0 type rxe "
    "netdev INTERFACE; verbfault doctor says more";
#endif

static void *symbol_of(void *ctx, void *library, const char *name)
{
    (void)ctx;
    return dlsym(library, name);
}

static void no_library(struct real_devices *devices, const char *name,
                       const char *why)
{
    devices->no_library = true;
    snprintf(devices->why, sizeof devices->why, "%s: %s", name,
             why ? why : "cannot be loaded");
}

static bool is_active(const struct cj_verbs *verbs, struct ibv_device *device)
{
    struct ibv_context *context = verbs->open_device(device);
    struct ibv_port_attr port;
    bool active;
    memset(&port, 0, sizeof port);
    active = context && verbs->query_port(context, 1, &port) == 0 &&
             port.state == IBV_PORT_ACTIVE;
    if (context)
        verbs->close_device(context);
    return active;
}

static void look(struct real_devices *devices)
{
    const char *named = getenv("VERBFAULT_REAL_LIBRARY");
    const char *name = named && *named ? named : USUAL;
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const struct cj_library loader = {.symbol = symbol_of};
    const char *missing[CJI_VERBS];
    struct cj_verbs verbs;
    struct ibv_device **list;
    if (!library) {
        no_library(devices, name, dlerror());
        return;
    }
    if (cji_verbs_find(&verbs, &loader, library, missing) > 0) {
        no_library(devices, name, "it lacks functions of libibverbs");
        return;
    }
    list = verbs.get_device_list(&devices->count);
    if (!list) {
        devices->count = 0;
        snprintf(devices->why, sizeof devices->why, "no list of devices: %s",
                 strerror(errno));
        return;
    }
    for (int i = 0; i < devices->count && !devices->active[0]; i++)
        if (is_active(&verbs, list[i]))
            snprintf(devices->active, sizeof devices->active, "%s",
                     verbs.get_device_name(list[i]));
    verbs.free_device_list(list);
}

/* The whole answer, or none. */
static bool receive(int from, struct real_devices *devices)
{
    size_t got = 0;
    ssize_t more;
    do {
        more = read(from, (char *)devices + got, sizeof *devices - got);
        got += more > 0 ? (size_t)more : 0;
    } while ((more > 0 && got < sizeof *devices) ||
             (more < 0 && errno == EINTR));
    return got == sizeof *devices;
}

static void ask_child(int to)
{
    struct real_devices answer;
    memset(&answer, 0, sizeof answer);
    look(&answer);
    if (write(to, &answer, sizeof answer) != (ssize_t)sizeof answer)
        _exit(CLI_ENVIRONMENT);
    _exit(CLI_FINE);
}

void real_devices_ask(struct real_devices *devices)
{
    int ends[2];
    pid_t child;
    memset(devices, 0, sizeof *devices);
    snprintf(devices->why, sizeof devices->why, "none");
    if (pipe(ends) != 0)
        return;
    fflush(NULL);
    child = fork();
    if (child == 0)
        ask_child(ends[1]);
    close(ends[1]);
    if (child < 0 || !receive(ends[0], devices)) {
        memset(devices, 0, sizeof *devices);
        snprintf(devices->why, sizeof devices->why,
                 "the verbs library ended the process that asked it");
    }
    close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ; /* again */
}
