/*
 * Changing scenarios at random.
 *
 * A kind of statement is a row in one table: how likely it is to be added, how
 * many fields it has, and a function that gives one field a new value. A new
 * statement is one whose every field got a value; altering one is giving one of
 * its fields another. What then contradicts the rest is taken out again.
 */
#include "sim/mutate.h"
#include "verbfault/library.h"

#include <errno.h>
#include <string.h>

#include "sim/scenario_check.h"
#include "sim/scenario_topology.h"
#include "sim/scenario_words.h"

#define COUNT_OF(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))
#define ADD_UP_TO 12 /* statements; longer scenarios only come from people */
#define TRIES 8      /* steps that a contradiction may undo */

/* ---- chance ---- */

void scn_random_seed(struct scn_random *random, uint64_t seed)
{
    /* Neighbouring seeds must not give similar states, nor any seed zero. */
    seed += 0x9e3779b97f4a7c15;
    seed = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9;
    seed = (seed ^ seed >> 27) * 0x94d049bb133111eb;
    seed ^= seed >> 31;
    random->state = seed ? seed : 1;
}

uint32_t scn_random_below(struct scn_random *random, uint32_t below)
{
    uint64_t x = random->state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    random->state = x;
    return (uint32_t)(((x * 0x2545f4914f6cdd1d) >> 32) * below >> 32);
}

static bool one_in(struct scn_random *random, uint32_t n)
{
    return scn_random_below(random, n) == 0;
}

static int below(struct scn_random *random, int limit)
{
    return (int)scn_random_below(random, (uint32_t)limit);
}

#define ONE_OF(random, list) ((list)[scn_random_below(random, COUNT_OF(list))])

/* From 0 to most, small ones far more often, sometimes a neighbour of old. */
static int number_near(struct scn_random *random, int old, int most)
{
    int number;
    uint32_t chance = scn_random_below(random, 32);
    if (chance < 4 && old >= 0)
        number = old + below(random, 5) - 2;
    else if (chance < 18)
        number = below(random, 9);
    else if (chance < 24)
        number = (1 << below(random, 13)) + below(random, 3) - 1;
    else if (chance < 31)
        number = below(random, 129);
    else
        number = below(random, most) + 1;
    return number < 0 ? 0 : number > most ? most : number;
}

/* ---- fields ---- */

struct change {
    struct scn_random *random;
    int ranks;
};

static int any_rank(const struct change *change)
{
    return below(change->random, change->ranks);
}

static int rank_or_all(const struct change *change)
{
    return one_in(change->random, 4) ? SCN_ALL : any_rank(change);
}

static void any_name(const struct change *change, char *name)
{
    static const char *const others[] = {"rdma_en1", "mlx5_0", "rxe0", "x"};
    uint32_t chance = scn_random_below(change->random, 8);
    if (chance < 5)
        scn_default_name(name, below(change->random, chance < 4 ? 2 : 8));
    else
        strcpy(name, ONE_OF(change->random, others));
}

static int any_errno(const struct change *change)
{
    static const int usual[] = {
        ENOMEM, EINVAL, EBUSY,  EAGAIN, EIO,    ENODEV, EPERM, EACCES,
        ENOSYS, EINTR,  ENOENT, EMFILE, ENOSPC, EFAULT, ENXIO, ETIMEDOUT};
    if (one_in(change->random, 16))
        return 1 +
               below(change->random, one_in(change->random, 4) ? 4095 : 133);
    return ONE_OF(change->random, usual);
}

static void any_address(const struct change *change, char *word)
{
    static const char *const addresses[] = {
        "10.0.0.1:9000", "[::1]:9000",     "localhost:9000", "10.0.0.1",
        "10.0.0.1:0",    "10.0.0.1:70000", "a:b:c",          "",
        "10.0.0.1:-1",   "999.0.0.1:9000", ":9000",          "[::1]",
        "10.0.0.2:9000", "10.0.0.1:9000 ", "10.0.0.1:x",     "[::1:9000"};
    strcpy(word, ONE_OF(change->random, addresses));
}

/* What the subjects call, and what happens to them. */
static const enum vf_verb verbs[] = {
    VF_VERB_get_device_list, VF_VERB_free_device_list,
    VF_VERB_get_device_name, VF_VERB_open_device,
    VF_VERB_close_device,    VF_VERB_query_device,
    VF_VERB_query_port,      VF_VERB_query_gid,
    VF_VERB_alloc_pd,        VF_VERB_dealloc_pd,
    VF_VERB_reg_mr,          VF_VERB_dereg_mr,
    VF_VERB_create_cq,       VF_VERB_destroy_cq,
    VF_VERB_poll_cq,         VF_VERB_create_qp,
    VF_VERB_modify_qp,       VF_VERB_query_qp,
    VF_VERB_destroy_qp,      VF_VERB_post_send,
    VF_VERB_post_recv,       VF_VERB_completion,
    VF_VERB_alloc,
};

bool scn_mutates(enum vf_verb verb)
{
    for (uint32_t i = 0; i < COUNT_OF(verbs); i++)
        if (verbs[i] == verb)
            return true;
    return false;
}

static enum vf_effect any_effect(const struct change *change, enum vf_verb verb)
{
    int fitting[VF_EFFECT_COUNT] = {0}, count = 0;
    for (int effect = 0; effect < VF_EFFECT_COUNT; effect++) {
        if (vf_effect_fits((enum vf_effect)effect, verb))
            fitting[count++] = effect;
    }
    return (enum vf_effect)fitting[below(change->random, count)];
}

static int any_value(const struct change *change, enum vf_effect effect,
                     int old)
{
    struct scn_random *random = change->random;
    switch (vf_effect_value(effect)) {
    case VF_VALUE_NONE:
        return 0;
    case VF_VALUE_ERRNO:
        return any_errno(change);
    case VF_VALUE_STATUS:
        return below(random, 23);
    case VF_VALUE_NUMBER:
        return one_in(random, 2)
                   ? -1 - (number_near(random, -1 - old, SCN_RETURN_MAX - 1))
                   : number_near(random, old, SCN_RETURN_MAX);
    case VF_VALUE_MILLISECONDS:
        return 1 + number_near(random, old - 1, SCN_DELAY_MAX - 1);
    }
    return 0;
}

static void change_profile(const struct change *change, struct scn_statement *s,
                           int field)
{
    int count = 0;
    (void)field;
    while (vf_profile_at(count))
        count++;
    s->u.profile = vf_profile_at(below(change->random, count));
}

static void change_ranks(const struct change *change, struct scn_statement *s,
                         int field)
{
    struct scn_random *random = change->random;
    if (field == 0) /* two ranks are the quickest to run */
        s->u.ranks.count =
            2 + (one_in(random, 3) ? below(random, SCN_RANKS_MAX - 1)
                                   : below(random, 2));
    else if (field == 1)
        s->u.ranks.topology = one_in(random, 2) ? SCN_RING : SCN_MESH;
    else
        s->u.ranks.wires = 1 + below(random, SCN_WIRES_MAX);
    if (s->u.ranks.topology == SCN_MESH || s->u.ranks.wires == 0)
        s->u.ranks.wires = 1;
    if (s->u.ranks.topology == SCN_MESH && one_in(random, 64))
        s->u.ranks.count = 1;
    if (s->u.ranks.topology == SCN_RING && s->u.ranks.count < 2)
        s->u.ranks.count = 2;
}

static void change_device(const struct change *change, struct scn_statement *s,
                          int field)
{
    struct scn_random *random = change->random;
    int *limits[] = {&s->u.device.max_mr,  &s->u.device.max_qp,
                     &s->u.device.max_pd,  &s->u.device.used_mr,
                     &s->u.device.used_qp, &s->u.device.used_pd};
    if (field == 0)
        s->rank = rank_or_all(change);
    else if (field == 1)
        any_name(change, s->u.device.name);
    else if (field == 2)
        s->u.device.port_down = one_in(random, 8) != s->u.device.port_down;
    else if (field == 3)
        s->u.device.no_ipv4 = one_in(random, 8) != s->u.device.no_ipv4;
    else if (one_in(random, 4))
        *limits[field - 4] =
            number_near(random, *limits[field - 4], SCN_LIMIT_MAX);
    else
        *limits[field - 4] = -1;
}

static void change_nodevices(const struct change *change,
                             struct scn_statement *s, int field)
{
    if (field == 0)
        s->rank = rank_or_all(change);
    else
        s->u.number = one_in(change->random, 2) ? 0 : any_errno(change);
}

static void change_cable(const struct change *change, struct scn_statement *s,
                         int field)
{
    if (field == 0)
        s->rank = any_rank(change);
    else if (field == 1)
        any_name(change, s->u.cable.name);
    else if (field == 2)
        s->u.cable.other_rank = any_rank(change);
    else
        any_name(change, s->u.cable.other_name);
}

static void change_cell(const struct change *change, struct scn_statement *s,
                        int field)
{
    struct scn_random *random = change->random;
    /* Mostly cells of ranks that there are. */
    int rows = one_in(random, 8) ? SCN_ROWS_MAX : change->ranks;
    if (field == 0)
        s->rank = rank_or_all(change);
    else if (field == 1)
        s->u.cell.row = below(random, rows);
    else if (field == 2)
        s->u.cell.column = below(random, rows);
    else if (field == 3)
        s->u.cell.count =
            one_in(random, 2) ? 1 : below(random, SCN_NAMES_MAX + 1);
    else if (one_in(random, 8))
        s->u.cell.names[field - 4][0] = '\0';
    else
        any_name(change, s->u.cell.names[field - 4]);
}

static void change_rows(const struct change *change, struct scn_statement *s,
                        int field)
{
    if (field == 0)
        s->rank = rank_or_all(change);
    else
        s->u.number = below(change->random, SCN_ROWS_MAX + 1);
}

static void change_coordinator(const struct change *change,
                               struct scn_statement *s, int field)
{
    if (field == 0)
        s->rank = rank_or_all(change);
    else
        any_address(change, s->u.text.word);
}

static void change_setting(const struct change *change, struct scn_statement *s,
                           int field)
{
    const struct scn_words *values;
    if (field == 0)
        s->rank = rank_or_all(change);
    else if (field == 1)
        s->u.setting.what =
            (enum scn_setting)below(change->random, SCN_SETTING_COUNT);
    values = scn_setting_values(s->u.setting.what);
    if (field == 2)
        s->u.setting.value = below(change->random, values->count);
}

static void change_late(const struct change *change, struct scn_statement *s,
                        int field)
{
    if (field == 0)
        s->rank = any_rank(change);
    else
        s->u.number = 1 + (one_in(change->random, 2)
                               ? below(change->random, 100000)
                               : number_near(change->random, s->u.number - 1,
                                             SCN_DELAY_MAX - 1));
}

static void change_library(const struct change *change, struct scn_statement *s,
                           int field)
{
    enum vf_verb verb = ONE_OF(change->random, verbs);
    if (field == 0) {
        s->rank = rank_or_all(change);
    } else if (one_in(change->random, 4) ||
               vf_verb_answer(verb) == VF_ANSWER_EVENT) {
        s->u.text.word[0] = '\0';
    } else {
        strcpy(s->u.text.word, "ibv_");
        strcat(s->u.text.word, vf_verb_name(verb));
        if (!vf_library_symbol(s->u.text.word)) /* an inline verb */
            s->u.text.word[0] = '\0';
    }
}

static void change_fault(const struct change *change, struct scn_statement *s,
                         int field)
{
    struct vf_fault *fault = &s->u.fault;
    struct scn_random *random = change->random;
    if (field == 0) {
        s->rank = any_rank(change);
    } else if (field == 1) {
        fault->verb = ONE_OF(random, verbs);
        if (vf_effect_fits(fault->effect, fault->verb))
            return;
        fault->effect = any_effect(change, fault->verb);
        fault->value = any_value(change, fault->effect, 1);
    } else if (field == 2) {
        fault->nth = 1U + (unsigned)number_near(random, (int)fault->nth - 1,
                                                SCN_CALL_MAX - 1);
    } else if (field == 3) {
        fault->onward = one_in(random, 4);
    } else if (field == 4) {
        fault->effect = any_effect(change, fault->verb);
        fault->value = any_value(change, fault->effect, 1);
    } else {
        fault->value = any_value(change, fault->effect, fault->value);
    }
}

static void change_channel(const struct change *change, struct scn_statement *s,
                           int field)
{
    struct scn_random *random = change->random;
    if (field == 0)
        s->rank = any_rank(change);
    else if (field == 1)
        s->u.channel.what = (enum scn_channel)below(random, 3);
    else
        s->u.channel.bytes =
            number_near(random, s->u.channel.bytes, SCN_BYTE_MAX);
}

/* One byte, or a small number in the four bytes that a host would send. */
static void change_bytes(const struct change *change, struct scn_statement *s)
{
    struct scn_random *random = change->random;
    int at = below(random, SCN_BYTES_MAX), bytes = 1;
    uint32_t number = scn_random_below(random, 256);
    if (!one_in(random, 4)) {
        at -= at % 4;
        bytes = 4;
        number = (uint32_t)number_near(random, -1, SCN_LIMIT_MAX);
        number = one_in(random, 4) ? 0 - number : number;
    }
    for (int i = 0; i < bytes; i++)
        s->u.peer.bytes[at + i] = (unsigned char)(number >> 8 * i);
    if (at + bytes > s->u.peer.count)
        s->u.peer.count = at + bytes;
}

static void change_peer(const struct change *change, struct scn_statement *s,
                        int field)
{
    if (field == 0)
        s->rank = any_rank(change);
    else if (field == 1 || s->u.peer.count == 0)
        s->u.peer.count = one_in(change->random, 4)
                              ? below(change->random, SCN_BYTES_MAX + 1)
                              : 4 * below(change->random, 5);
    else
        change_bytes(change, s);
}

static void change_nothing(const struct change *change, struct scn_statement *s,
                           int field)
{
    (void)change;
    (void)s;
    (void)field;
}

/* Some bytes of it are others, there are more, or fewer. */
void scn_mutate_order(struct scn_statement *s, struct scn_random *random)
{
    int count = s->u.order.count, most = SCN_ORDER_MAX;
    int at = below(random, count + 1);
    s->u.order.seed = 0;
    switch (count == 0 ? 0 : below(random, 4)) {
    case 0: /* more */
        count += 1 + below(random, one_in(random, 4) ? most : 8);
        count = count < most ? count : most;
        for (int i = s->u.order.count; i < count; i++)
            s->u.order.bytes[i] = (unsigned char)below(random, 256);
        break;
    case 1: /* fewer */
        count = 1 + below(random, count);
        break;
    case 2: /* a later part comes sooner */
        memmove(s->u.order.bytes, s->u.order.bytes + at % count,
                (size_t)(count - at % count));
        break;
    default:
        s->u.order.bytes[at % count] = (unsigned char)below(random, 256);
        break;
    }
    s->u.order.count = count;
}

static void change_order(const struct change *change, struct scn_statement *s,
                         int field)
{
    if (field == 1) {
        scn_mutate_order(s, change->random);
        return;
    }
    s->u.order.count = 0;
    s->u.order.seed = one_in(change->random, 4)
                          ? scn_random_below(change->random, UINT32_MAX)
                          : scn_random_below(change->random, 64);
}

/* A large collective takes long, and so does everything that a fuzzer then
 * makes of it: seldom. */
static int any_size_of_count(struct scn_random *random)
{
    if (one_in(random, 2048))
        return SCN_COUNT_MAX;
    return one_in(random, 32) ? 131072 : 8192;
}

/* Mostly what can be: from one rank to another. */
static void change_end(const struct change *change, struct scn_statement *s,
                       int field)
{
    int *end = field == 4 ? &s->u.run.from : &s->u.run.to;
    if (one_in(change->random, 16))
        *end = below(change->random, SCN_RANKS_MAX);
    else if (field == 4)
        s->u.run.from = any_rank(change);
    else
        s->u.run.to =
            (s->u.run.from + 1 + below(change->random, change->ranks - 1)) %
            change->ranks;
}

static void change_run(const struct change *change, struct scn_statement *s,
                       int field)
{
    static const enum scn_operation often[] = {SCN_INIT, SCN_ALL_SUM,
                                               SCN_BARRIER, SCN_FINALIZE};
    struct scn_random *random = change->random;
    if (field == 0)
        s->u.run.operation =
            one_in(random, 2)
                ? ONE_OF(random, often)
                : (enum scn_operation)(SCN_ALL_SUM + below(random, 6));
    else if (field == 1)
        s->u.run.type = (enum scn_type)below(random, SCN_TYPE_COUNT);
    else if (field == 2)
        s->u.run.count =
            number_near(random, s->u.run.count, any_size_of_count(random));
    else if (field == 3)
        s->u.run.in_place = one_in(random, 2);
    else
        change_end(change, s, field);
    if (!scn_can_be_in_place(s->u.run.operation))
        s->u.run.in_place = false;
    if (s->u.run.count > scn_count_most(s->u.run.operation))
        s->u.run.count = scn_count_most(s->u.run.operation);
}

static void change_expect(const struct change *change, struct scn_statement *s,
                          int field)
{
    static const char *const subjects[] = {"cjaccl", "native", "sockets", "a"};
    static const char *const titles[] = {"", "a title", "#1"};
    if (field == 0)
        strcpy(s->u.expect.subject, ONE_OF(change->random, subjects));
    else if (field == 1)
        s->u.expect.outcome =
            (enum scn_outcome)below(change->random, SCN_OUTCOME_COUNT);
    else
        strcpy(s->u.expect.title, ONE_OF(change->random, titles));
    if (s->u.expect.outcome == SCN_READY)
        s->u.expect.title[0] = '\0';
}

/* ---- steps ---- */

/* How often a kind is added (out of all weights), and its fields. */
static const struct kind {
    uint32_t weight;
    int fields;
    void (*change)(const struct change *, struct scn_statement *, int field);
} kinds[SCN_COMMENT] = {
    [SCN_PROFILE] = {3, 1, change_profile},
    [SCN_RANKS] = {5, 3, change_ranks},
    [SCN_DEVICE] = {9, 10, change_device},
    [SCN_NODEVICES] = {3, 2, change_nodevices},
    [SCN_CABLE] = {3, 4, change_cable},
    [SCN_CELL] = {9, 4 + SCN_NAMES_MAX, change_cell},
    [SCN_ROWS] = {2, 2, change_rows},
    [SCN_COORDINATOR] = {2, 2, change_coordinator},
    [SCN_SETTING] = {2, 3, change_setting},
    [SCN_LATE] = {1, 2, change_late},
    [SCN_LIBRARY] = {3, 2, change_library},
    [SCN_FAULT] = {40, 6, change_fault},
    [SCN_CHANNEL] = {5, 3, change_channel},
    [SCN_PEER] = {4, 6, change_peer},
    [SCN_STRAY] = {1, 0, change_nothing},
    [SCN_ORDER] = {3, 2, change_order},
    [SCN_RUN] = {10, 6, change_run},
    [SCN_CALL] = {0, 0, change_nothing}, /* a recorded call stays as it is */
    [SCN_EXPECT] = {1, 3, change_expect},
};

static enum scn_kind any_kind(struct scn_random *random)
{
    uint32_t sum = 0;
    for (int kind = 0; kind < SCN_COMMENT; kind++)
        sum += kinds[kind].weight;
    uint32_t at = scn_random_below(random, sum);
    int kind = 0;
    while (at >= kinds[kind].weight)
        at -= kinds[kind++].weight;
    return (enum scn_kind)kind;
}

/* Each step says whether it did something. */
typedef bool step(struct scn *scenario, const struct change *change);

static bool add(struct scn *scenario, const struct change *change)
{
    if (scenario->count >= ADD_UP_TO)
        return false;
    enum scn_kind kind = any_kind(change->random);
    struct scn_statement *s = scn_add(scenario, kind);
    for (int field = 0; field < kinds[kind].fields; field++)
        kinds[kind].change(change, s, field);
    return true;
}

static bool drop(struct scn *scenario, const struct change *change)
{
    if (scenario->count == 0)
        return false;
    scn_remove(scenario, below(change->random, scenario->count));
    return true;
}

static bool alter_at(struct scn *scenario, const struct change *change, int at)
{
    struct scn_statement *s = &scenario->statements[at];
    const struct kind *kind = &kinds[s->kind];
    if (kind->fields == 0)
        return false;
    kind->change(change, s, below(change->random, kind->fields));
    return true;
}

static bool alter(struct scn *scenario, const struct change *change)
{
    return scenario->count > 0 &&
           alter_at(scenario, change, below(change->random, scenario->count));
}

/* Once more, but not quite: the same twice is mostly a contradiction. */
static bool duplicate(struct scn *scenario, const struct change *change)
{
    if (scenario->count == 0 || scenario->count >= ADD_UP_TO)
        return false;
    int at = below(change->random, scenario->count);
    struct scn_statement *s = scn_add(scenario, scenario->statements[at].kind);
    *s = scenario->statements[at];
    if (s->kind != SCN_RUN)
        alter_at(scenario, change, scenario->count - 1);
    return true;
}

/* Two statements change places: the order of runs and of devices matters. */
static bool swap(struct scn *scenario, const struct change *change)
{
    if (scenario->count < 2)
        return false;
    int one = below(change->random, scenario->count);
    int other = below(change->random, scenario->count);
    struct scn_statement kept = scenario->statements[one];
    scenario->statements[one] = scenario->statements[other];
    scenario->statements[other] = kept;
    return one != other;
}

static const struct {
    uint32_t weight;
    step *step;
} steps[] = {
    {8, add}, {6, alter}, {3, drop}, {2, duplicate}, {1, swap},
};

static bool any_step(struct scn *scenario, const struct change *change)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < COUNT_OF(steps); i++)
        sum += steps[i].weight;
    uint32_t at = scn_random_below(change->random, sum), i = 0;
    while (at >= steps[i].weight)
        at -= steps[i++].weight;
    return steps[i].step(scenario, change);
}

/* ---- whole scenarios ---- */

/* A changed scenario is not what the text says, and may outlive it. */
static void forget_text(struct scn *scenario)
{
    for (int i = scenario->count - 1; i >= 0; i--) {
        struct scn_statement *s = &scenario->statements[i];
        if (s->kind == SCN_COMMENT) {
            scn_remove(scenario, i);
            continue;
        }
        s->comment = NULL;
        s->comment_length = s->line = s->column = 0;
    }
}

/* Takes out what contradicts what comes before it. Says whether the last
 * statement is still there. */
static bool repair(struct scn *scenario)
{
    struct scn_complaint complaint;
    bool last = true;
    while (scn_check_all(scenario, &complaint) < 0) {
        last = last && complaint.statement != scenario->count - 1;
        scn_remove(scenario, complaint.statement);
    }
    return last;
}

static void add_run(struct scn *scenario, enum scn_operation operation)
{
    struct scn_statement *s = scn_add(scenario, SCN_RUN);
    if (!s)
        return;
    s->u.run.operation = operation;
    if (operation == SCN_ALL_SUM) {
        s->u.run.type = SCN_FLOAT32;
        s->u.run.count = 1024;
    }
}

/* A scenario that runs nothing tells nothing. */
static void add_runs(struct scn *scenario, struct scn_random *random)
{
    const struct scn_statement *last = NULL;
    for (int i = 0; i < scenario->count; i++) {
        if (scenario->statements[i].kind == SCN_RUN)
            last = &scenario->statements[i];
    }
    if (!last && !one_in(random, 8))
        add_run(scenario, SCN_INIT);
    if (last && last->u.run.operation == SCN_INIT &&
        scenario->count < ADD_UP_TO && one_in(random, 3))
        add_run(scenario, SCN_ALL_SUM);
}

void scn_mutate(struct scn *scenario, struct scn_random *random)
{
    int wanted = one_in(random, 4) ? 2 + below(random, 3) : 1;
    forget_text(scenario);
    for (int tries = 0; wanted > 0 && tries < TRIES; tries++) {
        enum scn_topology topology;
        int wires;
        struct change change = {random, 0};
        scn_topology(scenario, &change.ranks, &topology, &wires);
        bool done = any_step(scenario, &change);
        if (repair(scenario) && done)
            wanted--;
    }
    add_runs(scenario, random);
    repair(scenario);
}

static void take_some(struct scn *result, const struct scn *from,
                      struct scn_random *random)
{
    for (int i = 0; i < from->count && result->count < ADD_UP_TO; i++) {
        const struct scn_statement *s = &from->statements[i];
        if (one_in(random, 2))
            result->statements[result->count++] = *s;
    }
    forget_text(result);
}

void scn_cross(struct scn *result, const struct scn *one,
               const struct scn *other, struct scn_random *random)
{
    result->count = 0;
    take_some(result, one, random);
    take_some(result, other, random);
    add_runs(result, random);
    repair(result);
}
