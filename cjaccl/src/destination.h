/*
 * What ranks tell each other about their queue pairs: JACCL's 32 bytes in host
 * order, {int32 lid, int32 queue pair, int32 packet sequence number, 4 bytes of
 * padding, 16 bytes of GID}, as JACCL's vectors: how many, then all of them.
 *
 *   mesh    one vector, with a place for every rank, so that a rank finds in
 *           each peer's how to reach it;
 *   ring    two vectors, of the wires to the left neighbour and of those to
 *           the right one. Wire i to the left leads to the neighbour's wire i
 *           to the right.
 *
 * Ranks of cjaccl know each other by what means nothing to JACCL. In a mesh
 * that is the place for the rank itself, which holds a text. In a ring it is
 * the padding, which JACCL leaves as it is: in every element of both vectors it
 * is a mark that depends on the rest of the element and on the side, so that no
 * left-over of another one passes for it.
 *
 * A rank that could not start RDMA, and may go on over sockets, takes part in
 * all of this with places that lead nowhere: the others are to hear of it in
 * the exchange that follows (card.h), where all are cjaccl.
 */
#ifndef CJACCL_DESTINATION_H
#define CJACCL_DESTINATION_H

#include "group.h"

struct cji_destination {
    int32_t lid;
    int32_t qp_num;
    int32_t psn;
    int32_t padding;
    unsigned char gid[16];
};

/* What a rank that uses sockets says in the place of a vector's length. */
#define CJI_LENGTH_SOCKETS (-0x434a)

struct cji_exchange_result {
    int stranger; /* the first rank that is no cjaccl, or -1 */
    /* Where the other end of each link is, by its index; not checked. */
    struct cji_destination theirs[CJI_MAX_LINKS];
};

/*
 * Tells every rank where this rank's queue pairs are, or, if the group has an
 * error, that they are nowhere. Fails where another rank builds something else
 * than this one. Settles group->all_cjaccl and group->digest.
 */
int cji_destinations_exchange(struct cj_group *group,
                              struct cji_exchange_result *result);

/* Whether queue pairs can be where the peers say. */
int cji_destinations_check(struct cj_group *group,
                           const struct cji_exchange_result *result);

/* The same first exchange, of a length only, by a rank that uses sockets. */
int cji_destinations_decline(struct cj_group *group);

#endif
