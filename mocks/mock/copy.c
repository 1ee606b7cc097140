/*
 * Bytes from process to process. One end is always this process or the room;
 * what is in another's memory is reached through the kernel, or, where that is
 * forbidden, through its porter.
 */
#include <errno.h>
#include <string.h>

#include "mock/death.h"
#include "mock/mock.h"

/* How long a porter may take for each piece. */
#define PATIENCE INT64_C(5000000000)

static bool is_here(const struct vf_world *world, uint32_t process)
{
    return process == world->view->self || process == ROOM_PROCESSES;
}

static bool refused(int err)
{
    return err == EPERM || err == ENOSYS || err == EACCES;
}

static bool directly(const struct vf_world *world,
                     const struct room_process *other)
{
    return !world->view->room->copy_twice && !other->copies_refused;
}

int copy_out(struct vf_world *world, uint32_t process, uint64_t to,
             const void *from, size_t length)
{
    struct room_process *other = &world->view->room->processes[process];
    pid_t pid = atomic_load_explicit(&other->pid, memory_order_relaxed);
    struct vf_asker asker = death_asker(world, PATIENCE);

    if (is_here(world, process)) {
        memcpy((void *)(uintptr_t)to, from, length);
        return 0;
    }
    if (directly(world, other)) {
        int err = vf_os_write(pid, to, from, length);

        if (!refused(err))
            return err;
        other->copies_refused = true;
    }
    return vf_porter_write(&other->mailbox, pid, &asker, to, from, length);
}

int copy_in(struct vf_world *world, uint32_t process, void *to, uint64_t from,
            size_t length)
{
    struct room_process *other = &world->view->room->processes[process];
    pid_t pid = atomic_load_explicit(&other->pid, memory_order_relaxed);
    struct vf_asker asker = death_asker(world, PATIENCE);

    if (is_here(world, process)) {
        memcpy(to, (const void *)(uintptr_t)from, length);
        return 0;
    }
    if (directly(world, other)) {
        int err = vf_os_read(pid, to, from, length);

        if (!refused(err))
            return err;
        other->copies_refused = true;
    }
    return vf_porter_read(&other->mailbox, pid, &asker, to, from, length);
}

/* How many bytes are left of the entry that the place has come to. */
static uint64_t run_left(struct copy_place *place)
{
    while (place->offset == place->list[place->entry].length) {
        place->entry++;
        place->offset = 0;
    }
    return place->list[place->entry].length - place->offset;
}

static uint64_t run_at(const struct copy_place *place)
{
    return place->list[place->entry].addr + place->offset;
}

/* Memory that its program has freed is neither read nor written. */
static bool alive(const struct vf_world *world, const struct copy_place *place,
                  uint64_t length)
{
    if (place->process != world->view->self)
        return true;
    return vf_memory_alive(world, (const void *)(uintptr_t)run_at(place),
                           length);
}

static int copy_run(struct vf_world *world, const struct copy_place *to,
                    const struct copy_place *from, uint64_t length)
{
    if (!alive(world, to, length) || !alive(world, from, length))
        return 0;
    if (!is_here(world, to->process))
        return copy_out(world, to->process, run_at(to),
                        (const void *)(uintptr_t)run_at(from), length);
    if (!is_here(world, from->process))
        return copy_in(world, from->process, (void *)(uintptr_t)run_at(to),
                       run_at(from), length);
    memmove((void *)(uintptr_t)run_at(to),
            (const void *)(uintptr_t)run_at(from), length);
    return 0;
}

int copy_short(struct vf_world *world, struct copy_place *to,
               struct copy_place *from, uint64_t length)
{
    int err = 0;

    while (length > 0 && !err) {
        uint64_t run = run_left(from);

        if (run > run_left(to))
            run = run_left(to);
        if (run > length)
            run = length;
        err = copy_run(world, to, from, run);
        from->offset += (uint32_t)run;
        to->offset += (uint32_t)run;
        length -= run;
    }
    return err;
}

int copy_move(struct vf_world *world, struct copy_place *to,
              struct copy_place *from, uint64_t length)
{
    int err;

    if (length < COPY_LONG)
        return copy_short(world, to, from, length);
    room_leave(world);
    err = copy_short(world, to, from, length);
    room_enter(world);
    return err;
}
