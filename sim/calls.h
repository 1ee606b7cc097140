/*
 * calls.h: the statement `call`, of which recordings are made.
 *
 *   call RANK VERB(ARGUMENTS) = ANSWER [; DETAILS]
 *
 * is one verbs call that a rank made, in the form that `verbfault trace` shows
 * it, without its number. Behind the semicolon stands what it takes to make the
 * call again: words, and KEY=VALUE. The calls of a scenario are in the order in
 * which they are to be made again. `verbfault record` writes them, the subject
 * `recording` makes them (docs/recording.md).
 *
 *   call 0 reg_mr(pd=1, len=4096, access=0x7) = mr=1
 *   call 0 modify_qp(qp=1, state=RTR, mask=0x101181) = 0 ; dest=1:1 gid=1 ...
 *   call 0 post_send(qp=1, wr_id=0x6, len=64) = 0 ; op=2 signaled sge=1:0:64
 *   call 0 poll_cq(cq=1, room=4) = 1 [wr_id=0x6 SEND SUCCESS]
 *
 * Objects have the number of their kind on their rank. What belongs to another
 * rank is RANK:NUMBER; "?" is what nobody could tell. "= ?" is the answer of a
 * call that never ended; "(planned)" behind an answer: the replay plans this
 * answer, because the mock would not give it by itself. A finding's word stands
 * in parentheses, too.
 *
 * There may be a hundred thousand of them. So they are no statements each, but
 * lines of one text, and all of them together one SCN_CALL statement.
 */
#ifndef SIM_CALLS_H
#define SIM_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/scenario.h"

/* A piece of a line; length 0 and text NULL: not there. */
struct scn_piece {
    const char *text;
    size_t length;
};

struct scn_call {
    int rank;
    enum vf_verb verb;
    struct scn_piece arguments; /* between the parentheses */
    struct scn_piece answer;    /* all between " = " and " ; " */
    struct scn_piece details;
    struct scn_piece line; /* from the verb on, all of it */
};

/* Reads a line without its newline, from "call" on. 0; or -1 with what is
 * wrong, at column (from 1). */
int scn_call_read(struct scn_call *call, const char *line, size_t length,
                  char *message, size_t room, int *column);
/* Is this a line of a call: is its first word `call`? */
bool scn_is_call(const char *line, size_t length);
/* Likewise from the verb on, of a line that is right: false if it is not. */
bool scn_call_read_bare(struct scn_call *call, const char *line, size_t length);

/* The next word of words, which are parted by spaces and commas; shortens
 * words. Its text is NULL at the end. */
struct scn_piece scn_next_word(struct scn_piece *words);
/* The value of KEY=VALUE in words; where there is none, or no such word, its
 * text is NULL. */
struct scn_piece scn_value(struct scn_piece words, const char *key);
/* Is the word, which has no value, among them? */
bool scn_has_word(struct scn_piece words, const char *word);
/* Does the word begin with KEY=? Then *value is the rest. */
bool scn_is_key(struct scn_piece word, const char *key,
                struct scn_piece *value);
/* A number, decimal or 0x; otherwise is for what is none. */
int64_t scn_number(struct scn_piece value, int64_t otherwise);

/* The n-th word that details are made of, and what it says; NULL: past the
 * last. One that has a value ends in '='. */
const char *scn_detail_word(int n, const char **about);

/* Is the scenario a recording: has it calls? */
bool scn_has_calls(const struct scn *scenario);

#endif
