/*
 * event.h: what happens in a run besides calls and findings.
 *
 * Who draws a run needs more than its trace: which operation a rank is in,
 * what goes over the side channel, where the scenario cut that, and how far
 * the clock jumped. Each comes in the order in which the simulator did it,
 * between the calls of the trace. A second start, when the faults are lifted,
 * has no events.
 */
#ifndef SIM_EVENT_H
#define SIM_EVENT_H

#include <stdint.h>

enum sim_event_kind {
    SIM_EVENT_BEGIN,    /* the rank begins `run` number; -1: it cleans up */
    SIM_EVENT_END,      /* ... and comes back from it */
    SIM_EVENT_SENT,     /* bytes to the peer, on a socket */
    SIM_EVENT_RECEIVED, /* bytes from the peer */
    SIM_EVENT_CHANNEL,  /* a `channel` statement takes effect on the rank's
                           bytes; number: enum scn_channel */
    SIM_EVENT_TIME      /* every rank waited: it is now so late */
};

struct sim_event {
    enum sim_event_kind kind;
    int rank;    /* -1: of TIME */
    int peer;    /* of SENT and RECEIVED; -1: a stranger */
    int number;  /* BEGIN, END: the statement's number in the scenario */
    long bytes;  /* SENT: those that go out of the rank */
    int64_t now; /* nanoseconds of virtual time */
};

/* For the files of sim/: tells whoever listens. */
void sim_tell(enum sim_event_kind kind, int rank, int peer, int number,
              long bytes);

#endif
