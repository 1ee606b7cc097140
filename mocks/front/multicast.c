/*
 * Multicast groups. What the kernel refuses for every device is refused here;
 * who is in which group is the provider's to know.
 */
#include <errno.h>
#include <string.h>

#include "front/contract.h"

struct mcast_call {
    struct vf_call call;
    const union ibv_gid *gid;
};

/* An IPv6 multicast address, or an IPv4 one mapped into IPv6. */
static bool is_group(const union ibv_gid *gid)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

    return gid->raw[0] == 0xff ||
           (memcmp(gid->raw, mapped, sizeof(mapped)) == 0 &&
            gid->raw[12] >> 4 == 0xe);
}

static void mcast_contract(struct vf_call *call)
{
    vf_contract_not_null(call, ((struct mcast_call *)call)->gid, "null-gid");
}

static void change_group(struct vf_call *call)
{
    const union ibv_gid *gid = ((struct mcast_call *)call)->gid;
    const struct vf_provider_ops *provider = call->provider;
    uint16_t lid = (uint16_t)call->args[0];

    if (call->object->shadow.qp.type != IBV_QPT_UD || !is_group(gid))
        call->err = EINVAL;
    else if (call->verb == VF_VERB_attach_mcast)
        call->err = provider->attach_mcast(call->object, gid, lid);
    else
        call->err = provider->detach_mcast(call->object, gid, lid);
}

static int mcast(enum vf_verb verb, struct ibv_qp *qp, const union ibv_gid *gid,
                 uint16_t lid)
{
    struct mcast_call mcast = {
        .call =
            {
                .verb = verb,
                .kind = VF_KIND_QP,
                .handle = qp,
                .args = {lid},
            },
        .gid = gid,
    };

    vf_call_run(&mcast.call, mcast_contract, change_group);
    return vf_call_errno(&mcast.call);
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
    return mcast(VF_VERB_attach_mcast, qp, gid, lid);
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
    return mcast(VF_VERB_detach_mcast, qp, gid, lid);
}
