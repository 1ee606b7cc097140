/*
 * fuzz_device_file: settings from any text, as a device file or a hostfile.
 *
 *   fuzz_device_file [libFuzzer's options] [CORPUS...]
 *
 * An input is the text of a file. It is read for several ranks, with its first
 * line as the coordinator and without one. What is read is a configuration that
 * makes sense, and the same each time; what is refused is refused with one line
 * of printable words and leaves nothing behind.
 */
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cjaccl/cjaccl.h"
#include "cjaccl/src/address.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *trouble = ""; /* what was read last, in words */

static void expect(int holds, const char *promise)
{
    if (holds)
        return;
    fprintf(stderr, "broken: %s\n%s\n", promise, trouble);
    abort();
}

/* The parser's memory, counted. */
static long pieces;

static void *count_malloc(size_t size)
{
    void *piece = malloc(size);
    pieces += piece != NULL;
    return piece;
}

static void count_free(void *piece)
{
    pieces -= piece != NULL;
    free(piece);
}

static void check_cell(const struct cj_cell *cell)
{
    expect(cell->count >= 0, "a cell has no negative number of names");
    expect((cell->count > 0) == (cell->names != NULL),
           "a cell with names has a list of them, and no other");
    for (int i = 0; i < cell->count; i++) {
        size_t length = strlen(cell->names[i]);
        expect(length > 0 && length < CJ_DEVICE_NAME_SIZE,
               "a name is as long as a device's");
    }
}

static void check_config(const struct cj_config *config, int rank)
{
    struct cji_address address;
    expect(config->size >= 1 && config->size <= CJ_MAX_RANKS,
           "a group has 1 to 64 ranks");
    expect(config->rank == rank && rank >= 0 && rank < config->size,
           "the rank is one of them");
    for (int i = 0; config->cells && i < config->size * config->size; i++)
        check_cell(&config->cells[i]);
    expect(config->coordinator == NULL ||
               cji_address_parse(&address, config->coordinator) == NULL,
           "the coordinator is an address");
    expect(config->topology == CJ_TOPOLOGY_AUTO &&
               config->backend == CJ_BACKEND_RDMA &&
               config->fallback == CJ_FALLBACK_NONE,
           "a file says nothing else");
}

static void check_error(const struct cj_error *error, int status)
{
    expect(error->code == status && status == CJ_INVALID,
           "what is wrong is CJ_INVALID");
    expect(error->message[0] != '\0', "an error has a message");
    for (const char *at = error->message; *at; at++)
        expect((unsigned char)*at >= 0x20 && *at != 0x7f,
               "a message is one line");
}

static int read_once(const uint8_t *data, size_t size, int rank,
                     const char *coordinator)
{
    struct cj_settings settings;
    struct cj_error error;
    int status = cj_settings_from_text(&settings, (const char *)data, size,
                                       "input", rank, coordinator, &error);
    trouble = error.message;
    if (status == CJ_OK) {
        expect(error.code == CJ_OK, "no error is left");
        check_config(&settings.config, rank);
    } else {
        check_error(&error, status);
        expect(settings.memory == NULL, "nothing has to be freed");
    }
    cj_settings_free(&settings);
    expect(settings.memory == NULL, "it was freed");
    expect(pieces == 0, "the parser keeps nothing");
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int ranks[] = {-1, 0, 1, CJ_MAX_RANKS};
    char line[64];
    size_t length = 0;
    json_set_alloc_funcs(count_malloc, count_free);
    while (length < size && length < sizeof line - 1 && data[length] != '\n')
        length++;
    memcpy(line, data, length);
    line[length] = '\0';
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        read_once(data, size, ranks[i], NULL);
    if (read_once(data, size, 0, line) == CJ_OK)
        expect(read_once(data, size, 0, "[::1]:9") == CJ_OK,
               "what is right stays right");
    expect(read_once(data, size, 0, "nowhere") == CJ_INVALID,
           "a coordinator without a port is refused");
    return 0;
}
