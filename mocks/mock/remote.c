/*
 * RDMA WRITE, READ and atomics: the peer's program takes no part.
 *
 * Atomics of all processes are one after the other, for the room is entered
 * (IBV_ATOMIC_HCA: atomic among themselves, not with the peer's processor).
 *
 * A short message that its receiver has not taken yet is written to its place
 * first: what was sent before must be there before.
 */
#include <errno.h>
#include <string.h>

#include "mock/hold.h"
#include "mock/mock.h"

#define LOOKS 10000u /* at an entry, before its owner's life is asked after */

static uint32_t wanted_access(enum ibv_wr_opcode opcode)
{
    switch (opcode) {
    case IBV_WR_RDMA_READ:
        return IBV_ACCESS_REMOTE_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        return IBV_ACCESS_REMOTE_ATOMIC;
    default:
        return IBV_ACCESS_REMOTE_WRITE;
    }
}

/* Its owner copies it just now: not for long, unless it dies. */
static void await_owner(const struct vf_world *world,
                        const struct room_completion *entry, uint32_t process)
{
    pid_t pid = atomic_load(&world->view->room->processes[process].pid);

    for (unsigned tries = 1;
         atomic_load_explicit(&entry->work, memory_order_acquire) &
         MOCK_WORK_OWNER;
         tries++) {
        if (tries % LOOKS == 0 && !vf_os_alive(pid))
            return;
        vf_os_pause();
    }
}

/* The message in a completion that its owner has not taken. */
static void settle_entry(struct vf_world *world, struct room_completion *entry,
                         uint32_t process)
{
    uint32_t work = atomic_load_explicit(&entry->work, memory_order_acquire);

    if (work == 0 || entry->about & ROOM_UNREACHED)
        return;
    if (!(work & MOCK_WORK_TAKEN) &&
        atomic_compare_exchange_strong_explicit(
            &entry->work, &work, work | MOCK_WORK_PEER, memory_order_acquire,
            memory_order_relaxed))
        mock_unpack(world, entry, work);
    else
        await_owner(world, entry, process);
}

static void settle_queue(struct vf_world *world, const struct room_cq *cq)
{
    struct room_completion *ring = room_at(world->view, cq->ring);
    uint32_t head = atomic_load_explicit(&cq->head, memory_order_acquire);

    for (; cq->tail - head - 1 < cq->slots; head++)
        settle_entry(world, &ring[head & (cq->slots - 1)], cq->object.process);
}

/* Of all its queue pairs: a send over one that has completed comes before an
 * RDMA request over another. */
static void settle_messages(struct vf_world *world, uint32_t number)
{
    struct room_process *process = &world->view->room->processes[number];
    const struct room_cq *cq;

    if (atomic_load_explicit(&process->underway, memory_order_acquire) == 0)
        return;
    cq = room_find(world->view, ROOM_CQ, process->objects[ROOM_CQ]);
    for (; cq; cq = room_find(world->view, ROOM_CQ, cq->object.next))
        settle_queue(world, cq);
}

static uint64_t place_in(const struct room_region *region, uint64_t address)
{
    return region->address + (address - region->iova);
}

/* One 8-byte word of the peer's, changed; what it was goes to the sender, if it
 * has a place for that (answered). */
static int change_word(struct vf_world *world, struct room_work *sent,
                       uint32_t process, uint64_t place, bool answered)
{
    uint64_t was, is;
    struct ibv_sge word = {.addr = (uintptr_t)&was, .length = sizeof(was)};
    struct copy_place from = {
        .process = ROOM_PROCESSES, .list = &word, .count = 1};
    struct copy_place to = {
        .process = sent->process, .list = sent->sge, .count = sent->entries};
    int err = copy_in(world, process, &was, place, sizeof(was));

    if (err)
        return err;
    is = was;
    if (sent->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
        is += mock_extra(sent)->remote.compare_add;
    else if (was == mock_extra(sent)->remote.compare_add)
        is = mock_extra(sent)->remote.swap;
    if (is != was)
        err = copy_out(world, process, place, &is, sizeof(is));
    if (!err && answered)
        err = copy_short(world, &to, &from, sizeof(was));
    return err;
}

/* The bytes of a READ or WRITE, in pieces that an entry can name. */
static int carry(struct vf_world *world, struct room_work *sent,
                 uint32_t process, uint64_t place)
{
    bool inlined = sent->flags & IBV_SEND_INLINE;
    struct ibv_sge there = {.addr = place, .length = sent->length};
    struct ibv_sge bytes = {.addr = (uintptr_t)mock_bytes(sent),
                            .length = sent->length};
    struct copy_place far = {.process = process, .list = &there, .count = 1};
    struct copy_place near = {
        .process = inlined ? ROOM_PROCESSES : sent->process,
        .list = inlined ? &bytes : sent->sge,
        .count = inlined ? 1 : sent->entries,
    };

    if (sent->length == 0)
        return 0;
    if (sent->opcode == IBV_WR_RDMA_READ)
        return copy_move(world, &near, &far, sent->length);
    return copy_move(world, &far, &near, sent->length);
}

static bool is_atomic(const struct room_work *work)
{
    return work->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
           work->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* What the responder says: IBV_WC_SUCCESS, or what the sender hears. */
static int check(struct vf_world *world, struct room_work *sent,
                 struct room_qp *receiver, struct room_region **region)
{
    uint32_t access = wanted_access((enum ibv_wr_opcode)sent->opcode);
    uint64_t length = is_atomic(sent) ? sizeof(uint64_t) : sent->length;
    bool outside;

    *region = NULL;
    if (!(receiver->attr.qp_access_flags & access))
        return IBV_WC_REM_INV_REQ_ERR;
    if (access != IBV_ACCESS_REMOTE_WRITE &&
        receiver->attr.max_dest_rd_atomic == 0)
        return IBV_WC_REM_INV_REQ_ERR;
    if (is_atomic(sent) &&
        (mock_extra(sent)->remote.address % 8 || sent->length < 8))
        return IBV_WC_REM_INV_REQ_ERR;
    if (length == 0)
        return IBV_WC_SUCCESS;
    *region =
        mock_region(world, receiver, mock_extra(sent)->rkey, true,
                    mock_extra(sent)->remote.address, length, access, &outside);
    return *region ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR;
}

static int perform(struct vf_world *world, struct room_work *sent,
                   struct room_qp *receiver, struct room_region *region,
                   bool answered)
{
    uint64_t place =
        region ? place_in(region, mock_extra(sent)->remote.address) : 0;
    uint32_t process = receiver->object.process;
    int err;

    settle_messages(world, process);
    if (is_atomic(sent))
        return change_word(world, sent, process, place, answered);
    if (!answered)
        return 0;
    hold_receiver(world, receiver, sent, sent->length);
    if (region && world->view->shared && sent->length >= COPY_LONG) {
        hold_region(world, region);
        region = room_find(world->view, ROOM_REGION, region->under);
        if (region) /* a window has no memory of its own */
            hold_region(world, region);
    }
    err = carry(world, sent, process, place);
    hold_release(world);
    return err;
}

/* The responder's end fails too, and its program is told. */
static void refuse(struct vf_world *world, struct room_qp *receiver, int status)
{
    if (!mock_profile(world, &receiver->object)->responder_is_quiet)
        notice_object(world, &receiver->object,
                      status == IBV_WC_REM_ACCESS_ERR ? IBV_EVENT_QP_ACCESS_ERR
                                                      : IBV_EVENT_QP_REQ_ERR);
    mock_fail(world, receiver);
}

/* Where a READ or an atomic puts its answer: what is wrong with it when that
 * comes. Most devices have looked before (move.c). */
static int check_place(struct vf_world *world, const struct room_qp *sender,
                       const struct room_work *sent)
{
    int late = mock_profile(world, &sender->object)->fetch_key_status;
    int status = IBV_WC_SUCCESS;

    if (late)
        status = move_check_entries(world, sender, sent, false,
                                    IBV_ACCESS_LOCAL_WRITE);
    return status == IBV_WC_SUCCESS ? status : late;
}

/* Does this one take a receive although its key is wrong? */
static bool takes_receive(struct vf_world *world, const struct room_qp *sender,
                          const struct room_qp *receiver,
                          const struct room_work *sent, int status)
{
    return status == IBV_WC_REM_ACCESS_ERR && sender->type == IBV_QPT_RC &&
           sent->length <= 128u << sender->attr.path_mtu &&
           mock_profile(world, &receiver->object)->receive_before_key;
}

/* The packets of a READ are its answer's: their numbers are given at once. */
static void count(struct room_qp *sender, struct room_qp *receiver,
                  const struct room_work *sent, int status)
{
    if (status != IBV_WC_SUCCESS && sent->opcode == IBV_WR_RDMA_READ)
        move_count(sender, NULL, sent->length, MOVE_ALL);
    else
        move_count(sender, receiver, sent->length,
                   status == IBV_WC_SUCCESS ? MOVE_ALL : 0);
}

/* Of a WRITE it is the last packet that needs the receive. */
static void come_so_far(const struct room_qp *sender, struct room_qp *receiver,
                        uint32_t length)
{
    uint32_t packet = 128u << sender->attr.path_mtu;
    uint32_t before = length ? (length - 1) / packet : 0;

    if (before > 0)
        receiver->next_come = (sender->next_sent + before) & 0xffffff;
}

enum move remote_move(struct vf_world *world, struct room_qp *sender,
                      struct room_qp *receiver)
{
    struct room_work *sent = mock_work(world->view, sender->send.first);
    bool announced = sent->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    struct ibv_sge nothing = {0};
    struct room_region *region;
    uint32_t received = 0;
    int err = 0;
    int fetched = IBV_WC_SUCCESS;
    int status;

    if (!receiver)
        return move_lost(world, sender, NULL);
    status = check(world, sent, receiver, &region);
    if (sent->opcode == IBV_WR_RDMA_READ || is_atomic(sent))
        fetched = check_place(world, sender, sent);
    if (announced && (status == IBV_WC_SUCCESS ||
                      takes_receive(world, sender, receiver, sent, status))) {
        received = move_take_receive(world, receiver);
        if (!received) {
            come_so_far(sender, receiver, sent->length);
            return move_lost(world, sender, receiver);
        }
    }
    move_take_send(world, sender);
    if (status == IBV_WC_SUCCESS)
        err = perform(world, sent, receiver, region, fetched == IBV_WC_SUCCESS);
    if (err == ESRCH) {
        hold_return_receive(world);
        hold_return_send(world);
        return sender->state == IBV_QPS_RTS ? move_lost(world, sender, NULL)
                                            : MOVE_DONE;
    }
    if (err)
        status = IBV_WC_REM_ACCESS_ERR;
    count(sender, receiver, sent, status);
    if (received && status == IBV_WC_SUCCESS)
        move_land(world, sender, sent, receiver, received, &nothing);
    else if (received)
        mock_complete_error(
            world, receiver, received, true,
            mock_profile(world, &receiver->object)->receive_before_key
                ? IBV_WC_REM_ACCESS_ERR
                : IBV_WC_WR_FLUSH_ERR);
    if (status != IBV_WC_SUCCESS && sender->type == IBV_QPT_RC)
        refuse(world, receiver, status);
    if (status == IBV_WC_SUCCESS)
        status = fetched;
    if (sender->type != IBV_QPT_RC)
        status = IBV_WC_SUCCESS; /* lost, and nobody says so */
    mock_complete_send(world, sender, room_ref(world->view, sent), status);
    if (status != IBV_WC_SUCCESS)
        mock_fail(world, sender);
    return MOVE_DONE;
}
