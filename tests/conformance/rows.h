/*
 * rows.h: what the files of named sequences share. Each holds one table of
 * them, and rows.c puts the tables together.
 */
#ifndef CONFORMANCE_ROWS_H
#define CONFORMANCE_ROWS_H

#include "bench.h"

#define RECV_AT 16384 /* where receives lie in the arena; sends begin at 0 */
#define ALL_ACCESS                                                             \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |                        \
     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

struct row {
    const char *name;
    void (*run)(struct bench *bench);
};
#define ROW(word) .name = #word, .run = word

/* Each ends with a row without a name. */
extern const struct row rows_device[];
extern const struct row rows_queue[];
extern const struct row rows_state[];
extern const struct row rows_memory[];
extern const struct row rows_message[];
extern const struct row rows_remote[];
extern const struct row rows_shared[];

/* A receive of 128 bytes at RECV_AT, for act_post_recv(). */
struct work usual_recv(void);
void recv_on(struct bench *bench, int qp);
/* 64 bytes, signalled. */
void send_on(struct bench *bench, int qp);
void move_to(struct bench *bench, int qp, int to, int peer);
/* From RESET, by the usual steps; queue pairs 0 and 1 are each other's peer. */
void reach(struct bench *bench, int qp, int state);
void create(struct bench *bench, int qp, int type);
/* What there is to see of q0 and q1 in the end. */
void finish(struct bench *bench);

#endif
