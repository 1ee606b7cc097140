/*
 * The fallback: RDMA could not be started on some rank, all ranks are cjaccl,
 * all of them allow the sockets to take over, and all of them know both.
 */
#ifndef CJACCL_FALLBACK_H
#define CJACCL_FALLBACK_H

#include "card.h"

/*
 * Whether the ranks go on over sockets, after `failed` could not start RDMA. If
 * not, fails: the rank with its own error, the others with one that names it.
 */
int cji_fallback_decide(struct cj_group *group, const struct cji_cards *cards,
                        int failed);

/* Takes down what was built of RDMA, warns, and starts the socket ring. */
int cji_fallback_start(struct cj_group *group, const struct cj_config *config,
                       const struct cji_cards *cards, int failed);

#endif
