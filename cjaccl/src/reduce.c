#include "reduce.h"

#include <string.h>

/*
 * One loop for each type; `wide` is what the sum is formed in. An integer's is
 * unsigned, so that it wraps, and as wide as int at least, so that it is not
 * promoted to a signed one.
 */
#define SUM(name, type, wide)                                                  \
    static void sum_##name(const void *in, void *out, size_t count)            \
    {                                                                          \
        const type *restrict a = in;                                           \
        type *restrict b = out;                                                \
                                                                               \
        for (size_t i = 0; i < count; i++)                                     \
            b[i] = (type)((wide)b[i] + (wide)a[i]);                            \
    }

SUM(8, uint8_t, unsigned)
SUM(16, uint16_t, unsigned)
SUM(32, uint32_t, uint32_t)
SUM(64, uint64_t, uint64_t)
SUM(float, float, float)
SUM(double, double, double)

static void sum_bool(const void *in, void *out, size_t count)
{
    const unsigned char *restrict a = in;
    unsigned char *restrict b = out;

    for (size_t i = 0; i < count; i++)
        b[i] = (a[i] | b[i]) != 0;
}

static void sum_half(const void *in, void *out, size_t count)
{
    const uint16_t *restrict a = in;
    uint16_t *restrict b = out;

    for (size_t i = 0; i < count; i++)
        b[i] = cji_half_from_float(cji_half_to_float(b[i]) +
                                   cji_half_to_float(a[i]));
}

static void sum_bfloat(const void *in, void *out, size_t count)
{
    const uint16_t *restrict a = in;
    uint16_t *restrict b = out;

    for (size_t i = 0; i < count; i++)
        b[i] = cji_bfloat_from_float(cji_bfloat_to_float(b[i]) +
                                     cji_bfloat_to_float(a[i]));
}

/* Real and imaginary parts are added like any other floats. */
static void sum_complex(const void *in, void *out, size_t count)
{
    sum_float(in, out, 2 * count);
}

struct kind {
    size_t size;
    void (*sum)(const void *in, void *out, size_t count);
};

static const struct kind kinds[CJ_TYPE_COUNT] = {
    [CJ_BOOL] = {1, sum_bool},       [CJ_INT8] = {1, sum_8},
    [CJ_INT16] = {2, sum_16},        [CJ_INT32] = {4, sum_32},
    [CJ_INT64] = {8, sum_64},        [CJ_UINT8] = {1, sum_8},
    [CJ_UINT16] = {2, sum_16},       [CJ_UINT32] = {4, sum_32},
    [CJ_UINT64] = {8, sum_64},       [CJ_FLOAT16] = {2, sum_half},
    [CJ_BFLOAT16] = {2, sum_bfloat}, [CJ_FLOAT32] = {4, sum_float},
    [CJ_FLOAT64] = {8, sum_double},  [CJ_COMPLEX64] = {8, sum_complex},
};

size_t cj_type_size(enum cj_type type)
{
    if ((int)type < 0 || type >= CJ_TYPE_COUNT)
        return 0;
    return kinds[type].size;
}

void cji_reduce(enum cji_reduction reduction, enum cj_type type, const void *in,
                void *out, size_t count)
{
    (void)reduction;
    kinds[type].sum(in, out, count);
}

void cji_reduce_to(enum cji_reduction reduction, enum cj_type type,
                   const void *a, const void *b, void *out, size_t count)
{
    memcpy(out, a, count * kinds[type].size);
    cji_reduce(reduction, type, b, out, count);
}
