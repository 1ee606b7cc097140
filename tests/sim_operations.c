/*
 * What the simulator demands of every operation, shown with a subject whose
 * ranks add up in plain sight: right answers pass, and every kind of wrong one
 * is seen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/run.h"

static struct sim_result result;

#define ROOM ((size_t)1 << 16) /* bytes of any rank's input */

/* What the subject does wrong. */
enum mistake {
    NOTHING,
    WRONG_ELEMENT, /* the last one is the one before it */
    SHORT,         /* the last byte is not written */
    LONG,          /* one byte behind the output is */
    EARLY,         /* one byte in front of it is */
    CHANGES_INPUT,
    OTHER_RANK, /* in a result that is one rank's, another's */
    TAKES_ALL,  /* a wrong call is fine */
    MISTAKES
};
static enum mistake mistake;

static struct {
    unsigned char input[SCN_RANKS_MAX][ROOM];
    int arrived[2], left[2]; /* of sends, of the others */
} table;

static int start(struct sim_rank *rank, void **group,
                 struct sim_failure *failure)
{
    (void)failure;
    *group = rank;
    return 0;
}

static int nothing(struct sim_rank *rank, void *group,
                   struct sim_failure *failure)
{
    (void)rank;
    (void)group;
    (void)failure;
    return 0;
}

/* All ranks (or the two of a send) have put their input down. */
static void meet(struct sim_rank *rank, int count, int *counter)
{
    int goal = (*counter / count + 1) * count;
    (*counter)++;
    while (*counter < goal)
        sim_sleep(rank, 1);
}

static void combine(enum scn_operation what, int32_t *out, const int32_t *in)
{
    if (what == SCN_ALL_MAX)
        *out = *in > *out ? *in : *out;
    else if (what == SCN_ALL_MIN)
        *out = *in < *out ? *in : *out;
    else
        *out += *in;
}

/* Element i of the ranks' inputs, from element `from` of each on. */
static int32_t combined(enum scn_operation what, int size, size_t i)
{
    int32_t sum, other;
    memcpy(&sum, table.input[0] + 4 * i, 4);
    for (int rank = 1; rank < size; rank++) {
        memcpy(&other, table.input[rank] + 4 * i, 4);
        combine(what, &sum, &other);
    }
    return sum;
}

static void reduce(struct sim_rank *rank, const struct sim_operation *operation)
{
    size_t from = 0;
    int size = sim_rank_size(rank);
    if (operation->what == SCN_SUM_SCATTER)
        from = (size_t)sim_rank_number(rank) * operation->count;
    for (size_t i = 0; i < operation->count; i++) {
        size_t at =
            mistake == WRONG_ELEMENT && i > 0 && i == operation->count - 1
                ? i - 1
                : i;
        int32_t sum = combined(operation->what, size, from + at);
        memcpy((char *)operation->output + 4 * i, &sum, 4);
    }
}

static void copy(struct sim_rank *rank, const struct sim_operation *operation)
{
    size_t bytes = 4 * operation->count;
    char *out = operation->output;
    if (operation->what == SCN_SEND) {
        memcpy(out, table.input[operation->peer], bytes);
        return;
    }
    for (int r = 0; r < sim_rank_size(rank); r++)
        memcpy(out + (size_t)r * bytes,
               table.input[mistake == OTHER_RANK ? 0 : r], bytes);
}

static size_t bytes_of_output(struct sim_rank *rank,
                              const struct sim_operation *operation)
{
    size_t bytes = 4 * operation->count;
    return operation->what == SCN_ALL_GATHER
               ? bytes * (size_t)sim_rank_size(rank)
               : bytes;
}

static void err(struct sim_rank *rank, const struct sim_operation *operation)
{
    unsigned char *out = operation->output;
    size_t bytes = out ? bytes_of_output(rank, operation) : 0;
    if (mistake == SHORT && out)
        out[bytes - 1] ^= 1;
    if (mistake == LONG && out)
        out[bytes] ^= 1;
    if (mistake == EARLY && out)
        out[-1] ^= 1;
    if (mistake == CHANGES_INPUT && operation->input)
        ((unsigned char *)(uintptr_t)operation->input)[0] ^= 1;
}

static int operate(struct sim_rank *rank, void *group,
                   const struct sim_operation *operation,
                   struct sim_failure *failure)
{
    int own = sim_rank_number(rank), size = sim_rank_size(rank);
    int pair = operation->what == SCN_SEND, members = pair ? 2 : size;
    size_t bytes = 4 * operation->count;
    (void)group;
    if (operation->peer == own || operation->peer >= size) {
        failure->refused = true;
        snprintf(failure->message, sizeof failure->message, "no such peer");
        return mistake == TAKES_ALL ? 0 : -1;
    }
    if (operation->what == SCN_SUM_SCATTER)
        bytes *= (size_t)size;
    if (operation->input)
        memcpy(table.input[own], operation->input, bytes);
    meet(rank, members, &table.arrived[pair]);
    if (operation->what == SCN_ALL_GATHER ||
        (operation->what == SCN_SEND && operation->output))
        copy(rank, operation);
    else if (operation->what != SCN_SEND)
        reduce(rank, operation);
    meet(rank, members, &table.left[pair]);
    err(rank, operation);
    return 0;
}

/* Only calls of a send have a peer; elsewhere it is 0 and must not count. */
static int operate_all(struct sim_rank *rank, void *group,
                       const struct sim_operation *operation,
                       struct sim_failure *failure)
{
    struct sim_operation with_peer = *operation;
    if (operation->what != SCN_SEND)
        with_peer.peer = -1;
    return operate(rank, group, &with_peer, failure);
}

static void run(const char *text, enum mistake wrong)
{
    static struct scn scenario;
    struct sim_subject subject = {.name = "test",
                                  .about = "",
                                  .fixed = true,
                                  .init = start,
                                  .operate = operate_all,
                                  .barrier = nothing,
                                  .finalize = nothing};
    struct sim_options options = {.subject = &subject};
    struct scn_error error;
    mistake = wrong;
    memset(&table, 0, sizeof table);
    if (scn_parse(&scenario, text, strlen(text), &error) != 0)
        fail_msg("%d:%d: %s\n%s", error.line, error.column, error.message,
                 text);
    assert_int_equal(sim_run(&scenario, &options, &result, &error), 0);
}

static void expect(const char *text, enum mistake wrong,
                   enum scn_outcome outcome, const char *title)
{
    run(text, wrong);
    if (result.outcome != outcome || strcmp(result.title, title) != 0)
        fail_msg("mistake %d: %s: %s: %s, not %s: %s\n%s", (int)wrong,
                 scn_outcome_name(result.outcome), result.title,
                 result.rank[result.worst].message, scn_outcome_name(outcome),
                 title, text);
}

static void right_results_of_every_operation_pass(void **state)
{
    char text[512];
    (void)state;
    for (int ranks = 2; ranks <= 8; ranks++) {
        snprintf(text, sizeof text,
                 "ranks %d mesh\nrun init\nrun all_sum int32 100\n"
                 "run all_max int32 101\nrun all_min int32 1 in-place\n"
                 "run all_gather int32 33\nrun all_gather int32 7 in-place\n"
                 "run sum_scatter int32 50\n"
                 "run sum_scatter int32 20 in-place\nrun send int32 9 1 0\n"
                 "run send int32 0 0 1\nrun all_sum int32 0\n",
                 ranks);
        expect(text, NOTHING, SCN_READY, "");
        assert_string_equal(result.broken, "");
    }
}

static const struct {
    const char *words, *name;
} operations[] = {
    {"all_sum int32 40", "all_sum"},
    {"all_max int32 40", "all_max"},
    {"all_min int32 40", "all_min"},
    {"sum_scatter int32 40", "sum_scatter"},
    {"all_gather int32 40", "all_gather"},
    {"send int32 40 2 1", "recv"},
    {"all_sum int32 40 in-place", "all_sum"},
    {"all_gather int32 40 in-place", "all_gather"},
};

#define REDUCTIONS 4 /* of them; they come first */
#define OUT_OF_PLACE 6

static void every_wrong_result_is_seen(void **state)
{
    (void)state;
    for (int i = 0; i < (int)(sizeof operations / sizeof operations[0]); i++) {
        char text[128], title[64];
        snprintf(text, sizeof text, "ranks 3 mesh\nrun init\nrun %s\n",
                 operations[i].words);
        snprintf(title, sizeof title, "wrong data in %s", operations[i].name);
        expect(text, SHORT, SCN_WRONG_DATA, title);
        expect(text, LONG, SCN_WRONG_DATA, title);
        expect(text, EARLY, SCN_WRONG_DATA, title);
        if (i < REDUCTIONS)
            expect(text, WRONG_ELEMENT, SCN_WRONG_DATA, title);
        if (i < OUT_OF_PLACE && operations[i].name[0] != 'r')
            expect(text, CHANGES_INPUT, SCN_WRONG_DATA, title);
        assert_true(result.broken[0] != '\0');
    }
    expect("ranks 3 mesh\nrun init\nrun all_gather int32 40\n", OTHER_RANK,
           SCN_WRONG_DATA, "wrong data in all_gather");
    expect("run init\nrun send int32 40 1 0\n", CHANGES_INPUT, SCN_WRONG_DATA,
           "wrong data in send");
}

static void
a_call_that_leads_nowhere_is_an_error_that_does_no_harm(void **state)
{
    static const char *const sends[] = {"0 0", "0 2", "7 0", "1 1"};
    char text[128];
    (void)state;
    for (size_t i = 0; i < sizeof sends / sizeof sends[0]; i++) {
        snprintf(text, sizeof text,
                 "run init\nrun send int32 4 %s\nrun all_sum int32 5\n",
                 sends[i]);
        run(text, NOTHING);
        assert_int_equal(result.outcome, SCN_ERROR);
        assert_string_equal(result.rank[result.worst].message, "no such peer");
        assert_string_equal(result.broken, "");
        /* The sum after it is made, and checked. */
        run(text, SHORT);
        assert_int_equal(result.outcome, SCN_WRONG_DATA);
        expect(text, TAKES_ALL, SCN_VIOLATION, "success of a wrong call");
    }
}

/* Which ranks call at all. */
static int calls[SCN_RANKS_MAX];

static int count_calls(struct sim_rank *rank, void *group,
                       const struct sim_operation *operation,
                       struct sim_failure *failure)
{
    (void)group;
    (void)failure;
    calls[sim_rank_number(rank)] += operation->input ? 1 : 100;
    return 0;
}

static void only_the_two_ends_of_a_send_call(void **state)
{
    static struct scn scenario;
    static const char text[] = "ranks 4 mesh\nrun init\nrun send bool 0 3 1\n";
    struct sim_subject subject = {.name = "test",
                                  .about = "",
                                  .init = start,
                                  .operate = count_calls,
                                  .barrier = nothing,
                                  .finalize = nothing};
    struct sim_options options = {.subject = &subject};
    struct scn_error error;
    (void)state;
    memset(calls, 0, sizeof calls);
    assert_int_equal(scn_parse(&scenario, text, strlen(text), &error), 0);
    assert_int_equal(sim_run(&scenario, &options, &result, &error), 0);
    assert_int_equal(calls[0], 0);
    assert_int_equal(calls[1], 100);
    assert_int_equal(calls[2], 0);
    assert_int_equal(calls[3], 1);
}

static void the_models_say_what_they_do_not_have(void **state)
{
    static struct scn scenario;
    static const char text[] = "run init\nrun all_max int8 4\n";
    struct sim_options options = {.subject =
                                      sim_subject_by_name("legacy-2026-08-22")};
    struct scn_error error;
    (void)state;
    assert_int_equal(scn_parse(&scenario, text, strlen(text), &error), 0);
    assert_int_equal(sim_run(&scenario, &options, &result, &error), 0);
    assert_int_equal(result.outcome, SCN_ERROR);
    assert_non_null(strstr(result.rank[0].message, "not modelled"));
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
        cmocka_unit_test(right_results_of_every_operation_pass),
        cmocka_unit_test(every_wrong_result_is_seen),
        cmocka_unit_test(
            a_call_that_leads_nowhere_is_an_error_that_does_no_harm),
        cmocka_unit_test(only_the_two_ends_of_a_send_call),
        cmocka_unit_test(the_models_say_what_they_do_not_have),
    };
    return cmocka_run_group_tests(tests, NULL, stop);
}
