/*
 * The element types' sums against plain references: every 16-bit value, the
 * borders between them, and the special values.
 */
#include "cjaccl/src/reduce.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define SAME_FLOAT(a, b)                                                       \
    assert_true((isnan(a) && isnan(b)) || memcmp(&(a), &(b), sizeof(a)) == 0)

static float float_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* What the IEEE format says, without a trick. */
static double half_reference(uint16_t half)
{
    int exponent = half >> 10 & 31;
    int mantissa = half & 1023;
    double sign = half & 0x8000 ? -1 : 1;

    if (exponent == 31)
        return mantissa != 0 ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(mantissa, -24);
    return sign * ldexp(1024 + mantissa, exponent - 25);
}

/* The half that is nearest; nearbyint rounds ties to even. */
static uint16_t half_nearest(float value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    double size = fabs((double)value);
    int exponent = -14;
    double steps;

    if (isnan(value))
        return sign | 0x7d00;
    if (isinf(value))
        return sign | 0x7c00;
    if (size > 0 && ilogb(size) > -14)
        exponent = ilogb(size);
    steps = nearbyint(ldexp(size, 10 - exponent));
    if (ldexp(steps, exponent - 10) >= 65536.0)
        return sign | 0x7c00;
    /* Steps count on through the borders of the exponents. */
    return (uint16_t)(sign + ((exponent + 14) << 10) + (int)steps);
}

static uint16_t bfloat_nearest(float value)
{
    uint32_t bits;
    uint32_t low;
    double down;
    double up;

    if (isnan(value))
        return 0x7fc0;
    memcpy(&bits, &value, sizeof bits);
    if (isinf(value))
        return (uint16_t)(bits >> 16);
    low = bits & 0xffff0000u;
    down = fabs((double)value - float_of(low));
    /* Beyond the largest one comes what would be the next, not infinity. */
    up = (low & 0x7fff0000u) == 0x7f7f0000u
             ? ldexp(1, 128) - fabs((double)value)
             : fabs((double)float_of(low + 0x10000u) - value);
    if (down < up || (down == up && (low >> 16 & 1) == 0))
        return (uint16_t)(low >> 16);
    return (uint16_t)((low >> 16) + 1);
}

static void every_half_has_its_value(void **state)
{
    (void)state;
    for (uint32_t i = 0; i <= 0xffff; i++) {
        float ours = cji_half_to_float((uint16_t)i);
        float reference = (float)half_reference((uint16_t)i);

        SAME_FLOAT(ours, reference);
        if (!isnan(ours))
            assert_int_equal(cji_half_from_float(ours), i);
    }
}

static void check_half(float value)
{
    assert_int_equal(cji_half_from_float(value), half_nearest(value));
}

static void floats_become_the_nearest_half(void **state)
{
    (void)state;
    /* A prime step visits all exponents and all low bits. */
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4093)
        check_half(float_of((uint32_t)bits));
    /* All middles between two halves, and the floats around them. */
    for (uint32_t i = 0; i < 0x7c00; i++) {
        double below = half_reference((uint16_t)i);
        double above = i == 0x7bff ? 65536 : half_reference((uint16_t)(i + 1));
        float middle = (float)((below + above) / 2);

        check_half(middle);
        check_half(-middle);
        check_half(nextafterf(middle, 0));
        check_half(nextafterf(middle, INFINITY));
    }
}

static void floats_become_the_nearest_bfloat(void **state)
{
    (void)state;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4093) {
        float value = float_of((uint32_t)bits);

        assert_int_equal(cji_bfloat_from_float(value), bfloat_nearest(value));
    }
    for (uint32_t high = 0; high <= 0xffff; high++) {
        for (uint32_t low = 0x7fff; low <= 0x8001; low++) {
            float value = float_of(high << 16 | low);

            assert_int_equal(cji_bfloat_from_float(value),
                             bfloat_nearest(value));
        }
    }
}

static void special_values_stay_what_jaccl_makes_them(void **state)
{
    (void)state;
    assert_int_equal(cji_half_from_float(NAN), 0x7d00);
    assert_int_equal(cji_half_from_float(-(float)NAN), 0xfd00);
    assert_int_equal(cji_bfloat_from_float(NAN), 0x7fc0);
    assert_int_equal(cji_bfloat_from_float(-(float)NAN), 0x7fc0);
    assert_int_equal(cji_half_from_float(-0.0f), 0x8000);
    assert_int_equal(cji_bfloat_from_float(-0.0f), 0x8000);
    assert_int_equal(cji_half_from_float(65519.996f), 0x7bff);
    assert_int_equal(cji_half_from_float(65520.0f), 0x7c00);
    assert_int_equal(cji_half_from_float(0x1p-25f), 0);
    assert_int_equal(cji_half_from_float(-0x1.8p-25f), 0x8001);
}

/* Values that have something to say together: signs, zeros, borders, NaN. */
static const uint16_t halves[] = {
    0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00,
    0x3c01, 0x3555, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7801,
};
#define HALVES (sizeof halves / sizeof *halves)

static void half_sums_are_rounded_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < HALVES; i++) {
        for (size_t k = 0; k < HALVES; k++) {
            uint16_t sum = halves[i];
            float exact =
                (float)(half_reference(halves[i]) + half_reference(halves[k]));

            cji_reduce(CJI_SUM, CJ_FLOAT16, &halves[k], &sum, 1);
            if (isnan(exact))
                assert_int_equal(sum & 0x7fff, 0x7d00);
            else
                assert_int_equal(sum, half_nearest(exact));
        }
    }
}

static void bfloat_sums_are_rounded_once(void **state)
{
    static const uint16_t values[] = {0x0000, 0x8000, 0x3f80, 0xbf80, 0x3f81,
                                      0x3b80, 0x7f7f, 0x7f80, 0xff80, 0x7fc0,
                                      0x0001, 0x4300, 0x3f00};
    const size_t count = sizeof values / sizeof *values;

    (void)state;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count; k++) {
            uint16_t sum = values[i];
            float exact = float_of((uint32_t)values[i] << 16) +
                          float_of((uint32_t)values[k] << 16);

            cji_reduce(CJI_SUM, CJ_BFLOAT16, &values[k], &sum, 1);
            assert_int_equal(sum, bfloat_nearest(exact));
        }
    }
}

#define CHECK_WRAPS(enumerator, type, largest, wrapped)                        \
    do {                                                                       \
        type in[3] = {1, (largest), 5};                                        \
        type out[3] = {(largest), (largest), 7};                               \
        const type expected[3] = {(wrapped), (type)-2, 12};                    \
                                                                               \
        cji_reduce(CJI_SUM, enumerator, in, out, 3);                           \
        assert_memory_equal(out, expected, sizeof out);                        \
    } while (0)

static void integers_wrap(void **state)
{
    (void)state;
    CHECK_WRAPS(CJ_INT8, int8_t, INT8_MAX, INT8_MIN);
    CHECK_WRAPS(CJ_INT16, int16_t, INT16_MAX, INT16_MIN);
    CHECK_WRAPS(CJ_INT32, int32_t, INT32_MAX, INT32_MIN);
    CHECK_WRAPS(CJ_INT64, int64_t, INT64_MAX, INT64_MIN);
    CHECK_WRAPS(CJ_UINT8, uint8_t, UINT8_MAX, 0);
    CHECK_WRAPS(CJ_UINT16, uint16_t, UINT16_MAX, 0);
    CHECK_WRAPS(CJ_UINT32, uint32_t, UINT32_MAX, 0);
    CHECK_WRAPS(CJ_UINT64, uint64_t, UINT64_MAX, 0);
}

static void bools_are_any(void **state)
{
    unsigned char in[4] = {0, 1, 0, 1};
    unsigned char out[4] = {0, 0, 1, 1};
    const unsigned char expected[4] = {0, 1, 1, 1};

    (void)state;
    cji_reduce(CJI_SUM, CJ_BOOL, in, out, 4);
    assert_memory_equal(out, expected, 4);
}

static void floats_add_as_the_processor_does(void **state)
{
    static const float values[] = {0.0f,      -0.0f,    1.0f,     -1.0f,
                                   0x1p-149f, 0x1p127f, INFINITY, -INFINITY,
                                   NAN,       0.1f};
    const size_t count = sizeof values / sizeof *values;

    (void)state;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count; k++) {
            float single = values[i];
            double twice = values[i];
            float complex[2] = {values[i], values[k]};
            const float other[2] = {values[k], values[k]};
            double wide = values[k];
            float expected = values[i] + values[k];
            double expected_wide = (double)values[i] + wide;
            float doubled = values[k] + values[k];

            cji_reduce(CJI_SUM, CJ_FLOAT32, &values[k], &single, 1);
            cji_reduce(CJI_SUM, CJ_FLOAT64, &wide, &twice, 1);
            cji_reduce(CJI_SUM, CJ_COMPLEX64, other, complex, 1);
            SAME_FLOAT(single, expected);
            SAME_FLOAT(twice, expected_wide);
            SAME_FLOAT(complex[0], expected);
            SAME_FLOAT(complex[1], doubled);
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
        cmocka_unit_test(every_half_has_its_value),
        cmocka_unit_test(floats_become_the_nearest_half),
        cmocka_unit_test(floats_become_the_nearest_bfloat),
        cmocka_unit_test(special_values_stay_what_jaccl_makes_them),
        cmocka_unit_test(half_sums_are_rounded_once),
        cmocka_unit_test(bfloat_sums_are_rounded_once),
        cmocka_unit_test(integers_wrap),
        cmocka_unit_test(bools_are_any),
        cmocka_unit_test(floats_add_as_the_processor_does),
        cmocka_unit_test(sizes_are_known_and_nothing_else_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
