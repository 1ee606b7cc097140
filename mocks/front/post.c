/*
 * Posting to a queue pair or a shared receive queue. The contract remembers
 * what is posted before the provider has it, for a request can complete inside
 * of its own post; what was not taken is forgotten after it.
 *
 * A list may be a ring. No queue takes more requests than it has places, so
 * nobody looks further than the first one too many.
 */
#include <errno.h>

#include "front/contract.h"
#include "front/inline_verbs.h"
#include "front/quick.h"

struct post_call {
    struct vf_call call;
    void *list;    /* the verb's kind of work requests */
    void *bad;     /* the first one not taken; NULL: none, or not told */
    unsigned seen; /* requests that the contract remembers */
};

static const void *look_at_send(const void *list, bool all_signaled,
                                struct vf_request *request)
{
    const struct ibv_send_wr *wr = list;

    request->wr_id = wr->wr_id;
    request->list = wr->sg_list;
    request->count = wr->num_sge;
    request->inlined = wr->send_flags & IBV_SEND_INLINE;
    request->signaled = all_signaled || wr->send_flags & IBV_SEND_SIGNALED;
    request->access = 0;
    request->send = wr;
    return wr->next;
}

static const void *look_at_recv(const void *list, struct vf_request *request)
{
    const struct ibv_recv_wr *wr = list;

    request->wr_id = wr->wr_id;
    request->list = wr->sg_list;
    request->count = wr->num_sge;
    request->inlined = false;
    request->signaled = true;
    request->access = IBV_ACCESS_LOCAL_WRITE;
    request->send = NULL;
    return wr->next;
}

/* Returns the next one. */
static const void *look_at(const struct vf_call *call, const void *wr,
                           struct vf_request *request)
{
    if (call->verb == VF_VERB_post_send)
        return look_at_send(wr, call->object->shadow.qp.all_signaled, request);
    return look_at_recv(wr, request);
}

static void post_contract(struct vf_call *call)
{
    struct post_call *post = (struct post_call *)call;
    uint32_t most = vf_contract_queue(call)->depth;
    const void *wr = post->list;

    vf_contract_post(call);
    while (wr && post->seen <= most && !call->answered) {
        struct vf_request request;

        request.change = VF_WINDOW_SAME;
        wr = look_at(call, wr, &request);
        vf_contract_request(call, &request);
        post->seen++;
    }
    vf_contract_depth(call);
}

/* How many of the seen requests come before the bad one. In a ring it comes
 * more than once: the queue was full then. */
static unsigned count_taken(const struct post_call *post, bool *ring)
{
    const void *wr = post->list;
    struct vf_request request;
    unsigned taken = 0;
    unsigned met = 0;

    for (unsigned n = 0; wr && n < post->seen; n++) {
        if (wr == post->bad) {
            taken = n;
            met++;
        }
        wr = look_at(&post->call, wr, &request);
    }
    *ring = met > 1;
    return taken;
}

static void settle(struct vf_call *call)
{
    const struct post_call *post = (const struct post_call *)call;
    const struct vf_posted_queue *queue = vf_contract_queue(call);
    bool ring;

    if (!post->bad && !call->err)
        return;
    vf_contract_untake(call, post->seen - count_taken(post, &ring));
    while (ring && queue->slots > queue->depth)
        vf_contract_untake(call, 1);
}

static void post_send(struct vf_call *call)
{
    struct post_call *post = (struct post_call *)call;
    struct ibv_send_wr *bad = NULL;

    call->err = call->provider->post_send(call->object, post->list, &bad);
    post->bad = bad;
}

static void post_recv(struct vf_call *call)
{
    struct post_call *post = (struct post_call *)call;
    struct ibv_recv_wr *bad = NULL;

    if (call->verb == VF_VERB_post_srq_recv)
        call->err =
            call->provider->post_srq_recv(call->object, post->list, &bad);
    else
        call->err = call->provider->post_recv(call->object, post->list, &bad);
    post->bad = bad;
}

static uint64_t first_length(const struct ibv_sge *list, int count)
{
    return list && count > 0 ? list[0].length : 0;
}

static bool accepted(const struct post_call *post)
{
    return !post->call.err && post->call.result == 0;
}

VF_ASIDE
static int send_in_steps(struct ibv_qp *qp, struct ibv_send_wr *wr,
                         struct ibv_send_wr **bad_wr)
{
    struct post_call post = {
        .call =
            {
                .verb = VF_VERB_post_send,
                .kind = VF_KIND_QP,
                .handle = qp,
                .given = wr,
                .args = {wr ? wr->wr_id : 0,
                         wr ? first_length(wr->sg_list, wr->num_sge) : 0,
                         wr ? (uint64_t)wr->opcode : IBV_WR_SEND},
                .settle = settle,
            },
        .list = wr,
        .bad = wr,
    };

    vf_call_run(&post.call, post_contract, post_send);
    if (!accepted(&post) && post.bad && bad_wr)
        *bad_wr = post.bad;
    return vf_call_errno(&post.call);
}

int vf_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
                 struct ibv_send_wr **bad_wr)
{
    int answer;

    if (vf_quick_post_send(qp, wr, bad_wr, &answer))
        return answer;
    return send_in_steps(qp, wr, bad_wr);
}

VF_ASIDE
static int receive_in_steps(enum vf_verb verb, enum vf_kind kind,
                            const void *handle, struct ibv_recv_wr *wr,
                            struct ibv_recv_wr **bad_wr)
{
    struct post_call post = {
        .call =
            {
                .verb = verb,
                .kind = kind,
                .handle = handle,
                .args = {wr ? wr->wr_id : 0,
                         wr ? first_length(wr->sg_list, wr->num_sge) : 0},
                .settle = settle,
                .given = wr,
            },
        .list = wr,
        .bad = wr,
    };

    vf_call_run(&post.call, post_contract, post_recv);
    if (!accepted(&post) && post.bad && bad_wr)
        *bad_wr = post.bad;
    return vf_call_errno(&post.call);
}

int vf_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
                 struct ibv_recv_wr **bad_wr)
{
    int answer;

    if (vf_quick_post_recv(qp, wr, bad_wr, &answer))
        return answer;
    return receive_in_steps(VF_VERB_post_recv, VF_KIND_QP, qp, wr, bad_wr);
}

int vf_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
                     struct ibv_recv_wr **bad_wr)
{
    return receive_in_steps(VF_VERB_post_srq_recv, VF_KIND_SRQ, srq, wr,
                            bad_wr);
}
