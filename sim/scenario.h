/*
 * scenario.h: the scenario language.
 *
 * A scenario says what the machines are like, what goes wrong and when, what
 * every rank runs, and what each subject is expected to make of it. It is
 * text, one statement a line, `#` starts a comment, files end in .scn:
 *
 *   profile NAME                       device profile (default thunderbolt)
 *   ranks N mesh | ranks N ring [W]    topology, W wires a side
 *                                      (default: ranks 2 mesh); a mesh of 1 is
 *                                      a machine on its own
 *   device RANK NAME [KEY=VALUE...]    a device of a rank, or * for all;
 *       port=down ipv4=no max_mr=N max_qp=N max_pd=N used_mr=N used_qp=N
 *       used_pd=N
 *   nodevices RANK [ERRNO]             the list is empty; with ERRNO: NULL
 *   cable RANK:NAME RANK:NAME          two devices joined
 *   cell VIEW ROW COLUMN [NAME...]     what the device file of rank VIEW (or *)
 *                                      says; no NAME is null, "" the empty name
 *   rows VIEW N                        the device file of rank VIEW has N rows
 *   coordinator VIEW ADDRESS           what rank VIEW is told (a word)
 *   setting VIEW topology mesh|ring    what rank VIEW asks for where its device
 *                                      file allows both (default: as `ranks`)
 *   setting VIEW backend rdma|sockets  what it runs over (default: rdma)
 *   setting VIEW fallback none|sockets what it takes when RDMA cannot start
 *                                      (default: none)
 *   late RANK MILLISECONDS             the rank's first start begins so much
 *                                      later
 *   library RANK absent                no libibverbs/librdma on that rank
 *   library RANK without SYMBOL        it lacks that symbol
 *   fault RANK VERB NTH[+] EFFECT [VALUE]
 *   channel RANK close N               the rank's side-channel connection is
 *                                      closed once it has sent N bytes
 *   channel RANK silent N              ... nothing more arrives
 *   channel RANK garble N              ... the byte after them is inverted, if
 *                                      it is the side channel's: the data that
 *                                      goes over sockets is TCP's to protect
 *   peer RANK sends HEX...             in the rank's place a hostile peer
 *                                      connects and sends these bytes, then
 *                                      stays silent and open
 *   stray                              a stray client connects first and says
 *                                      nothing
 *   run init                           start a group (again)
 *   run all_sum|all_max|all_min TYPE COUNT [in-place]
 *                                      COUNT elements
 *   run all_gather TYPE COUNT [in-place]   COUNT elements of each rank
 *   run sum_scatter TYPE COUNT [in-place]  COUNT elements for each rank
 *   run send TYPE COUNT FROM TO        rank FROM sends, rank TO receives, the
 *                                      others do nothing. They may be the same
 *                                      or not exist: that is an error to see
 *   run barrier
 *   run finalize                       end the newest group
 *   call RANK VERB(ARGUMENTS) = ANSWER [; DETAILS]
 *                                      a call of a recording (sim/calls.h);
 *                                      a scenario with calls has no run
 *   order SEED                         how the ranks' steps interleave; 0 is
 *                                      in turn (default)
 *   order bytes HEX...                 ... told step by step: a byte says who
 *                                      goes next and how far (schedule.c);
 *                                      after the last one, in turn
 *   expect SUBJECT OUTCOME ["TITLE"]
 *
 * Defaults make short scenarios whole: without `device`, `cable` and `cell`
 * every rank has the devices, cables and device file that its topology needs
 * (scn_complete() adds them as statements). Without `run` nothing runs.
 *
 * RANK is `*` for all ranks in device, nodevices and library, VIEW in cell,
 * rows, coordinator and setting; there, what is said of one rank's view goes
 * before what is said of `*`. A rank's devices are those of `*`, then its own,
 * each in the order of the text (scn_device() gives them). Of several faults of
 * one call the first in the text decides; one that can therefore never happen
 * is a contradiction.
 *
 * Names are letters, digits, `_`, `.` and `-`. Only a title, an empty name and
 * an address may be quoted. A `#` outside quotes starts a comment.
 *
 * Parsing is strict: an unknown word, a number out of range, a rank that does
 * not exist or a contradiction is an error with line and column. Printing is
 * canonical spacing; parsing what was printed gives the same scenario, and
 * printing that gives the same text. Comments are kept.
 */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verbfault/fault.h"
#include "verbfault/profile.h"

#define SCN_STATEMENTS_MAX 256 /* 152 of them may come from scn_complete() */
#define SCN_RANKS_MAX 8
#define SCN_WIRES_MAX 4
#define SCN_NAME_MAX 32         /* a device's, with the terminating zero */
#define SCN_NAMES_MAX 5         /* names in one cell: one more than wires */
#define SCN_BYTES_MAX 104       /* bytes of a hostile peer */
#define SCN_ORDER_MAX 128       /* bytes of an order */
#define SCN_WORD_MAX 48         /* an address, a symbol, a subject */
#define SCN_ALL (-1)            /* "*" in place of a rank */
#define SCN_TEXT_MAX (1 << 26)  /* a longer text is not a scenario */
#define SCN_COUNT_MAX (1 << 22) /* elements of a collective */
#define SCN_PART_MAX (SCN_COUNT_MAX / SCN_RANKS_MAX) /* where all have some */
#define SCN_ROWS_MAX (SCN_RANKS_MAX + 1)             /* rows of a device file */
#define SCN_CALL_MAX 100000                          /* NTH */
#define SCN_LIMIT_MAX 1000000  /* max_* and used_* of a device */
#define SCN_BYTE_MAX (1 << 20) /* N of `channel` */
#define SCN_DELAY_MAX 3600000  /* milliseconds */
#define SCN_RETURN_MAX 1000000 /* `return N`, either sign */
#define SCN_LINE_MAX 512       /* characters of a line */
#define SCN_CALL_LINE_MAX 16384 /* ... that begins with `call` */
#define SCN_REMARK_MAX 256     /* characters of a comment behind a statement */

enum scn_kind { /* in the canonical order of statements */
                SCN_PROFILE,
                SCN_RANKS,
                SCN_DEVICE,
                SCN_NODEVICES,
                SCN_CABLE,
                SCN_CELL,
                SCN_ROWS,
                SCN_COORDINATOR,
                SCN_SETTING,
                SCN_LATE,
                SCN_LIBRARY,
                SCN_FAULT,
                SCN_CHANNEL,
                SCN_PEER,
                SCN_STRAY,
                SCN_ORDER,
                SCN_RUN,
                SCN_CALL,
                SCN_EXPECT,
                SCN_COMMENT, /* a line that is only a comment, or empty */
                SCN_KIND_COUNT
};

enum scn_topology { SCN_MESH, SCN_RING };

enum scn_channel { SCN_CHANNEL_CLOSE, SCN_CHANNEL_SILENT, SCN_CHANNEL_GARBLE };

/* Settings. The values of each are numbered in the order of their words. */
enum scn_setting {
    SCN_SETTING_TOPOLOGY, /* enum scn_topology; default: that of `ranks` */
    SCN_SETTING_BACKEND,  /* rdma, sockets */
    SCN_SETTING_FALLBACK, /* none, sockets */
    SCN_SETTING_COUNT
};

enum scn_operation {
    SCN_INIT,
    SCN_ALL_SUM, /* the collectives, the simplest first */
    SCN_ALL_MAX,
    SCN_ALL_MIN,
    SCN_ALL_GATHER,
    SCN_SUM_SCATTER,
    SCN_SEND,
    SCN_BARRIER,
    SCN_FINALIZE,
    SCN_OPERATION_COUNT
};

/* Element types of collectives, in JACCL's numbering. */
enum scn_type {
    SCN_BOOL,
    SCN_INT8,
    SCN_INT16,
    SCN_INT32,
    SCN_INT64,
    SCN_UINT8,
    SCN_UINT16,
    SCN_UINT32,
    SCN_UINT64,
    SCN_FLOAT16,
    SCN_BFLOAT16,
    SCN_FLOAT32,
    SCN_FLOAT64,
    SCN_COMPLEX64,
    SCN_TYPE_COUNT
};

/* What became of a run, mildest first; a run's outcome is its worst rank's. */
enum scn_outcome {
    SCN_READY,
    SCN_ERROR,     /* the subject answered with an error */
    SCN_LEAK,      /* objects left when the rank was done */
    SCN_VIOLATION, /* an illegal call that does not fault by itself */
    SCN_HANG,      /* waits for what cannot come */
    SCN_SPIN,      /* calls for ever without waiting */
    SCN_WRONG_DATA,
    SCN_CRASH,
    SCN_OUTCOME_COUNT
};

struct scn_statement {
    enum scn_kind kind;
    int line, column;    /* where it began; 0: not from a text */
    const char *comment; /* after it on its line, without '#', or NULL; */
    int comment_length;  /* points into the parsed text */
    int rank;            /* DEVICE..., CELL VIEW: a rank or SCN_ALL */
    union {
        const struct vf_profile *profile;
        struct {
            int count, wires; /* wires: 1 for a mesh */
            enum scn_topology topology;
        } ranks;
        struct {
            char name[SCN_NAME_MAX];
            bool port_down, no_ipv4;
            int max_mr, max_qp, max_pd; /* -1: not given */
            int used_mr, used_qp, used_pd;
        } device;
        int number; /* NODEVICES errno (0: empty list), ROWS n, LATE */
        struct {
            int other_rank;
            char name[SCN_NAME_MAX], other_name[SCN_NAME_MAX];
        } cable;
        struct {
            int row, column, count;
            char names[SCN_NAMES_MAX][SCN_NAME_MAX];
        } cell;
        struct {
            char word[SCN_WORD_MAX]; /* address; symbol or "" for absent */
        } text;
        struct vf_fault fault;
        struct {
            enum scn_channel what;
            int bytes;
        } channel;
        struct {
            int count;
            unsigned char bytes[SCN_BYTES_MAX];
        } peer;
        struct {
            const char *text; /* of the parsed text: from the first call's
                                 line to the end of the last one's. Lines in
                                 between that are no calls do not count */
            size_t length;
            int count;   /* of calls */
            int highest; /* rank among them */
        } calls;
        struct {
            uint32_t seed;
            int count; /* not 0: these bytes, and no seed */
            unsigned char bytes[SCN_ORDER_MAX];
        } order;
        struct {
            enum scn_setting what;
            int value;
        } setting;
        struct {
            enum scn_operation operation;
            enum scn_type type; /* this and the next: scn_has_data() */
            int count;
            bool in_place; /* scn_can_be_in_place() */
            int from, to;  /* of a send */
        } run;
        struct {
            char subject[SCN_WORD_MAX];
            enum scn_outcome outcome;
            char title[SCN_WORD_MAX * 2]; /* "": any */
        } expect;
    } u;
};

struct scn {
    int count;
    struct scn_statement statements[SCN_STATEMENTS_MAX];
};

struct scn_error {
    int line, column;  /* from 1 */
    char message[160]; /* what is wrong and what would be right */
};

/* Words of the language; NULL or the *_COUNT value for what does not exist. */
const char *scn_kind_name(enum scn_kind kind);
/* The form of a statement, as in the table above: "order SEED". */
const char *scn_kind_usage(enum scn_kind kind);
const char *scn_operation_name(enum scn_operation operation);
const char *scn_setting_name(enum scn_setting setting);
const char *scn_setting_value_name(enum scn_setting setting, int value);
const char *scn_type_name(enum scn_type type);
size_t scn_type_size(enum scn_type type); /* bytes of one element */
const char *scn_outcome_name(enum scn_outcome outcome);
enum scn_outcome scn_outcome_by_name(const char *name);

/* Does it move elements: have a type and a count? */
bool scn_has_data(enum scn_operation operation);
/* Are its output and its input two buffers on one rank? */
bool scn_can_be_in_place(enum scn_operation operation);
/* The largest COUNT: of what every rank has a part of, less. */
int scn_count_most(enum scn_operation operation);

/*
 * Parses text (length bytes, need not end in a zero or a newline) and checks
 * it as a whole. 0; or -1 with the first error. The scenario refers to text
 * for its comments and calls: keep it as long.
 */
int scn_parse(struct scn *scenario, const char *text, size_t length,
              struct scn_error *error);
/* Checks a scenario that was built or changed: 0, or -1 with the first error
 * (line and column are those of the statement, 0 if it has none). */
int scn_check(const struct scn *scenario, struct scn_error *error);
/*
 * Prints the scenario into room bytes, zero-terminated; returns the length of
 * the whole text, which did not fit if it is room or more.
 */
size_t scn_print(const struct scn *scenario, char *text, size_t room);
/* Reads a file and parses it: 0, or -1 with an error, whose line is 0 when the
 * file cannot be read or is larger than SCN_TEXT_MAX. *text is malloc'ed, the
 * caller frees it after the last use of the scenario; NULL after an error. */
int scn_load(struct scn *scenario, const char *path, char **text,
             struct scn_error *error);

/* to becomes from; copies the statements there are, not the whole struct. */
void scn_copy(struct scn *to, const struct scn *from);
/* Statement i gone. */
void scn_remove(struct scn *scenario, int i);
/* A statement added at the end; NULL when full. It is zeroed but for kind and
 * the -1s of a device. */
struct scn_statement *scn_add(struct scn *scenario, enum scn_kind kind);
/* Canonical form: comments gone, statements in the order of enum scn_kind and
 * of their fields, except that `run`s and the devices of a rank keep their
 * order; the lower rank of a cable first. It means the same. */
void scn_canonical(struct scn *scenario);

/* The topology in force. */
void scn_topology(const struct scn *scenario, int *ranks,
                  enum scn_topology *topology, int *wires);
const struct vf_profile *scn_profile(const struct scn *scenario);
/* The n-th `device` of a rank, from 0, or NULL. */
const struct scn_statement *scn_device(const struct scn *scenario, int rank,
                                       int n);
/* The value of a setting that is in force on a rank. */
int scn_setting(const struct scn *scenario, int rank, enum scn_setting what);
/* What the device file of rank `view` says in a cell, or NULL if no statement
 * tells: the cell is null. */
const struct scn_statement *scn_cell(const struct scn *scenario, int view,
                                     int row, int column);
/* Rows of the device file of rank `view`. A `cell *` outside of it is not in
 * that file. */
int scn_rows(const struct scn *scenario, int view);
/*
 * Adds what defaults leave out: devices, cables and cells. In a mesh rank r's
 * device for peer p is rdma_en2, rdma_en3, ... in the order of its peers; in a
 * ring the left wires come first, then the right ones (with 2 ranks left and
 * right are the same peer: JACCL's file names the same devices for both, and
 * there are as many as wires). Cells follow the devices; cables the cells.
 * Anything that the scenario says itself replaces that part of the default:
 * a `device` of a rank replaces the default devices of that rank (its cells
 * then name the devices it has, in their order), so does `nodevices`; any
 * `cable` replaces all default cables; a `cell` replaces one cell. A cable
 * whose device does not exist or has a cable already is left out. The result is
 * canonical, so that of a `*` and a rank's own view the latter comes last.
 * 0, or -1 when there is no room.
 */
int scn_complete(struct scn *scenario);
/* Nothing in it can go wrong: no faults, side channel untouched, devices as
 * their profile makes them, device files that name what exists and is cabled
 * so, no more groups at a time than the profile's limits allow, ranks that ask
 * for the same, every send one that the topology has. What a fixed subject must
 * be `ready` on. */
bool scn_is_sound(const struct scn *scenario);
/* Do all sends go from one rank to another that its wires lead to: to any in a
 * mesh, to a neighbour in a ring? */
bool scn_sends_reach(const struct scn *scenario, bool ring);
/* Does a device file as `ranks` makes it give a ring to ranks with these
 * settings? Meaningful when they all have the same. */
bool scn_makes_ring(const struct scn *scenario);
/* The scenario without its faults, channels, peers, strays, libraries and
 * expectations. */
void scn_without_faults(struct scn *scenario);

#endif
