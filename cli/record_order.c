/*
 * verbfault record --join: the order of the calls.
 *
 * Of the files' next calls one is taken that finds what it needs; what takes
 * something away from others only if there is no other. If none finds it, a
 * poll: the replay lets it wait. A file's own calls never change places.
 */
#include "cli/record_join.h"

#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>

/* In the order in which they are taken. */
enum turn { READY, LAST, WAITS, BLOCKED, OVER };

struct order {
    struct join *join;
    int64_t arrived[SCN_RANKS_MAX], found[SCN_RANKS_MAX]; /* messages */
    int next[SCN_RANKS_MAX];                              /* of each file */
};

static struct join_pair *pair_of(const struct order *order,
                                 const struct scn_call *call)
{
    return join_pair(order->join, call->rank,
                     scn_number(scn_value(call->arguments, "qp"), 0));
}

static bool takes_receive(int64_t opcode)
{
    return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
           opcode == IBV_WR_SEND_WITH_INV ||
           opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

/* Messages of a post that take a receive. */
static int messages(const struct scn_call *call)
{
    struct scn_piece words = call->details, word, value;
    int count = 0;
    while (words.text && (word = scn_next_word(&words)).text)
        count += scn_is_key(word, "op", &value) &&
                 takes_receive(scn_number(value, -1));
    return count;
}

/* Messages that a poll found. */
static int found(const struct scn_call *call)
{
    static const char receive[] = " RECV", also[] = "/RECV";
    const size_t length = sizeof receive - 1;
    struct scn_piece pieces[] = {call->answer, call->details};
    int count = 0;
    for (size_t i = 0; i < 2; i++)
        for (size_t at = 0; pieces[i].text && at + length <= pieces[i].length;
             at++)
            count += memcmp(pieces[i].text + at, receive, length) == 0 ||
                     memcmp(pieces[i].text + at, also, length) == 0;
    return count;
}

static int64_t *receives(struct order *order, int rank, int64_t srq)
{
    for (int i = 0; i < order->join->pair_count; i++)
        if (order->join->pairs[i].rank == rank &&
            order->join->pairs[i].srq == srq)
            return &order->join->pairs[i].received;
    return NULL;
}

/* The first one that has the shared queue counts for all of them. */
static struct join_pair *counter(struct order *order, struct join_pair *pair)
{
    for (int i = 0; pair->srq > 0 && i < order->join->pair_count; i++)
        if (order->join->pairs[i].rank == pair->rank &&
            order->join->pairs[i].srq == pair->srq)
            return &order->join->pairs[i];
    return pair;
}

static bool regions_are_there(const struct order *order,
                              const struct scn_call *call)
{
    const struct join_pair *pair = pair_of(order, call);
    struct scn_piece words = call->details, word, value;
    while (words.text && (word = scn_next_word(&words)).text) {
        uint64_t key;
        if (!scn_is_key(word, "remote", &value) || value.text[0] != '?')
            continue;
        key = (uint64_t)join_part(value, 1);
        for (int i = 0; i < order->join->region_count; i++) {
            const struct join_region *region = &order->join->regions[i];
            if (region->rank == pair->peer_rank && region->key == key &&
                region->there)
                key = 0;
        }
        if (key != 0)
            return false;
    }
    return true;
}

/* Datagrams of a post: may they be sent; or they are. */
static bool send_datagrams(struct order *order, const struct join_pair *pair,
                           const struct scn_call *call, bool take)
{
    struct scn_piece words = call->details, word, value;
    int64_t ah = 0;
    while (words.text && (word = scn_next_word(&words)).text) {
        struct join_pair *peer;
        if (scn_is_key(word, "ah", &value))
            ah = scn_number(value, 0);
        if (!scn_is_key(word, "dest", &value))
            continue;
        peer = join_receiver(order->join, call->rank, ah, value,
                             order->join->base[pair->file]);
        if (!peer)
            continue;
        if (!take && (!peer->ready || counter(order, peer)->sent >=
                                          counter(order, peer)->received))
            return false;
        counter(order, peer)->sent += take;
        order->arrived[peer->rank] += take;
    }
    return true;
}

static bool may_send(struct order *order, const struct scn_call *call)
{
    struct join_pair *pair = pair_of(order, call), *peer;
    if (pair && pair->type == IBV_QPT_UD)
        return send_datagrams(order, pair, call, false);
    if (!pair || pair->peer_rank < 0)
        return true;
    peer = join_pair(order->join, pair->peer_rank, pair->peer_id);
    if (!peer)
        return true;
    if (!peer->ready || !regions_are_there(order, call))
        return false;
    peer = counter(order, peer);
    return peer->sent + messages(call) <= peer->received;
}

static bool is_ending(const struct scn_call *call)
{
    struct scn_piece state = scn_value(call->arguments, "state");
    switch (call->verb) {
    case VF_VERB_dereg_mr:
    case VF_VERB_destroy_qp:
    case VF_VERB_close_device:
        return true;
    case VF_VERB_modify_qp:
        return state.length >= 3 && (memcmp(state.text, "ERR", 3) == 0 ||
                                     memcmp(state.text, "RES", 3) == 0);
    default:
        return false;
    }
}

static enum turn turn_of(struct order *order, const struct scn_call *call)
{
    const struct join_pair *pair, *peer;
    switch (call->verb) {
    case VF_VERB_modify_qp:
        pair = pair_of(order, call);
        peer = pair && pair->peer_rank >= 0 &&
                       scn_value(call->details, "dest").text
                   ? join_pair(order->join, pair->peer_rank, pair->peer_id)
                   : NULL;
        if (peer && !peer->there)
            return BLOCKED;
        break;
    case VF_VERB_post_send:
        return may_send(order, call) ? READY : BLOCKED;
    case VF_VERB_poll_cq:
        return order->found[call->rank] + found(call) <=
                       order->arrived[call->rank]
                   ? READY
                   : WAITS;
    default:
        break;
    }
    return is_ending(call) ? LAST : READY;
}

/* ---- what a call that is taken makes possible ---- */

static void note_send(struct order *order, const struct scn_call *call)
{
    struct join_pair *pair = pair_of(order, call), *peer = NULL;
    int count = messages(call);
    if (pair && pair->type == IBV_QPT_UD) {
        send_datagrams(order, pair, call, true);
        return;
    }
    if (pair && pair->peer_rank >= 0)
        peer = join_pair(order->join, pair->peer_rank, pair->peer_id);
    if (!peer)
        return;
    counter(order, peer)->sent += count;
    order->arrived[peer->rank] += count;
}

static void note_receives(struct order *order, const struct scn_call *call)
{
    struct join_pair *pair = pair_of(order, call);
    struct scn_piece words = call->details, word, value;
    int64_t *count =
        call->verb == VF_VERB_post_recv
            ? (pair ? &pair->received : NULL)
            : receives(order, call->rank,
                       scn_number(scn_value(call->arguments, "srq"), -2));
    if (!count || call->answer.text[0] != '0')
        return;
    (*count)++;
    while (words.text && (word = scn_next_word(&words)).text)
        *count += scn_is_key(word, "next", &value);
}

static void note_state(struct order *order, const struct scn_call *call)
{
    struct join_pair *pair = pair_of(order, call);
    struct scn_piece state = scn_value(call->arguments, "state");
    if (pair && state.length >= 2 && memcmp(state.text, "RT", 2) == 0)
        pair->ready = true;
}

static void note_made(struct order *order, const struct scn_call *call)
{
    struct scn_piece words = call->answer, value;
    struct scn_piece word = scn_next_word(&words);
    struct join_pair *pair =
        word.text && scn_is_key(word, "qp", &value)
            ? join_pair(order->join, call->rank, scn_number(value, 0))
            : NULL;
    struct join_region *region =
        word.text && scn_is_key(word, "mr", &value)
            ? join_region(order->join, call->rank, scn_number(value, 0))
            : NULL;
    if (pair)
        pair->there = true;
    if (region)
        region->there = true;
}

static void note(struct order *order, const struct scn_call *call)
{
    switch (call->verb) {
    case VF_VERB_post_send:
        note_send(order, call);
        break;
    case VF_VERB_post_recv:
    case VF_VERB_post_srq_recv:
        note_receives(order, call);
        break;
    case VF_VERB_modify_qp:
        note_state(order, call);
        break;
    case VF_VERB_poll_cq:
        order->found[call->rank] += found(call);
        break;
    default:
        note_made(order, call);
        break;
    }
}

int *join_order(struct join *join)
{
    struct order order = {.join = join};
    int room = 0;
    int *places = text_grow(NULL, join->call_count, &room, sizeof *places);
    for (int file = 0; file < join->files; file++)
        order.next[file] = join->begins[file];
    for (int n = 0; n < join->call_count; n++) {
        enum turn best = OVER;
        int from = 0;
        for (int file = 0; file < join->files && best != READY; file++) {
            enum turn turn = OVER;
            if (order.next[file] < join->begins[file + 1])
                turn = turn_of(&order, &join->calls[order.next[file]].call);
            if (turn < best) {
                best = turn;
                from = file;
            }
        }
        places[n] = order.next[from]++;
        note(&order, &join->calls[places[n]].call);
    }
    return places;
}
