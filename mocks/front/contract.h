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

/* Reports "<what> in <verb>"; detail is printf's. what must be static. */
void vf_contract_finding(struct vf_call *call, bool fatal, const char *what,
                         const char *detail, ...)
    __attribute__((format(printf, 4, 5)));

/*
 * The object of a handle that the call depends on: of the right kind, alive,
 * its context too. Else reports it as fatal, reads the handle as rdma-core
 * would, answers the call with EINVAL if that did not fault, and returns NULL.
 */
struct vf_object *vf_contract_handle(struct vf_call *call, const void *handle,
                                     enum vf_kind kind, ptrdiff_t first_read);

/* children-alive: what the call releases still has children. */
void vf_contract_childless(struct vf_call *call);
/* memory-freed: the memory is not (all of it) allocated. */
void vf_contract_memory(struct vf_call *call, uintptr_t address,
                        uint64_t length);
/* bad-transition, bad-mask. */
void vf_contract_modify(struct vf_call *call, const struct ibv_qp_attr *attr,
                        int mask);
/* The state, the keys, the memory and the depth; and remembers them posted. */
void vf_contract_post_send(struct vf_call *call, struct ibv_send_wr *wr);
void vf_contract_post_recv(struct vf_call *call, struct ibv_recv_wr *wr);
/* The provider took only the first taken of count requests. */
void vf_contract_untake(struct vf_object *qp, bool recv, unsigned count,
                        unsigned taken);
/* The provider completed a request on the queue pair. */
void vf_contract_completed(struct vf_object *qp, const struct ibv_wc *wc,
                           bool recv);
/* The queue pair's requests are gone without completions. */
void vf_contract_forget(struct vf_object *qp);
/* cq-overflow, and what was polled. */
void vf_contract_poll(struct vf_call *call);

#endif
