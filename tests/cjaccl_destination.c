/*
 * The exchange of queue pairs, byte by byte, with a peer that the test plays: a
 * JACCL rank, or one that sends what no rank should.
 */
#include "cjaccl/src/address.h"
#include "cjaccl/src/defaults.h"
#include "cjaccl/src/destination.h"

#include "cjaccl_ranks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct ranks ranks;

/* Rank 1 as the test plays it: what it sends, and what it was sent. */
static struct {
    int32_t length;
    struct cji_destination mine[2];
    struct cji_destination theirs[4];
    int32_t lengths[2];
} peer;

static int64_t soon(void)
{
    return cji_default_clock.now_ns(NULL) + 20 * RANKS_SECOND;
}

static bool send_bytes(int end, const void *data, size_t size)
{
    return cji_default_net.send(NULL, end, data, size, soon()) == (int64_t)size;
}

static bool recv_bytes(int end, void *data, size_t size)
{
    unsigned char *bytes = data;

    while (size > 0) {
        int64_t n = cji_default_net.recv(NULL, end, bytes, size, soon());

        if (n <= 0)
            return false;
        bytes += n;
        size -= (size_t)n;
    }
    return true;
}

/* Goes through all of a start-up's bytes; stops when rank 0 has gone. */
static void play(int end)
{
    const int32_t rank = 1;
    const int32_t zero = 0;
    int32_t zeros[2];

    if (send_bytes(end, &rank, sizeof rank) &&
        send_bytes(end, &peer.length, sizeof peer.length) &&
        recv_bytes(end, peer.lengths, sizeof peer.lengths) &&
        send_bytes(end, peer.mine, sizeof peer.mine) &&
        recv_bytes(end, peer.theirs, sizeof peer.theirs) &&
        send_bytes(end, &zero, sizeof zero) &&
        recv_bytes(end, zeros, sizeof zeros) &&
        send_bytes(end, &zero, sizeof zero))
        (void)recv_bytes(end, zeros, sizeof zeros);
}

/* Rank 0 is the one that is tested; the other plays. */
static void start_against(struct rank *rank, void (*play_it)(int end))
{
    struct cji_address address;
    int end = -1;

    if (rank->number == 0) {
        rank->status = cj_init(&rank->config, &rank->group, &rank->error);
        return;
    }
    (void)cji_address_parse(&address, rank->config.coordinator);
    while (end < 0)
        end = cji_default_net.connect(NULL, address.host, address.port, soon());
    play_it(end);
    cji_default_net.close(NULL, end);
}

static void play_or_start(struct rank *rank)
{
    start_against(rank, play);
}

/* A peer like JACCL's: its own place is left as it was. */
static void prepare(void)
{
    ranks_init(&ranks, 2);
    memset(&peer, 0, sizeof peer);
    peer.length = 2;
    peer.mine[0].lid = 0;
    peer.mine[0].qp_num = 77;
    peer.mine[0].psn = 7;
    peer.mine[0].padding = 0x55aa55aa;
    peer.mine[0].gid[10] = 0xff;
    peer.mine[0].gid[11] = 0xff;
    memset(&peer.mine[1], 0xee, sizeof peer.mine[1]);
    peer.mine[1].lid = -1;
}

static void expect_status(enum cj_status status, const char *part)
{
    const struct rank *rank = &ranks.rank[0];

    ranks_run(&ranks, play_or_start);
    assert_int_equal(rank->status, status);
    assert_int_equal(rank->error.step, CJ_STEP_EXCHANGE);
    assert_int_equal(rank->error.peer, 1);
    if (strstr(rank->error.message, part) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", rank->error.message, part);
    assert_int_equal(rank->machine.alive, 0);
}

/* C3, C9 */
static void another_number_of_ranks_is_an_error(void **state)
{
    static const int32_t lengths[] = {-1,        0,         1,        3,
                                      INT32_MAX, INT32_MIN, 0x1000000};

    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char part[40];

        prepare();
        peer.length = lengths[i];
        (void)snprintf(part, sizeof part, "a group of %d ranks",
                       (int)lengths[i]);
        expect_status(CJ_PROTOCOL, part);
    }
}

static void numbers_that_cannot_be_are_errors(void **state)
{
    static const int32_t lids[] = {-1, 65536, INT32_MIN};
    static const int32_t numbers[] = {0, -1, 0x1000000};

    (void)state;
    for (int i = 0; i < 3; i++) {
        prepare();
        peer.mine[0].lid = lids[i];
        expect_status(CJ_PROTOCOL, "local id");
        prepare();
        peer.mine[0].qp_num = numbers[i];
        expect_status(CJ_PROTOCOL, "queue pair number");
        prepare();
        peer.mine[0].psn = i == 0 ? -2 : numbers[2];
        expect_status(CJ_PROTOCOL, "packet sequence number");
    }
    prepare();
    memset(peer.mine[0].gid, 0, sizeof peer.mine[0].gid);
    expect_status(CJ_PROTOCOL, "GID");
}

/* What JACCL reads of it is where JACCL reads it; nothing is left to chance. */
static void the_bytes_are_jaccls(void **state)
{
    const unsigned char gid[16] = {0, 0, 0,    0,    0,  0, 0, 0,
                                   0, 0, 0xff, 0xff, 10, 0, 0, 9};
    const struct cji_destination *theirs = &peer.theirs[1];

    (void)state;
    prepare();
    ranks_run(&ranks, play_or_start);
    assert_int_equal(ranks.rank[0].status, CJ_OK);
    assert_int_equal(peer.lengths[0], 2);
    assert_int_equal(peer.lengths[1], 2);
    assert_int_equal(theirs->lid, 0);
    assert_true(theirs->qp_num > 100);
    assert_int_equal(theirs->psn, 7);
    assert_int_equal(theirs->padding, 0);
    assert_memory_equal(theirs->gid, gid, sizeof gid);
    assert_int_equal(peer.theirs[0].lid, -1);
    assert_int_equal(peer.theirs[0].padding, 0);
    assert_memory_equal(&peer.theirs[2], peer.mine, sizeof peer.mine);
    assert_int_equal(cj_finalize(ranks.rank[0].group, NULL), CJ_OK);
}

/* A ring's peer: two vectors of one wire each. */
static struct {
    struct cji_destination mine[2]; /* left, right */
    struct cji_destination theirs[2][2];
    int32_t lengths[2][2];
} ring_peer;

static bool play_vector(int end, int side)
{
    const int32_t one = 1;

    return send_bytes(end, &one, sizeof one) &&
           recv_bytes(end, ring_peer.lengths[side],
                      sizeof ring_peer.lengths[side]) &&
           send_bytes(end, &ring_peer.mine[side],
                      sizeof ring_peer.mine[side]) &&
           recv_bytes(end, ring_peer.theirs[side],
                      sizeof ring_peer.theirs[side]);
}

static void play_ring(int end)
{
    const int32_t rank = 1;
    const int32_t zero = 0;
    int32_t zeros[2];

    if (send_bytes(end, &rank, sizeof rank) && play_vector(end, 0) &&
        play_vector(end, 1) && send_bytes(end, &zero, sizeof zero) &&
        recv_bytes(end, zeros, sizeof zeros) &&
        send_bytes(end, &zero, sizeof zero))
        (void)recv_bytes(end, zeros, sizeof zeros);
}

static void play_ring_or_start(struct rank *rank)
{
    start_against(rank, play_ring);
}

static void prepare_ring(void)
{
    prepare();
    ranks_init_ring(&ranks, 2, 1);
    memset(&ring_peer, 0, sizeof ring_peer);
    for (int side = 0; side < 2; side++) {
        ring_peer.mine[side] = peer.mine[0];
        ring_peer.mine[side].qp_num = 77 + side;
    }
}

static void expect_stranger(void)
{
    ranks_run(&ranks, play_ring_or_start);
    if (ranks.rank[0].status != CJ_OK)
        fail_msg("%s", ranks.rank[0].error.message);
    assert_false(ranks.rank[0].group->all_cjaccl);
    assert_int_equal(ranks.rank[0].group->wire, CJI_WIRE_JACCL);
    assert_int_equal(cj_finalize(ranks.rank[0].group, NULL), CJ_OK);
}

/* Left before right, and what is in the padding does not matter to JACCL. */
static void the_bytes_of_a_ring_are_jaccls(void **state)
{
    (void)state;
    prepare_ring();
    expect_stranger();
    for (int side = 0; side < 2; side++) {
        const struct cji_destination *theirs = &ring_peer.theirs[side][0];

        assert_int_equal(ring_peer.lengths[side][0], 1);
        assert_int_equal(ring_peer.lengths[side][1], 1);
        assert_int_equal(theirs->lid, 0);
        assert_int_equal(theirs->psn, 7);
        assert_int_equal(theirs->gid[10], 0xff);
        assert_memory_equal(&ring_peer.theirs[side][1], &ring_peer.mine[side],
                            sizeof ring_peer.mine[side]);
    }
    /* Queue pairs are made left before right. */
    assert_int_equal(ring_peer.theirs[1][0].qp_num,
                     ring_peer.theirs[0][0].qp_num + 1);
}

/* JACCL's padding is what was in that memory before: maybe a cjaccl's mark. */
static void a_mark_that_was_left_behind_makes_no_cjaccl(void **state)
{
    (void)state;
    prepare_ring();
    expect_stranger();
    for (int side = 0; side < 2; side++)
        ring_peer.mine[side].padding = ring_peer.theirs[side][0].padding;
    ranks_init_ring(&ranks, 2, 1);
    expect_stranger();
    /* Only one of the two sides. */
    ring_peer.mine[0] = ring_peer.theirs[0][0];
    ranks_init_ring(&ranks, 2, 1);
    expect_stranger();
}

/* Groups with JACCL refuse what JACCL does wrong, and go on. */
static void expect_no_all_gather(struct rank *rank)
{
    unsigned char in = 1;
    unsigned char out[2] = {0};

    rank->status = cj_all_gather(rank->group, &in, out, 1, &rank->error);
}

static void a_ring_with_jaccl_has_no_all_gather(void **state)
{
    struct rank *rank = &ranks.rank[0];

    (void)state;
    prepare_ring();
    ranks_run(&ranks, play_ring_or_start);
    assert_int_equal(rank->status, CJ_OK);
    expect_no_all_gather(rank);
    assert_int_equal(rank->status, CJ_UNSUPPORTED);
    if (strstr(rank->error.message, "JACCL") == NULL)
        fail_msg("%s", rank->error.message);
    assert_int_equal(rank->group->error.code, CJ_OK);
    assert_int_equal(cj_finalize(rank->group, NULL), CJ_OK);
}

static void numbers_of_a_ring_that_cannot_be_are_errors(void **state)
{
    (void)state;
    for (int side = 0; side < 2; side++) {
        const struct rank *rank = &ranks.rank[0];

        prepare_ring();
        ring_peer.mine[side].qp_num = 0x1000000;
        ranks_run(&ranks, play_ring_or_start);
        assert_int_equal(rank->status, CJ_PROTOCOL);
        assert_int_equal(rank->error.peer, 1);
        assert_int_equal(rank->machine.alive, 0);
    }
}

/* It cannot know before the exchange that there is no fallback with JACCL. */
static void a_rank_that_fails_leaves_jaccl(void **state)
{
    const struct rank *rank = &ranks.rank[0];

    (void)state;
    for (int ring = 0; ring < 2; ring++) {
        if (ring)
            prepare_ring();
        else
            prepare();
        ranks.rank[0].config.fallback = CJ_FALLBACK_SOCKETS;
        ranks.rank[0].machine.fail_verb = "create_qp";
        ranks.rank[0].machine.fail_call = 1;
        ranks.rank[0].machine.fail_errno = 16;
        ranks_run(&ranks, ring ? play_ring_or_start : play_or_start);
        assert_int_equal(rank->status, CJ_VERBS);
        assert_int_equal(rank->error.step, CJ_STEP_CREATE_QP);
        assert_null(rank->group);
        assert_int_equal(rank->machine.alive, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_number_of_ranks_is_an_error),
        cmocka_unit_test(numbers_that_cannot_be_are_errors),
        cmocka_unit_test(the_bytes_are_jaccls),
        cmocka_unit_test(the_bytes_of_a_ring_are_jaccls),
        cmocka_unit_test(a_mark_that_was_left_behind_makes_no_cjaccl),
        cmocka_unit_test(a_ring_with_jaccl_has_no_all_gather),
        cmocka_unit_test(numbers_of_a_ring_that_cannot_be_are_errors),
        cmocka_unit_test(a_rank_that_fails_leaves_jaccl),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
