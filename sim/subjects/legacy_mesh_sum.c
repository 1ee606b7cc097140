/*
 * The mesh's sum for small messages: everybody sends everything to everybody
 * and reduces in the order of ranks, so that all get the same bits. Rank 0's
 * part is copied, the others are added to it; one's own part waits in staging
 * memory for its turn.
 */
#include "sim/subjects/legacy.h"

#include <string.h>

struct sum {
    struct legacy_group *group;
    enum scn_type type;
    int64_t item; /* bytes of an element */
    const char *in;
    char *out;
    int64_t total, frame; /* elements: all, in one buffer */
    int size_class;
    int64_t chunks;
    int64_t read; /* elements sent so far */
    int in_flight;
    int sent[LEGACY_COPIES];       /* completed sends of a copy */
    int received[LEGACY_MESH_MAX]; /* chunks that are there, by rank */
    int chunk, rank;               /* to be reduced next */
    struct legacy_completions completions;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

struct legacy_buffer *legacy_mesh_buffer(struct legacy_group *group,
                                         int size_class, int copy, int rank)
{
    int set = size_class * LEGACY_COPIES;
    return legacy_buffer_at(group, &group->mesh_buffers,
                            (int64_t)(set + copy) * group->size + rank);
}

static uint64_t label(int kind, int copy, int rank)
{
    return (uint64_t)kind << 16 | (uint64_t)copy << 8 | (uint64_t)rank;
}

int legacy_mesh_post_sends(struct legacy_group *group, int size_class, int copy)
{
    struct legacy_buffer *own =
        legacy_mesh_buffer(group, size_class, copy, group->rank);
    for (int i = 0; i < group->size; i++)
        if (i != group->rank && legacy_post_send(group, &group->mesh.at[i], own,
                                                 label(LEGACY_SEND, copy, i)))
            return -1;
    return 0;
}

static int post_recv(struct legacy_group *group, int size_class, int copy,
                     int rank)
{
    return legacy_post_recv(group, &group->mesh.at[rank],
                            legacy_mesh_buffer(group, size_class, copy, rank),
                            label(LEGACY_RECV, copy, rank));
}

int legacy_mesh_post_recvs(struct legacy_group *group, int size_class, int copy)
{
    for (int i = 0; i < group->size; i++)
        if (i != group->rank && post_recv(group, size_class, copy, i))
            return -1;
    return 0;
}

static char *staging(const struct sum *sum, int copy)
{
    return sum->group->staging + (ptrdiff_t)copy * LEGACY_LARGEST;
}

/* Elements of the chunk that begins at element `from`, into a place. */
static void copy_chunk(const struct sum *sum, int64_t from, void *to)
{
    int64_t elements = least(sum->frame, sum->total - from);
    memcpy(to, sum->in + from * sum->item, (size_t)(elements * sum->item));
}

static void *send_memory(const struct sum *sum, int copy)
{
    struct legacy_buffer *own =
        legacy_mesh_buffer(sum->group, sum->size_class, copy, sum->group->rank);
    return legacy_buffer_data(sum->group, own);
}

static int prefill(struct sum *sum)
{
    struct legacy_group *group = sum->group;
    for (int copy = 0; copy < LEGACY_COPIES && sum->read < sum->total; copy++) {
        if (legacy_mesh_post_recvs(group, sum->size_class, copy))
            return -1;
        copy_chunk(sum, sum->read, staging(sum, copy));
        copy_chunk(sum, sum->read, send_memory(sum, copy));
        sum->received[group->rank]++;
        if (legacy_mesh_post_sends(group, sum->size_class, copy))
            return -1;
        sum->in_flight += 2 * (group->size - 1);
        sum->read += sum->frame;
    }
    return 0;
}

/* A send of the copy is done; when all are, the copy sends the next chunk. */
static int after_send(struct sum *sum, int copy)
{
    struct legacy_group *group = sum->group;
    if (copy >= LEGACY_COPIES) {
        legacy_crash(group, "write past counts in mesh",
                     "a completed send of buffer %d of %d", copy,
                     LEGACY_COPIES);
        legacy_touch_write(sizeof sum->sent[0], LEGACY_COPIES, copy);
        return 0;
    }
    sum->sent[copy]++;
    if (sum->sent[copy] != group->size - 1)
        return 0;
    if (!group->revision->late_staging) {
        /* The chunk in it may not have been reduced yet. */
        copy_chunk(sum, sum->read, staging(sum, copy));
        sum->received[group->rank]++;
    }
    copy_chunk(sum, sum->read, send_memory(sum, copy));
    if (legacy_mesh_post_sends(group, sum->size_class, copy))
        return -1;
    sum->sent[copy] = 0;
    sum->in_flight += group->size - 1;
    sum->read += sum->frame;
    return 0;
}

static int handle(struct sum *sum, struct legacy_work work)
{
    sum->in_flight--;
    if (work.kind == LEGACY_SEND && sum->read < sum->total)
        return after_send(sum, work.copy);
    if (work.kind != LEGACY_RECV)
        return 0;
    if (work.index >= LEGACY_MESH_MAX) {
        legacy_crash(sum->group, "write past counts in mesh",
                     "a receive from rank %d", work.index);
        legacy_touch_write(sizeof sum->received[0], LEGACY_MESH_MAX,
                           work.index);
        return 0;
    }
    sum->received[work.index]++;
    return 0;
}

static int poll(struct sum *sum)
{
    struct legacy_span span = legacy_span_of(&sum->group->mesh);
    return legacy_poll(sum->group, &span, 1, &sum->completions);
}

/* The chunk's part of one rank into the output. */
static void reduce(const struct sum *sum, const void *part)
{
    int64_t from = sum->chunk * sum->frame;
    int64_t elements = least(sum->frame, sum->total - from);
    char *out = sum->out + from * sum->item;
    if (sum->rank == 0)
        memcpy(out, part, (size_t)(elements * sum->item));
    else
        legacy_sum(sum->type, out, part, out, elements);
}

static int reduce_own(struct sum *sum)
{
    int64_t next = ((int64_t)sum->chunk + LEGACY_COPIES) * sum->frame;
    char *part = staging(sum, sum->chunk % LEGACY_COPIES);
    reduce(sum, part);
    if (sum->group->revision->late_staging && next < sum->total) {
        copy_chunk(sum, next, part);
        sum->received[sum->group->rank]++;
    }
    return 0;
}

static int reduce_peers(struct sum *sum)
{
    int copy = sum->chunk % LEGACY_COPIES;
    struct legacy_buffer *buffer =
        legacy_mesh_buffer(sum->group, sum->size_class, copy, sum->rank);
    reduce(sum, legacy_buffer_data(sum->group, buffer));
    if (sum->chunk + LEGACY_COPIES >= sum->chunks)
        return 0;
    sum->in_flight++;
    return post_recv(sum->group, sum->size_class, copy, sum->rank);
}

/* Everything that is there and whose turn it is. */
static int reduce_ready(struct sum *sum)
{
    while (sum->chunk < sum->chunks) {
        if (sum->chunk * sum->frame >= sum->read ||
            sum->received[sum->rank] <= sum->chunk)
            return 0;
        int status =
            sum->rank == sum->group->rank ? reduce_own(sum) : reduce_peers(sum);
        if (status)
            return -1;
        sum->rank++;
        if (sum->rank == sum->group->size) {
            sum->rank = 0;
            sum->chunk++;
        }
    }
    return 0;
}

static int run(struct sum *sum)
{
    if (prefill(sum))
        return -1;
    while (sum->chunk < sum->chunks) {
        int count = poll(sum);
        for (int i = 0; i < count; i++) {
            struct legacy_work work =
                legacy_completion_work(sum->group, &sum->completions, i);
            if (handle(sum, work))
                return -1;
        }
        if (reduce_ready(sum))
            return -1;
    }
    /* Sends that are not known to be done. A poll of -1 adds to them. */
    while (sum->in_flight > 0)
        sum->in_flight -= poll(sum);
    return 0;
}

int legacy_mesh_sum(struct legacy_group *group, const char *in, char *out,
                    int64_t count, enum scn_type type)
{
    struct sum sum;
    memset(&sum, 0, offsetof(struct sum, completions));
    sum.group = group;
    sum.type = type;
    sum.item = (int64_t)scn_type_size(type);
    sum.in = in;
    sum.out = out;
    sum.total = count;
    sum.size_class = legacy_class_of(count * sum.item);
    sum.frame = ((int64_t)LEGACY_FRAME << sum.size_class) / sum.item;
    sum.chunks = (count + sum.frame - 1) / sum.frame;
    legacy_completions_init(&sum.completions, LEGACY_POLL_MAX);
    return run(&sum);
}
