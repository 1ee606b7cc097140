/*
 * Addresses. A GID is made from the numbers of its machine and its device, so
 * the way to it is read from it.
 */
#include <errno.h>
#include <string.h>

#include "mock/mock.h"

/* The MAC of a device is 02:76:66:00:machine:device, that of the interface it
 * is paired with 02:76:67:... */
static void link_local(union ibv_gid *gid, unsigned maker, unsigned machine,
                       unsigned device)
{
    const unsigned char bytes[16] = {0xfe,
                                     0x80,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0x00,
                                     0x76,
                                     (unsigned char)maker,
                                     0xff,
                                     0xfe,
                                     0x00,
                                     (unsigned char)machine,
                                     (unsigned char)device};

    memcpy(gid->raw, bytes, sizeof(bytes));
}

/* ::ffff:169.254.machine+1.device+1 */
static void mapped_ipv4(union ibv_gid *gid, unsigned machine, unsigned device)
{
    const unsigned char bytes[16] = {0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0xff,
                                     0xff,
                                     169,
                                     254,
                                     (unsigned char)(machine + 1),
                                     (unsigned char)(device + 1)};

    memcpy(gid->raw, bytes, sizeof(bytes));
}

bool route_gid(const struct vf_device *device, int index, union ibv_gid *gid)
{
    enum vf_gid_kind kind =
        index < 4 ? device->setup.profile->gid_table[index] : VF_GID_NONE;
    unsigned machine = (unsigned)device->machine->number;
    unsigned number = (unsigned)device->index;

    memset(gid, 0, sizeof(*gid));
    switch (kind) {
    case VF_GID_LINK_LOCAL:
        link_local(gid, 0x66, machine, number);
        return true;
    case VF_GID_LINK_LOCAL_INTERFACE:
        link_local(gid, 0x67, machine, number);
        return true;
    case VF_GID_IPV4:
        if (device->setup.no_ipv4)
            return false;
        mapped_ipv4(gid, machine, number);
        return true;
    default:
        return false;
    }
}

bool route_is_ipv4(const union ibv_gid *gid)
{
    static const unsigned char lead[12] = {[10] = 0xff, [11] = 0xff};

    return memcmp(gid->raw, lead, sizeof(lead)) == 0;
}

int route_check(const struct vf_device *device,
                const struct ibv_global_route *way)
{
    static const union ibv_gid zero;
    const struct vf_profile *profile = device->setup.profile;
    union ibv_gid source;

    if (way->sgid_index >= profile->gid_table_len)
        return EINVAL;
    if (!route_gid(device, way->sgid_index, &source))
        return profile->rtr_empty_gid_errno;
    if (memcmp(&way->dgid, &zero, sizeof(zero)) == 0)
        return profile->rtr_zero_gid_errno;
    if (way->dgid.raw[0] != 0xff &&
        route_is_ipv4(&source) != route_is_ipv4(&way->dgid))
        return profile->rtr_families_errno;
    return 0;
}

static bool has_gid(const struct vf_device *device, const union ibv_gid *gid)
{
    union ibv_gid own;

    for (int i = 0; i < 4; i++)
        if (route_gid(device, i, &own) &&
            memcmp(own.raw, gid->raw, sizeof(own.raw)) == 0)
            return true;
    return false;
}

/* Whose GID would this be? */
static struct vf_device *named_device(const struct vf_world *world,
                                      const union ibv_gid *gid)
{
    int lead = gid->raw[0] == 0xfe ? 0 : 1; /* of mapped addresses: + 1 */
    int machine = gid->raw[14] - lead;
    int device = gid->raw[15] - lead;
    const struct vf_machine *owner;

    if (machine < 0 || machine >= world->machine_count || device < 0)
        return NULL;
    owner = &world->machines[machine];
    if (device >= owner->device_count || !has_gid(&owner->devices[device], gid))
        return NULL;
    return owner->devices[device].object->device;
}

static bool any_cable(const struct vf_machine *machine)
{
    for (int i = 0; i < machine->device_count; i++)
        if (machine->devices[i].peer)
            return true;
    return false;
}

bool route_reaches(const struct vf_device *from, const struct vf_device *to)
{
    if (!mock_port_up(from) || !mock_port_up(to))
        return false;
    if (from == to)
        return !from->setup.profile->needs_cable;
    if (from->peer)
        return from->peer == to;
    if (from->setup.profile->needs_cable || to->setup.profile->needs_cable)
        return false;
    return !any_cable(from->machine) && !any_cable(to->machine);
}

struct vf_device *route(const struct vf_device *from, const union ibv_gid *gid)
{
    struct vf_device *to = named_device(from->machine->world, gid);

    return to && route_reaches(from, to) ? to : NULL;
}

struct vf_device *route_lid(const struct vf_device *from, uint16_t lid)
{
    const struct vf_world *world = from->machine->world;
    int machine = (lid - 1) / VF_DEVICE_MAX;
    int device = (lid - 1) % VF_DEVICE_MAX;
    struct vf_device *to = from->peer;

    if (from->setup.profile->cable_lids)
        return to && mock_lid(to) == lid && route_reaches(from, to) ? to : NULL;
    if (lid == 0 || machine >= world->machine_count ||
        device >= world->machines[machine].device_count)
        return NULL;
    to = world->machines[machine].devices[device].object->device;
    return mock_lid(to) == lid && route_reaches(from, to) ? to : NULL;
}

/* Without a GID, a connection goes by LID. */
struct vf_device *route_path(const struct vf_device *from,
                             const struct ibv_ah_attr *path)
{
    const struct vf_profile *profile = from->setup.profile;

    return path->is_global || !(profile->lids || profile->cable_lids)
               ? route(from, &path->grh.dgid)
               : route_lid(from, path->dlid);
}

struct vf_device *route_other_device(struct vf_world *world,
                                     const struct room_qp *qp)
{
    return route_path(mock_device(world, &qp->object), &qp->attr.ah_attr);
}

struct room_qp *route_end_on(struct vf_world *world, const struct room_qp *qp,
                             const struct vf_device *to)
{
    struct room_qp *found =
        room_numbered(world->view, to->machine->number, qp->attr.dest_qp_num);
    return found && found->object.device == to->index ? found : NULL;
}

struct room_qp *route_other_end(struct vf_world *world,
                                const struct room_qp *qp)
{
    const struct vf_device *to = route_other_device(world, qp);

    return to ? route_end_on(world, qp, to) : NULL;
}
