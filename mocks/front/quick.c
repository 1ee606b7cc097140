#include "front/quick.h"

#include <errno.h>

#include "front/call.h"
#include "front/contract.h"

/* A call on this way. */
struct quick {
    struct vf_world *world;
    struct vf_machine *machine;
    struct vf_object *object;
    struct vf_record *record;
    enum vf_verb verb;
    unsigned nth;
};

static bool is_quick(const struct vf_world *world)
{
    const struct vf_hooks *hooks = &world->hooks;

    return hooks->threads && !hooks->step && !hooks->trace && !hooks->record &&
           !hooks->unchecked && !vf_coverage &&
           !world->provider->meet; /* that one has a way of its own */
}

/* True: the handle is a good one, no plan waits for the verb, and the world is
 * locked. */
static bool begin(struct quick *quick, enum vf_verb verb, enum vf_kind kind,
                  const void *handle)
{
    struct vf_world *world =
        atomic_load_explicit(&vf_installed_world, memory_order_acquire);
    struct vf_object *object;

    if (!world || !is_quick(world))
        return false;
    vf_world_lock(world);
    object = vf_registry_find(&world->registry, handle);
    if (!object || !vf_contract_usable(object, kind) ||
        vf_plan_has(&object->machine->plan, verb)) {
        vf_world_unlock(world);
        return false;
    }
    quick->world = world;
    quick->machine = object->machine;
    quick->object = object;
    quick->verb = verb;
    return true;
}

static bool give_up(const struct quick *quick)
{
    vf_world_unlock(quick->world);
    return false;
}

static void count(struct quick *quick)
{
    quick->machine->all_calls++;
    quick->nth = ++quick->machine->calls[quick->verb];
}

/* The call has a record from now on, with these arguments. */
static void enter(struct quick *quick, uint64_t first, uint64_t second,
                  uint64_t third)
{
    struct vf_record *record = vf_record_next(quick->machine, quick->verb);

    quick->machine->inside = quick->verb;
    record->handle = 1;
    record->handle_id = quick->object->id;
    record->args[0] = first;
    record->args[1] = second;
    record->args[2] = third;
    quick->record = record;
}

static void leave(const struct quick *quick)
{
    quick->machine->inside = VF_VERB_COUNT;
    quick->record->end = VF_RECORD_DONE;
}

/* What the posts of both kinds end with. */
static void end_post(const struct quick *quick, struct vf_posted_queue *queue,
                     int err)
{
    const struct vf_hooks *hooks = &quick->world->hooks;

    if (err)
        vf_contract_take_back(quick->object, queue);
    quick->record->err = err;
    leave(quick);
    if (err && hooks->refused)
        hooks->refused(hooks->context, quick->machine->number, quick->verb,
                       quick->nth, err);
    vf_world_unlock(quick->world);
    if (err)
        errno = err;
}

/* One request, which does not name more than one entry. */
static bool is_plain(const void *next, const struct ibv_sge *list, int count)
{
    return !next && (count == 0 || (count == 1 && list));
}

static bool is_plain_send(const struct ibv_send_wr *wr)
{
    return wr && is_plain(wr->next, wr->sg_list, wr->num_sge) &&
           (wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_SEND_WITH_IMM);
}

bool vf_quick_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
                        struct ibv_send_wr **bad_wr, int *answer)
{
    struct vf_plain plain;
    struct ibv_send_wr *bad = NULL;
    struct quick quick;

    if (!is_plain_send(wr) || !begin(&quick, VF_VERB_post_send, VF_KIND_QP, qp))
        return false;
    plain.wr_id = wr->wr_id;
    plain.entry = wr->num_sge ? wr->sg_list : NULL;
    plain.inlined = wr->send_flags & IBV_SEND_INLINE;
    plain.signaled = quick.object->shadow.qp.all_signaled ||
                     wr->send_flags & IBV_SEND_SIGNALED;
    if (!vf_contract_plain_send(quick.object, &plain))
        return give_up(&quick);
    count(&quick);
    enter(&quick, wr->wr_id, vf_plain_length(&plain), wr->opcode);
    *answer = quick.world->provider->post_send(quick.object, wr, &bad);
    end_post(&quick, &quick.object->shadow.qp.send, *answer);
    if (*answer && bad && bad_wr)
        *bad_wr = bad;
    return true;
}

bool vf_quick_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
                        struct ibv_recv_wr **bad_wr, int *answer)
{
    struct vf_plain plain;
    struct ibv_recv_wr *bad = NULL;
    struct quick quick;

    if (!wr || !is_plain(wr->next, wr->sg_list, wr->num_sge) ||
        !begin(&quick, VF_VERB_post_recv, VF_KIND_QP, qp))
        return false;
    plain.wr_id = wr->wr_id;
    plain.entry = wr->num_sge ? wr->sg_list : NULL;
    plain.inlined = false;
    plain.signaled = true;
    if (!vf_contract_plain_recv(quick.object, &plain))
        return give_up(&quick);
    count(&quick);
    enter(&quick, wr->wr_id, vf_plain_length(&plain), 0);
    *answer = quick.world->provider->post_recv(quick.object, wr, &bad);
    end_post(&quick, &quick.object->shadow.qp.recv, *answer);
    if (*answer && bad && bad_wr)
        *bad_wr = bad;
    return true;
}

/* Something is there, if perhaps nothing that the program shall see. */
static int poll(struct quick *quick, int room, struct ibv_wc *wc)
{
    struct vf_object *cq = quick->object;
    int found;

    enter(quick, (uint64_t)room, 0, 0);
    found = quick->world->provider->poll_cq(cq, room, wc);
    if (found > 0) {
        quick->record->result = found;
        vf_record_completions(quick->record, wc, found);
        cq->shadow.cq.held -= (uint32_t)found;
    } else {
        vf_record_give_back(quick->machine);
    }
    leave(quick);
    return found;
}

bool vf_quick_poll_cq(struct ibv_cq *cq, int room, struct ibv_wc *wc,
                      int *answer)
{
    const struct vf_hooks *hooks;
    struct quick quick;

    if (room <= 0 || !begin(&quick, VF_VERB_poll_cq, VF_KIND_CQ, cq))
        return false;
    if (quick.object->shadow.cq.overflow)
        return give_up(&quick);
    count(&quick);
    *answer = 0;
    if (!quick.world->provider->is_empty_cq(quick.object))
        *answer = poll(&quick, room, wc);
    vf_world_unlock(quick.world);
    hooks = &quick.world->hooks;
    if (*answer == 0 && hooks->empty)
        hooks->empty(hooks->context, quick.machine->number);
    return true;
}
