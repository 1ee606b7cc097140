/*
 * front/transition.h: the queue pair state machine of the InfiniBand
 * specification (volume 1, chapter 10.3.1) as verbs programs see it.
 */
#ifndef VF_FRONT_TRANSITION_H
#define VF_FRONT_TRANSITION_H

#include <stdbool.h>

#include "front/infiniband.h"

enum vf_transition {
    VF_TRANSITION_OK,
    VF_TRANSITION_NONE,    /* there is no way from one to the other */
    VF_TRANSITION_MISSING, /* an attribute that it needs is not in the mask */
    VF_TRANSITION_EXTRA    /* the mask has one that it does not allow */
};

/* May a queue pair of this type go this way with these attributes? */
enum vf_transition vf_transition_check(enum ibv_qp_type type,
                                       enum ibv_qp_state from,
                                       enum ibv_qp_state to, int mask);
/* "INIT"; "?" for a number that is no state. */
const char *vf_state_name(int state);

#endif
