/*
 * Reductions of elements, one loop for each operation and type, each of a form
 * that compilers vectorize. Results are JACCL's bit for bit, signed zeros, NaNs
 * and the rounding of the 16-bit formats included: where JACCL computes `a OP
 * b`, so does this, in that order.
 *
 * One thing C leaves open: a sum of two NaNs is one of them, and which is the
 * compiler's choice, for JACCL's loops as for these.
 */
#ifndef CJACCL_REDUCE_H
#define CJACCL_REDUCE_H

#include "cjaccl/cjaccl.h"
#include "half.h"

enum cji_reduction { CJI_SUM, CJI_MAX, CJI_MIN };

/* out[i] = out[i] OP in[i]. The two do not overlap and are aligned for the
 * type. */
void cji_reduce(enum cji_reduction reduction, enum cj_type type, const void *in,
                void *out, size_t count);

/* out[i] = a[i] OP b[i]. out is `a`, or is `b`, or overlaps neither. */
void cji_reduce_to(enum cji_reduction reduction, enum cj_type type,
                   const void *a, const void *b, void *out, size_t count);

#endif
