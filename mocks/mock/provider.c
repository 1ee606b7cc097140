#include "mock/mock.h"

/* The kernel's view of an object whose program is gone. */
void mock_reclaim(struct vf_object *object)
{
    switch (object->kind) {
    case VF_KIND_QP:
        mock_destroy_qp(object);
        break;
    case VF_KIND_MR:
        mock_dereg_mr(object);
        break;
    case VF_KIND_MW:
        mock_dealloc_mw(object);
        break;
    case VF_KIND_PD:
        mock_release_pd(object);
        break;
    case VF_KIND_SRQ:
        mock_release_srq(object);
        break;
    case VF_KIND_CQ:
        mock_release_cq(object);
        break;
    default:
        break;
    }
}

const struct vf_provider_ops vf_mock_provider = {
    .name = "mock",
    .size =
        {
            [VF_KIND_CONTEXT] = sizeof(struct verbs_context),
            [VF_KIND_PD] = sizeof(struct mock_pd),
            [VF_KIND_MR] = sizeof(struct mock_mr),
            [VF_KIND_CQ] = sizeof(struct mock_cq),
            [VF_KIND_QP] = sizeof(struct mock_qp),
            [VF_KIND_AH] = sizeof(struct mock_ah),
            [VF_KIND_SRQ] = sizeof(struct mock_srq),
            [VF_KIND_CHANNEL] = sizeof(struct ibv_comp_channel),
            [VF_KIND_MW] = sizeof(struct mock_mw),
        },
    .start = room_start,
    .stop = room_stop,
    .reset = room_reset,
    .add_device = mock_add_device,
    .unplug = mock_unplug,
    .port = mock_port,
    .open_device = mock_open_device,
    .close_device = mock_close_device,
    .query_device = mock_query_device,
    .query_port = mock_query_port,
    .query_gid = mock_query_gid,
    .query_pkey = mock_query_pkey,
    .alloc_pd = mock_alloc_pd,
    .dealloc_pd = mock_dealloc_pd,
    .reg_mr = mock_reg_mr,
    .dereg_mr = mock_dereg_mr,
    .rereg_mr = mock_rereg_mr,
    .region = mock_region_of_key,
    .window = mock_window_of_key,
    .alloc_mw = mock_alloc_mw,
    .dealloc_mw = mock_dealloc_mw,
    .bind_mw = mock_bind_mw,
    .create_cq = mock_create_cq,
    .destroy_cq = mock_destroy_cq,
    .resize_cq = mock_resize_cq,
    .poll_cq = mock_poll_cq,
    .is_empty_cq = mock_is_empty_cq,
    .req_notify_cq = mock_req_notify_cq,
    .get_cq_event = mock_get_cq_event,
    .deliver = mock_deliver,
    .count_completion = mock_count_completion,
    .advance = expire_advance,
    .becomes_due = notice_due,
    .create_qp = mock_create_qp,
    .modify_qp = mock_modify_qp,
    .query_qp = mock_query_qp,
    .destroy_qp = mock_destroy_qp,
    .fail_qp = mock_fail_qp,
    .post_send = mock_post_send,
    .post_recv = mock_post_recv,
    .create_ah = mock_create_ah,
    .destroy_ah = mock_destroy_ah,
    .create_srq = mock_create_srq,
    .destroy_srq = mock_destroy_srq,
    .modify_srq = mock_modify_srq,
    .query_srq = mock_query_srq,
    .post_srq_recv = mock_post_srq_recv,
    .attach_mcast = mock_attach,
    .detach_mcast = mock_detach,
    .reclaim = mock_reclaim,
};

struct vf_world *vf_world_create(void)
{
    return vf_world_create_over(&vf_mock_provider);
}
