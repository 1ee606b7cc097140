/*
 * device/device.h: the front door over real devices.
 *
 * libverbfault-device.so is the same front door (count, plan, contract, trace:
 * front/call.h) with another provider behind it: the libibverbs that the
 * machine has, and whatever devices that one has. It is preloaded; the real
 * library stays where it is, under its own name, because its drivers ask for
 * private functions of it. What a program calls comes here first (exports.map;
 * loader.h for programs that open the library themselves) and goes on through
 * the table of device/real.h.
 *
 * **Handles are the real ones.** A program gets what libibverbs gave, byte for
 * byte, so that inline verbs, direct verbs and other libraries work on it. The
 * registry knows a handle by its address (front/registry.h, "foreign"). A
 * handle that was released is remembered for a while: passed on once more, it
 * is the finding that it is on the mock, before the real library sees it; that
 * one is not called then, whatever --keep-going says, for what it would make of
 * a freed handle is chance. A finding is never false:
 *
 *  - an address that is handed out again is its new owner's;
 *  - a handle that the front door never saw (a parent domain, one that mlx5dv
 *    or a parent process made) becomes known where it is first used, as a
 *    stranger: its calls are counted, planned and traced, and nothing is asked
 *    of it but that it lives. So are queue pairs of services, transports and
 *    completion queues that the contract has no rules for;
 *  - a handle that was released here, whose memory is a live object again, was
 *    made by somebody else since: a stranger (meet.c);
 *  - a key that nobody registered here may be a device memory's or an indirect
 *    one: not checked.
 *
 * **Inline verbs.** verbs.h calls a post or a poll through the context that
 * the library made. After open_device the operations in it that the front door
 * knows are replaced by the front door's, and the library's own kept beside
 * (struct device_context). Those of verbs_context likewise, where the library
 * has them. Extended completion queues and queue pairs carry functions of their
 * own: start_poll, next_poll, end_poll and wr_start, wr_complete, wr_abort with
 * the builders between are wrapped (poll_extended.c, post_extended.c). What is
 * not wrapped reaches the device as it was.
 *
 * **Inside.** Drivers call public verbs, too. While a thread is in a real call,
 * what it calls goes straight through (vf_call_inside).
 *
 * **Locks.** Posts and polls are made under the world's lock, like all the
 * bookkeeping; everything else leaves the world while the real library works,
 * because it may wait for another thread: for an event, for an acknowledgement.
 *
 * **Faults.** The plan answers in the device's place, and the device is not
 * asked: nothing was made, nothing posted, and what was to be released is still
 * there. `unwritten` and `garbled` do the deed and keep its answer. Faults of
 * `completion` are applied where completions are polled: as many are taken from
 * the device as the program asks for, each is counted, and what is left of it
 * goes into a queue of our own, from where the program is served in order. A
 * status that is no success moves the queue pair to ERR, as a device would; the
 * data has moved, which no plan can undo. A `delay` ends at a poll; a program
 * that sleeps in get_cq_event meanwhile is woken for it, one that sleeps in
 * poll() on the channel's descriptor is not.
 *
 * `unplug`, and a port that goes down, cannot be done to a device. From then on
 * the front door answers for it (unplug.c): the port is down, posts are taken
 * and not passed on, completions that the device still makes are lost, reliable
 * queue pairs fail. There is no asynchronous event. The peer sees what it would
 * see of a silent one.
 *
 * What a scenario says of profiles, devices, limits and cables means nothing
 * here: devices are what they are.
 *
 * **Fork.** A child keeps its parent's world, as with the mock's standalone
 * library; under `verbfault run` it enters anew at its first verb, and its
 * parent's handles are strangers to it. What was replaced in contexts is
 * remembered outside of the world, so both find it.
 *
 * **Cost.** bench/passthrough.c measures a post and a poll through the passage
 * against the same on the library beneath. The short way of the two is quick.h.
 */
#ifndef VF_DEVICE_DEVICE_H
#define VF_DEVICE_DEVICE_H

#include "device/real.h"
#include "front/contract.h"
#include "front/extended.h"
#include "front/handles.h"
#include "front/inline_verbs.h"

extern const struct vf_provider_ops vf_device_provider;

/* ---- devices: list.c ------------------------------------------------------
 */

/* A device of the machine's, as long as the process lives. */
struct device_part {
    struct vf_device device; /* first: objects point at it */
    struct vf_device_state state;
    struct device_part *next;
    uint32_t number; /* from 1; the upper half of map keys */
    bool judged;     /* InfiniBand or RoCE: the contract's rules are its */
};

/* The part of an ibv_device; NULL: memory is out. */
struct device_part *device_part_of(struct vf_machine *machine,
                                   struct ibv_device *handle);
static inline struct device_part *device_part(const struct vf_object *object)
{
    return (struct device_part *)object->device;
}

/* ---- what was replaced: context.c, poll_extended.c, post_extended.c -------
 */

/* The library's own functions of a context. */
struct device_context {
    struct ibv_context *handle;
    struct ibv_context_ops ops;
    struct verbs_context extended; /* only its functions */
};

/* Completions that the program has still to get, oldest first. */
struct device_held {
    struct ibv_wc *ring;
    uint32_t places; /* a power of two, or 0 */
    uint32_t first, count;
};

/* Of a completion queue; in the object's `own`. */
struct device_cq {
    struct device_context *context;
    struct device_held held;
    bool blind;            /* its completions do not tell their queue pair */
    struct ibv_cq_ex *ex;  /* NULL: it has no functions of its own */
    struct ibv_cq_ex real; /* ... else the library's; only its functions */
    struct ibv_wc wc;      /* the one that start_poll or next_poll stands at */
    uint64_t fields;       /* enum ibv_create_cq_wc_flags: what can be read */
    bool watched;          /* a plan may change what is read */
    bool standing;         /* the library is between start_poll and end_poll */
    unsigned unreal;       /* events told that the library knows nothing of */
};

/* Of a queue pair; in the object's `own`. */
struct device_qp {
    struct device_context *context;
    struct ibv_qp_ex *ex;      /* NULL: it has no builders */
    struct ibv_qp_ex real;     /* ... else the library's; only its functions */
    struct vf_qp_handle chain; /* what the program has built so far */
    bool opaque; /* ... and something that a chain has no word for */
};

/* Of each context, for as long as it is open; NULL: none of ours. */
struct device_context *device_context_of(const struct ibv_context *handle);
/* Those of handles whose world a fork has left behind; NULL: none. */
struct device_cq *device_cq_of(const struct ibv_cq *handle);
struct device_qp *device_qp_of(const struct ibv_qp *handle);
/* Remembers, or forgets (what NULL). 0 or ENOMEM. */
enum device_shelf { DEVICE_CONTEXTS, DEVICE_CQS, DEVICE_QPS, DEVICE_SHELVES };
int device_keep(enum device_shelf shelf, const void *handle, void *what);
void *device_kept(enum device_shelf shelf, const void *handle);

/* ---- names of things that only numbers tell: numbers.c --------------------
 */

/* The queue pair of a completion; NULL: not known. */
struct vf_object *device_numbered(const struct vf_object *cq, uint32_t number);
void device_number(struct vf_object *qp, uint32_t number);
void device_unnumber(const struct vf_object *qp, uint32_t number);
/* The region of a key on the device of asking, alive or not. */
struct vf_object *device_region(const struct vf_object *asking, uint32_t key);
void device_key(struct vf_object *mr);
/* The region goes; its key is remembered for a while. */
void device_key_freed(const struct vf_object *mr);
/* The key is somebody's that the front door does not see. */
void device_key_lost(const struct ibv_pd *pd, uint32_t key);
struct vf_object *device_window(const struct vf_object *asking, uint32_t rkey);
/* A world begins. */
void device_numbers_reset(void);

/* ---- meet.c ----------------------------------------------------------------
 */

struct vf_object *device_meet(struct vf_machine *machine,
                              struct vf_object *found, const void *handle,
                              enum vf_kind kind);

/* ---- the provider's functions, by file ------------------------------------
 */

/* memory.c */
int device_alloc_pd(struct vf_object *pd);
int device_dealloc_pd(struct vf_object *pd);
int device_reg_mr(struct vf_object *mr, void *address, size_t length,
                  uint64_t iova, unsigned access);
int device_dereg_mr(struct vf_object *mr);
int device_rereg_mr(struct vf_object *mr, int flags, struct vf_object *pd,
                    void *address, size_t length, unsigned access);
int device_alloc_mw(struct vf_object *mw, enum ibv_mw_type type);
int device_dealloc_mw(struct vf_object *mw);
int device_bind_mw(struct vf_object *qp, struct vf_object *mw,
                   struct ibv_mw_bind *bind);

/* context.c: the operations in the context become ours; 0 or ENOMEM */
int device_take_over(struct ibv_context *context);
/* context.c: the plain queries; opening is an entry of its own */
int device_query_device(struct vf_object *context,
                        struct ibv_device_attr *attr);
int device_query_port(struct vf_object *context, unsigned port,
                      struct ibv_port_attr *attr);
int device_query_gid(struct vf_object *context, unsigned port, int index,
                     union ibv_gid *gid);
int device_query_pkey(struct vf_object *context, unsigned port, int index,
                      __be16 *pkey);

/* completion.c */
int device_create_cq(struct vf_object *cq, int cqe, int vector);
int device_destroy_cq(struct vf_object *cq);
int device_resize_cq(struct vf_object *cq, int cqe);
int device_poll_cq(struct vf_object *cq, int room, struct ibv_wc *wc);
int device_req_notify_cq(struct vf_object *cq, int solicited_only);
void device_deliver(struct vf_object *cq, const struct ibv_wc *wc);
uint32_t device_count_completion(struct vf_machine *machine);
/* The queue has a handle of the library's now; 0 or ENOMEM. */
int device_cq_own(struct vf_object *cq);
/* A completion that the library gave: counted, and told to the contract; with
 * a fault it goes past it into the queue of our own. */
void device_take(struct vf_object *cq, const struct ibv_wc *wc);
/* One that the library gave and the program gets as it is: told likewise. */
void device_note(struct vf_object *cq, const struct ibv_wc *wc);
/* Is anything to be done with completions but to hand them on? */
bool device_holds(struct vf_object *cq);
/* The next held one; false: there is none. */
bool device_next_held(struct device_cq *own, struct ibv_wc *wc);

/* pair.c */
int device_create_qp(struct vf_object *qp, struct ibv_qp_init_attr *attr);
int device_modify_qp(struct vf_object *qp, const struct ibv_qp_attr *attr,
                     int mask);
int device_query_qp(struct vf_object *qp, struct ibv_qp_attr *attr, int mask,
                    struct ibv_qp_init_attr *init);
int device_destroy_qp(struct vf_object *qp);
void device_fail_qp(struct vf_object *qp);
int device_post_send(struct vf_object *qp, struct ibv_send_wr *wr,
                     struct ibv_send_wr **bad);
int device_post_recv(struct vf_object *qp, struct ibv_recv_wr *wr,
                     struct ibv_recv_wr **bad);
int device_attach(struct vf_object *qp, const union ibv_gid *gid, uint16_t lid);
int device_detach(struct vf_object *qp, const union ibv_gid *gid, uint16_t lid);
int device_create_ah(struct vf_object *ah, const struct ibv_ah_attr *attr);
int device_destroy_ah(struct vf_object *ah);
int device_create_srq(struct vf_object *srq, struct ibv_srq_init_attr *attr);
int device_destroy_srq(struct vf_object *srq);
int device_modify_srq(struct vf_object *srq, const struct ibv_srq_attr *attr,
                      int mask);
int device_query_srq(struct vf_object *srq, struct ibv_srq_attr *attr);
int device_post_srq_recv(struct vf_object *srq, struct ibv_recv_wr *wr,
                         struct ibv_recv_wr **bad);
/* The queue pair has a handle of the library's now; 0 or ENOMEM. */
int device_qp_own(struct vf_object *qp);

int device_qp_made(struct vf_object *qp, struct ibv_qp *made,
                   enum ibv_qp_type type);

/* unplug.c */
void device_unplug(struct vf_device *device);
/* A post on a device whose cable is gone. */
void device_post_unplugged(struct vf_object *qp);

/* poll_extended.c: is the poll of this thread a start_poll or next_poll? Then
 * its work. */
bool device_is_stepping(const struct vf_object *cq);
int device_step(struct vf_object *cq, struct ibv_wc *wc);
/* post_extended.c: is the post of this thread a wr_complete? Then its work. */
bool device_is_completing(const struct vf_object *qp);
int device_complete(struct vf_object *qp);
/* A queue pair goes: threads look theirs up again. */
void device_forget_builders(void);

/* poll_extended.c, post_extended.c: in verbs_context's place */
struct ibv_cq_ex *device_create_cq_ex(struct ibv_context *context,
                                      struct ibv_cq_init_attr_ex *attr);
struct ibv_qp *device_create_qp_ex(struct ibv_context *context,
                                   struct ibv_qp_init_attr_ex *attr);
struct ibv_srq *device_create_srq_ex(struct ibv_context *context,
                                     struct ibv_srq_init_attr_ex *attr);

#endif
