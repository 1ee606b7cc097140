/* What a scenario may say. */
#include "sim/scenario_check.h"
#include "verbfault/library.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/calls.h"
#include "sim/scenario_topology.h"
#include "sim/scenario_words.h"

/* ---- one statement ---- */

__attribute__((format(printf, 3, 4))) static int
complain(struct scn_complaint *complaint, int word, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(complaint->message, sizeof complaint->message, format, arguments);
    va_end(arguments);
    complaint->word = word;
    return -1;
}

static int check_range(struct scn_complaint *complaint, int word,
                       const char *what, int number, int lowest, int highest)
{
    if (number >= lowest && number <= highest)
        return 0;
    return complain(complaint, word, "%s out of range: from %d to %d", what,
                    lowest, highest);
}

static int check_rank(struct scn_complaint *complaint, int word, int rank,
                      bool all)
{
    if (rank == SCN_ALL && all)
        return 0;
    if (rank == SCN_ALL)
        return complain(complaint, word, "one rank is needed here, not *");
    return check_range(complaint, word, "rank", rank, 0, SCN_RANKS_MAX - 1);
}

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

bool scn_is_name(const char *name)
{
    const char *at = name;
    while (is_name_byte(*at))
        at++;
    return at != name && *at == '\0';
}

static int check_name(struct scn_complaint *complaint, int word,
                      const char *name)
{
    if (scn_is_name(name))
        return 0;
    return complain(complaint, word,
                    "a name is letters, digits, \"_\", \".\" and \"-\"");
}

/* Characters a quoted word may hold, all of them visible or a space. */
static int check_quotable(struct scn_complaint *complaint, int word,
                          const char *text)
{
    for (; *text; text++) {
        if (*text < ' ' || *text > '~' || *text == '"')
            return complain(complaint, word,
                            "only printable characters and no quote here");
    }
    return 0;
}

static int check_ranks(const struct scn_statement *s, struct scn_complaint *c)
{
    if (check_range(c, 1, "number of ranks", s->u.ranks.count,
                    s->u.ranks.topology == SCN_RING ? 2 : 1, SCN_RANKS_MAX) < 0)
        return -1;
    if (s->u.ranks.topology == SCN_MESH)
        return check_range(c, 3, "wires of a mesh", s->u.ranks.wires, 1, 1);
    if (s->u.ranks.topology != SCN_RING)
        return complain(c, 2, "a topology is mesh or ring");
    return check_range(c, 3, "wires", s->u.ranks.wires, 1, SCN_WIRES_MAX);
}

static int check_use(struct scn_complaint *c, const char *key, int used,
                     int limit)
{
    if (used < -1 || used > SCN_LIMIT_MAX || limit < -1 ||
        limit > SCN_LIMIT_MAX)
        return complain(c, 3, "*_%s out of range: from 0 to %d", key,
                        SCN_LIMIT_MAX);
    if (used > 0 && limit >= 0 && used > limit)
        return complain(c, 3, "used_%s=%d is more than max_%s=%d", key, used,
                        key, limit);
    return 0;
}

static int check_device(const struct scn_statement *s, struct scn_complaint *c)
{
    if (check_rank(c, 1, s->rank, true) < 0 ||
        check_name(c, 2, s->u.device.name) < 0 ||
        check_use(c, "mr", s->u.device.used_mr, s->u.device.max_mr) < 0 ||
        check_use(c, "qp", s->u.device.used_qp, s->u.device.max_qp) < 0)
        return -1;
    return check_use(c, "pd", s->u.device.used_pd, s->u.device.max_pd);
}

static int check_cable(const struct scn_statement *s, struct scn_complaint *c)
{
    if (check_rank(c, 1, s->rank, false) < 0 ||
        check_name(c, 1, s->u.cable.name) < 0 ||
        check_rank(c, 2, s->u.cable.other_rank, false) < 0 ||
        check_name(c, 2, s->u.cable.other_name) < 0)
        return -1;
    if (s->rank == s->u.cable.other_rank &&
        strcmp(s->u.cable.name, s->u.cable.other_name) == 0)
        return complain(c, 2, "a cable joins two devices, not one to itself");
    return 0;
}

static int check_cell(const struct scn_statement *s, struct scn_complaint *c)
{
    if (check_rank(c, 1, s->rank, true) < 0 ||
        check_range(c, 2, "row", s->u.cell.row, 0, SCN_ROWS_MAX - 1) < 0 ||
        check_range(c, 3, "column", s->u.cell.column, 0, SCN_ROWS_MAX - 1) <
            0 ||
        check_range(c, 4, "names in a cell", s->u.cell.count, 0,
                    SCN_NAMES_MAX) < 0)
        return -1;
    for (int i = 0; i < s->u.cell.count; i++) {
        const char *name = s->u.cell.names[i];
        if (*name && check_name(c, 4 + i, name) < 0)
            return -1;
    }
    return 0;
}

/* A symbol is a function that programs look up; the inline verbs are none. */
static int check_library(const struct scn_statement *s, struct scn_complaint *c)
{
    const char *symbol = s->u.text.word;
    if (check_rank(c, 1, s->rank, true) < 0)
        return -1;
    if (*symbol == '\0')
        return 0;
    if (vf_library_symbol(symbol))
        return 0;
    return complain(c, 3, "no symbol of the library; one is ibv_reg_mr");
}

static int check_setting(const struct scn_statement *s, struct scn_complaint *c)
{
    if (check_rank(c, 1, s->rank, true) < 0)
        return -1;
    if ((unsigned)s->u.setting.what >= SCN_SETTING_COUNT)
        return complain(c, 2, "no such setting");
    return check_range(c, 3, "value", s->u.setting.value, 0,
                       scn_setting_values(s->u.setting.what)->count - 1);
}

static int check_value(const struct vf_fault *fault, struct scn_complaint *c)
{
    switch (vf_effect_value(fault->effect)) {
    case VF_VALUE_NONE:
        return check_range(c, 4, "value without a meaning", fault->value, 0, 0);
    case VF_VALUE_ERRNO:
        return check_range(c, 5, "errno", fault->value, 1, 4095);
    case VF_VALUE_NUMBER:
        return check_range(c, 5, "answer", fault->value, -SCN_RETURN_MAX,
                           SCN_RETURN_MAX);
    case VF_VALUE_STATUS:
        return check_range(c, 5, "status", fault->value, 0, 22);
    case VF_VALUE_MILLISECONDS:
        return check_range(c, 5, "milliseconds", fault->value, 1,
                           SCN_DELAY_MAX);
    }
    return 0;
}

/* "reg_mr cannot have the effect drop; it can have null, unplug, ..." */
static int complain_of_effect(const struct vf_fault *fault,
                              struct scn_complaint *c)
{
    char fitting[100] = "";
    size_t length = 0;
    for (int e = 0; e < VF_EFFECT_COUNT && length < sizeof fitting - 16; e++) {
        if (!vf_effect_fits((enum vf_effect)e, fault->verb))
            continue;
        length += (size_t)snprintf(fitting + length, sizeof fitting - length,
                                   "%s%s", length ? ", " : "",
                                   vf_effect_name((enum vf_effect)e));
    }
    return complain(c, 4, "%s does not fit %s; one of %s does",
                    vf_effect_name(fault->effect), vf_verb_name(fault->verb),
                    fitting);
}

static int check_fault(const struct scn_statement *s, struct scn_complaint *c)
{
    const struct vf_fault *fault = &s->u.fault;
    if (check_rank(c, 1, s->rank, false) < 0)
        return -1;
    if ((unsigned)fault->verb >= VF_VERB_COUNT)
        return complain(c, 2, "no such verb");
    if (fault->nth < 1 || fault->nth > SCN_CALL_MAX)
        return complain(c, 3, "call number out of range: from 1 to %d",
                        SCN_CALL_MAX);
    if ((unsigned)fault->effect >= VF_EFFECT_COUNT)
        return complain(c, 4, "no such effect");
    if (!vf_effect_fits(fault->effect, fault->verb))
        return complain_of_effect(fault, c);
    return check_value(fault, c);
}

static int check_channel(const struct scn_statement *s, struct scn_complaint *c)
{
    if (check_rank(c, 1, s->rank, false) < 0)
        return -1;
    if ((unsigned)s->u.channel.what > SCN_CHANNEL_GARBLE)
        return complain(c, 2, "no such channel fault");
    return check_range(c, 3, "bytes", s->u.channel.bytes, 0, SCN_BYTE_MAX);
}

static int check_run(const struct scn_statement *s, struct scn_complaint *c)
{
    if ((unsigned)s->u.run.operation >= SCN_OPERATION_COUNT)
        return complain(c, 1, "no such operation");
    if (!scn_has_data(s->u.run.operation))
        return 0;
    if ((unsigned)s->u.run.type >= SCN_TYPE_COUNT)
        return complain(c, 2, "no such type");
    if (check_range(c, 3, "count", s->u.run.count, 0,
                    scn_count_most(s->u.run.operation)) < 0)
        return -1;
    if (s->u.run.operation == SCN_SEND)
        return check_rank(c, 4, s->u.run.from, false) < 0
                   ? -1
                   : check_rank(c, 5, s->u.run.to, false);
    if (s->u.run.in_place && !scn_can_be_in_place(s->u.run.operation))
        return complain(c, 4, "this operation has no in-place");
    return 0;
}

static int check_expect(const struct scn_statement *s, struct scn_complaint *c)
{
    const char *at = s->u.expect.subject;
    for (; *at; at++) {
        if (!is_name_byte(*at) || *at == '_' || (*at >= 'A' && *at <= 'Z'))
            break;
    }
    if (*at || at == s->u.expect.subject)
        return complain(c, 1,
                        "a subject is small letters, digits, \".\" and "
                        "\"-\"");
    if ((unsigned)s->u.expect.outcome >= SCN_OUTCOME_COUNT)
        return complain(c, 2, "no such outcome");
    if (s->u.expect.outcome == SCN_READY && *s->u.expect.title)
        return complain(c, 3, "ready has no title");
    return check_quotable(c, 3, s->u.expect.title);
}

int scn_check_statement(const struct scn_statement *s, struct scn_complaint *c)
{
    switch (s->kind) {
    case SCN_PROFILE:
        return s->u.profile ? 0 : complain(c, 1, "no such profile");
    case SCN_RANKS:
        return check_ranks(s, c);
    case SCN_DEVICE:
        return check_device(s, c);
    case SCN_NODEVICES:
        return check_rank(c, 1, s->rank, true) < 0 ||
                       check_range(c, 2, "errno", s->u.number, 0, 4095) < 0
                   ? -1
                   : 0;
    case SCN_CABLE:
        return check_cable(s, c);
    case SCN_CELL:
        return check_cell(s, c);
    case SCN_ROWS:
        return check_rank(c, 1, s->rank, true) < 0 ||
                       check_range(c, 2, "rows", s->u.number, 0, SCN_ROWS_MAX) <
                           0
                   ? -1
                   : 0;
    case SCN_COORDINATOR:
        return check_rank(c, 1, s->rank, true) < 0
                   ? -1
                   : check_quotable(c, 2, s->u.text.word);
    case SCN_SETTING:
        return check_setting(s, c);
    case SCN_LATE:
        return check_rank(c, 1, s->rank, false) < 0 ||
                       check_range(c, 2, "milliseconds", s->u.number, 1,
                                   SCN_DELAY_MAX) < 0
                   ? -1
                   : 0;
    case SCN_LIBRARY:
        return check_library(s, c);
    case SCN_FAULT:
        return check_fault(s, c);
    case SCN_CHANNEL:
        return check_channel(s, c);
    case SCN_PEER:
        return check_rank(c, 1, s->rank, false) < 0
                   ? -1
                   : check_range(c, 3 + SCN_BYTES_MAX, "bytes of a peer",
                                 s->u.peer.count, 0, SCN_BYTES_MAX);
    case SCN_RUN:
        return check_run(s, c);
    case SCN_CALL: /* its lines were checked as they were read */
        return s->u.calls.text ? 0 : complain(c, 0, "no calls");
    case SCN_EXPECT:
        return check_expect(s, c);
    case SCN_ORDER:
        if (s->u.order.count > 0 && s->u.order.seed != 0)
            return complain(c, 1, "an order has a seed or bytes");
        return check_range(c, 2 + SCN_ORDER_MAX, "bytes of an order",
                           s->u.order.count, 0, SCN_ORDER_MAX);
    case SCN_STRAY:
    case SCN_COMMENT:
        return 0;
    case SCN_KIND_COUNT:
        break;
    }
    return complain(c, 0, "no such statement");
}

/* ---- two statements ---- */

static bool overlap(int rank, int other)
{
    return rank == other || rank == SCN_ALL || other == SCN_ALL;
}

static bool same_end(int rank, const char *name, int other,
                     const char *other_name)
{
    return rank == other && strcmp(name, other_name) == 0;
}

static const char *devices_clash(const struct scn_statement *a,
                                 const struct scn_statement *b)
{
    return overlap(a->rank, b->rank) &&
                   strcmp(a->u.device.name, b->u.device.name) == 0
               ? "this rank has a device of that name already"
               : NULL;
}

static const char *cables_clash(const struct scn_statement *a,
                                const struct scn_statement *b, int *word)
{
    const char *name = b->u.cable.name, *other = b->u.cable.other_name;
    bool second =
        same_end(a->rank, a->u.cable.name, b->u.cable.other_rank, other) ||
        same_end(a->u.cable.other_rank, a->u.cable.other_name,
                 b->u.cable.other_rank, other);
    bool first =
        same_end(a->rank, a->u.cable.name, b->rank, name) ||
        same_end(a->u.cable.other_rank, a->u.cable.other_name, b->rank, name);
    *word = first ? 1 : 2;
    return first || second ? "this device has a cable already" : NULL;
}

static const char *libraries_clash(const struct scn_statement *a,
                                   const struct scn_statement *b)
{
    if (!overlap(a->rank, b->rank))
        return NULL;
    return "the library of this rank is absent or lacks a symbol already";
}

static const char *faults_clash(const struct scn_statement *a,
                                const struct scn_statement *b)
{
    const struct vf_fault *first = &a->u.fault, *second = &b->u.fault;
    if (a->rank != b->rank || first->verb != second->verb)
        return NULL;
    if (first->nth == second->nth)
        return "this call has a fault already";
    return first->onward && first->nth < second->nth
               ? "never happens: an earlier fault decides from before on"
               : NULL;
}

static const char *channels_clash(const struct scn_statement *a,
                                  const struct scn_statement *b)
{
    bool garbles = a->u.channel.what == SCN_CHANNEL_GARBLE;
    bool garbled = b->u.channel.what == SCN_CHANNEL_GARBLE;
    if (a->rank != b->rank)
        return NULL;
    if (!garbles && !garbled)
        return "this channel ends already";
    if (garbles && garbled)
        return "a byte of this channel is inverted already";
    int end = garbles ? b->u.channel.bytes : a->u.channel.bytes;
    int byte = garbles ? a->u.channel.bytes : b->u.channel.bytes;
    return byte >= end ? "the channel ends before the byte to invert" : NULL;
}

/* Why b contradicts a, which is of its kind and comes before it, or NULL. */
static const char *clash(const struct scn_statement *a,
                         const struct scn_statement *b, int *word)
{
    *word = 1;
    switch (b->kind) {
    case SCN_PROFILE:
    case SCN_RANKS:
    case SCN_ORDER:
        *word = 0;
        return "only one statement of this kind is possible";
    case SCN_DEVICE:
        *word = 2;
        return devices_clash(a, b);
    case SCN_NODEVICES:
        return overlap(a->rank, b->rank) ? "this rank has none already" : NULL;
    case SCN_CABLE:
        return cables_clash(a, b, word);
    case SCN_CELL:
        return a->rank == b->rank && a->u.cell.row == b->u.cell.row &&
                       a->u.cell.column == b->u.cell.column
                   ? "this cell is given already"
                   : NULL;
    case SCN_ROWS:
    case SCN_COORDINATOR:
        return a->rank == b->rank ? "this view is given already" : NULL;
    case SCN_SETTING:
        *word = 2;
        return a->rank == b->rank && a->u.setting.what == b->u.setting.what
                   ? "this setting of this view is given already"
                   : NULL;
    case SCN_LATE:
        return a->rank == b->rank ? "this rank is late already" : NULL;
    case SCN_LIBRARY:
        return libraries_clash(a, b);
    case SCN_FAULT:
        *word = 3;
        return faults_clash(a, b);
    case SCN_CHANNEL:
        return channels_clash(a, b);
    case SCN_PEER:
        return a->rank == b->rank ? "this rank is a hostile peer already"
                                  : NULL;
    case SCN_EXPECT:
        return strcmp(a->u.expect.subject, b->u.expect.subject) == 0
                   ? "this subject is expected to do something already"
                   : NULL;
    default:
        return NULL;
    }
}

/* Why b contradicts a, which is of another kind, or NULL; order is no matter.
 */
static const char *conflict(const struct scn_statement *a,
                            const struct scn_statement *b)
{
    if (a->kind == SCN_NODEVICES && b->kind == SCN_DEVICE)
        return overlap(a->rank, b->rank) ? "this rank has no devices" : NULL;
    if (a->kind == SCN_PEER && a->rank == b->rank &&
        (b->kind == SCN_FAULT || b->kind == SCN_CHANNEL ||
         b->kind == SCN_LIBRARY || b->kind == SCN_COORDINATOR ||
         b->kind == SCN_SETTING || b->kind == SCN_LATE))
        return "this rank is a hostile peer and runs nothing";
    if (a->kind == SCN_LIBRARY && *a->u.text.word == '\0' &&
        b->kind == SCN_FAULT && overlap(a->rank, b->rank) &&
        b->u.fault.verb != VF_VERB_alloc)
        return "never happens: this rank has no library to call";
    return NULL;
}

/* Can a statement of this kind contradict one of another? */
static bool rules_out(enum scn_kind kind)
{
    return kind == SCN_NODEVICES || kind == SCN_PEER || kind == SCN_LIBRARY;
}

static int check_pair(const struct scn_statement *a,
                      const struct scn_statement *b, struct scn_complaint *c)
{
    int word = 1;
    const char *why = NULL;
    if (a->kind == b->kind)
        why = clash(a, b, &word);
    else if (rules_out(a->kind))
        why = conflict(a, b);
    if (!why && rules_out(b->kind))
        why = conflict(b, a);
    if (!why)
        return 0;
    if (a->line)
        return complain(c, word, "%s (line %d)", why, a->line);
    return complain(c, word, "%s", why);
}

/* ---- the whole ---- */

static int check_ranks_exist(const struct scn_statement *s, int ranks,
                             struct scn_complaint *c)
{
    if (s->kind == SCN_CALL && s->u.calls.highest >= ranks)
        return complain(c, 1, "rank %d does not exist; there are %d ranks",
                        s->u.calls.highest, ranks);
    if (s->kind == SCN_PROFILE || s->kind == SCN_RANKS || s->kind >= SCN_STRAY)
        return 0;
    if (s->rank >= ranks)
        return complain(c, 1, "rank %d does not exist; there are %d ranks",
                        s->rank, ranks);
    if (s->kind == SCN_CABLE && s->u.cable.other_rank >= ranks)
        return complain(c, 2, "rank %d does not exist; there are %d ranks",
                        s->u.cable.other_rank, ranks);
    return 0;
}

static int check_limit(const char *key, int used, int given, uint32_t limit,
                       struct scn_complaint *c)
{
    if (given >= 0 || limit == 0 || used <= 0 || (uint32_t)used <= limit)
        return 0;
    return complain(c, 3, "used_%s=%d is more than the profile's limit of %u",
                    key, used, (unsigned)limit);
}

static int check_device_in(const struct scn *scenario,
                           const struct scn_statement *s,
                           struct scn_complaint *c)
{
    const struct vf_profile *p = scn_profile(scenario);
    if (check_limit("mr", s->u.device.used_mr, s->u.device.max_mr, p->mr_limit,
                    c) < 0 ||
        check_limit("qp", s->u.device.used_qp, s->u.device.max_qp, p->qp_limit,
                    c) < 0)
        return -1;
    return check_limit("pd", s->u.device.used_pd, s->u.device.max_pd,
                       p->pd_limit, c);
}

static int check_cable_in(const struct scn *scenario,
                          const struct scn_statement *s,
                          struct scn_complaint *c)
{
    if (!scn_has_device(scenario, s->rank, s->u.cable.name))
        return complain(c, 1, "rank %d has no device %s", s->rank,
                        s->u.cable.name);
    if (!scn_has_device(scenario, s->u.cable.other_rank, s->u.cable.other_name))
        return complain(c, 2, "rank %d has no device %s", s->u.cable.other_rank,
                        s->u.cable.other_name);
    return 0;
}

static int check_cell_in(const struct scn *scenario,
                         const struct scn_statement *s, struct scn_complaint *c)
{
    int rows = s->rank == SCN_ALL ? scn_rows_most(scenario)
                                  : scn_rows(scenario, s->rank);
    if (s->u.cell.row < rows && s->u.cell.column < rows)
        return 0;
    return complain(c, s->u.cell.row < rows ? 3 : 2,
                    "no such cell; the device file has %d rows and columns",
                    rows);
}

static int check_statement_in(const struct scn *scenario,
                              const struct scn_statement *s, int *groups,
                              struct scn_complaint *c)
{
    switch (s->kind) {
    case SCN_DEVICE:
        return check_device_in(scenario, s, c);
    case SCN_CABLE:
        return check_cable_in(scenario, s, c);
    case SCN_CELL:
        return check_cell_in(scenario, s, c);
    case SCN_RUN:
        if (scn_has_calls(scenario))
            return complain(c, 0, "a recording has calls in place of runs");
        if (s->u.run.operation == SCN_INIT) {
            (*groups)++;
            return 0;
        }
        if (*groups == 0)
            return complain(c, 1, "there is no group; `run init` makes one");
        *groups -= s->u.run.operation == SCN_FINALIZE;
        return 0;
    default:
        return 0;
    }
}

static int check_somebody_runs(const struct scn *scenario, int ranks,
                               struct scn_complaint *c)
{
    int peers = 0, last = 0;
    for (int i = 0; i < scenario->count; i++) {
        if (scenario->statements[i].kind == SCN_PEER) {
            peers++;
            last = i;
        }
    }
    if (peers < ranks)
        return 0;
    c->statement = last;
    return complain(c, 1, "every rank is a hostile peer; nobody runs");
}

static int check_room(const struct scn *scenario, struct scn_complaint *c)
{
    int count = 0;
    /* Only a long scenario can fail; the rest need not be counted. */
    if (scenario->count <= SCN_STATEMENTS_MAX - SCN_DEFAULTS_MAX)
        return 0;
    for (int i = 0; i < scenario->count; i++)
        count += scenario->statements[i].kind != SCN_COMMENT;
    int missing = scn_count_defaults(scenario);
    if (count + missing <= SCN_STATEMENTS_MAX)
        return 0;
    c->statement = scenario->count - 1;
    return complain(c, 0,
                    "too many statements: with %d for the default devices, "
                    "cells and cables more than %d",
                    missing, SCN_STATEMENTS_MAX);
}

int scn_check_whole(const struct scn *scenario, struct scn_complaint *c)
{
    const struct scn_statement *all = scenario->statements;
    enum scn_topology topology;
    int ranks, wires, groups = 0;
    scn_topology(scenario, &ranks, &topology, &wires);
    for (int i = 0; i < scenario->count; i++) {
        c->statement = i;
        if (all[i].kind == SCN_COMMENT)
            continue;
        if (check_ranks_exist(&all[i], ranks, c) < 0)
            return -1;
        for (int j = 0; j < i; j++) {
            if (check_pair(&all[j], &all[i], c) < 0)
                return -1;
        }
        if (check_statement_in(scenario, &all[i], &groups, c) < 0)
            return -1;
    }
    if (check_somebody_runs(scenario, ranks, c) < 0)
        return -1;
    return check_room(scenario, c);
}

int scn_check_all(const struct scn *scenario, struct scn_complaint *c)
{
    for (int i = 0; i < scenario->count; i++) {
        c->statement = i;
        if (scn_check_statement(&scenario->statements[i], c) < 0)
            return -1;
    }
    return scn_check_whole(scenario, c);
}

int scn_check(const struct scn *scenario, struct scn_error *error)
{
    struct scn_complaint complaint;
    if (scn_check_all(scenario, &complaint) == 0)
        return 0;
    const struct scn_statement *at = &scenario->statements[complaint.statement];
    error->line = at->line;
    error->column = at->column;
    memcpy(error->message, complaint.message, sizeof error->message);
    return -1;
}
