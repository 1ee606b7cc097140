#include "all_sum.h"

#include "exchange.h"
#include "reduce.h"

#include <string.h>

#define SMALL_BYTES ((size_t)32 * 1024)

/* Bytes of data in a chunk: the last one may be shorter than a message. */
static size_t chunk_bytes(const struct cji_exchange *exchange, size_t chunk)
{
    size_t left = exchange->bytes - chunk * exchange->message;

    return left < exchange->message ? left : exchange->message;
}

/* Everything that is sent is initialized, also what nobody looks at. */
static void fill_slot(const struct cji_exchange *exchange, size_t chunk,
                      const unsigned char *data, unsigned char *slot)
{
    size_t bytes = chunk_bytes(exchange, chunk);

    memcpy(slot, data + chunk * exchange->message, bytes);
    memset(slot + bytes, 0, exchange->message - bytes);
}

static void fill_with_all(const struct cji_exchange *exchange, int peer,
                          size_t chunk, unsigned char *slot)
{
    (void)peer;
    fill_slot(exchange, chunk, exchange->in, slot);
}

static void fill_with_part(const struct cji_exchange *exchange, int peer,
                           size_t chunk, unsigned char *slot)
{
    fill_slot(exchange, chunk, exchange->in + (size_t)peer * exchange->bytes,
              slot);
}

/*
 * Adds up in rank 0's copy, which is ours once it has arrived: `out` may be
 * where this rank's own data is.
 */
static void add_up(const struct cji_exchange *exchange, size_t chunk,
                   const unsigned char *own,
                   unsigned char *const from[CJ_MAX_MESH_RANKS])
{
    size_t bytes = chunk_bytes(exchange, chunk);
    size_t count = bytes / cj_type_size(exchange->type);
    unsigned char *out = exchange->out + chunk * exchange->message;
    unsigned char *sum = exchange->rank == 0 ? out : from[0];

    if (exchange->rank == 0 && own != out)
        memcpy(out, own, bytes);
    for (int rank = 1; rank < exchange->size; rank++)
        cji_reduce(CJI_SUM, exchange->type,
                   rank == exchange->rank ? own : from[rank], sum, count);
    if (sum != out)
        memcpy(out, sum, bytes);
}

/* One's own data is the copy that was sent: `out` may be where it was. */
static void add_up_all(const struct cji_exchange *exchange, size_t chunk,
                       unsigned char *const from[CJ_MAX_MESH_RANKS])
{
    add_up(exchange, chunk, from[exchange->rank], from);
}

static void add_up_part(const struct cji_exchange *exchange, size_t chunk,
                        unsigned char *const from[CJ_MAX_MESH_RANKS])
{
    const unsigned char *part =
        exchange->in + (size_t)exchange->rank * exchange->bytes;

    add_up(exchange, chunk, part + chunk * exchange->message, from);
}

static void collect_parts(const struct cji_exchange *exchange, size_t chunk,
                          unsigned char *const from[CJ_MAX_MESH_RANKS])
{
    size_t bytes = chunk_bytes(exchange, chunk);

    for (int rank = 0; rank < exchange->size; rank++) {
        if (rank != exchange->rank)
            memcpy(exchange->out + (size_t)rank * exchange->bytes +
                       chunk * exchange->message,
                   from[rank], bytes);
    }
}

/* An exchange of `bytes` with every peer. */
static struct cji_exchange prepare(const struct cj_group *group, const void *in,
                                   void *out, size_t bytes, enum cj_type type)
{
    size_t message = cji_message_size(bytes);
    struct cji_exchange exchange = {
        .message = message,
        .chunks = bytes / message + (bytes % message != 0),
        .digest = (uint64_t)bytes << 8 | (uint64_t)type,
        .rank = group->rank,
        .size = group->size,
        .in = in,
        .out = out,
        .bytes = bytes,
        .type = type,
    };

    return exchange;
}

/* The first algorithm. */
static int sum_everywhere(struct cj_group *group, const void *in, void *out,
                          size_t bytes, enum cj_type type)
{
    struct cji_exchange exchange = prepare(group, in, out, bytes, type);

    exchange.to_all = true;
    exchange.fill = fill_with_all;
    exchange.use = add_up_all;
    return cji_exchange_run(group, &exchange);
}

/* Leaves the sum of part `rank` of all ranks at `out`. */
static int reduce_scatter(struct cj_group *group, const void *in, void *out,
                          size_t part, enum cj_type type)
{
    struct cji_exchange exchange = prepare(group, in, out, part, type);

    exchange.fill = fill_with_part;
    exchange.use = add_up_part;
    return cji_exchange_run(group, &exchange);
}

/* Brings every rank's part to its place at `out`; one's own is there. */
static int all_gather(struct cj_group *group, const void *own, void *out,
                      size_t part, enum cj_type type)
{
    struct cji_exchange exchange = prepare(group, own, out, part, type);

    exchange.to_all = true;
    exchange.fill = fill_with_all;
    exchange.use = collect_parts;
    return cji_exchange_run(group, &exchange);
}

int cji_all_sum(struct cj_group *group, const void *in, void *out, size_t count,
                enum cj_type type)
{
    size_t element = cj_type_size(type);
    size_t bytes = count * element;
    size_t part = count / (size_t)group->size * element;
    size_t divided = part * (size_t)group->size;
    unsigned char *own = (unsigned char *)out + (size_t)group->rank * part;
    int status;

    if (group->size == 2 || bytes <= SMALL_BYTES)
        return sum_everywhere(group, in, out, bytes, type);
    status = reduce_scatter(group, in, own, part, type);
    if (status == CJ_OK)
        status = all_gather(group, own, out, part, type);
    if (status == CJ_OK && divided < bytes)
        status = sum_everywhere(group, (const unsigned char *)in + divided,
                                (unsigned char *)out + divided, bytes - divided,
                                type);
    return status;
}
