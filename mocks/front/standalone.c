/*
 * The shared library's own world, for programs that know nothing of it:
 * hooks, plan, trace. What machines it has: front/standalone.h.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "front/provider.h"
#include "front/standalone.h"
#include "mock/guest.h"

#define NANOSECONDS INT64_C(1000000000)

static struct {
    struct vf_world *world;
    FILE *traces[VF_MACHINE_MAX];
    const char *prefix;
    bool stop_at_fatal;
} standalone;

static int64_t now(void *context)
{
    struct timespec time;

    (void)context;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * NANOSECONDS + time.tv_nsec;
}

static void empty(void *context, int machine)
{
    (void)context;
    (void)machine;
    if (standalone.world->provider->meet) { /* devices move by themselves */
        if (standalone.world->delayed)
            vf_world_advance(standalone.world);
        return;
    }
    vf_world_advance(standalone.world);
    sched_yield();
}

static void finding(void *context, const struct vf_finding *finding)
{
    (void)context;
    fprintf(stderr, "verbfault: finding: r%d: %s: %s\n", finding->machine,
            finding->title, finding->detail);
    fflush(stderr); /* a crash may follow */
    if (finding->fatal && standalone.stop_at_fatal)
        _exit(99);
}

static void trace(void *context, int machine, const char *line)
{
    char name[STANDALONE_TEXT_MAX];

    (void)context;
    if (!standalone.traces[machine]) {
        snprintf(name, sizeof(name), "%s.r%d", standalone.prefix, machine);
        standalone.traces[machine] = fopen(name, "w");
        if (!standalone.traces[machine]) {
            fprintf(stderr, "verbfault: %s: %s: cannot be written\n",
                    STANDALONE("TRACE"), name);
            _exit(3); /* a run without the trace it was made for is no use */
        }
    }
    fprintf(standalone.traces[machine], "%s\n", line);
    fflush(standalone.traces[machine]);
}

bool standalone_complain(const char *variable, const char *text)
{
    fprintf(stderr, "verbfault: %s: \"%s\" makes no sense\n", variable, text);
    fflush(stderr);
    return false;
}

bool standalone_number(const char *text, long least, long most, long *number)
{
    char *end;

    errno = 0;
    *number = strtol(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *number >= least &&
           *number <= most;
}

bool standalone_number_from(const char *variable, long usual, long least,
                            long most, int *number)
{
    const char *text = getenv(variable);
    long value = usual;

    if (text && !standalone_number(text, least, most, &value))
        return standalone_complain(variable, text);
    *number = (int)value;
    return true;
}

/* A copy of the variable's text to cut up; false: too long. */
bool standalone_copy(const char *variable, char text[STANDALONE_TEXT_MAX])
{
    const char *value = getenv(variable);

    text[0] = '\0';
    if (value && strlen(value) >= STANDALONE_TEXT_MAX)
        return standalone_complain(variable, "(too long)");
    if (value)
        strcpy(text, value);
    return true;
}

static bool parse_value(struct vf_fault *fault, const char *text)
{
    enum vf_value kind = vf_effect_value(fault->effect);
    long number = 0;

    if (kind == VF_VALUE_NONE)
        return text == NULL;
    if (!text)
        return false;
    if (kind == VF_VALUE_ERRNO)
        number = vf_errno_by_name(text);
    else if (kind == VF_VALUE_STATUS)
        number = vf_status_by_name(text);
    if ((kind == VF_VALUE_ERRNO && number == 0) ||
        (kind == VF_VALUE_STATUS && number < 0) || kind == VF_VALUE_NUMBER ||
        kind == VF_VALUE_MILLISECONDS) {
        if (!standalone_number(text, kind == VF_VALUE_NUMBER ? -(1L << 30) : 0,
                               1L << 30, &number))
            return false;
    }
    fault->value = (int)number;
    return true;
}

static bool plan_one(char *statement)
{
    struct vf_fault fault = {.nth = 1};
    char *rest = statement;
    char *words[5] = {NULL};
    long machine, nth;
    size_t length;

    for (int i = 0; i < 5; i++)
        words[i] = strtok_r(rest, " \t\n", &rest);
    if (!words[3] ||
        !standalone_number(words[0], 0, VF_MACHINE_MAX - 1, &machine))
        return false;
    length = strlen(words[2]);
    fault.onward = words[2][length - 1] == '+';
    if (fault.onward)
        words[2][length - 1] = '\0';
    if (!standalone_number(words[2], 1, 1L << 30, &nth))
        return false;
    fault.nth = (unsigned)nth;
    fault.verb = vf_verb_by_name(words[1]);
    fault.effect = vf_effect_by_name(words[3]);
    if (fault.verb == VF_VERB_COUNT || fault.effect == VF_EFFECT_COUNT ||
        !parse_value(&fault, words[4]))
        return false;
    return vf_machine_plan(standalone.world, (int)machine, &fault) == 0;
}

static bool add_faults(void)
{
    char text[STANDALONE_TEXT_MAX];
    char *rest = text;
    char *statement;

    if (!standalone_copy(STANDALONE("FAULTS"), text))
        return false;
    while ((statement = strtok_r(rest, ";", &rest)) != NULL) {
        char told[STANDALONE_TEXT_MAX];

        if (statement[strspn(statement, " \t\n")] == '\0')
            continue;
        strcpy(told, statement);
        if (!plan_one(statement))
            return standalone_complain(STANDALONE("FAULTS"), told);
    }
    return true;
}

static bool build(void)
{
    struct vf_hooks hooks = {
        .now = now,
        .empty = empty,
        .finding = finding,
        .threads = true,
        .descriptors = true,
    };
    int keep_going;

    if (!standalone_number_from(STANDALONE("KEEP_GOING"), 1, 0, 1, &keep_going))
        return false;
    standalone.stop_at_fatal = !keep_going;
    standalone.prefix = getenv(STANDALONE("TRACE"));
    if (standalone.prefix)
        hooks.trace = trace;
    standalone.world = standalone_world();
    if (!standalone.world)
        return false;
    vf_world_reset(standalone.world, &hooks);
    return standalone_furnish(standalone.world) && add_faults();
}

static void build_once(void)
{
    if (build())
        vf_world_install(standalone.world);
}

/* A child after fork comes here again: no pthread_once. */
static void missing(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pid_t tried;

    guest_stay_away();
    pthread_mutex_lock(&mutex);
    if (!vf_world_installed() && tried != getpid()) {
        tried = getpid();
        if (guest_invited())
            standalone_guest();
        else
            build_once();
    }
    pthread_mutex_unlock(&mutex);
}

__attribute__((constructor)) static void arm(void)
{
    vf_world_missing = missing;
}

__attribute__((destructor)) static void report_leaks(void)
{
    struct vf_world *world = vf_world_installed();

    if (!world || world != standalone.world || !getenv(STANDALONE("LEAKS")))
        return;
    for (int i = 0; i < vf_world_machines(world); i++)
        vf_machine_leaks(world, i);
}
