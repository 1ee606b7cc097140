/*
 * Errors: how they are filled, and the words for numbers.
 */
#ifndef CJACCL_ERROR_H
#define CJACCL_ERROR_H

#include "group.h"

#include <stdarg.h>

#if defined(__GNUC__)
#define CJI_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define CJI_PRINTF(text, first)
#endif

/* Where an error happened and what it is about. */
struct cji_about {
    int peer;           /* a rank, or -1 */
    const char *device; /* a name, or NULL */
    int err_no;         /* an errno, or 0 */
};

/* About nothing in particular, a peer, a device, a device's way to a peer. */
struct cji_about cji_about_none(int err_no);
struct cji_about cji_about_peer(int peer, int err_no);
struct cji_about cji_about_device(const char *device, int err_no);
struct cji_about cji_about_link(const struct cji_link *link, int err_no);

/* Fills *error; the message begins with "cjaccl: rank N: " and, unless `format`
 * begins with "device %", the device's name. Returns `code`. */
int cji_error_fill(struct cj_error *error, enum cj_status code,
                   enum cj_step step, int rank, struct cji_about about,
                   const char *format, ...) CJI_PRINTF(6, 7);

/*
 * Makes this the group's error, in its present step, unless it has one: the
 * first error is the one that explains the others. Returns `code`.
 */
int cji_fail(struct cj_group *group, enum cj_status code,
             struct cji_about about, const char *format, ...) CJI_PRINTF(4, 5);

/*
 * The errno of a verbs call that answers 0 or an errno. Some answer -1 and set
 * errno instead (so the caller has to set it to 0 before the call: one that was
 * left from earlier must not be reported), some answer a negative errno.
 */
int cji_verbs_errno(int answer);

/* An errno in words, e.g. "cannot allocate memory, ENOMEM (12)"; "no errno" for
 * 0. */
struct cji_errno_text {
    char text[64];
};
struct cji_errno_text cji_errno_text(int err_no);

/* " on device rdma_en2"; "" for a link that has none. */
struct cji_device_text {
    char text[CJ_DEVICE_NAME_SIZE + 16];
};
struct cji_device_text cji_on_device(const struct cji_link *link);

/* Fills *error, which may be NULL: an argument is NULL that may not be, e.g.
 * "the group". CJ_INVALID. */
int cji_error_null(struct cj_error *error, enum cj_step step, const char *what);

/* Makes a text that a peer sent fit for a message: cut, and printable. */
void cji_tame(char *text, size_t size);

/* A limit in words: "100", or "a number that it does not tell" for 0. */
struct cji_errno_text cji_limit_text(int limit);

/* A completion status in words, e.g. "local length error (1)". */
struct cji_errno_text cji_wc_status_text(int status);

#endif
