#include "mock/death.h"

#include "mock/hold.h"
#include "mock/mock.h"
#include "mock/os.h"
#include "mock/share.h"

static bool alive(void *context, unsigned holder)
{
    const struct room *room = context;
    pid_t pid = holder <= ROOM_PROCESSES
                    ? atomic_load(&room->processes[holder - 1].pid)
                    : 0;

    return pid != 0 && vf_os_alive(pid);
}

void death_watch(struct room_view *view)
{
    view->deaths.alive = alive;
    view->deaths.context = view->room;
}

struct vf_asker death_asker(struct vf_world *world, int64_t patience)
{
    struct room_view *view = world->view;
    struct vf_asker asker = {
        .self = view->self + 1,
        .deaths = &view->deaths,
        .patience = patience,
    };

    return asker;
}

/* Places and last entry, from the list itself. */
static void mend_queue(const struct room_view *view, struct room_queue *queue)
{
    uint32_t ref = queue->first;
    uint32_t most = queue->depth + 1;

    queue->last = 0;
    queue->slots = 0;
    for (; ref && most > 0; most--) {
        const struct room_work *work = mock_work(view, ref);

        queue->slots += work->slots;
        queue->last = ref;
        ref = work->next;
    }
}

/* Those with a deadline, in a list anew. */
static void mend_qps(struct vf_world *world)
{
    const struct room_view *view = world->view;
    struct room *room = view->room;

    room->waiting = 0;
    for (uint32_t i = 1; i <= room->tables[ROOM_QP].count; i++) {
        struct room_qp *qp = room_find(view, ROOM_QP, i);
        int64_t deadline = qp->deadline;

        if (!qp->object.live)
            continue;
        mend_queue(view, &qp->send);
        mend_queue(view, &qp->recv);
        qp->deadline = 0;
        qp->later = 0;
        qp->sooner = 0;
        expire_set(world, qp, deadline);
    }
    expire_mend(world);
}

static void mend_srqs(const struct room_view *view)
{
    for (uint32_t i = 1; i <= view->room->tables[ROOM_SRQ].count; i++) {
        struct room_srq *srq = room_find(view, ROOM_SRQ, i);
        uint32_t ref = srq->recv.first;

        if (!srq->object.live)
            continue;
        mend_queue(view, &srq->recv);
        for (srq->count = 0; ref && srq->count <= srq->recv.depth; srq->count++)
            ref = mock_work(view, ref)->next;
    }
}

/* A completion of which only the place was taken is none. The peer that copied
 * a message is no more. */
static void mend_ring(const struct room_view *view, struct room_cq *cq)
{
    struct room_completion *ring = room_at(view, cq->ring);
    uint32_t last = cq->tail - 1;
    uint32_t head = atomic_load(&cq->head);

    if (atomic_load(&ring[last & (cq->slots - 1)].turn) != cq->tail &&
        cq->tail != head)
        cq->tail = last;
    for (; cq->tail - head - 1 < cq->slots; head++)
        atomic_fetch_and(&ring[head & (cq->slots - 1)].work, ~MOCK_WORK_PEER);
}

/* The dead one may have owed an event: one too many does no harm. */
static void mend_cqs(const struct room_view *view)
{
    for (uint32_t i = 1; i <= view->room->tables[ROOM_CQ].count; i++) {
        struct room_cq *cq = room_find(view, ROOM_CQ, i);

        if (!cq->object.live || !cq->ring)
            continue;
        mend_ring(view, cq);
        if (cq->armed && cq->tail != atomic_load(&cq->head)) {
            cq->armed = 0;
            cq->event = 1;
        }
    }
}

/* The list of free places. */
static void mend_table(const struct room_view *view, enum room_kind kind)
{
    struct room_table *table = &view->room->tables[kind];
    uint32_t index = table->first_free;

    table->last_free = 0;
    table->free = 0;
    while (index && table->free < table->count) {
        table->last_free = index;
        table->free++;
        index = ((struct room_object *)room_find(view, kind, index))->next;
    }
}

/* The ways back: a list is what its first one and the ways forth say. */
static void mend_lists(const struct room_view *view, enum room_kind kind)
{
    for (uint32_t i = 0; i < ROOM_PROCESSES; i++) {
        struct room_process *process = &view->room->processes[i];
        uint32_t previous = 0;
        struct room_object *object =
            room_find(view, kind, process->objects[kind]);

        for (; object; object = room_find(view, kind, object->next)) {
            object->previous = previous;
            previous = object->index;
        }
    }
}

static struct vf_device_state *state_of(struct room *room,
                                        const struct room_object *object)
{
    return &room->machines[object->machine].devices[object->device];
}

static void count_objects(const struct room_view *view,
                          const struct room_process *process)
{
    const struct room_object *object;

    for (object = room_find(view, ROOM_QP, process->objects[ROOM_QP]); object;
         object = room_find(view, ROOM_QP, object->next))
        state_of(view->room, object)->qps++;
    for (object = room_find(view, ROOM_REGION, process->objects[ROOM_REGION]);
         object; object = room_find(view, ROOM_REGION, object->next))
        if (!((const struct room_region *)object)->window)
            state_of(view->room, object)->mrs++;
}

/* What is in use of each device, from what the processes have. */
static void mend_counts(const struct room_view *view)
{
    struct room *room = view->room;

    for (int i = 0; i < VF_MACHINE_MAX; i++)
        for (int j = 0; j < VF_DEVICE_MAX; j++) {
            room->machines[i].devices[j].qps = 0;
            room->machines[i].devices[j].mrs = 0;
            room->machines[i].devices[j].pds = 0;
        }
    for (uint32_t i = 0; i < ROOM_PROCESSES; i++) {
        const struct room_process *process = &room->processes[i];

        if (process->machine >= VF_MACHINE_MAX)
            continue;
        for (int j = 0; j < VF_DEVICE_MAX; j++)
            room->machines[process->machine].devices[j].pds += process->pds[j];
        count_objects(view, process);
    }
}

static void wake_all(struct vf_world *world)
{
    for (uint32_t i = 0; i < ROOM_PROCESSES; i++)
        if (atomic_load(&world->view->room->processes[i].pid))
            notice_ring(world, i);
}

/* What the dead held is given back at its burial, and not here: who comes here
 * may be in the middle of a message of its own. */
void death_found(struct vf_world *world)
{
    const struct room_view *view = world->view;

    for (int kind = 0; kind < ROOM_KINDS; kind++) {
        mend_table(view, (enum room_kind)kind);
        mend_lists(view, (enum room_kind)kind);
    }
    mend_cqs(view);
    mend_qps(world);
    mend_srqs(view);
    mend_counts(view);
    hold_mend(world);
    wake_all(world);
}

/* What it moved, nobody moves now. */
static void leave_moves(struct vf_world *world, uint32_t process)
{
    const struct room_view *view = world->view;

    for (uint32_t i = 1; i <= view->room->tables[ROOM_QP].count; i++) {
        struct room_qp *qp = room_find(view, ROOM_QP, i);

        if (qp->object.live && qp->moving == process + 1)
            qp->moving = 0;
    }
}

static void drop_qps(struct vf_world *world, struct room_process *process)
{
    struct room_qp *qp;

    while (process->objects[ROOM_QP]) {
        qp = room_find(world->view, ROOM_QP, process->objects[ROOM_QP]);
        mock_drop_qp(world, qp);
    }
}

static void drop_regions(struct vf_world *world, struct room_process *process)
{
    struct room_region *region;

    while (process->objects[ROOM_REGION]) {
        region =
            room_find(world->view, ROOM_REGION, process->objects[ROOM_REGION]);
        if (region->window)
            mock_unbind(world, region);
        else
            mock_device(world, &region->object)->state->mrs--;
        room_free(world, &region->object);
    }
}

/* Messages that wait for the dead one. */
static void drop_arrivals(struct vf_world *world, const struct room_cq *cq)
{
    struct room_completion *ring = room_at(world->view, cq->ring);
    uint32_t head = atomic_load(&cq->head);

    for (; cq->tail - head - 1 < cq->slots; head++) {
        uint32_t work = atomic_load(&ring[head & (cq->slots - 1)].work);

        mock_drop_work(world, work & ~MOCK_WORK_TAKEN);
    }
}

static void drop_rest(struct vf_world *world, struct room_process *process)
{
    struct room_view *view = world->view;

    while (process->objects[ROOM_SRQ]) {
        struct room_srq *srq =
            room_find(view, ROOM_SRQ, process->objects[ROOM_SRQ]);

        mock_empty(view, &srq->recv);
        room_free(world, &srq->object);
    }
    while (process->objects[ROOM_CQ]) {
        struct room_cq *cq =
            room_find(view, ROOM_CQ, process->objects[ROOM_CQ]);

        if (cq->ring)
            drop_arrivals(world, cq);
        mock_drop_ring(view, cq);
        room_free(world, &cq->object);
    }
}

static void drop_domains(struct vf_world *world, struct room_process *process)
{
    struct vf_machine *machine;

    if (process->machine >= world->machine_count)
        return; /* it only watched */
    machine = &world->machines[process->machine];
    for (int i = 0; i < machine->device_count; i++) {
        struct vf_device *device = &machine->devices[i];

        device->state->pds -= process->pds[i];
        if (device->setup.profile->death_keeps_pd)
            device->state->kept_pds += process->pds[i];
        process->pds[i] = 0;
    }
}

/* No lock may name a place that has a new process. What the dead one asked a
 * porter for, it may not have told it: the porter looks (mock/porter.c). */
static void leave_locks(struct vf_world *world, uint32_t dead)
{
    struct room *room = world->view->room;
    struct vf_lock *reports = &share_of(world)->report_lock;
    unsigned self = world->view->self + 1;

    for (uint32_t i = 0; i < ROOM_PROCESSES; i++) {
        struct vf_mailbox *box = &room->processes[i].mailbox;

        if (!vf_lock_take_from(&box->lock, dead + 1, self))
            continue;
        vf_os_wake(&box->asked);
        vf_lock_give(&box->lock, self);
    }
    if (vf_lock_take_from(reports, dead + 1, self))
        vf_lock_give(reports, self);
}

static void let_go(struct vf_world *world, uint32_t number)
{
    hold_bury(world, number);
    leave_moves(world, number);
    hold_put_back(world, number);
}

static bool is_dead(const struct vf_world *world, uint32_t number)
{
    pid_t pid = atomic_load(&world->view->room->processes[number].pid);

    return pid && number != world->view->self && !vf_os_alive(pid);
}

void death_let_go(struct vf_world *world)
{
    for (uint32_t i = 0; i < ROOM_PROCESSES; i++)
        if (is_dead(world, i))
            let_go(world, i);
}

void death_release(struct vf_world *world, uint32_t number)
{
    struct room_process *process = &world->view->room->processes[number];

    let_go(world, number);
    drop_qps(world, process);
    drop_regions(world, process);
    drop_rest(world, process);
    drop_domains(world, process);
}

void death_bury(struct vf_world *world, uint32_t number)
{
    struct room_process *process = &world->view->room->processes[number];

    death_release(world, number);
    room_inherit(world->view, number);
    leave_locks(world, number);
    process->event_head = process->event_tail;
    process->copies_refused = false;
    atomic_store(&process->underway, 0);
    process->reached = false;
    atomic_store(&process->asleep, 0);
    if (number != world->view->self)
        atomic_store(&process->pid, 0);
}

unsigned death_sweep(struct vf_world *world)
{
    unsigned found = 0;

    room_enter(world);
    for (uint32_t i = 0; i < ROOM_PROCESSES; i++) {
        if (!is_dead(world, i))
            continue;
        death_bury(world, i);
        found++;
    }
    room_leave(world);
    return found;
}
