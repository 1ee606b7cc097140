#include "mock/porter.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mock/os.h"

#define SPINS 500 /* about as long as it takes to sleep and be woken */
#define PIPES 3   /* that are closed under a copy, before it gives up */
#define STACK ((size_t)256 * 1024)
#define FIRST_SLEEP 1000000 /* nanoseconds */
#define LONGEST_SLEEP 32000000

enum kind { READ, WRITE, STOP };

struct vf_porter {
    struct vf_mailbox *box;
    struct vf_asker self;
    pthread_t thread;
    pid_t pid;
    uint32_t last; /* the request that was answered last */
    int pipe[2];   /* -1: not open */
};

/* What arrives in a program's memory is ordered by its completion, which comes
 * another way: a sanitizer that sees the bytes alone would call it a race. */
#if defined(__SANITIZE_THREAD__)
#define VF_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define VF_TSAN 1
#endif
#endif
#ifdef VF_TSAN
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);

static void unseen_begin(void)
{
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}

static void unseen_end(void)
{
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}
#else
static void unseen_begin(void)
{
}

static void unseen_end(void)
{
}
#endif

/* The pipe. */

static void close_pipe(struct vf_porter *porter)
{
    for (int i = 0; i < 2; i++) {
        int fd = porter->pipe[i];

        porter->pipe[i] = -1; /* first: see vf_porter_stop in a child */
        if (fd != -1)
            close(fd);
    }
}

/* Takes exactly size bytes, which are in the pipe. */
static int drain(int fd, char *to, size_t size)
{
    while (size > 0) {
        ssize_t moved = read(fd, to, size);

        if (moved < 0 && errno == EINTR)
            continue;
        if (moved < 0)
            return errno;
        if (moved == 0)
            return EIO;
        to += moved;
        size -= (size_t)moved;
    }
    return 0;
}

/* As copy(). After an error the pipe may have something left in it. */
static int copy_once(struct vf_porter *porter, char *to, const char *from,
                     size_t size)
{
    int error = porter->pipe[0] != -1 ? 0 : vf_os_pipe(porter->pipe);

    while (error == 0 && size > 0) {
        ssize_t moved = write(porter->pipe[1], from, size);

        if (moved < 0 && errno == EINTR)
            continue;
        error = moved < 0 ? errno : moved == 0 ? EIO : 0;
        if (error != 0)
            break;
        error = drain(porter->pipe[0], to, (size_t)moved);
        from += moved;
        to += moved;
        size -= (size_t)moved;
    }
    return error;
}

/* Copies as memcpy would, but answers EFAULT. A program that closes what it
 * does not know has closed the pipe, perhaps: then a new one does it again. */
static int copy(struct vf_porter *porter, char *to, const char *from,
                size_t size)
{
    int error = copy_once(porter, to, from, size);

    for (int again = 0; error == EBADF && again < PIPES; again++) {
        porter->pipe[0] = -1; /* the numbers are the program's now */
        porter->pipe[1] = -1;
        error = copy_once(porter, to, from, size);
    }
    if (error != 0)
        close_pipe(porter);
    return error;
}

/* The porter's thread. */

static uint32_t await_request(struct vf_porter *porter)
{
    struct vf_mailbox *box = porter->box;
    uint32_t asked;

    for (int spin = 0; spin < SPINS; spin++) {
        asked = atomic_load_explicit(&box->asked, memory_order_acquire);
        if (asked != porter->last)
            return asked;
        vf_os_pause();
    }
    close_pipe(porter);
    for (;;) {
        /* Either we see what was asked, or the asker sees that we sleep. */
        atomic_store(&box->porter_sleeps, 1);
        asked = atomic_load(&box->asked);
        if (asked != porter->last)
            break;
        vf_os_wait(&box->asked, asked, -1);
    }
    atomic_store_explicit(&box->porter_sleeps, 0, memory_order_relaxed);
    return asked;
}

static int serve(struct vf_porter *porter)
{
    struct vf_mailbox *box = porter->box;
    char *there = (char *)(uintptr_t)box->address;
    char *bytes = (char *)box->bytes;
    int error = 0;

    unseen_begin();
    if (box->kind == READ)
        error = copy(porter, bytes, there, box->size);
    else if (box->kind == WRITE)
        error = copy(porter, there, bytes, box->size);
    unseen_end();
    return error;
}

static void *carry(void *argument)
{
    struct vf_porter *porter = argument;
    struct vf_mailbox *box = porter->box;
    bool stopped = false;

    while (!stopped) {
        uint32_t asked = await_request(porter);

        stopped = box->kind == STOP;
        box->error = serve(porter);
        porter->last = asked;
        if (stopped)
            atomic_store(&box->pid, 0);
        atomic_store(&box->answered, asked);
        if (atomic_load(&box->asker_sleeps) != 0)
            vf_os_wake(&box->answered);
    }
    close_pipe(porter);
    return NULL;
}

/* The asker. The mailbox's lock is held. */

/* The mailbox is the lock holder's once the last request is answered. */
static int await_answer(struct vf_mailbox *box, pid_t pid, int64_t patience)
{
    uint32_t asked = atomic_load_explicit(&box->asked, memory_order_relaxed);
    int64_t length = FIRST_SLEEP;
    int64_t end = INT64_MAX;
    uint32_t answered;
    int error = 0;

    for (int spin = 0; spin < SPINS; spin++) {
        if (atomic_load_explicit(&box->answered, memory_order_acquire) == asked)
            return 0;
        vf_os_pause();
    }
    if (patience >= 0)
        end = vf_os_now() + patience;
    while (error == 0) {
        int64_t left = end == INT64_MAX ? INT64_MAX : end - vf_os_now();

        atomic_store(&box->asker_sleeps, 1);
        answered = atomic_load(&box->answered);
        if (answered == asked)
            break;
        if (left <= 0) {
            error = ETIMEDOUT;
            break;
        }
        vf_os_wait(&box->answered, answered, left < length ? left : length);
        if (atomic_load(&box->answered) == answered && !vf_os_alive(pid))
            error = ESRCH;
        length = 2 * length < LONGEST_SLEEP ? 2 * length : LONGEST_SLEEP;
    }
    atomic_store_explicit(&box->asker_sleeps, 0, memory_order_relaxed);
    return error;
}

static void ask(struct vf_mailbox *box, enum kind kind, uint64_t address,
                size_t size)
{
    box->kind = kind;
    box->address = address;
    box->size = (uint32_t)size;
    atomic_fetch_add(&box->asked, 1);
    if (atomic_load(&box->porter_sleeps) != 0)
        vf_os_wake(&box->asked);
}

/* A dead asker's request may be under way, and is waited for like one that was
 * given up; but it may have died before it woke the porter. */
static void enter(struct vf_mailbox *box, const struct vf_asker *asker)
{
    if (vf_lock_take(&box->lock, asker->self, asker->deaths))
        vf_os_wake(&box->asked);
}

/* One request. here: to or from, by kind. */
static int request(struct vf_mailbox *box, pid_t pid,
                   const struct vf_asker *asker, enum kind kind, uint64_t there,
                   char *here, size_t size)
{
    int error = ESRCH;

    enter(box, asker);
    if (atomic_load(&box->pid) == pid)
        error = await_answer(box, pid, asker->patience);
    if (error == 0) {
        if (kind == WRITE)
            memcpy(box->bytes, here, size);
        ask(box, kind, there, size);
        error = await_answer(box, pid, asker->patience);
    }
    if (error == 0)
        error = box->error;
    if (error == 0 && kind == READ)
        memcpy(here, box->bytes, size);
    vf_lock_give(&box->lock, asker->self);
    return error;
}

static int copy_by_mail(struct vf_mailbox *box, pid_t pid,
                        const struct vf_asker *asker, enum kind kind,
                        uint64_t there, char *here, size_t size)
{
    int saved = errno;
    int error = 0;

    while (size > 0 && error == 0) {
        size_t part = size < VF_MAIL ? size : VF_MAIL;

        error = request(box, pid, asker, kind, there, here, part);
        there += part;
        here += part;
        size -= part;
    }
    errno = saved;
    return error;
}

int vf_porter_read(struct vf_mailbox *box, pid_t pid,
                   const struct vf_asker *asker, void *to, uint64_t from,
                   size_t size)
{
    return copy_by_mail(box, pid, asker, READ, from, to, size);
}

int vf_porter_write(struct vf_mailbox *box, pid_t pid,
                    const struct vf_asker *asker, uint64_t to, const void *from,
                    size_t size)
{
    return copy_by_mail(box, pid, asker, WRITE, to, (char *)(uintptr_t)from,
                        size);
}

/* Start and end. */

/* All signals are the program's: its handlers run on its own threads. */
static int start_thread(struct vf_porter *porter)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int error = pthread_attr_init(&attributes);

    if (error != 0)
        return error;
    pthread_attr_setstacksize(&attributes, STACK);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&porter->thread, &attributes, carry, porter);
    if (error == EINVAL) /* much thread-local memory: too small a stack */
        error = pthread_create(&porter->thread, NULL, carry, porter);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

/* What a dead process was still asked, and never answered, is over. */
struct vf_porter *vf_porter_start(struct vf_mailbox *box,
                                  const struct vf_asker *self)
{
    struct vf_porter *porter = malloc(sizeof(*porter));
    int error;

    if (porter == NULL)
        return NULL;
    *porter = (struct vf_porter){
        .box = box, .self = *self, .pid = getpid(), .pipe = {-1, -1}};
    enter(box, self);
    porter->last = atomic_load(&box->asked);
    atomic_store(&box->answered, porter->last);
    atomic_store(&box->porter_sleeps, 0);
    error = start_thread(porter);
    if (error == 0)
        atomic_store(&box->pid, (int32_t)porter->pid);
    vf_lock_give(&box->lock, self->self);
    if (error != 0) {
        free(porter);
        errno = error;
        return NULL;
    }
    return porter;
}

void vf_porter_stop(struct vf_porter *porter)
{
    struct vf_mailbox *box = porter->box;

    if (porter->pid == getpid()) {
        enter(box, &porter->self);
        await_answer(box, porter->pid, -1);
        ask(box, STOP, 0, 0);
        vf_lock_give(&box->lock, porter->self.self);
        pthread_join(porter->thread, NULL);
    } else {
        close_pipe(porter);
    }
    free(porter);
}
