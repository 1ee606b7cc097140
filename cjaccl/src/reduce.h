/*
 * The sums: out[i] = out[i] + in[i] for every element type, on any alignment
 * that the type allows. `in` and `out` do not overlap.
 *
 * Integers wrap. float16 and bfloat16 are added as float32 and rounded to
 * nearest, ties to even; a NaN becomes JACCL's (0x7d00 with its sign, 0x7fc0).
 */
#ifndef CJACCL_REDUCE_H
#define CJACCL_REDUCE_H

#include "cjaccl/cjaccl.h"

void cji_sum(enum cj_type type, const void *in, void *out, size_t count);

/* float16 and bfloat16 as bits, to and from float32. */
float cji_half_to_float(uint16_t half);
uint16_t cji_half_from_float(float value);
float cji_bfloat_to_float(uint16_t bfloat);
uint16_t cji_bfloat_from_float(float value);

#endif
