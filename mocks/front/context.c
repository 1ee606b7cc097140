#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "front/contract.h"
#include "front/descriptor.h"
#include "front/extended.h"
#include "front/inline_verbs.h"

#undef ibv_query_port

static int query_port_extended(struct ibv_context *context, uint8_t port,
                               struct ibv_port_attr *attr, size_t attr_size);

/* What is not set stays NULL: the inline verbs answer EOPNOTSUPP then. */
static void fill_context(struct vf_object *object, struct ibv_device *device)
{
    struct ibv_context *context = object->handle;
    struct verbs_context *extended =
        (struct verbs_context *)((char *)context -
                                 offsetof(struct verbs_context, context));

    extended->sz = sizeof(*extended);
    extended->query_port = query_port_extended;
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

static void query_device(struct vf_call *call)
{
    call->err = vf_device_attributes(call, call->out);
}

int ibv_query_device(struct ibv_context *context,
                     struct ibv_device_attr *device_attr)
{
    struct vf_call call = {
        .verb = VF_VERB_query_device,
        .kind = VF_KIND_CONTEXT,
        .handle = context,
        .first_read = VF_CONTEXT_READ,
        .out = device_attr,
        .out_size = sizeof(*device_attr),
    };

    vf_call_run(&call, NULL, query_device);
    return vf_call_errno(&call);
}

/* Old programs know a shorter struct: no more than theirs is written. */
static void query_port(struct vf_call *call)
{
    struct ibv_port_attr attr;

    memset(&attr, 0, sizeof(attr));
    call->err = call->provider->query_port(call->object,
                                           (unsigned)call->args[0], &attr);
    if (!call->err)
        memcpy(call->out, &attr,
               call->out_size < sizeof(attr) ? call->out_size : sizeof(attr));
}

static int query_port_any(struct ibv_context *context, uint8_t port, void *attr,
                          size_t attr_size)
{
    struct vf_call call = {
        .verb = VF_VERB_query_port,
        .kind = VF_KIND_CONTEXT,
        .handle = context,
        .first_read = VF_CONTEXT_READ,
        .args = {port},
        .out = attr,
        .out_size = attr_size,
    };

    vf_call_run(&call, NULL, query_port);
    return vf_call_errno(&call);
}

static int query_port_extended(struct ibv_context *context, uint8_t port,
                               struct ibv_port_attr *attr, size_t attr_size)
{
    return query_port_any(context, port, attr, attr_size);
}

/* Found by name, this entry has the struct of verbs 1.1, which ends before
 * port_cap_flags2. */
int ibv_query_port(struct ibv_context *context, uint8_t port_num,
                   struct _compat_ibv_port_attr *port_attr)
{
    return query_port_any(context, port_num, port_attr,
                          offsetof(struct ibv_port_attr, flags));
}

static void query_gid(struct vf_call *call)
{
    union ibv_gid gid;

    memset(&gid, 0, sizeof(gid));
    call->err = call->provider->query_gid(call->object, (unsigned)call->args[0],
                                          (int)call->args[1], &gid);
    if (!call->err)
        memcpy(call->out, &gid, sizeof(gid));
}

int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index,
                  union ibv_gid *gid)
{
    struct vf_call call = {
        .verb = VF_VERB_query_gid,
        .kind = VF_KIND_CONTEXT,
        .handle = context,
        .args = {port_num, (uint64_t)(int64_t)index},
        .out = gid,
        .out_size = sizeof(*gid),
    };

    vf_call_run(&call, NULL, query_gid);
    return vf_call_minus(&call);
}

static void query_pkey(struct vf_call *call)
{
    __be16 pkey = 0;

    call->err = call->provider->query_pkey(
        call->object, (unsigned)call->args[0], (int)call->args[1], &pkey);
    if (!call->err)
        memcpy(call->out, &pkey, sizeof(pkey));
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index,
                   __be16 *pkey)
{
    struct vf_call call = {
        .verb = VF_VERB_query_pkey,
        .kind = VF_KIND_CONTEXT,
        .handle = context,
        .args = {port_num, (uint64_t)(int64_t)index},
        .out = pkey,
        .out_size = sizeof(*pkey),
    };

    vf_call_run(&call, NULL, query_pkey);
    return vf_call_minus(&call);
}
