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
 *            anything on from then on: what happens to the others is seen by
 *            their neighbours, or by the deadline.
 *   failed   an operation failed. So does the group.
 *   lost     its connection ended without a word: its process did. So does the
 *            group.
 *
 * In start-up there are notices as soon as all ranks have been recognized as
 * cjaccl's (the exchange of addresses is over): one in the place of what a
 * gather moves, which is told by how it begins. Not earlier: a JACCL rank takes
 * whatever comes for the lengths and addresses that it waits for.
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

/* The ranks know that all of them are cjaccl: notices may be sent, and come in
 * the place of what a gather moves. */
void cji_notices_allow(struct cj_group *group);

/* Start-up is over: nothing else comes any more. */
void cji_notices_begin(struct cj_group *group);

/* Whether a gather's block of `size` bytes, `got` of which are here, is a
 * notice instead. None that is sound begins as one does. */
bool cji_notices_is_one(const struct cj_group *group, const void *block,
                        size_t got, size_t size);

/* It is: hears the rest of it and fails the group because of what it says. What
 * came so far came from rank `from`, and in its place. */
int cji_notices_interrupt(struct cj_group *group, int from, const void *block,
                          size_t got);

/* In start-up, between two gathers: that rank has closed its connection. Fails
 * the group because of what it said before, if it said something. */
int cji_notices_closed(struct cj_group *group, int rank);

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
