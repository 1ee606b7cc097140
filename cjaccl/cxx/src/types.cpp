#include "jaccl/types.h"

#include "../../src/half.h"

namespace jaccl
{

float16_t::float16_t(const float &value) : bits_(cji_half_from_float(value))
{
}

float16_t::operator float() const
{
    return cji_half_to_float(bits_);
}

bfloat16_t::bfloat16_t(const float &value) : bits_(cji_bfloat_from_float(value))
{
}

bfloat16_t::operator float() const
{
    return cji_bfloat_to_float(bits_);
}

} // namespace jaccl
