/*
 * The undo of everything: of a start-up that failed at any point, of a group
 * that failed, and of one that did not.
 */
#ifndef CJACCL_RELEASE_H
#define CJACCL_RELEASE_H

#include "group.h"

/*
 * Releases what was built, in reverse: queue pairs first, so that nothing can
 * arrive any more, then regions, completion queues, domains, devices, the
 * arena, the library, and last the side channel: when the other ranks see it
 * closed, this one's devices are free to be used again. The notice that it
 * leaves goes out first. A release that fails
 * is counted in group->release_failures, the first one described in
 * group->release_failure; the rest is released all the same.
 *
 * In a process that was forked from the group's, devices and connections are
 * still the parent's: only memory is released.
 *
 * Does not free the group itself.
 */
void cji_release(struct cj_group *group);

/* What ends all that is under way. */
void cji_release_qps(struct cj_group *group);

/* The region over data that went straight. */
void cji_release_straight(struct cj_group *group, struct cji_device *device);

/* All of it but the connections, before sockets take over. */
void cji_release_rdma(struct cj_group *group);

#endif
