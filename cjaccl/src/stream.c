/* The transport over connections: messages with their lengths in front. */
#include "stream.h"

#include "defaults.h"
#include "error.h"
#include "notice.h"

#include <errno.h>
#include <string.h>

#define MAGIC 0x636a7374u

/* Small messages go out, and come in, with their headers in one piece. */
#define STAGE_SIZE ((size_t)4096)

/* Polls that found nothing before the processor is given away, and until when
 * that may last. */
#define SPIN_ROUNDS 50u
#define WAIT_NS ((int64_t)10000000)

/* "Do not wait." */
#define NOW INT64_MIN

struct header {
    uint32_t magic;
    uint32_t length; /* of the message behind it */
};

/* A request, of either direction. */
struct request {
    uint64_t id;
    const unsigned char *from;
    unsigned char *to;
    uint32_t length;
};

/* First in, first out; the counters never go back. */
struct queue {
    struct request requests[CJI_RING];
    unsigned first;
    unsigned end;
};

struct cji_stream {
    struct queue sends;
    struct queue recvs;
    size_t sent; /* of the first send, with its header */
    size_t got;  /* of the first receive, without its header */
    bool has_header;
    struct header header; /* of the first receive */
    size_t in_first;      /* what `in` holds that was not used yet */
    size_t in_end;
    unsigned char in[STAGE_SIZE];
    unsigned char out[STAGE_SIZE]; /* the first bytes of the first send */
};

/* Completions of one poll. */
struct harvest {
    struct ibv_wc *completions;
    int room;
    int count;
};

static bool is_empty(const struct queue *queue)
{
    return queue->first == queue->end;
}

static struct request *first_of(struct queue *queue)
{
    return &queue->requests[queue->first % CJI_RING];
}

static int push(struct queue *queue, struct request request)
{
    if (queue->end - queue->first == CJI_RING)
        return ENOMEM;
    queue->requests[queue->end++ % CJI_RING] = request;
    return 0;
}

static void complete(struct queue *queue, struct harvest *harvest,
                     enum ibv_wc_status status, uint32_t length)
{
    struct ibv_wc *wc = &harvest->completions[harvest->count++];

    wc->wr_id = first_of(queue)->id;
    wc->status = status;
    wc->byte_len = length;
    queue->first++;
}

static int post_send(struct cj_group *group, struct cji_link *link, uint64_t id,
                     const struct cji_slot *slot, uint32_t length)
{
    struct request request = {.id = id, .from = slot->data, .length = length};

    (void)group;
    return push(&link->stream->sends, request);
}

static int post_recv(struct cj_group *group, struct cji_link *link, uint64_t id,
                     unsigned char *data, uint32_t length)
{
    struct request request = {.id = id, .to = data, .length = length};

    (void)group;
    return push(&link->stream->recvs, request);
}

/* What the net answered in place of bytes. */
static int fail_net(struct cj_group *group, const struct cji_link *link,
                    int64_t answer)
{
    int err_no = answer < 0 ? (int)-answer : 0;
    const char *step = cj_strstep(group->step);

    if (answer > 0)
        return cji_fail(group, CJ_NETWORK, cji_about_peer(link->peer, 0),
                        "%s: the transport moved more bytes than it should",
                        step);
    /* Why, its notice may tell. */
    if (err_no == 0 || err_no == ECONNRESET || err_no == EPIPE)
        cji_notices_read(group);
    if (group->presence[link->peer] != CJI_HERE)
        return cji_notices_fail(group, group->failed >= 0 ? group->failed
                                                          : link->peer);
    if (err_no == 0 || err_no == ECONNRESET || err_no == EPIPE)
        return cji_fail(group, CJ_PEER_GONE, cji_about_peer(link->peer, err_no),
                        "%s: rank %d went away (it closed its connection of "
                        "the socket ring): see its own error",
                        step, link->peer);
    return cji_fail(group, CJ_NETWORK, cji_about_peer(link->peer, err_no),
                    "%s: the connection to rank %d failed: %s", step,
                    link->peer, cji_errno_text(err_no).text);
}

/* Header and first bytes of a send that begins. */
static size_t stage(struct cji_stream *stream, const struct request *send)
{
    struct header header = {MAGIC, send->length};
    size_t room = STAGE_SIZE - sizeof header;
    size_t bytes = send->length < room ? send->length : room;

    if (stream->sent == 0) {
        memcpy(stream->out, &header, sizeof header);
        memcpy(stream->out + sizeof header, send->from, bytes);
    }
    return sizeof header + bytes;
}

/* Sends of the first message what can be sent: 1 if that was all, 0 if not, or
 * a status. */
static int send_first(struct cj_group *group, struct cji_link *link)
{
    struct cji_stream *stream = link->stream;
    const struct request *send = first_of(&stream->sends);
    size_t staged = stage(stream, send);
    size_t whole = sizeof(struct header) + send->length;

    while (stream->sent < whole) {
        bool early = stream->sent < staged;
        const unsigned char *from =
            early ? stream->out + stream->sent
                  : send->from + stream->sent - sizeof(struct header);
        size_t left = (early ? staged : whole) - stream->sent;
        int64_t n =
            group->net.send(group->net.ctx, link->socket, from, left, NOW);

        if (n == -ETIMEDOUT)
            return 0;
        if (n <= 0 || (uint64_t)n > left)
            return fail_net(group, link, n);
        stream->sent += (size_t)n;
    }
    stream->sent = 0;
    return 1;
}

static int pump_sends(struct cj_group *group, struct cji_link *link,
                      struct harvest *harvest)
{
    struct queue *sends = &link->stream->sends;

    while (!is_empty(sends) && harvest->count < harvest->room) {
        int done = send_first(group, link);

        if (done <= 0)
            return done;
        complete(sends, harvest, IBV_WC_SUCCESS, 0);
    }
    return CJ_OK;
}

/* Receives to there: how many bytes, 0 when there are none now, or a status. */
static int64_t receive(struct cj_group *group, struct cji_link *link,
                       unsigned char *to, size_t room)
{
    int64_t n = group->net.recv(group->net.ctx, link->socket, to, room, NOW);

    if (n == -ETIMEDOUT)
        return 0;
    return n <= 0 || (uint64_t)n > room ? fail_net(group, link, n) : n;
}

/* The next message's header: 1, 0 when not all of it is here, or a status. */
static int read_header(struct cj_group *group, struct cji_link *link)
{
    struct cji_stream *stream = link->stream;
    size_t have = stream->in_end - stream->in_first;

    memmove(stream->in, stream->in + stream->in_first, have);
    stream->in_first = 0;
    stream->in_end = have;
    while (stream->in_end < sizeof stream->header) {
        int64_t n = receive(group, link, stream->in + stream->in_end,
                            sizeof stream->in - stream->in_end);

        if (n <= 0)
            return (int)n;
        stream->in_end += (size_t)n;
    }
    memcpy(&stream->header, stream->in, sizeof stream->header);
    stream->in_first = sizeof stream->header;
    if (stream->header.magic != MAGIC)
        return cji_fail(group, CJ_PROTOCOL, cji_about_peer(link->peer, 0),
                        "%s: what came from rank %d over the socket ring is no "
                        "message of cjaccl: the network alters bytes",
                        cj_strstep(group->step), link->peer);
    stream->has_header = true;
    stream->got = 0;
    return 1;
}

/* Takes from what was read ahead, then from the connection: as above. */
static int read_data(struct cj_group *group, struct cji_link *link,
                     unsigned char *to)
{
    struct cji_stream *stream = link->stream;
    size_t whole = stream->header.length;

    while (stream->got < whole) {
        size_t left = whole - stream->got;
        size_t here = stream->in_end - stream->in_first;
        int64_t n;

        if (here == 0) {
            n = receive(group, link, to + stream->got, left);
            if (n <= 0)
                return (int)n;
        } else {
            n = (int64_t)(here < left ? here : left);
            memcpy(to + stream->got, stream->in + stream->in_first, (size_t)n);
            stream->in_first += (size_t)n;
        }
        stream->got += (size_t)n;
    }
    stream->has_header = false;
    return 1;
}

static int pump_recvs(struct cj_group *group, struct cji_link *link,
                      struct harvest *harvest)
{
    struct cji_stream *stream = link->stream;

    while (!is_empty(&stream->recvs) && harvest->count < harvest->room) {
        const struct request *recv = first_of(&stream->recvs);
        int done = stream->has_header ? 1 : read_header(group, link);

        if (done <= 0)
            return done;
        if (stream->header.length > recv->length) {
            complete(&stream->recvs, harvest, IBV_WC_LOC_LEN_ERR, 0);
            return CJ_OK;
        }
        done = read_data(group, link, recv->to);
        if (done <= 0)
            return done;
        complete(&stream->recvs, harvest, IBV_WC_SUCCESS,
                 stream->header.length);
    }
    return CJ_OK;
}

static int poll(struct cj_group *group, struct cji_link *link, int room,
                struct ibv_wc *completions)
{
    struct harvest harvest = {completions, room, 0};

    if (pump_sends(group, link, &harvest) < 0 ||
        pump_recvs(group, link, &harvest) < 0)
        return -1;
    return harvest.count;
}

/* Connections from which something is to come: how many; -1 if something is to
 * go, for which nobody can wait here. */
static int awaited_ends(const struct cj_group *group, int *ends)
{
    int count = 0;

    for (int i = 0; i < group->link_count; i++) {
        const struct cji_link *link = &group->links[i];

        if (!is_empty(&link->stream->sends))
            return -1;
        if (!is_empty(&link->stream->recvs))
            ends[count++] = link->socket;
    }
    return count;
}

/* A peer that takes long to answer costs no processor; a look around now and
 * then does not hurt. */
static int idle(struct cj_group *group, int64_t until_ns, unsigned round)
{
    int ends[CJI_MAX_LINKS];
    int count = round < SPIN_ROUNDS ? -1 : awaited_ends(group, ends);
    int64_t until;

    if (count <= 0)
        return group->clock.idle(group->clock.ctx, until_ns, round);
    until = group->clock.now_ns(group->clock.ctx) + WAIT_NS;
    if (until > until_ns)
        until = until_ns;
    /* Whatever it answers: polling tells, and the deadline. */
    (void)group->net.wait(group->net.ctx, ends, count, until);
    return 1;
}

const struct cji_transport cji_stream_transport = {
    .post_send = post_send,
    .post_recv = post_recv,
    .poll = poll,
    .idle = idle,
};

struct cji_stream *cji_stream_new(struct cj_group *group)
{
    struct cji_stream *stream = group->allocator.alloc(
        group->allocator.ctx, _Alignof(struct cji_stream), sizeof *stream);

    if (stream != NULL)
        memset(stream, 0, sizeof *stream);
    return stream;
}

static void free_streams(struct cj_group *group)
{
    for (int i = 0; i < group->link_count; i++) {
        struct cji_link *link = &group->links[i];

        if (link->stream != NULL)
            group->allocator.free(group->allocator.ctx, link->stream,
                                  sizeof *link->stream);
        link->stream = NULL;
        link->socket = -1;
    }
}

void cji_stream_stop(struct cj_group *group)
{
    for (int i = 0; i < group->link_count; i++) {
        if (group->links[i].socket >= 0)
            group->net.close(group->net.ctx, group->links[i].socket);
    }
    free_streams(group);
}

void cji_stream_drop(struct cj_group *group)
{
    for (int i = 0; i < group->link_count; i++) {
        if (group->links[i].socket >= 0 &&
            group->net.close == cji_default_net.close)
            cji_default_net_drop(group->links[i].socket);
    }
    free_streams(group);
}
