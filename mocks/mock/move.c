/*
 * Messages from queue pair to queue pair.
 *
 * Whoever makes a message able to move moves it: the poster of the send, or the
 * poster of the receive that the send has waited for. `moving` says who is at
 * a queue pair's sends just now; another process that comes by leaves them to
 * that one, which looks again before it goes. While a long message is copied
 * the room is left; what must stay as it is meanwhile (the receiver, the
 * regions) is marked, and noted with the process, so that its death unmarks it.
 *
 * What happens to a send that finds no receive: over RC the receiver answers
 * "not ready", and the sender tries again for as long as its attributes say;
 * over UC it waits where the profile says so, and is lost otherwise; over UD it
 * waits for as long as the profile says, and is lost then. A lost send
 * completes with success.
 */
#include <errno.h>
#include <string.h>

#include "mock/death.h"
#include "mock/hold.h"
#include "mock/mock.h"
#include "mock/park.h"

#define PACKET_NUMBERS 0xffffffu
#define LOOKS 1000u /* at a mark, before its owner's life is asked after */

bool move_can_receive(const struct room_qp *qp)
{
    return qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS ||
           qp->state == IBV_QPS_SQD;
}

/* Whoever buries the dead may wait here for one who has died, too. */
void move_settle(struct vf_world *world, struct room_qp *qp)
{
    for (unsigned tries = 1;
         qp->landing > 0 || (qp->moving && qp->moving != world->view->self + 1);
         tries++) {
        if (tries % LOOKS == 0)
            death_let_go(world);
        room_leave(world);
        vf_os_pause();
        room_enter(world);
    }
}

/* Of so many bytes in the entries. */
static int check_bytes(struct vf_world *world, const struct room_qp *qp,
                       const struct room_work *work, bool recv, uint32_t access,
                       uint64_t bytes)
{
    const struct vf_profile *profile = mock_profile(world, &qp->object);
    int key_status = recv ? profile->recv_key_status : profile->send_key_status;
    int range_status =
        recv ? profile->recv_range_status : profile->send_range_status;

    if (work->flags & IBV_SEND_INLINE)
        return IBV_WC_SUCCESS;
    for (int i = 0; i < work->entries && bytes > 0; i++) {
        const struct ibv_sge *sge = &work->sge[i];
        uint64_t length = sge->length < bytes ? sge->length : bytes;
        bool outside;

        if (length == 0)
            continue;
        if (!mock_region(world, qp, sge->lkey, false, sge->addr, length, access,
                         &outside))
            return outside ? range_status : key_status;
        bytes -= length;
    }
    return IBV_WC_SUCCESS;
}

int move_check_entries(struct vf_world *world, const struct room_qp *qp,
                       const struct room_work *work, bool recv, uint32_t access)
{
    return check_bytes(world, qp, work, recv, access, UINT64_MAX);
}

static struct room_queue *receives_of(const struct room_view *view,
                                      struct room_qp *qp)
{
    struct room_srq *srq = room_find(view, ROOM_SRQ, qp->srq);

    return srq ? &srq->recv : &qp->recv;
}

bool move_has_receive(const struct vf_world *world, struct room_qp *receiver)
{
    return receives_of(world->view, receiver)->first != 0;
}

uint32_t move_take_receive(struct vf_world *world, struct room_qp *receiver)
{
    struct room_srq *srq = room_find(world->view, ROOM_SRQ, receiver->srq);
    struct room_queue *queue = receives_of(world->view, receiver);
    uint32_t work;

    hold_receive(world, receiver, queue);
    work = mock_take(world->view, queue);
    if (work && srq)
        mock_srq_taken(world, srq);
    return work;
}

uint32_t move_take_send(struct vf_world *world, struct room_qp *sender)
{
    expire_set(world, sender, 0);
    hold_send(world, sender);
    return mock_take(world->view, &sender->send);
}

static uint32_t first_length(struct vf_world *world,
                             const struct room_qp *sender)
{
    return mock_work(world->view, sender->send.first)->length;
}

/* The receive is missed by the last packet of a WRITE, and by the first one of
 * anything else. */
static uint32_t asked_for(struct vf_world *world, const struct room_qp *sender)
{
    return mock_work(world->view, sender->send.first)->opcode ==
                   IBV_WR_RDMA_WRITE_WITH_IMM
               ? MOVE_ALL
               : 0;
}

/* Nobody has answered: all that there was to send was sent. */
static void count_queued(struct vf_world *world, struct room_qp *sender)
{
    const struct room_work *work;

    for (uint32_t ref = sender->send.first; ref; ref = work->next) {
        work = mock_work(world->view, ref);
        move_count(sender, NULL, work->length, MOVE_ALL);
    }
}

void move_refuse(struct vf_world *world, struct room_qp *sender, int status)
{
    if (status == IBV_WC_RETRY_EXC_ERR)
        count_queued(world, sender);
    else if (status == IBV_WC_RNR_RETRY_EXC_ERR)
        move_count(sender, NULL, first_length(world, sender),
                   asked_for(world, sender));
    mock_complete_send(world, sender, move_take_send(world, sender), status);
    mock_fail(world, sender);
}

/* It completes well, whatever became of it. */
static void finish(struct vf_world *world, struct room_qp *sender)
{
    mock_complete_send(world, sender, move_take_send(world, sender),
                       IBV_WC_SUCCESS);
}

void move_forget(struct vf_world *world, struct room_qp *sender)
{
    move_count(sender, NULL, first_length(world, sender), MOVE_ALL);
    finish(world, sender);
    move_pump(world, sender);
}

/* Nanoseconds of RC's attributes: 4.096 us * 2^timeout for each try. */
static int64_t retry_time(const struct ibv_qp_attr *attr)
{
    return (INT64_C(4096) << (attr->timeout & 31)) * (attr->retry_cnt + 1);
}

/* Of the 32 steps that a receiver may ask for, in units of 10 us. */
static int64_t rnr_time(unsigned timer, unsigned tries)
{
    static const uint32_t steps[32] = {
        65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
        48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
        2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

    return (int64_t)steps[timer & 31] * 10000 * tries;
}

#define RNR_FOR_EVER 7
#define LONGEST_WAIT (INT64_C(1) << 60)

/* RC tries again until the deadline, which is set once. */
static void wait_until(struct vf_world *world, struct room_qp *sender, bool rnr,
                       int64_t duration)
{
    if (sender->deadline && sender->rnr == rnr)
        return;
    sender->rnr = rnr;
    expire_set(world, sender,
               duration < LONGEST_WAIT ? expire_now(world) + duration : 0);
}

enum move move_lost(struct vf_world *world, struct room_qp *sender,
                    struct room_qp *not_ready)
{
    const struct vf_profile *profile = mock_profile(world, &sender->object);
    const struct ibv_qp_attr *attr = &sender->attr;

    if (not_ready)
        not_ready->awaited = true;
    if (sender->type == IBV_QPT_RC && not_ready) {
        if (attr->rnr_retry == 0) {
            move_refuse(world, sender, IBV_WC_RNR_RETRY_EXC_ERR);
            return MOVE_DONE;
        }
        wait_until(
            world, sender, true,
            attr->rnr_retry == RNR_FOR_EVER
                ? LONGEST_WAIT
                : rnr_time(not_ready->attr.min_rnr_timer, attr->rnr_retry));
        return MOVE_WAITS;
    }
    if (sender->type == IBV_QPT_RC) {
        wait_until(world, sender, false,
                   attr->timeout ? retry_time(attr) : LONGEST_WAIT);
        return MOVE_WAITS;
    }
    if (sender->type == IBV_QPT_UD) {
        if (profile->ud_wait_ms > 0 && world->hooks.now) {
            wait_until(world, sender, false,
                       profile->ud_wait_ms * INT64_C(1000000));
            return MOVE_WAITS;
        }
    } else if (profile->send_waits) {
        return MOVE_WAITS;
    }
    move_count(sender, NULL, first_length(world, sender), MOVE_ALL);
    finish(world, sender);
    return MOVE_DONE;
}

static int check_fit(struct vf_world *world, const struct room_qp *receiver,
                     const struct room_work *sent,
                     const struct room_work *received, uint32_t lead)
{
    const struct vf_profile *profile = mock_profile(world, &receiver->object);

    if (profile->frame_bytes && sent->slots != received->slots)
        return profile->frames_status;
    if (sent->length + lead > received->length)
        return profile->too_long_status;
    return check_bytes(world, receiver, received, true, IBV_ACCESS_LOCAL_WRITE,
                       profile->touched_only ? (uint64_t)sent->length + lead
                                             : UINT64_MAX);
}

/* Where a send's bytes are. one stands for those of an inline request. */
static struct copy_place place_of(struct room_work *work, struct ibv_sge *one)
{
    struct copy_place place = {
        .process = work->process,
        .list = work->sge,
        .count = work->entries,
    };

    if (!(work->flags & IBV_SEND_INLINE))
        return place;
    one->addr = (uintptr_t)mock_bytes(work);
    one->length = work->length;
    place.process = ROOM_PROCESSES;
    place.list = one;
    place.count = 1;
    return place;
}

/* A message to another process may wait in the room for its owner to take it.
 * Where; NULL: it is too long for that, or its owner does not come. */
static void *waiting_place(struct vf_world *world,
                           const struct room_qp *receiver,
                           struct room_work *received, uint64_t length,
                           enum mock_kept *where)
{
    struct room_completion *entry;

    *where = MOCK_NOT_KEPT;
    if (!world->view->shared || received->process == world->view->self)
        return NULL;
    entry = length <= ROOM_INSIDE ? mock_next(world, receiver->recv_cq) : NULL;
    if (entry) {
        *where = MOCK_INSIDE;
        return entry->bytes;
    }
    if (length <= mock_bytes_room(received))
        return mock_bytes(received);
    received->parked = length <= PARK_BYTES ? park_take(world) : 0;
    return received->parked ? park_at(world, received->parked) : NULL;
}

/* May a peer reach the memory of the receive by RDMA? Its own region does not
 * tell: the same memory can be in another one, too. */
enum mock_kept move_how_kept(const struct vf_world *world,
                             const struct room_work *received)
{
    return world->view->room->processes[received->process].reached
               ? MOCK_KEPT
               : MOCK_KEPT | MOCK_UNREACHED;
}

/* Copies lead (the header of a datagram) and the message; an error is a fault
 * of the receiver's memory or of its process. kept: the bytes wait in the
 * room. */
static int carry(struct vf_world *world, struct room_work *sent,
                 const struct room_qp *receiver, struct room_work *received,
                 struct ibv_sge *lead, enum mock_kept *kept)
{
    uint64_t length = sent->length + (uint64_t)lead->length;
    enum mock_kept where;
    void *waiting = waiting_place(world, receiver, received, length, &where);
    struct ibv_sge one;
    struct ibv_sge all = {.addr = (uintptr_t)waiting,
                          .length = (uint32_t)length};
    struct copy_place from = place_of(sent, &one);
    struct copy_place header = {
        .process = ROOM_PROCESSES,
        .list = lead,
        .count = 1,
    };
    struct copy_place to = {
        .process = waiting ? ROOM_PROCESSES : received->process,
        .list = waiting ? &all : received->sge,
        .count = waiting ? 1 : received->entries,
    };
    int err = 0;

    if (lead->length > 0)
        err = copy_short(world, &to, &header, lead->length);
    if (!err && sent->length > 0)
        err = copy_move(world, &to, &from, sent->length);
    if (waiting) /* the room was left, perhaps: what counts is now */
        *kept = where | move_how_kept(world, received);
    return err;
}

void move_describe(struct vf_world *world, const struct room_qp *sender,
                   struct room_work *sent, const struct room_qp *receiver,
                   uint32_t lead, struct ibv_wc *wc)
{
    bool grh = mock_profile(world, &receiver->object)->recv_grh;
    bool written = sent->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;

    wc->opcode = written ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
    wc->byte_len = sent->length + lead;
    wc->wc_flags = grh || lead > 0 ? IBV_WC_GRH : 0;
    if (sent->opcode == IBV_WR_SEND_WITH_IMM || written) {
        wc->wc_flags |= IBV_WC_WITH_IMM;
        wc->imm_data = sent->imm;
    } else if (sent->opcode == IBV_WR_SEND_WITH_INV) {
        wc->wc_flags |= IBV_WC_WITH_INV;
        wc->invalidated_rkey = sent->imm;
    }
    if (sent->flags & IBV_SEND_SOLICITED)
        wc->wc_flags |= MOCK_WC_SOLICITED;
    if (lead > 0) {
        wc->src_qp = sender->number;
        wc->pkey_index = receiver->attr.pkey_index;
        wc->sl = datagram_service(world, receiver, sent);
    }
}

int move_land(struct vf_world *world, struct room_qp *sender,
              struct room_work *sent, struct room_qp *receiver,
              uint32_t received, struct ibv_sge *lead)
{
    struct room_work *work = mock_work(world->view, received);
    bool carried = sent->opcode != IBV_WR_RDMA_WRITE_WITH_IMM;
    int status = carried ? check_fit(world, receiver, sent, work, lead->length)
                         : IBV_WC_SUCCESS;
    const struct vf_fault *fault = mock_plan(world, receiver);
    struct ibv_wc wc = {.wr_id = work->wr_id, .qp_num = receiver->number};
    enum mock_kept kept = MOCK_NOT_KEPT;

    if (status == IBV_WC_SUCCESS && carried && !vf_completion_fails(fault)) {
        int err;

        hold_receiver(world, receiver, work, sent->length);
        err = carry(world, sent, receiver, work, lead, &kept);
        hold_release(world);
        if (err == ESRCH) {
            hold_return_receive(world);
            return MOVE_PEER_DEAD;
        }
        if (err)
            status = mock_profile(world, &receiver->object)->recv_range_status;
    }
    if (status == IBV_WC_SUCCESS && sent->opcode == IBV_WR_SEND_WITH_INV &&
        !mock_invalidate(world, receiver, sent->imm, true))
        status = IBV_WC_LOC_PROT_ERR;
    wc.status = (enum ibv_wc_status)status;
    if (status == IBV_WC_SUCCESS)
        move_describe(world, sender, sent, receiver, lead->length, &wc);
    mock_complete(world, receiver, received, true, &wc, fault,
                  status == IBV_WC_SUCCESS ? kept : MOCK_NOT_KEPT);
    if (status != IBV_WC_SUCCESS)
        mock_fail(world, receiver);
    return status;
}

/* What the sender of a connection hears of the receiver's status. */
static int echo(struct vf_world *world, const struct room_qp *sender,
                const struct room_qp *receiver, int status)
{
    const struct vf_profile *profile = mock_profile(world, &sender->object);

    if (status == IBV_WC_SUCCESS || sender->type != IBV_QPT_RC)
        return IBV_WC_SUCCESS;
    return status == mock_profile(world, &receiver->object)->too_long_status
               ? profile->rc_too_long_status
               : profile->rc_refused_status;
}

void move_note_ahead(struct vf_world *world, struct mock_qp *sender,
                     struct room_qp *receiver, unsigned more)
{
    struct mock_ahead *ahead = &sender->ahead;
    const struct room_queue *queue = receives_of(world->view, receiver);

    ahead->receives = queue;
    ahead->receive = queue->first ? mock_work(world->view, queue->first) : NULL;
    ahead->completion = mock_next_ahead(world, receiver->recv_cq, more);
}

static void note_ahead(struct vf_world *world, const struct room_qp *sender,
                       struct room_qp *receiver)
{
    if (world->view->shared && mock_is_ours(world, &sender->object))
        move_note_ahead(world, mock_owner(&sender->object)->handle, receiver,
                        0);
}

static enum move move_send(struct vf_world *world, struct room_qp *sender,
                           struct room_qp *receiver)
{
    struct ibv_sge nothing = {0};
    uint32_t sent, received, length, room;
    int status;

    if (!receiver)
        return move_lost(world, sender, NULL);
    received = move_take_receive(world, receiver);
    if (!received)
        return move_lost(world, sender, receiver);
    sent = move_take_send(world, sender);
    length = mock_work(world->view, sent)->length;
    room = mock_work(world->view, received)->length;
    status = move_land(world, sender, mock_work(world->view, sent), receiver,
                       received, &nothing);
    if (status == MOVE_PEER_DEAD) {
        hold_return_send(world);
        return sender->state == IBV_QPS_RTS ? move_lost(world, sender, NULL)
                                            : MOVE_DONE;
    }
    /* As far as it was, a longer message has come. */
    move_count(sender, receiver, length,
               status == IBV_WC_SUCCESS ? MOVE_ALL
               : length > room          ? room
                                        : 0);
    if (status == IBV_WC_SUCCESS)
        note_ahead(world, sender, receiver);
    status = echo(world, sender, receiver, status);
    mock_complete_send(world, sender, sent, status);
    if (status != IBV_WC_SUCCESS)
        mock_fail(world, sender);
    return MOVE_DONE;
}

/* Binding and invalidating take place here. */
static enum move move_local(struct vf_world *world, struct room_qp *sender)
{
    struct room_work *work = mock_work(world->view, sender->send.first);
    int status = IBV_WC_SUCCESS;

    if (work->opcode == IBV_WR_BIND_MW)
        status = mock_bind(world, sender, &mock_extra(work)->bind);
    else if (!mock_invalidate(world, sender, work->imm, false))
        status = IBV_WC_LOC_QP_OP_ERR;
    if (status == IBV_WC_SUCCESS)
        finish(world, sender);
    else
        move_refuse(world, sender, status);
    return MOVE_DONE;
}

/* A datagram is one packet, whatever its length. */
static uint32_t packet_bytes(const struct room_qp *sender)
{
    return sender->type == IBV_QPT_UD ? UINT32_MAX
                                      : 128u << sender->attr.path_mtu;
}

void move_count(struct room_qp *sender, struct room_qp *receiver,
                uint32_t length, uint32_t taken)
{
    uint32_t packet = packet_bytes(sender);
    uint32_t all = length ? (length - 1) / packet + 1 : 1;
    uint32_t good = taken / packet < all ? taken / packet : all - 1;
    uint32_t first = sender->next_sent;

    if (taken == MOVE_ALL)
        good = all;
    else if (sender->type == IBV_QPT_RC)
        all = good + 1;
    sender->next_sent = (first + all) & PACKET_NUMBERS;
    if (receiver && good > 0)
        receiver->next_come = (first + good) & PACKET_NUMBERS;
}

/* Over RC a wrong first packet number is never made good. */
bool move_is_ready(const struct room_qp *sender, const struct room_qp *receiver)
{
    if (!move_can_receive(receiver) || receiver->type != sender->type)
        return false;
    return sender->type != IBV_QPT_RC ||
           receiver->attr.rq_psn == sender->attr.sq_psn;
}

/* The receiver of a connection, when its packets would be taken there. */
static struct room_qp *ready_end(struct vf_world *world,
                                 const struct room_qp *sender)
{
    struct room_qp *receiver = route_other_end(world, sender);

    return receiver && move_is_ready(sender, receiver) ? receiver : NULL;
}

static enum move move_one(struct vf_world *world, struct room_qp *sender)
{
    const struct room_work *work = mock_work(world->view, sender->send.first);
    enum ibv_wr_opcode opcode = (enum ibv_wr_opcode)work->opcode;
    bool fetches = opcode == IBV_WR_RDMA_READ ||
                   opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
                   opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
    int status = IBV_WC_SUCCESS;

    if (sender->type == IBV_QPT_UD && opcode != IBV_WR_SEND &&
        opcode != IBV_WR_SEND_WITH_IMM) {
        move_refuse(world, sender, IBV_WC_LOC_QP_OP_ERR);
        return MOVE_DONE;
    }
    if (opcode == IBV_WR_BIND_MW || opcode == IBV_WR_LOCAL_INV)
        return move_local(world, sender);
    if (sender->type == IBV_QPT_UD && datagram_is_lost(world, sender))
        return datagram_move(world, sender);
    if (!fetches || !mock_profile(world, &sender->object)->fetch_key_status)
        status = move_check_entries(world, sender, work, false,
                                    fetches ? IBV_ACCESS_LOCAL_WRITE : 0);
    if (status == IBV_WC_SUCCESS && fetches && sender->type != IBV_QPT_RC)
        status = IBV_WC_LOC_QP_OP_ERR;
    if (status != IBV_WC_SUCCESS) {
        move_refuse(world, sender, status);
        return MOVE_DONE;
    }
    if (sender->type == IBV_QPT_UD)
        return datagram_move(world, sender);
    if (opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
        opcode == IBV_WR_SEND_WITH_INV)
        return move_send(world, sender, ready_end(world, sender));
    return remote_move(world, sender, ready_end(world, sender));
}

void move_pump(struct vf_world *world, struct room_qp *sender)
{
    if (sender->moving)
        return;
    sender->moving = world->view->self + 1;
    while (sender->send.first && sender->state == IBV_QPS_RTS)
        if (move_one(world, sender) == MOVE_WAITS)
            break;
    sender->moving = 0;
}

void move_ready(struct vf_world *world, struct room_qp *receiver)
{
    struct room_qp *sender;

    if (!move_can_receive(receiver))
        return;
    if (receiver->type == IBV_QPT_UD) {
        datagram_ready(world, receiver);
        return;
    }
    sender = route_other_end(world, receiver);
    if (sender && sender->send.first)
        move_pump(world, sender);
}

void move_gone(struct vf_world *world, const struct room_qp *receiver)
{
    struct room_qp *sender;

    if (receiver->type != IBV_QPT_RC)
        return;
    sender = route_other_end(world, receiver);
    /* Whoever is about to see to that may be none of the two: nothing but its
     * waiting may change. */
    if (sender && sender != receiver && sender->send.first &&
        !ready_end(world, sender))
        move_pump(world, sender);
}

void move_posted(struct vf_world *world, struct room_qp *receiver)
{
    if (!receiver->awaited)
        return;
    receiver->awaited = false;
    move_ready(world, receiver);
}
