/*
 * A short message that finds all it needs: nothing before it waits, its
 * receiver is there and has a receive for it, nothing is planned for the two
 * completions. Most messages of a program that waits for answers are such.
 *
 * It needs no request of its own in the room. Its bytes go beside its
 * completion, and the receive is the only thing that is off its queue
 * meanwhile (mock/hold.h). Whatever is not as usual, this leaves alone: then
 * nothing has been done, and the message takes the way of all others (move.c),
 * which comes to the same end.
 */
#include <string.h>

#include "mock/hold.h"
#include "mock/mock.h"

/* All about one message. */
struct short_message {
    struct vf_world *world;
    struct room_qp *sender, *receiver;
    struct mock_qp *mock; /* the sender's */
    const struct ibv_send_wr *wr;
    const struct ibv_sge *bytes; /* NULL: there are none */
    uint32_t length;
    bool inlined, signaled;
    struct room_work *received;
    struct room_completion *at_receiver, *at_sender; /* NULL: none is made */
};

static bool is_planned(const struct vf_world *world, const struct room_qp *qp)
{
    return vf_plan_has(&world->machines[qp->object.machine].plan,
                       VF_VERB_completion);
}

/* What the request itself says. */
static bool is_short(struct short_message *message, const struct room_qp *qp)
{
    const struct ibv_send_wr *wr = message->wr;

    if (qp->state != IBV_QPS_RTS || qp->send.first || qp->moving ||
        qp->send.depth == 0)
        return false;
    if (qp->type != IBV_QPT_RC && qp->type != IBV_QPT_UC)
        return false;
    if (wr->opcode != IBV_WR_SEND && wr->opcode != IBV_WR_SEND_WITH_IMM)
        return false;
    if (wr->num_sge != 0 && wr->num_sge != 1)
        return false;
    message->bytes = wr->num_sge ? wr->sg_list : NULL;
    message->length = wr->num_sge ? wr->sg_list->length : 0;
    message->inlined = wr->send_flags & IBV_SEND_INLINE;
    message->signaled = qp->all_signaled || wr->send_flags & IBV_SEND_SIGNALED;
    return message->length <= ROOM_INSIDE;
}

/* May the sender's device read the bytes? */
static bool is_readable(const struct short_message *message)
{
    const struct ibv_sge *bytes = message->bytes;
    bool outside;

    if (message->inlined || message->length == 0)
        return true;
    return !message->world->view->room->shifted &&
           mock_region(message->world, message->sender, bytes->lkey, false,
                       bytes->addr, bytes->length, 0, &outside);
}

/* The other end, in another process. The device that the addresses lead to
 * stays the same; whether it is reached does not. */
static bool find_receiver(struct short_message *message)
{
    struct mock_qp *mock = message->mock;
    struct vf_world *world = message->world;
    struct room_qp *sender = message->sender;

    if (!mock->route)
        mock->route = route_other_device(world, sender);
    if (!mock->route ||
        !route_reaches(mock_device(world, &sender->object), mock->route))
        return false;
    message->receiver = route_end_on(world, sender, mock->route);
    return message->receiver &&
           !mock_is_ours(world, &message->receiver->object) &&
           move_is_ready(sender, message->receiver);
}

/* Its first receive, if the message fits. */
static bool find_receive(struct short_message *message)
{
    struct vf_world *world = message->world;
    const struct room_qp *receiver = message->receiver;
    struct room_work *received;

    if (receiver->srq || !receiver->recv.first)
        return false;
    received = mock_work(world->view, receiver->recv.first);
    message->received = received;
    return received->slots == 1 && message->length <= received->length &&
           move_check_entries(world, receiver, received, true,
                              IBV_ACCESS_LOCAL_WRITE) == IBV_WC_SUCCESS;
}

/* Both completions have a place. */
static bool find_places(struct short_message *message)
{
    struct vf_world *world = message->world;

    message->at_receiver = mock_next(world, message->receiver->recv_cq);
    if (message->signaled)
        message->at_sender = mock_next(world, message->sender->send_cq);
    return message->at_receiver && (message->at_sender || !message->signaled);
}

/* Memory that its program has freed is not read. */
static void take_bytes(const struct short_message *message)
{
    const void *from;

    if (message->length == 0)
        return;
    from = (const void *)(uintptr_t)message->bytes->addr;
    if (message->inlined ||
        vf_memory_alive(message->world, from, message->length))
        memcpy(message->at_receiver->bytes, from, message->length);
}

/* The last thing that is done: its owner sees it, and wants the room. */
static void complete_receive(const struct short_message *message)
{
    struct vf_world *world = message->world;
    struct room_qp *receiver = message->receiver;
    uint32_t received = receiver->recv.first;
    struct room_work sent = {
        .opcode = (uint8_t)message->wr->opcode,
        .flags = message->wr->send_flags,
        .length = message->length,
        .imm = message->wr->imm_data,
    };
    struct ibv_wc *wc = &message->at_receiver->wc;

    *wc = (struct ibv_wc){
        .wr_id = message->received->wr_id,
        .qp_num = receiver->number,
    };
    move_describe(world, message->sender, &sent, receiver, 0, wc);
    hold_receive(world, receiver, &receiver->recv);
    mock_take(world->view, &receiver->recv);
    move_note_ahead(world, message->mock, receiver, 1);
    mock_complete(world, receiver, received, true, wc, NULL,
                  MOCK_INSIDE | move_how_kept(world, message->received));
}

static void complete_send(const struct short_message *message)
{
    struct ibv_wc *wc;

    if (!message->at_sender)
        return;
    wc = &message->at_sender->wc;
    *wc = (struct ibv_wc){
        .wr_id = message->wr->wr_id,
        .opcode = IBV_WC_SEND,
        .qp_num = message->sender->number,
        .wc_flags = mock_send_flags(message->world, message->sender,
                                    (uint8_t)message->wr->opcode),
    };
    mock_complete(message->world, message->sender, 0, false, wc, NULL,
                  MOCK_NOT_KEPT);
}

bool short_send(struct vf_object *object, struct room_qp *qp,
                const struct ibv_send_wr *wr)
{
    const struct vf_profile *profile = object->device->setup.profile;
    struct short_message message = {
        .world = object->machine->world,
        .sender = qp,
        .mock = object->handle,
        .wr = wr,
    };

    if (!message.world->view->shared || !is_short(&message, qp) ||
        message.length > profile->max_message ||
        (profile->frame_bytes && message.length > profile->frame_bytes))
        return false;
    /* The receiver looks at the entry all the time: it comes here while the
     * rest is looked at, not when it is written. */
    if (message.mock->ahead.completion)
        vf_os_want(message.mock->ahead.completion);
    if (!find_receiver(&message) || is_planned(message.world, qp) ||
        is_planned(message.world, message.receiver))
        return false;
    if (!is_readable(&message) || !find_receive(&message) ||
        !find_places(&message))
        return false;
    take_bytes(&message);
    move_count(message.sender, message.receiver, message.length, MOVE_ALL);
    complete_send(&message);
    complete_receive(&message);
    return true;
}
