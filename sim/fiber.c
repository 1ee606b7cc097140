/* Fibers: see fiber.h. */

/* longjmp's fortified twin takes a jump to another stack for an attack. */
#ifdef _FORTIFY_SOURCE
#undef _FORTIFY_SOURCE
#endif
#ifdef __APPLE__
#define _XOPEN_SOURCE 600 /* ucontext; deprecated there, but portable */
#define _DARWIN_C_SOURCE
#else
#define _GNU_SOURCE /* MAP_ANON under -std=c11 */
#endif

#include "sim/fiber.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/fiber_switch.h"
#include "sim/sanitizer.h"

#ifndef FIBER_NATIVE
#include <setjmp.h>
#include <ucontext.h>
#endif

#define STACK_BYTES (512u * 1024u)

void *(*fiber_thread_state)(void);

struct fiber {
    char *memory; /* guard page, then the stack */
    size_t guard;
    void (*entry)(void *argument);
    void *argument;
    bool fresh; /* started, not yet running */
    bool over;
    void *fake_outside, *fake_inside; /* AddressSanitizer's fake stacks */
    const void *outside_bottom;       /* the scheduler's stack */
    size_t outside_size;
    /* fiber_thread_state's: of the side that does not run. */
    uintptr_t state[FIBER_STATE_WORDS];
#ifdef FIBER_NATIVE
    void *inside, *outside;
#else
    ucontext_t context;
    jmp_buf inside, outside;
#endif
};

static char *stack_of(const struct fiber *fiber)
{
    return fiber->memory + fiber->guard;
}

struct fiber *fiber_create(void)
{
    struct fiber *fiber = calloc(1, sizeof *fiber);
    if (!fiber)
        return NULL;
    fiber->guard = (size_t)sysconf(_SC_PAGESIZE);
    fiber->memory = mmap(NULL, fiber->guard + STACK_BYTES,
                         PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (fiber->memory == MAP_FAILED) {
        free(fiber);
        return NULL;
    }
    /* Running off the end of the stack faults instead of corrupting. */
    mprotect(fiber->memory, fiber->guard, PROT_NONE);
    fiber->over = true;
    return fiber;
}

void fiber_destroy(struct fiber *fiber)
{
    if (!fiber)
        return;
    sanitizer_unpoison(stack_of(fiber), STACK_BYTES);
    munmap(fiber->memory, fiber->guard + STACK_BYTES);
    free(fiber);
}

int fiber_over(const struct fiber *fiber)
{
    return fiber->over;
}

/* ---- the two jumps: to the fiber, and back ------------------------------ */

static void body(void *argument);

#ifdef FIBER_NATIVE

static void prepare(struct fiber *fiber)
{
    fiber->inside =
        fiber_first_frame(stack_of(fiber) + STACK_BYTES, body, fiber);
}

static void jump_in(struct fiber *fiber)
{
    fiber_switch(&fiber->outside, fiber->inside);
}

static void jump_out(struct fiber *fiber)
{
    fiber_switch(&fiber->inside, fiber->outside);
}

#else

/* makecontext passes ints only: the pointer comes in two halves. */
static void trampoline(unsigned low, unsigned high)
{
    body((void *)(((uintptr_t)high << 16 << 16) | (uintptr_t)low));
}

static void prepare(struct fiber *fiber)
{
    uintptr_t bits = (uintptr_t)fiber;
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = stack_of(fiber);
    fiber->context.uc_stack.ss_size = STACK_BYTES;
    fiber->context.uc_link = NULL;
    makecontext(&fiber->context, (void (*)(void))trampoline, 2,
                (unsigned)(bits & 0xffffffffu), (unsigned)(bits >> 16 >> 16));
}

static void jump_in(struct fiber *fiber)
{
    if (_setjmp(fiber->outside))
        return;
    if (fiber->fresh) {
        fiber->fresh = false;
        setcontext(&fiber->context);
    }
    _longjmp(fiber->inside, 1);
}

static void jump_out(struct fiber *fiber)
{
    if (_setjmp(fiber->inside) == 0)
        _longjmp(fiber->outside, 1);
}

#endif

static void body(void *argument)
{
    struct fiber *fiber = argument;
    sanitizer_finish_switch(NULL, &fiber->outside_bottom, &fiber->outside_size);
    fiber->entry(fiber->argument);
    fiber->over = true;
    /* NULL: this stack's fake frames end here. */
    sanitizer_start_switch(NULL, fiber->outside_bottom, fiber->outside_size);
    jump_out(fiber);
}

void fiber_start(struct fiber *fiber, void (*entry)(void *argument),
                 void *argument)
{
    /* An abandoned run leaves its frames' red zones behind. */
    if (!fiber->over)
        sanitizer_unpoison(stack_of(fiber), STACK_BYTES);
    fiber->entry = entry;
    fiber->argument = argument;
    fiber->fresh = true;
    fiber->over = false;
    memset(fiber->state, 0, sizeof fiber->state);
    prepare(fiber);
}

static void exchange_state(struct fiber *fiber)
{
    uintptr_t state[FIBER_STATE_WORDS];
    void *place;
    if (!fiber_thread_state)
        return;
    place = fiber_thread_state();
    memcpy(state, place, sizeof state);
    memcpy(place, fiber->state, sizeof state);
    memcpy(fiber->state, state, sizeof state);
}

void fiber_resume(struct fiber *fiber)
{
    exchange_state(fiber);
    sanitizer_start_switch(&fiber->fake_outside, stack_of(fiber), STACK_BYTES);
    jump_in(fiber);
    sanitizer_finish_switch(fiber->fake_outside, NULL, NULL);
    exchange_state(fiber);
}

void fiber_yield(struct fiber *fiber)
{
    sanitizer_start_switch(&fiber->fake_inside, fiber->outside_bottom,
                           fiber->outside_size);
    jump_out(fiber);
    sanitizer_finish_switch(fiber->fake_inside, &fiber->outside_bottom,
                            &fiber->outside_size);
}
