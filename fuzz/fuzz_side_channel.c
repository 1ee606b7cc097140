/*
 * fuzz_side_channel: a rank alone among hostile peers.
 *
 *   fuzz_side_channel [libFuzzer's options] [CORPUS...]
 *
 * One rank starts a group; all that it hears over the side channel is the
 * input, and its devices are stubs that always work. The promises: it comes
 * back, not later than its deadline; it has an error with a message, or has
 * heard all that a start takes; and nothing is left: memory, connections,
 * objects of the device.
 *
 * The input:
 *
 *   byte 0   bit 0: 0 this is rank 0, 1 this is rank 1
 *            bit 1: peers that have said all leave (else they are silent)
 *            bit 2: the backend is sockets; bit 3: the fallback is allowed
 *            bit 4: a ring is asked for; bit 5: the device is Thunderbolt
 *            bit 6: the caller's own all-gather in place of connections
 *   byte 1   low bits: 2 to 5 ranks
 *   byte 2   how many bytes a receive or a send moves at most; 0: any number
 *   rest     pieces: a byte for who says it, a byte for its length, and that
 *            many bytes. Who: 0 to 5 are clients of the coordinator, 6 and 7 of
 *            the socket ring's port, 8 the rank that this one connected to
 *            first, 9 the second one; taken modulo 10. From 128 on no bytes
 *            follow, and 4 * length of those that this rank sent last are said
 *            back to it: in an answer of rank 0, what this rank had said.
 *
 * Time is the target's own: it passes when somebody waits.
 */
#define _POSIX_C_SOURCE 200809L /* posix_memalign */

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cjaccl/cjaccl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SPEAKERS 10
#define RING_CLIENT 6 /* the first of the socket ring's */
#define CONNECTED 8   /* the first that this rank connects to */
#define TIMEOUT_NS ((int64_t)10000000000)
#define CALLS_MAX 2000000
#define ENDS_MAX 64

/* What one peer says: bytes, or how far back in what was sent they are. */
struct speaker {
    uint8_t bytes[8192];
    uint16_t back[8192];
    size_t size;
    size_t heard;
    bool mentioned;
};

enum end_kind { END_FREE, END_LISTENER, END_STREAM };

struct end {
    enum end_kind kind;
    int speaker; /* of a listener: the next that may come */
    int last;    /* of a listener: one behind the last */
};

static struct {
    struct speaker speakers[SPEAKERS];
    struct end ends[ENDS_MAX];
    bool leave;
    size_t most;
    int64_t now;
    long calls;
    long memory;
    long objects;
    int connections;    /* that this rank made */
    uint8_t sent[4096]; /* the last bytes, at their number modulo the size */
    size_t sent_count;
    struct cj_error error;
} world;

static void expect(bool holds, const char *promise)
{
    if (holds)
        return;
    fprintf(stderr, "broken: %s\n%d in %s: %s\n", promise, world.error.code,
            cj_strstep(world.error.step), world.error.message);
    abort();
}

/* ---- time and memory ------------------------------------------------------
 */

static void count_call(void)
{
    world.now++;
    expect(++world.calls < CALLS_MAX, "it comes back");
}

static void pass_time(int64_t until)
{
    if (until > world.now)
        world.now = until;
}

static int64_t clock_now(void *ctx)
{
    (void)ctx;
    count_call();
    return world.now;
}

static void clock_sleep(void *ctx, int64_t until)
{
    (void)ctx;
    count_call();
    pass_time(until);
}

static int clock_idle(void *ctx, int64_t until, unsigned round)
{
    (void)ctx;
    count_call();
    if (round > 0)
        pass_time(until);
    return 1;
}

/* Not zeroed, and of exactly that size, so that sanitizers see all. */
static void *allocator_alloc(void *ctx, size_t align, size_t size)
{
    void *memory = NULL;
    (void)ctx;
    if (align < sizeof(void *))
        align = sizeof(void *);
    if (posix_memalign(&memory, align, size) != 0)
        return NULL;
    world.memory += (long)size;
    return memory;
}

static void allocator_free(void *ctx, void *memory, size_t size)
{
    (void)ctx;
    world.memory -= (long)size;
    free(memory);
}

/* ---- the side channel -----------------------------------------------------
 */

static int new_end(enum end_kind kind, int speaker, int last)
{
    for (int i = 0; i < ENDS_MAX; i++) {
        if (world.ends[i].kind != END_FREE)
            continue;
        world.ends[i] = (struct end){kind, speaker, last};
        return i;
    }
    return -EMFILE;
}

static struct end *end_at(int end, enum end_kind kind)
{
    expect(end >= 0 && end < ENDS_MAX && world.ends[end].kind == kind,
           "only open ends are used");
    return &world.ends[end];
}

static struct speaker *speaker_of(const struct end *end)
{
    return end->speaker < SPEAKERS ? &world.speakers[end->speaker] : NULL;
}

/* The next client of a listener, or -1. */
static int next_client(const struct end *listener)
{
    for (int i = listener->speaker; i < listener->last; i++) {
        if (world.speakers[i].mentioned)
            return i;
    }
    return -1;
}

static bool has_bytes(const struct end *end)
{
    const struct speaker *speaker = speaker_of(end);
    return speaker && speaker->heard < speaker->size;
}

static bool is_ready(const struct end *end)
{
    if (end->kind == END_LISTENER)
        return next_client(end) >= 0;
    return has_bytes(end) || world.leave;
}

static int net_listen(void *ctx, const char *host, uint16_t port)
{
    (void)ctx;
    (void)host;
    count_call();
    return port == 0 ? new_end(END_LISTENER, RING_CLIENT, CONNECTED)
                     : new_end(END_LISTENER, 0, RING_CLIENT);
}

static int net_accept(void *ctx, int index, int64_t deadline)
{
    struct end *listener = end_at(index, END_LISTENER);
    int client = next_client(listener);
    (void)ctx;
    count_call();
    if (client < 0) {
        pass_time(deadline);
        return -ETIMEDOUT;
    }
    listener->speaker = client + 1;
    return new_end(END_STREAM, client, 0);
}

static int net_connect(void *ctx, const char *host, uint16_t port,
                       int64_t deadline)
{
    int speaker = CONNECTED + world.connections;
    (void)ctx;
    (void)host;
    (void)port;
    (void)deadline;
    count_call();
    /* Nobody is there before somebody speaks. */
    if (speaker < SPEAKERS && !world.speakers[speaker].mentioned)
        return -ECONNREFUSED;
    world.connections++;
    return new_end(END_STREAM, speaker, 0);
}

static size_t at_most(size_t size)
{
    return world.most > 0 && size > world.most ? world.most : size;
}

static int64_t net_send(void *ctx, int index, const void *data, size_t size,
                        int64_t deadline)
{
    static volatile unsigned parity;
    size_t count = at_most(size);
    (void)ctx;
    (void)deadline;
    count_call();
    end_at(index, END_STREAM);
    expect(size > 0, "nothing is not sent");
    /* For MemorySanitizer: a branch for every bit that goes out. */
    for (size_t i = 0; i < count; i++) {
        uint8_t byte = ((const uint8_t *)data)[i];
        if (byte != 0)
            parity++;
        world.sent[world.sent_count++ % sizeof world.sent] = byte;
    }
    return (int64_t)count;
}

static uint8_t say_byte(struct speaker *speaker)
{
    size_t at = speaker->heard++;
    size_t back = speaker->back[at];
    if (back == 0)
        return speaker->bytes[at];
    return world.sent[(world.sent_count - back) % sizeof world.sent];
}

static int64_t net_recv(void *ctx, int index, void *data, size_t size,
                        int64_t deadline)
{
    struct end *end = end_at(index, END_STREAM);
    struct speaker *speaker = speaker_of(end);
    size_t count;
    (void)ctx;
    count_call();
    expect(size > 0, "nothing is not received");
    if (has_bytes(end)) {
        count = at_most(size);
        if (count > speaker->size - speaker->heard)
            count = speaker->size - speaker->heard;
        for (size_t i = 0; i < count; i++)
            ((uint8_t *)data)[i] = say_byte(speaker);
        return (int64_t)count;
    }
    if (world.leave)
        return 0;
    pass_time(deadline);
    return -ETIMEDOUT;
}

static int net_wait(void *ctx, const int *ends, int count, int64_t deadline)
{
    (void)ctx;
    count_call();
    for (int i = 0; i < count; i++) {
        expect(ends[i] >= 0 && ends[i] < ENDS_MAX &&
                   world.ends[ends[i]].kind != END_FREE,
               "only open ends are waited for");
        if (is_ready(&world.ends[ends[i]]))
            return i;
    }
    pass_time(deadline);
    return -ETIMEDOUT;
}

static void net_close(void *ctx, int index)
{
    (void)ctx;
    expect(index >= 0 && index < ENDS_MAX && world.ends[index].kind != END_FREE,
           "an end is closed once");
    world.ends[index].kind = END_FREE;
}

static int net_alive(void *ctx, int index)
{
    struct end *end = end_at(index, END_STREAM);
    (void)ctx;
    count_call();
    return world.leave && !has_bytes(end) ? -EPIPE : 0;
}

static void net_peer_name(void *ctx, int index, char *name, size_t size)
{
    (void)ctx;
    (void)snprintf(name, size, "peer %d", end_at(index, END_STREAM)->speaker);
}

static int net_local_name(void *ctx, int index, char *host, size_t size,
                          uint16_t *port)
{
    (void)ctx;
    (void)index;
    (void)snprintf(host, size, "10.0.0.1");
    *port = 50000;
    return 0;
}

/* All of a gather is what speaker 0 says; when that ends, it fails. */
static int gather_all(void *ctx, const void *mine, void *all, size_t bytes)
{
    const struct cj_config *config = ctx;
    struct speaker *speaker = &world.speakers[0];
    size_t size = bytes * (size_t)config->size;
    count_call();
    if (size > speaker->size - speaker->heard)
        return -ECONNRESET;
    memcpy(all, speaker->bytes + speaker->heard, size);
    memcpy((uint8_t *)all + bytes * (size_t)config->rank, mine, bytes);
    speaker->heard += size;
    return 0;
}

/* ---- a device that always works -------------------------------------------
 */

static struct ibv_device device;
static struct ibv_context context;
static struct ibv_pd pd = {.context = &context};
static struct ibv_mr mr = {.context = &context, .pd = &pd};
static struct ibv_cq cq = {.context = &context};

static struct ibv_device **get_device_list(int *count)
{
    static struct ibv_device *list[2] = {&device, NULL};
    *count = 1;
    return list;
}

static void free_device_list(struct ibv_device **list)
{
    (void)list;
}

static const char *get_device_name(struct ibv_device *unused)
{
    (void)unused;
    return "rdma_en2";
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
                     struct ibv_send_wr **bad)
{
    (void)qp;
    (void)wr;
    (void)bad;
    return 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
                     struct ibv_recv_wr **bad)
{
    (void)qp;
    (void)wr;
    (void)bad;
    return 0;
}

static int poll_cq(struct ibv_cq *queue, int room, struct ibv_wc *completions)
{
    (void)queue;
    (void)room;
    (void)completions;
    return 0;
}

static struct ibv_context *open_device(struct ibv_device *opened)
{
    world.objects++;
    context.device = opened;
    context.ops.post_send = post_send;
    context.ops.post_recv = post_recv;
    context.ops.poll_cq = poll_cq;
    return &context;
}

static int close_device(struct ibv_context *closed)
{
    (void)closed;
    world.objects--;
    return 0;
}

static int query_port(struct ibv_context *unused, uint8_t port,
                      struct ibv_port_attr *attr)
{
    (void)unused;
    (void)port;
    attr->state = IBV_PORT_ACTIVE;
    attr->active_mtu = IBV_MTU_1024;
    attr->gid_tbl_len = 2;
    attr->lid = 5;
    return 0;
}

static int query_gid(struct ibv_context *unused, uint8_t port, int index,
                     union ibv_gid *gid)
{
    (void)unused;
    (void)port;
    memset(gid, 0, sizeof *gid);
    gid->raw[0] = index == 0 ? 0xfe : 0;
    gid->raw[1] = index == 0 ? 0x80 : 0;
    if (index > 0)
        memset(gid->raw + 10, 0xff, 2);
    gid->raw[15] = 1;
    return 0;
}

static struct ibv_pd *alloc_pd(struct ibv_context *unused)
{
    (void)unused;
    world.objects++;
    return &pd;
}

static int dealloc_pd(struct ibv_pd *unused)
{
    (void)unused;
    world.objects--;
    return 0;
}

static struct ibv_mr *reg_mr(struct ibv_pd *unused, void *addr, size_t length,
                             int access)
{
    (void)unused;
    (void)addr;
    (void)length;
    (void)access;
    world.objects++;
    return &mr;
}

static int dereg_mr(struct ibv_mr *unused)
{
    (void)unused;
    world.objects--;
    return 0;
}

static struct ibv_cq *create_cq(struct ibv_context *unused, int entries,
                                void *cq_context,
                                struct ibv_comp_channel *channel, int vector)
{
    (void)unused;
    (void)cq_context;
    (void)channel;
    (void)vector;
    world.objects++;
    cq.cqe = entries;
    return &cq;
}

static int destroy_cq(struct ibv_cq *unused)
{
    (void)unused;
    world.objects--;
    return 0;
}

static struct ibv_qp *create_qp(struct ibv_pd *unused,
                                struct ibv_qp_init_attr *attr)
{
    static struct ibv_qp qp;
    (void)unused;
    world.objects++;
    qp = (struct ibv_qp){
        .context = &context, .pd = &pd, .qp_num = 77, .qp_type = attr->qp_type};
    return &qp;
}

static int modify_qp(struct ibv_qp *unused, struct ibv_qp_attr *attr, int mask)
{
    (void)unused;
    (void)attr;
    (void)mask;
    return 0;
}

static int destroy_qp(struct ibv_qp *unused)
{
    (void)unused;
    world.objects--;
    return 0;
}

static const struct cj_verbs verbs = {
    .get_device_list = get_device_list,
    .free_device_list = free_device_list,
    .get_device_name = get_device_name,
    .open_device = open_device,
    .close_device = close_device,
    .query_port = query_port,
    .query_gid = query_gid,
    .alloc_pd = alloc_pd,
    .dealloc_pd = dealloc_pd,
    .reg_mr = reg_mr,
    .dereg_mr = dereg_mr,
    .create_cq = create_cq,
    .destroy_cq = destroy_cq,
    .create_qp = create_qp,
    .modify_qp = modify_qp,
    .destroy_qp = destroy_qp,
};

/* ---- one input ------------------------------------------------------------
 */

/* Literal bytes, or NULL for an echo. */
static void add_piece(struct speaker *speaker, const uint8_t *bytes,
                      size_t length)
{
    if (length > sizeof speaker->bytes - speaker->size)
        length = sizeof speaker->bytes - speaker->size;
    for (size_t i = 0; i < length; i++) {
        speaker->bytes[speaker->size] = bytes ? bytes[i] : 0;
        speaker->back[speaker->size++] = bytes ? 0 : (uint16_t)(length - i);
    }
    speaker->mentioned = true;
}

static void read_pieces(const uint8_t *data, size_t size)
{
    while (size >= 2) {
        struct speaker *speaker = &world.speakers[data[0] % 128 % SPEAKERS];
        bool echo = data[0] >= 128;
        size_t length = data[1];
        data += 2;
        size -= 2;
        if (echo) {
            add_piece(speaker, NULL, 4 * length);
            continue;
        }
        if (length > size)
            length = size;
        add_piece(speaker, data, length);
        data += length;
        size -= length;
    }
}

static int32_t int_at(const struct speaker *speaker, size_t offset)
{
    int32_t value = -1;
    if (offset + sizeof value <= speaker->size)
        memcpy(&value, speaker->bytes + offset, sizeof value);
    return value;
}

/* The least that a rank says in a start over RDMA: a vector of destinations, in
 * a mesh one to each rank, in a ring two of one at least, and two barriers. */
static size_t least_said(const struct cj_config *config)
{
    size_t gathers = config->topology == CJ_TOPOLOGY_RING || config->size > 8
                         ? 2 * (4 + 32)
                         : 4 + 32 * (size_t)config->size;
    return gathers + 4 + 4;
}

/* Has somebody said what rank `rank` has to say to rank 0? */
static bool was_heard(const struct cj_config *config, int rank)
{
    for (int i = 0; i < RING_CLIENT; i++) {
        const struct speaker *speaker = &world.speakers[i];
        if (int_at(speaker, 0) == rank &&
            speaker->heard >= 4 + least_said(config))
            return true;
    }
    return false;
}

static void check_ready(const struct cj_config *config,
                        const struct cj_group *group)
{
    size_t all = (size_t)config->size * least_said(config);
    struct cj_info info;
    cj_group_info(group, &info);
    expect(!info.sockets || config->backend == CJ_BACKEND_SOCKETS ||
               config->fallback == CJ_FALLBACK_SOCKETS,
           "sockets only where they are allowed");
    if (info.sockets) {
        /* With a number in it that the input can only know by chance. */
        expect(world.speakers[RING_CLIENT].heard >= 16 ||
                   world.speakers[RING_CLIENT + 1].heard >= 16,
               "a ring takes its left neighbour's hello");
        return;
    }
    if (config->gather)
        expect(world.speakers[0].heard >= all, "a start takes all gathers");
    else if (config->rank != 0)
        expect(world.speakers[CONNECTED].heard >= all,
               "a start takes all that rank 0 says");
    for (int rank = 1;
         config->rank == 0 && !config->gather && rank < config->size; rank++)
        expect(was_heard(config, rank), "a start takes every rank");
}

static void check_error(const struct cj_config *config, int status)
{
    const struct cj_error *error = &world.error;
    expect(error->code == status && status < 0, "an error has its code");
    expect(error->message[0] != '\0', "an error has a message");
    expect(memchr(error->message, '\0', sizeof error->message) != NULL,
           "a message ends");
    expect(error->rank == config->rank, "an error has its rank");
    expect(error->peer >= -1 && error->peer < config->size,
           "an error is about a rank of the group");
}

static void check_leftovers(void)
{
    for (int i = 0; i < ENDS_MAX; i++)
        expect(world.ends[i].kind == END_FREE, "every end is closed");
    expect(world.memory == 0, "all memory is given back");
    expect(world.objects == 0, "every object of the device is released");
}

/* One more call on a group that started: it ends, too. */
static void use_group(struct cj_group *group)
{
    struct cj_error error;
    int32_t data[3] = {1, 2, 3};
    int64_t begin = world.now;
    int status = cj_all_sum(group, data, data, 3, CJ_INT32, &error);
    expect(status != CJ_OK, "nobody took part in it");
    expect(error.message[0] != '\0', "an error has a message");
    expect(world.now - begin <= TIMEOUT_NS + TIMEOUT_NS / 2, "it ends in time");
}

static void ignore_warning(void *ctx, const char *message)
{
    (void)ctx;
    expect(message[0] != '\0', "a warning has words");
}

static void run(struct cj_config *config)
{
    struct cj_group *group = NULL;
    int status = cj_init(config, &group, &world.error);
    expect(world.now <= TIMEOUT_NS + TIMEOUT_NS / 100, "it ends in time");
    expect((status == CJ_OK) == (group != NULL), "a group or an error");
    if (group) {
        check_ready(config, group);
        use_group(group);
        expect(cj_finalize(group, NULL) == CJ_OK, "all is released");
    } else {
        check_error(config, status);
    }
    check_leftovers();
}

/* Every rank reaches every other one over the one device. */
static void fill_cells(struct cj_cell *cells, int size)
{
    static const char *const names[] = {"rdma_en2"};
    for (int i = 0; i < size * size; i++) {
        bool own = i / size == i % size;
        cells[i] = (struct cj_cell){own ? NULL : names, own ? 0 : 1};
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cj_cell cells[25];
    struct cj_config config = {.cells = cells,
                               .coordinator = "10.0.0.1:9",
                               .start_timeout_ns = TIMEOUT_NS,
                               .operation_timeout_ns = TIMEOUT_NS,
                               .verbs = &verbs,
                               .warn = ignore_warning};
    const struct cj_clock clock = {NULL, clock_now, clock_sleep, clock_idle};
    const struct cj_allocator allocator = {NULL, allocator_alloc,
                                           allocator_free};
    const struct cj_net net = {NULL,          net_listen,    net_accept,
                               net_connect,   net_send,      net_recv,
                               net_wait,      net_close,     net_alive,
                               net_peer_name, net_local_name};
    const struct cj_gather gather = {&config, gather_all};
    if (size < 3)
        return 0;
    memset(&world, 0, sizeof world);
    world.leave = data[0] & 2;
    world.most = data[2];
    device.transport_type =
        data[0] & 32 ? (enum ibv_transport_type)100 : IBV_TRANSPORT_IB;
    config.rank = data[0] & 1;
    config.size = 2 + data[1] % 4;
    config.backend = data[0] & 4 ? CJ_BACKEND_SOCKETS : CJ_BACKEND_RDMA;
    config.fallback = data[0] & 8 ? CJ_FALLBACK_SOCKETS : CJ_FALLBACK_NONE;
    config.topology = data[0] & 16 ? CJ_TOPOLOGY_RING : CJ_TOPOLOGY_AUTO;
    config.gather = data[0] & 64 ? &gather : NULL;
    config.clock = &clock;
    config.allocator = &allocator;
    config.net = &net;
    fill_cells(cells, config.size);
    read_pieces(data + 3, size - 3);
    run(&config);
    return 0;
}
