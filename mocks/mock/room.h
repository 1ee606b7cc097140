/*
 * mock/room.h: the memory that devices live in.
 *
 * What a device and its kernel would hold (queue pairs, queues and their work
 * requests, completions on their way, regions, counters) lies in a room. A
 * world inside of one process has a room of its own; processes of one world
 * share one (room_share.c). Nothing in a room is a pointer that another process
 * would follow: places are counted in granules from the room's start, and a
 * reference of 0 is none.
 *
 * Locking. One lock guards the whole room; it names its holder, so that the
 * death of a process in the middle of a change is seen and mended. It is held
 * for the length of one change, never while memory is copied between processes
 * (mock/copy.c). In a private room it costs nothing: the world's own lock
 * is enough.
 *
 * Who does the work? There is no thread and no daemon that stands for a device.
 * The process that makes something possible does it, for both ends: who posts a
 * send moves the message into the receive that waits for it; who posts a
 * receive moves the message that waits for that. Both completions are put
 * into the queues of their owners. So a process that sleeps, or spins without a
 * verb, still receives, as it would with a real device.
 *
 * Objects of one kind lie in slabs of that kind for as long as the room lasts:
 * a number from anywhere (a key, a queue pair's number) leads to an object of
 * its kind or to nothing, never to other bytes.
 *
 * Works (work requests) are taken by one process and may be given back by
 * another. Each process keeps some of those it was given back for its next
 * post, and leaves the rest to the others: a stream of messages in one
 * direction moves memory from one process to the other, and back that way. The
 * receive whose message a process has just polled rests until the next one: its
 * cache line is still the sender's, and giving it back would wait for that.
 */
#ifndef VF_MOCK_ROOM_H
#define VF_MOCK_ROOM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "front/infiniband.h"
#include "front/world_private.h"
#include "mock/lock.h"
#include "mock/porter.h"

#define ROOM_GRANULE 64u
#define ROOM_CLASSES 24
#define ROOM_SLAB 64u       /* objects in one slab */
#define ROOM_SLABS 4096u    /* of one kind */
#define ROOM_NUMBERS 16384u /* queue pairs of one machine, a power of two */
#define ROOM_FIRST_QP_NUMBER 0x100u
#define ROOM_PROCESSES 128u
#define ROOM_EVENTS 256u /* async events that a process has not taken */
#define ROOM_PARKED 8u   /* messages of a process that wait, mock/park.h */
#define ROOM_INSIDE 64u  /* bytes of a message beside its completion */
#define ROOM_HELD 72u    /* regions that one request can name */
#define ROOM_GROUPS 256u /* queue pairs in multicast groups */

enum room_kind { ROOM_QP, ROOM_CQ, ROOM_SRQ, ROOM_REGION, ROOM_KINDS };

/* Each object starts with this. */
struct room_object {
    uint32_t index;          /* in the table of its kind, from 1 */
    uint32_t next, previous; /* of its process; free: next of those */
    uint8_t kind;
    bool live;
    uint8_t machine;
    uint8_t device;
    uint16_t process;
    uint16_t generation;
    uintptr_t owner; /* its struct vf_object; for its own process only */
};

struct room_bind {
    uint64_t address;
    uint64_t length;
    uint32_t window; /* index of the window's room_region */
    uint32_t region;
    uint32_t key; /* of type 2, the window's next one */
    uint32_t access;
};

/* What some requests need besides their entries. */
struct room_extra {
    uint32_t rkey;
    union {
        struct {
            uint64_t address;
            uint64_t compare_add;
            uint64_t swap;
        } remote;
        struct {
            union ibv_gid gid;
            uint32_t number;
            uint32_t key;
        } datagram;
        struct room_bind bind;
    };
};

/* A work request on either queue. A receive of one entry fills one cache line:
 * a peer looks at no other. */
struct room_work {
    uint32_t next;
    uint32_t size; /* bytes of this piece of memory */
    uint64_t wr_id;
    uint32_t length;  /* bytes of all entries */
    uint32_t slots;   /* places it takes in its queue */
    uint32_t flags;   /* enum ibv_send_flags */
    uint32_t imm;     /* as given, or the key to invalidate */
    uint32_t parked;  /* where the message of a receive waits; 0: here */
    uint16_t process; /* whose memory the entries mean */
    uint8_t opcode;   /* enum ibv_wr_opcode */
    uint8_t entries;
    bool extra;           /* a struct room_extra follows the entries */
    struct ibv_sge sge[]; /* then an inline request's bytes, or room for a
                             short message on its way */
};

struct room_queue {
    uint32_t first, last;
    uint32_t slots;
    uint32_t depth; /* granted */
};

/* In groups of cache lines: what is hardly ever written; what the owner writes
 * with each send; what a peer writes with each message. */
struct room_qp {
    struct room_object object;
    uint32_t number;
    uint8_t state; /* enum ibv_qp_state */
    uint8_t type;  /* enum ibv_qp_type */
    bool all_signaled;
    uint32_t domain;
    uint32_t send_cq, recv_cq, srq; /* indices; srq 0: none */
    struct ibv_qp_cap cap;          /* granted */
    struct ibv_qp_attr attr;        /* what modify_qp has set so far */

    _Alignas(64) struct room_queue send;
    uint32_t moving;    /* process + 1 that moves its sends; 0: nobody does */
    bool rnr;           /* what it waits for is a receive */
    uint32_t next_sent; /* the number of the packet that leaves next */
    int64_t deadline;   /* of the first send; 0: none */
    uint32_t later, sooner; /* queue pairs with a deadline */

    _Alignas(64) struct room_queue recv;
    bool awaited;       /* a peer's send waits for a receive here */
    uint32_t next_come; /* of the packet that is expected next */
    uint32_t landing;   /* messages that are being copied to it */
};

enum room_about {
    ROOM_OF_RECV = 1,   /* else of a send */
    ROOM_UNREACHED = 2, /* no peer comes for its bytes: enum mock_kept */
    ROOM_BROUGHT = 4    /* they are here, and not where the work says */
};

/* A completion on its way to its owner: one cache line, and one for the bytes
 * of a short message that it brings along. The owner looks at the first one
 * again and again, so the second is written before, and the first at one go. */
struct room_completion {
    struct ibv_wc wc;
    uint32_t qp;           /* index */
    _Atomic uint32_t work; /* the receive, when its bytes lie in it */
    int16_t fault;         /* of its machine's plan, + 1 */
    uint8_t about;         /* enum room_about; not fields of bits, for to write
                              one of those, the line is waited for */
    uint8_t generation;    /* of qp */
    _Atomic uint32_t turn; /* its place in the order of all; says: written */
    _Alignas(64) unsigned char bytes[ROOM_INSIDE];
};

/* In groups of cache lines: what its owner reads at each poll, which is hardly
 * ever written; what a peer writes with each completion; what its owner writes
 * with each one it takes. */
struct room_cq {
    struct room_object object;
    uint32_t cqe;
    uint32_t ring;  /* of completions */
    uint32_t slots; /* of the ring, a power of two */
    uint32_t lost;
    uint8_t event;   /* one that the owner has not been told of */
    uint8_t planned; /* its owner holds completions back: it makes the events */
    _Atomic uint8_t look;       /* such a one has come since the owner looked */
    _Alignas(64) uint32_t tail; /* completions ever put */
    uint32_t known; /* a head that was read: at least so many were taken */
    uint8_t armed;  /* 1: any completion, 2: a solicited one makes an event */
    _Alignas(64) _Atomic uint32_t head; /* completions ever taken */
};

struct room_srq {
    struct room_object object;
    uint32_t domain;
    uint32_t max_sge;
    uint32_t limit; /* 0: no event is asked for */
    uint32_t count; /* receives in it */
    struct room_queue recv;
};

struct room_region {
    struct room_object object;
    uint32_t key; /* lkey; a window's rkey */
    uint32_t domain;
    uint32_t access;
    uint32_t busy;   /* copies that use it now */
    uint64_t iova;   /* what programs call its first byte */
    uint64_t length; /* a window that is not bound: 0 */
    uint64_t address;
    uint8_t window;   /* 0: a region, else enum ibv_mw_type */
    bool valid;       /* not invalidated */
    uint32_t under;   /* a bound window's region, index */
    uint32_t windows; /* bound to this region */
    uint32_t number;  /* queue pair that a type 2 window is bound through */
};

struct room_table {
    uint32_t slabs[ROOM_SLABS];
    uint32_t count; /* objects that ever were */
    uint32_t first_free, last_free, free;
};

struct room_machine {
    uint32_t next_number;
    uint32_t completions; /* ever made on it: what the plan counts */
    uint32_t visitors;
    struct vf_device_state devices[VF_DEVICE_MAX];
    uint32_t numbered[ROOM_NUMBERS]; /* queue pairs by number, indices */
};

struct room_event {
    uintptr_t owner; /* struct vf_object */
    uint32_t type;   /* enum ibv_event_type */
    uint8_t kind;    /* enum room_kind, or ROOM_KINDS: the port */
    uint8_t device;
};

/* The message that a process moves just now: what is off its queues and not
 * completed. Should it die, these go back (mock/hold.h). */
struct room_move {
    uint32_t sent, sender;       /* request and queue pair; 0: none */
    uint32_t received, receiver; /* likewise */
    uint16_t sender_generation, receiver_generation;
    uint32_t completed; /* whose completion is written now; 0: none's */
    uint32_t cq, turn;  /* of that */
};

/* Pieces of memory of one size that were given back. */
struct room_cache {
    uint32_t first;
    uint32_t count;
};

/* In groups of cache lines: what peers read with each message; what only the
 * process itself writes; what peers write. */
struct room_process {
    _Atomic int32_t pid; /* 0: nobody */
    uint8_t machine;
    bool copies_refused;
    bool reached;                /* it has had memory that peers can reach */
    uint32_t pds[VF_DEVICE_MAX]; /* that it holds of each device */
    /* The queue pair that it copies to now. */
    _Alignas(64) uint32_t landing;
    struct room_move move;
    struct room_cache cache[ROOM_CLASSES];
    uint32_t resting; /* a work that is given back with the next one; 0: none */
    uint32_t held;
    uint32_t regions[ROOM_HELD];  /* that it copies to or from now */
    uint32_t objects[ROOM_KINDS]; /* lists, indices */
    /* Counts what its attendant shall look at. */
    _Alignas(64) _Atomic uint32_t bell;
    _Atomic uint32_t asleep; /* the attendant is */
    /* Messages that wait for it in the room, where a peer's RDMA could reach
     * the memory they belong to. May be too high after a death, never too
     * low. */
    _Atomic uint32_t underway;
    uint32_t parked[ROOM_PARKED];
    _Atomic uint32_t parked_taken; /* a bit for each */
    uint32_t event_head, event_tail;
    struct room_event events[ROOM_EVENTS];
    struct vf_mailbox mailbox;
};

struct room {
    uint64_t magic;
    uint64_t granules;
    struct vf_lock lock;
    _Alignas(64) _Atomic int64_t deadline; /* earliest one; 0: none */
    _Alignas(64) uint64_t used;            /* granules given out */
    uint32_t spare[ROOM_CLASSES]; /* given back by processes with enough */
    uint32_t waiting; /* queue pairs with a deadline, soonest first */
    uint32_t domains; /* ever made: each has a number */
    uint32_t group_count;
    bool copy_twice;
    bool shifted; /* there is a region whose bytes are not where their addresses
                     say */
    struct {
        union ibv_gid gid;
        uint32_t qp;
    } groups[ROOM_GROUPS];
    struct room_table tables[ROOM_KINDS];
    uint32_t share; /* room_share.c's part */
    struct room_process processes[ROOM_PROCESSES];
    struct room_machine machines[VF_MACHINE_MAX];
};

/* A process's way to its room. */
struct room_view {
    struct room *room;
    uint32_t self; /* place in processes */
    bool shared;
    size_t bytes; /* that are mapped */
    struct vf_lock_deaths deaths;
    bool entered;
};

/* A private room for the world; 0 or an errno. */
int room_start(struct vf_world *world);
void room_stop(struct vf_world *world);
/* Unmaps it, for another to take its place. */
void room_let_go(struct room_view *view);
/* As new, at the cost of what was used. */
void room_reset(struct vf_world *world);
/* Bytes of the room before its first granule is given out. */
size_t room_head(void);

/* Nothing in a private room. */
void room_enter(struct vf_world *world);
void room_leave(struct vf_world *world);

/* What a reference means here; 0 is not asked. */
static inline void *room_at(const struct room_view *view, uint32_t ref)
{
    return (unsigned char *)view->room + (uint64_t)ref * ROOM_GRANULE;
}

static inline uint32_t room_ref(const struct room_view *view,
                                const void *memory)
{
    return (uint32_t)(((uintptr_t)memory - (uintptr_t)view->room) /
                      ROOM_GRANULE);
}

/* Has this process kept a piece of the size? Then room_get gives it, and the
 * room need not be entered. */
bool room_has(const struct room_view *view, size_t size);
/* Memory, not zeroed; 0: out of it. The room is entered. */
uint32_t room_get(struct room_view *view, size_t size);
/* Gives it back, to this process; the room need not be entered. */
void room_put(struct room_view *view, uint32_t ref, size_t size);
/* What was given back to a process that is no more is everybody's. Entered. */
void room_inherit(struct room_view *view, uint32_t process);

/* A zeroed object of this process; NULL: out of memory. Entered. */
void *room_new(struct vf_world *world, enum room_kind kind,
               struct vf_object *owner);
void room_free(struct vf_world *world, struct room_object *object);
/* Bytes from one object of the kind to the next in its slab. */
static inline size_t room_stride(enum room_kind kind)
{
    size_t size = kind == ROOM_QP    ? sizeof(struct room_qp)
                  : kind == ROOM_CQ  ? sizeof(struct room_cq)
                  : kind == ROOM_SRQ ? sizeof(struct room_srq)
                                     : sizeof(struct room_region);

    return (size + ROOM_GRANULE - 1) / ROOM_GRANULE * ROOM_GRANULE;
}

/* The object with the index, live or not; NULL: there never was one. */
static inline void *room_find(const struct room_view *view, enum room_kind kind,
                              uint32_t index)
{
    const struct room_table *table = &view->room->tables[kind];
    unsigned char *slab;

    if (index == 0 || index > table->count)
        return NULL;
    slab = room_at(view, table->slabs[(index - 1) / ROOM_SLAB]);
    return slab + (index - 1) % ROOM_SLAB * room_stride(kind);
}

/* Gives the queue pair a number of its machine, and returns it. Entered. 0: no
 * number is free. */
uint32_t room_number(struct room_view *view, struct room_qp *qp);
void room_unnumber(struct room_view *view, const struct room_qp *qp);
/* The live queue pair of the machine with the number, or NULL. */
struct room_qp *room_numbered(const struct room_view *view, int machine,
                              uint32_t number);

#endif
