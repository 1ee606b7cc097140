/* Nanosecond clock and polite spinning. */
#include "defaults.h"

#include <sched.h>
#include <time.h>

/* Rounds of pure spinning (some microseconds) before the processor is given
 * away; a round that yields takes a microsecond or more. */
#define SPIN_ROUNDS 256u
#define ROUNDS_PER_LOOK 1024u

static int64_t now_ns(void *ctx)
{
    struct timespec now;

    (void)ctx;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* nanosleep with a difference, because macOS has no clock_nanosleep. */
static void sleep_until(void *ctx, int64_t until_ns)
{
    for (;;) {
        int64_t left = until_ns - now_ns(ctx);
        struct timespec pause;

        if (left <= 0)
            return;
        pause.tv_sec = (time_t)(left / 1000000000);
        pause.tv_nsec = (long)(left % 1000000000);
        (void)nanosleep(&pause, NULL);
    }
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int idle(void *ctx, int64_t until_ns, unsigned round)
{
    (void)ctx;
    (void)until_ns;
    if (round < SPIN_ROUNDS) {
        relax();
        return 0;
    }
    (void)sched_yield();
    return round % ROUNDS_PER_LOOK == ROUNDS_PER_LOOK - 1;
}

const struct cj_clock cji_default_clock = {
    .now_ns = now_ns,
    .sleep = sleep_until,
    .idle = idle,
};
