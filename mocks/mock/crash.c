#include "mock/crash.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mock/os.h"
#include "mock/share.h"

#define SHOWN_CALLS 12u
#define STACK_BYTES 65536

static const int watched[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#define WATCHED (sizeof(watched) / sizeof(watched[0]))

static struct vf_world *watching;

static size_t add(char *text, size_t room, size_t used, const char *line)
{
    int wrote =
        used < room ? snprintf(text + used, room - used, "%s\n", line) : 0;

    return wrote > 0 ? used + (size_t)wrote : used;
}

static size_t add_history(const struct vf_world *world, int machine, char *text,
                          size_t room)
{
    unsigned count = 0;
    size_t used = 0;
    char line[VF_LINE_MAX];

    while (vf_machine_history(world, machine, count, line, sizeof(line)))
        count++;
    for (unsigned i = count > SHOWN_CALLS ? count - SHOWN_CALLS : 0; i < count;
         i++)
        if (vf_machine_history(world, machine, i, line, sizeof(line)))
            used = add(text, room, used, line);
    return used < room ? used : room - 1;
}

void crash_describe(struct vf_world *world, int machine, char *text,
                    size_t room)
{
    size_t used = add_history(world, machine, text, room);

    vf_os_stack(text + used, room - used);
}

static const char *signal_word(int number)
{
    switch (number) {
    case SIGBUS:
        return "bus error";
    case SIGFPE:
        return "arithmetic fault";
    case SIGILL:
        return "illegal instruction";
    case SIGABRT:
        return "abort";
    default:
        return "fault";
    }
}

/* POSIX has an address for some signals; of others, and of what a process sends
 * by kill(), the field is something else. Where an address can be none at all
 * (x86's non-canonical ones), Linux has none, and says so. */
static bool has_address(const siginfo_t *info)
{
#ifdef SI_KERNEL
    if (info->si_code == SI_KERNEL)
        return false;
#endif
    return info->si_code > 0 &&
           (info->si_signo == SIGSEGV || info->si_signo == SIGBUS ||
            info->si_signo == SIGILL || info->si_signo == SIGFPE);
}

static void describe(const siginfo_t *info, char *text, size_t room)
{
    if (has_address(info))
        snprintf(text, room, "signal %d, address %p", info->si_signo,
                 info->si_addr);
    else
        snprintf(text, room, "signal %d", info->si_signo);
}

static void report(struct vf_world *world, const siginfo_t *info)
{
    static struct vf_report told; /* no room on the stack of a fault */
    enum vf_verb verb = vf_machine_inside(world, world->home);
    char detail[96];
    size_t used;

    told.machine = world->home;
    told.pid = getpid();
    told.kind = VF_REPORT_CRASH;
    if (verb < VF_VERB_COUNT)
        snprintf(told.title, sizeof(told.title), "%s in %s",
                 signal_word(info->si_signo), vf_verb_name(verb));
    else
        snprintf(told.title, sizeof(told.title), "%s outside of any verb",
                 signal_word(info->si_signo));
    describe(info, detail, sizeof(detail));
    used = add(told.text, sizeof(told.text), 0, detail);
    crash_describe(world, world->home, told.text + used,
                   sizeof(told.text) - used);
    share_report(world, &told);
}

/* Whatever the program does with this signal. */
static void limit_time(void)
{
    sigset_t alone;

    signal(SIGALRM, SIG_DFL);
    sigemptyset(&alone);
    sigaddset(&alone, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &alone, NULL);
    alarm(5);
}

/* Not what is safe in a handler, but the process is lost anyway: it may hang
 * here, and the watch over its time is with whoever started it. */
static void handle(int number, siginfo_t *info, void *context)
{
    static volatile sig_atomic_t entered;

    (void)context;
    if (!entered && watching) {
        entered = 1;
        limit_time();
        report(watching, info);
    }
    signal(number, SIG_DFL);
    raise(number);
}

static void watch(int number)
{
    struct sigaction before, action = {.sa_flags = SA_SIGINFO | SA_ONSTACK};

    if (sigaction(number, NULL, &before) != 0 || before.sa_flags & SA_SIGINFO ||
        before.sa_handler != SIG_DFL)
        return;
    action.sa_sigaction = handle;
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

void crash_watch(struct vf_world *world)
{
    static unsigned char memory[STACK_BYTES];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};
    stack_t before;

    watching = world;
    if (sigaltstack(NULL, &before) == 0 && before.ss_flags & SS_DISABLE)
        sigaltstack(&stack, NULL);
    for (size_t i = 0; i < WATCHED; i++)
        watch(watched[i]);
}

void crash_forget(void)
{
    watching = NULL;
}

void crash_now(void)
{
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
    _exit(139);
}
