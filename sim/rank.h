/*
 * rank.h: what the simulator gives to the program of one rank.
 *
 * A subject is handed a `struct sim_rank` and finds in it everything a process
 * would find on its host: its configuration, a library to load, memory, a
 * clock, and sockets. All of it is virtual and deterministic, all of it obeys
 * the scenario, and whatever waits lets the other ranks run.
 *
 * Time is virtual. It moves only when every rank waits; then it jumps to the
 * next deadline. A rank that waits without a deadline for something that can
 * no longer come is a `hang`, found in that moment.
 */
#ifndef SIM_RANK_H
#define SIM_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/scenario.h"

struct sim_rank;

#define SIM_FOREVER INT64_MAX /* a deadline that never comes */

/* ---- who am I, and what am I told -------------------------------------- */

int sim_rank_number(const struct sim_rank *rank);

/* One cell of the device file: up to SCN_NAMES_MAX names, count 0 is null. */
struct sim_cell {
    int count;
    const char *names[SCN_NAMES_MAX];
};
/* How many rows the rank's device file has: the group's size as it sees it. */
int sim_rank_size(const struct sim_rank *rank);
const struct sim_cell *sim_rank_cell(const struct sim_rank *rank, int row,
                                     int column);
/* What the rank asks for: a value of that setting. */
int sim_rank_setting(const struct sim_rank *rank, enum scn_setting what);
bool sim_rank_prefers_ring(const struct sim_rank *rank);
/* "10.0.0.1:9000" unless the scenario says otherwise. */
const char *sim_rank_coordinator(const struct sim_rank *rank);

/* ---- the verbs library -------------------------------------------------- */

/* dlopen and dlsym of the verbs library: NULL where the scenario says so. */
bool sim_library_present(const struct sim_rank *rank);
void *sim_library_symbol(const struct sim_rank *rank, const char *symbol);

/* ---- memory ------------------------------------------------------------- */

/* Counts as the next `alloc` of the rank; NULL if the plan says so. The memory
 * belongs to the run: what is not freed is reported as a leak. Contents are
 * the same on every run. */
void *sim_alloc(struct sim_rank *rank, size_t alignment, size_t size);
void sim_free(struct sim_rank *rank, void *memory);

/* ---- time --------------------------------------------------------------- */

int64_t sim_now(const struct sim_rank *rank); /* nanoseconds from 0 */
void sim_sleep(struct sim_rank *rank, int64_t nanoseconds);
/* Until something changed that this rank may see, or the deadline. what: for
 * the report, e.g. "completions". */
void sim_wait(struct sim_rank *rank, int64_t deadline, const char *what);
/* The same for a loop that looked at several places before it waits: returns
 * at once if anything changed since this call last returned, so that nothing
 * is missed between two looks. */
void sim_wait_change(struct sim_rank *rank, int64_t deadline, const char *what);
/* Counts towards a spin: put it into loops that make no call. */
void sim_tick(struct sim_rank *rank);

/* ---- sockets ------------------------------------------------------------ */

/*
 * Stream sockets between the ranks (and the scenario's hostile peers and
 * strays). Descriptors are small numbers of this rank. Answers: 0 or a count,
 * or a negative errno: -ETIMEDOUT at the deadline, -ECONNREFUSED when nobody
 * listens at the address, -EBADF, -EADDRINUSE. sim_recv answers 0 when the
 * other end has closed. Partial reads happen; sends are taken whole, but those
 * of sim_send_some(), which takes as much as a network's buffers would and may
 * answer -ETIMEDOUT. A listener at port 0 gets a port of its own. Descriptors
 * still open at the end are a leak.
 */
int sim_listen(struct sim_rank *rank, const char *address);
int sim_accept(struct sim_rank *rank, int listener, int64_t deadline);
int sim_connect(struct sim_rank *rank, const char *address, int64_t deadline);
long sim_send(struct sim_rank *rank, int socket, const void *data,
              size_t length);
long sim_send_some(struct sim_rank *rank, int socket, const void *data,
                   size_t length, int64_t deadline);
long sim_recv(struct sim_rank *rank, int socket, void *data, size_t length,
              int64_t deadline);
/* Waits until one of the sockets has something: a listener a connection, a
 * connection bytes or its end. Its index, or -ETIMEDOUT. */
int sim_wait_sockets(struct sim_rank *rank, const int *sockets, int count,
                     int64_t deadline);
/* 1 while the other end has not closed, else 0; unread bytes change nothing. */
int sim_socket_alive(struct sim_rank *rank, int socket);
/* Who is at the other end, for messages: "10.0.0.2" for rank 1. */
const char *sim_socket_peer(struct sim_rank *rank, int socket);
/* A rank's own address, "10.0.0.2" for rank 1; a listener's port. */
const char *sim_rank_address(const struct sim_rank *rank);
int sim_socket_port(struct sim_rank *rank, int socket);
void sim_close(struct sim_rank *rank, int socket);

/* ---- findings ----------------------------------------------------------- */

/*
 * The subject itself knows that what it is about to do faults (an index past
 * the end, a call through NULL). title: "read past connections in mesh". In
 * the ordinary case the rank ends here as crashed; with --keep-going the call
 * returns and the caller goes on to do it.
 */
void sim_crash(struct sim_rank *rank, const char *title, const char *detail);

#endif
