/*
 * front/inline_verbs.h: the verbs that verbs.h calls through context->ops.
 */
#ifndef VF_FRONT_INLINE_VERBS_H
#define VF_FRONT_INLINE_VERBS_H

#include <infiniband/verbs.h>

int vf_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
int vf_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int vf_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
                 struct ibv_send_wr **bad_wr);
int vf_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
                 struct ibv_recv_wr **bad_wr);
int vf_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
                     struct ibv_recv_wr **bad_wr);

#endif
