/*
 * front/provider.h: what stands behind the front door.
 *
 * The front door allocates every handle and knows its kind, its parents and
 * its machine; a provider makes it work. So a provider function fills an object
 * that is there already and answers 0 or an errno; it never checks handles
 * (the contract did) and never sees a planned failure. Sizes tell how much
 * memory a kind of handle needs, the verbs struct first.
 *
 * Every completion goes through vf_completion(), which applies the plan and
 * calls deliver.
 */
#ifndef VF_FRONT_PROVIDER_H
#define VF_FRONT_PROVIDER_H

#include <infiniband/verbs.h>

#include "front/registry.h"

struct vf_provider_ops {
    const char *name;
    size_t size[VF_KIND_COUNT];

    int (*open_device)(struct vf_object *context);
    int (*close_device)(struct vf_object *context);
    int (*query_device)(struct vf_object *context,
                        struct ibv_device_attr *attr);
    int (*query_port)(struct vf_object *context, unsigned port,
                      struct ibv_port_attr *attr);
    int (*query_gid)(struct vf_object *context, unsigned port, int index,
                     union ibv_gid *gid);
    int (*query_pkey)(struct vf_object *context, unsigned port, int index,
                      __be16 *pkey);

    int (*alloc_pd)(struct vf_object *pd);
    int (*dealloc_pd)(struct vf_object *pd);
    int (*reg_mr)(struct vf_object *mr, void *address, size_t length,
                  uint64_t iova, unsigned access);
    int (*dereg_mr)(struct vf_object *mr);

    int (*create_cq)(struct vf_object *cq, int cqe, int vector);
    int (*destroy_cq)(struct vf_object *cq);
    int (*poll_cq)(struct vf_object *cq, int room, struct ibv_wc *wc);
    int (*req_notify_cq)(struct vf_object *cq, int solicited_only);
    /* Takes the next completion event; 0, or EAGAIN: none. */
    int (*get_cq_event)(struct vf_object *channel, struct vf_object **cq);
    void (*deliver)(struct vf_object *cq, const struct ibv_wc *wc);

    /* Writes the granted sizes to attr->cap. */
    int (*create_qp)(struct vf_object *qp, struct ibv_qp_init_attr *attr);
    int (*modify_qp)(struct vf_object *qp, const struct ibv_qp_attr *attr,
                     int mask);
    int (*query_qp)(struct vf_object *qp, struct ibv_qp_attr *attr, int mask,
                    struct ibv_qp_init_attr *init);
    int (*destroy_qp)(struct vf_object *qp);
    /* Moves it to ERR, as an error completion does. */
    void (*fail_qp)(struct vf_object *qp);
    int (*post_send)(struct vf_object *qp, struct ibv_send_wr *wr,
                     struct ibv_send_wr **bad);
    int (*post_recv)(struct vf_object *qp, struct ibv_recv_wr *wr,
                     struct ibv_recv_wr **bad);

    int (*create_ah)(struct vf_object *ah, const struct ibv_ah_attr *attr);
    int (*destroy_ah)(struct vf_object *ah);
    int (*create_srq)(struct vf_object *srq, struct ibv_srq_init_attr *attr);
    int (*destroy_srq)(struct vf_object *srq);
    int (*post_srq_recv)(struct vf_object *srq, struct ibv_recv_wr *wr,
                         struct ibv_recv_wr **bad);

    /* The process is gone, or its context is: the kernel takes the object. */
    void (*reclaim)(struct vf_object *object);
};

extern const struct vf_provider_ops vf_mock_provider;

#endif
