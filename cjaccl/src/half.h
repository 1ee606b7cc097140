/*
 * The 16-bit floating point formats, as JACCL converts them, in a form that
 * compilers vectorize: no tables, and no branches but choices between two
 * values that were both computed.
 *
 * float16 has 5 bits of exponent and 10 of mantissa, bfloat16 is the upper half
 * of a float32. Both round to nearest, ties to even. A NaN becomes the one NaN
 * below; float16's keeps its sign, bfloat16's does not.
 */
#ifndef CJACCL_HALF_H
#define CJACCL_HALF_H

#include <stdint.h>
#include <string.h>

#define CJI_HALF_INFINITY 0x7c00
#define CJI_HALF_NAN 0x7d00
#define CJI_BFLOAT_INFINITY 0x7f80
#define CJI_BFLOAT_NAN 0x7fc0

/* Without its sign, a float's bits fit an int32_t, whose comparisons even
 * SSE2 has. */
#define CJI_FLOAT_MAGNITUDE 0x7fffffff
#define CJI_FLOAT_INFINITY 0x7f800000

static inline int32_t cji_bits_of(float value)
{
    int32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float cji_float_of(int32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float cji_half_to_float(uint16_t half)
{
    const int32_t bias = (127 - 15) << 23;
    int32_t sign = (int32_t)((uint32_t)(half & 0x8000) << 16);
    int32_t magnitude = half & 0x7fff;
    int32_t normal = (magnitude << 13) + bias;
    /* 0.5's last bit is worth one step of the subnormals. */
    int32_t subnormal =
        cji_bits_of(cji_float_of(cji_bits_of(0.5f) | magnitude) - 0.5f);
    int32_t special = normal + bias;
    int32_t finite = magnitude < 0x400 ? subnormal : normal;

    return cji_float_of(sign |
                        (magnitude < CJI_HALF_INFINITY ? finite : special));
}

static inline uint16_t cji_half_from_float(float value)
{
    int32_t bits = cji_bits_of(value);
    int32_t magnitude = bits & CJI_FLOAT_MAGNITUDE;
    /* Round at bit 13, to even on a tie, and change the exponent's bias; a
     * carry out of the mantissa is a correct step up. Unsigned, for what this
     * makes of the others is not used. */
    int32_t normal =
        (int32_t)(((uint32_t)magnitude + 0xfff +
                   ((uint32_t)magnitude >> 13 & 1) - ((127u - 15u) << 23)) >>
                  13);
    /* The addition rounds; what it adds to 0.5 is the result. */
    int32_t subnormal =
        (int32_t)((uint32_t)cji_bits_of(cji_float_of(magnitude) + 0.5f) -
                  (uint32_t)cji_bits_of(0.5f));
    int32_t special =
        magnitude > CJI_FLOAT_INFINITY ? CJI_HALF_NAN : CJI_HALF_INFINITY;
    int32_t finite = magnitude < cji_bits_of(0x1p-14f) ? subnormal : normal;

    /* 65520 is the middle between the largest half and the one that is none. */
    return (uint16_t)(((uint32_t)bits >> 16 & 0x8000) |
                      (uint32_t)(magnitude < cji_bits_of(65520.0f) ? finite
                                                                   : special));
}

static inline float cji_bfloat_to_float(uint16_t bfloat)
{
    return cji_float_of((int32_t)((uint32_t)bfloat << 16));
}

static inline uint16_t cji_bfloat_from_float(float value)
{
    int32_t bits = cji_bits_of(value);
    uint32_t even = (uint32_t)bits >> 16 & 1;
    int32_t rounded = (int32_t)(((uint32_t)bits + 0x7fff + even) >> 16);

    return (uint16_t)((bits & CJI_FLOAT_MAGNITUDE) > CJI_FLOAT_INFINITY
                          ? CJI_BFLOAT_NAN
                          : rounded);
}

#endif
