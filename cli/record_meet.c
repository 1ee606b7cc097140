/* verbfault record --join: what there is in the recordings. */
#include "cli/record_join.h"

#include <string.h>

#define ADD(join, what)                                                        \
    ((join)->what##s =                                                         \
         text_grow((join)->what##s, (join)->what##_count,                      \
                   &(join)->what##_room, sizeof *(join)->what##s),             \
     &(join)->what##s[(join)->what##_count++])

int64_t join_part(struct scn_piece value, int n)
{
    for (; value.text && n > 0; n--) {
        const char *colon = memchr(value.text, ':', value.length);
        if (!colon)
            return -1;
        value.length -= (size_t)(colon + 1 - value.text);
        value.text = colon + 1;
    }
    for (size_t i = 0; i < value.length; i++)
        if (value.text[i] == ':')
            value.length = i;
    return scn_number(value, -1);
}

struct join_pair *join_pair(const struct join *join, int rank, int64_t id)
{
    for (int i = 0; i < join->pair_count; i++)
        if (join->pairs[i].rank == rank && join->pairs[i].id == id)
            return &join->pairs[i];
    return NULL;
}

struct join_handle *join_handle(const struct join *join, int rank, int64_t id)
{
    for (int i = 0; i < join->handle_count; i++)
        if (join->handles[i].rank == rank && join->handles[i].id == id)
            return &join->handles[i];
    return NULL;
}

struct join_region *join_region(const struct join *join, int rank, int64_t id)
{
    for (int i = 0; i < join->region_count; i++)
        if (join->regions[i].rank == rank && join->regions[i].id == id)
            return &join->regions[i];
    return NULL;
}

static int64_t argument(const struct scn_call *call, const char *key)
{
    return scn_number(scn_value(call->arguments, key), -1);
}

static int64_t detail(const struct scn_call *call, const char *key)
{
    return scn_number(scn_value(call->details, key), -1);
}

/* The number of what the call made, of "KIND=7"; 0: nothing. */
static int64_t made(const struct scn_call *call)
{
    struct scn_piece words = call->answer;
    struct scn_piece word = scn_next_word(&words);
    const char *equals = word.text ? memchr(word.text, '=', word.length) : NULL;
    struct scn_piece id;
    if (!equals)
        return 0;
    id.text = equals + 1;
    id.length = (size_t)(word.text + word.length - id.text);
    return scn_number(id, 0);
}

static int device_of(const struct join *join, int rank, bool domain, int64_t id)
{
    for (int i = join->place_count; i-- > 0;) {
        const struct join_place *place = &join->places[i];
        if (place->rank == rank && place->domain == domain && place->id == id)
            return place->device;
    }
    return 0;
}

static void add_place(struct join *join, const struct scn_call *call,
                      bool domain)
{
    int device =
        domain ? device_of(join, call->rank, false, argument(call, "context"))
               : (int)argument(call, "device") - 1;
    struct join_place *place = ADD(join, place);
    place->rank = call->rank;
    place->domain = domain;
    place->id = made(call);
    place->device = device;
}

static void add_pair(struct join *join, const struct join_call *from)
{
    const struct scn_call *call = &from->call;
    struct join_pair *pair = ADD(join, pair);
    memset(pair, 0, sizeof *pair);
    pair->rank = call->rank;
    pair->file = from->file;
    pair->id = made(call);
    pair->type = (int)argument(call, "type");
    pair->device = device_of(join, call->rank, true, argument(call, "pd"));
    pair->number = detail(call, "num");
    pair->srq = detail(call, "srq");
    pair->leads_to = pair->rq_psn = pair->sq_psn = -1;
    pair->mark = pair->peer_rank = -1;
    for (int i = 0; i < join->pair_count - 1; i++) {
        const struct join_pair *other = &join->pairs[i];
        pair->turn += other->rank == pair->rank &&
                      other->device == pair->device &&
                      other->number == pair->number;
    }
}

static void add_region(struct join *join, const struct scn_call *call)
{
    struct scn_piece key = scn_value(call->details, "key");
    struct join_region *region = ADD(join, region);
    memset(region, 0, sizeof *region);
    region->rank = call->rank;
    region->id = made(call);
    region->key = (uint64_t)join_part(key, 0);
    region->address = (uint64_t)join_part(key, 1);
    region->length = (uint64_t)argument(call, "len");
}

static void add_handle(struct join *join, const struct join_call *from)
{
    const struct scn_call *call = &from->call;
    struct scn_piece to = scn_value(call->details, "to");
    struct join_handle *handle = ADD(join, handle);
    handle->rank = call->rank;
    handle->id = made(call);
    handle->mark = (int)detail(call, "mark");
    handle->to_rank = (int)join_part(to, 0);
    handle->to_device = (int)join_part(to, 1);
    if (handle->to_rank >= 0)
        handle->to_rank += join->base[from->file];
}

static void add_marks(struct join *join, const struct scn_call *call)
{
    bool table = scn_has_word(call->details, "table");
    int device = device_of(join, call->rank, false, argument(call, "context"));
    struct scn_piece words = call->details, word, value;
    while (words.text && (word = scn_next_word(&words)).text) {
        struct join_mark *mark;
        if (!scn_is_key(word, "mark", &value))
            continue;
        mark = ADD(join, mark);
        mark->rank = call->rank;
        mark->device = device;
        mark->mark = (int)scn_number(value, -1);
        mark->index = table ? -1 : argument(call, "index");
    }
}

/* The last way that worked counts. */
static void note_way(const struct join *join, const struct scn_call *call)
{
    struct join_pair *pair = join_pair(join, call->rank, argument(call, "qp"));
    struct scn_piece dest = scn_value(call->details, "dest");
    if (!pair || call->answer.text[0] != '0')
        return;
    if (dest.text && dest.text[0] == '?') {
        pair->leads_to = join_part(dest, 1);
        pair->mark = (int)detail(call, "mark");
        pair->peer_rank = -1;
    } else if (dest.text) {
        pair->peer_rank = (int)join_part(dest, 0) + join->base[pair->file];
        pair->peer_id = join_part(dest, 1);
    }
    if (detail(call, "rq_psn") >= 0)
        pair->rq_psn = detail(call, "rq_psn");
    if (detail(call, "sq_psn") >= 0)
        pair->sq_psn = detail(call, "sq_psn");
}

static void collect(struct join *join, const struct join_call *from)
{
    const struct scn_call *call = &from->call;
    switch (call->verb) {
    case VF_VERB_query_gid:
        add_marks(join, call);
        return;
    case VF_VERB_modify_qp:
        note_way(join, call);
        return;
    default:
        break;
    }
    if (made(call) == 0)
        return;
    switch (call->verb) {
    case VF_VERB_open_device:
        add_place(join, call, false);
        return;
    case VF_VERB_alloc_pd:
        add_place(join, call, true);
        return;
    case VF_VERB_create_qp:
        add_pair(join, from);
        return;
    case VF_VERB_reg_mr:
        add_region(join, call);
        return;
    case VF_VERB_create_ah:
        add_handle(join, from);
        return;
    default:
        return;
    }
}

void join_collect(struct join *join)
{
    for (int i = 0; i < join->call_count; i++)
        collect(join, &join->calls[i]);
}
