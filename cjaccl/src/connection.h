/*
 * A connection: completion queue and queue pair of one peer, from their
 * creation to a queue pair that is ready to send.
 */
#ifndef CJACCL_CONNECTION_H
#define CJACCL_CONNECTION_H

#include "destination.h"
#include "group.h"

/* Creates the queues of every peer and moves the queue pairs to INIT. */
int cji_connections_create(struct cj_group *group);

/* Moves the queue pairs to RTR and RTS, each towards its peer's. */
int cji_connections_connect(struct cj_group *group,
                            const struct cji_destination peers[CJ_MAX_MESH_RANKS]);

#endif
