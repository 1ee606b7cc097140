/* Minimizing ends at a scenario of which nothing can be left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/minimize.h"
#include "sim/mutate.h"

static struct scn scenario, candidate;
static char text[1 << 16], other_text[1 << 16];

static void must_parse(const char *from)
{
    struct scn_error error;
    if (scn_parse(&scenario, from, strlen(from), &error) < 0)
        fail_msg("%d:%d %s\n%s", error.line, error.column, error.message, from);
}

/* ---- predicates ---- */

static bool has_run(const struct scn *s, enum scn_operation operation)
{
    for (int i = 0; i < s->count; i++) {
        if (s->statements[i].kind == SCN_RUN &&
            s->statements[i].u.run.operation == operation)
            return true;
    }
    return false;
}

static const struct scn_statement *fault_on(const struct scn *s,
                                            enum vf_verb verb, int least_rank)
{
    for (int i = 0; i < s->count; i++) {
        if (s->statements[i].kind == SCN_FAULT &&
            s->statements[i].rank >= least_rank &&
            s->statements[i].u.fault.verb == verb)
            return &s->statements[i];
    }
    return NULL;
}

/* A region fault on another rank than 0, in a group that starts. */
static bool late_region(void *context, const struct scn *s)
{
    (void)context;
    return fault_on(s, VF_VERB_reg_mr, 1) && has_run(s, SCN_INIT);
}

/* Two runs, one of them of five elements or more. */
static bool large_sum(void *context, const struct scn *s)
{
    int runs = 0, large = 0;
    (void)context;
    for (int i = 0; i < s->count; i++) {
        const struct scn_statement *run = &s->statements[i];
        runs += run->kind == SCN_RUN;
        large += run->kind == SCN_RUN && run->u.run.operation == SCN_ALL_SUM &&
                 run->u.run.count >= 5;
    }
    return runs >= 2 && large >= 1;
}

/* A device file that names something, or a peer that sends a large byte. */
static bool odd_world(void *context, const struct scn *s)
{
    (void)context;
    for (int i = 0; i < s->count; i++) {
        const struct scn_statement *at = &s->statements[i];
        if (at->kind == SCN_CELL && at->u.cell.count >= 2)
            return true;
        if (at->kind == SCN_CHANNEL && at->u.channel.bytes >= 3)
            return true;
        for (int k = 0; at->kind == SCN_PEER && k < at->u.peer.count; k++) {
            if (at->u.peer.bytes[k] >= 100)
                return true;
        }
    }
    return false;
}

/* Three ranks or a ring, and a seed or a used-up device. */
static bool shaped(void *context, const struct scn *s)
{
    enum scn_topology topology;
    int ranks, wires;
    (void)context;
    scn_topology(s, &ranks, &topology, &wires);
    for (int i = 0; i < s->count; i++) {
        const struct scn_statement *at = &s->statements[i];
        if ((at->kind == SCN_ORDER && at->u.order.seed > 10) ||
            (at->kind == SCN_DEVICE && at->u.device.used_mr > 1))
            return ranks > 2 || topology == SCN_RING;
    }
    return false;
}

/* ---- properties ---- */

static void must_be_minimal(const struct minimize *how)
{
    struct scn_error error;
    assert_int_equal(scn_check(&scenario, &error), 0);
    assert_true(how->holds(NULL, &scenario));
    for (int i = 0; i < scenario.count; i++) {
        enum scn_simpler made;
        scn_copy(&candidate, &scenario);
        scn_remove(&candidate, i);
        scn_print(&scenario, text, sizeof text);
        if (scn_check(&candidate, &error) == 0 && how->holds(NULL, &candidate))
            fail_msg("statement %d can be left out:\n%s", i, text);
        for (int n = 0; (made = scn_simpler(&scenario, i, n, &candidate)) !=
                        SCN_SIMPLER_END;
             n++) {
            if (made == SCN_SIMPLER_MADE && how->holds(NULL, &candidate))
                fail_msg("statement %d can be simpler (%d):\n%s", i, n, text);
        }
    }
}

static void what_is_left_is_1_minimal(void **state)
{
    static bool (*const predicates[])(void *, const struct scn *) = {
        late_region, large_sum, odd_world, shaped};
    struct scn_random random;
    int minimized = 0;
    (void)state;
    scn_random_seed(&random, 8);
    scenario.count = 0;
    for (int i = 0; i < 40000; i++) {
        static struct scn kept;
        struct minimize how = {.holds = predicates[i % 4]};
        if (i % 40 == 0)
            scenario.count = 0;
        scn_mutate(&scenario, &random);
        if (i % 10 || !how.holds(NULL, &scenario))
            continue;
        scn_copy(&kept, &scenario);
        assert_true(scn_minimize(&scenario, &how) > 0);
        must_be_minimal(&how);
        scn_copy(&scenario, &kept);
        minimized++;
    }
    assert_true(minimized > 100);
}

static void different_ways_to_the_same_end_in_the_same_text(void **state)
{
    static const char *const texts[] = {
        "ranks 8 ring 4\nfault 7 reg_mr 900+ exit\nrun init\nrun barrier",
        "profile rxe\norder 9\nfault 1 reg_mr 2 null EPERM\nrun init\n"
        "run init\nfault 0 reg_mr 1 exit\nexpect cjaccl error # why",
        "# c\nranks 3 mesh\npeer 1 sends 00\nfault 2 reg_mr 64 null 4000\n"
        "device 2 a max_mr=63\nrun init\nrun all_sum int8 5\nrun finalize",
    };
    struct minimize how = {.holds = late_region};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        must_parse(texts[i]);
        assert_true(scn_minimize(&scenario, &how) > 0);
        scn_print(&scenario, text, sizeof text);
        assert_string_equal(text, "fault 1 reg_mr 1 null ENOMEM\nrun init\n");
    }
}

static void fewer_ranks_move_or_drop_what_names_them(void **state)
{
    (void)state;
    must_parse("ranks 3 mesh\nfault 1 reg_mr 1 exit\nfault 2 reg_mr 1 hang\n"
               "run init");
    assert_int_equal(scn_simpler(&scenario, 0, 0, &candidate),
                     SCN_SIMPLER_INVALID); /* two faults of one call */
    assert_int_equal(scn_simpler(&scenario, 0, 1, &candidate),
                     SCN_SIMPLER_MADE);
    scn_print(&candidate, text, sizeof text);
    assert_string_equal(text,
                        "ranks 2 mesh\nfault 1 reg_mr 1 exit\nrun init\n");
    assert_int_equal(scn_simpler(&scenario, 0, 2, &candidate), SCN_SIMPLER_END);
    must_parse("ranks 3 mesh\nfault 2 reg_mr 1 hang");
    assert_int_equal(scn_simpler(&scenario, 0, 0, &candidate),
                     SCN_SIMPLER_MADE);
    scn_print(&candidate, text, sizeof text);
    assert_string_equal(text, "ranks 2 mesh\nfault 1 reg_mr 1 hang\n");
}

/* ---- causes ---- */

/* A device of 100 regions, of which a group takes 64; what counts is that a
 * registration fails. */
static struct vf_fault refused;
static int refusals;

static bool registration_fails(void *context, const struct scn *s)
{
    int made = 0, limit = 100;
    (void)context;
    refusals = 0;
    for (int i = 0; i < s->count; i++) {
        const struct scn_statement *at = &s->statements[i];
        if (at->kind == SCN_DEVICE && at->u.device.max_mr >= 0)
            limit = at->u.device.max_mr;
    }
    for (int i = 0; i < s->count; i++) {
        if (s->statements[i].kind == SCN_RUN &&
            s->statements[i].u.run.operation == SCN_INIT)
            made += 64;
    }
    for (int call = 1; call <= made; call++) {
        const struct scn_statement *planned = fault_on(s, VF_VERB_reg_mr, 0);
        if (planned && (int)planned->u.fault.nth == call)
            return true;
        if (call <= limit)
            continue;
        refused.verb = VF_VERB_reg_mr;
        refused.nth = (unsigned)call;
        refused.effect = VF_EFFECT_NULL;
        refused.value = 12;
        refusals = 1;
        return true;
    }
    return false;
}

static int name_refusals(void *context, struct vf_fault *faults, int *ranks,
                         int room)
{
    (void)context;
    assert_true(room >= 1);
    faults[0] = refused;
    ranks[0] = 0;
    return refusals;
}

static void a_limit_becomes_a_fault_of_the_call_it_fails(void **state)
{
    static const char *const texts[] = {
        "device * a max_mr=7\nrun init",
        "run init\nrun init",
        "run init\nrun all_sum int8 5\nrun init\nrun barrier",
        "fault 0 reg_mr 30 null EPERM\nrun init",
    };
    struct minimize how = {.holds = registration_fails,
                           .causes = name_refusals};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        must_parse(texts[i]);
        assert_true(scn_minimize(&scenario, &how) > 0);
        scn_print(&scenario, text, sizeof text);
        assert_string_equal(text, "fault 0 reg_mr 1 null ENOMEM\nrun init\n");
    }
}

/* ---- the search ---- */

static char tried[4096][512];
static int tries;

static bool either(void *context, const struct scn *s)
{
    return large_sum(context, s) || late_region(context, s);
}

/* Its third byte must be there and let a rank go some way. */
static bool goes_far(void *context, const struct scn *s)
{
    (void)context;
    for (int i = 0; i < s->count; i++)
        if (s->statements[i].kind == SCN_ORDER &&
            s->statements[i].u.order.count > 2 &&
            s->statements[i].u.order.bytes[2] > 9)
            return true;
    return false;
}

static void an_order_becomes_short_and_low(void **state)
{
    static const unsigned char least[] = {0, 0, 10};
    struct minimize how = {.holds = goes_far};
    (void)state;
    must_parse("order bytes ffeeddcc bbaa99\nstray\nrun init");
    assert_true(scn_minimize(&scenario, &how) > 0);
    assert_int_equal(scenario.count, 1);
    assert_int_equal(scenario.statements[0].u.order.count, 3);
    assert_memory_equal(scenario.statements[0].u.order.bytes, least, 3);
}

static bool remembers(void *context, const struct scn *s)
{
    scn_print(s, tried[tries], sizeof tried[tries]);
    for (int i = 0; i < tries; i++)
        assert_string_not_equal(tried[i], tried[tries]);
    tries++;
    return either(context, s);
}

static void no_trial_is_made_twice(void **state)
{
    struct minimize how = {.holds = remembers};
    (void)state;
    must_parse("ranks 5 ring 3\nprofile ideal\norder 1234\n"
               "fault 3 reg_mr 77+ exit\ncell 2 3 4 x y z\nrun init\n"
               "run all_sum int64 4000\nrun barrier\nrun finalize\n"
               "channel 1 silent 40\ndevice * x used_pd=3 ipv4=no");
    long trials = scn_minimize(&scenario, &how);
    assert_true(trials > 10);
    assert_int_equal(trials, tries);
    must_be_minimal(&(struct minimize){.holds = either});
}

static bool never(void *context, const struct scn *s)
{
    (void)context;
    (void)s;
    return false;
}

static void what_does_not_hold_stays_as_it_is(void **state)
{
    struct minimize how = {.holds = never};
    (void)state;
    must_parse("# kept\nrun init # kept too\nexpect a crash\n");
    scn_print(&scenario, text, sizeof text);
    assert_int_equal(scn_minimize(&scenario, &how), -1);
    scn_print(&scenario, other_text, sizeof other_text);
    assert_string_equal(text, other_text);
}

static unsigned told;

static bool stop_after_3(void *context)
{
    (void)context;
    return told >= 3;
}

static void count_trials(void *context, unsigned trials, int statements)
{
    (void)context;
    assert_true(statements > 0);
    assert_int_equal(trials, told + 1);
    told = trials;
}

static void a_stopped_search_leaves_what_it_has(void **state)
{
    struct minimize how = {
        .holds = late_region, .stop = stop_after_3, .progress = count_trials};
    (void)state;
    must_parse("fault 1 reg_mr 900 exit\nrun init\nrun barrier\norder 3\n"
               "stray\nprofile ideal");
    assert_int_equal(scn_minimize(&scenario, &how), 3);
    assert_true(late_region(NULL, &scenario));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_left_is_1_minimal),
        cmocka_unit_test(different_ways_to_the_same_end_in_the_same_text),
        cmocka_unit_test(fewer_ranks_move_or_drop_what_names_them),
        cmocka_unit_test(a_limit_becomes_a_fault_of_the_call_it_fails),
        cmocka_unit_test(an_order_becomes_short_and_low),
        cmocka_unit_test(no_trial_is_made_twice),
        cmocka_unit_test(what_does_not_hold_stays_as_it_is),
        cmocka_unit_test(a_stopped_search_leaves_what_it_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
