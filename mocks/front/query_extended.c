/*
 * query_device_ex: what query_device says, and that there is nothing more. The
 * answer is as long as the program's verbs.h knows it.
 */
#include <errno.h>
#include <string.h>

#include "front/extended.h"
#include "front/guid.h"

struct device_call {
    struct vf_call call;
    size_t size;
};

int vf_device_attributes(const struct vf_call *call,
                         struct ibv_device_attr *attr)
{
    int err = call->provider->query_device(call->object, attr);

    if (err)
        return err;
    attr->node_guid = vf_device_guid(call->object->device);
    attr->sys_image_guid = attr->node_guid;
    return 0;
}

static void query_device(struct vf_call *call)
{
    const struct device_call *query = (const struct device_call *)call;
    struct ibv_device_attr_ex attr;
    size_t known = query->size < sizeof(attr) ? query->size : sizeof(attr);

    memset(&attr, 0, sizeof(attr));
    call->err = vf_device_attributes(call, &attr.orig_attr);
    if (call->err)
        return;
    attr.device_cap_flags_ex = attr.orig_attr.device_cap_flags;
#ifndef VF_LACKS_PORT_COUNT
    attr.phys_port_cnt_ex = attr.orig_attr.phys_port_cnt;
#endif
    memset(call->out, 0, call->out_size);
    memcpy(call->out, &attr, known);
}

int vf_query_device_ex(struct ibv_context *context,
                       const struct ibv_query_device_ex_input *input,
                       struct ibv_device_attr_ex *attr, size_t attr_size)
{
    struct device_call query = {
        .call =
            {
                .verb = VF_VERB_query_device,
                .kind = VF_KIND_CONTEXT,
                .handle = context,
                .first_read = VF_CONTEXT_READ,
                .out = attr,
                .out_size = attr_size,
            },
        .size = attr_size,
    };

    /* No device of rdma-core's answers less than the plain verb does. */
    if ((input && input->comp_mask != 0) ||
        attr_size < offsetof(struct ibv_device_attr_ex, comp_mask)) {
        vf_refuse(&query.call, EINVAL);
        return EINVAL;
    }
    vf_call_run(&query.call, NULL, query_device);
    return vf_call_errno(&query.call);
}
