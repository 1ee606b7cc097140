/*
 * native.h: an installed libjaccl as a subject.
 *
 * The library is real and unchanged: a static archive, driven through its
 * public API on a rank's fiber. What it asks of its process is answered here,
 * by the simulator:
 *
 *   dlopen, dlsym, dlerror     the verbs of this rank's scenario
 *   socket ... close           sim sockets; descriptors from NATIVE_SOCKET on
 *   getaddrinfo                numbers only, so that no name server is asked
 *   posix_memalign, free       sim_alloc(): counts as the plan's `alloc`
 *   nanosleep                  virtual time
 *   std::thread, waiting on    a thread is a fiber of its rank; it runs from
 *   condition variables        where it is started or notified to where it
 *   and futures                waits, so that every run is the same
 *   operator new, delete       the heap, but known by rank: what a rank that
 *                              crashed or hangs held is given back
 *   ibv()'s table              what a process has once, each rank has once
 *   exceptions being handled   kept apart by fiber.c
 *
 * The linker's --wrap sends the archive's calls to native_host.c and
 * native.cpp: there __wrap_NAME answers for a rank that is inside of an
 * operation of the subject and hands every other call on. Nothing else of the
 * program is touched.
 *
 * What differs from a process: operator new is not counted by the plan, but
 * one allocation that stands for the group's own memory is, so that `alloc 1`
 * fails as a program without memory would. A socket that was never connected
 * costs nothing here (JACCL leaks one for each try).
 *
 * native_host.c files, memory, time; native_thread.c threads; native.cpp what
 * takes C++. Without an installed library native_none.c says why there is
 * none.
 */
#ifndef SIM_SUBJECTS_NATIVE_H
#define SIM_SUBJECTS_NATIVE_H

#include "sim/subject.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A rank enters and leaves an operation. */
void native_enter(struct sim_rank *rank);
void native_leave(struct sim_rank *rank);
/* The rank that is inside of an operation now, or NULL. */
struct sim_rank *native_here(void);
/* After a run: gives back what its ranks still hold, as a process's end. */
void native_forget(void);

/* malloc and free for operator new and delete; native_new answers NULL. */
void *native_new(size_t size);
void native_delete(void *memory);

/* ---- native_thread.c ------------------------------------------------------
 */

/* Starts entry(argument) as a fiber of the rank and runs it until it waits. An
 * id from 1 on, or 0 if there are too many. */
unsigned native_thread_start(struct sim_rank *rank, void (*entry)(void *),
                             void *argument);
/* Returns once the thread is over. */
void native_thread_join(struct sim_rank *rank, unsigned id);
/* Waits until event is notified; may return before. Other threads run. */
void native_thread_wait(struct sim_rank *rank, const void *event);
/* Lets the others run, and goes on at the next occasion. */
void native_thread_again(struct sim_rank *rank);
/* Threads that wait for event go on, here and now if that can be. */
void native_thread_notify(struct sim_rank *rank, const void *event);
void native_threads_forget(struct sim_rank *rank);

#ifdef __cplusplus
}
#endif

#endif
