/*
 * TCP, over IPv4 or IPv6. An end is a file descriptor.
 *
 * Every descriptor is non-blocking; a function tries first and then waits in
 * poll(), so a wait always ends at its deadline and a signal only makes it look
 * again. Only the resolver can take longer: it has no deadline of its own.
 */
#include "defaults.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#ifdef MSG_NOSIGNAL
#define SEND_FLAGS MSG_NOSIGNAL
#else
#define SEND_FLAGS 0 /* macOS: SO_NOSIGPIPE, set on the socket */
#endif

#define BACKLOG 128

/* Where there is none, poll() says POLLHUP when the peer has closed. */
#ifdef POLLRDHUP
#define PEER_CLOSED POLLRDHUP
#else
#define PEER_CLOSED 0
#endif

/* One address of several gets its share of the time, between these. */
#define LEAST_SHARE_NS ((int64_t)1000000000)
#define LARGEST_SHARE_NS (5 * LEAST_SHARE_NS)

/* For poll(): milliseconds to the deadline, rounded up; 0 when it passed. */
static int milliseconds_to(int64_t deadline_ns)
{
    int64_t now = cji_default_clock.now_ns(NULL);
    int64_t left;

    if (deadline_ns <= now)
        return 0;
    left = (deadline_ns - now - 1) / 1000000 + 1;
    return left > INT_MAX ? INT_MAX : (int)left;
}

/* Waits for events on any of them: 0, or a negative errno. */
static int poll_until(struct pollfd *fds, nfds_t count, int64_t deadline_ns)
{
    for (;;) {
        int timeout = milliseconds_to(deadline_ns);
        int n = poll(fds, count, timeout);

        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return -errno;
        if (n == 0 && timeout == 0)
            return -ETIMEDOUT;
    }
}

static int poll_one(int end, short events, int64_t deadline_ns)
{
    struct pollfd fd = {.fd = end, .events = events};

    return poll_until(&fd, 1, deadline_ns);
}

/* The same for one that was tried already: who may not wait needs no poll(). */
static int await(int end, short events, int64_t deadline_ns)
{
    if (deadline_ns <= 0 || milliseconds_to(deadline_ns) == 0)
        return -ETIMEDOUT;
    return poll_one(end, events, deadline_ns);
}

static bool must_wait(int err_no)
{
    return err_no == EAGAIN || err_no == EWOULDBLOCK;
}

/* Closes the descriptor and answers the errno that led to it. */
static int give_up(int fd, int err_no)
{
    (void)close(fd);
    return -err_no;
}

/*
 * Where a program has closed its standard streams, a socket could become one,
 * and what the program prints go to a peer. The descriptor, or a negative
 * errno; the old one is closed.
 */
static int keep_off_standard(int fd)
{
    int moved;

    if (fd > STDERR_FILENO)
        return fd;
    moved = fcntl(fd, F_DUPFD, STDERR_FILENO + 1);
    if (moved < 0)
        return give_up(fd, errno);
    (void)close(fd);
    return moved;
}

static int prepare(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
        fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return -errno;
#ifdef SO_NOSIGPIPE
    {
        int on = 1;

        if (setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on) < 0)
            return -errno;
    }
#endif
    return 0;
}

/* Where a socket can be born with that flag, no other thread's fork and exec
 * comes in between. */
#ifdef SOCK_CLOEXEC
#define SOCKET_FLAGS SOCK_CLOEXEC
#else
#define SOCKET_FLAGS 0
#endif

static int new_socket(int family)
{
    int fd = socket(family, SOCK_STREAM | SOCKET_FLAGS, 0);
    int status;

    if (fd < 0)
        return -errno;
    fd = keep_off_standard(fd);
    if (fd < 0)
        return fd;
    status = prepare(fd);
    return status < 0 ? give_up(fd, -status) : fd;
}

/* Small messages that are waited for: they must not be held back. */
static void send_at_once(int fd)
{
    int on = 1;

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static int resolver_errno(int code)
{
    switch (code) {
    case EAI_AGAIN:
        return EAGAIN;
    case EAI_MEMORY:
        return ENOMEM;
    case EAI_FAIL:
        return EIO;
    case EAI_SYSTEM:
        return errno != 0 ? errno : EIO;
    default:
        return ENOENT;
    }
}

static int resolve(const char *host, uint16_t port, int flags,
                   struct addrinfo **list)
{
    struct addrinfo hints = {
        .ai_family = AF_UNSPEC,
        .ai_socktype = SOCK_STREAM,
        .ai_flags = flags | AI_NUMERICSERV,
    };
    char service[8];
    int code;

    (void)snprintf(service, sizeof service, "%u", (unsigned)port);
    code = getaddrinfo(host, service, &hints, list);
    return code == 0 ? 0 : -resolver_errno(code);
}

static int listen_at(const struct addrinfo *address)
{
    int on = 1;
    int fd = new_socket(address->ai_family);

    if (fd < 0)
        return fd;
    /* The port of a group that ended a moment ago can be used again. */
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, address->ai_addr, address->ai_addrlen) < 0 ||
        listen(fd, BACKLOG) < 0)
        return give_up(fd, errno);
    return fd;
}

static int net_listen(void *ctx, const char *host, uint16_t port)
{
    struct addrinfo *list;
    int end = resolve(host, port, AI_PASSIVE, &list);

    (void)ctx;
    if (end < 0)
        return end;
    end = -ENOENT;
    for (struct addrinfo *a = list; a != NULL && end < 0; a = a->ai_next)
        end = listen_at(a);
    freeaddrinfo(list);
    return end;
}

/* An error of the connection that was to be accepted, not of the listener. */
static bool is_of_connection(int err_no)
{
    switch (err_no) {
    case EINTR:
    case ECONNABORTED:
    case ECONNRESET:
    case EPROTO:
    case ENOPROTOOPT:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ETIMEDOUT:
#ifdef ENONET
    case ENONET:
#endif
        return true;
    default:
        return false;
    }
}

/* One look: an end, or a negative errno. */
static int accept_one(int listener)
{
#ifdef SOCK_CLOEXEC
    int fd = accept4(listener, NULL, NULL, SOCKET_FLAGS);
#else
    int fd = accept(listener, NULL, NULL);
#endif
    int status;

    if (fd < 0)
        return -errno;
    fd = keep_off_standard(fd);
    if (fd < 0)
        return fd;
    status = prepare(fd);
    /* macOS lets no option be set on a connection that was reset already. */
    if (status == -EINVAL)
        status = -ECONNABORTED;
    if (status < 0)
        return give_up(fd, -status);
    send_at_once(fd);
    return fd;
}

static int net_accept(void *ctx, int listener, int64_t deadline_ns)
{
    (void)ctx;
    for (;;) {
        int fd = accept_one(listener);
        int status;

        if (fd >= 0)
            return fd;
        if (is_of_connection(-fd)) {
            /* The next may be good, but not for ever. */
            if (milliseconds_to(deadline_ns) == 0)
                return -ETIMEDOUT;
            continue;
        }
        if (!must_wait(-fd))
            return fd;
        status = await(listener, POLLIN, deadline_ns);
        if (status < 0)
            return status;
    }
}

/*
 * A connection to a free port of the own machine can be given that very port
 * as its source: it then is connected to itself.
 */
static bool is_own_echo(int fd)
{
    struct sockaddr_storage here;
    struct sockaddr_storage there;
    socklen_t here_size = sizeof here;
    socklen_t there_size = sizeof there;

    memset(&here, 0, sizeof here);
    memset(&there, 0, sizeof there);
    if (getsockname(fd, (struct sockaddr *)&here, &here_size) < 0 ||
        getpeername(fd, (struct sockaddr *)&there, &there_size) < 0)
        return false;
    return here_size == there_size && memcmp(&here, &there, here_size) == 0;
}

/* The end of a connect that could not be completed at once. */
static int await_connect(int fd, int64_t deadline_ns)
{
    int err_no = 0;
    socklen_t size = sizeof err_no;
    int status = poll_one(fd, POLLOUT, deadline_ns);

    if (status < 0)
        return status;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err_no, &size) < 0)
        return -errno;
    return -err_no;
}

static int connect_to(const struct addrinfo *address, int64_t deadline_ns)
{
    int fd = new_socket(address->ai_family);
    int status = 0;

    if (fd < 0)
        return fd;
    /* An interrupted connect goes on by itself, like one that must wait. */
    if (connect(fd, address->ai_addr, address->ai_addrlen) < 0) {
        if (errno != EINPROGRESS && errno != EINTR && !must_wait(errno))
            return give_up(fd, errno);
        status = await_connect(fd, deadline_ns);
    }
    if (status == 0 && is_own_echo(fd))
        status = -ECONNREFUSED;
    if (status < 0)
        return give_up(fd, -status);
    send_at_once(fd);
    return fd;
}

/*
 * Until when that address of the list may be tried. One that nobody answers at
 * (a name's IPv6 address where only IPv4 is routed) must not use up the time of
 * the others, nor that of the next attempt.
 */
static int64_t share_of(const struct addrinfo *list, const struct addrinfo *one,
                        int64_t deadline_ns)
{
    int64_t now = cji_default_clock.now_ns(NULL);
    int64_t left = deadline_ns - now;
    int64_t share;
    int count = 0;

    if (list->ai_next == NULL || deadline_ns <= now)
        return deadline_ns;
    for (; one != NULL; one = one->ai_next)
        count++;
    share = left / count;
    if (share < LEAST_SHARE_NS)
        share = LEAST_SHARE_NS;
    if (share > LARGEST_SHARE_NS)
        share = LARGEST_SHARE_NS;
    return share < left ? now + share : deadline_ns;
}

static int net_connect(void *ctx, const char *host, uint16_t port,
                       int64_t deadline_ns)
{
    struct addrinfo *list;
    int end = resolve(host, port, 0, &list);

    (void)ctx;
    if (end < 0)
        return end;
    end = -ENOENT;
    for (struct addrinfo *a = list; a != NULL && end < 0; a = a->ai_next)
        end = connect_to(a, share_of(list, a, deadline_ns));
    freeaddrinfo(list);
    return end;
}

static int64_t net_send(void *ctx, int end, const void *data, size_t size,
                        int64_t deadline_ns)
{
    (void)ctx;
    for (;;) {
        ssize_t n = send(end, data, size, SEND_FLAGS);
        int status;

        if (n > 0)
            return n;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && !must_wait(errno))
            return -errno;
        status = await(end, POLLOUT, deadline_ns);
        if (status < 0)
            return status;
    }
}

static int64_t net_recv(void *ctx, int end, void *data, size_t size,
                        int64_t deadline_ns)
{
    (void)ctx;
    for (;;) {
        ssize_t n = recv(end, data, size, 0);
        int status;

        if (n >= 0)
            return n;
        if (errno == EINTR)
            continue;
        if (!must_wait(errno))
            return -errno;
        status = await(end, POLLIN, deadline_ns);
        if (status < 0)
            return status;
    }
}

/* All ranks, or a listener and its clients. */
#define WAIT_MAX (2 * CJ_MAX_RANKS)

static int net_wait(void *ctx, const int *ends, int count, int64_t deadline_ns)
{
    struct pollfd fds[WAIT_MAX];
    int status;

    (void)ctx;
    if (count < 1 || count > WAIT_MAX)
        return -EINVAL;
    for (int i = 0; i < count; i++)
        fds[i] = (struct pollfd){.fd = ends[i], .events = POLLIN};
    status = poll_until(fds, (nfds_t)count, deadline_ns);
    if (status < 0)
        return status;
    for (int i = 0; i < count; i++) {
        if (fds[i].revents != 0)
            return i;
    }
    return -EIO;
}

static void net_close(void *ctx, int end)
{
    (void)ctx;
    (void)shutdown(end, SHUT_RDWR);
    (void)close(end);
}

void cji_default_net_drop(int end)
{
    (void)close(end);
}

/*
 * Bytes that wait to be read hide the end of the stream behind them, so poll()
 * is asked, which sees past them on Linux and on macOS. A system where it does
 * not tells the peer's end once they were read.
 */
static int net_alive(void *ctx, int end)
{
    struct pollfd fd = {.fd = end, .events = POLLIN | PEER_CLOSED};
    char byte;
    ssize_t n;

    (void)ctx;
    /* Interrupted or not: what poll() did not say is asked for below. */
    if (poll(&fd, 1, 0) == 0)
        return 0;
    do {
        n = recv(end, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && !must_wait(errno))
        return -errno;
    if (n == 0 || (fd.revents & (PEER_CLOSED | POLLHUP)) != 0)
        return -EPIPE;
    return 0;
}

static void net_peer_name(void *ctx, int end, char *name, size_t size)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    char host[64];
    char port[8];

    (void)ctx;
    if (getpeername(end, (struct sockaddr *)&address, &length) < 0 ||
        getnameinfo((struct sockaddr *)&address, length, host, sizeof host,
                    port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        (void)snprintf(name, size, "an unknown address");
    else if (address.ss_family == AF_INET6)
        (void)snprintf(name, size, "[%s]:%s", host, port);
    else
        (void)snprintf(name, size, "%s:%s", host, port);
}

static uint16_t port_of(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
    return ntohs(((const struct sockaddr_in *)address)->sin_port);
}

static int net_local_name(void *ctx, int end, char *host, size_t size,
                          uint16_t *port)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;

    (void)ctx;
    memset(&address, 0, sizeof address);
    if (getsockname(end, (struct sockaddr *)&address, &length) < 0)
        return -errno;
    if (getnameinfo((struct sockaddr *)&address, length, host, (socklen_t)size,
                    NULL, 0, NI_NUMERICHOST) != 0)
        return -EINVAL;
    *port = port_of(&address);
    return 0;
}

const struct cj_net cji_default_net = {
    .listen = net_listen,
    .accept = net_accept,
    .connect = net_connect,
    .send = net_send,
    .recv = net_recv,
    .wait = net_wait,
    .close = net_close,
    .alive = net_alive,
    .peer_name = net_peer_name,
    .local_name = net_local_name,
};
