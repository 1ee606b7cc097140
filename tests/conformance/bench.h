/*
 * bench.h: what a sequence of the conformance run works with.
 *
 * One program, linked with plain libibverbs, makes sequences of verbs calls and
 * prints a line for each: the verb, its arguments, what it answered. It runs
 * once on a real device and once on the mock (run.sh), and compare.awk says
 * where the two part ways. So a line never holds what a device is free to
 * choose: queue pairs, regions and the rest go by their place in the bench (q0,
 * m1), keys by what is right or wrong with them, addresses by their offset in
 * the arena, GIDs by their kind.
 *
 * An action is one call and its line. Sequences are written in rows.c (what is
 * known of soft-RoCE, one by one) and made up in generate.c (from a seed, never
 * from what a device answered). Each runs in a process of its own, so that a
 * crash or a hang is the end of one sequence only.
 *
 * Time: completions come when the device has made them. Sends all complete, so
 * drain() waits for as many as are due; whether a receive completes is the
 * question, so there it waits until nothing has come for quiet_ms.
 */
#ifndef CONFORMANCE_BENCH_H
#define CONFORMANCE_BENCH_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PLACES 4 /* of each kind of object */
#define ARENA 65536
#define WORK_MAX 512 /* work requests of one sequence */
#define QKEY 0x11111111u
#define NOBODY (-1)

struct bench {
    struct ibv_context *context[2];
    struct ibv_pd *pd[PLACES];
    struct ibv_mr *mr[PLACES];
    uint32_t dead_lkey; /* of the region deregistered last */
    uint32_t dead_rkey;
    struct ibv_cq *cq[PLACES];
    struct ibv_qp *qp[PLACES];
    uint32_t number[PLACES]; /* queue pairs', kept when they are destroyed */
    uint32_t due[PLACES];    /* sends accepted and not yet seen, per queue */
    struct ibv_srq *srq[PLACES];
    struct ibv_ah *ah[PLACES];
    struct ibv_mw *mw[PLACES];
    struct ibv_comp_channel *channel;
    union ibv_gid gid[2]; /* of each device, index 1 */
    unsigned char *arena;
    uint64_t next_work;
    struct {
        unsigned char *header; /* where a datagram's GRH goes */
        int queue;             /* of the send, or NOBODY */
    } work[WORK_MAX];
    int quiet_ms;
};

/* What is right or wrong with a key. */
enum key {
    KEY_GOOD,
    KEY_BOGUS, /* nobody's */
    KEY_DEAD,  /* of a region that was deregistered */
    KEY_COUNT
};

/* Where a region to be registered lies. */
enum place {
    PLACE_ARENA,
    PLACE_NULL,
    PLACE_UNMAPPED,
    PLACE_HALF, /* the second page is unmapped */
    PLACE_READ_ONLY,
    PLACE_COUNT
};

struct queue_wish {
    int type; /* enum ibv_qp_type, or nonsense */
    int pd;
    int send_cq, recv_cq;
    int srq; /* or NOBODY */
    uint32_t send_wr, recv_wr, send_sge, recv_sge, inline_bytes;
    int sig_all;
};

struct move {
    int to;        /* enum ibv_qp_state */
    int add, drop; /* mask bits more or less than the state needs */
    int port;
    int pkey;
    int mtu;
    int peer; /* place of the queue pair at the other end, or NOBODY */
    int peer_device;
    int sgid_index;
    bool global;
    bool zero_gid;   /* as the destination */
    bool absent_gid; /* an address that nobody has */
    unsigned access;
    int rd_atomic;
};

struct work {
    int opcode; /* enum ibv_wr_opcode; of sends */
    int mr;
    enum key key;
    size_t offset;
    uint32_t length;
    int sges; /* 0: none; more than one share the length */
    unsigned flags;
    int count; /* as one chain */
    /* RDMA and atomics */
    int remote_mr;
    enum key remote_key;
    size_t remote_offset;
    uint64_t add, swap;
    /* datagrams */
    int ah;
    int peer;
    uint32_t qkey;
};

/* say.c: words for numbers. */
const char *errno_word(int number);
const char *status_word(int status);
const char *state_word(int state);
const char *type_word(int type);
const char *opcode_word(int opcode);
const char *completion_word(int opcode);
const char *event_word(int event);
const char *gid_word(const union ibv_gid *gid);
const char *key_word(enum key key);
const char *place_word(enum place place);
/* The end of a line: "= 0", "= EINVAL", "= -1 EINVAL". */
void say_result(int result);
/* "= OK" or "= NULL EINVAL" */
void say_pointer(const void *pointer);

/* objects.c: making, asking, releasing. Index first, then what it is made of.
 * Where an object it needs is missing, nothing is called and the line says so.
 */
bool act_open(struct bench *bench, int device);
void act_close(struct bench *bench, int device);
bool act_alloc_pd(struct bench *bench, int pd, int device);
void act_dealloc_pd(struct bench *bench, int pd);
bool act_reg_mr(struct bench *bench, int mr, int pd, enum place place,
                size_t offset, size_t length, int access);
void act_dereg_mr(struct bench *bench, int mr);
bool act_create_cq(struct bench *bench, int cq, int device, int entries,
                   int vector, bool channel);
void act_resize_cq(struct bench *bench, int cq, int entries);
void act_destroy_cq(struct bench *bench, int cq);
void act_create_channel(struct bench *bench);
void act_destroy_channel(struct bench *bench);
bool act_create_srq(struct bench *bench, int srq, int pd, uint32_t wr,
                    uint32_t sge);
void act_modify_srq(struct bench *bench, int srq, uint32_t wr, uint32_t limit,
                    int mask);
void act_query_srq(struct bench *bench, int srq);
void act_destroy_srq(struct bench *bench, int srq);
bool act_create_ah(struct bench *bench, int ah, int pd, int device,
                   int sgid_index, bool global, int port);
void act_destroy_ah(struct bench *bench, int ah);
bool act_alloc_mw(struct bench *bench, int mw, int pd, int type);
void act_dealloc_mw(struct bench *bench, int mw);
void act_query_device(struct bench *bench, int device);
void act_query_port(struct bench *bench, int device, int port);
void act_query_gid(struct bench *bench, int device, int port, int index);
void act_query_pkey(struct bench *bench, int device, int port, int index);

/* queue.c: queue pairs. */
struct queue_wish usual_wish(int type);
bool act_create_qp(struct bench *bench, int qp, const struct queue_wish *wish);
void act_query_qp(struct bench *bench, int qp);
void act_destroy_qp(struct bench *bench, int qp);
struct move usual_move(int to, int peer);
bool act_modify_qp(struct bench *bench, int qp, const struct move *move);
/* To RTS by all steps; peer as in struct move. */
void act_connect(struct bench *bench, int qp, int peer);

/* work.c: posting and polling. */
struct work usual_work(int opcode);
void act_post_send(struct bench *bench, int qp, const struct work *work);
void act_post_recv(struct bench *bench, int qp, const struct work *work);
void act_post_srq(struct bench *bench, int srq, const struct work *work);
void act_bind_mw(struct bench *bench, int qp, int mw, int mr, size_t offset,
                 size_t length, unsigned access);
/* All sends that are due on the queue, or whatever comes. */
void act_drain_sends(struct bench *bench, int cq);
void act_drain(struct bench *bench, int cq);
void act_notify(struct bench *bench, int cq, bool solicited);
/* Is there an event in the channel? */
void act_channel_event(struct bench *bench);
/* Asynchronous events so far, sorted. */
void act_events(struct bench *bench, int device);
/* What the arena holds now, as one number. */
void act_memory(struct bench *bench);

/* A bench with device 0 open, p0, m0 (the whole arena), c0 and c1. */
void bench_start(struct bench *bench);
/* and q0, q1 of one type at RTS, joined. */
void bench_pair(struct bench *bench, int type);

/* rows.c and generate.c: the n-th sequence; false past the last. */
bool row_name(int n, const char **name);
void row_run(int n, struct bench *bench);
void generated_name(int n, char *name, size_t size);
void generated_run(int n, struct bench *bench);

#endif
