/*
 * front/inline_verbs.h: the verbs that verbs.h calls through context->ops.
 */
#ifndef VF_FRONT_INLINE_VERBS_H
#define VF_FRONT_INLINE_VERBS_H

#include "front/infiniband.h"

int vf_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
int vf_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int vf_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
                 struct ibv_send_wr **bad_wr);
int vf_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
                 struct ibv_recv_wr **bad_wr);
int vf_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
                     struct ibv_recv_wr **bad_wr);
struct ibv_mw *vf_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int vf_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
               struct ibv_mw_bind *mw_bind);
int vf_dealloc_mw(struct ibv_mw *mw);

#endif
