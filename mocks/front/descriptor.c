#include "front/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#define MILLISECOND INT64_C(1000000)
#define LONGEST_POLL 60000 /* milliseconds */

static int set_flags(int fd, int status)
{
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || fcntl(fd, F_SETFL, status) != 0)
        return errno;
    return 0;
}

int vf_descriptor_open(int *reading, int *writing)
{
    int ends[2];
    int err;

    if (pipe(ends) != 0)
        return errno;
    err = set_flags(ends[0], 0);
    if (!err)
        err = set_flags(ends[1], O_NONBLOCK);
    if (err) {
        close(ends[0]);
        close(ends[1]);
        return err;
    }
    *reading = ends[0];
    *writing = ends[1];
    return 0;
}

void vf_descriptor_close(int reading, int writing)
{
    if (reading >= 0)
        close(reading);
    if (writing >= 0)
        close(writing);
}

void vf_descriptor_signal(int writing)
{
    int kept = errno;

    if (writing >= 0 && write(writing, "", 1) < 0)
        errno = kept;
}

/* No read() but this one of a moment is kept from blocking: whoever finds
 * nothing meanwhile, and is to wait, tries again (vf_descriptor_take). */
void vf_descriptor_forget(int reading)
{
    int kept = errno;
    int flags = reading >= 0 ? fcntl(reading, F_GETFL) : -1;
    bool blocks = flags >= 0 && !(flags & O_NONBLOCK);
    char byte;
    ssize_t got;

    if (flags >= 0 &&
        (!blocks || fcntl(reading, F_SETFL, flags | O_NONBLOCK) == 0)) {
        do
            got = read(reading, &byte, 1);
        while (got < 0 && errno == EINTR);
        if (blocks)
            (void)fcntl(reading, F_SETFL, flags);
    }
    errno = kept;
}

/* Milliseconds until something may happen by itself; -1: nothing will. */
static int patience(struct vf_world *world)
{
    int64_t next = vf_world_advance(world);
    int64_t now = world->hooks.now ? world->hooks.now(world->hooks.context) : 0;

    if (next < 0)
        return -1;
    if (next <= now)
        return 0;
    if (next - now > LONGEST_POLL * MILLISECOND)
        return LONGEST_POLL;
    return (int)((next - now) / MILLISECOND) + 1;
}

/* Waits until it is readable, as long as the world has deadlines. */
static int wait_for_byte(struct vf_world *world, int reading)
{
    struct pollfd wanted = {.fd = reading, .events = POLLIN};
    int ready = 0;

    while (ready == 0) {
        int wait = patience(world);

        if (wait < 0)
            return 0;
        ready = poll(&wanted, 1, wait);
        if (ready < 0)
            return errno;
    }
    return 0;
}

int vf_descriptor_take(struct vf_world *world, int reading)
{
    int flags = fcntl(reading, F_GETFL);
    bool blocks = flags >= 0 && !(flags & O_NONBLOCK);
    char byte;
    ssize_t got;
    int err = flags < 0 ? errno : 0;

    do {
        /* A signal ends poll(), even one after which read() would go on. */
        if (!err && blocks)
            err = wait_for_byte(world, reading);
        if (err)
            return err;
        got = read(reading, &byte, 1);
    } while (got < 0 && errno == EAGAIN && blocks);
    if (got < 0)
        return errno;
    return got == 1 ? 0 : EIO;
}
