/*
 * What a device, its port and the port's tables answer.
 */
#include <string.h>

#include "front/contract.h"
#include "front/extended.h"

#undef ibv_query_port

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

int vf_query_port(struct ibv_context *context, uint8_t port,
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
