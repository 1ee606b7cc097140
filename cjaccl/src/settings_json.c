/*
 * The text of a device file or of a hostfile, by jansson.
 *
 * Two shapes are known: a device file, an array of rows, and a hostfile, an
 * object whose "hosts" are an array of objects, or that array alone. A host's
 * "rdma" is its row; a hostfile where no host has one gives no cells, which is
 * enough for a group over sockets.
 */
#include "settings.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A text that is being read, and how much of everything is in it. */
struct reading {
    const struct cji_source *source;
    const json_t *rows; /* rows, or hosts */
    bool are_hosts;
    bool has_cells;
    int size;
    size_t names;
    size_t bytes; /* of all names, with their zeros */
};

/* Where the next of each goes. */
struct writing {
    struct cj_cell *cells;
    const char **names;
    char *bytes;
};

static const char *kind_of(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    default:
        return "null";
    }
}

/* The row of a rank, or NULL. */
static const json_t *row_of(const struct reading *reading, int rank)
{
    const json_t *row = json_array_get(reading->rows, (size_t)rank);
    const json_t *rdma;

    if (!reading->are_hosts)
        return row;
    rdma = json_object_get(row, "rdma");
    return json_is_null(rdma) ? NULL : rdma;
}

static int check_name(struct reading *reading, const json_t *name, int row,
                      int column)
{
    const struct cji_source *source = reading->source;
    size_t length = json_string_length(name);

    if (!json_is_string(name))
        return cji_source_fail(source, CJ_INVALID, 0,
                               "row %d, column %d has %s in its list: device "
                               "names are strings",
                               row, column, kind_of(name));
    if (length == 0)
        return cji_source_fail(source, CJ_INVALID, 0,
                               "the device name in row %d, column %d is empty: "
                               "name the device of rank %d that leads to rank "
                               "%d, or write null",
                               row, column, row, column);
    if (length >= CJ_DEVICE_NAME_SIZE)
        return cji_source_fail(source, CJ_INVALID, 0,
                               "the device name in row %d, column %d is longer "
                               "than %d characters, as no device's name is",
                               row, column, CJ_DEVICE_NAME_SIZE - 1);
    reading->names++;
    reading->bytes += length + 1;
    return CJ_OK;
}

static int check_cell(struct reading *reading, const json_t *cell, int row,
                      int column)
{
    int status = CJ_OK;

    if (json_is_null(cell))
        return CJ_OK;
    if (json_is_string(cell))
        return check_name(reading, cell, row, column);
    if (!json_is_array(cell))
        return cji_source_fail(reading->source, CJ_INVALID, 0,
                               "row %d, column %d is %s: it has to be null, a "
                               "device name or a list of device names",
                               row, column, kind_of(cell));
    for (size_t i = 0; status == CJ_OK && i < json_array_size(cell); i++)
        status = check_name(reading, json_array_get(cell, i), row, column);
    return status;
}

static int check_row(struct reading *reading, int rank)
{
    const struct cji_source *source = reading->source;
    const json_t *row = row_of(reading, rank);
    int status = CJ_OK;

    if (row == NULL)
        return cji_source_fail(source, CJ_INVALID, 0,
                               "host %d has no \"rdma\" row, and others have: "
                               "write one for every host",
                               rank);
    if (!json_is_array(row))
        return cji_source_fail(source, CJ_INVALID, 0,
                               "row %d is %s: it has to be a list with a cell "
                               "for each of the %d ranks",
                               rank, kind_of(row), reading->size);
    if (json_array_size(row) != (size_t)reading->size)
        return cji_source_fail(source, CJ_INVALID, 0,
                               "row %d has %zu column%s, and there are %d "
                               "ranks: a row has a cell for each rank, null "
                               "for one's own",
                               rank, json_array_size(row),
                               json_array_size(row) == 1 ? "" : "s",
                               reading->size);
    for (int i = 0; status == CJ_OK && i < reading->size; i++)
        status = check_cell(reading, json_array_get(row, (size_t)i), rank, i);
    return status;
}

static int check_host(const struct reading *reading, int rank)
{
    const json_t *host = json_array_get(reading->rows, (size_t)rank);
    const json_t *ips = json_object_get(host, "ips");

    if (!json_is_object(host))
        return cji_source_fail(reading->source, CJ_INVALID, 0,
                               "host %d is %s: it has to be an object with an "
                               "\"rdma\" row",
                               rank, kind_of(host));
    if (ips == NULL || json_is_null(ips))
        return CJ_OK;
    if (!json_is_array(ips))
        return cji_source_fail(reading->source, CJ_INVALID, 0,
                               "the \"ips\" of host %d are %s: they have to be "
                               "a list of addresses",
                               rank, kind_of(ips));
    for (size_t i = 0; i < json_array_size(ips); i++) {
        const json_t *ip = json_array_get(ips, i);

        if (!json_is_string(ip) || json_string_length(ip) == 0)
            return cji_source_fail(reading->source, CJ_INVALID, 0,
                                   "address %zu of the \"ips\" of host %d is "
                                   "%s: addresses are strings",
                                   i, rank,
                                   json_is_string(ip) ? "empty" : kind_of(ip));
    }
    return CJ_OK;
}

/* Which of the two shapes the text has. */
static int find_rows(struct reading *reading, const json_t *root)
{
    const json_t *hosts = json_object_get(root, "hosts");

    reading->rows = root;
    if (json_is_object(root)) {
        if (!json_is_array(hosts))
            return cji_source_fail(
                reading->source, CJ_INVALID, 0,
                "is an object %s: a device file is a list of rows, a hostfile "
                "has a list of \"hosts\"",
                hosts == NULL ? "without \"hosts\""
                              : "whose \"hosts\" are no list");
        reading->rows = hosts;
        reading->are_hosts = true;
    } else if (json_is_object(json_array_get(root, 0))) {
        reading->are_hosts = true;
    }
    if (json_array_size(reading->rows) == 0)
        return cji_source_fail(
            reading->source, CJ_INVALID, 0,
            "has no rows: there has to be one for each rank");
    if (json_array_size(reading->rows) > CJ_MAX_RANKS)
        return cji_source_fail(reading->source, CJ_INVALID, 0,
                               "has %zu rows, one for each rank: a group has "
                               "up to %d ranks",
                               json_array_size(reading->rows), CJ_MAX_RANKS);
    reading->size = (int)json_array_size(reading->rows);
    return CJ_OK;
}

static int check(struct reading *reading, const json_t *root)
{
    int status = find_rows(reading, root);

    reading->has_cells = !reading->are_hosts;
    for (int i = 0; status == CJ_OK && reading->are_hosts && i < reading->size;
         i++) {
        status = check_host(reading, i);
        if (status == CJ_OK && row_of(reading, i) != NULL)
            reading->has_cells = true;
    }
    for (int i = 0; status == CJ_OK && reading->has_cells && i < reading->size;
         i++)
        status = check_row(reading, i);
    return status;
}

static void write_name(struct writing *writing, const json_t *name)
{
    size_t size = json_string_length(name) + 1;

    memcpy(writing->bytes, json_string_value(name), size);
    *writing->names++ = writing->bytes;
    writing->bytes += size;
}

static void write_cell(struct writing *writing, const json_t *cell)
{
    const char **first = writing->names;

    if (json_is_string(cell))
        write_name(writing, cell);
    for (size_t i = 0; i < json_array_size(cell); i++)
        write_name(writing, json_array_get(cell, i));
    writing->cells->count = (int)(writing->names - first);
    writing->cells->names = writing->names == first ? NULL : first;
    writing->cells++;
}

static void write_cells(const struct reading *reading, struct writing *writing)
{
    for (int row = 0; row < reading->size; row++) {
        for (int column = 0; column < reading->size; column++)
            write_cell(writing,
                       json_array_get(row_of(reading, row), (size_t)column));
    }
}

/* The first address of the first host, or NULL. */
static const char *first_address(const struct reading *reading)
{
    const json_t *host = json_array_get(reading->rows, 0);
    const json_t *ips = json_object_get(host, "ips");

    return json_string_value(json_array_get(ips, 0));
}

/* Writes the coordinator, or only counts: its bytes, 0 if there is none. */
static size_t write_coordinator(const struct reading *reading, char *text,
                                size_t size, const char *given)
{
    const char *address = first_address(reading);
    int length;

    if (given != NULL)
        length = snprintf(text, size, "%s", given);
    else if (address == NULL)
        return 0;
    else if (strchr(address, ':') != NULL)
        length = snprintf(text, size, "[%s]:%d", address, CJI_SETTINGS_PORT);
    else
        length = snprintf(text, size, "%s:%d", address, CJI_SETTINGS_PORT);
    return (size_t)length + 1;
}

/* Cells, then the names' addresses, then all texts. */
static int copy(const struct reading *reading, struct cj_settings *settings,
                const char *coordinator)
{
    size_t cells =
        reading->has_cells ? (size_t)reading->size * (size_t)reading->size : 0;
    size_t last = write_coordinator(reading, NULL, 0, coordinator);
    size_t size = cells * sizeof(struct cj_cell) +
                  reading->names * sizeof(char *) + reading->bytes + last;
    struct cj_config *config = &settings->config;
    struct writing writing;

    settings->memory = malloc(size > 0 ? size : 1);
    if (settings->memory == NULL)
        return cji_source_fail(reading->source, CJ_NO_MEMORY, ENOMEM,
                               "no memory for its settings (%zu bytes)", size);
    writing.cells = settings->memory;
    writing.names = (const char **)(void *)(writing.cells + cells);
    writing.bytes = (char *)(writing.names + reading->names);
    config->size = reading->size;
    if (cells > 0) {
        config->cells = writing.cells;
        write_cells(reading, &writing);
    }
    if (last > 0) {
        config->coordinator = writing.bytes;
        (void)write_coordinator(reading, writing.bytes, last, coordinator);
    }
    return CJ_OK;
}

int cji_settings_parse(struct cj_settings *settings,
                       const struct cji_source *source, const char *text,
                       size_t size, const char *coordinator)
{
    static const char mark[3] = {'\xef', '\xbb', '\xbf'}; /* UTF-8's */
    struct reading reading = {.source = source};
    json_error_t flaw = {.line = 0};
    json_t *root;
    int status;

    if (size >= sizeof mark && memcmp(text, mark, sizeof mark) == 0) {
        text += sizeof mark;
        size -= sizeof mark;
    }
    root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &flaw);
    if (root == NULL && (json_error_code(&flaw) == json_error_out_of_memory ||
                         flaw.text[0] == '\0'))
        return cji_source_fail(source, CJ_NO_MEMORY, ENOMEM,
                               "no memory to read it");
    if (root == NULL)
        return cji_source_fail(source, CJ_INVALID, 0,
                               "line %d, column %d is no JSON: %s", flaw.line,
                               flaw.column, flaw.text);
    status = check(&reading, root);
    if (status == CJ_OK)
        status = copy(&reading, settings, coordinator);
    json_decref(root);
    return status;
}
