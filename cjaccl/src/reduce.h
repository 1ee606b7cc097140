/*
 * Reductions of elements, one loop for each operation and type, each of a form
 * that compilers vectorize. Results are JACCL's bit for bit, NaNs, signed zeros
 * and the rounding of the 16-bit formats included: where JACCL computes `a OP
 * b`, so does this, in that order.
 */
#ifndef CJACCL_REDUCE_H
#define CJACCL_REDUCE_H

#include "cjaccl/cjaccl.h"

enum cji_reduction { CJI_SUM, CJI_MAX, CJI_MIN };

/* out[i] = out[i] OP in[i]. The two do not overlap and are aligned for the
 * type. */
void cji_reduce(enum cji_reduction reduction, enum cj_type type, const void *in,
                void *out, size_t count);

/* out[i] = a[i] OP b[i]. out overlaps neither. */
void cji_reduce_to(enum cji_reduction reduction, enum cj_type type,
                   const void *a, const void *b, void *out, size_t count);

uint16_t cji_half_from_float(float value);
float cji_half_to_float(uint16_t half);
uint16_t cji_bfloat_from_float(float value);
float cji_bfloat_to_float(uint16_t bfloat);

#endif
