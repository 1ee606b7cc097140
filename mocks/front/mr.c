#include <errno.h>

#include "front/contract.h"

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

struct reg_mr_call {
    struct vf_call call;
    void *address;
    size_t length;
    uint64_t iova;
    unsigned access;
};

static void reg_mr_contract(struct vf_call *call)
{
    struct reg_mr_call *reg = (struct reg_mr_call *)call;

    if (!reg->address || reg->length == 0)
        vf_contract_finding(call, false, "null-address",
                            reg->address ? "a region of no length"
                                         : "a region at the NULL address");
    else
        vf_contract_memory(call, (uintptr_t)reg->address, reg->length);
}

static void reg_mr(struct vf_call *call)
{
    struct reg_mr_call *reg = (struct reg_mr_call *)call;
    struct vf_object *mr = vf_call_new(call, VF_KIND_MR, call->object);
    struct ibv_mr *handle;

    if (!mr)
        return;
    handle = mr->handle;
    handle->context = ((struct ibv_pd *)call->object->handle)->context;
    handle->pd = call->object->handle;
    handle->addr = reg->address;
    handle->length = reg->length;
    mr->shadow.mr.address = (uintptr_t)reg->iova;
    mr->shadow.mr.length = reg->length;
    vf_call_made(call, mr,
                 call->provider->reg_mr(mr, reg->address, reg->length,
                                        reg->iova, reg->access));
}

static struct ibv_mr *reg_mr_any(struct ibv_pd *pd, void *address,
                                 size_t length, uint64_t iova, unsigned access)
{
    struct reg_mr_call reg = {
        .call =
            {
                .verb = VF_VERB_reg_mr,
                .kind = VF_KIND_PD,
                .handle = pd,
                .args = {length, access},
            },
        .address = address,
        .length = length,
        .iova = iova,
        .access = access,
    };

    vf_call_run(&reg.call, reg_mr_contract, reg_mr);
    return vf_call_pointer(&reg.call);
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
                          int access)
{
    return reg_mr_any(pd, addr, length, (uintptr_t)addr, (unsigned)access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length,
                               uint64_t iova, int access)
{
    return reg_mr_any(pd, addr, length, iova, (unsigned)access);
}

/* What the ibv_reg_mr macro calls when the access flags are no constant. */
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
                                uint64_t iova, unsigned int access)
{
    return reg_mr_any(pd, addr, length, iova, access);
}

static void dereg_mr_contract(struct vf_call *call)
{
    struct vf_object *mr = call->object;
    const struct ibv_mr *handle = mr->handle;

    if (mr->shadow.mr.posted > 0)
        vf_contract_finding(call, false, "mr-released-while-posted",
                            "%u work requests still name region %u",
                            (unsigned)mr->shadow.mr.posted, (unsigned)mr->id);
    vf_contract_memory(call, (uintptr_t)handle->addr, mr->shadow.mr.length);
}

static void dereg_mr(struct vf_call *call)
{
    vf_call_released(call, call->provider->dereg_mr(call->object));
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    struct vf_call call = {
        .verb = VF_VERB_dereg_mr,
        .kind = VF_KIND_MR,
        .handle = mr,
        .first_read = offsetof(struct ibv_mr, addr),
    };

    vf_call_run(&call, dereg_mr_contract, dereg_mr);
    return vf_call_errno(&call);
}
