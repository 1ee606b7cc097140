/*
 * Building work requests: from wr_start to wr_complete.
 *
 * Each wr_* operation adds a request to the queue pair's chain, each wr_set_*
 * fills the newest one, and wr_complete posts them all with one post_send. A
 * request of the chain (a link) has room for its entries and its inline bytes;
 * links are made when they are first needed and stay with the queue pair, so a
 * post after that allocates nothing. There are as many as the send queue has
 * places and one more, so that the contract sees an overflow.
 *
 * A mistake is remembered and answered by wr_complete, which then posts
 * nothing. Where post_send itself takes the first requests of the chain and
 * refuses a later one, the first ones stay posted: no hardware undoes that.
 */
#include <errno.h>
#include <string.h>

#include "front/extended.h"
#include "front/inline_verbs.h"

struct link {
    struct link *next; /* in the order of the chain; wr.next ends earlier */
    struct ibv_send_wr wr;
    struct ibv_sge *list;
    unsigned char *bytes;
};

struct vf_chain {
    struct vf_registry *registry;
    struct vf_world *world;
    struct link *first, *newest; /* newest: NULL after wr_start */
    uint32_t links;              /* that were made */
    uint32_t most_links;
    uint32_t most_entries;
    uint32_t most_bytes; /* inline */
    uint32_t length;     /* requests since wr_start */
    int err;             /* the first mistake since wr_start */
};

static struct vf_chain *chain_of(struct ibv_qp_ex *qp)
{
    return ((struct vf_qp_handle *)qp)->chain;
}

static void mistake(struct vf_chain *chain, int err)
{
    if (!chain->err)
        chain->err = err;
}

static size_t link_size(const struct vf_chain *chain)
{
    return sizeof(struct link) + chain->most_entries * sizeof(struct ibv_sge) +
           chain->most_bytes;
}

static struct link *make_link(struct vf_chain *chain)
{
    struct link *link;

    if (chain->links >= chain->most_links)
        return NULL;
    vf_world_lock(chain->world);
    link = vf_pool_get(chain->registry, link_size(chain));
    vf_world_unlock(chain->world);
    if (!link)
        return NULL;
    chain->links++;
    link->next = NULL;
    link->list = (struct ibv_sge *)(link + 1);
    link->bytes = (unsigned char *)(link->list + chain->most_entries);
    return link;
}

/* The place of the next request: the first link, or the one after newest. */
static struct link **next_place(struct vf_chain *chain)
{
    return chain->newest ? &chain->newest->next : &chain->first;
}

/* A new request at the end of the chain; NULL: there is no room for it. */
static struct ibv_send_wr *add(struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode)
{
    struct vf_chain *chain = chain_of(qp);
    struct link **place = next_place(chain);
    struct link *link = *place;

    if (!link) {
        link = make_link(chain);
        *place = link;
    }
    if (!link) {
        mistake(chain, ENOMEM);
        return NULL;
    }
    memset(&link->wr, 0, sizeof(link->wr));
    link->wr.wr_id = qp->wr_id;
    link->wr.send_flags = qp->wr_flags;
    link->wr.opcode = opcode;
    link->wr.sg_list = link->list;
    if (chain->newest)
        chain->newest->wr.next = &link->wr;
    chain->newest = link;
    chain->length++;
    return &link->wr;
}

/* The request that is being filled; NULL: there is none, or it is spoilt. */
static struct link *filling(struct vf_chain *chain)
{
    if (!chain->newest)
        mistake(chain, EINVAL);
    return chain->err ? NULL : chain->newest;
}

static void add_remote(struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode,
                       uint32_t rkey, uint64_t remote_addr, __be32 imm_data)
{
    struct ibv_send_wr *wr = add(qp, opcode);

    if (!wr)
        return;
    wr->wr.rdma.rkey = rkey;
    wr->wr.rdma.remote_addr = remote_addr;
    wr->imm_data = imm_data;
}

static void wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey,
                          uint64_t remote_addr)
{
    add_remote(qp, IBV_WR_RDMA_WRITE, rkey, remote_addr, 0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey,
                              uint64_t remote_addr, __be32 imm_data)
{
    add_remote(qp, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr, imm_data);
}

static void wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey,
                         uint64_t remote_addr)
{
    add_remote(qp, IBV_WR_RDMA_READ, rkey, remote_addr, 0);
}

static void add_atomic(struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode,
                       uint32_t rkey, uint64_t remote_addr,
                       uint64_t compare_add, uint64_t swap)
{
    struct ibv_send_wr *wr = add(qp, opcode);

    if (!wr)
        return;
    wr->wr.atomic.rkey = rkey;
    wr->wr.atomic.remote_addr = remote_addr;
    wr->wr.atomic.compare_add = compare_add;
    wr->wr.atomic.swap = swap;
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey,
                              uint64_t remote_addr, uint64_t compare,
                              uint64_t swap)
{
    add_atomic(qp, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey,
                                uint64_t remote_addr, uint64_t summand)
{
    add_atomic(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr, summand, 0);
}

static void wr_send(struct ibv_qp_ex *qp)
{
    add(qp, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *qp, __be32 imm_data)
{
    struct ibv_send_wr *wr = add(qp, IBV_WR_SEND_WITH_IMM);

    if (wr)
        wr->imm_data = imm_data;
}

static void wr_send_inv(struct ibv_qp_ex *qp, uint32_t invalidate_rkey)
{
    struct ibv_send_wr *wr = add(qp, IBV_WR_SEND_WITH_INV);

    if (wr)
        wr->invalidate_rkey = invalidate_rkey;
}

static void wr_local_inv(struct ibv_qp_ex *qp, uint32_t invalidate_rkey)
{
    struct ibv_send_wr *wr = add(qp, IBV_WR_LOCAL_INV);

    if (wr)
        wr->invalidate_rkey = invalidate_rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey,
                       const struct ibv_mw_bind_info *bind_info)
{
    struct ibv_send_wr *wr = add(qp, IBV_WR_BIND_MW);

    if (!wr)
        return;
    wr->bind_mw.mw = mw;
    wr->bind_mw.rkey = rkey;
    wr->bind_mw.bind_info = *bind_info;
}

static void wr_set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah,
                           uint32_t remote_qpn, uint32_t remote_qkey)
{
    struct link *link = filling(chain_of(qp));

    if (!link)
        return;
    link->wr.wr.ud.ah = ah;
    link->wr.wr.ud.remote_qpn = remote_qpn;
    link->wr.wr.ud.remote_qkey = remote_qkey;
}

static void wr_set_sge_list(struct ibv_qp_ex *qp, size_t num_sge,
                            const struct ibv_sge *sg_list)
{
    struct vf_chain *chain = chain_of(qp);
    struct link *link = filling(chain);

    if (!link)
        return;
    if (num_sge > chain->most_entries) {
        mistake(chain, EINVAL);
        return;
    }
    if (num_sge > 0)
        memcpy(link->list, sg_list, num_sge * sizeof(*sg_list));
    link->wr.num_sge = (int)num_sge;
}

static void wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr,
                       uint32_t length)
{
    struct ibv_sge sge = {.addr = addr, .length = length, .lkey = lkey};

    wr_set_sge_list(qp, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qp, size_t num_buf,
                                    const struct ibv_data_buf *buf_list)
{
    struct vf_chain *chain = chain_of(qp);
    struct link *link = filling(chain);
    size_t length = 0;

    for (size_t i = 0; link && i < num_buf; i++) {
        if (buf_list[i].length > chain->most_bytes - length) {
            mistake(chain, ENOMEM); /* as rdma-core's providers */
            return;
        }
        if (buf_list[i].length > 0)
            memcpy(link->bytes + length, buf_list[i].addr, buf_list[i].length);
        length += buf_list[i].length;
    }
    if (!link)
        return;
    link->list[0].addr = (uintptr_t)link->bytes;
    link->list[0].length = (uint32_t)length;
    link->list[0].lkey = 0;
    link->wr.num_sge = length > 0;
    link->wr.send_flags |= IBV_SEND_INLINE;
}

static void wr_set_inline_data(struct ibv_qp_ex *qp, void *addr, size_t length)
{
    struct ibv_data_buf buffer = {.addr = addr, .length = length};

    wr_set_inline_data_list(qp, 1, &buffer);
}

static void wr_start(struct ibv_qp_ex *qp)
{
    struct vf_chain *chain = chain_of(qp);

    chain->newest = NULL;
    chain->length = 0;
    chain->err = 0;
}

/* A chain that is done with holds no request until the next wr_start. */
static void wr_abort(struct ibv_qp_ex *qp)
{
    wr_start(qp);
}

struct ibv_send_wr *vf_chain_take(struct ibv_qp_ex *qp, int *err)
{
    struct vf_chain *chain = chain_of(qp);
    struct ibv_send_wr *first = chain->length ? &chain->first->wr : NULL;

    *err = chain->err;
    wr_start(qp);
    return first;
}

static int wr_complete(struct ibv_qp_ex *qp)
{
    int err;
    struct ibv_send_wr *first = vf_chain_take(qp, &err);
    struct ibv_send_wr *bad = NULL;

    if (err || !first)
        return err;
    return vf_post_send(&qp->qp_base, first, &bad);
}

/* The builders of operations that were not asked for stay NULL. */
static void set_operations(struct ibv_qp_ex *qp, uint64_t operations)
{
    if (operations & IBV_QP_EX_WITH_RDMA_WRITE)
        qp->wr_rdma_write = wr_rdma_write;
    if (operations & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
        qp->wr_rdma_write_imm = wr_rdma_write_imm;
    if (operations & IBV_QP_EX_WITH_SEND)
        qp->wr_send = wr_send;
    if (operations & IBV_QP_EX_WITH_SEND_WITH_IMM)
        qp->wr_send_imm = wr_send_imm;
    if (operations & IBV_QP_EX_WITH_RDMA_READ)
        qp->wr_rdma_read = wr_rdma_read;
    if (operations & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)
        qp->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
    if (operations & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
        qp->wr_atomic_fetch_add = wr_atomic_fetch_add;
    if (operations & IBV_QP_EX_WITH_LOCAL_INV)
        qp->wr_local_inv = wr_local_inv;
    if (operations & IBV_QP_EX_WITH_BIND_MW)
        qp->wr_bind_mw = wr_bind_mw;
    if (operations & IBV_QP_EX_WITH_SEND_WITH_INV)
        qp->wr_send_inv = wr_send_inv;
}

static void set_builders(struct ibv_qp_ex *qp, uint64_t operations)
{
    set_operations(qp, operations);
    qp->wr_set_sge = wr_set_sge;
    qp->wr_set_sge_list = wr_set_sge_list;
    qp->wr_set_inline_data = wr_set_inline_data;
    qp->wr_set_inline_data_list = wr_set_inline_data_list;
    if (qp->qp_base.qp_type == IBV_QPT_UD)
        qp->wr_set_ud_addr = wr_set_ud_addr;
    qp->wr_start = wr_start;
    qp->wr_complete = wr_complete;
    qp->wr_abort = wr_abort;
}

int vf_chain_start(struct vf_world *world, struct vf_qp_handle *handle,
                   uint64_t operations, const struct ibv_qp_cap *granted)
{
    struct vf_chain *chain;

    vf_world_lock(world);
    chain = vf_pool_get(&world->registry, sizeof(*chain));
    vf_world_unlock(world);
    if (!chain)
        return ENOMEM;
    memset(chain, 0, sizeof(*chain));
    chain->world = world;
    chain->registry = &world->registry;
    chain->most_links = granted->max_send_wr + 1;
    chain->most_entries = granted->max_send_sge ? granted->max_send_sge : 1;
    chain->most_bytes = granted->max_inline_data;
    handle->chain = chain;
    set_builders(&handle->ex, operations);
    return 0;
}

void vf_chain_stop(struct vf_qp_handle *handle)
{
    struct vf_chain *chain = handle->chain;
    struct link *link;

    if (!chain)
        return;
    link = chain->first;
    while (link) {
        struct link *next = link->next;

        vf_pool_put(chain->registry, link, link_size(chain));
        link = next;
    }
    vf_pool_put(chain->registry, chain, sizeof(*chain));
    handle->chain = NULL;
}
