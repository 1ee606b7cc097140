/*
 * Flows: how an operation's bytes move.
 *
 * A flow is one direction of one operation over one link: a numbered series of
 * messages, all sent or all received. A collective is a handful of flows, two
 * callbacks, and a rule for what may happen when:
 *
 *   sends      Message m may be filled as soon as m < flow->ready. The engine
 *              calls fill() for it when a send slot is free, or copies it from
 *              its place(), and posts it. A flow that sends may have several
 *              links: the same bytes go to each of them from one slot. Large
 *              data go straight from their place().
 *   receives   The engine posts receives ahead and counts what has arrived, in
 *              order. progress() looks at flow->arrived, uses up what it can
 *              (cji_flow_data() says where message m is), and counts it in
 *              flow->used; a slot is free again then. Whatever becomes possible
 *              by that it says in the `ready` of the flows that send.
 *
 * progress() is called once at the start and whenever something has arrived or
 * has been filled. The operation is over when every flow has moved all of its
 * messages and every send has completed.
 *
 * So a mesh's all-reduce is one flow to all peers (ready from the start) and
 * one from each, whose chunk m is used up in the order of the ranks when it has
 * come from all; a ring's is one flow each way per wire, whose message (step +
 * 1, m) is ready when (step, m) was used up.
 *
 * What carries a flow depends on the group (enum cji_wire, group.h):
 *
 *   CJI_WIRE_JACCL    Every message is a whole class, flow->message bytes of
 *                     it. Up to 2 receives are posted ahead, each of a class.
 *                     Between two rounds (flow->round messages each, 0: no
 *                     rounds) JACCL waits until all of a round has completed
 *                     before it posts for the next; a SEND of the next one is
 *                     not made before that either.
 *   CJI_WIRE_FRAMES   A message is its data and a trailer. Receives are posted
 *                     as above, each of as many frames as the message that will
 *                     come has: both ends know its size. The device holds back
 *                     a SEND that is early.
 *   CJI_WIRE_CREDITS  A message is its data and a trailer. Receives of the
 *                     largest size stay posted, from start-up on, whatever
 *                     operation runs; a SEND is made only when the peer has one
 *                     for it. The trailer gives receives back; a message of a
 *                     trailer only does when no other goes that way.
 *   CJI_WIRE_STREAM   As CJI_WIRE_FRAMES, over TCP (another transport.h): what
 *                     is early stays in the connection.
 *
 * A trailer (trailer.h) says the message's number on its link, its data's bytes
 * and the operation's digest. One that is not what is expected next is
 * CJ_PROTOCOL: a message was lost or belongs to something else. Every byte that
 * is sent is initialized.
 *
 * Credits. A link has group->credits + 1 receives posted: as many messages with
 * data may be on their way, and one note, a message of a trailer only. Both
 * ends count what came since start-up; a trailer tells the peer how many
 * messages were used up and their receives posted again (which is done when
 * there is nothing else to do; in an operation of several messages, which are
 * sent and received in turn, at once), and how many notes came. A note is sent
 * when more than half of the credits (all of them, while data is still to go
 * that way) were not told, and the last note was acknowledged. So no note
 * answers a note, and no two ranks wait for each other: who has no credit left
 * has sent something after the peer's last note came, which acknowledges it,
 * and the peer can send another. A message that comes before its operation
 * begins here waits in its slot. Where some device of the group is a
 * Thunderbolt one, all messages fill it.
 *
 * A wait ends with a completion, at the group's deadline, or some time after a
 * peer has closed its side channel: not at once, because a peer that is through
 * may leave while its last message is still under way.
 */
#ifndef CJACCL_FLOW_H
#define CJACCL_FLOW_H

#include "group.h"

/* A ring has one flow each way per wire and direction. */
#define CJI_MAX_FLOWS (4 * CJ_MAX_WIRES)

struct cji_flow {
    /* Set by the operation. */
    bool receives;
    int link_count; /* 1 if it receives */
    struct cji_link *links[CJI_MAX_LINKS];
    size_t messages; /* in all */
    size_t message;  /* CJI_WIRE_JACCL: bytes of each, a class */
    size_t round;    /* CJI_WIRE_JACCL: messages of each round, or 0 */
    size_t ready;    /* sends: messages that may be filled now */
    size_t used;     /* receives: messages that were used up */
    void *tag;       /* the operation's own, e.g. which direction it is */

    /* How far it is; the engine's. */
    size_t slots;   /* that it may use */
    size_t posted;  /* sends: filled; receives: posted */
    size_t arrived; /* receives: in order, may be used up */
    size_t freed;   /* receives: used up, and their slots are free */
    uint64_t base;  /* receives: messages of the link before it */
};

struct cji_operation {
    uint64_t digest; /* equal on all ranks that make the same call */
    int flow_count;
    struct cji_flow flows[CJI_MAX_FLOWS];
    /* Bytes of data of message m of that flow; at most cji_payload(). The same
     * on both ends of the flow. */
    size_t (*size)(const struct cji_operation *operation,
                   const struct cji_flow *flow, size_t m);
    /* Where they are, if they go as they are: within the source_size bytes of
     * the caller's at `source`, which may go straight (straight.h). */
    const unsigned char *(*place)(const struct cji_operation *operation,
                                  const struct cji_flow *flow, size_t m);
    const unsigned char *source;
    size_t source_size;
    /* Where `place` is NULL: writes that many bytes of data. */
    void (*fill)(struct cji_operation *operation, const struct cji_flow *flow,
                 size_t m, unsigned char *data);
    void (*progress)(struct cj_group *group, struct cji_operation *operation);
    void *ctx;
};

/* Bytes of data and trailer that a slot of such a group has room for. */
size_t cji_slot_size(const struct cj_group *group);

/*
 * Bytes of data that one message may hold, for an operation that moves `bytes`
 * over each link: JACCL's class for those bytes, or cjaccl's own choice. A
 * multiple of 16.
 */
size_t cji_payload(const struct cj_group *group, size_t bytes);

/* Where message m, used <= m < arrived, of a flow that receives is. Aligned for
 * every type; may be changed. */
unsigned char *cji_flow_data(const struct cj_group *group,
                             const struct cji_flow *flow, size_t m);

/* How many messages of a flow that sends are not read any more: where they came
 * from may be written to. */
size_t cji_flow_let_go(const struct cj_group *group,
                       const struct cji_flow *flow);

/*
 * Gets the links ready: after their queue pairs are at RTR, the arena is there
 * and is registered, and before the ranks meet (the start barrier): no rank may
 * send before all have done this. Where the queues are too shallow for the
 * group's wire that is an error (cji_engine_check(): as soon as the wire is
 * known).
 */
int cji_engine_check(struct cj_group *group);
int cji_engine_start(struct cj_group *group);

/* Runs it to its end, until group->deadline. */
int cji_run(struct cj_group *group, struct cji_operation *operation);

/* Mixes a value into a digest. */
uint64_t cji_digest(uint64_t digest, uint64_t value);

#endif
