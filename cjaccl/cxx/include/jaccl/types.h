/*
 * The element types that C++ has no type for: what programs need to fill a
 * buffer and to look into one.
 */
#ifndef CJACCL_JACCL_TYPES_H
#define CJACCL_JACCL_TYPES_H

#include <complex>
#include <cstdint>

namespace jaccl
{

/* Both round to nearest, ties to even. */
struct float16_t {
    std::uint16_t bits_;

    float16_t() = default;
    float16_t(const float &value);
    operator float() const;
};

struct bfloat16_t {
    std::uint16_t bits_;

    bfloat16_t() = default;
    bfloat16_t(const float &value);
    operator float() const;
};

inline float16_t &operator+=(float16_t &a, float16_t b)
{
    return a = float(a) + float(b);
}

inline bfloat16_t &operator+=(bfloat16_t &a, bfloat16_t b)
{
    return a = float(a) + float(b);
}

using complex64_t = std::complex<float>;

} // namespace jaccl

#endif
