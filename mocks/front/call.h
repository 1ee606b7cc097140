/*
 * front/call.h: the life of a verbs call.
 *
 * An entry fills a struct vf_call (its own arguments around it, when the two
 * steps that differ from verb to verb need them) and runs it. The steps are
 * always the same, in this order, in vf_call_run():
 *
 *   step hook   another rank may run
 *   1 count     it is the n-th call of its verb on its machine
 *   2 plan      does the plan say how it ends?
 *   3 contract  is it legal? The handle first, then the verb's own check
 *   4 provider  unless the plan has answered already
 *   5 trace     a record, and a line when somebody listens
 *
 * Plain posts and polls that nobody asks anything about are done elsewhere, to
 * the same end: front/quick.h. What both write is written by the vf_record_*
 * functions below.
 *
 * Every record has a number, and the lines of a machine come in the order of
 * their numbers: a call has both only while it keeps the world locked.
 */
#ifndef VF_FRONT_CALL_H
#define VF_FRONT_CALL_H

#include "front/provider.h"
#include "front/world_private.h"

struct vf_call {
    /* Filled by the entry. */
    enum vf_verb verb;
    enum vf_kind kind;    /* of handle; NONE: the call has no handle */
    const void *handle;   /* the first argument */
    ptrdiff_t first_read; /* what rdma-core reads of it first: the address
                             that a NULL handle faults at */
    bool reads_nothing;   /* rdma-core does not touch the handle */
    uint64_t args[3];     /* the traced arguments after the handle */
    const void *given;    /* for a recording: the verb's own struct or list */
    void *out;            /* where the answer goes; NULL: no output */
    size_t out_size;      /* bytes there */
    void (*settle)(struct vf_call *call); /* after plan or provider, before
                                             anyone else's call; may be NULL */

    /* Filled on the way. */
    struct vf_world *world;
    struct vf_machine *machine; /* NULL: no world, nothing was done */
    const struct vf_provider_ops *provider;
    struct vf_object *found;  /* what is known of the handle, alive or not */
    struct vf_object *object; /* the handle's; NULL when it is not usable */
    const struct vf_fault *fault; /* what the plan has for it; NULL: nothing */
    struct vf_record *record;     /* changes when the call waits */
    unsigned nth;
    int64_t began; /* when somebody records: now() at its beginning */
    bool answered;          /* before the provider */
    bool straight;          /* from inside of the library behind the provider:
                               no step but the provider's */
    int err;                /* 0 or an errno */
    int64_t result;         /* of a verb that answers a number */
    struct vf_object *made; /* the new handle */
    const char *name;       /* get_device_name's */
};

typedef void vf_step(struct vf_call *call);

/* reg_mr's third argument, which no trace shows: by which name it was called.
 */
enum vf_reg_entry { VF_REG_PLAIN, VF_REG_IOVA, VF_REG_IOVA2 };

/* Runs the call. contract and provider may be NULL. */
void vf_call_run(struct vf_call *call, vf_step *contract, vf_step *provider);

/* The answers, with errno where the verb sets it. */
void *vf_call_pointer(const struct vf_call *call);
int vf_call_errno(const struct vf_call *call);
int vf_call_minus(const struct vf_call *call);
int vf_call_count(const struct vf_call *call);

/* Inside the provider step: nothing to answer yet. Lets others run through
 * the empty hook; false: there is none, or the handle did not survive it. The
 * call's number is the one of its end, for other threads go on meanwhile. */
bool vf_call_wait(struct vf_call *call);
/* Likewise, where there are descriptors: waits until one byte of this one is
 * there and takes it. False: call->err says why (EAGAIN: it shall not wait). */
bool vf_call_read(struct vf_call *call, int fd);

/* Inside the provider step, around what may take long or wait for another
 * thread's call: the world is not locked between the two. The call's number is
 * the one of its end here, too. */
void vf_call_leave(struct vf_call *call, struct vf_record *kept);
void vf_call_return(struct vf_call *call, struct vf_record *kept);

/* Does this thread come from inside of the library behind the provider? NULL:
 * there is none. */
extern bool (*vf_call_inside)(void);

/* Makes an object for the answer of the call, adopted by vf_call_made once the
 * provider has agreed. NULL: call->err is set. parents ends with NULL. */
struct vf_object *vf_call_new(struct vf_call *call, enum vf_kind kind,
                              struct vf_object *parent);
void vf_call_made(struct vf_call *call, struct vf_object *object, int err);
/* The provider has let go of the call's object, unless err. */
void vf_call_released(struct vf_call *call, int err);

/* The next number of the machine and its record, all but the handle and the
 * arguments filled. It is made in place: history costs no copy. Both are the
 * call's for as long as the world is locked. */
static inline struct vf_record *vf_record_next(struct vf_machine *machine,
                                               enum vf_verb verb)
{
    struct vf_record *record =
        &machine->history[machine->remembered++ & (VF_HISTORY - 1)];

    machine->waiting = 0;
    record->number = ++machine->told;
    record->verb = verb;
    record->end = VF_RECORD_OPEN;
    record->planned = false;
    record->finding = NULL;
    record->reason = NULL;
    record->name = NULL;
    record->err = 0;
    record->result = 0;
    record->completions = 0;
    record->made_kind = VF_KIND_NONE;
    return record;
}

/* What a poll has found: count (> 0) completions. */
static inline void vf_record_completions(struct vf_record *record,
                                         const struct ibv_wc *wc, int count)
{
    record->completions = count;
    for (int i = 0; i < count && i < VF_RECORD_COMPLETIONS; i++) {
        record->completion[i].wr_id = wc[i].wr_id;
        record->completion[i].status = (uint8_t)wc[i].status;
        record->completion[i].opcode = (uint8_t)wc[i].opcode;
        record->completion[i].length = wc[i].byte_len;
    }
}

/* The newest record was none: its number is the next call's. */
static inline void vf_record_give_back(struct vf_machine *machine)
{
    machine->told--;
    machine->remembered--;
}

/* Reads memory as rdma-core would; faults where it would. */
uintptr_t vf_dereference(const void *handle, ptrdiff_t offset);

#define VF_CONTEXT_READ                                                        \
    ((ptrdiff_t)offsetof(struct verbs_context, priv) -                         \
     (ptrdiff_t)offsetof(struct verbs_context, context))

#endif
