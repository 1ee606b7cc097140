/*
 * The collectives of a ring, by JACCL's choice of algorithms.
 *
 * Everything is done by lanes. A lane is one direction over one wire: what goes
 * right over wire w comes in from the left over the left neighbour's wire w,
 * and the other way round. A collective cuts its data into one chunk per rank,
 * and each chunk into one contiguous slice per lane. In each of its steps a
 * lane passes its slice of one chunk on and gets that of the next; from step to
 * step the chunks rotate around the ring.
 *
 *   all-reduce    size - 1 steps, in which each rank combines what comes with
 *                 its own part, then size - 1 steps in which it is passed on as
 *                 it is. One lane (to the right, over wire 0) up to 32 KiB and
 *                 for very few elements, else all of them. Two ranks of
 *                 cjaccl simply exchange what is small.
 *   sum_scatter   size - 1 steps as the first ones above, turned by one, so
 *                 that each rank ends with its own chunk. Both directions; one
 *                 wire up to 64 KiB, else all.
 *   all_gather    size - 1 steps as the last ones above. JACCL's own gives
 *                 wrong data, so a group with a JACCL rank refuses it.
 *
 * With JACCL on the wire, each step is a round: all of it is through before the
 * next begins. Otherwise a message of the next step goes as soon as that of
 * this one has come.
 *
 * Arguments are checked, group->step and group->deadline are set.
 */
#ifndef CJACCL_RING_H
#define CJACCL_RING_H

#include "group.h"
#include "reduce.h"

int cji_ring_all_reduce(struct cj_group *group, enum cji_reduction reduction,
                        const void *in, void *out, size_t count,
                        enum cj_type type);

/* Not with a JACCL rank: JACCL's own gives wrong data in a ring. */
bool cji_ring_has_gather(const struct cj_group *group);

/* `in` may be its own place in `out`. */
int cji_ring_all_gather(struct cj_group *group, const void *in, void *out,
                        size_t bytes);

/* `out` may be part of `in`. */
int cji_ring_sum_scatter(struct cj_group *group, const void *in, void *out,
                         size_t count, enum cj_type type);

/* A small all-reduce of two ranks, in one step (ring_pair.c). */
bool cji_ring_pair_can(const struct cj_group *group, size_t bytes);
int cji_ring_pair_reduce(struct cj_group *group, enum cji_reduction reduction,
                         const void *in, void *out, size_t count,
                         enum cj_type type);

/* Of a reduction in the group's step. */
uint64_t cji_ring_digest(const struct cj_group *group, size_t count,
                         enum cj_type type);

/*
 * To and from a neighbour, each wire with a contiguous slice. With 2 ranks,
 * where both neighbours are one, a send goes to the left.
 */
int cji_ring_send(struct cj_group *group, const void *in, size_t bytes,
                  int peer);
int cji_ring_recv(struct cj_group *group, void *out, size_t bytes, int peer);

#endif
