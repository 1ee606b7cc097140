/*
 * Domains, regions and windows of the library beneath.
 */
#include <errno.h>

#include "device/device.h"

int device_alloc_pd(struct vf_object *pd)
{
    const struct ibv_pd *asked = pd->handle;
    struct real_pause pause;
    struct ibv_pd *made;
    int err;

    real_begin(pd->machine->world, &pause);
    made = real.ibv_alloc_pd(asked->context);
    err = real_missing(made);
    real_end(&pause);
    if (made)
        pd->handle = made;
    return err;
}

int device_dealloc_pd(struct vf_object *pd)
{
    struct real_pause pause;
    int err;

    real_begin(pd->machine->world, &pause);
    err = real_error(real.ibv_dealloc_pd(pd->handle));
    real_end(&pause);
    return err;
}

/* By the same name: within a library one of the three may be made of
 * another. */
static struct ibv_mr *reg(enum vf_reg_entry entry, struct ibv_pd *pd,
                          void *address, size_t length, uint64_t iova,
                          unsigned access)
{
    if (entry == VF_REG_PLAIN)
        return real.ibv_reg_mr(pd, address, length, (int)access);
    if (entry == VF_REG_IOVA && real.ibv_reg_mr_iova)
        return real.ibv_reg_mr_iova(pd, address, length, iova, (int)access);
    if (entry == VF_REG_IOVA2 && real.ibv_reg_mr_iova2)
        return real.ibv_reg_mr_iova2(pd, address, length, iova, access);
    errno = EOPNOTSUPP;
    return NULL;
}

int device_reg_mr(struct vf_object *mr, void *address, size_t length,
                  uint64_t iova, unsigned access)
{
    const struct ibv_mr *asked = mr->handle;
    const struct vf_call *call = mr->machine->world->running;
    enum vf_reg_entry entry = (enum vf_reg_entry)call->args[2];
    struct real_pause pause;
    struct ibv_mr *made;
    int err;

    real_begin(mr->machine->world, &pause);
    made = reg(entry, asked->pd, address, length, iova, access);
    err = real_missing(made);
    real_end(&pause);
    if (!made)
        return err;
    mr->handle = made;
    /* Its addresses are not the process's. */
    mr->stranger = access & IBV_ACCESS_ZERO_BASED || length == SIZE_MAX;
    if (!pause.call)
        return 0;
    device_key(mr);
    return 0;
}

int device_dereg_mr(struct vf_object *mr)
{
    struct real_pause pause;
    int err;

    real_begin(mr->machine->world, &pause);
    err = real_error(real.ibv_dereg_mr(mr->handle));
    real_end(&pause);
    if (!err && pause.call)
        device_key_freed(mr);
    return err;
}

/* The library's answer is a number of its own, below 0. */
int device_rereg_mr(struct vf_object *mr, int flags, struct vf_object *pd,
                    void *address, size_t length, unsigned access)
{
    struct real_pause pause;
    int answer, err;

    real_begin(mr->machine->world, &pause);
    errno = 0;
    answer = real.ibv_rereg_mr(mr->handle, flags, pd ? pd->handle : NULL,
                               address, length, (int)access);
    err = errno;
    real_end(&pause);
    if (answer == 0) {
        if (pause.call)
            device_key(mr);
        return 0;
    }
    if (pause.call)
        pause.call->result = answer;
    return err ? err : EIO;
}

int device_alloc_mw(struct vf_object *mw, enum ibv_mw_type type)
{
    const struct ibv_mw *asked = mw->handle;
    struct device_context *kept = device_context_of(asked->context);
    struct real_pause pause;
    struct ibv_mw *made = NULL;
    int err = EOPNOTSUPP;

    if (!kept || !kept->ops.alloc_mw)
        return err;
    real_begin(mw->machine->world, &pause);
    made = kept->ops.alloc_mw(asked->pd, type);
    err = real_missing(made);
    real_end(&pause);
    if (made)
        mw->handle = made;
    return err;
}

int device_dealloc_mw(struct vf_object *mw)
{
    struct ibv_mw *handle = mw->handle;
    struct device_context *kept = device_context_of(handle->context);
    struct real_pause pause;
    int err;

    if (!kept || !kept->ops.dealloc_mw)
        return EOPNOTSUPP;
    real_begin(mw->machine->world, &pause);
    err = real_error(kept->ops.dealloc_mw(handle));
    real_end(&pause);
    return err;
}

int device_bind_mw(struct vf_object *qp, struct vf_object *mw,
                   struct ibv_mw_bind *bind)
{
    const struct device_qp *own = qp->own;
    int err;

    if (!own || !mw || !own->context || !own->context->ops.bind_mw)
        return EOPNOTSUPP;
    if (qp->device->state->unplugged)
        return 0;
    real_enter();
    err = real_error(own->context->ops.bind_mw(qp->handle, mw->handle, bind));
    real_leave();
    return err;
}
