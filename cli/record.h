/*
 * record.h: `verbfault record`, a program's verbs calls as a scenario.
 *
 * The program runs as under `verbfault run`; in place of a trace every process
 * appends a line for each call (vf_hooks.record) to FILE.part, one write a
 * line, so whatever was called before a process was killed is there. Before
 * each line stand the process and the times of the call's beginning and end.
 * Afterwards the recorder makes the scenario of it:
 *
 *   - each process that made calls is a rank: the first one of a rank has its
 *     number, further ones come behind them;
 *   - lines are translated (sim/symbols.h) in the order in which they were
 *     written: what a number means was written before anybody could use it;
 *   - then they are put in the order in which the calls must have taken effect:
 *     a receive, and what makes a queue pair ready, when it began; a send, and
 *     what waits, when it ended. Within a process nothing changes places;
 *   - it is replayed. A call that failed and does not fail on the mock by
 *     itself gets "(planned)" behind its answer, and so on until all is the
 *     same or the mock parts in a way that no plan can mend.
 */
#ifndef CLI_RECORD_H
#define CLI_RECORD_H

#include "cli/run.h"
#include "sim/symbols.h"

/* A call as it came, and as it will be written. */
struct record_call {
    int rank;    /* in the recording */
    int64_t key; /* when it took effect, in nanoseconds */
    int at;      /* in the order of the lines */
    char *line;  /* translated, malloc'ed */
};

struct record_process {
    long pid;
    int rank;     /* as it was run */
    int64_t last; /* the key of its last call */
};

#define RECORD_PROCESSES_MAX 64

struct recording {
    struct record_call *calls;
    int count, room;
    struct record_process processes[RECORD_PROCESSES_MAX]; /* a rank each */
    bool used[RECORD_PROCESSES_MAX];
    int ranks;
    struct symbols *symbols;
    struct run_setup *setup;
    const struct run_options *options;
    const char *head; /* of a joined one, in place of the last two: all that
                         stands before the calls */
};

/* record_read.c: the calls in FILE.part. CLI_FINE, or another code after one
 * line. */
int record_read(struct recording *recording, const char *path, int ranks,
                bool keep_names);
void record_free(struct recording *recording);

/* record.c: replays what was recorded until it is the same or no plan mends it,
 * writes it and says so. Answers the exit code. */
int record_finish(struct recording *recording, const char *file);
/* record_join.c: `verbfault record --join`: files become one. */
int record_join(const char *output, int count, char **paths);

/* record_write.c: the scenario as text, malloc'ed; NULL: memory is out. */
char *record_text(const struct recording *recording);

#endif
