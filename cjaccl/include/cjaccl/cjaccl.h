/*
 * cjaccl: the start-up and the collectives of JACCL, in C, for verbs devices.
 *
 * A group is a fixed set of ranks, each a process (or, in a simulator, a
 * fiber) with one queue pair to every other rank: a mesh. cj_init() builds one,
 * cj_all_sum() and cj_barrier() use it, cj_finalize() takes it down. A rank of
 * cjaccl and a rank of JACCL (2026-08-22) can be members of one group: they
 * share the configuration, the side channel and the wire format.
 *
 * How a group starts, in this order on every rank:
 *
 *   1. the configuration is checked; nothing has been touched so far;
 *   2. side channel: rank 0 listens at the coordinator's address, the others
 *      connect and say who they are. It comes before everything that can fail
 *      on one rank only, because it is how the other ranks learn of a failure:
 *      a rank that fails closes its connection;
 *   3. the verbs library is loaded, the devices are opened, each once, however
 *      many peers are reached through it, and their ports must be up;
 *   4. per device one domain and one registered region (the arena, which holds
 *      every buffer of the group), per peer a completion queue and a queue
 * pair;
 *   5. the ranks exchange where their queue pairs are, connect them, and meet
 *      twice before the first of them returns.
 *
 * Whatever fails, all that was built is released in reverse: queue pairs,
 * region, completion queues, domains, devices, library, connections. After a
 * failed cj_init() the process is as it was, and may try again.
 *
 * Waiting. No wait is without an end. Start-up has one deadline, every
 * operation has its own, and while a rank waits it watches its side-channel
 * connections, so that a rank that died is an error on the others and no hang.
 * A rank that failed closes its connections. Rank 0, at the centre, then fails
 * too, and so do all others.
 *
 * After an error in an operation the group is failed: work may be left in the
 * queues and nobody can tell what a late message belongs to. Every later call
 * answers CJ_GROUP_FAILED and repeats the first error; only cj_finalize() is
 * left. A wrong argument is refused before anything is sent and does no harm.
 *
 * Lost messages. A Thunderbolt device holds a SEND back until its peer has
 * posted a receive. Others drop it (soft-RoCE's UC). There, the ranks meet on
 * the side channel before an operation's first SEND, and later ones are sent
 * only to a peer that is known to have posted (see enum cj_handshake). Where a
 * device grants a queue of one message only, they meet before every SEND.
 *
 * Hooks. The verbs, the dynamic loader, the clock, the allocator and the side
 * channel's transport come in through the configuration, each with a default.
 * A hook's table is copied by cj_init(); what its `ctx` points at must outlive
 * the group.
 *
 * Threads. Different groups may be used from different threads; one group from
 * one thread at a time. Errors are reported in the caller's struct cj_error and
 * nowhere else: cjaccl prints nothing, exits never and keeps no global state.
 */
#ifndef CJACCL_H
#define CJACCL_H

#include <infiniband/verbs.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A mesh has at most as many ranks as JACCL's. */
#define CJ_MAX_RANKS 8

#define CJ_DEVICE_NAME_SIZE 64
#define CJ_MESSAGE_SIZE 512

/* What went wrong, coarsely: what a program would tell apart. */
enum cj_status {
    CJ_OK = 0,
    CJ_INVALID = -1,      /* a configuration or an argument makes no sense */
    CJ_UNSUPPORTED = -2,  /* it makes sense, but cjaccl cannot do it (yet) */
    CJ_NO_MEMORY = -3,    /* the allocator answered NULL */
    CJ_NO_LIBRARY = -4,   /* no verbs library, or one that lacks a symbol */
    CJ_NO_DEVICE = -5,    /* no device, not that device, or its port is down */
    CJ_VERBS = -6,        /* a verbs call failed */
    CJ_NETWORK = -7,      /* the side channel: address, socket, connection */
    CJ_PEER_GONE = -8,    /* another rank closed its connection */
    CJ_PROTOCOL = -9,     /* another rank sent what it never should */
    CJ_TIMEOUT = -10,     /* a deadline passed */
    CJ_COMPLETION = -11,  /* a completion with an error, or a garbled one */
    CJ_GROUP_FAILED = -12 /* an earlier operation failed; see its error */
};

/* Where it went wrong, in the order of a group's life. */
enum cj_step {
    CJ_STEP_NONE,
    CJ_STEP_CONFIG,
    CJ_STEP_LISTEN,
    CJ_STEP_ACCEPT, /* rank 0 waits for the others and reads their ranks */
    CJ_STEP_CONNECT,
    CJ_STEP_HELLO, /* another rank sends its rank */
    CJ_STEP_LIBRARY,
    CJ_STEP_DEVICE_LIST,
    CJ_STEP_OPEN_DEVICE,
    CJ_STEP_QUERY_PORT,
    CJ_STEP_QUERY_GID,
    CJ_STEP_ALLOC_PD,
    CJ_STEP_ARENA,
    CJ_STEP_REG_MR,
    CJ_STEP_CREATE_CQ,
    CJ_STEP_CREATE_QP,
    CJ_STEP_INIT_QP,
    CJ_STEP_EXCHANGE, /* the ranks tell each other where their queue pairs are
                       */
    CJ_STEP_RTR,
    CJ_STEP_RTS,
    CJ_STEP_START_BARRIER,
    CJ_STEP_ALL_SUM,
    CJ_STEP_BARRIER,
    CJ_STEP_FINALIZE,
    CJ_STEP_COUNT
};

/*
 * An error, as precise as it is known. `message` is one sentence or two: what
 * failed and where, then what to do about it. It holds all of the other fields
 * that matter, so a program can print it and nothing else.
 */
struct cj_error {
    enum cj_status code; /* CJ_OK: no error, and nothing else is valid */
    enum cj_step step;
    int rank;                         /* the rank that reports this */
    int err_no;                       /* an errno, 0 when there is none */
    int peer;                         /* the rank it is about, or -1 */
    char device[CJ_DEVICE_NAME_SIZE]; /* the device it is about, or "" */
    char message[CJ_MESSAGE_SIZE];
};

/*
 * The verbs that cjaccl calls, with verbs.h's own signatures and behaviour.
 * ibv_post_send, ibv_post_recv and ibv_poll_cq are not here: they are inline
 * functions that go through the context. query_device and query_qp may be NULL;
 * their answers only make the error messages and the queues' depth better.
 *
 * query_port may fill less than the whole struct (the symbol that libibverbs
 * exports does): cjaccl zeroes it first.
 */
struct cj_verbs {
    struct ibv_device **(*get_device_list)(int *count);
    void (*free_device_list)(struct ibv_device **list);
    const char *(*get_device_name)(struct ibv_device *device);
    struct ibv_context *(*open_device)(struct ibv_device *device);
    int (*close_device)(struct ibv_context *context);
    int (*query_device)(struct ibv_context *context,
                        struct ibv_device_attr *attr);
    int (*query_port)(struct ibv_context *context, uint8_t port,
                      struct ibv_port_attr *attr);
    int (*query_gid)(struct ibv_context *context, uint8_t port, int index,
                     union ibv_gid *gid);
    struct ibv_pd *(*alloc_pd)(struct ibv_context *context);
    int (*dealloc_pd)(struct ibv_pd *pd);
    struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *addr, size_t length,
                             int access);
    int (*dereg_mr)(struct ibv_mr *mr);
    struct ibv_cq *(*create_cq)(struct ibv_context *context, int entries,
                                void *cq_context,
                                struct ibv_comp_channel *channel,
                                int comp_vector);
    int (*destroy_cq)(struct ibv_cq *cq);
    struct ibv_qp *(*create_qp)(struct ibv_pd *pd,
                                struct ibv_qp_init_attr *attr);
    int (*modify_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask);
    int (*query_qp)(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
                    struct ibv_qp_init_attr *init_attr);
    int (*destroy_qp)(struct ibv_qp *qp);
};

/*
 * The dynamic loader, used only when no struct cj_verbs is given.
 * Default: dlopen of `librdma.dylib` on macOS and `libibverbs.so.1` elsewhere.
 */
struct cj_library {
    void *ctx;
    /* The library of that name, or NULL. */
    void *(*open)(void *ctx, const char *name);
    /* The address of the symbol, or NULL. */
    void *(*symbol)(void *ctx, void *library, const char *name);
    void (*close)(void *ctx, void *library);
};

/*
 * Time, in nanoseconds since any fixed point, never going back. All deadlines
 * are absolute times of this clock. Default: CLOCK_MONOTONIC. A configuration
 * that brings a clock of its own also has to bring a struct cj_net that
 * understands that clock's deadlines.
 */
struct cj_clock {
    void *ctx;
    int64_t (*now_ns)(void *ctx);
    /* Returns at `until_ns` or later. */
    void (*sleep)(void *ctx, int64_t until_ns);
    /*
     * A look at all completion queues found nothing, for the `round`-th time in
     * a row (0, 1, 2, ...); there is nothing to do before `until_ns` unless a
     * completion or a connection changes. May return at any time up to then.
     *
     * Returns non-zero when cjaccl shall look at the clock and at its
     * connections before it polls again, 0 when it shall only poll. The default
     * spins first, then yields the processor, and asks for that look about once
     * in a millisecond, so that polling is not slowed by system calls. A
     * simulator returns 1 always, at once in round 0 (so that a connection that
     * was already closed is noticed) and in later rounds when a completion or a
     * connection changed or `until_ns` came.
     */
    int (*idle)(void *ctx, int64_t until_ns, unsigned round);
};

/*
 * Memory. Every allocation of cjaccl goes through this: the group, and the
 * arena when the first device is ready. alloc answers NULL on failure; the
 * memory need not be zeroed. `align` is a power of two, and `size` at free is
 * the size asked for. Default: posix_memalign and free.
 */
struct cj_allocator {
    void *ctx;
    void *(*alloc)(void *ctx, size_t align, size_t size);
    void (*free)(void *ctx, void *memory, size_t size);
};

/*
 * The side channel's transport: reliable ordered bytes. Default: TCP over IPv4
 * or IPv6. An end is a listener or a connection, named by a number of the
 * transport's choice that is not negative. Deadlines are absolute times of the
 * clock above; a deadline that has passed means "do not wait". Every function
 * answers a negative errno on failure, -ETIMEDOUT when the deadline passed.
 * An interrupted system call is no failure.
 */
struct cj_net {
    void *ctx;
    /* A listener at that address: an end. */
    int (*listen)(void *ctx, const char *host, uint16_t port);
    /*
     * The next connection of a listener: an end. One that failed before it was
     * accepted is passed over.
     */
    int (*accept)(void *ctx, int listener, int64_t deadline_ns);
    /*
     * One attempt to connect: an end. cjaccl repeats it, with pauses, as long
     * as nobody listens (-ECONNREFUSED and the like). Of a host with several
     * addresses each gets a share of the time: one where nobody answers does
     * not use up all of it. -ENOENT, here and of listen: no such host.
     */
    int (*connect)(void *ctx, const char *host, uint16_t port,
                   int64_t deadline_ns);
    /* Sends 1 to `size` bytes: how many. Never raises SIGPIPE. */
    int64_t (*send)(void *ctx, int end, const void *data, size_t size,
                    int64_t deadline_ns);
    /* Receives 1 to `size` bytes: how many, 0 when the peer has closed. */
    int64_t (*recv)(void *ctx, int end, void *data, size_t size,
                    int64_t deadline_ns);
    /*
     * Waits until one of `count` ends is ready: a listener has a connection to
     * accept; a connection has bytes, is closed, or failed. Its index in
     * `ends`.
     */
    int (*wait)(void *ctx, const int *ends, int count, int64_t deadline_ns);
    /* Never fails. The peer sees the end of the stream. */
    void (*close)(void *ctx, int end);
    /*
     * 0 while the peer has not closed, a negative errno once it has, also when
     * bytes are still to be read (the default: on Linux and macOS; elsewhere
     * maybe only after they were read); consumes nothing and does not wait.
     */
    int (*alive)(void *ctx, int end);
    /* Writes a name of the peer, e.g. "10.0.0.2:50014"; never fails. */
    void (*peer_name)(void *ctx, int end, char *name, size_t size);
};

/* The names of the devices that lead from one rank to another, one per wire. */
struct cj_cell {
    const char *const *names;
    int count;
};

/*
 * Whether SENDs need the ranks to agree first (see "Lost messages" above).
 * The ranks settle it at start-up and all do the same: on as soon as one rank
 * wants it. A JACCL rank knows no handshake; in a group with one it is off, and
 * CJ_HANDSHAKE_ON is an error.
 */
enum cj_handshake {
    CJ_HANDSHAKE_AUTO, /* on, unless every device's transport is Thunderbolt */
    CJ_HANDSHAKE_ON,
    CJ_HANDSHAKE_OFF
};

/*
 * What a group is made of. Zeroed fields mean the defaults. Nothing of it is
 * needed after cj_init() has returned, except what the hooks' ctx point at.
 */
struct cj_config {
    int rank; /* 0 .. size-1 */
    int size; /* 1 .. CJ_MAX_RANKS; a group of one needs no device at all */
    /*
     * The device file: size*size cells, row by row; cells[r * size + p] holds
     * the devices of rank r that lead to rank p. Every cell but the diagonal
     * needs one name; of more, a mesh uses the first. May be NULL if size is 1.
     */
    const struct cj_cell *cells;
    /* Of rank 0, "address:port", "name:port" or "[v6]:port"; NULL if size is 1.
     */
    const char *coordinator;
    int64_t start_timeout_ns;     /* of cj_init(); 0: 60 s */
    int64_t operation_timeout_ns; /* of each operation; 0: 600 s */
    enum cj_handshake handshake;
    const struct cj_verbs *verbs;     /* NULL: from the library */
    const struct cj_library *library; /* NULL: dlopen */
    const struct cj_clock *clock;     /* NULL: CLOCK_MONOTONIC */
    const struct cj_allocator *allocator;
    const struct cj_net *net; /* NULL: TCP */
};

/* The element types, numbered as JACCL's. */
enum cj_type {
    CJ_BOOL, /* one byte; a sum is "any of them" */
    CJ_INT8,
    CJ_INT16,
    CJ_INT32,
    CJ_INT64,
    CJ_UINT8,
    CJ_UINT16,
    CJ_UINT32,
    CJ_UINT64,
    CJ_FLOAT16,
    CJ_BFLOAT16,
    CJ_FLOAT32,
    CJ_FLOAT64,
    CJ_COMPLEX64, /* two float32: real, imaginary */
    CJ_TYPE_COUNT
};

struct cj_group;

/*
 * Starts a group and waits until every rank has started. On success stores the
 * group, which the caller gives back to cj_finalize(). On failure stores NULL,
 * fills *error, and has released everything; what could not be released is
 * named at the end of the message. `error` may be NULL.
 */
int cj_init(const struct cj_config *config, struct cj_group **group,
            struct cj_error *error);

/*
 * out[i] = the sum of all ranks' in[i], for i in 0 .. count-1, the same bits on
 * every rank: the ranks' elements are added in the order of their ranks.
 * Integers wrap. A float16 or bfloat16 is rounded, to nearest even, after every
 * addition. Every rank has to call this with the same count and type. `in` and
 * `out` are aligned for their type and are equal or do not overlap. Collective;
 * count 0 is none at all and returns at once.
 */
int cj_all_sum(struct cj_group *group, const void *in, void *out, size_t count,
               enum cj_type type, struct cj_error *error);

/* Returns when every rank has called it. Collective. */
int cj_barrier(struct cj_group *group, struct cj_error *error);

/*
 * Releases the group, also a failed one, without waiting for the other ranks;
 * children before their parents. What fails to be released is left, the rest is
 * released all the same, and the first failure is the result. `group` is gone
 * in any case. NULL is a group that was finalized already: CJ_OK.
 *
 * The arena's memory is freed unless a device kept its right to write to it
 * (its region was not released and the device was not closed): it then leaks.
 */
int cj_finalize(struct cj_group *group, struct cj_error *error);

/* The rank of the caller, the number of ranks. */
int cj_rank(const struct cj_group *group);
int cj_size(const struct cj_group *group);

/* Bytes of one element; 0 if there is no such type. */
size_t cj_type_size(enum cj_type type);

/* A few words for a status ("a deadline passed"), a step ("connect"). */
const char *cj_strstatus(int status);
const char *cj_strstep(int step);

#ifdef __cplusplus
}
#endif

#endif
