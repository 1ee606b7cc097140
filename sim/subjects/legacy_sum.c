/*
 * Sums of all element types. Integers wrap; the 16-bit floats are added as
 * float32 and rounded to nearest, ties to even.
 */
#include "sim/subjects/legacy.h"

#include <string.h>

#define HALF_NAN 0x7d00 /* JACCL's, without the sign */
#define BFLOAT_NAN 0x7fc0

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float float_of_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 0x1f;
    uint32_t fraction = half & 0x3ff;
    if (exponent == 0x1f)
        return float_of(sign | 0x7f800000 | fraction << 13);
    if (exponent != 0)
        return float_of(sign | (exponent + 112) << 23 | fraction << 13);
    /* A subnormal is a multiple of 2^-24. */
    float value = (float)fraction * 0x1p-24f;
    return sign ? -value : value;
}

/* bits >> shift, to nearest, ties to even. */
static uint32_t shift_rounding(uint32_t bits, int shift)
{
    uint32_t kept = bits >> shift;
    uint32_t lost = bits & ((UINT32_C(1) << shift) - 1);
    uint32_t half = UINT32_C(1) << (shift - 1);
    if (lost > half || (lost == half && (kept & 1)))
        kept++;
    return kept;
}

static uint16_t half_of_float(float value)
{
    uint32_t bits = bits_of(value);
    uint32_t sign = bits >> 16 & 0x8000;
    uint32_t size = bits & 0x7fffffff;
    if (size > 0x7f800000)
        return (uint16_t)(sign | HALF_NAN);
    if (size >= 0x477ff000) /* 65520 and more round to infinity */
        return (uint16_t)(sign | 0x7c00);
    if (size >= 0x38800000) /* normal; a carry moves on to the exponent */
        return (uint16_t)(sign | shift_rounding(size - 0x38000000, 13));
    if (size < 0x33000000) /* less than half of the smallest */
        return (uint16_t)sign;
    int shift = 126 - (int)(size >> 23);
    return (uint16_t)(sign |
                      shift_rounding((size & 0x7fffff) | 0x800000, shift));
}

static float float_of_bfloat(uint16_t bfloat)
{
    return float_of((uint32_t)bfloat << 16);
}

static uint16_t bfloat_of_float(float value)
{
    uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return BFLOAT_NAN;
    return (uint16_t)shift_rounding(bits, 16);
}

static uint16_t half_sum(uint16_t a, uint16_t b)
{
    return half_of_float(float_of_half(a) + float_of_half(b));
}

static uint16_t bfloat_sum(uint16_t a, uint16_t b)
{
    return bfloat_of_float(float_of_bfloat(a) + float_of_bfloat(b));
}

/* One loop per type. Chunks begin where the caller's array and a frame do, so
 * elements are aligned. Signed types are summed as unsigned: the same bits. */
#define SUM_LOOP(name, element, expression)                                    \
    static void name(const void *a, const void *b, void *out, int64_t count)   \
    {                                                                          \
        const element *left = a, *right = b;                                   \
        element *sum = out;                                                    \
        for (int64_t i = 0; i < count; i++)                                    \
            sum[i] = (element)(expression);                                    \
    }

SUM_LOOP(sum_bool, unsigned char, left[i] || right[i])
SUM_LOOP(sum_8, uint8_t, left[i] + right[i])
SUM_LOOP(sum_16, uint16_t, left[i] + right[i])
SUM_LOOP(sum_32, uint32_t, left[i] + right[i])
SUM_LOOP(sum_64, uint64_t, left[i] + right[i])
SUM_LOOP(sum_half, uint16_t, half_sum(left[i], right[i]))
SUM_LOOP(sum_bfloat, uint16_t, bfloat_sum(left[i], right[i]))
SUM_LOOP(sum_float, float, left[i] + right[i])
SUM_LOOP(sum_double, double, left[i] + right[i])

/* Pairs of floats. */
static void sum_complex(const void *a, const void *b, void *out, int64_t count)
{
    sum_float(a, b, out, 2 * count);
}

void legacy_sum(enum scn_type type, const void *a, const void *b, void *out,
                int64_t count)
{
    static void (*const sums[SCN_TYPE_COUNT])(const void *, const void *,
                                              void *, int64_t) = {
        [SCN_BOOL] = sum_bool,       [SCN_INT8] = sum_8,
        [SCN_INT16] = sum_16,        [SCN_INT32] = sum_32,
        [SCN_INT64] = sum_64,        [SCN_UINT8] = sum_8,
        [SCN_UINT16] = sum_16,       [SCN_UINT32] = sum_32,
        [SCN_UINT64] = sum_64,       [SCN_FLOAT16] = sum_half,
        [SCN_BFLOAT16] = sum_bfloat, [SCN_FLOAT32] = sum_float,
        [SCN_FLOAT64] = sum_double,  [SCN_COMPLEX64] = sum_complex,
    };
    sums[type](a, b, out, count);
}
