#include "front/detail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "verbfault/library.h"

#define REQUESTS_MAX 1024 /* of one post: a list may be a ring */
#define PAGE_MOST 65536u  /* the largest page of any machine */
#define ENTRIES_MAX 64    /* of one request: more are not looked at */

/* The line that is being written; under the lock of the one world. */
static struct {
    char text[VF_RECORDED_MAX];
    size_t used;
} line;

__attribute__((format(printf, 1, 2))) static void add(const char *format, ...)
{
    size_t left = sizeof(line.text) - line.used;
    va_list list;
    int wrote;

    va_start(list, format);
    wrote = vsnprintf(line.text + line.used, left, format, list);
    va_end(list);
    if (wrote > 0)
        line.used += (size_t)wrote < left ? (size_t)wrote : left - 1;
}

static void add_object(const struct vf_call *call, const char *key,
                       const void *handle)
{
    const struct vf_object *object =
        handle ? vf_registry_find(&call->world->registry, handle) : NULL;

    if (!handle)
        add(" %s=NULL", key);
    else if (!object || object->id == 0)
        add(" %s=?", key);
    else
        add(" %s=%u", key, (unsigned)object->id);
}

static void add_gid(const char *key, const union ibv_gid *gid)
{
    add(" %s=", key);
    for (size_t i = 0; i < sizeof(gid->raw); i++)
        add("%02x", gid->raw[i]);
}

/* ---- devices ---------------------------------------------------------------
 */

static void device_list(const struct vf_call *call)
{
    struct ibv_device *const *list = call->made ? call->made->handle : NULL;

    for (; list && *list; list++)
        add(" device=%.*s", VF_NAME_MAX, (*list)->name);
}

static void device_attributes(const struct ibv_device_attr *attr)
{
    add(" max_qp=%d max_qp_wr=%d max_sge=%d max_cq=%d max_cqe=%d max_mr=%d",
        attr->max_qp, attr->max_qp_wr, attr->max_sge, attr->max_cq,
        attr->max_cqe, attr->max_mr);
    add(" max_pd=%d max_ah=%d max_srq=%d max_srq_wr=%d max_srq_sge=%d",
        attr->max_pd, attr->max_ah, attr->max_srq, attr->max_srq_wr,
        attr->max_srq_sge);
    add(" ports=%u", (unsigned)attr->phys_port_cnt);
}

/* The fields that every version of the struct has. */
static void port_attributes(const struct ibv_port_attr *attr)
{
    add(" state=%d mtu=%d max_mtu=%d gids=%d lid=%u link=%u", (int)attr->state,
        (int)attr->active_mtu, (int)attr->max_mtu, attr->gid_tbl_len,
        (unsigned)attr->lid, (unsigned)attr->link_layer);
}

/* Three verbs in one: an entry's address, all of an entry, all of a table; and
 * the search for an address, which has no output. */
static void gids(const struct vf_call *call)
{
    const char *at = call->out;

    if (!at) {
        add(" %s", call->args[0] ? "find" : "table");
    } else if (call->args[0] == 0) {
        add(" table");
        for (int64_t i = 0; i < call->result; i++, at += call->out_size)
            add_gid("gid", (const union ibv_gid *)(const void *)at);
    } else {
        if (call->out_size != sizeof(union ibv_gid))
            add(" entry");
        if (!call->err)
            add_gid("gid", call->out);
    }
}

static void answers(const struct vf_call *call)
{
    if (call->verb == VF_VERB_query_gid)
        gids(call);
    else if (call->err || call->result || !call->out)
        return;
    else if (call->verb == VF_VERB_query_device)
        device_attributes(call->out);
    else if (call->verb == VF_VERB_query_port)
        port_attributes(call->out);
    else if (call->verb == VF_VERB_query_qp)
        add(" state=%d", (int)((struct ibv_qp_attr *)call->out)->qp_state);
    else if (call->verb == VF_VERB_query_srq)
        add(" wr=%u sge=%u",
            (unsigned)((struct ibv_srq_attr *)call->out)->max_wr,
            (unsigned)((struct ibv_srq_attr *)call->out)->max_sge);
}

/* ---- objects ---------------------------------------------------------------
 */

static void region(const struct vf_call *call)
{
    const struct ibv_mr *mr = call->made ? call->made->handle : NULL;

    if (call->given)
        add(" at=%u", (unsigned)((uintptr_t)call->given % PAGE_MOST));
    else
        add(" at=NULL");
    if (!mr)
        return;
    add(" addr=0x%llx lkey=0x%x rkey=0x%x",
        (unsigned long long)call->made->shadow.mr.address, (unsigned)mr->lkey,
        (unsigned)mr->rkey);
}

static void completion_queue(const struct vf_call *call)
{
    const struct ibv_cq *cq = call->made ? call->made->handle : NULL;

    if (!cq)
        return;
    add_object(call, "channel", cq->channel);
    add(" granted=%d", cq->cqe);
}

static void queue_pair(const struct vf_call *call)
{
    const struct ibv_qp_init_attr *attr = call->given;
    const struct ibv_qp *qp = call->made ? call->made->handle : NULL;

    if (!attr)
        return;
    add_object(call, "send_cq", attr->send_cq);
    add_object(call, "recv_cq", attr->recv_cq);
    add_object(call, "srq", attr->srq);
    add(" sge=%u:%u inline=%u%s", (unsigned)attr->cap.max_send_sge,
        (unsigned)attr->cap.max_recv_sge, (unsigned)attr->cap.max_inline_data,
        attr->sq_sig_all ? " all_signaled" : "");
    if (qp)
        add(" granted=%u:%u num=0x%x", (unsigned)attr->cap.max_send_wr,
            (unsigned)attr->cap.max_recv_wr, (unsigned)qp->qp_num);
}

static void address(const struct ibv_ah_attr *attr)
{
    if (attr->is_global) {
        add_gid("dgid", &attr->grh.dgid);
        add(" sgid=%u hops=%u", (unsigned)attr->grh.sgid_index,
            (unsigned)attr->grh.hop_limit);
    }
    add(" dlid=%u port=%u sl=%u", (unsigned)attr->dlid,
        (unsigned)attr->port_num, (unsigned)attr->sl);
}

static void attributes(const struct vf_call *call)
{
    const struct ibv_qp_attr *attr = call->given;
    unsigned mask = (unsigned)call->args[1];
    const struct {
        unsigned bit;
        const char *key;
        unsigned long value;
    } fields[] = {
        {IBV_QP_CUR_STATE, "cur_state", attr ? attr->cur_qp_state : 0},
        {IBV_QP_ACCESS_FLAGS, "access", attr ? attr->qp_access_flags : 0},
        {IBV_QP_PKEY_INDEX, "pkey", attr ? attr->pkey_index : 0},
        {IBV_QP_PORT, "port", attr ? attr->port_num : 0},
        {IBV_QP_QKEY, "qkey", attr ? attr->qkey : 0},
        {IBV_QP_PATH_MTU, "mtu", attr ? attr->path_mtu : 0},
        {IBV_QP_TIMEOUT, "timeout", attr ? attr->timeout : 0},
        {IBV_QP_RETRY_CNT, "retries", attr ? attr->retry_cnt : 0},
        {IBV_QP_RNR_RETRY, "rnr_retries", attr ? attr->rnr_retry : 0},
        {IBV_QP_RQ_PSN, "rq_psn", attr ? attr->rq_psn : 0},
        {IBV_QP_SQ_PSN, "sq_psn", attr ? attr->sq_psn : 0},
        {IBV_QP_MAX_QP_RD_ATOMIC, "rd", attr ? attr->max_rd_atomic : 0},
        {IBV_QP_MIN_RNR_TIMER, "rnr_timer", attr ? attr->min_rnr_timer : 0},
        {IBV_QP_MAX_DEST_RD_ATOMIC, "dest_rd",
         attr ? attr->max_dest_rd_atomic : 0},
        {IBV_QP_DEST_QPN, "dqpn", attr ? attr->dest_qp_num : 0},
    };

    if (!attr) {
        add(" NULL");
        return;
    }
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (mask & fields[i].bit)
            add(" %s=%lu", fields[i].key, fields[i].value);
    if (mask & IBV_QP_AV)
        address(&attr->ah_attr);
}

static void address_handle(const struct vf_call *call)
{
    if (call->given)
        address(call->given);
}

static void shared_queue(const struct vf_call *call)
{
    const struct ibv_srq_init_attr *attr = call->given;

    if (attr)
        add(" sge=%u limit=%u", (unsigned)attr->attr.max_sge,
            (unsigned)attr->attr.srq_limit);
    if (attr && call->made)
        add(" granted=%u", (unsigned)attr->attr.max_wr);
}

static void shared_attributes(const struct vf_call *call)
{
    const struct ibv_srq_attr *attr = call->given;

    if (!attr)
        add(" NULL");
    else
        add(" wr=%u limit=%u", (unsigned)attr->max_wr,
            (unsigned)attr->srq_limit);
}

/* ---- work requests ---------------------------------------------------------
 */

static void entry(const struct vf_call *call, const struct ibv_sge *sge,
                  bool inlined)
{
    const struct vf_object *asking = call->object ? call->object : call->found;
    const struct vf_object *mr;

    if (inlined) {
        add(" sge=?:0:%u", (unsigned)sge->length);
        return;
    }
    mr = asking ? call->provider->region(asking, sge->lkey) : NULL;
    if (!mr)
        add(" sge=?:0:%u", (unsigned)sge->length);
    else
        add(" sge=%u:%lld:%u", (unsigned)mr->id,
            (long long)(sge->addr - mr->shadow.mr.address),
            (unsigned)sge->length);
}

static void entries(const struct vf_call *call, const struct ibv_sge *list,
                    int count, bool inlined)
{
    if (count > 0 && (!list || count > ENTRIES_MAX)) {
        add(" sges=%s:%d", list ? "many" : "NULL", count);
        return;
    }
    for (int i = 0; i < count; i++)
        entry(call, &list[i], inlined);
}

static bool is_atomic(enum ibv_wr_opcode opcode)
{
    return opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
           opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static void target(const struct vf_call *call, const struct ibv_send_wr *wr)
{
    const struct vf_object *qp = call->object;

    if (qp && qp->kind == VF_KIND_QP && qp->shadow.qp.type == IBV_QPT_UD) {
        add_object(call, "ah", wr->wr.ud.ah);
        add(" dqpn=%u qkey=%u", (unsigned)wr->wr.ud.remote_qpn,
            (unsigned)wr->wr.ud.remote_qkey);
    } else if (is_atomic(wr->opcode)) {
        add(" remote=0x%x:0x%llx", (unsigned)wr->wr.atomic.rkey,
            (unsigned long long)wr->wr.atomic.remote_addr);
    } else if (wr->opcode == IBV_WR_RDMA_WRITE ||
               wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM ||
               wr->opcode == IBV_WR_RDMA_READ) {
        add(" remote=0x%x:0x%llx", (unsigned)wr->wr.rdma.rkey,
            (unsigned long long)wr->wr.rdma.remote_addr);
    }
}

static void send_request(const struct vf_call *call,
                         const struct ibv_send_wr *wr)
{
    unsigned flags = wr->send_flags;

    add(" op=%d%s%s%s%s", (int)wr->opcode,
        flags & IBV_SEND_SIGNALED ? " signaled" : "",
        flags & IBV_SEND_SOLICITED ? " solicited" : "",
        flags & IBV_SEND_FENCE ? " fence" : "",
        flags & IBV_SEND_INLINE ? " inline" : "");
    entries(call, wr->sg_list, wr->num_sge, flags & IBV_SEND_INLINE);
    target(call, wr);
}

static void sends(const struct vf_call *call)
{
    const struct ibv_send_wr *wr = call->given;

    if (!wr)
        add(" NULL");
    for (int n = 0; wr && n < REQUESTS_MAX; n++, wr = wr->next) {
        if (n > 0)
            add(" next=0x%llx", (unsigned long long)wr->wr_id);
        send_request(call, wr);
    }
}

static void receives(const struct vf_call *call)
{
    const struct ibv_recv_wr *wr = call->given;

    if (!wr)
        add(" NULL");
    for (int n = 0; wr && n < REQUESTS_MAX; n++, wr = wr->next) {
        if (n > 0)
            add(" next=0x%llx", (unsigned long long)wr->wr_id);
        entries(call, wr->sg_list, wr->num_sge, false);
    }
}

/* A line shows the first ones only; in a detail, '/' stands for a space. */
static void more_completions(const struct vf_call *call)
{
    const struct ibv_wc *wc = call->out;
    char text[160];

    if (call->fault)
        return;
    for (int i = VF_RECORD_COMPLETIONS; i < call->record->completions; i++) {
        const struct vf_record_completion completion = {
            .wr_id = wc[i].wr_id,
            .length = wc[i].byte_len,
            .status = (uint8_t)wc[i].status,
            .opcode = (uint8_t)wc[i].opcode,
        };

        vf_completion_print(&completion, text, sizeof(text));
        for (char *at = text; *at; at++)
            if (*at == ' ')
                *at = '/';
        add(" also=%s", text);
    }
}

/* ---- the line --------------------------------------------------------------
 */

static void details(const struct vf_call *call)
{
    switch (call->verb) {
    case VF_VERB_get_device_list:
        device_list(call);
        break;
    case VF_VERB_reg_mr:
        region(call);
        break;
    case VF_VERB_create_cq:
        completion_queue(call);
        break;
    case VF_VERB_create_qp:
        queue_pair(call);
        break;
    case VF_VERB_modify_qp:
        attributes(call);
        break;
    case VF_VERB_create_ah:
        address_handle(call);
        break;
    case VF_VERB_create_srq:
        shared_queue(call);
        break;
    case VF_VERB_modify_srq:
        shared_attributes(call);
        break;
    case VF_VERB_post_send:
        sends(call);
        break;
    case VF_VERB_post_recv:
    case VF_VERB_post_srq_recv:
        receives(call);
        break;
    case VF_VERB_poll_cq:
        more_completions(call);
        break;
    case VF_VERB_get_cq_event:
        if (call->given)
            add_object(call, "cq", call->given);
        break;
    case VF_VERB_req_notify_cq:
        if (call->given)
            add(" solicited");
        break;
    default:
        answers(call);
        break;
    }
}

/* How the plan answered, for the same answer again. */
static void plan(const struct vf_fault *fault)
{
    enum vf_value kind = vf_effect_value(fault->effect);

    add(" planned=%s", vf_effect_name(fault->effect));
    if (kind == VF_VALUE_ERRNO && vf_errno_name(fault->value))
        add(":%s", vf_errno_name(fault->value));
    else if (kind != VF_VALUE_NONE)
        add(":%d", fault->value);
}

void vf_detail_tell(const struct vf_call *call)
{
    const struct vf_hooks *hooks = &call->world->hooks;
    size_t bare;

    vf_record_print(call->record, call->machine->number, line.text,
                    sizeof(line.text));
    line.used = strlen(line.text);
    add(" ;");
    bare = line.used;
    if (call->fault)
        plan(call->fault);
    if (call->record->handle != 2 || (call->fault && call->found))
        details(call);
    if (line.used == bare)
        line.text[bare - 2] = '\0';
    hooks->record(hooks->context, call->machine->number, line.text,
                  call->began);
}
