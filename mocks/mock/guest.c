#include "mock/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "front/standalone.h"
#include "mock/attendant.h"
#include "mock/crash.h"
#include "mock/death.h"
#include "mock/mock.h"
#include "mock/os.h"
#include "mock/share.h"

/* Empty polls from one look to the next, and looks that see no other call,
 * before the processor is offered to others. */
#define EMPTY_POLLS 16u
#define IDLE_LOOKS 8u
/* At the process's end, for what other threads have locked. */
#define PATIENCE INT64_C(1000000000)

static struct {
    struct vf_world *world;
    struct vf_porter *porter;
    int trace;
    _Atomic uint32_t empty; /* polls ever */
    _Atomic uint32_t calls; /* that had an answer, at the last look */
    _Atomic uint32_t idle;  /* looks in a row that saw no other call */
    _Atomic bool left;      /* the process is at its end */
    pthread_t leaver;
} guest = {.trace = -1};

void guest_stay_away(void)
{
    while (atomic_load(&guest.left) &&
           !pthread_equal(pthread_self(), guest.leaver))
        pause();
}

bool guest_invited(void)
{
    return getenv(STANDALONE("ROOM")) != NULL;
}

static int64_t now(void *context)
{
    (void)context;
    return vf_os_now();
}

/* Has any call had an answer since the last look? */
static void look_for_calls(struct vf_machine *machine)
{
    uint32_t calls;

    vf_world_lock(machine->world);
    calls = machine->told;
    vf_world_unlock(machine->world);
    if (atomic_exchange_explicit(&guest.calls, calls, memory_order_relaxed) !=
        calls)
        atomic_store_explicit(&guest.idle, 0, memory_order_relaxed);
    else
        atomic_fetch_add_explicit(&guest.idle, 1, memory_order_relaxed);
}

/* With more processes than processors the peer may not even run. */
static void step_aside(struct vf_machine *machine)
{
    uint32_t polls =
        atomic_fetch_add_explicit(&guest.empty, 1, memory_order_relaxed);

    if (polls % EMPTY_POLLS == 0)
        look_for_calls(machine);
    if (atomic_load_explicit(&guest.idle, memory_order_relaxed) >= IDLE_LOOKS)
        sched_yield();
}

/* A poll that found nothing: time may have ended something, and another process
 * may need the processor. */
static void empty(void *context, int machine)
{
    (void)context;
    if (guest.world->provider->meet) { /* devices move by themselves */
        if (guest.world->delayed)
            vf_world_advance(guest.world);
        return;
    }
    step_aside(&guest.world->machines[machine]);
    if (atomic_load_explicit(&guest.world->view->room->deadline,
                             memory_order_relaxed) ||
        guest.world->delayed)
        vf_world_advance(guest.world);
}

static void finding(void *context, const struct vf_finding *seen)
{
    struct share *share = share_of(guest.world);
    struct vf_report report = {
        .machine = seen->machine,
        .pid = getpid(),
        .kind = seen->leak    ? VF_REPORT_LEAK
                : seen->fatal ? VF_REPORT_CRASH
                              : VF_REPORT_FINDING,
    };
    size_t used;

    (void)context;
    memcpy(report.title, seen->title, sizeof(report.title));
    snprintf(report.text, sizeof(report.text), "%s\n", seen->detail);
    used = strlen(report.text);
    if (!seen->leak)
        crash_describe(guest.world, seen->machine, report.text + used,
                       sizeof(report.text) - used);
    share_report(guest.world, &report);
    if (seen->fatal && !share->keep_going)
        crash_now();
}

/* One write a call: what was called before a process is killed is there. The
 * first that fails is kept for whoever started the processes. */
static void write_line(const char *text, size_t length)
{
    ssize_t written;
    int none = 0;

    if (guest.trace < 0)
        return;
    written = write(guest.trace, text, length);
    if (written == (ssize_t)length)
        return;
    atomic_compare_exchange_strong(&share_of(guest.world)->trace_error, &none,
                                   written < 0 ? errno : ENOSPC);
    guest.trace = -1;
}

static void trace(void *context, int machine, const char *line)
{
    char text[VF_LINE_MAX + 1];
    size_t length = strlen(line);

    (void)context;
    (void)machine;
    memcpy(text, line, length);
    text[length] = '\n';
    write_line(text, length + 1);
}

/* In place of the trace: calls take all their steps while somebody records. */
static void no_trace(void *context, int machine, const char *line)
{
    (void)context;
    (void)machine;
    (void)line;
}

static void record(void *context, int machine, const char *line, int64_t began)
{
    static char text[VF_RECORDED_MAX + 80]; /* the world is locked */
    int length =
        snprintf(text, sizeof(text), "%ld %lld %lld %s\n", (long)getpid(),
                 (long long)began, (long long)vf_os_now(), line);

    (void)context;
    (void)machine;
    write_line(text, (size_t)length);
}

static void planned(void *context, int machine, unsigned fault)
{
    (void)context;
    atomic_store(&share_of(guest.world)->machine[machine].hit[fault], true);
}

/* The plan says so: as by kill -9, nothing is given back. */
static void end_here(void *context, int machine)
{
    (void)context;
    (void)machine;
    kill(getpid(), SIGKILL);
    pause();
}

static void complain(const char *what, const char *why)
{
    fprintf(stderr, "verbfault: %s: %s\n", what, why);
    fflush(stderr);
}

static int machine_number(void)
{
    const char *text = getenv(STANDALONE("RANK"));
    char *end;
    long number;

    if (!text || !*text)
        return -1;
    number = strtol(text, &end, 10);
    return *end == '\0' && number >= 0 && number < VF_MACHINE_MAX ? (int)number
                                                                  : -1;
}

static const char *why(int err)
{
    switch (err) {
    case EPROTO:
        return "it is not a room of this version of verbfault";
    case EINVAL:
        return "it has no such rank";
    case ENOSPC:
        return "more processes than the room has places for";
    default:
        return strerror(err);
    }
}

static int open_world(struct vf_world *world)
{
    const char *path = getenv(STANDALONE("ROOM"));
    int machine = machine_number();
    int err;

    if (machine < 0) {
        complain(STANDALONE("RANK"), "it has to be the number of a rank");
        return EINVAL;
    }
    err = share_open(world, path, machine);
    if (err)
        complain(path, why(err));
    return err;
}

static void open_trace(struct vf_world *world)
{
    const char *name = share_of(world)->trace;

    if (!*name)
        return;
    guest.trace = open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (guest.trace < 0)
        complain(name, strerror(errno));
    else if (share_of(world)->record) {
        world->hooks.trace = no_trace;
        world->hooks.record = record;
    } else
        world->hooks.trace = trace;
}

static void start_porter(struct vf_world *world)
{
    struct room_process *self =
        &world->view->room->processes[world->view->self];
    struct vf_asker asker = death_asker(world, -1);

    guest.porter = vf_porter_start(&self->mailbox, &asker);
    if (!guest.porter)
        complain("a thread for copies", strerror(errno));
}

static void start_attendant(struct vf_world *world)
{
    int err = attendant_start(world);

    if (err)
        complain("a thread for events", strerror(err));
}

static void forget(void)
{
    if (!guest.world)
        return;
    crash_forget();
    attendant_forget();
    if (guest.porter)
        vf_porter_stop(guest.porter);
    guest.porter = NULL;
    share_forget(guest.world);
    vf_world_install(NULL);
    guest.world = NULL;
}

void guest_enter(const struct guest_kind *kind)
{
    static bool prepared;
    struct vf_hooks hooks = {
        .now = now,
        .empty = empty,
        .finding = finding,
        .planned = planned,
        .exit = end_here,
        .threads = true,
        .descriptors = true,
    };
    struct vf_world *world = kind->create();

    if (!world) {
        complain("verbs", "there is no world for them");
        return;
    }
    vf_world_reset(world, &hooks);
    if (open_world(world) != 0) {
        vf_world_destroy(world);
        return;
    }
    guest.world = world;
    open_trace(world);
    crash_watch(world);
    if (kind->fabric) {
        start_porter(world);
        start_attendant(world);
    }
    if (!prepared)
        pthread_atfork(NULL, NULL, forget);
    prepared = true;
    vf_world_install(world);
}

/* False: it is not to be had. A handler may have come in the middle of locking,
 * so that even this thread's own lock seems to be another's. */
static bool lock_in_time(struct vf_world *world)
{
    int64_t end = vf_os_now() + PATIENCE;

    while (!vf_latch_try(&world->latch, vf_latch_self())) {
        if (vf_os_now() > end)
            return false;
        sched_yield();
    }
    return true;
}

/* A program may end inside of a verb, by exit() in a signal's handler: with the
 * world locked, which the attendant may wait for, or even in the room. It ends
 * as if it died, then, and others bury it. */
__attribute__((destructor)) static void leave(void)
{
    struct vf_world *world = guest.world;

    if (!world || vf_world_installed() != world || !attendant_stop())
        return;
    guest.leaver = pthread_self();
    atomic_store(&guest.left, true);
    /* Never unlocked: see guest_stay_away. */
    if (!lock_in_time(world) ||
        vf_lock_holder(&world->view->room->lock) == world->view->self + 1)
        return;
    if (share_of(world)->leaks)
        vf_machine_leaks(world, world->home);
    vf_world_install(NULL);
    share_release(world);
    if (guest.porter)
        vf_porter_stop(guest.porter);
    share_close(world);
}
