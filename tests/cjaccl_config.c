/*
 * A configuration that makes no sense is refused before anything is touched,
 * and the message says which part of it.
 */
#include "cjaccl/src/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *const en2[] = {"rdma_en2"};
static const char *const two[] = {"rdma_en2", "rdma_en3"};
static const char *const none[] = {""};
static const char *const null[] = {NULL};

#define WIRE                                                                   \
    {                                                                          \
        en2, 1                                                                 \
    }
#define NO_WIRE                                                                \
    {                                                                          \
        NULL, 0                                                                \
    }

/* What the last check has chosen. */
static struct cji_topology topology;

static int check(const struct cj_config *config, struct cj_error *error)
{
    struct cji_address address;

    memset(error, 0, sizeof *error);
    return cji_config_check(config, &address, &topology, error);
}

static void expect_refusal(const struct cj_config *config,
                           enum cj_status status, const char *part)
{
    struct cj_error error;

    assert_int_equal(check(config, &error), status);
    assert_int_equal(error.code, status);
    assert_int_equal(error.step, CJ_STEP_CONFIG);
    if (strstr(error.message, part) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", error.message, part);
}

static struct cj_config pair(const struct cj_cell cells[4])
{
    struct cj_config config = {
        .rank = 0,
        .size = 2,
        .cells = cells,
        .coordinator = "127.0.0.1:9000",
    };

    return config;
}

static const struct cj_cell mesh[4] = {NO_WIRE, WIRE, WIRE, NO_WIRE};

static void addresses_that_make_sense_are_taken_apart(void **state)
{
    static const struct {
        const char *text;
        const char *host;
        int port;
    } cases[] = {
        {"10.0.0.1:9000", "10.0.0.1", 9000},
        {"[::1]:9000", "::1", 9000},
        {"[fe80::1%en0]:1", "fe80::1%en0", 1},
        {"mac-studio.local:65535", "mac-studio.local", 65535},
        {"h:007", "h", 7},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cji_address address;

        assert_null(cji_address_parse(&address, cases[i].text));
        assert_string_equal(address.host, cases[i].host);
        assert_int_equal(address.port, cases[i].port);
    }
}

static void addresses_that_make_none_are_refused(void **state)
{
    static const char *const cases[] = {
        "",           ":",
        ":9000",      "host",
        "host:",      "host:0",
        "host:000",   "host:70000",
        "host:65536", "a:b:c",
        "::1:9000",   "host:-1",
        "host:+1",    "host: 1",
        "host:9000x", "[::1]",
        "[::1]:",     "[::1]:0",
        "[::1:9000",  "[]:9000",
        "[::1]9000",  "host:99999999999999999999",
    };
    char longest[300];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cji_address address;
        struct cj_config config = pair(mesh);

        if (cji_address_parse(&address, cases[i]) == NULL)
            fail_msg("\"%s\" was accepted", cases[i]);
        config.coordinator = cases[i];
        expect_refusal(&config, CJ_INVALID, "the coordinator");
    }
    memset(longest, 'a', sizeof longest);
    memcpy(longest + sizeof longest - 6, ":9000", 6);
    {
        struct cj_config config = pair(mesh);

        config.coordinator = longest;
        expect_refusal(&config, CJ_INVALID, "too long");
        config.coordinator = NULL;
        expect_refusal(&config, CJ_INVALID, "no coordinator");
    }
}

static void a_mesh_is_accepted(void **state)
{
    static const struct cj_cell wires[4] = {NO_WIRE, {two, 2}, WIRE, NO_WIRE};
    struct cj_config config = pair(mesh);
    struct cj_error error;

    (void)state;
    assert_int_equal(check(&config, &error), CJ_OK);
    config = pair(wires);
    assert_int_equal(check(&config, &error), CJ_OK);
    assert_string_equal(cji_config_device(&config, 1, 0), "rdma_en2");
}

static void one_rank_needs_nothing(void **state)
{
    struct cj_config config = {.rank = 0, .size = 1};
    struct cj_error error;

    (void)state;
    assert_int_equal(check(&config, &error), CJ_OK);
}

static void numbers_out_of_range_are_refused(void **state)
{
    static const int sizes[] = {-1, 0, 65, 1000000000};
    static const int ranks[] = {-1, 2, 99999};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct cj_config config = pair(mesh);

        config.size = sizes[i];
        expect_refusal(&config, CJ_INVALID, "ranks");
    }
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        struct cj_config config = pair(mesh);
        char text[32];

        config.rank = ranks[i];
        (void)snprintf(text, sizeof text, "rank %d ", ranks[i]);
        expect_refusal(&config, CJ_INVALID, text);
    }
    {
        struct cj_config config = pair(mesh);

        config.start_timeout_ns = -1;
        expect_refusal(&config, CJ_INVALID, "timeout");
        config.start_timeout_ns = 0;
        config.operation_timeout_ns = -1;
        expect_refusal(&config, CJ_INVALID, "timeout");
        config.operation_timeout_ns = 0;
        config.topology = (enum cj_topology)2;
        expect_refusal(&config, CJ_INVALID, "topology");
        config.topology = CJ_TOPOLOGY_AUTO;
        config.backend = (enum cj_backend) - 1;
        expect_refusal(&config, CJ_INVALID, "backend");
        config.backend = CJ_BACKEND_RDMA;
        config.fallback = (enum cj_fallback)2;
        expect_refusal(&config, CJ_INVALID, "fallback");
        config.fallback = CJ_FALLBACK_NONE;
        config.cells = NULL;
        expect_refusal(&config, CJ_INVALID, "cells");
    }
}

/* S5, in any row: the file is the same on every rank. */
static void an_empty_name_is_found_by_row_and_column(void **state)
{
    const struct cj_cell one[4] = {NO_WIRE, WIRE, {none, 1}, NO_WIRE};
    const struct cj_cell other[4] = {NO_WIRE, {null, 1}, WIRE, NO_WIRE};
    const struct cj_cell listless[4] = {NO_WIRE, {NULL, 1}, WIRE, NO_WIRE};
    const struct cj_cell negative[4] = {NO_WIRE, {en2, -1}, WIRE, NO_WIRE};
    struct cj_config config = pair(one);

    (void)state;
    expect_refusal(&config, CJ_INVALID, "row 1, column 0 is empty");
    config = pair(other);
    expect_refusal(&config, CJ_INVALID, "row 0, column 1 is empty");
    config = pair(listless);
    expect_refusal(&config, CJ_INVALID, "row 0, column 1");
    config = pair(negative);
    expect_refusal(&config, CJ_INVALID, "row 0, column 1");
}

static void a_name_that_no_device_has_is_refused(void **state)
{
    char name[CJ_DEVICE_NAME_SIZE + 1];
    const char *const names[] = {name};
    const struct cj_cell cells[4] = {NO_WIRE, {names, 1}, WIRE, NO_WIRE};
    struct cj_config config = pair(cells);
    struct cj_error error;

    (void)state;
    memset(name, 'x', sizeof name);
    name[CJ_DEVICE_NAME_SIZE] = '\0';
    expect_refusal(&config, CJ_INVALID, "row 0, column 1 is longer");
    name[CJ_DEVICE_NAME_SIZE - 1] = '\0';
    assert_int_equal(check(&config, &error), CJ_OK);
}

static void expect_choice(const struct cj_config *config, bool ring, int wires)
{
    struct cj_error error;

    if (check(config, &error) != CJ_OK)
        fail_msg("%s", error.message);
    assert_int_equal(topology.ring, ring);
    assert_int_equal(topology.wires, wires);
}

static void what_is_neither_mesh_nor_ring_is_refused(void **state)
{
    const struct cj_cell lone[4] = {NO_WIRE, WIRE, NO_WIRE, NO_WIRE};
    const struct cj_cell uneven[4] = {WIRE, {two, 2}, WIRE, NO_WIRE};
    struct cj_config config = pair(lone);

    (void)state;
    expect_refusal(&config, CJ_INVALID, "row 1, column 0 is empty: a mesh");
    expect_refusal(&config, CJ_INVALID, "row 1, column 0 is empty: a ring");
    config.topology = CJ_TOPOLOGY_RING;
    expect_refusal(&config, CJ_INVALID, "row 1, column 0 is empty: a ring");
    config = pair(uneven);
    expect_refusal(&config, CJ_INVALID, "row 0 names a device for the rank");
    expect_refusal(&config, CJ_INVALID,
                   "row 1, column 0 names 1 devices, and row 0, column 1 "
                   "names 2");
}

/* As JACCL chooses. */
static void
a_ring_is_taken_when_asked_for_or_when_no_mesh_is_possible(void **state)
{
    static const char *const five[] = {"a", "b", "c", "d", "e"};
    const struct cj_cell wires[4] = {NO_WIRE, {two, 2}, {two, 2}, NO_WIRE};
    const struct cj_cell diagonal[4] = {WIRE, WIRE, WIRE, NO_WIRE};
    const struct cj_cell uneven[4] = {NO_WIRE, {two, 2}, WIRE, NO_WIRE};
    const struct cj_cell many[4] = {NO_WIRE, {five, 5}, {five, 5}, NO_WIRE};
    struct cj_config config = pair(wires);

    (void)state;
    expect_choice(&config, false, 1);
    config.topology = CJ_TOPOLOGY_RING;
    expect_choice(&config, true, 2);
    assert_string_equal(cji_config_device(&config, 1, 1), "rdma_en3");
    config = pair(diagonal);
    expect_choice(&config, true, 1);
    config = pair(uneven);
    config.topology = CJ_TOPOLOGY_RING;
    expect_choice(&config, false, 1);
    config = pair(many);
    config.topology = CJ_TOPOLOGY_RING;
    expect_choice(&config, false, 1);
    config = (struct cj_config){.rank = 2,
                                .size = 64,
                                .coordinator = "127.0.0.1:9000",
                                .backend = CJ_BACKEND_SOCKETS};
    expect_choice(&config, true, 1);
}

static void connect_neighbours(struct cj_cell *cells, int size)
{
    for (int row = 0; row < size; row++) {
        cells[row * size + (row + 1) % size] = (struct cj_cell)WIRE;
        cells[row * size + (row + size - 1) % size] = (struct cj_cell)WIRE;
    }
}

static void a_ring_that_is_broken_is_told_by_row_and_column(void **state)
{
    static struct cj_cell cells[64 * 64];
    struct cj_config config = {
        .size = 64, .cells = cells, .coordinator = "127.0.0.1:9000"};

    (void)state;
    connect_neighbours(cells, 64);
    expect_choice(&config, true, 1);
    cells[63 * 64].count = 0;
    expect_refusal(&config, CJ_INVALID, "row 63, column 0 is empty: a ring");
    for (int i = 0; i < 64 * 64; i++)
        cells[i] = (struct cj_cell){two, i / 64 != i % 64 ? 1 + (i == 1) : 0};
    expect_refusal(&config, CJ_INVALID, "a mesh has up to 8 ranks");
    expect_refusal(&config, CJ_INVALID, "row 0, column 63 names 1 devices");
}

/* The caller's own side channel needs no address. */
static void a_gather_takes_the_place_of_a_coordinator(void **state)
{
    const struct cj_gather none_at_all = {.all_gather = NULL};
    struct cj_config config = pair(mesh);

    (void)state;
    config.gather = &none_at_all;
    expect_refusal(&config, CJ_INVALID, "gather");
}

static void an_incomplete_table_of_verbs_is_refused(void **state)
{
    const struct cj_verbs verbs = {.query_device = NULL};
    struct cj_config config = pair(mesh);

    (void)state;
    config.verbs = &verbs;
    expect_refusal(&config, CJ_INVALID, "verbs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_that_make_sense_are_taken_apart),
        cmocka_unit_test(addresses_that_make_none_are_refused),
        cmocka_unit_test(a_mesh_is_accepted),
        cmocka_unit_test(one_rank_needs_nothing),
        cmocka_unit_test(numbers_out_of_range_are_refused),
        cmocka_unit_test(an_empty_name_is_found_by_row_and_column),
        cmocka_unit_test(a_name_that_no_device_has_is_refused),
        cmocka_unit_test(what_is_neither_mesh_nor_ring_is_refused),
        cmocka_unit_test(
            a_ring_is_taken_when_asked_for_or_when_no_mesh_is_possible),
        cmocka_unit_test(a_ring_that_is_broken_is_told_by_row_and_column),
        cmocka_unit_test(a_gather_takes_the_place_of_a_coordinator),
        cmocka_unit_test(an_incomplete_table_of_verbs_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
