#include "mock/lock.h"

#include "mock/os.h"

#define HOLDER 0xffu
#define SLEEPERS 0x100u
#define EPOCH 0x200u /* one of them */

#define SPINS 40
#define FIRST_SLEEP 1000000 /* nanoseconds */
#define LONGEST_SLEEP 32000000

static bool replace(struct vf_lock *lock, uint32_t *seen, uint32_t word)
{
    return atomic_compare_exchange_strong_explicit(
        &lock->word, seen, word, memory_order_acquire, memory_order_relaxed);
}

/* Takes it if nobody holds it. bits: what to add to the word. */
static bool take_free(struct vf_lock *lock, uint32_t *seen, uint32_t bits)
{
    while ((*seen & HOLDER) == 0)
        if (replace(lock, seen, *seen | bits))
            return true;
    return false;
}

/* By the holder's death, from the word seen to the next epoch. Others may
 * sleep for all we know. */
static bool take_over(struct vf_lock *lock, uint32_t seen, unsigned self)
{
    uint32_t word = ((seen & ~HOLDER) + EPOCH) | SLEEPERS | self;

    return replace(lock, &seen, word);
}

static bool sleep_and_take(struct vf_lock *lock, unsigned self,
                           const struct vf_lock_deaths *deaths)
{
    int64_t length = FIRST_SLEEP;
    uint32_t slept = 0; /* SLEEPERS: others may have been woken by nobody */
    uint32_t seen = atomic_load_explicit(&lock->word, memory_order_relaxed);

    for (;;) {
        uint32_t before;

        if (take_free(lock, &seen, slept | self))
            return false;
        if ((seen & SLEEPERS) == 0) {
            if (!atomic_compare_exchange_weak_explicit(
                    &lock->word, &seen, seen | SLEEPERS, memory_order_relaxed,
                    memory_order_relaxed))
                continue;
            seen |= SLEEPERS;
        }
        before = seen;
        vf_os_wait(&lock->word, before, length);
        slept = SLEEPERS;
        seen = atomic_load_explicit(&lock->word, memory_order_relaxed);
        if (seen != before) {
            length = FIRST_SLEEP;
            continue;
        }
        if (deaths != NULL && !deaths->alive(deaths->context, seen & HOLDER) &&
            take_over(lock, seen, self))
            return true;
        length = 2 * length < LONGEST_SLEEP ? 2 * length : LONGEST_SLEEP;
    }
}

bool vf_lock_take(struct vf_lock *lock, unsigned self,
                  const struct vf_lock_deaths *deaths)
{
    uint32_t seen = atomic_load_explicit(&lock->word, memory_order_relaxed);

    for (int spin = 0; spin < SPINS; spin++) {
        if (take_free(lock, &seen, self))
            return false;
        vf_os_pause();
        seen = atomic_load_explicit(&lock->word, memory_order_relaxed);
    }
    return sleep_and_take(lock, self, deaths);
}

void vf_lock_give(struct vf_lock *lock, unsigned self)
{
    uint32_t seen = atomic_load_explicit(&lock->word, memory_order_relaxed);

    while ((seen & HOLDER) == self)
        if (atomic_compare_exchange_weak_explicit(
                &lock->word, &seen, seen & ~(HOLDER | SLEEPERS),
                memory_order_release, memory_order_relaxed)) {
            if ((seen & SLEEPERS) != 0)
                vf_os_wake_one(&lock->word);
            return;
        }
}

bool vf_lock_take_from(struct vf_lock *lock, unsigned dead, unsigned self)
{
    uint32_t seen = atomic_load_explicit(&lock->word, memory_order_relaxed);

    while (dead != 0 && (seen & HOLDER) == dead) {
        if (take_over(lock, seen, self))
            return true;
        seen = atomic_load_explicit(&lock->word, memory_order_relaxed);
    }
    return false;
}

unsigned vf_lock_holder(const struct vf_lock *lock)
{
    return atomic_load_explicit(&lock->word, memory_order_relaxed) & HOLDER;
}
