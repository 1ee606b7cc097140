/*
 * What bounds an all_sum of two ranks, float32:
 *
 *   bound_BYTES   one process copies its data once and adds as much of
 * another's to it, all in its own memory, and nobody else at work; moved_BYTES
 * two processes at once, and the bytes move as they do where no device moves
 * them: piece by piece from the input to a send buffer, to memory that both
 * share, to the other's receive buffer, and are added from there. No protocol,
 * no waiting.
 *
 *   bench_bound [-m BYTES]    for 64 bytes, 256, ... BYTES
 */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

/* What the two processes share. */
#define PIECE ((size_t)64 << 10)
struct shared {
    _Atomic unsigned met;
    float piece[2][PIECE / sizeof(float)];
};

/* Both have come to this point, for the n-th time. */
static void meet(struct shared *shared, unsigned n)
{
    atomic_fetch_add(&shared->met, 1);
    while (atomic_load(&shared->met) < 2 * n)
        ;
}

static void move(struct shared *shared, int self, const float *in, float *out,
                 size_t bytes)
{
    static float sent[PIECE / sizeof(float)], received[PIECE / sizeof(float)];

    for (size_t at = 0; at < bytes; at += PIECE) {
        size_t size = bytes - at < PIECE ? bytes - at : PIECE;
        const float *mine = in + at / sizeof *in;
        float *sum = out + at / sizeof *out;

        memcpy(sent, mine, size);
        memcpy(shared->piece[self], sent, size);
        __asm__ volatile("" ::: "memory");
        memcpy(received, shared->piece[!self], size);
        for (size_t i = 0; i < size / sizeof *in; i++)
            sum[i] = mine[i] + received[i];
        __asm__ volatile("" ::: "memory");
    }
}

static double measure_moved(const float *in, float *out, size_t bytes)
{
    static double times[MOST_CALLS];
    int calls = bytes <= 1024 * 1024 ? MOST_CALLS : 21;
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child;
    int self;

    if (shared == MAP_FAILED)
        return 0;
    child = fork();
    if (child < 0)
        return 0;
    self = child == 0;
    for (int call = 0; call < calls; call++) {
        double start;

        meet(shared, (unsigned)call + 1);
        start = now_us();
        move(shared, self, in, out, bytes);
        times[call] = now_us() - start;
    }
    if (child == 0)
        _exit(0);
    (void)waitpid(child, NULL, 0);
    (void)munmap(shared, sizeof *shared);
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
    for (size_t bytes = 64; bytes <= most; bytes *= 4) {
        (void)printf("bound_%zu %.2f us\n", bytes,
                     measure(data[0], data[1], data[2], data[3], bytes));
        (void)fflush(stdout); /* a child must not say it again */
        (void)printf("moved_%zu %.2f us\n", bytes,
                     measure_moved(data[0], data[3], bytes));
    }
    for (int i = 0; i < 4; i++)
        free(data[i]);
    return 0;
}
