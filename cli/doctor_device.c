/* verbfault doctor: one device, from its opening to its closing. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cjaccl/src/device.h"
#include "cjaccl/src/error.h"
#include "cli/doctor.h"

/* Thunderbolt (100) is Apple's own addition (TN3205). */
#define TRANSPORT_THUNDERBOLT 100

enum {
    GIDS_MAX = 1024,     /* more entries than any device has */
    GID_INDEX_MAX = 255, /* a queue pair names its GID in 8 bits */
    JACCL_GID_INDEX = 1, /* whatever is there */
    CQ_ENTRIES = 64      /* JACCL's */
};

#ifdef __APPLE__
#define MAY_OPEN "is another process holding it, and is it still there?"
#define GIVE_IPV4                                                              \
    "give its network interface one, e.g. ifconfig INTERFACE inet "            \
    "169.254.0.1 netmask 255.255.0.0 alias (rdma_en2 belongs to en2)"
#else
#define MAY_OPEN                                                               \
    "may this user open /dev/infiniband/uverbs*, and is the device still "     \
    "there (rdma link)?"
#define GIVE_IPV4                                                              \
    "give its network interface one, e.g. ip address add 169.254.0.1/16 dev "  \
    "INTERFACE (rdma link says which belongs to which)"
#endif

#define PLUG_IN                                                                \
    "plug in the cable, check that it is in this device's port and that the "  \
    "other machine is on, and turn off a Thunderbolt bridge that owns the "    \
    "interface (on Linux: ip link set INTERFACE up)"

void doctor_undone(struct doctor *doctor, const char *device, const char *what,
                   int answer)
{
    int err_no = cji_verbs_errno(answer);
    if (err_no != 0)
        doctor_say(doctor, DOCTOR_FAIL, "undo", device,
                   "the device keeps it until this process ends, or for good: "
                   "if later start-ups find less and less, restart the machine",
                   "its %s cannot be given back: %s", what,
                   cji_errno_text(err_no).text);
}

/* ---- opened ------------------------------------------------------------- */

static struct ibv_device *find(const struct doctor *doctor, const char *name)
{
    for (int i = 0; i < doctor->listed; i++) {
        const char *other = doctor->verbs.get_device_name(doctor->list[i]);
        if (other && strcmp(other, name) == 0)
            return doctor->list[i];
    }
    return NULL;
}

static bool open_device(struct doctor *doctor, struct doctor_device *device)
{
    struct ibv_device *found = find(doctor, device->name);
    if (!found) {
        doctor_say(doctor, DOCTOR_FAIL, "open", device->name, MAY_OPEN,
                   "it was listed, and its name has gone");
        return false;
    }
    device->thunderbolt = (int)found->transport_type == TRANSPORT_THUNDERBOLT;
    errno = 0;
    device->context = doctor->verbs.open_device(found);
    if (!device->context) {
        doctor_say(doctor, DOCTOR_FAIL, "open", device->name, MAY_OPEN,
                   "it cannot be opened: %s", cji_errno_text(errno).text);
        return false;
    }
    doctor_say(doctor, DOCTOR_OK, "open", device->name, NULL, "opened%s",
               device->thunderbolt ? ", a Thunderbolt device" : "");
    return true;
}

/* JACCL does not ask for them: without an answer there is less to say. */
static void query_limits(struct doctor *doctor, struct doctor_device *device)
{
    int err_no = EOPNOTSUPP;
    errno = 0;
    if (doctor->verbs.query_device)
        err_no = cji_verbs_errno(
            doctor->verbs.query_device(device->context, &device->limits));
    if (err_no != 0) {
        memset(&device->limits, 0, sizeof device->limits);
        doctor_say(doctor, DOCTOR_SKIP, "limits", device->name, NULL,
                   "it does not tell them: %s", cji_errno_text(err_no).text);
        return;
    }
    doctor_say(doctor, DOCTOR_OK, "limits", device->name, NULL,
               "it says: %d queue pairs, %d regions, %d domains, %d requests "
               "a queue",
               device->limits.max_qp, device->limits.max_mr,
               device->limits.max_pd, device->limits.max_qp_wr);
}

/* ---- port --------------------------------------------------------------- */

static bool port_is_down(struct doctor *doctor, struct doctor_device *device)
{
    const char *state = cji_port_state_name((int)device->port.state);
    if (device->want->asked || device->port.state != IBV_PORT_DOWN)
        doctor_say(doctor, DOCTOR_FAIL, "port", device->name, PLUG_IN,
                   "port 1 is %s, not active", state);
    else
        doctor_say(doctor, DOCTOR_SKIP, "port", device->name, NULL,
                   "port 1 is %s, and nobody asked for this device", state);
    return false;
}

static bool query_port(struct doctor *doctor, struct doctor_device *device)
{
    int err_no;
    errno = 0;
    err_no = cji_verbs_errno(
        doctor->verbs.query_port(device->context, 1, &device->port));
    if (err_no != 0) {
        doctor_say(doctor, DOCTOR_FAIL, "port", device->name,
                   "is the cable plugged in? JACCL does not look at this "
                   "answer and goes on with garbage",
                   "port 1 cannot be queried: %s", cji_errno_text(err_no).text);
        return false;
    }
    if (device->port.state != IBV_PORT_ACTIVE)
        return port_is_down(doctor, device);
    doctor->active++;
    if (device->port.gid_tbl_len < 0 || device->port.gid_tbl_len > GIDS_MAX) {
        doctor_say(doctor, DOCTOR_FAIL, "port", device->name,
                   "its driver is out of order: restart the machine, and "
                   "update it",
                   "port 1 claims a table of %d GIDs, which cannot be",
                   device->port.gid_tbl_len);
        return false;
    }
    doctor_say(doctor, DOCTOR_OK, "port", device->name, NULL,
               "port 1 is active, %d GID entries", device->port.gid_tbl_len);
    return true;
}

/* ---- GIDs --------------------------------------------------------------- */

/* ::ffff:a.b.c.d, the only kind that JACCL uses. */
static bool is_ipv4_mapped(const union ibv_gid *gid)
{
    static const unsigned char prefix[12] = {0, 0, 0, 0, 0,    0,
                                             0, 0, 0, 0, 0xff, 0xff};
    return memcmp(gid->raw, prefix, sizeof prefix) == 0;
}

/* Sets gid_index to the first; answers how many entries cannot be read. */
static int look_for_gid(struct doctor *doctor, struct doctor_device *device)
{
    int unreadable = 0;
    device->gid_index = -1;
    for (int i = 0; i < device->port.gid_tbl_len; i++) {
        union ibv_gid gid;
        memset(&gid, 0, sizeof gid);
        if (doctor->verbs.query_gid(device->context, 1, i, &gid) != 0) {
            unreadable++;
        } else if (is_ipv4_mapped(&gid) && i <= GID_INDEX_MAX) {
            device->gid = gid;
            device->gid_index = i;
            break;
        }
    }
    return unreadable;
}

static void find_gid(struct doctor *doctor, struct doctor_device *device)
{
    char address[INET6_ADDRSTRLEN] = "";
    int unreadable = look_for_gid(doctor, device);
    if (device->gid_index < 0) {
        doctor_say(doctor, DOCTOR_FAIL, "GID", device->name, GIVE_IPV4,
                   "none of %d entries is an IPv4 address (%d cannot be read)",
                   device->port.gid_tbl_len, unreadable);
        return;
    }
    inet_ntop(AF_INET, device->gid.raw + 12, address, sizeof address);
    if (device->gid_index != JACCL_GID_INDEX)
        doctor_say(doctor, DOCTOR_FAIL, "GID", device->name,
                   "remove the addresses before it from the interface, or add "
                   "what is missing; cjaccl takes the right entry by itself",
                   "the first IPv4 address, %s, is in entry %d, and JACCL "
                   "sends from entry %d, whatever is there",
                   address, device->gid_index, JACCL_GID_INDEX);
    else
        doctor_say(doctor, DOCTOR_OK, "GID", device->name, NULL,
                   "entry %d is the first IPv4 address, %s, and would be used",
                   device->gid_index, address);
}

/* ---- domain, completion queue, and what stands on them ------------------- */

static void with_queue(struct doctor *doctor, struct doctor_device *device)
{
    errno = 0;
    device->cq =
        doctor->verbs.create_cq(device->context, CQ_ENTRIES, NULL, NULL, 0);
    if (!device->cq) {
        doctor_say(doctor, DOCTOR_FAIL, "completion queue", device->name,
                   "end other processes that use the device",
                   "it gives none of %d entries: %s", CQ_ENTRIES,
                   cji_errno_text(errno).text);
        return;
    }
    doctor_say(doctor, DOCTOR_OK, "completion queue", device->name, NULL,
               "one of %d entries", CQ_ENTRIES);
    doctor_count_pairs(doctor, device);
    doctor_count_regions(doctor, device);
    doctor_talk_to_itself(doctor, device);
    doctor_with_peer(doctor, device);
    doctor_undone(doctor, device->name, "completion queue",
                  doctor->verbs.destroy_cq(device->cq));
}

static void with_context(struct doctor *doctor, struct doctor_device *device)
{
    query_limits(doctor, device);
    if (!query_port(doctor, device))
        return;
    find_gid(doctor, device);
    errno = 0;
    device->pd = doctor->verbs.alloc_pd(device->context);
    if (!device->pd) {
        doctor_say(doctor, DOCTOR_FAIL, "domain", device->name,
                   "the port was active a moment ago, so look at the cable; "
                   "start-ups that failed can use the domains up, and then "
                   "only a restart of the machine helps",
                   "it gives no protection domain: %s",
                   cji_errno_text(errno).text);
        return;
    }
    doctor_say(doctor, DOCTOR_OK, "domain", device->name, NULL,
               "a protection domain");
    with_queue(doctor, device);
    doctor_undone(doctor, device->name, "domain",
                  doctor->verbs.dealloc_pd(device->pd));
}

void doctor_examine(struct doctor *doctor, const struct doctor_want *want)
{
    struct doctor_device device;
    memset(&device, 0, sizeof device);
    device.want = want;
    device.name = want->name;
    device.gid_index = -1;
    if (!open_device(doctor, &device))
        return;
    if (!cli_interrupted())
        with_context(doctor, &device);
    doctor_undone(doctor, device.name, "context",
                  doctor->verbs.close_device(device.context));
}
