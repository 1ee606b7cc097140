/* What the faults of a rank's `channel` do to the bytes that it sends, in the
 * simulated network and on a real one. */
#include "sim/state.h"

/* What lies in front of a boundary. */
static size_t before(long boundary, long from)
{
    return boundary > from ? (size_t)(boundary - from) : 0;
}

struct sim_piece sim_channel_piece(const struct sim_rank *rank, size_t length,
                                   bool beside)
{
    struct sim_piece piece = {
        .from = rank->channel_sent, .pass = length, .garbled = -1};
    if (rank->channel_close >= 0 &&
        piece.from + (long)length >= rank->channel_close) {
        piece.pass = before(rank->channel_close, piece.from);
        piece.closes = true;
    }
    if (rank->channel_silent >= 0 &&
        piece.from + (long)piece.pass > rank->channel_silent) {
        piece.pass = before(rank->channel_silent, piece.from);
        piece.silent = true;
    }
    if (!beside && rank->channel_garble >= piece.from &&
        rank->channel_garble < piece.from + (long)piece.pass)
        piece.garbled = rank->channel_garble - piece.from;
    return piece;
}

void sim_channel_strike(const struct sim_rank *rank, enum scn_channel what,
                        long from)
{
    sim.result->rank[rank->number].channel_struck |= 1u << what;
    sim_watch_hit();
    sim_tell(SIM_EVENT_CHANNEL, rank->number, -1, (int)what, from);
}
