/*
 * Opening a device: the context is the library's, and the operations in it are
 * ours from then on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "device/quick.h"

static struct verbs_context *extended_of(struct ibv_context *context)
{
    return context->abi_compat == __VERBS_ABI_IS_EXTENDED
               ? (struct verbs_context *)((char *)context -
                                          offsetof(struct verbs_context,
                                                   context))
               : NULL;
}

/* ---- memory that is registered where nobody looks --------------------------
 */

static struct ibv_mr *alloc_null_mr(struct ibv_pd *pd)
{
    struct device_context *kept = device_context_of(pd->context);
    struct ibv_mr *mr;

    real_enter();
    mr = kept->extended.alloc_null_mr(pd);
    real_leave();
    if (mr)
        device_key_lost(pd, mr->lkey);
    return mr;
}

static struct ibv_mr *reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm,
                                uint64_t offset, size_t length, unsigned access)
{
    struct device_context *kept = device_context_of(pd->context);
    struct ibv_mr *mr;

    real_enter();
    mr = kept->extended.reg_dm_mr(pd, dm, offset, length, access);
    real_leave();
    if (mr)
        device_key_lost(pd, mr->lkey);
    return mr;
}

/* ---- replacing --------------------------------------------------------------
 */

/* An operation that the library has becomes ours; one that it has not stays
 * missing. */
#define TAKE(place, ours)                                                      \
    do {                                                                       \
        if (place)                                                             \
            (place) = (ours);                                                  \
    } while (0)
/* The struct grows upwards: a library of before a field has a smaller one. */
#define TAKE_EXTENDED(field, ours)                                             \
    do {                                                                       \
        if (there->sz >=                                                       \
            sizeof(*there) - offsetof(struct verbs_context, field)) {          \
            kept->extended.field = there->field;                               \
            TAKE(there->field, ours);                                          \
        }                                                                      \
    } while (0)

static void take_plain(struct ibv_context_ops *ops)
{
    TAKE(ops->poll_cq, device_quick_poll);
    TAKE(ops->req_notify_cq, vf_req_notify_cq);
    TAKE(ops->post_send, device_quick_send);
    TAKE(ops->post_recv, device_quick_recv);
    TAKE(ops->post_srq_recv, vf_post_srq_recv);
    TAKE(ops->alloc_mw, vf_alloc_mw);
    TAKE(ops->bind_mw, vf_bind_mw);
    TAKE(ops->dealloc_mw, vf_dealloc_mw);
}

static void take_extended(struct device_context *kept,
                          struct verbs_context *there)
{
    TAKE_EXTENDED(query_port, vf_query_port);
    TAKE_EXTENDED(query_device_ex, vf_query_device_ex);
    TAKE_EXTENDED(create_cq_ex, device_create_cq_ex);
    TAKE_EXTENDED(create_qp_ex, device_create_qp_ex);
    TAKE_EXTENDED(create_srq_ex, device_create_srq_ex);
    TAKE_EXTENDED(alloc_null_mr, alloc_null_mr);
    TAKE_EXTENDED(reg_dm_mr, reg_dm_mr);
}

int device_take_over(struct ibv_context *context)
{
    struct device_context *kept = calloc(1, sizeof(*kept));

    if (!kept || device_keep(DEVICE_CONTEXTS, context, kept) != 0) {
        free(kept);
        return ENOMEM;
    }
    kept->handle = context;
    kept->ops = context->ops;
    take_plain(&context->ops);
    if (extended_of(context))
        take_extended(kept, extended_of(context));
    return 0;
}

/* ---- opening, closing -------------------------------------------------------
 */

static void open_device(struct vf_call *call)
{
    struct vf_object *context =
        vf_call_new(call, VF_KIND_CONTEXT, call->object);
    struct ibv_context *opened;
    struct real_pause pause;
    int err;

    if (!context)
        return;
    real_begin(call->world, &pause);
    opened = real.ibv_open_device(call->object->handle);
    real_end(&pause);
    err = real_missing(opened);
    if (opened)
        context->handle = opened;
    if (opened && !call->straight)
        err = device_take_over(opened);
    vf_call_made(call, context, err);
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    struct vf_call call = {
        .verb = VF_VERB_open_device,
        .kind = VF_KIND_DEVICE,
        .handle = device,
        .first_read = sizeof(struct ibv_device),
    };

    vf_call_run(&call, NULL, open_device);
    return vf_call_pointer(&call);
}

/* The kernel takes what the context still held. Using a handle of it is a
 * finding from now on. */
static void orphan(struct vf_call *call)
{
    static const enum vf_kind kinds[] = {VF_KIND_QP, VF_KIND_SRQ,    VF_KIND_AH,
                                         VF_KIND_MW, VF_KIND_MR,     VF_KIND_CQ,
                                         VF_KIND_PD, VF_KIND_CHANNEL};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct vf_object *object = call->machine->live[kinds[i]];

        for (; object; object = object->next) {
            const struct vf_object *root = object;

            while (root->kind != VF_KIND_CONTEXT && root->parent[0])
                root = root->parent[0];
            if (root != call->object || object->orphan)
                continue;
            vf_contract_forget(object);
            object->orphan = true;
        }
    }
}

static void close_device(struct vf_call *call)
{
    struct ibv_context *context = call->object->handle;
    struct device_context *kept = device_context_of(context);
    struct real_pause pause;
    int err;

    if (call->object->children > 0)
        orphan(call);
    if (!call->straight)
        device_keep(DEVICE_CONTEXTS, context, NULL);
    real_begin(call->world, &pause);
    err = real_error(real.ibv_close_device(context));
    real_end(&pause);
    if (err && !call->straight && kept)
        err = device_keep(DEVICE_CONTEXTS, context, kept) ? ENOMEM : err;
    else if (!call->straight)
        free(kept);
    vf_call_released(call, err);
}

int ibv_close_device(struct ibv_context *context)
{
    struct vf_call call = {
        .verb = VF_VERB_close_device,
        .kind = VF_KIND_CONTEXT,
        .handle = context,
        .first_read = VF_CONTEXT_READ,
    };

    vf_call_run(&call, vf_contract_childless, close_device);
    return vf_call_errno(&call);
}

/* Its device is opened elsewhere: no verb of verbs.def, but a context that has
 * to be ours. */
struct ibv_context *ibv_import_device(int cmd_fd)
{
    struct ibv_context *context = NULL;

    if (!real_open() || !real.ibv_import_device) {
        errno = ENOSYS;
        return NULL;
    }
    real_enter();
    context = real.ibv_import_device(cmd_fd);
    real_leave();
    if (context && real_depth == 0)
        (void)device_take_over(context);
    return context;
}

/* ---- queries ----------------------------------------------------------------
 */

int device_query_device(struct vf_object *context, struct ibv_device_attr *attr)
{
    struct real_pause pause;
    int err;

    real_begin(context->machine->world, &pause);
    err = real_error(real.ibv_query_device(context->handle, attr));
    real_end(&pause);
    return err;
}

int vf_device_attributes(const struct vf_call *call,
                         struct ibv_device_attr *attr)
{
    return call->provider->query_device(call->object, attr);
}

struct device_ex_call {
    struct vf_call call;
    const struct ibv_query_device_ex_input *input;
    size_t size;
};

static void query_device_ex(struct vf_call *call)
{
    const struct device_ex_call *query = (const struct device_ex_call *)call;
    struct device_context *kept = device_context_of(call->object->handle);
    struct real_pause pause;

    if (!kept || !kept->extended.query_device_ex) {
        call->err = EOPNOTSUPP;
        return;
    }
    real_begin(call->world, &pause);
    call->err = real_error(kept->extended.query_device_ex(
        call->object->handle, query->input, call->out, query->size));
    real_end(&pause);
}

int vf_query_device_ex(struct ibv_context *context,
                       const struct ibv_query_device_ex_input *input,
                       struct ibv_device_attr_ex *attr, size_t attr_size)
{
    struct device_ex_call query = {
        .call =
            {
                .verb = VF_VERB_query_device,
                .kind = VF_KIND_CONTEXT,
                .handle = context,
                .first_read = VF_CONTEXT_READ,
                .out = attr,
                .out_size = attr_size,
            },
        .input = input,
        .size = attr_size,
    };

    vf_call_run(&query.call, NULL, query_device_ex);
    return vf_call_errno(&query.call);
}

int device_query_port(struct vf_object *context, unsigned port,
                      struct ibv_port_attr *attr)
{
    struct device_context *kept = device_context_of(context->handle);
    struct real_pause pause;
    int answer;

    real_begin(context->machine->world, &pause);
    if (kept && kept->extended.query_port)
        answer = kept->extended.query_port(context->handle, (uint8_t)port, attr,
                                           sizeof(*attr));
    else
        answer = real.ibv_query_port(context->handle, (uint8_t)port,
                                     (struct _compat_ibv_port_attr *)attr);
    answer = real_error(answer);
    real_end(&pause);
    if (!answer &&
        (context->device->state->unplugged || context->device->state->down))
        attr->state = IBV_PORT_DOWN;
    return answer;
}

int device_query_gid(struct vf_object *context, unsigned port, int index,
                     union ibv_gid *gid)
{
    struct real_pause pause;
    int err;

    real_begin(context->machine->world, &pause);
    err = real_error(
        real.ibv_query_gid(context->handle, (uint8_t)port, index, gid));
    real_end(&pause);
    return err;
}

int device_query_pkey(struct vf_object *context, unsigned port, int index,
                      __be16 *pkey)
{
    struct real_pause pause;
    int err;

    real_begin(context->machine->world, &pause);
    err = real_error(
        real.ibv_query_pkey(context->handle, (uint8_t)port, index, pkey));
    real_end(&pause);
    return err;
}

/* A port's table with all that is known of its entries. For plan and trace each
 * is one query_gid; a walk over the table shows as port 0. */
struct gid_call {
    struct vf_call call;
    size_t room, entry_size;
    uint32_t flags;
};

static void query_entry(struct vf_call *call)
{
    struct gid_call *query = (struct gid_call *)call;
    struct real_pause pause;

    if (!real._ibv_query_gid_ex) {
        call->err = EOPNOTSUPP;
        return;
    }
    real_begin(call->world, &pause);
    call->err = real_error(real._ibv_query_gid_ex(
        call->object->handle, (uint32_t)call->args[0], (uint32_t)call->args[1],
        call->out, query->flags, query->entry_size));
    real_end(&pause);
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num,
                      uint32_t gid_index, struct ibv_gid_entry *entry,
                      uint32_t flags, size_t entry_size)
{
    struct gid_call query = {
        .call =
            {
                .verb = VF_VERB_query_gid,
                .kind = VF_KIND_CONTEXT,
                .handle = context,
                .first_read = VF_CONTEXT_READ,
                .args = {port_num, gid_index},
                .out = entry,
                .out_size = entry_size,
            },
        .entry_size = entry_size,
        .flags = flags,
    };

    vf_call_run(&query.call, NULL, query_entry);
    return vf_call_errno(&query.call);
}

static void query_table(struct vf_call *call)
{
    struct gid_call *query = (struct gid_call *)call;
    struct real_pause pause;

    if (!real._ibv_query_gid_table) {
        call->err = EOPNOTSUPP;
        return;
    }
    real_begin(call->world, &pause);
    call->result =
        real._ibv_query_gid_table(call->object->handle, call->out, query->room,
                                  query->flags, query->entry_size);
    real_end(&pause);
    if (call->result < 0)
        call->err = (int)-call->result;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context,
                             struct ibv_gid_entry *entries, size_t max_entries,
                             uint32_t flags, size_t entry_size)
{
    struct gid_call query = {
        .call =
            {
                .verb = VF_VERB_query_gid,
                .kind = VF_KIND_CONTEXT,
                .handle = context,
                .first_read = VF_CONTEXT_READ,
                .args = {0, max_entries},
                .out = entries,
                .out_size = entry_size,
            },
        .room = max_entries,
        .entry_size = entry_size,
        .flags = flags,
    };

    vf_call_run(&query.call, NULL, query_table);
    return query.call.err ? -query.call.err : (ssize_t)query.call.result;
}
