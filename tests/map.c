/* front/map.h: a map of numbers does what a table of them would do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "front/map.h"

#define KEYS 3000u
#define STEPS 200000u

static unsigned random_below(uint64_t *seed, unsigned most)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (unsigned)(*seed >> 33) % most;
}

/* Keys as they come: neighbouring addresses, small numbers, both halves. */
static uint64_t key_of(unsigned number)
{
    switch (number % 3) {
    case 0:
        return UINT64_C(0x7f0012340000) + number * 16;
    case 1:
        return number;
    default:
        return (uint64_t)number << 32 | 17;
    }
}

static void agrees_with_a_table(void **state)
{
    static char values[KEYS];
    static void *table[KEYS];
    struct vf_map map = {0};
    size_t count = 0;
    uint64_t seed = 7;

    (void)state;
    for (unsigned step = 0; step < STEPS; step++) {
        /* The number of keys in use swells and shrinks. */
        unsigned most = step / 20000 % 2 ? KEYS : KEYS / 20;
        unsigned number = random_below(&seed, most);

        if (random_below(&seed, 2) == 0) {
            assert_int_equal(vf_map_put(&map, key_of(number), &values[number]),
                             0);
            count += table[number] == NULL;
            table[number] = &values[number];
        } else {
            vf_map_take(&map, key_of(number));
            count -= table[number] != NULL;
            table[number] = NULL;
        }
        assert_int_equal(map.count, count);
        number = random_below(&seed, KEYS);
        assert_ptr_equal(vf_map_find(&map, key_of(number)), table[number]);
    }
    for (unsigned number = 0; number < KEYS; number++)
        assert_ptr_equal(vf_map_find(&map, key_of(number)), table[number]);
    vf_map_clear(&map);
    assert_null(vf_map_find(&map, key_of(0)));
}

static void a_value_is_replaced(void **state)
{
    struct vf_map map = {0};
    char a, b;

    (void)state;
    vf_map_take(&map, 5);
    assert_int_equal(vf_map_put(&map, 5, &a), 0);
    assert_int_equal(vf_map_put(&map, 5, &b), 0);
    assert_int_equal(map.count, 1);
    assert_ptr_equal(vf_map_find(&map, 5), &b);
    vf_map_clear(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_table),
        cmocka_unit_test(a_value_is_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
