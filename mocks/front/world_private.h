/*
 * front/world_private.h: what a world is made of. verbfault/world.h explains
 * it; this is for the front door and the providers.
 */
#ifndef VF_FRONT_WORLD_PRIVATE_H
#define VF_FRONT_WORLD_PRIVATE_H

#include <stdatomic.h>

#include "front/latch.h"
#include "front/registry.h"
#include "front/trace.h"
#include "verbfault/world.h"

#define VF_PLAN_MAX 256
#define VF_HISTORY 32 /* a power of two */
/* Bytes: no memory is so large. */
#define VF_ABSURD_LENGTH (UINT64_C(1) << 47)

struct vf_call;
struct vf_provider_ops;

/* A world whose devices are the provider's; NULL if memory is out.
 * vf_world_create makes the mock's. */
struct vf_world *vf_world_create_over(const struct vf_provider_ops *provider);

/* What changes of a device, where every process sees it. */
struct vf_device_state {
    bool unplugged;
    bool down;              /* the port, whatever the setup says */
    uint32_t qps, mrs, pds; /* what programs hold of it now */
    uint32_t kept_pds;      /* what dead ones have left */
};

struct vf_device {
    struct vf_device_setup setup;
    struct vf_device_state *state; /* the provider's */
    struct vf_machine *machine;
    struct vf_object *object; /* its ibv_device */
    struct vf_device *peer;   /* at the other end of the cable */
    int index;                /* in the machine's list */
};

struct vf_plan {
    struct vf_fault faults[VF_PLAN_MAX];
    unsigned count;
    uint64_t verbs; /* a bit for each verb that has a fault */
};

struct vf_machine {
    struct vf_world *world;
    int number;
    int device_count;
    int list_errno;
    enum vf_verb inside;
    unsigned all_calls;
    unsigned told; /* calls that have a trace line: all but empty polls */
    unsigned faults_hit;
    unsigned remembered; /* calls that history has seen */
    unsigned waiting;    /* 1: the next record is that of a call that waits */
    unsigned calls[VF_VERB_COUNT];
    uint32_t ids[VF_KIND_COUNT];
    uint32_t live_count[VF_KIND_COUNT];
    struct vf_object *live[VF_KIND_COUNT];
    struct vf_device devices[VF_DEVICE_MAX];
    struct vf_plan plan;
    struct vf_record history[VF_HISTORY];
};

/* A completion that a fault holds back, or that waits behind such a one. */
struct vf_delayed {
    struct vf_delayed *next;
    int64_t due;
    struct vf_object *cq, *qp;
    uint8_t cq_generation, qp_generation;
    bool recv;  /* of its queue pair's receives */
    bool again; /* the device tells it a second time */
    bool overtaken;
    struct ibv_wc wc;
};

struct vf_world {
    const struct vf_provider_ops *provider;
    struct room_view *view; /* the mock's: mock/room.h */
    int home; /* the machine that this process stands on; -1: all of them */
    struct vf_hooks hooks;
    struct vf_registry registry;
    struct vf_delayed *delayed; /* the next one due first */
    struct vf_call *running;    /* whose record is the newest */
    int machine_count;
    struct vf_latch latch; /* taken only when hooks.threads */
    struct vf_machine machines[VF_MACHINE_MAX];
};

/* These are in the way of every call, so they are inline. */
static inline void vf_world_lock(struct vf_world *world)
{
    if (world->hooks.threads)
        vf_latch_take(&world->latch);
}

static inline void vf_world_unlock(struct vf_world *world)
{
    if (world->hooks.threads)
        vf_latch_open(&world->latch);
}

/* Polls are the provider's own again: vf_world_pace. */
void vf_world_unpace(struct vf_world *world);

/* The world that vf_world_installed() tells. */
extern _Atomic(struct vf_world *) vf_installed_world;

/* Called when a verb finds no world installed; the shared library builds one
 * there. NULL in the static library. */
extern void (*vf_world_missing)(void);

/* The limit that a setup may override, or the profile's. */
uint32_t vf_device_limit(int overridden, uint32_t profile_limit);

/* Has the plan a fault of the verb? */
static inline bool vf_plan_has(const struct vf_plan *plan, enum vf_verb verb)
{
    return plan->verbs >> verb & 1;
}

/* Likewise, of a verb that has faults. */
const struct vf_fault *vf_plan_search(const struct vf_plan *plan,
                                      enum vf_verb verb, unsigned nth);
/* The plan's answer for the nth call of verb, or NULL. */
static inline const struct vf_fault *
vf_plan_find(const struct vf_plan *plan, enum vf_verb verb, unsigned nth)
{
    if (!vf_plan_has(plan, verb))
        return NULL;
    return vf_plan_search(plan, verb, nth);
}

/* The fault takes effect. */
void vf_plan_hit(struct vf_machine *machine, const struct vf_fault *fault);

/* Is this memory allocated, as far as anyone can tell? */
bool vf_memory_alive(const struct vf_world *world, const void *address,
                     size_t length);

/*
 * The way of a completion from a provider into a completion queue, in two
 * steps. Both take place at once, unless the device's work is done by another
 * process than its owner's.
 *
 * vf_completion_next counts the next completion of the machine and asks the
 * plan. A completion that fails must not have moved anything: the provider asks
 * before it does.
 *
 * vf_completion is the only way into a completion queue. It runs in the process
 * that owns the queue pair: keeps the contract's shadow, makes of the
 * completion what the fault says, and hands it to the provider's deliver. recv
 * tells which queue of qp it was on.
 */
const struct vf_fault *vf_completion_next(struct vf_machine *machine);
bool vf_completion_fails(const struct vf_fault *fault);
void vf_completion(struct vf_object *qp, struct vf_object *cq,
                   const struct ibv_wc *wc, bool recv,
                   const struct vf_fault *fault);
/* Is any completion of the queue held back? */
bool vf_completion_held(const struct vf_object *cq);
/* Forgets those of the queue pair of this number. */
void vf_completion_forget(const struct vf_object *cq, uint32_t number);

#endif
