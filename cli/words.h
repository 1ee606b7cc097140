/*
 * words.h: what a fault and an outcome are, in a sentence for people.
 *
 * A scenario says `fault 0 reg_mr 1+ null ENOMEM`; a report says "rank 0: call
 * 1 of reg_mr, and every later one, answers NULL with errno ENOMEM". Both
 * `verbfault explain` and the page of a sweep say it in these words. Text is
 * cut at room, and zero-terminated.
 */
#ifndef CLI_WORDS_H
#define CLI_WORDS_H

#include <stddef.h>

#include "sim/scenario.h"

/* What a statement lets go wrong; "" for one that does not. */
void words_of_statement(const struct scn_statement *statement, char *words,
                        size_t room);
/* What an outcome means for a program, as a sentence. */
const char *words_of_outcome(enum scn_outcome outcome);
/* The letter that stands for an outcome where there is no room for a word. */
char words_letter(enum scn_outcome outcome);

#endif
