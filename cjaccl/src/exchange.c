#include "exchange.h"

#include "completion.h"
#include "error.h"
#include "side.h"

#include <errno.h>
#include <string.h>

/* Before macOS 26.3, JACCL sends no message of more than one frame. */
static bool has_large_messages(void)
{
#ifdef __APPLE__
    if (__builtin_available(macOS 26.3, iOS 26.3, tvOS 26.3, visionOS 26.3, *))
        return true;
    return false;
#else
    return true;
#endif
}

size_t cji_message_size(size_t bytes)
{
    int k = has_large_messages() ? CJI_CLASS_COUNT - 1 : 0;

    while (k > 0 && bytes < CJI_FRAME_SIZE << k)
        k--;
    return CJI_FRAME_SIZE << k;
}

/* Never 0, and not the same again for a long time. */
static uint64_t work_id(const struct cj_group *group, bool send, int peer,
                        size_t chunk)
{
    return (uint64_t)group->phase << 32 | (uint64_t)send << 31 |
           (uint64_t)peer << 24 | (chunk & 0xffffff);
}

static int fail_post(struct cj_group *group, int peer, const char *what,
                     int err_no)
{
    return cji_fail(group, CJ_VERBS, cji_about_link(group, peer, err_no),
                    "%s: device %s does not take a %s for rank %d: %s; is its "
                    "cable still plugged in?",
                    cj_strstep(group->step),
                    group->connections[peer].device->name, what, peer,
                    cji_errno_text(err_no).text);
}

static int post_receive(struct cj_group *group,
                        const struct cji_exchange *exchange, int peer,
                        size_t chunk)
{
    struct cji_connection *connection = &group->connections[peer];
    int slot = (int)(chunk % CJI_SLOTS);
    struct cji_work *work = &connection->recv_work[slot];
    struct ibv_recv_wr *bad = NULL;
    struct ibv_sge sge = {
        .addr = (uintptr_t)connection->recv_slot[slot],
        .length = (uint32_t)exchange->message,
        .lkey = connection->device->mr->lkey,
    };
    struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
    int err_no;

    work->id = work_id(group, false, peer, chunk);
    work->length = sge.length;
    wr.wr_id = work->id;
    errno = 0;
    err_no = cji_verbs_errno(ibv_post_recv(connection->qp, &wr, &bad));
    if (err_no != 0)
        return fail_post(group, peer, "receive", err_no);
    work->posted = true;
    return CJ_OK;
}

static int post_send(struct cj_group *group,
                     const struct cji_exchange *exchange, int peer,
                     size_t chunk, const unsigned char *data)
{
    struct cji_connection *connection = &group->connections[peer];
    struct cji_work *work = &connection->send_work[chunk % CJI_SLOTS];
    struct ibv_send_wr *bad = NULL;
    struct ibv_sge sge = {
        .addr = (uintptr_t)data,
        .length = (uint32_t)exchange->message,
        .lkey = connection->device->mr->lkey,
    };
    struct ibv_send_wr wr = {
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = IBV_WR_SEND,
        .send_flags = IBV_SEND_SIGNALED,
    };
    int err_no;

    work->id = work_id(group, true, peer, chunk);
    work->length = sge.length;
    wr.wr_id = work->id;
    errno = 0;
    err_no = cji_verbs_errno(ibv_post_send(connection->qp, &wr, &bad));
    if (err_no != 0)
        return fail_post(group, peer, "send", err_no);
    work->posted = true;
    return CJ_OK;
}

/* The next peer's number, without one's own; group->size after the last. */
static int next_peer(const struct cj_group *group, int peer)
{
    peer++;
    return peer == group->rank ? peer + 1 : peer;
}

/* Chunks that may be on their way here at once: what every queue has room for.
 */
static size_t window(const struct cj_group *group)
{
    int least = group->lockstep ? 1 : CJI_SLOTS;

    for (int p = next_peer(group, -1); p < group->size; p = next_peer(group, p))
        if (group->connections[p].window < least)
            least = group->connections[p].window;
    return (size_t)least;
}

static int post_receives(struct cj_group *group, struct cji_exchange *exchange)
{
    size_t ahead = exchange->used + window(group);

    for (; exchange->posted < exchange->chunks && exchange->posted < ahead;
         exchange->posted++) {
        for (int p = next_peer(group, -1); p < group->size;
             p = next_peer(group, p)) {
            int status = post_receive(group, exchange, p, exchange->posted);

            if (status != CJ_OK)
                return status;
        }
    }
    return CJ_OK;
}

/* The slot is free, and fewer than `room` sends are in the queue. */
static bool has_room(const struct cji_connection *connection, size_t slot,
                     size_t room)
{
    size_t outstanding = 0;

    for (int i = 0; i < CJI_SLOTS; i++)
        outstanding += connection->send_work[i].posted;
    return !connection->send_work[slot].posted && outstanding < room;
}

static bool may_send(const struct cj_group *group,
                     const struct cji_exchange *exchange)
{
    size_t chunk = exchange->sent;
    size_t room = window(group);

    if (chunk == exchange->chunks || chunk >= exchange->used + room)
        return false;
    if (group->handshake && chunk > exchange->used)
        return false;
    for (int p = next_peer(group, -1); p < group->size; p = next_peer(group, p))
        if (!has_room(&group->connections[p], chunk % CJI_SLOTS, room))
            return false;
    return true;
}

/* The slot that a chunk for `peer` is sent from. */
static unsigned char *send_slot(const struct cj_group *group,
                                const struct cji_exchange *exchange, int peer,
                                size_t chunk)
{
    int owner = exchange->to_all ? next_peer(group, -1) : peer;

    return group->connections[owner].send_slot[chunk % CJI_SLOTS];
}

/* What ranks compare when they meet. */
struct meeting {
    uint32_t phase;
    uint32_t step;
    uint64_t digest;
};

static int meet(struct cj_group *group, const struct cji_exchange *exchange)
{
    struct meeting mine = {
        .phase = group->phase,
        .step = (uint32_t)group->step,
        .digest = exchange->digest,
    };
    struct meeting all[CJ_MAX_MESH_RANKS];
    int status = cji_side_gather(group, &mine, all, sizeof mine);

    for (int rank = 0; status == CJ_OK && rank < group->size; rank++) {
        if (memcmp(&all[rank], &mine, sizeof mine) != 0)
            status = cji_fail(group, CJ_PROTOCOL, cji_about_peer(rank, 0),
                              "%s: rank %d does another operation, or the same "
                              "with another type or count: every rank has to "
                              "make the same calls in the same order",
                              cj_strstep(group->step), rank);
    }
    return status;
}

/* Before a SEND that nothing else tells the peers to be ready for. */
static int meet_if_due(struct cj_group *group,
                       const struct cji_exchange *exchange)
{
    if (!group->handshake || (exchange->sent > 0 && !group->lockstep))
        return CJ_OK;
    return meet(group, exchange);
}

static int post_sends(struct cj_group *group, struct cji_exchange *exchange)
{
    while (may_send(group, exchange)) {
        size_t chunk = exchange->sent;
        bool filled = false;
        int status = meet_if_due(group, exchange);

        if (status != CJ_OK)
            return status;
        for (int p = next_peer(group, -1); p < group->size;
             p = next_peer(group, p)) {
            unsigned char *slot = send_slot(group, exchange, p, chunk);

            if (!filled)
                exchange->fill(exchange, p, chunk, slot);
            filled = exchange->to_all;
            status = post_send(group, exchange, p, chunk, slot);
            if (status != CJ_OK)
                return status;
        }
        exchange->sent++;
    }
    return CJ_OK;
}

/* A chunk that was posted has arrived once it is not outstanding any more. */
static bool has_arrived(const struct cj_group *group, size_t chunk)
{
    for (int p = next_peer(group, -1); p < group->size; p = next_peer(group, p))
        if (group->connections[p].recv_work[chunk % CJI_SLOTS].posted)
            return false;
    return true;
}

static void use_chunk(const struct cj_group *group,
                      struct cji_exchange *exchange)
{
    size_t chunk = exchange->used;
    unsigned char *from[CJ_MAX_MESH_RANKS] = {NULL};

    for (int p = next_peer(group, -1); p < group->size; p = next_peer(group, p))
        from[p] = group->connections[p].recv_slot[chunk % CJI_SLOTS];
    from[group->rank] = send_slot(group, exchange, next_peer(group, -1), chunk);
    exchange->use(exchange, chunk, from);
    exchange->used++;
}

/* Uses up what has arrived from everybody, and makes room for more. */
static int use_arrived(struct cj_group *group, struct cji_exchange *exchange)
{
    int status = CJ_OK;

    while (status == CJ_OK && exchange->used < exchange->posted &&
           exchange->used < exchange->sent &&
           has_arrived(group, exchange->used)) {
        use_chunk(group, exchange);
        status = post_receives(group, exchange);
    }
    return status;
}

static bool is_finished(const struct cj_group *group,
                        const struct cji_exchange *exchange)
{
    if (exchange->sent < exchange->chunks || exchange->used < exchange->chunks)
        return false;
    for (int p = next_peer(group, -1); p < group->size; p = next_peer(group, p))
        for (int slot = 0; slot < CJI_SLOTS; slot++)
            if (group->connections[p].send_work[slot].posted)
                return false;
    return true;
}

int cji_exchange_run(struct cj_group *group, struct cji_exchange *exchange)
{
    int status;

    exchange->posted = exchange->sent = exchange->used = 0;
    group->phase = group->phase == UINT32_MAX ? 1 : group->phase + 1;
    status = post_receives(group, exchange);
    while (status == CJ_OK && !is_finished(group, exchange)) {
        status = post_sends(group, exchange);
        if (status == CJ_OK)
            status = cji_await_completion(group);
        if (status == CJ_OK)
            status = use_arrived(group, exchange);
    }
    return status;
}
