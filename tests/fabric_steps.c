/*
 * A process is killed at every instruction of what it does in a shared room,
 * and the others go on.
 *
 * A child is connected with this process over RC and makes one verbs call after
 * the other (`phases`). In one of them it is stopped, led so many instructions
 * further, and killed. Whatever it was in the middle of: this process ends its
 * queue pair and gets each of its requests back exactly once, messages that
 * have arrived are whole, the devices have as much in use as before, and the
 * next child finds a room that works.
 *
 * FABRIC_STRIDE in the environment: how many instructions from one death to the
 * next; 1 is every one of them and takes hours. FABRIC_PHASE: the phases
 * to die in, as a pattern (`FABRIC_PHASE='*make_pair'`).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "fabric_support.h"

#include <limits.h>
#include <sys/ptrace.h>

#include "mocks/mock/mock.h"
#include "mocks/mock/share.h"
#include "programs/endpoint.h"

#define DEATHS 8    /* of each phase */
#define SECONDS 100 /* for a phase: what hangs ends the test */

#define SHORT 64u
#define LONG 20000u
#define HUGE                                                                   \
    200000u /* too long to wait in the room: copied from process to            \
               process */
#define RECEIVES 4u
#define SENDS 3u
#define SLOT 262144u

/* What the two tell each other. */
struct talk {
    union ibv_gid gid[2];
    uint32_t number[2];
    uint32_t key;
    uint64_t address;
    _Atomic uint32_t phase_over;
};

static struct {
    struct talk *talk;
    struct vf_room *room;
    char path[VF_ROOM_PATH_MAX];
    struct endpoint endpoint;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    unsigned char *memory; /* SLOTs: receives, then sends */
} here;

static void *slot(unsigned n)
{
    return here.memory + (size_t)n * SLOT;
}

/* ---- worlds ---- */

static int64_t now(void *context)
{
    (void)context;
    return vf_os_now();
}

static void empty(void *context, int machine)
{
    (void)context;
    (void)machine;
    vf_world_advance(vf_world_installed());
}

static void enter_room(int machine)
{
    struct vf_hooks hooks = {.now = now, .empty = empty, .descriptors = true};
    struct vf_world *world = vf_world_create();

    assert_non_null(world);
    vf_world_reset(world, &hooks);
    assert_int_equal(share_open(world, here.path, machine), 0);
    vf_world_install(world);
}

static void make_room(void)
{
    struct vf_device_setup setup = {.name = "rdma0",
                                    .profile = &vf_profile_ideal,
                                    .max_mr = -1,
                                    .max_qp = -1,
                                    .max_pd = -1};
    struct vf_room_options options = {.keep_going = false};
    struct vf_world *world = vf_world_create();

    for (int i = 0; i < 2; i++) {
        vf_world_add_machine(world);
        assert_int_equal(vf_machine_add_device(world, i, &setup), 0);
    }
    here.room = vf_room_create(world, &options, here.path);
    assert_non_null(here.room);
    vf_world_destroy(world);
}

static void open_endpoint(void)
{
    endpoint_open(&here.endpoint, 64, 0);
    here.memory = mmap(NULL, (RECEIVES + SENDS) * SLOT, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    here.mr = endpoint_register(&here.endpoint, here.memory,
                                (RECEIVES + SENDS) * SLOT);
}

/* ---- requests ---- */

static void send(uint64_t id, unsigned from, uint32_t length,
                 enum ibv_wr_opcode opcode)
{
    struct ibv_sge sge = {(uintptr_t)slot(from), length, here.mr->lkey};
    struct ibv_send_wr *bad, wr = {
                                 .wr_id = id,
                                 .sg_list = &sge,
                                 .num_sge = 1,
                                 .opcode = opcode,
                                 .send_flags = IBV_SEND_SIGNALED,
                                 .wr.rdma = {.remote_addr = here.talk->address,
                                             .rkey = here.talk->key},
                             };

    ibv_post_send(here.qp, &wr, &bad);
}

static void receive(uint64_t id)
{
    post_receive(here.qp, id, slot((unsigned)id), SLOT, here.mr->lkey);
}

/* ---- the child: what it does, call by call ---- */

static void send_short(void)
{
    send(10, RECEIVES, SHORT, IBV_WR_SEND);
}

static void send_long(void)
{
    send(11, RECEIVES, LONG, IBV_WR_SEND);
}

static void send_huge(void)
{
    send(12, RECEIVES, HUGE, IBV_WR_SEND);
}

static void receive_next(void)
{
    static uint64_t next;

    receive(next++ % RECEIVES);
}

static void poll(void)
{
    struct ibv_wc wc[8];

    ibv_poll_cq(here.endpoint.cq, 8, wc);
}

static void write_remote(void)
{
    send(13, RECEIVES, LONG, IBV_WR_RDMA_WRITE);
}

static void read_remote(void)
{
    send(14, RECEIVES, SHORT, IBV_WR_RDMA_READ);
}

static void fail_qp(void)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

    ibv_modify_qp(here.qp, &attr, IBV_QP_STATE);
}

static void destroy_qp(void)
{
    ibv_destroy_qp(here.qp);
}

static void release_region(void)
{
    ibv_dereg_mr(here.mr);
}

static void register_region(void)
{
    endpoint_register(&here.endpoint, here.memory, 4096);
}

static void resize_queue(void)
{
    ibv_resize_cq(here.endpoint.cq, 200);
}

/* What is made beside the endpoint's own, two of each: the second one comes
 * before the first in its process's list. */
static struct {
    struct ibv_cq *cq;
    struct ibv_srq *srq;
    struct ibv_qp *qp;
    struct ibv_mw *window;
} more;

static void make_queue(void)
{
    more.cq = ibv_create_cq(here.endpoint.context, 60, NULL, NULL, 0);
}

static void make_shared_queue(void)
{
    struct ibv_srq_init_attr attr = {.attr = {.max_wr = 8, .max_sge = 1}};

    more.srq = ibv_create_srq(here.endpoint.pd, &attr);
}

static void receive_shared(void)
{
    struct ibv_sge sge = {(uintptr_t)here.memory, SHORT, here.mr->lkey};
    struct ibv_recv_wr *bad, wr = {.sg_list = &sge, .num_sge = 1};

    ibv_post_srq_recv(more.srq, &wr, &bad);
}

static void make_pair(void)
{
    more.qp = endpoint_qp(&here.endpoint, more.srq, 8);
}

static void connect_pair(void)
{
    endpoint_connect(more.qp, &here.talk->gid[0], here.talk->number[0], 1);
}

static void make_window(void)
{
    more.window = ibv_alloc_mw(here.endpoint.pd, IBV_MW_TYPE_1);
}

static void bind_window(void)
{
    struct ibv_mw_bind bind = {
        .bind_info = {.mr = here.mr,
                      .addr = (uintptr_t)here.memory,
                      .length = SHORT,
                      .mw_access_flags = IBV_ACCESS_REMOTE_READ},
    };

    ibv_bind_mw(more.qp, more.window, &bind);
}

static void release_pair(void)
{
    ibv_destroy_qp(more.qp);
}

static void release_window(void)
{
    ibv_dealloc_mw(more.window);
}

static void release_shared_queue(void)
{
    ibv_destroy_srq(more.srq);
}

static void release_queue(void)
{
    ibv_destroy_cq(more.cq);
}

static void leave(void)
{
    share_close(vf_world_installed());
}

static void come_back(void)
{
    enter_room(1);
}

static void open_again(void)
{
    open_endpoint();
}

/* This process has SENDS sends waiting: short, long, huge; and RECEIVES
 * receives, of which the child's three sends take three. */
#define PHASE(call)                                                            \
    {                                                                          \
#call, call                                                            \
    }
static const struct {
    const char *name;
    void (*call)(void);
} phases[] = {PHASE(send_short),
              PHASE(receive_next),
              PHASE(poll),
              PHASE(send_long),
              PHASE(receive_next),
              PHASE(write_remote),
              PHASE(send_huge),
              PHASE(receive_next),
              PHASE(resize_queue),
              PHASE(poll),
              PHASE(read_remote),
              PHASE(fail_qp),
              PHASE(register_region),
              PHASE(make_queue),
              PHASE(make_shared_queue),
              PHASE(receive_shared),
              PHASE(make_pair),
              PHASE(connect_pair),
              PHASE(make_window),
              PHASE(bind_window),
              PHASE(release_pair),
              PHASE(release_window),
              PHASE(release_shared_queue),
              PHASE(release_queue),
              PHASE(destroy_qp),
              PHASE(poll),
              PHASE(release_region),
              PHASE(leave),
              PHASE(come_back),
              PHASE(open_again)};
#undef PHASE
#define PHASES (sizeof(phases) / sizeof(phases[0]))

static int child(void *argument)
{
    size_t stopped = *(const size_t *)argument;

    vf_world_install(NULL);
    enter_room(1);
    open_endpoint();
    memset(slot(RECEIVES), 'c', SLOT);
    here.qp = endpoint_qp(&here.endpoint, NULL, 8);
    endpoint_connect(here.qp, &here.talk->gid[0], here.talk->number[0], 1);
    here.talk->gid[1] = here.endpoint.gid;
    here.talk->number[1] = here.qp->qp_num;
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP); /* ready */
    for (size_t i = 0; i < PHASES; i++) {
        if (i == stopped)
            raise(SIGSTOP);
        phases[i].call();
        if (i == stopped) {
            atomic_store(&here.talk->phase_over, 1);
            raise(SIGSTOP);
        }
    }
    return 0;
}

/* ---- this process ---- */

static void stopped(pid_t pid)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSTOPPED(status));
}

static void run_to_stop(pid_t pid)
{
    assert_int_equal(ptrace(PTRACE_CONT, pid, NULL, NULL), 0);
    stopped(pid);
}

static void prepare(void)
{
    here.qp = endpoint_qp(&here.endpoint, NULL, 8);
    here.talk->gid[0] = here.endpoint.gid;
    here.talk->number[0] = here.qp->qp_num;
    here.talk->address = (uintptr_t)slot(RECEIVES + 2);
    here.talk->key = here.mr->rkey;
    atomic_store(&here.talk->phase_over, 0);
    memset(here.memory, 0, RECEIVES * SLOT);
    memset(slot(RECEIVES), 'p', SLOT);
}

static void offer(void)
{
    static const uint32_t lengths[SENDS] = {SHORT, LONG, HUGE};

    endpoint_connect(here.qp, &here.talk->gid[1], here.talk->number[1], 1);
    for (unsigned i = 0; i < RECEIVES; i++)
        receive(i);
    for (unsigned i = 0; i < SENDS; i++)
        send(100 + i, RECEIVES, lengths[i], IBV_WR_SEND);
}

static void check_arrived(const struct ibv_wc *wc)
{
    const unsigned char *bytes = slot((unsigned)wc->wr_id);

    for (uint32_t i = 0; i < wc->byte_len; i++)
        if (bytes[i] != 'c')
            fail_msg("byte %u of %u is %d", i, wc->byte_len, bytes[i]);
}

/* Each request comes back once: the first send that finds nobody fails, and
 * takes the rest with it. */
static void collect(void)
{
    unsigned sends[SENDS] = {0}, receives[RECEIVES] = {0};
    unsigned got = 0;

    while (got < SENDS + RECEIVES) {
        struct ibv_wc wc;

        if (ibv_poll_cq(here.endpoint.cq, 1, &wc) == 0) {
            /* With nothing to send, nothing says that the peer is gone. */
            if (sends[0] && sends[1] && sends[2])
                fail_qp();
            continue;
        }
        got++;
        if (wc.wr_id >= 100)
            sends[wc.wr_id - 100]++;
        else
            receives[wc.wr_id]++;
        if (wc.wr_id < 100 && wc.status == IBV_WC_SUCCESS)
            check_arrived(&wc);
        else if (wc.status != IBV_WC_SUCCESS &&
                 wc.status != IBV_WC_RETRY_EXC_ERR &&
                 wc.status != IBV_WC_WR_FLUSH_ERR)
            fail_msg("status %d", wc.status);
    }
    for (unsigned i = 0; i < SENDS; i++)
        assert_int_equal(sends[i], 1);
    for (unsigned i = 0; i < RECEIVES; i++)
        assert_int_equal(receives[i], 1);
}

static void check_device(int machine, uint32_t qps, uint32_t mrs, uint32_t pds)
{
    const struct vf_device_state *state =
        &vf_world_installed()->view->room->machines[machine].devices[0];

    assert_int_equal(state->qps, qps);
    assert_int_equal(state->mrs, mrs);
    assert_int_equal(state->pds, pds);
}

/* After so many instructions, or when the phase is over; how many it made. */
static unsigned long one_death(size_t phase, unsigned long instructions)
{
    unsigned long step;
    pid_t pid;

    prepare();
    pid = start(child, &phase);
    stopped(pid);
    offer();
    run_to_stop(pid);
    for (step = 0; step < instructions; step++) {
        if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) != 0)
            break;
        stopped(pid);
        if (atomic_load(&here.talk->phase_over))
            break;
    }
    kill(pid, SIGKILL);
    assert_int_equal(ended(pid), -SIGKILL);
    vf_room_process_ended(here.room, pid);
    collect();
    assert_int_equal(ibv_destroy_qp(here.qp), 0);
    check_device(0, 0, 1, 1);
    check_device(1, 0, 0, 0);
    return step;
}

/* Of a phase with so many instructions. */
static unsigned long stride(unsigned long length)
{
    const char *text = getenv("FABRIC_STRIDE");
    long given = text ? atol(text) : 0;

    return given > 0 ? (unsigned long)given : length / DEATHS + 1;
}

static void phase_survives(void **state)
{
    size_t phase = (size_t)(uintptr_t)*state;
    unsigned long length = one_death(phase, ULONG_MAX);
    unsigned long step = phase % stride(length); /* not the same for all */
    uint64_t used = vf_world_installed()->view->room->used;

    alarm(SECONDS * (1 + 400 / (unsigned)stride(length)));
    while (one_death(phase, step) == step)
        step += stride(length);
    alarm(0);
    printf("%lu instructions, %llu bytes lost\n", length,
           (unsigned long long)(vf_world_installed()->view->room->used - used) *
               ROOM_GRANULE);
}

int main(void)
{
    struct CMUnitTest tests[PHASES];
    char names[PHASES][32];
    const char *wanted = getenv("FABRIC_PHASE");
    int failed;

    here.talk = share(sizeof(*here.talk));
    make_room();
    enter_room(0);
    open_endpoint();
    for (size_t i = 0; i < PHASES; i++) {
        snprintf(names[i], sizeof(names[i]), "%zu %s", i, phases[i].name);
        tests[i] = (struct CMUnitTest){.name = names[i],
                                       .test_func = phase_survives,
                                       .initial_state = (void *)(uintptr_t)i};
    }
    if (wanted)
        cmocka_set_test_filter(wanted);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    vf_room_destroy(here.room);
    return failed;
}
