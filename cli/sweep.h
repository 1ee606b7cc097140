/*
 * sweep.h: what the files of `verbfault sweep` share.
 *
 * A campaign is a list of parts, each one scenario on one subject: what is
 * asked for on the command line, or what a state file says. Its state is text:
 *
 *   verbfault sweep 1
 *   part     N SUBJECT DEPTH VERBS RANKS WAYS POINTS NAME
 *   scenario N LINE                         the scenario of part N
 *   shard    K/N
 *   point    N NUMBER NAME RUNS [OUTCOME KEPT|BROKEN COUNT TITLE WHY
 * EXAMPLE]...
 *
 * with a tab between words. Everything up to the shard is the head: two files
 * with the same head are of the same sweep. While a sweep goes on a line is
 * added for each point that is done, in the order in which they finish; at the
 * end the lines are put in order, so that the file says nothing of how many
 * workers there were or whether they were interrupted.
 */
#ifndef CLI_SWEEP_H
#define CLI_SWEEP_H

#include <stdio.h>

#include "cli/cli.h"
#include "cli/file.h"
#include "cli/results.h"
#include "sim/sweep.h"

#define SWEEP_PARTS_MAX 64
#define SWEEP_LIST_MAX 1024 /* text of --verbs */
#define SWEEP_PATH_MAX 1024

struct sweep_part {
    char name[SWEEP_PATH_MAX]; /* of the scenario: its path, or what it is */
    bool is_file;
    char *text; /* of the scenario; malloc'ed */
    struct scn scenario;
    struct sweep_plan plan;
    struct sweep sweep;
    bool prepared;
    unsigned long runs; /* made in this campaign */
};

struct sweep_campaign {
    struct sweep_part *parts[SWEEP_PARTS_MAX];
    int count;
    int shard, shards; /* from 0 */
    int jobs, patience;
    struct cli_written state; /* points are added to its stream; NULL: none */
    int state_full;           /* errno: it could not be written */
    bool tty;                 /* progress is shown */
    int part;                 /* the one that runs now */
    int64_t began_ms;         /* when it did */
    int known;                /* its points that were done before */
    bool merged;              /* from several files: nothing is run */
};

/* ---- sweep_parts.c: what is swept */

/* A part more, of a scenario's text (length bytes) with the plan's verbs,
 * ranks, ways and depth; NULL, after a line on standard error. */
struct sweep_part *sweep_part_add(struct sweep_campaign *campaign,
                                  const char *name, bool is_file,
                                  const char *text, size_t length,
                                  const struct sim_subject *subject,
                                  const struct sweep_plan *plan);
/* The parts of a preset for a subject; CLI_FINE or CLI_USAGE. */
int sweep_preset_add(struct sweep_campaign *campaign, const char *preset,
                     const struct sim_subject *subject,
                     const struct sweep_plan *plan);
/* The embedded scenario. */
const char *sweep_default_text(void);
/* Clean runs, and points: CLI_FINE, or another code after a line. What was
 * asked for and chooses nothing is told; a rank that does not exist, or nothing
 * at all, is CLI_USAGE. */
int sweep_campaign_prepare(struct sweep_campaign *campaign);
void sweep_campaign_free(struct sweep_campaign *campaign);

/* Lists: "all", or words with commas between. Verbs are those of scenarios,
 * "channel" and "setup". false: the word at *wrong is none. */
bool sweep_parse_verbs(const char *list, struct sweep_plan *plan,
                       const char **wrong);
bool sweep_parse_ranks(const char *list, struct sweep_plan *plan,
                       const char **wrong);
void sweep_print_verbs(const struct sweep_plan *plan, char *list, size_t room);
void sweep_print_ranks(const struct sweep_plan *plan, char *list, size_t room);
int sweep_ranks_of(const struct scn *scenario);
/* CLI_FINE, or CLI_USAGE after a line: the plan names a rank, and there are
 * only so many. */
int sweep_check_ranks(const struct sweep_plan *plan, int ranks);
/* A line of the verbs that were named, and of which nothing was found: of
 * `found` verbs, channel and setup are read. */
void sweep_tell_unused(const struct sweep_plan *asked,
                       const struct sweep_plan *found);

/* ---- sweep_state.c: what is known */

/* Makes the parts that the file names; CLI_FINE, or another code after a line
 * on standard error. */
int sweep_state_parts(struct sweep_campaign *campaign, const char *path);
/* Takes what the file knows of the campaign's points. shard: it has to be of
 * the campaign's. */
int sweep_state_load(struct sweep_campaign *campaign, const char *path,
                     bool shard);
/* Opens campaign->state with all that is known in it, in order. */
int sweep_state_open(struct sweep_campaign *campaign, const char *path);
void sweep_state_add(struct sweep_campaign *campaign, int part, int group);
/* Puts the file in order. */
int sweep_state_close(struct sweep_campaign *campaign, const char *path);

/* ---- sweep_report.c: what is told */

/* The table on standard output. */
void sweep_report(const struct sweep_campaign *campaign, bool interrupted);
/* Rows for the other formats. */
void sweep_results(const struct sweep_campaign *campaign,
                   struct cli_results *results);
/* A scenario for each title into the directory, which is made: CLI_FINE, or
 * CLI_ENVIRONMENT after a line. */
int sweep_examples(const struct sweep_campaign *campaign,
                   const char *directory);
/* The same of one tally. number: tells parts apart; expected: of the subject.
 */
int sweep_write_examples(const struct scn *scenario, const char *subject,
                         int number, bool expected,
                         const struct sweep_tally *tally,
                         const char *directory);
/* The rows of a table. why: with what was said. */
void sweep_print_tally(const struct sweep_tally *tally, bool why);
unsigned long sweep_campaign_broken(const struct sweep_campaign *campaign);
/* Points of the campaign's shard, and those that are done. */
int sweep_points_wanted(const struct sweep_campaign *campaign,
                        const struct sweep *sweep, int *done);

#endif
