/*
 * all_sum over a mesh, by JACCL's choice of algorithms:
 *
 *   up to 32 KiB, or with 2 ranks: everybody sends everything to everybody and
 *   adds up all of it;
 *
 *   else the data is cut into one part per rank: everybody sends part r to rank
 *   r, which adds it up and sends the result to everybody. The elements that do
 *   not divide evenly are summed by the first algorithm.
 *
 * Both add in the order of the ranks, so an element's sum does not depend on
 * how large the message was or on what came first.
 */
#ifndef CJACCL_ALL_SUM_H
#define CJACCL_ALL_SUM_H

#include "group.h"

/* Arguments are checked; group->step and group->deadline are set. */
int cji_all_sum(struct cj_group *group, const void *in, void *out, size_t count,
                enum cj_type type);

#endif
