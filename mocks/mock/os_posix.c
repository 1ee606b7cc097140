/*
 * Every other system: what POSIX has. Processes wait by looking, and cannot
 * reach into each other (mock/porter.h is the other way).
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach/mach.h>
#include <mach/mach_vm.h>
#include <sys/sysctl.h>
#endif

#include "mock/os.h"

#define NAMES 64 /* tried before giving up */
#define SPINS 16
#define YIELDS 16
#define FIRST_NAP 20000
#define LONGEST_NAP 1000000

/* A new object with a name nobody has. A name that is left over from a dead
 * process with our number is passed over: it might not be left over. Short
 * names: macOS takes 31 bytes. */
static int make(char path[VF_OS_PATH_MAX])
{
    static _Atomic unsigned made;

    for (int i = 0; i < NAMES; i++) {
        int fd;

        snprintf(path, VF_OS_PATH_MAX, "/verbfault-%d-%u", (int)getpid(),
                 atomic_fetch_add(&made, 1) % 100000);
        fd = shm_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

/* Where shared memory is a file system that knows its free space, what does
 * not fit would end its user with SIGBUS one day; where it is a file, what is
 * beyond the process's limit would with SIGXFSZ at once. */
static bool fits(int fd, size_t size)
{
    struct statvfs status;
    struct rlimit limit;

    if (size > PTRDIFF_MAX)
        return false;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
        limit.rlim_cur != RLIM_INFINITY && size > limit.rlim_cur)
        return false;
    return fstatvfs(fd, &status) != 0 || status.f_blocks == 0 ||
           status.f_frsize == 0 || size / status.f_frsize < status.f_bavail;
}

void *vf_os_share(size_t size, char path[VF_OS_PATH_MAX], int *fd)
{
    void *memory = MAP_FAILED;
    int made, error;

    if (size == 0) {
        errno = EINVAL;
        return NULL;
    }
    made = make(path);
    if (made < 0)
        return NULL;
    if (!fits(made, size))
        errno = ENOSPC;
    else if (ftruncate(made, (off_t)size) == 0)
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, made, 0);
    if (memory == MAP_FAILED) {
        error = errno;
        close(made);
        shm_unlink(path);
        errno = error == ENOMEM || error == EFBIG ? ENOSPC : error;
        return NULL;
    }
    *fd = made;
    return memory;
}

void *vf_os_open_shared(const char *path, size_t *size)
{
    int fd = shm_open(path, O_RDWR, 0);
    void *memory = MAP_FAILED;
    struct stat status;
    int error;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) != 0 || status.st_size <= 0)
        errno = EINVAL;
    else
        memory = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE,
                      MAP_SHARED, fd, 0);
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
    if (memory != NULL)
        munmap(memory, size);
    if (fd != -1)
        close(fd);
    if (path != NULL)
        shm_unlink(path);
}

static void nap(int64_t nanoseconds)
{
    struct timespec length = {.tv_sec = (time_t)(nanoseconds / 1000000000),
                              .tv_nsec = (long)(nanoseconds % 1000000000)};

    nanosleep(&length, NULL);
}

/* A word that changes soon costs a few looks; one that does not, 1000 naps a
 * second. */
void vf_os_wait(_Atomic uint32_t *word, uint32_t value, int64_t nanoseconds)
{
    int64_t end = nanoseconds < 0 ? INT64_MAX : vf_os_now() + nanoseconds;
    int64_t length = FIRST_NAP;
    int error = errno;

    for (unsigned look = 0; atomic_load(word) == value; look++) {
        int64_t now = vf_os_now();

        if (now >= end)
            break;
        if (look < SPINS) {
            vf_os_pause();
        } else if (look < SPINS + YIELDS) {
            sched_yield();
        } else {
            nap(length < end - now ? length : end - now);
            length = 2 * length < LONGEST_NAP ? 2 * length : LONGEST_NAP;
        }
    }
    errno = error;
}

void vf_os_wake(_Atomic uint32_t *word)
{
    (void)word;
}

void vf_os_wake_one(_Atomic uint32_t *word)
{
    (void)word;
}

#ifdef __APPLE__
static bool unreaped(pid_t pid)
{
    int name[4] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, pid};
    struct kinfo_proc info;
    size_t size = sizeof(info);

    memset(&info, 0, sizeof(info));
    return sysctl(name, 4, &info, &size, NULL, 0) == 0 &&
           (size == 0 || info.kp_proc.p_stat == SZOMB);
}
#else
/* A child of ours, dead? POSIX says nothing of the others. */
static bool unreaped(pid_t pid)
{
    siginfo_t info;

    memset(&info, 0, sizeof(info));
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == pid;
}
#endif

bool vf_os_alive(pid_t pid)
{
    int error = errno;
    bool alive =
        pid > 0 && (kill(pid, 0) == 0 || errno != ESRCH) && !unreaped(pid);

    errno = error;
    return alive;
}

int vf_os_read(pid_t pid, void *to, uint64_t from, size_t size)
{
    (void)pid, (void)to, (void)from, (void)size;
    return ENOSYS;
}

int vf_os_write(pid_t pid, uint64_t to, const void *from, size_t size)
{
    (void)pid, (void)to, (void)from, (void)size;
    return ENOSYS;
}

void vf_os_allow_copies(void)
{
}

int vf_os_pipe(int fds[2])
{
    if (pipe(fds) != 0)
        return errno;
    for (int i = 0; i < 2; i++) {
        fcntl(fds[i], F_SETFD, FD_CLOEXEC);
        fcntl(fds[i], F_SETFL, O_NONBLOCK);
    }
    return 0;
}

int64_t vf_os_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#ifdef __APPLE__
int vf_os_check_memory(const void *memory, size_t size, bool writing)
{
    vm_prot_t wanted = VM_PROT_READ | (writing ? VM_PROT_WRITE : 0);
    mach_vm_address_t at = (uintptr_t)memory;
    mach_vm_address_t past = at + size;

    while (at < past) {
        mach_msg_type_number_t count = VM_REGION_BASIC_INFO_COUNT_64;
        vm_region_basic_info_data_64_t info;
        mach_vm_address_t start = at;
        mach_vm_size_t length;
        mach_port_t object;

        if (mach_vm_region(mach_task_self(), &start, &length,
                           VM_REGION_BASIC_INFO_64, (vm_region_info_t)&info,
                           &count, &object) != KERN_SUCCESS ||
            start > at || (info.protection & wanted) != wanted)
            return EFAULT;
        at = start + length;
    }
    return 0;
}
#else
/* Whether memory is there, msync() says; what may be done with it, nobody
 * without doing it. */
int vf_os_check_memory(const void *memory, size_t size, bool writing)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t start = (uintptr_t)memory & ~(page - 1);

    (void)writing;
    if (msync((void *)start, (uintptr_t)memory - start + size, MS_ASYNC) == 0)
        return 0;
    return errno == ENOMEM ? EFAULT : 0;
}
#endif

uint64_t vf_os_lockable(void)
{
#ifdef RLIMIT_MEMLOCK
    struct rlimit limit;

    if (geteuid() != 0 && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
        limit.rlim_cur != RLIM_INFINITY)
        return limit.rlim_cur;
#endif
    return UINT64_MAX;
}
