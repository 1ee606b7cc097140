/*
 * mock/porter.h: to and from another process's memory, where the system does
 * not let one process copy there (seccomp, macOS).
 *
 * A process that lets others do so has a porter: a thread that carries bytes
 * between its process's memory and a mailbox in shared memory, for whoever
 * asks. The asker copies between the mailbox and its own memory. So each byte
 * is copied twice and more, and waits for a thread to be scheduled: this is
 * what is left when vf_os_read and vf_os_write answer EPERM or ENOSYS.
 *
 * An asker takes the mailbox's lock, writes a request of up to VF_MAIL bytes
 * and counts `asked` up. The porter does it, and sets `answered` to the same
 * number. A longer copy is several requests, and others may come in between.
 * While the two numbers differ the mailbox belongs to the porter. An asker that
 * gives up or dies leaves it that way, and the next one waits for the answer
 * that nobody reads before it asks.
 *
 * Both sides look for a few microseconds before they sleep on the other's
 * number, and say so in a word beside it, so that nobody makes a system call to
 * wake who is awake.
 *
 * The porter must survive a bad address. It never touches its process's memory
 * itself: it has the kernel copy there, through a pipe, which answers EFAULT.
 * The pipe is open only while the porter is awake. A program may close every
 * descriptor it does not know, and open others in their place; what is open for
 * ever would be written into those one day.
 *
 * Zeroed memory is a mailbox without a porter.
 */
#ifndef VF_MOCK_PORTER_H
#define VF_MOCK_PORTER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "mock/lock.h"

#define VF_MAIL 65536u

struct vf_mailbox {
    struct vf_lock lock; /* of the askers */
    /* Written under the lock, read by the porter. */
    _Alignas(64) _Atomic uint32_t asked;
    _Atomic uint32_t asker_sleeps;
    uint32_t kind; /* what the porter shall do */
    uint32_t size; /* bytes, up to VF_MAIL */
    uint64_t address;
    _Atomic int32_t pid; /* the porter's process; 0: nobody is there */
    /* Written by the porter. */
    _Alignas(64) _Atomic uint32_t answered;
    _Atomic uint32_t porter_sleeps;
    int32_t error;
    _Alignas(64) unsigned char bytes[VF_MAIL];
};

struct vf_asker {
    unsigned self; /* as for vf_lock_take */
    const struct vf_lock_deaths *deaths;
    int64_t patience; /* nanoseconds for each VF_MAIL bytes; -1: no end */
};

struct vf_porter;

/*
 * Starts this process's porter with the mailbox. self: how the process is
 * called where it takes the mailbox's lock; copied, but what deaths points to
 * has to last. NULL: errno. The thread takes no signals. A child made by
 * fork() has the handle but no thread.
 */
struct vf_porter *vf_porter_start(struct vf_mailbox *box,
                                  const struct vf_asker *self);
/* What was asked is answered, then nobody is there any more. In a child that
 * has the handle by fork(), gives only the child's copy back. */
void vf_porter_stop(struct vf_porter *porter);

/*
 * Copies from and to the memory of process pid, whose mailbox it is. 0, or
 * EFAULT: no such memory there;
 * ESRCH: the process is dead, or its porter is not there;
 * ETIMEDOUT: the porter did not answer in time. A write may still happen;
 * another errno: the process has no descriptors left (EMFILE, ENFILE).
 * What was copied before an error stays. Memory here has to be good.
 */
int vf_porter_read(struct vf_mailbox *box, pid_t pid,
                   const struct vf_asker *asker, void *to, uint64_t from,
                   size_t size);
int vf_porter_write(struct vf_mailbox *box, pid_t pid,
                    const struct vf_asker *asker, uint64_t to, const void *from,
                    size_t size);

#endif
