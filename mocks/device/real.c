#include "device/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/loader.h"

#ifdef __APPLE__
#define USUAL "/usr/lib/librdma.dylib"
#else
#define USUAL "libibverbs.so.1"
#endif

struct real_library real;
_Thread_local unsigned real_depth REAL_THREAD;

static _Atomic(void *) library; /* NULL: not open, or not yet */
static _Thread_local bool opening REAL_THREAD;

/* A function's address is no object's: it is copied by its bytes. */
bool real_find(const char *name, void *function, size_t size)
{
    void *found = real_open() ? dlsym(library, name) : NULL;

    memcpy(function, &found, size);
    return found != NULL;
}

static void find_in(void *opened, const char *name, void *function, size_t size)
{
    void *found = dlsym(opened, name);

    memcpy(function, &found, size);
}

static bool is_self(void *function)
{
    return function == (void *)(uintptr_t)ibv_get_device_list;
}

static bool fill(void *opened)
{
#define REAL(answer, name, parameters)                                         \
    find_in(opened, #name, &real.name, sizeof(real.name));
#include "device/real.def"
#undef REAL
    return real.ibv_get_device_list && real.ibv_open_device &&
           !is_self((void *)(uintptr_t)real.ibv_get_device_list);
}

static void complain(const char *name, const char *why)
{
    fprintf(stderr, "verbfault: the verbs library beneath: %s: %s\n", name,
            why);
    fflush(stderr);
}

static void open_library(void)
{
    const char *name = getenv("VERBFAULT_REAL_LIBRARY");
    void *opened;

    if (!name || !*name)
        name = USUAL;
    opening = true; /* its constructors may call verbs */
    opened = loader_open(name, RTLD_NOW | RTLD_LOCAL);
    opening = false;
    if (!opened)
        complain(name, dlerror());
    else if (!fill(opened))
        complain(name, "it has no verbs of its own");
    else
        atomic_store(&library, opened);
}

bool real_open(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (!atomic_load_explicit(&library, memory_order_acquire) && !opening)
        pthread_once(&once, open_library);
    return atomic_load_explicit(&library, memory_order_acquire) != NULL;
}

void real_begin(struct vf_world *world, struct real_pause *pause)
{
    pause->call = real_depth == 0 ? world->running : NULL;
    if (pause->call)
        vf_call_leave(pause->call, &pause->kept);
    real_enter();
}

void real_end(struct real_pause *pause)
{
    int kept = errno;

    real_leave();
    if (pause->call)
        vf_call_return(pause->call, &pause->kept);
    errno = kept;
}

int real_error(int answer)
{
    if (answer >= 0)
        return answer;
    if (answer < -1)
        return -answer;
    return errno ? errno : EIO;
}

int real_missing(const void *answer)
{
    if (answer)
        return 0;
    return errno ? errno : EIO;
}
