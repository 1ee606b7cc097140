/*
 * The socket ring: TCP connections to both neighbours, in the place of queue
 * pairs, under the same engine (transport.h).
 *
 * How it is connected. Every rank listens at the address at which its side
 * channel's connection is, at any free port, and tells all others where, over
 * the side channel. Then each connects to its right neighbour and says who it
 * is, and waits for the same from the left one. What a rank has to say contains
 * a number that only those know who were told: anybody else who connects is
 * dropped. Two ranks have two connections, one for each direction of the ring.
 *
 * What is on a connection, in both directions: messages, each with a header of
 * its length in front. A message is received when a receive is posted for it;
 * until then it stays in the connection, and its sender waits. Nothing here
 * waits: poll() moves what can be moved now, in both directions, so two ranks
 * that send to each other, however much, never wait for each other's send.
 *
 * A connection that ends while something is to be received or sent is an error
 * that names the rank. What had come before is delivered first.
 */
#ifndef CJACCL_STREAM_H
#define CJACCL_STREAM_H

#include "transport.h"

extern const struct cji_transport cji_stream_transport;

/*
 * Connects this rank to its neighbours, until group->deadline, and makes the
 * group a ring over them: links[0] leads to the left, links[1] to the right.
 * Then gets the arena and the engine ready. Collective: a rank that fails
 * before all know where all are tells the others.
 */
int cji_stream_start(struct cj_group *group);

/* The state of a link's connection: NULL when there is no memory. */
struct cji_stream *cji_stream_new(struct cj_group *group);

/* Closes the connections and frees what belongs to them. */
void cji_stream_stop(struct cj_group *group);

/* In a forked child: the same, and neither the peers nor the parent see it. */
void cji_stream_drop(struct cj_group *group);

#endif
