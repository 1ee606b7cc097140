/*
 * scenario_words.h: the words of the scenario language, as tables.
 *
 * Every set of words (statements, verbs, effects, types, ...) is one struct
 * scn_words: a count and the n-th name. Looking a word up and explaining an
 * unknown one is then the same for all of them. Internal to sim/scenario_*.c.
 */
#ifndef SIM_SCENARIO_WORDS_H
#define SIM_SCENARIO_WORDS_H

#include <stddef.h>

#include "sim/scenario.h"

struct scn_words {
    const char *what; /* what each of them is: "verb" */
    int count;
    const char *(*name)(int n); /* NULL: no n-th word */
};

extern const struct scn_words scn_kind_words;
extern const struct scn_words scn_profile_words;
extern const struct scn_words scn_topology_words; /* enum scn_topology */
extern const struct scn_words scn_verb_words;
extern const struct scn_words scn_effect_words;
extern const struct scn_words scn_errno_words;
extern const struct scn_words scn_status_words;
extern const struct scn_words scn_channel_words;   /* enum scn_channel */
extern const struct scn_words scn_setting_words;   /* enum scn_setting */
extern const struct scn_words scn_operation_words; /* enum scn_operation */
extern const struct scn_words scn_type_words;
extern const struct scn_words scn_outcome_words;
extern const struct scn_words scn_library_words; /* absent, without */
/* Keys of a device: enum scn_key. */
extern const struct scn_words scn_key_words;

enum scn_key {
    SCN_KEY_PORT,
    SCN_KEY_IPV4,
    SCN_KEY_MAX_MR,
    SCN_KEY_MAX_QP,
    SCN_KEY_MAX_PD,
    SCN_KEY_USED_MR,
    SCN_KEY_USED_QP,
    SCN_KEY_USED_PD,
    SCN_KEY_COUNT
};

/* The values that a setting can have. */
const struct scn_words *scn_setting_values(enum scn_setting setting);

/* The number of a word of length bytes, or -1. */
int scn_word_find(const struct scn_words *words, const char *word, int length);
/* Writes `unknown verb "regmr"; did you mean reg_mr?`, or the words there
 * are when none is near and they fit. */
void scn_word_explain(const struct scn_words *words, const char *word,
                      int length, char *message, size_t room);

#endif
