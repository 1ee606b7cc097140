#include "destination.h"

#include "error.h"
#include "side.h"
#include "topology.h"

#include <string.h>

_Static_assert(sizeof(struct cji_destination) == 32, "JACCL's 32 bytes");

/* In the place of a GID and a queue pair: no real pair of them looks so. */
#define CARD_QP_NUM 0x434a434c
static const unsigned char card_text[16] = "cjaccl group 2";

/* What a vector is of. */
enum side { MESH, LEFT, RIGHT };

/* A vector of every rank; the first `count` of `mine` are this rank's. */
struct table {
    enum side side;
    int count; /* of each rank */
    struct cji_destination mine[CJ_MAX_MESH_RANKS];
    struct cji_destination of[CJ_MAX_RANKS * CJ_MAX_WIRES];
};

_Static_assert(CJ_MAX_MESH_RANKS *CJ_MAX_MESH_RANKS <=
                   CJ_MAX_RANKS * CJ_MAX_WIRES,
               "a table holds a mesh, too");

/* FNV-1a. */
#define HASH_START 2166136261u
static uint32_t hash(uint32_t value, const void *data, size_t size)
{
    const unsigned char *bytes = data;

    for (size_t i = 0; i < size; i++)
        value = (value ^ bytes[i]) * 16777619u;
    return value;
}

/* Never 0, which is what a JACCL rank sends in its place. */
static int32_t positive(uint32_t value)
{
    return value == 0 || value > INT32_MAX ? (int32_t)(value % INT32_MAX) + 1
                                           : (int32_t)value;
}

static int32_t mark(const struct cji_destination *element, enum side side)
{
    struct cji_destination bare = *element;
    unsigned char first = (unsigned char)(side == LEFT ? 'l' : 'r');
    uint32_t value = hash(HASH_START, &first, sizeof first);

    bare.padding = 0;
    value = hash(value, card_text, sizeof card_text);
    return positive(hash(value, &bare, sizeof bare));
}

static void write_card(struct cji_destination *card)
{
    memset(card, 0, sizeof *card);
    card->lid = -1;
    card->qp_num = CARD_QP_NUM;
    card->psn = CJI_PSN;
    memcpy(card->gid, card_text, sizeof card->gid);
}

static bool is_card(const struct cji_destination *card)
{
    return card->qp_num == CARD_QP_NUM &&
           memcmp(card->gid, card_text, sizeof card_text) == 0;
}

/* Of a rank that could not start, and of what leads nowhere. */
static void describe(const struct cj_group *group, const struct cji_link *link,
                     struct cji_destination *mine)
{
    write_card(mine);
    if (group->error.code != CJ_OK)
        return;
    mine->lid = link->device->lid;
    mine->qp_num = (int32_t)link->qp->qp_num;
    memcpy(mine->gid, link->device->gid.raw, sizeof mine->gid);
}

/* The link's place in this rank's vector, or -1. */
static int place_of(const struct cji_link *link, enum side side)
{
    if (side == MESH)
        return link->peer;
    return link->to_left == (side == LEFT) ? link->wire : -1;
}

static void describe_all(const struct cj_group *group, struct table *table)
{
    if (table->side == MESH)
        write_card(&table->mine[group->rank]);
    for (int i = 0; i < group->link_count; i++) {
        int place = place_of(&group->links[i], table->side);

        if (place < 0)
            continue;
        describe(group, &group->links[i], &table->mine[place]);
        if (table->side != MESH)
            table->mine[place].padding = mark(&table->mine[place], table->side);
    }
}

static int fail_sockets(struct cj_group *group, int rank)
{
    return cji_fail(group, CJ_PROTOCOL, cji_about_peer(rank, 0),
                    "rank %d was told to use sockets, and this one RDMA: give "
                    "all ranks the same backend",
                    rank);
}

static int fail_length(struct cj_group *group, int rank, int theirs, int mine)
{
    if (theirs == CJI_LENGTH_SOCKETS)
        return fail_sockets(group, rank);
    if (group->ring)
        return cji_fail(group, CJ_PROTOCOL, cji_about_peer(rank, 0),
                        "rank %d has %d queue pairs to tell of, and this one, "
                        "in a ring of %d wires, %d: give all of them the same "
                        "device file, and the same wish for a ring or a mesh",
                        rank, theirs, group->wires, mine);
    return cji_fail(group, CJ_PROTOCOL, cji_about_peer(rank, 0),
                    "rank %d is in a group of %d ranks (or in a ring of %d "
                    "wires), this one in a group of %d: give all of them the "
                    "same device file, and the same wish for a ring or a mesh",
                    rank, theirs, theirs, mine);
}

/* What was to be rank 0 has sent bytes that no rank sends. */
static int fail_foreign(struct cj_group *group)
{
    const struct cji_address *address = &group->coordinator;

    return cji_fail(group, CJ_PROTOCOL, cji_about_peer(0, 0),
                    "what listens at the coordinator's address %.200s port %u "
                    "does not speak JACCL's side channel: it is another "
                    "program (a web server, ...), or rank 0 is of a version "
                    "that does not fit; is that address rank 0's, and is its "
                    "port free for it?",
                    address->host, address->port);
}

static bool is_length(int32_t length)
{
    return length == CJI_LENGTH_SOCKETS ||
           (length > 0 && length <= CJ_MAX_RANKS);
}

/* Lengths as ranks have them; a caller's own all-gather is no foreigner. */
static int check_lengths(struct cj_group *group, const int32_t *all)
{
    for (int rank = 0; rank < group->size; rank++) {
        if (!is_length(all[rank]) && group->rank != 0 &&
            group->gather.all_gather == NULL)
            return fail_foreign(group);
    }
    return CJ_OK;
}

static int exchange_lengths(struct cj_group *group, int32_t mine)
{
    int32_t all[CJ_MAX_RANKS];
    int status = cji_side_gather(group, &mine, all, sizeof mine);

    if (status == CJ_OK)
        status = check_lengths(group, all);
    for (int rank = 0; status == CJ_OK && rank < group->size; rank++) {
        if (all[rank] != mine)
            status = fail_length(group, rank, all[rank], mine);
    }
    return status;
}

int cji_destinations_decline(struct cj_group *group)
{
    const int32_t mine = CJI_LENGTH_SOCKETS;
    int32_t all[CJ_MAX_RANKS];
    int status;

    group->step = CJ_STEP_EXCHANGE;
    status = cji_side_gather(group, &mine, all, sizeof mine);
    if (status == CJ_OK)
        status = check_lengths(group, all);
    for (int rank = 0; status == CJ_OK && rank < group->size; rank++) {
        if (all[rank] != mine)
            status = cji_fail(group, CJ_PROTOCOL, cji_about_peer(rank, 0),
                              "rank %d was told to use RDMA, and this one "
                              "sockets: give all ranks the same backend",
                              rank);
    }
    return status;
}

/* Rank 0 hands everybody's list to everybody, one's own included. */
static int check_own(struct cj_group *group, const struct table *table)
{
    size_t bytes = (size_t)table->count * sizeof *table->mine;

    if (memcmp(&table->of[group->rank * table->count], table->mine, bytes) == 0)
        return CJ_OK;
    return cji_fail(group, CJ_PROTOCOL, cji_about_peer(0, 0),
                    "what rank %d told rank 0 came back changed: rank 0 has "
                    "another number of ranks, or the side channel between them "
                    "alters bytes, which no network should; start again with "
                    "one device file",
                    group->rank);
}

static bool has_marks(const struct table *table, enum side side, int rank)
{
    for (int i = 0; i < table->count; i++) {
        const struct cji_destination *element =
            &table->of[rank * table->count + i];

        if (element->padding != mark(element, side))
            return false;
    }
    return true;
}

static bool has_card(const struct cj_group *group, const struct table *table,
                     int rank)
{
    return table->count == group->size &&
           is_card(&table->of[rank * table->count + rank]);
}

static int fail_topology(struct cj_group *group, int rank)
{
    const char *mine = group->ring ? "a ring" : "a mesh";
    const char *theirs = group->ring ? "a mesh" : "a ring";

    return cji_fail(group, CJ_PROTOCOL, cji_about_peer(rank, 0),
                    "rank %d builds %s, and this one %s: give all of them the "
                    "same device file, and the same wish for a ring or a mesh",
                    rank, theirs, mine);
}

/* Who is cjaccl, and whether those who are build the same. */
static int recognize(struct cj_group *group, const struct table *table,
                     struct cji_exchange_result *result)
{
    int status = CJ_OK;

    for (int rank = 0; status == CJ_OK && rank < group->size; rank++) {
        bool mesh = has_card(group, table, rank);
        bool ring = has_marks(table, table->side == RIGHT ? RIGHT : LEFT, rank);

        if (group->ring ? mesh && !ring : ring && !mesh)
            status = fail_topology(group, rank);
        if (!(group->ring ? ring : mesh) && result->stranger < 0)
            result->stranger = rank;
    }
    return status;
}

static void find_theirs(const struct cj_group *group, const struct table *table,
                        struct cji_exchange_result *result)
{
    for (int i = 0; i < group->link_count; i++) {
        const struct cji_link *link = &group->links[i];
        int place = group->rank;

        if (table->side != MESH) {
            /* What leads to one's left is the neighbour's right. */
            if (link->to_left != (table->side == RIGHT))
                continue;
            place = link->wire;
        }
        result->theirs[i] = table->of[link->peer * table->count + place];
    }
}

static int exchange_table(struct cj_group *group, enum side side,
                          struct cji_exchange_result *result, uint32_t *digest)
{
    struct table table = {.side = side};
    size_t bytes;
    int status;

    table.count = side == MESH ? group->size : group->wires;
    bytes = (size_t)table.count * sizeof *table.mine;
    describe_all(group, &table);
    status = exchange_lengths(group, table.count);
    if (status == CJ_OK)
        status = cji_side_gather(group, table.mine, table.of, bytes);
    if (status == CJ_OK)
        status = check_own(group, &table);
    if (status == CJ_OK)
        status = recognize(group, &table, result);
    if (status != CJ_OK)
        return status;
    find_theirs(group, &table, result);
    *digest = hash(*digest, table.of, (size_t)group->size * bytes);
    return CJ_OK;
}

int cji_destinations_exchange(struct cj_group *group,
                              struct cji_exchange_result *result)
{
    uint32_t digest = HASH_START;
    int status;

    group->step = CJ_STEP_EXCHANGE;
    memset(result, 0, sizeof *result);
    result->stranger = -1;
    status = exchange_table(group, group->ring ? LEFT : MESH, result, &digest);
    if (status == CJ_OK && group->ring)
        status = exchange_table(group, RIGHT, result, &digest);
    group->all_cjaccl = status == CJ_OK && result->stranger < 0;
    group->digest = positive(digest);
    return status;
}

static int check(struct cj_group *group, int peer,
                 const struct cji_destination *theirs)
{
    static const unsigned char no_gid[16];
    const char *what = NULL;

    if (is_card(theirs))
        return cji_fail(group, CJ_PEER_GONE, cji_about_peer(peer, 0),
                        "rank %d could not start RDMA: see its own error",
                        peer);
    if (theirs->lid < 0 || theirs->lid > 0xffff)
        what = "local id";
    else if (theirs->qp_num <= 0 || theirs->qp_num > 0xffffff)
        what = "queue pair number";
    else if (theirs->psn < 0 || theirs->psn > 0xffffff)
        what = "packet sequence number";
    else if (memcmp(theirs->gid, no_gid, sizeof no_gid) == 0)
        what = "GID";
    if (what == NULL)
        return CJ_OK;
    return cji_fail(group, CJ_PROTOCOL, cji_about_peer(peer, 0),
                    "rank %d sent a %s that cannot be (local id %d, queue pair "
                    "%d, sequence number %d): is it JACCL or cjaccl, of a "
                    "version that fits?",
                    peer, what, (int)theirs->lid, (int)theirs->qp_num,
                    (int)theirs->psn);
}

int cji_destinations_check(struct cj_group *group,
                           const struct cji_exchange_result *result)
{
    int status = CJ_OK;

    for (int i = 0; status == CJ_OK && i < group->link_count; i++)
        status = check(group, group->links[i].peer, &result->theirs[i]);
    return status;
}
