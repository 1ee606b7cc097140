/*
 * What goes into a collective, and whether what comes out is right.
 *
 * Elements are small whole numbers that look random: each rank, each operation
 * and each place has its own, so that a chunk in the wrong place, a peer's
 * data in another's stead or the last operation's left-overs are seen. Those
 * that are added are small enough for the sum over eight ranks to be exact in
 * every type, whatever the order of additions. Bool's sum is "any of them".
 * Those that are compared use the whole width of an integer and have both signs
 * where the type has.
 *
 * A table is PERIOD numbers (a prime: no chunk is a multiple of it); operation
 * number n starts n * STRIDE further on in it. Tables are made once per type
 * and kept, since a fuzzer asks for them all the time.
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

static int element(int rank, size_t place)
{
    return (int)(mix((uint64_t)rank, place) % 15) + 1; /* 1 to 15 */
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

union element {
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    uint16_t bits16;
    float f32[2];
    double f64;
};

/* Numbers to add. */
static void store(char *at, int value, enum scn_type type)
{
    union element u;
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

static void store_integer(char *at, int64_t value, size_t size)
{
    int8_t i8 = (int8_t)value;
    int16_t i16 = (int16_t)value;
    int32_t i32 = (int32_t)value;
    const void *from = size == 1   ? (const void *)&i8
                       : size == 2 ? (const void *)&i16
                       : size == 4 ? (const void *)&i32
                                   : (const void *)&value;
    memcpy(at, from, size);
}

/* A number from 1 to 15 as one of 15 that stand in the same order, whatever the
 * type. */
static void store_ordered(char *at, int value, enum scn_type type)
{
    bool negative = value < 8;
    int size = negative ? 8 - value : value - 8;
    /* What fifteen numbers can be multiplied with. */
    int64_t top = (int64_t)1 << (8 * scn_type_size(type) - 4);
    union element u;
    memset(&u, 0, sizeof u);
    switch (type) {
    case SCN_INT8:
    case SCN_INT16:
    case SCN_INT32:
    case SCN_INT64:
        store_integer(at, ((int64_t)value - 8) * top, scn_type_size(type));
        return;
    case SCN_UINT8:
    case SCN_UINT16:
    case SCN_UINT32:
    case SCN_UINT64:
        store_integer(at, (int64_t)((uint64_t)value * (uint64_t)top),
                      scn_type_size(type));
        return;
    case SCN_BOOL:
        u.i8 = value > 7;
        break;
    case SCN_FLOAT16:
        u.bits16 = (uint16_t)(half(size) | (negative ? 0x8000 : 0));
        break;
    case SCN_BFLOAT16:
        u.bits16 = (uint16_t)(bfloat(size) | (negative ? 0x8000 : 0));
        break;
    case SCN_FLOAT64:
        u.f64 = value - 8;
        break;
    case SCN_COMPLEX64: /* equal real parts leave it to the imaginary ones */
        u.f32[0] = (float)(value / 4 - 2);
        u.f32[1] = (float)(value % 4 - 1);
        break;
    default:
        u.f32[0] = (float)(value - 8);
        break;
    }
    memcpy(at, &u, scn_type_size(type));
}

static char *tables[SIM_DATA_KIND_COUNT][SCN_RANKS_MAX + 1][SCN_TYPE_COUNT];

static int combined(enum sim_data_kind kind, int ranks, size_t place)
{
    int result = element(0, place);
    for (int rank = 1; rank < ranks; rank++) {
        int other = element(rank, place);
        if (kind == SIM_DATA_SUM)
            result += other;
        else if ((other > result) == (kind == SIM_DATA_MAX))
            result = other;
    }
    return result;
}

static int any_of(int ranks, size_t place)
{
    for (int rank = 0; rank < ranks; rank++)
        if (element(rank, place) > 12)
            return 1;
    return 0;
}

static void store_at(char *at, enum sim_data_kind kind, int which, size_t place,
                     enum scn_type type)
{
    switch (kind) {
    case SIM_DATA_OF_RANK:
        store(at,
              type == SCN_BOOL ? element(which, place) > 12
                               : element(which, place),
              type);
        break;
    case SIM_DATA_SUM:
        store(at,
              type == SCN_BOOL ? any_of(which, place)
                               : combined(kind, which, place),
              type);
        break;
    case SIM_DATA_ORDERED:
        store_ordered(at, element(which, place), type);
        break;
    default:
        store_ordered(at, combined(kind, which, place), type);
        break;
    }
}

/* PERIOD elements, or NULL if there are none, or memory is out. */
static const char *table(const struct sim_data *data)
{
    size_t size = scn_type_size(data->type);
    char *made;
    if (data->which < 0 || data->which > SCN_RANKS_MAX)
        return NULL;
    made = tables[data->kind][data->which][data->type];
    if (made)
        return made;
    made = malloc(PERIOD * size);
    if (!made)
        return NULL;
    for (size_t place = 0; place < PERIOD; place++)
        store_at(made + place * size, data->kind, data->which, place,
                 data->type);
    tables[data->kind][data->which][data->type] = made;
    return made;
}

/* The longest stretch of the table from element i on. */
static size_t stretch(const struct sim_data *data, size_t i, size_t *from)
{
    size_t rest = data->count - i;
    *from = (data->operation * STRIDE + data->from + i) % PERIOD;
    return PERIOD - *from < rest ? PERIOD - *from : rest;
}

void sim_data_write(const struct sim_data *data, void *at)
{
    const char *numbers = table(data);
    size_t size = scn_type_size(data->type), from, run;
    for (size_t i = 0; numbers && i < data->count; i += run) {
        run = stretch(data, i, &from);
        memcpy((char *)at + i * size, numbers + from * size, run * size);
    }
}

bool sim_data_is(const struct sim_data *data, const void *at)
{
    const char *numbers = table(data);
    size_t size = scn_type_size(data->type), from, run;
    for (size_t i = 0; numbers && i < data->count; i += run) {
        run = stretch(data, i, &from);
        if (memcmp((const char *)at + i * size, numbers + from * size,
                   run * size) != 0)
            return false;
    }
    return numbers != NULL;
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
    for (int kind = 0; kind < SIM_DATA_KIND_COUNT; kind++)
        for (int which = 0; which <= SCN_RANKS_MAX; which++)
            for (int type = 0; type < SCN_TYPE_COUNT; type++) {
                free(tables[kind][which][type]);
                tables[kind][which][type] = NULL;
            }
    for (int i = 0; i < SCN_RANKS_MAX; i++)
        for (int k = 0; k < 2; k++) {
            free(buffers[i][k].memory);
            buffers[i][k].memory = NULL;
            buffers[i][k].bytes = 0;
        }
}
