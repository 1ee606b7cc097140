/*
 * mock/lock.h: a lock in shared memory that outlives its holder.
 *
 * Processes that share memory take turns with it. It is one word on a cache
 * line of its own; zeroed memory is a free lock. Taking a free one is one
 * compare-exchange, giving it back another, with no system call.
 *
 * The word says three things:
 *
 *   bits 0..7    who holds it: the process's place in the room, 1 to 255;
 *                0: nobody
 *   bit  8       somebody may sleep until it is given back
 *   bits 9..31   the epoch: how often it was taken over from a dead holder
 *
 * Waiting. Who finds it held looks again for about a microsecond, then sets
 * bit 8 and sleeps on the word. Who gives it back with that bit set clears the
 * bit and wakes one sleeper. That one cannot know whether others still sleep,
 * so it takes the lock with the bit set, and will wake the next. Whoever comes
 * by in between may take it first: there is no order among those who wait.
 *
 * Death. A process may be killed anywhere.
 * - While it holds the lock: the word names it from the very instruction that
 *   took the lock to the one that gave it back, so there is no moment at which
 *   it holds and is not named. A waiter sleeps for a few milliseconds at most
 *   before it asks whether the holder it saw is still alive, and if not puts
 *   its own name in the place of exactly that word, with the next epoch. One
 *   waiter succeeds, and is told: what the lock guards may be in the middle of
 *   a change, and it is up to that one to mend it. Should it die as well, the
 *   next one is told.
 * - After it gave the lock back, before it woke the next; or as the one that
 *   was woken, before it took the lock: the other sleepers were not woken, and
 *   find the lock free when their few milliseconds are over.
 *
 * The epoch is for a waiter that was slow. It saw the dead holder 7, and before
 * it acts another waiter has taken over and given back, place 7 has a new
 * process, and that holds the lock now. The word it saw is not the word it
 * finds, because the epoch has moved on.
 *
 * That leaves one duty with whoever gives the place of a dead process to a new
 * one: a lock that still names the place would seem to be held by the new
 * process, for ever. Before the place is free, each lock that might name it is
 * taken from it (vf_lock_take_from).
 *
 * Memory. Taking acquires what giving released. What a dead holder wrote last
 * was released by nobody; that its death was seen, through the kernel, is what
 * orders it before the one who takes over.
 *
 * A process's threads may all use its place: the lock keeps them apart like
 * any others. It is not recursive.
 */
#ifndef VF_MOCK_LOCK_H
#define VF_MOCK_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define VF_LOCK_HOLDERS 255u

struct vf_lock {
    _Alignas(64) _Atomic uint32_t word;
};

/* Whom to ask about holders. alive may make system calls: it is asked seldom.
 * It says false only of a process that will never run again. */
struct vf_lock_deaths {
    bool (*alive)(void *context, unsigned holder);
    void *context;
};

/*
 * Takes the lock in the name of self, 1 to VF_LOCK_HOLDERS; waits without end
 * for a holder that lives. True: it was taken over from a dead one, and what it
 * guards has to be mended. deaths NULL: nobody dies.
 */
bool vf_lock_take(struct vf_lock *lock, unsigned self,
                  const struct vf_lock_deaths *deaths);
/* Gives it back. Nothing happens if it does not name self. */
void vf_lock_give(struct vf_lock *lock, unsigned self);
/* Takes it over if it names the holder dead, who is dead indeed. Does not wait.
 * False: it names somebody else, or nobody. */
bool vf_lock_take_from(struct vf_lock *lock, unsigned dead, unsigned self);
/* Whom it names now, 0: nobody. Only a caller that holds it, or knows that the
 * holder is dead, learns something lasting. */
unsigned vf_lock_holder(const struct vf_lock *lock);

#endif
