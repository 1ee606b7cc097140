/*
 * tests/pair_support.h: two hosts whose queue pairs are connected, of any
 * service and profile.
 *
 * A test is written once and runs over the profiles that have the whole of
 * verbs: EACH(name) makes four tests of it, and the profile comes in through
 * *state. Two of the four are run as between processes: the room behaves as if
 * it were shared, so that completions go through rings and async events through
 * the process's place in the room. pair_open() starts the hosts, pair_connect()
 * connects the queue pairs that the test has made; what a test does not say is
 * in `usual`.
 *
 * ask() posts one request of any opcode, described by what it is about; offsets
 * are into the hosts' memory, the remote one into the peer's.
 */
#ifndef PAIR_SUPPORT_H
#define PAIR_SUPPORT_H

#include "mocks_support.h"

#include <arpa/inet.h>

#include "mock/mock.h"

#define EVERY_ACCESS                                                           \
    (ALL_ACCESS | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)
#define QKEY 0x1234u
#define MICROSECOND INT64_C(1000)
#define MILLISECOND INT64_C(1000000)

static struct host a, b;

/* How a queue pair is made and connected. */
struct pair {
    enum ibv_qp_type type;
    uint32_t send_depth, recv_depth, sge, inlined;
    int all_signaled;
    unsigned access; /* enum ibv_access_flags, of both */
    uint8_t timeout, retry_cnt, rnr_retry, min_rnr_timer;
    uint8_t reads;       /* outstanding READs and atomics, both ways */
    uint32_t psn_ahead;  /* by which the first sends are wrong */
    struct ibv_srq *srq; /* of b's */
};

static const struct pair usual = {
    .type = IBV_QPT_RC,
    .send_depth = 32,
    .recv_depth = 32,
    .sge = 4,
    .inlined = 64,
    .access = EVERY_ACCESS,
    .timeout = 14,
    .retry_cnt = 7,
    .rnr_retry = 7,
    .min_rnr_timer = 1,
    .reads = 4,
};

static inline struct ibv_qp *
pair_qp(const struct host *host, const struct pair *pair, struct ibv_srq *srq)
{
    struct ibv_qp_init_attr attr = {
        .send_cq = host->cq,
        .recv_cq = host->cq,
        .srq = srq,
        .qp_type = pair->type,
        .sq_sig_all = pair->all_signaled,
        .cap = {.max_send_wr = pair->send_depth,
                .max_recv_wr = srq ? 0 : pair->recv_depth,
                .max_send_sge = pair->sge,
                .max_recv_sge = srq ? 0 : pair->sge,
                .max_inline_data = pair->inlined},
    };
    struct ibv_qp *qp = ibv_create_qp(host->pd, &attr);

    assert_non_null(qp);
    return qp;
}

static inline int pair_init(struct ibv_qp *qp, const struct pair *pair)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT,
        .port_num = 1,
        .qp_access_flags = pair->access,
        .qkey = QKEY,
    };
    int last = pair->type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;

    return ibv_modify_qp(qp, &attr,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | last);
}

static inline int pair_rtr(struct ibv_qp *qp, const struct pair *pair,
                           const union ibv_gid *gid, uint32_t number)
{
    struct ibv_qp_attr attr = rtr_attr(gid, number);

    attr.max_dest_rd_atomic = pair->reads;
    attr.min_rnr_timer = pair->min_rnr_timer;
    if (pair->type == IBV_QPT_UD)
        return to_state(qp, IBV_QPS_RTR);
    if (pair->type == IBV_QPT_UC)
        return ibv_modify_qp(qp, &attr, RTR_MASK);
    return ibv_modify_qp(
        qp, &attr, RTR_MASK | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static inline int pair_rts(struct ibv_qp *qp, const struct pair *pair)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTS,
        .sq_psn = 7 + pair->psn_ahead,
        .timeout = pair->timeout,
        .retry_cnt = pair->retry_cnt,
        .rnr_retry = pair->rnr_retry,
        .max_rd_atomic = pair->reads,
    };
    int reliable = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                   IBV_QP_MAX_QP_RD_ATOMIC;

    return ibv_modify_qp(qp, &attr,
                         RTS_MASK | (pair->type == IBV_QPT_RC ? reliable : 0));
}

static inline void pair_connect_one(struct ibv_qp *qp, const struct pair *pair,
                                    const union ibv_gid *gid, uint32_t number)
{
    assert_int_equal(pair_init(qp, pair), 0);
    assert_int_equal(pair_rtr(qp, pair, gid, number), 0);
    assert_int_equal(pair_rts(qp, pair), 0);
}

/* The hosts' queue pairs, which are in RESET. */
static inline void pair_connect(const struct pair *pair)
{
    pair_connect_one(a.qp, pair, &b.gid, b.qp->qp_num);
    pair_connect_one(b.qp, pair, &a.gid, a.qp->qp_num);
    NOTHING_FOUND();
}

static inline void pair_widen(struct host *host)
{
    assert_int_equal(ibv_dereg_mr(host->mr), 0);
    assert_int_equal(ibv_destroy_qp(host->qp), 0);
    host->mr = ibv_reg_mr(host->pd, host->memory, MEMORY, EVERY_ACCESS);
    assert_non_null(host->mr);
}

static inline void pair_behave(bool shared)
{
    stage.world->view->shared = shared;
}

static inline int pair_share(void **state)
{
    (void)state;
    stage.share = pair_behave;
    return 0;
}

static inline int pair_unshare(void **state)
{
    (void)state;
    stage.share = NULL;
    pair_behave(false);
    return 0;
}

/* Two hosts of the profile, without queue pairs. */
static inline void pair_hosts(void **state)
{
    stage.never_waits = true;
    stage_set(*state, 2);
    host_start(&a, 0);
    host_start(&b, 1);
    pair_widen(&a);
    pair_widen(&b);
}

/* Two hosts of the profile with queue pairs in RESET. */
static inline void pair_make(void **state, const struct pair *pair)
{
    pair_hosts(state);
    a.qp = pair_qp(&a, pair, NULL);
    b.qp = pair_qp(&b, pair, pair->srq);
}

static inline void pair_open(void **state, const struct pair *pair)
{
    pair_make(state, pair);
    pair_connect(pair);
}

static inline struct pair of_type(enum ibv_qp_type type)
{
    struct pair pair = usual;

    pair.type = type;
    return pair;
}

static inline void pair_close(void)
{
    host_drop(&a);
    host_drop(&b);
}

/* Nothing is left behind: what everything released needs is counted right. */
static inline void pair_end(void)
{
    host_end(&a);
    host_end(&b);
    NOTHING_FOUND();
    assert_int_equal(vf_machine_leaks(stage.world, 0), 0);
    assert_int_equal(vf_machine_leaks(stage.world, 1), 0);
}

/* ---- requests ---- */

struct ask {
    uint64_t id;
    enum ibv_wr_opcode opcode;
    size_t from; /* or to, where something is fetched; of one's own memory */
    size_t at;   /* in the peer's memory */
    uint32_t length;
    uint32_t rkey;  /* 0: of the peer's region */
    uint32_t other; /* immediate data in host order, key to invalidate */
    unsigned flags; /* enum ibv_send_flags */
    bool unsignaled;
    uint64_t compare_add, swap;
};

static inline struct ibv_send_wr
ask_wr(const struct host *peer, const struct ask *ask, struct ibv_sge *sge)
{
    struct ibv_send_wr wr = {
        .wr_id = ask->id,
        .sg_list = sge,
        .num_sge = ask->length > 0,
        .opcode = ask->opcode,
        .send_flags = ask->flags | (ask->unsignaled ? 0 : IBV_SEND_SIGNALED),
    };
    uint64_t address = (uintptr_t)peer->memory + ask->at;
    uint32_t rkey = ask->rkey ? ask->rkey : peer->mr->rkey;

    if (ask->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
        ask->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr.wr.atomic.remote_addr = address;
        wr.wr.atomic.rkey = rkey;
        wr.wr.atomic.compare_add = ask->compare_add;
        wr.wr.atomic.swap = ask->swap;
    } else {
        wr.wr.rdma.remote_addr = address;
        wr.wr.rdma.rkey = rkey;
    }
    if (ask->opcode == IBV_WR_SEND_WITH_INV || ask->opcode == IBV_WR_LOCAL_INV)
        wr.invalidate_rkey = ask->other;
    else
        wr.imm_data = htonl(ask->other);
    return wr;
}

static inline int ask(struct host *host, const struct host *peer,
                      struct ask what)
{
    struct ibv_sge sge = {(uintptr_t)host->memory + what.from, what.length,
                          host->mr->lkey};
    struct ibv_send_wr wr = ask_wr(peer, &what, &sge);
    struct ibv_send_wr *bad = NULL;

    return ibv_post_send(host->qp, &wr, &bad);
}

/* The host's next completion is this one, without an error. */
static inline struct ibv_wc expect_done(struct host *host, uint64_t wr_id,
                                        enum ibv_wc_opcode opcode)
{
    struct ibv_wc wc = polled(host);

    assert_string_equal(vf_status_name((int)wc.status),
                        vf_status_name(IBV_WC_SUCCESS));
    assert_int_equal(wc.wr_id, wr_id);
    assert_int_equal(wc.opcode, opcode);
    assert_int_equal(wc.qp_num, host->qp->qp_num);
    return wc;
}

/* The clock goes on to this many nanoseconds since the test began. */
static inline void pass(int64_t nanoseconds)
{
    stage.clock = nanoseconds;
    vf_world_advance(stage.world);
}

/* A pattern that tells places and rounds apart. */
static inline void paint(unsigned char *bytes, size_t length, unsigned round)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = (unsigned char)(i * 7 + (i >> 8) + round * 31 + 1);
}

/* What the attendant of the host's process would do. */
static inline void pair_attend(const struct host *host)
{
    stage.world->home = host->machine;
    notice_take(stage.world);
    stage.world->home = -1;
}

static inline struct ibv_async_event async_event(const struct host *host)
{
    struct ibv_async_event event;

    pair_attend(host);
    assert_int_equal(ibv_get_async_event(host->context, &event), 0);
    return event;
}

static inline void no_async_event(const struct host *host)
{
    struct ibv_async_event event;

    pair_attend(host);
    assert_int_equal(ibv_get_async_event(host->context, &event), -1);
    assert_int_equal(errno, EAGAIN);
}

/* The host's program is told that of its queue pair, where devices tell. */
static inline void expect_told(const struct host *host, int event_type)
{
    const struct vf_machine *machine = &stage.world->machines[host->machine];
    struct ibv_async_event event;

    if (machine->devices[0].setup.profile->responder_is_quiet) {
        no_async_event(host);
        return;
    }
    event = async_event(host);
    assert_int_equal(event.event_type, event_type);
    assert_ptr_equal(event.element.qp, host->qp);
    ibv_ack_async_event(&event);
}

#define ON(name, profile)                                                      \
    {                                                                          \
#name " (" #profile ")", name, NULL, NULL,                             \
            (void *)&vf_profile_##profile                                      \
    }
#define SHARED(name, profile)                                                  \
    {                                                                          \
#name " (" #profile ", shared)", name, pair_share, pair_unshare,       \
            (void *)&vf_profile_##profile                                      \
    }
#define BOTH(name) ON(name, ideal), ON(name, rxe)
#define EACH(name) BOTH(name), SHARED(name, ideal), SHARED(name, rxe)

#endif
