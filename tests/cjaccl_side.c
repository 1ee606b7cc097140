/*
 * The side channel over real sockets of this machine: who may come in, what
 * happens when somebody leaves, and that nothing waits for ever.
 */
#define _GNU_SOURCE /* POSIX and POLLRDHUP, with a strict -std=c11 */

#include "cjaccl/src/address.h"
#include "cjaccl/src/defaults.h"
#include "cjaccl/src/error.h"
#include "cjaccl/src/side.h"

#include "cjaccl_fake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
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
#include <unistd.h>

#include <cmocka.h>

#define SECOND ((int64_t)1000000000)
#define LONG (20 * SECOND)
#define SHORT (SECOND / 4)

/* What accept fails with first, and how many connections are reset then. */
static struct {
    int errors[16];
    int error_count;
    atomic_int next_error;
    atomic_int resets;
} troubles;

static int troubled_accept(int fd, struct sockaddr *from, socklen_t *size)
{
    if (atomic_load(&troubles.next_error) < troubles.error_count) {
        errno = troubles.errors[atomic_fetch_add(&troubles.next_error, 1)];
        return -1;
    }
    return accept(fd, from, size);
}

#ifdef SOCK_CLOEXEC
static int troubled_accept4(int fd, struct sockaddr *from, socklen_t *size,
                            int flags)
{
    int end = troubled_accept(fd, from, size);

    assert_int_equal(flags, SOCK_CLOEXEC);
    return end;
}
#endif

/* The one option that macOS refuses to set on a connection that was reset. */
#ifndef SO_NOSIGPIPE
#define SO_NOSIGPIPE 0x1022
#endif

static int troubled_setsockopt(int fd, int level, int option, const void *value,
                               socklen_t size)
{
    int connected = 0;
    struct sockaddr_storage peer;
    socklen_t peer_size = sizeof peer;

    if (level != SOL_SOCKET || option != SO_NOSIGPIPE)
        return setsockopt(fd, level, option, value, size);
    connected = getpeername(fd, (struct sockaddr *)&peer, &peer_size) == 0;
    if (!connected || atomic_load(&troubles.resets) == 0)
        return 0;
    atomic_fetch_sub(&troubles.resets, 1);
    errno = EINVAL;
    return -1;
}

/* A resolver that says what a test wants it to, or is the real one. */
static struct {
    int code;
    int count;
    struct addrinfo list[2];
    struct sockaddr_in at[2];
} resolver;

static int scripted_getaddrinfo(const char *host, const char *service,
                                const struct addrinfo *hints,
                                struct addrinfo **list)
{
    if (resolver.code != 0)
        return resolver.code;
    if (resolver.count == 0)
        return getaddrinfo(host, service, hints, list);
    for (int i = 0; i < resolver.count; i++)
        resolver.list[i] = (struct addrinfo){
            .ai_family = AF_INET,
            .ai_socktype = SOCK_STREAM,
            .ai_addr = (struct sockaddr *)&resolver.at[i],
            .ai_addrlen = sizeof resolver.at[i],
            .ai_next = i + 1 < resolver.count ? &resolver.list[i + 1] : NULL,
        };
    *list = resolver.list;
    return 0;
}

static void scripted_freeaddrinfo(struct addrinfo *list)
{
    if (list != resolver.list)
        freeaddrinfo(list);
}

/* The default transport itself, above these. */
#define accept(fd, from, size) troubled_accept(fd, from, size)
#define accept4(fd, from, size, flags) troubled_accept4(fd, from, size, flags)
#define setsockopt(fd, level, option, value, size)                             \
    troubled_setsockopt(fd, level, option, value, size)
#define getaddrinfo(host, service, hints, list)                                \
    scripted_getaddrinfo(host, service, hints, list)
#define freeaddrinfo(list) scripted_freeaddrinfo(list)
#include "cjaccl/src/default_net.c"
#undef accept
#undef accept4
#undef setsockopt
#undef getaddrinfo
#undef freeaddrinfo

static struct cji_address address;

/* As much of a group as the side channel uses. */
static struct cj_group *new_group(int rank, int size, int64_t timeout)
{
    struct cj_group *group = calloc(1, sizeof *group);

    group->rank = rank;
    group->size = size;
    group->clock = cji_default_clock;
    group->net = cji_default_net;
    group->timeout = timeout;
    group->deadline = cji_default_clock.now_ns(NULL) + timeout;
    for (int i = 0; i < CJ_MAX_RANKS; i++)
        group->ends[i] = -1;
    return group;
}

static void free_group(struct cj_group *group)
{
    cji_side_close(group);
    free(group);
}

static void expect_text(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

static void choose_address(void)
{
    char text[32];

    assert_null(cji_address_parse(&address, fake_coordinator(text)));
}

/* How many descriptors are open. */
static int open_descriptors(void)
{
    int count = 0;

    for (int fd = 0; fd < 512; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* One rank in a thread: opens, and gathers a few times. */
struct member {
    pthread_t thread;
    struct cj_group *group;
    size_t size; /* of what is gathered */
    int rounds;
    int status;
    bool wrong;
};

static void fill(unsigned char *data, size_t size, int rank, int round)
{
    for (size_t i = 0; i < size; i++)
        data[i] = (unsigned char)((size_t)rank * 31 + (size_t)round * 7 + i);
}

static void gather(struct member *member, int round)
{
    size_t size = member->size;
    int ranks = member->group->size;
    unsigned char *mine = malloc(size);
    unsigned char *all = malloc(size * (size_t)ranks);

    fill(mine, size, member->group->rank, round);
    member->status = cji_side_gather(member->group, mine, all, size);
    for (int rank = 0; member->status == CJ_OK && rank < ranks; rank++) {
        fill(mine, size, rank, round);
        if (memcmp(all + (size_t)rank * size, mine, size) != 0)
            member->wrong = true;
    }
    free(all);
    free(mine);
}

static void *be_member(void *argument)
{
    struct member *member = argument;

    member->status = cji_side_open(member->group, &address);
    for (int i = 0; member->status == CJ_OK && i < member->rounds; i++)
        gather(member, i);
    return NULL;
}

static void begin_member(struct member *member, int rank, int size)
{
    memset(member, 0, sizeof *member);
    member->group = new_group(rank, size, LONG);
    member->size = 32;
    member->rounds = 3;
}

static void spawn_member(struct member *member)
{
    assert_int_equal(pthread_create(&member->thread, NULL, be_member, member),
                     0);
}

static void join_member(struct member *member)
{
    assert_int_equal(pthread_join(member->thread, NULL), 0);
}

static void expect_member_ok(struct member *member)
{
    if (member->status != CJ_OK)
        fail_msg("rank %d: %s", member->group->rank,
                 member->group->error.message);
    assert_false(member->wrong);
    free_group(member->group);
}

static void run_group(int size, size_t bytes)
{
    static struct member members[CJ_MAX_RANKS];

    for (int i = size - 1; i >= 0; i--) {
        begin_member(&members[i], i, size);
        members[i].size = bytes;
        spawn_member(&members[i]);
    }
    for (int i = 0; i < size; i++)
        join_member(&members[i]);
    for (int i = 0; i < size; i++)
        expect_member_ok(&members[i]);
}

static void everybody_gets_everything_in_rank_order(void **state)
{
    int before = open_descriptors();

    (void)state;
    for (int size = 2; size <= CJ_MAX_MESH_RANKS; size++) {
        choose_address();
        run_group(size, 32);
    }
    choose_address();
    run_group(CJ_MAX_RANKS, 32);
    /* More than a socket's buffers hold. */
    choose_address();
    run_group(3, 3000001);
    assert_int_equal(open_descriptors(), before);
}

static bool has_ipv6(void)
{
    struct sockaddr_in6 loopback = {.sin6_family = AF_INET6,
                                    .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    bool works =
        fd >= 0 && bind(fd, (struct sockaddr *)&loopback, sizeof loopback) == 0;

    if (fd >= 0)
        (void)close(fd);
    return works;
}

/* C6 */
static void ipv6_and_names_work(void **state)
{
    (void)state;
    choose_address();
    (void)snprintf(address.host, sizeof address.host, "localhost");
    run_group(2, 32);
    if (!has_ipv6())
        return;
    choose_address();
    (void)snprintf(address.host, sizeof address.host, "::1");
    run_group(3, 32);
}

/* A client that is no rank of ours: connects and sends some bytes. */
static int connect_client(const void *bytes, size_t size)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(address.port)};
    int fd = -1;

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    /* The coordinator may be about to listen. */
    while (fd < 0) {
        fd = socket(AF_INET, SOCK_STREAM, 0);
        assert_true(fd >= 0);
        if (connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
            (void)close(fd);
            fd = -1;
            (void)sched_yield();
        }
    }
    if (size > 0)
        assert_int_equal(send(fd, bytes, size, 0), size);
    return fd;
}

/* C1 */
static void an_impossible_rank_is_an_error(void **state)
{
    static const int32_t ranks[] = {-1, 0, 3, 99999, INT32_MIN, INT32_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        struct member coordinator;
        char rank[32];
        int fd;

        choose_address();
        begin_member(&coordinator, 0, 3);
        spawn_member(&coordinator);
        fd = connect_client(&ranks[i], sizeof ranks[i]);
        join_member(&coordinator);
        (void)close(fd);
        assert_int_equal(coordinator.status, CJ_PROTOCOL);
        assert_int_equal(coordinator.group->error.step, CJ_STEP_HELLO);
        expect_text(coordinator.group->error.message, "127.0.0.1:");
        (void)snprintf(rank, sizeof rank, "rank %d ", (int)ranks[i]);
        expect_text(coordinator.group->error.message, rank);
        free_group(coordinator.group);
    }
}

/* C2 */
static void a_rank_that_comes_twice_is_an_error(void **state)
{
    const int32_t rank = 2;
    struct member coordinator;
    int first;
    int second;

    (void)state;
    choose_address();
    begin_member(&coordinator, 0, 3);
    spawn_member(&coordinator);
    first = connect_client(&rank, sizeof rank);
    second = connect_client(&rank, sizeof rank);
    join_member(&coordinator);
    (void)close(first);
    (void)close(second);
    assert_int_equal(coordinator.status, CJ_PROTOCOL);
    assert_int_equal(coordinator.group->error.peer, 2);
    expect_text(coordinator.group->error.message, "another process did before");
    free_group(coordinator.group);
}

/* C5. The stranger keeps its connection open all the while. */
static void strangers_do_not_keep_a_group_from_starting(void **state)
{
    static const char half[2] = {1, 0};
    struct member members[3];
    int silent[5];
    int slow;

    (void)state;
    choose_address();
    begin_member(&members[0], 0, 3);
    spawn_member(&members[0]);
    for (int i = 0; i < 5; i++)
        silent[i] = connect_client(NULL, 0);
    slow = connect_client(half, sizeof half);
    (void)close(connect_client(NULL, 0));
    (void)close(connect_client(half, sizeof half));
    for (int i = 1; i < 3; i++) {
        begin_member(&members[i], i, 3);
        spawn_member(&members[i]);
    }
    for (int i = 0; i < 3; i++)
        join_member(&members[i]);
    for (int i = 0; i < 3; i++)
        expect_member_ok(&members[i]);
    for (int i = 0; i < 5; i++)
        (void)close(silent[i]);
    (void)close(slow);
}

/* C4, before the rank is known: dropped, and told when nobody else comes. */
static void leaving_before_the_rank_is_said_is_told(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof(int32_t); n++) {
        const int32_t rank = 1;
        struct member coordinator;

        choose_address();
        begin_member(&coordinator, 0, 2);
        coordinator.group->timeout = SHORT;
        coordinator.group->deadline = cji_default_clock.now_ns(NULL) + SHORT;
        spawn_member(&coordinator);
        (void)close(connect_client(&rank, n));
        join_member(&coordinator);
        assert_int_equal(coordinator.status, CJ_TIMEOUT);
        assert_int_equal(coordinator.group->error.step, CJ_STEP_ACCEPT);
        assert_int_equal(coordinator.group->error.peer, 1);
        expect_text(coordinator.group->error.message, "rank 1 did not connect");
        expect_text(coordinator.group->error.message,
                    "dropped 1 connection that");
        free_group(coordinator.group);
    }
}

/* C4, in an all-gather of 8 bytes: the peer sends n of them and goes. */
static void leaving_in_a_gather_is_told_with_the_rank(void **state)
{
    (void)state;
    for (size_t n = 0; n < 8; n++) {
        unsigned char bytes[12] = {0};
        const int32_t rank = 1;
        struct member coordinator;

        memcpy(bytes, &rank, sizeof rank);
        choose_address();
        begin_member(&coordinator, 0, 2);
        coordinator.size = 8;
        spawn_member(&coordinator);
        (void)close(connect_client(bytes, sizeof rank + n));
        join_member(&coordinator);
        assert_int_equal(coordinator.status, CJ_PEER_GONE);
        assert_int_equal(coordinator.group->error.peer, 1);
        expect_text(coordinator.group->error.message, "rank 1 went away");
        free_group(coordinator.group);
    }
}

/* C4, seen from the other side: the coordinator answers n bytes and goes. */
static void a_coordinator_that_leaves_is_told(void **state)
{
    (void)state;
    for (size_t n = 0; n < 16; n++) {
        struct member member;
        unsigned char bytes[16] = {0};
        unsigned char received[12];
        int listener;
        int end;

        choose_address();
        listener = cji_default_net.listen(NULL, address.host, address.port);
        assert_true(listener >= 0);
        begin_member(&member, 1, 2);
        member.size = 8;
        spawn_member(&member);
        end = cji_default_net.accept(NULL, listener,
                                     cji_default_clock.now_ns(NULL) + LONG);
        assert_true(end >= 0);
        for (size_t got = 0; got < sizeof received;) {
            int64_t more = cji_default_net.recv(
                NULL, end, received + got, sizeof received - got,
                cji_default_clock.now_ns(NULL) + LONG);

            assert_true(more > 0);
            got += (size_t)more;
        }
        assert_int_equal(received[0], 1);
        if (n > 0)
            assert_int_equal(send(end, bytes, n, 0), n);
        cji_default_net.close(NULL, end);
        cji_default_net.close(NULL, listener);
        join_member(&member);
        assert_int_equal(member.status, CJ_PEER_GONE);
        assert_int_equal(member.group->error.peer, 0);
        expect_text(member.group->error.message, "rank 0 went away");
        free_group(member.group);
    }
}

/* Resets a connection, as a listener does that has no place for it. */
static void reset(int end)
{
    const struct linger at_once = {.l_onoff = 1};

    assert_int_equal(
        setsockopt(end, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
    (void)close(end);
}

static void receive_bytes(int end, void *bytes, size_t size)
{
    unsigned char *to = bytes;

    for (size_t got = 0; got < size;) {
        int64_t more =
            cji_default_net.recv(NULL, end, to + got, size - got,
                                 cji_default_clock.now_ns(NULL) + LONG);

        assert_true(more > 0);
        got += (size_t)more;
    }
}

static atomic_int answers;

static int64_t counting_recv(void *ctx, int end, void *data, size_t size,
                             int64_t deadline)
{
    int64_t n = cji_default_net.recv(ctx, end, data, size, deadline);

    if (n > 0)
        (void)atomic_fetch_add(&answers, 1);
    return n;
}

/*
 * A rank 0 that resets so many connections, then hears a rank and its 8 bytes,
 * and answers `answer` of 16 bytes before it resets the last one too, if it
 * does. How many connections there were is known when the rank is through.
 */
static int play_resetting_rank_0(struct member *member, int resets,
                                 size_t answer, bool reset_last)
{
    unsigned char bytes[16];
    int connections = 0;
    int listener;
    int end;

    choose_address();
    listener = cji_default_net.listen(NULL, address.host, address.port);
    assert_true(listener >= 0);
    begin_member(member, 1, 2);
    member->size = 8;
    member->rounds = 1;
    member->group->net.recv = counting_recv;
    atomic_store(&answers, 0);
    spawn_member(member);
    for (;; connections++) {
        end = cji_default_net.accept(NULL, listener,
                                     cji_default_clock.now_ns(NULL) + SECOND);
        if (end < 0)
            break;
        receive_bytes(end, bytes, 12);
        assert_int_equal(bytes[0], 1);
        if (connections < resets) {
            reset(end);
            continue;
        }
        fill(bytes + 8, 8, 0, 0);
        memmove(bytes, bytes + 8, 8);
        fill(bytes + 8, 8, 1, 0);
        if (answer > 0)
            assert_int_equal(send(end, bytes, answer, 0), answer);
        if (!reset_last)
            break;
        /* What was sent is there before the reset. */
        while (answer > 0 && atomic_load(&answers) == 0)
            (void)sched_yield();
        reset(end);
    }
    join_member(member);
    if (end >= 0)
        (void)close(end);
    cji_default_net.close(NULL, listener);
    return connections;
}

static void a_connection_lost_at_the_door_is_made_once_more(void **state)
{
    int before = open_descriptors();
    struct member member;

    (void)state;
    assert_int_equal(play_resetting_rank_0(&member, 1, 16, false), 1);
    expect_member_ok(&member);
    assert_int_equal(play_resetting_rank_0(&member, 9, 0, true), 2);
    assert_int_equal(member.status, CJ_PEER_GONE);
    expect_text(member.group->error.message, "ECONNRESET");
    free_group(member.group);
    assert_int_equal(open_descriptors(), before);
}

static void one_that_was_answered_is_not(void **state)
{
    struct member member;

    (void)state;
    assert_int_equal(play_resetting_rank_0(&member, 0, 1, true), 1);
    assert_int_equal(member.status, CJ_PEER_GONE);
    free_group(member.group);
}

/* C1, of those that have never heard of ranks. */
static void a_stray_client_is_described(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *part;
    } strays[] = {
        {"GET / HTTP/1.1\r\n\r\n", 18, "47 45 54 20, \"GET \""},
        {"\x16\x03\x01\x02\x00\x01", 6, "16 03 01 02)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof strays / sizeof *strays; i++) {
        struct member coordinator;
        int fd;

        choose_address();
        begin_member(&coordinator, 0, 3);
        spawn_member(&coordinator);
        /* A port scanner is gone at once, and does no harm. */
        (void)close(connect_client(NULL, 0));
        fd = connect_client(strays[i].bytes, strays[i].size);
        join_member(&coordinator);
        (void)close(fd);
        assert_int_equal(coordinator.status, CJ_PROTOCOL);
        expect_text(coordinator.group->error.message, "127.0.0.1:");
        expect_text(coordinator.group->error.message, "a stray client");
        expect_text(coordinator.group->error.message, strays[i].part);
        free_group(coordinator.group);
    }
}

/* While rank 0 waits for rank 1, which is silent, rank 2 goes. */
static void leaving_is_noticed_while_others_are_silent(void **state)
{
    const int32_t one = 1;
    const int32_t two = 2;
    struct member coordinator;
    int silent;

    (void)state;
    choose_address();
    begin_member(&coordinator, 0, 3);
    spawn_member(&coordinator);
    silent = connect_client(&one, sizeof one);
    (void)close(connect_client(&two, sizeof two));
    join_member(&coordinator);
    assert_int_equal(coordinator.status, CJ_PEER_GONE);
    assert_int_equal(coordinator.group->error.peer, 2);
    free_group(coordinator.group);
    (void)close(silent);
}

/* The same, and rank 1 has sent all of its block, and more than that. */
static void leaving_is_noticed_of_a_rank_that_is_complete(void **state)
{
    (void)state;
    for (size_t more = 0; more < 2; more++) {
        unsigned char bytes[12 + 1] = {0};
        const int32_t one = 1;
        const int32_t two = 2;
        struct member coordinator;
        int silent;

        memcpy(bytes, &one, sizeof one);
        choose_address();
        begin_member(&coordinator, 0, 3);
        coordinator.size = 8;
        spawn_member(&coordinator);
        silent = connect_client(&two, sizeof two);
        (void)close(connect_client(bytes, 12 + more));
        join_member(&coordinator);
        assert_int_equal(coordinator.status, CJ_PEER_GONE);
        assert_int_equal(coordinator.group->error.peer, 1);
        free_group(coordinator.group);
        (void)close(silent);
    }
}

static atomic_int looks;

static int counting_alive(void *ctx, int end)
{
    int answer = cji_default_net.alive(ctx, end);

    atomic_fetch_add(&looks, 1);
    return answer;
}

/* It was found to be ahead, and alive, before it went. */
static void leaving_is_noticed_of_a_rank_that_is_ahead(void **state)
{
    unsigned char bytes[12 + 1] = {0};
    const int32_t one = 1;
    const int32_t two = 2;
    struct member coordinator;
    int silent;
    int ahead;

    (void)state;
    memcpy(bytes, &one, sizeof one);
    choose_address();
    atomic_store(&looks, 0);
    begin_member(&coordinator, 0, 3);
    coordinator.size = 8;
    coordinator.group->net.alive = counting_alive;
    spawn_member(&coordinator);
    silent = connect_client(&two, sizeof two);
    ahead = connect_client(bytes, sizeof bytes);
    while (atomic_load(&looks) == 0)
        (void)sched_yield();
    (void)close(ahead);
    join_member(&coordinator);
    assert_int_equal(coordinator.status, CJ_PEER_GONE);
    assert_int_equal(coordinator.group->error.peer, 1);
    free_group(coordinator.group);
    (void)close(silent);
}

/* What a rank sends too early waits for its turn. */
static void a_rank_that_is_ahead_disturbs_nobody(void **state)
{
    unsigned char bytes[4 + 3 * 8];
    const int32_t one = 1;
    struct member members[3];
    int fd;

    (void)state;
    memcpy(bytes, &one, sizeof one);
    for (int round = 0; round < 3; round++)
        fill(bytes + 4 + round * 8, 8, 1, round);
    choose_address();
    for (int i = 0; i < 3; i += 2) {
        begin_member(&members[i], i, 3);
        members[i].size = 8;
    }
    spawn_member(&members[0]);
    fd = connect_client(bytes, sizeof bytes);
    spawn_member(&members[2]);
    for (int i = 0; i < 3; i += 2)
        join_member(&members[i]);
    for (int i = 0; i < 3; i += 2)
        expect_member_ok(&members[i]);
    (void)close(fd);
}

static atomic_int closed_ends;

static void counting_close(void *ctx, int end)
{
    cji_default_net.close(ctx, end);
    atomic_fetch_add(&closed_ends, 1);
}

/* While others are missing, rank 1 comes, says more, dies, and is restarted. */
static void a_rank_that_was_restarted_gets_its_place(void **state)
{
    (void)state;
    for (size_t more = 0; more < 2; more++) {
        const int32_t hello[2] = {1, 3};
        struct member members[3];

        choose_address();
        atomic_store(&closed_ends, 0);
        for (int i = 0; i < 3; i++)
            begin_member(&members[i], i, 3);
        members[0].group->net.close = counting_close;
        spawn_member(&members[0]);
        (void)close(connect_client(hello, (1 + more) * sizeof *hello));
        spawn_member(&members[1]);
        /* The dead one's connection is closed when the new one is known. */
        while (atomic_load(&closed_ends) == 0)
            (void)sched_yield();
        spawn_member(&members[2]);
        for (int i = 0; i < 3; i++)
            join_member(&members[i]);
        for (int i = 0; i < 3; i++)
            expect_member_ok(&members[i]);
    }
}

static void a_rank_that_came_and_went_is_told(void **state)
{
    const int32_t rank = 1;
    struct member coordinator;

    (void)state;
    choose_address();
    begin_member(&coordinator, 0, 4);
    coordinator.group->timeout = SHORT;
    coordinator.group->deadline = cji_default_clock.now_ns(NULL) + SHORT;
    spawn_member(&coordinator);
    (void)close(connect_client(&rank, sizeof rank));
    join_member(&coordinator);
    assert_int_equal(coordinator.status, CJ_TIMEOUT);
    assert_int_equal(coordinator.group->error.peer, 2);
    expect_text(coordinator.group->error.message, "ranks 2, 3 did not connect");
    expect_text(coordinator.group->error.message,
                "rank 1 came and went away again");
    free_group(coordinator.group);
}

/* Somebody knocks and leaves without end, on a clock of its own. */
static struct {
    int64_t now;
    int waits;
} knocking;

static int64_t knocking_now(void *ctx)
{
    (void)ctx;
    return knocking.now;
}

static int knocking_wait(void *ctx, const int *ends, int count,
                         int64_t deadline_ns)
{
    (void)ctx;
    (void)ends;
    (void)deadline_ns;
    knocking.now += SECOND / 1000;
    /* Enough for the deadline to have passed many times. */
    if (++knocking.waits > 100000)
        return -EIO;
    return count > 1 ? 0 : count - 1;
}

static int knocking_accept(void *ctx, int listener, int64_t deadline_ns)
{
    int pair[2];

    (void)ctx;
    (void)listener;
    (void)deadline_ns;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    (void)close(pair[1]);
    return pair[0];
}

static void knocking_without_end_does_not_move_the_deadline(void **state)
{
    struct cj_group *group = new_group(0, 2, SECOND);

    (void)state;
    choose_address();
    memset(&knocking, 0, sizeof knocking);
    group->deadline = SECOND;
    group->clock.now_ns = knocking_now;
    group->net.wait = knocking_wait;
    group->net.accept = knocking_accept;
    assert_int_equal(cji_side_open(group, &address), CJ_TIMEOUT);
    assert_int_equal(group->error.peer, 1);
    assert_in_range(knocking.waits, 1000, 1001);
    free_group(group);
}

/* 21: accept(2) says to try again. */
static void a_connection_that_fails_is_no_failing_accept(void **state)
{
    static const int errors[] = {ECONNABORTED, EPROTO,      ENETDOWN,
                                 EHOSTUNREACH, ENETUNREACH, EHOSTDOWN,
                                 ENOPROTOOPT,  ECONNRESET,  EINTR};
    struct member members[2];
    int stranger;

    (void)state;
    choose_address();
    memcpy(troubles.errors, errors, sizeof errors);
    troubles.error_count = sizeof errors / sizeof *errors;
    atomic_store(&troubles.next_error, 0);
    atomic_store(&troubles.resets, 1);
    for (int i = 0; i < 2; i++)
        begin_member(&members[i], i, 2);
    spawn_member(&members[0]);
    stranger = connect_client(NULL, 0);
    spawn_member(&members[1]);
    for (int i = 0; i < 2; i++)
        join_member(&members[i]);
    assert_int_equal(atomic_load(&troubles.next_error), troubles.error_count);
    assert_int_equal(atomic_load(&troubles.resets), 0);
    troubles.error_count = 0;
    for (int i = 0; i < 2; i++)
        expect_member_ok(&members[i]);
    (void)close(stranger);
}

static void an_accept_that_fails_for_good_is_an_error(void **state)
{
    struct member coordinator;
    int fd;

    (void)state;
    choose_address();
    troubles.errors[0] = EMFILE;
    troubles.error_count = 1;
    atomic_store(&troubles.next_error, 0);
    begin_member(&coordinator, 0, 2);
    spawn_member(&coordinator);
    fd = connect_client(NULL, 0);
    join_member(&coordinator);
    troubles.error_count = 0;
    assert_int_equal(coordinator.status, CJ_NETWORK);
    assert_int_equal(coordinator.group->error.err_no, EMFILE);
    free_group(coordinator.group);
    (void)close(fd);
}

static void an_unknown_name_is_called_so(void **state)
{
    (void)state;
    for (int rank = 0; rank < 2; rank++) {
        struct cj_group *group = new_group(rank, 2, SHORT);

        choose_address();
        resolver.code = EAI_NONAME;
        assert_int_equal(cji_side_open(group, &address), CJ_NETWORK);
        resolver.code = 0;
        assert_int_equal(group->error.step,
                         rank == 0 ? CJ_STEP_LISTEN : CJ_STEP_CONNECT);
        expect_text(group->error.message, "the name is unknown");
        free_group(group);
    }
}

/* A port whose queue is full: further clients get no answer at all. */
static int begin_silence(struct sockaddr_in *at, int fillers[], int count)
{
    socklen_t size = sizeof *at;
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    memset(at, 0, sizeof *at);
    at->sin_family = AF_INET;
    at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(listener, (struct sockaddr *)at, size), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)at, &size), 0);
    assert_int_equal(listen(listener, 0), 0);
    for (int i = 0; i < count; i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(fcntl(fillers[i], F_SETFL, O_NONBLOCK), 0);
        (void)connect(fillers[i], (struct sockaddr *)at, size);
    }
    return listener;
}

#define FILLERS 8

static void a_dead_address_leaves_time_for_the_next_one(void **state)
{
    int fillers[FILLERS];
    int silence = begin_silence(&resolver.at[0], fillers, FILLERS);
    int listener;
    int64_t deadline;
    int end;

    (void)state;
    choose_address();
    listener = cji_default_net.listen(NULL, address.host, address.port);
    assert_true(listener >= 0);
    resolver.at[1] = resolver.at[0];
    resolver.at[1].sin_port = htons(address.port);
    resolver.count = 2;
    deadline = cji_default_clock.now_ns(NULL) + 2 * SECOND;
    end = cji_default_net.connect(NULL, "two", address.port, deadline);
    resolver.count = 0;
    assert_true(end >= 0);
    assert_true(cji_default_clock.now_ns(NULL) < deadline);
    cji_default_net.close(NULL, end);
    cji_default_net.close(NULL, listener);
    for (int i = 0; i < FILLERS; i++)
        (void)close(fillers[i]);
    (void)close(silence);
}

/* Of those systems it is known; elsewhere the unread byte may hide it. */
static void an_unread_byte_does_not_hide_the_end(void **state)
{
    struct member coordinator;
    const unsigned char hello_and_more[5] = {1, 0, 0, 0, 9};
    int fd;

    (void)state;
    choose_address();
    begin_member(&coordinator, 0, 2);
    coordinator.rounds = 0;
    spawn_member(&coordinator);
    fd = connect_client(hello_and_more, sizeof hello_and_more);
    join_member(&coordinator);
    assert_int_equal(coordinator.status, CJ_OK);
    assert_int_equal(cji_side_gone(coordinator.group), -1);
    (void)close(fd);
#if defined(__linux__) || defined(__APPLE__)
    assert_int_equal(cji_side_gone(coordinator.group), 1);
#endif
    free_group(coordinator.group);
}

static void a_silent_peer_ends_at_the_deadline(void **state)
{
    const int32_t rank = 1;
    struct member coordinator;
    int silent;

    (void)state;
    choose_address();
    begin_member(&coordinator, 0, 2);
    coordinator.group->timeout = SHORT;
    coordinator.group->deadline = cji_default_clock.now_ns(NULL) + SHORT;
    spawn_member(&coordinator);
    silent = connect_client(&rank, sizeof rank);
    join_member(&coordinator);
    assert_int_equal(coordinator.status, CJ_TIMEOUT);
    assert_int_equal(coordinator.group->error.peer, 1);
    expect_text(coordinator.group->error.message, "rank 1 was silent");
    free_group(coordinator.group);
    (void)close(silent);
}

/* A transport that counts refusals, so that a test knows when to go on. */
static atomic_int refusals;

static int counting_connect(void *ctx, const char *host, uint16_t port,
                            int64_t deadline_ns)
{
    int end = cji_default_net.connect(ctx, host, port, deadline_ns);

    if (end == -ECONNREFUSED)
        atomic_fetch_add(&refusals, 1);
    return end;
}

/* C7 */
static void a_coordinator_that_comes_late_is_waited_for(void **state)
{
    struct member members[2];
    int before = open_descriptors();

    (void)state;
    choose_address();
    atomic_store(&refusals, 0);
    begin_member(&members[1], 1, 2);
    members[1].group->net.connect = counting_connect;
    spawn_member(&members[1]);
    while (atomic_load(&refusals) < 3)
        (void)sched_yield();
    assert_int_equal(open_descriptors(), before);
    begin_member(&members[0], 0, 2);
    spawn_member(&members[0]);
    for (int i = 0; i < 2; i++)
        join_member(&members[i]);
    for (int i = 0; i < 2; i++)
        expect_member_ok(&members[i]);
    assert_int_equal(open_descriptors(), before);
}

static void a_coordinator_that_never_comes_is_an_error(void **state)
{
    int before = open_descriptors();
    struct cj_group *group = new_group(1, 2, SHORT);

    (void)state;
    choose_address();
    assert_int_equal(cji_side_open(group, &address), CJ_TIMEOUT);
    assert_int_equal(group->error.step, CJ_STEP_CONNECT);
    assert_int_equal(group->error.err_no, ECONNREFUSED);
    expect_text(group->error.message, "ECONNREFUSED");
    free_group(group);
    assert_int_equal(open_descriptors(), before);
}

static void a_port_that_is_taken_is_an_error(void **state)
{
    struct cj_group *group = new_group(0, 2, SHORT);
    int listener;

    (void)state;
    choose_address();
    listener = cji_default_net.listen(NULL, address.host, address.port);
    assert_true(listener >= 0);
    assert_int_equal(cji_side_open(group, &address), CJ_NETWORK);
    assert_int_equal(group->error.step, CJ_STEP_LISTEN);
    assert_int_equal(group->error.err_no, EADDRINUSE);
    free_group(group);
    cji_default_net.close(NULL, listener);
}

/* Of the whole list at most as much as a message has room for. */
static void missing_ranks_are_listed_shortly(void **state)
{
    static const struct {
        int size;
        const int32_t present[16];
        const char *text;
    } cases[] = {
        {CJ_MAX_RANKS, {0}, "ranks 1 to 63 did not connect"},
        {9, {3, 6}, "ranks 1, 2, 4, 5, 7, 8 did not connect"},
        {9, {1, 7, 8}, "ranks 2 to 6 did not connect"},
        {3, {1}, "rank 2 did not connect"},
        {CJ_MAX_RANKS,
         {12, 15, 18, 21, 24, 27, 30, 33, 36, 39, 42, 45},
         "ranks 1 to 11, 13, 14, 16, 17, 19, 20, 22, 23, 25, 26, ... did not"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct member coordinator;
        int fds[16];
        int count = 0;

        choose_address();
        begin_member(&coordinator, 0, cases[i].size);
        coordinator.group->timeout = SHORT;
        coordinator.group->deadline = cji_default_clock.now_ns(NULL) + SHORT;
        spawn_member(&coordinator);
        for (; cases[i].present[count] != 0; count++)
            fds[count] = connect_client(&cases[i].present[count], 4);
        join_member(&coordinator);
        assert_int_equal(coordinator.status, CJ_TIMEOUT);
        expect_text(coordinator.group->error.message, cases[i].text);
        free_group(coordinator.group);
        while (count > 0)
            (void)close(fds[--count]);
    }
}

/* C9: rank 0 knows of two ranks, rank 1 of three. Neither waits for ever. */
static void groups_of_different_sizes_fail_in_time(void **state)
{
    struct member members[2];

    (void)state;
    choose_address();
    for (int i = 0; i < 2; i++) {
        begin_member(&members[i], i, 2 + i);
        members[i].group->timeout = SHORT;
        members[i].group->deadline = cji_default_clock.now_ns(NULL) + SHORT;
        spawn_member(&members[i]);
    }
    for (int i = 0; i < 2; i++)
        join_member(&members[i]);
    assert_int_equal(members[0].status, CJ_TIMEOUT);
    assert_int_equal(members[0].group->error.peer, 1);
    assert_int_equal(members[1].status, CJ_TIMEOUT);
    assert_int_equal(members[1].group->error.peer, 0);
    expect_text(members[1].group->error.message, "64 of 96 bytes");
    expect_text(members[1].group->error.message, "the same device file");
    for (int i = 0; i < 2; i++)
        free_group(members[i].group);
}

/* C9, the other way: rank 0 waits for a rank that the others know nothing of.
 */
static void a_larger_group_than_its_ranks_know_fails_in_time(void **state)
{
    struct member members[2];

    (void)state;
    choose_address();
    for (int i = 0; i < 2; i++) {
        begin_member(&members[i], i, 3 - i);
        members[i].group->timeout = SHORT;
        members[i].group->deadline = cji_default_clock.now_ns(NULL) + SHORT;
        spawn_member(&members[i]);
    }
    for (int i = 0; i < 2; i++)
        join_member(&members[i]);
    assert_int_equal(members[0].status, CJ_TIMEOUT);
    expect_text(members[0].group->error.message, "rank 2 did not connect");
    assert_true(members[1].status == CJ_TIMEOUT ||
                members[1].status == CJ_PEER_GONE);
    for (int i = 0; i < 2; i++)
        free_group(members[i].group);
}

/* A caller's own all-gather, and how it was called. */
struct own_gather {
    int calls;
    int answer;
    size_t bytes;
};

static int answer_gather(void *ctx, const void *mine, void *all, size_t bytes)
{
    struct own_gather *own = ctx;

    own->calls++;
    own->bytes = bytes;
    for (size_t i = 0; i < 3; i++)
        memcpy((char *)all + i * bytes, mine, bytes);
    return own->answer;
}

static void a_callers_gather_takes_the_place_of_connections(void **state)
{
    struct own_gather own = {.answer = 0};
    struct cj_group *group = new_group(2, 3, SHORT);
    const int32_t mine = 77;
    int32_t all[3] = {0};
    int before = open_descriptors();

    (void)state;
    group->gather = (struct cj_gather){&own, answer_gather};
    assert_int_equal(cji_side_open(group, NULL), CJ_OK);
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(cji_side_gather(group, &mine, all, sizeof mine), CJ_OK);
    assert_int_equal(own.calls, 1);
    assert_int_equal(own.bytes, sizeof mine);
    assert_int_equal(all[2], 77);
    assert_int_equal(cji_side_gone(group), -1);
    own.answer = -ECONNRESET;
    assert_int_equal(cji_side_gather(group, &mine, all, sizeof mine),
                     CJ_NETWORK);
    assert_int_equal(group->error.err_no, ECONNRESET);
    expect_text(group->error.message, "ECONNRESET");
    free_group(group);
    group = new_group(0, 3, SHORT);
    group->gather = (struct cj_gather){&own, answer_gather};
    own.answer = 1;
    assert_int_equal(cji_side_gather(group, &mine, all, sizeof mine),
                     CJ_NETWORK);
    assert_int_equal(group->error.err_no, 0);
    free_group(group);
}

/* What the others have to connect to. */
static void an_end_knows_its_own_address(void **state)
{
    static const char *const hosts[] = {"127.0.0.1", "::1"};

    (void)state;
    for (int i = 0; i < (has_ipv6() ? 2 : 1); i++) {
        int64_t deadline = cji_default_clock.now_ns(NULL) + LONG;
        int listener = cji_default_net.listen(NULL, hosts[i], 0);
        uint16_t port = 0;
        uint16_t other = 0;
        char host[64];
        int ends[2];

        assert_true(listener >= 0);
        assert_int_equal(cji_default_net.local_name(NULL, listener, host,
                                                    sizeof host, &port),
                         0);
        assert_true(port > 0);
        ends[0] = cji_default_net.connect(NULL, hosts[i], port, deadline);
        ends[1] = cji_default_net.accept(NULL, listener, deadline);
        for (int e = 0; e < 2; e++) {
            assert_true(ends[e] >= 0);
            assert_int_equal(cji_default_net.local_name(NULL, ends[e], host,
                                                        sizeof host, &other),
                             0);
            assert_string_equal(host, hosts[i]);
            cji_default_net.close(NULL, ends[e]);
        }
        cji_default_net.close(NULL, listener);
        assert_true(cji_default_net.local_name(NULL, listener, host,
                                               sizeof host, &other) < 0);
    }
}

static void do_nothing(int number)
{
    (void)number;
}

static atomic_bool pelt;

/* Interrupts rank 0 in whatever call it is. */
static void *pelt_with_signals(void *argument)
{
    struct member *target = argument;

    while (atomic_load(&pelt)) {
        (void)pthread_kill(target->thread, SIGUSR1);
        (void)sched_yield();
    }
    return NULL;
}

/* C8 */
static void signals_interrupt_nothing(void **state)
{
    struct sigaction action = {.sa_handler = do_nothing}; /* no SA_RESTART */
    struct member members[3];
    pthread_t pelter[2];

    (void)state;
    choose_address();
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    atomic_store(&pelt, true);
    for (int i = 0; i < 3; i++) {
        begin_member(&members[i], i, 3);
        members[i].rounds = 50;
        members[i].size = 20000;
    }
    for (int i = 0; i < 2; i++) {
        spawn_member(&members[i]);
        assert_int_equal(
            pthread_create(&pelter[i], NULL, pelt_with_signals, &members[i]),
            0);
    }
    /* They wait for the last rank under fire. */
    for (int i = 0; i < 1000; i++)
        (void)sched_yield();
    spawn_member(&members[2]);
    join_member(&members[2]);
    atomic_store(&pelt, false);
    for (int i = 0; i < 2; i++)
        (void)pthread_join(pelter[i], NULL);
    for (int i = 0; i < 2; i++)
        join_member(&members[i]);
    for (int i = 0; i < 3; i++)
        expect_member_ok(&members[i]);
}

/* Writing to a connection that was closed must not end the process. */
static void a_closed_connection_raises_no_signal(void **state)
{
    const int32_t rank = 1;
    unsigned char bytes[1000] = {0};
    unsigned char all[2000];
    struct member coordinator;
    int fd;
    int status = CJ_OK;

    (void)state;
    choose_address();
    begin_member(&coordinator, 0, 2);
    coordinator.rounds = 0;
    spawn_member(&coordinator);
    fd = connect_client(&rank, sizeof rank);
    join_member(&coordinator);
    assert_int_equal(coordinator.status, CJ_OK);
    assert_int_equal(cji_side_gone(coordinator.group), -1);
    assert_int_equal(send(fd, bytes, sizeof bytes, 0), sizeof bytes);
    (void)close(fd);
    /* The first answer can still be sent; the connection is reset by it. */
    for (int i = 0; i < 3 && status == CJ_OK; i++)
        status = cji_side_gather(coordinator.group, bytes, all, sizeof bytes);
    assert_int_equal(status, CJ_PEER_GONE);
    assert_int_equal(cji_side_gone(coordinator.group), 1);
    assert_true(cji_default_net.send(NULL, coordinator.group->ends[1], bytes, 1,
                                     INT64_MAX) < 0);
    free_group(coordinator.group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_gets_everything_in_rank_order),
        cmocka_unit_test(ipv6_and_names_work),
        cmocka_unit_test(an_impossible_rank_is_an_error),
        cmocka_unit_test(a_rank_that_comes_twice_is_an_error),
        cmocka_unit_test(strangers_do_not_keep_a_group_from_starting),
        cmocka_unit_test(leaving_before_the_rank_is_said_is_told),
        cmocka_unit_test(leaving_in_a_gather_is_told_with_the_rank),
        cmocka_unit_test(a_coordinator_that_leaves_is_told),
        cmocka_unit_test(a_connection_lost_at_the_door_is_made_once_more),
        cmocka_unit_test(one_that_was_answered_is_not),
        cmocka_unit_test(a_stray_client_is_described),
        cmocka_unit_test(leaving_is_noticed_while_others_are_silent),
        cmocka_unit_test(leaving_is_noticed_of_a_rank_that_is_complete),
        cmocka_unit_test(leaving_is_noticed_of_a_rank_that_is_ahead),
        cmocka_unit_test(a_rank_that_is_ahead_disturbs_nobody),
        cmocka_unit_test(a_rank_that_was_restarted_gets_its_place),
        cmocka_unit_test(a_rank_that_came_and_went_is_told),
        cmocka_unit_test(knocking_without_end_does_not_move_the_deadline),
        cmocka_unit_test(a_connection_that_fails_is_no_failing_accept),
        cmocka_unit_test(an_accept_that_fails_for_good_is_an_error),
        cmocka_unit_test(an_unknown_name_is_called_so),
        cmocka_unit_test(a_dead_address_leaves_time_for_the_next_one),
        cmocka_unit_test(an_unread_byte_does_not_hide_the_end),
        cmocka_unit_test(a_silent_peer_ends_at_the_deadline),
        cmocka_unit_test(a_coordinator_that_comes_late_is_waited_for),
        cmocka_unit_test(a_coordinator_that_never_comes_is_an_error),
        cmocka_unit_test(a_port_that_is_taken_is_an_error),
        cmocka_unit_test(missing_ranks_are_listed_shortly),
        cmocka_unit_test(groups_of_different_sizes_fail_in_time),
        cmocka_unit_test(a_larger_group_than_its_ranks_know_fails_in_time),
        cmocka_unit_test(a_callers_gather_takes_the_place_of_connections),
        cmocka_unit_test(an_end_knows_its_own_address),
        cmocka_unit_test(signals_interrupt_nothing),
        cmocka_unit_test(a_closed_connection_raises_no_signal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
