/*
 * mock/death.h: processes that have died.
 *
 * A kernel would release what they held. Here the living do: whoever starts the
 * processes and hears of their end, or looks around for the dead
 * (vf_room_sweep), buries them.
 *
 * Who dies in the middle of a change leaves the room's lock in a dead hand. The
 * next one who enters mends the change: it makes lists, counters and marks anew
 * from what they stand for, takes back what was begun, and leaves the rest to
 * the burial. A change is written so that this is possible: what others may
 * see of it is one word, and what is said of it comes before it is done.
 */
#ifndef VF_MOCK_DEATH_H
#define VF_MOCK_DEATH_H

#include "mock/room.h"

/* Whom locks ask about their holders. */
void death_watch(struct room_view *view);
/* The room's lock was in a dead hand: mends the room. Entered. */
void death_found(struct vf_world *world);
/* How this process asks others' porters. */
struct vf_asker death_asker(struct vf_world *world, int64_t patience);
/* What the dead have marked, and nobody has buried yet, waits for nobody: ends
 * what they moved. Not in the middle of a message. Entered. */
void death_let_go(struct vf_world *world);
/* Releases what the process holds in the room. Entered. */
void death_release(struct vf_world *world, uint32_t process);
/* Likewise, and frees its place; one's own is free once one has left the room
 * and says so: the lock may not name a place that has a new process. Entered.
 */
void death_bury(struct vf_world *world, uint32_t process);
/* Buries every process that is no more; how many. Not entered. */
unsigned death_sweep(struct vf_world *world);

#endif
