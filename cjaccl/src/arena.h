/*
 * The arena: all buffers of a group, in one piece of page-aligned memory that
 * each device has one region for.
 *
 * A link has some slots to send from and some to receive into (engine.h), each
 * as large as the largest message. A smaller message uses the start of its
 * slot, so a small operation touches few pages. What is sent to all peers alike
 * is sent from the first one's slots: that is why a region covers the whole
 * arena.
 *
 * JACCL registers a buffer per message size, copy, peer and domain (64 regions
 * for two ranks). Devices allow about 100, and all processes share them.
 */
#ifndef CJACCL_ARENA_H
#define CJACCL_ARENA_H

#include "group.h"

/*
 * Allocates the memory, untouched, and hands out the slots. Needs the group's
 * wire, and cji_engine_check().
 */
int cji_arena_alloc(struct cj_group *group);

/* One region per device. */
int cji_arena_register(struct cj_group *group);

#endif
