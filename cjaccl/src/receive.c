/* What comes: receives posted, looked at in their order, claimed by flows. */
#include "engine.h"

#include "error.h"
#include "trailer.h"
#include "transport.h"

/* The lowest slot that is free; there is one. */
static int pick_slot(const struct cji_traffic *traffic)
{
    int slot = 0;

    while ((traffic->free_recv >> slot & 1) == 0)
        slot++;
    return slot;
}

int cji_receive_post(struct cj_group *group, struct cji_link *link,
                     size_t length)
{
    struct cji_traffic *traffic = &link->traffic;
    int index = pick_slot(traffic);
    struct cji_slot *slot = &traffic->recv[index];
    int err_no;

    slot->id = ++group->last_id;
    slot->length = (uint32_t)length;
    err_no = group->transport->post_recv(group, link, slot->id, slot->data,
                                         slot->length);
    if (err_no != 0)
        return cji_post_failed(group, link, "receive", err_no);
    slot->posted = true;
    traffic->free_recv &= ~(1u << index);
    traffic->posted_slot[traffic->posted++ % CJI_RING] = (uint8_t)index;
    return CJ_OK;
}

/* Both ends know the size; a message may be longer within its last frame only.
 */
static size_t receive_length(const struct cj_group *group,
                             const struct cji_operation *operation,
                             const struct cji_flow *flow, size_t m)
{
    size_t length;

    if (!cji_has_trailers(group))
        return flow->message;
    length = cji_message_length(group, operation->size(operation, flow, m));
    return (length + CJI_FRAME_SIZE - 1) / CJI_FRAME_SIZE * CJI_FRAME_SIZE;
}

int cji_receives_post(struct cj_group *group,
                      const struct cji_operation *operation,
                      struct cji_flow *flow)
{
    int status = CJ_OK;

    while (status == CJ_OK && flow->posted < flow->messages &&
           flow->posted < flow->freed + flow->slots &&
           cji_round_has_begun(operation, flow, flow->posted)) {
        status = cji_receive_post(
            group, flow->links[0],
            receive_length(group, operation, flow, flow->posted));
        flow->posted += status == CJ_OK;
    }
    return status;
}

/* How a message that was lost, or came twice, is told from one of another
 * operation: by its number on the link. */
static int check_number(struct cj_group *group, const struct cji_link *link,
                        uint32_t number, uint32_t expected)
{
    const char *step = cj_strstep(group->step);

    if (number == expected)
        return CJ_OK;
    if ((int32_t)(number - expected) > 0)
        return cji_fail(group, CJ_PROTOCOL, cji_about_link(link, 0),
                        "%s: %u message%s of rank %d %s lost%s: number %u came "
                        "where %u was due; the cable or a device drops "
                        "messages, and the data cannot be trusted",
                        step, number - expected,
                        number - expected == 1 ? "" : "s", link->peer,
                        number - expected == 1 ? "was" : "were",
                        cji_on_device(link).text, number, expected);
    return cji_fail(group, CJ_PROTOCOL, cji_about_link(link, 0),
                    "%s: a stale message of rank %d came%s: number %u again, "
                    "where %u was due; its device or driver is out of order, "
                    "and the data cannot be trusted",
                    step, link->peer, cji_on_device(link).text, number,
                    expected);
}

/* What the peer tells about messages that it took. Older than the last is no
 * error: the trailer was written when the slot was filled. */
static int take_credits(struct cj_group *group, struct cji_link *link,
                        const struct cji_address_line *line)
{
    struct cji_traffic *traffic = &link->traffic;
    int32_t freed = (int32_t)(line->taken - (uint32_t)traffic->freed);
    int32_t notes = (int32_t)(line->notes - (uint32_t)traffic->notes_freed);

    if (freed > (int64_t)(traffic->sent - traffic->freed) ||
        notes > (int64_t)(traffic->notes_sent - traffic->notes_freed))
        return cji_fail(group, CJ_PROTOCOL, cji_about_link(link, 0),
                        "%s: rank %d says that it took messages which were "
                        "never sent: its memory or the way to it is corrupt",
                        cj_strstep(group->step), link->peer);
    if (freed > 0)
        traffic->freed += (uint64_t)freed;
    if (notes > 0)
        traffic->notes_freed += (uint64_t)notes;
    return CJ_OK;
}

static int fail_excess(struct cj_group *group, const struct cji_link *link)
{
    return cji_fail(group, CJ_PROTOCOL, cji_about_link(link, 0),
                    "%s: rank %d sent more than it may: it is no cjaccl, or "
                    "its memory is corrupt",
                    cj_strstep(group->step), link->peer);
}

static int take_note(struct cj_group *group, struct cji_link *link, int index,
                     const struct cji_address_line *line)
{
    struct cji_traffic *traffic = &link->traffic;
    int status = check_number(group, link, line->number,
                              (uint32_t)traffic->notes_arrived);

    if (status != CJ_OK)
        return status;
    /* So that no peer can keep this rank busy for ever. */
    if (traffic->notes_arrived != traffic->notes_told)
        return fail_excess(group, link);
    traffic->notes_arrived++;
    traffic->free_recv |= 1u << index;
    return cji_receive_post(group, link, cji_slot_size(group));
}

static int take_data(struct cj_group *group, struct cji_link *link, int index)
{
    struct cji_traffic *traffic = &link->traffic;

    if (traffic->arrived - traffic->taken >= (uint64_t)traffic->recv_slots)
        return fail_excess(group, link);
    traffic->arrived_slot[traffic->arrived++ % CJI_RING] = (uint8_t)index;
    return CJ_OK;
}

static int look_at(struct cj_group *group, struct cji_link *link, int index)
{
    struct cji_slot *slot = &link->traffic.recv[index];
    struct cji_address_line line;
    struct cji_tail tail;
    int status;

    if (!cji_has_trailers(group))
        return take_data(group, link, index);
    if (!cji_trailer_read(group, slot->data, slot->length, &line, &tail))
        return cji_fail(group, CJ_PROTOCOL, cji_about_link(link, 0),
                        "%s: what came from rank %d%s (%u bytes) is no message "
                        "of cjaccl: it was cut or changed on the way, or "
                        "another program has the peer's queue pair",
                        cj_strstep(group->step), link->peer,
                        cji_on_device(link).text, slot->length);
    status = take_credits(group, link, &line);
    if (status == CJ_OK && tail.note != 0)
        return take_note(group, link, index, &line);
    if (status == CJ_OK)
        status = check_number(group, link, line.number,
                              (uint32_t)link->traffic.arrived);
    slot->bytes = tail.bytes;
    slot->digest = tail.digest;
    return status == CJ_OK ? take_data(group, link, index) : status;
}

int cji_receives_look(struct cj_group *group, struct cji_link *link)
{
    struct cji_traffic *traffic = &link->traffic;
    int status = CJ_OK;

    while (status == CJ_OK && traffic->seen < traffic->posted) {
        int index = traffic->posted_slot[traffic->seen % CJI_RING];

        if (traffic->recv[index].posted)
            break;
        traffic->seen++;
        status = look_at(group, link, index);
    }
    return status;
}

static int check_operation(struct cj_group *group,
                           const struct cji_operation *operation,
                           const struct cji_flow *flow, size_t m)
{
    const struct cji_link *link = flow->links[0];
    const struct cji_slot *slot =
        &link->traffic
             .recv[link->traffic.arrived_slot[(flow->base + m) % CJI_RING]];

    if (slot->digest == operation->digest &&
        slot->bytes == operation->size(operation, flow, m))
        return CJ_OK;
    return cji_fail(group, CJ_PROTOCOL, cji_about_link(link, 0),
                    "%s: rank %d does another operation, or the same with "
                    "another type or count: every rank has to make the same "
                    "calls in the same order",
                    cj_strstep(group->step), link->peer);
}

int cji_receives_claim(struct cj_group *group,
                       const struct cji_operation *operation,
                       struct cji_flow *flow)
{
    const struct cji_traffic *traffic = &flow->links[0]->traffic;
    int status = CJ_OK;

    while (status == CJ_OK && flow->arrived < flow->messages &&
           flow->base + flow->arrived < traffic->arrived) {
        if (cji_has_trailers(group))
            status = check_operation(group, operation, flow, flow->arrived);
        flow->arrived += status == CJ_OK;
    }
    return status;
}

void cji_receives_free(struct cji_flow *flow)
{
    struct cji_traffic *traffic = &flow->links[0]->traffic;

    for (; flow->freed < flow->used; flow->freed++)
        traffic->free_recv |=
            1u << traffic->arrived_slot[traffic->taken++ % CJI_RING];
}

int cji_receives_repost(struct cj_group *group, struct cji_link *link)
{
    struct cji_traffic *traffic = &link->traffic;
    int status = CJ_OK;

    while (status == CJ_OK && traffic->reposted < traffic->taken) {
        status = cji_receive_post(group, link, cji_slot_size(group));
        traffic->reposted += status == CJ_OK;
    }
    return status;
}

unsigned char *cji_flow_data(const struct cj_group *group,
                             const struct cji_flow *flow, size_t m)
{
    const struct cji_traffic *traffic = &flow->links[0]->traffic;

    (void)group;
    return traffic->recv[traffic->arrived_slot[(flow->base + m) % CJI_RING]]
        .data;
}
