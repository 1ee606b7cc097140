/*
 * The reductions of elements against plain references: all 16-bit values, the
 * borders between them, the special values, and every length a vector may have
 * left over.
 */
#include "cjaccl/src/reduce.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ALL_16 65536

static float float_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- the 16-bit formats, as IEEE 754 describes them, without a trick ---- */

struct format {
    enum cj_type type;
    int fraction; /* bits */
    int least;    /* the exponent of the least normal number */
    uint16_t infinity;
    uint16_t nan;
};

static const struct format half = {CJ_FLOAT16, 10, -14, 0x7c00, 0x7d00};
static const struct format bfloat = {CJ_BFLOAT16, 7, -126, 0x7f80, 0x7fc0};

static double value_of(const struct format *format, uint16_t bits)
{
    int magnitude = bits & 0x7fff;
    int exponent = magnitude >> format->fraction;
    int mantissa = magnitude & ((1 << format->fraction) - 1);
    double sign = bits & 0x8000 ? -1 : 1;

    if (magnitude > format->infinity)
        return NAN;
    if (magnitude == format->infinity)
        return sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(mantissa, format->least - format->fraction);
    return sign * ldexp((1 << format->fraction) + mantissa,
                        exponent - 1 + format->least - format->fraction);
}

/* What is nearest; nearbyint rounds ties to even. A NaN is one of no sign. */
static uint16_t nearest(const struct format *format, double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double size = fabs(value);
    int exponent = format->least;
    int bits;

    if (isnan(value))
        return format->nan;
    if (isinf(value))
        return sign | format->infinity;
    if (size > 0 && ilogb(size) > exponent)
        exponent = ilogb(size);
    /* Steps count on through the borders of the exponents. */
    bits = ((exponent - format->least) << format->fraction) +
           (int)nearbyint(ldexp(size, format->fraction - exponent));
    return sign | (uint16_t)(bits < format->infinity ? bits : format->infinity);
}

/* float16's NaN keeps a sign, and of which operand is the compiler's choice. */
static bool is_same(const struct format *format, uint16_t ours,
                    uint16_t reference)
{
    if (reference != format->nan)
        return ours == reference;
#ifdef __ARM_FEATURE_FP16_SCALAR_ARITHMETIC
    if (format == &half)
        return (ours & 0x7fff) > half.infinity;
#endif
    return ours == format->nan ||
           (format == &half && ours == (format->nan | 0x8000));
}

static void every_value_is_read_and_written(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < ALL_16; i++) {
        uint16_t bits = (uint16_t)i;
        double as_half = value_of(&half, bits);
        double as_bfloat = value_of(&bfloat, bits);

        assert_true(isnan(as_half) ? isnan(cji_half_to_float(bits))
                                   : cji_half_to_float(bits) == as_half);
        assert_true(isnan(as_bfloat) ? isnan(cji_bfloat_to_float(bits))
                                     : cji_bfloat_to_float(bits) == as_bfloat);
        if (!isnan(as_half))
            assert_int_equal(cji_half_from_float((float)as_half), bits);
        if (!isnan(as_bfloat))
            assert_int_equal(cji_bfloat_from_float((float)as_bfloat), bits);
    }
}

static void check_conversions(float value)
{
    if (!is_same(&half, cji_half_from_float(value), nearest(&half, value)) ||
        cji_bfloat_from_float(value) != nearest(&bfloat, value))
        fail_msg("%a is half %#x, bfloat %#x, not %#x, %#x", (double)value,
                 cji_half_from_float(value), cji_bfloat_from_float(value),
                 nearest(&half, value), nearest(&bfloat, value));
}

static void check_around(float value)
{
    check_conversions(value);
    check_conversions(-value);
    check_conversions(nextafterf(value, 0));
    check_conversions(nextafterf(value, INFINITY));
}

static void floats_become_the_nearest(void **state)
{
    (void)state;
    /* A prime step visits all exponents and all low bits. */
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4093)
        check_conversions(float_of((uint32_t)bits));
    /* All middles between two values, and the floats around them. */
    for (uint32_t i = 0; i < half.infinity; i++) {
        double below = value_of(&half, (uint16_t)i);
        double above = value_of(&half, (uint16_t)(i + 1));

        check_around((float)((below + (isinf(above) ? 65536 : above)) / 2));
    }
    for (uint32_t i = 0; i < bfloat.infinity; i++)
        check_around(float_of(i << 16 | 0x8000));
}

static void special_values_stay_what_jaccl_makes_them(void **state)
{
    (void)state;
    assert_int_equal(cji_half_from_float(float_of(0x7fc00000)), 0x7d00);
    assert_int_equal(cji_half_from_float(float_of(0xffc00000)), 0xfd00);
    assert_int_equal(cji_half_from_float(float_of(0x7f800001)), 0x7d00);
    assert_int_equal(cji_bfloat_from_float(float_of(0x7fc00000)), 0x7fc0);
    assert_int_equal(cji_bfloat_from_float(float_of(0xffc00000)), 0x7fc0);
    assert_int_equal(cji_bfloat_from_float(float_of(0x7f800001)), 0x7fc0);
    assert_int_equal(cji_half_from_float(-0.0f), 0x8000);
    assert_int_equal(cji_bfloat_from_float(-0.0f), 0x8000);
    assert_int_equal(cji_half_from_float(65519.996f), 0x7bff);
    assert_int_equal(cji_half_from_float(65520.0f), 0x7c00);
    assert_int_equal(cji_half_from_float(0x1p-25f), 0);
    assert_int_equal(cji_half_from_float(-0x1.8p-25f), 0x8001);
}

/* ---- each pair of all values with some ---- */

#define PARTNERS 256

/* Both signs of zero, the borders and their neighbours, NaNs; the rest is
 * spread over everything. */
static uint16_t partner(const struct format *format, int n)
{
    const uint16_t one = (uint16_t)(1 << format->fraction); /* least normal */
    const uint16_t borders[] = {0,
                                1,
                                2,
                                one,
                                (uint16_t)(one - 1),
                                (uint16_t)(one + 1),
                                format->infinity,
                                (uint16_t)(format->infinity - 1),
                                (uint16_t)(format->infinity + 1),
                                format->nan,
                                0x7fff,
                                nearest(format, 1)};
    const int count = (int)(sizeof borders / sizeof *borders);

    if (n < 2 * count)
        return (uint16_t)(borders[n / 2] | (n % 2) << 15);
    return (uint16_t)(n * 40503u);
}

/* x OP y, with JACCL's choice of two that are equal or not ordered. */
static uint16_t reference(const struct format *format,
                          enum cji_reduction reduction, uint16_t x, uint16_t y)
{
    double a = value_of(format, x);
    double b = value_of(format, y);

    if (reduction == CJI_SUM)
        return nearest(format, a + b);
    return (reduction == CJI_MAX ? a > b : a < b) ? x : y;
}

static void check_pairs(const struct format *format,
                        enum cji_reduction reduction, uint16_t y)
{
    static uint16_t in[ALL_16];
    static uint16_t out[ALL_16];

    for (uint32_t i = 0; i < ALL_16; i++) {
        in[i] = y;
        out[i] = (uint16_t)i;
    }
    cji_reduce(reduction, format->type, in, out, ALL_16);
    for (uint32_t i = 0; i < ALL_16; i++) {
        uint16_t expected = reference(format, reduction, (uint16_t)i, y);
        bool same = reduction == CJI_SUM ? is_same(format, out[i], expected)
                                         : out[i] == expected;

        if (!same)
            fail_msg("type %d, reduction %d: %#x and %#x give %#x, not %#x",
                     (int)format->type, (int)reduction, (unsigned)i, y, out[i],
                     expected);
    }
}

static void check_all_pairs(const struct format *format)
{
    for (int n = 0; n < PARTNERS; n++) {
        check_pairs(format, CJI_SUM, partner(format, n));
        check_pairs(format, CJI_MAX, partner(format, n));
        check_pairs(format, CJI_MIN, partner(format, n));
    }
}

static void halves_are_rounded_once_and_compared_by_value(void **state)
{
    (void)state;
    check_all_pairs(&half);
}

static void bfloats_are_rounded_once_and_compared_by_value(void **state)
{
    (void)state;
    check_all_pairs(&bfloat);
}

/* ---- the other types ---- */

/* All pairs of `values`, by what C makes of SUM and of x > y ? x : y. */
#define CHECK_TYPE(enumerator, type, SUM, ...)                                 \
    do {                                                                       \
        static const type values[] = {__VA_ARGS__};                            \
        const size_t count = sizeof values / sizeof *values;                   \
                                                                               \
        for (size_t i = 0; i < count * count; i++) {                           \
            type x = values[i / count];                                        \
            type y = values[i % count];                                        \
            type expected[3] = {(type)SUM(x, y), x > y ? x : y,                \
                                x < y ? x : y};                                \
                                                                               \
            for (int op = CJI_SUM; op <= CJI_MIN; op++) {                      \
                type out = x;                                                  \
                                                                               \
                cji_reduce((enum cji_reduction)op, enumerator, &y, &out, 1);   \
                assert_memory_equal(&out, &expected[op], sizeof out);          \
            }                                                                  \
        }                                                                      \
    } while (0)

#define WRAPPED(x, y) ((uint64_t)(x) + (uint64_t)(y))
#define PLAIN(x, y) ((x) + (y))
#define ANY(x, y) ((x) || (y))

static void integers_wrap_and_compare_with_their_sign(void **state)
{
    (void)state;
    CHECK_TYPE(CJ_INT8, int8_t, WRAPPED, 0, 1, -1, 7, INT8_MAX, INT8_MIN);
    CHECK_TYPE(CJ_INT16, int16_t, WRAPPED, 0, 1, -1, 7, INT16_MAX, INT16_MIN);
    CHECK_TYPE(CJ_INT32, int32_t, WRAPPED, 0, 1, -1, 7, INT32_MAX, INT32_MIN);
    CHECK_TYPE(CJ_INT64, int64_t, WRAPPED, 0, 1, -1, 7, INT64_MAX, INT64_MIN);
    CHECK_TYPE(CJ_UINT8, uint8_t, WRAPPED, 0, 1, 7, INT8_MAX, UINT8_MAX);
    CHECK_TYPE(CJ_UINT16, uint16_t, WRAPPED, 0, 1, 7, INT16_MAX, UINT16_MAX);
    CHECK_TYPE(CJ_UINT32, uint32_t, WRAPPED, 0, 1, 7, INT32_MAX, UINT32_MAX);
    CHECK_TYPE(CJ_UINT64, uint64_t, WRAPPED, 0, 1, 7, INT64_MAX, UINT64_MAX);
}

static void bools_are_any_all_or_one(void **state)
{
    (void)state;
    CHECK_TYPE(CJ_BOOL, uint8_t, ANY, 0, 1);
}

static void floats_are_added_and_compared_as_in_c(void **state)
{
    (void)state;
    /* Without NaN: of two, the compiler chooses the one that is the sum. */
    CHECK_TYPE(CJ_FLOAT32, float, PLAIN, 0.0f, -0.0f, 1.0f, -1.0f, 0x1p-149f,
               -0x1p-149f, 0x1.fffffep127f, 0.1f, -0.3f, INFINITY);
    CHECK_TYPE(CJ_FLOAT64, double, PLAIN, 0.0, -0.0, 1.0, -1.0, 0x1p-1074,
               -0x1p-1074, 0x1.fffffffffffffp1023, 0.1, -0.3, INFINITY);
}

/* Of two that are not ordered, the second; a sum with one is one. */
static void nan_goes_where_jaccl_lets_it_go(void **state)
{
    const float numbers[4] = {1, -1, INFINITY, NAN};

    (void)state;
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 4; k++) {
            float x = numbers[i];
            float y = numbers[k];
            float out[3] = {x, x, x};

            if (!isnan(x) && !isnan(y))
                continue;
            for (int op = CJI_SUM; op <= CJI_MIN; op++)
                cji_reduce((enum cji_reduction)op, CJ_FLOAT32, &y, &out[op], 1);
            assert_true(isnan(out[CJI_SUM]));
            assert_memory_equal(&out[CJI_MAX], &y, sizeof y);
            assert_memory_equal(&out[CJI_MIN], &y, sizeof y);
        }
    }
}

static const float *choose_complex(const float *x, const float *y, bool max)
{
    bool real = max ? x[0] > y[0] : x[0] < y[0];
    bool imaginary = max ? x[1] > y[1] : x[1] < y[1];

    return real || (x[0] == y[0] && imaginary) ? x : y;
}

static void complex_numbers_compare_by_real_then_imaginary_part(void **state)
{
    static const float numbers[] = {0.0f, -0.0f, 1, -1, INFINITY, NAN};
    const size_t n = sizeof numbers / sizeof *numbers;

    (void)state;
    for (size_t i = 0; i < n * n * n * n; i++) {
        const float x[2] = {numbers[i % n], numbers[i / n % n]};
        const float y[2] = {numbers[i / n / n % n], numbers[i / n / n / n]};
        float out[3][2] = {{x[0], x[1]}, {x[0], x[1]}, {x[0], x[1]}};

        for (int op = CJI_SUM; op <= CJI_MIN; op++)
            cji_reduce((enum cji_reduction)op, CJ_COMPLEX64, y, out[op], 1);
        assert_memory_equal(out[CJI_MAX], choose_complex(x, y, true), 8);
        assert_memory_equal(out[CJI_MIN], choose_complex(x, y, false), 8);
        for (int part = 0; part < 2; part++) {
            float sum = x[part] + y[part];

            assert_true(isnan(sum) ? isnan(out[CJI_SUM][part])
                                   : memcmp(&sum, &out[CJI_SUM][part],
                                            sizeof sum) == 0);
        }
    }
}

/* ---- lengths and places ---- */

#define MOST 150
#define ROOM ((MOST + 4) * 8)

/* Bytes of a simple generator; `finite`: no exponent is all ones. */
static void fill(unsigned char *bytes, uint32_t seed, bool bit, bool finite)
{
    for (size_t i = 0; i < ROOM; i++) {
        seed = seed * 1664525 + 1013904223;
        bytes[i] = (unsigned char)(seed >> 24);
        if (bit)
            bytes[i] &= 1;
        if (finite)
            bytes[i] &= 0xbf;
    }
}

static void check_length(enum cji_reduction reduction, enum cj_type type,
                         size_t count, size_t shift)
{
    _Alignas(8) unsigned char a[ROOM], b[ROOM], one[ROOM], in_place[ROOM],
        apart[ROOM];
    size_t size = cj_type_size(type);
    size_t at = shift * size;

    fill(a, (uint32_t)count, type == CJ_BOOL, false);
    fill(b, (uint32_t)~count, type == CJ_BOOL, type >= CJ_FLOAT16);
    memcpy(one, a, ROOM);
    memcpy(in_place, a, ROOM);
    memcpy(apart, a, ROOM);
    for (size_t i = 0; i < count; i++)
        cji_reduce(reduction, type, b + i * size, one + at + i * size, 1);
    cji_reduce(reduction, type, b, in_place + at, count);
    cji_reduce_to(reduction, type, a + at, b, apart + at, count);
    assert_memory_equal(in_place, one, ROOM);
    assert_memory_equal(apart, one, ROOM);
}

static void every_length_and_place_gives_the_same_and_no_more(void **state)
{
    (void)state;
    for (int type = 0; type < CJ_TYPE_COUNT; type++) {
        for (int op = CJI_SUM; op <= CJI_MIN; op++) {
            for (size_t count = 0; count <= MOST; count++)
                check_length((enum cji_reduction)op, (enum cj_type)type, count,
                             count % 4);
        }
    }
}

static void sizes_are_known_and_nothing_else_is(void **state)
{
    static const size_t sizes[CJ_TYPE_COUNT] = {1, 1, 2, 4, 8, 1, 2,
                                                4, 8, 2, 2, 4, 8, 8};

    (void)state;
    for (int type = 0; type < CJ_TYPE_COUNT; type++)
        assert_int_equal(cj_type_size((enum cj_type)type), sizes[type]);
    assert_int_equal(cj_type_size(CJ_TYPE_COUNT), 0);
    assert_int_equal(cj_type_size((enum cj_type)99), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_is_read_and_written),
        cmocka_unit_test(floats_become_the_nearest),
        cmocka_unit_test(special_values_stay_what_jaccl_makes_them),
        cmocka_unit_test(halves_are_rounded_once_and_compared_by_value),
        cmocka_unit_test(bfloats_are_rounded_once_and_compared_by_value),
        cmocka_unit_test(integers_wrap_and_compare_with_their_sign),
        cmocka_unit_test(bools_are_any_all_or_one),
        cmocka_unit_test(floats_are_added_and_compared_as_in_c),
        cmocka_unit_test(nan_goes_where_jaccl_lets_it_go),
        cmocka_unit_test(complex_numbers_compare_by_real_then_imaginary_part),
        cmocka_unit_test(every_length_and_place_gives_the_same_and_no_more),
        cmocka_unit_test(sizes_are_known_and_nothing_else_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
