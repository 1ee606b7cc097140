/*
 * Linux: memfd, futex, process_vm_readv.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mock/os.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* ftruncate() past the process's limit for files would end it (SIGXFSZ). */
static bool within_limit(size_t size)
{
    struct rlimit limit;

    return size <= PTRDIFF_MAX &&
           (getrlimit(RLIMIT_FSIZE, &limit) != 0 ||
            limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur);
}

/* A process that dumps its core is not dead before it is done, and gigabytes
 * of shared memory, holes and all, take a pipe minutes. */
static void *undumped(void *memory, size_t size)
{
    if (memory != MAP_FAILED)
        (void)madvise(memory, size, MADV_DONTDUMP);
    return memory;
}

void *vf_os_share(size_t size, char path[VF_OS_PATH_MAX], int *fd)
{
    void *memory = MAP_FAILED;
    int made;

    if (size == 0 || !within_limit(size)) {
        errno = size == 0 ? EINVAL : ENOSPC;
        return NULL;
    }
    made = memfd_create("verbfault", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (made < 0)
        return NULL;
    if (ftruncate(made, (off_t)size) == 0 &&
        fcntl(made, F_ADD_SEALS, SEALS) == 0)
        memory = undumped(
            mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, made, 0),
            size);
    if (memory == MAP_FAILED) {
        int error = errno;

        close(made);
        errno = error == ENOMEM || error == EFBIG ? ENOSPC : error;
        return NULL;
    }
    snprintf(path, VF_OS_PATH_MAX, "/proc/%d/fd/%d", (int)getpid(), made);
    *fd = made;
    return memory;
}

void *vf_os_open_shared(const char *path, size_t *size)
{
    /* Not to be held up, should it be a fifo. */
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    void *memory = MAP_FAILED;
    int seals, error;
    struct stat status;

    if (fd < 0)
        return NULL;
    seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &status) != 0)
        errno = EINVAL;
    else
        memory = undumped(mmap(NULL, (size_t)status.st_size,
                               PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
                          (size_t)status.st_size);
    error = errno;
    close(fd);
    errno = error;
    if (memory == MAP_FAILED)
        return NULL;
    *size = (size_t)status.st_size;
    return memory;
}

void vf_os_unshare(void *memory, size_t size, int fd, const char *path)
{
    (void)path; /* gone with its last descriptor and mapping */
    if (memory != NULL)
        munmap(memory, size);
    if (fd != -1)
        close(fd);
}

/* Not FUTEX_PRIVATE: the words are shared between processes. */
static void futex(_Atomic uint32_t *word, int operation, uint32_t value,
                  const struct timespec *limit)
{
    int error = errno;

    syscall(SYS_futex, word, operation, value, limit, NULL, 0);
    errno = error;
}

void vf_os_wait(_Atomic uint32_t *word, uint32_t value, int64_t nanoseconds)
{
    struct timespec limit = {.tv_sec = (time_t)(nanoseconds / 1000000000),
                             .tv_nsec = (long)(nanoseconds % 1000000000)};

    futex(word, FUTEX_WAIT, value, nanoseconds < 0 ? NULL : &limit);
}

void vf_os_wake(_Atomic uint32_t *word)
{
    futex(word, FUTEX_WAKE, INT_MAX, NULL);
}

void vf_os_wake_one(_Atomic uint32_t *word)
{
    futex(word, FUTEX_WAKE, 1, NULL);
}

/* For kernels before 5.3, and where pidfd_open is forbidden. */
static bool alive_by_signal(pid_t pid)
{
    siginfo_t info = {.si_pid = 0};

    if (kill(pid, 0) != 0 && errno == ESRCH)
        return false;
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid == 0;
}

/* A pidfd is ready once the process has died with its last thread. */
bool vf_os_alive(pid_t pid)
{
    int error = errno;
    bool alive;
    int fd;

    if (pid <= 0)
        return false;
    fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd >= 0) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};

        alive = poll(&ready, 1, 0) <= 0;
        close(fd);
    } else if (errno == ESRCH) {
        alive = false;
    } else {
        alive = alive_by_signal(pid);
    }
    errno = error;
    return alive;
}

/* The kernel moves up to 2 GiB at once, and stops short before a bad page; the
 * next call then says why. */
static int copy(pid_t pid, char *here, uint64_t there, size_t size, bool write)
{
    while (size > 0) {
        struct iovec local = {.iov_base = here, .iov_len = size};
        struct iovec remote = {.iov_base = (void *)(uintptr_t)there,
                               .iov_len = size};
        ssize_t moved = write ? process_vm_writev(pid, &local, 1, &remote, 1, 0)
                              : process_vm_readv(pid, &local, 1, &remote, 1, 0);

        if (moved < 0)
            return errno == EINVAL ? EFAULT : errno;
        if (moved == 0)
            return EFAULT;
        here += moved;
        there += (uint64_t)moved;
        size -= (size_t)moved;
    }
    return 0;
}

int vf_os_read(pid_t pid, void *to, uint64_t from, size_t size)
{
    int error = errno;
    int result = copy(pid, to, from, size, false);

    errno = error;
    return result;
}

int vf_os_write(pid_t pid, uint64_t to, const void *from, size_t size)
{
    int error = errno;
    /* process_vm_writev only reads it. */
    int result = copy(pid, (char *)(uintptr_t)from, to, size, true);

    errno = error;
    return result;
}

/* Where the Yama module lets only a parent look into its child. */
void vf_os_allow_copies(void)
{
#ifdef PR_SET_PTRACER
    int error = errno;

    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    errno = error;
#endif
}

int vf_os_pipe(int fds[2])
{
    return pipe2(fds, O_CLOEXEC | O_NONBLOCK) == 0 ? 0 : errno;
}

int64_t vf_os_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/*
 * /proc/self/maps, line by line, in order of addresses: a mapping each, such as
 * "55d0c0a00000-55d0c0a02000 r-xp 00000000 fe:01 1234 /usr/bin/thing".
 */
struct maps {
    int fd;
    size_t used, length;
    char text[4096];
};

static int next_character(struct maps *maps)
{
    if (maps->used == maps->length) {
        ssize_t got = read(maps->fd, maps->text, sizeof(maps->text));

        if (got <= 0)
            return EOF;
        maps->length = (size_t)got;
        maps->used = 0;
    }
    return maps->text[maps->used++];
}

/* A number and the character after it; EOF: the maps are at an end. */
static int next_address(struct maps *maps, uintptr_t *address)
{
    int c = next_character(maps);

    *address = 0;
    while ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')) {
        *address =
            *address << 4 | (uintptr_t)(c <= '9' ? c - '0' : c - 'a' + 10);
        c = next_character(maps);
    }
    return c;
}

struct mapping {
    uintptr_t start, end;
    bool readable, writable;
    bool grows; /* the first thread's stack, downwards */
};

static bool next_mapping(struct maps *maps, struct mapping *mapping)
{
    int last, c = 0;

    if (next_address(maps, &mapping->start) == EOF ||
        next_address(maps, &mapping->end) == EOF)
        return false;
    mapping->readable = next_character(maps) == 'r';
    mapping->writable = next_character(maps) == 'w';
    mapping->grows = false;
    do {
        last = c;
        c = next_character(maps);
        if (last == '[' && c == 's')
            mapping->grows = true;
    } while (c != '\n' && c != EOF);
    return true;
}

/* Neither mincore() nor a system call that copies says what may be written to
 * without writing; the kernel's own list does, and reading it costs the same
 * whatever the size. */
int vf_os_check_memory(const void *memory, size_t size, bool writing)
{
    struct maps maps = {.fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
    uintptr_t at = (uintptr_t)memory;
    uintptr_t past = at + size;
    struct mapping next;

    if (maps.fd < 0)
        return 0; /* no way to know */
    if (past < at)
        past = UINTPTR_MAX;
    while (at < past && next_mapping(&maps, &next)) {
        if (next.end <= at)
            continue;
        if ((next.start > at && !next.grows) || !next.readable ||
            (writing && !next.writable))
            break;
        at = next.end;
    }
    close(maps.fd);
    return at < past ? EFAULT : 0;
}

uint64_t vf_os_lockable(void)
{
    struct rlimit limit;

    if (geteuid() == 0 || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return limit.rlim_cur;
}
