/*
 * cjaccl: the start-up and the collectives of JACCL, in C, for verbs devices.
 *
 * A group is a fixed set of ranks, each a process (or, in a simulator, a
 * fiber). cj_init() builds one, the operations below use it, cj_finalize()
 * takes it down. A rank of cjaccl and a rank of JACCL (2026-08-22) can be
 * members of one group: they share the configuration, the side channel and the
 * wire format.
 *
 * Topologies. In a mesh every rank has a queue pair to every other one; in a
 * ring, to its two neighbours only, over 1 to 4 wires each. In a ring of two
 * ranks both neighbours are the same peer, over two sets of queue pairs.
 *
 * How a group starts, in this order on every rank:
 *
 *   1. the configuration is checked; nothing has been touched so far;
 *   2. side channel: rank 0 listens at the coordinator's address, the others
 *      connect and say who they are. It comes before everything that can fail
 *      on one rank only, because it is how the other ranks learn of a failure.
 *      A caller that has a way of its own to exchange bytes gives that instead;
 *   3. the verbs library is loaded, the devices are opened, each once, however
 *      many peers are reached through it, and their ports must be up;
 *   4. per device one domain, per link (a wire to a peer) a completion queue
 *      and a queue pair;
 *   5. the ranks exchange where their queue pairs are. Now each knows whether
 *      all are cjaccl, and how they will talk (see "On the wire");
 *   6. per device one registered region (the arena, which holds every buffer of
 *      the group); the queue pairs are connected, and the ranks meet twice
 *      before the first of them returns.
 *
 * Whatever fails, all that was built is released in reverse: queue pairs,
 * region, completion queues, domains, devices, library, connections. After a
 * failed cj_init() the process is as it was, and may try again.
 *
 * Sockets. A group can also run over TCP, as a ring of connections: because
 * the caller wants that (CJ_BACKEND_SOCKETS), or because RDMA could not be
 * started on some rank and all ranks allowed it (CJ_FALLBACK_SOCKETS). Then the
 * ranks agree on it, all of them, and each warns once. Results are those of a
 * ring.
 *
 * On the wire. With a JACCL rank in the group, messages are JACCL's: always a
 * whole class of 4096 << k bytes, with nothing to tell one from another. In a
 * group of cjaccl ranks only, a message is as long as its data and a trailer
 * that says which message of which operation it is: one that was lost, is stale
 * or belongs to another operation is an error and never a wrong result. There,
 * a rank that calls another operation than its peers, or the same with another
 * type or count, is an error too.
 *
 * Lost messages. A Thunderbolt device holds a SEND back until its peer has
 * posted a receive of as many 4 KiB frames. Others drop a SEND that comes too
 * early (soft-RoCE's UC). There, ranks of cjaccl keep receives posted at all
 * times and send no more than those (credits). With a JACCL rank in the group
 * nothing can be done about it.
 *
 * Waiting. No wait is without an end. Start-up has one deadline. An operation
 * fails when nothing has moved for its time-out: every message that came or
 * went renews its deadline, so it may take as long as its bytes do. And while a
 * rank waits it watches its side-channel connections, so that a rank that died
 * is an error on the others and no hang. A rank that failed closes its
 * connections. Rank 0, at the centre, then fails too, and so do all others. In
 * a group of cjaccl ranks only it passes on who began and why, and each rank's
 * error names that one.
 *
 * After an error in an operation the group is failed: work may be left in the
 * queues and nobody can tell what a late message belongs to. Every later call
 * answers CJ_GROUP_FAILED and repeats the first error; only cj_finalize() is
 * left. A wrong argument is refused before anything is sent and does no harm.
 *
 * Hooks. The verbs, the dynamic loader, the clock, the allocator and the side
 * channel's transport come in through the configuration, each with a default.
 * A hook's table is copied by cj_init(); what its `ctx` points at must outlive
 * the group.
 *
 * Threads. Different groups may be used from different threads, also several on
 * one device; one group from one thread at a time. Errors are reported in the
 * caller's struct cj_error and nowhere else: cjaccl exits never, keeps no
 * global state, and prints nothing but the warning of a fallback, if nobody
 * takes that.
 *
 * Processes that fork. A process that forks keeps its groups; in the child they
 * answer CJ_INVALID, and cj_finalize() there frees memory and closes the
 * child's copies of TCP connections, which nobody else notices. exec closes
 * them, too. What cannot be done: when a rank is killed while a child of it
 * lives on that did neither, its connections live on with the child, and the
 * other ranks take it for alive until their deadline.
 */
#ifndef CJACCL_H
#define CJACCL_H

#include <infiniband/verbs.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CJ_MAX_RANKS 64
/* JACCL's: ranks of a mesh, wires from a rank of a ring to its neighbour. */
#define CJ_MAX_MESH_RANKS 8
#define CJ_MAX_WIRES 4

#define CJ_DEVICE_NAME_SIZE 64
#define CJ_MESSAGE_SIZE 512

/* What went wrong, coarsely: what a program would tell apart. */
enum cj_status {
    CJ_OK = 0,
    CJ_INVALID = -1,       /* a configuration or an argument makes no sense */
    CJ_UNSUPPORTED = -2,   /* it makes sense, but cjaccl cannot do it (yet) */
    CJ_NO_MEMORY = -3,     /* the allocator answered NULL */
    CJ_NO_LIBRARY = -4,    /* no verbs library, or one that lacks a symbol */
    CJ_NO_DEVICE = -5,     /* no device, not that device, or its port is down */
    CJ_VERBS = -6,         /* a verbs call failed */
    CJ_NETWORK = -7,       /* the side channel: address, socket, connection */
    CJ_PEER_GONE = -8,     /* another rank closed its connection */
    CJ_PROTOCOL = -9,      /* another rank sent what it never should */
    CJ_TIMEOUT = -10,      /* a deadline passed */
    CJ_COMPLETION = -11,   /* a completion with an error, or a garbled one */
    CJ_GROUP_FAILED = -12, /* an earlier operation failed; see its error */
    CJ_NO_CONFIGURATION = -13 /* the environment does not make this a rank */
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
    CJ_STEP_FALLBACK, /* the ranks agree to go on over sockets */
    CJ_STEP_ALL_SUM,
    CJ_STEP_ALL_MAX,
    CJ_STEP_ALL_MIN,
    CJ_STEP_ALL_GATHER,
    CJ_STEP_SUM_SCATTER,
    CJ_STEP_SEND,
    CJ_STEP_RECV,
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
    /* A listener at that address: an end. Port 0: any that is free. */
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
    /*
     * Writes where others can reach this end: of a connection its own address
     * ("10.0.0.1"), without a port, into `host`, and of a listener its port
     * into `port`. Only the socket ring asks; may be NULL, then there is none.
     */
    int (*local_name)(void *ctx, int end, char *host, size_t size,
                      uint16_t *port);
};

/*
 * The caller's own side channel, in place of connections: an all-gather.
 * Writes every rank's `bytes` bytes into `all`, in rank order; 0, or a negative
 * errno. It is called by every rank the same number of times with the same
 * sizes, and should come back by itself when a rank is gone: cjaccl cannot
 * interrupt it and has no other way to see that.
 */
struct cj_gather {
    void *ctx;
    int (*all_gather)(void *ctx, const void *mine, void *all, size_t bytes);
};

/* The names of the devices that lead from one rank to another, one per wire. */
struct cj_cell {
    const char *const *names;
    int count;
};

enum cj_topology {
    CJ_TOPOLOGY_AUTO, /* a mesh where the cells allow one, else a ring */
    CJ_TOPOLOGY_RING, /* a ring where the cells allow one, else a mesh */
};

enum cj_backend {
    CJ_BACKEND_RDMA,
    CJ_BACKEND_SOCKETS /* no device is needed, and no cells */
};

/* What to do when RDMA cannot be started on some rank. */
enum cj_fallback {
    CJ_FALLBACK_NONE,   /* that is an error on every rank */
    CJ_FALLBACK_SOCKETS /* when all ranks say so: the socket ring */
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
     * the devices of rank r that lead to rank p, one per wire. A mesh needs a
     * name in every cell but the diagonal; of more, it uses the first. A ring
     * needs the same number of names in all cells of neighbours. May be NULL if
     * size is 1 or the backend is sockets.
     */
    const struct cj_cell *cells;
    /* Of rank 0, "address:port", "name:port" or "[v6]:port"; may be NULL if
     * size is 1 or there is a `gather`. */
    const char *coordinator;
    enum cj_topology topology;
    enum cj_backend backend;
    enum cj_fallback fallback;
    int64_t start_timeout_ns;         /* of cj_init(); 0: 60 s */
    int64_t operation_timeout_ns;     /* without progress; 0: 600 s */
    const struct cj_gather *gather;   /* NULL: connections to rank 0 */
    const struct cj_verbs *verbs;     /* NULL: from the library */
    const struct cj_library *library; /* NULL: dlopen */
    const struct cj_clock *clock;     /* NULL: CLOCK_MONOTONIC */
    const struct cj_allocator *allocator;
    const struct cj_net *net; /* NULL: TCP */
    /* Takes the one warning of a fallback; NULL: standard error. */
    void (*warn)(void *ctx, const char *message);
    void *warn_ctx;
};

/*
 * A configuration that was read from somewhere, and the memory behind it. Its
 * `config` may be changed, and hooks be put in, before it is given to
 * cj_init(). cj_settings_free() takes back the memory, at any time after that.
 */
struct cj_settings {
    struct cj_config config;
    void *memory;
};

/*
 * As JACCL reads the environment; of two names the first that is set counts:
 *
 *   JACCL_RANK, MLX_RANK                        the rank
 *   JACCL_IBV_DEVICES, MLX_IBV_DEVICES          path of a device file
 *   JACCL_COORDINATOR, MLX_JACCL_COORDINATOR    address:port of rank 0
 *   JACCL_RING, MLX_JACCL_RING                  set at all: prefer the ring
 *
 * and of cjaccl's own:
 *
 *   CJ_FALLBACK    "sockets": CJ_FALLBACK_SOCKETS; "none"
 *   CJ_BACKEND     "sockets": CJ_BACKEND_SOCKETS; "rdma"
 *   CJ_START_TIMEOUT, CJ_OPERATION_TIMEOUT    seconds, e.g. 2.5
 *
 * A coordinator that is set but empty, and one of cjaccl's own names that is,
 * is as good as not set; a rank or a path that is empty is an error.
 *
 * CJ_NO_CONFIGURATION when neither a rank nor a device file is named: this
 * process is no rank. On failure nothing has to be freed.
 */
int cj_settings_from_env(struct cj_settings *settings, struct cj_error *error);

/*
 * Reads the cells of a device file (a JSON array of rows, a cell being null, a
 * name or an array of names) or of an mlx.launch hostfile ({"hosts": [{"rdma":
 * row, "ips": [..]}, ..]}, or that list of hosts alone), which also gives the
 * coordinator's address, at port 32323, where no `coordinator` is given. `text`
 * is `size` bytes and need not end in a zero; `name` is what messages call it.
 * Everything that is wrong is CJ_INVALID, with the row and column.
 */
int cj_settings_from_text(struct cj_settings *settings, const char *text,
                          size_t size, const char *name, int rank,
                          const char *coordinator, struct cj_error *error);
int cj_settings_from_file(struct cj_settings *settings, const char *path,
                          int rank, const char *coordinator,
                          struct cj_error *error);
void cj_settings_free(struct cj_settings *settings);

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

/*
 * A NULL where there may be none is CJ_INVALID. It may be the `error` of every
 * function, a buffer of no bytes, and the group of cj_finalize().
 */
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
 * Reductions. out[i] = all ranks' in[i] combined, for i in 0 .. count-1, the
 * same bits on every rank. Integers wrap; a sum of bool is "any". A float16 or
 * bfloat16 is rounded, to nearest even, after every addition. Complex numbers
 * are compared by their real, then by their imaginary part. Where one is a NaN,
 * or two are equal, JACCL's choice is made.
 *
 * In a mesh of cjaccl ranks the elements are combined in the order of the
 * ranks, in a ring in the order of the ring from some rank on.
 *
 * Every rank has to make the same call with the same count and type. `in` and
 * `out` are aligned for their type and are equal or do not overlap. Collective;
 * count 0 is none at all and returns at once.
 */
int cj_all_sum(struct cj_group *group, const void *in, void *out, size_t count,
               enum cj_type type, struct cj_error *error);
int cj_all_max(struct cj_group *group, const void *in, void *out, size_t count,
               enum cj_type type, struct cj_error *error);
int cj_all_min(struct cj_group *group, const void *in, void *out, size_t count,
               enum cj_type type, struct cj_error *error);

/*
 * `in` is `bytes` bytes, `out` size * bytes, in the order of the ranks. `in`
 * may be its own place in `out`, else the two do not overlap. Collective.
 */
int cj_all_gather(struct cj_group *group, const void *in, void *out,
                  size_t bytes, struct cj_error *error);

/*
 * `in` is size * count elements; out[i] = the sum of all ranks' in[rank * count
 * + i]: count elements. `out` may be in's first elements or this rank's part of
 * it, else the two do not overlap. Collective.
 */
int cj_sum_scatter(struct cj_group *group, const void *in, void *out,
                   size_t count, enum cj_type type, struct cj_error *error);

/*
 * `bytes` bytes from one rank to another, which has to call the other of the
 * two with the same number. In a ring, to and from neighbours only. 0 bytes
 * return at once.
 */
int cj_send(struct cj_group *group, const void *in, size_t bytes, int to,
            struct cj_error *error);
int cj_recv(struct cj_group *group, void *out, size_t bytes, int from,
            struct cj_error *error);

/* Returns when every rank has called it. Collective. */
int cj_barrier(struct cj_group *group, struct cj_error *error);

/*
 * Releases the group, also a failed one, without waiting for the other ranks,
 * which may do so in any order. In a group of cjaccl ranks only, the others go
 * on with what does not need this one: what they send each other. A collective
 * that this rank did not begin is an error on them that names it, as is a send
 * to it or a recv of what it never sent. Once rank 0 has left, nobody passes on
 * which rank failed (see "Waiting"); then a send or a recv whose other end dies
 * may only end at its deadline. With a JACCL rank in the group, or where a
 * process ends without this call, a rank that leaves while others are in an
 * operation is missed by them, even if they need nothing of it: there, a
 * cj_barrier() comes first.
 *
 * Children are released before their parents. What fails to be released is
 * left, the rest is released all the same, and the first failure is the result.
 * `group` is gone in any case. NULL is a group that was finalized already:
 * CJ_OK.
 *
 * The arena's memory is freed unless a device kept its right to write to it
 * (its region was not released and the device was not closed): it then leaks.
 */
int cj_finalize(struct cj_group *group, struct cj_error *error);

/* The rank of the caller, the number of ranks. Of NULL: -1 and 0. */
int cj_rank(const struct cj_group *group);
int cj_size(const struct cj_group *group);

/* What has become of a group; of NULL all is 0. */
struct cj_info {
    bool ring;         /* else a mesh */
    bool sockets;      /* it runs over TCP */
    bool all_cjaccl;   /* no JACCL rank is in it */
    int wires;         /* to each neighbour of a ring; 1 in a mesh */
    int queue_pairs;   /* this and what follows: of this rank */
    int regions;       /* one per device, between operations */
    size_t memory;     /* bytes of all buffers and of the group itself */
    size_t registered; /* bytes, counted once per region */
};
void cj_group_info(const struct cj_group *group, struct cj_info *info);

/* Whether a verbs library with at least one device is there. `library` is as in
 * the configuration, NULL the default. */
bool cj_is_available(const struct cj_library *library);

/* Bytes of one element; 0 if there is no such type. */
size_t cj_type_size(enum cj_type type);

/* A few words for a status ("a deadline passed"), a step ("connect"). */
const char *cj_strstatus(int status);
const char *cj_strstep(int step);

#ifdef __cplusplus
}
#endif

#endif
