#include "front/contract.h"

struct create_ah_call {
    struct vf_call call;
    const struct ibv_ah_attr *attr;
};

static void create_ah(struct vf_call *call)
{
    struct create_ah_call *create = (struct create_ah_call *)call;
    struct vf_object *ah = vf_call_new(call, VF_KIND_AH, call->object);
    struct ibv_ah *handle;

    if (!ah)
        return;
    handle = ah->handle;
    handle->context = ((struct ibv_pd *)call->object->handle)->context;
    handle->pd = call->object->handle;
    vf_call_made(call, ah, call->provider->create_ah(ah, create->attr));
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
    struct create_ah_call create = {
        .call =
            {
                .verb = VF_VERB_create_ah,
                .kind = VF_KIND_PD,
                .handle = pd,
                .given = attr,
            },
        .attr = attr,
    };

    vf_call_run(&create.call, NULL, create_ah);
    return vf_call_pointer(&create.call);
}

static void destroy_ah(struct vf_call *call)
{
    vf_call_released(call, call->provider->destroy_ah(call->object));
}

int ibv_destroy_ah(struct ibv_ah *ah)
{
    struct vf_call call = {
        .verb = VF_VERB_destroy_ah,
        .kind = VF_KIND_AH,
        .handle = ah,
    };

    vf_call_run(&call, NULL, destroy_ah);
    return vf_call_errno(&call);
}
