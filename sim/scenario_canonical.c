/* Statements of a scenario: copied, added, removed, in canonical order. */
#include <string.h>

#include "sim/scenario.h"

void scn_copy(struct scn *to, const struct scn *from)
{
    to->count = from->count;
    memcpy(to->statements, from->statements,
           (size_t)from->count * sizeof from->statements[0]);
}

void scn_remove(struct scn *scenario, int i)
{
    scenario->count--;
    memmove(&scenario->statements[i], &scenario->statements[i + 1],
            (size_t)(scenario->count - i) * sizeof scenario->statements[0]);
}

struct scn_statement *scn_add(struct scn *scenario, enum scn_kind kind)
{
    if (scenario->count >= SCN_STATEMENTS_MAX)
        return NULL;
    struct scn_statement *s = &scenario->statements[scenario->count++];
    memset(s, 0, sizeof *s);
    s->kind = kind;
    if (kind == SCN_DEVICE) {
        s->u.device.max_mr = s->u.device.max_qp = s->u.device.max_pd = -1;
        s->u.device.used_mr = s->u.device.used_qp = s->u.device.used_pd = -1;
    }
    return s;
}

static int sign(long long difference)
{
    return (difference > 0) - (difference < 0);
}

static int compare_cables(const struct scn_statement *a,
                          const struct scn_statement *b)
{
    int order = strcmp(a->u.cable.name, b->u.cable.name);
    if (order == 0)
        order = a->u.cable.other_rank - b->u.cable.other_rank;
    return order ? order : strcmp(a->u.cable.other_name, b->u.cable.other_name);
}

/* Single calls first, then the later of those that go on: the first that
 * matches decides, and so each of them still does what it did. */
static int compare_faults(const struct vf_fault *a, const struct vf_fault *b)
{
    if (a->verb != b->verb)
        return strcmp(vf_verb_name(a->verb), vf_verb_name(b->verb));
    if (a->onward != b->onward)
        return a->onward ? 1 : -1;
    int order = sign((long long)a->nth - (long long)b->nth);
    return a->onward ? -order : order;
}

static int compare(const struct scn_statement *a, const struct scn_statement *b)
{
    if (a->kind != b->kind)
        return (int)a->kind - (int)b->kind;
    if (a->kind == SCN_RUN || a->kind == SCN_CALL)
        return 0;
    if (a->kind == SCN_EXPECT)
        return strcmp(a->u.expect.subject, b->u.expect.subject);
    if (a->rank != b->rank)
        return a->rank - b->rank;
    switch (a->kind) {
    case SCN_CABLE:
        return compare_cables(a, b);
    case SCN_CELL:
        return a->u.cell.row != b->u.cell.row
                   ? a->u.cell.row - b->u.cell.row
                   : a->u.cell.column - b->u.cell.column;
    case SCN_SETTING:
        return (int)a->u.setting.what - (int)b->u.setting.what;
    case SCN_LIBRARY:
        return strcmp(a->u.text.word, b->u.text.word);
    case SCN_FAULT:
        return compare_faults(&a->u.fault, &b->u.fault);
    case SCN_CHANNEL:
        return a->u.channel.what != b->u.channel.what
                   ? (int)a->u.channel.what - (int)b->u.channel.what
                   : a->u.channel.bytes - b->u.channel.bytes;
    default:
        return 0;
    }
}

static void turn_cable(struct scn_statement *s)
{
    int order = s->rank - s->u.cable.other_rank;
    if (order == 0)
        order = strcmp(s->u.cable.name, s->u.cable.other_name);
    if (order <= 0)
        return;
    char name[SCN_NAME_MAX];
    int rank = s->rank;
    s->rank = s->u.cable.other_rank;
    s->u.cable.other_rank = rank;
    memcpy(name, s->u.cable.name, sizeof name);
    memcpy(s->u.cable.name, s->u.cable.other_name, sizeof name);
    memcpy(s->u.cable.other_name, name, sizeof name);
}

/* Moves the statements so that the i-th is the one that was order[i]-th. */
static void arrange(struct scn *scenario, int *order)
{
    for (int i = 0; i < scenario->count; i++) {
        if (order[i] == i)
            continue;
        struct scn_statement first = scenario->statements[i];
        int at = i;
        while (order[at] != i) {
            int from = order[at];
            scenario->statements[at] = scenario->statements[from];
            order[at] = at;
            at = from;
        }
        scenario->statements[at] = first;
        order[at] = at;
    }
}

void scn_canonical(struct scn *scenario)
{
    struct scn_statement *all = scenario->statements;
    int order[SCN_STATEMENTS_MAX], kept = 0;
    for (int i = 0; i < scenario->count; i++) {
        if (all[i].kind == SCN_COMMENT)
            continue;
        if (kept != i)
            all[kept] = all[i];
        all[kept].comment = NULL;
        all[kept].comment_length = 0;
        if (all[kept].kind == SCN_CABLE)
            turn_cable(&all[kept]);
        kept++;
    }
    scenario->count = kept;
    for (int i = 0; i < kept; i++) {
        int at = i;
        for (; at > 0 && compare(&all[order[at - 1]], &all[i]) > 0; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    arrange(scenario, order);
}
