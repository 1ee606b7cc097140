/*
 * The side channel: a star of connections around rank 0.
 *
 * Its bytes are JACCL's. Each rank but 0 connects and sends its rank, an int32
 * in host order. From then on there is one kind of traffic, the all-gather:
 * every rank sends n bytes to rank 0 and gets size*n bytes, in rank order.
 *
 * Rank 0 takes everybody in who comes and listens to all of them at once. A
 * client that is silent, or leaves before it has said its rank, is not one of
 * ours: it is dropped and the group still starts. One that says a rank which
 * does not exist, or which is taken, is an error: a group is started wrongly.
 * Not taken is the rank of one that came and left again while others were
 * waited for: it has been restarted, and the new one gets its place. One that
 * stays away is told in the error when the time is over, or by the first
 * all-gather.
 *
 * A caller's own all-gather (group->gather) takes the place of all that: there
 * are no connections then, nothing to wait for with a deadline, and no way to
 * see that a rank has gone.
 *
 * Processes that fork. A connection ends when the last process that holds it
 * has closed it. So this rank says the end aloud (shutdown) when it closes, and
 * its children do not matter; a child that only wants to get rid of what it
 * inherited must not say it, and calls cji_side_drop(). A rank that is killed
 * while a child of it lives on that has neither dropped its copies nor called
 * exec cannot be told from one that is slow: the others wait until their
 * deadline.
 */
#ifndef CJACCL_SIDE_H
#define CJACCL_SIDE_H

#include "address.h"
#include "group.h"

/* Connects the star, until group->deadline. With a caller's gather: nothing. */
int cji_side_open(struct cj_group *group, const struct cji_address *address);

/*
 * One more connection to rank 0, for a rank whose first one was reset before
 * rank 0 had answered anything: a listener of few places (JACCL's has none to
 * wait in) lost it.
 *
 * Rank 0 knows nothing of a connection that it never accepted. Had it accepted
 * this one, it has gone, and either nobody listens any more, or it still waits
 * for others and gives a rank that comes again its place. There is one attempt,
 * and a short one: a group that is started in the place of one that failed
 * shall not meet a rank of the old one.
 */
int cji_side_open_again(struct cj_group *group);

/* Whether that is how the last connection ended, and for the first time. */
bool cji_side_may_open_again(const struct cj_group *group);

/* Closes all connections; the peers see it. */
void cji_side_close(struct cj_group *group);

/*
 * In a forked child: closes this process's copies of the connections. The
 * peers and the parent see nothing of it. Ends of a transport that the
 * configuration brought are left alone: nobody knows what closing them does.
 */
void cji_side_drop(struct cj_group *group);

/*
 * All-gather of `size` bytes (one or more) from every rank, into `all`, in rank
 * order, until group->deadline. A peer that leaves is noticed while others are
 * waited for, also when its own bytes are all here.
 */
int cji_side_gather(struct cj_group *group, const void *mine, void *all,
                    size_t size);

/* The rank of a peer that closed its connection, or -1. */
int cji_side_gone(const struct cj_group *group);

/* Fails the group because that peer has gone. */
int cji_side_fail_gone(struct cj_group *group, int peer, int err_no);

#endif
