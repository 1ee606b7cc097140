/* Which RDMA devices this machine has. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "cli/real_devices.h"

#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"

#undef ibv_query_port
#undef ibv_get_device_list

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

/* The functions that it takes; a function's address is no object's. */
struct functions {
    struct ibv_device **(*list)(int *count);
    void (*free_list)(struct ibv_device **list);
    const char *(*name)(struct ibv_device *device);
    struct ibv_context *(*open)(struct ibv_device *device);
    int (*close)(struct ibv_context *context);
    int (*port)(struct ibv_context *context, uint8_t port,
                struct ibv_port_attr *attr);
};

static bool find(void *library, const char *name, void *function, size_t size)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, size);
    return found != NULL;
}

#define FIND(library, name, functions, member)                                 \
    find(library, name, &(functions)->member, sizeof(functions)->member)

static bool find_all(void *library, struct functions *functions)
{
    return FIND(library, "ibv_get_device_list", functions, list) &&
           FIND(library, "ibv_free_device_list", functions, free_list) &&
           FIND(library, "ibv_get_device_name", functions, name) &&
           FIND(library, "ibv_open_device", functions, open) &&
           FIND(library, "ibv_close_device", functions, close) &&
           FIND(library, "ibv_query_port", functions, port);
}

static void no_library(struct real_devices *devices, const char *name,
                       const char *why)
{
    devices->no_library = true;
    snprintf(devices->why, sizeof devices->why, "%s: %s", name,
             why ? why : "cannot be loaded");
}

static bool is_active(const struct functions *functions,
                      struct ibv_device *device)
{
    struct ibv_context *context = functions->open(device);
    struct ibv_port_attr port;
    bool active;
    memset(&port, 0, sizeof port);
    active = context && functions->port(context, 1, &port) == 0 &&
             port.state == IBV_PORT_ACTIVE;
    if (context)
        functions->close(context);
    return active;
}

static void look(struct real_devices *devices)
{
    const char *named = getenv("VERBFAULT_REAL_LIBRARY");
    const char *name = named ? named : USUAL;
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    struct functions functions;
    struct ibv_device **list;
    if (!library || !find_all(library, &functions)) {
        no_library(devices, name,
                   library ? "it lacks functions of libibverbs" : dlerror());
        return;
    }
    list = functions.list(&devices->count);
    if (!list) {
        devices->count = 0;
        snprintf(devices->why, sizeof devices->why, "no list of devices: %s",
                 strerror(errno));
        return;
    }
    for (int i = 0; i < devices->count && !devices->active[0]; i++)
        if (is_active(&functions, list[i]))
            snprintf(devices->active, sizeof devices->active, "%s",
                     functions.name(list[i]));
    functions.free_list(list);
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
