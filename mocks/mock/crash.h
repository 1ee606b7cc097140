/*
 * mock/crash.h: a real fault, told before the process dies of it.
 *
 * A program that catches none of SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT
 * itself gets a handler that reports which verb it was in, its last calls and
 * its stack. Then the signal takes its ordinary course.
 */
#ifndef VF_MOCK_CRASH_H
#define VF_MOCK_CRASH_H

#include <stddef.h>

#include "front/world_private.h"

void crash_watch(struct vf_world *world);
/* In a child after fork: what it does is not the parent's to report. */
void crash_forget(void);
/* Ends the process now as a fault does. */
void crash_now(void) __attribute__((noreturn));
/* The last calls of the machine and this thread's stack, as lines. */
void crash_describe(struct vf_world *world, int machine, char *text,
                    size_t room);

#endif
