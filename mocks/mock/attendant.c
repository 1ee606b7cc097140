#include "mock/attendant.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "mock/mock.h"
#include "mock/os.h"

#define STACK_BYTES ((size_t)256 << 10)

/* How long it may take to end, unless whoever ends it keeps it from that. */
#define PATIENCE INT64_C(1000000000)

static struct {
    pthread_t thread;
    struct vf_world *world;
    bool runs;
    _Atomic bool stop;
    _Atomic uint32_t over;
} attendant;

/* Nanoseconds until something ends by itself; -1: nothing will. */
static int64_t attend(struct vf_world *world)
{
    int64_t next, now;

    vf_world_lock(world);
    notice_take(world);
    vf_world_unlock(world);
    next = vf_world_advance(world);
    if (next < 0)
        return -1;
    now = expire_now(world);
    return next > now ? next - now : 0;
}

static void *run(void *argument)
{
    struct vf_world *world = argument;
    struct room_process *self =
        &world->view->room->processes[world->view->self];

    while (!atomic_load(&attendant.stop)) {
        uint32_t heard = atomic_load(&self->bell);
        int64_t patience = attend(world);

        atomic_store(&self->asleep, 1);
        if (atomic_load(&self->bell) == heard && patience != 0 &&
            !atomic_load(&attendant.stop))
            vf_os_wait(&self->bell, heard, patience);
        atomic_store(&self->asleep, 0);
    }
    atomic_store(&attendant.over, 1);
    vf_os_wake(&attendant.over);
    return NULL;
}

int attendant_start(struct vf_world *world)
{
    pthread_attr_t attr;
    sigset_t all, before;
    int err;

    atomic_store(&attendant.stop, false);
    atomic_store(&attendant.over, 0);
    attendant.world = world;
    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    err = pthread_create(&attendant.thread, &attr, run, world);
    if (err == EINVAL) /* much thread-local memory: too small a stack */
        err = pthread_create(&attendant.thread, NULL, run, world);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    attendant.runs = err == 0;
    return err;
}

bool attendant_stop(void)
{
    int64_t end = vf_os_now() + PATIENCE;

    if (!attendant.runs)
        return true;
    atomic_store(&attendant.stop, true);
    notice_ring(attendant.world, attendant.world->view->self);
    while (!atomic_load(&attendant.over)) {
        int64_t left = end - vf_os_now();

        if (left <= 0)
            return false;
        vf_os_wait(&attendant.over, 0, left);
    }
    pthread_join(attendant.thread, NULL);
    attendant.runs = false;
    return true;
}

void attendant_forget(void)
{
    attendant.runs = false;
}
