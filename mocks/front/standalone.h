/*
 * front/standalone.h: the shared library's own world, for programs that know
 * nothing of it.
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
 * What such a world has due by time alone (the end of RC's retries, a planned
 * delay) comes while a verb is called or waits. A program that sleeps in poll()
 * on a descriptor is not woken by it: for that there is a thread in each
 * process of `verbfault run` (mock/attendant.h).
 *
 * A value that makes no sense is reported on the standard error and no world is
 * built: every verb fails with ENOSYS then.
 *
 * The library over real devices (device/device.h) has one machine, whose
 * devices are what they are; its variables begin with VERBFAULT_DEVICE_, so
 * that it can stand over the mock's library in one process.
 */
#ifndef VF_FRONT_STANDALONE_H
#define VF_FRONT_STANDALONE_H

#include <stdbool.h>

#include "front/world_private.h"

#define STANDALONE_TEXT_MAX 4096

/* The name of a variable; the build says which library this is. */
#ifdef VF_DEVICE_LIBRARY
#define STANDALONE(name) "VERBFAULT_DEVICE_" name
#else
#define STANDALONE(name) "VERBFAULT_" name
#endif

/* What differs from library to library: an empty world (NULL, after one line);
 * its machines and
 * devices (false, after one line: they cannot be had); entering a room. */
struct vf_world *standalone_world(void);
bool standalone_furnish(struct vf_world *world);
void standalone_guest(void);

/* Says that the variable makes no sense; false. */
bool standalone_complain(const char *variable, const char *text);
/* A number in decimal; false: it is none, or out of range. */
bool standalone_number(const char *text, long least, long most, long *number);
/* That of a variable, or the usual one; false after one line. */
bool standalone_number_from(const char *variable, long usual, long least,
                            long most, int *number);
/* A copy of the variable's text to cut up; false: too long. */
bool standalone_copy(const char *variable, char text[STANDALONE_TEXT_MAX]);

#endif
