/* Reading a scenario from a file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/scenario.h"

static int fail(struct scn_error *error, const char *message)
{
    error->line = error->column = 0;
    snprintf(error->message, sizeof error->message, "%s", message);
    return -1;
}

/* Reads all of file into *text; works for pipes too, whose size is unknown. */
static int read_all(FILE *file, char **text, size_t *length,
                    struct scn_error *error)
{
    size_t room = 4096, used = 0;
    char *buffer = malloc(room);
    while (buffer) {
        used += fread(buffer + used, 1, room - used, file);
        if (used < room || used > SCN_TEXT_MAX)
            break;
        room *= 2;
        char *larger = realloc(buffer, room);
        if (!larger)
            free(buffer);
        buffer = larger;
    }
    *text = buffer;
    *length = used;
    if (!buffer)
        return fail(error, strerror(ENOMEM));
    if (ferror(file))
        return fail(error, strerror(errno));
    if (used > SCN_TEXT_MAX)
        return fail(error, "larger than 64 MiB: not a scenario");
    return 0;
}

int scn_load(struct scn *scenario, const char *path, char **text,
             struct scn_error *error)
{
    size_t length;
    *text = NULL;
    scenario->count = 0;
    FILE *file = fopen(path, "rb");
    if (!file)
        return fail(error, strerror(errno));
    int status = read_all(file, text, &length, error);
    fclose(file);
    if (status == 0)
        status = scn_parse(scenario, *text, length, error);
    if (status < 0) {
        free(*text);
        *text = NULL;
        scenario->count = 0;
    }
    return status;
}
