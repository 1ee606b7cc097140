/*
 * verbfault doctor: two machines, in step.
 *
 * Both doctors make the same steps, and after each tell the other how it went:
 * a line "STEP ok ..." or "STEP fail WHY". So each of them says where the fault
 * is, here or there, and neither waits for a step that the other did not make.
 *
 *   card    where the queue pair is: NAME LID NUMBER GID
 *   RTR     the queue pair is connected, and started
 *   ready   a receive is posted
 *   first   the one that connected has sent, the one that listened has received
 *   second  the other way round
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cjaccl/src/defaults.h"
#include "cjaccl/src/error.h"
#include "cli/doctor.h"

#define SECOND_NS INT64_C(1000000000)
#define MESSAGE_NS (3 * SECOND_NS)

struct play {
    struct doctor *doctor;
    struct doctor_device *device; /* NULL: none */
    struct doctor_wire wire;
    struct doctor_end end;
    struct doctor_place there;
    char name_there[CJ_DEVICE_NAME_SIZE];
    bool lost; /* nothing can be said to the peer any more */
};

/* ---- in step ------------------------------------------------------------ */

static bool lost_peer(struct play *play, const char *step, int status)
{
    play->lost = true;
    if (cli_interrupted())
        return false;
    if (status == -ETIMEDOUT)
        doctor_say(play->doctor, DOCTOR_FAIL, "connection", NULL,
                   "look at what the doctor says there; it may hang in its "
                   "device",
                   "%s says nothing any more, in step %s", play->wire.peer,
                   step);
    else if (status == -EPIPE || status == -ECONNRESET)
        doctor_say(play->doctor, DOCTOR_FAIL, "connection", NULL,
                   "look at what the doctor said there last",
                   "%s went away in step %s", play->wire.peer, step);
    else
        doctor_say(play->doctor, DOCTOR_FAIL, "connection", NULL,
                   "look at the network between the machines",
                   "%s cannot be talked to in step %s: %s", play->wire.peer,
                   step, cji_errno_text(-status).text);
    return false;
}

static bool nonsense(struct play *play, const char *step, const char *line)
{
    play->lost = true;
    doctor_say(play->doctor, DOCTOR_FAIL, "connection", NULL,
               "run the same version of verbfault on both machines",
               "%s says what no doctor says in step %s: \"%.80s\"",
               play->wire.peer, step, line);
    return false;
}

/* What follows "STEP ok" or "STEP fail" in the peer's line. */
static const char *after(const char *line, const char *step, const char *word)
{
    size_t length = strlen(step);
    if (strncmp(line, step, length) != 0 || line[length] != ' ')
        return NULL;
    line += length + 1;
    length = strlen(word);
    if (strncmp(line, word, length) != 0 ||
        (line[length] != '\0' && line[length] != ' '))
        return NULL;
    return line + length + (line[length] == ' ');
}

/*
 * Tells how the step went here, flaw->text or what belongs to its success, and
 * hears how it went there. True when it went well on both; then *theirs is what
 * the peer's line has behind "ok". Says everything that went wrong.
 */
static bool exchange(struct play *play, const char *step, bool good,
                     const char *success, const struct doctor_flaw *flaw,
                     char theirs[DOCTOR_TEXT])
{
    char line[2 * DOCTOR_TEXT];
    const char *tail;
    int status;
    if (!good && !cli_interrupted())
        doctor_say_flaw(play->doctor, flaw,
                        play->device ? play->device->name : NULL);
    snprintf(line, sizeof line, "%s %s %s", step, good ? "ok" : "fail",
             good ? success : flaw->text);
    status = doctor_send_line(&play->wire, line);
    if (status == 0)
        status = doctor_recv_line(&play->wire, line, sizeof line);
    if (status < 0 && status != -EPROTO)
        return lost_peer(play, step, status);
    tail = after(line, step, "fail");
    if (tail) {
        doctor_say(play->doctor, DOCTOR_FAIL, "there", NULL,
                   "the doctor there says what to do",
                   "%s fails in step %s: %.300s", play->wire.peer, step, tail);
        return false;
    }
    tail = after(line, step, "ok");
    if (!tail)
        return nonsense(play, step, line);
    snprintf(theirs, DOCTOR_TEXT, "%s", tail);
    return good;
}

/* ---- steps -------------------------------------------------------------- */

static void write_place(const struct play *play, char text[DOCTOR_TEXT])
{
    struct doctor_place place = doctor_place_of(play->device, &play->end);
    int used = snprintf(text, DOCTOR_TEXT, "%.63s %u %u ", play->device->name,
                        (unsigned)place.lid, (unsigned)place.qp_num);
    for (size_t i = 0; i < sizeof place.gid.raw; i++)
        used += snprintf(text + used, DOCTOR_TEXT - (size_t)used, "%02x",
                         place.gid.raw[i]);
}

static bool read_place(struct play *play, const char *text)
{
    unsigned lid, number;
    char hex[33], extra;
    if (sscanf(text, "%63s %u %u %32[0-9a-f]%c", play->name_there, &lid,
               &number, hex, &extra) != 4 ||
        strlen(hex) != 32 || lid > 65535)
        return false;
    play->there.lid = (uint16_t)lid;
    play->there.qp_num = number;
    for (size_t i = 0; i < 16; i++) {
        char byte[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        play->there.gid.raw[i] = (uint8_t)strtoul(byte, NULL, 16);
    }
    return true;
}

static bool cards(struct play *play)
{
    struct doctor_flaw flaw = {.step = "card"};
    char mine[DOCTOR_TEXT] = "", theirs[DOCTOR_TEXT];
    bool good;
    if (play->device)
        good = doctor_open_end(play->doctor, play->device, &play->end, &flaw);
    else
        good =
            doctor_flaw(&flaw, "card", "mend that first: see the lines above",
                        "no device of this machine came so far that it "
                        "could be connected");
    if (good && play->device)
        write_place(play, mine);
    if (!exchange(play, "card", good, mine, &flaw, theirs))
        return false;
    if (!read_place(play, theirs))
        return nonsense(play, "card", theirs);
    doctor_say(play->doctor, DOCTOR_OK, "card", play->device->name, NULL,
               "its other end is to be %s at %s", play->name_there,
               play->wire.peer);
    return true;
}

static bool connect_pairs(struct play *play)
{
    struct doctor_flaw flaw;
    char theirs[DOCTOR_TEXT];
    int err_no;
    bool good = doctor_to_rtr(play->doctor, play->device, play->end.qp,
                              &play->there, &flaw, &err_no) &&
                doctor_to_rts(play->doctor, play->end.qp, &flaw);
    if (!exchange(play, "RTR", good, "", &flaw, theirs))
        return false;
    doctor_say(play->doctor, DOCTOR_OK, "RTR", play->device->name, NULL,
               "connected to %s at %s, and ready to send", play->name_there,
               play->wire.peer);
    good = doctor_post_recv(&play->end, &flaw);
    return exchange(play, "ready", good, "", &flaw, theirs);
}

/* One direction. The salt is of the direction: each message is its own. */
static bool move(struct play *play, const char *step, bool sends, unsigned salt)
{
    int64_t wait = play->doctor->options->timeout_ns;
    struct doctor_flaw flaw;
    char theirs[DOCTOR_TEXT], time[DOCTOR_TIME];
    int64_t began = doctor_now();
    bool good;
    if (wait > MESSAGE_NS)
        wait = MESSAGE_NS;
    if (sends)
        good = doctor_post_send(&play->end, salt, &flaw) &&
               doctor_await(play->device, true, false, wait, &flaw);
    else
        good = doctor_await(play->device, false, true, wait, &flaw) &&
               doctor_compare(&play->end, salt, &flaw);
    doctor_slow(began, time);
    play->device->failed_before = !good;
    if (!exchange(play, step, good, "", &flaw, theirs))
        return false;
    doctor_say(play->doctor, DOCTOR_OK, "message", play->device->name, NULL,
               "%d bytes went %s %s%s%s", DOCTOR_BYTES,
               sends ? "from here to" : "to here from", play->wire.peer,
               sends ? "" : " and are the same", time);
    return true;
}

/* The second direction is tried even if the first fails: it tells more. */
static void talk(struct play *play)
{
    bool listens = play->doctor->options->listen;
    if (!cards(play) || !connect_pairs(play))
        return;
    (void)move(play, "first message", !listens, 0x11);
    if (!play->lost && !cli_interrupted())
        (void)move(play, "second message", listens, 0x77);
}

void doctor_with_peer(struct doctor *doctor, struct doctor_device *device)
{
    const struct doctor_options *options = doctor->options;
    struct play play;
    if ((!options->listen && !options->peer) || doctor->met ||
        cli_interrupted() || (device && device->gid_index < 0))
        return;
    memset(&play, 0, sizeof play);
    play.doctor = doctor;
    play.device = device;
    play.wire.end = -1;
    play.wire.wait_ns = options->timeout_ns;
    doctor->met = true;
    if (!doctor_meet(doctor, &play.wire))
        return;
    play.wire.wait_ns += SECOND_NS; /* the peer waits as long for its part */
    talk(&play);
    if (play.device)
        doctor_close_end(doctor, device, &play.end);
    cji_default_net.close(NULL, play.wire.end);
}
