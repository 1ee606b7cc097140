/*
 * Stream sockets between ranks, and the side channel's faults.
 *
 * A connection is two ends, each with the bytes that arrived and were not yet
 * read. Bytes arrive at once: the network is not what is tested here. What a
 * rank sends passes its `channel` faults first.
 *
 * The outside world (hostile peers, strays) has ends too, but no program: a
 * hostile peer's bytes are there as soon as it is connected.
 */
#include "sim/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MAX ((size_t)4 << 20) /* unread in one direction; then wait */
#define BYTES_SOME ((size_t)65536)  /* ... of sim_send_some() */
#define FIRST_PORT 49152            /* for listeners at port 0 */

static struct sim_socket *table(int owner)
{
    return owner < 0 ? sim.outside : sim.ranks[owner].sockets;
}

static int new_socket(int owner)
{
    struct sim_socket *sockets = table(owner);
    for (int i = 0; i < SIM_SOCKETS_MAX; i++) {
        struct sim_socket *socket = &sockets[i];
        char *bytes = socket->bytes;
        size_t room = socket->room;
        if (socket->kind != SIM_SOCKET_FREE)
            continue;
        socket->kind = SIM_SOCKET_STREAM;
        socket->used = true;
        socket->address[0] = '\0';
        socket->other_owner = socket->other_index = -1;
        socket->other_closed = socket->mute = false;
        socket->full = socket->beside = false;
        socket->bytes = bytes;
        socket->room = room;
        socket->head = socket->length = 0;
        socket->waiting = 0;
        return i;
    }
    return -EMFILE;
}

static struct sim_socket *get(struct sim_rank *rank, int index, int kind)
{
    if (index < 0 || index >= SIM_SOCKETS_MAX ||
        (int)rank->sockets[index].kind != kind)
        return NULL;
    return &rank->sockets[index];
}

static struct sim_socket *other_end(const struct sim_socket *socket)
{
    struct sim_socket *other;
    if (socket->kind != SIM_SOCKET_STREAM || socket->other_index < 0)
        return NULL;
    other = &table(socket->other_owner)[socket->other_index];
    return other->kind == SIM_SOCKET_STREAM ? other : NULL;
}

static int append(struct sim_socket *socket, const void *data, size_t length)
{
    if (length == 0)
        return 0;
    if (socket->head > 0 && socket->head == socket->length)
        socket->head = socket->length = 0;
    if (socket->length + length > socket->room) {
        size_t room = socket->room ? socket->room : 256;
        char *bytes;
        while (room < socket->length + length)
            room *= 2;
        bytes = realloc(socket->bytes, room);
        if (!bytes)
            return -ENOMEM;
        socket->bytes = bytes;
        socket->room = room;
    }
    memcpy(socket->bytes + socket->length, data, length);
    socket->length += length;
    return 0;
}

/* Joins two ends; false when one has no socket left. */
static bool join(int owner_a, int *index_a, int owner_b, int *index_b)
{
    struct sim_socket *a, *b;
    *index_a = new_socket(owner_a);
    if (*index_a < 0)
        return false;
    *index_b = new_socket(owner_b);
    if (*index_b < 0) {
        table(owner_a)[*index_a].kind = SIM_SOCKET_FREE;
        return false;
    }
    a = &table(owner_a)[*index_a];
    b = &table(owner_b)[*index_b];
    a->other_owner = owner_b;
    a->other_index = *index_b;
    b->other_owner = owner_a;
    b->other_index = *index_a;
    return true;
}

/* A client without a program connects to a rank's listener. */
static void outside_connects(struct sim_rank *rank, struct sim_socket *listener,
                             const struct scn_statement *hostile)
{
    int theirs, ours;
    if (listener->waiting == SIM_BACKLOG_MAX ||
        !join(-1, &theirs, rank->number, &ours))
        return;
    sim.outside[theirs].mute = true;
    listener->backlog[listener->waiting++] = ours;
    if (hostile)
        append(&rank->sockets[ours], hostile->u.peer.bytes,
               (size_t)hostile->u.peer.count);
}

static bool is_listened_at(const char *address)
{
    for (int i = 0; i < sim.rank_count; i++)
        for (int k = 0; k < SIM_SOCKETS_MAX; k++)
            if (sim.ranks[i].sockets[k].kind == SIM_SOCKET_LISTENER &&
                strcmp(sim.ranks[i].sockets[k].address, address) == 0)
                return true;
    return false;
}

/* The part of an address behind its last colon, or NULL. */
static const char *port_of(const char *address)
{
    const char *colon = strrchr(address, ':');
    return colon ? colon + 1 : NULL;
}

/* In the place of port 0 the first one that nobody listens at. */
static void choose_port(const char *wanted, char *address, size_t room)
{
    const char *port = port_of(wanted);
    int host = port ? (int)(port - wanted) : 0, number = FIRST_PORT;
    snprintf(address, room, "%s", wanted);
    if (!port || strcmp(port, "0") != 0)
        return;
    do
        snprintf(address, room, "%.*s%d", host, wanted, number++);
    while (is_listened_at(address));
}

int sim_listen(struct sim_rank *rank, const char *wanted)
{
    int index;
    struct sim_socket *listener;
    char address[sizeof listener->address];
    choose_port(wanted, address, sizeof address);
    if (is_listened_at(address))
        return -EADDRINUSE;
    index = new_socket(rank->number);
    if (index < 0)
        return index;
    listener = &rank->sockets[index];
    listener->kind = SIM_SOCKET_LISTENER;
    listener->beside = strcmp(address, wanted) != 0;
    snprintf(listener->address, sizeof listener->address, "%s", address);
    for (int i = 0; i < sim.strays; i++)
        outside_connects(rank, listener, NULL);
    for (int i = 0; i < sim.rank_count; i++)
        if (sim.hostile[i] && i != rank->number)
            outside_connects(rank, listener, sim.hostile[i]);
    sim_changed();
    return index;
}

int sim_accept(struct sim_rank *rank, int index, int64_t deadline)
{
    for (;;) {
        struct sim_socket *listener = get(rank, index, SIM_SOCKET_LISTENER);
        if (!listener)
            return -EBADF;
        if (listener->waiting > 0) {
            int accepted = listener->backlog[0];
            listener->waiting--;
            memmove(listener->backlog, listener->backlog + 1,
                    (size_t)listener->waiting * sizeof listener->backlog[0]);
            return accepted;
        }
        if (sim.now >= deadline)
            return -ETIMEDOUT;
        sim_wait(rank, deadline, "a connection");
    }
}

/* A hostile coordinator: it takes everyone and says its piece. */
static int connect_to_hostile(struct sim_rank *rank)
{
    const struct scn_statement *hostile = sim.hostile[0];
    int ours, theirs;
    if (!join(rank->number, &ours, -1, &theirs))
        return -EMFILE;
    sim.outside[theirs].mute = true;
    append(&rank->sockets[ours], hostile->u.peer.bytes,
           (size_t)hostile->u.peer.count);
    return ours;
}

int sim_connect(struct sim_rank *rank, const char *address, int64_t deadline)
{
    (void)deadline; /* a refusal comes at once, and so does a connection */
    if (sim.hostile[0] && !sim.recovering &&
        strcmp(address, sim.ranks[0].coordinator) == 0)
        return connect_to_hostile(rank);
    for (int i = 0; i < sim.rank_count; i++) {
        struct sim_rank *server = &sim.ranks[i];
        for (int k = 0; k < SIM_SOCKETS_MAX; k++) {
            struct sim_socket *listener = &server->sockets[k];
            int ours, theirs;
            if (listener->kind != SIM_SOCKET_LISTENER ||
                strcmp(listener->address, address) != 0)
                continue;
            if (listener->waiting == SIM_BACKLOG_MAX)
                return -ECONNREFUSED;
            if (!join(rank->number, &ours, i, &theirs))
                return -EMFILE;
            listener->backlog[listener->waiting++] = theirs;
            rank->sockets[ours].beside = listener->beside;
            server->sockets[theirs].beside = listener->beside;
            sim_changed();
            return ours;
        }
    }
    return -ECONNREFUSED;
}

/* Both ends of a connection learn that no more bytes will come. */
static void cut(struct sim_socket *socket)
{
    struct sim_socket *other = other_end(socket);
    socket->other_closed = true;
    if (other)
        other->other_closed = true;
    sim_changed();
}

/* One byte range of a send, past the channel's faults. */
static long deliver(struct sim_rank *rank, struct sim_socket *socket,
                    const char *data, size_t length)
{
    struct sim_socket *other = other_end(socket);
    struct sim_piece piece = sim_channel_piece(rank, length, socket->beside);
    rank->channel_sent += (long)length;
    sim_watch_send(rank->number, piece.from);
    if (piece.closes)
        sim_channel_strike(rank, SCN_CHANNEL_CLOSE, piece.from);
    if (piece.silent)
        sim_channel_strike(rank, SCN_CHANNEL_SILENT, piece.from);
    sim_tell(SIM_EVENT_SENT, rank->number, socket->other_owner, 0,
             (long)piece.pass);
    if (piece.pass > 0 && other && !socket->mute) {
        int status = append(other, data, piece.pass);
        if (status < 0)
            return status;
        if (piece.garbled >= 0) {
            other->bytes[other->length - piece.pass + (size_t)piece.garbled] ^=
                (char)0xff;
            sim_channel_strike(rank, SCN_CHANNEL_GARBLE, piece.from);
        }
        sim_changed();
    }
    if (piece.closes)
        cut(socket);
    return (long)length;
}

long sim_send(struct sim_rank *rank, int index, const void *data, size_t length)
{
    struct sim_socket *socket = get(rank, index, SIM_SOCKET_STREAM), *other;
    if (!socket)
        return -EBADF;
    for (;;) {
        other = other_end(socket);
        if (socket->other_closed || (!other && socket->other_owner >= 0))
            return -EPIPE;
        if (!other || other->mute ||
            other->length - other->head + length <= BYTES_MAX)
            break;
        if (length > BYTES_MAX && other->length == other->head)
            length = BYTES_MAX;
        else
            sim_wait(rank, SIM_FOREVER, "room to send");
    }
    return deliver(rank, socket, data, length);
}

/* How many of so many bytes fit into what the other end can hold. */
static size_t room_for(const struct sim_socket *other, size_t length)
{
    size_t unread;
    if (!other || other->mute)
        return length;
    unread = other->length - other->head;
    if (unread >= BYTES_SOME)
        return 0;
    return length < BYTES_SOME - unread ? length : BYTES_SOME - unread;
}

long sim_send_some(struct sim_rank *rank, int index, const void *data,
                   size_t length, int64_t deadline)
{
    for (;;) {
        struct sim_socket *socket = get(rank, index, SIM_SOCKET_STREAM);
        struct sim_socket *other;
        size_t room;
        if (!socket)
            return -EBADF;
        other = other_end(socket);
        if (socket->other_closed || (!other && socket->other_owner >= 0))
            return -EPIPE;
        room = room_for(other, length);
        if (room > 0)
            return deliver(rank, socket, data, room);
        other->full = true;
        if (sim.now >= deadline)
            return -ETIMEDOUT;
        sim_wait(rank, deadline, "room to send");
    }
}

long sim_recv(struct sim_rank *rank, int index, void *data, size_t length,
              int64_t deadline)
{
    for (;;) {
        struct sim_socket *socket = get(rank, index, SIM_SOCKET_STREAM);
        size_t there;
        if (!socket)
            return -EBADF;
        there = socket->length - socket->head;
        if (there > 0) {
            if (length > there)
                length = there;
            memcpy(data, socket->bytes + socket->head, length);
            socket->head += length;
            if (there > BYTES_MAX / 2 || socket->full)
                sim_changed(); /* a sender may wait for room */
            socket->full = false;
            if (socket->head > BYTES_MAX / 2) {
                memmove(socket->bytes, socket->bytes + socket->head,
                        socket->length - socket->head);
                socket->length -= socket->head;
                socket->head = 0;
            }
            sim_tell(SIM_EVENT_RECEIVED, rank->number, socket->other_owner, 0,
                     (long)length);
            return (long)length;
        }
        if (socket->other_closed)
            return 0;
        if (sim.now >= deadline)
            return -ETIMEDOUT;
        sim_wait(rank, deadline, "bytes of the side channel");
    }
}

static bool has_something(const struct sim_socket *socket)
{
    if (socket->kind == SIM_SOCKET_LISTENER)
        return socket->waiting > 0;
    return socket->length > socket->head || socket->other_closed;
}

int sim_wait_sockets(struct sim_rank *rank, const int *sockets, int count,
                     int64_t deadline)
{
    for (;;) {
        for (int i = 0; i < count; i++) {
            if (sockets[i] < 0 || sockets[i] >= SIM_SOCKETS_MAX ||
                rank->sockets[sockets[i]].kind == SIM_SOCKET_FREE)
                return -EBADF;
            if (has_something(&rank->sockets[sockets[i]]))
                return i;
        }
        if (sim.now >= deadline)
            return -ETIMEDOUT;
        sim_wait(rank, deadline, "the side channel");
    }
}

int sim_socket_alive(struct sim_rank *rank, int index)
{
    struct sim_socket *socket = get(rank, index, SIM_SOCKET_STREAM);
    return socket && !socket->other_closed;
}

static const char *const addresses[SCN_RANKS_MAX] = {
    "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4",
    "10.0.0.5", "10.0.0.6", "10.0.0.7", "10.0.0.8"};

const char *sim_rank_address(const struct sim_rank *rank)
{
    return addresses[rank->number];
}

int sim_socket_port(struct sim_rank *rank, int index)
{
    struct sim_socket *listener = get(rank, index, SIM_SOCKET_LISTENER);
    const char *port = listener ? port_of(listener->address) : NULL;
    return port ? atoi(port) : -EBADF;
}

const char *sim_socket_peer(struct sim_rank *rank, int index)
{
    struct sim_socket *socket = get(rank, index, SIM_SOCKET_STREAM);
    if (!socket || socket->other_owner < 0)
        return "10.0.9.9";
    return addresses[socket->other_owner];
}

static void release(struct sim_rank *rank, struct sim_socket *socket)
{
    struct sim_socket *other = other_end(socket);
    if (socket->kind == SIM_SOCKET_LISTENER)
        for (int i = 0; i < socket->waiting; i++)
            release(rank, &rank->sockets[socket->backlog[i]]);
    else
        cut(socket);
    /* The place may be taken again: nobody may still point at it. */
    if (other)
        other->other_index = -1;
    /* The outside world has no program that would close its end. */
    if (other && socket->other_owner < 0)
        other->kind = SIM_SOCKET_FREE;
    socket->kind = SIM_SOCKET_FREE;
}

void sim_close(struct sim_rank *rank, int index)
{
    if (index < 0 || index >= SIM_SOCKETS_MAX ||
        rank->sockets[index].kind == SIM_SOCKET_FREE)
        return;
    release(rank, &rank->sockets[index]);
    sim_changed();
}

void sim_sockets_end(struct sim_rank *rank)
{
    for (int i = 0; i < SIM_SOCKETS_MAX; i++)
        sim_close(rank, i);
}

int sim_sockets_open(const struct sim_rank *rank)
{
    int count = 0;
    for (int i = 0; i < SIM_SOCKETS_MAX; i++)
        if (rank->sockets[i].kind != SIM_SOCKET_FREE)
            count++;
    return count;
}

/* Sockets are taken from the front, so the first one that was never used ends
 * a table: looking at all of them would cost more than some runs. */
static void reset_table(struct sim_socket *sockets)
{
    for (int i = 0; i < SIM_SOCKETS_MAX && sockets[i].used; i++) {
        sockets[i].kind = SIM_SOCKET_FREE;
        sockets[i].used = false;
    }
}

void sim_sockets_reset(void)
{
    reset_table(sim.outside);
    for (int i = 0; i < SCN_RANKS_MAX; i++)
        reset_table(sim.ranks[i].sockets);
}

static void free_bytes(struct sim_socket *sockets)
{
    for (int i = 0; i < SIM_SOCKETS_MAX; i++) {
        free(sockets[i].bytes);
        sockets[i].bytes = NULL;
        sockets[i].room = 0;
    }
}

void sim_sockets_free(void)
{
    free_bytes(sim.outside);
    for (int i = 0; i < SCN_RANKS_MAX; i++)
        free_bytes(sim.ranks[i].sockets);
}
