/* Where something can go wrong in a run that was watched. */
#include "sim/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "sim/watch.h"

#define BIT(n) (1u << (n))

static int put(struct sweep_points *points, const struct sweep_point *point)
{
    if (points->count == points->room) {
        int room = points->room ? points->room * 2 : 256;
        struct sweep_point *at =
            realloc(points->at, (size_t)room * sizeof *points->at);
        if (!at)
            return -1;
        points->at = at;
        points->room = room;
    }
    points->at[points->count++] = *point;
    return 0;
}

static int put_call(struct sweep_points *points, int rank, enum vf_verb verb,
                    unsigned nth)
{
    struct sweep_point point = {
        .kind = SWEEP_CALL, .rank = rank, .verb = verb, .nth = (int)nth};
    return put(points, &point);
}

/* Those that found something, and came after. */
static int put_polls(struct sweep_points *points, const struct sim_watch *watch,
                     int rank)
{
    unsigned after = watch->at_hit[rank].calls[VF_VERB_poll_cq];
    points->left_out = points->left_out || watch->polls_left_out;
    for (int i = 0; i < watch->poll_count[rank]; i++)
        if (watch->polls[rank][i] > after &&
            put_call(points, rank, VF_VERB_poll_cq, watch->polls[rank][i]) != 0)
            return -1;
    return 0;
}

static int put_calls(struct sweep_points *points, const struct sim_watch *watch,
                     int rank, enum vf_verb verb)
{
    unsigned from = watch->at_hit[rank].calls[verb];
    unsigned to = watch->at_end[rank].calls[verb];
    if (to > from + SWEEP_CALLS_MAX) {
        to = from + SWEEP_CALLS_MAX;
        points->left_out = true;
    }
    for (unsigned nth = from + 1; nth <= to; nth++)
        if (put_call(points, rank, verb, nth) != 0)
            return -1;
    return 0;
}

/* The byte of a rank's channel that a first fault inverted, or -1. */
static long garbled_byte(const struct sweep_fault *first, int rank)
{
    const struct scn_statement *statement;
    if (!first)
        return -1;
    statement = &first->statements[0];
    if (statement->kind != SCN_CHANNEL || statement->rank != rank)
        return -1;
    return statement->u.channel.bytes;
}

/* Is this byte the first, the second or the last of what was sent at a time, or
 * behind all? at: the send that it was in last time, for the next question. */
static bool is_edge(const struct sim_watch *watch, int rank, long byte, int *at)
{
    const long *sends = watch->sends[rank];
    int count = watch->send_count[rank];
    long end;
    while (*at + 1 < count && sends[*at + 1] <= byte)
        ++*at;
    if (count == 0)
        return true;
    end = *at + 1 < count ? sends[*at + 1] : watch->at_end[rank].sent;
    return byte <= sends[*at] + 1 || byte >= end - 1;
}

/*
 * A channel falls silent, or inverts a byte, before the next byte; it closes
 * behind the last one. So behind all bytes it can only close, and a close
 * behind the last byte before the first fault would have come before it. A
 * second fault strikes only edges: what is done with an error does not depend
 * on which byte of the rest of a message is lost, and first faults try each.
 */
static int put_bytes(struct sweep_points *points, const struct sim_watch *watch,
                     const struct sweep_fault *first, int rank)
{
    long sent = watch->at_hit[rank].sent, end = watch->at_end[rank].sent;
    long garbled = garbled_byte(first, rank);
    long from = garbled >= 0 ? garbled + 1 : sent;
    int send = 0;
    if (end > from + SWEEP_BYTES_MAX) {
        end = from + SWEEP_BYTES_MAX;
        points->left_out = true;
    }
    for (long byte = from; byte <= end && end > 0; byte++) {
        struct sweep_point point = {
            .kind = SWEEP_CHANNEL, .rank = rank, .nth = (int)byte};
        if (first && !is_edge(watch, rank, byte, &send))
            continue;
        if (byte < end)
            point.ways = BIT(SCN_CHANNEL_SILENT) | BIT(SCN_CHANNEL_GARBLE);
        if (byte > from || byte == 0 || garbled >= 0)
            point.ways |= BIT(SCN_CHANNEL_CLOSE);
        if (put(points, &point) != 0)
            return -1;
    }
    return 0;
}

static int put_rank(const struct sweep_plan *plan,
                    const struct sim_watch *watch,
                    const struct sweep_fault *first,
                    struct sweep_points *points, int rank)
{
    for (int verb = 0; verb < VF_VERB_COUNT; verb++) {
        int status = 0;
        if (!(plan->verbs >> verb & 1))
            continue;
        if (verb == VF_VERB_poll_cq)
            status = put_polls(points, watch, rank);
        else
            status = put_calls(points, watch, rank, (enum vf_verb)verb);
        if (status != 0)
            return -1;
    }
    return plan->channel ? put_bytes(points, watch, first, rank) : 0;
}

int sweep_points_of(const struct sweep_plan *plan,
                    const struct sim_watch *watch,
                    const struct sweep_fault *first,
                    struct sweep_points *points)
{
    points->count = 0;
    points->left_out = false;
    for (int rank = 0; rank < watch->ranks; rank++)
        if (plan->ranks >> rank & 1 &&
            put_rank(plan, watch, first, points, rank) != 0)
            return -1;
    return 0;
}

/* ---- outcomes of a point ------------------------------------------------- */

/* The lists of sweep_outcomes(), made once for the ways last asked for. */
static struct {
    bool made, once, onward;
    int count;
    struct vf_fault faults[SWEEP_OUTCOMES_MAX];
} lists[VF_VERB_COUNT];

static bool call_fault(const struct sweep_plan *plan,
                       const struct sweep_point *point, int n,
                       struct scn_statement *statement)
{
    int verb = point->verb;
    if (!lists[verb].made || lists[verb].once != plan->once ||
        lists[verb].onward != plan->onward) {
        lists[verb].made = true;
        lists[verb].once = plan->once;
        lists[verb].onward = plan->onward;
        lists[verb].count = sweep_outcomes(point->verb, plan->once,
                                           plan->onward, lists[verb].faults);
    }
    if (n >= lists[verb].count)
        return false;
    statement->kind = SCN_FAULT;
    statement->u.fault = lists[verb].faults[n];
    statement->u.fault.nth = (unsigned)point->nth;
    return true;
}

static bool channel_fault(const struct sweep_point *point, int n,
                          struct scn_statement *statement)
{
    for (int way = 0; way <= SCN_CHANNEL_GARBLE; way++) {
        if (!(point->ways >> way & 1))
            continue;
        if (n-- > 0)
            continue;
        statement->kind = SCN_CHANNEL;
        statement->u.channel.what = (enum scn_channel)way;
        statement->u.channel.bytes = point->nth;
        return true;
    }
    return false;
}

bool sweep_fault_of(const struct sweep_plan *plan,
                    const struct sweep_point *point, int n,
                    struct sweep_fault *fault)
{
    struct scn_statement *statement = &fault->statements[0];
    memset(statement, 0, sizeof *statement);
    statement->rank = point->rank;
    fault->count = 1;
    switch (point->kind) {
    case SWEEP_CALL:
        return call_fault(plan, point, n, statement);
    case SWEEP_CHANNEL:
        return channel_fault(point, n, statement);
    case SWEEP_SETUP: /* they are made once, by sweep_setups() */
        break;
    }
    return false;
}

bool sweep_add(struct scn *scenario, int count, const struct sweep_fault *fault)
{
    struct scn_error error;
    scenario->count = count;
    if (count + fault->count > SCN_STATEMENTS_MAX)
        return false;
    memcpy(&scenario->statements[count], fault->statements,
           (size_t)fault->count * sizeof fault->statements[0]);
    scenario->count += fault->count;
    return scn_check(scenario, &error) == 0;
}
