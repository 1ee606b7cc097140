/*
 * live_net.h: what a scenario does to the side channel, done to TCP.
 *
 * A rank in a process of its own (live.h) has a transport in front of TCP that
 * makes happen what socket.c does in the simulator:
 *
 *   channel  of what the rank sends, on whichever connection, the bytes are
 *            counted. At the byte that the scenario names the connection is
 *            shut down, or what follows is not sent, or it is sent inverted
 *   stray    whoever listens lets the guests in first: from the same process a
 *            connection that says nothing
 *   peer     the same, and it says its bytes. A hostile coordinator takes
 *            everyone: who would connect to it is connected to an end that has
 *            said them. In the peer's own place no program runs
 *
 * Guests stay until the process ends. That they are first is so because a rank
 * finds nobody at the coordinator's address until the door is open
 * (live->is_door_open).
 *
 * A subject offers as much to send as in the simulator, so that a fault strikes
 * the same send; of it counts as sent what TCP takes. And one thing is the
 * simulated network's: TCP takes one more send after it has heard that the
 * other end is closed, and reports the next. Here a rank asks TCP before it
 * sends, and hears of it with that send.
 */
#ifndef SIM_LIVE_NET_H
#define SIM_LIVE_NET_H

#include <cjaccl/cjaccl.h>

#include "sim/live.h"

/* Fills in net for the rank that runs. false: the scenario does nothing to the
 * side channel, and plain TCP it is. */
bool sim_live_net(struct sim_rank *rank, struct cj_net *net);

/* How much of so many bytes a subject's transport takes at once, simulated or
 * live: the last few are for the next send, as networks need not take all. */
static inline size_t sim_net_part(size_t size)
{
    return size > 8 ? size - 8 : size;
}

#endif
