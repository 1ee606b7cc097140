#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "mock/mock.h"

#define MANY (1u << 20) /* what is shown of a limit that there is not */

static const struct vf_profile *profile_of(const struct vf_object *object)
{
    return object->device->setup.profile;
}

bool mock_port_up(const struct vf_device *device)
{
    return !device->state->down && !device->state->unplugged;
}

void mock_add_device(struct vf_device *device)
{
    struct room *room = device->machine->world->view->room;

    device->state =
        &room->machines[device->machine->number].devices[device->index];
    if (!device->machine->world->view->shared)
        device->state->down = device->setup.port_down;
}

/* What waits may move now, or begins to count the time that it waits. */
static void look_again(struct vf_world *world)
{
    const struct room_view *view = world->view;

    for (uint32_t i = 1; i <= view->room->tables[ROOM_QP].count; i++) {
        struct room_qp *qp = room_find(view, ROOM_QP, i);

        if (qp->object.live && qp->send.first)
            move_pump(world, qp);
    }
}

void mock_port(struct vf_device *device, bool up)
{
    struct vf_world *world = device->machine->world;

    room_enter(world);
    if (device->state->down == up) {
        device->state->down = !up;
        notice_port(world, device,
                    up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
        look_again(world);
    }
    room_leave(world);
}

/* Both ends see it. */
void mock_unplug(struct vf_device *device)
{
    struct vf_world *world = device->machine->world;

    room_enter(world);
    device->state->unplugged = true;
    notice_port(world, device, IBV_EVENT_PORT_ERR);
    if (device->peer) {
        device->peer->state->unplugged = true;
        notice_port(world, device->peer, IBV_EVENT_PORT_ERR);
    }
    look_again(world);
    room_leave(world);
}

int mock_open_device(struct vf_object *context)
{
    if (profile_of(context)->open_leaves_errno)
        errno = profile_of(context)->open_leaves_errno;
    return 0;
}

int mock_close_device(struct vf_object *context)
{
    (void)context;
    return 0;
}

static int shown_limit(int overridden, uint32_t limit, uint32_t unlimited)
{
    uint32_t shown = vf_device_limit(overridden, limit);

    return (int)(shown ? shown : unlimited);
}

static void fill_extras(const struct vf_profile *profile,
                        struct ibv_device_attr *attr)
{
    attr->device_cap_flags = profile->cap_flags;
    attr->max_qp_rd_atom = (int)profile->max_rd_atomic;
    attr->max_qp_init_rd_atom = (int)profile->max_rd_atomic;
    attr->max_res_rd_atom = (int)profile->max_res_rd_atomic;
    attr->max_sge_rd = (int)profile->max_sge_read;
    attr->max_ah = (int)profile->max_ah;
    attr->max_mw = (int)profile->max_mw;
    attr->max_srq = (int)profile->max_srq;
    attr->max_srq_wr = (int)profile->max_srq_wr;
    attr->max_srq_sge = (int)profile->max_srq_sge;
    attr->max_mcast_grp = (int)profile->max_mcast_grp;
    attr->max_mcast_qp_attach = (int)profile->max_mcast_qp_attach;
    attr->max_total_mcast_qp_attach =
        attr->max_mcast_grp * attr->max_mcast_qp_attach;
    attr->local_ca_ack_delay = profile->ack_delay;
}

int mock_query_device(struct vf_object *context, struct ibv_device_attr *attr)
{
    const struct vf_profile *profile = profile_of(context);
    const struct vf_device_setup *setup = &context->device->setup;

    memset(attr, 0, sizeof(*attr));
    snprintf(attr->fw_ver, sizeof(attr->fw_ver), "%s", profile->firmware);
    attr->vendor_id = profile->vendor_id;
    attr->max_mr_size = profile->max_mr_size;
    attr->page_size_cap =
        profile->page_size_cap ? profile->page_size_cap : profile->page_size;
    attr->max_qp = setup->max_qp >= 0 ? setup->max_qp : (int)profile->max_qp;
    attr->max_qp_wr = (int)profile->max_qp_wr;
    attr->max_sge = (int)profile->max_sge;
    attr->max_cq = (int)profile->max_cq;
    attr->max_cqe = (int)profile->max_cqe;
    attr->max_mr = shown_limit(setup->max_mr, profile->mr_limit,
                               profile->max_mr ? profile->max_mr : MANY);
    attr->max_pd = shown_limit(setup->max_pd, profile->pd_limit, MANY);
    attr->atomic_cap = profile->atomics ? IBV_ATOMIC_HCA : IBV_ATOMIC_NONE;
    attr->max_pkeys = (uint16_t)(profile->max_pkeys ? profile->max_pkeys : 1);
    attr->phys_port_cnt = 1;
    fill_extras(profile, attr);
    return 0;
}

/* Unicast addresses run from 1 to 0xbfff. */
uint16_t mock_lid(const struct vf_device *device)
{
    const struct vf_profile *profile = device->setup.profile;

    if (profile->cable_lids)
        return (uint16_t)(device->index + 1);
    if (!profile->lids)
        return 0;
    return (uint16_t)(device->machine->number * VF_DEVICE_MAX + device->index +
                      1);
}

int mock_query_port(struct vf_object *context, unsigned port,
                    struct ibv_port_attr *attr)
{
    const struct vf_profile *profile = profile_of(context);
    bool up = mock_port_up(context->device);

    if (port != 1)
        return EINVAL;
    memset(attr, 0, sizeof(*attr));
    attr->state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
    attr->phys_state = up ? 5 : 3; /* LinkUp, Disabled */
    attr->max_mtu = IBV_MTU_4096;
    attr->active_mtu = (enum ibv_mtu)profile->active_mtu;
    attr->gid_tbl_len = profile->gid_table_len;
    attr->port_cap_flags = profile->port_cap_flags;
    attr->flags = profile->port_flags;
    attr->max_msg_sz = profile->max_message > UINT32_MAX
                           ? UINT32_MAX
                           : (uint32_t)profile->max_message;
    attr->pkey_tbl_len = 1;
    attr->lid = mock_lid(context->device);
    attr->sm_lid = profile->cable_lids ? attr->lid : 0;
    attr->max_vl_num = 1;
    attr->active_width = profile->port_width;
    attr->active_speed = profile->port_speed;
    attr->link_layer =
        profile->link_layer ? profile->link_layer : IBV_LINK_LAYER_ETHERNET;
    return 0;
}

int mock_query_gid(struct vf_object *context, unsigned port, int index,
                   union ibv_gid *gid)
{
    if (port != 1 || index < 0 || index >= profile_of(context)->gid_table_len)
        return EINVAL;
    route_gid(context->device, index, gid);
    return 0;
}

int mock_query_pkey(struct vf_object *context, unsigned port, int index,
                    __be16 *pkey)
{
    if (port != 1 || index != 0)
        return profile_of(context)->no_pkey_errno;
    *pkey = 0xffff;
    return 0;
}
