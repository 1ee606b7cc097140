#include <errno.h>
#include <string.h>

#include "front/contract.h"
#include "mock/mock.h"
#include "mock/os.h"

static int granted(const struct vf_profile *profile, int cqe)
{
    int places = profile->depth_round ? 1 : cqe;

    while (places < cqe)
        places = places * 2 + 1;
    return places;
}

/* A ring for so many completions, with nothing in it; 0: out of memory. */
static uint32_t new_ring(struct room_view *view, uint32_t cqe, uint32_t *slots)
{
    uint32_t ring;
    size_t size;

    for (*slots = 1; *slots < cqe;)
        *slots *= 2;
    size = *slots * sizeof(struct room_completion);
    ring = room_get(view, size);
    if (ring)
        memset(room_at(view, ring), 0, size);
    return ring;
}

/* The ring of a shared room's queue; a private one needs none. The queue is
 * empty. It has no ring until all that is said of the ring is true: who dies
 * in between leaves a queue that takes nothing (mock/death.h). */
static bool exchange_ring(struct room_view *view, struct room_cq *cq,
                          uint32_t cqe)
{
    uint32_t slots, ring;

    if (!view->shared) {
        cq->cqe = cqe;
        return true;
    }
    ring = new_ring(view, cqe, &slots);
    if (!ring)
        return false;
    mock_drop_ring(view, cq);
    cq->cqe = cqe;
    cq->slots = slots;
    cq->tail = 0;
    cq->known = 0;
    atomic_store_explicit(&cq->head, 0, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
    cq->ring = ring;
    return true;
}

void mock_drop_ring(struct room_view *view, struct room_cq *cq)
{
    uint32_t ring = cq->ring;

    cq->ring = 0; /* first: nothing is given back twice */
    atomic_signal_fence(memory_order_seq_cst);
    if (ring)
        room_put(view, ring, cq->slots * sizeof(struct room_completion));
}

int mock_create_cq(struct vf_object *object, int cqe, int vector)
{
    const struct vf_profile *profile = object->device->setup.profile;
    struct vf_world *world = object->machine->world;
    struct mock_cq *cq = object->handle;
    bool done = false;

    if (cqe <= 0 || (uint32_t)cqe > profile->max_cqe || vector != 0)
        return EINVAL;
    cq->handle.ex.cqe = granted(profile, cqe);
    room_enter(world);
    cq->room = room_new(world, ROOM_CQ, object);
    if (cq->room) {
        done =
            exchange_ring(world->view, cq->room, (uint32_t)cq->handle.ex.cqe);
        if (!done)
            room_free(world, &cq->room->object);
    }
    room_leave(world);
    return done ? 0 : ENOMEM;
}

static struct mock_completion *take(struct mock_cq *cq)
{
    struct mock_completion *first = cq->first;

    cq->first = first->next;
    if (!cq->first)
        cq->last = NULL;
    return first;
}

void mock_release_cq(struct vf_object *object)
{
    struct vf_world *world = object->machine->world;
    struct mock_cq *cq = object->handle;

    mock_harvest(object);
    while (cq->first)
        vf_pool_put(&world->registry, take(cq), sizeof(struct mock_completion));
    for (; cq->events > 0; cq->events--)
        vf_channel_forget(object->parent[1]);
    room_enter(world);
    mock_drop_ring(world->view, cq->room);
    room_free(world, &cq->room->object);
    room_leave(world);
}

int mock_destroy_cq(struct vf_object *object)
{
    if (object->children > 0)
        return EBUSY;
    mock_release_cq(object);
    return 0;
}

/* The next entry of the ring that is written; NULL: there is none. */
static struct room_completion *arrived(const struct room_view *view,
                                       const struct room_cq *cq, uint32_t head)
{
    struct room_completion *entry =
        (struct room_completion *)room_at(view, cq->ring) +
        (head & (cq->slots - 1));

    __builtin_prefetch(entry->bytes); /* they are written before the turn */
    if (atomic_load_explicit(&entry->turn, memory_order_acquire) != head + 1)
        return NULL;
    return entry;
}

/* Its queue pair's handle, if that is still there. */
static struct vf_object *owner_of(struct vf_world *world,
                                  const struct room_completion *entry,
                                  struct room_qp **qp)
{
    *qp = room_find(world->view, ROOM_QP, entry->qp);
    if (!*qp || !(*qp)->object.live || !mock_is_ours(world, &(*qp)->object) ||
        (uint8_t)(*qp)->object.generation != entry->generation) {
        *qp = NULL;
        return NULL;
    }
    return mock_owner(&(*qp)->object);
}

/* The bytes of a message that waits: a peer may be at it (remote.c), unless it
 * cannot reach them. Then the entry is left as it is, for its cache line is the
 * peer's; the work to be dropped once the entry is taken off the ring, or 0. */
static uint32_t unpack(struct vf_world *world, struct room_completion *entry)
{
    uint32_t work = atomic_load_explicit(&entry->work, memory_order_acquire);

    if (work && entry->about & ROOM_UNREACHED) {
        mock_unpack_bytes(world, entry, work);
        vf_os_want(mock_work(world->view, work)); /* now that it is read */
        return work;
    }
    while (work) {
        if (!(work & MOCK_WORK_TAKEN) &&
            atomic_compare_exchange_weak_explicit(
                &entry->work, &work, work | MOCK_WORK_OWNER,
                memory_order_acquire, memory_order_acquire)) {
            mock_unpack(world, entry, work);
            return 0;
        }
        vf_os_pause();
        work = atomic_load_explicit(&entry->work, memory_order_acquire);
    }
    return 0;
}

static void account(struct vf_object *cq, struct vf_object *owner,
                    const struct room_completion *entry)
{
    cq->shadow.cq.held++;
    if (owner)
        vf_contract_completed(owner, &entry->wc, entry->about & ROOM_OF_RECV);
}

/* A program that has received a message often answers it. What a peer has
 * written last takes its time to come here: it is asked for now. */
static void look_ahead(const struct room_view *view,
                       const struct vf_object *owner, const struct room_qp *qp)
{
    const struct mock_ahead *ahead = &((struct mock_qp *)owner->handle)->ahead;

    if (!ahead->completion)
        return;
    vf_os_want(&view->room->lock);
    vf_os_want(&qp->recv);
    vf_os_want(ahead->receives);
    vf_os_want(ahead->completion->bytes);
    __builtin_prefetch(ahead->receive);
}

/* Straight to the program when nothing is planned for it. True: wc is it. */
static bool take_arrived(struct vf_object *object, struct ibv_wc *wc)
{
    struct vf_world *world = object->machine->world;
    struct room_cq *cq = ((struct mock_cq *)object->handle)->room;
    uint32_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
    struct room_completion *entry = arrived(world->view, cq, head);
    struct vf_object *owner;
    struct room_qp *qp;
    uint32_t work;

    if (!entry || ((entry->fault || world->delayed) && wc))
        return false;
    owner = owner_of(world, entry, &qp);
    if (owner && entry->about & ROOM_OF_RECV)
        look_ahead(world->view, owner, qp);
    work = unpack(world, entry);
    if (wc) {
        account(object, owner, entry);
        *wc = entry->wc;
        wc->wc_flags &= ~MOCK_WC_SOLICITED;
    } else if (owner) {
        const struct vf_plan *plan = &owner->machine->plan;

        vf_completion(owner, object, &entry->wc, entry->about & ROOM_OF_RECV,
                      entry->fault ? &plan->faults[entry->fault - 1] : NULL);
    } else {
        object->shadow.cq.held++;
        mock_deliver(object, &entry->wc);
    }
    atomic_store_explicit(&cq->head, head + 1, memory_order_release);
    mock_drop_work_later(world, work);
    return true;
}

void mock_harvest(struct vf_object *object)
{
    if (!object->machine->world->view->shared)
        return;
    while (take_arrived(object, NULL))
        continue;
}

/* Enters the room when nothing is in the ring any more. A planned completion
 * may want the room itself. */
static void enter_harvested(struct vf_object *object)
{
    struct vf_world *world = object->machine->world;
    const struct room_cq *cq = ((struct mock_cq *)object->handle)->room;

    for (;;) {
        mock_harvest(object);
        room_enter(world);
        if (cq->tail == atomic_load_explicit(&cq->head, memory_order_relaxed))
            return;
        room_leave(world);
    }
}

static uint32_t signaled_sends(const struct room_view *view,
                               const struct room_qp *qp)
{
    uint32_t count = 0;

    for (uint32_t i = qp->send.first; i; i = mock_work(view, i)->next)
        if (qp->all_signaled || mock_work(view, i)->flags & IBV_SEND_SIGNALED)
            count++;
    return count;
}

/* Completions of sends that wait: they come even if nothing more is posted. */
static uint32_t waiting_sends(const struct vf_object *cq)
{
    const struct room_view *view = cq->machine->world->view;
    const struct room_cq *room = ((struct mock_cq *)cq->handle)->room;
    uint32_t index = view->room->processes[view->self].objects[ROOM_QP];
    uint32_t count = 0;

    while (index) {
        const struct room_qp *qp = room_find(view, ROOM_QP, index);

        if (qp->send_cq == room->object.index)
            count += signaled_sends(view, qp);
        index = qp->object.next;
    }
    return count;
}

/* What has arrived is in the handle's own list when the ring is exchanged. */
int mock_resize_cq(struct vf_object *object, int cqe)
{
    const struct vf_profile *profile = object->device->setup.profile;
    struct vf_world *world = object->machine->world;
    struct mock_cq *cq = object->handle;
    bool done;

    if (cqe <= 0 || (uint32_t)cqe > profile->max_cqe)
        return EINVAL;
    enter_harvested(object);
    if ((uint32_t)cqe < object->shadow.cq.held + waiting_sends(object)) {
        room_leave(world);
        return EINVAL;
    }
    done =
        exchange_ring(world->view, cq->room, (uint32_t)granted(profile, cqe));
    if (done)
        cq->handle.ex.cqe = (int)cq->room->cqe;
    room_leave(world);
    return done ? 0 : ENOMEM;
}

void mock_drop_completions(struct vf_object *object, uint32_t number)
{
    struct vf_world *world = object->machine->world;
    struct mock_cq *cq = object->handle;
    struct mock_completion **link = &cq->first;

    mock_harvest(object);
    vf_completion_forget(object, number);
    cq->last = NULL;
    while (*link) {
        struct mock_completion *completion = *link;

        if (completion->wc.qp_num != number) {
            cq->last = completion;
            link = &completion->next;
            continue;
        }
        *link = completion->next;
        object->shadow.cq.held--;
        vf_pool_put(&world->registry, completion, sizeof(*completion));
    }
}

/* The room has lost completions: the contract shall say so. */
static void note_lost(struct vf_object *object)
{
    struct room_cq *cq = ((struct mock_cq *)object->handle)->room;

    if (cq->lost == 0)
        return;
    cq->lost = 0;
    object->shadow.cq.overflow = true;
}

int mock_poll_cq(struct vf_object *object, int room, struct ibv_wc *wc)
{
    struct vf_world *world = object->machine->world;
    struct mock_cq *cq = object->handle;
    int count = 0;

    do {
        while (count < room && cq->first) {
            struct mock_completion *first = take(cq);

            wc[count++] = first->wc;
            vf_pool_put(&world->registry, first, sizeof(*first));
        }
        if (!world->view->shared)
            return count;
        while (count < room && take_arrived(object, &wc[count]))
            count++;
        /* One with a fault is next, or behind one: through the list. */
    } while (count < room && take_arrived(object, NULL));
    note_lost(object);
    return count;
}

bool mock_is_empty_cq(const struct vf_object *object)
{
    const struct room_view *view = object->machine->world->view;
    const struct mock_cq *cq = object->handle;
    uint32_t head;

    if (cq->first || cq->room->lost != 0)
        return false;
    if (!view->shared)
        return true;
    head = atomic_load_explicit(&cq->room->head, memory_order_relaxed);
    return !arrived(view, cq->room, head);
}

int mock_req_notify_cq(struct vf_object *object, int solicited_only)
{
    struct vf_world *world = object->machine->world;
    struct room_cq *cq = ((struct mock_cq *)object->handle)->room;

    room_enter(world);
    if (cq->armed != 1) /* asking for less takes nothing back */
        cq->armed = solicited_only ? 2 : 1;
    room_leave(world);
    return 0;
}

int mock_get_cq_event(struct vf_object *channel, struct vf_object **found)
{
    struct vf_object *object = channel->machine->live[VF_KIND_CQ];

    for (; object; object = object->next) {
        struct mock_cq *cq = object->handle;

        if (object->parent[1] != channel || cq->events == 0)
            continue;
        cq->events--;
        *found = object;
        return 0;
    }
    return EAGAIN;
}

void mock_take_event(struct vf_object *object)
{
    struct mock_cq *cq = object->handle;

    cq->room->event = 0;
    if (!object->parent[1])
        return;
    cq->events++;
    vf_channel_signal(object->parent[1]);
}

void mock_take_planned(struct vf_object *object)
{
    struct vf_world *world = object->machine->world;
    struct room_cq *cq = ((struct mock_cq *)object->handle)->room;

    if (!atomic_exchange(&cq->look, 0))
        return;
    mock_harvest(object);
    room_enter(world);
    if (!vf_completion_held(object) && !atomic_load(&cq->look))
        cq->planned = 0;
    room_leave(world);
}

void mock_deliver(struct vf_object *object, const struct ibv_wc *wc)
{
    struct vf_world *world = object->machine->world;
    struct mock_cq *cq = object->handle;
    struct mock_completion *completion =
        vf_pool_get(&world->registry, sizeof(*completion));
    bool solicited =
        wc->status != IBV_WC_SUCCESS || wc->wc_flags & MOCK_WC_SOLICITED;

    if (!completion)
        return;
    completion->next = NULL;
    completion->wc = *wc;
    completion->wc.wc_flags &= ~MOCK_WC_SOLICITED;
    if (cq->last)
        cq->last->next = completion;
    else
        cq->first = completion;
    cq->last = completion;
    if (cq->room->armed == 1 || (cq->room->armed == 2 && solicited)) {
        cq->room->armed = 0;
        mock_take_event(object);
    }
}
