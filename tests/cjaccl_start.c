/*
 * Start-up over fake devices: what fails is named, the other rank hears of it,
 * everything is released in order, and the next start works.
 */
#define _DEFAULT_SOURCE /* POSIX, with a strict -std=c11 */

#include "cjaccl_ranks.h"

#include "cjaccl/src/defaults.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct ranks ranks;

static void expect_text(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

static void expect_all_ready(void)
{
    for (int i = 0; i < ranks.size; i++) {
        if (ranks.rank[i].status != CJ_OK)
            fail_msg("rank %d: %s", i, ranks.rank[i].error.message);
    }
}

static void expect_nothing_left(void)
{
    for (int i = 0; i < ranks.size; i++) {
        assert_null(ranks.rank[i].group);
        assert_int_equal(ranks.rank[i].machine.alive, 0);
    }
}

/* Starts and finishes without a fault: the rule after every failure. */
static void expect_a_start_to_work(void)
{
    for (int i = 0; i < ranks.size; i++) {
        ranks.rank[i].machine.fail_verb = NULL;
        ranks.rank[i].machine.log[0] = '\0';
    }
    ranks_start(&ranks);
    expect_all_ready();
    ranks_finish(&ranks);
    expect_all_ready();
    expect_nothing_left();
}

static void fail_on_rank(int rank, const char *verb, int call, int err_no)
{
    ranks.rank[rank].machine.fail_verb = verb;
    ranks.rank[rank].machine.fail_call = call;
    ranks.rank[rank].machine.fail_errno = err_no;
}

static void groups_of_every_size_start_and_end(void **state)
{
    (void)state;
    for (int size = 2; size <= CJ_MAX_MESH_RANKS; size++) {
        ranks_init(&ranks, size);
        ranks_start(&ranks);
        expect_all_ready();
        for (int i = 0; i < size; i++) {
            assert_int_equal(cj_rank(ranks.rank[i].group), i);
            assert_int_equal(cj_size(ranks.rank[i].group), size);
            /* One device, however many peers: opened once, one region. */
            assert_int_equal(ranks.rank[i].machine.opened, 1);
            assert_int_equal(ranks.rank[i].machine.regions, 1);
        }
        ranks_finish(&ranks);
        expect_all_ready();
        expect_nothing_left();
    }
}

static void release_goes_from_children_to_parents(void **state)
{
    (void)state;
    ranks_init(&ranks, 3);
    ranks_start(&ranks);
    expect_all_ready();
    ranks_finish(&ranks);
    assert_string_equal(ranks.rank[1].machine.log,
                        "destroy_qp destroy_qp dereg_mr destroy_cq destroy_cq "
                        "dealloc_pd close_device ");
}

/* S1, S6, S7, S8, S11, S12 and their kin, on either rank. */
static const struct {
    const char *verb;
    int err_no;
    enum cj_status code;
    enum cj_step step;
    const char *part;
} faults[] = {
    {"get_device_list", EPERM, CJ_NO_DEVICE, CJ_STEP_DEVICE_LIST, "EPERM"},
    {"open_device", EACCES, CJ_NO_DEVICE, CJ_STEP_OPEN_DEVICE, "EACCES"},
    {"query_port", EIO, CJ_VERBS, CJ_STEP_QUERY_PORT, "port 1"},
    {"alloc_pd", ENOMEM, CJ_VERBS, CJ_STEP_ALLOC_PD, "ENOMEM (12)"},
    {"reg_mr", ENOMEM, CJ_VERBS, CJ_STEP_REG_MR, "allows 100"},
    {"create_cq", EINVAL, CJ_VERBS, CJ_STEP_CREATE_CQ, "EINVAL"},
    {"create_qp", EBUSY, CJ_VERBS, CJ_STEP_CREATE_QP, "max_qp is 11"},
    {"create_qp", EOPNOTSUPP, CJ_UNSUPPORTED, CJ_STEP_CREATE_QP, "UC"},
    {"create_qp", ENOMEM, CJ_VERBS, CJ_STEP_CREATE_QP, "ENOMEM"},
    {"depth", 16, CJ_VERBS, CJ_STEP_CREATE_QP, "depth 16"},
    {"init", EINVAL, CJ_VERBS, CJ_STEP_INIT_QP, "EINVAL"},
    {"rtr", 22, CJ_VERBS, CJ_STEP_RTR, "cannot be reached"},
    {"rtr", 60, CJ_VERBS, CJ_STEP_RTR, "did not answer"},
    {"rtr", 16, CJ_VERBS, CJ_STEP_RTR, "crashed"},
    {"rtr", 96, CJ_VERBS, CJ_STEP_RTR, "GID has gone"},
    {"rts", EINVAL, CJ_VERBS, CJ_STEP_RTS, "EINVAL"},
    /* Providers that answer a negative errno, or -1 and set no errno. */
    {"query_port", -ENODEV, CJ_VERBS, CJ_STEP_QUERY_PORT, "ENODEV (19)"},
    {"query_port", -1, CJ_VERBS, CJ_STEP_QUERY_PORT, "EIO (5)"},
    {"init", -EINVAL, CJ_VERBS, CJ_STEP_INIT_QP, "EINVAL (22)"},
    {"init", -1, CJ_VERBS, CJ_STEP_INIT_QP, "EIO (5)"},
    {"rtr", -EINVAL, CJ_VERBS, CJ_STEP_RTR, "cannot be reached"},
    {"rtr", -1, CJ_VERBS, CJ_STEP_RTR, "EIO (5)"},
    {"rts", -EINVAL, CJ_VERBS, CJ_STEP_RTS, "EINVAL (22)"},
    {"rts", -1, CJ_VERBS, CJ_STEP_RTS, "EIO (5)"},
};

static void every_failing_step_is_named_and_undone(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        for (int rank = 0; rank < 2; rank++) {
            const struct cj_error *error = &ranks.rank[rank].error;

            ranks_init(&ranks, 2);
            fail_on_rank(rank, faults[i].verb, 1, faults[i].err_no);
            ranks_start(&ranks);
            assert_int_equal(ranks.rank[rank].status, faults[i].code);
            assert_int_equal(error->code, faults[i].code);
            assert_int_equal(error->step, faults[i].step);
            assert_int_equal(error->rank, rank);
            expect_text(error->message, faults[i].part);
            if (faults[i].step > CJ_STEP_DEVICE_LIST) {
                assert_string_equal(error->device, "rdma_en2");
                expect_text(error->message, "rdma_en2");
            }
            assert_int_equal(ranks.rank[1 - rank].status, CJ_PEER_GONE);
            assert_int_equal(ranks.rank[1 - rank].error.peer, rank);
            expect_nothing_left();
            expect_a_start_to_work();
        }
    }
}

/* Of three ranks, the one that is not at the failing one's end hears it too. */
static void a_failure_reaches_every_rank(void **state)
{
    (void)state;
    ranks_init(&ranks, 4);
    fail_on_rank(3, "create_qp", 2, ENOMEM);
    ranks_start(&ranks);
    assert_int_equal(ranks.rank[3].error.step, CJ_STEP_CREATE_QP);
    assert_int_equal(ranks.rank[3].error.peer, 1);
    assert_int_equal(ranks.rank[0].status, CJ_PEER_GONE);
    assert_int_equal(ranks.rank[0].error.peer, 3);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(ranks.rank[i].status, CJ_PEER_GONE);
        assert_int_equal(ranks.rank[i].error.peer, 0);
    }
    expect_nothing_left();
    expect_a_start_to_work();
}

/* S13: after INIT a peer may already send. */
static void queue_pairs_go_before_regions(void **state)
{
    (void)state;
    ranks_init(&ranks, 3);
    fail_on_rank(0, "rtr", 2, EINVAL);
    ranks_start(&ranks);
    assert_string_equal(ranks.rank[0].machine.log,
                        "destroy_qp destroy_qp dereg_mr destroy_cq destroy_cq "
                        "dealloc_pd close_device ");
}

static void expect_device_error(enum cj_step step, const char *part)
{
    ranks_start(&ranks);
    assert_int_equal(ranks.rank[1].status, CJ_NO_DEVICE);
    assert_int_equal(ranks.rank[1].error.step, step);
    expect_text(ranks.rank[1].error.message, part);
    assert_int_equal(ranks.rank[0].status, CJ_PEER_GONE);
    expect_nothing_left();
}

/* S3, S4 */
static void a_missing_device_is_named_with_those_that_exist(void **state)
{
    (void)state;
    ranks_init(&ranks, 2);
    ranks.rank[1].machine.names[0] = "rdma_en5";
    ranks.rank[1].machine.names[1] = "rdma_en6";
    expect_device_error(CJ_STEP_OPEN_DEVICE, "no device \"rdma_en2\"");
    expect_text(ranks.rank[1].error.message, "rdma_en5, rdma_en6");
    assert_int_equal(ranks.rank[1].error.peer, 0);
    ranks.rank[1].machine.names[0] = NULL;
    expect_device_error(CJ_STEP_DEVICE_LIST, "lists no device");
    ranks.rank[1].machine.no_list = true;
    expect_device_error(CJ_STEP_DEVICE_LIST, "ENOSYS (38)");
}

/* S6, S10 */
static void a_port_that_cannot_be_used_is_told_with_its_state(void **state)
{
    (void)state;
    ranks_init(&ranks, 2);
    ranks.rank[1].machine.port_state = IBV_PORT_DOWN;
    expect_device_error(CJ_STEP_QUERY_PORT, "is down, not active");
    ranks.rank[1].machine.port_state = IBV_PORT_ACTIVE;
    ranks.rank[1].machine.gid_index = -1;
    expect_device_error(CJ_STEP_QUERY_GID, "no IPv4-mapped GID");
}

static void the_index_of_the_gid_that_was_found_is_used(void **state)
{
    (void)state;
    ranks_init(&ranks, 2);
    ranks.rank[0].machine.gid_index = 2;
    ranks.rank[1].machine.gid_index = 0;
    /* An entry that cannot be read is passed over. */
    fail_on_rank(0, "query_gid", 1, EIO);
    ranks_start(&ranks);
    expect_all_ready();
    assert_int_equal(ranks.rank[0].machine.sgid_index, 2);
    assert_int_equal(ranks.rank[1].machine.sgid_index, 0);
    ranks_finish(&ranks);
}

/* A queue pair has 8 bits for it. */
static void a_gid_beyond_the_last_index_is_told_not_truncated(void **state)
{
    (void)state;
    ranks_init(&ranks, 2);
    ranks.rank[1].machine.gid_count = 512;
    ranks.rank[1].machine.gid_index = 300;
    expect_device_error(CJ_STEP_QUERY_GID, "in entry 300");
    ranks.rank[1].machine.gid_index = 256;
    expect_device_error(CJ_STEP_QUERY_GID, "in entry 256");
    ranks.rank[1].machine.gid_index = 255;
    expect_a_start_to_work();
    assert_int_equal(ranks.rank[1].machine.sgid_index, 255);
}

static void no_more_completions_are_asked_for_than_there_are(void **state)
{
    (void)state;
    ranks_init(&ranks, 2);
    ranks.rank[0].machine.max_cqe = 16;
    expect_a_start_to_work();
    assert_int_equal(ranks.rank[0].machine.cq_entries, 16);
}

static void what_is_only_nice_to_know_may_fail(void **state)
{
    static const char *const verbs[] = {"query_qp", "query_device"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        ranks_init(&ranks, 2);
        fail_on_rank(0, verbs[i], 1, EIO);
        ranks_start(&ranks);
        expect_all_ready();
        ranks_finish(&ranks);
        expect_nothing_left();
    }
}

/* Several devices: one is shared by two peers, one fails to open. */
static void each_device_is_opened_once(void **state)
{
    static const char *const second[] = {"rdma_en3"};

    (void)state;
    ranks_init(&ranks, 4);
    ranks.cells[0 * 4 + 2].names = second;
    ranks.rank[0].machine.names[1] = "rdma_en3";
    ranks_start(&ranks);
    expect_all_ready();
    assert_int_equal(ranks.rank[0].machine.opened, 2);
    assert_int_equal(ranks.rank[0].machine.regions, 2);
    ranks_finish(&ranks);
    expect_nothing_left();
    fail_on_rank(0, "open_device", 2, EBUSY);
    ranks.rank[0].machine.calls = 0;
    ranks_start(&ranks);
    assert_int_equal(ranks.rank[0].error.step, CJ_STEP_OPEN_DEVICE);
    assert_string_equal(ranks.rank[0].error.device, "rdma_en3");
    expect_nothing_left();
}

/* S14 */
static void a_failing_release_is_told_and_the_rest_is_released(void **state)
{
    static const char *const verbs[] = {"destroy_qp", "dereg_mr", "destroy_cq",
                                        "dealloc_pd", "close_device"};

    (void)state;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        ranks_init(&ranks, 2);
        fail_on_rank(0, verbs[i], 1, EBUSY);
        ranks_start(&ranks);
        expect_all_ready();
        ranks_finish(&ranks);
        assert_int_equal(ranks.rank[0].status, CJ_VERBS);
        assert_int_equal(ranks.rank[0].error.step, CJ_STEP_FINALIZE);
        expect_text(ranks.rank[0].error.message, verbs[i]);
        expect_text(ranks.rank[0].error.message, "EBUSY");
        assert_int_equal(ranks.rank[1].status, CJ_OK);
        /* The fake releases what it is given even when it says that not. */
        expect_nothing_left();
    }
}

/* Two things fail: the first is the error, the second is added. */
static void a_failing_undo_is_added_to_the_error(void **state)
{
    (void)state;
    ranks_init(&ranks, 2);
    ranks.rank[1].machine.names[0] = "rdma_en9";
    fail_on_rank(0, "dealloc_pd", 1, EBUSY);
    ranks_start(&ranks);
    assert_int_equal(ranks.rank[0].status, CJ_PEER_GONE);
    expect_text(ranks.rank[0].error.message, "rank 1 went away");
    expect_text(ranks.rank[0].error.message, "dealloc_pd on device rdma_en2");
    expect_nothing_left();
}

/* An allocator whose n-th allocation fails, and which counts. */
struct count {
    int allocations;
    int fail_at;
    int living;
    void *last; /* the arena, after the group */
};

static void *count_alloc(void *ctx, size_t align, size_t size)
{
    struct count *count = ctx;
    void *memory = NULL;

    if (++count->allocations == count->fail_at)
        return NULL;
    if (posix_memalign(&memory, align < sizeof memory ? sizeof memory : align,
                       size) != 0)
        return NULL;
    count->living++;
    count->last = memory;
    return memory;
}

static void count_free(void *ctx, void *memory, size_t size)
{
    struct count *count = ctx;

    memset(memory, 0xa5, size < 64 ? size : 64);
    count->living--;
    free(memory);
}

/* Memory that a device may still write to is not given back. */
static void the_arena_is_kept_while_a_device_may_write_to_it(void **state)
{
    (void)state;
    for (int closes = 0; closes < 2; closes++) {
        struct count count = {.fail_at = 0};
        struct cj_allocator allocator = {&count, count_alloc, count_free};

        ranks_init(&ranks, 2);
        ranks.rank[0].config.allocator = &allocator;
        ranks_start(&ranks);
        expect_all_ready();
        ranks.rank[0].machine.broken_verb = "dereg_mr";
        if (!closes)
            fail_on_rank(0, "close_device", 1, EBUSY);
        ranks_finish(&ranks);
        assert_int_equal(ranks.rank[0].status, CJ_VERBS);
        assert_int_equal(count.living, closes ? 0 : 1);
        if (!closes)
            free(count.last);
    }
}

/* S16. A rank that has no memory for its group never reaches the others. */
static void every_failing_allocation_is_an_error(void **state)
{
    int failures = 0;

    (void)state;
    for (int n = 1; n < 100; n++) {
        struct count count = {.fail_at = n};
        struct cj_allocator allocator = {&count, count_alloc, count_free};

        ranks_init(&ranks, 2);
        ranks.rank[0].config.allocator = &allocator;
        ranks.rank[1].config.start_timeout_ns = RANKS_SECOND / 2;
        ranks_start(&ranks);
        if (ranks.rank[0].status == CJ_OK) {
            expect_all_ready();
            ranks_finish(&ranks);
            assert_int_equal(count.living, 0);
            assert_true(failures >= 2);
            return;
        }
        failures++;
        assert_int_equal(ranks.rank[0].status, CJ_NO_MEMORY);
        assert_int_not_equal(ranks.rank[1].status, CJ_OK);
        assert_int_equal(count.living, 0);
        expect_nothing_left();
    }
    fail_msg("no end of allocations");
}

/* A library made of the fake verbs, which may lack a symbol. */
struct fake_library {
    const char *lacks; /* NULL: nothing; "": the library itself */
    int open;
};

static void *library_open(void *ctx, const char *name)
{
    struct fake_library *library = ctx;

    assert_non_null(strstr(name, "lib"));
    if (library->lacks != NULL && library->lacks[0] == '\0')
        return NULL;
    library->open++;
    return library;
}

#define SYMBOL(verb)                                                           \
    if (strcmp(name, "ibv_" #verb) == 0)                                       \
    memcpy(&symbol, &fake_verbs.verb, sizeof symbol)

static void *library_symbol(void *ctx, void *handle, const char *name)
{
    struct fake_library *library = ctx;
    void *symbol = NULL;

    assert_ptr_equal(handle, library);
    SYMBOL(get_device_list);
    SYMBOL(free_device_list);
    SYMBOL(get_device_name);
    SYMBOL(open_device);
    SYMBOL(close_device);
    SYMBOL(query_device);
    SYMBOL(query_port);
    SYMBOL(query_gid);
    SYMBOL(alloc_pd);
    SYMBOL(dealloc_pd);
    SYMBOL(reg_mr);
    SYMBOL(dereg_mr);
    SYMBOL(create_cq);
    SYMBOL(destroy_cq);
    SYMBOL(create_qp);
    SYMBOL(modify_qp);
    SYMBOL(query_qp);
    SYMBOL(destroy_qp);
    if (library->lacks != NULL && strcmp(library->lacks, name) == 0)
        return NULL;
    return symbol;
}

static void library_close(void *ctx, void *handle)
{
    struct fake_library *library = ctx;

    assert_ptr_equal(handle, library);
    library->open--;
}

static void start_with_library(struct fake_library *library, const char *lacks)
{
    struct cj_library hooks = {library, library_open, library_symbol,
                               library_close};

    memset(library, 0, sizeof *library);
    library->lacks = lacks;
    ranks_init(&ranks, 2);
    ranks.rank[1].config.verbs = NULL;
    ranks.rank[1].config.library = &hooks;
    ranks_start(&ranks);
}

/* S9 */
static void a_library_that_is_incomplete_is_never_called(void **state)
{
    static const char *const needed[] = {"ibv_get_device_list",
                                         "ibv_query_port", "ibv_reg_mr",
                                         "ibv_dereg_mr", "ibv_destroy_qp"};
    struct fake_library library = {NULL, 0};

    (void)state;
    start_with_library(&library, "");
    assert_int_equal(ranks.rank[1].status, CJ_NO_LIBRARY);
    expect_text(ranks.rank[1].error.message, "cannot be loaded");
    assert_int_equal(ranks.rank[0].status, CJ_PEER_GONE);
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        start_with_library(&library, needed[i]);
        assert_int_equal(ranks.rank[1].status, CJ_NO_LIBRARY);
        assert_int_equal(ranks.rank[1].error.step, CJ_STEP_LIBRARY);
        expect_text(ranks.rank[1].error.message, needed[i]);
        assert_int_equal(library.open, 0);
        assert_int_equal(ranks.rank[1].machine.opened, 0);
        assert_int_equal(ranks.rank[0].status, CJ_PEER_GONE);
    }
}

static void a_library_without_the_optional_symbols_will_do(void **state)
{
    static const char *const optional[] = {NULL, "ibv_query_qp",
                                           "ibv_query_device"};
    struct fake_library library = {NULL, 0};

    (void)state;
    for (int i = 0; i < 3; i++) {
        start_with_library(&library, optional[i]);
        expect_all_ready();
        assert_int_equal(library.open, 1);
        ranks_finish(&ranks);
        assert_int_equal(library.open, 0);
    }
}

/* A clock that goes only while somebody sleeps, and nobody to connect to. */
static struct {
    int64_t now;
    int64_t deadline;
} lonely;

static int64_t lonely_now(void *ctx)
{
    (void)ctx;
    return lonely.now;
}

static void lonely_sleep(void *ctx, int64_t until_ns)
{
    (void)ctx;
    lonely.now = until_ns;
}

static int lonely_connect(void *ctx, const char *host, uint16_t port,
                          int64_t deadline_ns)
{
    (void)ctx;
    (void)host;
    (void)port;
    lonely.deadline = deadline_ns;
    return -ECONNREFUSED;
}

static void a_start_may_take_60_seconds_where_nothing_else_is_said(void **state)
{
    struct cj_clock clock = cji_default_clock;
    struct cj_net net = cji_default_net;
    struct rank *rank = &ranks.rank[1];

    (void)state;
    clock.now_ns = lonely_now;
    clock.sleep = lonely_sleep;
    net.connect = lonely_connect;
    ranks_init(&ranks, 2);
    lonely.now = 5 * RANKS_SECOND;
    rank->config.clock = &clock;
    rank->config.net = &net;
    rank->config.start_timeout_ns = 0;
    assert_int_equal(cj_init(&rank->config, &rank->group, &rank->error),
                     CJ_TIMEOUT);
    assert_int_equal(lonely.deadline, 65 * RANKS_SECOND);
    assert_int_equal(lonely.now, 65 * RANKS_SECOND);
    expect_text(rank->error.message, "within 60 s");
}

/* In the child nothing is the group's any more but its memory. */
static int try_in_child(struct rank *rank)
{
    int32_t value = 1;
    int alive = rank->machine.alive;

    if (cj_all_sum(rank->group, &value, &value, 1, CJ_INT32, &rank->error) !=
        CJ_INVALID)
        return 1;
    if (strstr(rank->error.message, "forked") == NULL)
        return 2;
    if (cj_finalize(rank->group, &rank->error) != CJ_OK)
        return 3;
    return rank->machine.alive == alive && rank->machine.log[0] == '\0' ? 0 : 4;
}

static void add_up(struct rank *rank)
{
    int32_t value = rank->number;

    rank->status =
        cj_all_sum(rank->group, &value, &value, 1, CJ_INT32, &rank->error);
    if (rank->status == CJ_OK && value != 3)
        rank->status = 1;
}

static void a_forked_child_does_no_harm(void **state)
{
    (void)state;
    ranks_init(&ranks, 3);
    ranks_start(&ranks);
    expect_all_ready();
    for (int i = 0; i < 3; i++) {
        int answer = -1;
        pid_t child = fork();

        if (child == 0)
            _exit(try_in_child(&ranks.rank[i]));
        assert_true(waitpid(child, &answer, 0) == child);
        assert_true(WIFEXITED(answer));
        assert_int_equal(WEXITSTATUS(answer), 0);
    }
    ranks_run(&ranks, add_up);
    expect_all_ready();
    ranks_finish(&ranks);
    expect_all_ready();
    expect_nothing_left();
}

/* Rank 1's rank 0: a web server. */
static void answer_as_a_web_server(struct rank *rank)
{
    static const char page[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    const struct cj_net *net = &cji_default_net;
    const char *port = strrchr(rank->all->coordinator, ':') + 1;
    int listener;
    int end;

    if (rank->number == 1) {
        rank->status = cj_init(&rank->config, &rank->group, &rank->error);
        return;
    }
    listener = net->listen(NULL, "127.0.0.1", (uint16_t)atoi(port));
    end = net->accept(NULL, listener, INT64_MAX);
    (void)net->send(NULL, end, page, sizeof page - 1, INT64_MAX);
    /* It leaves when it has heard enough. */
    while (net->alive(NULL, end) == 0)
        (void)sched_yield();
    net->close(NULL, end);
    net->close(NULL, listener);
}

static void a_foreign_server_is_told_from_rank_0(void **state)
{
    (void)state;
    for (int sockets = 0; sockets < 2; sockets++) {
        ranks_init(&ranks, 2);
        if (sockets)
            ranks.rank[1].config.backend = CJ_BACKEND_SOCKETS;
        ranks_run(&ranks, answer_as_a_web_server);
        assert_int_equal(ranks.rank[1].status, CJ_PROTOCOL);
        assert_int_equal(ranks.rank[1].error.peer, 0);
        expect_text(ranks.rank[1].error.message, "127.0.0.1 port ");
        expect_text(ranks.rank[1].error.message,
                    "does not speak JACCL's side channel");
        expect_nothing_left();
    }
}

static void a_group_of_one_needs_no_device(void **state)
{
    const struct cj_config config = {.rank = 0, .size = 1};
    struct cj_group *group;
    struct cj_error error;
    int32_t in[3] = {1, -2, 3};
    int32_t out[3] = {0};

    (void)state;
    assert_int_equal(cj_init(&config, &group, &error), CJ_OK);
    assert_int_equal(cj_all_sum(group, in, out, 3, CJ_INT32, &error), CJ_OK);
    assert_memory_equal(in, out, sizeof in);
    assert_int_equal(cj_barrier(group, &error), CJ_OK);
    assert_int_equal(cj_finalize(group, &error), CJ_OK);
    assert_int_equal(cj_finalize(NULL, NULL), CJ_OK);
}

static void every_number_has_words(void **state)
{
    (void)state;
    for (int status = CJ_NO_CONFIGURATION; status <= CJ_OK; status++)
        assert_string_not_equal(cj_strstatus(status), "unknown status");
    assert_string_equal(cj_strstatus(1), "unknown status");
    for (int step = 0; step < CJ_STEP_COUNT; step++)
        assert_non_null(cj_strstep(step));
    assert_string_equal(cj_strstep(CJ_STEP_COUNT), "unknown step");
    assert_string_equal(cj_strstep(-1), "unknown step");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_of_every_size_start_and_end),
        cmocka_unit_test(release_goes_from_children_to_parents),
        cmocka_unit_test(every_failing_step_is_named_and_undone),
        cmocka_unit_test(a_failure_reaches_every_rank),
        cmocka_unit_test(queue_pairs_go_before_regions),
        cmocka_unit_test(a_missing_device_is_named_with_those_that_exist),
        cmocka_unit_test(a_port_that_cannot_be_used_is_told_with_its_state),
        cmocka_unit_test(the_index_of_the_gid_that_was_found_is_used),
        cmocka_unit_test(a_gid_beyond_the_last_index_is_told_not_truncated),
        cmocka_unit_test(no_more_completions_are_asked_for_than_there_are),
        cmocka_unit_test(what_is_only_nice_to_know_may_fail),
        cmocka_unit_test(each_device_is_opened_once),
        cmocka_unit_test(a_failing_release_is_told_and_the_rest_is_released),
        cmocka_unit_test(a_failing_undo_is_added_to_the_error),
        cmocka_unit_test(the_arena_is_kept_while_a_device_may_write_to_it),
        cmocka_unit_test(every_failing_allocation_is_an_error),
        cmocka_unit_test(a_library_that_is_incomplete_is_never_called),
        cmocka_unit_test(a_library_without_the_optional_symbols_will_do),
        cmocka_unit_test(
            a_start_may_take_60_seconds_where_nothing_else_is_said),
        cmocka_unit_test(a_foreign_server_is_told_from_rank_0),
        cmocka_unit_test(a_forked_child_does_no_harm),
        cmocka_unit_test(a_group_of_one_needs_no_device),
        cmocka_unit_test(every_number_has_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
