/* What a run did that a fault could strike. */
#include "sim/watch.h"

#include <stdio.h>
#include <string.h>

#include "sim/state.h"

static struct sim_watch *watch(void)
{
    struct sim_watch *watched = sim.options->watch;
    return watched && !watched->over ? watched : NULL;
}

void sim_watch_start(void)
{
    struct sim_watch *watched = sim.options->watch;
    if (!watched)
        return;
    watched->ranks = sim.rank_count;
    watched->hit = watched->over = watched->polls_left_out = false;
    watched->symbol_count = 0;
    for (int i = 0; i < SCN_RANKS_MAX; i++) {
        memset(&watched->at_hit[i], 0, sizeof watched->at_hit[i]);
        memset(&watched->at_end[i], 0, sizeof watched->at_end[i]);
        watched->poll_count[i] = 0;
        watched->send_count[i] = 0;
        watched->seen_polls[i] = watched->seen_told[i] = 0;
    }
}

/* A poll that found nothing has no line in a trace: one that has one found
 * something, or was made to fail. */
void sim_watch_step(int rank)
{
    struct sim_watch *watched = watch();
    unsigned polls, told;
    if (!watched)
        return;
    polls = vf_machine_calls(sim.world, rank, VF_VERB_poll_cq);
    told = vf_machine_told(sim.world, rank);
    if (polls > watched->seen_polls[rank] && told > watched->seen_told[rank]) {
        if (watched->poll_count[rank] < SIM_WATCH_POLLS)
            watched->polls[rank][watched->poll_count[rank]++] = polls;
        else
            watched->polls_left_out = true;
    }
    watched->seen_polls[rank] = polls;
    watched->seen_told[rank] = told;
}

static void take(struct sim_counts *counts)
{
    for (int i = 0; i < sim.rank_count; i++) {
        for (int verb = 0; verb < VF_VERB_COUNT; verb++)
            counts[i].calls[verb] =
                vf_machine_calls(sim.world, i, (enum vf_verb)verb);
        counts[i].sent = sim.ranks[i].channel_sent;
    }
}

void sim_watch_hit(void)
{
    struct sim_watch *watched = watch();
    if (!watched || watched->hit)
        return;
    watched->hit = true;
    take(watched->at_hit);
}

void sim_watch_send(int rank, long from)
{
    struct sim_watch *watched = watch();
    if (watched && watched->send_count[rank] < SIM_WATCH_SENDS)
        watched->sends[rank][watched->send_count[rank]++] = from;
}

void sim_watch_symbol(const char *symbol)
{
    struct sim_watch *watched = watch();
    if (!watched || strlen(symbol) >= SCN_WORD_MAX ||
        watched->symbol_count == SIM_WATCH_SYMBOLS)
        return;
    for (int i = 0; i < watched->symbol_count; i++)
        if (strcmp(watched->symbols[i], symbol) == 0)
            return;
    snprintf(watched->symbols[watched->symbol_count++], SCN_WORD_MAX, "%s",
             symbol);
}

void sim_watch_end(void)
{
    struct sim_watch *watched = watch();
    if (!watched)
        return;
    for (int i = 0; i < sim.rank_count; i++)
        sim_watch_step(i); /* its last call may have been a poll */
    take(watched->at_end);
    watched->over = true;
}
