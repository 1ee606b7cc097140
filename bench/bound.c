/*
 * What bounds an all_sum of two ranks: one process copies its data once and
 * adds as much of another's to it, float32, all in its own memory.
 *
 *   bench_bound [-m BYTES]    prints bound_BYTES lines for 64 bytes, 256, ...
 */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_CALLS 1000

static double now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double measure(const float *in, const float *theirs, float *sent,
                      float *out, size_t bytes)
{
    static double times[MOST_CALLS];
    int calls = bytes <= 1024 * 1024 ? MOST_CALLS : 21;

    for (int call = 0; call < calls; call++) {
        double start = now_us();

        memcpy(sent, in, bytes);
        __asm__ volatile("" ::: "memory");
        for (size_t i = 0; i < bytes / sizeof *in; i++)
            out[i] = in[i] + theirs[i];
        __asm__ volatile("" ::: "memory");
        times[call] = now_us() - start;
    }
    qsort(times, (size_t)calls, sizeof *times, compare);
    return times[calls / 2];
}

int main(int argc, char **argv)
{
    size_t most = (size_t)64 << 20;
    float *data[4];

    if (argc == 3 && strcmp(argv[1], "-m") == 0)
        most = (size_t)strtoull(argv[2], NULL, 10);
    for (int i = 0; i < 4; i++) {
        data[i] = malloc(most);
        if (data[i] == NULL)
            return 3;
        for (size_t k = 0; k < most / sizeof(float); k++)
            data[i][k] = 1;
    }
    for (size_t bytes = 64; bytes <= most; bytes *= 4)
        (void)printf("bound_%zu %.2f us\n", bytes,
                     measure(data[0], data[1], data[2], data[3], bytes));
    for (int i = 0; i < 4; i++)
        free(data[i]);
    return 0;
}
