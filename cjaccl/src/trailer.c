#include "trailer.h"

#include "flow.h"

#include <string.h>

#define MAGIC 0x6a63u
#define NOBODY UINT32_MAX

static size_t lines(const struct cj_group *group)
{
    return group->ring ? 1 : (size_t)group->link_count;
}

/* Memory may still hold messages of an earlier group: what the ranks of this
 * one told each other is in the magic and the digest. */
static uint16_t magic(const struct cj_group *group)
{
    uint32_t digest = (uint32_t)group->digest;

    return (uint16_t)(MAGIC ^ digest ^ digest >> 16);
}

static uint64_t salted(const struct cj_group *group, uint64_t digest)
{
    return digest ^ (uint64_t)(uint32_t)group->digest << 32;
}

static size_t trailer_size(const struct cj_group *group)
{
    return lines(group) * sizeof(struct cji_address_line) +
           sizeof(struct cji_tail);
}

/* Where it begins. */
static size_t trailer_at(const struct cj_group *group, size_t bytes)
{
    return group->whole
               ? cji_slot_size(group) - trailer_size(group)
               : (bytes + CJI_TRAILER_ALIGN - 1) & ~(CJI_TRAILER_ALIGN - 1);
}

size_t cji_message_length(const struct cj_group *group, size_t bytes)
{
    return trailer_at(group, bytes) + trailer_size(group);
}

unsigned char *cji_trailer_pad(const struct cj_group *group,
                               unsigned char *data, size_t bytes)
{
    size_t filled = trailer_at(group, bytes);

    memset(data + bytes, 0, filled - bytes);
    return data + filled;
}

void cji_trailer_write(const struct cj_group *group, unsigned char *at,
                       size_t bytes, struct cji_link *const *links,
                       int link_count, uint64_t digest, bool note)
{
    struct cji_tail tail = {
        .digest = salted(group, digest),
        .bytes = (uint32_t)bytes,
        .magic = magic(group),
        .lines = (uint8_t)lines(group),
        .note = note,
    };

    for (int i = 0; i < tail.lines; i++) {
        struct cji_address_line line = {.to = NOBODY};

        if (i < link_count) {
            const struct cji_traffic *traffic = &links[i]->traffic;

            line.to = (uint32_t)links[i]->peer;
            line.number =
                (uint32_t)(note ? traffic->notes_sent : traffic->filled);
            line.taken = (uint32_t)traffic->reposted;
            line.notes = (uint32_t)traffic->notes_arrived;
        }
        memcpy(at, &line, sizeof line);
        at += sizeof line;
    }
    memcpy(at, &tail, sizeof tail);
}

bool cji_trailer_read(const struct cj_group *group, const unsigned char *data,
                      size_t length, struct cji_address_line *line,
                      struct cji_tail *tail)
{
    const unsigned char *at;

    if (length < sizeof *tail)
        return false;
    memcpy(tail, data + length - sizeof *tail, sizeof *tail);
    if (tail->magic != magic(group) || tail->note > 1 ||
        tail->lines != lines(group) ||
        cji_message_length(group, tail->bytes) != length)
        return false;
    tail->digest = salted(group, tail->digest);
    at = data + trailer_at(group, tail->bytes);
    for (int i = 0; i < tail->lines; i++, at += sizeof *line) {
        memcpy(line, at, sizeof *line);
        if (line->to == (uint32_t)group->rank)
            return true;
    }
    return false;
}
