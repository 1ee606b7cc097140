/* What a device tells about itself, and its domain. */
#include "device.h"
#include "error.h"

#include <errno.h>
#include <string.h>

/* More entries than any device has: a longer table is a garbled answer. */
#define GID_TABLE_MAX 1024

/* A queue pair names its GID in 8 bits. */
#define GID_INDEX_MAX 255

const char *cji_port_state_name(int state)
{
    switch (state) {
    case IBV_PORT_NOP:
        return "not reported";
    case IBV_PORT_DOWN:
        return "down";
    case IBV_PORT_INIT:
        return "initializing";
    case IBV_PORT_ARMED:
        return "armed";
    case IBV_PORT_ACTIVE_DEFER:
        return "deferred";
    default:
        return "unknown";
    }
}

/* Only for messages and to ask for no more than there is; may well fail. */
static void query_limits(struct cj_group *group, struct cji_device *device)
{
    struct ibv_device_attr attr;

    device->send_entries = 1;
    memset(&attr, 0, sizeof attr);
    if (group->verbs.query_device == NULL ||
        group->verbs.query_device(device->context, &attr) != 0)
        return;
    device->max_mr = attr.max_mr;
    device->max_qp = attr.max_qp;
    device->max_qp_wr = attr.max_qp_wr;
    device->max_cqe = attr.max_cqe;
    if (attr.max_sge >= 2 && !device->thunderbolt)
        device->send_entries = 2;
}

static int query_port(struct cj_group *group, struct cji_device *device,
                      int *gid_count)
{
    struct ibv_port_attr attr;
    int err_no;

    group->step = CJ_STEP_QUERY_PORT;
    /* The library's symbol may fill an older, shorter struct. */
    memset(&attr, 0, sizeof attr);
    errno = 0;
    err_no = cji_verbs_errno(
        group->verbs.query_port(device->context, CJI_PORT, &attr));
    if (err_no != 0)
        return cji_fail(group, CJ_VERBS, cji_about_device(device->name, err_no),
                        "port %d of device %s cannot be queried: %s; is the "
                        "cable plugged in?",
                        CJI_PORT, device->name, cji_errno_text(err_no).text);
    if (attr.state != IBV_PORT_ACTIVE)
        return cji_fail(group, CJ_NO_DEVICE, cji_about_device(device->name, 0),
                        "port %d of device %s is %s, not active: plug in the "
                        "cable, check that it is this device's port, and turn "
                        "off a Thunderbolt bridge that owns it",
                        CJI_PORT, device->name,
                        cji_port_state_name((int)attr.state));
    if (attr.gid_tbl_len < 0 || attr.gid_tbl_len > GID_TABLE_MAX)
        return cji_fail(group, CJ_VERBS, cji_about_device(device->name, 0),
                        "port %d of device %s claims a table of %d GIDs, which "
                        "cannot be: its driver is out of order",
                        CJI_PORT, device->name, attr.gid_tbl_len);
    device->lid = attr.lid;
    *gid_count = attr.gid_tbl_len;
    return CJ_OK;
}

/* ::ffff:a.b.c.d, the only kind that JACCL uses. */
static bool is_ipv4_mapped(const union ibv_gid *gid)
{
    static const unsigned char prefix[12] = {0, 0, 0, 0, 0,    0,
                                             0, 0, 0, 0, 0xff, 0xff};

    return memcmp(gid->raw, prefix, sizeof prefix) == 0;
}

static int fail_gid_index(struct cj_group *group,
                          const struct cji_device *device, int index)
{
    return cji_fail(group, CJ_NO_DEVICE, cji_about_device(device->name, 0),
                    "device %s has its first IPv4-mapped GID in entry %d, and "
                    "a queue pair can use the entries 0 to %d only: remove "
                    "addresses that its network interface does not need",
                    device->name, index, GID_INDEX_MAX);
}

static int find_gid(struct cj_group *group, struct cji_device *device,
                    int count)
{
    int failed = 0;

    group->step = CJ_STEP_QUERY_GID;
    for (int i = 0; i < count; i++) {
        union ibv_gid gid;

        memset(&gid, 0, sizeof gid);
        if (group->verbs.query_gid(device->context, CJI_PORT, i, &gid) != 0) {
            failed++;
            continue;
        }
        if (!is_ipv4_mapped(&gid))
            continue;
        if (i > GID_INDEX_MAX)
            return fail_gid_index(group, device, i);
        device->gid = gid;
        device->gid_index = i;
        return CJ_OK;
    }
    return cji_fail(group, CJ_NO_DEVICE, cji_about_device(device->name, 0),
                    "device %s has no IPv4-mapped GID (%d entries, %d of them "
                    "unreadable): give its network interface an IPv4 address, "
                    "e.g. ifconfig <interface> inet 169.254.0.1 netmask "
                    "255.255.0.0 alias",
                    device->name, count, failed);
}

int cji_devices_query(struct cj_group *group)
{
    for (int i = 0; i < group->device_count; i++) {
        struct cji_device *device = &group->devices[i];
        int gid_count = 0;
        int status;

        query_limits(group, device);
        status = query_port(group, device, &gid_count);
        if (status == CJ_OK)
            status = find_gid(group, device, gid_count);
        if (status != CJ_OK)
            return status;
    }
    return CJ_OK;
}

int cji_devices_alloc_pd(struct cj_group *group)
{
    group->step = CJ_STEP_ALLOC_PD;
    for (int i = 0; i < group->device_count; i++) {
        struct cji_device *device = &group->devices[i];

        errno = 0;
        device->pd = group->verbs.alloc_pd(device->context);
        if (device->pd == NULL)
            return cji_fail(
                group, CJ_VERBS, cji_about_device(device->name, errno),
                "device %s gives no protection domain: %s; its port was active "
                "a moment ago, so look at the cable, and restart the machine "
                "if start-ups that failed have used its domains up",
                device->name, cji_errno_text(errno).text);
    }
    return CJ_OK;
}
