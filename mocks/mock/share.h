/*
 * mock/share.h: a room that processes share: how it is set up, and how a
 * process comes to stand in it. verbfault/room.h is the side of whoever starts
 * the processes.
 *
 * The world of every process has the same machines, devices, cables and plans:
 * they are told in the room, once, before anybody enters. What changes is in
 * the room only (mock/room.h).
 */
#ifndef VF_MOCK_SHARE_H
#define VF_MOCK_SHARE_H

#include "mock/room.h"
#include "verbfault/room.h"

#define SHARE_REPORTS 64u /* that nobody has taken yet */
#define SHARE_TRACE_MAX 1024u

struct share_device {
    char name[VF_NAME_MAX];
    char profile[16];
    bool port_down, no_ipv4;
    int max_mr, max_qp, max_pd, used_mr, used_qp, used_pd;
    int peer_machine, peer_device; /* at the other end of its cable; -1: none */
};

struct share_machine {
    int list_errno;
    int devices;
    unsigned faults;
    struct share_device device[VF_DEVICE_MAX];
    struct vf_fault fault[VF_PLAN_MAX];
    _Atomic bool hit[VF_PLAN_MAX]; /* it took effect */
};

struct share {
    int machines;
    bool keep_going;
    bool leaks;
    bool record;
    char trace[SHARE_TRACE_MAX];
    _Atomic int trace_error; /* errno of the first line that was not written */
    struct vf_lock report_lock;
    uint32_t taken, told, lost;
    struct vf_report reports[SHARE_REPORTS];
    struct share_machine machine[VF_MACHINE_MAX];
};

/* The room's part of it. */
struct share *share_of(const struct vf_world *world);

/*
 * Opens the room that path names and makes world one that stands on machine in
 * it, with a place of its own among the processes. machine -1: on none, to
 * watch. 0, or an errno: ENOSPC no place is left, EPROTO it is no room or not
 * of this version, EINVAL no such machine.
 */
int share_open(struct vf_world *world, const char *path, int machine);
/* Releases what the process still holds: nobody copies to or from it any more.
 */
void share_release(struct vf_world *world);
/* Releases it and gives the place back. */
void share_close(struct vf_world *world);
/* In a child after fork: the parent's place is not its own. */
void share_forget(struct vf_world *world);

/* Tells whoever started the processes. */
void share_report(struct vf_world *world, const struct vf_report *report);

#endif
