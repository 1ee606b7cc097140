/*
 * front/handles.h: the handles that are more than their verbs struct.
 *
 * Every completion queue and queue pair has the extended struct of verbs.h, so
 * that one made by the plain verb and one made by the extended verb are the
 * same thing. A provider's own struct begins with these.
 */
#ifndef VF_FRONT_HANDLES_H
#define VF_FRONT_HANDLES_H

#include <stdbool.h>

#include "front/infiniband.h"

struct vf_chain; /* front/chain.c: work requests between wr_start and complete
                  */

struct vf_cq_handle {
    struct ibv_cq_ex ex;
    struct ibv_wc wc; /* the one that start_poll or next_poll stands at */
    bool extended;    /* made by create_cq_ex */
};

struct vf_qp_handle {
    struct ibv_qp_ex ex;
    struct vf_chain *chain; /* NULL: not made by create_qp_ex with send ops */
};

#endif
