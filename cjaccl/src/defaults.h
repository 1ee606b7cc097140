/*
 * The hooks that a configuration does not bring.
 */
#ifndef CJACCL_DEFAULTS_H
#define CJACCL_DEFAULTS_H

#include "cjaccl/cjaccl.h"

extern const struct cj_library cji_default_library;     /* dlopen */
extern const struct cj_clock cji_default_clock;         /* CLOCK_MONOTONIC */
extern const struct cj_allocator cji_default_allocator; /* posix_memalign */
extern const struct cj_net cji_default_net;             /* TCP */

/* Closes this process's copy of an end of TCP; the peer does not see it, as
 * long as another process has one. */
void cji_default_net_drop(int end);

#endif
