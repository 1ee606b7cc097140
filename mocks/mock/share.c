#include "mock/share.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "mock/death.h"
#include "mock/mock.h"

#define MAGIC UINT64_C(0x316d6f6f72666676) /* "vffroom1" */
#define LOOKS 50 /* milliseconds that a watcher waits for a lock */
#define ROOM_BYTES ((size_t)8 << 30)

struct share *share_of(const struct vf_world *world)
{
    return room_at(world->view, world->view->room->share);
}

/* Setting up. */

static void tell_device(const struct vf_device *device,
                        struct share_device *told)
{
    const struct vf_device_setup *setup = &device->setup;

    memcpy(told->name, setup->name, sizeof(told->name));
    snprintf(told->profile, sizeof(told->profile), "%s", setup->profile->name);
    told->port_down = setup->port_down;
    told->no_ipv4 = setup->no_ipv4;
    told->max_mr = setup->max_mr;
    told->max_qp = setup->max_qp;
    told->max_pd = setup->max_pd;
    told->used_mr = setup->used_mr;
    told->used_qp = setup->used_qp;
    told->used_pd = setup->used_pd;
    told->peer_machine = device->peer ? device->peer->machine->number : -1;
    told->peer_device = device->peer ? device->peer->index : -1;
}

static void tell_machine(const struct vf_machine *machine,
                         struct share_machine *told)
{
    told->list_errno = machine->list_errno;
    told->devices = machine->device_count;
    told->faults = machine->plan.count;
    for (int i = 0; i < machine->device_count; i++)
        tell_device(&machine->devices[i], &told->device[i]);
    memcpy(told->fault, machine->plan.faults,
           machine->plan.count * sizeof(told->fault[0]));
}

static int tell(struct room_view *view, const struct vf_world *world,
                const struct vf_room_options *options)
{
    uint32_t ref = room_get(view, sizeof(struct share));
    struct room *room = view->room;
    struct share *share;

    if (!ref)
        return ENOMEM;
    share = room_at(view, ref);
    share->machines = world->machine_count;
    share->keep_going = options->keep_going;
    share->leaks = options->leaks;
    share->record = options->record;
    if (options->trace)
        snprintf(share->trace, sizeof(share->trace), "%s", options->trace);
    for (int i = 0; i < world->machine_count; i++) {
        const struct vf_machine *machine = &world->machines[i];

        tell_machine(machine, &share->machine[i]);
        for (int j = 0; j < machine->device_count; j++)
            room->machines[i].devices[j].down =
                machine->devices[j].setup.port_down;
    }
    room->copy_twice = options->copy_twice;
    room->share = ref;
    return 0;
}

static int add_devices(struct vf_world *world, int number,
                       const struct share_machine *told)
{
    for (int i = 0; i < told->devices; i++) {
        const struct share_device *device = &told->device[i];
        struct vf_device_setup setup = {
            .profile = vf_profile_by_name(device->profile),
            .port_down = device->port_down,
            .no_ipv4 = device->no_ipv4,
            .max_mr = device->max_mr,
            .max_qp = device->max_qp,
            .max_pd = device->max_pd,
            .used_mr = device->used_mr,
            .used_qp = device->used_qp,
            .used_pd = device->used_pd,
        };

        memcpy(setup.name, device->name, sizeof(setup.name));
        if (vf_machine_add_device(world, number, &setup) != 0)
            return ENOMEM;
    }
    return 0;
}

static void join_cables(struct vf_world *world, const struct share *share)
{
    for (int i = 0; i < share->machines; i++)
        for (int j = 0; j < share->machine[i].devices; j++) {
            const struct share_device *told = &share->machine[i].device[j];

            if (told->peer_machine >= 0)
                world->machines[i].devices[j].peer =
                    &world->machines[told->peer_machine]
                         .devices[told->peer_device];
        }
}

/* The machines that the room tells of. */
static int build(struct vf_world *world)
{
    const struct share *share = share_of(world);
    int err = 0;

    for (int i = 0; i < share->machines && !err; i++) {
        const struct share_machine *told = &share->machine[i];

        vf_world_add_machine(world);
        err = add_devices(world, i, told);
        vf_machine_no_device_list(world, i, told->list_errno);
        for (unsigned j = 0; j < told->faults; j++)
            vf_machine_plan(world, i, &told->fault[j]);
    }
    if (!err)
        join_cables(world, share);
    return err;
}

/* A place among the processes. */

static bool take_place(struct room_view *view)
{
    for (uint32_t i = 0; i < ROOM_PROCESSES; i++) {
        int32_t nobody = 0;

        if (!atomic_compare_exchange_strong(&view->room->processes[i].pid,
                                            &nobody, (int32_t)getpid()))
            continue;
        view->self = i;
        return true;
    }
    return false;
}

/* What this process was before it became another program (exec): a kernel would
 * have closed its devices. */
static void bury_former_self(struct vf_world *world)
{
    struct room_view *view = world->view;

    for (uint32_t i = 0; i < ROOM_PROCESSES; i++)
        if (i != view->self &&
            view->room->processes[i].machine < VF_MACHINE_MAX &&
            atomic_load(&view->room->processes[i].pid) == (int32_t)getpid())
            death_bury(world, i);
}

static int enter(struct vf_world *world, int machine)
{
    struct room_view *view = world->view;
    struct room *room = view->room;
    struct room_process *self;

    if (!take_place(view)) {
        view->self = ROOM_PROCESSES; /* for the sweep only */
        return ENOSPC;
    }
    self = &room->processes[view->self];
    room_enter(world);
    bury_former_self(world);
    self->machine = (uint8_t)(machine < 0 ? VF_MACHINE_MAX : machine);
    self->event_head = self->event_tail; /* what came before us */
    if (machine >= 0)
        room->machines[machine].visitors++;
    room_leave(world);
    world->home = machine;
    return 0;
}

static int stand_in(struct vf_world *world, void *memory, size_t size,
                    int machine)
{
    struct room_view *view = world->view;

    room_let_go(view);
    view->room = memory;
    view->bytes = size;
    view->shared = true;
    death_watch(view);
    if (view->room->magic != MAGIC || size < room_head() ||
        view->room->share == 0)
        return EPROTO;
    if (machine >= share_of(world)->machines)
        return EINVAL;
    if (build(world) != 0)
        return ENOMEM;
    return enter(world, machine);
}

int share_open(struct vf_world *world, const char *path, int machine)
{
    size_t size;
    void *memory = vf_os_open_shared(path, &size);

    if (!memory)
        return errno;
    vf_os_allow_copies();
    return stand_in(world, memory, size, machine);
}

static bool has_place(const struct room_view *view)
{
    return view->shared && view->self < ROOM_PROCESSES &&
           atomic_load(&view->room->processes[view->self].pid) == getpid();
}

void share_release(struct vf_world *world)
{
    if (!has_place(world->view))
        return;
    room_enter(world);
    death_release(world, world->view->self);
    room_leave(world);
}

void share_close(struct vf_world *world)
{
    if (!has_place(world->view))
        return;
    room_enter(world);
    death_bury(world, world->view->self);
    room_leave(world);
    atomic_store(&world->view->room->processes[world->view->self].pid, 0);
}

void share_forget(struct vf_world *world)
{
    world->view->self = ROOM_PROCESSES;
}

void share_report(struct vf_world *world, const struct vf_report *report)
{
    struct share *share = share_of(world);
    struct vf_asker asker = death_asker(world, 0);

    vf_lock_take(&share->report_lock, asker.self, asker.deaths);
    if (share->told - share->taken >= SHARE_REPORTS)
        share->lost++;
    else
        share->reports[share->told++ % SHARE_REPORTS] = *report;
    vf_lock_give(&share->report_lock, asker.self);
}

/* The side of whoever starts the processes. */

struct vf_room {
    struct vf_world *world; /* that watches */
    int fd;
    char path[VF_ROOM_PATH_MAX];
};

static struct vf_room *give_up(struct vf_room *room, int err)
{
    if (room)
        vf_room_destroy(room);
    errno = err;
    return NULL;
}

struct vf_room *vf_room_create(const struct vf_world *world,
                               const struct vf_room_options *options,
                               char path[VF_ROOM_PATH_MAX])
{
    struct vf_room *room = calloc(1, sizeof(*room));
    struct room_view view = {.shared = true};
    int err;

    if (!room)
        return give_up(NULL, ENOMEM);
    room->fd = -1;
    room->world = vf_world_create();
    if (!room->world)
        return give_up(room, ENOMEM);
    view.room = vf_os_share(ROOM_BYTES, room->path, &room->fd);
    if (!view.room)
        return give_up(room, errno);
    view.room->granules = ROOM_BYTES / ROOM_GRANULE;
    view.room->used = room_head() / ROOM_GRANULE;
    view.room->magic = MAGIC;
    err = tell(&view, world, options);
    if (!err)
        err = stand_in(room->world, view.room, ROOM_BYTES, -1);
    else
        munmap(view.room, ROOM_BYTES);
    if (err)
        return give_up(room, err);
    memcpy(path, room->path, VF_ROOM_PATH_MAX);
    return room;
}

void vf_room_destroy(struct vf_room *room)
{
    if (!room)
        return;
    if (room->world && room->world->view->shared) {
        vf_os_unshare(room->world->view->room, room->world->view->bytes,
                      room->fd, room->path);
        room->world->view->room = NULL;
    }
    vf_world_destroy(room->world);
    free(room);
}

/* Whoever watches must not wait for a process that is stopped in the middle of
 * a change (SIGSTOP, a debugger): it has deadlines of its own to keep, and ends
 * that process in the end. False: the lock stays with one that lives. */
static bool is_free(const struct vf_room *room, const struct vf_lock *lock)
{
    struct vf_asker asker = death_asker(room->world, 0);
    unsigned holder = vf_lock_holder(lock);

    for (int looks = 0; looks < LOOKS && holder != 0; looks++) {
        const struct timespec nap = {.tv_nsec = 1000000};

        if (!asker.deaths->alive(asker.deaths->context, holder))
            return true;
        nanosleep(&nap, NULL);
        if (vf_lock_holder(lock) != holder)
            return true;
    }
    return holder == 0;
}

bool vf_room_report(struct vf_room *room, struct vf_report *report)
{
    struct share *share = share_of(room->world);
    struct vf_asker asker = death_asker(room->world, 0);
    bool found;

    if (!is_free(room, &share->report_lock))
        return false;
    vf_lock_take(&share->report_lock, asker.self, asker.deaths);
    found = share->taken != share->told;
    if (found)
        *report = share->reports[share->taken++ % SHARE_REPORTS];
    vf_lock_give(&share->report_lock, asker.self);
    return found;
}

int vf_room_trace_error(const struct vf_room *room)
{
    return atomic_load(&share_of(room->world)->trace_error);
}

unsigned vf_room_reports_lost(const struct vf_room *room)
{
    return share_of(room->world)->lost;
}

void vf_room_process_ended(struct vf_room *room, pid_t pid)
{
    struct room *memory = room->world->view->room;

    if (!is_free(room, &memory->lock))
        return; /* a later sweep finds it */
    room_enter(room->world);
    for (uint32_t i = 0; i < ROOM_PROCESSES; i++)
        if (atomic_load(&memory->processes[i].pid) == (int32_t)pid)
            death_bury(room->world, i);
    room_leave(room->world);
}

void vf_room_sweep(struct vf_room *room)
{
    if (is_free(room, &room->world->view->room->lock))
        death_sweep(room->world);
}

bool vf_room_fault(const struct vf_room *room, int machine, unsigned n,
                   struct vf_fault *fault, bool *hit)
{
    const struct share_machine *told = &share_of(room->world)->machine[machine];

    if (n >= told->faults)
        return false;
    *fault = told->fault[n];
    *hit = atomic_load(&told->hit[n]);
    return true;
}

unsigned vf_room_visitors(const struct vf_room *room, int machine)
{
    return room->world->view->room->machines[machine].visitors;
}
