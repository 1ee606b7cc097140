/* The simulator keeps its promises, shown with small subjects of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include <infiniband/verbs.h>

#include "sim/mutate.h"
#include "sim/run.h"

#define SECOND ((int64_t)1000000000)

static struct sim_result result;

static void run_subject(const struct sim_subject *subject, const char *text)
{
    static struct scn scenario;
    struct sim_options options = {.subject = subject};
    struct scn_error error;
    if (scn_parse(&scenario, text, strlen(text), &error) != 0)
        fail_msg("%d:%d: %s", error.line, error.column, error.message);
    assert_int_equal(sim_run(&scenario, &options, &result, &error), 0);
}

/* ---- a subject whose init is a function under test ----------------------- */

static int nothing(struct sim_rank *rank, void *group,
                   struct sim_failure *failure)
{
    (void)rank;
    (void)group;
    (void)failure;
    return 0;
}

static int no_operation(struct sim_rank *rank, void *group,
                        const struct sim_operation *operation,
                        struct sim_failure *failure)
{
    (void)rank;
    (void)group;
    (void)operation;
    (void)failure;
    return 0;
}

static void with_init(int (*init)(struct sim_rank *, void **,
                                  struct sim_failure *),
                      const char *text)
{
    struct sim_subject subject = {.name = "test",
                                  .about = "",
                                  .init = init,
                                  .operate = no_operation,
                                  .barrier = nothing,
                                  .finalize = nothing};
    run_subject(&subject, text);
}

static const char *const plain = "run init\n";

/* ---- order --------------------------------------------------------------- */

static char turns[64];

static int tell_turns(struct sim_rank *rank, void **group,
                      struct sim_failure *failure)
{
    (void)group;
    (void)failure;
    for (int i = 0; i < 3; i++) {
        size_t told = strlen(turns);
        turns[told] = (char)('0' + sim_rank_number(rank));
        turns[told + 1] = '\0';
        ibv_free_device_list(ibv_get_device_list(NULL));
    }
    return 0;
}

static const char *turns_of(const char *text)
{
    turns[0] = '\0';
    with_init(tell_turns, text);
    return turns;
}

/* Both ranks take a byte to come to their start, where they meet. */
static void an_order_in_bytes_is_followed(void **state)
{
    (void)state;
    assert_string_equal(turns_of(plain), "000111");
    assert_string_equal(turns_of("order bytes 0001\nrun init\n"), "000111");
    /* 1 before its first call; 0 before its second; then in turn. */
    assert_string_equal(turns_of("order bytes 0001 01 08\nrun init\n"),
                        "101100");
    /* 1 after three calls; whoever can where 5 is asked for and is not. */
    assert_string_equal(turns_of("order bytes 0001 19 f8\nrun init\n"),
                        "110001");
    assert_string_equal(turns_of("order bytes 0001 fd 00\nrun init\n"),
                        "111000");
    assert_string_equal(result.rank[0].title, "");
}

/* ---- time -----------------------------------------------------------------
 */

static int sleep_600(struct sim_rank *rank, void **group,
                     struct sim_failure *failure)
{
    (void)group;
    sim_sleep(rank, 600 * SECOND);
    snprintf(failure->message, sizeof failure->message, "%lld",
             (long long)(sim_now(rank) / SECOND));
    return -1;
}

static void ten_minutes_pass_at_once(void **state)
{
    (void)state;
    with_init(sleep_600, plain);
    assert_int_equal(result.outcome, SCN_ERROR);
    assert_string_equal(result.rank[0].message, "600");
    assert_string_equal(result.rank[1].message, "600");
}

static int wait_for_ever(struct sim_rank *rank, void **group,
                         struct sim_failure *failure)
{
    (void)group;
    (void)failure;
    if (sim_rank_number(rank) == 1)
        sim_wait(rank, SIM_FOREVER, "a miracle");
    return 0;
}

static void a_hang_is_found_and_says_what_it_waits_for(void **state)
{
    (void)state;
    with_init(wait_for_ever, plain);
    assert_int_equal(result.outcome, SCN_HANG);
    assert_int_equal(result.worst, 1);
    assert_string_equal(result.title, "waits for a miracle");
    assert_int_equal(result.rank[0].outcome, SCN_READY);
}

static int tick_for_ever(struct sim_rank *rank, void **group,
                         struct sim_failure *failure)
{
    (void)group;
    (void)failure;
    for (int i = 0; i < 1 << 30; i++)
        sim_tick(rank);
    return -1;
}

static void a_spin_is_found(void **state)
{
    (void)state;
    with_init(tick_for_ever, plain);
    assert_int_equal(result.outcome, SCN_SPIN);
}

/* Both ranks report when they began, twice. */
static int report_time(struct sim_rank *rank, void **group,
                       struct sim_failure *failure)
{
    static int64_t first[2];
    int number = sim_rank_number(rank);
    if (sim_now(rank) < 5 * SECOND) { /* the first start */
        first[number] = sim_now(rank);
        *group = rank;
        sim_sleep(rank, 5 * SECOND);
        return 0;
    }
    snprintf(failure->message, sizeof failure->message, "%lld %lld",
             (long long)(first[number] / SECOND),
             (long long)(sim_now(rank) / SECOND));
    return -1;
}

static void a_late_rank_is_late_once(void **state)
{
    (void)state;
    with_init(report_time, "late 1 3000\nrun init\nrun init\n");
    assert_string_equal(result.rank[0].message, "0 8");
    assert_string_equal(result.rank[1].message, "3 8");
}

/* ---- sockets ---------------------------------------------------------------
 */

#define ADDRESS "10.0.0.1:9000"

/* Rank 1 sends 32 numbered bytes; rank 0 reports how many came, which were
 * right, and how it ended. */
static int talk(struct sim_rank *rank, void **group,
                struct sim_failure *failure)
{
    unsigned char bytes[32];
    int end, right = 0;
    long n, got = 0;
    (void)group;
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)i;
    if (sim_rank_number(rank) == 1) {
        while ((end = sim_connect(rank, ADDRESS, SIM_FOREVER)) < 0)
            sim_sleep(rank, SECOND);
        n = sim_send(rank, end, bytes, sizeof bytes);
        sim_recv(rank, end, bytes, 1, sim_now(rank) + 10 * SECOND);
        sim_close(rank, end);
        return 0;
    }
    int listener = sim_listen(rank, ADDRESS);
    end = sim_accept(rank, listener, SIM_FOREVER);
    do {
        n = sim_recv(rank, end, bytes + got, sizeof bytes - (size_t)got,
                     sim_now(rank) + SECOND);
        got += n > 0 ? n : 0;
    } while (n > 0 && got < 32);
    for (int i = 0; i < got; i++)
        right += bytes[i] == i;
    snprintf(failure->message, sizeof failure->message, "%ld %d %s", got, right,
             n == 0            ? "closed"
             : n == -ETIMEDOUT ? "silent"
                               : "open");
    sim_close(rank, end);
    sim_close(rank, listener);
    return -1;
}

static void what_is_sent_arrives(void **state)
{
    (void)state;
    with_init(talk, plain);
    assert_string_equal(result.rank[0].message, "32 32 open");
    assert_int_equal(result.outcome, SCN_ERROR); /* and no leak */
}

static void a_channel_closes_at_every_byte(void **state)
{
    (void)state;
    for (int n = 0; n < 32; n++) {
        char text[64], expected[64];
        snprintf(text, sizeof text, "channel 1 close %d\nrun init\n", n);
        snprintf(expected, sizeof expected, "%d %d closed", n, n);
        with_init(talk, text);
        assert_string_equal(result.rank[0].message, expected);
    }
}

static void a_channel_falls_silent_at_every_byte(void **state)
{
    (void)state;
    for (int n = 0; n < 32; n++) {
        char text[64], expected[64];
        snprintf(text, sizeof text, "channel 1 silent %d\nrun init\n", n);
        snprintf(expected, sizeof expected, "%d %d silent", n, n);
        with_init(talk, text);
        assert_string_equal(result.rank[0].message, expected);
    }
}

static void one_byte_is_garbled_and_no_other(void **state)
{
    (void)state;
    for (int n = 0; n < 32; n++) {
        char text[64];
        snprintf(text, sizeof text, "channel 1 garble %d\nrun init\n", n);
        with_init(talk, text);
        assert_string_equal(result.rank[0].message, "32 31 open");
    }
}

static int accept_two(struct sim_rank *rank, void **group,
                      struct sim_failure *failure)
{
    char bytes[16] = {0};
    int listener, ends[2];
    long n[2];
    (void)group;
    if (sim_rank_number(rank) == 1)
        return 0;
    listener = sim_listen(rank, ADDRESS);
    for (int i = 0; i < 2; i++) {
        ends[i] = sim_accept(rank, listener, SECOND);
        n[i] = ends[i] < 0 ? ends[i]
                           : sim_recv(rank, ends[i], bytes, sizeof bytes,
                                      sim_now(rank) + SECOND);
        sim_close(rank, ends[i]);
    }
    sim_close(rank, listener);
    snprintf(failure->message, sizeof failure->message, "%s %s %02x%02x",
             n[0] == -ETIMEDOUT ? "silent" : "?", n[1] == 2 ? "two" : "?",
             (unsigned char)bytes[0], (unsigned char)bytes[1]);
    return -1;
}

static void a_stray_comes_first_and_a_hostile_peer_says_its_bytes(void **state)
{
    (void)state;
    with_init(accept_two, "stray\npeer 1 sends cafe\nrun init\n");
    assert_string_equal(result.rank[0].message, "silent two cafe");
}

/* Two connections one after the other; the first end that was closed on one
 * side stays open on the other for a while. */
static int reconnect(struct sim_rank *rank, void **group,
                     struct sim_failure *failure)
{
    char byte = 7;
    int first, second, listener;
    (void)group;
    if (sim_rank_number(rank) == 1) {
        while ((first = sim_connect(rank, ADDRESS, SIM_FOREVER)) < 0)
            sim_sleep(rank, SECOND);
        sim_close(rank, first);
        second = sim_connect(rank, ADDRESS, SIM_FOREVER);
        sim_recv(rank, second, &byte, 1, SIM_FOREVER);
        sim_close(rank, second);
        return 0;
    }
    listener = sim_listen(rank, ADDRESS);
    first = sim_accept(rank, listener, SIM_FOREVER);
    second = sim_accept(rank, listener, SIM_FOREVER);
    sim_close(rank, first);
    snprintf(failure->message, sizeof failure->message, "%d %ld",
             sim_socket_alive(rank, second), sim_send(rank, second, &byte, 1));
    sim_close(rank, second);
    sim_close(rank, listener);
    return -1;
}

static void closing_an_old_end_leaves_the_next_connection_alone(void **state)
{
    (void)state;
    with_init(reconnect, plain);
    assert_string_equal(result.rank[0].message, "1 1");
}

/* Rank 1 listens twice at port 0 of its address; rank 0 fills the first
 * connection up and reports how much it took, then how a reader makes room. */
static struct {
    int ports[2];
    char host[32];
} listening;

static int send_much(struct sim_rank *rank)
{
    static char bytes[100000];
    char address[64];
    long first, full, again;
    int end;
    while (listening.ports[1] == 0)
        sim_sleep(rank, SECOND);
    snprintf(address, sizeof address, "%s:%d", listening.host,
             listening.ports[0]);
    end = sim_connect(rank, address, SIM_FOREVER);
    first = sim_send_some(rank, end, bytes, sizeof bytes, SIM_FOREVER);
    full = sim_send_some(rank, end, bytes, sizeof bytes, 0);
    again = sim_send_some(rank, end, bytes, sizeof bytes, SIM_FOREVER);
    sim_close(rank, end);
    return first == 65536 && full == -ETIMEDOUT && again == 1000;
}

static int fill_up(struct sim_rank *rank, void **group,
                   struct sim_failure *failure)
{
    char bytes[1000];
    int ends[3];
    (void)group;
    if (sim_rank_number(rank) == 0) {
        snprintf(failure->message, sizeof failure->message, "%s",
                 send_much(rank) ? "right" : "wrong");
        return -1;
    }
    for (int i = 0; i < 2; i++) {
        ends[i] = sim_listen(rank, "10.0.0.2:0");
        listening.ports[i] = sim_socket_port(rank, ends[i]);
    }
    snprintf(listening.host, sizeof listening.host, "%s",
             sim_rank_address(rank));
    ends[2] = sim_accept(rank, ends[0], SIM_FOREVER);
    sim_sleep(rank, SECOND);
    sim_recv(rank, ends[2], bytes, sizeof bytes, SIM_FOREVER);
    sim_wait(rank, sim_now(rank) + SECOND, "the last bytes");
    for (int i = 0; i < 3; i++)
        sim_close(rank, ends[i]);
    return 0;
}

static void a_full_connection_takes_no_more_until_somebody_reads(void **state)
{
    (void)state;
    memset(&listening, 0, sizeof listening);
    with_init(fill_up, plain);
    assert_string_equal(result.rank[0].message, "right");
    assert_int_equal(result.outcome, SCN_ERROR); /* and no leak */
    assert_string_equal(listening.host, "10.0.0.2");
    assert_true(listening.ports[0] > 0 && listening.ports[1] > 0 &&
                listening.ports[0] != listening.ports[1]);
}

static int report_settings(struct sim_rank *rank, void **group,
                           struct sim_failure *failure)
{
    (void)group;
    snprintf(failure->message, sizeof failure->message, "%d%d%d",
             sim_rank_prefers_ring(rank),
             sim_rank_setting(rank, SCN_SETTING_BACKEND),
             sim_rank_setting(rank, SCN_SETTING_FALLBACK));
    return -1;
}

static void a_rank_is_told_its_settings(void **state)
{
    (void)state;
    with_init(report_settings, "ranks 3 ring\nsetting 0 topology mesh\n"
                               "setting * fallback sockets\n"
                               "setting 1 backend sockets\n"
                               "setting 2 fallback none\nrun init\n");
    assert_string_equal(result.rank[0].message, "001");
    assert_string_equal(result.rank[1].message, "111");
    assert_string_equal(result.rank[2].message, "100");
}

/* ---- memory ----------------------------------------------------------------
 */

static int allocate(struct sim_rank *rank, void **group,
                    struct sim_failure *failure)
{
    char *first = sim_alloc(rank, 4096, 100000);
    char *second = sim_alloc(rank, 16, 10);
    (void)group;
    snprintf(failure->message, sizeof failure->message, "%s %s %s",
             first ? "yes" : "no", second ? "yes" : "no",
             first && (uintptr_t)first % 4096 == 0 ? "aligned" : "-");
    if (first) {
        memset(first, 1, 100000);
        sim_free(rank, first);
    }
    if (second)
        sim_free(rank, second);
    return -1;
}

static void the_nth_allocation_fails(void **state)
{
    (void)state;
    with_init(allocate, plain);
    assert_string_equal(result.rank[0].message, "yes yes aligned");
    with_init(allocate, "fault 0 alloc 1 null ENOMEM\nrun init\n");
    assert_string_equal(result.rank[0].message, "no yes -");
    with_init(allocate, "fault 0 alloc 2 null ENOMEM\nrun init\n");
    assert_string_equal(result.rank[0].message, "yes no aligned");
    assert_string_equal(result.rank[1].message, "yes yes aligned");
}

/* Of each statement: whether it struck. */
static void it_is_known_which_faults_struck(void **state)
{
    static const char text[] = "fault 1 alloc 9 null ENOMEM\n"
                               "fault 0 alloc 2 null ENOMEM\n"
                               "channel 0 close 1\n"
                               "fault 0 alloc 1 null ENOMEM\n"
                               "run init\n";
    static const char wanted[] = "-+-+";
    static struct scn scenario;
    struct scn_error error;
    (void)state;
    assert_int_equal(scn_parse(&scenario, text, strlen(text), &error), 0);
    with_init(allocate, text);
    for (int i = 0; wanted[i]; i++)
        assert_int_equal(sim_struck(&scenario, &result, i), wanted[i] == '+');
}

static int leak_all(struct sim_rank *rank, void **group,
                    struct sim_failure *failure)
{
    (void)group;
    (void)failure;
    if (sim_rank_number(rank) == 0)
        sim_alloc(rank, 16, 10);
    else
        sim_listen(rank, ADDRESS);
    return 0;
}

static void what_is_left_is_a_leak(void **state)
{
    (void)state;
    with_init(leak_all, plain);
    assert_int_equal(result.outcome, SCN_LEAK);
    assert_string_equal(result.rank[0].title, "leak of memory");
    assert_string_equal(result.rank[1].title, "leak of socket");
}

static int read_stale(struct sim_rank *rank, void **group,
                      struct sim_failure *failure)
{
    unsigned char *memory = sim_alloc(rank, 4096, 65536);
    unsigned sum = 0;
    (void)group;
    for (int i = 0; i < 65536; i++)
        sum += memory[i];
    memset(memory, 0x5a, 65536);
    sim_free(rank, memory);
    snprintf(failure->message, sizeof failure->message, "%u", sum);
    return -1;
}

static void memory_is_the_same_whatever_ran_before(void **state)
{
    char first[512];
    (void)state;
    with_init(read_stale, plain);
    snprintf(first, sizeof first, "%s", result.rank[0].message);
    with_init(read_stale, plain);
    assert_string_equal(result.rank[0].message, first);
}

/* ---- data ---------------------------------------------------------------- */

static struct {
    int32_t input[2][4096], sum[4096];
    int arrived, shift;
    bool stale; /* the second operation answers the first one's sum */
} data;

static int start_nothing(struct sim_rank *rank, void **group,
                         struct sim_failure *failure)
{
    (void)failure;
    *group = rank;
    return 0;
}

static int sum_in_the_wrong_place(struct sim_rank *rank, void *group,
                                  const struct sim_operation *operation,
                                  struct sim_failure *failure)
{
    int32_t *out = operation->output;
    size_t count = operation->count;
    int goal = data.arrived / 2 * 2 + 2;
    (void)group;
    (void)failure;
    memcpy(data.input[sim_rank_number(rank)], operation->input, count * 4);
    data.arrived++;
    /* Whoever comes last adds up, before anybody can go on. */
    for (size_t i = 0; data.arrived == goal && i < count; i++)
        if (!data.stale || goal == 2)
            data.sum[i] = data.input[0][i] + data.input[1][i];
    while (data.arrived < goal)
        sim_sleep(rank, 1);
    for (size_t i = 0; i < count; i++)
        out[(i + (size_t)data.shift) % count] = data.sum[i];
    return 0;
}

static void sums(int shift, bool stale, enum scn_outcome outcome)
{
    struct sim_subject subject = {.name = "test",
                                  .about = "",
                                  .init = start_nothing,
                                  .operate = sum_in_the_wrong_place,
                                  .barrier = nothing,
                                  .finalize = nothing};
    data.arrived = 0;
    data.shift = shift;
    data.stale = stale;
    run_subject(&subject, "run init\nrun all_sum int32 4096\n"
                          "run all_sum int32 4096\n");
    if (result.outcome != outcome)
        fail_msg("shift %d%s: %s", shift, stale ? ", stale" : "",
                 scn_outcome_name(result.outcome));
}

static void data_in_the_wrong_place_is_seen(void **state)
{
    (void)state;
    sums(0, false, SCN_READY);
    for (int shift = 1; shift < 4096; shift += shift < 40 ? 1 : 5)
        sums(shift, false, SCN_WRONG_DATA);
}

static void the_last_operations_data_is_seen(void **state)
{
    (void)state;
    sums(0, true, SCN_WRONG_DATA);
}

/* ---- determinism
 * -------------------------------------------------------------- */

struct text {
    char *at;
    size_t length, room;
};

static void collect(void *context, int rank, const char *line)
{
    struct text *text = context;
    size_t length = strlen(line);
    (void)rank;
    if (text->length + length + 2 > text->room) {
        text->room = (text->length + length) * 2 + 4096;
        text->at = realloc(text->at, text->room);
        assert_non_null(text->at);
    }
    memcpy(text->at + text->length, line, length);
    text->at[text->length + length] = '\n';
    text->length += length + 1;
    text->at[text->length] = '\0';
}

static void trace_of(const struct scn *scenario,
                     const struct sim_subject *subject, struct text *text)
{
    struct sim_options options = {.subject = subject,
                                  .trace = collect,
                                  .recover = subject->fixed,
                                  .context = text};
    struct scn_error error;
    text->length = 0;
    collect(text, 0, "");
    assert_int_equal(sim_run(scenario, &options, &result, &error), 0);
    collect(text, 0, result.title);
}

static void the_same_scenario_gives_the_same_trace(void **state)
{
    static struct scn scenario, other;
    static struct text one, two;
    struct scn_random random;
    struct scn_error error;
    (void)state;
    scn_random_seed(&random, 7);
    for (int i = 0; i < 600; i++) {
        const struct sim_subject *subject = sim_subject_at(i % 5);
        scenario.count = other.count = 0;
        for (int k = 0; k < 6; k++) {
            scn_mutate(&scenario, &random);
            scn_mutate(&other, &random);
        }
        if (scn_check(&scenario, &error) != 0 || scn_check(&other, &error) != 0)
            fail_msg("the mutator makes what does not check");
        trace_of(&scenario, subject, &one);
        trace_of(&other, sim_subject_at((i + 1) % 4), &two);
        trace_of(&scenario, subject, &two);
        if (one.length != two.length || strcmp(one.at, two.at) != 0) {
            static char text[1 << 16];
            scn_print(&scenario, text, sizeof text);
            fail_msg("%s differs on\n%s", subject->name, text);
        }
    }
    free(one.at);
    free(two.at);
    one.at = two.at = NULL;
    one.room = two.room = 0;
}

/* ---- runs in a child
 * ------------------------------------------------------------- */

static int fall(struct sim_rank *rank, void **group,
                struct sim_failure *failure)
{
    (void)group;
    (void)failure;
    if (sim_rank_number(rank) == 1) {
        volatile int *volatile nowhere = (int *)(uintptr_t)8;
        *nowhere = 1;
    }
    return 0;
}

static int spin_hard(struct sim_rank *rank, void **group,
                     struct sim_failure *failure)
{
    volatile unsigned long n = 0;
    (void)rank;
    (void)group;
    (void)failure;
    while (n != ~0ul)
        n++;
    return -1;
}

static void isolated(int (*init)(struct sim_rank *, void **,
                                 struct sim_failure *),
                     int seconds)
{
    static struct scn scenario;
    struct sim_subject subject = {.name = "test",
                                  .about = "",
                                  .init = init,
                                  .operate = no_operation,
                                  .barrier = nothing,
                                  .finalize = nothing};
    struct sim_options options = {.subject = &subject};
    struct scn_error error;
    assert_int_equal(scn_parse(&scenario, plain, strlen(plain), &error), 0);
    assert_int_equal(
        sim_run_isolated(&scenario, &options, seconds, &result, &error), 0);
}

static void a_fault_nobody_foresaw_is_a_crash_of_its_rank(void **state)
{
    (void)state;
    isolated(fall, 60);
    assert_int_equal(result.outcome, SCN_CRASH);
    assert_int_equal(result.worst, 1);
    assert_string_equal(result.title, "fault outside of verbs");
}

static void a_loop_without_calls_is_a_spin(void **state)
{
    (void)state;
    isolated(spin_hard, 1);
    assert_int_equal(result.outcome, SCN_SPIN);
    assert_string_equal(result.title, "spin without a call");
}

static int stop(void **state)
{
    (void)state;
    sim_shutdown();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_minutes_pass_at_once),
        cmocka_unit_test(a_hang_is_found_and_says_what_it_waits_for),
        cmocka_unit_test(a_spin_is_found),
        cmocka_unit_test(a_late_rank_is_late_once),
        cmocka_unit_test(what_is_sent_arrives),
        cmocka_unit_test(a_channel_closes_at_every_byte),
        cmocka_unit_test(a_channel_falls_silent_at_every_byte),
        cmocka_unit_test(one_byte_is_garbled_and_no_other),
        cmocka_unit_test(a_stray_comes_first_and_a_hostile_peer_says_its_bytes),
        cmocka_unit_test(closing_an_old_end_leaves_the_next_connection_alone),
        cmocka_unit_test(a_full_connection_takes_no_more_until_somebody_reads),
        cmocka_unit_test(a_rank_is_told_its_settings),
        cmocka_unit_test(the_nth_allocation_fails),
        cmocka_unit_test(it_is_known_which_faults_struck),
        cmocka_unit_test(what_is_left_is_a_leak),
        cmocka_unit_test(memory_is_the_same_whatever_ran_before),
        cmocka_unit_test(data_in_the_wrong_place_is_seen),
        cmocka_unit_test(the_last_operations_data_is_seen),
        cmocka_unit_test(an_order_in_bytes_is_followed),
        cmocka_unit_test(the_same_scenario_gives_the_same_trace),
        cmocka_unit_test(a_fault_nobody_foresaw_is_a_crash_of_its_rank),
        cmocka_unit_test(a_loop_without_calls_is_a_spin),
    };
    return cmocka_run_group_tests(tests, NULL, stop);
}
