/*
 * state.h: the state of one run; for the files of sim/ only.
 *
 * There is one simulation in a process, `sim`. It keeps its memory, stacks and
 * world between runs, because a fresh page costs more than a whole start-up.
 *
 * A rank is in one of these states:
 *   RUNNABLE  it goes on when its turn comes
 *   WAITING   until something changes, or its deadline
 *   MEETING   until every rank that can still come has come
 *   DONE      its program has returned
 *   ENDED     its process is gone: crashed, or ended by the plan
 *   STOPPED   it will never run again, but its process is there: hung, spinning
 * sim_changed() makes every WAITING rank RUNNABLE: ranks look for themselves
 * whether it concerned them. With at most eight ranks that is cheaper than
 * knowing.
 */
#ifndef SIM_STATE_H
#define SIM_STATE_H

#include "sim/fiber.h"
#include "sim/live.h"
#include "sim/mutate.h" /* struct scn_random */
#include "sim/run.h"

#define SIM_GROUPS_MAX 8
/* Of one rank, and of the outside world: eight groups of eight ranks. */
#define SIM_SOCKETS_MAX 96
#define SIM_BACKLOG_MAX 32
#define SIM_BLOCKS_MAX 4096

enum sim_state {
    SIM_RUNNABLE,
    SIM_WAITING,
    SIM_MEETING,
    SIM_DONE,
    SIM_ENDED,
    SIM_STOPPED
};

struct sim_block {
    char *address;
    size_t size;
    bool live;
    bool seen;      /* by verbs: then only the parts that they saw are used */
    uint64_t parts; /* which (memory.c); the last bit stands for the rest */
};

/* One end of a connection, or a listener. */
struct sim_socket {
    enum { SIM_SOCKET_FREE, SIM_SOCKET_LISTENER, SIM_SOCKET_STREAM } kind;
    bool used;                  /* since the last reset */
    char address[SCN_WORD_MAX]; /* of a listener */
    /* Of a stream: its other end. owner -1: a hostile peer or a stray. */
    int other_owner, other_index;
    bool other_closed; /* no more bytes will come */
    bool mute;         /* what is sent here is swallowed */
    bool full;         /* its other end waits for room here */
    bool beside;       /* of a listener at port 0 and its connections: beside
                          the side channel */
    char *bytes;       /* received and not yet read */
    size_t head, length, room;
    int backlog[SIM_BACKLOG_MAX]; /* of a listener: own streams to accept */
    int waiting;
};

struct sim_rank {
    int number;
    enum sim_state state;
    struct fiber *fiber;
    struct fiber *inner; /* a thread of it that runs in `fiber`, or NULL */
    bool inner_leaves;   /* it came back for the whole rank to leave */
    int64_t deadline;
    const char *waits_for;   /* for the report of a hang */
    unsigned empty_polls;    /* in a row with nothing changed */
    unsigned long empty_at;  /* sim.epoch then */
    unsigned long looked_at; /* sim.epoch at the last sim_wait_change() */
    unsigned idle_calls;     /* calls since anything changed: a spin */
    unsigned long idle_at;

    int size; /* rows of its device file */
    struct sim_cell cells[SCN_RANKS_MAX + 1][SCN_RANKS_MAX + 1];
    const char *coordinator;
    bool library_absent;
    const char *library_without;
    int settings[SCN_SETTING_COUNT];
    int64_t late; /* it begins at that time */

    struct sim_socket sockets[SIM_SOCKETS_MAX];
    long channel_sent;  /* bytes over all its connections */
    long channel_close; /* -1: never */
    long channel_silent;
    long channel_garble;

    char *arena; /* reserved, see memory.c */
    size_t arena_used;
    size_t arena_written; /* over all runs since its pages were new */
    size_t arena_reach;   /* the most that was used since then */
    struct sim_block *blocks;
    int block_count, block_hint;

    void *groups[SIM_GROUPS_MAX];
    int group_count;
    bool planned_end; /* the plan ended or stopped it: not its fault */
    bool mr_kept;     /* the plan kept a region from being released: its memory
                         may have to stay */
    struct sim_rank_result *result;
};

struct sim {
    struct vf_world *world;
    struct sim_rank ranks[SCN_RANKS_MAX];
    int rank_count;
    int current; /* the rank whose fiber runs, or -1 */
    int64_t now;
    unsigned long epoch; /* counts changes */
    struct scn_random random;
    uint32_t seed;
    const struct scn_statement *order; /* told in bytes; NULL: it is not */
    int order_at;                      /* bytes of it that were followed */
    bool counted;                      /* the rank that runs was told how far */
    int calls_left;                    /* until then */
    bool recovering;                   /* second start, faults lifted */
    const struct scn *scenario;
    struct scn complete; /* with defaults filled in */
    const struct sim_options *options;
    struct sim_result *result;
    const struct sim_live *live;                /* NULL: simulated */
    struct sim_socket outside[SIM_SOCKETS_MAX]; /* hostile peers and strays */
    int strays;
    const struct scn_statement *hostile[SCN_RANKS_MAX];
};

extern struct sim sim;

/* schedule.c: who runs next, time, hangs */
void sim_schedule(void);
void sim_changed(void);
/* The current rank lets the others run; it has said in its state until when. */
void sim_leave(struct sim_rank *rank);
/* The current rank goes no further, in this state. Does not return. */
void sim_stop_rank(struct sim_rank *rank, enum sim_state state);
/* Returns when every rank that still runs has called it, or waits for what can
 * no longer come. */
void sim_meet(struct sim_rank *rank);
/* A rank's outcome becomes at least this bad. */
void sim_outcome(struct sim_rank *rank, enum scn_outcome outcome,
                 const char *title, const char *message);
/* For hooks.step and hooks.empty. */
void sim_step(struct sim_rank *rank);
void sim_empty(struct sim_rank *rank);

/* memory.c */
int sim_memory_open(struct sim_rank *rank);
void sim_memory_reset(struct sim_rank *rank);
void sim_memory_close(struct sim_rank *rank);
bool sim_memory_alive(const void *address, size_t length);
/* Was it sim_alloc()ed by this rank, be it live or not? */
bool sim_memory_holds(const struct sim_rank *rank, const void *address);
void sim_memory_end(struct sim_rank *rank); /* its process is gone */
/* Live allocations and their bytes. */
int sim_memory_live(const struct sim_rank *rank, size_t *bytes);

/* socket.c */
void sim_sockets_reset(void);
void sim_sockets_end(struct sim_rank *rank); /* its process is gone */
int sim_sockets_open(const struct sim_rank *rank);
void sim_sockets_free(void);

/* channel.c: the next bytes that a rank sends, past its channel's faults. Which
 * they are is counted over all its connections. */
struct sim_piece {
    long from;    /* so many it has sent before */
    size_t pass;  /* so many of these arrive */
    long garbled; /* that one of them is inverted; -1: none */
    bool closes;  /* ... and then the connection is cut */
    bool silent;  /* the others are swallowed */
};
/* beside: on a connection beside the side channel. Changes nothing. */
struct sim_piece sim_channel_piece(const struct sim_rank *rank, size_t length,
                                   bool beside);
/* A fault of the channel takes effect on what the rank sends from that byte on.
 */
void sim_channel_strike(const struct sim_rank *rank, enum scn_channel what,
                        long from);

/* setup.c: the world as the scenario says */
int sim_setup(const struct scn *scenario, struct scn_error *error);
/* The faults go, the rest stays: for the second start. */
void sim_lift_faults(void);

/* program.c: what each rank runs */
void sim_program(void *rank);

/* schedule.c: the rank's process is gone, the kernel takes all it held. */
void sim_bury(struct sim_rank *rank);

/* operation.c: one `run` of what scn_has_data(). false: the group is of no
 * more use. */
bool sim_operate(struct sim_rank *rank, void *group,
                 const struct scn_statement *run, unsigned number);
/* operation.c: an error of the subject's */
void sim_failed(struct sim_rank *rank, const char *what,
                const struct sim_failure *failure);

/* data.c: what an operation's data are: numbers that belong to a rank, or to
 * several ranks' numbers combined */
enum sim_data_kind {
    SIM_DATA_OF_RANK, /* `which` is that rank */
    SIM_DATA_SUM,     /* of the ranks below `which` */
    SIM_DATA_ORDERED, /* as OF_RANK, for comparisons: of both signs */
    SIM_DATA_MAX,
    SIM_DATA_MIN,
    SIM_DATA_KIND_COUNT
};
struct sim_data {
    enum sim_data_kind kind;
    int which;
    enum scn_type type;
    unsigned operation; /* its number: each has other numbers */
    size_t from, count; /* elements */
};
void sim_data_write(const struct sim_data *data, void *at);
bool sim_data_is(const struct sim_data *data, const void *at);
void *sim_data_buffer(int rank, int which, size_t bytes); /* kept */
void sim_data_free(void);

/* verdict.c: what a fixed subject promises */
void sim_verdict(const struct scn *scenario, struct sim_result *result);

/* isolate.c: what a process that dies in a run leaves, in memory that it shares
 * with the one that waits for it. */
struct sim_last_words {
    volatile int rank;   /* that ran; -1: none */
    volatile int verb;   /* enum vf_verb that it was in, or VF_VERB_COUNT */
    volatile int signal; /* 0: it ended by itself */
};
/* From now on a fatal signal of this process writes there first. */
void sim_leave_words_in(struct sim_last_words *words);
/* Results for a run that had none of its own. fixed: a promise is broken. */
void sim_make_up(struct sim_result *result, const struct scn *scenario,
                 enum scn_outcome outcome, const char *title, int rank,
                 bool fixed);
void sim_make_up_death(struct sim_result *result, const struct scn *scenario,
                       const struct sim_last_words *words, bool fixed);

/* live.c: this machine's time */
int64_t sim_live_now(void);
void sim_live_sleep(int64_t nanoseconds);

/* stack.c */
void sim_stack(char *text, size_t room);

#endif
