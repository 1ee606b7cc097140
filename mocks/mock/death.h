/*
 * mock/death.h: processes that have died.
 *
 * A kernel would release what they held. Here the living do: the one who finds
 * the room's lock in a dead hand, whoever starts the processes and hears of
 * their end, or who looks around (vf_room_sweep). What the dead one was in the
 * middle of is mended first: the lists of queues and deadlines are made anew
 * from what they hold.
 */
#ifndef VF_MOCK_DEATH_H
#define VF_MOCK_DEATH_H

#include "mock/room.h"

/* Whom locks ask about their holders. */
void death_watch(struct room_view *view);
/* The room's lock was in a dead hand: mends the room and buries the dead.
 * Entered. */
void death_found(struct vf_world *world);
/* How this process asks others' porters. */
struct vf_asker death_asker(struct vf_world *world, int64_t patience);
/* Releases what the process held and frees its place. Entered. */
void death_bury(struct vf_world *world, uint32_t process);
/* Buries every process that is no more; how many. Not entered. */
unsigned death_sweep(struct vf_world *world);

#endif
