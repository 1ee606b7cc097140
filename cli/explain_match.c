/*
 * Where messages went, and what became of objects.
 *
 * One walk over the items. A queue pair is known by its rank and number; so are
 * its domain's context, that one's device, and by the cables the device at its
 * other end.
 */
#include "cli/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A queue pair, and what was posted to it. */
struct pair {
    int rank;
    unsigned id, context;
    char device[SCN_NAME_MAX];
    int group;  /* the `run` in which it was made */
    bool waits; /* a SEND that finds no receive */
};

/* A receive that was posted. */
struct receive {
    int rank, pair;
    unsigned long long wr_id;
    int from;  /* the item that it has the message of; -1: none yet */
    bool over; /* completed */
};

/* A SEND that was posted. */
struct send {
    int pair, item;
    bool given, lost;
};

struct match {
    struct explain *explain;
    bool waits; /* by the profile, over UC and UD */
    int phase[SCN_RANKS_MAX];
    struct pair *pairs;
    struct receive *receives;
    struct send *sends;
    int pair_count, pair_room, receive_count, receive_room;
    int send_count, send_room;
};

/* ---- words of a line ----------------------------------------------------- */

/* The value of "label=" among the arguments; false: it has none. */
static bool argument(const char *line, const char *label,
                     unsigned long long *value)
{
    size_t length = strlen(label);
    for (const char *at = strchr(line, '('); at; at = strchr(at + 1, ' ')) {
        if (strncmp(at + 1, label, length) == 0 && at[1 + length] == '=') {
            *value = strtoull(at + 2 + length, NULL, 0);
            return true;
        }
        if (at[0] == ' ' && at[1] == '=')
            return false; /* the answer */
    }
    return false;
}

/* "mr=3" behind "= ": what was made. */
static bool made(const char *line, char *kind, size_t room, unsigned *id)
{
    const char *answer = strstr(line, ") = "), *equals;
    if (!answer)
        return false;
    answer += 4;
    equals = strchr(answer, '=');
    if (!equals || equals == answer || answer[0] < 'a' || answer[0] > 'z' ||
        equals[1] < '0' || equals[1] > '9')
        return false;
    snprintf(kind, room, "%.*s", (int)(equals - answer), answer);
    *id = (unsigned)strtoul(equals + 1, NULL, 10);
    return true;
}

/* ---- objects ------------------------------------------------------------- */

static struct explain_object *object(struct explain *explain, int rank,
                                     const char *kind, unsigned id)
{
    for (int i = explain->object_count - 1; i >= 0; i--) {
        struct explain_object *it = &explain->objects[i];
        if (it->rank == rank && it->id == id && strcmp(it->kind, kind) == 0)
            return it;
    }
    return NULL;
}

static void add_object(struct explain *explain, int item, const char *kind,
                       unsigned id)
{
    struct explain_object *it;
    explain->objects =
        text_grow(explain->objects, explain->object_count,
                  &explain->object_room, sizeof *explain->objects);
    it = &explain->objects[explain->object_count++];
    memset(it, 0, sizeof *it);
    it->rank = explain->items[item].rank;
    it->made = item;
    it->released = -1;
    it->id = id;
    snprintf(it->kind, sizeof it->kind, "%s", kind);
}

/* "dereg_mr(mr=3) = 0" */
static void release_object(struct explain *explain, int item)
{
    const char *line = explain->items[item].text, *open = strchr(line, '(');
    struct explain_object *it;
    char kind[24];
    if (!open || !strchr(open, '='))
        return;
    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(open + 1, "="), open + 1);
    it = object(explain, explain->items[item].rank, kind,
                (unsigned)strtoul(strchr(open, '=') + 1, NULL, 10));
    if (it)
        it->released = item;
}

/* ---- who is at the other end --------------------------------------------- */

static int item_of(const struct match *match, int rank, const char *kind,
                   unsigned id)
{
    const struct explain_object *it = object(match->explain, rank, kind, id);
    return it ? it->made : -1;
}

static const char *line_of(const struct match *match, int item)
{
    return item < 0 ? "" : match->explain->items[item].text;
}

/* The name of a rank's n-th device, from 1. */
static const char *device_name(const struct match *match, int rank, int n)
{
    const struct scn_statement *device =
        scn_device(&match->explain->complete, rank, n - 1);
    return device ? device->u.device.name : "";
}

static void add_pair(struct match *match, int item, unsigned id)
{
    const struct explain_item *it = &match->explain->items[item];
    unsigned long long pd = 0, context = 0, device = 0, type = 0;
    struct pair *pair;
    match->pairs = text_grow(match->pairs, match->pair_count, &match->pair_room,
                             sizeof *match->pairs);
    pair = &match->pairs[match->pair_count++];
    memset(pair, 0, sizeof *pair);
    pair->rank = it->rank;
    pair->id = id;
    pair->group = match->phase[it->rank];
    argument(it->text, "type", &type);
    pair->waits = match->waits || type == 2; /* RC tries again */
    argument(it->text, "pd", &pd);
    argument(line_of(match, item_of(match, it->rank, "pd", (unsigned)pd)),
             "context", &context);
    argument(
        line_of(match, item_of(match, it->rank, "context", (unsigned)context)),
        "device", &device);
    pair->context = (unsigned)context;
    snprintf(pair->device, sizeof pair->device, "%s",
             device_name(match, it->rank, (int)device));
}

static int find_pair(const struct match *match, int rank, unsigned id)
{
    for (int i = match->pair_count - 1; i >= 0; i--)
        if (match->pairs[i].rank == rank && match->pairs[i].id == id)
            return i;
    return -1;
}

/* By the cables; false: it is joined to nothing. */
static bool across(const struct match *match, const struct pair *pair,
                   int *rank, const char **device)
{
    for (int i = 0; i < match->explain->complete.count; i++) {
        const struct scn_statement *it =
            &match->explain->complete.statements[i];
        if (it->kind != SCN_CABLE)
            continue;
        if (it->rank == pair->rank &&
            strcmp(it->u.cable.name, pair->device) == 0) {
            *rank = it->u.cable.other_rank;
            *device = it->u.cable.other_name;
            return true;
        }
        if (it->u.cable.other_rank == pair->rank &&
            strcmp(it->u.cable.other_name, pair->device) == 0) {
            *rank = it->rank;
            *device = it->u.cable.name;
            return true;
        }
    }
    return false;
}

static bool is_beside(const struct pair *pair, int rank, const char *device,
                      int group)
{
    return pair->rank == rank && pair->group == group &&
           strcmp(pair->device, device) == 0;
}

/* Where a device has several, as in a ring of two ranks, one's first leads to
 * the other's last: left to right. */
static int peer_of(const struct match *match, int number)
{
    const struct pair *pair = &match->pairs[number];
    const char *device;
    int rank, place = 0, there = 0;
    if (!across(match, pair, &rank, &device))
        return -1;
    for (int i = 0; i < match->pair_count; i++) {
        if (i < number &&
            is_beside(&match->pairs[i], pair->rank, pair->device, pair->group))
            place++;
        there += is_beside(&match->pairs[i], rank, device, pair->group);
    }
    for (int i = 0; i < match->pair_count; i++)
        if (is_beside(&match->pairs[i], rank, device, pair->group) &&
            place == --there)
            return i;
    return -1;
}

/* ---- SENDs and receives -------------------------------------------------- */

static struct receive *free_receive(struct match *match, int pair)
{
    for (int i = 0; i < match->receive_count; i++)
        if (match->receives[i].pair == pair && match->receives[i].from < 0 &&
            !match->receives[i].over)
            return &match->receives[i];
    return NULL;
}

/* The sends of a pair go to the receives at its other end, in order. */
static void pump(struct match *match, int pair)
{
    int peer = peer_of(match, pair);
    for (int i = 0; i < match->send_count && peer >= 0; i++) {
        struct send *send = &match->sends[i];
        struct receive *receive;
        if (send->pair != pair || send->given || send->lost)
            continue;
        receive = free_receive(match, peer);
        if (receive) {
            receive->from = send->item;
            send->given = true;
        } else if (!match->pairs[pair].waits) {
            send->lost = true;
        } else {
            break;
        }
    }
}

static void post_send(struct match *match, int item, int pair)
{
    struct send *send;
    match->sends = text_grow(match->sends, match->send_count, &match->send_room,
                             sizeof *match->sends);
    send = &match->sends[match->send_count++];
    memset(send, 0, sizeof *send);
    send->pair = pair;
    send->item = item;
    pump(match, pair);
}

static void post_receive(struct match *match, int rank, int pair,
                         unsigned long long wr_id)
{
    struct receive *receive;
    int peer;
    match->receives = text_grow(match->receives, match->receive_count,
                                &match->receive_room, sizeof *match->receives);
    receive = &match->receives[match->receive_count++];
    memset(receive, 0, sizeof *receive);
    receive->rank = rank;
    receive->pair = pair;
    receive->wr_id = wr_id;
    receive->from = -1;
    peer = peer_of(match, pair);
    if (peer >= 0)
        pump(match, peer);
}

static void add_message(struct explain *explain, int from, int to, long bytes,
                        bool channel)
{
    struct explain_message *message;
    explain->messages =
        text_grow(explain->messages, explain->message_count,
                  &explain->message_room, sizeof *explain->messages);
    message = &explain->messages[explain->message_count++];
    memset(message, 0, sizeof *message);
    message->from = from;
    message->to = to;
    message->bytes = bytes;
    message->channel = channel;
    explain->items[from].message = explain->items[to].message = true;
}

/* The oldest receive with that number, if it can be of that context. */
static void complete(struct match *match, int item, unsigned context,
                     unsigned long long wr_id, long bytes)
{
    int rank = match->explain->items[item].rank;
    for (int i = 0; i < match->receive_count; i++) {
        struct receive *receive = &match->receives[i];
        if (receive->over || receive->rank != rank || receive->wr_id != wr_id ||
            (context && match->pairs[receive->pair].context != context))
            continue;
        receive->over = true;
        if (receive->from >= 0)
            add_message(match->explain, receive->from, item, bytes, false);
        return;
    }
}

/* "poll_cq(cq=1, room=4) = 2 [wr_id=0x100 RECV SUCCESS len=4096] [...]" */
static void poll(struct match *match, int item)
{
    const struct explain_item *it = &match->explain->items[item];
    unsigned long long cq = 0, context = 0;
    argument(it->text, "cq", &cq);
    argument(line_of(match, item_of(match, it->rank, "cq", (unsigned)cq)),
             "context", &context);
    for (const char *at = strstr(it->text, "[wr_id="); at;
         at = strstr(at + 1, "[wr_id=")) {
        const char *recv = strstr(at, " RECV SUCCESS len=");
        if (recv && recv < strchr(at, ']'))
            complete(match, item, (unsigned)context, strtoull(at + 7, NULL, 0),
                     strtol(recv + 18, NULL, 10));
    }
}

static bool answers_zero(const char *line)
{
    const char *answer = strstr(line, ") = ");
    return answer && answer[4] == '0';
}

/* A line names the opcode unless it is SEND. */
static bool is_send(const char *line)
{
    const char *opcode = strstr(line, "opcode=");
    return !opcode || strncmp(opcode + 7, "SEND", 4) == 0;
}

static void post(struct match *match, int item)
{
    const struct explain_item *it = &match->explain->items[item];
    unsigned long long qp = 0, wr_id = 0;
    int pair;
    if (!argument(it->text, "qp", &qp) || !answers_zero(it->text))
        return;
    pair = find_pair(match, it->rank, (unsigned)qp);
    argument(it->text, "wr_id", &wr_id);
    if (pair < 0)
        return;
    if (it->verb == VF_VERB_post_send && is_send(it->text))
        post_send(match, item, pair);
    else if (it->verb == VF_VERB_post_recv)
        post_receive(match, it->rank, pair, wr_id);
}

/* ---- the side channel ---------------------------------------------------- */

/* Bytes that were sent and not yet read, between each two ranks: which item
 * sent those that come next, and how many of its bytes are left. */
struct stream {
    int item;
    long left;
};

static int next_sent(const struct explain *explain, int from, int rank,
                     int peer)
{
    for (int i = from; i < explain->count; i++)
        if (explain->items[i].kind == EXPLAIN_SENT &&
            explain->items[i].rank == rank && explain->items[i].peer == peer &&
            explain->items[i].bytes > 0)
            return i;
    return explain->count;
}

static void receive_bytes(struct explain *explain, int item,
                          struct stream *stream)
{
    struct explain_item *it = &explain->items[item];
    long wanted = it->bytes;
    while (wanted > 0) {
        long take;
        if (stream->left == 0) {
            stream->item =
                next_sent(explain, stream->item + 1, it->peer, it->rank);
            if (stream->item >= item) { /* it cannot be */
                stream->item = item;
                return;
            }
            stream->left = explain->items[stream->item].bytes;
        }
        take = wanted < stream->left ? wanted : stream->left;
        add_message(explain, stream->item, item, take, true);
        stream->left -= take;
        wanted -= take;
    }
}

static void match_channel(struct explain *explain)
{
    static struct stream streams[SCN_RANKS_MAX][SCN_RANKS_MAX];
    for (int i = 0; i < SCN_RANKS_MAX; i++)
        for (int k = 0; k < SCN_RANKS_MAX; k++)
            streams[i][k] = (struct stream){-1, 0};
    for (int i = 0; i < explain->count; i++) {
        const struct explain_item *it = &explain->items[i];
        if (it->kind == EXPLAIN_RECEIVED && it->peer >= 0)
            receive_bytes(explain, i, &streams[it->peer][it->rank]);
    }
}

/* ---- the walk ------------------------------------------------------------ */

static void take_call(struct match *match, int item)
{
    struct explain *explain = match->explain;
    const struct explain_item *it = &explain->items[item];
    char kind[24];
    unsigned id;
    if (made(it->text, kind, sizeof kind, &id)) {
        add_object(explain, item, kind, id);
        if (strcmp(kind, "qp") == 0)
            add_pair(match, item, id);
    }
    if (it->release)
        release_object(explain, item);
    if (it->verb == VF_VERB_poll_cq)
        poll(match, item);
    else
        post(match, item);
}

void explain_match(struct explain *explain)
{
    struct match match = {.explain = explain,
                          .waits = scn_profile(explain->scenario)->send_waits};
    for (int i = 0; i < explain->count; i++) {
        const struct explain_item *it = &explain->items[i];
        if (it->kind == EXPLAIN_BEGIN)
            match.phase[it->rank] = it->statement;
        if (it->kind == EXPLAIN_CALL)
            take_call(&match, i);
    }
    match_channel(explain);
    free(match.pairs);
    free(match.receives);
    free(match.sends);
}
