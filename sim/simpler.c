/*
 * Simpler versions of a statement.
 *
 * A rule offers versions of one field, the simplest first; the table below says
 * which rules a kind of statement has and in which order. Each version lowers
 * its field in an order that has an end (0 or 1 for numbers, the first word for
 * words, -1 for raw answers), so that whoever keeps taking simpler versions
 * comes to an end too.
 */
#include <errno.h>
#include <string.h>

#include "sim/minimize.h"
#include "sim/scenario_check.h"
#include "sim/scenario_topology.h"

/* The search for the n-th version: a rule calls is_wanted() for each of its
 * versions and makes the one for which it answers true. */
struct choice {
    struct scn *result;
    struct scn_statement *s; /* in result */
    int wanted;              /* versions still to pass */
    bool made;
};

static bool is_wanted(struct choice *choice)
{
    if (choice->made || choice->wanted-- != 0)
        return false;
    choice->made = true;
    return true;
}

/* ---- kinds of values ---- */

/* least, then halfway to number, three quarters, ..., one less. */
static void lower(struct choice *choice, int *number, int least)
{
    int from = *number;
    for (int gap = from - least; gap > 0; gap /= 2) {
        if (is_wanted(choice))
            *number = from - gap;
    }
}

/* Every earlier word of a table; they have no halves. */
static void lower_word(struct choice *choice, int *word)
{
    int from = *word;
    for (int earlier = 0; earlier < from; earlier++) {
        if (is_wanted(choice))
            *word = earlier;
    }
}

static void plain(struct choice *choice, int *number, int plainest)
{
    if (*number != plainest && is_wanted(choice))
        *number = plainest;
}

static void clear(struct choice *choice, bool *flag)
{
    if (*flag && is_wanted(choice))
        *flag = false;
}

/* rdma_en2, rdma_en3, ... come before any other name. */
static void plain_name(struct choice *choice, char *name)
{
    char plainer[SCN_NAME_MAX];
    if (*name == '\0') /* the empty name is a thing of its own */
        return;
    for (int slot = 0; slot < 8; slot++) {
        scn_default_name(plainer, slot);
        if (strcmp(plainer, name) == 0)
            return;
        if (is_wanted(choice)) {
            strcpy(name, plainer);
            return;
        }
    }
}

/* ---- ranks, all over the scenario ---- */

/* The fields of a statement that number ranks; returns how many. */
static int rank_fields(struct scn_statement *s, int *fields[3])
{
    int count = 0;
    if (s->kind == SCN_RUN && s->u.run.operation == SCN_SEND) {
        fields[count++] = &s->u.run.from;
        fields[count++] = &s->u.run.to;
    }
    if (s->kind < SCN_DEVICE || s->kind > SCN_PEER)
        return count;
    fields[count++] = &s->rank;
    if (s->kind == SCN_CABLE)
        fields[count++] = &s->u.cable.other_rank;
    if (s->kind == SCN_CELL) {
        fields[count++] = &s->u.cell.row;
        fields[count++] = &s->u.cell.column;
    }
    return count;
}

/* Puts rank in the place of 0 and 0 in its place; returns by how much the
 * sum of all ranks grew. */
static int exchange_with_0(struct scn *scenario, int rank)
{
    int *fields[3], growth = 0;
    for (int i = 0; i < scenario->count; i++) {
        int count = rank_fields(&scenario->statements[i], fields);
        for (int k = 0; k < count; k++) {
            int old = *fields[k];
            if (old == 0)
                *fields[k] = rank;
            else if (old == rank)
                *fields[k] = 0;
            growth += *fields[k] - old;
        }
    }
    return growth;
}

static void rank_0(struct choice *choice, int rank)
{
    if (rank < 1)
        return;
    bool smaller = exchange_with_0(choice->result, rank) < 0;
    if (!smaller || !is_wanted(choice))
        exchange_with_0(choice->result, rank);
}

static bool names_rank_from(struct scn_statement *s, int ranks)
{
    int *fields[3];
    int count = rank_fields(s, fields);
    for (int k = 0; k < count; k++) {
        if (*fields[k] >= ranks)
            return true;
    }
    return false;
}

static void drop_ranks_from(struct scn *scenario, int ranks)
{
    for (int i = scenario->count - 1; i >= 0; i--) {
        if (names_rank_from(&scenario->statements[i], ranks))
            scn_remove(scenario, i);
    }
}

static void move_ranks_from(struct scn *scenario, int ranks)
{
    int *fields[3];
    for (int i = 0; i < scenario->count; i++) {
        int count = rank_fields(&scenario->statements[i], fields);
        for (int k = 0; k < count; k++) {
            if (*fields[k] >= ranks)
                *fields[k] = ranks - 1;
        }
    }
}

/* Down to two: a machine on its own is a thing of its own. */
static void fewer_ranks(struct choice *choice, struct scn_statement *s)
{
    int from = s->u.ranks.count;
    for (int gap = from - 2; gap > 0; gap /= 2) {
        if (is_wanted(choice)) {
            s->u.ranks.count = from - gap;
            move_ranks_from(choice->result, from - gap);
        } else if (is_wanted(choice)) {
            s->u.ranks.count = from - gap; /* before s may move */
            drop_ranks_from(choice->result, from - gap);
        }
        if (choice->made)
            return;
    }
}

/* ---- rules ---- */

static void profile_rule(struct choice *choice, struct scn_statement *s)
{
    const struct vf_profile *given = s->u.profile;
    for (int n = 0; vf_profile_at(n) && vf_profile_at(n) != given; n++) {
        if (is_wanted(choice))
            s->u.profile = vf_profile_at(n);
    }
}

static void topology_rule(struct choice *choice, struct scn_statement *s)
{
    if (s->u.ranks.topology == SCN_RING && is_wanted(choice)) {
        s->u.ranks.topology = SCN_MESH;
        s->u.ranks.wires = 1;
    }
}

static void wires_rule(struct choice *choice, struct scn_statement *s)
{
    lower(choice, &s->u.ranks.wires, 1);
}

static void rank_rule(struct choice *choice, struct scn_statement *s)
{
    enum scn_topology topology;
    int ranks, wires;
    if (s->rank != SCN_ALL) {
        lower(choice, &s->rank, 0);
        if (!choice->made)
            rank_0(choice, s->rank);
        return;
    }
    scn_topology(choice->result, &ranks, &topology, &wires);
    for (int rank = 0; rank < ranks; rank++) {
        if (is_wanted(choice))
            s->rank = rank;
    }
}

static void device_rule(struct choice *choice, struct scn_statement *s)
{
    int *limits[] = {&s->u.device.max_mr,  &s->u.device.max_qp,
                     &s->u.device.max_pd,  &s->u.device.used_mr,
                     &s->u.device.used_qp, &s->u.device.used_pd};
    plain_name(choice, s->u.device.name);
    clear(choice, &s->u.device.port_down);
    clear(choice, &s->u.device.no_ipv4);
    for (int i = 0; i < 6; i++) {
        if (*limits[i] >= 0 && is_wanted(choice))
            *limits[i] = -1;
        if (!choice->made)
            lower(choice, limits[i], 0);
    }
}

static void errno_rule(struct choice *choice, struct scn_statement *s)
{
    plain(choice, &s->u.number, 0);
    if (s->u.number != 0)
        plain(choice, &s->u.number, ENOMEM);
}

static void cable_rule(struct choice *choice, struct scn_statement *s)
{
    lower(choice, &s->u.cable.other_rank, 0);
    if (!choice->made)
        rank_0(choice, s->u.cable.other_rank);
    plain_name(choice, s->u.cable.name);
    plain_name(choice, s->u.cable.other_name);
}

static void cell_place_rule(struct choice *choice, struct scn_statement *s)
{
    int row = s->u.cell.row, column = s->u.cell.column;
    if (row > column && is_wanted(choice)) {
        s->u.cell.row = column;
        s->u.cell.column = row;
        return;
    }
    lower(choice, &s->u.cell.row, 0);
    lower(choice, &s->u.cell.column, 0);
    if (!choice->made)
        rank_0(choice, row);
    if (!choice->made)
        rank_0(choice, column);
}

static void cell_names_rule(struct choice *choice, struct scn_statement *s)
{
    int count = s->u.cell.count;
    lower(choice, &s->u.cell.count, 0);
    if (count > 1 && is_wanted(choice)) { /* without the first */
        memmove(s->u.cell.names[0], s->u.cell.names[1],
                (size_t)(count - 1) * SCN_NAME_MAX);
        s->u.cell.count--;
    }
    for (int i = 0; i < count && !choice->made; i++)
        plain_name(choice, s->u.cell.names[i]);
}

static void number_rule(struct choice *choice, struct scn_statement *s)
{
    lower(choice, &s->u.number, 0);
}

static void library_rule(struct choice *choice, struct scn_statement *s)
{
    if (*s->u.text.word && is_wanted(choice))
        s->u.text.word[0] = '\0';
}

static void late_rule(struct choice *choice, struct scn_statement *s)
{
    lower(choice, &s->u.number, 1);
}

/* The default is the plainest; a ring is not. */
static void setting_rule(struct choice *choice, struct scn_statement *s)
{
    lower_word(choice, &s->u.setting.value);
}

static void call_rule(struct choice *choice, struct scn_statement *s)
{
    int nth = (int)s->u.fault.nth;
    lower(choice, &nth, 1);
    s->u.fault.nth = (unsigned)nth;
    clear(choice, &s->u.fault.onward);
}

static int plainest_value(enum vf_effect effect)
{
    switch (vf_effect_value(effect)) {
    case VF_VALUE_NONE:
        return 0;
    case VF_VALUE_ERRNO:
        return effect == VF_EFFECT_NULL ? ENOMEM : EINVAL;
    case VF_VALUE_NUMBER:
        return -1;
    case VF_VALUE_STATUS:
    case VF_VALUE_MILLISECONDS:
        return 1; /* LOC_LEN_ERR */
    }
    return 0;
}

static void effect_rule(struct choice *choice, struct scn_statement *s)
{
    struct vf_fault *fault = &s->u.fault;
    enum vf_effect from = fault->effect;
    for (int effect = 0; effect < (int)from; effect++) {
        if (!vf_effect_fits((enum vf_effect)effect, fault->verb) ||
            !is_wanted(choice))
            continue;
        fault->effect = (enum vf_effect)effect;
        fault->value = plainest_value(fault->effect);
    }
}

/* -1, then 0, then by size: a raw answer. */
static void lower_answer(struct choice *choice, int *answer)
{
    int size = *answer < 0 ? -*answer : *answer;
    bool negative = *answer < 0;
    if (*answer == -1)
        return;
    plain(choice, answer, -1);
    if (choice->made)
        return;
    lower(choice, &size, negative ? 2 : 0);
    *answer = negative ? -size : size;
}

static void value_rule(struct choice *choice, struct scn_statement *s)
{
    struct vf_fault *fault = &s->u.fault;
    switch (vf_effect_value(fault->effect)) {
    case VF_VALUE_NONE:
        return;
    case VF_VALUE_ERRNO:
    case VF_VALUE_STATUS:
        plain(choice, &fault->value, plainest_value(fault->effect));
        return;
    case VF_VALUE_NUMBER:
        lower_answer(choice, &fault->value);
        return;
    case VF_VALUE_MILLISECONDS:
        lower(choice, &fault->value, 1);
        return;
    }
}

static void channel_rule(struct choice *choice, struct scn_statement *s)
{
    int what = (int)s->u.channel.what;
    lower(choice, &s->u.channel.bytes, 0);
    lower_word(choice, &what);
    s->u.channel.what = (enum scn_channel)what;
}

/* Fewer of them, then lower ones. */
static void bytes_rule(struct choice *choice, unsigned char *bytes, int *count)
{
    int from = *count;
    lower(choice, count, 0);
    for (int i = 0; i < from && !choice->made; i++) {
        int byte = bytes[i];
        lower(choice, &byte, 0);
        bytes[i] = (unsigned char)byte;
    }
}

static void peer_rule(struct choice *choice, struct scn_statement *s)
{
    bytes_rule(choice, s->u.peer.bytes, &s->u.peer.count);
}

static void order_rule(struct choice *choice, struct scn_statement *s)
{
    uint32_t from = s->u.order.seed;
    for (uint32_t gap = from; gap > 0; gap /= 2) {
        if (is_wanted(choice))
            s->u.order.seed = from - gap;
    }
    bytes_rule(choice, s->u.order.bytes, &s->u.order.count);
}

/* Every collective that comes before it. */
static void operation_rule(struct choice *choice, struct scn_statement *s)
{
    enum scn_operation from = s->u.run.operation;
    if (!scn_has_data(from))
        return;
    for (int earlier = SCN_ALL_SUM; earlier < (int)from; earlier++) {
        if (!is_wanted(choice))
            continue;
        s->u.run.operation = (enum scn_operation)earlier;
        s->u.run.from = s->u.run.to = 0;
    }
}

static void run_rule(struct choice *choice, struct scn_statement *s)
{
    int type = (int)s->u.run.type;
    if (!scn_has_data(s->u.run.operation))
        return;
    lower(choice, &s->u.run.count, 1);
    plain(choice, &type, SCN_FLOAT32);
    s->u.run.type = (enum scn_type)type;
    clear(choice, &s->u.run.in_place);
    if (s->u.run.operation != SCN_SEND)
        return;
    lower(choice, &s->u.run.from, 0);
    lower(choice, &s->u.run.to, 0);
    if (!choice->made)
        rank_0(choice, s->u.run.from);
    if (!choice->made)
        rank_0(choice, s->u.run.to);
}

/* What can be made simpler, in this order. */
static const struct {
    enum scn_kind kind;
    void (*offer)(struct choice *, struct scn_statement *);
} rules[] = {
    {SCN_PROFILE, profile_rule}, {SCN_RANKS, fewer_ranks},
    {SCN_RANKS, topology_rule},  {SCN_RANKS, wires_rule},
    {SCN_DEVICE, rank_rule},     {SCN_DEVICE, device_rule},
    {SCN_NODEVICES, rank_rule},  {SCN_NODEVICES, errno_rule},
    {SCN_CABLE, rank_rule},      {SCN_CABLE, cable_rule},
    {SCN_CELL, rank_rule},       {SCN_CELL, cell_place_rule},
    {SCN_CELL, cell_names_rule}, {SCN_ROWS, rank_rule},
    {SCN_ROWS, number_rule},     {SCN_COORDINATOR, rank_rule},
    {SCN_LIBRARY, rank_rule},    {SCN_LIBRARY, library_rule},
    {SCN_FAULT, rank_rule},      {SCN_FAULT, call_rule},
    {SCN_FAULT, effect_rule},    {SCN_FAULT, value_rule},
    {SCN_CHANNEL, rank_rule},    {SCN_CHANNEL, channel_rule},
    {SCN_PEER, rank_rule},       {SCN_PEER, peer_rule},
    {SCN_LATE, rank_rule},       {SCN_LATE, late_rule},
    {SCN_SETTING, rank_rule},    {SCN_SETTING, setting_rule},
    {SCN_ORDER, order_rule},     {SCN_RUN, operation_rule},
    {SCN_RUN, run_rule},
};

enum scn_simpler scn_simpler(const struct scn *scenario, int statement, int n,
                             struct scn *result)
{
    struct choice choice = {result, &result->statements[statement], n, false};
    struct scn_complaint complaint;
    enum scn_kind kind = scenario->statements[statement].kind;
    scn_copy(result, scenario);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].kind == kind && !choice.made)
            rules[i].offer(&choice, choice.s);
    }
    if (!choice.made)
        return SCN_SIMPLER_END;
    scn_canonical(result);
    return scn_check_all(result, &complaint) == 0 ? SCN_SIMPLER_MADE
                                                  : SCN_SIMPLER_INVALID;
}
