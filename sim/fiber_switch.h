/*
 * fiber_switch.h: changing stacks, the one thing C cannot say.
 *
 * fiber_switch(&from, to) saves what a called function must preserve on the
 * stack, stores the stack pointer in `from` and goes on where `to` was saved.
 * It makes no system call and, unlike longjmp, AddressSanitizer does not stop
 * to clean up behind it: a switch costs 10 ns (with it 0.1 us) instead of
 * 3 us, and a start-up switches about a hundred times.
 *
 * Written out for x86-64 (System V) and arm64 (AAPCS64: Linux and macOS).
 * Elsewhere, or with -DFIBER_PORTABLE, fiber.c uses ucontext and setjmp.
 */
#ifndef SIM_FIBER_SWITCH_H
#define SIM_FIBER_SWITCH_H

#if !defined(FIBER_PORTABLE) && (defined(__x86_64__) || defined(__aarch64__))
#define FIBER_NATIVE 1

#include <stddef.h>
#include <stdint.h>

void fiber_switch(void **from, void *to) __asm__("verbfault_fiber_switch");
/* Where a new fiber's first switch arrives: calls entry(argument). */
void fiber_thunk(void) __asm__("verbfault_fiber_thunk");

#ifdef __x86_64__
__asm__(".text\n"
        ".p2align 4\n"
        ".globl verbfault_fiber_switch\n"
        "verbfault_fiber_switch:\n"
        "  pushq %rbp\n"
        "  pushq %rbx\n"
        "  pushq %r12\n"
        "  pushq %r13\n"
        "  pushq %r14\n"
        "  pushq %r15\n"
        "  subq $8, %rsp\n"
        "  stmxcsr (%rsp)\n"
        "  fnstcw 4(%rsp)\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  ldmxcsr (%rsp)\n"
        "  fldcw 4(%rsp)\n"
        "  addq $8, %rsp\n"
        "  popq %r15\n"
        "  popq %r14\n"
        "  popq %r13\n"
        "  popq %r12\n"
        "  popq %rbx\n"
        "  popq %rbp\n"
        "  ret\n"
        ".p2align 4\n"
        ".globl verbfault_fiber_thunk\n"
        "verbfault_fiber_thunk:\n"
        "  movq %r12, %rdi\n"
        "  xorl %ebp, %ebp\n" /* the last frame of a backtrace */
        "  call *%r13\n"
        "  ud2\n");

static inline void *fiber_first_frame(char *stack_top, void (*entry)(void *),
                                      void *argument)
{
    uint64_t *sp = (uint64_t *)(void *)stack_top;
    *--sp = 0; /* two words keep the stack 16-byte aligned at the call */
    *--sp = 0;
    *--sp = (uint64_t)(uintptr_t)fiber_thunk;
    *--sp = 0;                             /* rbp */
    *--sp = 0;                             /* rbx */
    *--sp = (uint64_t)(uintptr_t)argument; /* r12 */
    *--sp = (uint64_t)(uintptr_t)entry;    /* r13 */
    *--sp = 0;                             /* r14 */
    *--sp = 0;                             /* r15 */
    *--sp = 0x0000037f00001f80u;           /* x87 and SSE control words */
    return sp;
}
#else /* __aarch64__ */
__asm__(".text\n"
        ".p2align 4\n"
        ".globl verbfault_fiber_switch\n"
        "verbfault_fiber_switch:\n"
        "  sub sp, sp, #160\n"
        "  stp x19, x20, [sp, #0]\n"
        "  stp x21, x22, [sp, #16]\n"
        "  stp x23, x24, [sp, #32]\n"
        "  stp x25, x26, [sp, #48]\n"
        "  stp x27, x28, [sp, #64]\n"
        "  stp x29, x30, [sp, #80]\n"
        "  stp d8, d9, [sp, #96]\n"
        "  stp d10, d11, [sp, #112]\n"
        "  stp d12, d13, [sp, #128]\n"
        "  stp d14, d15, [sp, #144]\n"
        "  mov x9, sp\n"
        "  str x9, [x0]\n"
        "  mov sp, x1\n"
        "  ldp x19, x20, [sp, #0]\n"
        "  ldp x21, x22, [sp, #16]\n"
        "  ldp x23, x24, [sp, #32]\n"
        "  ldp x25, x26, [sp, #48]\n"
        "  ldp x27, x28, [sp, #64]\n"
        "  ldp x29, x30, [sp, #80]\n"
        "  ldp d8, d9, [sp, #96]\n"
        "  ldp d10, d11, [sp, #112]\n"
        "  ldp d12, d13, [sp, #128]\n"
        "  ldp d14, d15, [sp, #144]\n"
        "  add sp, sp, #160\n"
        "  ret\n"
        ".p2align 4\n"
        ".globl verbfault_fiber_thunk\n"
        "verbfault_fiber_thunk:\n"
        "  mov x0, x19\n"
        "  mov x29, #0\n"
        "  blr x20\n"
        "  brk #1\n");

static inline void *fiber_first_frame(char *stack_top, void (*entry)(void *),
                                      void *argument)
{
    uint64_t *sp = (uint64_t *)(void *)stack_top - 20;
    for (int i = 0; i < 20; i++)
        sp[i] = 0;
    sp[0] = (uint64_t)(uintptr_t)argument;     /* x19 */
    sp[1] = (uint64_t)(uintptr_t)entry;        /* x20 */
    sp[11] = (uint64_t)(uintptr_t)fiber_thunk; /* x30 */
    return sp;
}
#endif
#endif
#endif
