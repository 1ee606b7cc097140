#include "destination.h"

#include "error.h"
#include "side.h"

#include <string.h>

_Static_assert(sizeof(struct cji_destination) == 32, "JACCL's 32 bytes");

/* In the place of a GID and a queue pair: no real pair of them looks so. */
#define CARD_QP_NUM 0x434a434c
static const unsigned char card_text[14] = "cjaccl group 1";

enum card_index { WISH_BYTE = 14, NARROW_BYTE = 15 };

struct table {
    struct cji_destination of[CJ_MAX_MESH_RANKS * CJ_MAX_MESH_RANKS];
};

static bool wants_handshake(const struct cj_group *group)
{
    if (group->wish != CJ_HANDSHAKE_AUTO)
        return group->wish == CJ_HANDSHAKE_ON;
    for (int i = 0; i < group->device_count; i++) {
        if (!group->devices[i].thunderbolt)
            return true;
    }
    return false;
}

/* Whether a queue holds one message only. */
static bool is_narrow(const struct cj_group *group)
{
    for (int peer = 0; peer < group->size; peer++) {
        if (peer != group->rank && group->connections[peer].window < CJI_SLOTS)
            return true;
    }
    return false;
}

static void describe(const struct cj_group *group, int peer,
                     struct cji_destination *mine)
{
    const struct cji_connection *connection = &group->connections[peer];

    memset(mine, 0, sizeof *mine);
    mine->psn = CJI_PSN;
    if (peer == group->rank) {
        mine->lid = -1;
        mine->qp_num = CARD_QP_NUM;
        memcpy(mine->gid, card_text, sizeof card_text);
        mine->gid[WISH_BYTE] = wants_handshake(group);
        mine->gid[NARROW_BYTE] = is_narrow(group);
        return;
    }
    mine->lid = connection->device->lid;
    mine->qp_num = (int32_t)connection->qp->qp_num;
    memcpy(mine->gid, connection->device->gid.raw, sizeof mine->gid);
}

static int exchange_lengths(struct cj_group *group)
{
    int32_t mine = group->size;
    int32_t all[CJ_MAX_MESH_RANKS];
    int status = cji_side_gather(group, &mine, all, sizeof mine);

    for (int rank = 0; status == CJ_OK && rank < group->size; rank++) {
        if (all[rank] != mine)
            status = cji_fail(group, CJ_PROTOCOL, cji_about_peer(rank, 0),
                              "rank %d is in a group of %d ranks, this one in "
                              "a group of %d: give all of them the same device "
                              "file",
                              rank, (int)all[rank], (int)mine);
    }
    return status;
}

static int check(struct cj_group *group, int peer,
                 const struct cji_destination *theirs)
{
    static const unsigned char no_gid[16];
    const char *what = NULL;

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

static bool is_card(const struct cji_destination *card)
{
    return card->qp_num == CARD_QP_NUM &&
           memcmp(card->gid, card_text, sizeof card_text) == 0;
}

static int settle_handshake(struct cj_group *group, const struct table *table)
{
    bool wanted = false;
    bool narrow = false;

    for (int rank = 0; rank < group->size; rank++) {
        const struct cji_destination *card =
            &table->of[rank * group->size + rank];

        if (!is_card(card)) {
            group->handshake = false;
            group->lockstep = false;
            if (group->wish != CJ_HANDSHAKE_ON)
                return CJ_OK;
            return cji_fail(group, CJ_UNSUPPORTED, cji_about_peer(rank, 0),
                            "the handshake is turned on, but rank %d is no "
                            "cjaccl and knows none: use cjaccl on every rank, "
                            "or turn it off where the device loses nothing",
                            rank);
        }
        wanted = wanted || card->gid[WISH_BYTE] != 0;
        narrow = narrow || card->gid[NARROW_BYTE] != 0;
    }
    group->handshake = wanted;
    group->lockstep = wanted && narrow;
    return CJ_OK;
}

/* Rank 0 hands everybody's list to everybody, one's own included. */
static int check_own(struct cj_group *group, const struct table *table,
                     const struct cji_destination *mine)
{
    size_t bytes = (size_t)group->size * sizeof *mine;

    if (memcmp(&table->of[group->rank * group->size], mine, bytes) == 0)
        return CJ_OK;
    return cji_fail(group, CJ_PROTOCOL, cji_about_peer(0, 0),
                    "what rank %d told rank 0 came back changed: the side "
                    "channel between them alters bytes, which no network "
                    "should; start again",
                    group->rank);
}

/* FNV-1a. Never 0, which is what a JACCL rank sends in its place. */
static int32_t digest(const struct cj_group *group, const struct table *table)
{
    const unsigned char *bytes = (const unsigned char *)table->of;
    size_t count =
        (size_t)group->size * (size_t)group->size * sizeof table->of[0];
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * 16777619u;
    return hash == 0 || hash > INT32_MAX ? (int32_t)(hash % INT32_MAX) + 1
                                         : (int32_t)hash;
}

int cji_destinations_exchange(struct cj_group *group,
                              struct cji_destination peers[CJ_MAX_MESH_RANKS])
{
    struct cji_destination mine[CJ_MAX_MESH_RANKS];
    struct table table = {.of = {{0}}};
    int status;

    group->step = CJ_STEP_EXCHANGE;
    for (int peer = 0; peer < group->size; peer++)
        describe(group, peer, &mine[peer]);
    status = exchange_lengths(group);
    if (status == CJ_OK)
        status = cji_side_gather(group, mine, table.of,
                                 (size_t)group->size * sizeof *mine);
    if (status == CJ_OK)
        status = check_own(group, &table, mine);
    for (int peer = 0; status == CJ_OK && peer < group->size; peer++) {
        peers[peer] = table.of[peer * group->size + group->rank];
        if (peer != group->rank)
            status = check(group, peer, &peers[peer]);
    }
    if (status == CJ_OK)
        status = settle_handshake(group, &table);
    group->digest = digest(group, &table);
    return status;
}
