/* The 16-bit floating point formats. */
#include "reduce.h"

#include <string.h>

#define FLOAT_SIGN 0x80000000u
#define FLOAT_INFINITY 0x7f800000u
#define HALF_INFINITY 0x7c00u
#define HALF_NAN 0x7d00u
#define BFLOAT_NAN 0x7fc0u

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

float cji_half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t magnitude = half & 0x7fffu;

    if (magnitude >= HALF_INFINITY)
        return float_of(sign | FLOAT_INFINITY |
                        (magnitude & ~HALF_INFINITY) << 13);
    /* A shifted half reads as a float32 that is 2^112 too small, subnormals
     * included; the product is exact. */
    return float_of(sign | bits_of(float_of(magnitude << 13) * 0x1p112f));
}

uint16_t cji_half_from_float(float value)
{
    uint32_t bits = bits_of(value);
    uint32_t sign = (bits & FLOAT_SIGN) >> 16;
    uint32_t magnitude = bits & ~FLOAT_SIGN;

    if (magnitude > FLOAT_INFINITY)
        return (uint16_t)(sign | HALF_NAN);
    /* 65520 is the middle between the largest half and the one that is none. */
    if (magnitude >= bits_of(65520.0f))
        return (uint16_t)(sign | HALF_INFINITY);
    /* Below the least normal half: 0.5's last bit is worth one subnormal step,
     * so the addition rounds, and what it adds is the result. */
    if (magnitude < bits_of(0x1p-14f))
        return (uint16_t)(sign | (bits_of(float_of(magnitude) + 0.5f) -
                                  bits_of(0.5f)));
    /* Round at bit 13, to even on a tie, and move the exponent's bias from 127
     * to 15; a carry out of the mantissa is a correct step up. */
    magnitude += 0xfffu + (magnitude >> 13 & 1u);
    return (uint16_t)(sign | (magnitude - (112u << 23)) >> 13);
}

float cji_bfloat_to_float(uint16_t bfloat)
{
    return float_of((uint32_t)bfloat << 16);
}

uint16_t cji_bfloat_from_float(float value)
{
    uint32_t bits = bits_of(value);

    if ((bits & ~FLOAT_SIGN) > FLOAT_INFINITY)
        return BFLOAT_NAN;
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
