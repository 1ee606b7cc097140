/*
 * front/latch.h: the lock of a world in a process with threads.
 *
 * It stands in the way of every post and poll, hardly ever with anybody else
 * there, and is held for as long as bookkeeping takes: what may wait leaves the
 * world first. So it is made for the thread that finds it open. To take it is
 * one atomic exchange, to open it is a plain store; a mutex takes a second
 * exchange there, to learn whether somebody sleeps, which is half of its cost.
 * Nobody sleeps here until woken: who finds it taken looks again, then lets
 * others run, then naps.
 *
 * The thread that has it may take it again (a driver's library calls verbs).
 */
#ifndef VF_FRONT_LATCH_H
#define VF_FRONT_LATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Zeroed, it is open. */
struct vf_latch {
    atomic_uintptr_t owner; /* a thread; 0: open */
    unsigned depth;         /* how often it has it beyond once; its own */
};

/* A pointer or a number on every system there is, and never 0. */
static inline uintptr_t vf_latch_self(void)
{
    return (uintptr_t)pthread_self();
}

/* latch.c: it was taken. Returns with it. */
void vf_latch_wait(struct vf_latch *latch, uintptr_t self);

/* False: another thread has it. */
static inline bool vf_latch_try(struct vf_latch *latch, uintptr_t self)
{
    uintptr_t open = 0;

    if (atomic_compare_exchange_strong_explicit(&latch->owner, &open, self,
                                                memory_order_acquire,
                                                memory_order_relaxed))
        return true;
    if (open != self)
        return false; /* the depth is the other's */
    latch->depth++;
    return true;
}

static inline void vf_latch_take(struct vf_latch *latch)
{
    uintptr_t self = vf_latch_self();

    if (!vf_latch_try(latch, self))
        vf_latch_wait(latch, self);
}

static inline void vf_latch_open(struct vf_latch *latch)
{
    if (latch->depth > 0)
        latch->depth--;
    else
        atomic_store_explicit(&latch->owner, 0, memory_order_release);
}

#endif
