/*
 * mock/mock.h: the mock provider's objects.
 *
 * Each starts with the verbs struct that the program sees. Work requests and
 * completions are lists of pieces from the registry's pool. Messages move when
 * something happens that lets them: a post, or a queue pair that becomes ready
 * (mock/fabric.c). Nothing here has a thread or a timer.
 */
#ifndef VF_MOCK_MOCK_H
#define VF_MOCK_MOCK_H

#include "front/provider.h"
#include "front/world_private.h"

struct mock_mr {
    struct ibv_mr mr;
    uint64_t iova;
    unsigned access;
};

struct mock_completion {
    struct mock_completion *next;
    struct ibv_wc wc;
};

struct mock_cq {
    struct ibv_cq cq;
    struct mock_completion *first, *last;
    bool armed; /* the next completion makes an event */
    bool event; /* an event that nobody has taken */
};

/* A work request, on either queue. */
struct mock_work {
    struct mock_work *next;
    uint64_t wr_id;
    uint32_t size;   /* of this piece of memory */
    uint32_t length; /* bytes of all entries */
    uint32_t slots;  /* places it takes in its queue */
    uint32_t flags;  /* enum ibv_send_flags */
    __be32 imm;
    bool has_imm;
    int entries;
    struct ibv_sge sge[]; /* an inline request's bytes follow its entry */
};

struct mock_queue {
    struct mock_work *first, *last;
    uint32_t slots;
    uint32_t depth; /* granted */
};

struct mock_srq {
    struct ibv_srq srq;
    struct mock_queue recv;
    uint32_t max_sge;
};

struct mock_qp {
    struct ibv_qp qp;
    struct vf_object *object;
    enum ibv_qp_state state;
    bool all_signaled;
    struct ibv_qp_cap cap;   /* granted */
    struct ibv_qp_attr attr; /* what modify_qp has set so far */
    struct mock_queue send, recv;
};

/* device.c */
int mock_open_device(struct vf_object *context);
int mock_close_device(struct vf_object *context);
int mock_query_device(struct vf_object *context, struct ibv_device_attr *attr);
int mock_query_port(struct vf_object *context, unsigned port,
                    struct ibv_port_attr *attr);
int mock_query_gid(struct vf_object *context, unsigned port, int index,
                   union ibv_gid *gid);
int mock_query_pkey(struct vf_object *context, unsigned port, int index,
                    __be16 *pkey);
bool mock_port_up(const struct vf_device *device);

/* pd.c */
int mock_alloc_pd(struct vf_object *pd);
int mock_dealloc_pd(struct vf_object *pd);
int mock_create_ah(struct vf_object *ah, const struct ibv_ah_attr *attr);
int mock_destroy_ah(struct vf_object *ah);

/* mr.c */
int mock_reg_mr(struct vf_object *mr, void *address, size_t length,
                uint64_t iova, unsigned access);
int mock_dereg_mr(struct vf_object *mr);

/* cq.c */
int mock_create_cq(struct vf_object *cq, int cqe, int vector);
int mock_destroy_cq(struct vf_object *cq);
int mock_poll_cq(struct vf_object *cq, int room, struct ibv_wc *wc);
int mock_req_notify_cq(struct vf_object *cq, int solicited_only);
int mock_get_cq_event(struct vf_object *channel, struct vf_object **cq);
void mock_deliver(struct vf_object *cq, const struct ibv_wc *wc);

/* qp.c */
int mock_create_qp(struct vf_object *qp, struct ibv_qp_init_attr *attr);
int mock_modify_qp(struct vf_object *qp, const struct ibv_qp_attr *attr,
                   int mask);
int mock_query_qp(struct vf_object *qp, struct ibv_qp_attr *attr, int mask,
                  struct ibv_qp_init_attr *init);
int mock_destroy_qp(struct vf_object *qp);
void mock_fail_qp(struct vf_object *qp);
void mock_empty_queue(struct vf_object *owner, struct mock_queue *queue);
uint32_t mock_grant(const struct vf_profile *profile, uint32_t asked);

/* post.c */
int mock_post_send(struct vf_object *qp, struct ibv_send_wr *wr,
                   struct ibv_send_wr **bad);
int mock_post_recv(struct vf_object *qp, struct ibv_recv_wr *wr,
                   struct ibv_recv_wr **bad);
int mock_post_srq_recv(struct vf_object *srq, struct ibv_recv_wr *wr,
                       struct ibv_recv_wr **bad);
int mock_create_srq(struct vf_object *srq, struct ibv_srq_init_attr *attr);
int mock_destroy_srq(struct vf_object *srq);
struct mock_work *mock_take(struct mock_queue *queue);
/* Completes a request that was taken from its queue, and frees it. */
void mock_complete(struct mock_qp *qp, struct mock_work *work, bool recv,
                   enum ibv_wc_status status, const struct mock_work *sent);

/* fabric.c */
/* The GID at this index of the device's table; false: the entry is empty. */
bool fabric_gid(const struct vf_device *device, int index, union ibv_gid *gid);
/* The device that has this GID and can be reached from here, or NULL. */
struct vf_device *fabric_route(const struct vf_device *from,
                               const union ibv_gid *gid);
/* Moves what can be moved of the queue pair's sends. */
void fabric_pump(struct mock_qp *sender);
/* The queue pair can receive (more): moves what its peer has for it. */
void fabric_ready(struct mock_qp *receiver);

#endif
