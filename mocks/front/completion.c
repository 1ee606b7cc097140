/*
 * The way of a completion from a provider into a completion queue, past the
 * plan.
 *
 * A device completes the requests of a work queue in their order. So what
 * comes behind a completion that is held back, of the same queue of the same
 * queue pair, waits with it; so it is for receives from a shared queue, whose
 * queue pairs do not wait for each other.
 */
#include <stdio.h>
#include <string.h>

#include "front/contract.h"

#define GARBAGE 0xa5
#define MILLISECOND INT64_C(1000000)

static int64_t now(const struct vf_world *world)
{
    return world->hooks.now ? world->hooks.now(world->hooks.context) : 0;
}

static void changed(const struct vf_machine *machine)
{
    const struct vf_hooks *hooks = &machine->world->hooks;

    if (hooks->changed)
        hooks->changed(hooks->context, machine->number);
}

/* A program makes room for its requests, not for what its device makes up. */
static bool is_full(struct vf_object *cq)
{
    if (cq->shadow.cq.held == 0)
        cq->shadow.cq.again = 0;
    return cq->shadow.cq.held >= cq->shadow.cq.room + cq->shadow.cq.again;
}

static void hand_over(struct vf_object *cq, const struct ibv_wc *wc)
{
    if (is_full(cq)) {
        cq->shadow.cq.overflow = true; /* the next poll tells */
        vf_async_object(cq, IBV_EVENT_CQ_ERR);
    } else {
        cq->shadow.cq.held++;
        cq->machine->world->provider->deliver(cq, wc);
    }
    changed(cq->machine);
}

/* The last one that is held back of a work queue; NULL: none is. */
static const struct vf_delayed *last_held(const struct vf_object *qp, bool recv)
{
    const struct vf_delayed *held = qp->machine->world->delayed;
    const struct vf_delayed *last = NULL;

    for (; held; held = held->next)
        if (held->qp == qp && held->qp_generation == qp->generation &&
            held->recv == recv && !held->overtaken)
            last = held;
    return last;
}

/* One on its way: of which work queue, into which completion queue. */
struct way {
    struct vf_object *qp, *cq;
    bool recv;
    bool again;     /* the device tells it a second time */
    bool overtaken; /* what comes behind it need not wait */
};

static void hold_back(const struct way *way, const struct ibv_wc *wc,
                      int64_t due)
{
    struct vf_world *world = way->cq->machine->world;
    struct vf_delayed **place = &world->delayed;
    struct vf_delayed *delayed =
        vf_pool_get(&world->registry, sizeof(*delayed));

    if (!delayed)
        return;
    delayed->due = due;
    delayed->cq = way->cq;
    delayed->cq_generation = way->cq->generation;
    delayed->qp = way->qp;
    delayed->qp_generation = way->qp->generation;
    delayed->recv = way->recv;
    delayed->again = way->again;
    delayed->overtaken = way->overtaken;
    delayed->wc = *wc;
    while (*place && (*place)->due <= due)
        place = &(*place)->next;
    delayed->next = *place;
    *place = delayed;
    if (world->provider->becomes_due)
        world->provider->becomes_due(world);
}

static void delay(const struct way *way, const struct ibv_wc *wc, int ms)
{
    const struct vf_delayed *before = last_held(way->qp, way->recv);
    int64_t due = now(way->qp->machine->world) + ms * MILLISECOND;

    hold_back(way, wc, before && before->due > due ? before->due : due);
}

static void deliver(struct vf_object *cq, const struct ibv_wc *wc, bool again)
{
    if (again)
        cq->shadow.cq.again++;
    hand_over(cq, wc);
}

/* To the program, or behind what it has to wait for. */
static void pass(const struct way *way, const struct ibv_wc *wc)
{
    const struct vf_delayed *before = NULL;

    if (way->qp->machine->world->delayed)
        before = last_held(way->qp, way->recv);
    if (before)
        hold_back(way, wc, before->due);
    else
        deliver(way->cq, wc, way->again);
}

static void garble(struct ibv_wc *wc)
{
    enum ibv_wc_status status = wc->status;

    memset(wc, GARBAGE, sizeof(*wc));
    wc->status = status;
}

static void spoil(struct ibv_wc *wc, int status)
{
    struct ibv_wc spoiled = {
        .wr_id = wc->wr_id,
        .status = (enum ibv_wc_status)status,
        .qp_num = wc->qp_num,
    };

    *wc = spoiled;
}

/* A planned completion leaves a line between the calls of its machine. */
static void tell(struct vf_object *qp, const struct ibv_wc *wc,
                 const struct vf_fault *fault)
{
    const struct vf_machine *machine = qp->machine;
    int status =
        fault->effect == VF_EFFECT_STATUS ? fault->value : (int)wc->status;
    const struct vf_hooks *hooks = &machine->world->hooks;
    struct vf_record record = {
        .verb = VF_VERB_completion,
        .number = machine->told + machine->waiting,
        .end = VF_RECORD_DONE,
        .handle = 1,
        .handle_id = qp->id,
        .args = {wc->wr_id, (uint64_t)status},
        .planned = true,
        .name = vf_effect_name(fault->effect),
    };
    char line[VF_LINE_MAX];

    if (!hooks->trace)
        return;
    vf_record_print(&record, machine->number, line, sizeof(line));
    hooks->trace(hooks->context, machine->number, line);
}

const struct vf_fault *vf_completion_next(struct vf_machine *machine)
{
    unsigned nth = machine->world->provider->count_completion(machine);

    machine->calls[VF_VERB_completion] = nth;
    return vf_plan_find(&machine->plan, VF_VERB_completion, nth);
}

bool vf_completion_fails(const struct vf_fault *fault)
{
    return fault && fault->effect == VF_EFFECT_STATUS &&
           fault->value != IBV_WC_SUCCESS;
}

static void fail(const struct way *way, struct ibv_wc *wc, int status)
{
    struct vf_object *qp = way->qp;

    spoil(wc, status);
    pass(way, wc);
    if (status == IBV_WC_SUCCESS)
        return;
    qp->shadow.qp.state = IBV_QPS_ERR;
    qp->machine->world->provider->fail_qp(qp);
}

static void apply(struct way *way, struct ibv_wc *wc,
                  const struct vf_fault *fault)
{
    struct vf_machine *machine = way->qp->machine;

    switch (fault->effect) {
    case VF_EFFECT_STATUS:
        fail(way, wc, fault->value);
        return;
    case VF_EFFECT_DROP:
        return;
    case VF_EFFECT_OVERTAKEN:
        way->overtaken = true;
        delay(way, wc, fault->value);
        return;
    case VF_EFFECT_DELAY:
        delay(way, wc, fault->value);
        return;
    case VF_EFFECT_DUPLICATE:
        pass(way, wc);
        way->again = true;
        break;
    case VF_EFFECT_GARBLED:
        garble(wc);
        break;
    case VF_EFFECT_UNPLUG:
        machine->world->provider->unplug(way->qp->device);
        break;
    default:
        break;
    }
    pass(way, wc);
}

void vf_completion(struct vf_object *qp, struct vf_object *cq,
                   const struct ibv_wc *generated, bool recv,
                   const struct vf_fault *fault)
{
    struct way way = {.qp = qp, .cq = cq, .recv = recv};
    struct ibv_wc wc = *generated;
    uint32_t freed = vf_contract_completed(qp, generated, recv);

    if (!fault) {
        pass(&way, &wc);
        return;
    }
    if (fault->effect == VF_EFFECT_DUPLICATE)
        vf_contract_told_again(qp, recv, freed);
    vf_plan_hit(qp->machine, fault);
    tell(qp, generated, fault);
    apply(&way, &wc, fault);
}

bool vf_completion_held(const struct vf_object *cq)
{
    const struct vf_delayed *held = cq->machine->world->delayed;

    while (held && (held->cq != cq || held->cq_generation != cq->generation))
        held = held->next;
    return held != NULL;
}

void vf_completion_forget(const struct vf_object *cq, uint32_t number)
{
    struct vf_world *world = cq->machine->world;
    struct vf_delayed **link = &world->delayed;

    while (*link) {
        struct vf_delayed *held = *link;

        if (held->cq != cq || held->wc.qp_num != number) {
            link = &held->next;
            continue;
        }
        *link = held->next;
        vf_pool_put(&world->registry, held, sizeof(*held));
    }
}

int64_t vf_world_advance(struct vf_world *world)
{
    int64_t next = -1;
    int64_t device;

    vf_world_lock(world);
    while (world->delayed && world->delayed->due <= now(world)) {
        struct vf_delayed *due = world->delayed;

        world->delayed = due->next;
        if (due->cq->live && due->cq->generation == due->cq_generation)
            deliver(due->cq, &due->wc, due->again);
        vf_pool_put(&world->registry, due, sizeof(*due));
    }
    if (world->delayed)
        next = world->delayed->due;
    device = world->provider->advance(world, now(world));
    if (device >= 0 && (next < 0 || device < next))
        next = device;
    vf_world_unlock(world);
    return next;
}
