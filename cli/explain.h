/*
 * explain.h: a run as a picture.
 *
 * `verbfault explain` draws one run: a LANE for each rank, from top to bottom
 * what the ranks did, in the order in which the simulator did it. It goes in
 * four steps:
 *
 *   record   the trace, the findings and the events of the run become ITEMS,
 *            in that order (explain_record.c)
 *   match    MESSAGES are found among them: a SEND's post and the completion
 *            of the receive that it went to, bytes of the side channel and who
 *            read them; and what became of each OBJECT (explain_match.c)
 *   fold     items become ROWS: calls without news that follow each other on
 *            one rank are one row, "reg_mr x64" (explain_fold.c)
 *   draw     as text (explain_text.c), as SVG (explain_svg.c), as a page
 *            (explain_html.c)
 *
 * A trace does not say where a SEND went. Its queue pair's device does, by the
 * scenario's cables; which queue pair of the other device it is, where that
 * has several, by the order in which they were made for the same group. A SEND
 * goes to the first receive that is posted there, waits for one where the
 * profile lets it, and is lost otherwise, as in mocks/mock/move.c.
 *
 * The UNDO is what a rank releases after the first thing that went wrong: a
 * planned fault, a finding, a call that its device refused.
 */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include "cli/cli.h"
#include "cli/text.h"

enum explain_kind {
    EXPLAIN_CALL,
    EXPLAIN_FINDING,
    EXPLAIN_SENT,     /* on the side channel */
    EXPLAIN_RECEIVED, /* likewise */
    EXPLAIN_CHANNEL,  /* a fault of it */
    EXPLAIN_BEGIN,    /* of a `run`, or of the end */
    EXPLAIN_END,
    EXPLAIN_TIME
};

struct explain_item {
    enum explain_kind kind;
    int rank; /* -1: of TIME */
    int peer; /* SENT, RECEIVED */
    enum vf_verb verb;
    unsigned number; /* of the call, on its rank */
    char *text;      /* a call behind its number; a finding; malloc'ed */
    bool planned;    /* the plan made it so */
    bool refused;    /* it failed, and no plan said so */
    bool fatal;      /* the rank's process ends at it */
    bool release;    /* it gave something back */
    bool undo;       /* ... after something had gone wrong */
    bool message;    /* one comes from it or arrives with it */
    int statement;   /* BEGIN, END: of the scenario, -1: the end */
    long bytes;
    int64_t now;
    int row; /* where it is drawn, once folded */
};

struct explain_message {
    int from, to; /* items */
    long bytes;
    bool channel; /* of the side channel */
};

/* What a rank made: "mr" 3. */
struct explain_object {
    int rank;
    char kind[24];
    unsigned id;
    int made, released; /* items; -1: not released */
};

enum explain_style { /* of a row; the later the louder */
                     EXPLAIN_PLAIN,
                     EXPLAIN_PHASE,   /* a `run` begins or ends */
                     EXPLAIN_CLOCK,   /* time passes */
                     EXPLAIN_CUT,     /* rows are left out here */
                     EXPLAIN_MESSAGE, /* sends or receives */
                     EXPLAIN_UNDO,
                     EXPLAIN_REFUSED,
                     EXPLAIN_PLANNED,
                     EXPLAIN_WRONG, /* a finding */
                     EXPLAIN_STYLES
};

struct explain_row {
    int rank;        /* -1: of all */
    int first, last; /* items */
    int calls;       /* in it */
    enum explain_style style;
    char *text; /* malloc'ed */
};

/* A message between two rows; several of one pair are one. */
struct explain_arrow {
    int from, to; /* rows */
    int count;
    long bytes;
    bool channel;
};

struct explain {
    const char *name; /* of the scenario */
    const struct scn *scenario;
    const struct sim_subject *subject;
    bool all; /* no row is left out, nothing is folded */
    struct scn complete;
    struct sim_result result;

    struct explain_item *items;
    int count, room;
    int trouble; /* the first item that went wrong; -1: none */
    struct explain_message *messages;
    int message_count, message_room;
    struct explain_object *objects;
    int object_count, object_room;

    struct explain_row *rows;
    int row_count, row_room;
    struct explain_arrow *arrows;
    int arrow_count, arrow_room;
};

/* Runs it: CLI_FINE, or another code after a line on standard error. */
int explain_record(struct explain *explain);
void explain_match(struct explain *explain);
void explain_fold(struct explain *explain);
void explain_free(struct explain *explain);

/* What a row's arrows say: "to r1 4096 bytes", for row n; "": none. */
void explain_arrows_of(const struct explain *explain, int row,
                       struct text *text);
/* A rank's end in a line: "crash: null-mr in dereg_mr: a NULL mr ...". */
void explain_outcome(const struct explain *explain, int rank,
                     struct text *text);
/* What it made and gave back: "made 70 objects; gave 1 back; left: mr 1-62". */
void explain_balance(const struct explain *explain, int rank,
                     struct text *text);
/* What the scenario lets go wrong, one sentence a line; nothing: "". */
void explain_plan(const struct explain *explain, struct text *text);
/* The scenario as text. */
void explain_scenario(const struct explain *explain, struct text *text);
/* Has it recorded calls? explain_scenario() leaves these out. */
bool explain_is_recording(const struct explain *explain);

/* width: columns; fancy: box drawing, colour: escape sequences. */
void explain_text(const struct explain *explain, int width, bool fancy,
                  bool colour, struct text *text);
/* inside: of a page, without a head of its own. */
void explain_svg(const struct explain *explain, bool inside, struct text *text);
void explain_html(const struct explain *explain, struct text *text);

#endif
