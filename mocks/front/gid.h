/*
 * front/gid.h: a port's table of addresses.
 */
#ifndef VF_FRONT_GID_H
#define VF_FRONT_GID_H

#include "front/infiniband.h"

/* The index of the port's entry with this address; -1 with errno: there is
 * none. One call of query_gid. */
int vf_find_gid(struct ibv_context *context, unsigned port,
                const union ibv_gid *gid);

#endif
