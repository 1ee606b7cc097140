/*
 * What to think of a handle: its object, or a stranger (device.h).
 */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "device/device.h"
#include "front/sanitize.h"

/* ---- is there an object again? ----------------------------------------------
 */

/* Copies size bytes from where there may be no memory: through a pipe, for a
 * bad address is an error there and no fault. */
static bool read_safely(const void *from, void *to, size_t size)
{
    static int ends[2] = {-1, -1};
    static pid_t owner;
    const unsigned char *last = (const unsigned char *)from + (size - 1);

    if (VF_IS_POISONED(from) || VF_IS_POISONED(last))
        return false;
    if (owner != getpid()) { /* a child must not share its parent's */
        if (ends[0] >= 0) {
            close(ends[0]);
            close(ends[1]);
        }
        if (pipe(ends) != 0) {
            ends[0] = ends[1] = -1;
            return false;
        }
        fcntl(ends[0], F_SETFD, FD_CLOEXEC);
        fcntl(ends[1], F_SETFD, FD_CLOEXEC);
        owner = getpid();
    }
    return write(ends[1], from, size) == (ssize_t)size &&
           read(ends[0], to, size) == (ssize_t)size;
}

static bool is_open_context(const void *context)
{
    return device_context_of(context) != NULL;
}

/* Is this a domain of the context? */
static bool is_domain(const struct ibv_pd *pd,
                      const struct ibv_context *context)
{
    struct ibv_pd copy;

    return read_safely(pd, &copy, sizeof(copy)) && copy.context == context;
}

/* Kinds that others than the front door make. What is freed has been written
 * over, in its first words at least, or shows numbers that no object has. */
static bool is_object_again(const void *handle, enum vf_kind kind)
{
    union {
        struct ibv_pd pd;
        struct ibv_mr mr;
        struct ibv_cq cq;
        struct ibv_qp qp;
        struct ibv_srq srq;
    } copy;

    memset(&copy, 0, sizeof(copy));
    switch (kind) {
    case VF_KIND_PD:
        return read_safely(handle, &copy.pd, sizeof(copy.pd)) &&
               is_open_context(copy.pd.context);
    case VF_KIND_MR:
        return read_safely(handle, &copy.mr, sizeof(copy.mr)) &&
               is_open_context(copy.mr.context) &&
               is_domain(copy.mr.pd, copy.mr.context);
    case VF_KIND_CQ:
        return read_safely(handle, &copy.cq, sizeof(copy.cq)) &&
               is_open_context(copy.cq.context) && copy.cq.cqe > 0;
    case VF_KIND_QP:
        return read_safely(handle, &copy.qp, sizeof(copy.qp)) &&
               is_open_context(copy.qp.context) &&
               copy.qp.state <= IBV_QPS_UNKNOWN &&
               (!copy.qp.pd || is_domain(copy.qp.pd, copy.qp.context));
    case VF_KIND_SRQ:
        return read_safely(handle, &copy.srq, sizeof(copy.srq)) &&
               is_open_context(copy.srq.context) &&
               is_domain(copy.srq.pd, copy.srq.context);
    default:
        return false;
    }
}

/* ---- strangers --------------------------------------------------------------
 */

static struct vf_object *meet_any(struct vf_machine *machine, void *handle,
                                  enum vf_kind kind)
{
    return handle ? device_meet(
                        machine,
                        vf_registry_find(&machine->world->registry, handle),
                        handle, kind)
                  : NULL;
}

/* The domain that a handle's struct tells; NULL: none. */
static struct ibv_pd *domain_of(const void *handle, enum vf_kind kind)
{
    switch (kind) {
    case VF_KIND_MR:
        return ((const struct ibv_mr *)handle)->pd;
    case VF_KIND_QP:
        return ((const struct ibv_qp *)handle)->pd;
    case VF_KIND_AH:
        return ((const struct ibv_ah *)handle)->pd;
    case VF_KIND_SRQ:
        return ((const struct ibv_srq *)handle)->pd;
    case VF_KIND_MW:
        return ((const struct ibv_mw *)handle)->pd;
    default:
        return NULL;
    }
}

static struct vf_object *parent_of(struct vf_machine *machine,
                                   const void *handle, enum vf_kind kind)
{
    struct ibv_pd *pd = domain_of(handle, kind);
    struct ibv_context *context;

    if (kind == VF_KIND_DEVICE || kind == VF_KIND_DEVICE_LIST)
        return NULL;
    if (kind == VF_KIND_CONTEXT)
        return meet_any(machine, ((const struct ibv_context *)handle)->device,
                        VF_KIND_DEVICE);
    if (pd)
        return meet_any(machine, pd, VF_KIND_PD);
    memcpy(&context, handle, sizeof(context));
    return meet_any(machine, context, VF_KIND_CONTEXT);
}

static void know(struct vf_object *object)
{
    const struct ibv_qp *qp = object->handle;

    if (object->kind == VF_KIND_DEVICE) {
        struct device_part *part =
            device_part_of(object->machine, object->handle);

        object->device = part ? &part->device : NULL;
        object->stranger = false;
    } else if (object->kind == VF_KIND_CONTEXT) {
        if (!device_context_of(object->handle))
            (void)device_take_over(object->handle);
    } else if (object->kind == VF_KIND_CQ) {
        object->shadow.cq.room =
            (uint32_t)((const struct ibv_cq *)object->handle)->cqe;
        (void)device_cq_own(object);
    } else if (object->kind == VF_KIND_QP) {
        object->shadow.qp.state = IBV_QPS_UNKNOWN;
        object->shadow.qp.type = (uint8_t)qp->qp_type;
        object->parent[1] = meet_any(object->machine, qp->send_cq, VF_KIND_CQ);
        object->parent[2] = meet_any(object->machine, qp->recv_cq, VF_KIND_CQ);
        (void)device_qp_own(object);
    }
}

/* It may end where nobody sees it: its parents need not wait for it. */
static void excuse(struct vf_object *object)
{
    object->excused = true;
    for (int i = 0; i < 4; i++)
        if (object->parent[i])
            object->parent[i]->excused_children++;
}

static struct vf_object *adopt(struct vf_machine *machine, void *handle,
                               enum vf_kind kind)
{
    struct vf_object *object =
        vf_object_new(machine, kind, vf_device_provider.size[kind], 0);

    if (!object)
        return NULL;
    object->handle = handle;
    object->stranger = true;
    object->parent[0] = parent_of(machine, handle, kind);
    if (object->parent[0])
        object->device = object->parent[0]->device;
    know(object);
    vf_object_adopt(object);
    excuse(object);
    return object;
}

struct vf_object *device_meet(struct vf_machine *machine,
                              struct vf_object *found, const void *handle,
                              enum vf_kind kind)
{
    if (found && found->live && (found->kind == kind || !found->stranger))
        return found;
    if (found && !found->live && !is_object_again(handle, kind))
        return found;
    return adopt(machine, (void *)(uintptr_t)handle, kind);
}
