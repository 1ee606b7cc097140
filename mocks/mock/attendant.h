/*
 * mock/attendant.h: the thread that listens for a process.
 *
 * What other processes do for this one needs no thread, except telling a
 * program that sleeps: completion events, async events, and deadlines that end
 * while nobody calls a verb. The attendant sleeps on its process's bell in the
 * room until one of these is there, and signals the program's descriptors.
 */
#ifndef VF_MOCK_ATTENDANT_H
#define VF_MOCK_ATTENDANT_H

#include "front/world_private.h"

/* 0 or an errno. All signals are blocked in it. */
int attendant_start(struct vf_world *world);
/* Ends it and waits for that; true if there is none. False: it does not end,
 * for this thread has what it waits for. */
bool attendant_stop(void);
/* In a child after fork: the thread is not there. */
void attendant_forget(void);

#endif
