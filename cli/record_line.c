/* verbfault record --join: a line of one recording as one of all. */
#include "cli/record_join.h"

#include <infiniband/verbs.h>

/* A line that is being written. */
struct work {
    const struct join *join;
    const struct scn_call *call;
    const struct join_pair *pair; /* of a call of a queue pair; NULL */
    int base;
    bool keep;
    int64_t ah; /* of the datagram so far */
    bool any;   /* a detail is there already */
    struct text *text;
};

static void next(struct work *work)
{
    text_put(work->text, work->any ? " " : " ; ");
    work->any = true;
}

static void put_word(struct work *work, struct scn_piece word)
{
    next(work);
    text_put_n(work->text, word.text, word.length);
}

/* KEY=? */
static void put_nobody(struct work *work, const char *key,
                       struct scn_piece word)
{
    if (work->keep) {
        put_word(work, word);
        return;
    }
    next(work);
    text_add(work->text, "%s=?", key);
}

/* KEY=RANK:REST, the rank being the joined recording's. */
static void put_owner(struct work *work, const char *key,
                      struct scn_piece value)
{
    size_t rank = 0;
    while (rank < value.length && value.text[rank] != ':')
        rank++;
    next(work);
    text_add(work->text, "%s=%lld%.*s", key,
             (long long)join_part(value, 0) + work->base,
             (int)(value.length - rank), value.text + rank);
}

struct join_pair *join_receiver(const struct join *join, int rank, int64_t ah,
                                struct scn_piece dest, int base)
{
    const struct join_handle *handle = join_handle(join, rank, ah);
    int64_t number = join_part(dest, 1);
    if (dest.length > 0 && dest.text[0] != '?')
        return join_pair(join, (int)join_part(dest, 0) + base, number);
    for (int i = 0; handle && i < join->pair_count; i++) {
        struct join_pair *pair = &join->pairs[i];
        if (pair->rank == handle->to_rank &&
            pair->device == handle->to_device && pair->number == number &&
            pair->type == IBV_QPT_UD)
            return pair;
    }
    return NULL;
}

static void put_destination(struct work *work, struct scn_piece word,
                            struct scn_piece value)
{
    const struct join_pair *pair = work->pair, *to = NULL;
    int64_t number = join_part(value, 1);
    if (value.text[0] != '?') {
        put_owner(work, "dest", value);
        return;
    }
    if (work->call->verb == VF_VERB_post_send)
        to = join_receiver(work->join, work->call->rank, work->ah, value,
                           work->base);
    else if (pair && pair->peer_rank >= 0 && pair->leads_to == number)
        to = join_pair(work->join, pair->peer_rank, pair->peer_id);
    if (!to) {
        put_nobody(work, "dest", word);
        return;
    }
    next(work);
    text_add(work->text, "dest=%d:%lld", to->rank, (long long)to->id);
}

static void put_place(struct work *work, struct scn_piece word,
                      struct scn_piece value, int64_t made)
{
    const struct join_handle *handle =
        join_handle(work->join, work->call->rank, made);
    if (value.text[0] != '?') {
        put_owner(work, "to", value);
    } else if (!handle || handle->to_rank < 0) {
        put_word(work, word);
    } else {
        next(work);
        text_add(work->text, "to=%d:%d", handle->to_rank, handle->to_device);
    }
}

static void put_remote(struct work *work, struct scn_piece word,
                       struct scn_piece value)
{
    uint64_t key = (uint64_t)join_part(value, 1);
    uint64_t address = (uint64_t)join_part(value, 2);
    if (value.text[0] != '?') {
        put_owner(work, "remote", value);
        return;
    }
    for (int i = work->join->region_count;
         work->pair && work->pair->peer_rank >= 0 && i-- > 0;) {
        const struct join_region *region = &work->join->regions[i];
        uint32_t offset = (uint32_t)(address - region->address);
        if (region->rank != work->pair->peer_rank || region->key != key ||
            offset >= region->length)
            continue;
        next(work);
        text_add(work->text, "remote=%d:%lld:%u", region->rank,
                 (long long)region->id, (unsigned)offset);
        return;
    }
    put_nobody(work, "remote", word);
}

/* The index of the address in the table of whom the path leads to. */
static void put_gid(struct work *work, struct scn_piece word, int64_t made)
{
    const struct join *join = work->join;
    const struct join_handle *handle =
        join_handle(join, work->call->rank, made);
    int64_t mark = scn_number(scn_value(work->call->details, "mark"), -1);
    int rank = handle ? handle->to_rank : -1;
    int device = handle ? handle->to_device : -1;
    if (work->pair && work->pair->peer_rank >= 0) {
        const struct join_pair *peer =
            join_pair(join, work->pair->peer_rank, work->pair->peer_id);
        rank = work->pair->peer_rank;
        device = peer ? peer->device : -1;
    }
    for (int i = 0; i < join->mark_count && mark >= 0; i++) {
        const struct join_mark *own = &join->marks[i];
        if (own->rank != rank || own->device != device || own->index < 0 ||
            own->mark != mark)
            continue;
        next(work);
        text_add(work->text, "gid=%lld", (long long)own->index);
        return;
    }
    put_word(work, word);
}

static void put_detail(struct work *work, struct scn_piece word, int64_t made)
{
    struct scn_piece value;
    if (!work->keep &&
        (scn_is_key(word, "num", &value) || scn_is_key(word, "key", &value) ||
         scn_is_key(word, "mark", &value)))
        return;
    if (scn_is_key(word, "ah", &value))
        work->ah = scn_number(value, 0);
    if (scn_is_key(word, "dest", &value))
        put_destination(work, word, value);
    else if (scn_is_key(word, "to", &value))
        put_place(work, word, value, made);
    else if (scn_is_key(word, "remote", &value))
        put_remote(work, word, value);
    else if (scn_is_key(word, "gid", &value) && value.text[0] == '?')
        put_gid(work, word, made);
    else
        put_word(work, word);
}

void join_line(const struct join *join, const struct join_call *from, bool keep,
               struct text *text)
{
    const struct scn_call *call = &from->call;
    struct work work = {.join = join,
                        .call = call,
                        .base = join->base[from->file],
                        .keep = keep,
                        .text = text};
    struct scn_piece words = call->details, word, answer = call->answer;
    struct scn_piece value = {NULL, 0};
    int64_t made = 0;
    if (call->verb == VF_VERB_create_ah &&
        scn_is_key(scn_next_word(&answer), "ah", &value))
        made = scn_number(value, 0);
    work.pair = join_pair(join, call->rank,
                          scn_number(scn_value(call->arguments, "qp"), 0));
    text_put_n(
        text, call->line.text,
        (size_t)(call->answer.text + call->answer.length - call->line.text));
    while (words.text && (word = scn_next_word(&words)).text)
        put_detail(&work, word, made);
}
