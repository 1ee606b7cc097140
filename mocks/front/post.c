/*
 * Posting to a queue pair. The contract remembers what is posted before the
 * provider has it, for a request can complete inside of its own post; what was
 * not taken is forgotten after it.
 */
#include <errno.h>

#include "front/contract.h"
#include "front/inline_verbs.h"

struct post_send_call {
    struct vf_call call;
    struct ibv_send_wr *wr;
    struct ibv_send_wr *bad;
};

static void post_send_contract(struct vf_call *call)
{
    struct post_send_call *post = (struct post_send_call *)call;

    vf_contract_post_send(call, post->wr);
}

static void post_send(struct vf_call *call)
{
    struct post_send_call *post = (struct post_send_call *)call;

    post->bad = NULL;
    call->err = call->provider->post_send(call->object, post->wr, &post->bad);
}

static void untake_send(const struct post_send_call *post)
{
    unsigned count = 0;
    unsigned taken = 0;

    for (struct ibv_send_wr *wr = post->wr; wr; wr = wr->next) {
        if (wr == post->bad)
            taken = count;
        count++;
    }
    vf_contract_untake(post->call.object, false, count, taken);
}

int vf_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
                 struct ibv_send_wr **bad_wr)
{
    struct post_send_call post = {
        .call =
            {
                .verb = VF_VERB_post_send,
                .kind = VF_KIND_QP,
                .handle = qp,
                .args = {wr ? wr->wr_id : 0,
                         wr && wr->num_sge > 0 ? wr->sg_list[0].length : 0},
            },
        .wr = wr,
        .bad = wr,
    };

    vf_call_run(&post.call, post_send_contract, post_send);
    if (post.call.object && (post.bad || post.call.err))
        untake_send(&post);
    if (!post.call.err && post.call.result == 0)
        return 0;
    if (post.bad && bad_wr)
        *bad_wr = post.bad;
    return vf_call_errno(&post.call);
}

struct post_recv_call {
    struct vf_call call;
    struct ibv_recv_wr *wr;
    struct ibv_recv_wr *bad;
};

static void post_recv_contract(struct vf_call *call)
{
    struct post_recv_call *post = (struct post_recv_call *)call;

    vf_contract_post_recv(call, post->wr);
}

static void post_recv(struct vf_call *call)
{
    struct post_recv_call *post = (struct post_recv_call *)call;

    post->bad = NULL;
    call->err = call->provider->post_recv(call->object, post->wr, &post->bad);
}

static void untake_recv(const struct post_recv_call *post)
{
    unsigned count = 0;
    unsigned taken = 0;

    for (struct ibv_recv_wr *wr = post->wr; wr; wr = wr->next) {
        if (wr == post->bad)
            taken = count;
        count++;
    }
    vf_contract_untake(post->call.object, true, count, taken);
}

int vf_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
                 struct ibv_recv_wr **bad_wr)
{
    struct post_recv_call post = {
        .call =
            {
                .verb = VF_VERB_post_recv,
                .kind = VF_KIND_QP,
                .handle = qp,
                .args = {wr ? wr->wr_id : 0,
                         wr && wr->num_sge > 0 ? wr->sg_list[0].length : 0},
            },
        .wr = wr,
        .bad = wr,
    };

    vf_call_run(&post.call, post_recv_contract, post_recv);
    if (post.call.object && (post.bad || post.call.err))
        untake_recv(&post);
    if (!post.call.err && post.call.result == 0)
        return 0;
    if (post.bad && bad_wr)
        *bad_wr = post.bad;
    return vf_call_errno(&post.call);
}
