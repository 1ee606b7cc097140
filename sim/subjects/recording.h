/*
 * recording.h: a recording's calls, made again.
 *
 * The subject `recording` is every program that was ever recorded. Each rank
 * makes its calls of the scenario (sim/calls.h) on the mock, in their order;
 * and of all ranks nobody makes a call while another one, which could go on,
 * has an earlier one to make. Only who waits for a completion or an event, and
 * has looked for it after all that happened so far, is overtaken. A poll waits
 * until what it found when it was recorded is there (vf_world_pace()).
 *
 * Every call's line is translated as the recorder translated it (symbols.h) and
 * compared with the recorded one: arguments, answer, finding, and of the
 * details what was granted and in which state things are. At the first
 * difference the run is over: the outcome is `error`, its title
 * "parted in VERB", and its message says which call of which rank it was and
 * what each of the two said. So it is when a completion never comes.
 *
 * A recording may be of some of the ranks only: of one of two machines, say. It
 * is replayed up to the first thing that only a peer who was not recorded could
 * have caused: a completion or an event of a queue that a queue pair towards a
 * stranger ("dest=?") completes to. That is no parting; sim_result.partial says
 * how far it went, and the outcome is what was found till then.
 *
 * A call whose answer is "(planned)" gets it from the plan. What a rank still
 * holds when its calls are over is no leak: nobody knows how its program ended.
 * It is taken for dead only when the others cannot go on without that.
 */
#ifndef SIM_SUBJECTS_RECORDING_H
#define SIM_SUBJECTS_RECORDING_H

#include "sim/calls.h"
#include "sim/state.h"

enum recording_kind {
    RECORDING_LIST,
    RECORDING_DEVICE,
    RECORDING_CONTEXT,
    RECORDING_PD,
    RECORDING_MR,
    RECORDING_CQ,
    RECORDING_QP,
    RECORDING_AH,
    RECORDING_SRQ,
    RECORDING_CHANNEL,
    RECORDING_MW,
    RECORDING_KINDS
};

/* An object of a rank, by its number. */
struct recording_object {
    void *handle;
    int device;      /* that it is on, from 0 */
    uint32_t number; /* of a queue pair; a region's lkey */
    uint32_t remote; /* a region's rkey */
    char *memory;    /* a region's */
    char *whole;     /* ... as it was allocated */
    /* Of a queue pair: its completion queues, and does it lead to somebody who
     * was not recorded? */
    int64_t send_cq, recv_cq;
    bool datagrams, to_stranger;
};

struct recording_rank {
    int number;
    struct recording_object *objects[RECORDING_KINDS]; /* from 1 */
    int count[RECORDING_KINDS];
    int room[RECORDING_KINDS];

    char *pending; /* memory of a region that is being made */

    const struct scn_call *call; /* that is being made; NULL: none */
    int at;                      /* its place among all calls */
    int nth;                     /* ... and among the rank's, from 1 */
    bool told;                   /* its line has come by */
    bool waits;                  /* inside, for others */
    bool done;                   /* no call is left */
    bool buried;
    int64_t since;        /* it waits */
    unsigned long looked; /* sim.epoch when it last looked in vain */
};

/* The ranks of the run. */
extern struct recording_rank recording_ranks[SCN_RANKS_MAX];

/* The rank's object of that number; NULL: there is none. */
struct recording_object *recording_object(struct recording_rank *rank,
                                          enum recording_kind kind, int64_t n);
/* The n-th number of "A:B:C", from 0; -1: there is none. */
int64_t recording_number(struct scn_piece value, int n);
/* Makes the call. false: there is no way to make it again. */
bool recording_issue(struct recording_rank *rank, const struct scn_call *call);
/* A device of whoever was not recorded, to which that one of the rank leads.
 * false: there is no room for one. */
bool recording_stranger(int rank, int device, int *machine, int *there);
void recording_forget_stranger(void);
/* Frees what the rank's objects were made of. */
void recording_forget_objects(struct recording_rank *rank);

#endif
