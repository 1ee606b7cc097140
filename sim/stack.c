/*
 * The stack of the running fiber as text, one frame a line.
 *
 * _Unwind_Backtrace is in every compiler's own runtime and dladdr in every
 * libc this runs on; execinfo's backtrace() is not. Names are those of exported
 * symbols: a static function shows as its neighbour's offset, so frames that
 * are far from a symbol are printed as a question mark.
 */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _GNU_SOURCE /* dladdr */
#endif

#include "sim/state.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unwind.h>

#define FRAMES_MAX 24
#define FAR_AWAY 0x4000u

struct walk {
    uintptr_t frames[FRAMES_MAX];
    int count;
};

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *argument)
{
    struct walk *walk = argument;
    uintptr_t at = (uintptr_t)_Unwind_GetIP(context);
    if (at == 0 || walk->count == FRAMES_MAX)
        return _URC_END_OF_STACK;
    walk->frames[walk->count++] = at - 1; /* the call, not the return */
    return _URC_NO_REASON;
}

/* The simulator's own frames say nothing about the subject. */
static bool own(const char *name)
{
    return strncmp(name, "sim_", 4) == 0 || strncmp(name, "hook_", 5) == 0 ||
           strncmp(name, "fiber_", 6) == 0 || strncmp(name, "vf_", 3) == 0 ||
           strncmp(name, "verbfault_", 10) == 0;
}

void sim_stack(char *text, size_t room)
{
    struct walk walk = {{0}, 0};
    size_t length = 0;
    int shown = 0;
    text[0] = '\0';
    _Unwind_Backtrace(step, &walk);
    for (int i = 0; i < walk.count && length < room; i++) {
        Dl_info info;
        const char *name = "?";
        /* A frame's address becomes a pointer for dladdr to look up only. */
        memset(&info, 0, sizeof info);
        if (dladdr((void *)walk.frames[i], &info) && info.dli_sname &&
            walk.frames[i] - (uintptr_t)info.dli_saddr < FAR_AWAY)
            name = info.dli_sname;
        if (own(name) || name[0] == '?')
            continue;
        length += (size_t)snprintf(text + length, room - length, "#%d %s\n",
                                   shown++, name);
    }
}
