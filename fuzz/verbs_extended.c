/*
 * Polling one completion at a time; the verbs that no device of the mock has;
 * the functions that only turn numbers into words and back.
 */
#include "fuzz/verbs_stage.h"

#include <string.h>

#include "front/handles.h"

/* In no header that is installed. */
int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);

static void read_fields(struct ibv_cq_ex *cq, struct ibv_wc *wc)
{
    wc->wr_id = cq->wr_id;
    wc->status = cq->status;
    wc->opcode = ibv_wc_read_opcode(cq);
    wc->vendor_err = ibv_wc_read_vendor_err(cq);
    wc->wc_flags = ibv_wc_read_wc_flags(cq);
    if (cq->read_byte_len)
        wc->byte_len = ibv_wc_read_byte_len(cq);
    if (cq->read_imm_data)
        wc->imm_data = ibv_wc_read_imm_data(cq);
    if (cq->read_qp_num)
        wc->qp_num = ibv_wc_read_qp_num(cq);
    if (cq->read_src_qp)
        wc->src_qp = ibv_wc_read_src_qp(cq);
    if (cq->read_slid)
        wc->slid = (uint16_t)ibv_wc_read_slid(cq);
    if (cq->read_sl)
        wc->sl = ibv_wc_read_sl(cq);
    if (cq->read_dlid_path_bits)
        wc->dlid_path_bits = ibv_wc_read_dlid_path_bits(cq);
}

/* cq, how many at most (0: 4), mask, 1: not ended */
static void poll_cq_ex(void)
{
    struct ibv_cq_ex *cq = stage_next_handle(VF_KIND_CQ);
    uint32_t most = stage_next_or(4) % 64;
    struct ibv_poll_cq_attr *attr = stage_block(sizeof(*attr));
    uint32_t taken = 0;
    int err;

    attr->comp_mask = stage_next();
    stage_seal(attr);
    if (!stage_is_usable(cq, VF_KIND_CQ) ||
        !((struct vf_cq_handle *)cq)->extended)
        return;
    err = ibv_start_poll(cq, attr);
    while (err == 0) {
        struct ibv_wc wc;

        memset(&wc, 0, sizeof(wc));
        read_fields(cq, &wc);
        stage_completed(cq, &wc);
        if (++taken >= most)
            break;
        err = ibv_next_poll(cq);
    }
    if (taken > 0 && !stage_next())
        ibv_end_poll(cq);
}

/* ---- what no device has ---- */

static void context_s(struct ibv_context *context)
{
    struct ibv_xrcd_init_attr xrcd = {.comp_mask = 0};
    struct ibv_srq_init_attr_ex srq = {.comp_mask = 0};
    struct ibv_td_init_attr td = {.comp_mask = 0};
    struct ibv_parent_domain_init_attr domain = {.comp_mask = 0};
    struct ibv_alloc_dm_attr dm = {.length = 64};
    struct ibv_values_ex values = {.comp_mask = 1};
    struct ibv_wq_init_attr wq = {.comp_mask = 0};
    struct ibv_rwq_ind_table_init_attr table = {.comp_mask = 0};
    struct ibv_counters_init_attr counters = {.comp_mask = 0};
    struct ibv_qp_open_attr open = {.comp_mask = 0};
    struct ibv_flow_action_esp_attr esp;
    bool any = false;

    memset(&esp, 0, sizeof(esp));
    any = ibv_open_xrcd(context, &xrcd) || any;
    any = ibv_create_srq_ex(context, &srq) || any;
    any = ibv_alloc_td(context, &td) || any;
    any = ibv_alloc_parent_domain(context, &domain) || any;
    any = ibv_alloc_dm(context, &dm) || any;
    any = ibv_query_rt_values_ex(context, &values) == 0 || any;
    any = ibv_create_wq(context, &wq) || any;
    any = ibv_create_rwq_ind_table(context, &table) || any;
    any = ibv_create_counters(context, &counters) || any;
    any = ibv_open_qp(context, &open) || any;
    any = ibv_create_flow_action_esp(context, &esp) || any;
    if (any)
        stage_broken("a device has what it has not");
}

static void pd_s(struct ibv_pd *pd, struct ibv_context *context)
{
    struct ibv_sge sge = {0, 0, 0};
    bool any = false;

    any = ibv_alloc_null_mr(pd) || any;
    any = ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1) == 0 ||
          any;
    any = ibv_reg_dmabuf_mr(pd, 0, 64, 0, 0, 0) || any;
    any = ibv_import_mr(pd, 1) || any;
    any = ibv_import_pd(context, 1) || any;
    any = ibv_import_dm(context, 1) || any;
    any = ibv_import_device(-1) || any;
    if (any)
        stage_broken("a device has what it has not");
}

static void qp_s(struct ibv_qp *qp)
{
    struct ibv_flow_attr flow = {.comp_mask = 0};
    struct ibv_qp_rate_limit_attr rate = {.comp_mask = 0};
    struct ibv_ece ece = {0, 0, 0};
    bool any = false;

    any = ibv_create_flow(qp, &flow) || any;
    any = ibv_modify_qp_rate_limit(qp, &rate) == 0 || any;
    any = ibv_set_ece(qp, &ece) == 0 || any;
    any = ibv_query_ece(qp, &ece) == 0 || any;
    any = ibv_query_qp_data_in_order(qp, IBV_WR_SEND, 0) != 0 || any;
    if (any)
        stage_broken("a device has what it has not");
}

static void queues_s(struct ibv_cq *cq, struct ibv_srq *srq)
{
    struct ibv_modify_cq_attr modify = {.attr_mask = 0};
    struct ibv_ops_wr ops = {.wr_id = 1};
    struct ibv_ops_wr *bad = NULL;
    uint32_t number;

    if (stage_is_usable(cq, VF_KIND_CQ) && ibv_modify_cq(cq, &modify) == 0)
        stage_broken("a completion queue was modified");
    if (stage_is_usable(srq, VF_KIND_SRQ) &&
        (ibv_get_srq_num(srq, &number) == 0 ||
         ibv_post_srq_ops(srq, &ops, &bad) == 0))
        stage_broken("a shared receive queue has what it has not");
}

/* context, pd, qp, cq, srq: what is live is asked for what it cannot do */
static void unsupported(void)
{
    struct ibv_context *context = stage_next_handle(VF_KIND_CONTEXT);
    struct ibv_pd *pd = stage_next_handle(VF_KIND_PD);
    struct ibv_qp *qp = stage_next_handle(VF_KIND_QP);
    struct ibv_cq *cq = stage_next_handle(VF_KIND_CQ);

    if (stage_is_usable(context, VF_KIND_CONTEXT))
        context_s(context);
    if (stage_is_usable(pd, VF_KIND_PD))
        pd_s(pd, pd->context);
    if (stage_is_usable(qp, VF_KIND_QP))
        qp_s(qp);
    queues_s(cq, stage_next_handle(VF_KIND_SRQ));
}

static void check_rate(enum ibv_rate rate)
{
    int multiple = ibv_rate_to_mult(rate);
    int megabits = ibv_rate_to_mbps(rate);

    if ((multiple > 0 && mult_to_ibv_rate(multiple) != rate) ||
        (megabits > 0 && mbps_to_ibv_rate(megabits) != rate))
        stage_broken("rate %d becomes another one", (int)rate);
}

/* a number */
static void words(void)
{
    int number = (int)stage_next();
    struct ibv_ah_attr *attr = stage_block(sizeof(*attr));
    uint16_t *vlan = stage_block(sizeof(*vlan));
    uint8_t *mac = stage_block(ETHERNET_LL_SIZE);

    attr->grh.dgid = stage_gid(0, (uint32_t)number);
    ibv_resolve_eth_l2_from_gid(NULL, attr, mac, number & 2 ? NULL : vlan);
    ibv_wc_status_str((enum ibv_wc_status)number);
    ibv_node_type_str((enum ibv_node_type)number);
    ibv_port_state_str((enum ibv_port_state)number);
    ibv_event_type_str((enum ibv_event_type)number);
    check_rate((enum ibv_rate)number);
    check_rate(mult_to_ibv_rate(number));
    check_rate(mbps_to_ibv_rate(number));
    ibv_fork_init();
    ibv_is_fork_initialized();
    ibv_dontfork_range(attr, sizeof(*attr));
    ibv_dofork_range(attr, sizeof(*attr));
}

bool verbs_extended(enum verbs_name name)
{
    switch (name) {
    case VERBS_poll_cq_ex:
        poll_cq_ex();
        return true;
    case VERBS_unsupported:
        unsupported();
        return true;
    case VERBS_words:
        words();
        return true;
    default:
        return false;
    }
}
