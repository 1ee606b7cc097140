/* What goes: messages filled, posted where there is room, and notes. */
#include "engine.h"

#include "error.h"
#include "straight.h"
#include "trailer.h"
#include "transport.h"

#include <string.h>

static bool is_round_over(const struct cji_flow *flow, size_t messages)
{
    if (flow->receives)
        return flow->used >= messages;
    for (int i = 0; i < flow->link_count; i++) {
        if (flow->links[i]->traffic.flow_done < messages)
            return false;
    }
    return true;
}

/* JACCL's wires each have rounds of their own. */
bool cji_round_has_begun(const struct cji_operation *operation,
                         const struct cji_flow *flow, size_t m)
{
    size_t before;

    if (flow->round == 0 || m < flow->round)
        return true;
    before = m / flow->round * flow->round;
    for (int i = 0; i < operation->flow_count; i++) {
        const struct cji_flow *other = &operation->flows[i];

        if (other->round != 0 &&
            other->links[0]->wire == flow->links[0]->wire &&
            !is_round_over(other, before))
            return false;
    }
    return true;
}

size_t cji_slots_of_flow(const struct cj_group *group,
                         const struct cji_flow *flow)
{
    const struct cji_traffic *first = &flow->links[0]->traffic;
    int slots = flow->receives ? first->recv_slots : first->send_slots;
    size_t bytes =
        cji_has_trailers(group) ? cji_slot_size(group) : flow->message;

    for (int i = 0; i < flow->link_count; i++) {
        int room = cji_link_room(flow->links[i], bytes);

        /* A note may be in the queue as well. */
        room -= cji_has_credits(group);
        slots = room < slots ? room : slots;
    }
    return (size_t)slots;
}

/* A slot is free when all have sent what was in it before. */
static bool is_slot_free(const struct cji_flow *flow, size_t slot)
{
    for (int i = 0; i < flow->link_count; i++) {
        if (flow->links[i]->traffic.send[slot].posted)
            return false;
    }
    return true;
}

/* The lowest one that is free, which is the likeliest to be in the cache; or
 * flow->slots. */
static size_t find_slot(const struct cji_flow *flow)
{
    size_t slot = 0;

    while (slot < flow->slots && !is_slot_free(flow, slot))
        slot++;
    return slot;
}

/* The data, in the slot or not. Returns where the trailer goes. */
static unsigned char *fill_data(const struct cj_group *group,
                                struct cji_operation *operation,
                                const struct cji_flow *flow, size_t bytes,
                                struct cji_slot *slot)
{
    size_t m = flow->posted;

    slot->body = NULL;
    if (operation->place == NULL) {
        operation->fill(operation, flow, m, slot->data);
    } else if (cji_is_straight(group, bytes)) {
        slot->body = operation->place(operation, flow, m);
        slot->body_bytes = (uint32_t)bytes;
        return slot->data;
    } else {
        memcpy(slot->data, operation->place(operation, flow, m), bytes);
    }
    return cji_has_trailers(group) ? cji_trailer_pad(group, slot->data, bytes)
                                   : NULL;
}

static void fill(struct cj_group *group, struct cji_operation *operation,
                 struct cji_flow *flow, struct cji_slot *slot)
{
    size_t bytes = operation->size(operation, flow, flow->posted);
    unsigned char *trailer = fill_data(group, operation, flow, bytes, slot);

    if (cji_has_trailers(group)) {
        cji_trailer_write(group, trailer, bytes, flow->links, flow->link_count,
                          operation->digest, false);
        slot->bytes = (uint32_t)cji_message_length(group, bytes);
    } else {
        memset(slot->data + bytes, 0, flow->message - bytes);
        slot->bytes = (uint32_t)flow->message;
    }
    for (int i = 0; i < flow->link_count; i++) {
        struct cji_traffic *traffic = &flow->links[i]->traffic;

        traffic->filled++;
        traffic->notes_told = traffic->notes_arrived;
    }
    flow->posted++;
}

/* What is sent to several is sent from the first one's slot. */
static int post(struct cj_group *group, const struct cji_flow *flow,
                struct cji_link *link, size_t slot)
{
    struct cji_traffic *traffic = &link->traffic;
    struct cji_slot *work = &traffic->send[slot];
    const struct cji_slot *filled = &flow->links[0]->traffic.send[slot];
    int err_no;

    work->id = ++group->last_id;
    work->length = filled->bytes;
    err_no = group->transport->post_send(group, link, work->id, filled,
                                         work->length);
    if (err_no != 0)
        return cji_post_failed(group, link, "send", err_no);
    work->posted = true;
    traffic->sent++;
    traffic->told = traffic->reposted;
    return CJ_OK;
}

static bool has_credit(const struct cj_group *group,
                       const struct cji_traffic *traffic)
{
    return !cji_has_credits(group) ||
           traffic->sent - traffic->freed < (uint64_t)group->credits;
}

/*
 * A message is filled when it can go at once over all of its links: a trailer
 * that waited would give less back than has been used up, and not acknowledge
 * a note that has come in the meantime.
 */
static bool have_credit(const struct cj_group *group,
                        const struct cji_flow *flow)
{
    for (int i = 0; i < flow->link_count; i++) {
        if (!has_credit(group, &flow->links[i]->traffic))
            return false;
    }
    return true;
}

static int post_to_all(struct cj_group *group, const struct cji_flow *flow,
                       size_t slot)
{
    int status = CJ_OK;

    for (int i = 0; status == CJ_OK && i < flow->link_count; i++)
        status = post(group, flow, flow->links[i], slot);
    return status;
}

int cji_sends_post(struct cj_group *group, struct cji_operation *operation,
                   struct cji_flow *flow, bool *filled)
{
    int status = CJ_OK;
    bool one = false;

    while (status == CJ_OK && !one && flow->posted < flow->messages &&
           flow->posted < flow->ready && have_credit(group, flow) &&
           cji_round_has_begun(operation, flow, flow->posted)) {
        size_t slot = find_slot(flow);

        if (slot == flow->slots)
            break;
        fill(group, operation, flow, &flow->links[0]->traffic.send[slot]);
        status = post_to_all(group, flow, slot);
        *filled = true;
        one = cji_takes_turns(group, flow);
    }
    return status;
}

/* There are receives that the peer should hear of. */
static bool is_note_due(const struct cj_group *group,
                        const struct cji_traffic *traffic)
{
    const struct cji_flow *flow = traffic->send_flow;
    uint64_t untold = traffic->reposted - traffic->told;
    uint64_t credits = (uint64_t)group->credits;

    if (traffic->notes_sent != traffic->notes_freed || traffic->note.posted)
        return false;
    if (flow != NULL && flow->posted < flow->messages)
        return untold >= credits;
    return untold >= credits / 2 + 1;
}

int cji_note_post(struct cj_group *group, struct cji_link *link)
{
    struct cji_traffic *traffic = &link->traffic;
    struct cji_slot *slot = &traffic->note;
    int err_no;

    if (!is_note_due(group, traffic))
        return CJ_OK;
    cji_trailer_write(group, cji_trailer_pad(group, slot->data, 0), 0, &link, 1,
                      0, true);
    slot->id = ++group->last_id;
    slot->length = (uint32_t)cji_message_length(group, 0);
    err_no =
        group->transport->post_send(group, link, slot->id, slot, slot->length);
    if (err_no != 0)
        return cji_post_failed(group, link, "send", err_no);
    slot->posted = true;
    traffic->notes_sent++;
    traffic->notes_told = traffic->notes_arrived;
    traffic->told = traffic->reposted;
    return CJ_OK;
}
