/*
 * verbfault/fault.h: the verbs, and what a plan can make of a call.
 *
 * A plan is a list of faults per machine. Each names a verb, which call of it
 * (the first is 1) and an effect. `onward` faults hold from that call on. The
 * first fault that matches decides; a fault whose effect the verb cannot have
 * (NULL from a verb that answers an errno) is refused when it is planned, so
 * that a scenario never says one thing and does another.
 */
#ifndef VERBFAULT_FAULT_H
#define VERBFAULT_FAULT_H

#include <stdbool.h>

enum vf_verb {
#define VF_VERB(name, answer, arguments) VF_VERB_##name,
#include "verbfault/verbs.def"
#undef VF_VERB
    VF_VERB_COUNT
};

enum vf_answer {
    VF_ANSWER_POINTER,
    VF_ANSWER_ERRNO,
    VF_ANSWER_MINUS,
    VF_ANSWER_COUNT,
    VF_ANSWER_NOTHING,
    VF_ANSWER_EVENT
};

/* What a fault makes of the call. The word in quotes is the scenario's. */
enum vf_effect {
    VF_EFFECT_NULL,      /* "null E": answers NULL, errno E */
    VF_EFFECT_ERRNO,     /* "errno E": answers E, or -1 and errno E */
    VF_EFFECT_RETURN,    /* "return N": a count is N (poll_cq -1); not for an
                            errno, where 0 would be a lie that the contract
                            would then hold against the program */
    VF_EFFECT_UNWRITTEN, /* "unwritten": answers success, writes no output */
    VF_EFFECT_GARBLED,   /* "garbled": answers success, output is garbage */
    VF_EFFECT_STATUS,    /* "status S": the completion carries S, the rest of
                            it (but wr_id and qp_num) is zero */
    VF_EFFECT_DROP,      /* "drop": the completion never comes */
    VF_EFFECT_DUPLICATE, /* "duplicate": the completion comes twice */
    VF_EFFECT_DELAY,     /* "delay MS": it comes MS milliseconds late, and
                            what its work queue completes later not before */
    VF_EFFECT_UNPLUG,    /* "unplug": the device's cable goes at this call */
    VF_EFFECT_EXIT,      /* "exit": the process ends here, as by kill -9 */
    VF_EFFECT_HANG,      /* "hang": the process stops here for ever */
    VF_EFFECT_OVERTAKEN, /* "overtaken MS": late, too, and later ones of its
                            work queue come before it: no device's manner, but
                            reported (A10), and what a subject may rely on */
    VF_EFFECT_COUNT
};

struct vf_fault {
    enum vf_verb verb;
    unsigned nth; /* 1 is the first call */
    bool onward;  /* this call and every later one */
    enum vf_effect effect;
    int value; /* errno, raw answer, ibv_wc_status, milliseconds */
};

/* The verb's name without ibv_, never NULL for a valid verb. */
const char *vf_verb_name(enum vf_verb verb);
/* The verb called name, or VF_VERB_COUNT. */
enum vf_verb vf_verb_by_name(const char *name);
enum vf_answer vf_verb_answer(enum vf_verb verb);
/* The trace signature of verbs.def. */
const char *vf_verb_arguments(enum vf_verb verb);

const char *vf_effect_name(enum vf_effect effect);
/* The effect called name, or VF_EFFECT_COUNT. */
enum vf_effect vf_effect_by_name(const char *name);
/* Can a call of this verb have this effect? */
bool vf_effect_fits(enum vf_effect effect, enum vf_verb verb);
/* Does the effect's statement carry a value, and of which kind? */
enum vf_value {
    VF_VALUE_NONE,
    VF_VALUE_ERRNO,  /* a name (ENOMEM) or a number from 1 to 4095 */
    VF_VALUE_NUMBER, /* a signed number */
    VF_VALUE_STATUS, /* LOC_LEN_ERR or a number from 0 to 22 */
    VF_VALUE_MILLISECONDS
};
enum vf_value vf_effect_value(enum vf_effect effect);

/*
 * Names of errno values. The words are POSIX's, the numbers this machine's;
 * a number without a word here is printed as a number. vf_errno_by_name
 * answers 0 for an unknown word, vf_errno_name NULL for an unnamed number.
 */
const char *vf_errno_name(int number);
int vf_errno_by_name(const char *name);
/* Names of completion statuses without IBV_WC_ (LOC_LEN_ERR); -1 unknown. */
const char *vf_status_name(int status);
int vf_status_by_name(const char *name);

#endif
