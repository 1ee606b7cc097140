/*
 * recording.h: what the recorder asks of a replay: did the mock part with the
 * recording, and where? The subject is sim/subjects/recording.h.
 */
#ifndef SIM_RECORDING_H
#define SIM_RECORDING_H

#include <stdbool.h>

struct sim_parting {
    int call;          /* among all calls of the scenario, from 0; -1: none */
    bool mock_refused; /* there the mock answered with a failure of its own */
};

/* Of the last sim_run() of the subject `recording` in this process. */
void sim_recording_parting(struct sim_parting *parting);

#endif
