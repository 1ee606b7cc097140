#include "card.h"

#include "error.h"
#include "side.h"

#include <stdio.h>
#include <string.h>

static const char card_text[16] = "cjaccl card 1";

static bool is_thunderbolt(const struct cj_group *group)
{
    for (int i = 0; i < group->device_count; i++) {
        if (!group->devices[i].thunderbolt)
            return false;
    }
    return true;
}

static bool has_thunderbolt(const struct cj_group *group)
{
    for (int i = 0; i < group->link_count; i++) {
        if (group->links[i].device != NULL &&
            group->links[i].device->thunderbolt)
            return true;
    }
    return false;
}

static int least_depth(const struct cj_group *group)
{
    int least = 0;

    for (int i = 0; i < group->link_count; i++) {
        if (least == 0 || group->links[i].depth < least)
            least = group->links[i].depth;
    }
    return least;
}

/* Every byte is initialized, also those that nobody reads. */
static void write_card(const struct cj_group *group,
                       const struct cj_config *config, struct cji_card *card)
{
    memset(card, 0, sizeof *card);
    memcpy(card->text, card_text, sizeof card->text);
    card->rank = group->rank;
    card->size = group->size;
    card->ring = group->ring;
    card->wires = group->wires;
    card->sockets = config->backend == CJ_BACKEND_SOCKETS;
    card->thunderbolt = is_thunderbolt(group);
    card->frames = has_thunderbolt(group);
    card->depth = least_depth(group);
    card->fallback = config->fallback == CJ_FALLBACK_SOCKETS;
    card->digest = group->digest;
    card->status = group->error.code;
    if (group->error.code != CJ_OK)
        (void)snprintf(card->message, sizeof card->message, "%.247s",
                       group->error.message);
}

static int disagree(struct cj_group *group, int rank, const char *what,
                    int theirs, int mine)
{
    return cji_fail(group, CJ_PROTOCOL, cji_about_peer(rank, 0),
                    "rank %d has %s %d, and this one %d: give all of them the "
                    "same configuration",
                    rank, what, theirs, mine);
}

static int check_card(struct cj_group *group, int rank,
                      const struct cji_card *mine, const struct cji_card *card)
{
    if (memcmp(card->text, card_text, sizeof card_text) != 0)
        return cji_fail(group, CJ_PROTOCOL, cji_about_peer(rank, 0),
                        "rank %d is cjaccl of another version than this one: "
                        "install the same on every machine",
                        rank);
    if (card->size != mine->size)
        return disagree(group, rank, "a number of ranks of", (int)card->size,
                        (int)mine->size);
    if (card->ring != mine->ring)
        return disagree(group, rank, "a topology (0 mesh, 1 ring) of",
                        (int)card->ring, (int)mine->ring);
    if (card->wires != mine->wires)
        return disagree(group, rank, "a number of wires of", (int)card->wires,
                        (int)mine->wires);
    if (card->sockets != mine->sockets)
        return disagree(group, rank, "a backend (0 RDMA, 1 sockets) of",
                        (int)card->sockets, (int)mine->sockets);
    if (card->digest != mine->digest)
        return cji_fail(group, CJ_PROTOCOL, cji_about_peer(rank, 0),
                        "rank %d and rank %d were told different addresses of "
                        "the group: the side channel alters bytes, which no "
                        "network should; start again",
                        group->rank, rank);
    if (card->rank == rank && card->status <= CJ_OK &&
        (card->depth > 0 || card->sockets || card->status != CJ_OK))
        return CJ_OK;
    return cji_fail(group, CJ_PROTOCOL, cji_about_peer(rank, 0),
                    "rank %d sent a card that cannot be (rank %d, depth %d, "
                    "status %d): is it cjaccl, of a version that fits?",
                    rank, (int)card->rank, (int)card->depth, (int)card->status);
}

int cji_cards_exchange(struct cj_group *group, const struct cj_config *config,
                       struct cji_cards *cards)
{
    struct cji_card mine;
    int status;

    write_card(group, config, &mine);
    group->step = CJ_STEP_START_BARRIER;
    status = cji_side_gather(group, &mine, cards->of, sizeof mine);
    for (int rank = 0; status == CJ_OK && rank < group->size; rank++) {
        cji_tame(cards->of[rank].message, sizeof cards->of[rank].message);
        status = check_card(group, rank, &mine, &cards->of[rank]);
    }
    return status;
}

int cji_cards_failed(const struct cj_group *group,
                     const struct cji_cards *cards)
{
    for (int rank = 0; rank < group->size; rank++) {
        if (cards->of[rank].status != CJ_OK)
            return rank;
    }
    return -1;
}

int cji_cards_refuser(const struct cj_group *group,
                      const struct cji_cards *cards)
{
    for (int rank = 0; rank < group->size; rank++) {
        if (!cards->of[rank].fallback)
            return rank;
    }
    return -1;
}

void cji_cards_settle(struct cj_group *group, const struct cji_cards *cards)
{
    bool thunderbolt = true;
    bool frames = false;

    group->least_depth = 0;
    for (int rank = 0; rank < group->size; rank++) {
        int depth = cards->of[rank].depth;

        thunderbolt = thunderbolt && cards->of[rank].thunderbolt;
        frames = frames || cards->of[rank].frames;
        if (group->least_depth == 0 || depth < group->least_depth)
            group->least_depth = depth;
    }
    group->wire = thunderbolt ? CJI_WIRE_FRAMES : CJI_WIRE_CREDITS;
    group->whole = frames && !thunderbolt;
}
