/*
 * A rank of operations on more than 2 and 4 GiB, of which every byte is looked
 * at.
 *
 *   verbfault run -n 2 run_large [MEBIBYTES]
 *
 * Every rank has MEBIBYTES (2049) and 12345 bytes; so the last offsets that
 * all_gather and sum_scatter come to are beyond 4 GiB with two ranks. Prints
 * one line for each operation: "exact OPERATION BYTES". Exit 0: all are.
 */
#define _DEFAULT_SOURCE

#include <cjaccl/cjaccl.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cj_group *group;
static struct cj_error error;
static unsigned char *data;
static size_t bytes; /* of each rank */
static int rank, size;

/* Byte i of a rank; the period is a prime, and so no power of two. */
#define PERIOD ((size_t)65521)
static unsigned char pattern[2 * PERIOD];

static void make_pattern(void)
{
    uint64_t bits = 88172645463325252u;
    for (size_t i = 0; i < PERIOD; i++) {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        pattern[i] = pattern[i + PERIOD] = (unsigned char)(bits >> 32);
    }
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Where in the pattern byte i of a rank's data is. */
static size_t phase(int of, size_t i)
{
    return (i + (size_t)of * 7919) % PERIOD;
}

static void fill(unsigned char *at, int of, size_t count)
{
    for (size_t i = 0; i < count; i += PERIOD)
        memcpy(at + i, pattern + phase(of, i), least(PERIOD, count - i));
}

static int is_filled(const unsigned char *at, int of, size_t from, size_t count)
{
    for (size_t i = 0; i < count; i += PERIOD)
        if (memcmp(at + i, pattern + phase(of, from + i),
                   least(PERIOD, count - i)) != 0)
            return 0;
    return 1;
}

/* The sum of all ranks' bytes, which wraps. */
static int is_sum(const unsigned char *at, size_t from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char sum = 0;
        for (int of = 0; of < size; of++)
            sum = (unsigned char)(sum + pattern[phase(of, from + i)]);
        if (at[i] != sum)
            return 0;
    }
    return 1;
}

static int done(const char *name, int status, int exact, size_t moved)
{
    if (status != CJ_OK)
        printf("%s: %s\n", name, error.message);
    else
        printf("%s %s %zu\n", exact ? "exact" : "WRONG", name, moved);
    fflush(stdout);
    return status == CJ_OK && exact ? 0 : 1;
}

static int gather(void)
{
    size_t all = (size_t)size * bytes;
    int status, exact = 1;
    memset(data, 0, all);
    fill(data + (size_t)rank * bytes, rank, bytes);
    status =
        cj_all_gather(group, data + (size_t)rank * bytes, data, bytes, &error);
    for (int of = 0; of < size; of++)
        exact = exact && is_filled(data + (size_t)of * bytes, of, 0, bytes);
    return done("all_gather", status, exact, all);
}

static int scatter(void)
{
    size_t all = (size_t)size * bytes;
    int status;
    fill(data, rank, all);
    status = cj_sum_scatter(group, data, data, bytes, CJ_UINT8, &error);
    return done("sum_scatter", status,
                is_sum(data, (size_t)rank * bytes, bytes), all);
}

static int sum(void)
{
    int status;
    fill(data, rank, bytes);
    status = cj_all_sum(group, data, data, bytes, CJ_UINT8, &error);
    return done("all_sum", status, is_sum(data, 0, bytes), bytes);
}

/* From rank 0 to rank 1 all that there is room for: with two ranks more than
 * 4 GiB. */
static int send(void)
{
    size_t all = (size_t)size * bytes;
    int status = CJ_OK, exact = 1;
    if (rank == 0) {
        fill(data, 5, all);
        status = cj_send(group, data, all, 1, &error);
    } else if (rank == 1) {
        memset(data, 0, all);
        status = cj_recv(group, data, all, 0, &error);
        exact = is_filled(data, 5, 0, all);
    }
    return done(rank == 1 ? "recv" : "send", status, exact, all);
}

int main(int argc, char **argv)
{
    struct cj_settings settings;
    size_t mebibytes = argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 2049;
    int wrong = 0;
    if (cj_settings_from_env(&settings, &error) != CJ_OK ||
        cj_init(&settings.config, &group, &error) != CJ_OK) {
        printf("%s\n", error.message);
        return 1;
    }
    cj_settings_free(&settings);
    rank = cj_rank(group);
    size = cj_size(group);
    bytes = (mebibytes << 20) + 12345;
    data = malloc((size_t)size * bytes);
    if (!data) {
        printf("no memory for %zu bytes\n", (size_t)size * bytes);
        return 1;
    }
    make_pattern();
    wrong += gather();
    wrong += scatter();
    wrong += sum();
    wrong += send();
    free(data);
    if (cj_finalize(group, &error) != CJ_OK)
        wrong += done("finalize", -1, 0, 0);
    return wrong > 0;
}
