/*
 * front/provider.h: what stands behind the front door.
 *
 * The front door allocates every handle and knows its kind, its parents and
 * its machine; a provider makes it work. So a provider function fills an object
 * that is there already and answers 0 or an errno; it never checks handles
 * (the contract did) and never sees a planned failure. Sizes tell how much
 * memory a kind of handle needs, the verbs struct first.
 *
 * A provider over another library brings handles of that one's. The object's
 * memory is then its own, and begins with a verbs struct that the entry fills
 * as it fills every handle: what the program asked for. The provider puts the
 * library's handle in its place. Such a library also makes handles and keys
 * that the front door never saw; `meet` says what to think of them.
 *
 * Every completion goes through vf_completion(), which applies the plan and
 * calls deliver.
 */
#ifndef VF_FRONT_PROVIDER_H
#define VF_FRONT_PROVIDER_H

#include "front/infiniband.h"
#include "front/registry.h"
#include "front/world_private.h"

struct vf_provider_ops {
    const char *name;
    size_t size[VF_KIND_COUNT];

    /* NULL: every handle is one that the front door gave out. Else: the object
     * of a handle that is wanted as this kind, where found is what the registry
     * knows of it (NULL: nothing). Keys that are not known are no mistakes. */
    struct vf_object *(*meet)(struct vf_machine *machine,
                              struct vf_object *found, const void *handle,
                              enum vf_kind kind);

    /* What belongs to a world: view, and each device's state. */
    int (*start)(struct vf_world *world);
    void (*stop)(struct vf_world *world);
    void (*reset)(struct vf_world *world);
    void (*add_device)(struct vf_device *device);
    void (*unplug)(struct vf_device *device);
    void (*port)(struct vf_device *device, bool up);

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
    /* flags: enum ibv_rereg_mr_flags; pd is NULL without its flag. On success
     * it writes the keys, the front door the rest of the handle. */
    int (*rereg_mr)(struct vf_object *mr, int flags, struct vf_object *pd,
                    void *address, size_t length, unsigned access);
    /* The handle of the live or resting region whose lkey this is on the device
     * of the object that names it. */
    struct vf_object *(*region)(const struct vf_object *asking, uint32_t key);
    int (*alloc_mw)(struct vf_object *mw, enum ibv_mw_type type);
    int (*dealloc_mw)(struct vf_object *mw);
    /* Type 1: the request goes to the send queue of qp as IBV_WR_BIND_MW, and
     * the new rkey to the window. */
    int (*bind_mw)(struct vf_object *qp, struct vf_object *mw,
                   struct ibv_mw_bind *bind);
    /* The handle of the window whose rkey this is now, likewise; NULL: none
     * has it. */
    struct vf_object *(*window)(const struct vf_object *asking, uint32_t rkey);

    int (*create_cq)(struct vf_object *cq, int cqe, int vector);
    int (*destroy_cq)(struct vf_object *cq);
    /* Writes the granted size to the handle's cqe; EINVAL below what it
     * holds. */
    int (*resize_cq)(struct vf_object *cq, int cqe);
    int (*poll_cq)(struct vf_object *cq, int room, struct ibv_wc *wc);
    /* True: a poll would find nothing, and has nothing else to see to. */
    bool (*is_empty_cq)(const struct vf_object *cq);
    int (*req_notify_cq)(struct vf_object *cq, int solicited_only);
    /* Takes the next completion event; 0, or EAGAIN: none. */
    int (*get_cq_event)(struct vf_object *channel, struct vf_object **cq);
    void (*deliver)(struct vf_object *cq, const struct ibv_wc *wc);
    /* One more completion on this machine, in whatever process: which. */
    uint32_t (*count_completion)(struct vf_machine *machine);
    /* Ends what is over at this time; when the next thing is, or -1. */
    int64_t (*advance)(struct vf_world *world, int64_t now);
    /* Something is due later, by time alone: whoever sleeps until then has to
     * look at the clock again. NULL: nobody does. */
    void (*becomes_due)(struct vf_world *world);

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
    int (*modify_srq)(struct vf_object *srq, const struct ibv_srq_attr *attr,
                      int mask);
    int (*query_srq)(struct vf_object *srq, struct ibv_srq_attr *attr);
    int (*post_srq_recv)(struct vf_object *srq, struct ibv_recv_wr *wr,
                         struct ibv_recv_wr **bad);
    int (*attach_mcast)(struct vf_object *qp, const union ibv_gid *gid,
                        uint16_t lid);
    int (*detach_mcast)(struct vf_object *qp, const union ibv_gid *gid,
                        uint16_t lid);

    /* The process is gone, or its context is: the kernel takes the object. */
    void (*reclaim)(struct vf_object *object);
};

extern const struct vf_provider_ops vf_mock_provider;

/* From a provider: the channel has an event more; the object or the device's
 * port has something to tell its program. */
void vf_channel_signal(struct vf_object *channel);
/* ... one less: the queue that it is of goes, and nobody has taken it. */
void vf_channel_forget(struct vf_object *channel);
void vf_async_object(struct vf_object *object, enum ibv_event_type type);
void vf_async_port(struct vf_device *device, enum ibv_event_type type);
/* The object goes: what it had to tell, and was not taken, goes with it. */
void vf_async_forget(struct vf_object *object);

#endif
