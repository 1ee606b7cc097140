/*
 * live.h: one rank of a scenario, in a process of its own.
 *
 * sim_live() runs of one rank what sim_run() runs of all: the same operations
 * in the same order, the same data, the same comparisons. What is otherwise is
 * the host, which is this machine: its verbs library, its devices, its sockets,
 * its time. The other ranks are other processes of the same scenario, and who
 * started them lets them meet. `verbfault replay --device` is built on it
 * (cli/replay_device.h).
 *
 * Of the scenario the rank finds here what is a program's: what runs, its
 * device file, its coordinator, what it asks for, a library that is absent or
 * lacks a symbol, its allocator's faults, those of its side channel. Verbs are
 * the library's, so faults of verbs are for whoever stands before that
 * (mocks/device).
 *
 * The side channel is TCP on the loopback interface. What the scenario does to
 * it happens between the subject and its sockets (live_net.h), at the same byte
 * as in the simulator: one function decides for both (channel.c).
 *
 * Names. A cell of the device file that names a device of the scenario names
 * `device` here: one device for all, which a message leaves and comes back to,
 * because two devices of one machine need not reach each other. A cell that
 * names none of them names none here either. Of the coordinator's address the
 * simulator's network ("10.0.0.1:9000") becomes this machine and `port`; what
 * is no such address stays as it is.
 *
 * What is not there: virtual time, an order of steps, the second start with the
 * faults lifted.
 */
#ifndef SIM_LIVE_H
#define SIM_LIVE_H

#include "sim/run.h"

struct sim_live {
    int rank;
    const char *device; /* what every device of the scenario is here */
    int port;           /* of the coordinator */
    /* Nanoseconds: a start, and an operation without progress. */
    int64_t timeout;
    /* Returns when every rank has come here, or will no longer. */
    void (*meet)(void *context);
    /* The coordinator's door: rank 0 has opened it, in this start. Till then
     * nobody listens there. */
    void (*open_door)(void *context);
    bool (*is_door_open)(void *context);
    /* The rank goes no further. Its result is as it stands; hangs: its process
     * stays. Does not return. */
    void (*stop)(void *context, bool hangs);
    void *context;
};

/* Fills in result, whose memory outlives `stop`. 0; -1 if the scenario is not
 * runnable (error filled in). For subjects with sim_can_live(). */
int sim_live(const struct scn *scenario, const struct sim_subject *subject,
             const struct sim_live *live, struct sim_result *result,
             struct scn_error *error);
bool sim_can_live(const struct sim_subject *subject);

/* For a subject that runs: NULL in the simulator. */
const struct sim_live *sim_rank_live(const struct sim_rank *rank);

#endif
