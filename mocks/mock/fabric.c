/*
 * The fabric inside of one process.
 *
 * A GID is made from the numbers of its machine and its device, so the way to
 * it is read from it. A queue pair is found by its number on that device's
 * machine. Where a profile's sends wait for a receive, a send stays at the head
 * of its queue until the other end posts or becomes ready; elsewhere it is lost
 * and completes with success.
 */
#include <string.h>

#include "mock/mock.h"

/* The MAC of a device is 02:76:66:00:machine:device, that of the interface it
 * is paired with 02:76:67:... */
static void link_local(union ibv_gid *gid, unsigned maker, unsigned machine,
                       unsigned device)
{
    const unsigned char bytes[16] = {0xfe,
                                     0x80,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0x00,
                                     0x76,
                                     (unsigned char)maker,
                                     0xff,
                                     0xfe,
                                     0x00,
                                     (unsigned char)machine,
                                     (unsigned char)device};

    memcpy(gid->raw, bytes, sizeof(bytes));
}

/* ::ffff:169.254.machine+1.device+1 */
static void mapped_ipv4(union ibv_gid *gid, unsigned machine, unsigned device)
{
    const unsigned char bytes[16] = {0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0,
                                     0xff,
                                     0xff,
                                     169,
                                     254,
                                     (unsigned char)(machine + 1),
                                     (unsigned char)(device + 1)};

    memcpy(gid->raw, bytes, sizeof(bytes));
}

bool fabric_gid(const struct vf_device *device, int index, union ibv_gid *gid)
{
    enum vf_gid_kind kind =
        index < 4 ? device->setup.profile->gid_table[index] : VF_GID_NONE;
    unsigned machine = (unsigned)device->machine->number;
    unsigned number = (unsigned)device->index;

    memset(gid, 0, sizeof(*gid));
    switch (kind) {
    case VF_GID_LINK_LOCAL:
        link_local(gid, 0x66, machine, number);
        return true;
    case VF_GID_LINK_LOCAL_INTERFACE:
        link_local(gid, 0x67, machine, number);
        return true;
    case VF_GID_IPV4:
        if (device->setup.no_ipv4)
            return false;
        mapped_ipv4(gid, machine, number);
        return true;
    default:
        return false;
    }
}

static bool has_gid(const struct vf_device *device, const union ibv_gid *gid)
{
    union ibv_gid own;

    for (int i = 0; i < 4; i++)
        if (fabric_gid(device, i, &own) &&
            memcmp(own.raw, gid->raw, sizeof(own.raw)) == 0)
            return true;
    return false;
}

/* Whose GID would this be? */
static struct vf_device *named_device(const struct vf_world *world,
                                      const union ibv_gid *gid)
{
    int lead = gid->raw[0] == 0xfe ? 0 : 1; /* of mapped addresses: + 1 */
    int machine = gid->raw[14] - lead;
    int device = gid->raw[15] - lead;
    const struct vf_machine *owner;

    if (machine < 0 || machine >= world->machine_count || device < 0)
        return NULL;
    owner = &world->machines[machine];
    if (device >= owner->device_count || !has_gid(&owner->devices[device], gid))
        return NULL;
    return owner->devices[device].object->device;
}

static bool any_cable(const struct vf_machine *machine)
{
    for (int i = 0; i < machine->device_count; i++)
        if (machine->devices[i].peer)
            return true;
    return false;
}

static bool reaches(const struct vf_device *from, const struct vf_device *to)
{
    if (!mock_port_up(from) || !mock_port_up(to))
        return false;
    if (from->peer)
        return from->peer == to;
    if (from->setup.profile->needs_cable || to->setup.profile->needs_cable)
        return false;
    return !any_cable(from->machine) && !any_cable(to->machine);
}

struct vf_device *fabric_route(const struct vf_device *from,
                               const union ibv_gid *gid)
{
    struct vf_device *to = named_device(from->machine->world, gid);

    return to && reaches(from, to) ? to : NULL;
}

/* The queue pair at the other end, in whatever state; NULL: nobody there. */
static struct mock_qp *other_end(const struct mock_qp *qp)
{
    struct vf_device *to =
        fabric_route(qp->object->device, &qp->attr.ah_attr.grh.dgid);
    struct vf_object *found =
        to ? vf_registry_numbered(to->machine, qp->attr.dest_qp_num) : NULL;

    if (!found || found->device != to)
        return NULL;
    return found->handle;
}

static struct mock_queue *receives_of(struct mock_qp *qp)
{
    if (!qp->qp.srq)
        return &qp->recv;
    return &((struct mock_srq *)qp->qp.srq)->recv;
}

static bool can_receive(const struct mock_qp *qp)
{
    return qp->state == IBV_QPS_RTR || qp->state == IBV_QPS_RTS ||
           qp->state == IBV_QPS_SQD;
}

/* The region behind an entry; NULL: no region of this domain has the key. */
static const struct mock_mr *region_of(const struct mock_qp *qp,
                                       const struct ibv_sge *sge)
{
    const struct vf_object *mr =
        vf_registry_region(qp->object->machine, sge->lkey);

    if (!mr || !mr->live || mr->orphan || sge->lkey & VF_RKEY_BIT ||
        mr->parent[0] != qp->object->parent[0])
        return NULL;
    return mr->handle;
}

static bool inside(const struct mock_mr *mr, const struct ibv_sge *sge)
{
    uint64_t start = sge->addr - mr->iova;

    return start <= mr->mr.length && sge->length <= mr->mr.length - start;
}

static int check_entries(const struct mock_qp *qp, const struct mock_work *work,
                         bool recv)
{
    const struct vf_profile *profile = qp->object->device->setup.profile;
    int key_status = recv ? profile->recv_key_status : profile->send_key_status;
    int range_status =
        recv ? profile->recv_range_status : profile->send_range_status;

    if (work->flags & IBV_SEND_INLINE)
        return IBV_WC_SUCCESS;
    for (int i = 0; i < work->entries; i++) {
        const struct mock_mr *mr;

        if (work->sge[i].length == 0)
            continue;
        mr = region_of(qp, &work->sge[i]);
        if (!mr || (recv && !(mr->access & IBV_ACCESS_LOCAL_WRITE)))
            return key_status;
        if (!inside(mr, &work->sge[i]))
            return range_status;
    }
    return IBV_WC_SUCCESS;
}

/* Where an entry's bytes are; NULL: its program has freed them. */
static unsigned char *memory_of(const struct mock_qp *qp,
                                const struct mock_work *work, int entry)
{
    const struct ibv_sge *sge = &work->sge[entry];
    const struct mock_mr *mr = region_of(qp, sge);
    unsigned char *address;

    if (!mr)
        return NULL;
    address = (unsigned char *)mr->mr.addr + (sge->addr - mr->iova);
    if (!vf_memory_alive(qp->object->machine->world, address, sge->length))
        return NULL;
    return address;
}

/* A walk along the entries of a request. */
struct cursor {
    const struct mock_qp *qp;
    const struct mock_work *work;
    int entry;
    uint32_t offset;
};

/* How many bytes are left of the entry that the cursor has come to. */
static uint32_t run_left(struct cursor *cursor)
{
    const struct ibv_sge *sge = cursor->work->sge;

    while (cursor->offset == sge[cursor->entry].length) {
        cursor->entry++;
        cursor->offset = 0;
    }
    return sge[cursor->entry].length - cursor->offset;
}

/* Where those bytes are; NULL: nowhere, their program has freed them. */
static unsigned char *run_at(const struct cursor *cursor)
{
    unsigned char *base = memory_of(cursor->qp, cursor->work, cursor->entry);

    return base ? base + cursor->offset : NULL;
}

static void copy_inline(const struct mock_work *sent, struct cursor *to)
{
    const unsigned char *bytes =
        (const unsigned char *)&sent->sge[sent->entries];
    uint32_t left = sent->length;

    while (left > 0) {
        uint32_t run = run_left(to) < left ? run_left(to) : left;
        unsigned char *target = run_at(to);

        if (target)
            memcpy(target, bytes, run);
        bytes += run;
        to->offset += run;
        left -= run;
    }
}

static void copy(const struct mock_qp *sender, const struct mock_work *sent,
                 const struct mock_qp *receiver,
                 const struct mock_work *received)
{
    struct cursor to = {.qp = receiver, .work = received};
    struct cursor from = {.qp = sender, .work = sent};
    uint32_t left = sent->length;

    if (sent->flags & IBV_SEND_INLINE) {
        copy_inline(sent, &to);
        return;
    }
    while (left > 0) {
        uint32_t run = run_left(&from);
        const unsigned char *source = run_at(&from);
        unsigned char *target;

        if (run > run_left(&to))
            run = run_left(&to);
        if (run > left)
            run = left;
        target = run_at(&to);
        if (source && target)
            memmove(target, source, run);
        from.offset += run;
        to.offset += run;
        left -= run;
    }
}

static int check_fit(const struct mock_qp *receiver,
                     const struct mock_work *sent,
                     const struct mock_work *received)
{
    const struct vf_profile *profile = receiver->object->device->setup.profile;

    if (profile->frame_bytes && sent->slots != received->slots)
        return profile->frames_status;
    if (sent->length > received->length)
        return profile->too_long_status;
    return IBV_WC_SUCCESS;
}

/* The message meets the receive; both are off their queues already. */
static void land(struct mock_qp *sender, struct mock_work *sent,
                 struct mock_qp *receiver, struct mock_work *received)
{
    int status = check_fit(receiver, sent, received);

    if (status == IBV_WC_SUCCESS)
        status = check_entries(receiver, received, true);
    if (status == IBV_WC_SUCCESS && !vf_completion_fails(receiver->object))
        copy(sender, sent, receiver, received);
    mock_complete(receiver, received, true, (enum ibv_wc_status)status, sent);
    if (status != IBV_WC_SUCCESS)
        mock_fail_qp(receiver->object);
    mock_complete(sender, sent, false, IBV_WC_SUCCESS, NULL);
}

/* One send; false: it has to wait. */
static bool move_one(struct mock_qp *sender)
{
    struct mock_work *sent = sender->send.first;
    int status = check_entries(sender, sent, false);
    struct mock_qp *receiver = other_end(sender);
    struct mock_queue *receives = NULL;

    if (status != IBV_WC_SUCCESS) {
        mock_complete(sender, mock_take(&sender->send), false,
                      (enum ibv_wc_status)status, NULL);
        mock_fail_qp(sender->object);
        return false;
    }
    if (receiver && can_receive(receiver))
        receives = receives_of(receiver);
    if (receives && receives->first) {
        mock_take(&sender->send);
        land(sender, sent, receiver, mock_take(receives));
        return true;
    }
    if (sender->object->device->setup.profile->send_waits)
        return false;
    mock_complete(sender, mock_take(&sender->send), false, IBV_WC_SUCCESS,
                  NULL);
    return true;
}

void fabric_pump(struct mock_qp *sender)
{
    while (sender->send.first && sender->state == IBV_QPS_RTS)
        if (!move_one(sender))
            return;
}

void fabric_ready(struct mock_qp *receiver)
{
    struct mock_qp *sender;

    if (!can_receive(receiver))
        return;
    sender = other_end(receiver);
    if (sender && sender->send.first)
        fabric_pump(sender);
}
