#include "front/registry.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "front/provider.h"
#include "front/sanitize.h"
#include "front/world_private.h"

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

#define RANGE ((size_t)256 << 20)
#define GRANULES (RANGE / VF_GRANULE)
#define OBJECTS ((size_t)1 << 20) /* a key has 24 bits for the entry */
#define SCRIBBLE 0xdf

static const struct {
    const char *word;
    const char *label;
} kind_names[VF_KIND_COUNT] = {
    [VF_KIND_NONE] = {"handle", "handle"},
    [VF_KIND_DEVICE_LIST] = {"device-list", "list"},
    [VF_KIND_DEVICE] = {"device", "device"},
    [VF_KIND_CONTEXT] = {"context", "context"},
    [VF_KIND_PD] = {"pd", "pd"},
    [VF_KIND_MR] = {"mr", "mr"},
    [VF_KIND_CQ] = {"cq", "cq"},
    [VF_KIND_QP] = {"qp", "qp"},
    [VF_KIND_AH] = {"ah", "ah"},
    [VF_KIND_SRQ] = {"srq", "srq"},
    [VF_KIND_CHANNEL] = {"channel", "channel"},
    [VF_KIND_MW] = {"mw", "mw"},
};

const char *vf_kind_word(enum vf_kind kind)
{
    return kind_names[kind].word;
}

const char *vf_kind_label(enum vf_kind kind)
{
    return kind_names[kind].label;
}

static void *reserve(size_t size)
{
    void *range = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return range == MAP_FAILED ? NULL : range;
}

int vf_registry_start(struct vf_registry *registry)
{
    memset(registry, 0, sizeof(*registry));
    registry->base = reserve(RANGE);
    registry->objects = reserve(OBJECTS * sizeof(struct vf_object));
    registry->owner = reserve(GRANULES * sizeof(uint32_t));
    if (registry->base && registry->objects && registry->owner)
        return 0;
    vf_registry_stop(registry);
    return ENOMEM;
}

void vf_registry_stop(struct vf_registry *registry)
{
    if (registry->base) {
        VF_UNPOISON(registry->base, registry->used);
        munmap(registry->base, RANGE);
    }
    if (registry->objects)
        munmap(registry->objects, OBJECTS * sizeof(struct vf_object));
    if (registry->owner)
        munmap(registry->owner, GRANULES * sizeof(uint32_t));
    vf_map_clear(&registry->foreign);
    memset(registry, 0, sizeof(*registry));
}

/* Stale entries of the owner map are harmless: find asks the entry back. */
void vf_registry_reset(struct vf_registry *registry)
{
    VF_UNPOISON(registry->base, registry->used);
    vf_map_clear(&registry->foreign);
    registry->used = 0;
    registry->object_count = 0;
    memset(registry->resting, 0, sizeof(registry->resting));
    memset(registry->pool, 0, sizeof(registry->pool));
}

static size_t round_up(size_t size)
{
    return (size + VF_GRANULE - 1) & ~(size_t)(VF_GRANULE - 1);
}

static void *carve(struct vf_registry *registry, size_t size)
{
    unsigned char *memory = registry->base + registry->used;

    if (size > RANGE - registry->used)
        return NULL;
    registry->used += size;
    return memory;
}

static void list_push(struct vf_object **list, struct vf_object *object)
{
    object->previous = NULL;
    object->next = *list;
    if (*list)
        (*list)->previous = object;
    *list = object;
}

static void list_remove(struct vf_object **list, struct vf_object *object)
{
    if (object->previous)
        object->previous->next = object->next;
    else
        *list = object->next;
    if (object->next)
        object->next->previous = object->previous;
    object->next = NULL;
    object->previous = NULL;
}

static bool is_foreign(const struct vf_registry *registry, const void *handle)
{
    return (uintptr_t)handle - (uintptr_t)registry->base >= registry->used;
}

/* The entry serves another: its old handle is not known any more, unless it
 * has a new owner. */
static void forget_foreign(struct vf_registry *registry,
                           const struct vf_object *object)
{
    uintptr_t key = (uintptr_t)object->handle;

    if (is_foreign(registry, object->handle) &&
        vf_map_find(&registry->foreign, key) == object)
        vf_map_take(&registry->foreign, key);
}

/* A live one that has the address has ended where nobody saw it. Without
 * memory for the map the handle stays unknown, which is no mistake of its
 * program's. */
static void enter_foreign(struct vf_registry *registry,
                          struct vf_object *object)
{
    uintptr_t key = (uintptr_t)object->handle;
    struct vf_object *before;

    if (!is_foreign(registry, object->handle))
        return;
    before = vf_map_find(&registry->foreign, key);
    if (before && before != object && before->live) {
        before->machine->world->provider->reclaim(before);
        vf_object_release(before);
    }
    (void)vf_map_put(&registry->foreign, key, object);
}

/* The oldest resting object of the kind, when it has rested long enough. */
static struct vf_object *rested(struct vf_registry *registry, enum vf_kind kind,
                                size_t size)
{
    struct vf_object *object = registry->resting[kind].first;

    if (registry->resting[kind].count < VF_QUARANTINE || object->size < size)
        return NULL;
    registry->resting[kind].first = object->next;
    registry->resting[kind].count--;
    object->generation++;
    forget_foreign(registry, object);
    VF_UNPOISON(object->memory, object->size);
    return object;
}

static struct vf_object *fresh(struct vf_registry *registry, size_t size)
{
    struct vf_object *object;
    void *memory;

    if (registry->object_count >= OBJECTS)
        return NULL;
    memory = carve(registry, round_up(size));
    if (!memory)
        return NULL;
    object = &registry->objects[registry->object_count++];
    object->memory = memory;
    object->size = (uint32_t)round_up(size);
    object->generation = 0;
    return object;
}

struct vf_object *vf_object_new(struct vf_machine *machine, enum vf_kind kind,
                                size_t size, size_t offset)
{
    struct vf_registry *registry = &machine->world->registry;
    size_t lead = round_up(offset) - offset;
    struct vf_object *object = rested(registry, kind, lead + size);

    if (!object)
        object = fresh(registry, lead + size);
    if (!object)
        return NULL;
    memset(object->memory, 0, object->size);
    object->handle = (unsigned char *)object->memory + lead + offset;
    object->id = 0;
    object->children = 0;
    object->excused_children = 0;
    object->excused = false;
    object->stranger = false;
    object->kind = (uint8_t)kind;
    object->live = false;
    object->orphan = false;
    object->machine = machine;
    object->device = NULL;
    object->own = NULL;
    object->next = NULL;
    object->previous = NULL;
    memset(object->parent, 0, sizeof(object->parent));
    memset(&object->shadow, 0, sizeof(object->shadow));
    registry->owner[((unsigned char *)object->handle - registry->base) /
                    VF_GRANULE] = (uint32_t)(object - registry->objects) + 1;
    return object;
}

void vf_object_adopt(struct vf_object *object)
{
    struct vf_machine *machine = object->machine;

    enter_foreign(&machine->world->registry, object);
    object->id = ++machine->ids[object->kind];
    object->live = true;
    machine->live_count[object->kind]++;
    list_push(&machine->live[object->kind], object);
    for (int i = 0; i < 4; i++)
        if (object->parent[i])
            object->parent[i]->children++;
}

static void rest(struct vf_object *object)
{
    struct vf_registry *registry = &object->machine->world->registry;
    struct vf_object *last = registry->resting[object->kind].last;

    object->next = NULL;
    if (registry->resting[object->kind].count++ == 0)
        registry->resting[object->kind].first = object;
    else
        last->next = object;
    registry->resting[object->kind].last = object;
}

/* The inline verbs read the context of these before they come to us. */
static size_t kept_bytes(const struct vf_object *object)
{
    switch (object->kind) {
    case VF_KIND_QP:
    case VF_KIND_CQ:
    case VF_KIND_SRQ:
        return sizeof(struct ibv_context *);
    case VF_KIND_MW:
        return sizeof(struct ibv_mw);
    default:
        return 0;
    }
}

static void scribble(struct vf_object *object)
{
    size_t kept = kept_bytes(object);
    unsigned char *memory = object->memory;

    memset(memory + kept, SCRIBBLE, object->size - kept);
    VF_POISON(memory + kept, object->size - kept);
}

void vf_object_discard(struct vf_object *object)
{
    scribble(object);
    rest(object);
}

/* The parent may be gone before its child, and be somebody else by now. */
static void lose_child(struct vf_object *parent, bool excused)
{
    if (parent->children > 0)
        parent->children--;
    if (excused && parent->excused_children > 0)
        parent->excused_children--;
}

void vf_object_excuse(struct vf_object *object)
{
    if (object->excused)
        return;
    object->excused = true;
    for (int i = 0; i < 4; i++) {
        struct vf_object *parent = object->parent[i];

        if (!parent)
            continue;
        parent->excused_children++;
        if (parent->kind != VF_KIND_CONTEXT && parent->kind != VF_KIND_DEVICE)
            vf_object_excuse(parent);
    }
}

void vf_object_move(struct vf_object *object, struct vf_object *parent)
{
    lose_child(object->parent[0], object->excused);
    object->parent[0] = parent;
    parent->children++;
    parent->excused_children += object->excused;
}

void vf_object_release(struct vf_object *object)
{
    struct vf_machine *machine = object->machine;

    object->live = false;
    machine->live_count[object->kind]--;
    list_remove(&machine->live[object->kind], object);
    for (int i = 0; i < 4; i++)
        if (object->parent[i])
            lose_child(object->parent[i], object->excused);
    scribble(object);
    rest(object);
}

static unsigned pool_class(size_t size)
{
    unsigned rank = 0;

    while (((size_t)VF_GRANULE << rank) < size)
        rank++;
    return rank;
}

void *vf_pool_get(struct vf_registry *registry, size_t size)
{
    unsigned rank = pool_class(size);
    void *memory;

    if (rank >= VF_POOL_CLASSES)
        return NULL;
    memory = registry->pool[rank];
    if (!memory)
        return carve(registry, (size_t)VF_GRANULE << rank);
    memcpy(&registry->pool[rank], memory, sizeof(void *));
    return memory;
}

void vf_pool_put(struct vf_registry *registry, void *memory, size_t size)
{
    unsigned rank = pool_class(size);

    memcpy(memory, &registry->pool[rank], sizeof(void *));
    registry->pool[rank] = memory;
}
