/*
 * mock/hold.h: what a process has marked while it copies outside of the room.
 *
 * A receiver that a message lands in is not reset or destroyed, a region that
 * bytes are copied to or from is not released, before the mark is gone. The
 * marks of a process are listed with it: if it dies they are taken back.
 *
 * The requests of a message that is being moved are on no queue. They are
 * listed too: a send whose mover dies is sent again, a receive is there for the
 * next message, and what has been completed just before is left alone. In a
 * private room nobody dies on his own, and nothing is listed.
 */
#ifndef VF_MOCK_HOLD_H
#define VF_MOCK_HOLD_H

#include "mock/mock.h"

/* The receiver and the regions of a request, while length bytes are copied;
 * nothing when that does not leave the room. */
void hold_receiver(struct vf_world *world, struct room_qp *receiver,
                   const struct room_work *work, uint64_t length);
/* One region more. */
void hold_region(struct vf_world *world, struct room_region *region);
/* All marks of this process. */
void hold_release(struct vf_world *world);
/* All marks of a dead one. */
void hold_bury(struct vf_world *world, uint32_t process);
/* Counts all marks anew: one that died may have listed what it did not count,
 * and the other way round. */
void hold_mend(struct vf_world *world);

/* The first request of the queue pair is about to be taken. */
void hold_send(struct vf_world *world, const struct room_qp *sender);
void hold_receive(struct vf_world *world, const struct room_qp *receiver,
                  const struct room_queue *queue);
/* The queue is about to have one completion more, of this request. */
void hold_turn(struct vf_world *world, const struct room_cq *cq, uint32_t work);
/* The request is completed, if it was listed. */
void hold_completed(struct vf_world *world, uint32_t work);
/* What this process has listed goes back to its queue: its peer has died. */
void hold_return_send(struct vf_world *world);
void hold_return_receive(struct vf_world *world);
/* What a dead one had listed goes back to its queues, unless their owner has
 * died too. */
void hold_put_back(struct vf_world *world, uint32_t process);

#endif
