#include <errno.h>

#include "front/contract.h"

/* Old headers name one more, which no library ever took. */
#define REREG_FLAGS                                                            \
    (IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD |                \
     IBV_REREG_MR_CHANGE_ACCESS)

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

    if (reg->access & IBV_ACCESS_ON_DEMAND && reg->length == SIZE_MAX)
        return; /* all of the process's memory */
    if (!reg->address || reg->length == 0)
        vf_contract_finding(call, false, "null-address",
                            reg->address ? "a region of no length"
                                         : "a region at the NULL address");
    else
        vf_contract_memory(call, (uintptr_t)reg->address, reg->length);
}

static void shadow_place(struct vf_object *mr, uint64_t iova,
                         const void *address, size_t length)
{
    mr->shadow.mr.address = (uintptr_t)iova;
    mr->shadow.mr.length = length;
    mr->shadow.mr.shift = (uintptr_t)address - iova;
}

/* EINVAL says nothing of what is wrong with an address that other devices
 * take. NULL: the errno says enough. */
static const char *reason_of(const struct vf_profile *profile,
                             const struct reg_mr_call *reg, int err)
{
    if (err == EINVAL && profile->mr_page_aligned && reg->length > 0 &&
        (uintptr_t)reg->address % profile->page_size != 0)
        return "the address must be page aligned";
    return NULL;
}

static void reg_mr(struct vf_call *call)
{
    struct reg_mr_call *reg = (struct reg_mr_call *)call;
    struct vf_object *mr = vf_call_new(call, VF_KIND_MR, call->object);
    struct ibv_mr *handle;
    int err;

    if (!mr)
        return;
    handle = mr->handle;
    handle->context = ((struct ibv_pd *)call->object->handle)->context;
    handle->pd = call->object->handle;
    handle->addr = reg->address;
    handle->length = reg->length;
    shadow_place(mr, reg->iova, reg->address, reg->length);
    mr->shadow.mr.access = reg->access;
    err = call->provider->reg_mr(mr, reg->address, reg->length, reg->iova,
                                 reg->access);
    call->record->reason = reason_of(mr->device->setup.profile, reg, err);
    vf_call_made(call, mr, err);
}

static struct ibv_mr *reg_mr_any(enum vf_reg_entry entry, struct ibv_pd *pd,
                                 void *address, size_t length, uint64_t iova,
                                 unsigned access)
{
    struct reg_mr_call reg = {
        .call =
            {
                .verb = VF_VERB_reg_mr,
                .kind = VF_KIND_PD,
                .handle = pd,
                .given = address,
                .args = {length, access, entry},
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
    return reg_mr_any(VF_REG_PLAIN, pd, addr, length, (uintptr_t)addr,
                      (unsigned)access);
}

struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length,
                               uint64_t iova, int access)
{
    return reg_mr_any(VF_REG_IOVA, pd, addr, length, iova, (unsigned)access);
}

/* What the ibv_reg_mr macro calls when the access flags are no constant. */
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
                                uint64_t iova, unsigned int access)
{
    return reg_mr_any(VF_REG_IOVA2, pd, addr, length, iova, access);
}

static void name_posted(struct vf_call *call, const char *what)
{
    const struct vf_object *mr = call->object;
    unsigned posted = mr->shadow.mr.posted;

    vf_contract_finding(
        call, false, what, "%u work request%s still name%s region %u", posted,
        posted == 1 ? "" : "s", posted == 1 ? "s" : "", (unsigned)mr->id);
}

static void dereg_mr_contract(struct vf_call *call)
{
    struct vf_object *mr = call->object;
    const struct ibv_mr *handle = mr->handle;

    if (mr->shadow.mr.posted > 0)
        name_posted(call, "mr-released-while-posted");
    vf_contract_windowless(call);
    vf_contract_memory(call, (uintptr_t)handle->addr, mr->shadow.mr.length);
}

static void dereg_mr(struct vf_call *call)
{
    int err = call->provider->dereg_mr(call->object);

    if (!err)
        vf_windows_lose(call->object);
    vf_call_released(call, err);
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

/*
 * A region is made anew in its place. What libibverbs refuses by itself leaves
 * it as it was (IBV_REREG_MR_ERR_INPUT). After any other failure it must not be
 * used, only deregistered (IBV_REREG_MR_ERR_CMD): its key is lost-key from then
 * on.
 */
struct rereg_mr_call {
    struct vf_call call;
    struct ibv_pd *pd;
    struct vf_object *pd_object;
    void *address;
    size_t length;
    bool input; /* refused before any device saw it */
};

static bool rereg_input(const struct rereg_mr_call *rereg)
{
    unsigned flags = (unsigned)rereg->call.args[0];

    if (flags & ~(unsigned)REREG_FLAGS)
        return false;
    if (flags & IBV_REREG_MR_CHANGE_TRANSLATION &&
        (!rereg->address || rereg->length == 0))
        return false;
    return rereg->call.args[2] == 0 || flags & IBV_REREG_MR_CHANGE_ACCESS;
}

static void rereg_mr_contract(struct vf_call *call)
{
    struct rereg_mr_call *rereg = (struct rereg_mr_call *)call;
    unsigned flags = (unsigned)call->args[0];
    const struct vf_object *mr = call->object;

    if (!rereg_input(rereg)) {
        rereg->input = true;
        call->answered = true;
        call->err = EINVAL;
        return;
    }
    if (flags & IBV_REREG_MR_CHANGE_PD)
        rereg->pd_object = vf_contract_handle(call, rereg->pd, VF_KIND_PD,
                                              offsetof(struct ibv_pd, handle));
    if (mr->shadow.mr.posted > 0)
        name_posted(call, "mr-changed-while-posted");
    vf_contract_windowless(call);
    if (flags & IBV_REREG_MR_CHANGE_TRANSLATION)
        vf_contract_memory(call, (uintptr_t)rereg->address, rereg->length);
}

static void rereg_mr(struct vf_call *call)
{
    struct rereg_mr_call *rereg = (struct rereg_mr_call *)call;
    int flags = (int)call->args[0];
    struct vf_object *mr = call->object;
    struct ibv_mr *handle = mr->handle;

    call->err =
        call->provider->rereg_mr(mr, flags, rereg->pd_object, rereg->address,
                                 rereg->length, (unsigned)call->args[2]);
    if (call->err)
        return;
    if (flags & IBV_REREG_MR_CHANGE_PD) {
        handle->pd = rereg->pd;
        vf_object_move(mr, rereg->pd_object);
    }
    if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
        handle->addr = rereg->address;
        handle->length = rereg->length;
        shadow_place(mr, (uintptr_t)rereg->address, rereg->address,
                     rereg->length);
    }
    if (flags & IBV_REREG_MR_CHANGE_ACCESS)
        mr->shadow.mr.access = (uint32_t)call->args[2];
    mr->shadow.mr.lost = false;
}

static void settle_rereg(struct vf_call *call)
{
    if (call->err && !((struct rereg_mr_call *)call)->input)
        call->object->shadow.mr.lost = true;
}

int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr,
                 size_t length, int access)
{
    struct rereg_mr_call rereg = {
        .call =
            {
                .verb = VF_VERB_rereg_mr,
                .kind = VF_KIND_MR,
                .handle = mr,
                .first_read = offsetof(struct ibv_mr, addr),
                .args = {(unsigned)flags, length, (unsigned)access},
                .settle = settle_rereg,
            },
        .pd = pd,
        .address = addr,
        .length = length,
    };
    int err;

    vf_call_run(&rereg.call, rereg_mr_contract, rereg_mr);
    err = vf_call_errno(&rereg.call);
    if (!err)
        return 0;
    if (rereg.call.result < 0)
        return (int)rereg.call.result; /* another library's own answer */
    return rereg.input ? IBV_REREG_MR_ERR_INPUT : IBV_REREG_MR_ERR_CMD;
}
