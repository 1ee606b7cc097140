/*
 * What the collectives of a mesh have in common: every flow moves the same
 * number of bytes, in messages that are all full but the last.
 */
#ifndef CJACCL_MESH_WORK_H
#define CJACCL_MESH_WORK_H

#include "flow.h"
#include "reduce.h"

struct cji_mesh_work {
    const unsigned char *in;
    unsigned char *out;
    size_t bytes;   /* of each flow */
    size_t payload; /* of each message but the last */
    enum cji_reduction reduction;
    enum cj_type type;
    int rank;
    const unsigned char *own; /* this rank's operand */
    bool own_first;           /* it comes before those of lower ranks */
    struct cji_operation operation;
};

/* Fills the struct but for in, out, fill and progress. `kind` is what differs
 * between operations of one step, for the digest. */
void cji_mesh_prepare(struct cj_group *group, struct cji_mesh_work *work,
                      size_t bytes, uint64_t kind);

/* What is sent: `size` bytes at `source`, and which of them in a message. */
void cji_mesh_set_place(
    struct cji_mesh_work *work, const void *source, size_t size,
    const unsigned char *(*place)(const struct cji_operation *operation,
                                  const struct cji_flow *flow, size_t m));

/* The same for each link: message m of the source. */
const unsigned char *cji_mesh_place(const struct cji_operation *operation,
                                    const struct cji_flow *flow, size_t m);

/* One more flow, over one link or all links. */
void cji_mesh_add_send(struct cji_mesh_work *work, struct cji_link *link);
void cji_mesh_add_send_to_all(struct cj_group *group,
                              struct cji_mesh_work *work);
void cji_mesh_add_receive(struct cji_mesh_work *work, struct cji_link *link);
void cji_mesh_add_receives(struct cj_group *group, struct cji_mesh_work *work);

/* The link to that rank. */
struct cji_link *cji_mesh_link(struct cj_group *group, int peer);

/* Where message m's data are, in a block of work->bytes; how many. */
static inline size_t cji_mesh_offset(const struct cji_mesh_work *work, size_t m)
{
    return m * work->payload;
}

static inline size_t cji_mesh_size(const struct cji_mesh_work *work, size_t m)
{
    size_t left = work->bytes - cji_mesh_offset(work, m);

    return left < work->payload ? left : work->payload;
}

#endif
