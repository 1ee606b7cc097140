#include "front/contract.h"

static void alloc_pd(struct vf_call *call)
{
    struct vf_object *pd = vf_call_new(call, VF_KIND_PD, call->object);

    if (!pd)
        return;
    ((struct ibv_pd *)pd->handle)->context = call->object->handle;
    vf_call_made(call, pd, call->provider->alloc_pd(pd));
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
    struct vf_call call = {
        .verb = VF_VERB_alloc_pd,
        .kind = VF_KIND_CONTEXT,
        .handle = context,
        .first_read = VF_CONTEXT_READ,
    };

    vf_call_run(&call, NULL, alloc_pd);
    return vf_call_pointer(&call);
}

static void dealloc_pd(struct vf_call *call)
{
    vf_call_released(call, call->provider->dealloc_pd(call->object));
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
    struct vf_call call = {
        .verb = VF_VERB_dealloc_pd,
        .kind = VF_KIND_PD,
        .handle = pd,
    };

    vf_call_run(&call, vf_contract_childless, dealloc_pd);
    return vf_call_errno(&call);
}
