/*
 * JACCL's sockets: IPv4, blocking, without deadlines; an interrupted or a
 * closed connection is an exception.
 */
#include "sim/subjects/legacy.h"

#include <stdlib.h>
#include <string.h>

#define CONNECT_TRIES 4
#define CONNECT_WAIT INT64_C(1000000000) /* then doubled */
#define PORT_MAX 65535

/* a.b.c.d, each from 0 to 255. */
static bool is_ipv4(const char *text, size_t length)
{
    int parts = 0, digits = 0, value = 0;
    for (size_t i = 0; i <= length; i++) {
        if (i == length || text[i] == '.') {
            if (digits == 0)
                return false;
            parts++;
            digits = value = 0;
        } else if (text[i] >= '0' && text[i] <= '9' && digits < 3) {
            value = value * 10 + (text[i] - '0');
            digits++;
            if (value > 255)
                return false;
        } else {
            return false;
        }
    }
    return parts == 4;
}

/* Empty is port 0. */
static bool is_port(const char *text)
{
    long value = 0;
    for (size_t i = 0; text[i]; i++) {
        if (text[i] < '0' || text[i] > '9' || i > 4)
            return false;
        value = value * 10 + (text[i] - '0');
    }
    return value <= PORT_MAX;
}

int legacy_address_check(struct legacy_group *group, const char *address)
{
    /* The first colon divides, so no IPv6 address comes through. A name that
     * needs resolving is one that cannot be: ranks know numbers only. */
    const char *colon = strchr(address, ':');
    if (colon && is_ipv4(address, (size_t)(colon - address)) &&
        is_port(colon + 1))
        return 0;
    return legacy_throw(group, "the address %s cannot be parsed", address);
}

int legacy_socket_listen(struct legacy_group *group, const char *address)
{
    int listener = sim_listen(group->sim, address);
    if (listener >= 0)
        return listener;
    return legacy_throw(group, "cannot bind to %s (errno %d)", address,
                        -listener);
}

int legacy_socket_accept(struct legacy_group *group, int listener)
{
    int socket = sim_accept(group->sim, listener, SIM_FOREVER);
    if (socket >= 0)
        return socket;
    return legacy_throw(group, "accepting a peer failed (errno %d)", -socket);
}

int legacy_socket_connect(struct legacy_group *group, const char *address)
{
    int64_t wait = CONNECT_WAIT;
    int socket = -1;
    for (int i = 0; i < CONNECT_TRIES; i++) {
        socket = sim_connect(group->sim, address, SIM_FOREVER);
        if (socket >= 0)
            return socket;
        sim_sleep(group->sim, wait); /* after the last try, too */
        wait *= 2;
    }
    return legacy_throw(group, "cannot connect to %s (errno %d)", address,
                        -socket);
}

int legacy_socket_send(struct legacy_group *group, int socket, const void *data,
                       size_t bytes)
{
    const char *at = data;
    while (bytes > 0) {
        long done = sim_send(group->sim, socket, at, bytes);
        if (done <= 0)
            return legacy_throw(group,
                                "side channel: sending failed "
                                "(errno %ld)",
                                -done);
        at += done;
        bytes -= (size_t)done;
    }
    return 0;
}

int legacy_socket_recv(struct legacy_group *group, int socket, void *data,
                       size_t bytes)
{
    char *at = data;
    while (bytes > 0) {
        long done = sim_recv(group->sim, socket, at, bytes, SIM_FOREVER);
        /* An orderly end is not told from an error: errno 0. */
        if (done <= 0)
            return legacy_throw(group,
                                "side channel: receiving failed "
                                "(errno %ld)",
                                -done);
        at += done;
        bytes -= (size_t)done;
    }
    return 0;
}

void legacy_socket_close(struct legacy_group *group, int socket)
{
    if (socket >= 0)
        sim_close(group->sim, socket);
}
