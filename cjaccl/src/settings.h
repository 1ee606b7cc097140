/*
 * Settings: a configuration that is read, from the environment, a device file
 * or a hostfile.
 *
 *   settings_env.c    the environment's variables; names the file
 *   settings.c        reads the file, checks and adds what the file lacks
 *   settings_json.c   the file's text; the only place that knows the parser
 *
 * A text is walked twice: once to check all of it and to count what it takes,
 * then to copy it, into one piece of memory. Whatever a message quotes is made
 * printable: a message is one line, whatever is in the text.
 */
#ifndef CJACCL_SETTINGS_H
#define CJACCL_SETTINGS_H

#include "error.h"

/* No device file is longer: what is, is another kind of file. */
#define CJI_SETTINGS_MAX ((size_t)1 << 20)

/* The port of a coordinator whose port is not named, as mlx.launch's. */
#define CJI_SETTINGS_PORT 32323

/*
 * Where settings come from, and where an error goes. Errors of settings are all
 * of the step CJ_STEP_CONFIG.
 */
struct cji_source {
    const char *name; /* of the text, for messages */
    int rank;         /* -1: not known yet */
    struct cj_error *error;
};

/* Fills the source's error: "NAME: ...", in one line. Returns `code`. */
int cji_source_fail(const struct cji_source *source, enum cj_status code,
                    int err_no, const char *format, ...) CJI_PRINTF(4, 5);

/*
 * Reads a device file's or a hostfile's text. On success settings->memory holds
 * the cells and the coordinator: `coordinator` if that is not NULL, else the
 * hostfile's, else none. The rank is not looked at.
 */
int cji_settings_parse(struct cj_settings *settings,
                       const struct cji_source *source, const char *text,
                       size_t size, const char *coordinator);

#endif
