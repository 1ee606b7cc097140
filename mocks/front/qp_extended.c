/*
 * create_qp_ex: a queue pair by create_qp, with builders of work requests when
 * it is asked for them.
 */
#include <errno.h>

#include "front/extended.h"

#define SENDS                                                                  \
    (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |                      \
     IBV_QP_EX_WITH_SEND_WITH_INV)
#define WRITES (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
#define ATOMICS                                                                \
    (IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
#define WINDOWS (IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW)

/* What a queue pair of the type can be asked for at all. */
static uint64_t operations_of(enum ibv_qp_type type)
{
    switch (type) {
    case IBV_QPT_RC:
        return SENDS | WRITES | IBV_QP_EX_WITH_RDMA_READ | ATOMICS | WINDOWS;
    case IBV_QPT_UC:
        return SENDS | WRITES | WINDOWS;
    case IBV_QPT_UD:
        return IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
    default:
        return 0;
    }
}

static uint64_t operations_on(const struct vf_profile *profile,
                              enum ibv_qp_type type)
{
    uint64_t operations = operations_of(type);

    if (!profile->rdma)
        operations &= ~(uint64_t)(WRITES | IBV_QP_EX_WITH_RDMA_READ);
    if (!profile->atomics)
        operations &= ~(uint64_t)ATOMICS;
    if (!profile->windows)
        operations &= ~(uint64_t)(WINDOWS | IBV_QP_EX_WITH_SEND_WITH_INV);
    return operations;
}

/* Connections of several, segmentation, spreading: no device has them. */
static int check_mask(const struct ibv_qp_init_attr_ex *attr)
{
    const uint32_t known =
        IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
        IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_MAX_TSO_HEADER |
        IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH |
        IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    uint32_t mask = attr->comp_mask;

    if (mask & ~known)
        return EINVAL;
    if (mask & (IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_IND_TABLE |
                IBV_QP_INIT_ATTR_RX_HASH))
        return EOPNOTSUPP;
    if ((mask & IBV_QP_INIT_ATTR_CREATE_FLAGS && attr->create_flags) ||
        (mask & IBV_QP_INIT_ATTR_MAX_TSO_HEADER && attr->max_tso_header))
        return EOPNOTSUPP;
    return (mask & IBV_QP_INIT_ATTR_PD) ? 0 : EINVAL;
}

static uint64_t asked_for(const struct ibv_qp_init_attr_ex *attr)
{
    return (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
               ? attr->send_ops_flags
               : 0;
}

/* The object of a handle, alive or not; NULL: none of ours. */
static struct vf_object *find(const void *handle)
{
    struct vf_world *world = vf_world_installed();
    struct vf_object *object;

    if (!world)
        return NULL;
    vf_world_lock(world);
    object = vf_registry_find(&world->registry, handle);
    vf_world_unlock(world);
    return object;
}

static int check(const struct ibv_context *context,
                 const struct ibv_qp_init_attr_ex *attr)
{
    const struct vf_object *object = find(context);
    int err = check_mask(attr);
    uint64_t asked = asked_for(attr);

    if (err || !asked || !object || !object->device)
        return err; /* a wrong context is the contract's matter */
    if (asked & ~operations_on(object->device->setup.profile, attr->qp_type))
        return EOPNOTSUPP;
    return 0;
}

static struct ibv_qp *refuse(const struct ibv_qp_init_attr_ex *attr, int err)
{
    bool has_pd = attr->comp_mask & IBV_QP_INIT_ATTR_PD;
    struct vf_call call = {
        .verb = VF_VERB_create_qp,
        .kind = has_pd ? VF_KIND_PD : VF_KIND_NONE,
        .handle = has_pd ? attr->pd : NULL,
        .args = {attr->qp_type, attr->cap.max_send_wr, attr->cap.max_recv_wr},
    };

    return vf_refuse(&call, err);
}

/* Without the memory for its requests there is no queue pair. */
static struct ibv_qp *add_builders(struct ibv_qp *qp,
                                   const struct ibv_qp_init_attr_ex *attr)
{
    struct vf_object *object = find(qp);
    int err = vf_chain_start(object->machine->world, (struct vf_qp_handle *)qp,
                             attr->send_ops_flags, &attr->cap);

    if (!err)
        return qp;
    ibv_destroy_qp(qp);
    errno = err;
    return NULL;
}

struct ibv_qp *vf_create_qp_ex(struct ibv_context *context,
                               struct ibv_qp_init_attr_ex *attr)
{
    struct ibv_qp_init_attr plain = {
        .qp_context = attr->qp_context,
        .send_cq = attr->send_cq,
        .recv_cq = attr->recv_cq,
        .srq = attr->srq,
        .cap = attr->cap,
        .qp_type = attr->qp_type,
        .sq_sig_all = attr->sq_sig_all,
    };
    int err = check(context, attr);
    struct ibv_qp *qp;

    if (err)
        return refuse(attr, err);
    qp = ibv_create_qp(attr->pd, &plain);
    attr->cap = plain.cap;
    return qp && asked_for(attr) ? add_builders(qp, attr) : qp;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
    struct vf_qp_handle *handle = (struct vf_qp_handle *)qp;

    return handle->chain ? &handle->ex : NULL;
}
