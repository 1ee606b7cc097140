/*
 * Waiting for completions, and believing none that is not plausible.
 *
 * A completion counts when its status is success, its wr_id is that of a work
 * request that is outstanding at that peer, and, of a receive, its length is
 * the one that was asked for. Everything else is an error: the group cannot
 * know which data it has.
 */
#ifndef CJACCL_COMPLETION_H
#define CJACCL_COMPLETION_H

#include "group.h"

/*
 * Waits until at least one work request is complete. At least one has to be
 * outstanding. Fails at group->deadline, and a moment after a peer has gone,
 * but not without a last look at the queues.
 */
int cji_await_completion(struct cj_group *group);

#endif
