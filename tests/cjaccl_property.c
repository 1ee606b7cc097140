/*
 * Whatever the group is like, whatever it is asked for and however its ranks
 * take turns: when nothing is wrong, every operation succeeds on every rank and
 * its result is exact.
 *
 *   test_cjaccl_property
 *
 * CJACCL_PROPERTY_RUNS (2000) scenarios from CJACCL_PROPERTY_SEED (1) on, one
 * seed each: a mesh or a ring of some ranks and wires, or sockets, over some
 * profile, and a few operations back to back, of any type, of sizes around all
 * that is a limit somewhere, in place or not, in buffers that begin anywhere
 * (sim/operation.c), in any interleaving, with completions that come late. The
 * reference is sim/data.c's. One in eight lets every rank use sockets in RDMA's
 * stead and takes RDMA away from one.
 *
 * A failure prints its seed, its scenario, and the smallest one that still ends
 * so, which is left in a file for `verbfault replay`.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/minimize.h"
#include "sim/mutate.h"
#include "sim/run.h"

static struct sim_result result;

/* ---- a scenario from a seed ----------------------------------------------
 */

struct shape {
    struct scn_random random;
    int ranks, wires;
    bool ring, sockets; /* as it will be, not as it is written down */
    bool falls_back;
    char text[4096];
    size_t length;
};

static int below(struct shape *shape, int limit)
{
    return (int)scn_random_below(&shape->random, (uint32_t)limit);
}

static bool one_in(struct shape *shape, int n)
{
    return below(shape, n) == 0;
}

__attribute__((format(printf, 2, 3))) static void say(struct shape *shape,
                                                      const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    shape->length += (size_t)vsnprintf(shape->text + shape->length,
                                       sizeof shape->text - shape->length,
                                       format, arguments);
    va_end(arguments);
    assert_true(shape->length < sizeof shape->text);
}

/* The topology that is written, and in three of eight cases the one that the
 * ranks ask for in its stead. */
static void say_topology(struct shape *shape)
{
    shape->wires = 1;
    shape->ring = one_in(shape, 2);
    if (shape->ring) {
        shape->ranks = 2 + below(shape, 5);
        shape->wires = 1 + below(shape, SCN_WIRES_MAX);
        say(shape, "ranks %d ring %d\n", shape->ranks, shape->wires);
    } else {
        shape->ranks = one_in(shape, 32)  ? 1
                       : one_in(shape, 4) ? 2 + below(shape, 7)
                                          : 2 + below(shape, 3);
        say(shape, "ranks %d mesh\n", shape->ranks);
    }
    if (one_in(shape, 8)) {
        say(shape, "setting * topology %s\n", shape->ring ? "mesh" : "ring");
        shape->ring = !shape->ring || shape->ranks > 3;
    }
    shape->sockets = one_in(shape, 8);
    if (shape->sockets)
        say(shape, "setting * backend sockets\n");
}

/* Where RDMA cannot start, sockets do. */
static void say_fallback(struct shape *shape)
{
    static const char *const faults[] = {"library %d absent\n",
                                         "nodevices %d\n",
                                         "fault %d open_device 1 null EIO\n",
                                         "fault %d query_port 1 errno EIO\n",
                                         "fault %d alloc_pd 1 null ENOMEM\n",
                                         "fault %d create_cq 1 null ENOMEM\n",
                                         "fault %d create_qp 1 null EBUSY\n",
                                         "fault %d reg_mr 1 null ENOMEM\n",
                                         "fault %d modify_qp 1 errno EINVAL\n",
                                         "fault %d modify_qp 2 errno EINVAL\n",
                                         "fault %d modify_qp 3 errno EINVAL\n"};
    shape->falls_back = one_in(shape, 8) && shape->ranks > 1;
    if (!shape->falls_back)
        return;
    say(shape, "setting * fallback sockets\n");
    shape->sockets = true;
    say(shape, faults[below(shape, sizeof faults / sizeof faults[0])],
        below(shape, shape->ranks));
}

/* Late, but in time. */
static void say_delays(struct shape *shape)
{
    if (shape->falls_back || !one_in(shape, 2))
        return;
    for (int rank = 0; rank < shape->ranks; rank++)
        if (one_in(shape, 2))
            say(shape, "fault %d completion %d%s delay %d\n", rank,
                1 + below(shape, 12), one_in(shape, 3) ? "+" : "",
                1 + below(shape, 20));
}

/* Bytes: what is a limit somewhere, or next to one. */
static int any_bytes(struct shape *shape)
{
    static const int limits[] = {4096,  8192,   16384,  32768,
                                 65536, 131072, 262144, 524288};
    int chance = below(shape, 64);
    if (chance < 8)
        return below(shape, 3) * 8;
    if (chance < 36)
        return below(shape, 9000);
    if (chance < 58)
        return limits[below(shape, 4)] * (1 + below(shape, 2)) +
               below(shape, 48) - 24;
    if (chance < 63)
        return limits[below(shape, 8)] + below(shape, 96) - 48;
    return below(shape, 1 << 20);
}

static void say_send(struct shape *shape, const char *type, int count)
{
    int from = below(shape, shape->ranks), to;
    if (shape->ring || shape->sockets)
        to = from + (one_in(shape, 2) ? 1 : shape->ranks - 1);
    else
        to = from + 1 + below(shape, shape->ranks - 1);
    say(shape, "run send %s %d %d %d\n", type, count, from, to % shape->ranks);
}

static void say_operation(struct shape *shape)
{
    enum scn_operation what =
        (enum scn_operation)(SCN_ALL_SUM + below(shape, 7));
    enum scn_type type = (enum scn_type)below(shape, SCN_TYPE_COUNT);
    int count = any_bytes(shape) / (int)scn_type_size(type);
    if (what == SCN_BARRIER)
        say(shape, "run barrier\n");
    else if (what == SCN_SEND && shape->ranks > 1)
        say_send(shape, scn_type_name(type), count);
    else if (what != SCN_SEND)
        say(shape, "run %s %s %d%s\n", scn_operation_name(what),
            scn_type_name(type),
            count < scn_count_most(what) ? count : scn_count_most(what),
            one_in(shape, 3) ? " in-place" : "");
}

/* One group, or one after the other, or one within the other. */
static void say_runs(struct shape *shape)
{
    int groups = one_in(shape, 8) ? 2 : 1;
    for (int group = 0; group < groups; group++) {
        say(shape, "run init\n");
        for (int i = 1 + below(shape, 5); i > 0; i--)
            say_operation(shape);
        if (one_in(shape, 2) && !shape->falls_back)
            say(shape, "run finalize\n");
        else if (shape->falls_back)
            break; /* its fault does not come again */
    }
}

static void make(struct shape *shape, unsigned seed)
{
    static const char *const profiles[] = {"thunderbolt", "rxe", "ideal"};
    shape->length = 0;
    scn_random_seed(&shape->random, seed);
    say(shape, "profile %s\n", profiles[below(shape, 3)]);
    say_topology(shape);
    say_fallback(shape);
    say_delays(shape);
    if (!one_in(shape, 4))
        say(shape, "order %d\n", 1 + below(shape, 1 << 20));
    say_runs(shape);
}

/* ---- the property --------------------------------------------------------
 */

static const struct sim_subject *subject;
static char title[96]; /* of the failure that is made smaller */

static bool fails(const struct scn *scenario)
{
    struct sim_options options = {.subject = subject};
    struct scn_error error;
    assert_int_equal(sim_run(scenario, &options, &result, &error), 0);
    return result.outcome != SCN_READY || result.broken[0] != '\0';
}

static bool fails_so(void *context, const struct scn *scenario)
{
    (void)context;
    return fails(scenario) && strcmp(result.title, title) == 0 &&
           (result.broken[0] != '\0' || !scn_is_sound(scenario));
}

static void report(unsigned seed, const char *text, struct scn *scenario)
{
    struct minimize how = {.holds = fails_so};
    char path[64], minimal[4096];
    FILE *file;
    print_error("seed %u: %s: %s: rank %d: %s\n%s\n%s", seed,
                scn_outcome_name(result.outcome), result.title, result.worst,
                result.rank[result.worst].message, result.broken, text);
    snprintf(title, sizeof title, "%s", result.title);
    scn_minimize(scenario, &how);
    scn_print(scenario, minimal, sizeof minimal);
    snprintf(path, sizeof path, "cjaccl_property-%u.scn", seed);
    file = fopen(path, "w");
    if (file) {
        fputs(minimal, file);
        fclose(file);
    }
    fail_msg("seed %u; the smallest that ends so (verbfault replay --verbose "
             "--subject cjaccl %s):\n%s",
             seed, path, minimal);
}

static unsigned number(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);
    return text && *text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static void everything_that_is_right_is_ready_and_exact(void **state)
{
    static struct shape shape;
    static struct scn scenario;
    unsigned seed = number("CJACCL_PROPERTY_SEED", 1);
    unsigned end = seed + number("CJACCL_PROPERTY_RUNS", 2000);
    struct scn_error error;
    (void)state;
    subject = sim_subject_by_name("cjaccl");
    for (; seed < end; seed++) {
        make(&shape, seed);
        if (scn_parse(&scenario, shape.text, shape.length, &error) != 0)
            fail_msg("seed %u: %d:%d: %s\n%s", seed, error.line, error.column,
                     error.message, shape.text);
        if (fails(&scenario))
            report(seed, shape.text, &scenario);
    }
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
        cmocka_unit_test(everything_that_is_right_is_ready_and_exact),
    };
    return cmocka_run_group_tests(tests, NULL, stop);
}
