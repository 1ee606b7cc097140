/*
 * Queue pairs with builders of their own.
 *
 * What the program builds goes to the library, and once more into a chain of
 * work requests (front/chain.c), so that plan, contract and trace see what they
 * would see of a post_send: wr_complete makes that post, and the provider,
 * which sees that this thread is completing, calls the library's wr_complete. A
 * post that the plan refuses is aborted there. What a chain has no word for
 * (and a driver's own builders) reaches the library only.
 */
#include <errno.h>
#include <stdatomic.h>

#include "device/device.h"

/* ---- this thread's queue pair -----------------------------------------------
 */

static _Atomic unsigned generation; /* of looked-up queue pairs */

void device_forget_builders(void)
{
    atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
}

static struct device_qp *own_of(struct ibv_qp_ex *qp)
{
    static _Thread_local struct {
        const struct ibv_qp_ex *qp;
        struct device_qp *own;
        unsigned generation;
    } last REAL_THREAD;
    unsigned now = atomic_load_explicit(&generation, memory_order_relaxed);

    if (last.qp != qp || last.generation != now) {
        last.own = device_qp_of(&qp->qp_base);
        last.qp = qp;
        last.generation = now;
    }
    return last.own;
}

/* The chain's twin of the queue pair, as the program has set it now. */
static struct ibv_qp_ex *twin(struct device_qp *own, const struct ibv_qp_ex *qp)
{
    own->chain.ex.wr_id = qp->wr_id;
    own->chain.ex.wr_flags = qp->wr_flags;
    return &own->chain.ex;
}

/* ---- builders
 * ----------------------------------------------------------------
 */

#define BUILDER(name, parameters, arguments)                                   \
    static void wr_##name parameters                                           \
    {                                                                          \
        struct device_qp *own = own_of(qp);                                    \
        struct ibv_qp_ex *const mine = twin(own, qp);                          \
                                                                               \
        own->real.wr_##name arguments;                                         \
        qp = mine;                                                             \
        if (mine->wr_##name)                                                   \
            mine->wr_##name arguments;                                         \
        else                                                                   \
            own->opaque = true;                                                \
    }

BUILDER(send, (struct ibv_qp_ex * qp), (qp))
BUILDER(send_imm, (struct ibv_qp_ex * qp, __be32 imm), (qp, imm))
BUILDER(send_inv, (struct ibv_qp_ex * qp, uint32_t rkey), (qp, rkey))
BUILDER(rdma_write, (struct ibv_qp_ex * qp, uint32_t rkey, uint64_t to),
        (qp, rkey, to))
BUILDER(rdma_write_imm,
        (struct ibv_qp_ex * qp, uint32_t rkey, uint64_t to, __be32 imm),
        (qp, rkey, to, imm))
BUILDER(rdma_read, (struct ibv_qp_ex * qp, uint32_t rkey, uint64_t from),
        (qp, rkey, from))
BUILDER(atomic_cmp_swp,
        (struct ibv_qp_ex * qp, uint32_t rkey, uint64_t at, uint64_t compare,
         uint64_t swap),
        (qp, rkey, at, compare, swap))
BUILDER(atomic_fetch_add,
        (struct ibv_qp_ex * qp, uint32_t rkey, uint64_t at, uint64_t summand),
        (qp, rkey, at, summand))
BUILDER(local_inv, (struct ibv_qp_ex * qp, uint32_t rkey), (qp, rkey))
BUILDER(bind_mw,
        (struct ibv_qp_ex * qp, struct ibv_mw *mw, uint32_t rkey,
         const struct ibv_mw_bind_info *info),
        (qp, mw, rkey, info))
BUILDER(set_ud_addr,
        (struct ibv_qp_ex * qp, struct ibv_ah *ah, uint32_t to, uint32_t qkey),
        (qp, ah, to, qkey))
BUILDER(set_sge,
        (struct ibv_qp_ex * qp, uint32_t lkey, uint64_t from, uint32_t length),
        (qp, lkey, from, length))
BUILDER(set_sge_list,
        (struct ibv_qp_ex * qp, size_t count, const struct ibv_sge *list),
        (qp, count, list))
BUILDER(set_inline_data, (struct ibv_qp_ex * qp, void *from, size_t length),
        (qp, from, length))
BUILDER(set_inline_data_list,
        (struct ibv_qp_ex * qp, size_t count, const struct ibv_data_buf *list),
        (qp, count, list))
BUILDER(send_tso,
        (struct ibv_qp_ex * qp, void *header, uint16_t length, uint16_t size),
        (qp, header, length, size))
#ifndef VF_LACKS_ATOMIC_WRITE
BUILDER(atomic_write,
        (struct ibv_qp_ex * qp, uint32_t rkey, uint64_t to, const void *value),
        (qp, rkey, to, value))
#endif
BUILDER(set_xrc_srqn, (struct ibv_qp_ex * qp, uint32_t number), (qp, number))

static void wr_start(struct ibv_qp_ex *qp)
{
    struct device_qp *own = own_of(qp);

    own->real.wr_start(qp); /* may wait for another thread's wr_complete */
    own->chain.ex.wr_start(&own->chain.ex);
    own->opaque = false;
}

static void wr_abort(struct ibv_qp_ex *qp)
{
    struct device_qp *own = own_of(qp);

    own->chain.ex.wr_abort(&own->chain.ex);
    own->real.wr_abort(qp);
}

/* ---- completing
 * --------------------------------------------------------------
 */

static _Thread_local struct {
    struct ibv_qp_ex *qp; /* NULL: this thread is not completing */
    bool done;
} completing REAL_THREAD;

bool device_is_completing(const struct vf_object *qp)
{
    return completing.qp && (void *)completing.qp == qp->handle;
}

int device_complete(struct vf_object *qp)
{
    const struct device_qp *own = qp->own;
    int err;

    completing.done = true;
    real_enter();
    err = real_error(own->real.wr_complete(own->ex));
    real_leave();
    return err;
}

static int wr_complete(struct ibv_qp_ex *qp)
{
    struct device_qp *own = own_of(qp);
    struct ibv_send_wr *bad = NULL, *first;
    int mistake, answer;

    first = vf_chain_take(&own->chain.ex, &mistake);
    if (mistake || own->opaque)
        first = NULL; /* not all is known: no contract */
    else if (!first)
        return own->real.wr_complete(qp);
    completing.qp = qp;
    completing.done = false;
    answer = vf_post_send(&qp->qp_base, first, &bad);
    completing.qp = NULL;
    if (!completing.done)
        own->real.wr_abort(qp);
    return answer;
}

/* ---- making
 * ------------------------------------------------------------------
 */

#define WRAP(name)                                                             \
    do {                                                                       \
        if (ex->wr_##name)                                                     \
            ex->wr_##name = wr_##name;                                         \
    } while (0)

static void wrap_operations(struct ibv_qp_ex *ex)
{
    WRAP(send);
    WRAP(send_imm);
    WRAP(send_inv);
    WRAP(rdma_write);
    WRAP(rdma_write_imm);
    WRAP(rdma_read);
    WRAP(atomic_cmp_swp);
    WRAP(atomic_fetch_add);
    WRAP(local_inv);
    WRAP(bind_mw);
    WRAP(send_tso);
#ifndef VF_LACKS_ATOMIC_WRITE
    WRAP(atomic_write);
#endif
}

static void wrap(struct ibv_qp_ex *ex)
{
    wrap_operations(ex);
    WRAP(set_ud_addr);
    WRAP(set_sge);
    WRAP(set_sge_list);
    WRAP(set_inline_data);
    WRAP(set_inline_data_list);
    WRAP(set_xrc_srqn);
    WRAP(start);
    WRAP(abort);
    WRAP(complete);
}

static int give_builders(struct vf_object *qp, struct ibv_qp *made,
                         const struct ibv_qp_init_attr_ex *attr)
{
    struct device_qp *own = qp->own;
    struct ibv_qp_ex *ex = NULL;
    int err;

    if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS &&
        real.ibv_qp_to_qp_ex)
        ex = real.ibv_qp_to_qp_ex(made);
    if (!ex || !ex->wr_start)
        return 0;
    own->chain.ex.qp_base.qp_type = attr->qp_type;
    err = vf_chain_start(qp->machine->world, &own->chain, attr->send_ops_flags,
                         &attr->cap);
    if (err)
        return err;
    own->ex = ex;
    own->real = *ex;
    wrap(ex);
    return 0;
}

struct create_call {
    struct vf_call call;
    struct ibv_context *context;
    struct ibv_qp_init_attr_ex *attr;
    struct vf_object *send_cq, *recv_cq, *srq;
};

static struct vf_object *optional(struct vf_call *call, const void *handle,
                                  enum vf_kind kind)
{
    return handle ? vf_contract_handle(call, handle, kind, 0) : NULL;
}

/* Queue pairs for more than the three services may do without. */
static void create_contract(struct vf_call *call)
{
    struct create_call *create = (struct create_call *)call;
    const struct ibv_qp_init_attr_ex *attr = create->attr;

    create->send_cq = optional(call, attr->send_cq, VF_KIND_CQ);
    create->recv_cq = optional(call, attr->recv_cq, VF_KIND_CQ);
    create->srq = optional(call, attr->srq, VF_KIND_SRQ);
}

static struct ibv_qp *make(struct create_call *create, int *err)
{
    const struct device_context *kept = device_context_of(create->context);
    struct real_pause pause;
    struct ibv_qp *made;

    if (!kept) {
        *err = EOPNOTSUPP;
        return NULL;
    }
    real_begin(create->call.world, &pause);
    made = kept->extended.create_qp_ex(create->context, create->attr);
    *err = real_missing(made);
    real_end(&pause);
    return made;
}

static void shadow(struct vf_object *qp, const struct ibv_qp_init_attr_ex *attr)
{
    const struct ibv_qp_init_attr plain = {
        .cap = attr->cap,
        .qp_type = attr->qp_type,
        .sq_sig_all = attr->sq_sig_all,
    };

    vf_qp_shadow(qp, &plain);
}

static struct vf_object *parent_for(const struct create_call *create)
{
    if (create->call.object)
        return create->call.object;
    return device_meet(
        create->call.machine,
        vf_registry_find(&create->call.world->registry, create->context),
        create->context, VF_KIND_CONTEXT);
}

static void create_qp_ex(struct vf_call *call)
{
    struct create_call *create = (struct create_call *)call;
    struct vf_object *qp = vf_call_new(call, VF_KIND_QP, parent_for(create));
    struct ibv_qp *made;
    int err = 0;

    if (!qp)
        return;
    made = make(create, &err);
    qp->parent[1] = create->send_cq;
    qp->parent[2] = create->recv_cq;
    qp->parent[3] = create->srq;
    if (made)
        qp->handle = made;
    if (made && !call->straight) {
        err = device_qp_made(qp, made, create->attr->qp_type);
        if (!err)
            err = give_builders(qp, made, create->attr);
    }
    vf_call_made(call, qp, err);
    if (!call->err)
        shadow(qp, create->attr);
}

struct ibv_qp *device_create_qp_ex(struct ibv_context *context,
                                   struct ibv_qp_init_attr_ex *attr)
{
    bool has_pd = attr->comp_mask & IBV_QP_INIT_ATTR_PD;
    struct create_call create = {
        .call =
            {
                .verb = VF_VERB_create_qp,
                .kind = has_pd ? VF_KIND_PD : VF_KIND_NONE,
                .handle = has_pd ? attr->pd : NULL,
                .given = attr, /* begins as ibv_qp_init_attr does */
                .args = {attr->qp_type, attr->cap.max_send_wr,
                         attr->cap.max_recv_wr},
            },
        .context = context,
        .attr = attr,
    };

    vf_call_run(&create.call, create_contract, create_qp_ex);
    return vf_call_pointer(&create.call);
}
