/* cj_is_available() over libraries of all kinds: true, and nothing is left. */
#include <cjaccl/cjaccl.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct {
    bool loads;
    const char *lacks; /* a symbol, or NULL */
    bool lists;
    int devices;
    int open; /* libraries */
    int lists_open;
} machine;

static struct ibv_device *devices[2];

static struct ibv_device **get_device_list(int *count)
{
    if (!machine.lists)
        return NULL;
    machine.lists_open++;
    *count = machine.devices;
    return devices;
}

static void free_device_list(struct ibv_device **list)
{
    assert_ptr_equal(list, devices);
    machine.lists_open--;
}

static void *library_open(void *ctx, const char *name)
{
    assert_ptr_equal(ctx, &machine);
    assert_non_null(name);
    if (!machine.loads)
        return NULL;
    machine.open++;
    return &machine;
}

static void *library_symbol(void *ctx, void *library, const char *name)
{
    struct ibv_device **(*get)(int *) = get_device_list;
    void (*release)(struct ibv_device **) = free_device_list;
    void *symbol = NULL;

    assert_ptr_equal(ctx, library);
    if (machine.lacks != NULL && strcmp(name, machine.lacks) == 0)
        return NULL;
    if (strcmp(name, "ibv_get_device_list") == 0)
        memcpy(&symbol, &get, sizeof symbol);
    if (strcmp(name, "ibv_free_device_list") == 0)
        memcpy(&symbol, &release, sizeof symbol);
    return symbol;
}

static void library_close(void *ctx, void *library)
{
    assert_ptr_equal(ctx, library);
    machine.open--;
}

static bool is_available(bool loads, const char *lacks, bool lists, int count)
{
    const struct cj_library library = {&machine, library_open, library_symbol,
                                       library_close};
    bool available;

    memset(&machine, 0, sizeof machine);
    machine.loads = loads;
    machine.lacks = lacks;
    machine.lists = lists;
    machine.devices = count;
    available = cj_is_available(&library);
    assert_int_equal(machine.open, 0);
    assert_int_equal(machine.lists_open, 0);
    return available;
}

static void one_device_makes_it_available(void **state)
{
    (void)state;
    assert_true(is_available(true, NULL, true, 1));
    assert_true(is_available(true, NULL, true, 2));
}

static void it_is_not_without_library_symbol_list_or_device(void **state)
{
    (void)state;
    assert_false(is_available(false, NULL, true, 1));
    assert_false(is_available(true, "ibv_get_device_list", true, 1));
    assert_false(is_available(true, "ibv_free_device_list", true, 1));
    assert_false(is_available(true, NULL, false, 1));
    assert_false(is_available(true, NULL, true, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_device_makes_it_available),
        cmocka_unit_test(it_is_not_without_library_symbol_list_or_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
