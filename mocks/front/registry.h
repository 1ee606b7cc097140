/*
 * front/registry.h: every handle that programs hold.
 *
 * A handle's memory comes from one reserved range of addresses per world. The
 * registry keeps what it knows of a handle (its kind, its machine, whether it
 * lives, its parents, the contract's shadow of its state) outside of that
 * memory, in a table, so that a program that writes over a handle spoils
 * nothing but itself. A map with one entry for each 64 bytes of the range leads
 * from a handle to its table entry: finding a handle is a range check, two
 * reads and a comparison, whatever the pointer is.
 *
 * What is released is overwritten with 0xdf (as a pointer: an address that no
 * program can have), poisoned where there is an address sanitizer, and rests
 * in a queue of its kind until VF_QUARANTINE younger ones have followed it. So
 * a process that makes and releases the same handles again and again grows
 * until then, and no more (a group of two ranks: by 3 KiB a time, to 3 MiB).
 * The first field of a queue pair, a completion queue and a shared receive
 * queue, its context, is left as it was, and so is the verbs struct of a memory
 * window: the inline verbs read them to get here, and the contract shall name
 * the mistake before it faults.
 *
 * A reset takes back everything at once and touches only what was in use; the
 * pages stay, so the next run costs no page fault.
 *
 * A provider may bring handles that lie elsewhere: those of another library.
 * They stand in a map by their addresses, and stay there for as long as their
 * entry rests. An address that is handed out again is its new owner's.
 *
 * The same range serves small pieces of provider memory (work requests,
 * completions): vf_pool_get, vf_pool_put.
 */
#ifndef VF_FRONT_REGISTRY_H
#define VF_FRONT_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "front/infiniband.h"
#include "front/map.h"

#define VF_GRANULE 64u
#define VF_QUARANTINE 1024
#define VF_POOL_CLASSES 16 /* 64 bytes to 2 MiB */

struct vf_world;
struct vf_machine;
struct vf_device;

enum vf_kind {
    VF_KIND_NONE,
    VF_KIND_DEVICE_LIST,
    VF_KIND_DEVICE,
    VF_KIND_CONTEXT,
    VF_KIND_PD,
    VF_KIND_MR,
    VF_KIND_CQ,
    VF_KIND_QP,
    VF_KIND_AH,
    VF_KIND_SRQ,
    VF_KIND_CHANNEL,
    VF_KIND_MW,
    VF_KIND_COUNT
};

/* The kind's word in titles: "device-list", "mr". */
const char *vf_kind_word(enum vf_kind kind);
/* The kind's word in traces: "list", "mr". */
const char *vf_kind_label(enum vf_kind kind);

struct vf_object;

/* What a work request makes of a memory window once it is done. */
enum vf_window_change { VF_WINDOW_SAME, VF_WINDOW_BOUND, VF_WINDOW_UNBOUND };

/* A work request that was posted and has not completed, as the contract sees
 * it: newest last. Up to four regions, it is a piece of 64 bytes. */
struct vf_posted {
    struct vf_posted *next, *previous;
    uint64_t wr_id;
    uint32_t slots;  /* places of the queue that it takes */
    uint8_t room;    /* for regions */
    uint8_t regions; /* that it names, each once */
    uint8_t change;  /* enum vf_window_change; of the window in the last room */
    bool signaled;
    struct vf_object *region[];
};

struct vf_posted_queue {
    struct vf_posted *first, *last;
    uint32_t slots;
    uint32_t depth; /* granted */
    uint32_t again; /* places that the device told its program of twice */
};

struct vf_object {
    void *handle; /* what the program holds */
    void *memory; /* the allocation around it */
    void *own;    /* what a provider keeps of it elsewhere */
    uint32_t size;
    uint32_t id; /* per kind and machine, from 1; 0: not yet given */
    uint32_t children;
    uint32_t excused_children; /* of these, see vf_object_excuse */
    uint8_t kind;              /* enum vf_kind */
    uint8_t generation;
    bool live;
    bool orphan;   /* its context was closed under it */
    bool excused;  /* its program has done what it could */
    bool stranger; /* nobody saw it made, or not all that is done with it: the
                      contract asks no more of it than that it lives */
    struct vf_machine *machine;
    struct vf_device *device;
    struct vf_object *parent[4]; /* the first one is what it belongs to */
    struct vf_object *next, *previous;
    union {
        struct {
            uintptr_t address; /* what programs call its first byte */
            uint64_t length;
            uint64_t shift;  /* from that to where the byte is */
            uint32_t access; /* enum ibv_access_flags */
            uint32_t posted; /* work requests that name it */
            bool lost;       /* a rereg_mr has failed */
        } mr;
        struct {
            struct vf_object *region; /* that it is bound to; NULL: none */
            struct vf_object *qp;     /* through which a type 2 was bound */
            uint8_t type;             /* enum ibv_mw_type */
        } mw;
        struct {
            uint32_t room;
            uint32_t held;
            uint32_t again;  /* of these, or taken since: told twice */
            uint32_t events; /* handed out, of both kinds */
            bool overflow;
        } cq;
        struct {
            struct vf_posted_queue send, recv;
            uint8_t state; /* enum ibv_qp_state */
            uint8_t type;  /* enum ibv_qp_type */
            bool all_signaled;
            uint32_t send_sge, recv_sge;
            uint32_t max_inline; /* bytes */
            uint32_t events;     /* handed out */
        } qp;
        struct {
            struct vf_posted_queue recv;
            uint32_t recv_sge;
            uint32_t events; /* handed out */
        } srq;
        struct {
            int signal; /* the writing end of its descriptor; -1: none */
        } channel;
        struct {
            int signal;                    /* likewise, of async_fd */
            struct vf_async *first, *last; /* events not yet taken */
        } context;
    } shadow;
};

struct vf_async; /* front/event.c */

struct vf_registry {
    unsigned char *base;
    size_t used; /* bytes from base */
    struct vf_object *objects;
    uint32_t object_count;
    uint32_t *owner; /* entry + 1 for each 64 bytes that hold a handle */
    struct {
        struct vf_object *first, *last;
        uint32_t count;
    } resting[VF_KIND_COUNT];
    void *pool[VF_POOL_CLASSES];
    struct vf_map foreign; /* handles outside of the range */
};

/* Reserves the ranges; 0 or an errno. */
int vf_registry_start(struct vf_registry *registry);
void vf_registry_stop(struct vf_registry *registry);
void vf_registry_reset(struct vf_registry *registry);

/* What is known of handle, alive or not; NULL: it is none of ours. */
static inline struct vf_object *
vf_registry_find(const struct vf_registry *registry, const void *handle)
{
    uintptr_t offset = (uintptr_t)handle - (uintptr_t)registry->base;
    struct vf_object *object;
    uint32_t entry;

    if (offset >= registry->used)
        return vf_map_find(&registry->foreign, (uintptr_t)handle);
    entry = registry->owner[offset / VF_GRANULE];
    if (entry == 0 || entry > registry->object_count)
        return NULL;
    object = &registry->objects[entry - 1];
    return object->handle == handle ? object : NULL;
}

/*
 * A zeroed object whose handle lies offset bytes into size bytes of memory;
 * NULL: out of memory. It is no one's until vf_object_adopt, and can be taken
 * back with vf_object_discard.
 */
struct vf_object *vf_object_new(struct vf_machine *machine, enum vf_kind kind,
                                size_t size, size_t offset);
void vf_object_discard(struct vf_object *object);
/* The program has it now: gives it its id, counts it with its parents. */
void vf_object_adopt(struct vf_object *object);
/* The program has released it. */
void vf_object_release(struct vf_object *object);

/* From now on the object belongs to another parent of the same kind. */
void vf_object_move(struct vf_object *object, struct vf_object *parent);

/*
 * The plan refused to let the program release this object. What is left of it,
 * and of the objects that cannot go before it, is no leak of the program's.
 */
void vf_object_excuse(struct vf_object *object);

/* A region's rkey is its lkey with this bit. */
#define VF_RKEY_BIT 0x80u

/* Memory for providers, not zeroed; NULL: out of memory. */
void *vf_pool_get(struct vf_registry *registry, size_t size);
void vf_pool_put(struct vf_registry *registry, void *memory, size_t size);

#endif
