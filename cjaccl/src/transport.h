/*
 * A transport: what carries messages over a link. Verbs do (this file's), and a
 * connection of TCP does, with the same three calls:
 *
 *   - a message lands in the receive that was posted first and has not got one.
 *     One that comes when none is posted waits, is lost, or is never sent:
 * flow.h says which wire does what about it;
 *   - each request completes once, those of one direction of one link in their
 *     order; the completion has the request's id, the status, and of a receive
 *     how many bytes came.
 *
 * The bytes belong to the transport until the request has completed.
 */
#ifndef CJACCL_TRANSPORT_H
#define CJACCL_TRANSPORT_H

#include "group.h"

struct cji_transport {
    /* Sends a slot's message, `length` bytes with its body: 0 or a positive
     * errno. */
    int (*post_send)(struct cj_group *group, struct cji_link *link, uint64_t id,
                     const struct cji_slot *slot, uint32_t length);
    /* Receives a message of up to `length` bytes: 0 or a positive errno. */
    int (*post_recv)(struct cj_group *group, struct cji_link *link, uint64_t id,
                     unsigned char *data, uint32_t length);
    /*
     * Does what can be done without waiting, and takes up to `room` completions
     * of either direction: how many, or a negative number when that failed.
     * Sets wr_id, status and, of receives, byte_len of each.
     */
    int (*poll)(struct cj_group *group, struct cji_link *link, int room,
                struct ibv_wc *completions);
    /*
     * Takes the place of the clock's idle() (cjaccl.h), where a transport can
     * wait for its peers; NULL: that one is called.
     */
    int (*idle)(struct cj_group *group, int64_t until_ns, unsigned round);
};

extern const struct cji_transport cji_verbs_transport;

#endif
