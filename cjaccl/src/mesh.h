/*
 * The collectives of a mesh. Arguments have been checked; nothing is empty, and
 * there are two ranks at least.
 *
 * Reductions. Up to 32 KiB, and with two ranks, every rank sends everything to
 * every other one and combines what it gets in the order of the ranks, so that
 * all get the same bits. Above, each rank reduces its share (as a sum_scatter),
 * the shares are gathered, and what does not divide by the number of ranks
 * takes the first way. That is JACCL's split, so that its ranks can take part.
 */
#ifndef CJACCL_MESH_H
#define CJACCL_MESH_H

#include "group.h"
#include "reduce.h"

int cji_mesh_all_reduce(struct cj_group *group, enum cji_reduction reduction,
                        const void *in, void *out, size_t count,
                        enum cj_type type);
int cji_mesh_all_gather(struct cj_group *group, const void *in, void *out,
                        size_t bytes);
int cji_mesh_sum_scatter(struct cj_group *group, const void *in, void *out,
                         size_t count, enum cj_type type);
int cji_mesh_send(struct cj_group *group, const void *in, size_t bytes, int to);
int cji_mesh_recv(struct cj_group *group, void *out, size_t bytes, int from);

#endif
