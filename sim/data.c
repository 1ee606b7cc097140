/*
 * What goes into a collective, and whether what comes out is right.
 *
 * Element i of rank r is a small whole number, so that the sum over eight
 * ranks is exact in every type, whatever the order of additions. Bool's sum is
 * "any of them". The first element is never zero: see memory.c.
 */
#include "sim/state.h"

#include <stdlib.h>
#include <string.h>

static int element(int rank, size_t i, enum scn_type type)
{
    if (type == SCN_BOOL)
        return i == 0 || (i + (size_t)rank) % 3 == 0;
    return (int)((i * 7 + (size_t)rank * 3) % 5) + 1;
}

static uint16_t half(int value) /* 0..2048 */
{
    int exponent = 0;
    if (value == 0)
        return 0;
    while (value >> (exponent + 1))
        exponent++;
    return (uint16_t)((exponent + 15) << 10 |
                      ((value << 10 >> exponent) & 0x3ff));
}

static uint16_t bfloat(int value) /* 0..256 */
{
    float number = (float)value;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return (uint16_t)(bits >> 16);
}

static void store(char *at, int value, enum scn_type type)
{
    union {
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint16_t bits16;
        float f32[2];
        double f64;
    } u;
    memset(&u, 0, sizeof u);
    switch (type) {
    case SCN_BOOL:
    case SCN_INT8:
    case SCN_UINT8:
        u.i8 = (int8_t)value;
        break;
    case SCN_INT16:
    case SCN_UINT16:
        u.i16 = (int16_t)value;
        break;
    case SCN_INT32:
    case SCN_UINT32:
        u.i32 = value;
        break;
    case SCN_INT64:
    case SCN_UINT64:
        u.i64 = value;
        break;
    case SCN_FLOAT16:
        u.bits16 = half(value);
        break;
    case SCN_BFLOAT16:
        u.bits16 = bfloat(value);
        break;
    case SCN_FLOAT64:
        u.f64 = value;
        break;
    default: /* float32, and complex64's real and imaginary part */
        u.f32[0] = u.f32[1] = (float)value;
        break;
    }
    memcpy(at, &u, scn_type_size(type));
}

/*
 * Inputs and sums are the same on every run of a fuzzer, so they are made once
 * and kept: which < SCN_RANKS_MAX is that rank's input, which above it the sum
 * over (which - SCN_RANKS_MAX) ranks.
 */
#define SUM_OF SCN_RANKS_MAX
#define PATTERNS (2 * SCN_RANKS_MAX + 1)

static struct pattern {
    char *data;
    size_t count;
    enum scn_type type;
} patterns[PATTERNS];

static int value(int which, size_t i, enum scn_type type)
{
    int sum = 0;
    if (which < SUM_OF)
        return element(which, i, type);
    for (int rank = 0; rank < which - SUM_OF; rank++)
        sum += element(rank, i, type);
    return type == SCN_BOOL ? sum > 0 : sum;
}

/* count elements, or NULL if memory is out. */
static const char *pattern(int which, size_t count, enum scn_type type)
{
    struct pattern *kept = &patterns[which];
    size_t size = scn_type_size(type);
    char *data;
    if (kept->data && kept->type == type && kept->count >= count)
        return kept->data;
    data = realloc(kept->data, count * size + 1);
    if (!data)
        return NULL;
    for (size_t i = 0; i < count; i++)
        store(data + i * size, value(which, i, type), type);
    kept->data = data;
    kept->count = count;
    kept->type = type;
    return data;
}

void sim_data_input(void *data, int rank, size_t count, enum scn_type type)
{
    const char *input = pattern(rank, count, type);
    if (input)
        memcpy(data, input, count * scn_type_size(type));
}

bool sim_data_is_sum(const void *data, int ranks, size_t count,
                     enum scn_type type)
{
    const char *sum;
    if (ranks < 0 || ranks > SCN_RANKS_MAX)
        return false;
    sum = pattern(SUM_OF + ranks, count, type);
    return sum && memcmp(data, sum, count * scn_type_size(type)) == 0;
}

static struct {
    void *memory;
    size_t bytes;
} buffers[SCN_RANKS_MAX][2];

void *sim_data_buffer(int rank, int which, size_t bytes)
{
    void *memory;
    if (bytes < 4096)
        bytes = 4096;
    if (buffers[rank][which].bytes >= bytes)
        return buffers[rank][which].memory;
    memory = realloc(buffers[rank][which].memory, bytes);
    if (!memory)
        return NULL;
    buffers[rank][which].memory = memory;
    buffers[rank][which].bytes = bytes;
    return memory;
}

void sim_data_free(void)
{
    for (int i = 0; i < PATTERNS; i++) {
        free(patterns[i].data);
        patterns[i].data = NULL;
    }
    for (int i = 0; i < SCN_RANKS_MAX; i++)
        for (int k = 0; k < 2; k++) {
            free(buffers[i][k].memory);
            buffers[i][k].memory = NULL;
            buffers[i][k].bytes = 0;
        }
}
