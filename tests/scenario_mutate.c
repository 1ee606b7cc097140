/* Mutations are small, sound of form, reach everything and repeat themselves.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/mutate.h"
#include "sim/run.h"
#include "sim/scenario.h"

static struct scn scenario, other;
static char text[1 << 16], other_text[1 << 16];

static struct {
    bool kind[SCN_KIND_COUNT], verb[VF_VERB_COUNT], effect[VF_EFFECT_COUNT];
    bool pair[VF_VERB_COUNT][VF_EFFECT_COUNT];
    bool type[SCN_TYPE_COUNT], operation[SCN_OPERATION_COUNT], channel[3];
    bool setting[SCN_SETTING_COUNT][2];
    bool ranks[SCN_RANKS_MAX + 1], wires[SCN_WIRES_MAX + 1];
    bool names[SCN_NAMES_MAX + 1], status[23];
    bool onward, late_call, all, ring, empty_name, absent, lacking;
    bool in_place, end[SCN_RANKS_MAX], to_itself;
} seen;

static void look(const struct scn_statement *s)
{
    seen.kind[s->kind] = true;
    if (s->kind == SCN_FAULT) {
        const struct vf_fault *fault = &s->u.fault;
        seen.verb[fault->verb] = seen.effect[fault->effect] = true;
        seen.pair[fault->verb][fault->effect] = true;
        seen.onward |= fault->onward;
        seen.late_call |= fault->nth > 1000;
        if (fault->effect == VF_EFFECT_STATUS)
            seen.status[fault->value] = true;
    } else if (s->kind == SCN_RUN) {
        seen.operation[s->u.run.operation] = true;
        seen.type[s->u.run.type] = true;
        seen.in_place |= s->u.run.in_place;
        if (s->u.run.operation == SCN_SEND) {
            seen.end[s->u.run.from] = seen.end[s->u.run.to] = true;
            seen.to_itself |= s->u.run.from == s->u.run.to;
        }
    } else if (s->kind == SCN_SETTING) {
        seen.setting[s->u.setting.what][s->u.setting.value] = true;
    } else if (s->kind == SCN_RANKS) {
        seen.ranks[s->u.ranks.count] = seen.wires[s->u.ranks.wires] = true;
        seen.ring |= s->u.ranks.topology == SCN_RING;
    } else if (s->kind == SCN_CHANNEL) {
        seen.channel[s->u.channel.what] = true;
    } else if (s->kind == SCN_CELL) {
        seen.names[s->u.cell.count] = true;
        seen.all |= s->rank == SCN_ALL;
        seen.empty_name |= s->u.cell.count > 0 && s->u.cell.names[0][0] == '\0';
    } else if (s->kind == SCN_LIBRARY) {
        seen.absent |= s->u.text.word[0] == '\0';
        seen.lacking |= s->u.text.word[0] != '\0';
    }
}

static void all_true(const char *what, const bool *flags, int from, int count)
{
    for (int i = from; i < count; i++) {
        if (!flags[i])
            fail_msg("never reached: %s %d", what, i);
    }
}

static void mutations_reach_every_word_of_the_language(void **state)
{
    struct scn_random random;
    struct scn_error error;
    (void)state;
    scn_random_seed(&random, 3);
    for (int i = 0; i < 100000; i++) {
        if (i % 100 == 0)
            scenario.count = 0;
        scn_mutate(&scenario, &random);
        if (scn_check(&scenario, &error) < 0)
            fail_msg("%s", error.message);
        for (int k = 0; k < scenario.count; k++)
            look(&scenario.statements[k]);
    }
    assert_false(seen.kind[SCN_CALL]); /* nobody makes up a recording */
    seen.kind[SCN_CALL] = true;
    all_true("statement", seen.kind, 0, SCN_COMMENT);
    all_true("effect", seen.effect, 0, VF_EFFECT_COUNT);
    for (int verb = 0; verb < VF_VERB_COUNT; verb++) {
        bool used = scn_mutates((enum vf_verb)verb);
        assert_int_equal(seen.verb[verb], used);
        for (int effect = 0; effect < VF_EFFECT_COUNT; effect++)
            assert_int_equal(seen.pair[verb][effect],
                             used && vf_effect_fits((enum vf_effect)effect,
                                                    (enum vf_verb)verb));
    }
    all_true("type", seen.type, 0, SCN_TYPE_COUNT);
    all_true("operation", seen.operation, 0, SCN_OPERATION_COUNT);
    all_true("end of a send", seen.end, 0, SCN_RANKS_MAX);
    for (int setting = 0; setting < SCN_SETTING_COUNT; setting++)
        all_true("value of a setting", seen.setting[setting], 0, 2);
    all_true("channel", seen.channel, 0, 3);
    all_true("ranks", seen.ranks, 1, SCN_RANKS_MAX + 1);
    all_true("wires", seen.wires, 1, SCN_WIRES_MAX + 1);
    all_true("names", seen.names, 0, SCN_NAMES_MAX + 1);
    all_true("status", seen.status, 0, 23);
    assert_true(seen.onward && seen.late_call && seen.all && seen.ring &&
                seen.empty_name && seen.absent && seen.lacking &&
                seen.in_place && seen.to_itself);
}

static bool called[VF_VERB_COUNT];

static void note_call(void *context, int rank, const char *line)
{
    char verb[32];
    (void)context;
    (void)rank;
    if (sscanf(line, "r%*d #%*u %31[a-z_]", verb) == 1 &&
        vf_verb_by_name(verb) != VF_VERB_COUNT)
        called[vf_verb_by_name(verb)] = true;
}

static void call_all_that_they_call(const char *topology)
{
    static struct sim_result result;
    struct sim_options options = {.trace = note_call};
    struct scn_error error;
    snprintf(text, sizeof text,
             "%s\nrun init\nrun all_sum float32 5000\nrun barrier\n"
             "run finalize\n",
             topology);
    for (int i = 0; sim_subject_at(i); i++) {
        options.subject = sim_subject_at(i);
        if (scn_parse(&scenario, text, strlen(text), &error) != 0 ||
            sim_run(&scenario, &options, &result, &error) != 0)
            fail_msg("%s", error.message);
    }
}

/* If this fails, sim/mutate.c's table of verbs is no longer right. */
static void mutations_name_the_verbs_that_subjects_call(void **state)
{
    (void)state;
    call_all_that_they_call("ranks 2 mesh");
    call_all_that_they_call("ranks 3 ring");
    call_all_that_they_call("ranks 2 mesh\nprofile rxe");
    call_all_that_they_call("ranks 2 mesh\nprofile ideal");
    sim_shutdown();
    for (int verb = 0; verb < VF_VERB_COUNT; verb++)
        if (vf_verb_answer((enum vf_verb)verb) != VF_ANSWER_EVENT &&
            called[verb] != scn_mutates((enum vf_verb)verb))
            fail_msg("%s: %s", vf_verb_name((enum vf_verb)verb),
                     called[verb] ? "called, but no mutation names it"
                                  : "named, but nobody calls it");
}

static void a_mutated_scenario_stays_small_and_mostly_runs(void **state)
{
    struct scn_random random;
    int idle = 0, longest = 0;
    (void)state;
    scn_random_seed(&random, 4);
    scenario.count = 0;
    for (int i = 0; i < 20000; i++) {
        bool runs = false;
        scn_mutate(&scenario, &random);
        for (int k = 0; k < scenario.count; k++)
            runs |= scenario.statements[k].kind == SCN_RUN;
        idle += !runs;
        longest = scenario.count > longest ? scenario.count : longest;
    }
    assert_true(longest <= 13);
    assert_true(idle < 2000);
}

static void the_same_seed_gives_the_same_scenarios(void **state)
{
    struct scn_random one, two;
    (void)state;
    scn_random_seed(&one, 5);
    scn_random_seed(&two, 5);
    scenario.count = other.count = 0;
    memset(other.statements, 0xa5, sizeof other.statements);
    for (int i = 0; i < 5000; i++) {
        scn_mutate(&scenario, &one);
        scn_mutate(&other, &two);
        scn_print(&scenario, text, sizeof text);
        scn_print(&other, other_text, sizeof other_text);
        assert_string_equal(text, other_text);
    }
}

static void a_mutation_forgets_the_text(void **state)
{
    struct scn_random random;
    struct scn_error error;
    (void)state;
    scn_random_seed(&random, 6);
    assert_int_equal(scn_parse(&scenario, "# a\nrun init # b\n", 17, &error),
                     0);
    scn_mutate(&scenario, &random);
    for (int i = 0; i < scenario.count; i++) {
        assert_int_not_equal(scenario.statements[i].kind, SCN_COMMENT);
        assert_null(scenario.statements[i].comment);
    }
}

static void a_crossing_takes_from_both(void **state)
{
    static struct scn child;
    struct scn_random random;
    struct scn_error error;
    int both = 0;
    (void)state;
    scn_random_seed(&random, 7);
    for (int i = 0; i < 5000; i++) {
        bool fault = false, order = false;
        scenario.count = other.count = 0;
        scn_mutate(&scenario, &random);
        scn_mutate(&other, &random);
        struct scn_statement *s = scn_add(&scenario, SCN_FAULT);
        s->u.fault.verb = VF_VERB_reg_mr;
        s->u.fault.nth = 99999;
        s->u.fault.effect = VF_EFFECT_EXIT;
        scn_add(&other, SCN_ORDER)->u.order.seed = 77;
        scn_cross(&child, &scenario, &other, &random);
        assert_int_equal(scn_check(&child, &error), 0);
        for (int k = 0; k < child.count; k++) {
            s = &child.statements[k];
            fault |= s->kind == SCN_FAULT && s->u.fault.nth == 99999;
            order |= s->kind == SCN_ORDER && s->u.order.seed == 77;
        }
        both += fault && order;
    }
    assert_true(both > 500);
}

static void chance_is_even(void **state)
{
    struct scn_random random;
    int sums[7] = {0};
    (void)state;
    scn_random_seed(&random, 0);
    for (int i = 0; i < 70000; i++)
        sums[scn_random_below(&random, 7)]++;
    for (int i = 0; i < 7; i++)
        assert_in_range(sums[i], 9500, 10500);
    assert_int_equal(scn_random_below(&random, 0), 0);
    assert_int_equal(scn_random_below(&random, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutations_reach_every_word_of_the_language),
        cmocka_unit_test(mutations_name_the_verbs_that_subjects_call),
        cmocka_unit_test(a_mutated_scenario_stays_small_and_mostly_runs),
        cmocka_unit_test(the_same_seed_gives_the_same_scenarios),
        cmocka_unit_test(a_mutation_forgets_the_text),
        cmocka_unit_test(a_crossing_takes_from_both),
        cmocka_unit_test(chance_is_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
