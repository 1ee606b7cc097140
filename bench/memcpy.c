/*
 * How fast one core copies: blocks of a size from one place to another, the
 * same two blocks again and again ("hot", all in that core's caches), and blocks
 * all over two spans of 64 MiB ("span", as a program's real data is).
 *
 *   bench_memcpy SIZE...    prints "name value unit" lines, the best of 20
 */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SPAN ((size_t)64 << 20)
#define ROUNDS 20

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* MiB a second over 64 MiB in blocks of size. */
static double rate(unsigned char *to, const unsigned char *from, size_t size,
                   int hot)
{
    double best = 0;

    for (int round = 0; round < ROUNDS; round++) {
        double start = seconds(), took;

        for (size_t at = 0; at + size <= SPAN; at += size) {
            size_t place = hot ? 0 : at;

            memcpy(to + place, from + place, size);
            __asm__ volatile("" ::: "memory");
        }
        took = seconds() - start;
        if ((double)SPAN / took > best)
            best = (double)SPAN / took;
    }
    return best / (1 << 20);
}

int main(int argc, char **argv)
{
    unsigned char *from = malloc(SPAN);
    unsigned char *to = malloc(SPAN);

    if (!from || !to)
        return 3;
    memset(from, 1, SPAN);
    memset(to, 2, SPAN);
    for (int i = 1; i < argc; i++) {
        size_t size = (size_t)strtoul(argv[i], NULL, 10);

        if (size == 0 || size > SPAN)
            return 2;
        printf("memcpy_span_%zu %.0f MiB/s\n", size, rate(to, from, size, 0));
        printf("memcpy_hot_%zu %.0f MiB/s\n", size, rate(to, from, size, 1));
    }
    free(from);
    free(to);
    return 0;
}
