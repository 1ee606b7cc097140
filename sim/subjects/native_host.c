/*
 * What a native rank's process has: heap, verbs library, sockets, time. The
 * functions called __wrap_NAME stand where libjaccl calls NAME (native.h).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* RTLD_*, getaddrinfo */
#endif

#include "sim/state.h"
#include "sim/subjects/native.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "sim/sanitizer.h"

/* Above any descriptor of this process, below FD_SETSIZE's like. */
#define NATIVE_SOCKET 100000
#define SOCKETS_MAX 512 /* of a rank and run, with those that it leaks */

/* A header before each block of operator new, so that delete knows it. */
struct block {
    _Alignas(16) struct block *previous, *next; /* NULL: of no rank */
};

struct descriptor {
    bool open;
    int socket; /* of the simulator, or -1: neither listens nor connected */
    char address[SCN_WORD_MAX]; /* bound to */
};

static struct host {
    bool inside;
    struct block heap; /* the head of a ring; next NULL: new */
    struct descriptor descriptors[SOCKETS_MAX];
    int descriptor_count; /* used since the last run */
    const char *dl_error; /* for dlerror(), once */
    char dl_text[SCN_WORD_MAX + 64];
    /* The last address that was looked up, as it was written. */
    char address[SCN_WORD_MAX];
    struct sockaddr_in address_is;
} hosts[SCN_RANKS_MAX];

/* Has a native rank ever run here? Else everything is handed on. */
static bool ever;

void native_enter(struct sim_rank *rank)
{
    hosts[rank->number].inside = ever = true;
}

void native_leave(struct sim_rank *rank)
{
    hosts[rank->number].inside = false;
}

SANITIZER_SKIPS struct sim_rank *native_here(void)
{
    if (!ever || sim.current < 0 || !hosts[sim.current].inside)
        return NULL;
    return &sim.ranks[sim.current];
}

/* ---- heap ------------------------------------------------------------------
 */

static struct block *heap_of(struct sim_rank *rank)
{
    struct block *heap = &hosts[rank->number].heap;
    if (!heap->next)
        heap->next = heap->previous = heap;
    return heap;
}

void *native_new(size_t size)
{
    struct sim_rank *rank = native_here();
    struct block *block, *heap;
    if (size > SIZE_MAX - sizeof *block)
        return NULL;
    block = malloc(sizeof *block + size);
    if (!block)
        return NULL;
    block->previous = block->next = NULL;
    if (rank) {
        heap = heap_of(rank);
        block->next = heap->next;
        block->previous = heap;
        heap->next->previous = block;
        heap->next = block;
    }
    return block + 1;
}

void native_delete(void *memory)
{
    struct block *block = memory;
    if (!memory)
        return;
    block--;
    if (block->next) {
        block->next->previous = block->previous;
        block->previous->next = block->next;
    }
    free(block);
}

static void forget_rank(struct sim_rank *rank)
{
    struct host *host = &hosts[rank->number];
    struct block *heap = heap_of(rank);
    while (heap->next != heap)
        native_delete(heap->next + 1);
    for (int i = 0; i < host->descriptor_count; i++)
        host->descriptors[i].open = false;
    host->descriptor_count = 0;
    host->dl_error = NULL;
    host->inside = false;
    native_threads_forget(rank);
}

void native_forget(void)
{
    for (int i = 0; i < SCN_RANKS_MAX; i++) {
        sim.ranks[i].number = i;
        forget_rank(&sim.ranks[i]);
    }
}

/* ---- the functions that are wrapped ----------------------------------------
 */

/* What the linker makes of --wrap; names that C reserves for such uses. */
#define WRAP(answer, name, arguments)                                          \
    answer __real_##name arguments;                                            \
    answer __wrap_##name arguments;                                            \
    answer __wrap_##name arguments

WRAP(int, posix_memalign, (void **memory, size_t alignment, size_t size))
{
    struct sim_rank *rank = native_here();
    if (!rank)
        return __real_posix_memalign(memory, alignment, size);
    *memory = sim_alloc(rank, alignment, size);
    return *memory ? 0 : ENOMEM;
}

WRAP(void, free, (void *memory))
{
    struct sim_rank *rank = native_here();
    if (rank && sim_memory_holds(rank, memory))
        sim_free(rank, memory);
    else
        __real_free(memory);
}

/* The sanitizers look up symbols before they are ready: nothing here may read
 * memory that they check. */
static char verbs_library; /* its address is the handle */

WRAP(void *, dlopen, (const char *name, int flags))
{
    struct sim_rank *rank = native_here();
    struct host *host;
    if (!rank || !name || !strstr(name, "rdma"))
        return __real_dlopen(name, flags);
    if (sim_library_present(rank))
        return &verbs_library;
    host = &hosts[rank->number];
    snprintf(host->dl_text, sizeof host->dl_text, "%s: no such library", name);
    host->dl_error = host->dl_text;
    return NULL;
}

WRAP(void *, dlsym, (void *library, const char *symbol))
{
    struct sim_rank *rank;
    struct host *host;
    void *found;
    if (library != &verbs_library)
        return __real_dlsym(library, symbol);
    rank = native_here();
    found = rank ? sim_library_symbol(rank, symbol) : NULL;
    if (found || !rank)
        return found;
    host = &hosts[rank->number];
    snprintf(host->dl_text, sizeof host->dl_text, "undefined symbol: %s",
             symbol);
    host->dl_error = host->dl_text;
    return NULL;
}

WRAP(char *, dlerror, (void))
{
    struct sim_rank *rank = native_here();
    const char *error;
    if (!rank)
        return __real_dlerror();
    error = hosts[rank->number].dl_error;
    hosts[rank->number].dl_error = NULL;
    return (char *)(uintptr_t)error;
}

WRAP(int, nanosleep, (const struct timespec *time, struct timespec *left))
{
    struct sim_rank *rank = native_here();
    if (!rank)
        return __real_nanosleep(time, left);
    sim_sleep(rank, (int64_t)time->tv_sec * 1000000000 + time->tv_nsec);
    return 0;
}

/* ---- sockets ---------------------------------------------------------------
 */

static struct descriptor *descriptor_of(struct sim_rank *rank, int fd)
{
    int n = fd - NATIVE_SOCKET;
    struct host *host;
    if (!rank)
        return NULL;
    host = &hosts[rank->number];
    if (n < 0 || n >= host->descriptor_count || !host->descriptors[n].open)
        return NULL;
    return &host->descriptors[n];
}

static int new_descriptor(struct sim_rank *rank, int socket)
{
    struct host *host = &hosts[rank->number];
    int n = 0;
    while (n < host->descriptor_count && host->descriptors[n].open)
        n++;
    if (n == SOCKETS_MAX) {
        errno = EMFILE;
        return -1;
    }
    if (n == host->descriptor_count)
        host->descriptor_count++;
    host->descriptors[n].open = true;
    host->descriptors[n].socket = socket;
    host->descriptors[n].address[0] = '\0';
    return NATIVE_SOCKET + n;
}

/* Negative errnos become errno. What a library finds there after an orderly
 * end is nothing of its own: 0, to be the same on every run. */
static long answer(long status)
{
    errno = status < 0 ? (int)-status : 0;
    return status < 0 ? -1 : status;
}

/* The address as it was looked up, else in numbers. */
static bool write_address(struct sim_rank *rank, const struct sockaddr *address,
                          socklen_t length, char text[SCN_WORD_MAX])
{
    struct host *host = &hosts[rank->number];
    struct sockaddr_in v4;
    char numbers[INET_ADDRSTRLEN];
    if (length < sizeof v4 || address->sa_family != AF_INET)
        return false;
    memcpy(&v4, address, sizeof v4);
    if (host->address[0] && host->address_is.sin_port == v4.sin_port &&
        host->address_is.sin_addr.s_addr == v4.sin_addr.s_addr) {
        memmove(text, host->address, sizeof host->address);
        return true;
    }
    inet_ntop(AF_INET, &v4.sin_addr, numbers, sizeof numbers);
    snprintf(text, SCN_WORD_MAX, "%s:%u", numbers,
             (unsigned)ntohs(v4.sin_port));
    return true;
}

WRAP(int, getaddrinfo,
     (const char *name, const char *service, const struct addrinfo *hints,
      struct addrinfo **found))
{
    struct sim_rank *rank = native_here();
    struct addrinfo numeric;
    struct host *host;
    int status;
    if (!rank)
        return __real_getaddrinfo(name, service, hints, found);
    memset(&numeric, 0, sizeof numeric);
    if (hints)
        numeric = *hints;
    numeric.ai_flags |= AI_NUMERICHOST | AI_NUMERICSERV;
    status = __real_getaddrinfo(name, service, &numeric, found);
    host = &hosts[rank->number];
    host->address[0] = '\0';
    if (status == 0 && name && service && (*found)->ai_family == AF_INET) {
        snprintf(host->address, sizeof host->address, "%s:%s", name, service);
        memcpy(&host->address_is, (*found)->ai_addr, sizeof host->address_is);
    }
    return status;
}

WRAP(int, socket, (int domain, int type, int protocol))
{
    struct sim_rank *rank = native_here();
    if (!rank)
        return __real_socket(domain, type, protocol);
    return new_descriptor(rank, -1);
}

WRAP(int, setsockopt,
     (int fd, int level, int name, const void *value, socklen_t length))
{
    if (!descriptor_of(native_here(), fd))
        return __real_setsockopt(fd, level, name, value, length);
    return 0;
}

WRAP(int, bind, (int fd, const struct sockaddr *address, socklen_t length))
{
    struct sim_rank *rank = native_here();
    struct descriptor *descriptor = descriptor_of(rank, fd);
    if (!descriptor)
        return __real_bind(fd, address, length);
    if (write_address(rank, address, length, descriptor->address))
        return 0;
    return (int)answer(-EAFNOSUPPORT);
}

WRAP(int, listen, (int fd, int backlog))
{
    struct sim_rank *rank = native_here();
    struct descriptor *descriptor = descriptor_of(rank, fd);
    if (!descriptor)
        return __real_listen(fd, backlog);
    descriptor->socket = sim_listen(rank, descriptor->address);
    return (int)answer(descriptor->socket < 0 ? descriptor->socket : 0);
}

WRAP(int, accept, (int fd, struct sockaddr *address, socklen_t *length))
{
    struct sim_rank *rank = native_here();
    struct descriptor *descriptor = descriptor_of(rank, fd);
    int socket;
    if (!descriptor)
        return __real_accept(fd, address, length);
    socket = sim_accept(rank, descriptor->socket, SIM_FOREVER);
    if (socket < 0)
        return (int)answer(socket);
    if (length)
        *length = 0; /* nobody asked who it is */
    return new_descriptor(rank, socket);
}

WRAP(int, connect, (int fd, const struct sockaddr *address, socklen_t length))
{
    struct sim_rank *rank = native_here();
    struct descriptor *descriptor = descriptor_of(rank, fd);
    char text[SCN_WORD_MAX];
    int socket;
    if (!descriptor)
        return __real_connect(fd, address, length);
    if (!write_address(rank, address, length, text))
        return (int)answer(-EAFNOSUPPORT);
    socket = sim_connect(rank, text, SIM_FOREVER);
    if (socket >= 0)
        descriptor->socket = socket;
    return (int)answer(socket < 0 ? socket : 0);
}

WRAP(ssize_t, send, (int fd, const void *data, size_t length, int flags))
{
    struct sim_rank *rank = native_here();
    struct descriptor *descriptor = descriptor_of(rank, fd);
    if (!descriptor)
        return __real_send(fd, data, length, flags);
    return (ssize_t)answer(sim_send(rank, descriptor->socket, data, length));
}

WRAP(ssize_t, recv, (int fd, void *data, size_t length, int flags))
{
    struct sim_rank *rank = native_here();
    struct descriptor *descriptor = descriptor_of(rank, fd);
    if (!descriptor)
        return __real_recv(fd, data, length, flags);
    return (ssize_t)answer(
        sim_recv(rank, descriptor->socket, data, length, SIM_FOREVER));
}

WRAP(int, shutdown, (int fd, int how))
{
    if (!descriptor_of(native_here(), fd))
        return __real_shutdown(fd, how);
    return 0; /* libjaccl closes right behind it */
}

WRAP(int, close, (int fd))
{
    struct sim_rank *rank = native_here();
    struct descriptor *descriptor = descriptor_of(rank, fd);
    if (!descriptor)
        return __real_close(fd);
    if (descriptor->socket >= 0)
        sim_close(rank, descriptor->socket);
    descriptor->open = false;
    return 0;
}
