/*
 * The verbs that make, ask, change and release. Arguments in their order stand
 * in the comment above each; those of flags are turned over against what goes
 * well, so that 0 is that.
 */
#include "fuzz/verbs_stage.h"

#include <string.h>

#include "front/extended.h"
#include "front/inline_verbs.h"

#define USUAL_ACCESS                                                           \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |                        \
     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)

/* In no header that is installed. */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num,
                       unsigned index, int *type);

/* ---- devices ---- */

/* machine, NULL for the count */
static void get_device_list(void)
{
    int *count;
    struct ibv_device **list;

    stage_next_machine();
    count = stage_next() ? NULL : stage_block(sizeof(*count));
    list = (ibv_get_device_list)(count);
    stage_made(VF_KIND_DEVICE_LIST, list);
    for (int i = 0; list && list[i]; i++)
        stage_made(VF_KIND_DEVICE, list[i]);
}

/* list */
static void free_device_list(void)
{
    ibv_free_device_list(stage_next_handle(VF_KIND_DEVICE_LIST));
}

/* device */
static void describe_device(void)
{
    struct ibv_device *device = stage_next_handle(VF_KIND_DEVICE);

    ibv_get_device_name(device);
    ibv_get_device_guid(device);
    ibv_get_device_index(device);
}

/* device */
static void open_device(void)
{
    stage_made(VF_KIND_CONTEXT,
               ibv_open_device(stage_next_handle(VF_KIND_DEVICE)));
}

/* context */
static void close_device(void)
{
    ibv_close_device(stage_next_handle(VF_KIND_CONTEXT));
}

/* context */
static void query_device(void)
{
    ibv_query_device(stage_next_handle(VF_KIND_CONTEXT),
                     stage_block(sizeof(struct ibv_device_attr)));
}

/* context, bytes more or less, input's mask */
static void query_device_ex(void)
{
    struct ibv_context *context = stage_next_handle(VF_KIND_CONTEXT);
    size_t size = sizeof(struct ibv_device_attr_ex) + stage_next() % 64;
    struct ibv_query_device_ex_input input = {stage_next()};

    size -= stage_next() % sizeof(struct ibv_device_attr_ex);
    vf_query_device_ex(context, &input, stage_block(size), size);
}

/* context, port - 1, by which entry */
static void query_port(void)
{
    struct ibv_context *context = stage_next_handle(VF_KIND_CONTEXT);
    uint8_t port = (uint8_t)(1 + stage_next());

    if (stage_next() & 1)
        (ibv_query_port)(context, port,
                         stage_block(offsetof(struct ibv_port_attr, flags)));
    else if (stage_is_usable(context, VF_KIND_CONTEXT))
        ibv_query_port(
            context, port,
            (struct ibv_port_attr *)stage_block(sizeof(struct ibv_port_attr)));
}

/* context, index, port - 1 */
static void query_gid(void)
{
    struct ibv_context *context = stage_next_handle(VF_KIND_CONTEXT);
    int index = (int)stage_next();
    uint8_t port = (uint8_t)(1 + stage_next());

    ibv_query_gid(context, port, index, stage_block(sizeof(union ibv_gid)));
    ibv_query_gid_type(context, port, (unsigned)index,
                       stage_block(sizeof(int)));
}

/* context, index, port - 1, flags, bytes less */
static void query_gid_ex(void)
{
    struct ibv_context *context = stage_next_handle(VF_KIND_CONTEXT);
    uint32_t index = stage_next();
    uint32_t port = 1 + stage_next();
    uint32_t flags = stage_next();
    size_t size = sizeof(struct ibv_gid_entry) + stage_next() % 400;

    size -= stage_next() % sizeof(struct ibv_gid_entry);
    _ibv_query_gid_ex(context, port, index, stage_block(size), flags, size);
}

/* context, entries, flags, bytes more, less */
static void query_gid_table(void)
{
    struct ibv_context *context = stage_next_handle(VF_KIND_CONTEXT);
    size_t count = stage_next() % 16;
    uint32_t flags = stage_next();
    size_t size = sizeof(struct ibv_gid_entry) + stage_next() % 400;

    size -= stage_next() % sizeof(struct ibv_gid_entry);
    _ibv_query_gid_table(context, stage_block(count * size), count, flags,
                         size);
}

/* context, index, port - 1, the key to look for */
static void query_pkey(void)
{
    struct ibv_context *context = stage_next_handle(VF_KIND_CONTEXT);
    int index = (int)stage_next();
    uint8_t port = (uint8_t)(1 + stage_next());

    ibv_query_pkey(context, port, index, stage_block(sizeof(__be16)));
    ibv_get_pkey_index(context, port, (__be16)(stage_next() ^ 0xffff));
}

/* context, 1: not acknowledged */
static void get_async_event(void)
{
    struct ibv_context *context = stage_next_handle(VF_KIND_CONTEXT);
    struct ibv_async_event *event = stage_block(sizeof(*event));

    if (ibv_get_async_event(context, event) != 0)
        return;
    stage_event = *event;
    if (!stage_next())
        ibv_ack_async_event(event);
}

/* 0: the one that was kept; else its type + 1, its kind and its handle. An
 * event of an object that is gone is one that nobody had to acknowledge. */
static void ack_async_event(void)
{
    struct ibv_async_event *event = stage_block(sizeof(*event));
    uint32_t type = stage_next();

    *event = stage_event;
    if (type) {
        enum vf_kind kind = (enum vf_kind)(stage_next() % VF_KIND_COUNT);

        event->event_type = (enum ibv_event_type)(type - 1);
        event->element.qp = stage_next_handle(kind);
    }
    ibv_ack_async_event(event);
}

/* ---- domains and regions ---- */

/* context */
static void alloc_pd(void)
{
    stage_made(VF_KIND_PD, ibv_alloc_pd(stage_next_handle(VF_KIND_CONTEXT)));
}

/* pd */
static void dealloc_pd(void)
{
    ibv_dealloc_pd(stage_next_handle(VF_KIND_PD));
}

/* pd, offset, length (0: 4096), access turned over, iova (0: the address), by
 * which entry */
static void reg_mr(void)
{
    struct ibv_pd *pd = stage_next_handle(VF_KIND_PD);
    uintptr_t address = stage_address(stage_machine_of(pd), stage_next());
    uint64_t length = stage_next_wide();
    unsigned access = USUAL_ACCESS ^ stage_next();
    uint64_t iova = stage_next_wide();
    struct ibv_mr *mr;

    length = length ? length : 4096;
    if (iova == 0) {
        iova = address;
        mr = (ibv_reg_mr)(pd, (void *)address, length, (int)access);
    } else if (stage_next()) {
        mr = (ibv_reg_mr_iova)(pd, (void *)address, length, iova, (int)access);
    } else {
        mr = ibv_reg_mr_iova2(pd, (void *)address, length, iova, access);
    }
    stage_made(VF_KIND_MR, mr);
    if (mr)
        stage_region_made(mr, address, length, iova, access);
}

/* mr, flags, pd, offset, length, access turned over */
static void rereg_mr(void)
{
    struct ibv_mr *mr = stage_next_handle(VF_KIND_MR);
    int flags = (int)stage_next();
    struct ibv_pd *pd = stage_next_handle(VF_KIND_PD);
    uintptr_t address = stage_address(stage_machine_of(mr), stage_next());
    uint64_t length = stage_next_wide();
    unsigned access = USUAL_ACCESS ^ stage_next();
    const struct stage_region *old = stage_region_of(mr);
    struct stage_region region;

    if (!(flags & IBV_REREG_MR_CHANGE_ACCESS))
        access = 0;
    if (ibv_rereg_mr(mr, flags, pd, (void *)address, length, (int)access) ||
        !old)
        return;
    region = *old;
    stage_region_gone(mr);
    if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
        region.address = address;
        region.iova = address;
        region.length = length;
    }
    if (flags & IBV_REREG_MR_CHANGE_ACCESS)
        region.access = access;
    stage_region_made(mr, region.address, region.length, region.iova,
                      region.access);
}

/* mr */
static void dereg_mr(void)
{
    ibv_dereg_mr(stage_next_handle(VF_KIND_MR));
}

/* pd, 0: type 1, 1: type 2, else any */
static void alloc_mw(void)
{
    struct ibv_pd *pd = stage_next_handle(VF_KIND_PD);

    stage_made(VF_KIND_MW,
               vf_alloc_mw(pd, (enum ibv_mw_type)(1 + stage_next())));
}

/* mw */
static void dealloc_mw(void)
{
    vf_dealloc_mw(stage_next_handle(VF_KIND_MW));
}

/* ---- completion ---- */

/* context */
static void create_comp_channel(void)
{
    stage_made(VF_KIND_CHANNEL,
               ibv_create_comp_channel(stage_next_handle(VF_KIND_CONTEXT)));
}

/* channel */
static void destroy_comp_channel(void)
{
    ibv_destroy_comp_channel(stage_next_handle(VF_KIND_CHANNEL));
}

/* context, cqe (0: 16), channel + 1, vector */
static void create_cq(void)
{
    struct ibv_context *context = stage_next_handle(VF_KIND_CONTEXT);
    int cqe = (int)stage_next_or(16);
    struct ibv_comp_channel *channel = stage_next_optional(VF_KIND_CHANNEL);

    stage_made(VF_KIND_CQ,
               ibv_create_cq(context, cqe, NULL, channel, (int)stage_next()));
}

/* context, cqe (0: 16), channel + 1, vector, fields turned over, mask, flags */
static void create_cq_ex(void)
{
    struct ibv_context *context = stage_next_handle(VF_KIND_CONTEXT);
    struct ibv_cq_init_attr_ex *attr = stage_block(sizeof(*attr));

    attr->cqe = stage_next_or(16);
    attr->channel = stage_next_optional(VF_KIND_CHANNEL);
    attr->comp_vector = stage_next();
    attr->wc_flags = IBV_WC_STANDARD_FLAGS ^ stage_next();
    attr->comp_mask = stage_next();
    attr->flags = stage_next();
    stage_seal(attr);
    stage_made(VF_KIND_CQ, vf_create_cq_ex(context, attr));
}

/* cq, cqe (0: 16) */
static void resize_cq(void)
{
    struct ibv_cq *cq = stage_next_handle(VF_KIND_CQ);

    ibv_resize_cq(cq, (int)stage_next_or(16));
}

/* cq, solicited only */
static void req_notify_cq(void)
{
    struct ibv_cq *cq = stage_next_handle(VF_KIND_CQ);

    vf_req_notify_cq(cq, (int)stage_next());
}

/* channel, 1: not acknowledged */
static void get_cq_event(void)
{
    struct ibv_comp_channel *channel = stage_next_handle(VF_KIND_CHANNEL);
    struct ibv_cq **cq = stage_block(sizeof(struct ibv_cq *));
    void **context = stage_block(sizeof(void *));

    if (ibv_get_cq_event(channel, cq, context) == 0 && *cq && !stage_next())
        ibv_ack_cq_events(*cq, 1);
}

/* cq, how many */
static void ack_cq_events(void)
{
    struct ibv_cq *cq = stage_next_handle(VF_KIND_CQ);

    ibv_ack_cq_events(cq, stage_next_or(1));
}

/* cq, room (0: 4; from 2^31 on negative) */
static void poll_cq(void)
{
    struct ibv_cq *cq = stage_next_handle(VF_KIND_CQ);
    int room = (int)stage_next_or(4);
    struct ibv_wc *wc;
    int count;

    room = room > 64 ? 64 : room;
    wc = stage_block((size_t)(room > 0 ? room : 0) * sizeof(*wc));
    if (stage_is_usable(cq, VF_KIND_CQ))
        count = ibv_poll_cq(cq, room, wc);
    else
        count = vf_poll_cq(cq, room, wc);
    if (count > room && count > 0) {
        if (!stage_is_planned())
            stage_broken("%d completions where there is room for %d", count,
                         room);
        count = 0; /* of a plan: nothing has been written */
    }
    for (int i = 0; i < count; i++)
        stage_completed(cq, &wc[i]);
}

/* cq */
static void destroy_cq(void)
{
    ibv_destroy_cq(stage_next_handle(VF_KIND_CQ));
}

/* ---- queue pairs ---- */

static enum ibv_qp_type type_of(uint32_t argument)
{
    static const enum ibv_qp_type types[] = {
        IBV_QPT_RC,         IBV_QPT_UC,       IBV_QPT_UD,
        IBV_QPT_RAW_PACKET, IBV_QPT_XRC_SEND, IBV_QPT_DRIVER};

    return argument < 6 ? types[argument] : (enum ibv_qp_type)argument;
}

/* type, send cq, recv cq, srq + 1, sends (0: 8), receives (0: 8), entries
 * (0: 1), inline bytes, all signaled */
static void fill_qp(struct ibv_qp_init_attr *attr)
{
    attr->qp_type = type_of(stage_next());
    attr->send_cq = stage_next_handle(VF_KIND_CQ);
    attr->recv_cq = stage_next_handle(VF_KIND_CQ);
    attr->srq = stage_next_optional(VF_KIND_SRQ);
    attr->cap.max_send_wr = stage_next_or(8);
    attr->cap.max_recv_wr = stage_next_or(8);
    attr->cap.max_send_sge = attr->cap.max_recv_sge = stage_next_or(1);
    attr->cap.max_inline_data = stage_next();
    attr->sq_sig_all = (int)stage_next();
}

/* pd, and as above */
static void create_qp(void)
{
    struct ibv_pd *pd = stage_next_handle(VF_KIND_PD);
    struct ibv_qp_init_attr *attr = stage_block(sizeof(*attr));

    fill_qp(attr);
    stage_made(VF_KIND_QP, ibv_create_qp(pd, attr));
}

/* context, pd, operations turned over, mask turned over, and as above */
static void create_qp_ex(void)
{
    struct ibv_context *context = stage_next_handle(VF_KIND_CONTEXT);
    struct ibv_qp_init_attr_ex *attr = stage_block(sizeof(*attr));
    struct ibv_qp_init_attr plain;

    memset(&plain, 0, sizeof(plain));
    attr->pd = stage_next_handle(VF_KIND_PD);
    attr->send_ops_flags = stage_next();
    attr->comp_mask =
        stage_next() ^ (IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
    fill_qp(&plain);
    attr->qp_type = plain.qp_type;
    attr->send_cq = plain.send_cq;
    attr->recv_cq = plain.recv_cq;
    attr->srq = plain.srq;
    attr->cap = plain.cap;
    attr->sq_sig_all = plain.sq_sig_all;
    attr->send_ops_flags ^= plain.qp_type == IBV_QPT_RC   ? 0x3ffu
                            : plain.qp_type == IBV_QPT_UC ? 0xfu
                                                          : 0xcu;
    stage_made(VF_KIND_QP, vf_create_qp_ex(context, attr));
}

#define REACHES (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)

static int mask_of(enum ibv_qp_type type, enum ibv_qp_state to)
{
    bool reliable = type == IBV_QPT_RC;

    switch (to) {
    case IBV_QPS_INIT:
        return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
               (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
    case IBV_QPS_RTR:
        if (type == IBV_QPT_UD)
            return IBV_QP_STATE;
        return IBV_QP_STATE | REACHES |
               (reliable ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER
                         : 0);
    case IBV_QPS_RTS:
        return IBV_QP_STATE | IBV_QP_SQ_PSN |
               (reliable ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                               IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC
                         : 0);
    default:
        return IBV_QP_STATE;
    }
}

/* What goes well between these two. The peer may be no handle at all. */
static void fill_attr(struct ibv_qp_attr *attr, const struct ibv_qp *peer)
{
    union ibv_gid gid = stage_gid(stage_machine_of(peer), 1);
    bool there = stage_is_usable(peer, VF_KIND_QP);

    attr->port_num = 1;
    attr->qp_access_flags = USUAL_ACCESS & ~(unsigned)IBV_ACCESS_MW_BIND;
    attr->qkey = 0x1234;
    attr->path_mtu = IBV_MTU_1024;
    attr->dest_qp_num = there ? peer->qp_num : 0x77;
    attr->rq_psn = attr->sq_psn = 7;
    attr->max_rd_atomic = attr->max_dest_rd_atomic = 4;
    attr->timeout = 14;
    attr->retry_cnt = attr->rnr_retry = 7;
    attr->min_rnr_timer = 1;
    attr->ah_attr.is_global = 1;
    attr->ah_attr.port_num = 1;
    attr->ah_attr.grh.dgid = gid;
    attr->ah_attr.grh.sgid_index = 1;
    attr->ah_attr.grh.hop_limit = 1;
}

static enum ibv_qp_type type_of_qp(const struct ibv_qp *qp)
{
    return stage_is_usable(qp, VF_KIND_QP) ? qp->qp_type : IBV_QPT_RC;
}

/* qp, state, peer, mask turned over, which field, what it is instead, 1: no
 * attributes */
static void modify_qp(void)
{
    struct ibv_qp *qp = stage_next_handle(VF_KIND_QP);
    enum ibv_qp_state to = (enum ibv_qp_state)stage_next();
    const struct ibv_qp *peer = stage_next_handle(VF_KIND_QP);
    struct ibv_qp_attr *attr = stage_block(sizeof(*attr));
    int mask = mask_of(type_of_qp(qp), to) ^ (int)stage_next();
    uint32_t field = stage_next(), value = stage_next();

    fill_attr(attr, peer);
    attr->qp_state = to;
    if (field > 0) { /* any word of it */
        uint32_t words = sizeof(*attr) / sizeof(value);

        memcpy((char *)attr + field % words * sizeof(value), &value,
               sizeof(value));
    }
    stage_seal(attr);
    ibv_modify_qp(qp, stage_next() ? NULL : attr, mask);
}

/* qp, peer, how far: 0 to RTS, else so many steps; the psn's difference, the
 * timers: timeout + 1, retries + 1 */
static void connect_qp(void)
{
    static const enum ibv_qp_state states[] = {IBV_QPS_INIT, IBV_QPS_RTR,
                                               IBV_QPS_RTS};
    struct ibv_qp *qp = stage_next_handle(VF_KIND_QP);
    const struct ibv_qp *peer = stage_next_handle(VF_KIND_QP);
    uint32_t steps = stage_next_or(3);
    struct ibv_qp_attr *attr = stage_block(sizeof(*attr));
    uint32_t timeout, retries;

    fill_attr(attr, peer);
    attr->sq_psn += stage_next();
    timeout = stage_next();
    retries = stage_next();
    if (timeout)
        attr->timeout = (uint8_t)((timeout - 1) & 31);
    if (retries)
        attr->retry_cnt = attr->rnr_retry = (uint8_t)((retries - 1) & 7);
    for (uint32_t i = 0; i < steps && i < 3; i++) {
        attr->qp_state = states[i];
        ibv_modify_qp(qp, attr, mask_of(type_of_qp(qp), states[i]));
    }
}

/* qp, mask, 1: no attributes, 2: no init attributes */
static void query_qp(void)
{
    struct ibv_qp *qp = stage_next_handle(VF_KIND_QP);
    int mask = (int)stage_next();
    uint32_t without = stage_next();

    ibv_query_qp(
        qp, without & 1 ? NULL : stage_block(sizeof(struct ibv_qp_attr)), mask,
        without & 2 ? NULL : stage_block(sizeof(struct ibv_qp_init_attr)));
}

/* qp */
static void destroy_qp(void)
{
    ibv_destroy_qp(stage_next_handle(VF_KIND_QP));
}

/* pd, machine that it leads to, gid's index turned over, port - 1, which word,
 * what it is instead */
static void create_ah(void)
{
    struct ibv_pd *pd = stage_next_handle(VF_KIND_PD);
    struct ibv_ah_attr *attr = stage_block(sizeof(*attr));
    int peer = (int)(stage_next() % VERBS_MACHINES);
    uint32_t index = 1 ^ stage_next();
    uint32_t field, value;

    attr->is_global = 1;
    attr->grh.dgid = stage_gid(peer, index);
    attr->grh.sgid_index = (uint8_t)index;
    attr->grh.hop_limit = 1;
    attr->port_num = (uint8_t)(1 + stage_next());
    field = stage_next();
    value = stage_next();
    if (field > 0)
        memcpy((char *)attr +
                   field % (sizeof(*attr) / sizeof(value)) * sizeof(value),
               &value, sizeof(value));
    stage_seal(attr);
    stage_made(VF_KIND_AH, ibv_create_ah(pd, attr));
}

/* pd, where in its machine's memory the header is, port - 1, which word of the
 * completion, what it is instead */
static void create_ah_from_wc(void)
{
    struct ibv_pd *pd = stage_next_handle(VF_KIND_PD);
    struct ibv_wc *wc = stage_block(sizeof(*wc));
    struct ibv_grh *grh = stage_block(sizeof(*grh));
    uint32_t at = stage_next() % (STAGE_MEMORY - (uint32_t)sizeof(*grh));
    uint8_t port = (uint8_t)(1 + stage_next());
    uint32_t field = stage_next(), value = stage_next();

    *wc = stage_wc;
    if (field > 0)
        memcpy((char *)wc +
                   field % (sizeof(*wc) / sizeof(value)) * sizeof(value),
               &value, sizeof(value));
    memcpy(grh, stage_memory(stage_machine_of(pd)) + at, sizeof(*grh));
    stage_seal(wc);
    stage_seal(grh);
    if (stage_is_usable(pd, VF_KIND_PD))
        stage_made(VF_KIND_AH, ibv_create_ah_from_wc(pd, wc, grh, port));
}

/* ah */
static void destroy_ah(void)
{
    ibv_destroy_ah(stage_next_handle(VF_KIND_AH));
}

/* pd, receives (0: 8), entries (0: 1), limit */
static void create_srq(void)
{
    struct ibv_pd *pd = stage_next_handle(VF_KIND_PD);
    struct ibv_srq_init_attr *attr = stage_block(sizeof(*attr));

    attr->attr.max_wr = stage_next_or(8);
    attr->attr.max_sge = stage_next_or(1);
    attr->attr.srq_limit = stage_next();
    stage_made(VF_KIND_SRQ, ibv_create_srq(pd, attr));
}

/* srq, mask, receives, limit, 1: no attributes */
static void modify_srq(void)
{
    struct ibv_srq *srq = stage_next_handle(VF_KIND_SRQ);
    int mask = (int)stage_next();
    struct ibv_srq_attr *attr = stage_block(sizeof(*attr));

    attr->max_wr = stage_next_or(8);
    attr->srq_limit = stage_next();
    stage_seal(attr);
    ibv_modify_srq(srq, stage_next() ? NULL : attr, mask);
}

/* srq, 1: no attributes */
static void query_srq(void)
{
    struct ibv_srq *srq = stage_next_handle(VF_KIND_SRQ);

    ibv_query_srq(srq, stage_next() ? NULL
                                    : stage_block(sizeof(struct ibv_srq_attr)));
}

/* srq */
static void destroy_srq(void)
{
    ibv_destroy_srq(stage_next_handle(VF_KIND_SRQ));
}

/* qp, group (3: none), lid */
static void attach_mcast(void)
{
    struct ibv_qp *qp = stage_next_handle(VF_KIND_QP);
    const union ibv_gid *group = stage_group(stage_next());

    ibv_attach_mcast(qp, group, (uint16_t)stage_next());
}

static void detach_mcast(void)
{
    struct ibv_qp *qp = stage_next_handle(VF_KIND_QP);
    const union ibv_gid *group = stage_group(stage_next());

    ibv_detach_mcast(qp, group, (uint16_t)stage_next());
}

/* ---- all of them ---- */

#define MAKES(name) [VERBS_##name] = name

bool verbs_make(enum verbs_name name)
{
    static void (*const makers[VERBS_NAMES])(void) = {
        MAKES(get_device_list),
        MAKES(free_device_list),
        MAKES(describe_device),
        MAKES(open_device),
        MAKES(close_device),
        MAKES(query_device),
        MAKES(query_device_ex),
        MAKES(query_port),
        MAKES(query_gid),
        MAKES(query_gid_ex),
        MAKES(query_gid_table),
        MAKES(query_pkey),
        MAKES(get_async_event),
        MAKES(ack_async_event),
        MAKES(alloc_pd),
        MAKES(dealloc_pd),
        MAKES(reg_mr),
        MAKES(rereg_mr),
        MAKES(dereg_mr),
        MAKES(alloc_mw),
        MAKES(dealloc_mw),
        MAKES(create_comp_channel),
        MAKES(destroy_comp_channel),
        MAKES(create_cq),
        MAKES(create_cq_ex),
        MAKES(resize_cq),
        MAKES(req_notify_cq),
        MAKES(get_cq_event),
        MAKES(ack_cq_events),
        MAKES(poll_cq),
        MAKES(destroy_cq),
        MAKES(create_qp),
        MAKES(create_qp_ex),
        MAKES(modify_qp),
        MAKES(connect_qp),
        MAKES(query_qp),
        MAKES(destroy_qp),
        MAKES(create_ah),
        MAKES(create_ah_from_wc),
        MAKES(destroy_ah),
        MAKES(create_srq),
        MAKES(modify_srq),
        MAKES(query_srq),
        MAKES(destroy_srq),
        MAKES(attach_mcast),
        MAKES(detach_mcast),
    };

    if (!makers[name])
        return false;
    makers[name]();
    return true;
}
