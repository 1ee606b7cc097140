/*
 * legacy.h: a model of JACCL that makes JACCL's calls, mistakes included.
 *
 * JACCL is C++ that nobody has on every machine, and a library that crashes is
 * a bad laboratory. The model is C that makes the same verbs calls with the
 * same arguments in the same order, sends the same bytes over the side channel
 * and on the wire, and does the same wrong things to its memory. It is the
 * quarry: it is never to be fixed. Three revisions share the code; where they
 * differ stands in `struct legacy_revision`.
 *
 * How C++ is told in C:
 *
 *   exceptions   a function that throws answers -1 with the failure's message
 *                filled in; its callers hand the -1 up.
 *   destructors  run when a group is given up, in C++'s order: members in
 *                reverse order of declaration, vectors from the first element
 *                to the last, a buffer's regions newest first (an unordered
 *                map's way with few elements). They make their verbs calls
 *                and do not look at the answers.
 *   crashes      what would touch memory that is not there is seen before it
 *                is done and announced by legacy_crash() under a title that
 *                is the same on every run. If that returns (--keep-going) it
 *                is really done, on a heap block of the exact size, so that
 *                AddressSanitizer has its say; without it the result is wild.
 *   rubbish      memory that JACCL leaves uninitialised has one fixed content
 *                here (LEGACY_RUBBISH), so that runs repeat.
 *
 * NULL handles are handed to the verbs as JACCL hands them: the front door
 * names them. Completion status is not looked at. The facts that a piece of
 * code models stand beside it.
 *
 * JACCL runs a ring's wires on a thread each (from 2026-08-04); here they run
 * one after the other in ascending order, which is one of the orders that the
 * threads can take: no wire waits for another one of its rank.
 */
#ifndef SIM_SUBJECTS_LEGACY_H
#define SIM_SUBJECTS_LEGACY_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/rank.h"
#include "sim/subject.h"

#define LEGACY_SEND 1 /* kinds of work in a wr_id: kind << 16 | copy << 8 | */
#define LEGACY_RECV 2 /* rank (mesh), direction or wire (ring) */
#define LEGACY_QUEUE_DEPTH 32 /* work requests per queue */
#define LEGACY_CLASSES 8      /* buffer sizes: 4096 << class */
#define LEGACY_COPIES 2       /* buffers of each, and depth of pipelines */
#define LEGACY_FRAME 4096
#define LEGACY_LARGEST (LEGACY_FRAME << (LEGACY_CLASSES - 1))
#define LEGACY_PAGE 16384 /* Apple silicon's page */
#define LEGACY_MESH_MAX 8 /* ranks of a mesh */
#define LEGACY_WIRES_MAX 4
#define LEGACY_LIST_MAX (SCN_RANKS_MAX + 1) /* rows of a device file */
#define LEGACY_SMALL_MESSAGE (32 * 1024)
#define LEGACY_POLL_MAX 32 /* completions asked for at once, at most */
/* Bytes of a vector, past which the model calls memory exhausted: a peer may
 * announce any length. */
#define LEGACY_MEMORY_MAX ((int64_t)64 << 20)
#define LEGACY_RUBBISH 0xa5 /* every byte of uninitialised memory */

/* ---- what differs between the revisions --------------------------------- */

struct legacy_revision {
    const char *name;
    bool checks_rank; /* the rank must be one of the device file's rows */
    bool missing_device_throws; /* mlx#4180; else the vector is just shorter */
    bool missing_gid_throws;    /* mlx#4191; else rubbish is the GID */
    bool names_qp_errno;        /* mlx#4209 */
    bool scatter_buffers;       /* mlx#3901; else a mesh embeds a ring */
    bool flat_gather;  /* gathered vectors live in one block of memory */
    bool late_staging; /* own data is staged again only after it was reduced */
    bool wire_passes;  /* a ring runs wire by wire; else all in one loop */
    bool pooled_wires; /* all wires but the last on threads, whose exceptions
                          nobody asks for */
    bool clamped_slices; /* a wire's last frame ends with its slice */
};

/* ---- the verbs library -------------------------------------------------- */

/* What is looked up, in this order, up to the first symbol that is missing:
 * that one and those after it stay NULL. X(name, answer, arguments). */
#define LEGACY_SYMBOLS(X)                                                      \
    X(get_device_list, struct ibv_device **, (int *))                          \
    X(get_device_name, const char *, (struct ibv_device *))                    \
    X(open_device, struct ibv_context *, (struct ibv_device *))                \
    X(free_device_list, void, (struct ibv_device **))                          \
    X(close_device, int, (struct ibv_context *))                               \
    X(alloc_pd, struct ibv_pd *, (struct ibv_context *))                       \
    X(create_qp, struct ibv_qp *,                                              \
      (struct ibv_pd *, struct ibv_qp_init_attr *))                            \
    X(create_cq, struct ibv_cq *,                                              \
      (struct ibv_context *, int, void *, struct ibv_comp_channel *, int))     \
    X(destroy_cq, int, (struct ibv_cq *))                                      \
    X(destroy_qp, int, (struct ibv_qp *))                                      \
    X(dealloc_pd, int, (struct ibv_pd *))                                      \
    X(query_port, int,                                                         \
      (struct ibv_context *, uint8_t, struct ibv_port_attr *))                 \
    X(query_gid, int, (struct ibv_context *, uint8_t, int, union ibv_gid *))   \
    X(modify_qp, int, (struct ibv_qp *, struct ibv_qp_attr *, int))            \
    X(reg_mr, struct ibv_mr *, (struct ibv_pd *, void *, size_t, int))         \
    X(dereg_mr, int, (struct ibv_mr *))

struct legacy_library {
#define LEGACY_MEMBER(name, answer, arguments) answer(*name) arguments;
    LEGACY_SYMBOLS(LEGACY_MEMBER)
#undef LEGACY_MEMBER
};

/* The function behind a symbol; says so first when there is none. */
#define LEGACY_CALL(group, verb)                                               \
    (legacy_need((group), (group)->library.verb != NULL, "ibv_" #verb),        \
     (group)->library.verb)

/* ---- parts of a group --------------------------------------------------- */

/* What a peer is told of a queue pair: 32 bytes on the side channel. */
struct legacy_destination {
    int32_t local_id;
    int32_t queue_pair_number;
    int32_t packet_sequence_number;
    unsigned char padding[4];
    union ibv_gid gid;
};

struct legacy_connection {
    struct ibv_context *context;
    struct ibv_pd *domain;
    struct ibv_cq *completion_queue;
    struct ibv_qp *queue_pair;
    struct legacy_destination source;
};

/* A vector of connections, or a part of one. */
struct legacy_span {
    struct legacy_connection *at;
    int count;
};

struct legacy_connections {
    int count;
    struct legacy_connection at[LEGACY_LIST_MAX];
};

struct legacy_region {
    struct ibv_pd *domain;
    struct ibv_mr *region; /* NULL: registration failed */
    struct legacy_region *older;
};

struct legacy_buffer {
    void *data; /* NULL: the allocation failed, which nobody checks */
    size_t bytes;
    struct legacy_region *newest;
};

/* A vector of buffers; it has room for as many as will be created. */
struct legacy_buffers {
    int count;
    struct legacy_buffer *at;
};

struct legacy_channel {
    int rank, size, count;
    int sockets[LEGACY_LIST_MAX]; /* rank 0: size - 1; else one */
};

#define LEGACY_SETS (LEGACY_CLASSES * LEGACY_COPIES)
/* A mesh of 8 at 2026-08-22 has most: 8 + 16 buffers a set, registered 28
 * times. */
#define LEGACY_BUFFERS_MAX (LEGACY_SETS * 3 * LEGACY_MESH_MAX)
#define LEGACY_REGIONS_MAX (LEGACY_SETS * 4 * LEGACY_MESH_MAX)

struct legacy_group {
    struct sim_rank *sim;
    const struct legacy_revision *revision;
    struct sim_failure *failure; /* of the operation that runs */
    struct legacy_library library;
    bool ring;
    int rank, size;
    int wires; /* of a ring, by the device file */
    struct legacy_channel channel;
    struct legacy_connections mesh, left, right;
    struct legacy_buffers mesh_buffers, send_buffers, recv_buffers,
        scatter_buffers;
    char *staging; /* LEGACY_COPIES times LEGACY_LARGEST */
    int buffers_used, regions_used;
    struct legacy_buffer buffers[LEGACY_BUFFERS_MAX];
    struct legacy_region regions[LEGACY_REGIONS_MAX];
};

/* ---- legacy_fault.c: exceptions and crashes ----------------------------- */

/* "throws": fills in the failure and answers -1. */
int legacy_throw(struct legacy_group *group, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Announces a fault. Returns only when the run keeps going. */
void legacy_crash(struct legacy_group *group, const char *title,
                  const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Announces that the element at index of a vector of count elements, `bytes`
 * each, is read (or written), then does that. what: "connections", where:
 * "mesh"; the title is "read past WHAT in WHERE", or "index of empty WHAT in
 * WHERE" when there are none. */
void legacy_past(struct legacy_group *group, const char *what,
                 const char *where, size_t bytes, int64_t count, int64_t index);
/* Reads one byte of the element at index of a heap block that is exactly count
 * elements long: out of bounds on purpose. */
void legacy_touch(size_t bytes, int64_t count, int64_t index);
void legacy_touch_write(size_t bytes, int64_t count, int64_t index);
/* A symbol that is called must be there. */
void legacy_need(struct legacy_group *group, bool there, const char *symbol);

/* ---- legacy_library.c --------------------------------------------------- */

void legacy_library_load(struct legacy_group *group);

/* ---- legacy_socket.c ---------------------------------------------------- */

/* 0 if address is something that JACCL can parse, else throws. */
int legacy_address_check(struct legacy_group *group, const char *address);
/* A descriptor, or -1 (thrown). */
int legacy_socket_listen(struct legacy_group *group, const char *address);
int legacy_socket_accept(struct legacy_group *group, int listener);
int legacy_socket_connect(struct legacy_group *group, const char *address);
/* All bytes, or -1 (thrown). Wait for ever. */
int legacy_socket_send(struct legacy_group *group, int socket, const void *data,
                       size_t bytes);
int legacy_socket_recv(struct legacy_group *group, int socket, void *data,
                       size_t bytes);
void legacy_socket_close(struct legacy_group *group, int socket);

/* ---- legacy_channel.c --------------------------------------------------- */

/* Connects everybody with rank 0; 0, or -1 with every socket closed. */
int legacy_channel_open(struct legacy_group *group);
void legacy_channel_close(struct legacy_group *group);
int legacy_channel_barrier(struct legacy_group *group);

/* What everybody's vectors were. */
struct legacy_gathered {
    int stride; /* elements in one rank's block */
    int32_t lengths[LEGACY_LIST_MAX];
    struct legacy_destination *all;    /* of sim_alloc; NULL when empty */
    struct legacy_destination *blocks; /* the ranks' blocks, in all */
};

/* Shares count destinations; 0, or -1 with nothing to release. */
int legacy_channel_gather(struct legacy_group *group,
                          const struct legacy_destination *mine, int count,
                          struct legacy_gathered *gathered);
/* gathered[rank][index] as JACCL reads it. */
const struct legacy_destination *
legacy_gathered_at(struct legacy_group *group,
                   const struct legacy_gathered *gathered, int rank, int index);
void legacy_gathered_free(struct legacy_group *group,
                          struct legacy_gathered *gathered);

/* ---- legacy_connection.c ------------------------------------------------ */

/* A connection per name; "" makes one without a context. 0, or -1 with those
 * connections released again. */
int legacy_connections_create(struct legacy_group *group,
                              struct legacy_connections *list,
                              const char *const *names, int count);
void legacy_connections_destroy(struct legacy_group *group,
                                struct legacy_connections *list);
struct legacy_span legacy_span_of(struct legacy_connections *list);
/* The connection at index, or a wild one after the announcement. */
struct legacy_connection *legacy_connection_at(struct legacy_group *group,
                                               struct legacy_span span,
                                               int index);
/* Domain, completion queue, queue pair. */
int legacy_connection_build(struct legacy_group *group,
                            struct legacy_connection *connection);
/* Fills in what peers are told, unless it is known or there is no queue
 * pair. */
int legacy_connection_info(struct legacy_group *group,
                           struct legacy_connection *connection);
int legacy_connection_init(struct legacy_group *group,
                           struct legacy_connection *connection);
/* To RTR, then RTS. */
int legacy_connection_start(struct legacy_group *group,
                            struct legacy_connection *connection,
                            const struct legacy_destination *peer);

/* ---- legacy_buffer.c ---------------------------------------------------- */

/* Gives list room for buffers out of the group's; at most once per list. */
void legacy_buffers_reserve(struct legacy_group *group,
                            struct legacy_buffers *list, int room);
/* Appends a buffer. */
void legacy_buffers_add(struct legacy_group *group, struct legacy_buffers *list,
                        size_t bytes);
void legacy_buffers_destroy(struct legacy_group *group,
                            struct legacy_buffers *list);
int legacy_buffer_register(struct legacy_group *group,
                           struct legacy_buffer *buffer, struct ibv_pd *domain);
/* The buffer at index, or an empty one after the announcement. */
struct legacy_buffer *legacy_buffer_at(struct legacy_group *group,
                                       const struct legacy_buffers *list,
                                       int64_t index);
/* The buffer's memory, used without a look at whether there is any. */
void *legacy_buffer_data(struct legacy_group *group,
                         const struct legacy_buffer *buffer);
/* The class of buffers for a message of so many bytes, as on macOS 26.3. */
int legacy_class_of(int64_t bytes);

/* ---- legacy_post.c ------------------------------------------------------ */

int legacy_post_send(struct legacy_group *group,
                     const struct legacy_connection *connection,
                     const struct legacy_buffer *buffer, uint64_t wr_id);
int legacy_post_recv(struct legacy_group *group,
                     const struct legacy_connection *connection,
                     const struct legacy_buffer *buffer, uint64_t wr_id);

/* The array that a collective polls into, again and again. */
struct legacy_completions {
    int room; /* asked for, at most LEGACY_POLL_MAX */
    struct ibv_wc at[LEGACY_POLL_MAX];
};

/* What a completion says by its wr_id. */
struct legacy_work {
    int kind; /* LEGACY_SEND, LEGACY_RECV, or rubbish */
    int copy;
    int index; /* the lowest byte */
};

void legacy_completions_init(struct legacy_completions *completions, int room);
/* Polls the connections in turn; the sum of the answers, -1s included. */
int legacy_poll(struct legacy_group *group, const struct legacy_span *spans,
                int count, struct legacy_completions *completions);
struct legacy_work
legacy_completion_work(struct legacy_group *group,
                       const struct legacy_completions *completions, int i);

/* ---- collectives -------------------------------------------------------- */

/* out[i] = a[i] + b[i]; out may be a or b. */
void legacy_sum(enum scn_type type, const void *a, const void *b, void *out,
                int64_t count);

int legacy_mesh_start(struct legacy_group *group);
int legacy_mesh_all_sum(struct legacy_group *group, const void *in, void *out,
                        int64_t count, enum scn_type type);
/* The mesh's algorithms: everybody to everybody; chunk by chunk. */
int legacy_mesh_sum(struct legacy_group *group, const char *in, char *out,
                    int64_t count, enum scn_type type);
int legacy_mesh_scatter_sum(struct legacy_group *group, const char *in,
                            char *out, int64_t count, enum scn_type type);
int legacy_mesh_gather(struct legacy_group *group, const char *in, char *out,
                       int64_t bytes);
/* The group's buffers of a set. */
struct legacy_buffer *legacy_mesh_buffer(struct legacy_group *group,
                                         int size_class, int copy, int rank);
int legacy_mesh_post_recvs(struct legacy_group *group, int size_class,
                           int copy);
int legacy_mesh_post_sends(struct legacy_group *group, int size_class,
                           int copy);

/* A ring to run over: a ring group's, or the one inside a mesh. */
struct legacy_ring {
    struct legacy_group *group;
    struct legacy_span left, right;
    int wires; /* connections a side; 0 is possible */
    bool pooled;
};

int legacy_ring_start(struct legacy_group *group);
int legacy_ring_all_sum(struct legacy_group *group, const void *in, void *out,
                        int64_t count, enum scn_type type);
/* The ring's algorithm of its revision, over so many directions and wires. */
int legacy_ring_sum(const struct legacy_ring *ring, const char *in, char *out,
                    int64_t count, enum scn_type type, int directions,
                    int wires);
/* The same, wire by wire; all wires in one loop. */
int legacy_ring_sum_by_wire(const struct legacy_ring *ring, const char *in,
                            char *out, int64_t count, enum scn_type type,
                            int directions, int wires);
int legacy_ring_sum_in_one(const struct legacy_ring *ring, const char *in,
                           char *out, int64_t count, enum scn_type type,
                           int directions, int wires);
/* Direction 0 sends right and receives left, direction 1 the other way. */
struct legacy_buffer *legacy_ring_buffer(const struct legacy_ring *ring,
                                         bool sending, int size_class, int copy,
                                         int direction, int wire);
int legacy_ring_send(const struct legacy_ring *ring, int size_class, int copy,
                     int direction, int wire, int label);
int legacy_ring_recv(const struct legacy_ring *ring, int size_class, int copy,
                     int direction, int wire, int label);
/* Division of an element count that the device file or the call can make
 * zero. Faults on x86-64; answers 0 on arm64. */
int64_t legacy_divide(struct legacy_group *group, int64_t number,
                      int64_t divisor);
int64_t legacy_modulo(struct legacy_group *group, int64_t number,
                      int64_t divisor);

#endif
