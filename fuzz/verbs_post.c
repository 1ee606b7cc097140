/*
 * Work requests, by post_send, post_recv, post_srq_recv, bind_mw, and as chains
 * of wr_*. A call's requests differ only in their wr_id and in that each next
 * one's entries lie behind the last one's.
 */
#include "fuzz/verbs_stage.h"

#include <arpa/inet.h>
#include <string.h>

#include "front/extended.h"
#include "front/inline_verbs.h"

#define ENTRIES_MAX 300u /* no device takes as many */
#define CHAIN_MAX 6u

/* Of one request's entries. */
struct entries {
    uint32_t count, key;
    uint64_t address;
    uint32_t length; /* of each */
};

/* The lkey of a handle's region, or any number. */
static uint32_t key_of(uint32_t argument, const struct stage_region *region)
{
    return region ? region->lkey : argument;
}

/* entries (turned over against 1), mr + 1 (0: the first of the machine; 255 and
 * more: no region, but a key), offset, length (0: 64). */
static struct entries next_entries(int machine)
{
    struct entries entries;
    uint32_t argument, offset;
    const struct stage_region *region = NULL;

    entries.count = 1 ^ stage_next();
    argument = stage_next();
    if (argument < 255) {
        uint32_t which = argument ? argument - 1 : 16u * (uint32_t)machine;

        region = stage_region_of(stage_handle(VF_KIND_MR, which));
    }
    offset = stage_next();
    entries.key = key_of(argument, region);
    entries.address = region ? region->iova + offset
                             : (uint64_t)stage_address(machine, offset);
    entries.length = stage_next();
    if (entries.length == 0)
        entries.length = 64;
    else if (entries.length == UINT32_MAX)
        entries.length = 0;
    return entries;
}

/* As many as are read: where the device refuses the number, the first one is,
 * for the trace. */
static uint32_t entries_of(const struct entries *entries)
{
    return entries->count <= ENTRIES_MAX ? entries->count : 1;
}

/* A list of exactly these. */
static struct ibv_sge *list_of(const struct entries *entries, uint32_t at)
{
    uint32_t room = entries_of(entries);
    struct ibv_sge *list = stage_block(room * sizeof(*list));

    for (uint32_t i = 0; i < room; i++) {
        list[i].addr =
            entries->address + (uint64_t)(at + i) * (uint64_t)entries->length;
        list[i].length = entries->length;
        list[i].lkey = entries->key;
    }
    return list;
}

static void may_write(const struct ibv_sge *list, const struct entries *entries)
{
    for (uint32_t i = 0; i < entries_of(entries); i++)
        stage_may_write(list[i].lkey, list[i].addr, list[i].length);
}

static uint64_t length_of(const struct entries *entries)
{
    return entries->count <= ENTRIES_MAX
               ? (uint64_t)entries->count * entries->length
               : 0;
}

/* ---- receives ---- */

static struct ibv_recv_wr *make_receives(int machine)
{
    struct entries entries = next_entries(machine);
    uint32_t count = 1 + stage_next() % CHAIN_MAX;
    bool ring = stage_next() == 1;
    struct ibv_recv_wr *wr = stage_block(count * sizeof(*wr));

    for (uint32_t i = 0; i < count; i++) {
        wr[i].wr_id = ring ? 0 : stage_next_id();
        wr[i].sg_list = list_of(&entries, i);
        wr[i].num_sge = (int)entries.count;
        wr[i].next = i + 1 < count ? &wr[i + 1] : ring ? wr : NULL;
        may_write(wr[i].sg_list, &entries);
        stage_seal(wr[i].sg_list);
        /* Known before it is posted: it may complete within. */
        stage_posted(wr[i].wr_id);
    }
    stage_seal(wr);
    return wr;
}

/* qp, entries, mr + 1, offset, length, requests - 1, 1: a ring, 2: none */
static void post_recv(void)
{
    struct ibv_qp *qp = stage_next_handle(VF_KIND_QP);
    struct ibv_recv_wr *wr = make_receives(stage_machine_of(qp));
    struct ibv_recv_wr **bad = stage_block(sizeof(wr));

    if (stage_is_usable(qp, VF_KIND_QP))
        ibv_post_recv(qp, wr, bad);
    else
        vf_post_recv(qp, wr, bad);
}

/* srq, and as above */
static void post_srq_recv(void)
{
    struct ibv_srq *srq = stage_next_handle(VF_KIND_SRQ);
    struct ibv_recv_wr *wr = make_receives(stage_machine_of(srq));
    struct ibv_recv_wr **bad = stage_block(sizeof(wr));

    if (stage_is_usable(srq, VF_KIND_SRQ))
        ibv_post_srq_recv(srq, wr, bad);
    else
        vf_post_srq_recv(srq, wr, bad);
}

/* ---- sends ---- */

/* What a request means of its peer. */
struct aim {
    uint32_t rkey, other, qkey;
    uint64_t address, compare_add, swap;
    struct ibv_ah *ah;
    const struct ibv_qp *qp;
    struct ibv_mw *window;
    struct ibv_mr *region;
    uint64_t length;
    unsigned access;
};

/* mr of the peer + 1 (0: the first of the next machine; 254: the window),
 * offset,
 * immediate data or summand, ah, datagrams' queue pair, window, its length,
 * its access turned over against all */
static struct aim next_aim(int machine)
{
    struct aim aim;
    uint32_t argument = stage_next();
    uint32_t offset;
    uint32_t which = argument ? argument - 1 : 16u * (uint32_t)(machine ^ 1);
    const struct stage_region *region =
        argument < 254 ? stage_region_of(stage_handle(VF_KIND_MR, which))
                       : NULL;

    offset = stage_next();
    aim.rkey = region ? region->rkey : argument;
    aim.address = region ? region->iova + offset
                         : (uint64_t)stage_address(machine ^ 1, offset);
    aim.other = stage_next();
    aim.compare_add = aim.other;
    aim.swap = ~(uint64_t)aim.other;
    aim.ah = stage_next_handle(VF_KIND_AH);
    aim.qp = stage_next_handle(VF_KIND_QP);
    aim.qkey = 0x1234;
    aim.window = stage_next_handle(VF_KIND_MW);
    aim.region = stage_next_handle(VF_KIND_MR);
    aim.length = stage_next_wide();
    aim.access = (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                  IBV_ACCESS_REMOTE_ATOMIC) ^
                 stage_next();
    if (argument == 254 && stage_is_usable(aim.window, VF_KIND_MW))
        aim.rkey = aim.window->rkey;
    return aim;
}

static struct ibv_mw_bind_info bind_of(const struct aim *aim)
{
    const struct stage_region *region = stage_region_of(aim->region);

    return (struct ibv_mw_bind_info){
        .mr = aim->region,
        .addr = region ? region->iova : aim->address,
        .length = aim->length,
        .mw_access_flags = aim->access,
    };
}

/* The window's next key, as programs make it. */
static uint32_t key_of_window(const struct ibv_mw *window)
{
    return stage_is_usable(window, VF_KIND_MW) ? ibv_inc_rkey(window->rkey) : 1;
}

static void take_aim(struct ibv_send_wr *wr, const struct aim *aim, bool ud)
{
    switch (wr->opcode) {
    case IBV_WR_SEND_WITH_INV:
    case IBV_WR_LOCAL_INV:
        wr->invalidate_rkey = aim->rkey;
        break;
    default:
        wr->imm_data = htonl(aim->other);
    }
    if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
        wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr->wr.atomic.remote_addr = aim->address;
        wr->wr.atomic.rkey = aim->rkey;
        wr->wr.atomic.compare_add = aim->compare_add;
        wr->wr.atomic.swap = aim->swap;
    } else if (ud) {
        wr->wr.ud.ah = aim->ah;
        wr->wr.ud.remote_qpn =
            stage_is_usable(aim->qp, VF_KIND_QP) ? aim->qp->qp_num : 0xffffff;
        wr->wr.ud.remote_qkey = aim->qkey;
    } else {
        wr->wr.rdma.remote_addr = aim->address;
        wr->wr.rdma.rkey = aim->rkey;
    }
    if (wr->opcode == IBV_WR_BIND_MW) {
        wr->bind_mw.mw = aim->window;
        wr->bind_mw.rkey = key_of_window(aim->window);
        wr->bind_mw.bind_info = bind_of(aim);
    }
}

/* The key of a window of type 2 is its program's to write down. */
static void note_key(const struct aim *aim, enum ibv_wr_opcode opcode)
{
    if (opcode == IBV_WR_BIND_MW && stage_is_usable(aim->window, VF_KIND_MW))
        aim->window->rkey = key_of_window(aim->window);
}

static bool is_datagram(const struct ibv_qp *qp)
{
    return stage_is_usable(qp, VF_KIND_QP) && qp->qp_type == IBV_QPT_UD;
}

/* What of this machine's and of others' memory the request may write to. */
static void allow(const struct ibv_sge *list, const struct entries *entries,
                  enum ibv_wr_opcode opcode, const struct aim *aim)
{
    switch (opcode) {
    case IBV_WR_RDMA_READ:
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        may_write(list, entries);
        stage_may_be_written(aim->address, 8);
        break;
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        stage_may_be_written(aim->address, length_of(entries));
        break;
    default:
        break;
    }
}

/* qp, opcode, flags turned over against SIGNALED, entries, mr + 1, offset,
 * length, requests - 1, 1: a ring, and what next_aim() reads */
static void post_send(void)
{
    struct ibv_qp *qp = stage_next_handle(VF_KIND_QP);
    enum ibv_wr_opcode opcode = (enum ibv_wr_opcode)stage_next();
    unsigned flags = IBV_SEND_SIGNALED ^ stage_next();
    struct entries entries = next_entries(stage_machine_of(qp));
    uint32_t count = 1 + stage_next() % CHAIN_MAX;
    bool ring = stage_next() == 1;
    struct aim aim = next_aim(stage_machine_of(qp));
    struct ibv_send_wr *wr = stage_block(count * sizeof(*wr));
    struct ibv_send_wr **bad = stage_block(sizeof(wr));

    for (uint32_t i = 0; i < count; i++) {
        wr[i].wr_id = ring ? 0 : stage_next_id();
        wr[i].sg_list = list_of(&entries, i);
        wr[i].num_sge = (int)entries.count;
        wr[i].opcode = opcode;
        wr[i].send_flags = flags;
        wr[i].next = i + 1 < count ? &wr[i + 1] : ring ? wr : NULL;
        take_aim(&wr[i], &aim, is_datagram(qp));
        allow(wr[i].sg_list, &entries, opcode, &aim);
        stage_seal(wr[i].sg_list);
        stage_posted(wr[i].wr_id);
    }
    stage_seal(wr);
    if (!stage_is_usable(qp, VF_KIND_QP))
        vf_post_send(qp, wr, bad);
    else if (ibv_post_send(qp, wr, bad) == 0)
        note_key(&aim, opcode);
}

/* qp, flags turned over against SIGNALED, and what next_aim() reads */
static void bind_mw(void)
{
    struct ibv_qp *qp = stage_next_handle(VF_KIND_QP);
    struct ibv_mw_bind *bind = stage_block(sizeof(*bind));
    struct aim aim;

    bind->send_flags = IBV_SEND_SIGNALED ^ stage_next();
    aim = next_aim(stage_machine_of(qp));
    bind->wr_id = stage_next_id();
    bind->bind_info = bind_of(&aim);
    stage_posted(bind->wr_id);
    stage_seal(bind);
    vf_bind_mw(qp, aim.window, bind);
}

/* ---- chains ---- */

static void build(struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode,
                  const struct aim *aim)
{
    struct ibv_mw_bind_info info;

    switch (opcode) {
    case IBV_WR_RDMA_WRITE:
        if (qp->wr_rdma_write)
            ibv_wr_rdma_write(qp, aim->rkey, aim->address);
        break;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        if (qp->wr_rdma_write_imm)
            ibv_wr_rdma_write_imm(qp, aim->rkey, aim->address, aim->other);
        break;
    case IBV_WR_SEND:
        if (qp->wr_send)
            ibv_wr_send(qp);
        break;
    case IBV_WR_SEND_WITH_IMM:
        if (qp->wr_send_imm)
            ibv_wr_send_imm(qp, aim->other);
        break;
    case IBV_WR_RDMA_READ:
        if (qp->wr_rdma_read)
            ibv_wr_rdma_read(qp, aim->rkey, aim->address);
        break;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
        if (qp->wr_atomic_cmp_swp)
            ibv_wr_atomic_cmp_swp(qp, aim->rkey, aim->address, aim->compare_add,
                                  aim->swap);
        break;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        if (qp->wr_atomic_fetch_add)
            ibv_wr_atomic_fetch_add(qp, aim->rkey, aim->address,
                                    aim->compare_add);
        break;
    case IBV_WR_LOCAL_INV:
        if (qp->wr_local_inv)
            ibv_wr_local_inv(qp, aim->rkey);
        break;
    case IBV_WR_SEND_WITH_INV:
        if (qp->wr_send_inv)
            ibv_wr_send_inv(qp, aim->rkey);
        break;
    case IBV_WR_BIND_MW:
        info = bind_of(aim);
        if (qp->wr_bind_mw)
            ibv_wr_bind_mw(qp, aim->window, key_of_window(aim->window), &info);
        break;
    default:
        break;
    }
}

/* Entries as a list, one by one, or as bytes that are copied at once. */
static void add_data(struct ibv_qp_ex *qp, const struct entries *entries,
                     uint32_t at, uint32_t how, int machine)
{
    uint32_t length = entries->length % STAGE_MEMORY;
    struct ibv_sge *list = list_of(entries, at);
    struct ibv_data_buf *buffers;

    stage_seal(list);
    switch (how % 5) {
    case 0:
        ibv_wr_set_sge_list(
            qp, entries->count <= ENTRIES_MAX ? entries->count : 0, list);
        break;
    case 1:
        ibv_wr_set_sge(qp, entries->key, entries->address, entries->length);
        break;
    case 2:
        ibv_wr_set_inline_data(qp, stage_memory(machine), length);
        break;
    case 3:
        buffers = stage_block(2 * sizeof(*buffers));
        buffers[0].addr = buffers[1].addr = stage_memory(machine);
        buffers[0].length = length;
        buffers[1].length = length / 2;
        stage_seal(buffers);
        ibv_wr_set_inline_data_list(qp, 2, buffers);
        break;
    default: /* none */
        break;
    }
}

/* qp, opcode, flags turned over against SIGNALED, entries, mr + 1, offset,
 * length, requests - 1, how (add_data; 10 and more: aborted, 20 and more: not
 * ended), and what next_aim() reads */
static void wr(void)
{
    struct ibv_qp *qp = stage_next_handle(VF_KIND_QP);
    enum ibv_wr_opcode opcode = (enum ibv_wr_opcode)stage_next();
    unsigned flags = IBV_SEND_SIGNALED ^ stage_next();
    int machine = stage_machine_of(qp);
    struct entries entries = next_entries(machine);
    uint32_t count = 1 + stage_next() % CHAIN_MAX;
    uint32_t how = stage_next();
    struct aim aim = next_aim(machine);
    struct ibv_qp_ex *extended =
        stage_is_usable(qp, VF_KIND_QP) ? ibv_qp_to_qp_ex(qp) : NULL;

    if (!extended)
        return;
    ibv_wr_start(extended);
    for (uint32_t i = 0; i < count; i++) {
        struct ibv_sge *list = list_of(&entries, i);

        extended->wr_id = stage_next_id();
        extended->wr_flags = flags;
        stage_posted(extended->wr_id);
        allow(list, &entries, opcode, &aim);
        /* The data may be of one entry more than is in the list. */
        stage_may_be_written(aim.address, 2 * (uint64_t)entries.length);
        build(extended, opcode, &aim);
        add_data(extended, &entries, i, how, machine);
        if (extended->wr_set_ud_addr)
            ibv_wr_set_ud_addr(
                extended, aim.ah,
                stage_is_usable(aim.qp, VF_KIND_QP) ? aim.qp->qp_num : 0xffffff,
                aim.qkey);
    }
    if (how >= 10 && how < 20)
        ibv_wr_abort(extended);
    else if (how < 10 && ibv_wr_complete(extended) == 0)
        note_key(&aim, opcode);
}

bool verbs_post(enum verbs_name name)
{
    switch (name) {
    case VERBS_post_send:
        post_send();
        return true;
    case VERBS_post_recv:
        post_recv();
        return true;
    case VERBS_post_srq_recv:
        post_srq_recv();
        return true;
    case VERBS_bind_mw:
        bind_mw();
        return true;
    case VERBS_wr:
        wr();
        return true;
    default:
        return false;
    }
}
