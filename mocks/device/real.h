/*
 * device/real.h: the library beneath.
 *
 * It is opened at the first verb: what VERBFAULT_REAL_LIBRARY names, else
 * libibverbs.so.1 (macOS: /usr/lib/librdma.dylib), which is the one that the
 * program has if it has one. Nothing of it is called but through the table
 * here, between real_begin() and real_end() or real_enter() and real_leave():
 * a thread that is between them is inside of that library, and whatever
 * libibverbs or a driver of its then calls of the public ibv_* goes straight
 * through, with no step but the provider's.
 */
#ifndef VF_DEVICE_REAL_H
#define VF_DEVICE_REAL_H

#include <stdbool.h>

#include "front/call.h"
#include "front/infiniband.h"

#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_get_device_list

struct real_library {
#define REAL(answer, name, parameters) answer(*name) parameters;
#include "device/real.def"
#undef REAL
};
extern struct real_library real;

/* Opens it. False, after one line on the standard error: it cannot be had. */
bool real_open(void);
/* Any function of its by name, into *function; false: it has none. */
bool real_find(const char *name, void *function, size_t size);

/* How deep this thread is inside. In a library that is loaded at the start
 * there is room for it beside the thread's own. */
#if defined(__GNUC__) && !defined(__APPLE__)
#define REAL_THREAD __attribute__((tls_model("initial-exec")))
#else
#define REAL_THREAD
#endif
extern _Thread_local unsigned real_depth REAL_THREAD;

/* Around what takes no time and waits for nobody: the world stays locked. */
static inline void real_enter(void)
{
    real_depth++;
}

static inline void real_leave(void)
{
    real_depth--;
}

/* Around everything else: other threads' calls go on meanwhile. */
struct real_pause {
    struct vf_call *call; /* NULL: the thread was inside before */
    struct vf_record kept;
};
void real_begin(struct vf_world *world, struct real_pause *pause);
void real_end(struct real_pause *pause);

/* What a function that answers 0 or an errno, or -1 with errno, has said; that
 * one of a pointer. Never 0 for a failure. */
int real_error(int answer);
int real_missing(const void *answer);

#endif
