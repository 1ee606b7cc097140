/* What a scenario does to the side channel, done to TCP. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE /* TCP_NOPUSH */
#else
#define _DEFAULT_SOURCE
#endif

#include "sim/live_net.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "cjaccl/src/defaults.h"
#include "sim/state.h"

#define TCP cji_default_net
#define SECOND ((int64_t)1000000000)
#define HOST_SIZE 64

/* ---- guests ----------------------------------------------------------------
 */

/* All of it; 0, or a negative errno. */
static int say(int end, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    while (size > 0) {
        int64_t n = TCP.send(NULL, end, bytes, size, sim_live_now() + SECOND);
        if (n <= 0)
            return n < 0 ? (int)n : -EPIPE;
        bytes += n;
        size -= (size_t)n;
    }
    return 0;
}

static int say_its_piece(int end, const struct scn_statement *hostile)
{
    return say(end, hostile->u.peer.bytes, (size_t)hostile->u.peer.count);
}

static int connect_to(int listener)
{
    char host[HOST_SIZE];
    uint16_t port = 0;
    int status = TCP.local_name(NULL, listener, host, sizeof host, &port);
    if (status < 0)
        return status;
    return TCP.connect(NULL, host, port, sim_live_now() + SECOND);
}

/* A client without a program; hostile: what it says, NULL: nothing. */
static int let_in(int listener, const struct scn_statement *hostile)
{
    int guest = connect_to(listener);
    if (guest < 0 || !hostile)
        return guest;
    return say_its_piece(guest, hostile);
}

static int let_guests_in(const struct sim_rank *rank, int listener)
{
    int status = 0;
    for (int i = 0; i < sim.strays && status >= 0; i++)
        status = let_in(listener, NULL);
    for (int i = 0; i < sim.rank_count && status >= 0; i++)
        if (sim.hostile[i] && i != rank->number)
            status = let_in(listener, sim.hostile[i]);
    return status < 0 ? status : 0;
}

static int net_listen(void *ctx, const char *host, uint16_t port)
{
    const struct sim_rank *rank = ctx;
    int listener = TCP.listen(NULL, host, port);
    int status = listener < 0 ? listener : let_guests_in(rank, listener);
    if (listener >= 0 && status < 0)
        TCP.close(NULL, listener);
    if (status < 0)
        return status;
    if (port == sim.live->port)
        sim.live->open_door(sim.live->context);
    return listener;
}

/* The rank's end; at the other one somebody has said the bytes. */
static int connect_to_hostile(const struct scn_statement *hostile)
{
    int listener = TCP.listen(NULL, "127.0.0.1", 0);
    int ours, theirs = -1, status = 0;
    if (listener < 0)
        return listener;
    ours = connect_to(listener);
    if (ours >= 0)
        theirs = TCP.accept(NULL, listener, sim_live_now() + SECOND);
    if (theirs >= 0)
        status = say_its_piece(theirs, hostile);
    TCP.close(NULL, listener);
    if (ours >= 0 && (theirs < 0 || status < 0)) {
        TCP.close(NULL, ours);
        return theirs < 0 ? theirs : status;
    }
    return ours;
}

static int net_connect(void *ctx, const char *host, uint16_t port,
                       int64_t deadline_ns)
{
    bool is_coordinator = port == sim.live->port;
    (void)ctx;
    if (is_coordinator && sim.hostile[0])
        return connect_to_hostile(sim.hostile[0]);
    if (is_coordinator && !sim.live->is_door_open(sim.live->context))
        return -ECONNREFUSED;
    return TCP.connect(NULL, host, port, deadline_ns);
}

/* ---- the channel's faults --------------------------------------------------
 */

/* Is it no connection to or of the coordinator's port? */
static bool is_beside(int end)
{
    char name[HOST_SIZE + 8], host[HOST_SIZE];
    uint16_t port = 0;
    const char *colon;
    if (TCP.local_name(NULL, end, host, sizeof host, &port) == 0 &&
        port == sim.live->port)
        return false;
    TCP.peer_name(NULL, end, name, sizeof name);
    colon = strrchr(name, ':');
    return !colon || atoi(colon + 1) != sim.live->port;
}

/* With one of them inverted. */
static int64_t send_garbled(int end, const void *data, size_t size, size_t at,
                            int64_t deadline_ns)
{
    unsigned char *bytes = malloc(size);
    int64_t n;
    if (!bytes)
        return -ENOMEM;
    memcpy(bytes, data, size);
    bytes[at] ^= 0xff;
    n = TCP.send(NULL, end, bytes, size, deadline_ns);
    free(bytes);
    return n;
}

/* Its last bytes and its end leave as one: in the simulator nothing lies
 * between them either. Where a system cannot, the end comes a moment later. */
static void hold_back(int end)
{
#if defined TCP_CORK || defined TCP_NOPUSH
    int on = 1;
#ifdef TCP_CORK
    (void)setsockopt(end, IPPROTO_TCP, TCP_CORK, &on, sizeof on);
#else
    (void)setsockopt(end, IPPROTO_TCP, TCP_NOPUSH, &on, sizeof on);
#endif
#else
    (void)end;
#endif
}

static int64_t send_piece(const struct sim_rank *rank, int end,
                          const void *data, const struct sim_piece *piece,
                          int64_t deadline_ns)
{
    int64_t n;
    if (piece->closes)
        hold_back(end);
    if (piece->garbled < 0)
        return TCP.send(NULL, end, data, piece->pass, deadline_ns);
    n = send_garbled(end, data, piece->pass, (size_t)piece->garbled,
                     deadline_ns);
    if (n > piece->garbled)
        sim_channel_strike(rank, SCN_CHANNEL_GARBLE, piece->from);
    return n;
}

static int64_t net_send(void *ctx, int end, const void *data, size_t size,
                        int64_t deadline_ns)
{
    struct sim_rank *rank = ctx;
    struct sim_piece piece;
    int64_t n = 0;
    if (TCP.alive(NULL, end) != 0)
        return -EPIPE;
    size = sim_net_part(size);
    piece = sim_channel_piece(rank, size,
                              rank->channel_garble >= 0 && is_beside(end));
    if (piece.pass > 0)
        n = send_piece(rank, end, data, &piece, deadline_ns);
    if (n < 0)
        return n;
    if ((size_t)n < piece.pass) { /* as much as TCP took: the rest later */
        rank->channel_sent += (long)n;
        return n;
    }
    rank->channel_sent += (long)size;
    if (piece.silent)
        sim_channel_strike(rank, SCN_CHANNEL_SILENT, piece.from);
    if (piece.closes) {
        sim_channel_strike(rank, SCN_CHANNEL_CLOSE, piece.from);
        (void)shutdown(end, SHUT_RDWR);
    }
    return (int64_t)size;
}

/* ---- which scenarios need it ----------------------------------------------
 */

static bool has_faults(void)
{
    for (int i = 0; i < sim.rank_count; i++)
        if (sim.ranks[i].channel_close >= 0 ||
            sim.ranks[i].channel_silent >= 0 ||
            sim.ranks[i].channel_garble >= 0)
            return true;
    return false;
}

static bool has_guests(void)
{
    bool any = sim.strays > 0;
    for (int i = 0; i < sim.rank_count; i++)
        any = any || sim.hostile[i];
    return any;
}

bool sim_live_net(struct sim_rank *rank, struct cj_net *net)
{
    if (!has_faults() && !has_guests())
        return false;
    *net = TCP;
    net->ctx = rank;
    net->send = net_send;
    if (has_guests()) {
        net->listen = net_listen;
        net->connect = net_connect;
    }
    return true;
}
