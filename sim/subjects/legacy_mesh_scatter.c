/*
 * The mesh's sum for large messages (2026-08-22): each rank sums up its own
 * chunk of everybody's (scatter), then everybody gets everybody's chunk
 * (gather); what does not divide is summed up by the small algorithm.
 *
 * Both halves have one shape: two copies in flight to and from every peer,
 * each completed receive consumed at once at its rank's write offset.
 */
#include "sim/subjects/legacy.h"

#include <string.h>

struct transfer {
    struct legacy_group *group;
    bool gather; /* else scatter */
    enum scn_type type;
    int64_t item;   /* bytes of an element; a gather's elements are bytes */
    const char *in; /* scatter: the ranks' chunks; gather: one's own */
    char *out;      /* scatter: one's own chunk; gather: the ranks' */
    int64_t total, frame; /* elements: of a chunk, in one buffer */
    int size_class;
    int64_t read;
    int in_flight;
    int sent[LEGACY_COPIES];
    int64_t written[LEGACY_MESH_MAX];
    struct legacy_completions completions;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static uint64_t label(int kind, int copy, int rank)
{
    return (uint64_t)kind << 16 | (uint64_t)copy << 8 | (uint64_t)rank;
}

/* Of a set of scatter buffers the first half is for sending. */
static struct legacy_buffer *scatter_buffer(const struct transfer *transfer,
                                            int copy, int slot)
{
    int set = transfer->size_class * LEGACY_COPIES;
    int64_t first = (int64_t)(set + copy) * 2 * transfer->group->size;
    return legacy_buffer_at(transfer->group, &transfer->group->scatter_buffers,
                            first + slot);
}

static struct legacy_buffer *recv_buffer(const struct transfer *transfer,
                                         int copy, int rank)
{
    if (transfer->gather)
        return legacy_mesh_buffer(transfer->group, transfer->size_class, copy,
                                  rank);
    return scatter_buffer(transfer, copy, transfer->group->size + rank);
}

static int post_recv(const struct transfer *transfer, int copy, int rank)
{
    struct legacy_group *group = transfer->group;
    struct legacy_connection *connection =
        legacy_connection_at(group, legacy_span_of(&group->mesh), rank);
    struct legacy_buffer *buffer = recv_buffer(transfer, copy, rank);
    return legacy_post_recv(group, connection, buffer,
                            label(LEGACY_RECV, copy, rank));
}

static int post_recvs(const struct transfer *transfer, int copy)
{
    for (int i = 0; i < transfer->group->size; i++)
        if (i != transfer->group->rank && post_recv(transfer, copy, i))
            return -1;
    return 0;
}

/* The next part of a chunk into a buffer. */
static void stage(const struct transfer *transfer, const char *chunk,
                  const struct legacy_buffer *buffer)
{
    int64_t elements = least(transfer->frame, transfer->total - transfer->read);
    memcpy(legacy_buffer_data(transfer->group, buffer),
           chunk + transfer->read * transfer->item,
           (size_t)(elements * transfer->item));
}

/* Stages and sends the next part: to each peer its chunk's, or to all one's
 * own chunk's. */
static int send_next(struct transfer *transfer, int copy)
{
    struct legacy_group *group = transfer->group;
    int64_t chunk = transfer->total * transfer->item;
    if (transfer->gather) {
        stage(transfer, transfer->in, recv_buffer(transfer, copy, group->rank));
        if (legacy_mesh_post_sends(group, transfer->size_class, copy))
            return -1;
        transfer->read += transfer->frame;
        return 0;
    }
    for (int i = 0; i < group->size; i++)
        if (i != group->rank)
            stage(transfer, transfer->in + i * chunk,
                  scatter_buffer(transfer, copy, i));
    for (int i = 0; i < group->size; i++)
        if (i != group->rank &&
            legacy_post_send(group, &group->mesh.at[i],
                             scatter_buffer(transfer, copy, i),
                             label(LEGACY_SEND, copy, i)))
            return -1;
    transfer->read += transfer->frame;
    return 0;
}

static int prefill(struct transfer *transfer)
{
    for (int copy = 0; copy < LEGACY_COPIES && transfer->read < transfer->total;
         copy++) {
        if (post_recvs(transfer, copy) || send_next(transfer, copy))
            return -1;
        transfer->in_flight += 2 * (transfer->group->size - 1);
    }
    return 0;
}

static int after_send(struct transfer *transfer, int copy)
{
    int peers = transfer->group->size - 1;
    if (copy >= LEGACY_COPIES) {
        legacy_crash(transfer->group, "write past counts in mesh",
                     "a completed send of buffer %d of %d", copy,
                     LEGACY_COPIES);
        legacy_touch_write(sizeof transfer->sent[0], LEGACY_COPIES, copy);
        return 0;
    }
    transfer->sent[copy]++;
    if (transfer->sent[copy] != peers)
        return 0;
    if (send_next(transfer, copy))
        return -1;
    transfer->sent[copy] = 0;
    transfer->in_flight += peers;
    return 0;
}

/* One more completion than there was work moves a rank's offset past the end
 * of its chunk, and the next makes the length of the copy negative. */
static bool consumable(const struct transfer *transfer, int rank)
{
    struct legacy_group *group = transfer->group;
    if (rank >= LEGACY_MESH_MAX || (transfer->gather && rank >= group->size)) {
        legacy_crash(group, "write past ranks in mesh",
                     "a receive from rank %d of %d", rank, group->size);
        legacy_touch_write(sizeof transfer->written[0], LEGACY_MESH_MAX, rank);
        return false;
    }
    int64_t left = transfer->total - transfer->written[rank];
    if (left >= 0)
        return true;
    legacy_crash(group,
                 transfer->gather ? "copy of negative length in mesh"
                                  : "sum of negative length in mesh",
                 "%lld elements of rank %d", (long long)left, rank);
    legacy_touch_write(1, transfer->total * transfer->item,
                       transfer->total * transfer->item);
    return false;
}

static void consume(const struct transfer *transfer, const void *data, int rank)
{
    int64_t at = transfer->written[rank];
    int64_t elements = least(transfer->frame, transfer->total - at);
    char *out = transfer->out + at * transfer->item;
    if (!transfer->gather) {
        legacy_sum(transfer->type, out, data, out, elements);
        return;
    }
    memcpy(out + rank * transfer->total, data, (size_t)elements);
}

static int after_recv(struct transfer *transfer, int copy, int rank)
{
    struct legacy_buffer *buffer = recv_buffer(transfer, copy, rank);
    if (!consumable(transfer, rank))
        return 0;
    consume(transfer, legacy_buffer_data(transfer->group, buffer), rank);
    transfer->written[rank] += transfer->frame;
    if (transfer->written[rank] + transfer->frame * (LEGACY_COPIES - 1) >=
        transfer->total)
        return 0;
    transfer->in_flight++;
    return post_recv(transfer, copy, rank);
}

static int run(struct transfer *transfer)
{
    struct legacy_span span = legacy_span_of(&transfer->group->mesh);
    if (prefill(transfer))
        return -1;
    while (transfer->in_flight > 0) {
        int count =
            legacy_poll(transfer->group, &span, 1, &transfer->completions);
        for (int i = 0; i < count; i++) {
            struct legacy_work work = legacy_completion_work(
                transfer->group, &transfer->completions, i);
            int status = 0;
            transfer->in_flight--;
            if (work.kind == LEGACY_SEND && transfer->read < transfer->total)
                status = after_send(transfer, work.copy);
            else if (work.kind == LEGACY_RECV)
                status = after_recv(transfer, work.copy, work.index);
            if (status)
                return -1;
        }
    }
    return 0;
}

static int transfer_run(struct transfer *transfer, int64_t total)
{
    transfer->total = total;
    transfer->size_class = legacy_class_of(total * transfer->item);
    transfer->frame =
        ((int64_t)LEGACY_FRAME << transfer->size_class) / transfer->item;
    legacy_completions_init(&transfer->completions, LEGACY_POLL_MAX);
    return run(transfer);
}

static int scatter(struct legacy_group *group, const char *in, char *out,
                   int64_t chunk, enum scn_type type)
{
    struct transfer transfer;
    memset(&transfer, 0, offsetof(struct transfer, completions));
    transfer.group = group;
    transfer.type = type;
    transfer.item = (int64_t)scn_type_size(type);
    transfer.in = in;
    transfer.out = out;
    int64_t bytes = chunk * transfer.item;
    memmove(out, in + group->rank * bytes, (size_t)bytes);
    return transfer_run(&transfer, chunk);
}

int legacy_mesh_gather(struct legacy_group *group, const char *in, char *out,
                       int64_t bytes)
{
    struct transfer transfer;
    memset(&transfer, 0, offsetof(struct transfer, completions));
    transfer.group = group;
    transfer.gather = true;
    transfer.type = SCN_UINT8;
    transfer.item = 1;
    transfer.in = out + group->rank * bytes;
    transfer.out = out;
    if (in != transfer.in)
        memcpy(out + group->rank * bytes, in, (size_t)bytes);
    return transfer_run(&transfer, bytes);
}

int legacy_mesh_scatter_sum(struct legacy_group *group, const char *in,
                            char *out, int64_t count, enum scn_type type)
{
    int64_t item = (int64_t)scn_type_size(type);
    int64_t chunk = count / group->size;
    int64_t even = chunk * group->size;
    if (chunk > 0) {
        char *own = out + group->rank * chunk * item;
        if (scatter(group, in, own, chunk, type) ||
            legacy_mesh_gather(group, own, out, chunk * item))
            return -1;
    }
    if (even == count)
        return 0;
    return legacy_mesh_sum(group, in + even * item, out + even * item,
                           count - even, type);
}
