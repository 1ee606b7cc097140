/*
 * verbfault doctor: how many queue pairs and regions a device has left.
 *
 * They are made one by one, up to the limit or to as many as anybody could
 * need, and all given back. What other processes hold can only be told from
 * what is missing.
 */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cjaccl/src/error.h"
#include "cli/doctor.h"

enum {
    PAIRS_MAX = 32,      /* Thunderbolt has 10 */
    REGIONS_MAX = 512,   /* JACCL's, of a mesh of 8 over one device: 448 */
    REGIONS_USUAL = 128, /* Thunderbolt has about 100 */
    CLASSES = 8,         /* JACCL's buffers: 4096 << 0 .. 7 bytes */
    THUNDERBOLT_PAIRS_LESS = 1 /* max_qp reads 11, there are 10 (mlx#4209) */
};

/* A limit that was reached, as devices tell it; other errnos are a failure. */
static bool is_limit(int err_no)
{
    return err_no == EBUSY || err_no == ENOMEM || err_no == EAGAIN ||
           err_no == ENOSPC || err_no == EMFILE;
}

/* ---- queue pairs -------------------------------------------------------- */

/* "; it allows 10, so others seem to hold 4", or nothing. */
static void say_others(char *text, size_t room, int allowed, int got)
{
    text[0] = '\0';
    if (allowed > got && allowed <= 4096)
        snprintf(text, room, "; it allows %d, so others seem to hold %d",
                 allowed, allowed - got);
}

static const char *pair_advice(int err_no)
{
    if (err_no == EOPNOTSUPP || err_no == 102) /* 102: Darwin's EOPNOTSUPP */
        return "JACCL needs UC queue pairs, and this device has none: name "
               "another one";
    if (is_limit(err_no))
        return "the limit is the device's, for all processes together, and "
               "trying again does not help: end other groups, and processes "
               "that were left over";
    return "the device is out of order: look at the cable and at the system's "
           "log";
}

static void judge_pairs(struct doctor *doctor,
                        const struct doctor_device *device, int got, int err_no)
{
    int allowed = device->limits.max_qp;
    int needed = device->want->pairs;
    char others[96];
    if (device->thunderbolt && allowed > THUNDERBOLT_PAIRS_LESS)
        allowed -= THUNDERBOLT_PAIRS_LESS;
    say_others(others, sizeof others, allowed, got);
    if (got < needed || (err_no != 0 && !is_limit(err_no)))
        doctor_say(doctor, DOCTOR_FAIL, "queue pairs", device->name,
                   pair_advice(err_no),
                   "%d could be made of the %d that JACCL needs here, then: "
                   "%s%s",
                   got, needed, cji_errno_text(err_no).text, others);
    else if (err_no != 0)
        doctor_say(doctor, DOCTOR_OK, "queue pairs", device->name, NULL,
                   "%d, until %s; JACCL needs %d%s", got,
                   cji_errno_text(err_no).text, needed, others);
    else
        doctor_say(doctor, DOCTOR_OK, "queue pairs", device->name, NULL,
                   "%d and maybe more; JACCL needs %d", got, needed);
}

void doctor_count_pairs(struct doctor *doctor, struct doctor_device *device)
{
    struct ibv_qp *pairs[PAIRS_MAX];
    int got = 0, err_no = 0;
    while (got < PAIRS_MAX && !cli_interrupted()) {
        errno = 0;
        if (!doctor_create_qp(doctor, device, &pairs[got])) {
            err_no = errno != 0 ? errno : EIO;
            break;
        }
        got++;
    }
    for (int i = got - 1; i >= 0; i--)
        doctor_undone(doctor, device->name, "queue pair",
                      doctor->verbs.destroy_qp(pairs[i]));
    if (!cli_interrupted())
        judge_pairs(doctor, device, got, err_no);
}

/* ---- regions ------------------------------------------------------------ */

static const char *region_advice(int err_no)
{
    if (err_no == EPERM || err_no == EACCES)
        return "this user may not lock memory";
#ifdef __APPLE__
    return "the device has about 100 for all processes: end other groups, and "
           "processes that were left over; cjaccl needs one region only";
#else
    return "end other groups, and processes that were left over; raise the "
           "limit of locked memory (ulimit -l); cjaccl needs one region only";
#endif
}

static void judge_regions(struct doctor *doctor,
                          const struct doctor_device *device, int got,
                          int err_no)
{
    int needed = device->want->regions;
    char others[96];
    say_others(others, sizeof others, device->limits.max_mr, got);
    if (got < needed)
        doctor_say(doctor, DOCTOR_FAIL, "regions", device->name,
                   region_advice(err_no),
                   "%d could be registered of the %d that JACCL needs here, "
                   "then: %s%s; it crashes there",
                   got, needed, cji_errno_text(err_no).text, others);
    else if (err_no != 0)
        doctor_say(doctor, DOCTOR_OK, "regions", device->name, NULL,
                   "%d, until %s; JACCL needs %d, so there is room for %d "
                   "group%s at a time%s",
                   got, cji_errno_text(err_no).text, needed, got / needed,
                   got / needed == 1 ? "" : "s", others);
    else
        doctor_say(doctor, DOCTOR_OK, "regions", device->name, NULL,
                   "%d and maybe more; JACCL needs %d", got, needed);
}

/* Registers up to `most`, of JACCL's sizes: how many. All lie in one buffer:
 * what is limited is their number, and pages that are locked once for each. */
static int register_all(struct doctor *doctor,
                        const struct doctor_device *device, void *memory,
                        struct ibv_mr **regions, int most, int *err_no)
{
    const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                       IBV_ACCESS_REMOTE_WRITE;
    int got = 0;
    while (got < most && !cli_interrupted()) {
        errno = 0;
        regions[got] = doctor->verbs.reg_mr(
            device->pd, memory, (size_t)4096 << got % CLASSES, access);
        if (!regions[got]) {
            *err_no = errno != 0 ? errno : EIO;
            break;
        }
        got++;
    }
    return got;
}

/* Whether the device has no right to the memory any more. */
static bool give_back(struct doctor *doctor, const struct doctor_device *device,
                      struct ibv_mr **regions, int count)
{
    bool all = true;
    for (int i = count - 1; i >= 0; i--) {
        int answer = doctor->verbs.dereg_mr(regions[i]);
        doctor_undone(doctor, device->name, "region", answer);
        all = all && answer == 0;
    }
    return all;
}

void doctor_count_regions(struct doctor *doctor, struct doctor_device *device)
{
    struct ibv_mr *regions[REGIONS_MAX];
    int needed = device->want->regions;
    int most = needed > REGIONS_USUAL ? needed : REGIONS_USUAL;
    int got, err_no = 0;
    void *memory;
    if (cli_interrupted())
        return;
    if (posix_memalign(&memory, (size_t)sysconf(_SC_PAGESIZE),
                       (size_t)4096 << (CLASSES - 1)) != 0) {
        doctor_say(doctor, DOCTOR_FAIL, "regions", device->name,
                   "end other processes", "no memory for a buffer of 512 KiB");
        return;
    }
    got = register_all(doctor, device, memory, regions,
                       most < REGIONS_MAX ? most : REGIONS_MAX, &err_no);
    if (give_back(doctor, device, regions, got))
        free(memory);
    if (!cli_interrupted())
        judge_regions(doctor, device, got, err_no);
}
