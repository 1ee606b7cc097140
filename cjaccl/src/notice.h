/*
 * Notices: who leaves a group, or failed in it, and why.
 *
 * In a group of cjaccl ranks only, the side channel's connections carry nothing
 * after start-up but these. A rank that leaves says one thing to rank 0 (rank 0
 * to everybody) and closes; rank 0 passes on what it hears when it looks at its
 * connections: while it waits in an operation, or is about to leave itself. So
 * each rank can name the one that began.
 *
 *   left     it called cj_finalize(), after so many collectives. The others go
 *            on with what does not need it. When that was rank 0, nobody passes
 * anything on from then on: what happens to the others is seen by their
 * neighbours, or by the deadline. failed   an operation failed. So does the
 * group. lost     its connection ended without a word: its process did. So does
 * the group.
 *
 * A notice is of one size and goes out at once, so one that comes in pieces for
 * long is none. What a peer sent is checked, and its text is cut and printable.
 *
 * With a JACCL rank in the group, or with a caller's own all-gather, there are
 * no notices.
 */
#ifndef CJACCL_NOTICE_H
#define CJACCL_NOTICE_H

#include "group.h"

/* Notices may be sent and read from now on: start-up is over. */
void cji_notices_begin(struct cj_group *group);

/* Reads those that came, and passes them on. Does not wait. */
void cji_notices_read(struct cj_group *group);

/* Tells the others why this rank leaves: its error, or that it is through. */
void cji_notices_send(struct cj_group *group);

/* A rank without which the collective that this one is in cannot end, or -1:
 * one that failed, or left without having begun as many. */
int cji_notices_gone(const struct cj_group *group);

/* Fails the group because that rank is not in it any more. */
int cji_notices_fail(struct cj_group *group, int rank);

#endif
