/*
 * sanitizer.h: the few calls to the sanitizers, empty without them.
 *
 * The simulator switches stacks and hands out memory, and the sanitizers have
 * to be told of both. Every such call of this project's upper floors is here.
 */
#ifndef SIM_SANITIZER_H
#define SIM_SANITIZER_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define SIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SIM_ASAN 1
#endif
#endif
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define SIM_MSAN 1
#endif
#endif

/* For the few functions that only look over the simulator's own memory and
 * would cost a tenth of a run if every look were checked. */
#if defined(SIM_ASAN)
#define SANITIZER_SKIPS __attribute__((no_sanitize_address))
#elif defined(SIM_MSAN)
#define SANITIZER_SKIPS __attribute__((no_sanitize_memory))
#else
#define SANITIZER_SKIPS
#endif

#ifdef SIM_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

static inline void sanitizer_start_switch(void **save, const void *bottom,
                                          size_t size)
{
    __sanitizer_start_switch_fiber(save, bottom, size);
}

static inline void sanitizer_finish_switch(void *save, const void **bottom,
                                           size_t *size)
{
    __sanitizer_finish_switch_fiber(save, bottom, size);
}

static inline void sanitizer_poison(const void *memory, size_t size)
{
    __asan_poison_memory_region(memory, size);
}

static inline void sanitizer_unpoison(const void *memory, size_t size)
{
    __asan_unpoison_memory_region(memory, size);
}
#else
static inline void sanitizer_start_switch(void **save, const void *bottom,
                                          size_t size)
{
    (void)save;
    (void)bottom;
    (void)size;
}

static inline void sanitizer_finish_switch(void *save, const void **bottom,
                                           size_t *size)
{
    (void)save;
    (void)bottom;
    (void)size;
}

static inline void sanitizer_poison(const void *memory, size_t size)
{
    (void)memory;
    (void)size;
}

static inline void sanitizer_unpoison(const void *memory, size_t size)
{
    (void)memory;
    (void)size;
}
#endif

#ifdef SIM_MSAN
#include <sanitizer/msan_interface.h>
/* New memory from sim_alloc() counts as uninitialised, as malloc's would. */
static inline void sanitizer_uninitialised(const void *memory, size_t size)
{
    __msan_allocated_memory(memory, size);
}

/* What the quarry computes from memory that nobody wrote, as JACCL does, is
 * compared all the same. */
static inline void sanitizer_initialised(const void *memory, size_t size)
{
    __msan_unpoison(memory, size);
}
#else
static inline void sanitizer_uninitialised(const void *memory, size_t size)
{
    (void)memory;
    (void)size;
}

static inline void sanitizer_initialised(const void *memory, size_t size)
{
    (void)memory;
    (void)size;
}
#endif

#endif
