/*
 * front/extended.h: the verbs that verbs.h calls through struct verbs_context.
 *
 * Each does its work through the plain verb of the same object, so that plan,
 * contract and trace know one verb: create_cq_ex is a create_cq, start_poll and
 * next_poll are polls of one completion, wr_complete is a post_send. What
 * create_cq_ex and create_qp_ex are asked for and no device of the mock has is
 * refused with EOPNOTSUPP, what nobody knows with EINVAL.
 */
#ifndef VF_FRONT_EXTENDED_H
#define VF_FRONT_EXTENDED_H

#include "front/call.h"
#include "front/handles.h"
#include "front/infiniband.h"

/* query.c, query_extended.c */
/* The provider's answer, with the numbers that the front door gives out. */
int vf_device_attributes(const struct vf_call *call,
                         struct ibv_device_attr *attr);
int vf_query_port(struct ibv_context *context, uint8_t port,
                  struct ibv_port_attr *attr, size_t attr_size);
int vf_query_device_ex(struct ibv_context *context,
                       const struct ibv_query_device_ex_input *input,
                       struct ibv_device_attr_ex *attr, size_t attr_size);

/* cq_extended.c */
struct ibv_cq_ex *vf_create_cq_ex(struct ibv_context *context,
                                  struct ibv_cq_init_attr_ex *attr);

/* qp.c: the handle, and what the contract knows of it once it is granted. */
void vf_qp_fill(struct vf_object *qp, const struct ibv_qp_init_attr *attr);
void vf_qp_shadow(struct vf_object *qp, const struct ibv_qp_init_attr *attr);

/* qp_extended.c */
struct ibv_qp *vf_create_qp_ex(struct ibv_context *context,
                               struct ibv_qp_init_attr_ex *attr);

/* chain.c: gives the handle a chain and the builders of the operations asked
 * for (enum ibv_qp_create_send_ops_flags). 0 or ENOMEM. */
int vf_chain_start(struct vf_world *world, struct vf_qp_handle *handle,
                   uint64_t operations, const struct ibv_qp_cap *granted);
/* The requests since wr_start, which are taken out; NULL: none. *err: the first
 * mistake, or 0. */
struct ibv_send_wr *vf_chain_take(struct ibv_qp_ex *qp, int *err);
/* The handle goes; nothing for one without a chain. The world is locked. */
void vf_chain_stop(struct vf_qp_handle *handle);

/* Runs the call to be refused with err: counted, planned and traced. NULL. */
void *vf_refuse(struct vf_call *call, int err);

#endif
