/*
 * Settings: what is read from texts, files and the environment, and what is
 * refused, in one line that says where.
 */
#define _GNU_SOURCE /* setenv and mkstemp, with a strict -std=c11 */

#include "cjaccl/cjaccl.h"
#include "cjaccl/src/settings.h"

#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND ((int64_t)1000000000)

/* From a block of exactly this size, so that a read past it is seen. */
static int read_as(struct cj_settings *settings, const char *text, size_t size,
                   int rank, const char *coordinator, struct cj_error *error)
{
    char *exact = malloc(size > 0 ? size : 1);
    int status;

    memcpy(exact, text, size);
    status = cj_settings_from_text(settings, exact, size, "devices.json", rank,
                                   coordinator, error);
    free(exact);
    return status;
}

static void read_well(struct cj_settings *settings, const char *text, int rank,
                      const char *coordinator)
{
    struct cj_error error;

    if (read_as(settings, text, strlen(text), rank, coordinator, &error) !=
        CJ_OK)
        fail_msg("%s: %s", text, error.message);
    assert_int_equal(error.code, CJ_OK);
    assert_int_equal(settings->config.rank, rank);
}

static void expect_text(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

static void expect_flaw(const struct cj_error *error, const char *part)
{
    assert_int_equal(error->code, CJ_INVALID);
    assert_int_equal(error->step, CJ_STEP_CONFIG);
    assert_int_equal(error->peer, -1);
    expect_text(error->message, part);
    for (const char *at = error->message; *at != '\0'; at++)
        assert_in_range((unsigned char)*at, 0x20, 0xff);
}

/* Refused, with `part` in the message; nothing is left to be freed. */
static void refuse(const char *text, size_t size, int rank,
                   const char *coordinator, const char *part)
{
    struct cj_settings settings;
    struct cj_error error;
    int status = read_as(&settings, text, size, rank, coordinator, &error);

    if (status != CJ_INVALID)
        fail_msg("%s: %d instead of \"%s\"", text, status, part);
    expect_flaw(&error, part);
    expect_text(error.message, "devices.json: ");
    assert_null(settings.memory);
    assert_null(settings.config.cells);
    assert_null(settings.config.coordinator);
    assert_int_equal(read_as(&settings, text, size, rank, coordinator, NULL),
                     CJ_INVALID);
}

static const struct cj_cell *cell(const struct cj_settings *settings, int row,
                                  int column)
{
    return &settings->config.cells[row * settings->config.size + column];
}

static void every_kind_of_cell_is_read(void **state)
{
    struct cj_settings settings;

    (void)state;
    read_well(&settings,
              "[[null, \"rdma_en2\", [\"a\", \"b\", \"c\"]],\n"
              " [[\"x\"], [], \"y\"], [\"p\", \"q\", null]]",
              1, "10.0.0.1:32132");
    assert_int_equal(settings.config.size, 3);
    assert_int_equal(cell(&settings, 0, 0)->count, 0);
    assert_null(cell(&settings, 0, 0)->names);
    assert_int_equal(cell(&settings, 0, 1)->count, 1);
    assert_string_equal(cell(&settings, 0, 1)->names[0], "rdma_en2");
    assert_int_equal(cell(&settings, 0, 2)->count, 3);
    assert_string_equal(cell(&settings, 0, 2)->names[0], "a");
    assert_string_equal(cell(&settings, 0, 2)->names[2], "c");
    assert_string_equal(cell(&settings, 1, 0)->names[0], "x");
    assert_int_equal(cell(&settings, 1, 1)->count, 0);
    assert_string_equal(cell(&settings, 2, 1)->names[0], "q");
    assert_string_equal(settings.config.coordinator, "10.0.0.1:32132");
    assert_int_equal(settings.config.topology, CJ_TOPOLOGY_AUTO);
    assert_int_equal(settings.config.backend, CJ_BACKEND_RDMA);
    assert_int_equal(settings.config.fallback, CJ_FALLBACK_NONE);
    assert_true(settings.config.start_timeout_ns == 0);
    cj_settings_free(&settings);
    assert_null(settings.memory);
    cj_settings_free(&settings);
    cj_settings_free(NULL);
}

static void a_mark_and_escapes_are_understood(void **state)
{
    struct cj_settings settings;

    (void)state;
    read_well(&settings,
              "\xef\xbb\xbf[[null, \"\\u0072dma\\u00e9\"], [\"b\", null]]", 0,
              NULL);
    assert_string_equal(cell(&settings, 0, 1)->names[0], "rdma\xc3\xa9");
    assert_null(settings.config.coordinator);
    cj_settings_free(&settings);
}

static void a_hostfile_gives_cells_and_the_coordinator(void **state)
{
    static const char text[] =
        "{\"backend\": \"jaccl\", \"envs\": [], \"hosts\": ["
        "{\"ssh\": \"m1\", \"ips\": [\"192.168.1.5\", \"10.0.0.5\"],"
        " \"rdma\": [null, \"rdma_en5\"]},"
        "{\"ssh\": \"m2\", \"ips\": [], \"rdma\": [\"rdma_en4\", null]}]}";
    struct cj_settings settings;

    (void)state;
    read_well(&settings, text, 1, NULL);
    assert_int_equal(settings.config.size, 2);
    assert_string_equal(cell(&settings, 0, 1)->names[0], "rdma_en5");
    assert_string_equal(cell(&settings, 1, 0)->names[0], "rdma_en4");
    assert_string_equal(settings.config.coordinator, "192.168.1.5:32323");
    cj_settings_free(&settings);
    read_well(&settings, text, 1, "m1:99");
    assert_string_equal(settings.config.coordinator, "m1:99");
    cj_settings_free(&settings);
    read_well(&settings, "[{\"ips\": [\"fe80::1\"], \"rdma\": [null]}]", 0,
              NULL);
    assert_string_equal(settings.config.coordinator, "[fe80::1]:32323");
    cj_settings_free(&settings);
}

/* Enough for a group over sockets, and cj_init() says so for another. */
static void hosts_without_devices_are_a_group_without_cells(void **state)
{
    struct cj_settings settings;
    struct cj_group *group;
    struct cj_error error;

    (void)state;
    read_well(&settings,
              "{\"hosts\": [{\"ips\": [\"127.0.0.1\"], \"rdma\": null}, "
              "{\"ips\": null}, {}]}",
              2, NULL);
    assert_int_equal(settings.config.size, 3);
    assert_null(settings.config.cells);
    assert_string_equal(settings.config.coordinator, "127.0.0.1:32323");
    assert_int_equal(cj_init(&settings.config, &group, &error), CJ_INVALID);
    cj_settings_free(&settings);
}

static void what_is_wrong_is_told_with_row_and_column(void **state)
{
    static const struct {
        const char *text;
        const char *part;
    } cases[] = {
        {"[]", "has no rows"},
        {"{\"hosts\": []}", "has no rows"},
        {"{}", "an object without \"hosts\""},
        {"{\"hosts\": {}}", "whose \"hosts\" are no list"},
        {"{\"hosts\": 3}", "whose \"hosts\" are no list"},
        {"[null, null]", "row 0 is null: it has to be a list"},
        {"[[null, \"a\"], \"b\"]", "row 1 is a string: it has to be a list"},
        {"[[null, \"a\"], {}]", "row 1 is an object"},
        {"[[null, \"a\"], [\"b\"]]", "row 1 has 1 column, and there are 2"},
        {"[[null, \"a\", \"b\"], [\"b\", null]]", "row 0 has 3 columns"},
        {"[[null, \"a\"], [true, null]]", "row 1, column 0 is true or false"},
        {"[[null, \"a\"], [false, null]]", "row 1, column 0 is true or false"},
        {"[[null, 5], [\"a\", null]]", "row 0, column 1 is a number"},
        {"[[null, 0.5], [\"a\", null]]", "row 0, column 1 is a number"},
        {"[[null, {}], [\"a\", null]]", "row 0, column 1 is an object"},
        {"[[null, [\"a\", null]], [\"a\", null]]",
         "row 0, column 1 has null in its list"},
        {"[[null, [[\"a\"]]], [\"a\", null]]",
         "row 0, column 1 has a list in its list"},
        {"[[null, \"\"], [\"a\", null]]",
         "the device name in row 0, column 1 is empty"},
        {"[[null, [\"a\", \"\"]], [\"a\", null]]",
         "the device name in row 0, column 1 is empty"},
        {"{\"hosts\": [{\"rdma\": [null, \"a\"]}, {}]}",
         "host 1 has no \"rdma\" row"},
        {"{\"hosts\": [{\"rdma\": [null, \"a\"]}, 7]}",
         "host 1 is a number: it has to be an object"},
        {"{\"hosts\": [{\"rdma\": \"a\"}]}", "row 0 is a string"},
        {"{\"hosts\": [{\"ips\": \"1.2.3.4\"}]}",
         "the \"ips\" of host 0 are a string"},
        {"{\"hosts\": [{}, {\"ips\": [\"a\", 1]}]}",
         "address 1 of the \"ips\" of host 1 is a number"},
        {"{\"hosts\": [{\"ips\": [\"\"]}]}",
         "address 0 of the \"ips\" of host 0 is empty"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        refuse(cases[i].text, strlen(cases[i].text), 0, NULL, cases[i].part);
    }
}

/* 63 characters are a name, 64 are not. */
static void names_are_as_long_as_a_device_s(void **state)
{
    char text[256];
    struct cj_settings settings;

    (void)state;
    (void)snprintf(text, sizeof text, "[[null, \"%063d\"], [\"a\", null]]", 7);
    read_well(&settings, text, 0, NULL);
    assert_int_equal(strlen(cell(&settings, 0, 1)->names[0]), 63);
    cj_settings_free(&settings);
    (void)snprintf(text, sizeof text, "[[null, \"%064d\"], [\"a\", null]]", 7);
    refuse(text, strlen(text), 0, NULL,
           "row 0, column 1 is longer than 63 characters");
}

static void what_is_no_json_is_told_with_line_and_column(void **state)
{
    static const struct {
        const char *text;
        const char *part;
    } cases[] = {
        {"", "line 1, column 0"},
        {"\n\n  nonsense", "line 3, column "},
        {"5", "line 1, column 1"},
        {"\"text\"", "line 1, column 6"},
        {"[[null, \"a\"],\n [\"b\", nul]]", "line 2, column "},
        {"[[null, \"a\"], [\"b\", null]", "line 1, column 25"},
        {"[[null, \"a\"], [\"b\", null]] x",
         "line 1, column 28 is no JSON: end of file exp"},
        {"[[null, \"a\nb\"], [\"b\", null]]", "line 1, column "},
        {"[[null, \"\xff\"], [\"b\", null]]", "line 1, column "},
        {"[[null, \"a\\u0000b\"], [\"b\", null]]", "line 1, column "},
        {"{\"hosts\": [], \"hosts\": []}", "line 1, column "},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refuse(cases[i].text, strlen(cases[i].text), 0, NULL, cases[i].part);
    refuse("[[null]]\0", 9, 0, NULL, "is no JSON");
}

static void a_text_that_is_too_deep_is_no_json(void **state)
{
    size_t size = 100000;
    char *text = malloc(size);

    (void)state;
    memset(text, '[', size);
    refuse(text, size, 0, NULL, "is no JSON");
    free(text);
}

/* `count` rows of as many nulls. */
static char *write_square(int count, size_t *size)
{
    char *text = malloc((size_t)count * ((size_t)count * 5 + 4) + 3);
    char *at = text;

    *at++ = '[';
    for (int row = 0; row < count; row++) {
        at += sprintf(at, "%s[", row == 0 ? "" : ",");
        for (int column = 0; column < count; column++)
            at += sprintf(at, "%snull", column == 0 ? "" : ",");
        *at++ = ']';
    }
    *at++ = ']';
    *size = (size_t)(at - text);
    return text;
}

static void a_group_has_up_to_64_ranks(void **state)
{
    struct cj_settings settings;
    struct cj_error error;
    size_t size;
    char *text = write_square(CJ_MAX_RANKS, &size);

    (void)state;
    assert_int_equal(read_as(&settings, text, size, 63, NULL, &error), CJ_OK);
    assert_int_equal(settings.config.size, 64);
    cj_settings_free(&settings);
    free(text);
    text = write_square(CJ_MAX_RANKS + 1, &size);
    refuse(text, size, 0, NULL, "has 65 rows");
    free(text);
}

static void a_rank_beyond_the_rows_is_refused(void **state)
{
    static const int ranks[] = {-1, 2, INT32_MAX, INT32_MIN};
    static const char text[] = "[[null, \"a\"], [\"b\", null]]";

    (void)state;
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        char part[64];

        (void)snprintf(part, sizeof part, "rank %d is not one of its 2 ranks",
                       ranks[i]);
        refuse(text, sizeof text - 1, ranks[i], NULL, part);
    }
    refuse("[[null]]", 8, 1, NULL, "not one of its 1 rank (0 to 0)");
}

/* C6 */
static void coordinators_are_checked(void **state)
{
    static const char text[] = "[[null, \"a\"], [\"b\", null]]";
    static const char *const good[] = {"[::1]:9000", "host:1",
                                       "192.168.0.1:65535", "[fe80::1%en0]:9"};
    static const struct {
        const char *text;
        const char *part;
    } bad[] = {
        {"", "has no address"},
        {"host", "has no port"},
        {"host:", "no port from 1 to 65535"},
        {"host:0", "no port from 1 to 65535"},
        {"host:70000", "no port from 1 to 65535"},
        {"host:-1", "no port from 1 to 65535"},
        {"host:9x", "no port from 1 to 65535"},
        {"host: 9", "no port from 1 to 65535"},
        {"a:b:c", "more than one colon"},
        {"::1", "more than one colon"},
        {"fe80::1:9000", "more than one colon"},
        {"[::1]", "has no port"},
        {"[::1]9000", "has no port"},
        {"[::1:9000", "a \"[\" without a \"]\""},
        {"[]:9000", "has no address"},
        {":9000", "has no address"},
        {"a\nb", "coordinator \"a?b\" has no port"},
    };
    struct cj_settings settings;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        read_well(&settings, text, 0, good[i]);
        assert_string_equal(settings.config.coordinator, good[i]);
        cj_settings_free(&settings);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse(text, sizeof text - 1, 0, bad[i].text, bad[i].part);
}

/* Whatever is quoted, the message is one line that is not cut into. */
static void long_and_odd_names_leave_one_line(void **state)
{
    struct cj_settings settings;
    struct cj_error error;
    char name[2000];

    (void)state;
    memset(name, 'n', sizeof name);
    memcpy(name, "odd\nname\t\x7f\x01", 11);
    name[sizeof name - 1] = '\0';
    assert_int_equal(
        cj_settings_from_text(&settings, "[]", 2, name, 0, NULL, &error),
        CJ_INVALID);
    expect_flaw(&error, "odd?name???nnn");
    expect_text(error.message, "n: has no rows");
    assert_int_equal(
        cj_settings_from_text(&settings, "[]", 2, NULL, 0, NULL, &error),
        CJ_INVALID);
    expect_flaw(&error, "the device file: has no rows");
}

static void write_file(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static char directory[] = "/tmp/cjaccl-settings-XXXXXX";
static char path[64];

static int make_directory(void **state)
{
    (void)state;
    if (mkdtemp(directory) == NULL)
        return -1;
    (void)snprintf(path, sizeof path, "%s/devices.json", directory);
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(directory);
}

static void refuse_file(const char *at, int err_no, const char *part)
{
    struct cj_settings settings;
    struct cj_error error;

    assert_int_equal(cj_settings_from_file(&settings, at, 0, NULL, &error),
                     CJ_INVALID);
    expect_flaw(&error, part);
    expect_text(error.message, at);
    assert_int_equal(error.err_no, err_no);
    assert_null(settings.memory);
    assert_int_equal(cj_settings_from_file(&settings, at, 0, NULL, NULL),
                     CJ_INVALID);
}

static void files_are_read(void **state)
{
    static const char text[] = "[[null, \"a\"], [\"b\", null]]\n";
    struct cj_settings settings;
    struct cj_error error;

    (void)state;
    write_file(path, text, sizeof text - 1);
    assert_int_equal(
        cj_settings_from_file(&settings, path, 1, "host:5", &error), CJ_OK);
    assert_string_equal(cell(&settings, 1, 0)->names[0], "b");
    cj_settings_free(&settings);
    refuse_file("/nonexistent/devices.json", ENOENT,
                "no such file or directory, ENOENT (2)");
    refuse_file("", ENOENT, "no such file or directory");
    refuse_file(directory, EISDIR, "it is a directory");
    write_file(path, "", 0);
    refuse_file(path, 0, "line 1, column 0 is no JSON");
}

/* 1 MiB is a device file, one byte more is not. */
static void huge_files_are_refused(void **state)
{
    size_t size = (size_t)1 << 20;
    char *text = malloc(size + 1);
    struct cj_settings settings;
    struct cj_error error;

    (void)state;
    memset(text, ' ', size + 1);
    memcpy(text, "[[null]]", 8);
    write_file(path, text, size);
    assert_int_equal(cj_settings_from_file(&settings, path, 0, NULL, &error),
                     CJ_OK);
    cj_settings_free(&settings);
    write_file(path, text, size + 1);
    refuse_file(path, 0, "is larger than 1024 KiB");
    refuse(text, size + 1, 0, NULL, "is larger than 1024 KiB");
    refuse_file("/dev/zero", 0, "is larger than 1024 KiB");
    free(text);
}

static const char *const variables[] = {
    "JACCL_RANK",      "MLX_RANK",          "JACCL_IBV_DEVICES",
    "MLX_IBV_DEVICES", "JACCL_COORDINATOR", "MLX_JACCL_COORDINATOR",
    "JACCL_RING",      "MLX_JACCL_RING",    "CJ_FALLBACK",
    "CJ_BACKEND",      "CJ_START_TIMEOUT",  "CJ_OPERATION_TIMEOUT",
};

/* A whole environment of rank 1; a test changes what it is about. */
static int set_up(void **state)
{
    static const char text[] = "[[null, \"a\"], [\"b\", null]]";

    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        (void)unsetenv(variables[i]);
    write_file(path, text, sizeof text - 1);
    (void)setenv("JACCL_RANK", "1", 1);
    (void)setenv("JACCL_IBV_DEVICES", path, 1);
    (void)setenv("JACCL_COORDINATOR", "10.0.0.1:9", 1);
    return 0;
}

static void read_env(struct cj_settings *settings)
{
    struct cj_error error;

    if (cj_settings_from_env(settings, &error) != CJ_OK)
        fail_msg("%s", error.message);
    assert_int_equal(error.code, CJ_OK);
}

static void refuse_env(const char *part)
{
    struct cj_settings settings;
    struct cj_error error;

    assert_int_equal(cj_settings_from_env(&settings, &error), CJ_INVALID);
    expect_flaw(&error, part);
    assert_null(settings.memory);
    assert_int_equal(cj_settings_from_env(&settings, NULL), CJ_INVALID);
}

static void the_environment_is_read_as_jaccl_does(void **state)
{
    struct cj_settings settings;

    (void)state;
    (void)setenv("MLX_RANK", "0", 1);
    (void)setenv("MLX_IBV_DEVICES", "/nonexistent", 1);
    (void)setenv("MLX_JACCL_COORDINATOR", "nonsense", 1);
    read_env(&settings);
    assert_int_equal(settings.config.rank, 1);
    assert_int_equal(settings.config.size, 2);
    assert_string_equal(settings.config.coordinator, "10.0.0.1:9");
    assert_int_equal(settings.config.topology, CJ_TOPOLOGY_AUTO);
    assert_true(settings.config.operation_timeout_ns == 0);
    cj_settings_free(&settings);
}

static void mlx_s_names_count_where_jaccl_s_are_not_set(void **state)
{
    struct cj_settings settings;

    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        (void)unsetenv(variables[i]);
    (void)setenv("MLX_RANK", "0", 1);
    (void)setenv("MLX_IBV_DEVICES", path, 1);
    (void)setenv("MLX_JACCL_COORDINATOR", "host:1", 1);
    (void)setenv("MLX_JACCL_RING", "0", 1);
    read_env(&settings);
    assert_int_equal(settings.config.rank, 0);
    assert_string_equal(settings.config.coordinator, "host:1");
    assert_int_equal(settings.config.topology, CJ_TOPOLOGY_RING);
    cj_settings_free(&settings);
}

static void a_process_that_is_no_rank_is_told_so(void **state)
{
    struct cj_settings settings;
    struct cj_error error;

    (void)state;
    (void)unsetenv("JACCL_RANK");
    (void)unsetenv("JACCL_IBV_DEVICES");
    assert_int_equal(cj_settings_from_env(&settings, &error),
                     CJ_NO_CONFIGURATION);
    expect_text(error.message, "JACCL_RANK");
    assert_null(settings.memory);
    (void)setenv("MLX_RANK", "1", 1);
    refuse_env("has MLX_RANK and no device file");
    (void)unsetenv("MLX_RANK");
    (void)setenv("MLX_IBV_DEVICES", path, 1);
    refuse_env("has MLX_IBV_DEVICES and no rank");
}

static void bad_rank_texts_are_refused(void **state)
{
    static const char *const texts[] = {
        "",          "1x", "-1",  "+1",  " 1",
        "1 ",        "x",  "0x1", "1.0", "99999999999999999999",
        "2147483648"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        (void)setenv("JACCL_RANK", texts[i], 1);
        refuse_env("JACCL_RANK: is \"");
    }
    (void)setenv("JACCL_RANK", "2", 1);
    refuse_env("rank 2 is not one of its 2 ranks");
}

/* The ring is asked for by a name that is set at all. */
static void names_that_are_set_but_empty(void **state)
{
    struct cj_settings settings;

    (void)state;
    for (size_t i = 6; i < sizeof variables / sizeof *variables; i++)
        (void)setenv(variables[i], "", 1);
    (void)setenv("JACCL_COORDINATOR", "", 1);
    (void)setenv("MLX_JACCL_COORDINATOR", "host:1", 1);
    read_env(&settings);
    assert_int_equal(settings.config.topology, CJ_TOPOLOGY_RING);
    assert_int_equal(settings.config.fallback, CJ_FALLBACK_NONE);
    assert_int_equal(settings.config.backend, CJ_BACKEND_RDMA);
    assert_true(settings.config.start_timeout_ns == 0);
    assert_null(settings.config.coordinator);
    cj_settings_free(&settings);
    (void)setenv("JACCL_IBV_DEVICES", "", 1);
    (void)setenv("MLX_IBV_DEVICES", path, 1);
    refuse_env("JACCL_IBV_DEVICES: is \"\"");
}

static void cjaccl_s_own_variables(void **state)
{
    static const struct {
        const char *text;
        int64_t timeout;
    } seconds[] = {
        {"2.5", 5 * SECOND / 2}, {"3", 3 * SECOND},
        {".25", SECOND / 4},     {"0.0000000019", 1},
        {"1.", SECOND},          {"1000000000", 1000000000 * SECOND}};
    static const char *const bad[] = {"0",          "-1", "x",   "1s",
                                      "0.0",        ".",  "1e3", "1,5",
                                      "1000000001", " 1", "inf"};
    struct cj_settings settings;

    (void)state;
    (void)setenv("CJ_FALLBACK", "sockets", 1);
    (void)setenv("CJ_BACKEND", "sockets", 1);
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        (void)setenv("CJ_START_TIMEOUT", seconds[i].text, 1);
        (void)setenv("CJ_OPERATION_TIMEOUT", seconds[i].text, 1);
        read_env(&settings);
        assert_int_equal(settings.config.fallback, CJ_FALLBACK_SOCKETS);
        assert_int_equal(settings.config.backend, CJ_BACKEND_SOCKETS);
        assert_true(settings.config.start_timeout_ns == seconds[i].timeout);
        assert_true(settings.config.operation_timeout_ns == seconds[i].timeout);
        cj_settings_free(&settings);
    }
    (void)setenv("CJ_FALLBACK", "none", 1);
    (void)setenv("CJ_BACKEND", "rdma", 1);
    (void)unsetenv("CJ_OPERATION_TIMEOUT");
    read_env(&settings);
    assert_int_equal(settings.config.fallback, CJ_FALLBACK_NONE);
    assert_int_equal(settings.config.backend, CJ_BACKEND_RDMA);
    cj_settings_free(&settings);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        (void)setenv("CJ_START_TIMEOUT", bad[i], 1);
        refuse_env("CJ_START_TIMEOUT: is \"");
    }
    (void)unsetenv("CJ_START_TIMEOUT");
    (void)setenv("CJ_FALLBACK", "Sockets", 1);
    refuse_env("CJ_FALLBACK: is \"Sockets\"");
    (void)unsetenv("CJ_FALLBACK");
    (void)setenv("CJ_BACKEND", "tcp", 1);
    refuse_env("CJ_BACKEND: is \"tcp\"");
}

/* Memory for the parser: a limited number of pieces; what is left is counted.
 */
static int pieces_left = -1;
static int pieces;

static void *count_malloc(size_t size)
{
    if (pieces_left == 0)
        return NULL;
    pieces_left -= pieces_left > 0;
    pieces++;
    return malloc(size);
}

static void count_free(void *piece)
{
    pieces -= piece != NULL;
    free(piece);
}

/* Each of its allocations fails once, in a text and in a hostfile. */
static void no_memory_is_an_error(void **state)
{
    static const char *const texts[] = {
        "[[null, [\"a\", \"b\"]], [\"b\", null]]",
        "{\"hosts\": [{\"rdma\": [null, \"a\"], \"ips\": [\"h\"]}, "
        "{\"rdma\": [\"b\", null]}]}"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int status = CJ_NO_MEMORY;
        int fails = 0;

        for (; status != CJ_OK && fails < 1000; fails++) {
            struct cj_settings settings;
            struct cj_error error;

            pieces_left = fails;
            status =
                read_as(&settings, texts[i], strlen(texts[i]), 0, NULL, &error);
            pieces_left = -1;
            /* jansson tells some of them from wrong texts, not all. */
            assert_true(status == CJ_OK || status == CJ_NO_MEMORY ||
                        status == CJ_INVALID);
            cj_settings_free(&settings);
            assert_int_equal(pieces, 0);
        }
        assert_in_range(fails, 10, 999);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_cell_is_read),
        cmocka_unit_test(a_mark_and_escapes_are_understood),
        cmocka_unit_test(a_hostfile_gives_cells_and_the_coordinator),
        cmocka_unit_test(hosts_without_devices_are_a_group_without_cells),
        cmocka_unit_test(what_is_wrong_is_told_with_row_and_column),
        cmocka_unit_test(names_are_as_long_as_a_device_s),
        cmocka_unit_test(what_is_no_json_is_told_with_line_and_column),
        cmocka_unit_test(a_text_that_is_too_deep_is_no_json),
        cmocka_unit_test(a_group_has_up_to_64_ranks),
        cmocka_unit_test(a_rank_beyond_the_rows_is_refused),
        cmocka_unit_test(coordinators_are_checked),
        cmocka_unit_test(long_and_odd_names_leave_one_line),
        cmocka_unit_test(files_are_read),
        cmocka_unit_test(huge_files_are_refused),
        cmocka_unit_test_setup(the_environment_is_read_as_jaccl_does, set_up),
        cmocka_unit_test_setup(mlx_s_names_count_where_jaccl_s_are_not_set,
                               set_up),
        cmocka_unit_test_setup(a_process_that_is_no_rank_is_told_so, set_up),
        cmocka_unit_test_setup(bad_rank_texts_are_refused, set_up),
        cmocka_unit_test_setup(names_that_are_set_but_empty, set_up),
        cmocka_unit_test_setup(cjaccl_s_own_variables, set_up),
        cmocka_unit_test(no_memory_is_an_error),
    };

    json_set_alloc_funcs(count_malloc, count_free);
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
