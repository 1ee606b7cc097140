/*
 * verbfault/room.h: a world whose machines are separate processes.
 *
 * A room is shared memory. Whoever starts the processes builds an ordinary
 * world (machines, devices, cables, plans), turns it into a room with
 * vf_room_create, and gives each process the room's path and its rank:
 *
 *   VERBFAULT_ROOM    the path
 *   VERBFAULT_RANK    the machine that the process runs on
 *
 * The library in the process finds these at its first verb, maps the room and
 * stands on that machine. A machine may hold several processes (a shell, its
 * children): each counts its own calls for the plan.
 *
 * Findings, leaks and crashes of the processes come back as reports.
 */
#ifndef VERBFAULT_ROOM_H
#define VERBFAULT_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "verbfault/world.h"

#define VF_ROOM_PATH_MAX 64
#define VF_REPORT_TEXT 4096

struct vf_room;

struct vf_room_options {
    bool keep_going;   /* a fatal finding does not end its process by itself */
    bool leaks;        /* what a process holds when it ends well is reported */
    bool copy_twice;   /* do not copy from process to process directly */
    const char *trace; /* file that all processes append to; NULL: none */
    /* It is to be a recording: each line is the process, the times of the
     * call's beginning and end, and what vf_hooks.record tells. */
    bool record;
};

struct vf_report {
    int machine;
    pid_t pid;
    enum vf_report_kind {
        VF_REPORT_FINDING, /* an illegal call that does not fault by itself */
        VF_REPORT_CRASH,   /* an illegal call that faults, or a real fault */
        VF_REPORT_LEAK,
        VF_REPORT_NOTE /* not a finding: what the library has to say */
    } kind;
    char title[96];            /* "null-mr in dereg_mr", "fault in reg_mr" */
    char text[VF_REPORT_TEXT]; /* detail, last calls and stack: lines */
};

/* The room for the world's machines; path says how to open it. NULL: errno
 * (ENOSPC: no space in shared memory). */
struct vf_room *vf_room_create(const struct vf_world *world,
                               const struct vf_room_options *options,
                               char path[VF_ROOM_PATH_MAX]);
/* Ends it; processes that still use it keep their mapping. */
void vf_room_destroy(struct vf_room *room);

/* Takes the next report, oldest first; false: there is none now. */
bool vf_room_report(struct vf_room *room, struct vf_report *report);
/* How many reports were lost because nobody took them in time. */
unsigned vf_room_reports_lost(const struct vf_room *room);
/* 0, or the errno of the first line of the trace that could not be written
 * whole: of that process nothing more is in it. */
int vf_room_trace_error(const struct vf_room *room);

/* The process is no more (it was waited for): what it held is released as a
 * kernel would, its peers see of it what their profile shows. Harmless for a
 * process that never opened the room. */
void vf_room_process_ended(struct vf_room *room, pid_t pid);
/* Looks for processes that died without anybody telling. */
void vf_room_sweep(struct vf_room *room);

/* The n-th fault of the machine's plan, and whether it took effect in any
 * process; false: there is none. */
bool vf_room_fault(const struct vf_room *room, int machine, unsigned n,
                   struct vf_fault *fault, bool *hit);

/* How many processes ever opened the room from this machine. */
unsigned vf_room_visitors(const struct vf_room *room, int machine);

#endif
