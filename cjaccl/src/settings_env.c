/* Settings from the environment. */
#include "settings.h"

#include "error.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A variable that is set: its name and value, NULL where none is. */
struct variable {
    const char *name;
    const char *value;
};

/* Of two names the first that is set counts, also when it is empty. */
static struct variable look_up(const char *first, const char *second)
{
    struct variable variable = {first, getenv(first)};

    if (variable.value == NULL)
        variable = (struct variable){second, getenv(second)};
    return variable;
}

/* One of cjaccl's own; empty is as good as not set. */
static struct variable look_up_own(const char *name)
{
    struct variable variable = {name, getenv(name)};

    if (variable.value != NULL && variable.value[0] == '\0')
        variable.value = NULL;
    return variable;
}

static int refuse(const struct cji_source *source, struct variable variable,
                  const char *wanted)
{
    struct cji_source about = *source;

    about.name = variable.name;
    return cji_source_fail(&about, CJ_INVALID, 0,
                           "is \"%.100s\": it has to be "
                           "%s",
                           variable.value, wanted);
}

/* Digits only: what atoi() would guess is an error. */
static int read_rank(struct variable variable, struct cji_source *source)
{
    const char *text = variable.value;
    long rank = 0;

    for (; *text >= '0' && *text <= '9' && rank < INT_MAX / 10 - 1; text++)
        rank = rank * 10 + (*text - '0');
    if (*text != '\0' || text == variable.value)
        return refuse(source, variable,
                      "this process's rank, a whole number from 0");
    source->rank = (int)rank;
    return CJ_OK;
}

/* Index of the value in a NULL-ended list of words, or -1. */
static int find_word(const char *value, const char *const *words)
{
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(value, words[i]) == 0)
            return i;
    }
    return -1;
}

#define SECOND_NS ((int64_t)1000000000)
#define MAX_SECONDS ((int64_t)1000000000)

/* "2.5", whatever the locale's point is; nanoseconds, or -1. */
static int64_t parse_seconds(const char *text)
{
    int64_t whole = 0;
    int64_t part = 0;
    int64_t unit = SECOND_NS;
    int digits = 0;

    for (; *text >= '0' && *text <= '9'; text++, digits++) {
        whole = whole * 10 + (*text - '0');
        if (whole > MAX_SECONDS)
            return -1;
    }
    if (*text == '.')
        text++;
    for (; *text >= '0' && *text <= '9'; text++, digits++) {
        unit /= 10;
        part += (*text - '0') * unit;
    }
    return *text != '\0' || digits == 0 ? -1 : whole * SECOND_NS + part;
}

static int read_seconds(const char *name, const struct cji_source *source,
                        int64_t *timeout)
{
    struct variable variable = look_up_own(name);

    if (variable.value == NULL)
        return CJ_OK;
    *timeout = parse_seconds(variable.value);
    if (*timeout <= 0)
        return refuse(source, variable,
                      "a number of seconds above 0 and up to 1000000000, e.g. "
                      "2.5");
    return CJ_OK;
}

static int read_own(struct cj_config *config, const struct cji_source *source)
{
    static const char *const fallbacks[] = {"none", "sockets", NULL};
    static const char *const backends[] = {"rdma", "sockets", NULL};
    struct variable fallback = look_up_own("CJ_FALLBACK");
    struct variable backend = look_up_own("CJ_BACKEND");
    int status = CJ_OK;
    int word;

    if (fallback.value != NULL) {
        word = find_word(fallback.value, fallbacks);
        if (word < 0)
            return refuse(source, fallback, "\"sockets\" or \"none\"");
        config->fallback = word == 1 ? CJ_FALLBACK_SOCKETS : CJ_FALLBACK_NONE;
    }
    if (backend.value != NULL) {
        word = find_word(backend.value, backends);
        if (word < 0)
            return refuse(source, backend, "\"sockets\" or \"rdma\"");
        config->backend = word == 1 ? CJ_BACKEND_SOCKETS : CJ_BACKEND_RDMA;
    }
    status =
        read_seconds("CJ_START_TIMEOUT", source, &config->start_timeout_ns);
    if (status == CJ_OK)
        status = read_seconds("CJ_OPERATION_TIMEOUT", source,
                              &config->operation_timeout_ns);
    return status;
}

static int read_file(struct cj_settings *settings, struct variable devices,
                     const struct cji_source *source)
{
    struct variable coordinator =
        look_up("JACCL_COORDINATOR", "MLX_JACCL_COORDINATOR");
    struct variable ring = look_up("JACCL_RING", "MLX_JACCL_RING");
    const char *address = coordinator.value;
    int status;

    /* An empty one is none: a hostfile may give it, or the caller does. */
    if (address != NULL && address[0] == '\0')
        address = NULL;
    status = cj_settings_from_file(settings, devices.value, source->rank,
                                   address, source->error);
    if (status != CJ_OK)
        return status;
    if (ring.value != NULL)
        settings->config.topology = CJ_TOPOLOGY_RING;
    status = read_own(&settings->config, source);
    if (status != CJ_OK)
        cj_settings_free(settings);
    return status;
}

int cj_settings_from_env(struct cj_settings *settings, struct cj_error *error)
{
    struct cj_error unwanted = {.code = CJ_OK};
    struct cji_source source = {
        .name = "the environment",
        .rank = -1,
        .error = error != NULL ? error : &unwanted,
    };
    struct variable rank = look_up("JACCL_RANK", "MLX_RANK");
    struct variable devices = look_up("JACCL_IBV_DEVICES", "MLX_IBV_DEVICES");
    int status;

    if (settings == NULL)
        return cji_error_null(error, CJ_STEP_CONFIG, "the place for it");
    memset(settings, 0, sizeof *settings);
    source.error->code = CJ_OK;
    if (rank.value == NULL && devices.value == NULL)
        return cji_source_fail(&source, CJ_NO_CONFIGURATION, 0,
                               "it does not make this process a rank: set "
                               "JACCL_RANK, JACCL_IBV_DEVICES and "
                               "JACCL_COORDINATOR (or MLX_RANK, "
                               "MLX_IBV_DEVICES and MLX_JACCL_COORDINATOR)");
    if (rank.value == NULL)
        return cji_source_fail(&source, CJ_INVALID, 0,
                               "has %s and no rank: set JACCL_RANK",
                               devices.name);
    status = read_rank(rank, &source);
    if (status != CJ_OK)
        return status;
    if (devices.value == NULL)
        return cji_source_fail(&source, CJ_INVALID, 0,
                               "has %s and no device file: set "
                               "JACCL_IBV_DEVICES to its path",
                               rank.name);
    if (devices.value[0] == '\0')
        return refuse(&source, devices, "the path of a device file");
    return read_file(settings, devices, &source);
}
