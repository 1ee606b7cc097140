/*
 * The side channel: everybody's connection to rank 0, over which all ranks
 * gather what each contributes. Nothing that a peer says is checked.
 */
#include "sim/subjects/legacy.h"

#include <string.h>

static void close_all(struct legacy_group *group)
{
    struct legacy_channel *channel = &group->channel;
    for (int i = 0; i < channel->count; i++)
        legacy_socket_close(group, channel->sockets[i]);
    channel->count = 0;
}

/* sockets[i] is to be that of rank i + 1. Ranks are taken for a permutation:
 * one out of range swaps with what is no socket, and two of the same rank
 * swap for ever. */
static void sort_sockets(struct legacy_group *group, int32_t *ranks)
{
    int *sockets = group->channel.sockets;
    int count = group->channel.count;
    for (int i = 0; i < count; i++) {
        while (ranks[i] != i) {
            int other = ranks[i];
            sim_tick(group->sim);
            if (other < 0 || other >= count) {
                legacy_crash(group, "swap past sockets in side channel",
                             "a peer says that it is rank %d of %d", other + 1,
                             count + 1);
                legacy_touch_write(sizeof *sockets, count, other);
                return;
            }
            int socket = sockets[i];
            sockets[i] = sockets[other];
            sockets[other] = socket;
            ranks[i] = ranks[other];
            ranks[other] = other;
        }
    }
}

static int accept_peers(struct legacy_group *group, int listener)
{
    struct legacy_channel *channel = &group->channel;
    int32_t ranks[LEGACY_LIST_MAX];
    for (int i = 0; i < channel->size - 1; i++) {
        int socket = legacy_socket_accept(group, listener);
        if (socket < 0)
            return -1;
        channel->sockets[channel->count] = socket;
        channel->count++;
    }
    for (int i = 0; i < channel->count; i++) {
        if (legacy_socket_recv(group, channel->sockets[i], &ranks[i],
                               sizeof ranks[i]))
            return -1;
        /* Rank 0 has no socket; a rank of INT_MIN wraps. */
        ranks[i] = (int32_t)((uint32_t)ranks[i] - 1);
    }
    sort_sockets(group, ranks);
    return 0;
}

static int open_as_root(struct legacy_group *group, const char *address)
{
    int listener = legacy_socket_listen(group, address);
    if (listener < 0)
        return -1;
    int answer = accept_peers(group, listener);
    legacy_socket_close(group, listener);
    return answer;
}

static int open_as_peer(struct legacy_group *group, const char *address)
{
    struct legacy_channel *channel = &group->channel;
    int32_t rank = channel->rank;
    int socket = legacy_socket_connect(group, address);
    if (socket < 0)
        return -1;
    channel->sockets[0] = socket;
    channel->count = 1;
    return legacy_socket_send(group, socket, &rank, sizeof rank);
}

int legacy_channel_open(struct legacy_group *group)
{
    const char *address = sim_rank_coordinator(group->sim);
    int answer;
    group->channel.rank = group->rank;
    group->channel.size = group->size;
    group->channel.count = 0;
    if (legacy_address_check(group, address))
        return -1;
    if (group->rank == 0)
        answer = open_as_root(group, address);
    else
        answer = open_as_peer(group, address);
    if (answer)
        close_all(group);
    return answer;
}

void legacy_channel_close(struct legacy_group *group)
{
    close_all(group);
}

/* Everybody's bytes to everybody: mine to rank 0, all blocks back. */
static int all_gather(struct legacy_group *group, const void *mine, void *all,
                      size_t bytes)
{
    struct legacy_channel *channel = &group->channel;
    size_t whole = bytes * (size_t)channel->size;
    char *blocks = all;
    if (channel->rank != 0) {
        if (legacy_socket_send(group, channel->sockets[0], mine, bytes))
            return -1;
        return legacy_socket_recv(group, channel->sockets[0], all, whole);
    }
    memcpy(blocks, mine, bytes);
    for (int i = 1; i < channel->size; i++)
        if (legacy_socket_recv(group, channel->sockets[i - 1],
                               blocks + (size_t)i * bytes, bytes))
            return -1;
    for (int i = 1; i < channel->size; i++)
        if (legacy_socket_send(group, channel->sockets[i - 1], all, whole))
            return -1;
    return 0;
}

int legacy_channel_barrier(struct legacy_group *group)
{
    int32_t zero = 0, all[LEGACY_LIST_MAX];
    for (int i = 0; i < 2; i++)
        if (all_gather(group, &zero, all, sizeof zero))
            return -1;
    return 0;
}

/* Elements of memory that the gathered vectors get. A flat block's size is an
 * int's product, and what that wraps to is what is allocated. */
static int64_t elements_of(const struct legacy_group *group, int32_t stride)
{
    uint32_t blocks = (uint32_t)group->size + 1; /* one's own comes first */
    if (group->revision->flat_gather)
        return (int32_t)((uint32_t)stride * blocks);
    return (int64_t)stride * blocks;
}

/* Would copying count elements, then a stride for each rank, stay in room? */
static bool fits(const struct legacy_group *group, int count, int32_t stride,
                 int64_t elements)
{
    if (!group->revision->flat_gather)
        return count <= stride;
    return count <= elements && elements / (group->size + 1) == stride;
}

static int make_room(struct legacy_group *group, int count,
                     struct legacy_gathered *gathered)
{
    size_t one = sizeof(struct legacy_destination);
    int64_t elements = elements_of(group, gathered->stride);
    if (gathered->stride < 0 || elements < 0 ||
        elements > LEGACY_MEMORY_MAX / (int64_t)one)
        return legacy_throw(group, "no memory for vectors of %d elements",
                            gathered->stride);
    if (!fits(group, count, gathered->stride, elements)) {
        legacy_crash(group, "write past gathered in side channel",
                     "%d elements, vectors of %d, room for %lld", count,
                     gathered->stride, (long long)elements);
        legacy_touch_write(one, elements, elements);
        return legacy_throw(group, "side channel: memory is corrupt");
    }
    if (elements == 0)
        return 0;
    gathered->all = sim_alloc(group->sim, 16, (size_t)elements * one);
    if (!gathered->all)
        return legacy_throw(group, "no memory for %lld elements",
                            (long long)elements);
    /* As a resized vector is. */
    memset(gathered->all, 0, (size_t)elements * one);
    gathered->blocks = gathered->all + gathered->stride;
    return 0;
}

static int longest(const struct legacy_gathered *gathered, int size)
{
    int32_t most = gathered->lengths[0];
    for (int i = 1; i < size; i++)
        if (gathered->lengths[i] > most)
            most = gathered->lengths[i];
    return most;
}

static int take_lengths(struct legacy_group *group,
                        struct legacy_gathered *gathered)
{
    for (int i = 0; i < group->size; i++) {
        if (gathered->lengths[i] >= 0)
            continue;
        if (!group->revision->flat_gather)
            return legacy_throw(group, "no vector has %d elements",
                                gathered->lengths[i]);
        gathered->lengths[i] = 0; /* a copy of fewer than no elements */
    }
    return 0;
}

int legacy_channel_gather(struct legacy_group *group,
                          const struct legacy_destination *mine, int count,
                          struct legacy_gathered *gathered)
{
    int32_t length = count;
    gathered->all = gathered->blocks = NULL;
    if (all_gather(group, &length, gathered->lengths, sizeof length))
        return -1;
    gathered->stride = longest(gathered, group->size);
    if (make_room(group, count, gathered))
        return -1;
    if (!gathered->all) /* nobody has anything: no byte is sent */
        return take_lengths(group, gathered);
    memcpy(gathered->all, mine, (size_t)count * sizeof *mine);
    if (all_gather(group, gathered->all, gathered->blocks,
                   (size_t)gathered->stride * sizeof *mine) ||
        take_lengths(group, gathered)) {
        legacy_gathered_free(group, gathered);
        return -1;
    }
    return 0;
}

const struct legacy_destination *
legacy_gathered_at(struct legacy_group *group,
                   const struct legacy_gathered *gathered, int rank, int index)
{
    static struct legacy_destination wild;
    int32_t length = gathered->lengths[rank];
    if (index < length)
        return &gathered->blocks[(int64_t)rank * gathered->stride + index];
    legacy_past(group, "infos", group->ring ? "ring" : "mesh", sizeof wild,
                length, index);
    memset(&wild, LEGACY_RUBBISH, sizeof wild);
    return &wild;
}

void legacy_gathered_free(struct legacy_group *group,
                          struct legacy_gathered *gathered)
{
    if (gathered->all)
        sim_free(group->sim, gathered->all);
    gathered->all = gathered->blocks = NULL;
}
