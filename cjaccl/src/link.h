/*
 * A link: completion queue and queue pair of one wire to one peer, from their
 * creation to a queue pair that is ready to send.
 */
#ifndef CJACCL_LINK_H
#define CJACCL_LINK_H

#include "destination.h"
#include "group.h"

/* Creates the queues of every link and moves the queue pairs to INIT. */
int cji_links_create(struct cj_group *group);

/*
 * Moves the queue pairs to RTR and RTS, each towards its peer's, which is at
 * theirs[link's index].
 */
int cji_links_connect(struct cj_group *group,
                      const struct cji_destination theirs[CJI_MAX_LINKS]);

#endif
