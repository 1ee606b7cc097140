#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "front/provider.h"
#include "front/world_private.h"

/* Libraries of other devices look past its end for a table of functions, to
 * see whether it is theirs (mlx5dv_is_supported): they find zeros. */
#define DEVICE_BYTES (sizeof(struct ibv_device) + 128)

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

_Atomic(struct vf_world *) vf_installed_world;
static _Thread_local int thread_machine;

/* Mapped, not allocated: a world is large, and most of it is never touched. */
struct vf_world *vf_world_create_over(const struct vf_provider_ops *provider)
{
    struct vf_world *world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (world == MAP_FAILED)
        return NULL;
    if (vf_registry_start(&world->registry) != 0) {
        munmap(world, sizeof(*world));
        return NULL;
    }
    world->provider = provider;
    world->home = -1;
    if (world->provider->start(world) != 0) {
        vf_registry_stop(&world->registry);
        munmap(world, sizeof(*world));
        return NULL;
    }
    return world;
}

void vf_world_destroy(struct vf_world *world)
{
    if (!world)
        return;
    if (vf_world_installed() == world)
        vf_world_install(NULL);
    world->provider->stop(world);
    vf_registry_stop(&world->registry);
    munmap(world, sizeof(*world));
}

/* Only what was used, so that its cost is that of the run before. */
static void reset_machine(struct vf_machine *machine)
{
    memset(machine->devices, 0,
           (size_t)machine->device_count * sizeof(machine->devices[0]));
    memset(machine->calls, 0, sizeof(machine->calls));
    memset(machine->ids, 0, sizeof(machine->ids));
    memset(machine->live, 0, sizeof(machine->live));
    memset(machine->live_count, 0, sizeof(machine->live_count));
    machine->plan.count = 0;
    machine->plan.verbs = 0;
    machine->device_count = 0;
    machine->list_errno = 0;
    machine->all_calls = 0;
    machine->told = 0;
    machine->faults_hit = 0;
    machine->remembered = 0;
    machine->waiting = 0;
}

void vf_world_reset(struct vf_world *world, const struct vf_hooks *hooks)
{
    static const struct vf_hooks none;

    for (int i = 0; i < world->machine_count; i++)
        reset_machine(&world->machines[i]);
    world->machine_count = 0;
    world->delayed = NULL;
    vf_registry_reset(&world->registry);
    vf_world_unpace(world);
    world->provider->reset(world);
    world->hooks = hooks ? *hooks : none;
}

void vf_world_install(struct vf_world *world)
{
    atomic_store_explicit(&vf_installed_world, world, memory_order_release);
}

struct vf_world *vf_world_installed(void)
{
    return atomic_load_explicit(&vf_installed_world, memory_order_acquire);
}

void vf_thread_set_machine(int machine)
{
    thread_machine = machine;
}

int vf_thread_machine(void)
{
    return thread_machine;
}

int vf_world_add_machine(struct vf_world *world)
{
    struct vf_machine *machine;

    if (world->machine_count >= VF_MACHINE_MAX)
        return -1;
    machine = &world->machines[world->machine_count];
    machine->world = world;
    machine->number = world->machine_count;
    machine->inside = VF_VERB_COUNT;
    return world->machine_count++;
}

int vf_world_machines(const struct vf_world *world)
{
    return world->machine_count;
}

static struct vf_device *find_device(struct vf_world *world, int machine,
                                     const char *name)
{
    struct vf_machine *owner;

    if (machine < 0 || machine >= world->machine_count)
        return NULL;
    owner = &world->machines[machine];
    for (int i = 0; i < owner->device_count; i++)
        if (strcmp(owner->devices[i].setup.name, name) == 0)
            return &owner->devices[i];
    return NULL;
}

static void describe_device(struct vf_device *device)
{
    struct ibv_device *handle = device->object->handle;
    const struct vf_profile *profile = device->setup.profile;

    handle->node_type = (enum ibv_node_type)profile->node_type;
    handle->transport_type = (enum ibv_transport_type)profile->transport;
    memcpy(handle->name, device->setup.name, sizeof(handle->name));
    snprintf(handle->dev_name, sizeof(handle->dev_name), "uverbs%d",
             device->index);
    snprintf(handle->dev_path, sizeof(handle->dev_path), "/verbfault/uverbs%d",
             device->index);
    snprintf(handle->ibdev_path, sizeof(handle->ibdev_path), "/verbfault/%s",
             device->setup.name);
}

int vf_machine_add_device(struct vf_world *world, int machine,
                          const struct vf_device_setup *setup)
{
    struct vf_machine *owner;
    struct vf_device *device;

    if (machine < 0 || machine >= world->machine_count ||
        find_device(world, machine, setup->name) || !setup->profile)
        return -1;
    owner = &world->machines[machine];
    if (owner->device_count >= VF_DEVICE_MAX)
        return -1;
    device = &owner->devices[owner->device_count];
    device->setup = *setup;
    device->setup.name[VF_NAME_MAX - 1] = '\0';
    device->machine = owner;
    device->index = owner->device_count;
    device->object = vf_object_new(owner, VF_KIND_DEVICE, DEVICE_BYTES, 0);
    if (!device->object)
        return -1;
    device->object->device = device;
    vf_object_adopt(device->object);
    describe_device(device);
    world->provider->add_device(device);
    owner->device_count++;
    return 0;
}

void vf_machine_no_device_list(struct vf_world *world, int machine, int err_no)
{
    if (machine >= 0 && machine < world->machine_count)
        world->machines[machine].list_errno = err_no;
}

int vf_world_cable(struct vf_world *world, int machine_a, const char *device_a,
                   int machine_b, const char *device_b)
{
    struct vf_device *a = find_device(world, machine_a, device_a);
    struct vf_device *b = find_device(world, machine_b, device_b);

    if (!a || !b || a == b || a->peer || b->peer)
        return -1;
    a->peer = b;
    b->peer = a;
    return 0;
}

void vf_device_unplug(struct vf_world *world, int machine, const char *device)
{
    struct vf_device *gone = find_device(world, machine, device);

    if (gone)
        world->provider->unplug(gone);
}

void vf_device_port(struct vf_world *world, int machine, const char *device,
                    bool up)
{
    struct vf_device *found = find_device(world, machine, device);

    vf_world_lock(world);
    if (found)
        world->provider->port(found, up);
    vf_world_unlock(world);
}

unsigned vf_machine_calls(const struct vf_world *world, int machine,
                          enum vf_verb verb)
{
    return world->machines[machine].calls[verb];
}

unsigned vf_machine_all_calls(const struct vf_world *world, int machine)
{
    return world->machines[machine].all_calls;
}

unsigned vf_machine_told(const struct vf_world *world, int machine)
{
    return world->machines[machine].told;
}

unsigned vf_machine_faults_hit(const struct vf_world *world, int machine)
{
    return world->machines[machine].faults_hit;
}

enum vf_verb vf_machine_inside(const struct vf_world *world, int machine)
{
    return world->machines[machine].inside;
}

bool vf_machine_history(const struct vf_world *world, int machine, unsigned n,
                        char *line, size_t room)
{
    const struct vf_machine *owner = &world->machines[machine];
    unsigned seen = owner->remembered + owner->waiting;
    unsigned kept = seen < VF_HISTORY ? seen : VF_HISTORY;

    if (n >= kept)
        return false;
    vf_record_print(&owner->history[(seen - kept + n) & (VF_HISTORY - 1)],
                    machine, line, room);
    return true;
}

uint32_t vf_device_limit(int overridden, uint32_t profile_limit)
{
    return overridden >= 0 ? (uint32_t)overridden : profile_limit;
}

static void tell_alloc(struct vf_machine *machine, size_t size,
                       enum vf_effect effect)
{
    const struct vf_hooks *hooks = &machine->world->hooks;
    struct vf_record record = {
        .verb = VF_VERB_alloc,
        .number = machine->told,
        .end = VF_RECORD_DONE,
        .args = {size},
        .planned = true,
        .name = effect == VF_EFFECT_NULL ? "NULL" : vf_effect_name(effect),
    };
    char line[VF_LINE_MAX];

    if (!hooks->trace)
        return;
    vf_record_print(&record, machine->number, line, sizeof(line));
    hooks->trace(hooks->context, machine->number, line);
}

bool vf_machine_alloc(struct vf_world *world, int machine, size_t size)
{
    struct vf_machine *owner = &world->machines[machine];
    const struct vf_hooks *hooks = &world->hooks;
    const struct vf_fault *fault;
    unsigned nth;

    vf_world_lock(world);
    nth = ++owner->calls[VF_VERB_alloc];
    fault = vf_plan_find(&owner->plan, VF_VERB_alloc, nth);
    if (fault) {
        vf_plan_hit(owner, fault);
        tell_alloc(owner, size, fault->effect);
    }
    vf_world_unlock(world);
    if (!fault)
        return true;
    if (fault->effect == VF_EFFECT_EXIT && hooks->exit)
        hooks->exit(hooks->context, machine);
    if (fault->effect == VF_EFFECT_HANG && hooks->hang)
        hooks->hang(hooks->context, machine);
    errno = fault->effect == VF_EFFECT_NULL ? fault->value : ENOMEM;
    return false;
}
