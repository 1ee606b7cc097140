#include <errno.h>
#include <fcntl.h>

#include "front/contract.h"
#include "front/descriptor.h"
#include "front/extended.h"
#include "front/inline_verbs.h"

/* What is not set stays NULL: the inline verbs answer EOPNOTSUPP then. */
static void fill_context(struct vf_object *object, struct ibv_device *device)
{
    struct ibv_context *context = object->handle;
    struct verbs_context *extended =
        (struct verbs_context *)((char *)context -
                                 offsetof(struct verbs_context, context));

    extended->sz = sizeof(*extended);
    extended->query_port = vf_query_port;
    extended->query_device_ex = vf_query_device_ex;
    extended->create_cq_ex = vf_create_cq_ex;
    extended->create_qp_ex = vf_create_qp_ex;
    context->abi_compat = __VERBS_ABI_IS_EXTENDED;
    context->device = device;
    context->cmd_fd = -1;
    context->async_fd = -1;
    context->num_comp_vectors = 1;
    context->ops.poll_cq = vf_poll_cq;
    context->ops.req_notify_cq = vf_req_notify_cq;
    context->ops.post_send = vf_post_send;
    context->ops.post_recv = vf_post_recv;
    context->ops.post_srq_recv = vf_post_srq_recv;
    context->ops.alloc_mw = vf_alloc_mw;
    context->ops.bind_mw = vf_bind_mw;
    context->ops.dealloc_mw = vf_dealloc_mw;
}

/* There is no driver to send commands to; programs that hand the descriptor on
 * find one that is open. */
static int open_descriptors(struct vf_call *call, struct vf_object *context)
{
    struct ibv_context *handle = context->handle;

    context->shadow.context.signal = -1;
    if (!call->world->hooks.descriptors)
        return 0;
    handle->cmd_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (handle->cmd_fd < 0)
        return errno;
    return vf_descriptor_open(&handle->async_fd,
                              &context->shadow.context.signal);
}

static void close_descriptors(struct vf_object *context)
{
    const struct ibv_context *handle = context->handle;

    vf_descriptor_close(handle->async_fd, context->shadow.context.signal);
    vf_descriptor_close(handle->cmd_fd, -1);
}

static void open_device(struct vf_call *call)
{
    struct vf_object *context =
        vf_call_new(call, VF_KIND_CONTEXT, call->object);
    int err;

    if (!context)
        return;
    fill_context(context, call->object->handle);
    err = open_descriptors(call, context);
    if (!err)
        err = call->provider->open_device(context);
    if (err && call->world->hooks.descriptors)
        close_descriptors(context);
    vf_call_made(call, context, err);
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    struct vf_call call = {
        .verb = VF_VERB_open_device,
        .kind = VF_KIND_DEVICE,
        .handle = device,
        .first_read = sizeof(struct ibv_device),
    };

    vf_call_run(&call, NULL, open_device);
    return vf_call_pointer(&call);
}

/* The kernel takes everything that the context still held. The program's
 * handles stay, and using one is a finding. */
static void orphan(struct vf_call *call)
{
    static const enum vf_kind kinds[] = {VF_KIND_QP, VF_KIND_SRQ,    VF_KIND_AH,
                                         VF_KIND_MW, VF_KIND_MR,     VF_KIND_CQ,
                                         VF_KIND_PD, VF_KIND_CHANNEL};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct vf_object *object = call->machine->live[kinds[i]];

        for (; object; object = object->next) {
            struct vf_object *root = object;

            while (root->kind != VF_KIND_CONTEXT)
                root = root->parent[0];
            if (root != call->object || object->orphan)
                continue;
            vf_contract_forget(object);
            call->provider->reclaim(object);
            object->orphan = true;
        }
    }
}

static void close_device(struct vf_call *call)
{
    int err;

    if (call->object->children > 0)
        orphan(call);
    if (call->world->hooks.descriptors)
        close_descriptors(call->object);
    err = call->provider->close_device(call->object);
    vf_call_released(call, err);
}

int ibv_close_device(struct ibv_context *context)
{
    struct vf_call call = {
        .verb = VF_VERB_close_device,
        .kind = VF_KIND_CONTEXT,
        .handle = context,
        .first_read = VF_CONTEXT_READ,
    };

    vf_call_run(&call, vf_contract_childless, close_device);
    return vf_call_errno(&call);
}
