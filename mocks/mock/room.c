#include "mock/room.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "mock/death.h"

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

#define PRIVATE_BYTES ((size_t)1 << 30)
#define USED_NUMBERS 0xff0000u /* of 24 bits, a multiple of ROOM_NUMBERS */
#define CACHED 256u    /* pieces of a size that a process keeps for itself, */
#define CACHED_RANK 5u /* up to 2 KiB; what is larger is everybody's */

/* Freed regions rest, so that a stale key is known for one. */
static const uint32_t rests[ROOM_KINDS] = {[ROOM_REGION] = 1024};

size_t room_head(void)
{
    size_t bytes = sizeof(struct room) + ROOM_GRANULE - 1;

    return bytes - bytes % ROOM_GRANULE;
}

int room_start(struct vf_world *world)
{
    struct room_view *view = calloc(1, sizeof(*view));
    void *memory = mmap(NULL, PRIVATE_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (!view || memory == MAP_FAILED) {
        free(view);
        return ENOMEM;
    }
    view->room = memory;
    view->bytes = PRIVATE_BYTES;
    view->room->granules = PRIVATE_BYTES / ROOM_GRANULE;
    view->room->used = room_head() / ROOM_GRANULE;
    world->view = view;
    return 0;
}

void room_let_go(struct room_view *view)
{
    if (view->room)
        munmap(view->room, view->bytes);
    view->room = NULL;
}

void room_stop(struct vf_world *world)
{
    if (world->view)
        room_let_go(world->view);
    free(world->view);
    world->view = NULL;
}

static void reset_machine(struct room_machine *machine)
{
    uint32_t numbers = machine->next_number;

    if (numbers > ROOM_NUMBERS)
        numbers = ROOM_NUMBERS;
    memset(machine->numbered, 0, numbers * sizeof(machine->numbered[0]));
    memset(machine->devices, 0, sizeof(machine->devices));
    machine->next_number = 0;
    machine->completions = 0;
}

void room_reset(struct vf_world *world)
{
    struct room_view *view = world->view;
    struct room *room = view->room;

    for (int i = 0; i < VF_MACHINE_MAX; i++)
        if (room->machines[i].next_number || room->machines[i].completions ||
            i < 8)
            reset_machine(&room->machines[i]);
    for (int kind = 0; kind < ROOM_KINDS; kind++) {
        room->tables[kind].count = 0;
        room->tables[kind].first_free = 0;
        room->tables[kind].last_free = 0;
        room->tables[kind].free = 0;
        room->processes[0].objects[kind] = 0;
    }
    room->processes[0].event_head = 0;
    room->processes[0].event_tail = 0;
    room->processes[0].reached = false;
    room->used = room_head() / ROOM_GRANULE;
    room->waiting = 0;
    room->group_count = 0;
    room->domains = 0;
    room->shifted = false;
    atomic_store_explicit(&room->deadline, 0, memory_order_relaxed);
    memset(room->processes[0].cache, 0, sizeof(room->processes[0].cache));
    memset(room->spare, 0, sizeof(room->spare));
    room->processes[0].resting = 0;
}

void room_enter(struct vf_world *world)
{
    struct room_view *view = world->view;

    if (!view->shared)
        return;
    if (vf_lock_take(&view->room->lock, view->self + 1, &view->deaths))
        death_found(world);
    view->entered = true;
}

void room_leave(struct vf_world *world)
{
    struct room_view *view = world->view;

    if (!view->shared)
        return;
    view->entered = false;
    vf_lock_give(&view->room->lock, view->self + 1);
}

static unsigned class_of(size_t size)
{
    unsigned rank = 0;

    while (((size_t)ROOM_GRANULE << rank) < size)
        rank++;
    return rank;
}

static uint32_t carve(struct room *room, uint64_t granules)
{
    uint64_t at = room->used;

    if (granules > room->granules - at || at + granules > UINT32_MAX)
        return 0;
    room->used += granules;
    return (uint32_t)at;
}

/* Pieces that were given back are linked by their first bytes. A process may
 * die at any instruction: one word changes a list. */
static uint32_t pop(const struct room_view *view, uint32_t *first)
{
    uint32_t ref = *first;

    if (ref)
        memcpy(first, room_at(view, ref), sizeof(*first));
    return ref;
}

static void push(const struct room_view *view, uint32_t *first, uint32_t ref)
{
    memcpy(room_at(view, ref), first, sizeof(*first));
    atomic_signal_fence(memory_order_seq_cst);
    *first = ref;
}

static struct room_cache *own_cache(const struct room_view *view, unsigned rank)
{
    return &view->room->processes[view->self].cache[rank];
}

bool room_has(const struct room_view *view, size_t size)
{
    unsigned rank = class_of(size);

    return rank < ROOM_CLASSES && own_cache(view, rank)->first != 0;
}

uint32_t room_get(struct room_view *view, size_t size)
{
    unsigned rank = class_of(size);
    struct room_cache *cache;
    uint32_t ref;

    if (rank >= ROOM_CLASSES)
        return 0;
    cache = own_cache(view, rank);
    ref = pop(view, &cache->first);
    if (ref) {
        cache->count--;
        return ref;
    }
    ref = pop(view, &view->room->spare[rank]);
    return ref ? ref : carve(view->room, UINT64_C(1) << rank);
}

void room_put(struct room_view *view, uint32_t ref, size_t size)
{
    unsigned rank = class_of(size);
    struct room_cache *cache = own_cache(view, rank);

    if (view->entered && (cache->count >= CACHED || rank > CACHED_RANK)) {
        push(view, &view->room->spare[rank], ref);
        return;
    }
    push(view, &cache->first, ref);
    cache->count++;
}

static size_t work_size(const struct room_view *view, uint32_t ref)
{
    return ((const struct room_work *)room_at(view, ref))->size;
}

void room_inherit(struct room_view *view, uint32_t process)
{
    struct room *room = view->room;
    uint32_t rested = room->processes[process].resting;

    for (unsigned rank = 0; rank < ROOM_CLASSES; rank++) {
        struct room_cache *cache = &room->processes[process].cache[rank];

        while (cache->first)
            push(view, &room->spare[rank], pop(view, &cache->first));
        cache->count = 0;
    }
    if (rested)
        push(view, &room->spare[class_of(work_size(view, rested))], rested);
    room->processes[process].resting = 0;
}

/* The index of one that has rested long enough, or a fresh one; 0: none. */
static uint32_t take_index(struct room_view *view, enum room_kind kind)
{
    struct room_table *table = &view->room->tables[kind];
    uint32_t index = table->first_free;

    if (index && table->free > rests[kind]) {
        const struct room_object *object = room_find(view, kind, index);

        table->first_free = object->next;
        if (!table->first_free)
            table->last_free = 0;
        table->free--;
        return index;
    }
    if (table->count % ROOM_SLAB == 0) {
        uint32_t slab = table->count / ROOM_SLAB;

        if (slab >= ROOM_SLABS)
            return 0;
        table->slabs[slab] =
            carve(view->room, ROOM_SLAB * room_stride(kind) / ROOM_GRANULE);
        if (!table->slabs[slab])
            return 0;
    }
    index = ++table->count;
    ((struct room_object *)room_find(view, kind, index))->generation = 0;
    return index;
}

static void link_object(struct room_view *view, struct room_object *object)
{
    struct room_process *process = &view->room->processes[object->process];
    enum room_kind kind = (enum room_kind)object->kind;
    struct room_object *first = room_find(view, kind, process->objects[kind]);

    object->previous = 0;
    object->next = process->objects[kind];
    if (first)
        first->previous = object->index;
    process->objects[kind] = object->index;
}

static void unlink_object(struct room_view *view, struct room_object *object)
{
    struct room_process *process = &view->room->processes[object->process];
    enum room_kind kind = (enum room_kind)object->kind;
    struct room_object *next = room_find(view, kind, object->next);
    struct room_object *previous = room_find(view, kind, object->previous);

    if (next)
        next->previous = object->previous;
    if (previous)
        previous->next = object->next;
    else
        process->objects[kind] = object->next;
}

void *room_new(struct vf_world *world, enum room_kind kind,
               struct vf_object *owner)
{
    struct room_view *view = world->view;
    uint32_t index = take_index(view, kind);
    struct room_object *object;
    uint16_t generation;

    if (!index)
        return NULL;
    object = room_find(view, kind, index);
    generation = object->generation;
    memset(object, 0, room_stride(kind));
    object->index = index;
    object->kind = (uint8_t)kind;
    object->generation = (uint16_t)(generation + 1);
    object->machine = (uint8_t)owner->machine->number;
    object->device = (uint8_t)owner->device->index;
    object->process = (uint16_t)view->self;
    object->owner = (uintptr_t)owner;
    link_object(view, object);
    object->live = true;
    return object;
}

void room_free(struct vf_world *world, struct room_object *object)
{
    struct room_view *view = world->view;
    enum room_kind kind = (enum room_kind)object->kind;
    struct room_table *table = &view->room->tables[kind];
    struct room_object *last = room_find(view, kind, table->last_free);

    object->live = false;
    unlink_object(view, object);
    object->next = 0;
    if (last)
        last->next = object->index;
    else
        table->first_free = object->index;
    table->last_free = object->index;
    table->free++;
}

uint32_t room_number(struct room_view *view, struct room_qp *qp)
{
    struct room_machine *machine = &view->room->machines[qp->object.machine];

    for (uint32_t tries = 0; tries < ROOM_NUMBERS; tries++) {
        uint32_t n = machine->next_number++;

        if (machine->numbered[n % ROOM_NUMBERS])
            continue;
        qp->number = ROOM_FIRST_QP_NUMBER + n % USED_NUMBERS;
        atomic_signal_fence(memory_order_seq_cst);
        machine->numbered[n % ROOM_NUMBERS] = qp->object.index;
        return qp->number;
    }
    return 0;
}

void room_unnumber(struct room_view *view, const struct room_qp *qp)
{
    struct room_machine *machine = &view->room->machines[qp->object.machine];
    uint32_t *entry =
        &machine->numbered[(qp->number - ROOM_FIRST_QP_NUMBER) % ROOM_NUMBERS];

    if (*entry == qp->object.index)
        *entry = 0;
}

struct room_qp *room_numbered(const struct room_view *view, int machine,
                              uint32_t number)
{
    const struct room_machine *owner = &view->room->machines[machine];
    struct room_qp *qp;

    if (number < ROOM_FIRST_QP_NUMBER)
        return NULL;
    qp = room_find(
        view, ROOM_QP,
        owner->numbered[(number - ROOM_FIRST_QP_NUMBER) % ROOM_NUMBERS]);
    return qp && qp->object.live && qp->number == number ? qp : NULL;
}
