/*
 * fuzz_collectives: operations of a group that started, against what devices
 * and peers do then.
 *
 *   fuzz_collectives-SUBJECT [libFuzzer's options] [CORPUS...]
 *
 * Its scenarios have sound machines, a sound device file and a group that
 * starts; then operations run, while completions fail, come late, twice or
 * never, posts and polls fail, ranks leave or stop, cables go, and connections
 * close after any number of bytes. Never may a result be wrong, a rank hang, or
 * anything be left. scenario_target.h says the rest.
 */
#include "scenario_target.h"

#include "sim/scenario_check.h"

/* What is called only once a group is there. */
static const enum vf_verb verbs[] = {VF_VERB_completion, VF_VERB_post_send,
                                     VF_VERB_post_recv, VF_VERB_poll_cq};

#define VERBS ((uint32_t)(sizeof verbs / sizeof verbs[0]))

static bool is_of_operations(enum vf_verb verb)
{
    for (uint32_t i = 0; i < VERBS; i++)
        if (verbs[i] == verb)
            return true;
    return false;
}

/* Some fault that operations can meet, in the place of another one. */
static void move_fault(struct vf_fault *fault, struct scn_random *random)
{
    fault->verb = verbs[scn_random_below(random, VERBS)];
    fault->nth = 1 + scn_random_below(random, 40);
    do
        fault->effect =
            (enum vf_effect)scn_random_below(random, VF_EFFECT_COUNT);
    while (!vf_effect_fits(fault->effect, fault->verb));
    /* A number that is one of any kind: an errno, a status, milliseconds. */
    fault->value = vf_effect_value(fault->effect) == VF_VALUE_NONE
                       ? 0
                       : 1 + (int)scn_random_below(random, 22);
    if (fault->effect == VF_EFFECT_RETURN)
        fault->value = -fault->value;
}

static bool belongs(const struct scn_statement *s)
{
    switch (s->kind) {
    case SCN_PROFILE:
    case SCN_RANKS:
    case SCN_SETTING:
    case SCN_FAULT:
    case SCN_ORDER:
    case SCN_RUN:
        return true;
    case SCN_CHANNEL: /* a start sends less than this */
        return s->u.channel.bytes >= 100;
    default:
        return false;
    }
}

static int add_run(struct scn *scenario, enum scn_operation operation)
{
    struct scn_statement *s = scn_add(scenario, SCN_RUN);
    if (!s)
        return -1;
    s->u.run.operation = operation;
    s->u.run.type = SCN_FLOAT32;
    s->u.run.count = 1024;
    return 0;
}

/* A group that starts, and at least one operation. */
static void add_runs(struct scn *scenario)
{
    int groups = 0, operations = 0;
    for (int i = 0; i < scenario->count; i++) {
        const struct scn_statement *s = &scenario->statements[i];
        groups += s->kind == SCN_RUN && s->u.run.operation == SCN_INIT;
        operations += s->kind == SCN_RUN && scn_has_data(s->u.run.operation);
    }
    if (groups == 0)
        add_run(scenario, SCN_INIT);
    if (groups == 0 || operations == 0)
        add_run(scenario, SCN_ALL_SUM);
}

void target_shape(struct scn *scenario, struct scn_random *random)
{
    struct scn_complaint complaint;
    for (int i = scenario->count - 1; i >= 0; i--) {
        struct scn_statement *s = &scenario->statements[i];
        if (!belongs(s))
            scn_remove(scenario, i);
        else if (s->kind == SCN_FAULT && !is_of_operations(s->u.fault.verb))
            move_fault(&s->u.fault, random);
    }
    while (scn_check_all(scenario, &complaint) < 0)
        scn_remove(scenario, complaint.statement);
    add_runs(scenario);
    while (scn_check_all(scenario, &complaint) < 0)
        scn_remove(scenario, complaint.statement);
}

bool target_mutate(struct scn *scenario, struct scn_random *random)
{
    (void)scenario;
    (void)random;
    return false;
}

bool target_cross(struct scn *result, const struct scn *one,
                  const struct scn *other, struct scn_random *random)
{
    (void)result;
    (void)one;
    (void)other;
    (void)random;
    return false;
}
