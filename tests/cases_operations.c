/*
 * The reported cases of operations, whole kinds: every operation, a mesh, a
 * ring and sockets, devices that hold a SEND back and devices that drop it;
 * each peer leaves at each of its calls, each completion is late, lost or comes
 * twice, every size that some limit is near.
 */
#include "cases_support.h"

static const char *const topologies[] = {"ranks 3 mesh\n", "ranks 3 ring 2\n",
                                         "profile rxe\nranks 3 mesh\n",
                                         "profile rxe\nranks 4 ring\n"};

static const char *const operations[] = {
    "all_sum float32 %d",      "all_max int16 %d",  "all_min float64 %d",
    "all_gather int8 %d",      "send int32 %d 0 1", "send int32 %d 1 0",
    "sum_scatter bfloat16 %d",
};

#define TOPOLOGIES (sizeof topologies / sizeof topologies[0])
#define OPERATIONS (sizeof operations / sizeof operations[0])

/* A scenario whose last line runs that operation. */
static const char *with(const char *text, const char *faults, size_t operation,
                        int count)
{
    static char whole[512];
    int length =
        snprintf(whole, sizeof whole, "%s%srun init\nrun ", text, faults);
    length += snprintf(whole + length, sizeof whole - (size_t)length,
                       operations[operation], count);
    snprintf(whole + length, sizeof whole - (size_t)length, "\n");
    return whole;
}

/* Whoever leaves, and whenever: nobody waits for ever, no result is wrong. */
static void a4_a_rank_that_leaves_at_any_call_hurts_nobody(void **state)
{
    static const char *const verbs[] = {"post_send", "post_recv", "poll_cq"};
    static const char *const ways[] = {"exit", "hang"};
    char fault[64];
    int errors = 0;
    (void)state;
    for (size_t t = 0; t < TOPOLOGIES; t++)
        for (size_t o = 0; o < OPERATIONS; o++)
            for (size_t v = 0; v < 3; v++)
                for (int n = 1; n <= 12; n += 1 + n / 4) {
                    snprintf(fault, sizeof fault, "fault 1 %s %d %s\n",
                             verbs[v], n, ways[n % 2]);
                    run("cjaccl", with(topologies[t], fault, o, 60000));
                    errors += result.outcome == SCN_ERROR;
                }
    assert_true(errors > 200);
}

/* A connection closes after any number of bytes of an operation. */
static void a4_a_connection_that_closes_is_an_error_on_all(void **state)
{
    char fault[64];
    (void)state;
    for (size_t o = 0; o < OPERATIONS; o++)
        for (int n = 500; n < 200000; n += n / 2 + 7) {
            snprintf(fault, sizeof fault, "channel 1 close %d\n", n);
            run("sockets", with("ranks 4 mesh\n", fault, o, 60000));
        }
    expect("sockets",
           "ranks 4 mesh\nchannel 1 close 5000\nrun init\n"
           "run all_sum float32 100000\n",
           SCN_ERROR, "error in all_sum");
    for (int rank = 0; rank < 4; rank++)
        assert_int_equal(result.rank[rank].outcome, SCN_ERROR);
}

static void a1_a2_a6_any_fault_of_any_operation_is_no_worse(void **state)
{
    static const char *const faults[] = {
        "completion %d drop",         "completion %d duplicate",
        "completion %d+ drop",        "completion %d status WR_FLUSH_ERR",
        "completion %d delay 900000", "post_send %d errno ENOMEM",
        "post_recv %d errno ENOMEM",  "poll_cq %d return -1",
        "post_send %d unplug"};
    (void)state;
    for (size_t f = 0; f < sizeof faults / sizeof faults[0]; f++)
        for (size_t t = 0; t < TOPOLOGIES; t++)
            for (size_t o = 0; o < OPERATIONS; o++)
                for (int n = 1; n <= 9; n += 1 + n / 3) {
                    char fault[96];
                    int length = snprintf(fault, sizeof fault, "fault 1 ");
                    length +=
                        snprintf(fault + length, sizeof fault - (size_t)length,
                                 faults[f], n);
                    snprintf(fault + length, sizeof fault - (size_t)length,
                             "\n");
                    run("cjaccl", with(topologies[t], fault, o, 30000));
                }
}

/* After an error the group says so, whatever it is asked for. */
static void a6_a_failed_group_stays_failed(void **state)
{
    char text[640];
    (void)state;
    for (size_t o = 0; o < OPERATIONS; o++) {
        snprintf(text, sizeof text, "%srun barrier\nrun all_gather int8 9\n",
                 with(topologies[o % TOPOLOGIES],
                      "fault 0 completion 1+ status GENERAL_ERR\n", o, 5000));
        expect("cjaccl", text, SCN_ERROR, NULL);
        assert_true(result.recovered);
    }
}

/* Whoever is early: the order of turns decides. */
static void a7_no_send_is_lost_in_any_order(void **state)
{
    char order[32];
    (void)state;
    for (int seed = 0; seed < 60; seed++)
        for (size_t t = 2; t < TOPOLOGIES; t++) {
            snprintf(order, sizeof order, "order %d\n", seed);
            expect("cjaccl",
                   with(topologies[t], order, (size_t)seed % OPERATIONS, 50000),
                   SCN_READY, "");
        }
}

static void a9_sizes_that_nothing_divides_are_exact(void **state)
{
    static const int bytes[] = {0,     1,     7,     4095,   4096,   4097,
                                32767, 32768, 32769, 131071, 262145, 524289};
    static const char *const shapes[] = {"ranks 3 mesh\n", "ranks 5 mesh\n",
                                         "ranks 3 ring 4\n",
                                         "ranks 5 ring 3\n"};
    (void)state;
    for (size_t s = 0; s < 4; s++)
        for (size_t o = 0; o < OPERATIONS; o++)
            for (size_t b = 0; b < sizeof bytes / sizeof bytes[0]; b++) {
                const char *text =
                    with(shapes[s], (s + o + b) % 2 ? "profile rxe\n" : "", o,
                         bytes[b] / 2 + bytes[b] % 2);
                expect("cjaccl", text, SCN_READY, "");
                expect("sockets", text, SCN_READY, "");
            }
}

static void a10_late_completions_mix_no_operations_up(void **state)
{
    static const char *const effects[] = {"delay", "overtaken"};
    char text[512];
    (void)state;
    for (int seed = 1; seed <= 120; seed++) {
        int length = snprintf(
            text, sizeof text,
            "%sorder %d\nfault 0 completion %d %s 50\n"
            "fault 1 completion %d+ %s %d\nfault 2 completion %d %s 9\n"
            "run init\n",
            topologies[(size_t)seed % TOPOLOGIES], seed, 1 + seed % 7,
            effects[seed % 2], 1 + seed % 5, effects[seed / 2 % 2],
            1 + seed % 30, 1 + seed % 9, effects[seed / 4 % 2]);
        for (int i = 0; i < 4; i++) {
            length +=
                snprintf(text + length, sizeof text - (size_t)length, "run ");
            length += snprintf(text + length, sizeof text - (size_t)length,
                               operations[(size_t)(seed + i) % OPERATIONS],
                               (seed * 977 + i * 30011) % 70000);
            length +=
                snprintf(text + length, sizeof text - (size_t)length, "\n");
        }
        expect("cjaccl", text, SCN_READY, "");
    }
}

static void a11_a_wrong_peer_is_refused_and_does_no_harm(void **state)
{
    static const char *const subjects[] = {"cjaccl", "sockets"};
    char text[256];
    (void)state;
    for (int from = 0; from < 5; from++)
        for (int to = 0; to < 5; to++) {
            bool neighbours = (from + 1) % 4 == to || (to + 1) % 4 == from;
            bool right = from < 4 && to < 4 && from != to;
            snprintf(text, sizeof text,
                     "ranks 4 mesh\nrun init\nrun send float32 9 %d %d\n"
                     "run all_sum float32 40\nrun barrier\n",
                     from, to);
            if (from < 4 || to < 4)
                for (size_t i = 0; i < 2; i++)
                    expect(subjects[i], text,
                           right && (i == 0 || neighbours) ? SCN_READY
                                                           : SCN_ERROR,
                           NULL);
        }
    cjaccl_says("run init\nrun send int8 4 0 0\n", 0, "itself");
    cjaccl_says("run init\nrun send int8 4 0 6\n", 0, "no such rank");
    cjaccl_says("ranks 4 ring\nrun init\nrun send int8 4 0 2\n", 2,
                "neighbour");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a4_a_rank_that_leaves_at_any_call_hurts_nobody),
        cmocka_unit_test(a4_a_connection_that_closes_is_an_error_on_all),
        cmocka_unit_test(a1_a2_a6_any_fault_of_any_operation_is_no_worse),
        cmocka_unit_test(a6_a_failed_group_stays_failed),
        cmocka_unit_test(a7_no_send_is_lost_in_any_order),
        cmocka_unit_test(a9_sizes_that_nothing_divides_are_exact),
        cmocka_unit_test(a10_late_completions_mix_no_operations_up),
        cmocka_unit_test(a11_a_wrong_peer_is_refused_and_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, stop);
}
