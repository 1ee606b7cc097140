/*
 * mock/park.h: places in the room where messages wait for their receiver.
 *
 * A message to another process can be copied once, through the kernel, or
 * twice: by the sender into a place in the room, by the receiver from there
 * when it polls. Twice is faster up to some length: no system call, no page
 * is looked up, and both processors work at the same time. Each process has a
 * few places, so that they stay in the cache; when all of them are taken the
 * receiver is not polling, and one copy is the better way.
 */
#ifndef VF_MOCK_PARK_H
#define VF_MOCK_PARK_H

#include "mock/room.h"

#define PARK_BYTES ((size_t)128 << 10)

/* A place of this process; 0: none is free. Entered. */
uint32_t park_take(struct vf_world *world);
/* Whose ever place it is; the room need not be entered. */
void park_leave(struct vf_world *world, uint32_t place);
/* Its PARK_BYTES bytes. */
void *park_at(struct vf_world *world, uint32_t place);

#endif
