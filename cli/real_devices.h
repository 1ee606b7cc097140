/*
 * real_devices.h: which RDMA devices this machine has.
 *
 * The library that the passage would open is asked (VERBFAULT_REAL_LIBRARY, or
 * the system's), in a process of its own: what a driver leaves open or prints
 * ends with that, and no call of a plan is used up.
 */
#ifndef CLI_REAL_DEVICES_H
#define CLI_REAL_DEVICES_H

#include <stdbool.h>

#define REAL_NAME_MAX 64

struct real_devices {
    int count;
    char active[REAL_NAME_MAX]; /* the first whose port 1 is; "": none */
    bool no_library;
    char why[256]; /* in one line, why there is no library, or no device */
};

void real_devices_ask(struct real_devices *devices);

/* What to do where there is none: words to put behind a colon. */
extern const char *const real_devices_advice;

#endif
