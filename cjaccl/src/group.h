/*
 * The group: everything cjaccl knows about one mesh, in one struct.
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

#include "cjaccl/cjaccl.h"

#include <stdbool.h>

/* JACCL's numbers; both ends of a queue pair have to agree on them. */
#define CJI_PORT 1
#define CJI_PSN 7
#define CJI_FRAME_SIZE ((size_t)4096)
#define CJI_CLASS_COUNT 8
#define CJI_SLOT_SIZE (CJI_FRAME_SIZE << (CJI_CLASS_COUNT - 1))
/* Messages in flight to and from each peer. */
#define CJI_SLOTS 2

/* An open device, its domain and the region that covers the arena. */
struct cji_device {
    char name[CJ_DEVICE_NAME_SIZE];
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_mr *mr;
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
};

/* A work request that was posted: its id, until its completion was seen. */
struct cji_work {
    uint64_t id;
    uint32_t length;
    bool posted;
};

/* All that leads to one peer. */
struct cji_connection {
    struct cji_device *device; /* NULL: to oneself */
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    /* Messages of the largest class that the granted queues hold, up to 2. */
    int window;
    unsigned char *send_slot[CJI_SLOTS];
    unsigned char *recv_slot[CJI_SLOTS];
    struct cji_work send_work[CJI_SLOTS];
    struct cji_work recv_work[CJI_SLOTS];
};

struct cj_group {
    int rank;
    int size;
    int64_t operation_timeout;
    enum cj_handshake wish;

    struct cj_library library;
    struct cj_clock clock;
    struct cj_allocator allocator;
    struct cj_net net;

    enum cj_step step;
    int64_t deadline;
    int64_t timeout;       /* how long the deadline was, for messages */
    struct cj_error error; /* the first one */

    /* Side channel: rank 0 has an end to each rank, the others one to rank 0;
     * all other ends are -1. */
    int ends[CJ_MAX_MESH_RANKS];

    void *library_handle;
    struct cj_verbs verbs;

    int device_count;
    struct cji_device devices[CJ_MAX_MESH_RANKS];

    unsigned char *arena;
    size_t arena_size;

    struct cji_connection connections[CJ_MAX_MESH_RANKS]; /* by peer */

    bool handshake;
    bool lockstep;  /* with the handshake: before every chunk, not only once */
    int32_t digest; /* of what the ranks told each other at start-up */
    uint32_t phase; /* number of the exchange that runs or ran last */

    int release_failures;
    char release_failure[160]; /* the first of them, in words */
};

#endif
