/*
 * The socket ring: groups of threads over real sockets of this machine, and
 * over a transport that moves few bytes at a time, lets strangers in, or lies.
 */
#define _GNU_SOURCE /* POSIX, with a strict -std=c11 */

#include "cjaccl/cjaccl.h"
#include "cjaccl/src/defaults.h"

#include "cjaccl_fake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND ((int64_t)1000000000)

struct ring;

/* One rank in a thread; `net` is the default's, with hooks of the test. */
struct member {
    struct ring *ring;
    pthread_t thread;
    struct cj_config config;
    struct cj_net net;
    struct cj_group *group;
    struct cj_error error;
    int status;
    int steps; /* that it got through */
    unsigned random;
};

struct ring {
    int size;
    char coordinator[32];
    void (*body)(struct member *member);
    struct member members[CJ_MAX_RANKS];
};

/* Connections and listeners of this process that are open. */
static atomic_int open_ends;
static atomic_llong memory;

static int counted(int end)
{
    if (end >= 0)
        atomic_fetch_add(&open_ends, 1);
    return end;
}

static int count_listen(void *ctx, const char *host, uint16_t port)
{
    (void)ctx;
    return counted(cji_default_net.listen(NULL, host, port));
}

static int count_accept(void *ctx, int listener, int64_t deadline_ns)
{
    (void)ctx;
    return counted(cji_default_net.accept(NULL, listener, deadline_ns));
}

static int count_connect(void *ctx, const char *host, uint16_t port,
                         int64_t deadline_ns)
{
    (void)ctx;
    return counted(cji_default_net.connect(NULL, host, port, deadline_ns));
}

static void count_close(void *ctx, int end)
{
    (void)ctx;
    atomic_fetch_sub(&open_ends, 1);
    cji_default_net.close(NULL, end);
}

static void *count_alloc(void *ctx, size_t align, size_t size)
{
    (void)ctx;
    atomic_fetch_add(&memory, (long long)size);
    return cji_default_allocator.alloc(NULL, align, size);
}

static void count_free(void *ctx, void *piece, size_t size)
{
    (void)ctx;
    atomic_fetch_sub(&memory, (long long)size);
    cji_default_allocator.free(NULL, piece, size);
}

static const struct cj_allocator counting_allocator = {NULL, count_alloc,
                                                       count_free};

static void ring_init(struct ring *ring, int size)
{
    memset(ring, 0, sizeof *ring);
    ring->size = size;
    (void)fake_coordinator(ring->coordinator);
    for (int i = 0; i < size; i++) {
        struct member *member = &ring->members[i];

        member->ring = ring;
        member->random = (unsigned)i + 1;
        member->net = cji_default_net;
        member->net.ctx = member;
        member->net.listen = count_listen;
        member->net.accept = count_accept;
        member->net.connect = count_connect;
        member->net.close = count_close;
        member->config.rank = i;
        member->config.size = size;
        member->config.coordinator = ring->coordinator;
        member->config.backend = CJ_BACKEND_SOCKETS;
        member->config.net = &member->net;
        member->config.allocator = &counting_allocator;
        member->config.start_timeout_ns = 20 * SECOND;
        member->config.operation_timeout_ns = 20 * SECOND;
    }
}

static void *run_member(void *argument)
{
    struct member *member = argument;

    member->status = cj_init(&member->config, &member->group, &member->error);
    if (member->status == CJ_OK && member->ring->body != NULL)
        member->ring->body(member);
    return NULL;
}

/* All ranks at once: start, body, and the end, which leaves nothing behind. */
static void ring_run(struct ring *ring, void (*body)(struct member *member))
{
    ring->body = body;
    for (int i = 0; i < ring->size; i++)
        assert_int_equal(pthread_create(&ring->members[i].thread, NULL,
                                        run_member, &ring->members[i]),
                         0);
    for (int i = 0; i < ring->size; i++)
        assert_int_equal(pthread_join(ring->members[i].thread, NULL), 0);
    for (int i = 0; i < ring->size; i++)
        assert_int_equal(cj_finalize(ring->members[i].group, NULL), CJ_OK);
    assert_int_equal(atomic_load(&open_ends), 0);
    assert_int_equal(atomic_load(&memory), 0);
}

static void expect_all_ok(const struct ring *ring)
{
    for (int i = 0; i < ring->size; i++) {
        if (ring->members[i].status != CJ_OK)
            fail_msg("rank %d of %d: %s", i, ring->size,
                     ring->members[i].error.message);
    }
}

static void expect_text(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

/* Rank's element i of an operation. */
static int32_t element(int rank, size_t i)
{
    return (int32_t)((uint32_t)(rank + 1) * 2654435761u + (uint32_t)i * 40503u);
}

static int32_t sum_of(int size, size_t i)
{
    uint32_t sum = 0;

    for (int rank = 0; rank < size; rank++)
        sum += (uint32_t)element(rank, i);
    return (int32_t)sum;
}

static void fill(int32_t *data, int rank, size_t count)
{
    for (size_t i = 0; i < count; i++)
        data[i] = element(rank, i);
}

/* The step went well if `wrong` is still count. */
static void check(struct member *member, size_t wrong, size_t count)
{
    if (member->status != CJ_OK)
        return;
    if (wrong < count) {
        member->status = CJ_PROTOCOL;
        (void)snprintf(member->error.message, sizeof member->error.message,
                       "step %d: element %zu of %zu is wrong", member->steps,
                       wrong, count);
    }
    member->steps++;
}

static void do_all_sum(struct member *member, size_t count)
{
    int rank = member->config.rank;
    int32_t *data = calloc(count + 1, sizeof *data);
    size_t i = 0;

    fill(data, rank, count);
    member->status =
        cj_all_sum(member->group, data, data, count, CJ_INT32, &member->error);
    while (i < count && data[i] == sum_of(member->ring->size, i))
        i++;
    check(member, i, count);
    free(data);
}

static void do_all_gather(struct member *member, size_t count)
{
    size_t size = (size_t)member->ring->size;
    int32_t *mine = calloc(count + 1, sizeof *mine);
    int32_t *all = calloc(count * size + 1, sizeof *all);
    size_t i = 0;

    fill(mine, member->config.rank, count);
    member->status = cj_all_gather(member->group, mine, all,
                                   count * sizeof *mine, &member->error);
    while (i < count * size && all[i] == element((int)(i / count), i % count))
        i++;
    check(member, i, count * size);
    free(all);
    free(mine);
}

static void do_sum_scatter(struct member *member, size_t count)
{
    size_t size = (size_t)member->ring->size;
    size_t first = (size_t)member->config.rank * count;
    int32_t *in = calloc(count * size + 1, sizeof *in);
    int32_t *out = calloc(count + 1, sizeof *out);
    size_t i = 0;

    fill(in, member->config.rank, count * size);
    member->status =
        cj_sum_scatter(member->group, in, out, count, CJ_INT32, &member->error);
    while (i < count && out[i] == sum_of(member->ring->size, first + i))
        i++;
    check(member, i, count);
    free(out);
    free(in);
}

/* Once around: even ranks send first, and the last of an odd number of them
 * has a neighbour that does, too, and waits for it. */
static void do_send(struct member *member, size_t count)
{
    int size = member->ring->size;
    int rank = member->config.rank;
    int left = (rank + size - 1) % size;
    int32_t *out = calloc(count + 1, sizeof *out);
    int32_t *in = calloc(count + 1, sizeof *in);
    size_t bytes = count * sizeof *out;
    size_t i = 0;

    fill(out, rank, count);
    if (rank % 2 == 0)
        member->status = cj_send(member->group, out, bytes, (rank + 1) % size,
                                 &member->error);
    if (member->status == CJ_OK)
        member->status =
            cj_recv(member->group, in, bytes, left, &member->error);
    if (member->status == CJ_OK && rank % 2 == 1)
        member->status = cj_send(member->group, out, bytes, (rank + 1) % size,
                                 &member->error);
    while (i < count && in[i] == element(left, i))
        i++;
    check(member, i, count);
    free(in);
    free(out);
}

static void do_everything(struct member *member)
{
    static const size_t counts[] = {1, 0, 3, 1000, 1024, 1025, 70001};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (member->status == CJ_OK)
            do_all_sum(member, counts[i]);
        if (member->status == CJ_OK)
            do_all_gather(member, counts[i]);
        if (member->status == CJ_OK)
            do_sum_scatter(member, counts[i]);
        if (member->status == CJ_OK)
            do_send(member, counts[i]);
        if (member->status == CJ_OK)
            member->status = cj_barrier(member->group, &member->error);
    }
}

static void every_operation_works(void **state)
{
    static struct ring ring;

    (void)state;
    for (int size = 2; size <= 6; size++) {
        ring_init(&ring, size);
        ring_run(&ring, do_everything);
        expect_all_ok(&ring);
    }
}

/* More than all buffers on the way hold, in both directions at once. */
static void do_a_lot(struct member *member)
{
    do_all_sum(member, 6000001);
    if (member->status == CJ_OK)
        do_all_gather(member, 3000001);
}

static void large_messages_do_not_wait_for_each_other(void **state)
{
    static struct ring ring;

    (void)state;
    for (int size = 2; size <= 3; size++) {
        ring_init(&ring, size);
        ring_run(&ring, do_a_lot);
        expect_all_ok(&ring);
    }
}

static void do_one(struct member *member)
{
    do_all_sum(member, 5000);
}

static void a_ring_has_up_to_64_ranks(void **state)
{
    static struct ring ring;

    (void)state;
    ring_init(&ring, CJ_MAX_RANKS);
    ring_run(&ring, do_one);
    expect_all_ok(&ring);
}

static void expect_ring(struct member *member)
{
    struct cj_info info;

    cj_group_info(member->group, &info);
    assert_true(info.ring);
    assert_true(info.sockets);
    assert_true(info.all_cjaccl);
    assert_int_equal(info.wires, 1);
    assert_int_equal(info.queue_pairs, 0);
    assert_int_equal(info.regions, 0);
}

static void what_it_is_can_be_asked(void **state)
{
    static struct ring ring;

    (void)state;
    ring_init(&ring, 2);
    ring_run(&ring, expect_ring);
    expect_all_ok(&ring);
}

/* A few bytes at a time, so that every message is cut everywhere. */
static size_t few(struct member *member, size_t size)
{
    size_t most;

    member->random = member->random * 1664525u + 1013904223u;
    most = 1 + (member->random >> 16) % 19;
    return size < most ? size : most;
}

static int64_t send_few(void *ctx, int end, const void *data, size_t size,
                        int64_t deadline_ns)
{
    return cji_default_net.send(NULL, end, data, few(ctx, size), deadline_ns);
}

static int64_t recv_few(void *ctx, int end, void *data, size_t size,
                        int64_t deadline_ns)
{
    return cji_default_net.recv(NULL, end, data, few(ctx, size), deadline_ns);
}

static void do_a_little(struct member *member)
{
    for (size_t count = 0; count < 40 && member->status == CJ_OK; count++)
        do_all_sum(member, count);
    if (member->status == CJ_OK)
        do_all_gather(member, 1500);
}

static void messages_may_come_in_pieces(void **state)
{
    static struct ring ring;

    (void)state;
    for (int which = 1; which < 4; which++) {
        ring_init(&ring, 3);
        for (int i = 0; i < 3; i++) {
            if (which & 1)
                ring.members[i].net.send = send_few;
            if (which & 2)
                ring.members[i].net.recv = recv_few;
        }
        ring_run(&ring, do_a_little);
        expect_all_ok(&ring);
    }
}

/* Strangers at the door of the ring: they come before the neighbour can. */
#define STRANGERS 10

static int strangers[STRANGERS];

static void send_strangers(int listener)
{
    struct sockaddr_in to;
    socklen_t size = sizeof to;
    const unsigned char nonsense[] = "GET / HTTP/1.1\r\n";
    /* All right but for the number that only the neighbour was told. */
    const uint32_t guess[4] = {0x636a6869, 0, 1, 2};

    (void)getsockname(listener, (struct sockaddr *)&to, &size);
    for (int i = 0; i < STRANGERS; i++) {
        strangers[i] = socket(AF_INET, SOCK_STREAM, 0);
        (void)connect(strangers[i], (struct sockaddr *)&to, size);
        /* Silent ones, half a hello, one that leaves, nonsense. */
        if (i >= 3)
            (void)send(strangers[i],
                       i % 2 == 0 ? (const void *)nonsense : guess,
                       i == 3 ? 7 : sizeof guess, MSG_NOSIGNAL);
        if (i == 4 || i == 5)
            (void)shutdown(strangers[i], SHUT_RDWR);
    }
}

static int listen_with_strangers(void *ctx, const char *host, uint16_t port)
{
    int listener = count_listen(ctx, host, port);

    if (port == 0)
        send_strangers(listener);
    return listener;
}

static void strangers_are_dropped(void **state)
{
    static struct ring ring;

    (void)state;
    ring_init(&ring, 3);
    ring.members[1].net.listen = listen_with_strangers;
    ring_run(&ring, do_one);
    expect_all_ok(&ring);
    for (int i = 0; i < STRANGERS; i++)
        (void)close(strangers[i]);
}

/* Not the coordinator's port: the ring's. */
static int listen_nowhere(void *ctx, const char *host, uint16_t port)
{
    return port == 0 ? -EADDRNOTAVAIL : count_listen(ctx, host, port);
}

static void a_rank_that_cannot_listen_fails_all(void **state)
{
    static struct ring ring;

    (void)state;
    for (int which = 0; which < 3; which++) {
        ring_init(&ring, 3);
        ring.members[which].net.listen = listen_nowhere;
        ring_run(&ring, NULL);
        for (int i = 0; i < 3; i++) {
            const struct cj_error *error = &ring.members[i].error;

            assert_int_equal(error->code,
                             i == which ? CJ_NETWORK : CJ_PEER_GONE);
            assert_int_equal(error->peer, i == which ? -1 : which);
            assert_int_equal(error->err_no, EADDRNOTAVAIL);
            expect_text(error->message, "EADDRNOTAVAIL");
        }
    }
}

static void a_transport_without_addresses_is_refused_by_all(void **state)
{
    static struct ring ring;

    (void)state;
    ring_init(&ring, 3);
    ring.members[2].net.local_name = NULL;
    ring_run(&ring, NULL);
    for (int i = 0; i < 3; i++)
        assert_int_equal(ring.members[i].status,
                         i == 2 ? CJ_UNSUPPORTED : CJ_PEER_GONE);
}

static int connect_nowhere(void *ctx, const char *host, uint16_t port,
                           int64_t deadline_ns)
{
    struct member *member = ctx;
    const char *colon = strrchr(member->ring->coordinator, ':');

    if (port != atoi(colon + 1))
        return -EHOSTUNREACH;
    return count_connect(ctx, host, port, deadline_ns);
}

/* Nobody waits for the connection that will not come. */
static void a_rank_that_cannot_connect_fails_all(void **state)
{
    static struct ring ring;

    (void)state;
    for (int which = 0; which < 3; which++) {
        ring_init(&ring, 3);
        ring.members[which].net.connect = connect_nowhere;
        ring_run(&ring, NULL);
        for (int i = 0; i < 3; i++) {
            const struct cj_error *error = &ring.members[i].error;

            assert_int_equal(error->code,
                             i == which ? CJ_NETWORK : CJ_PEER_GONE);
        }
        expect_text(ring.members[which].error.message, "EHOSTUNREACH");
        assert_int_equal(ring.members[which].error.peer, (which + 1) % 3);
    }
}

/* Alters a byte of what comes over the ring, once the group has started. */
static atomic_int alter;

static int64_t recv_altered(void *ctx, int end, void *data, size_t size,
                            int64_t deadline_ns)
{
    int64_t n = cji_default_net.recv(NULL, end, data, size, deadline_ns);

    (void)ctx;
    if (n > 0 && deadline_ns < 0 && atomic_exchange(&alter, 0) != 0)
        *(unsigned char *)data ^= 1;
    return n;
}

static void what_is_no_message_is_an_error(void **state)
{
    static struct ring ring;

    (void)state;
    ring_init(&ring, 2);
    ring.members[1].net.recv = recv_altered;
    atomic_store(&alter, 1);
    ring_run(&ring, do_one);
    assert_int_equal(atomic_load(&alter), 0);
    assert_int_equal(ring.members[1].status, CJ_PROTOCOL);
    expect_text(ring.members[1].error.message, "no message of cjaccl");
    /* What rank 1 had sent before is right. */
    assert_true(ring.members[0].status == CJ_OK ||
                ring.members[0].status == CJ_PEER_GONE);
}

/* Rank 1 goes in the middle of things. */
static void leave_or_sum(struct member *member)
{
    if (member->config.rank == 1) {
        member->status = cj_finalize(member->group, &member->error);
        member->group = NULL;
        return;
    }
    member->status = CJ_OK;
    do_all_sum(member, 100000);
}

static void a_rank_that_leaves_is_told(void **state)
{
    static struct ring ring;

    (void)state;
    for (int size = 2; size <= 4; size++) {
        ring_init(&ring, size);
        ring_run(&ring, leave_or_sum);
        for (int i = 0; i < size; i++)
            assert_int_equal(ring.members[i].status,
                             i == 1 ? CJ_OK : CJ_PEER_GONE);
        assert_int_equal(ring.members[0].error.peer, 1);
        assert_int_equal(ring.members[0].error.step, CJ_STEP_ALL_SUM);
    }
}

static void do_different(struct member *member)
{
    size_t count = member->config.rank == 0 ? 10 : 11;
    int32_t data[11] = {0};

    member->status =
        cj_all_sum(member->group, data, data, count, CJ_INT32, &member->error);
}

static void different_calls_are_an_error(void **state)
{
    static struct ring ring;

    (void)state;
    ring_init(&ring, 2);
    ring_run(&ring, do_different);
    for (int i = 0; i < 2; i++)
        assert_true(ring.members[i].status == CJ_PROTOCOL ||
                    ring.members[i].status == CJ_PEER_GONE);
    assert_true(ring.members[0].status == CJ_PROTOCOL ||
                ring.members[1].status == CJ_PROTOCOL);
}

static void be_late(struct member *member)
{
    int32_t one = 1;

    if (member->config.rank == 0)
        member->status =
            cj_all_sum(member->group, &one, &one, 1, CJ_INT32, &member->error);
}

static void a_silent_peer_ends_at_the_deadline(void **state)
{
    static struct ring ring;

    (void)state;
    ring_init(&ring, 2);
    ring.members[0].config.operation_timeout_ns = SECOND / 4;
    ring_run(&ring, be_late);
    assert_int_equal(ring.members[0].status, CJ_TIMEOUT);
    assert_int_equal(ring.members[0].error.peer, 1);
}

/* Each allocation of a start fails once. */
static atomic_int allocations_left;

static void *fail_alloc(void *ctx, size_t align, size_t size)
{
    if (atomic_fetch_sub(&allocations_left, 1) <= 0)
        return NULL;
    return count_alloc(ctx, align, size);
}

static void run_with_allocations(struct ring *ring, int allocations,
                                 int64_t patience)
{
    static const struct cj_allocator failing = {NULL, fail_alloc, count_free};

    ring_init(ring, 2);
    ring->members[1].config.allocator = &failing;
    ring->members[0].config.start_timeout_ns = patience;
    atomic_store(&allocations_left, allocations);
    ring_run(ring, do_one);
}

/* Rank 0 waits in vain for one that failed before it came, so not for long; for
 * one that did not fail, as long as it takes. */
static void no_memory_is_an_error_on_all(void **state)
{
    static struct ring ring;
    int status = CJ_NO_MEMORY;
    int calls = 0;

    (void)state;
    for (; status != CJ_OK && calls < 20; calls++) {
        run_with_allocations(&ring, calls, SECOND / 4);
        if (atomic_load(&allocations_left) >= 0)
            run_with_allocations(&ring, calls, 20 * SECOND);
        status = ring.members[1].status;
        assert_true(status == CJ_OK || status == CJ_NO_MEMORY);
        assert_true((ring.members[0].status == CJ_OK) == (status == CJ_OK));
    }
    assert_in_range(calls, 4, 10);
}

/* The child gives back what it has; the group goes on in the parent. */
static void fork_and_sum(struct member *member)
{
    pid_t child = fork();
    int status = -1;

    if (child == 0) {
        int32_t one = 1;
        struct cj_error error;
        int answer = cj_all_sum(member->group, &one, &one, 1, CJ_INT32, &error);

        _exit(answer == CJ_INVALID && cj_finalize(member->group, NULL) == CJ_OK
                  ? 0
                  : 1);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
        member->status = CJ_UNSUPPORTED;
        (void)snprintf(member->error.message, sizeof member->error.message,
                       "the child ended with %d", status);
        return;
    }
    do_all_sum(member, 70001);
}

static void a_child_does_no_harm(void **state)
{
    static struct ring ring;

    (void)state;
    ring_init(&ring, 2);
    for (int i = 0; i < 2; i++)
        ring.members[i].config.net = NULL;
    ring_run(&ring, fork_and_sum);
    expect_all_ok(&ring);
}

/* A rank in a process of its own; what the body answers is its exit code. */
static pid_t start_process(const char *coordinator, int rank, int size,
                           int (*body)(struct cj_group *group, int fd), int fd)
{
    struct cj_config config = {.rank = rank,
                               .size = size,
                               .coordinator = coordinator,
                               .backend = CJ_BACKEND_SOCKETS,
                               .start_timeout_ns = 20 * SECOND,
                               .operation_timeout_ns = 20 * SECOND};
    pid_t process = fork();
    struct cj_group *group;
    struct cj_error error;
    int answer;

    assert_true(process >= 0);
    if (process > 0)
        return process;
    if (cj_init(&config, &group, &error) != CJ_OK) {
        (void)fprintf(stderr, "rank %d: %s\n", rank, error.message);
        _exit(100);
    }
    answer = body(group, fd);
    (void)cj_finalize(group, NULL);
    _exit(answer);
}

static void do_nothing(int number)
{
    (void)number;
}

/* With a timer that interrupts system calls every 100 microseconds. */
static int sum_under_fire(struct cj_group *group, int fd)
{
    struct sigaction action = {.sa_handler = do_nothing};
    const struct itimerval often = {{0, 100}, {0, 100}};
    static int32_t data[70001];
    int wrong = 0;

    (void)fd;
    (void)sigaction(SIGALRM, &action, NULL);
    (void)setitimer(ITIMER_REAL, &often, NULL);
    for (int round = 0; round < 20 && wrong == 0; round++) {
        fill(data, cj_rank(group), 70001);
        wrong = cj_all_sum(group, data, data, 70001, CJ_INT32, NULL) != CJ_OK;
        for (size_t i = 0; i < 70001; i++)
            wrong |= data[i] != sum_of(cj_size(group), i);
    }
    return wrong;
}

static int exit_code(pid_t process)
{
    int status = -1;

    while (waitpid(process, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* C8, in operations. */
static void timers_interrupt_nothing(void **state)
{
    char coordinator[32];
    pid_t processes[3];

    (void)state;
    (void)fake_coordinator(coordinator);
    for (int i = 0; i < 3; i++)
        processes[i] = start_process(coordinator, i, 3, sum_under_fire, -1);
    for (int i = 0; i < 3; i++)
        assert_int_equal(exit_code(processes[i]), 0);
}

/* Says after a few sums that it is in the middle of them. */
static int sum_until_it_fails(struct cj_group *group, int fd)
{
    static int32_t data[70001];
    int status = CJ_OK;

    for (int round = 0; status == CJ_OK; round++) {
        status = cj_all_sum(group, data, data, 70001, CJ_INT32, NULL);
        if (round == 5 && fd >= 0 && write(fd, "x", 1) != 1)
            return 2;
    }
    return status == CJ_PEER_GONE ? 0 : 1;
}

static void a_killed_rank_ends_the_others(void **state)
{
    (void)state;
    for (int victim = 0; victim < 3; victim++) {
        char coordinator[32];
        pid_t processes[3];
        int ends[2];
        char byte;

        (void)fake_coordinator(coordinator);
        assert_int_equal(pipe(ends), 0);
        for (int i = 0; i < 3; i++)
            processes[i] = start_process(coordinator, i, 3, sum_until_it_fails,
                                         i == victim ? ends[1] : -1);
        (void)close(ends[1]);
        assert_int_equal(read(ends[0], &byte, 1), 1);
        (void)kill(processes[victim], SIGKILL);
        for (int i = 0; i < 3; i++)
            assert_int_equal(exit_code(processes[i]), i == victim ? -1 : 0);
        (void)close(ends[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_works),
        cmocka_unit_test(large_messages_do_not_wait_for_each_other),
        cmocka_unit_test(a_ring_has_up_to_64_ranks),
        cmocka_unit_test(what_it_is_can_be_asked),
        cmocka_unit_test(messages_may_come_in_pieces),
        cmocka_unit_test(strangers_are_dropped),
        cmocka_unit_test(a_rank_that_cannot_listen_fails_all),
        cmocka_unit_test(a_transport_without_addresses_is_refused_by_all),
        cmocka_unit_test(a_rank_that_cannot_connect_fails_all),
        cmocka_unit_test(what_is_no_message_is_an_error),
        cmocka_unit_test(a_rank_that_leaves_is_told),
        cmocka_unit_test(different_calls_are_an_error),
        cmocka_unit_test(a_silent_peer_ends_at_the_deadline),
        cmocka_unit_test(no_memory_is_an_error_on_all),
        cmocka_unit_test(a_child_does_no_harm),
        cmocka_unit_test(timers_interrupt_nothing),
        cmocka_unit_test(a_killed_rank_ends_the_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
