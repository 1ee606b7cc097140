/*
 * tests/mocks_support.h: a stage with two machines for the tests of mocks/.
 *
 * stage_set() makes a world with `machines` machines, one device rdma_en2 each,
 * cabled with each other. Findings and trace lines are kept. A fatal finding
 * jumps out of the call that made it when the call is wrapped in FATAL().
 */
#ifndef MOCKS_SUPPORT_H
#define MOCKS_SUPPORT_H

#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* posix_memalign */
#endif

#include <errno.h>
#include <infiniband/verbs.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "verbfault/world.h"

#define MEMORY 65536
#define INIT_MASK                                                              \
    (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define RTR_MASK                                                               \
    (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |            \
     IBV_QP_RQ_PSN)
#define RTS_MASK (IBV_QP_STATE | IBV_QP_SQ_PSN)
#define ALL_ACCESS                                                             \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

struct host {
    struct ibv_device **list;
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    unsigned char *memory; /* MEMORY bytes, page-aligned */
    union ibv_gid gid;
    int machine;
};

static struct {
    struct vf_world *world;
    struct vf_finding findings[64];
    int finding_count;
    char *text; /* trace lines, each with its newline */
    size_t text_used, text_room;
    jmp_buf out;
    bool jumps;
    int64_t clock;
    bool memory_dead;
    void (*share)(bool on); /* makes the room behave as a shared one */
    bool never_waits;       /* calls that would wait answer at once */
    bool real; /* as in a real process: descriptors, and the kernel is
                  asked about memory */
    unsigned empties, changes, steps;
    int exits, hangs;
} stage;

static inline void stage_finding(void *context, const struct vf_finding *seen)
{
    (void)context;
    if (stage.finding_count < 64)
        stage.findings[stage.finding_count++] = *seen;
    if (seen->fatal && stage.jumps)
        longjmp(stage.out, 1);
    if (seen->fatal)
        fail_msg("unexpected: %s: %s", seen->title, seen->detail);
}

static inline void stage_trace(void *context, int machine, const char *line)
{
    size_t length = strlen(line);

    (void)context;
    (void)machine;
    if (stage.text_used + length + 2 > stage.text_room) {
        stage.text_room = 2 * stage.text_room + length + 4096;
        stage.text = realloc(stage.text, stage.text_room);
        assert_non_null(stage.text);
    }
    memcpy(stage.text + stage.text_used, line, length);
    stage.text_used += length;
    stage.text[stage.text_used++] = '\n';
    stage.text[stage.text_used] = '\0';
}

static inline int64_t stage_now(void *context)
{
    (void)context;
    return stage.clock;
}

static inline bool stage_alive(void *context, const void *address,
                               size_t length)
{
    (void)context;
    (void)address;
    (void)length;
    return !stage.memory_dead;
}

static inline void stage_empty(void *context, int machine)
{
    (void)context;
    (void)machine;
    stage.empties++;
}

static inline void stage_changed(void *context, int machine)
{
    (void)context;
    (void)machine;
    stage.changes++;
}

static inline void stage_step(void *context, int machine)
{
    (void)context;
    (void)machine;
    stage.steps++;
}

static inline void stage_exit(void *context, int machine)
{
    (void)context;
    stage.exits = machine + 1;
    if (stage.jumps)
        longjmp(stage.out, 2);
}

static inline void stage_hang(void *context, int machine)
{
    (void)context;
    stage.hangs = machine + 1;
    if (stage.jumps)
        longjmp(stage.out, 3);
}

static inline struct vf_device_setup
stage_device(const struct vf_profile *profile, const char *name)
{
    struct vf_device_setup setup;

    memset(&setup, 0, sizeof(setup));
    snprintf(setup.name, sizeof(setup.name), "%s", name);
    setup.profile = profile;
    setup.max_mr = -1;
    setup.max_qp = -1;
    setup.max_pd = -1;
    return setup;
}

/* A world without machines. */
static inline void stage_clear(void)
{
    struct vf_hooks hooks = {
        .now = stage_now,
        .step = stage_step,
        .empty = stage.never_waits ? NULL : stage_empty,
        .changed = stage_changed,
        .finding = stage_finding,
        .exit = stage_exit,
        .hang = stage_hang,
        .trace = stage_trace,
        .memory_alive = stage.real ? NULL : stage_alive,
        .descriptors = stage.real,
    };

    if (!stage.world)
        stage.world = vf_world_create();
    assert_non_null(stage.world);
    if (stage.share)
        stage.share(false);
    stage.finding_count = 0;
    stage.text_used = 0;
    stage.clock = 0;
    stage.memory_dead = false;
    stage.empties = stage.changes = stage.steps = 0;
    stage.exits = stage.hangs = 0;
    vf_world_reset(stage.world, &hooks);
    vf_world_install(stage.world);
    vf_thread_set_machine(0);
}

static inline void stage_set_devices(const struct vf_device_setup *setup,
                                     int machines)
{
    stage_clear();
    for (int i = 0; i < machines; i++) {
        assert_int_equal(vf_world_add_machine(stage.world), i);
        assert_int_equal(vf_machine_add_device(stage.world, i, setup), 0);
    }
    if (machines == 2)
        assert_int_equal(
            vf_world_cable(stage.world, 0, setup->name, 1, setup->name), 0);
    if (stage.share)
        stage.share(true);
}

static inline void stage_set(const struct vf_profile *profile, int machines)
{
    struct vf_device_setup setup = stage_device(profile, "rdma_en2");

    stage_set_devices(&setup, machines);
}

static inline int stage_teardown(void **state)
{
    (void)state;
    vf_world_destroy(stage.world);
    free(stage.text);
    memset(&stage, 0, sizeof(stage));
    return 0;
}

static inline void plan(int machine, enum vf_verb verb, unsigned nth,
                        bool onward, enum vf_effect effect, int value)
{
    struct vf_fault fault = {verb, nth, onward, effect, value};

    assert_int_equal(vf_machine_plan(stage.world, machine, &fault), 0);
}

/* The call must end in a fatal finding of this title. */
#define FATAL(expected, call)                                                  \
    do {                                                                       \
        stage.finding_count = 0;                                               \
        stage.jumps = true;                                                    \
        if (setjmp(stage.out) == 0) {                                          \
            (void)(call);                                                      \
            stage.jumps = false;                                               \
            fail_msg("no fatal finding: %s", expected);                        \
        }                                                                      \
        stage.jumps = false;                                                   \
        assert_int_equal(stage.finding_count, 1);                              \
        assert_string_equal(stage.findings[0].title, expected);                \
        assert_true(stage.findings[0].fatal);                                  \
        stage.finding_count = 0;                                               \
    } while (0)

/* Since the last time, exactly this finding, not fatal. */
#define FOUND(expected)                                                        \
    do {                                                                       \
        assert_int_equal(stage.finding_count, 1);                              \
        assert_string_equal(stage.findings[0].title, expected);                \
        assert_false(stage.findings[0].fatal);                                 \
        stage.finding_count = 0;                                               \
    } while (0)

#define NOTHING_FOUND() assert_int_equal(stage.finding_count, 0)

static inline void host_open(struct host *host, int machine)
{
    int count;

    memset(host, 0, sizeof(*host));
    host->machine = machine;
    vf_thread_set_machine(machine);
    host->list = ibv_get_device_list(&count);
    assert_non_null(host->list);
    assert_true(count > 0);
    host->context = ibv_open_device(host->list[0]);
    assert_non_null(host->context);
    ibv_free_device_list(host->list);
    host->list = NULL;
}

static inline struct ibv_qp *host_qp(struct host *host, enum ibv_qp_type type,
                                     unsigned depth)
{
    struct ibv_qp_init_attr attr = {
        .send_cq = host->cq,
        .recv_cq = host->cq,
        .qp_type = type,
        .cap = {.max_send_wr = depth,
                .max_recv_wr = depth,
                .max_send_sge = 1,
                .max_recv_sge = 1},
    };

    return ibv_create_qp(host->pd, &attr);
}

/* Everything up to a queue pair in RESET. */
static inline void host_start(struct host *host, int machine)
{
    host_open(host, machine);
    host->pd = ibv_alloc_pd(host->context);
    assert_non_null(host->pd);
    host->cq = ibv_create_cq(host->context, 64, NULL, NULL, 0);
    assert_non_null(host->cq);
    host->qp = host_qp(host, IBV_QPT_UC, 32);
    assert_non_null(host->qp);
    assert_int_equal(posix_memalign((void **)&host->memory, 4096, MEMORY), 0);
    memset(host->memory, 0, MEMORY);
    host->mr = ibv_reg_mr(host->pd, host->memory, MEMORY, ALL_ACCESS);
    assert_non_null(host->mr);
    assert_int_equal(ibv_query_gid(host->context, 1, 1, &host->gid), 0);
}

static inline int to_init(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT,
        .port_num = 1,
        .qp_access_flags = ALL_ACCESS,
    };

    return ibv_modify_qp(qp, &attr, INIT_MASK);
}

static inline struct ibv_qp_attr rtr_attr(const union ibv_gid *gid,
                                          uint32_t number)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_1024,
        .dest_qp_num = number,
        .rq_psn = 7,
        .ah_attr = {.is_global = 1,
                    .port_num = 1,
                    .grh = {.hop_limit = 1, .sgid_index = 1}},
    };

    attr.ah_attr.grh.dgid = *gid;
    return attr;
}

static inline int to_rtr(struct ibv_qp *qp, const union ibv_gid *gid,
                         uint32_t number)
{
    struct ibv_qp_attr attr = rtr_attr(gid, number);

    return ibv_modify_qp(qp, &attr, RTR_MASK);
}

static inline int to_rts(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .sq_psn = 7};

    return ibv_modify_qp(qp, &attr, RTS_MASK);
}

static inline int to_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
    struct ibv_qp_attr attr = {.qp_state = state};

    return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

static inline void connect_hosts(struct host *a, struct host *b)
{
    assert_int_equal(to_init(a->qp), 0);
    assert_int_equal(to_init(b->qp), 0);
    assert_int_equal(to_rtr(a->qp, &b->gid, b->qp->qp_num), 0);
    assert_int_equal(to_rts(a->qp), 0);
    assert_int_equal(to_rtr(b->qp, &a->gid, a->qp->qp_num), 0);
    assert_int_equal(to_rts(b->qp), 0);
}

/* Two connected hosts of a profile. */
static inline void two_hosts(const struct vf_profile *profile, struct host *a,
                             struct host *b)
{
    stage_set(profile, 2);
    host_start(a, 0);
    host_start(b, 1);
    connect_hosts(a, b);
    NOTHING_FOUND();
}

static inline int post_recv_key(struct host *host, uint64_t wr_id,
                                size_t offset, uint32_t length, uint32_t lkey)
{
    struct ibv_sge sge = {(uintptr_t)host->memory + offset, length, lkey};
    struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};
    struct ibv_recv_wr *bad;

    return ibv_post_recv(host->qp, &wr, &bad);
}

static inline int post_recv(struct host *host, uint64_t wr_id, size_t offset,
                            uint32_t length)
{
    return post_recv_key(host, wr_id, offset, length, host->mr->lkey);
}

static inline int post_send_key(struct host *host, uint64_t wr_id,
                                size_t offset, uint32_t length, uint32_t lkey)
{
    struct ibv_sge sge = {(uintptr_t)host->memory + offset, length, lkey};
    struct ibv_send_wr wr = {
        .wr_id = wr_id,
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = IBV_WR_SEND,
        .send_flags = IBV_SEND_SIGNALED,
    };
    struct ibv_send_wr *bad;

    return ibv_post_send(host->qp, &wr, &bad);
}

static inline int post_send(struct host *host, uint64_t wr_id, size_t offset,
                            uint32_t length)
{
    return post_send_key(host, wr_id, offset, length, host->mr->lkey);
}

/* One completion, which must be there. */
static inline struct ibv_wc polled(struct host *host)
{
    struct ibv_wc wc;

    assert_int_equal(ibv_poll_cq(host->cq, 1, &wc), 1);
    return wc;
}

static inline void expect_completion(struct host *host, uint64_t wr_id,
                                     enum ibv_wc_status status)
{
    struct ibv_wc wc = polled(host);

    assert_int_equal(wc.wr_id, wr_id);
    assert_string_equal(vf_status_name((int)wc.status),
                        vf_status_name((int)status));
    assert_int_equal(wc.qp_num, host->qp->qp_num);
}

static inline void expect_none(struct host *host)
{
    struct ibv_wc wc;

    assert_int_equal(ibv_poll_cq(host->cq, 1, &wc), 0);
}

static inline enum ibv_qp_state state_of(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;

    assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
    return attr.qp_state;
}

static inline void host_end(struct host *host)
{
    vf_thread_set_machine(host->machine);
    assert_int_equal(ibv_destroy_qp(host->qp), 0);
    assert_int_equal(ibv_dereg_mr(host->mr), 0);
    assert_int_equal(ibv_destroy_cq(host->cq), 0);
    assert_int_equal(ibv_dealloc_pd(host->pd), 0);
    assert_int_equal(ibv_close_device(host->context), 0);
    free(host->memory);
}

/* The test is over; what it left open is of no interest. */
static inline void host_drop(struct host *host)
{
    vf_machine_end(stage.world, host->machine);
    free(host->memory);
}

#endif
