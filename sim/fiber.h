/*
 * fiber.h: cooperative threads of execution on one thread.
 *
 * Each fiber has its own stack, so ordinary blocking code, C or C++, runs in
 * one unchanged. Stacks are changed by a few lines of assembly where there are
 * some for the machine (fiber_switch.h), else by ucontext and setjmp; neither
 * makes a system call. AddressSanitizer is told of every switch.
 *
 * A fiber that is abandoned half-way (its program has crashed) needs nothing:
 * fiber_start() reuses the stack from the top.
 */
#ifndef SIM_FIBER_H
#define SIM_FIBER_H

#include <stddef.h>

struct fiber;

/* A fiber with a stack of its own; NULL if memory is out. */
struct fiber *fiber_create(void);
void fiber_destroy(struct fiber *fiber);
/* (Re)starts the fiber at entry(argument). It does not run before the first
 * fiber_resume(). entry may return: the fiber is then over. */
void fiber_start(struct fiber *fiber, void (*entry)(void *argument),
                 void *argument);
/* Runs the fiber until it yields or is over; from the outside only. */
void fiber_resume(struct fiber *fiber);
/* Back to where fiber_resume() was called; from the inside only. */
void fiber_yield(struct fiber *fiber);
/* True once entry has returned (or before the first start). */
int fiber_over(const struct fiber *fiber);

/*
 * NULL, or where the thread keeps FIBER_STATE_WORDS words that each fiber has
 * to have for itself. For C++ that is abi::__cxa_get_globals: the exceptions
 * being handled and the count of those in flight. Without it a fiber that
 * leaves in the middle of a catch would hand its exception to the next.
 */
#define FIBER_STATE_WORDS 2
extern void *(*fiber_thread_state)(void);

#endif
