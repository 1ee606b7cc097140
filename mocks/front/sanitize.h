/*
 * front/sanitize.h: what the compiler's sanitizers offer, or nothing.
 */
#ifndef VF_FRONT_SANITIZE_H
#define VF_FRONT_SANITIZE_H

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VF_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define VF_ASAN 1
#endif

#ifdef VF_ASAN
#include <sanitizer/asan_interface.h>
#define VF_POISON(address, size) __asan_poison_memory_region(address, size)
#define VF_UNPOISON(address, size) __asan_unpoison_memory_region(address, size)
#define VF_IS_POISONED(address) __asan_address_is_poisoned(address)
#else
#define VF_POISON(address, size) ((void)(address), (void)(size))
#define VF_UNPOISON(address, size) ((void)(address), (void)(size))
#define VF_IS_POISONED(address) ((void)(address), 0)
#endif

/* For reads that are meant to fault where the program's own would: the
 * machine shall report them, not the undefined-behaviour sanitizer. */
#if defined(__clang__)
#define VF_READS_ANYTHING __attribute__((no_sanitize("undefined")))
#elif defined(__GNUC__)
#define VF_READS_ANYTHING __attribute__((no_sanitize_undefined))
#else
#define VF_READS_ANYTHING
#endif

#endif
