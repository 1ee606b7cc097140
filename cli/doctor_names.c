/* verbfault doctor: the names in the device file, and the devices there are. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cjaccl/src/config.h"
#include "cjaccl/src/error.h"
#include "cli/doctor.h"

#ifdef __APPLE__
#define TURN_ON                                                                \
    "ask rdma_ctl status; if it is off, start the machine into recoveryOS "    \
    "and run rdma_ctl enable there; only Thunderbolt 5 has RDMA"
#else
#define TURN_ON                                                                \
    "load the driver's modules (modprobe ib_uverbs, and that of the card), "   \
    "or make a soft-RoCE device: rdma link add rxe0 type rxe netdev "          \
    "INTERFACE; then ibv_devices lists it"
#endif

/* ---- the file ----------------------------------------------------------- */

/* A configuration with a gather needs no coordinator; it is never called. */
static int gather_nothing(void *ctx, const void *mine, void *all, size_t bytes)
{
    (void)ctx;
    (void)mine;
    (void)all;
    (void)bytes;
    return -ENOSYS;
}

static int complain(const struct doctor *doctor, const struct cj_error *error)
{
    static const char who[] = "cjaccl: ";
    const char *text = error->message;
    char rank[32];
    if (strncmp(text, who, sizeof who - 1) == 0)
        text += sizeof who - 1;
    snprintf(rank, sizeof rank, "rank %d: ", doctor->options->rank);
    if (strncmp(text, rank, strlen(rank)) == 0)
        text += strlen(rank);
    if (strncmp(text, doctor->options->file, strlen(doctor->options->file)) ==
        0)
        fprintf(stderr, "%s\n", text);
    else
        fprintf(stderr, "%s: %s\n", doctor->options->file, text);
    return CLI_USAGE;
}

/* The device named by a cell of one's own row, `times` queue pairs of it. */
static void want(struct doctor *doctor, const char *name, int column, int pairs,
                 int regions)
{
    struct doctor_want *each = doctor->wants;
    for (; each < doctor->wants + doctor->want_count; each++)
        if (strcmp(each->name, name) == 0)
            break;
    if (each == doctor->wants + DOCTOR_DEVICES)
        return;
    if (each == doctor->wants + doctor->want_count) {
        doctor->want_count++;
        *each = (struct doctor_want){.name = name,
                                     .asked = true,
                                     .row = doctor->options->rank,
                                     .column = column};
    }
    each->pairs += pairs;
    each->regions += regions;
}

/* A mesh: the first name of each cell; JACCL registers 64 regions a peer. */
static void want_mesh(struct doctor *doctor, const struct cj_config *config)
{
    for (int peer = 0; peer < config->size; peer++)
        if (peer != config->rank)
            want(doctor, cji_config_device(config, peer, 0), peer, 1, 64);
}

/* A ring: all names of both neighbours' cells; 64 regions a wire, spread over
 * the connections of both sides. */
static void want_ring(struct doctor *doctor, const struct cj_config *config,
                      int wires)
{
    int left = (config->rank + config->size - 1) % config->size;
    int right = (config->rank + 1) % config->size;
    for (int wire = 0; wire < wires; wire++) {
        want(doctor, cji_config_device(config, left, wire), left, 1, 32);
        want(doctor, cji_config_device(config, right, wire), right, 1, 32);
    }
}

static int settle_wants(struct doctor *doctor)
{
    static const struct cj_gather gather = {.all_gather = gather_nothing};
    struct cj_config *config = &doctor->settings.config;
    struct cji_topology topology;
    struct cji_address address;
    struct cj_error error;
    config->gather = &gather;
    if (getenv("JACCL_RING") || getenv("MLX_JACCL_RING"))
        config->topology = CJ_TOPOLOGY_RING;
    if (cji_config_check(config, &address, &topology, &error) != CJ_OK)
        return complain(doctor, &error);
    if (config->size > 1 && topology.ring)
        want_ring(doctor, config, topology.wires);
    else if (config->size > 1)
        want_mesh(doctor, config);
    return CLI_FINE;
}

int doctor_read_file(struct doctor *doctor)
{
    struct cj_error error;
    if (!doctor->options->file)
        return CLI_FINE;
    if (cj_settings_from_file(&doctor->settings, doctor->options->file,
                              doctor->options->rank, NULL, &error) != CJ_OK)
        return complain(doctor, &error);
    return settle_wants(doctor);
}

/* ---- the devices -------------------------------------------------------- */

static const char *name_at(const struct doctor *doctor, int n)
{
    const char *name = doctor->verbs.get_device_name(doctor->list[n]);
    return name ? name : "(a device without a name)";
}

static bool exists(const struct doctor *doctor, const char *name)
{
    for (int i = 0; i < doctor->listed; i++)
        if (strcmp(name_at(doctor, i), name) == 0)
            return true;
    return false;
}

static void all_names(const struct doctor *doctor, char *text, size_t room)
{
    size_t used = 0;
    for (int i = 0; i < doctor->listed && used < room; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%s",
                                 i > 0 ? ", " : "", name_at(doctor, i));
}

/* --device: that one alone, as the file wants it if it does. */
static void keep_one(struct doctor *doctor)
{
    struct doctor_want one = {.name = doctor->options->device,
                              .asked = true,
                              .row = -1,
                              .pairs = 1,
                              .regions = 64};
    for (int i = 0; i < doctor->want_count; i++)
        if (strcmp(doctor->wants[i].name, one.name) == 0)
            one = doctor->wants[i];
    doctor->wants[0] = one;
    doctor->want_count = 1;
}

/* Without a file and --device: every one that is listed. */
static void want_all(struct doctor *doctor)
{
    for (int i = 0; i < doctor->listed && i < DOCTOR_DEVICES; i++)
        doctor->wants[doctor->want_count++] = (struct doctor_want){
            .name = name_at(doctor, i), .row = -1, .pairs = 1, .regions = 64};
}

static void say_missing(struct doctor *doctor, const struct doctor_want *want,
                        const char *names)
{
    if (want->row < 0)
        doctor_say(doctor, DOCTOR_FAIL, "name", want->name,
                   "give --device one of those",
                   "there is no such device; this machine has %s", names);
    else
        doctor_say(doctor, DOCTOR_FAIL, "name", want->name,
                   "correct the file (names can change with a restart or "
                   "another plug), and check that this machine has that rank",
                   "row %d, column %d of %.200s names a device that does not "
                   "exist here; this machine has %s",
                   want->row, want->column, doctor->options->file, names);
}

/* Drops the wanted that do not exist, after saying so. */
static void check_names(struct doctor *doctor, const char *names)
{
    int kept = 0;
    for (int i = 0; i < doctor->want_count; i++) {
        struct doctor_want each = doctor->wants[i];
        if (!exists(doctor, each.name)) {
            say_missing(doctor, &each, names);
            continue;
        }
        if (each.row >= 0)
            doctor_say(doctor, DOCTOR_OK, "name", each.name, NULL,
                       "row %d, column %d of %.200s names it, and it exists",
                       each.row, each.column, doctor->options->file);
        doctor->wants[kept++] = each;
    }
    doctor->want_count = kept;
}

static bool get_list(struct doctor *doctor)
{
    int count = 0;
    errno = 0;
    doctor->list = doctor->verbs.get_device_list(&count);
    if (!doctor->list) {
        doctor_say(doctor, DOCTOR_FAIL, "devices", NULL, TURN_ON,
                   "the library gives no list of devices: %s",
                   cji_errno_text(errno).text);
        return false;
    }
    while (doctor->listed < count && doctor->list[doctor->listed])
        doctor->listed++;
    if (doctor->listed == 0)
        doctor_say(doctor, DOCTOR_FAIL, "devices", NULL, TURN_ON,
                   "the library lists no device");
    return doctor->listed > 0;
}

bool doctor_list_devices(struct doctor *doctor)
{
    char names[DOCTOR_TEXT] = "";
    if (!get_list(doctor))
        return false;
    all_names(doctor, names, sizeof names);
    doctor_say(doctor, DOCTOR_OK, "devices", NULL, NULL, "%d: %s",
               doctor->listed, names);
    if (doctor->options->device)
        keep_one(doctor);
    else if (doctor->want_count == 0)
        want_all(doctor);
    check_names(doctor, names);
    return doctor->want_count > 0;
}

void doctor_free_devices(struct doctor *doctor)
{
    if (doctor->list)
        doctor->verbs.free_device_list(doctor->list);
    doctor->list = NULL;
    doctor->listed = 0;
}
