/*
 * mock/hold.h: what a process has marked while it copies outside of the room.
 *
 * A receiver that a message lands in is not reset or destroyed, a region that
 * bytes are copied to or from is not released, before the mark is gone. The
 * marks of a process are listed with it: if it dies they are taken back.
 */
#ifndef VF_MOCK_HOLD_H
#define VF_MOCK_HOLD_H

#include "mock/mock.h"

/* The receiver and the regions of its receive. */
void hold_receiver(struct vf_world *world, struct room_qp *receiver,
                   const struct room_work *received);
/* One region more. */
void hold_region(struct vf_world *world, struct room_region *region);
/* All marks of this process. */
void hold_release(struct vf_world *world);
/* All marks of a dead one. */
void hold_bury(struct vf_world *world, uint32_t process);

#endif
