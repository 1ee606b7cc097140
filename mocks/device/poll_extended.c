/*
 * Completion queues with functions of their own.
 *
 * start_poll and next_poll are polls of one completion to plan and trace: the
 * wrapper makes such a poll, and the provider, which sees that this thread is
 * stepping, lets the library make its step. Where a plan may touch completions
 * the program reads from our copy, which then may be another than the one that
 * the library stands at (watched); else it reads the library's own.
 *
 * A driver may keep its queue locked from start_poll to end_poll, so no step is
 * made with the world locked.
 */
#include <errno.h>
#include <string.h>

#include "device/device.h"

struct step {
    struct ibv_cq_ex *cq;          /* NULL: this thread is not stepping */
    struct ibv_poll_cq_attr *attr; /* of start_poll; NULL: next_poll */
    int answer;                    /* the library's */
};
static _Thread_local struct step stepping REAL_THREAD;

bool device_is_stepping(const struct vf_object *cq)
{
    return stepping.cq && (void *)stepping.cq == cq->handle;
}

/* ---- the library's step -----------------------------------------------------
 */

/* 0: it stands at a completion. */
static int step_real(const struct vf_object *cq, struct device_cq *own,
                     bool first)
{
    struct ibv_poll_cq_attr none = {0};
    struct real_pause pause;
    int answer;

    real_begin(cq->machine->world, &pause);
    if (first || !own->standing)
        answer = own->real.start_poll(own->ex,
                                      stepping.attr ? stepping.attr : &none);
    else
        answer = own->real.next_poll(own->ex);
    real_end(&pause);
    if (answer == 0)
        own->standing = true;
    stepping.answer = answer;
    return answer;
}

static void end_real(struct device_cq *own)
{
    if (!own->standing)
        return;
    own->standing = false;
    real_enter();
    own->real.end_poll(own->ex);
    real_leave();
}

/* Reads a field that the program asked for; others a driver may not have. */
#define READ(flag, field)                                                      \
    do {                                                                       \
        if (own->fields & (flag) && own->real.read_##field)                    \
            wc->field = own->real.read_##field(own->ex);                       \
    } while (0)

/* The completion that the library stands at. */
static void read_all(const struct device_cq *own, struct ibv_wc *wc)
{
    memset(wc, 0, sizeof(*wc));
    wc->wr_id = own->ex->wr_id;
    wc->status = own->ex->status;
    READ(IBV_WC_EX_WITH_QP_NUM, qp_num);
    if (wc->status != IBV_WC_SUCCESS) {
        wc->vendor_err = own->real.read_vendor_err(own->ex);
        return;
    }
    wc->opcode = own->real.read_opcode(own->ex);
    wc->wc_flags = own->real.read_wc_flags(own->ex);
    READ(IBV_WC_EX_WITH_BYTE_LEN, byte_len);
    READ(IBV_WC_EX_WITH_IMM, imm_data);
    READ(IBV_WC_EX_WITH_SRC_QP, src_qp);
    READ(IBV_WC_EX_WITH_SLID, slid);
    READ(IBV_WC_EX_WITH_SL, sl);
    READ(IBV_WC_EX_WITH_DLID_PATH_BITS, dlid_path_bits);
}

/* Past the plan: whatever comes out of it first. */
static int step_past_plan(struct vf_object *cq, struct device_cq *own,
                          struct ibv_wc *wc)
{
    bool first = stepping.attr != NULL;
    int answer = 0;

    while (!device_next_held(own, wc)) {
        struct ibv_wc taken;

        answer = step_real(cq, own, first);
        if (answer != 0) {
            if (stepping.attr)
                end_real(own); /* the program has not started */
            return answer == ENOENT ? 0 : -1;
        }
        first = false;
        read_all(own, &taken);
        device_take(cq, &taken);
    }
    return 1;
}

int device_step(struct vf_object *cq, struct ibv_wc *wc)
{
    struct device_cq *own = cq->own;
    int answer;

    stepping.answer = ENOENT;
    if (cq->device->state->unplugged)
        return device_next_held(own, wc);
    if (own->watched && device_holds(cq))
        return step_past_plan(cq, own, wc);
    answer = step_real(cq, own, stepping.attr != NULL);
    if (answer != 0)
        return answer == ENOENT ? 0 : -1;
    read_all(own, wc);
    device_note(cq, wc);
    cq->shadow.cq.held++;
    return 1;
}

/* ---- what the program calls -------------------------------------------------
 */

static int poll_one(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
    struct device_cq *own = device_cq_of((struct ibv_cq *)cq);
    struct ibv_wc wc = own->wc; /* an unwritten one is the one before */
    int count, answer;

    stepping.cq = cq;
    stepping.attr = attr;
    stepping.answer = EIO;
    count = vf_poll_cq((struct ibv_cq *)cq, 1, &wc);
    answer = stepping.answer;
    stepping.cq = NULL;
    if (count == 0)
        return ENOENT;
    if (count < 0)
        return answer && answer != ENOENT ? answer : EIO;
    if (own->watched) {
        own->wc = wc;
        cq->status = wc.status;
        cq->wr_id = wc.wr_id;
    }
    return 0;
}

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
    return poll_one(cq, attr);
}

static int next_poll(struct ibv_cq_ex *cq)
{
    return poll_one(cq, NULL);
}

static void end_poll(struct ibv_cq_ex *cq)
{
    end_real(device_cq_of((struct ibv_cq *)cq));
}

#define READER(type, field)                                                    \
    static type read_##field(struct ibv_cq_ex *cq)                             \
    {                                                                          \
        return device_cq_of((struct ibv_cq *)cq)->wc.field;                    \
    }
READER(enum ibv_wc_opcode, opcode)
READER(uint32_t, vendor_err)
READER(uint32_t, byte_len)
READER(__be32, imm_data)
READER(uint32_t, qp_num)
READER(uint32_t, src_qp)
READER(unsigned int, wc_flags)
READER(uint32_t, slid)
READER(uint8_t, sl)
READER(uint8_t, dlid_path_bits)

/* ---- making -----------------------------------------------------------------
 */

#define WATCH(flag, field)                                                     \
    do {                                                                       \
        if (own->fields & (flag) && ex->read_##field)                          \
            ex->read_##field = read_##field;                                   \
    } while (0)

static void watch(const struct device_cq *own, struct ibv_cq_ex *ex)
{
    ex->end_poll = end_poll;
    ex->read_opcode = read_opcode;
    ex->read_vendor_err = read_vendor_err;
    ex->read_wc_flags = read_wc_flags;
    WATCH(IBV_WC_EX_WITH_BYTE_LEN, byte_len);
    WATCH(IBV_WC_EX_WITH_IMM, imm_data);
    WATCH(IBV_WC_EX_WITH_QP_NUM, qp_num);
    WATCH(IBV_WC_EX_WITH_SRC_QP, src_qp);
    WATCH(IBV_WC_EX_WITH_SLID, slid);
    WATCH(IBV_WC_EX_WITH_SL, sl);
    WATCH(IBV_WC_EX_WITH_DLID_PATH_BITS, dlid_path_bits);
}

static void wrap(struct vf_object *cq, struct ibv_cq_ex *ex, uint64_t fields)
{
    struct device_cq *own = cq->own;

    own->ex = ex;
    own->real = *ex;
    own->fields = fields;
    own->blind = !(fields & IBV_WC_EX_WITH_QP_NUM);
    own->watched = cq->machine->plan.count > 0;
    ex->start_poll = start_poll;
    ex->next_poll = next_poll;
    if (own->watched)
        watch(own, ex);
}

struct create_call {
    struct vf_call call;
    struct ibv_cq_init_attr_ex *attr;
    struct vf_object *channel;
};

static void create_contract(struct vf_call *call)
{
    struct create_call *create = (struct create_call *)call;

    if (create->attr->channel)
        create->channel =
            vf_contract_handle(call, create->attr->channel, VF_KIND_CHANNEL,
                               offsetof(struct ibv_comp_channel, fd));
}

static struct ibv_cq_ex *make(const struct vf_call *call,
                              struct ibv_cq_init_attr_ex *attr, int *err)
{
    struct ibv_context *context = call->object->handle;
    const struct device_context *kept = device_context_of(context);
    struct ibv_cq_ex *made;
    struct real_pause pause;

    if (!kept) {
        *err = EOPNOTSUPP;
        return NULL;
    }
    real_begin(call->world, &pause);
    made = kept->extended.create_cq_ex(context, attr);
    *err = real_missing(made);
    real_end(&pause);
    return made;
}

static void create_cq_ex(struct vf_call *call)
{
    struct create_call *create = (struct create_call *)call;
    struct vf_object *cq = vf_call_new(call, VF_KIND_CQ, call->object);
    struct ibv_cq_ex *made;
    int err = 0;

    if (!cq)
        return;
    made = make(call, create->attr, &err);
    cq->parent[1] = create->channel;
    if (made) {
        cq->handle = made;
        cq->shadow.cq.room = (uint32_t)made->cqe;
    }
    if (made && !call->straight) {
        device_keep(DEVICE_CQS, made, NULL);
        err = device_cq_own(cq);
        if (!err)
            wrap(cq, made, create->attr->wc_flags);
    }
    vf_call_made(call, cq, err);
}

struct ibv_cq_ex *device_create_cq_ex(struct ibv_context *context,
                                      struct ibv_cq_init_attr_ex *attr)
{
    struct create_call create = {
        .call =
            {
                .verb = VF_VERB_create_cq,
                .kind = VF_KIND_CONTEXT,
                .handle = context,
                .first_read = VF_CONTEXT_READ,
                .args = {attr->cqe},
            },
        .attr = attr,
    };

    vf_call_run(&create.call, create_contract, create_cq_ex);
    return vf_call_pointer(&create.call);
}
