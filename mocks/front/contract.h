/*
 * front/contract.h: is a call legal?
 *
 * The contract is the verbs manual's and the InfiniBand specification's, not a
 * device's: what only a device can judge (a limit, an address nobody has) is
 * no finding. It knows the world from what passed the front door: every object
 * has a shadow in the registry (queue pair state, work requests posted), so it
 * holds for any provider.
 *
 * A fatal finding is one after which rdma-core touches memory that it must
 * not. When its hook returns, the call goes on and faults there. All others
 * are reported and the provider decides what comes of them.
 */
#ifndef VF_FRONT_CONTRACT_H
#define VF_FRONT_CONTRACT_H

#include "front/call.h"

/* Reports "<what> in <verb>"; detail is printf's. what must be static. Of a
 * stranger only what is fatal. */
void vf_contract_finding(struct vf_call *call, bool fatal, const char *what,
                         const char *detail, ...)
    __attribute__((format(printf, 4, 5)));

/* Which live objects of a machine to name. */
struct vf_naming {
    const struct vf_machine *machine;
    bool (*is)(const struct vf_naming *naming, const struct vf_object *object);
    const struct vf_object *parent; /* for `is` */
    enum vf_kind kind;
    bool planned;
};

/* naming.c: text becomes "mr 1, mr 4, qp 2 and 3 more", in the order of kinds
 * and numbers. How many there are. */
unsigned vf_name_objects(const struct vf_naming *naming, char *text,
                         size_t room);

/*
 * The object of a handle that the call depends on: of the right kind, alive,
 * its context too, which is that of the call's first handle (wrong-context:
 * answers the call with EINVAL and returns NULL). Else reports it as fatal,
 * reads the handle as rdma-core would, answers the call with EINVAL if that did
 * not fault, and returns NULL.
 */
struct vf_object *vf_contract_handle(struct vf_call *call, const void *handle,
                                     enum vf_kind kind, ptrdiff_t first_read);

/* Are they of one domain, as far as is known? One that was made elsewhere may
 * share another's (a parent domain does). */
static inline bool vf_same_domain(const struct vf_object *a,
                                  const struct vf_object *b)
{
    return a->parent[0] == b->parent[0] || a->stranger || b->stranger ||
           a->parent[0]->stranger || b->parent[0]->stranger;
}

/* children-alive: what the call releases still has children. */
void vf_contract_childless(struct vf_call *call);
/* memory-freed: the memory is not (all of it) allocated. */
void vf_contract_memory(struct vf_call *call, uintptr_t address,
                        uint64_t length);
/* bad-transition, bad-mask. */
void vf_contract_modify(struct vf_call *call, const struct ibv_qp_attr *attr,
                        int mask);
/* What is behind the pointer is needed; what ("null-attr") is fatal. It then
 * faults as rdma-core does, or answers the call. */
void vf_contract_not_null(struct vf_call *call, const void *pointer,
                          const char *what);

/* unacked-events: rdma-core would wait for ever for the acknowledgement of
 * events that were handed out for what the call releases. Over a real library
 * it is found only in a process without other threads, which might still
 * acknowledge. */
void vf_contract_acked(struct vf_call *call);

/* A work request, as all queues see it. */
struct vf_request {
    uint64_t wr_id;
    const struct ibv_sge *list;
    int count;
    bool inlined;                   /* its entries need no key */
    bool signaled;                  /* it makes a completion */
    uint32_t access;                /* that its entries' regions must allow */
    const struct ibv_send_wr *send; /* NULL: no send, or from bind_mw */
    enum vf_window_change change;   /* of window, when it is done */
    struct vf_object *window;
    struct vf_object *region; /* that the window is bound to; NULL: none */
};

/* The context that an object belongs to, or itself. */
static inline const struct vf_object *
vf_contract_root(const struct vf_object *object)
{
    while (object->kind > VF_KIND_CONTEXT && object->parent[0])
        object = object->parent[0];
    return object;
}

/* Is it of that kind and alive, and all that it belongs to? */
static inline bool vf_contract_usable(const struct vf_object *object,
                                      enum vf_kind kind)
{
    return object->kind == kind && object->live && !object->orphan &&
           vf_contract_root(object)->live;
}

/* A request of one entry (NULL: none), without anything unusual. */
struct vf_plain {
    uint64_t wr_id;
    const struct ibv_sge *entry;
    bool inlined, signaled; /* a receive is signaled */
};

static inline uint32_t vf_plain_length(const struct vf_plain *plain)
{
    return plain->entry ? plain->entry->length : 0;
}

/* Whether the queue of the call may be posted to now. */
void vf_contract_post(struct vf_call *call);
/* The keys and the memory of the next request; and remembers it posted. */
void vf_contract_request(struct vf_call *call, struct vf_request *request);
/* bad-opcode and what comes with the opcode: inline data, the address handle,
 * the window. bytes is the length of all count entries. */
void vf_contract_send(struct vf_call *call, struct vf_request *request,
                      unsigned count, uint64_t bytes);
/* May the window, which must be of this type, be bound so? Fills the request's
 * last part. */
void vf_contract_bind(struct vf_call *call, struct vf_request *request,
                      const struct ibv_mw *mw, enum ibv_mw_type type,
                      const struct ibv_mw_bind_info *info);
/* Does a window have this rkey? Fills the request's last part. */
void vf_contract_invalidate(struct vf_call *call, struct vf_request *request,
                            uint32_t rkey);
/* queue-overflow, when all requests of the call have been seen. */
void vf_contract_depth(struct vf_call *call);
/* Places that the queue of the call was granted, and how many are taken. */
const struct vf_posted_queue *vf_contract_queue(const struct vf_call *call);
/* The provider did not take the newest count requests. */
void vf_contract_untake(struct vf_call *call, unsigned count);
/* Of one request that is all its call posts. True: nothing is wrong with it and
 * with posting it now, and it is remembered. False: something may be, and
 * nothing was done. */
bool vf_contract_plain_send(struct vf_object *qp, const struct vf_plain *plain);
bool vf_contract_plain_recv(struct vf_object *qp, const struct vf_plain *plain);
/* The provider did not take it. */
void vf_contract_take_back(struct vf_object *qp, struct vf_posted_queue *queue);
/* The provider completed a request on the queue pair. Returns how many places
 * of its queue that makes free. */
uint32_t vf_contract_completed(struct vf_object *qp, const struct ibv_wc *wc,
                               bool recv);
/* The device tells of that completion a second time. What a program does that
 * believes it, posting once more for so many places, is not its mistake: a real
 * device refuses it, and so does the provider, without a finding. */
void vf_contract_told_again(struct vf_object *qp, bool recv, uint32_t places);
/* The requests of a queue pair or shared receive queue are gone without
 * completions; nothing for other objects. */
void vf_contract_forget(struct vf_object *object);
/* cq-overflow, and what was polled. */
void vf_contract_poll(struct vf_call *call);

/* What is known of windows: see front/mw.c. */
void vf_window_bind(struct vf_object *window, struct vf_object *region,
                    struct vf_object *qp);
void vf_window_unbind(struct vf_object *window);
/* window-bound: the region still has windows. */
void vf_contract_windowless(struct vf_call *call);
/* The region is gone: its windows are bound to nothing. */
void vf_windows_lose(struct vf_object *region);

#endif
