/*
 * verbfault doctor: two doctors find each other.
 *
 * One listens, the other connects, and each says who it is. Whoever connects to
 * the listener and is no doctor is sent away, and told of if no doctor comes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cjaccl/src/address.h"
#include "cjaccl/src/defaults.h"
#include "cjaccl/src/error.h"
#include "cli/doctor.h"

#define HELLO "verbfault-doctor 1"
#define SECOND_NS INT64_C(1000000000)
#define PAUSE_NS (SECOND_NS / 5)

#define START_THERE                                                            \
    "start verbfault doctor --listen there first; look at the address, the "   \
    "port and the firewall"

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void close_wire(struct doctor_wire *wire)
{
    if (wire->end >= 0)
        cji_default_net.close(NULL, wire->end);
    wire->end = -1;
}

/* ---- who is it ---------------------------------------------------------- */

/* Says hello and hears it; else what came instead, in words. */
static bool greet(struct doctor_wire *wire, char *words, size_t room)
{
    int64_t usual = wire->wait_ns;
    char line[128];
    int status = doctor_send_line(wire, HELLO);
    line[0] = '\0';
    wire->wait_ns = sooner(usual, 5 * SECOND_NS);
    if (status == 0)
        status = doctor_recv_line(wire, line, sizeof line);
    wire->wait_ns = usual;
    if (status >= 0 && strcmp(line, HELLO) == 0)
        return true;
    if (strncmp(line, HELLO, strlen("verbfault-doctor ")) == 0)
        snprintf(words, room, "it is a doctor of another version (\"%.40s\")",
                 line);
    else if (line[0] != '\0')
        snprintf(words, room, "it is no doctor: it says \"%.60s\"", line);
    else if (status == -ETIMEDOUT)
        snprintf(words, room, "it says nothing");
    else if (status == -EPIPE || status == -ECONNRESET)
        snprintf(words, room, "it closes the connection");
    else
        snprintf(words, room, "it cannot be talked to: %s",
                 cji_errno_text(status < 0 ? -status : 0).text);
    return false;
}

/* ---- connecting --------------------------------------------------------- */

/* HOST, HOST:PORT, [V6], [V6]:PORT or V6. */
static const char *parse_peer(struct cji_address *address, const char *text)
{
    char with_port[300];
    const char *colon = strchr(text, ':');
    bool bare_v6 = text[0] != '[' && colon && strchr(colon + 1, ':');
    const char *flaw = cji_address_parse(address, text);
    if (!flaw)
        return NULL;
    if (text[0] == '[' ? text[strlen(text) - 1] != ']' : colon && !bare_v6)
        return flaw;
    snprintf(with_port, sizeof with_port, bare_v6 ? "[%.256s]:%d" : "%.256s:%d",
             text, DOCTOR_PORT);
    return cji_address_parse(address, with_port);
}

/* Until somebody listens there, or the time is over. */
static int connect_until(const struct cji_address *address, int64_t until)
{
    for (;;) {
        int end =
            cji_default_net.connect(NULL, address->host, address->port,
                                    sooner(until, doctor_now() + SECOND_NS));
        if (end >= 0 || end == -ENOENT || cli_interrupted())
            return end;
        if (doctor_now() >= until)
            return end;
        cji_default_clock.sleep(NULL, sooner(until, doctor_now() + PAUSE_NS));
    }
}

static bool connect_to_peer(struct doctor *doctor, struct doctor_wire *wire)
{
    struct cji_address address;
    char words[160];
    (void)parse_peer(&address, doctor->options->peer); /* checked before */
    snprintf(wire->peer, sizeof wire->peer, "%.100s:%u", address.host,
             (unsigned)address.port);
    wire->end = connect_until(&address, doctor_now() + wire->wait_ns);
    if (cli_interrupted())
        return false;
    if (wire->end < 0) {
        doctor_say(doctor, DOCTOR_FAIL, "connection", NULL, START_THERE,
                   "%s: %s", wire->peer,
                   wire->end == -ENOENT ? "no such host"
                                        : cji_errno_text(-wire->end).text);
        return false;
    }
    if (!greet(wire, words, sizeof words)) {
        if (!cli_interrupted())
            doctor_say(doctor, DOCTOR_FAIL, "connection", NULL, START_THERE,
                       "%s answers, but %s", wire->peer, words);
        return false;
    }
    doctor_say(doctor, DOCTOR_OK, "connection", NULL, NULL,
               "the doctor at %s answers", wire->peer);
    return true;
}

/* ---- listening ---------------------------------------------------------- */

static int open_listener(struct doctor *doctor)
{
    uint16_t port = doctor->options->port;
    char host[64];
    int end = cji_default_net.listen(NULL, "::", port);
    if (end < 0) /* no IPv6 */
        end = cji_default_net.listen(NULL, "0.0.0.0", port);
    if (end < 0) {
        doctor_say(doctor, DOCTOR_FAIL, "connection", NULL,
                   "is another doctor listening? else give another port to "
                   "--listen, and the same to --peer",
                   "port %u cannot be listened at: %s", (unsigned)port,
                   cji_errno_text(-end).text);
        return -1;
    }
    if (cji_default_net.local_name(NULL, end, host, sizeof host, &port) != 0)
        port = doctor->options->port;
    doctor_say(doctor, DOCTOR_OK, "listening", NULL, NULL,
               "at port %u; on the other machine: verbfault doctor --peer "
               "THIS-HOST:%u",
               (unsigned)port, (unsigned)port);
    return end;
}

/* [::ffff:10.0.0.2]:50014, as a socket for both families calls it, in plain
 * words. */
static void simplify(char *name)
{
    static const char mapped[] = "[::ffff:";
    char *bracket = strchr(name, ']');
    if (strncmp(name, mapped, sizeof mapped - 1) != 0 || !bracket ||
        !strchr(name, '.'))
        return;
    memmove(bracket, bracket + 1, strlen(bracket + 1) + 1);
    memmove(name, name + sizeof mapped - 1,
            strlen(name + sizeof mapped - 1) + 1);
}

/* The next connection, or a negative errno. Strays must not keep it going. */
static int accept_until(int listener, int64_t until)
{
    int end = -ETIMEDOUT;
    while (end == -ETIMEDOUT && doctor_now() < until && !cli_interrupted())
        end = cji_default_net.accept(
            NULL, listener, sooner(until, doctor_now() + SECOND_NS / 10));
    return end;
}

static void nobody_came(struct doctor *doctor, const struct doctor_wire *wire,
                        const char *words)
{
    double seconds = (double)wire->wait_ns / 1e9;
    if (words[0] != '\0')
        doctor_say(doctor, DOCTOR_FAIL, "connection", NULL,
                   "start verbfault doctor --peer on the other machine, with "
                   "this port; let nothing else connect to it",
                   "no doctor connected in %.1f s; %s did, but %s", seconds,
                   wire->peer, words);
    else
        doctor_say(doctor, DOCTOR_FAIL, "connection", NULL,
                   "start verbfault doctor --peer on the other machine, with "
                   "this machine's address; look at the firewall",
                   "nobody connected in %.1f s", seconds);
}

static bool wait_for_peer(struct doctor *doctor, struct doctor_wire *wire)
{
    int64_t until = doctor_now() + wire->wait_ns;
    char words[160] = "";
    int listener = open_listener(doctor);
    bool met = false;
    if (listener < 0)
        return false;
    while (!met && !cli_interrupted()) {
        wire->end = accept_until(listener, until);
        if (wire->end < 0)
            break;
        cji_default_net.peer_name(NULL, wire->end, wire->peer,
                                  sizeof wire->peer);
        simplify(wire->peer);
        met = greet(wire, words, sizeof words);
        if (!met)
            close_wire(wire);
    }
    cji_default_net.close(NULL, listener);
    if (met)
        doctor_say(doctor, DOCTOR_OK, "connection", NULL, NULL,
                   "the doctor at %s has connected", wire->peer);
    else if (!cli_interrupted())
        nobody_came(doctor, wire, words);
    return met;
}

bool doctor_meet(struct doctor *doctor, struct doctor_wire *wire)
{
    bool met = doctor->options->listen ? wait_for_peer(doctor, wire)
                                       : connect_to_peer(doctor, wire);
    if (!met)
        close_wire(wire);
    return met;
}

const char *doctor_flaw_of_peer(const char *text)
{
    struct cji_address address;
    return text[0] == '\0' ? "has no address" : parse_peer(&address, text);
}
