/* Settings from a text or a file. */
#include "settings.h"

#include "address.h"
#include "error.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Quoted texts may hold anything; a message stays one line. */
static void make_printable(char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;

        if (byte < 0x20 || byte == 0x7f)
            *text = '?';
    }
}

int cji_source_fail(const struct cji_source *source, enum cj_status code,
                    int err_no, const char *format, ...)
{
    char text[CJ_MESSAGE_SIZE];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)cji_error_fill(source->error, code, CJ_STEP_CONFIG, source->rank,
                         cji_about_none(err_no), "%.200s: %s", source->name,
                         text);
    make_printable(source->error->message);
    return code;
}

static int check_rank(const struct cj_config *config,
                      const struct cji_source *source)
{
    if (config->rank >= 0 && config->rank < config->size)
        return CJ_OK;
    return cji_source_fail(source, CJ_INVALID, 0,
                           "rank %d is not one of its %d rank%s (0 to %d): is "
                           "this the right file, and the right rank?",
                           config->rank, config->size,
                           config->size == 1 ? "" : "s", config->size - 1);
}

static int check_coordinator(const struct cj_config *config,
                             const struct cji_source *source)
{
    struct cji_address address;
    const char *flaw;

    if (config->coordinator == NULL)
        return CJ_OK;
    flaw = cji_address_parse(&address, config->coordinator);
    if (flaw == NULL)
        return CJ_OK;
    return cji_source_fail(source, CJ_INVALID, 0,
                           "the coordinator \"%.200s\" %s: write it as "
                           "address:port or [v6-address]:port",
                           config->coordinator, flaw);
}

static int read_text(struct cj_settings *settings,
                     const struct cji_source *source, const char *text,
                     size_t size, const char *coordinator)
{
    int status;

    if (size > CJI_SETTINGS_MAX)
        return cji_source_fail(source, CJ_INVALID, 0,
                               "is larger than %zu KiB, as no device file is",
                               CJI_SETTINGS_MAX / 1024);
    status = cji_settings_parse(settings, source, text, size, coordinator);
    if (status != CJ_OK)
        return status;
    settings->config.rank = source->rank;
    status = check_rank(&settings->config, source);
    if (status == CJ_OK)
        status = check_coordinator(&settings->config, source);
    if (status != CJ_OK)
        cj_settings_free(settings);
    return status;
}

int cj_settings_from_text(struct cj_settings *settings, const char *text,
                          size_t size, const char *name, int rank,
                          const char *coordinator, struct cj_error *error)
{
    struct cj_error unwanted = {.code = CJ_OK};
    struct cji_source source = {
        .name = name != NULL ? name : "the device file",
        .rank = rank,
        .error = error != NULL ? error : &unwanted,
    };

    if (settings == NULL)
        return cji_error_null(error, CJ_STEP_CONFIG, "the place for it");
    memset(settings, 0, sizeof *settings);
    if (text == NULL && size > 0)
        return cji_error_null(error, CJ_STEP_CONFIG, "the text");
    if (text == NULL)
        text = "";
    source.error->code = CJ_OK;
    return read_text(settings, &source, text, size, coordinator);
}

/* A pipe that nobody writes to has to end, too. */
#define PIPE_MS 5000

/* Up to `room` bytes: how many, or a negative errno. */
static ssize_t read_all(int fd, char *text, size_t room)
{
    size_t got = 0;

    while (got < room) {
        ssize_t n = read(fd, text + got, room - got);

        if (n == 0)
            break;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            struct pollfd pipe = {.fd = fd, .events = POLLIN};

            if (poll(&pipe, 1, PIPE_MS) == 0)
                return -ETIMEDOUT;
            continue;
        }
        if (n < 0)
            return -errno;
        got += (size_t)n;
    }
    return (ssize_t)got;
}

static int open_file(const char *path)
{
    int fd;

    do {
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    } while (fd < 0 && errno == EINTR);
    return fd < 0 ? -errno : fd;
}

/* One byte more than is allowed, so that a file that is too long is known. */
static ssize_t slurp(const char *path, char *text)
{
    int fd = open_file(path);
    ssize_t size;

    if (fd < 0)
        return fd;
    size = read_all(fd, text, CJI_SETTINGS_MAX + 1);
    (void)close(fd);
    return size;
}

int cj_settings_from_file(struct cj_settings *settings, const char *path,
                          int rank, const char *coordinator,
                          struct cj_error *error)
{
    struct cj_error unwanted = {.code = CJ_OK};
    struct cji_source source = {
        .name = path,
        .rank = rank,
        .error = error != NULL ? error : &unwanted,
    };
    char *text;
    ssize_t size;
    int status;

    if (settings == NULL)
        return cji_error_null(error, CJ_STEP_CONFIG, "the place for it");
    memset(settings, 0, sizeof *settings);
    if (path == NULL)
        return cji_error_null(error, CJ_STEP_CONFIG, "the path");
    text = malloc(CJI_SETTINGS_MAX + 1);
    source.error->code = CJ_OK;
    if (text == NULL)
        return cji_source_fail(&source, CJ_NO_MEMORY, ENOMEM,
                               "no memory to read it");
    size = slurp(path, text);
    if (size < 0)
        status = cji_source_fail(&source, CJ_INVALID, (int)-size,
                                 "%s; it has to be the path of a device "
                                 "file on this machine",
                                 cji_errno_text((int)-size).text);
    else
        status = read_text(settings, &source, text, (size_t)size, coordinator);
    free(text);
    return status;
}

void cj_settings_free(struct cj_settings *settings)
{
    if (settings == NULL)
        return;
    free(settings->memory);
    memset(settings, 0, sizeof *settings);
}
