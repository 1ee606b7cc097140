/* verbfault record --join: whose stranger is whose. */
#include "cli/record_join.h"

#include <infiniband/verbs.h>
#include <stdio.h>

#define NEVER (-1)

/* Is it an address of that device's? 1; 0: nobody knows; NEVER. */
static int knows_mark(const struct join *join, int rank, int device, int mark)
{
    int fits = 0;
    for (int i = 0; i < join->mark_count && mark >= 0; i++) {
        const struct join_mark *own = &join->marks[i];
        if (own->rank != rank || own->device != device)
            continue;
        if (own->mark == mark)
            return 1;
        fits = NEVER;
    }
    return fits;
}

/* How well does it fit as the other end, to which the pair knows a number and
 * a mark? NEVER: it does not. */
static int fits(const struct join *join, const struct join_pair *pair,
                const struct join_pair *other, int64_t number, int mark)
{
    int known = knows_mark(join, other->rank, other->device, mark);
    int back = knows_mark(join, pair->rank, pair->device, other->mark);
    int points = 0;
    if (other->file == pair->file || other->number != number ||
        other->type != pair->type || known == NEVER || back == NEVER)
        return NEVER;
    if (other->leads_to >= 0 ? other->leads_to != pair->number
                             : other->peer_rank >= 0)
        return NEVER;
    points += 16 * known + 16 * back + 8 * (other->leads_to >= 0);
    points += 4 * (pair->rq_psn >= 0 && pair->rq_psn == other->sq_psn);
    points += 4 * (other->rq_psn >= 0 && other->rq_psn == pair->sq_psn);
    return points;
}

static bool same_port(const struct join_pair *a, const struct join_pair *b)
{
    return a->rank == b->rank && a->device == b->device;
}

/*
 * The best one. On one port two of a number came one after the other: that
 * whose turn is the pair's own, or the first. *rival is as good and elsewhere;
 * NULL: none is.
 */
static struct join_pair *best_of(const struct join *join,
                                 const struct join_pair *pair, int64_t number,
                                 int mark, const struct join_pair **rival)
{
    struct join_pair *best = NULL;
    int most = NEVER;
    *rival = NULL;
    for (int i = 0; i < join->pair_count; i++) {
        struct join_pair *other = &join->pairs[i];
        int points = fits(join, pair, other, number, mark);
        if (points > most) {
            best = other;
            *rival = NULL;
            most = points;
        } else if (points == most && best && !same_port(best, other)) {
            *rival = other;
        } else if (points == most && best && other->turn == pair->turn) {
            best = other;
        }
    }
    return best;
}

static int undecided(const struct join *join, const struct join_pair *pair,
                     int64_t number, const struct join_pair *one,
                     const struct join_pair *other)
{
    fprintf(stderr,
            "verbfault record: %s: queue pair %lld leads to one of number "
            "%lld, which may be queue pair %lld of %s or %lld of %s: it cannot "
            "be told which\n",
            join->file[pair->file].path, (long long)pair->id, (long long)number,
            (long long)one->id, join->file[one->file].path,
            (long long)other->id, join->file[other->file].path);
    return CLI_USAGE;
}

static int match_pair(struct join *join, struct join_pair *pair)
{
    const struct join_pair *rival, *best;
    best = best_of(join, pair, pair->leads_to, pair->mark, &rival);
    if (rival)
        return undecided(join, pair, pair->leads_to, best, rival);
    if (!best) {
        join->strangers++;
        return CLI_FINE;
    }
    join->met++;
    pair->peer_rank = best->rank;
    pair->peer_id = best->id;
    return CLI_FINE;
}

/* ---- datagrams ---- */

/* One datagram: to whom, and where its address handle leads. */
static int match_datagram(struct join *join, const struct join_pair *pair,
                          int64_t number, int64_t ah)
{
    struct join_handle *handle = join_handle(join, pair->rank, ah);
    const struct join_pair *rival, *best;
    if (number < 0 || number == 0xffffff || !handle || handle->to_rank >= 0)
        return CLI_FINE;
    best = best_of(join, pair, number, handle->mark, &rival);
    if (rival)
        return undecided(join, pair, number, best, rival);
    if (!best) {
        join->strangers++;
        return CLI_FINE;
    }
    join->met++;
    handle->to_rank = best->rank;
    handle->to_device = best->device;
    return CLI_FINE;
}

static int match_datagrams(struct join *join, const struct scn_call *call)
{
    const struct join_pair *pair = join_pair(
        join, call->rank, scn_number(scn_value(call->arguments, "qp"), 0));
    struct scn_piece words = call->details, word, value;
    int64_t ah = 0;
    int code = CLI_FINE;
    if (!pair || pair->type != IBV_QPT_UD)
        return CLI_FINE;
    while (code == CLI_FINE && words.text &&
           (word = scn_next_word(&words)).text) {
        if (scn_is_key(word, "ah", &value))
            ah = scn_number(value, 0);
        else if (scn_is_key(word, "dest", &value) && value.text[0] == '?')
            code = match_datagram(join, pair, join_part(value, 1), ah);
    }
    return code;
}

int join_match(struct join *join)
{
    int code = CLI_FINE;
    for (int i = 0; i < join->pair_count && code == CLI_FINE; i++)
        if (join->pairs[i].leads_to >= 0)
            code = match_pair(join, &join->pairs[i]);
    for (int i = 0; i < join->call_count && code == CLI_FINE; i++)
        if (join->calls[i].call.verb == VF_VERB_post_send)
            code = match_datagrams(join, &join->calls[i].call);
    return code;
}
