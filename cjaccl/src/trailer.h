/*
 * The trailer: what a message of cjaccl has behind its data, so that one that
 * was lost, is stale or belongs to another operation is noticed, and so that
 * credits go back (flow.h).
 *
 *   data     `bytes` of it, filled up with zeros to a multiple of 16
 *   address  one for each link the message is sent over: one slot is sent to
 *            several peers, and its number and the credits differ. In a mesh
 *            there is room for all peers always, so that both ends know how
 *            long a message is
 *   tail     the same for all of them
 *
 * A message without data that only gives credits (a note) has the same form.
 * Numbers are in the machine's order, like all of JACCL's.
 */
#ifndef CJACCL_TRAILER_H
#define CJACCL_TRAILER_H

#include "group.h"

#define CJI_TRAILER_ALIGN ((size_t)16)

struct cji_address_line {
    uint32_t to;     /* a rank */
    uint32_t number; /* of the message on this link; of a note: of the note */
    uint32_t taken;  /* messages with data that came over it, were used up, and
                        whose receives are posted again */
    uint32_t notes;  /* notes that came */
};

struct cji_tail {
    uint64_t digest; /* of the operation; 0 of a note */
    uint32_t bytes;
    uint16_t magic;
    uint8_t lines;
    uint8_t note; /* 0 or 1 */
};

/* What a message of so many bytes of data has in all. */
size_t cji_message_length(const struct cj_group *group, size_t bytes);

/* Fills so many bytes of data up with zeros. Returns where the trailer goes. */
unsigned char *cji_trailer_pad(const struct cj_group *group,
                               unsigned char *data, size_t bytes);

/* Writes it: an address for each link, the tail. `at` is aligned to 16. */
void cji_trailer_write(const struct cj_group *group, unsigned char *at,
                       size_t bytes, struct cji_link *const *links,
                       int link_count, uint64_t digest, bool note);

/* Reads the trailer that ends a message of `length` bytes; false: there is
 * none, or none for this rank. */
bool cji_trailer_read(const struct cj_group *group, const unsigned char *data,
                      size_t length, struct cji_address_line *line,
                      struct cji_tail *tail);

#endif
