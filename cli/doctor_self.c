/*
 * verbfault doctor: a device talks to itself.
 *
 * Two queue pairs of one device are connected to each other, and a message goes
 * from one to the other. A Thunderbolt device cannot do that: it reaches the
 * other end of its cable and nobody else, and answers EINVAL.
 */
#include <errno.h>

#include "cli/doctor.h"

#define WAIT_NS INT64_C(2000000000)
#define SALT 0x2a

static void has_no_way(struct doctor *doctor,
                       const struct doctor_device *device)
{
    doctor_say(doctor, DOCTOR_SKIP, "RTR", device->name, NULL,
               "a Thunderbolt device has no way to itself: only another "
               "machine can answer (there --listen, here --peer HOST)");
}

/* Both ends to RTR and RTS; *skipped when the device cannot. */
static bool join(struct doctor *doctor, const struct doctor_device *device,
                 struct doctor_end ends[2], struct doctor_flaw *flaw,
                 bool *skipped)
{
    for (int i = 0; i < 2; i++) {
        struct doctor_place there = doctor_place_of(device, &ends[1 - i]);
        int err_no;
        if (doctor_to_rtr(doctor, device, ends[i].qp, &there, flaw, &err_no))
            continue;
        *skipped = device->thunderbolt && err_no == EINVAL;
        return false;
    }
    doctor_say(doctor, DOCTOR_OK, "RTR", device->name, NULL,
               "two queue pairs are connected to each other");
    for (int i = 0; i < 2; i++)
        if (!doctor_to_rts(doctor, ends[i].qp, flaw))
            return false;
    doctor_say(doctor, DOCTOR_OK, "RTS", device->name, NULL,
               "and ready to send");
    return true;
}

static bool talk(const struct doctor_device *device,
                 const struct doctor_end ends[2], struct doctor_flaw *flaw)
{
    return doctor_post_recv(&ends[1], flaw) &&
           doctor_post_send(&ends[0], SALT, flaw) &&
           doctor_await(device, true, true, WAIT_NS, flaw) &&
           doctor_compare(&ends[1], SALT, flaw);
}

static bool open_both(struct doctor *doctor, const struct doctor_device *device,
                      struct doctor_end ends[2], struct doctor_flaw *flaw)
{
    if (!doctor_open_end(doctor, device, &ends[0], flaw) ||
        !doctor_open_end(doctor, device, &ends[1], flaw))
        return false;
    doctor_say(doctor, DOCTOR_OK, "INIT", device->name, NULL,
               "two queue pairs are initialized");
    return true;
}

void doctor_talk_to_itself(struct doctor *doctor, struct doctor_device *device)
{
    struct doctor_end ends[2] = {{NULL, NULL, NULL}, {NULL, NULL, NULL}};
    struct doctor_flaw flaw = {.step = "INIT"};
    char time[DOCTOR_TIME];
    bool skipped = false, good;
    if (cli_interrupted())
        return;
    good = open_both(doctor, device, ends, &flaw);
    if (good && device->gid_index < 0) {
        doctor_say(doctor, DOCTOR_SKIP, "RTR", device->name, NULL,
                   "without a GID there is no address to connect to");
    } else if (good) {
        int64_t began = doctor_now();
        good = join(doctor, device, ends, &flaw, &skipped) &&
               talk(device, ends, &flaw);
        doctor_slow(began, time);
        if (good)
            doctor_say(doctor, DOCTOR_OK, "message", device->name, NULL,
                       "%d bytes went from one to the other and are the same%s",
                       DOCTOR_BYTES, time);
    }
    if (skipped)
        has_no_way(doctor, device);
    else if (!good && !cli_interrupted())
        doctor_say_flaw(doctor, &flaw, device->name);
    doctor_close_end(doctor, device, &ends[1]);
    doctor_close_end(doctor, device, &ends[0]);
}
