/*
 * The shared library's own world, for programs that know nothing of it.
 *
 * The first verb finds no world. Where `verbfault run` started the process,
 * that has told it (mock/guest.h). Else one is built from the environment, for
 * this process alone:
 *
 *   VERBFAULT_PROFILE     thunderbolt (default), rxe, ideal
 *   VERBFAULT_RANKS       machines, default 2; a thread says which one it is
 *                         on with vf_thread_set_machine(), else it is on 0
 *   VERBFAULT_WIRES       cables between two machines, default 1
 *   VERBFAULT_DEVICES     names of each machine's devices, separated by commas:
 *                         the wires to the first peer, then to the next.
 *                         Default: rdma_en2, rdma_en3, ... with two machines,
 *                         rdma_en<peer> (and _<wire>) with more. A ';'
 *                         starts the list of the next machine.
 *   VERBFAULT_LIMITS      max_mr=100,used_mr=64,max_qp=,max_pd=,used_qp=,
 *                         used_pd=,port_down=1,no_ipv4=1: all devices
 *   VERBFAULT_FAULTS      "0 reg_mr 37 null ENOMEM; 1 alloc_pd 1+ null EIO":
 *                         machine, verb, n-th call, effect, value
 *   VERBFAULT_TRACE       prefix of the trace files: PREFIX.r0, PREFIX.r1; each
 *                         line is written before the next call begins
 *   VERBFAULT_KEEP_GOING  0: a fatal finding ends the process with status 99;
 *                         else it is reported and the crash follows
 *   VERBFAULT_LEAKS       1: what is left at the end is reported
 *
 * A value that makes no sense is reported on the standard error and no world is
 * built: every verb fails with ENOSYS then.
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

#include "front/world_private.h"
#include "mock/guest.h"

#define TEXT_MAX 4096
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
    char name[TEXT_MAX];

    (void)context;
    if (!standalone.traces[machine]) {
        snprintf(name, sizeof(name), "%s.r%d", standalone.prefix, machine);
        standalone.traces[machine] = fopen(name, "w");
        if (!standalone.traces[machine]) {
            fprintf(stderr,
                    "verbfault: VERBFAULT_TRACE: %s: cannot be written\n",
                    name);
            _exit(3); /* a run without the trace it was made for is no use */
        }
    }
    fprintf(standalone.traces[machine], "%s\n", line);
    fflush(standalone.traces[machine]);
}

static bool complain(const char *variable, const char *text)
{
    fprintf(stderr, "verbfault: %s: \"%s\" makes no sense\n", variable, text);
    fflush(stderr);
    return false;
}

static bool parse_number(const char *text, long least, long most, long *number)
{
    char *end;

    errno = 0;
    *number = strtol(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *number >= least &&
           *number <= most;
}

static bool number_from(const char *variable, long usual, long least, long most,
                        int *number)
{
    const char *text = getenv(variable);
    long value = usual;

    if (text && !parse_number(text, least, most, &value))
        return complain(variable, text);
    *number = (int)value;
    return true;
}

static bool set_limit(struct vf_device_setup *setup, char *text)
{
    char *equals = strchr(text, '=');
    long value;

    if (!equals || !parse_number(equals + 1, 0, 1 << 30, &value))
        return false;
    *equals = '\0';
    if (strcmp(text, "max_mr") == 0)
        setup->max_mr = (int)value;
    else if (strcmp(text, "max_qp") == 0)
        setup->max_qp = (int)value;
    else if (strcmp(text, "max_pd") == 0)
        setup->max_pd = (int)value;
    else if (strcmp(text, "used_mr") == 0)
        setup->used_mr = (int)value;
    else if (strcmp(text, "used_qp") == 0)
        setup->used_qp = (int)value;
    else if (strcmp(text, "used_pd") == 0)
        setup->used_pd = (int)value;
    else if (strcmp(text, "port_down") == 0)
        setup->port_down = value != 0;
    else if (strcmp(text, "no_ipv4") == 0)
        setup->no_ipv4 = value != 0;
    else
        return false;
    return true;
}

/* A copy of the variable's text to cut up; false: too long. */
static bool copy_variable(const char *variable, char text[TEXT_MAX])
{
    const char *value = getenv(variable);

    text[0] = '\0';
    if (value && strlen(value) >= TEXT_MAX)
        return complain(variable, "(too long)");
    if (value)
        strcpy(text, value);
    return true;
}

static bool read_setup(struct vf_device_setup *setup)
{
    const char *profile = getenv("VERBFAULT_PROFILE");
    char text[TEXT_MAX];
    char *rest = text;
    char *word;

    memset(setup, 0, sizeof(*setup));
    setup->max_mr = -1;
    setup->max_qp = -1;
    setup->max_pd = -1;
    setup->profile = vf_profile_by_name(profile ? profile : "thunderbolt");
    if (!setup->profile)
        return complain("VERBFAULT_PROFILE", profile);
    if (!copy_variable("VERBFAULT_LIMITS", text))
        return false;
    while ((word = strtok_r(rest, ", ", &rest)) != NULL)
        if (!set_limit(setup, word))
            return complain("VERBFAULT_LIMITS", word);
    return true;
}

static int peer_of(int machine, int place)
{
    return place < machine ? place : place + 1;
}

static void usual_name(char *name, int ranks, int wires, int peer, int wire)
{
    if (ranks == 2)
        snprintf(name, VF_NAME_MAX, "rdma_en%d", 2 + wire);
    else if (wires == 1)
        snprintf(name, VF_NAME_MAX, "rdma_en%d", peer);
    else
        snprintf(name, VF_NAME_MAX, "rdma_en%d_%d", peer, wire);
}

static void add_usual_devices(struct vf_device_setup *setup, int machine,
                              int ranks, int wires)
{
    for (int place = 0; place < ranks - 1; place++)
        for (int wire = 0; wire < wires; wire++) {
            usual_name(setup->name, ranks, wires, peer_of(machine, place),
                       wire);
            vf_machine_add_device(standalone.world, machine, setup);
        }
}

static bool add_named_devices(struct vf_device_setup *setup, int machine,
                              char *names)
{
    char *rest = names;
    char *name;

    while ((name = strtok_r(rest, ", ", &rest)) != NULL) {
        if (strlen(name) >= VF_NAME_MAX)
            return complain("VERBFAULT_DEVICES", name);
        strcpy(setup->name, name);
        if (vf_machine_add_device(standalone.world, machine, setup) != 0)
            return complain("VERBFAULT_DEVICES", name);
    }
    return true;
}

/* The machine's part of VERBFAULT_DEVICES: the last one serves the rest. */
static const char *names_of(const char *all, int machine, size_t *length)
{
    while (machine-- > 0 && strchr(all, ';'))
        all = strchr(all, ';') + 1;
    *length = strcspn(all, ";");
    return all;
}

static bool add_devices(int ranks, int wires)
{
    const char *names = getenv("VERBFAULT_DEVICES");
    struct vf_device_setup setup;

    if (!read_setup(&setup))
        return false;
    for (int machine = 0; machine < ranks; machine++) {
        char own[TEXT_MAX];
        size_t length;
        const char *from;

        vf_world_add_machine(standalone.world);
        if (!names) {
            add_usual_devices(&setup, machine, ranks, wires);
            continue;
        }
        from = names_of(names, machine, &length);
        snprintf(own, sizeof(own), "%.*s", (int)length, from);
        if (!add_named_devices(&setup, machine, own))
            return false;
    }
    return true;
}

/* The n-th device of one machine goes to the n-th place of its peer. */
static void add_cables(int ranks, int wires)
{
    struct vf_machine *machines = standalone.world->machines;

    for (int a = 0; a < ranks; a++)
        for (int n = 0; n < machines[a].device_count; n++) {
            int b = peer_of(a, n / wires);
            int back = (a < b ? a : a - 1) * wires + n % wires;

            if (b < a || b >= ranks || back >= machines[b].device_count)
                continue;
            vf_world_cable(standalone.world, a,
                           machines[a].devices[n].setup.name, b,
                           machines[b].devices[back].setup.name);
        }
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
        if (!parse_number(text, kind == VF_VALUE_NUMBER ? -(1L << 30) : 0,
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
    if (!words[3] || !parse_number(words[0], 0, VF_MACHINE_MAX - 1, &machine))
        return false;
    length = strlen(words[2]);
    fault.onward = words[2][length - 1] == '+';
    if (fault.onward)
        words[2][length - 1] = '\0';
    if (!parse_number(words[2], 1, 1L << 30, &nth))
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
    char text[TEXT_MAX];
    char *rest = text;
    char *statement;

    if (!copy_variable("VERBFAULT_FAULTS", text))
        return false;
    while ((statement = strtok_r(rest, ";", &rest)) != NULL) {
        char told[TEXT_MAX];

        if (statement[strspn(statement, " \t\n")] == '\0')
            continue;
        strcpy(told, statement);
        if (!plan_one(statement))
            return complain("VERBFAULT_FAULTS", told);
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
    int ranks, wires, keep_going;

    if (!number_from("VERBFAULT_RANKS", 2, 1, VF_MACHINE_MAX, &ranks) ||
        !number_from("VERBFAULT_WIRES", 1, 1, VF_DEVICE_MAX, &wires) ||
        !number_from("VERBFAULT_KEEP_GOING", 1, 0, 1, &keep_going))
        return false;
    standalone.stop_at_fatal = !keep_going;
    standalone.prefix = getenv("VERBFAULT_TRACE");
    if (standalone.prefix)
        hooks.trace = trace;
    standalone.world = vf_world_create();
    if (!standalone.world)
        return complain("memory", "out of it");
    vf_world_reset(standalone.world, &hooks);
    if (!add_devices(ranks, wires))
        return false;
    add_cables(ranks, wires);
    return add_faults();
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
            guest_enter();
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

    if (!world || world != standalone.world || !getenv("VERBFAULT_LEAKS"))
        return;
    for (int i = 0; i < vf_world_machines(world); i++)
        vf_machine_leaks(world, i);
}
