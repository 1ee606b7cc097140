/*
 * The contract of a send request's opcode: may this service do it, and what
 * does it need besides keys and memory?
 */
#include "front/contract.h"

#define RC (1u << IBV_QPT_RC)
#define UC (1u << IBV_QPT_UC)
#define UD (1u << IBV_QPT_UD)
#define JUDGED (RC | UC | UD) /* others are for the device to say */

#define ATOMIC_BYTES 8

/* What of a device's an opcode uses. */
enum part { PLAIN, RDMA, ATOMICS, WINDOWS };

/* By opcode: the services that have it, the access that its local entries
 * need, and whether its bytes leave (and so may be inline). */
static const struct {
    uint8_t services;
    uint8_t part; /* enum part */
    uint8_t access;
    bool leaves;
} opcodes[] = {
    [IBV_WR_RDMA_WRITE] = {RC | UC, RDMA, 0, true},
    [IBV_WR_RDMA_WRITE_WITH_IMM] = {RC | UC, RDMA, 0, true},
    [IBV_WR_SEND] = {RC | UC | UD, PLAIN, 0, true},
    [IBV_WR_SEND_WITH_IMM] = {RC | UC | UD, PLAIN, 0, true},
    [IBV_WR_RDMA_READ] = {RC, RDMA, IBV_ACCESS_LOCAL_WRITE, false},
    [IBV_WR_ATOMIC_CMP_AND_SWP] = {RC, ATOMICS, IBV_ACCESS_LOCAL_WRITE, false},
    [IBV_WR_ATOMIC_FETCH_AND_ADD] = {RC, ATOMICS, IBV_ACCESS_LOCAL_WRITE,
                                     false},
    [IBV_WR_LOCAL_INV] = {RC | UC, WINDOWS, 0, false},
    [IBV_WR_BIND_MW] = {RC | UC, WINDOWS, 0, false},
    [IBV_WR_SEND_WITH_INV] = {RC | UC, WINDOWS, 0, true},
    [IBV_WR_TSO] = {UD, PLAIN, 0, true},
    [IBV_WR_DRIVER1] = {JUDGED, PLAIN, 0, true},
    [IBV_WR_ATOMIC_WRITE] = {RC, ATOMICS, 0, true},
};
#define OPCODES (sizeof(opcodes) / sizeof(opcodes[0]))

/* A device that has none of it for anybody says so itself. */
static bool device_has(const struct vf_call *call, unsigned opcode)
{
    const struct vf_profile *profile = call->object->device->setup.profile;

    switch (opcode < OPCODES ? opcodes[opcode].part : PLAIN) {
    case RDMA:
        return profile->rdma;
    case ATOMICS:
        return profile->atomics;
    case WINDOWS:
        return profile->windows;
    default:
        return true;
    }
}

static void check_inline(struct vf_call *call, struct vf_request *request,
                         bool leaves, uint64_t bytes)
{
    uint32_t granted = call->object->shadow.qp.max_inline;

    if (!leaves) {
        request->inlined = false;
        vf_contract_finding(call, false, "bad-flags",
                            "IBV_SEND_INLINE, and nothing to send");
    } else if (bytes > granted) {
        vf_contract_finding(call, false, "inline-too-long",
                            "%llu bytes inline, %u granted",
                            (unsigned long long)bytes, (unsigned)granted);
    }
}

static void check_atomic(struct vf_call *call, unsigned count, uint64_t bytes,
                         uint64_t remote)
{
    if (count == 1 && bytes == ATOMIC_BYTES && remote % ATOMIC_BYTES == 0)
        return;
    vf_contract_finding(call, false, "bad-atomic",
                        "%llu bytes in %u entries, remote address 0x%llx: an "
                        "atomic takes 8 bytes at a multiple of 8",
                        (unsigned long long)bytes, count,
                        (unsigned long long)remote);
}

/* The device reads what is behind the address handle while it posts. */
static void check_address(struct vf_call *call, const struct ibv_ah *ah)
{
    const struct vf_object *object =
        vf_contract_handle(call, ah, VF_KIND_AH, sizeof(struct ibv_ah));

    if (object && !vf_same_domain(object, call->object))
        vf_contract_finding(
            call, false, "wrong-domain-ah",
            "ah %u is of domain %u, qp %u of %u", (unsigned)object->id,
            (unsigned)object->parent[0]->id, (unsigned)call->object->id,
            (unsigned)call->object->parent[0]->id);
}

static void check_opcode(struct vf_call *call, struct vf_request *request,
                         unsigned count, uint64_t bytes)
{
    const struct ibv_send_wr *wr = request->send;

    switch ((unsigned)wr->opcode) { /* some are no members of an old enum */
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        check_atomic(call, count, bytes, wr->wr.atomic.remote_addr);
        break;
    case IBV_WR_ATOMIC_WRITE:
        check_atomic(call, count, bytes, wr->wr.rdma.remote_addr);
        break;
    case IBV_WR_BIND_MW:
        vf_contract_bind(call, request, wr->bind_mw.mw, IBV_MW_TYPE_2,
                         &wr->bind_mw.bind_info);
        break;
    case IBV_WR_LOCAL_INV:
        vf_contract_invalidate(call, request, wr->invalidate_rkey);
        break;
    default:
        break;
    }
}

void vf_contract_send(struct vf_call *call, struct vf_request *request,
                      unsigned count, uint64_t bytes)
{
    unsigned type = call->object->shadow.qp.type;
    unsigned service = type < IBV_QPT_RAW_PACKET ? 1u << type : 0;
    unsigned opcode = (unsigned)request->send->opcode;

    if (!(service & JUDGED) || (opcode >= OPCODES && call->provider->meet))
        return;
    if (opcode >= OPCODES || !(opcodes[opcode].services & service)) {
        if (device_has(call, opcode))
            vf_contract_finding(call, false, "bad-opcode",
                                "a queue pair of type %u has no opcode %u",
                                type, opcode);
        return;
    }
    request->access = opcodes[opcode].access;
    if (request->inlined)
        check_inline(call, request, opcodes[opcode].leaves, bytes);
    if (type == IBV_QPT_UD)
        check_address(call, request->send->wr.ud.ah);
    else if (opcode != IBV_WR_SEND)
        check_opcode(call, request, count, bytes);
}
