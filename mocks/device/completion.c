/*
 * Completion queues of the library beneath, and the plan between it and its
 * program.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"

#define BATCH 16 /* completions that are taken at a time */

/* ---- held completions -------------------------------------------------------
 */

static int grow(struct device_held *held)
{
    uint32_t places = held->places ? 2 * held->places : BATCH;
    struct ibv_wc *ring = malloc(places * sizeof(ring[0]));

    if (!ring)
        return ENOMEM;
    for (uint32_t i = 0; i < held->count; i++)
        ring[i] = held->ring[(held->first + i) & (held->places - 1)];
    free(held->ring);
    held->ring = ring;
    held->places = places;
    held->first = 0;
    return 0;
}

static void hold(struct device_held *held, const struct ibv_wc *wc)
{
    if (held->count == held->places && grow(held) != 0)
        return;
    held->ring[(held->first + held->count++) & (held->places - 1)] = *wc;
}

bool device_next_held(struct device_cq *own, struct ibv_wc *wc)
{
    struct device_held *held = &own->held;

    if (held->count == 0)
        return false;
    *wc = held->ring[held->first];
    held->first = (held->first + 1) & (held->places - 1);
    held->count--;
    return true;
}

void device_deliver(struct vf_object *cq, const struct ibv_wc *wc)
{
    struct device_cq *own = cq->own;

    if (own)
        hold(&own->held, wc);
}

/* ---- one completion ---------------------------------------------------------
 */

uint32_t device_count_completion(struct vf_machine *machine)
{
    return machine->calls[VF_VERB_completion] + 1;
}

static bool has(const struct vf_posted_queue *queue, uint64_t wr_id)
{
    const struct vf_posted *posted = queue->first;

    while (posted && posted->wr_id != wr_id)
        posted = posted->next;
    return posted != NULL;
}

/* Of which queue is it? Of a failure the device tells no opcode. Where nothing
 * else tells, what is known of both queues is forgotten: better no finding than
 * a false one. */
static bool is_recv(struct vf_object *qp, const struct vf_object *cq,
                    const struct ibv_wc *wc)
{
    const struct vf_object *srq = qp->parent[3];
    bool sent, received;

    if (wc->status == IBV_WC_SUCCESS)
        return wc->opcode & IBV_WC_RECV;
    if (qp->parent[1] != qp->parent[2])
        return cq == qp->parent[2];
    sent = has(&qp->shadow.qp.send, wc->wr_id);
    received =
        has(srq ? &srq->shadow.srq.recv : &qp->shadow.qp.recv, wc->wr_id);
    if (sent == received)
        vf_contract_forget(qp);
    return received;
}

/* Without a queue pair to name, the completion queue stands for it. */
static void pass_fault(struct vf_object *qp, struct vf_object *cq,
                       const struct ibv_wc *wc)
{
    const struct vf_fault *fault = vf_completion_next(cq->machine);

    if (qp) {
        vf_completion(qp, cq, wc, is_recv(qp, cq, wc), fault);
    } else if (!fault || fault->effect != VF_EFFECT_DROP) {
        cq->shadow.cq.held++;
        device_deliver(cq, wc);
    }
}

void device_take(struct vf_object *cq, const struct ibv_wc *wc)
{
    struct vf_object *qp = device_numbered(cq, wc->qp_num);

    if (qp && qp->stranger)
        vf_contract_forget(qp);
    pass_fault(qp, cq, wc);
}

void device_note(struct vf_object *cq, const struct ibv_wc *wc)
{
    struct vf_object *qp = device_numbered(cq, wc->qp_num);

    cq->machine->calls[VF_VERB_completion]++;
    if (qp && !qp->stranger)
        vf_contract_completed(qp, wc, is_recv(qp, cq, wc));
}

/* ---- polling ----------------------------------------------------------------
 */

bool device_holds(struct vf_object *cq)
{
    struct vf_world *world = cq->machine->world;
    const struct device_cq *own = cq->own;

    if (world->delayed)
        vf_world_advance(world);
    return own->held.count > 0 ||
           vf_plan_has(&cq->machine->plan, VF_VERB_completion);
}

static int poll_real(const struct vf_object *cq, int room, struct ibv_wc *wc)
{
    const struct device_cq *own = cq->own;
    struct real_pause pause;
    int count;

    if (own->ex) { /* who stands in start_poll may have it locked */
        real_begin(cq->machine->world, &pause);
        count = own->context->ops.poll_cq(cq->handle, room, wc);
        real_end(&pause);
        return count;
    }
    real_enter();
    count = own->context->ops.poll_cq(cq->handle, room, wc);
    real_leave();
    return count;
}

/* The cable has gone: what the device still completes nobody hears of. */
static int lose(struct vf_object *cq)
{
    struct ibv_wc wc[BATCH];

    while (poll_real(cq, BATCH, wc) == BATCH)
        continue;
    return 0;
}

/* What the device has, past the plan, until there are as many as wanted. */
static int fill(struct vf_object *cq, uint32_t wanted)
{
    const struct device_cq *own = cq->own;
    struct ibv_wc wc[BATCH];

    while (own->held.count < wanted && !cq->device->state->unplugged) {
        uint32_t missing = wanted - own->held.count;
        int count = poll_real(cq, missing < BATCH ? (int)missing : BATCH, wc);

        if (count <= 0)
            return count;
        for (int i = 0; i < count; i++)
            device_take(cq, &wc[i]);
    }
    return 0;
}

static int poll_held(struct vf_object *cq, int room, struct ibv_wc *wc)
{
    struct device_cq *own = cq->own;
    int answer = fill(cq, (uint32_t)room);
    int count = 0;

    while (count < room && device_next_held(own, &wc[count]))
        count++;
    return count > 0 ? count : answer;
}

int device_poll_cq(struct vf_object *cq, int room, struct ibv_wc *wc)
{
    const struct device_cq *own = cq->own;
    int count;

    if (!own || !own->context)
        return -1;
    if (device_is_stepping(cq))
        return device_step(cq, wc);
    if (device_holds(cq))
        return poll_held(cq, room, wc);
    if (cq->device->state->unplugged)
        return lose(cq);
    count = poll_real(cq, room, wc);
    for (int i = 0; i < count; i++)
        device_note(cq, &wc[i]);
    if (count > 0)
        cq->shadow.cq.held += (uint32_t)count; /* the entry takes them off */
    return count;
}

/* ---- making -----------------------------------------------------------------
 */

int device_cq_own(struct vf_object *cq)
{
    struct ibv_cq *handle = cq->handle;
    struct device_cq *own = device_cq_of(handle);

    if (!own) {
        own = calloc(1, sizeof(*own));
        if (!own)
            return ENOMEM;
        own->context = device_context_of(handle->context);
        if (device_keep(DEVICE_CQS, handle, own) != 0) {
            free(own);
            return ENOMEM;
        }
    }
    cq->own = own;
    return 0;
}

static void disown(struct vf_object *cq)
{
    struct device_cq *own = cq->own;

    if (own)
        free(own->held.ring);
    free(own);
    cq->own = NULL;
}

int device_create_cq(struct vf_object *cq, int cqe, int vector)
{
    const struct ibv_cq *asked = cq->handle;
    struct real_pause pause;
    struct ibv_cq *made;
    int err;

    real_begin(cq->machine->world, &pause);
    made = real.ibv_create_cq(asked->context, cqe, asked->cq_context,
                              asked->channel, vector);
    err = real_missing(made);
    real_end(&pause);
    if (!made)
        return err;
    cq->handle = made;
    if (!pause.call)
        return 0;
    device_keep(DEVICE_CQS, made, NULL); /* of one that ended unseen */
    return device_cq_own(cq);
}

/* What is kept by its address goes before the address does: another thread may
 * be given it at once. */
int device_destroy_cq(struct vf_object *cq)
{
    struct real_pause pause;
    int err;

    device_keep(DEVICE_CQS, cq->handle, NULL);
    real_begin(cq->machine->world, &pause);
    err = real_error(real.ibv_destroy_cq(cq->handle));
    real_end(&pause);
    if (err && cq->own)
        device_keep(DEVICE_CQS, cq->handle, cq->own);
    else if (pause.call)
        disown(cq);
    return err;
}

int device_resize_cq(struct vf_object *cq, int cqe)
{
    struct real_pause pause;
    int err;

    real_begin(cq->machine->world, &pause);
    err = real_error(real.ibv_resize_cq(cq->handle, cqe));
    real_end(&pause);
    return err;
}

int device_req_notify_cq(struct vf_object *cq, int solicited_only)
{
    const struct device_cq *own = cq->own;
    struct real_pause pause;
    int err;

    if (!own || !own->context)
        return EOPNOTSUPP;
    real_begin(cq->machine->world, &pause);
    err =
        real_error(own->context->ops.req_notify_cq(cq->handle, solicited_only));
    real_end(&pause);
    return err;
}
