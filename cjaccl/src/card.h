/*
 * Cards: what ranks of cjaccl tell each other, in groups without others.
 *
 * They are exchanged when the ranks know that all of them are cjaccl, and again
 * at the end of start-up. Each rank then knows the same and draws the same
 * conclusions: what a message looks like, which ranks failed and why, whether
 * all of them allow the sockets to take over.
 */
#ifndef CJACCL_CARD_H
#define CJACCL_CARD_H

#include "group.h"

struct cji_card {
    char text[16]; /* "cjaccl card" and a version */
    int32_t rank;
    int32_t size;
    int32_t ring;
    int32_t wires;
    int32_t sockets;     /* the backend */
    int32_t thunderbolt; /* every device is */
    int32_t frames;      /* some device is */
    int32_t depth;       /* of the shallowest queue */
    int32_t fallback;    /* allows the sockets to take over */
    int32_t digest;      /* of what was told before */
    int32_t status;      /* CJ_OK, or why RDMA could not be started, and ... */
    char message[248];   /* ... in words */
};

struct cji_cards {
    struct cji_card of[CJ_MAX_RANKS];
};

/*
 * Exchanges them. `config` says what this rank was told, the group's error
 * whether it failed. Fails where the ranks disagree, on all of them. The group
 * is in the step of the start barrier then.
 */
int cji_cards_exchange(struct cj_group *group, const struct cj_config *config,
                       struct cji_cards *cards);

/* The first rank that could not start RDMA, or -1. */
int cji_cards_failed(const struct cj_group *group,
                     const struct cji_cards *cards);

/* The first rank that does not allow the sockets to take over, or -1. */
int cji_cards_refuser(const struct cj_group *group,
                      const struct cji_cards *cards);

/* Settles group->wire, group->least_depth and group->whole. */
void cji_cards_settle(struct cj_group *group, const struct cji_cards *cards);

#endif
