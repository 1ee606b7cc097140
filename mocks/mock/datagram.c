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

static bool is_mapped(const union ibv_gid *gid)
{
    static const unsigned char lead[12] = {0, 0, 0, 0, 0,    0,
                                           0, 0, 0, 0, 0xff, 0xff};

    return memcmp(gid->raw, lead, sizeof(lead)) == 0;
}

static void write_header(const union ibv_gid *from, const union ibv_gid *to,
                         uint32_t length, unsigned char header[HEADER])
{
    memset(header, 0, HEADER);
    if (is_mapped(to)) {
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

static void arrive(struct vf_world *world, struct room_qp *sender,
                   struct room_work *sent, struct room_qp *receiver)
{
    unsigned char header[HEADER];
    struct ibv_sge lead = {.addr = (uintptr_t)header, .length = HEADER};
    uint32_t key = sent->datagram.key;
    union ibv_gid from;
    uint32_t received;
    int index = is_mapped(&sent->datagram.gid) ? 1 : 0;

    if (key & OWN_KEY)
        key = sender->attr.qkey;
    if (receiver->type != IBV_QPT_UD || !move_can_receive(receiver) ||
        receiver->attr.qkey != key)
        return;
    received = move_take_receive(world, receiver);
    if (!received)
        return;
    route_gid(mock_device(world, &sender->object), index, &from);
    write_header(&from, &sent->datagram.gid, sent->length, header);
    move_land(world, sender, sent, receiver, received, &lead);
}

static void to_group(struct vf_world *world, struct room_qp *sender,
                     struct room_work *sent)
{
    struct room *room = world->view->room;

    for (uint32_t i = 0; i < room->group_count; i++) {
        struct room_qp *receiver =
            room_find(world->view, ROOM_QP, room->groups[i].qp);

        if (receiver && receiver != sender &&
            memcmp(&room->groups[i].gid, &sent->datagram.gid,
                   sizeof(sent->datagram.gid)) == 0)
            arrive(world, sender, sent, receiver);
    }
}

static void to_one(struct vf_world *world, struct room_qp *sender,
                   struct room_work *sent)
{
    struct vf_device *device =
        route(mock_device(world, &sender->object), &sent->datagram.gid);
    struct room_qp *receiver = NULL;

    if (device)
        receiver = room_numbered(world->view, device->machine->number,
                                 sent->datagram.number);
    if (receiver && receiver->object.device == device->index)
        arrive(world, sender, sent, receiver);
}

void datagram_move(struct vf_world *world, struct room_qp *sender)
{
    const struct vf_profile *profile = mock_profile(world, &sender->object);
    struct room_work *sent = mock_work(world->view, sender->send.first);
    uint32_t longest = 128u << profile->active_mtu;

    if (sent->length > longest &&
        profile->ud_too_long_status != IBV_WC_SUCCESS) {
        move_refuse(world, sender, profile->ud_too_long_status);
        return;
    }
    if (sent->length > longest) {
        /* Believed to be sent. */
    } else if (sent->datagram.gid.raw[0] == 0xff &&
               sent->datagram.number == MULTICAST_NUMBER) {
        to_group(world, sender, sent);
    } else {
        to_one(world, sender, sent);
    }
    mock_complete_send(world, sender, mock_take(world->view, &sender->send),
                       IBV_WC_SUCCESS);
}
