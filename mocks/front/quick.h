/*
 * front/quick.h: the straight way of the verbs in a program's innermost loop.
 *
 * A post of one plain request and a poll are most of what a program calls, and
 * hardly ever is there anything to say about them. In a world of threads that
 * is not traced, where no plan waits for the verb and the contract finds
 * nothing wrong, they are done here: without a struct vf_call, and without
 * asking at each step.
 *
 * Whatever is not as usual is left alone: then the answer is false, nothing has
 * been done or counted, and the call takes the steps of all others. So nothing
 * here makes a finding, performs a fault or prints a line, and a simulated rank
 * never comes here.
 *
 * What is done comes to the same as in vf_call_run(): the same numbers, the
 * same record in the history, the same shadow of what is posted, the same
 * hooks. Two things keep it so. What both ways write, they write with the same
 * functions (vf_record_next() and its like, vf_contract_usable(), append() and
 * forget() of posted.c). And tests/quick.c runs random programs both ways and
 * compares all that can be seen of them: who changes a step there and forgets
 * it here finds that test red.
 */
#ifndef VF_FRONT_QUICK_H
#define VF_FRONT_QUICK_H

#include <stdbool.h>

#include "front/infiniband.h"

/* For the other way: kept out of this one's function, which its large frame
 * would slow down. */
#define VF_ASIDE __attribute__((noinline))

/* True: *answer is what the verb returns; errno and *bad_wr are set as it sets
 * them. Arguments are the verb's own, unchecked. */
bool vf_quick_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
                        struct ibv_send_wr **bad_wr, int *answer);
bool vf_quick_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
                        struct ibv_recv_wr **bad_wr, int *answer);
bool vf_quick_poll_cq(struct ibv_cq *cq, int room, struct ibv_wc *wc,
                      int *answer);

#endif
