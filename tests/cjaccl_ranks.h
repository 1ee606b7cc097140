/*
 * Ranks as threads of the test, each on a fake machine of its own.
 */
#ifndef CJACCL_RANKS_H
#define CJACCL_RANKS_H

#include "cjaccl_fake.h"

#define RANKS_SECOND ((int64_t)1000000000)

struct ranks;

struct rank {
    int number;
    struct ranks *all;
    pthread_t thread;
    struct fake_machine machine;
    struct cj_config config;
    struct cj_group *group;
    int status;
    struct cj_error error;
};

struct ranks {
    int size;
    char coordinator[32];
    struct cj_cell cells[CJ_MAX_RANKS * CJ_MAX_RANKS];
    void (*body)(struct rank *rank);
    struct rank rank[CJ_MAX_RANKS];
};

/* A mesh of `size` machines with one device each, where everything works. */
void ranks_init(struct ranks *ranks, int size);

/* A ring of such machines, with a device for each of up to 4 wires. */
void ranks_init_ring(struct ranks *ranks, int size, int wires);

/* Runs the body on all ranks at once and waits for all of them. */
void ranks_run(struct ranks *ranks, void (*body)(struct rank *rank));

/* cj_init and cj_finalize of all; what they answer is in status and error. */
void ranks_start(struct ranks *ranks);
void ranks_finish(struct ranks *ranks);

#endif
