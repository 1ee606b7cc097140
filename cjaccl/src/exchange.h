/*
 * The exchange: every rank sends a row of messages to every other rank and gets
 * one from each, chunk by chunk. The collectives are exchanges that differ in
 * how a chunk is filled and what is done with those that arrive.
 *
 * A message is always a whole class: 4096 << k bytes, of which the sender's
 * chunk may fill only a part. The sender zeroes the rest.
 *
 * Chunk i uses slot i % 2. Receives are posted up to 2 chunks ahead of the last
 * chunk that was used up (1 where a queue holds no more); a chunk is used up
 * when it has come from every peer.
 *
 *   without handshake: chunk i is sent as soon as the slot's last send is
 *     complete and its content not needed any more. Where the device holds a
 *     SEND back until the peer has posted, as JACCL expects, this keeps 2
 *     messages in flight.
 *
 *   with handshake: no SEND may meet a peer that has not posted. All ranks post
 *     the receives of chunks 0 and 1 and meet on the side channel. Then chunk i
 *     is sent when the chunks before it have been used up here, which is after
 *     the receive of chunk i + 1 was posted. So who gets a peer's chunk i knows
 *     that this peer is ready for chunk i + 1.
 *
 *   with handshake, and a queue somewhere in the group that holds one message
 *     only: that rank cannot post chunk i + 1 before chunk i has come, so its
 *     chunk i says nothing about it. All ranks then go in lockstep: they post
 *     one receive and meet on the side channel before each chunk.
 *
 * A wait ends with a completion, at the group's deadline, or some time after a
 * peer has closed its side channel: not at once, because a peer that is through
 * may leave while its last message is still under way.
 */
#ifndef CJACCL_EXCHANGE_H
#define CJACCL_EXCHANGE_H

#include "group.h"

struct cji_exchange {
    /* What is exchanged. */
    size_t message;  /* bytes of each message: a class */
    size_t chunks;   /* messages to and from each peer */
    bool to_all;     /* all peers get the same: it is filled once */
    uint64_t digest; /* equal on ranks that do the same: type and count */
    /* Writes chunk number `chunk` for `peer` into the slot, all of it. */
    void (*fill)(const struct cji_exchange *exchange, int peer, size_t chunk,
                 unsigned char *slot);
    /*
     * Uses up chunk number `chunk`: from[r] is the slot with that of rank r,
     * and from[own rank] the slot that this rank's was sent from. May change
     * them, except one's own.
     */
    void (*use)(const struct cji_exchange *exchange, size_t chunk,
                unsigned char *const from[CJ_MAX_MESH_RANKS]);

    /* For fill and use. */
    int rank;
    int size;
    const unsigned char *in;
    unsigned char *out;
    size_t bytes; /* of each rank's (part of the) data */
    enum cj_type type;

    /* How far it is: numbers of chunks. */
    size_t posted;
    size_t sent;
    size_t used;
};

/* Bytes of the class of messages that `bytes` of data are sent in. */
size_t cji_message_size(size_t bytes);

/* Runs it to its end, until group->deadline. */
int cji_exchange_run(struct cj_group *group, struct cji_exchange *exchange);

#endif
