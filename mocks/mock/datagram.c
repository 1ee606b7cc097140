/*
 * UD: a message to whoever has the address, in no order and without an answer.
 * The first 40 bytes of its receive are the route header: an IPv4 header in
 * their second half for addresses that are mapped IPv4 ones, else both GIDs.
 */
#include <string.h>

#include "mock/mock.h"

#define HEADER 40u
#define MULTICAST_NUMBER 0xffffffu
/* A key with this bit stands for the sender's own. */
#define OWN_KEY 0x80000000u
/* How a packet came, as the lower bits of sl say with some devices. */
#define BY_IPV6 1
#define BY_IPV4 2

static void write_header(const union ibv_gid *from, const union ibv_gid *to,
                         uint32_t length, unsigned char header[HEADER])
{
    memset(header, 0, HEADER);
    if (route_is_ipv4(to)) {
        uint32_t total = 20 + 8 + 12 + 8 + length + 4; /* IP, UDP, BTH, DETH */

        header[20] = 0x45;
        header[22] = (unsigned char)(total >> 8);
        header[23] = (unsigned char)total;
        header[28] = 64; /* hops */
        header[29] = 17; /* UDP */
        memcpy(header + 32, from->raw + 12, 4);
        memcpy(header + 36, to->raw + 12, 4);
        return;
    }
    header[0] = 0x60;
    header[4] = (unsigned char)(length >> 8);
    header[5] = (unsigned char)length;
    header[6] = 0x1b;
    header[7] = 64;
    memcpy(header + 8, from->raw, 16);
    memcpy(header + 24, to->raw, 16);
}

uint8_t datagram_service(struct vf_world *world, const struct room_qp *receiver,
                         struct room_work *sent)
{
    if (!mock_profile(world, &receiver->object)->ud_packet_type)
        return 0;
    return route_is_ipv4(&mock_extra(sent)->datagram.gid) ? BY_IPV4 : BY_IPV6;
}

/* Would the queue pair take it, if it had a receive? */
static bool is_for(const struct room_qp *sender, struct room_work *sent,
                   const struct room_qp *receiver)
{
    uint32_t key = mock_extra(sent)->datagram.key;

    if (key & OWN_KEY)
        key = sender->attr.qkey;
    return receiver->type == IBV_QPT_UD && move_can_receive(receiver) &&
           receiver->attr.qkey == key;
}

static void arrive(struct vf_world *world, struct room_qp *sender,
                   struct room_work *sent, struct room_qp *receiver)
{
    const union ibv_gid *to = &mock_extra(sent)->datagram.gid;
    unsigned char header[HEADER];
    struct ibv_sge lead = {.addr = (uintptr_t)header, .length = HEADER};
    uint32_t received = move_take_receive(world, receiver);
    union ibv_gid from;

    if (!received)
        return;
    route_gid(mock_device(world, &sender->object), route_is_ipv4(to) ? 1 : 0,
              &from);
    write_header(&from, to, sent->length, header);
    if (move_land(world, sender, sent, receiver, received, &lead) ==
        IBV_WC_SUCCESS)
        receiver->next_come = sender->next_sent;
}

static void to_group(struct vf_world *world, struct room_qp *sender,
                     struct room_work *sent)
{
    const union ibv_gid *to = &mock_extra(sent)->datagram.gid;
    struct room *room = world->view->room;

    for (uint32_t i = 0; i < room->group_count; i++) {
        struct room_qp *receiver =
            room_find(world->view, ROOM_QP, room->groups[i].qp);

        if (receiver && receiver != sender &&
            memcmp(&room->groups[i].gid, to, sizeof(*to)) == 0 &&
            is_for(sender, sent, receiver) &&
            route_reaches(mock_device(world, &sender->object),
                          mock_device(world, &receiver->object)))
            arrive(world, sender, sent, receiver);
    }
}

static bool is_to_group(struct room_work *sent)
{
    return mock_extra(sent)->datagram.gid.raw[0] == 0xff &&
           mock_extra(sent)->datagram.number == MULTICAST_NUMBER;
}

/* Who has the address of the first send and takes what comes; or NULL. */
static struct room_qp *addressee(struct vf_world *world,
                                 const struct room_qp *sender)
{
    struct room_work *sent = mock_work(world->view, sender->send.first);
    struct vf_device *device = route(mock_device(world, &sender->object),
                                     &mock_extra(sent)->datagram.gid);
    struct room_qp *found;

    if (!device)
        return NULL;
    found = room_numbered(world->view, device->machine->number,
                          mock_extra(sent)->datagram.number);
    return found && found->object.device == device->index &&
                   is_for(sender, sent, found)
               ? found
               : NULL;
}

static uint32_t longest(const struct vf_profile *profile)
{
    return 128u << profile->active_mtu;
}

bool datagram_is_lost(struct vf_world *world, const struct room_qp *sender)
{
    const struct vf_profile *profile = mock_profile(world, &sender->object);

    return profile->ud_too_long_status == IBV_WC_SUCCESS &&
           mock_work(world->view, sender->send.first)->length >
               longest(profile);
}

enum move datagram_move(struct vf_world *world, struct room_qp *sender)
{
    const struct vf_profile *profile = mock_profile(world, &sender->object);
    struct room_work *sent = mock_work(world->view, sender->send.first);
    bool too_long = sent->length > longest(profile);
    struct room_qp *receiver = NULL;
    uint32_t ref;

    if (too_long && profile->ud_too_long_status != IBV_WC_SUCCESS) {
        move_refuse(world, sender, profile->ud_too_long_status);
        return MOVE_DONE;
    }
    if (!too_long && !is_to_group(sent))
        receiver = addressee(world, sender);
    if (receiver && !move_has_receive(world, receiver))
        return move_lost(world, sender, receiver);
    ref = move_take_send(world, sender);
    move_count(sender, NULL, sent->length, MOVE_ALL);
    if (too_long) {
        /* Believed to be sent. */
    } else if (is_to_group(sent)) {
        to_group(world, sender, sent);
    } else if (receiver) {
        arrive(world, sender, sent, receiver);
    }
    mock_complete_send(world, sender, ref, IBV_WC_SUCCESS);
    return MOVE_DONE;
}

/* Those that wait stand in the list of deadlines. Moving one changes the list:
 * it is walked from its start again then, and ends with the receives. */
void datagram_ready(struct vf_world *world, struct room_qp *receiver)
{
    uint32_t index = world->view->room->waiting;

    while (index && move_has_receive(world, receiver)) {
        struct room_qp *sender = room_find(world->view, ROOM_QP, index);

        index = sender->later;
        if (sender->type != IBV_QPT_UD || sender->state != IBV_QPS_RTS ||
            sender->moving || !sender->send.first ||
            addressee(world, sender) != receiver)
            continue;
        move_pump(world, sender);
        index = world->view->room->waiting;
    }
    if (index)
        receiver->awaited = true; /* perhaps */
}
