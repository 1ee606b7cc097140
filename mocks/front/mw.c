/*
 * Memory windows: a part of a region under a remote key of its own.
 *
 * A window of type 1 is bound by bind_mw, one of type 2 by a request that is
 * posted; both are bound once the request is done. It is unbound by a request
 * too: bound to nothing (type 1), invalidated here or by a peer (type 2).
 * The contract follows them so that no region goes from under a window.
 */
#include "front/contract.h"
#include "front/inline_verbs.h"

#define REMOTE_CHANGES (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)

/* ---- what is known of windows ---- */

void vf_window_unbind(struct vf_object *window)
{
    window->shadow.mw.region = NULL;
}

void vf_window_bind(struct vf_object *window, struct vf_object *region,
                    struct vf_object *qp)
{
    window->shadow.mw.region = region;
    window->shadow.mw.qp = qp;
}

/* A window of type 2 is bound for as long as its queue pair lives. */
static bool still_bound(const struct vf_object *window,
                        const struct vf_object *region)
{
    return window->shadow.mw.region == region &&
           (window->shadow.mw.type == IBV_MW_TYPE_1 ||
            window->shadow.mw.qp->live);
}

void vf_contract_windowless(struct vf_call *call)
{
    const struct vf_object *region = call->object;
    const struct vf_object *window = call->machine->live[VF_KIND_MW];
    unsigned count = 0;

    for (; window; window = window->next)
        count += still_bound(window, region);
    if (count > 0)
        vf_contract_finding(call, false, "window-bound",
                            "%u windows are bound to region %u", count,
                            (unsigned)region->id);
}

void vf_windows_lose(struct vf_object *region)
{
    struct vf_object *window = region->machine->live[VF_KIND_MW];

    for (; window; window = window->next)
        if (window->shadow.mw.region == region)
            vf_window_unbind(window);
}

/* ---- the contract of binding ---- */

static bool in_region(const struct vf_object *mr,
                      const struct ibv_mw_bind_info *info)
{
    uint64_t start = info->addr - mr->shadow.mr.address;

    return start <= mr->shadow.mr.length &&
           info->length <= mr->shadow.mr.length - start;
}

static void check_region(struct vf_call *call, const struct vf_object *window,
                         const struct vf_object *mr,
                         const struct ibv_mw_bind_info *info)
{
    uint32_t access = mr->shadow.mr.access;

    if (!vf_same_domain(mr, window))
        vf_contract_finding(call, false, "wrong-domain-key",
                            "region %u is of domain %u, window %u of %u",
                            (unsigned)mr->id, (unsigned)mr->parent[0]->id,
                            (unsigned)window->id,
                            (unsigned)window->parent[0]->id);
    else if (!(access & IBV_ACCESS_MW_BIND))
        vf_contract_finding(call, false, "no-window-access",
                            "region %u was registered without "
                            "IBV_ACCESS_MW_BIND",
                            (unsigned)mr->id);
    else if (info->mw_access_flags & REMOTE_CHANGES &&
             !(access & IBV_ACCESS_LOCAL_WRITE))
        vf_contract_finding(call, false, "no-local-write",
                            "peers may write to the window, and region %u was "
                            "registered without IBV_ACCESS_LOCAL_WRITE",
                            (unsigned)mr->id);
    else if (!in_region(mr, info))
        vf_contract_finding(call, false, "window-outside-mr",
                            "%llu bytes at offset %lld of a region of %llu",
                            (unsigned long long)info->length,
                            (long long)(info->addr - mr->shadow.mr.address),
                            (unsigned long long)mr->shadow.mr.length);
}

void vf_contract_bind(struct vf_call *call, struct vf_request *request,
                      const struct ibv_mw *mw, enum ibv_mw_type type,
                      const struct ibv_mw_bind_info *info)
{
    struct vf_object *window =
        vf_contract_handle(call, mw, VF_KIND_MW, offsetof(struct ibv_mw, rkey));
    struct vf_object *region = NULL;

    if (!window)
        return;
    if (window->shadow.mw.type != type)
        vf_contract_finding(call, false, "wrong-window-type",
                            "window %u is of type %u", (unsigned)window->id,
                            (unsigned)window->shadow.mw.type);
    if (!vf_same_domain(window, call->object))
        vf_contract_finding(
            call, false, "wrong-domain-window",
            "window %u is of domain %u, qp %u of %u", (unsigned)window->id,
            (unsigned)window->parent[0]->id, (unsigned)call->object->id,
            (unsigned)call->object->parent[0]->id);
    if (info->mr || info->length > 0 || type == IBV_MW_TYPE_2)
        region = vf_contract_handle(call, info->mr, VF_KIND_MR,
                                    offsetof(struct ibv_mr, lkey));
    if (region && info->length > 0)
        check_region(call, window, region, info);
    request->change = VF_WINDOW_BOUND;
    request->window = window;
    request->region = info->length > 0 ? region : NULL;
}

void vf_contract_invalidate(struct vf_call *call, struct vf_request *request,
                            uint32_t rkey)
{
    struct vf_object *window = call->provider->window(call->object, rkey);

    if (!window && call->provider->meet)
        return; /* a key of something else than a window */
    if (!window || !window->live)
        vf_contract_finding(call, false, "unknown-key",
                            "no window has the rkey");
    else if (window->shadow.mw.type != IBV_MW_TYPE_2)
        vf_contract_finding(call, false, "wrong-window-type",
                            "window %u is of type 1, which is bound to nothing "
                            "instead",
                            (unsigned)window->id);
    request->change = VF_WINDOW_UNBOUND;
    request->window = window;
    request->region = NULL;
}

/* ---- the verbs ---- */

static void alloc_mw(struct vf_call *call)
{
    struct vf_object *mw = vf_call_new(call, VF_KIND_MW, call->object);
    enum ibv_mw_type type = (enum ibv_mw_type)call->args[0];
    struct ibv_mw *handle;

    if (!mw)
        return;
    handle = mw->handle;
    handle->context = ((struct ibv_pd *)call->object->handle)->context;
    handle->pd = call->object->handle;
    handle->type = type;
    mw->shadow.mw.type = (uint8_t)type;
    vf_call_made(call, mw, call->provider->alloc_mw(mw, type));
}

struct ibv_mw *vf_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
    struct vf_call call = {
        .verb = VF_VERB_alloc_mw,
        .kind = VF_KIND_PD,
        .handle = pd,
        .args = {type},
    };

    vf_call_run(&call, NULL, alloc_mw);
    return vf_call_pointer(&call);
}

static void dealloc_mw(struct vf_call *call)
{
    vf_call_released(call, call->provider->dealloc_mw(call->object));
}

int vf_dealloc_mw(struct ibv_mw *mw)
{
    struct vf_call call = {
        .verb = VF_VERB_dealloc_mw,
        .kind = VF_KIND_MW,
        .handle = mw,
    };

    vf_call_run(&call, NULL, dealloc_mw);
    return vf_call_errno(&call);
}

struct bind_mw_call {
    struct vf_call call;
    struct ibv_mw *mw;
    struct ibv_mw_bind *bind;
    bool seen; /* the contract remembers it */
    bool taken;
    struct vf_object *window;
};

static void bind_mw_contract(struct vf_call *call)
{
    struct bind_mw_call *bind = (struct bind_mw_call *)call;
    struct vf_request request = {
        .wr_id = bind->bind->wr_id,
        .signaled = call->object->shadow.qp.all_signaled ||
                    bind->bind->send_flags & IBV_SEND_SIGNALED,
    };

    vf_contract_post(call);
    vf_contract_bind(call, &request, bind->mw, IBV_MW_TYPE_1,
                     &bind->bind->bind_info);
    if (call->answered)
        return;
    if (call->object->shadow.qp.type == IBV_QPT_UD)
        vf_contract_finding(call, false, "bad-opcode",
                            "a datagram queue pair binds no windows");
    bind->window = request.window;
    vf_contract_request(call, &request);
    bind->seen = true;
    vf_contract_depth(call);
}

static void bind_mw(struct vf_call *call)
{
    struct bind_mw_call *bind = (struct bind_mw_call *)call;

    call->err = call->provider->bind_mw(call->object, bind->window, bind->bind);
    bind->taken = !call->err;
}

/* Nothing was posted when the plan or the device has said no. */
static void settle_bind(struct vf_call *call)
{
    const struct bind_mw_call *bind = (const struct bind_mw_call *)call;

    if (bind->seen && !bind->taken)
        vf_contract_untake(call, 1);
}

int vf_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw,
               struct ibv_mw_bind *mw_bind)
{
    struct bind_mw_call bind = {
        .call =
            {
                .verb = VF_VERB_bind_mw,
                .kind = VF_KIND_QP,
                .handle = qp,
                .args = {mw_bind->wr_id, mw_bind->bind_info.length},
                .settle = settle_bind,
            },
        .mw = mw,
        .bind = mw_bind,
    };

    vf_call_run(&bind.call, bind_mw_contract, bind_mw);
    return vf_call_errno(&bind.call);
}
