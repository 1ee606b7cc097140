/*
 * RDMA cannot be started somewhere: all ranks go on over sockets, if all of
 * them may, and nothing is left of what was built; or all of them fail.
 */
#define _DEFAULT_SOURCE /* POSIX, with a strict -std=c11 */

#include "cjaccl_ranks.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct ranks ranks;

/* The warnings of each rank. */
static struct warning {
    int count;
    char text[CJ_MESSAGE_SIZE];
} warnings[CJ_MAX_MESH_RANKS];

static void take_warning(void *ctx, const char *message)
{
    struct warning *warning = ctx;

    warning->count++;
    (void)snprintf(warning->text, sizeof warning->text, "%s", message);
}

static void expect_text(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

static void allow_sockets(void)
{
    memset(warnings, 0, sizeof warnings);
    for (int i = 0; i < ranks.size; i++) {
        ranks.rank[i].config.fallback = CJ_FALLBACK_SOCKETS;
        ranks.rank[i].config.warn = take_warning;
        ranks.rank[i].config.warn_ctx = &warnings[i];
    }
}

static void prepare(int size, int wires)
{
    if (wires == 0)
        ranks_init(&ranks, size);
    else
        ranks_init_ring(&ranks, size, wires);
    allow_sockets();
}

static void fail_on_rank(int rank, const char *verb, int call)
{
    ranks.rank[rank].machine.fail_verb = verb;
    ranks.rank[rank].machine.fail_call = call;
    ranks.rank[rank].machine.fail_errno = ENOMEM;
}

static void expect_all_ready(void)
{
    for (int i = 0; i < ranks.size; i++) {
        if (ranks.rank[i].status != CJ_OK)
            fail_msg("rank %d: %s", i, ranks.rank[i].error.message);
    }
}

static void expect_nothing_of_rdma(void)
{
    for (int i = 0; i < ranks.size; i++)
        assert_int_equal(ranks.rank[i].machine.alive, 0);
}

/* A bit of everything that a group does. */
static void work(struct rank *rank)
{
    static const size_t counts[] = {1, 1000, 100003};
    static int64_t in[CJ_MAX_MESH_RANKS][100003];
    static int64_t out[CJ_MAX_MESH_RANKS][100003];
    int64_t *mine = in[rank->number];
    int64_t *sums = out[rank->number];
    int64_t size = rank->config.size;

    for (size_t c = 0; c < 3; c++) {
        for (size_t i = 0; i < counts[c]; i++)
            mine[i] = (int64_t)i * (rank->number + 1);
        rank->status = cj_all_sum(rank->group, mine, sums, counts[c], CJ_INT64,
                                  &rank->error);
        for (size_t i = 0; rank->status == CJ_OK && i < counts[c]; i++) {
            if (sums[i] != (int64_t)i * size * (size + 1) / 2)
                rank->status = 1;
        }
        if (rank->status == CJ_OK)
            rank->status = cj_barrier(rank->group, &rank->error);
        if (rank->status != CJ_OK)
            return;
    }
}

static void expect_sockets_that_work(void)
{
    struct cj_info info;

    expect_all_ready();
    expect_nothing_of_rdma();
    for (int i = 0; i < ranks.size; i++) {
        cj_group_info(ranks.rank[i].group, &info);
        assert_true(info.ring);
        assert_true(info.sockets);
        assert_true(info.all_cjaccl);
        assert_int_equal(info.wires, 1);
        assert_int_equal(info.queue_pairs, 0);
        assert_int_equal(info.regions, 0);
    }
    ranks_run(&ranks, work);
    expect_all_ready();
    ranks_finish(&ranks);
    expect_all_ready();
}

static void expect_warnings(int failed, const char *part)
{
    char who[32];

    (void)snprintf(who, sizeof who, "because rank %d ", failed);
    for (int i = 0; i < ranks.size; i++) {
        assert_int_equal(warnings[i].count, 1);
        expect_text(warnings[i].text, part);
        expect_text(warnings[i].text, who);
    }
}

static const char *const verbs[] = {
    "get_device_list", "open_device", "query_port", "alloc_pd", "reg_mr",
    "create_cq",       "create_qp",   "init",       "rtr",      "rts"};

static void every_failing_step_on_every_rank_ends_in_sockets(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        for (int rank = 0; rank < 3; rank++) {
            for (int wires = 0; wires <= 2; wires++) {
                prepare(3, wires);
                fail_on_rank(rank, verbs[i], 1);
                ranks_start(&ranks);
                expect_sockets_that_work();
                expect_warnings(rank, "ENOMEM (12)");
            }
        }
    }
}

static void several_ranks_may_fail_at_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        prepare(4, (int)i % 2);
        fail_on_rank(1, verbs[i], 1);
        fail_on_rank(2, "rts", 2);
        ranks_start(&ranks);
        expect_sockets_that_work();
        expect_warnings(1, "ENOMEM (12)");
    }
}

/* A machine without devices, or with other ones. */
static void a_rank_without_a_device_ends_in_sockets(void **state)
{
    (void)state;
    prepare(2, 0);
    ranks.rank[1].machine.names[0] = NULL;
    ranks_start(&ranks);
    expect_sockets_that_work();
    expect_warnings(1, "lists no device");
    prepare(2, 2);
    ranks.rank[0].machine.names[1] = "rdma_en9";
    ranks_start(&ranks);
    expect_sockets_that_work();
    expect_warnings(0, "no device \"rdma_en3\"");
    prepare(2, 0);
    ranks.rank[0].machine.port_state = IBV_PORT_DOWN;
    ranks_start(&ranks);
    expect_sockets_that_work();
    expect_warnings(0, "is down");
}

/* Nothing fails: RDMA it is, and nobody warns. */
static void a_wish_alone_changes_nothing(void **state)
{
    struct cj_info info;

    (void)state;
    prepare(3, 0);
    ranks_start(&ranks);
    expect_all_ready();
    cj_group_info(ranks.rank[2].group, &info);
    assert_false(info.sockets);
    assert_false(info.ring);
    ranks_run(&ranks, work);
    expect_all_ready();
    ranks_finish(&ranks);
    for (int i = 0; i < 3; i++)
        assert_int_equal(warnings[i].count, 0);
}

/* One that does not allow it: an error everywhere, its own where it failed. */
static void all_ranks_have_to_allow_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        for (int refuser = 0; refuser < 3; refuser++) {
            for (int failed = 0; failed < 3; failed++) {
                prepare(3, (int)i % 3);
                ranks.rank[refuser].config.fallback = CJ_FALLBACK_NONE;
                fail_on_rank(failed, verbs[i], 1);
                ranks_start(&ranks);
                expect_nothing_of_rdma();
                for (int rank = 0; rank < 3; rank++) {
                    const struct rank *it = &ranks.rank[rank];

                    assert_int_equal(it->status, it->error.code);
                    assert_int_not_equal(it->status, CJ_OK);
                    assert_null(it->group);
                    assert_int_equal(warnings[rank].count, 0);
                    if (rank == failed)
                        assert_int_equal(it->error.err_no, ENOMEM);
                    else
                        assert_int_equal(it->status, CJ_PEER_GONE);
                }
            }
        }
    }
}

static void socket_groups_need_no_device(void **state)
{
    (void)state;
    for (int size = 2; size <= 8; size++) {
        ranks_init(&ranks, size);
        for (int i = 0; i < size; i++) {
            ranks.rank[i].config.backend = CJ_BACKEND_SOCKETS;
            ranks.rank[i].config.cells = NULL;
            ranks.rank[i].machine.names[0] = NULL;
        }
        ranks_start(&ranks);
        expect_sockets_that_work();
        assert_int_equal(ranks.rank[0].machine.opened, 0);
    }
}

static void meet(struct rank *rank)
{
    rank->status = cj_barrier(rank->group, &rank->error);
}

static void as_many_as_there_can_be_meet_over_sockets(void **state)
{
    (void)state;
    ranks_init(&ranks, CJ_MAX_RANKS);
    for (int i = 0; i < CJ_MAX_RANKS; i++)
        ranks.rank[i].config.backend = CJ_BACKEND_SOCKETS;
    ranks_start(&ranks);
    expect_all_ready();
    ranks_run(&ranks, meet);
    expect_all_ready();
    ranks_finish(&ranks);
}

static void backends_do_not_mix(void **state)
{
    (void)state;
    for (int odd = 0; odd < 3; odd++) {
        for (int wires = 0; wires <= 2; wires++) {
            prepare(3, wires);
            ranks.rank[odd].config.backend = CJ_BACKEND_SOCKETS;
            ranks_start(&ranks);
            expect_nothing_of_rdma();
            for (int rank = 0; rank < 3; rank++) {
                assert_int_equal(ranks.rank[rank].status,
                                 ranks.rank[rank].error.code);
                assert_int_not_equal(ranks.rank[rank].status, CJ_OK);
            }
            expect_text(ranks.rank[odd].error.message, "same backend");
        }
    }
}

/* A caller's own all-gather: every rank has to call it as often as others.
 * macOS has no pthread_barrier_t. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t all_came;
    int ranks;
    int came;
    unsigned turn;
    unsigned char blocks[CJ_MAX_MESH_RANKS][2048];
    int calls[CJ_MAX_MESH_RANKS];
    int fail_at; /* the n-th call, on all ranks */
} meeting = {.lock = PTHREAD_MUTEX_INITIALIZER,
             .all_came = PTHREAD_COND_INITIALIZER};

static void come_together(void)
{
    unsigned turn;

    (void)pthread_mutex_lock(&meeting.lock);
    turn = meeting.turn;
    if (++meeting.came == meeting.ranks) {
        meeting.came = 0;
        meeting.turn++;
        (void)pthread_cond_broadcast(&meeting.all_came);
    }
    while (turn == meeting.turn)
        (void)pthread_cond_wait(&meeting.all_came, &meeting.lock);
    (void)pthread_mutex_unlock(&meeting.lock);
}

static int all_gather(void *ctx, const void *mine, void *all, size_t bytes)
{
    const struct rank *rank = ctx;

    assert_true(bytes <= sizeof meeting.blocks[0]);
    memcpy(meeting.blocks[rank->number], mine, bytes);
    come_together();
    for (int i = 0; i < rank->config.size; i++)
        memcpy((unsigned char *)all + (size_t)i * bytes, meeting.blocks[i],
               bytes);
    come_together();
    return ++meeting.calls[rank->number] == meeting.fail_at ? -EIO : 0;
}

static void prepare_meeting(int size, int wires, struct cj_gather *gathers)
{
    if (wires == 0)
        ranks_init(&ranks, size);
    else
        ranks_init_ring(&ranks, size, wires);
    memset(meeting.calls, 0, sizeof meeting.calls);
    meeting.fail_at = 0;
    meeting.ranks = size;
    for (int i = 0; i < size; i++) {
        gathers[i] = (struct cj_gather){&ranks.rank[i], all_gather};
        ranks.rank[i].config.gather = &gathers[i];
        ranks.rank[i].config.coordinator = NULL;
    }
}

/* No rank hangs in it, whoever fails where. */
static void a_callers_gather_is_left_by_all_ranks_or_none(void **state)
{
    struct cj_gather gathers[CJ_MAX_MESH_RANKS];

    (void)state;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        for (int failed = 0; failed < 3; failed++) {
            prepare_meeting(3, (int)i % 3, gathers);
            fail_on_rank(failed, verbs[i], 1);
            ranks_start(&ranks);
            expect_nothing_of_rdma();
            for (int rank = 0; rank < 3; rank++) {
                const struct cj_error *error = &ranks.rank[rank].error;

                assert_int_equal(ranks.rank[rank].status, error->code);
                expect_text(error->message, "ENOMEM (12)");
                if (rank != failed)
                    assert_int_equal(error->peer, failed);
            }
        }
    }
}

static void a_callers_gather_takes_the_place_of_connections(void **state)
{
    struct cj_gather gathers[CJ_MAX_MESH_RANKS];

    (void)state;
    for (int wires = 0; wires <= 2; wires++) {
        int calls;

        prepare_meeting(4, wires, gathers);
        ranks_start(&ranks);
        expect_all_ready();
        calls = meeting.calls[0];
        assert_true(calls > 3);
        ranks_run(&ranks, work);
        expect_all_ready();
        ranks_finish(&ranks);
        expect_nothing_of_rdma();
        for (int n = 1; n <= calls; n++) {
            memset(meeting.calls, 0, sizeof meeting.calls);
            meeting.fail_at = n;
            ranks_start(&ranks);
            expect_nothing_of_rdma();
            for (int rank = 0; rank < 4; rank++)
                assert_int_equal(ranks.rank[rank].status, CJ_NETWORK);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failing_step_on_every_rank_ends_in_sockets),
        cmocka_unit_test(several_ranks_may_fail_at_once),
        cmocka_unit_test(a_rank_without_a_device_ends_in_sockets),
        cmocka_unit_test(a_wish_alone_changes_nothing),
        cmocka_unit_test(all_ranks_have_to_allow_it),
        cmocka_unit_test(socket_groups_need_no_device),
        cmocka_unit_test(as_many_as_there_can_be_meet_over_sockets),
        cmocka_unit_test(backends_do_not_mix),
        cmocka_unit_test(a_callers_gather_takes_the_place_of_connections),
        cmocka_unit_test(a_callers_gather_is_left_by_all_ranks_or_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
