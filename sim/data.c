/*
 * What goes into a collective, and whether what comes out is right.
 *
 * Elements are small whole numbers that look random: each rank, each operation
 * and each place has its own, so that a chunk in the wrong place, a peer's
 * data in another's stead or the last operation's left-overs are seen. They
 * are small enough for the sum over eight ranks to be exact in every type,
 * whatever the order of additions. Bool's sum is "any of them".
 *
 * Rank r's numbers are a table of PERIOD (a prime: no chunk is a multiple of
 * it); operation number n starts n * STRIDE further on in it. Tables are made
 * once per type and kept, since a fuzzer asks for them all the time.
 */
#include "sim/state.h"

#include <stdlib.h>
#include <string.h>

#define PERIOD ((size_t)8191)
#define STRIDE ((size_t)1777)

/* A number that depends on every bit of its arguments (a splitmix64 step). */
static uint64_t mix(uint64_t rank, uint64_t place)
{
    uint64_t z = (rank + 1) * 0x9e3779b97f4a7c15u + place * 0xd1342543de82ef95u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static int element(int rank, size_t place, enum scn_type type)
{
    int number = (int)(mix((uint64_t)rank, place) % 15) + 1; /* 1 to 15 */
    return type == SCN_BOOL ? number > 12 : number;
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
    default: /* float32, and complex64's two parts */
        u.f32[0] = (float)value;
        u.f32[1] = (float)(2 * value);
        break;
    }
    memcpy(at, &u, scn_type_size(type));
}

/* which < SUM_OF is that rank's table, which above it that of the sum over
 * (which - SUM_OF) ranks. */
#define SUM_OF SCN_RANKS_MAX
#define TABLES (2 * SCN_RANKS_MAX + 1)

static char *tables[TABLES][SCN_TYPE_COUNT];

static int value(int which, size_t place, enum scn_type type)
{
    int sum = 0;
    if (which < SUM_OF)
        return element(which, place, type);
    for (int rank = 0; rank < which - SUM_OF; rank++)
        sum += element(rank, place, type);
    return type == SCN_BOOL ? sum > 0 : sum;
}

/* PERIOD elements, or NULL if memory is out. */
static const char *table(int which, enum scn_type type)
{
    size_t size = scn_type_size(type);
    char *made = tables[which][type];
    if (made)
        return made;
    made = malloc(PERIOD * size);
    if (!made)
        return NULL;
    for (size_t place = 0; place < PERIOD; place++)
        store(made + place * size, value(which, place, type), type);
    tables[which][type] = made;
    return made;
}

/* The longest stretch of the table from element i of an operation on. */
static size_t stretch(unsigned operation, size_t i, size_t count, size_t *from)
{
    *from = (operation * STRIDE + i) % PERIOD;
    return PERIOD - *from < count - i ? PERIOD - *from : count - i;
}

void sim_data_input(void *data, int rank, unsigned operation, size_t count,
                    enum scn_type type)
{
    const char *numbers = table(rank, type);
    size_t size = scn_type_size(type), from, run;
    for (size_t i = 0; numbers && i < count; i += run) {
        run = stretch(operation, i, count, &from);
        memcpy((char *)data + i * size, numbers + from * size, run * size);
    }
}

bool sim_data_is_sum(const void *data, int ranks, unsigned operation,
                     size_t count, enum scn_type type)
{
    const char *sums;
    size_t size = scn_type_size(type), from, run;
    if (ranks < 0 || ranks > SCN_RANKS_MAX)
        return false;
    sums = table(SUM_OF + ranks, type);
    for (size_t i = 0; sums && i < count; i += run) {
        run = stretch(operation, i, count, &from);
        if (memcmp((const char *)data + i * size, sums + from * size,
                   run * size) != 0)
            return false;
    }
    return sums != NULL;
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
    for (int i = 0; i < TABLES; i++)
        for (int type = 0; type < SCN_TYPE_COUNT; type++) {
            free(tables[i][type]);
            tables[i][type] = NULL;
        }
    for (int i = 0; i < SCN_RANKS_MAX; i++)
        for (int k = 0; k < 2; k++) {
            free(buffers[i][k].memory);
            buffers[i][k].memory = NULL;
            buffers[i][k].bytes = 0;
        }
}
