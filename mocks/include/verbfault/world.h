/*
 * verbfault/world.h: machines, devices, cables, plans and findings.
 *
 * A world is a set of machines and the fabric between them. A machine stands
 * for one host with one process on it: it has devices, a plan of faults, a
 * counter for each verb, and the table of every handle its program holds. A
 * rank of a scenario is a machine. The world says nothing about threads of
 * execution: the simulator runs one fiber a machine on one thread; a program
 * with threads sets `threads` and the world locks itself around each call.
 *
 * The life of a verbs call is always the same five steps (mocks/front/call.c):
 * count, plan, contract, provider, trace. What the world cannot know comes in
 * through hooks: the time, what to do where a program would wait, and what to
 * do with a finding.
 *
 * Which machine a call belongs to is read from its handle. The few calls
 * without a live handle (get_device_list, a NULL handle) belong to the calling
 * thread's machine, vf_thread_set_machine().
 *
 * One world at a time is installed behind the ibv_* entries. A world's memory
 * is kept by vf_world_reset() so that a fuzzer's next run costs no page fault.
 *
 * Devices of machines outlive the program on them, as real ones do: what a
 * dead process held is released by vf_machine_end(), as a kernel would, but
 * `used_*` (what some other process holds) stays.
 */
#ifndef VERBFAULT_WORLD_H
#define VERBFAULT_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verbfault/fault.h"
#include "verbfault/profile.h"

struct vf_world;

#define VF_MACHINE_MAX 64
#define VF_DEVICE_MAX 16 /* on one machine */
#define VF_RECORDED_MAX 16384 /* bytes of a recorded line, with the zero */
#define VF_NAME_MAX 64   /* IBV_SYSFS_NAME_MAX */

/* A device as it is set up: a profile, and how this one differs. */
struct vf_device_setup {
    char name[VF_NAME_MAX];
    const struct vf_profile *profile;
    bool port_down; /* PORT_DOWN: open works, see alloc_pd_needs_port */
    bool no_ipv4;   /* the IPv4-mapped GID entry is empty */
    int max_mr;     /* -1: the profile's; else the limit of regions */
    int max_qp;     /* likewise, queue pairs */
    int max_pd;     /* likewise, protection domains */
    int used_mr;    /* regions that another process holds */
    int used_qp;
    int used_pd;
};

/* A contract violation, or a leak. */
struct vf_finding {
    int machine;
    enum vf_verb verb;
    unsigned nth;   /* the call of that verb on that machine; 0: at the end */
    bool fatal;     /* going on faults: a NULL or freed handle is used */
    bool leak;      /* an object was left at the end */
    bool planned;   /* ... because the plan refused to release it: nothing the
                       program could do but say so */
    char title[96]; /* stable: "null-mr in dereg_mr" */
    char detail[256];
};

struct vf_hooks {
    void *context; /* first argument of every hook */
    /* Virtual or real time in nanoseconds. NULL: always 0. */
    int64_t (*now)(void *context);
    /* Before each call: a place where another rank may run. May be NULL. */
    void (*step)(void *context, int machine);
    /* poll_cq (or get_cq_event) found nothing. A simulated rank yields here.
     * NULL: return at once. */
    void (*empty)(void *context, int machine);
    /* Something happened that a waiting machine may see. May be NULL. */
    void (*changed)(void *context, int machine);
    /* A call failed without a plan: the device refused it. May be NULL. */
    void (*refused)(void *context, int machine, enum vf_verb verb, unsigned nth,
                    int err_no);
    /* A fault of the machine's plan, counted from 0, takes effect. May be
     * NULL. */
    void (*planned)(void *context, int machine, unsigned fault);
    /* A finding. It may return (keep going) or never (stop the rank). */
    void (*finding)(void *context, const struct vf_finding *finding);
    /* The plan ends or stops the process here; does not return when it can
     * help it. NULL: _exit(0) / wait for ever. */
    void (*exit)(void *context, int machine);
    void (*hang)(void *context, int machine);
    /* A finished trace line, without a newline. NULL: no trace, no cost. Its
     * #number leaves out polls that found nothing. A call with a fatal finding
     * has its line before the finding hook is called. */
    void (*trace)(void *context, int machine, const char *line);
    /* The same for a recording: the line, and behind " ; " what it takes to
     * make the call again (mocks/front/detail.h); at most VF_RECORDED_MAX
     * bytes, what is more is cut. began: now() at its beginning. Whoever sets
     * it sets trace, too. */
    void (*record)(void *context, int machine, const char *line,
                   int64_t began);
    /* Is this memory allocated? NULL: ask the address sanitizer if there is
     * one, else yes. */
    bool (*memory_alive)(void *context, const void *address, size_t length);
    bool threads; /* calls come from several threads: lock */
    bool unchecked; /* with threads: posts and polls look their handle up and
                       check and remember nothing else: for measurements */
    bool descriptors; /* channels and contexts have descriptors to wait on; the
                         calls that take events wait there, not in empty */
};

/* A new world without machines; NULL if memory is out. */
struct vf_world *vf_world_create(void);
void vf_world_destroy(struct vf_world *world);
/* Empties the world: machines, devices, plans, counters, handles. Keeps its
 * memory. Hooks are replaced by *hooks (copied; NULL: none). */
void vf_world_reset(struct vf_world *world, const struct vf_hooks *hooks);
/* Makes world the one behind the ibv_* entries; NULL: none. */
void vf_world_install(struct vf_world *world);
struct vf_world *vf_world_installed(void);

/* Adds a machine; returns its number (0, 1, ...) or -1 at VF_MACHINE_MAX. */
int vf_world_add_machine(struct vf_world *world);
int vf_world_machines(const struct vf_world *world);
/* Adds a device in list order; 0, or -1 if the table is full or the name is
 * taken. */
int vf_machine_add_device(struct vf_world *world, int machine,
                          const struct vf_device_setup *setup);
/* The device list itself fails: get_device_list answers NULL, errno number;
 * 0 turns it off. (No device added: a non-NULL list of none.) */
void vf_machine_no_device_list(struct vf_world *world, int machine, int err_no);
/* Joins two devices by a cable. 0; -1: no such device, or already cabled.
 * Devices of profiles without cables in their nature (rxe, ideal) reach every
 * other device of the world while none of their machine's is cabled. */
int vf_world_cable(struct vf_world *world, int machine_a, const char *device_a,
                   int machine_b, const char *device_b);
/* The cable of a device goes; posted work stays unanswered. */
void vf_device_unplug(struct vf_world *world, int machine, const char *device);
/* The device's port goes down or comes up, as the interface it is paired with
 * does: programs get IBV_EVENT_PORT_ERR or IBV_EVENT_PORT_ACTIVE. While it is
 * down nothing is reached through it; sends that wait go on afterwards. */
void vf_device_port(struct vf_world *world, int machine, const char *device,
                    bool up);

/* Adds a fault to a machine's plan; 0, or -1 if the effect does not fit the
 * verb or the plan is full. */
int vf_machine_plan(struct vf_world *world, int machine,
                    const struct vf_fault *fault);
void vf_machine_clear_plan(struct vf_world *world, int machine);

/*
 * For a replay (mocks/front/pace.c). A poll of a paced world finds what its
 * machine expects: all of it, in that order, or nothing yet. What else has come
 * meanwhile is kept for later polls. Until the next reset of the world.
 */
void vf_world_pace(struct vf_world *world);
/* What the machine's polls find from now on: count completions, told as in a
 * trace line, "[wr_id=0x6 SEND SUCCESS] [...]"; those past the end of the text
 * may be any. NULL: whatever there is, up to the poll's room. The text is not
 * copied. */
void vf_machine_expect(struct vf_world *world, int machine,
                       const char *completions, int count);
/* If completions are in the queue, the next get_cq_event of the machine gets
 * an event of it: whether there was one was a matter of timing. */
bool vf_machine_event(struct vf_world *world, int machine, const void *cq);
/* What came and nobody expected, told so; "": nothing. */
void vf_machine_unexpected(const struct vf_world *world, int machine,
                           char *text, size_t room);
/* Without a call: the GID (16 bytes) of a device of the machine, counted from
 * 0, and the LID of its port. 0, or an errno. */
int vf_device_gid(struct vf_world *world, int machine, int device,
                  unsigned port, int index, void *gid);
int vf_device_lid(struct vf_world *world, int machine, int device,
                  unsigned port, unsigned *lid);

/* How often the verb was called on this machine. */
unsigned vf_machine_calls(const struct vf_world *world, int machine,
                          enum vf_verb verb);
/* How many calls of any verb. */
unsigned vf_machine_all_calls(const struct vf_world *world, int machine);
/* How many that have a line in a trace: all but polls that found nothing. */
unsigned vf_machine_told(const struct vf_world *world, int machine);
/* How many planned faults took effect so far on this machine. */
unsigned vf_machine_faults_hit(const struct vf_world *world, int machine);

/*
 * Counts one allocation of size bytes on the machine and asks the plan.
 * true: it succeeds; false: it must fail. For allocators given to programs.
 */
bool vf_machine_alloc(struct vf_world *world, int machine, size_t size);

/* Reports every object that the machine's program still holds as a leak
 * finding, one per kind; returns how many objects. What the plan kept it from
 * releasing, and what cannot go before that, is no leak. */
unsigned vf_machine_leaks(struct vf_world *world, int machine);
/* The process on the machine has ended: what it held is released by the
 * kernel; peers see what their profile shows of it. */
void vf_machine_end(struct vf_world *world, int machine);
/* The machine was started anew: its devices hold nothing of dead processes any
 * more. None of its processes may be alive. */
void vf_machine_reboot(struct vf_world *world, int machine);
/* Delivers delayed completions that are due at now(). Returns the time of the
 * next one, or -1. */
int64_t vf_world_advance(struct vf_world *world);

/* The last calls of a machine, oldest first, as trace lines without newline,
 * whether or not tracing is on; a call that has not ended shows "= ?". Call
 * n-th of `vf_machine_history` 0.. until it returns false. */
bool vf_machine_history(const struct vf_world *world, int machine, unsigned n,
                        char *line, size_t room);
/* The verb the machine is inside of now, or VF_VERB_COUNT: names a real
 * segmentation fault. */
enum vf_verb vf_machine_inside(const struct vf_world *world, int machine);

/*
 * State coverage for fuzzers: a byte per (machine below 4, verb, outcome), hot
 * when seen. outcome: 0 success, 1 planned, 2 refused by the device, 3 finding.
 */
#define VF_COVERAGE_SIZE (4 * VF_VERB_COUNT * 4)
extern unsigned char *vf_coverage; /* NULL: off; else VF_COVERAGE_SIZE bytes */

/* The machine that this thread's handle-less calls belong to; default 0. */
void vf_thread_set_machine(int machine);
int vf_thread_machine(void);

#endif
