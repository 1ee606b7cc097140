/*
 * What is wrong with the arguments of an operation, in words, or NULL. Nothing
 * is sent before these are through.
 */
#ifndef CJACCL_ARGUMENTS_H
#define CJACCL_ARGUMENTS_H

#include "group.h"

const char *cji_flaw_of_reduce(const void *in, const void *out, size_t count,
                               enum cj_type type);
const char *cji_flaw_of_gather(const struct cj_group *group, const void *in,
                               const void *out, size_t bytes);
const char *cji_flaw_of_scatter(const struct cj_group *group, const void *in,
                                const void *out, size_t count,
                                enum cj_type type);
const char *cji_flaw_of_move(const struct cj_group *group, const void *data,
                             size_t bytes, int peer);

#endif
