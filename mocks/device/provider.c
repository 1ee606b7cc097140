#include "device/device.h"

#include "mock/mock.h"

/* The room is for the plan, the reports and the processes of a run; no device
 * is in it. */
static int start(struct vf_world *world)
{
    device_numbers_reset();
    return room_start(world);
}

static void reset(struct vf_world *world)
{
    device_numbers_reset();
    room_reset(world);
}

static void add_device(struct vf_device *device)
{
    (void)device;
}

static void port(struct vf_device *device, bool up)
{
    device->state->down = !up;
}

static int64_t advance(struct vf_world *world, int64_t now)
{
    (void)world;
    (void)now;
    return -1;
}

/* The kernel does, or the library has done so unseen. */
static void reclaim(struct vf_object *object)
{
    vf_contract_forget(object);
}

const struct vf_provider_ops vf_device_provider = {
    .name = "device",
    .size =
        {
            [VF_KIND_DEVICE_LIST] = sizeof(void *),
            [VF_KIND_DEVICE] = sizeof(void *),
            [VF_KIND_CONTEXT] = sizeof(void *),
            [VF_KIND_PD] = sizeof(struct ibv_pd),
            [VF_KIND_MR] = sizeof(struct ibv_mr),
            [VF_KIND_CQ] = sizeof(struct ibv_cq),
            [VF_KIND_QP] = sizeof(struct vf_qp_handle),
            [VF_KIND_AH] = sizeof(struct ibv_ah),
            [VF_KIND_SRQ] = sizeof(struct ibv_srq),
            [VF_KIND_CHANNEL] = sizeof(struct ibv_comp_channel),
            [VF_KIND_MW] = sizeof(struct ibv_mw),
        },
    .meet = device_meet,
    .start = start,
    .stop = room_stop,
    .reset = reset,
    .add_device = add_device,
    .unplug = device_unplug,
    .port = port,
    .query_device = device_query_device,
    .query_port = device_query_port,
    .query_gid = device_query_gid,
    .query_pkey = device_query_pkey,
    .alloc_pd = device_alloc_pd,
    .dealloc_pd = device_dealloc_pd,
    .reg_mr = device_reg_mr,
    .dereg_mr = device_dereg_mr,
    .rereg_mr = device_rereg_mr,
    .region = device_region,
    .window = device_window,
    .alloc_mw = device_alloc_mw,
    .dealloc_mw = device_dealloc_mw,
    .bind_mw = device_bind_mw,
    .create_cq = device_create_cq,
    .destroy_cq = device_destroy_cq,
    .resize_cq = device_resize_cq,
    .poll_cq = device_poll_cq,
    .req_notify_cq = device_req_notify_cq,
    .deliver = device_deliver,
    .count_completion = device_count_completion,
    .advance = advance,
    .create_qp = device_create_qp,
    .modify_qp = device_modify_qp,
    .query_qp = device_query_qp,
    .destroy_qp = device_destroy_qp,
    .fail_qp = device_fail_qp,
    .post_send = device_post_send,
    .post_recv = device_post_recv,
    .create_ah = device_create_ah,
    .destroy_ah = device_destroy_ah,
    .create_srq = device_create_srq,
    .destroy_srq = device_destroy_srq,
    .modify_srq = device_modify_srq,
    .query_srq = device_query_srq,
    .post_srq_recv = device_post_srq_recv,
    .attach_mcast = device_attach,
    .detach_mcast = device_detach,
    .reclaim = reclaim,
};
