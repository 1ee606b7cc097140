/*
 * Large data that go straight: a device reads them where the caller has them,
 * and no copy into a slot is made.
 *
 * For that the data are a region for as long as the operation runs, one on each
 * device. Only data are sent so, none are received: should the caller fork
 * meanwhile, the device reads the pages that it had, and their bytes do not
 * change during an operation. A message is the data and, as a second entry of
 * its request, its trailer from the slot: on the wire there is no difference.
 * (Where the program has called ibv_fork_init() and the kernel is older than
 * 5.12, libibverbs keeps registered pages from children: one that is forked
 * while the operation runs lacks these data.)
 *
 * Where it is not done: for less than CJI_STRAIGHT_LEAST bytes, which are
 * copied sooner than they are registered; among more than CJI_STRAIGHT_RANKS
 * ranks, for a slot's bytes are in a cache when they are sent to the second
 * peer, and the caller's may have left it (measured over the mock: with 64 MiB
 * four ranks took 1.3 times as long, three 0.93 times); where a device takes
 * one entry only, or is a Thunderbolt one, whose regions are few; with a JACCL
 * rank; over sockets. A device that refuses the region is no error: the group
 * copies from then on.
 */
#ifndef CJACCL_STRAIGHT_H
#define CJACCL_STRAIGHT_H

#include "flow.h"

#define CJI_STRAIGHT_LEAST ((size_t)2 * 1024 * 1024)
#define CJI_STRAIGHT_RANKS 3

/* Registers the operation's source, if it is to go straight. */
void cji_straight_begin(struct cj_group *group,
                        const struct cji_operation *operation);

/* Whether so many bytes of data go straight. Then their message ends with a
 * trailer that needs no filling before it. */
bool cji_is_straight(const struct cj_group *group, size_t bytes);

/* Gives the regions back. Of an operation that failed, requests may still name
 * them: the queue pairs, which are of no more use, go before. */
void cji_straight_end(struct cj_group *group, bool failed);

#endif
