#include "reduce.h"

/*
 * A second version of every loop, for processors that have AVX2, chosen when
 * the program is loaded. CMake says where compiler and loader can do that.
 */
#ifdef CJI_CLONES
#define CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CLONES
#endif

/* `out` may be `a`: nothing that is written in one round is read in another. */
#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define INDEPENDENT _Pragma("GCC ivdep")
#else
#define INDEPENDENT
#endif

/*
 * A loop out[i] = `result`, in which x is a[i] and y is b[i]. tests/vectors.sh
 * looks for the names of these macros, and whether their loops are vectorized.
 */
#define LOOP(name, type, result)                                               \
    CLONES static void name(const void *a, const void *b, void *out,           \
                            size_t count)                                      \
    {                                                                          \
        const type *from_a = a;                                                \
        const type *from_b = b;                                                \
        type *to = out;                                                        \
                                                                               \
        INDEPENDENT                                                            \
        for (size_t i = 0; i < count; i++) {                                   \
            type x = from_a[i];                                                \
            type y = from_b[i];                                                \
                                                                               \
            to[i] = (type)(result);                                            \
        }                                                                      \
    }

/*
 * Sums. Integers are added as unsigned ones, so that they wrap, and as wide as
 * int at least, so that they are not promoted to a signed one.
 */
LOOP(sum_bool, uint8_t, (x | y) != 0)
LOOP(sum_8, uint8_t, (unsigned)x + (unsigned)y)
LOOP(sum_16, uint16_t, (unsigned)x + (unsigned)y)
LOOP(sum_32, uint32_t, x + y)
LOOP(sum_64, uint64_t, x + y)
LOOP(sum_float, float, x + y)
LOOP(sum_double, double, x + y)
LOOP(sum_bfloat, uint16_t,
     cji_bfloat_from_float(cji_bfloat_to_float(x) + cji_bfloat_to_float(y)))

/* Of two that are equal or not ordered (NaN), the second. */
#define LARGER x > y ? x : y
#define SMALLER x < y ? x : y

LOOP(max_i8, int8_t, LARGER)
LOOP(min_i8, int8_t, SMALLER)
LOOP(max_i16, int16_t, LARGER)
LOOP(min_i16, int16_t, SMALLER)
LOOP(max_i32, int32_t, LARGER)
LOOP(min_i32, int32_t, SMALLER)
LOOP(max_i64, int64_t, LARGER)
LOOP(min_i64, int64_t, SMALLER)
LOOP(max_u8, uint8_t, LARGER)
LOOP(min_u8, uint8_t, SMALLER)
LOOP(max_u16, uint16_t, LARGER)
LOOP(min_u16, uint16_t, SMALLER)
LOOP(max_u32, uint32_t, LARGER)
LOOP(min_u32, uint32_t, SMALLER)
LOOP(max_u64, uint64_t, LARGER)
LOOP(min_u64, uint64_t, SMALLER)
LOOP(max_float, float, LARGER)
LOOP(min_float, float, SMALLER)
LOOP(max_double, double, LARGER)
LOOP(min_double, double, SMALLER)

/*
 * The 16-bit formats are compared as integers: a magnitude with its sign is as
 * large as the number is, both zeros are 0, and whatever is beyond infinity is
 * no number.
 */
static inline int16_t magnitude_of(uint16_t x)
{
    return (int16_t)(x & 0x7fff);
}

static inline int16_t signed_of(uint16_t x)
{
    int16_t minus = (int16_t)((int16_t)x >> 15);

    return (int16_t)((magnitude_of(x) ^ minus) - minus);
}

#define ORDERED(infinity)                                                      \
    (magnitude_of(x) <= (infinity) && magnitude_of(y) <= (infinity))
#define LARGER_16(infinity)                                                    \
    signed_of(x) > signed_of(y) && ORDERED(infinity) ? x : y
#define SMALLER_16(infinity)                                                   \
    signed_of(x) < signed_of(y) && ORDERED(infinity) ? x : y

LOOP(max_bfloat, uint16_t, LARGER_16(CJI_BFLOAT_INFINITY))
LOOP(min_bfloat, uint16_t, SMALLER_16(CJI_BFLOAT_INFINITY))

/*
 * Where the processor has arithmetic of float16, JACCL uses it, and so does
 * this: then a NaN keeps more of what it was.
 */
#ifdef __ARM_FEATURE_FP16_SCALAR_ARITHMETIC
LOOP(sum_half, __fp16, x + y)
LOOP(max_half, __fp16, LARGER)
LOOP(min_half, __fp16, SMALLER)
#else
LOOP(sum_half, uint16_t,
     cji_half_from_float(cji_half_to_float(x) + cji_half_to_float(y)))
LOOP(max_half, uint16_t, LARGER_16(CJI_HALF_INFINITY))
LOOP(min_half, uint16_t, SMALLER_16(CJI_HALF_INFINITY))
#endif

/* Real and imaginary parts are added like any other floats. */
static void sum_complex(const void *a, const void *b, void *out, size_t count)
{
    sum_float(a, b, out, 2 * count);
}

/* Compared by their real parts, where these are equal by the imaginary ones. */
#define COMPLEX_LOOP(name, OP)                                                 \
    CLONES static void name(const void *a, const void *b, void *out,           \
                            size_t count)                                      \
    {                                                                          \
        const float *x = a;                                                    \
        const float *y = b;                                                    \
        float *to = out;                                                       \
                                                                               \
        INDEPENDENT                                                            \
        for (size_t i = 0; i < 2 * count; i += 2) {                            \
            float real[2] = {x[i], y[i]};                                      \
            float imaginary[2] = {x[i + 1], y[i + 1]};                         \
            int first =                                                        \
                (real[0] OP real[1]) |                                         \
                ((real[0] == real[1]) & (imaginary[0] OP imaginary[1]));       \
                                                                               \
            to[i] = first ? real[0] : real[1];                                 \
            to[i + 1] = first ? imaginary[0] : imaginary[1];                   \
        }                                                                      \
    }

COMPLEX_LOOP(max_complex, >)
COMPLEX_LOOP(min_complex, <)

struct kind {
    size_t size;
    void (*loops[3])(const void *a, const void *b, void *out, size_t count);
};

/* In the order of enum cji_reduction. */
#define KIND(type, sum, name)                                                  \
    {                                                                          \
        sizeof(type),                                                          \
        {                                                                      \
            sum, max_##name, min_##name                                        \
        }                                                                      \
    }

static const struct kind kinds[CJ_TYPE_COUNT] = {
    [CJ_BOOL] = KIND(uint8_t, sum_bool, u8),
    [CJ_INT8] = KIND(int8_t, sum_8, i8),
    [CJ_INT16] = KIND(int16_t, sum_16, i16),
    [CJ_INT32] = KIND(int32_t, sum_32, i32),
    [CJ_INT64] = KIND(int64_t, sum_64, i64),
    [CJ_UINT8] = KIND(uint8_t, sum_8, u8),
    [CJ_UINT16] = KIND(uint16_t, sum_16, u16),
    [CJ_UINT32] = KIND(uint32_t, sum_32, u32),
    [CJ_UINT64] = KIND(uint64_t, sum_64, u64),
    [CJ_FLOAT16] = KIND(uint16_t, sum_half, half),
    [CJ_BFLOAT16] = KIND(uint16_t, sum_bfloat, bfloat),
    [CJ_FLOAT32] = KIND(float, sum_float, float),
    [CJ_FLOAT64] = KIND(double, sum_double, double),
    [CJ_COMPLEX64] = KIND(float[2], sum_complex, complex),
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
    kinds[type].loops[reduction](out, in, out, count);
}

void cji_reduce_to(enum cji_reduction reduction, enum cj_type type,
                   const void *a, const void *b, void *out, size_t count)
{
    kinds[type].loops[reduction](a, b, out, count);
}
