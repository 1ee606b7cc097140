/*
 * watch.h: what a run did that a fault could strike.
 *
 * A sweep fails every call of a run, so it has to know them: how often each
 * rank called each verb, which of its polls found something, how many bytes it
 * sent on the side channel, which symbols it looked up. And of a run with a
 * fault in it, what came after that fault: the counts of all ranks are taken
 * down at the moment when the first one took effect.
 *
 * A run is watched when sim_options.watch is set. It counts the first start
 * only, not the one that follows when the faults are lifted.
 */
#ifndef SIM_WATCH_H
#define SIM_WATCH_H

#include "sim/scenario.h"

#define SIM_WATCH_POLLS 4096 /* of one rank, that found something */
#define SIM_WATCH_SYMBOLS 64
#define SIM_WATCH_SENDS 1024 /* of one rank */

/* Of one rank, from the start to some moment. */
struct sim_counts {
    unsigned calls[VF_VERB_COUNT]; /* completions and allocations, too */
    long sent;                     /* bytes on the side channel */
};

struct sim_watch {
    int ranks;
    bool hit; /* a planned fault, or one of the channel, took effect */
    struct sim_counts at_hit[SCN_RANKS_MAX]; /* zero if none did */
    struct sim_counts at_end[SCN_RANKS_MAX];
    /* The polls that found something, by their number, ascending. */
    unsigned polls[SCN_RANKS_MAX][SIM_WATCH_POLLS];
    int poll_count[SCN_RANKS_MAX];
    bool polls_left_out; /* there were more */
    /* Where on its side channel each of a rank's sends began, ascending. What is
     * behind the last that is kept counts as part of it. */
    long sends[SCN_RANKS_MAX][SIM_WATCH_SENDS];
    int send_count[SCN_RANKS_MAX];
    /* Looked up in the verbs library by any rank, each once. */
    char symbols[SIM_WATCH_SYMBOLS][SCN_WORD_MAX];
    int symbol_count;
    /* watch.c's own */
    bool over;
    unsigned seen_polls[SCN_RANKS_MAX], seen_told[SCN_RANKS_MAX];
};

/* For the files of sim/, each at its moment; nothing without a watch. */
void sim_watch_start(void);
void sim_watch_step(int rank); /* before each call */
void sim_watch_hit(void);      /* a fault takes effect */
void sim_watch_symbol(const char *symbol);
void sim_watch_send(int rank, long from); /* on the side channel */
void sim_watch_end(void); /* before any second start */

#endif
