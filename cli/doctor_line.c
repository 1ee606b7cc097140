/*
 * verbfault doctor: lines over TCP.
 *
 * cjaccl's sockets retry what a signal interrupts. So that Ctrl-C ends a wait,
 * it is made in slices, and the flag is looked at between them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cjaccl/src/defaults.h"
#include "cjaccl/src/error.h"
#include "cli/doctor.h"

#define SLICE_NS INT64_C(100000000)

int64_t doctor_now(void)
{
    return cji_default_clock.now_ns(NULL);
}

static int64_t slice(int64_t until)
{
    int64_t next = doctor_now() + SLICE_NS;
    return next < until ? next : until;
}

/* After a time-out: whether it was only that of a slice. */
static bool may_go_on(int64_t answer, int64_t until)
{
    return answer == -ETIMEDOUT && doctor_now() < until && !cli_interrupted();
}

static int send_all(const struct doctor_wire *wire, const char *text,
                    size_t size)
{
    int64_t until = doctor_now() + wire->wait_ns;
    size_t sent = 0;
    while (sent < size) {
        int64_t n = cji_default_net.send(NULL, wire->end, text + sent,
                                         size - sent, slice(until));
        if (n > 0)
            sent += (size_t)n;
        else if (!may_go_on(n, until))
            return cli_interrupted() ? -EINTR : (int)n;
    }
    return 0;
}

int doctor_send_line(const struct doctor_wire *wire, const char *line)
{
    char text[2 * DOCTOR_TEXT];
    int length =
        snprintf(text, sizeof text, "%.*s\n", 2 * DOCTOR_TEXT - 2, line);
    return send_all(wire, text, (size_t)length);
}

int doctor_recv_line(const struct doctor_wire *wire, char *line, size_t room)
{
    int64_t until = doctor_now() + wire->wait_ns;
    size_t got = 0;
    int status = 0;
    while (status == 0 && got + 1 < room) {
        /* One by one: nothing is read that belongs to the next line. */
        int64_t n =
            cji_default_net.recv(NULL, wire->end, line + got, 1, slice(until));
        if (n == 1 && line[got] == '\n')
            break;
        if (n == 1)
            got++;
        else if (n == 0)
            status = -EPIPE;
        else if (!may_go_on(n, until))
            status = cli_interrupted() ? -EINTR : (int)n;
    }
    if (status == 0 && got + 1 == room)
        status = -EPROTO;
    line[got] = '\0';
    for (size_t i = 0; i < got; i++) /* a zero byte would end the text */
        line[i] = line[i] == '\0' ? '?' : line[i];
    cji_tame(line, got + 1);
    return status < 0 ? status : (int)got;
}
