/*
 * Posting work and polling for it.
 */
#include "sim/subjects/legacy.h"

#include <string.h>

/* The buffer as the one scatter/gather entry of a request. */
static int entry_of(struct legacy_group *group,
                    const struct legacy_connection *connection,
                    const struct legacy_buffer *buffer, struct ibv_sge *entry)
{
    const struct legacy_region *region = buffer->newest;
    while (region && region->domain != connection->domain)
        region = region->older;
    if (!region) /* the map's own exception */
        return legacy_throw(group, "the buffer is not registered here");
    entry->addr = (uintptr_t)buffer->data;
    entry->length = (uint32_t)buffer->bytes;
    entry->lkey = region->region->lkey;
    return 0;
}

int legacy_post_send(struct legacy_group *group,
                     const struct legacy_connection *connection,
                     const struct legacy_buffer *buffer, uint64_t wr_id)
{
    struct ibv_send_wr request, *bad;
    struct ibv_sge entry;
    if (entry_of(group, connection, buffer, &entry))
        return -1;
    memset(&request, 0, sizeof request);
    request.wr_id = wr_id;
    request.sg_list = &entry;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    int status = ibv_post_send(connection->queue_pair, &request, &bad);
    if (status == 0)
        return 0;
    return legacy_throw(group, "a send cannot be posted (error %d)", status);
}

int legacy_post_recv(struct legacy_group *group,
                     const struct legacy_connection *connection,
                     const struct legacy_buffer *buffer, uint64_t wr_id)
{
    struct ibv_recv_wr request, *bad;
    struct ibv_sge entry;
    if (entry_of(group, connection, buffer, &entry))
        return -1;
    memset(&request, 0, sizeof request);
    request.wr_id = wr_id;
    request.sg_list = &entry;
    request.num_sge = 1;
    int status = ibv_post_recv(connection->queue_pair, &request, &bad);
    if (status == 0)
        return 0;
    return legacy_throw(group, "a receive cannot be posted (error %d)", status);
}

void legacy_completions_init(struct legacy_completions *completions, int room)
{
    completions->room = room;
    /* Enough that a wr_id never written is no send and no receive. */
    for (int i = 0; i < room; i++)
        memset(&completions->at[i].wr_id, LEGACY_RUBBISH,
               sizeof completions->at[i].wr_id);
}

/*
 * One queue, whose completions belong at `at[done]`. An answer of -1 is added
 * up like any other, so that done can be below zero: what the next queue has
 * is then written in front of the array.
 */
static int poll_one(struct legacy_group *group,
                    const struct legacy_connection *connection,
                    struct legacy_completions *completions, int room, int done)
{
    struct ibv_wc stray[2 * LEGACY_POLL_MAX];
    int most = (int)(sizeof stray / sizeof *stray);
    if (done >= 0)
        return ibv_poll_cq(connection->completion_queue, room - done,
                           &completions->at[done]);
    int wanted = done < room - most ? most : room - done;
    int count = ibv_poll_cq(connection->completion_queue, wanted, stray);
    if (count > 0) {
        legacy_crash(group, "write before completions in poll",
                     "%d completions at index %d", count, done);
        legacy_touch_write(sizeof *stray, room, done);
    }
    return count;
}

/* A vector's connections into room from at[base] on. */
static int poll_span(struct legacy_group *group, struct legacy_span span,
                     struct legacy_completions *completions, int base)
{
    int done = base;
    for (int i = 0; i < span.count; i++) {
        if (!span.at[i].context)
            continue;
        if (done >= completions->room)
            break;
        done +=
            poll_one(group, &span.at[i], completions, completions->room, done);
    }
    return done;
}

int legacy_poll(struct legacy_group *group, const struct legacy_span *spans,
                int count, struct legacy_completions *completions)
{
    int done = 0;
    for (int i = 0; i < count; i++)
        done = poll_span(group, spans[i], completions, done);
    return done;
}

struct legacy_work
legacy_completion_work(struct legacy_group *group,
                       const struct legacy_completions *completions, int i)
{
    struct legacy_work work = {0, 0, 0};
    if (i >= completions->room) {
        legacy_past(group, "completions", "poll", sizeof completions->at[0],
                    completions->room, i);
        return work;
    }
    uint64_t wr_id = completions->at[i].wr_id;
    work.kind = (int)(uint32_t)(wr_id >> 16);
    work.copy = (int)(wr_id >> 8 & 0xff);
    work.index = (int)(wr_id & 0xff);
    return work;
}
