/*
 * front/descriptor.h: descriptors that say "there is an event".
 *
 * A completion channel's fd and a context's async_fd are the reading ends of
 * pipes: one byte for each event. A program may poll() them, give them to a
 * loop, and make them non-blocking. Signalling never blocks and never fails: a
 * pipe that is full is readable.
 */
#ifndef VF_FRONT_DESCRIPTOR_H
#define VF_FRONT_DESCRIPTOR_H

#include "front/world_private.h"

/* 0, or an errno. Both ends are closed on exec. */
int vf_descriptor_open(int *reading, int *writing);
void vf_descriptor_close(int reading, int writing);
void vf_descriptor_signal(int writing);
/* An event that was signalled is not to come after all: one byte less, where
 * one is left (a thread that is about to look for an event may have it). */
void vf_descriptor_forget(int reading);
/* Waits for a byte and takes it; deadlines of the world are kept meanwhile. 0,
 * EAGAIN (the program made it non-blocking), EINTR, or what read() says. The
 * world is not locked. */
int vf_descriptor_take(struct vf_world *world, int reading);

#endif
