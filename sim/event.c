/* What happens in a run besides calls and findings. */
#include "sim/event.h"

#include <string.h>

#include "sim/state.h"

void sim_tell(enum sim_event_kind kind, int rank, int peer, int number,
              long bytes)
{
    struct sim_event event;
    if (!sim.options->event || sim.recovering)
        return;
    memset(&event, 0, sizeof event); /* it goes through a pipe as it is */
    event.kind = kind;
    event.rank = rank;
    event.peer = peer;
    event.number = number;
    event.bytes = bytes;
    event.now = sim.now;
    sim.options->event(sim.options->context, &event);
}
