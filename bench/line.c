/*
 * What no message between two processes can be faster than: two of them hand
 * one cache line to and fro, and do nothing else. Each looks at the line until
 * the other has written it.
 *
 *   bench_line      prints "line_lat VALUE ns", one way, the best of batches
 */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCHES 50u
#define TURNS 2000u /* of each side, in a batch */

/* Of both: each has its own to write. */
struct lines {
    _Alignas(128) _Atomic unsigned ask;
    _Alignas(128) _Atomic unsigned answer;
};

static void await(_Atomic unsigned *word, unsigned value)
{
    while (atomic_load_explicit(word, memory_order_acquire) != value)
        continue;
}

static void answer(struct lines *lines)
{
    for (unsigned i = 1; i <= BATCHES * TURNS; i++) {
        await(&lines->ask, i);
        atomic_store_explicit(&lines->answer, i, memory_order_release);
    }
}

static double nanoseconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double ask(struct lines *lines)
{
    double best = 0;

    for (unsigned batch = 0; batch < BATCHES; batch++) {
        double start = nanoseconds(), took;

        for (unsigned i = 1; i <= TURNS; i++) {
            unsigned turn = batch * TURNS + i;

            atomic_store_explicit(&lines->ask, turn, memory_order_release);
            await(&lines->answer, turn);
        }
        took = (nanoseconds() - start) / TURNS / 2;
        if (batch == 0 || took < best)
            best = took;
    }
    return best;
}

int main(void)
{
    struct lines *lines = mmap(NULL, sizeof(*lines), PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANON, -1, 0);
    pid_t child;

    if (lines == MAP_FAILED)
        return 3;
    child = fork();
    if (child < 0)
        return 3;
    if (child == 0) {
        answer(lines);
        return 0;
    }
    printf("line_lat %.0f ns\n", ask(lines));
    waitpid(child, NULL, 0);
    return 0;
}
