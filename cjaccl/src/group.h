/*
 * The group: everything cjaccl knows about one, in one struct.
 *
 * Start-up fills it from top to bottom, release.c empties it from bottom to
 * top. A pointer that is NULL (an end that is negative) was not built or is
 * released already, so release.c can be called at any point of start-up.
 *
 * A function that fails calls cji_fail(), which keeps the first error in the
 * group, and returns its code. `step` says what is being done at the moment and
 * is where an error's step comes from; `deadline` is when that has to be over.
 */
#ifndef CJACCL_GROUP_H
#define CJACCL_GROUP_H

#include "address.h"
#include "cjaccl/cjaccl.h"

#include <stdbool.h>

/* JACCL's numbers; both ends of a queue pair have to agree on them. */
#define CJI_PORT 1
#define CJI_PSN 7
#define CJI_FRAME_SIZE ((size_t)4096)
#define CJI_CLASS_COUNT 8
/* Messages in flight to and from each peer. */
#define CJI_SLOTS 2

/* A mesh has one to each peer, a ring one per wire to each neighbour. */
#define CJI_MAX_LINKS (2 * CJ_MAX_WIRES)
/* Receives that a link keeps posted (CJI_WIRE_CREDITS). */
#define CJI_MAX_CREDITS 8
/* Slots that it sends from. */
#define CJI_MAX_SENDS 8
/* A power of two, more than all receives of a link. */
#define CJI_RING 16
/* A deadline that is set when the first wait begins. */
#define CJI_LATER INT64_MIN

/* How messages look, and who waits for whom: flow.h. */
enum cji_wire {
    CJI_WIRE_JACCL,
    CJI_WIRE_FRAMES,
    CJI_WIRE_CREDITS,
    CJI_WIRE_STREAM
};

/* An open device, its domain and the region that covers the arena. */
struct cji_device {
    char name[CJ_DEVICE_NAME_SIZE];
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_mr *mr;
    struct ibv_mr *straight; /* over data of the caller's, while they are sent
                                (straight.h) */
    bool mr_stuck; /* deregistering failed: the device may still write */
    bool thunderbolt;
    int lid;
    int gid_index;
    union ibv_gid gid;
    /* What query_device told; 0 where it told nothing. */
    int max_mr;
    int max_qp;
    int max_qp_wr;
    int max_cqe;
    int send_entries; /* that its queue pairs' requests may have: 1 or 2 */
};

/* A buffer of the arena, and the work request that is posted for it, if any. */
struct cji_slot {
    unsigned char *data;
    /* Data that go straight, before what is in the slot; NULL: none. */
    const unsigned char *body;
    uint32_t body_bytes;
    uint64_t id;     /* of the request */
    uint32_t length; /* bytes posted; of a receive that completed: that came */
    bool posted;     /* its completion was not seen yet */
    /* Of a message that came: its trailer's. */
    uint32_t bytes;
    uint64_t digest;
};

/*
 * What the engine keeps of a link (flow.h). The counters count since start-up
 * and never go back; so do those of the peer that trailers tell.
 */
struct cji_traffic {
    int send_slots;
    int recv_slots;
    struct cji_slot send[CJI_MAX_SENDS];
    struct cji_slot note; /* a message of a trailer only */
    struct cji_slot recv[CJI_MAX_CREDITS + 1];
    unsigned free_recv; /* a bit for each that holds nothing and is not posted
                         */
    /* Receives in the order in which they were posted; which slot each has. */
    uint64_t posted;
    uint64_t seen; /* of those, that completed and were looked at */
    uint8_t posted_slot[CJI_RING];
    /* Messages with data, in their order; where each that came is. */
    uint64_t arrived;
    uint64_t taken;    /* of those, used up */
    uint64_t reposted; /* of those, whose receives are posted again */
    uint64_t told;     /* `reposted` when the peer was told last */
    uint8_t arrived_slot[CJI_RING];
    uint64_t filled; /* messages with data: written into a slot */
    uint64_t sent;   /* posted */
    uint64_t freed;  /* of those, that the peer told that it took */
    uint64_t notes_arrived;
    uint64_t notes_told; /* when a trailer was written last */
    uint64_t notes_sent;
    uint64_t notes_freed;
    /* Of the flow that sends on it, in the operation that runs. */
    size_t flow_done;
    struct cji_flow *send_flow; /* NULL: none */
    struct cji_flow *recv_flow;
};

/* One wire to one peer. */
struct cji_link {
    int peer;
    int wire;     /* of a ring's, from 0; 0 in a mesh */
    bool to_left; /* of a ring: which neighbour it leads to */
    struct cji_device *device;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    int depth;  /* granted, of the shallower queue; Thunderbolt counts frames */
    int socket; /* CJI_WIRE_STREAM: a connection of the net; else -1 */
    struct cji_stream *stream; /* what is under way on it (stream.c) */
    struct cji_traffic traffic;
};

/* Whether a rank is in the group, as far as is known. */
enum cji_presence {
    CJI_HERE,
    CJI_LEFT,   /* it has finalized the group */
    CJI_FAILED, /* and said why */
    CJI_LOST    /* and said nothing */
};

/* What is said of a rank that leaves (notice.h). */
struct cji_notice {
    char text[12]; /* says that it is one, and of which version */
    int32_t presence;
    int32_t rank; /* that leaves */
    int32_t peer; /* that is the cause, as far as it knows: it, or another */
    int32_t step;
    int32_t code;
    uint32_t collectives; /* that the rank has begun */
    char message[220];
};

struct cji_flow;
struct cji_stream;
struct cji_transport;

struct cj_group {
    int rank;
    int size;
    bool ring;
    int wires;
    int64_t operation_timeout;
    int64_t owner; /* the process that built it */

    struct cj_library library;
    struct cj_clock clock;
    struct cj_allocator allocator;
    struct cj_net net;

    enum cj_step step;
    int64_t deadline;
    int64_t timeout;       /* how long the deadline was, for messages */
    uint64_t progress;     /* completions in the group's life */
    uint64_t progress_met; /* when the deadline was set last */
    struct cj_error error; /* the first one */

    /* Side channel: rank 0 has an end to each rank, the others one to rank 0;
     * all other ends are -1. */
    int ends[CJ_MAX_RANKS];
    struct cji_address coordinator;
    bool answered;   /* rank 0 has sent something, or had its second chance */
    int side_err_no; /* why a connection ended that ended last, or 0 */
    struct cj_gather gather; /* the caller's, if it has one */

    bool may_notify;                /* notice.h: the ranks know notices, ... */
    bool has_notices;               /* ... and nothing else comes any more */
    uint8_t presence[CJ_MAX_RANKS]; /* enum cji_presence */
    uint32_t last[CJ_MAX_RANKS];    /* of one that left: its collectives */
    uint32_t collectives;           /* that this rank has begun */
    int departures;                 /* ranks that are not here */
    int failed;                     /* the first that failed, or -1 */
    struct cji_notice failure;      /* of that rank */

    void *library_handle;
    struct cj_verbs verbs;

    int device_count;
    struct cji_device devices[CJI_MAX_LINKS];

    /* By peer in a mesh (link.c); of a ring the left neighbour's wires, then
     * the right one's. */
    int link_count;
    struct cji_link links[CJI_MAX_LINKS];

    bool all_cjaccl;
    enum cji_wire wire;
    /* CJI_WIRE_CREDITS: the least depth of all links of all ranks, so that all
     * give the same credits; 0: that of one's own. */
    int least_depth;
    /* CJI_WIRE_CREDITS with some device that wants a message to have the frames
     * of its receive: all messages are as long as a slot. */
    bool whole;
    int32_t digest; /* of what the ranks told each other at start-up */

    int64_t next_port_look;

    unsigned char *arena;
    size_t arena_size;

    /* What carries messages; NULL before start-up is over. */
    const struct cji_transport *transport;
    uint64_t last_id; /* of a work request */
    bool straight;         /* data of the operation that runs go straight */
    bool straight_refused; /* a device did not register them */
    int credits;      /* CJI_WIRE_CREDITS: receives for data, of every link */

    int release_failures;
    char release_failure[160]; /* the first of them, in words */
};

/* The calling process: in one that was forked, group->owner is another.
 * process.c: costs next to nothing. */
int64_t cji_process(void);

/* Has to be called before that. */
void cji_process_watch(void);

/* `step` begins and may take `timeout`. */
void cji_begin(struct cj_group *group, enum cj_step step, int64_t timeout);

#endif
