#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include "front/latch.h"

#include <sched.h>
#include <time.h>

#define LOOKS 100 /* then it is held by a thread that does not run */
#define TURNS 20  /* given to others before a nap */

void vf_latch_wait(struct vf_latch *latch, uintptr_t self)
{
    static const struct timespec nap = {.tv_nsec = 20000};

    for (unsigned round = 0;; round++) {
        if (atomic_load_explicit(&latch->owner, memory_order_relaxed) == 0 &&
            vf_latch_try(latch, self))
            return;
        if (round >= LOOKS)
            sched_yield();
        if (round < LOOKS + TURNS)
            continue;
        nanosleep(&nap, NULL);
        round = 0;
    }
}
