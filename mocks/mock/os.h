/*
 * mock/os.h: what differs from one operating system to the next.
 *
 * Everything here has a Linux form and a portable one (os_linux.c, os_posix.c;
 * CMake picks). No other file of the mock makes a call that POSIX does not
 * know.
 *
 * Shared memory has no name in any file system where that can be had (Linux:
 * a memfd, opened by others through its creator's /proc entry), so nothing is
 * left behind whoever dies how. Elsewhere it is a POSIX shared memory object,
 * whose name its creator unlinks. On Linux its size is sealed: nobody can cut
 * it under another's feet.
 *
 * On Linux core dumps leave it out: while a process dumps, its peers still take
 * it for alive, and there are gigabytes of it.
 *
 * Sleeping. A word of shared memory is what processes sleep on. The portable
 * form looks at it again and again, ever more seldom (up to 1 ms), and waking
 * does nothing there. So who wakes changes the word first, and who waits
 * expects to be late.
 */
#ifndef VF_MOCK_OS_H
#define VF_MOCK_OS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define VF_OS_PATH_MAX 64

/*
 * Makes size bytes of zeroed shared memory, maps it, and writes to path how
 * another process of the same user opens it while this one keeps *fd open.
 * NULL: errno says why (ENOSPC: no space in shared memory). Pages cost memory
 * when they are touched.
 */
void *vf_os_share(size_t size, char path[VF_OS_PATH_MAX], int *fd);
/*
 * Maps what path names, its size goes to *size (where the system counts in
 * pages, rounded up to one). NULL: errno (ENOENT: there is no such thing, or no
 * longer; EINVAL: it is something else). What the memory holds is the caller's
 * to check: a path may outlive its creator and mean somebody else's memory.
 */
void *vf_os_open_shared(const char *path, size_t *size);
/* Unmaps, and closes fd unless it is -1. path: the creator's, else NULL. */
void vf_os_unshare(void *memory, size_t size, int fd, const char *path);

/*
 * Sleeps while *word == value, at most nanoseconds (-1: without end). The word
 * may be in shared memory and its waker in another process. May return early.
 */
void vf_os_wait(_Atomic uint32_t *word, uint32_t value, int64_t nanoseconds);
/* Wakes everyone who sleeps on the word. */
void vf_os_wake(_Atomic uint32_t *word);
/* Wakes one of them, if there is one. */
void vf_os_wake_one(_Atomic uint32_t *word);

/*
 * Is there a process pid? One that has died and is not yet reaped is not; one
 * of whose threads any still runs, is. Where the system has no way to know
 * (portable form, not macOS), one that is not this process's child and not yet
 * reaped still is. Makes system calls.
 */
bool vf_os_alive(pid_t pid);

/*
 * Copies between memory of this process and of another. 0, or an errno:
 * EFAULT (no such memory there or here), ESRCH (no such process), EPERM or
 * ENOSYS (forbidden here: use another way). What was copied before an error
 * stays.
 */
int vf_os_read(pid_t pid, void *to, uint64_t from, size_t size);
int vf_os_write(pid_t pid, uint64_t to, const void *from, size_t size);
/* Lets the other processes of this user do that to this one. */
void vf_os_allow_copies(void);

/* pipe(), both ends close-on-exec and non-blocking. 0 or an errno. */
int vf_os_pipe(int fds[2]);

/*
 * Is all of this memory of this process there, to be read, and (writing) to be
 * written to? 0 or EFAULT. Nothing of it is touched. Where the system cannot
 * tell what may be done with memory, that it is there is enough.
 */
int vf_os_check_memory(const void *memory, size_t size, bool writing);
/* How many bytes this process may lock in memory; UINT64_MAX: any number. */
uint64_t vf_os_lockable(void);

/* This thread's stack, innermost call first, a line each: "name+offset (file)".
 * Empty where the system has no way to tell. */
void vf_os_stack(char *text, size_t room);

/* Monotonic time in nanoseconds, the same clock in every process. */
int64_t vf_os_now(void);

/* A hint inside of a spin: some tens of nanoseconds. */
static inline void vf_os_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); /* yield does not wait there */
#endif
}

/* The cache line at the address will be written to before long; another
 * processor may have it now. A hint: the address need not be good. */
static inline void vf_os_want(const void *address)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" ::"m"(*(const char *)address));
#else
    __builtin_prefetch(address, 1);
#endif
}

#endif
