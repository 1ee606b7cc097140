/*
 * What ranks tell each other about their queue pairs: JACCL's 32 bytes in host
 * order, {int32 lid, int32 queue pair, int32 packet sequence number, 4 bytes of
 * padding, 16 bytes of GID}, one for every rank, so that a rank finds in each
 * peer's list how to reach it.
 *
 * The one about oneself means nothing to JACCL. There, cjaccl says that it is
 * cjaccl, whether it wants the handshake, and whether one of its queues holds
 * one message only.
 */
#ifndef CJACCL_DESTINATION_H
#define CJACCL_DESTINATION_H

#include "group.h"

struct cji_destination {
    int32_t lid;
    int32_t qp_num;
    int32_t psn;
    int32_t zero;
    unsigned char gid[16];
};

/*
 * Tells every rank where this rank's queue pairs are, and stores where theirs
 * are, checked, at peers[rank]. Settles group->handshake and group->lockstep.
 */
int cji_destinations_exchange(struct cj_group *group,
                              struct cji_destination peers[CJ_MAX_MESH_RANKS]);

#endif
