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
 * next; 1 is every one of them and takes half an hour.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "fabric_support.h"

#include <sys/ptrace.h>

#include "mocks/mock/mock.h"
#include "mocks/mock/share.h"
#include "programs/endpoint.h"

#define STRIDE 1201
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

static void leave(void)
{
    share_close(vf_world_installed());
}

/* This process has SENDS sends waiting: short, long, huge; and RECEIVES
 * receives, of which the child's three sends take three. */
static void (*const phases[])(void) = {
    send_short,   receive_next, poll,           send_long,
    receive_next, write_remote, send_huge,      receive_next,
    poll,         read_remote,  fail_qp,        register_region,
    destroy_qp,   poll,         release_region, leave};
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
        phases[i]();
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

/* False: the phase is over before so many instructions. */
static bool one_death(size_t phase, unsigned long instructions)
{
    unsigned long step;
    bool reached;
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
    reached = step == instructions;
    kill(pid, SIGKILL);
    assert_int_equal(ended(pid), -SIGKILL);
    vf_room_process_ended(here.room, pid);
    collect();
    assert_int_equal(ibv_destroy_qp(here.qp), 0);
    check_device(0, 0, 1, 1);
    check_device(1, 0, 0, 0);
    return reached;
}

static unsigned long stride(void)
{
    const char *text = getenv("FABRIC_STRIDE");
    long given = text ? atol(text) : 0;

    return given > 0 ? (unsigned long)given : STRIDE;
}

static void phase_survives(void **state)
{
    size_t phase = (size_t)(uintptr_t)*state;
    unsigned long step = phase % stride(); /* not the same for all */
    uint64_t used = vf_world_installed()->view->room->used;

    alarm(SECONDS * (1 + 400 / (unsigned)stride()));
    while (one_death(phase, step))
        step += stride();
    alarm(0);
    printf("%lu instructions, %llu bytes lost\n", step,
           (unsigned long long)(vf_world_installed()->view->room->used - used) *
               ROOM_GRANULE);
}

int main(void)
{
    struct CMUnitTest tests[PHASES];
    char names[PHASES][32];
    int failed;

    here.talk = share(sizeof(*here.talk));
    make_room();
    enter_room(0);
    open_endpoint();
    for (size_t i = 0; i < PHASES; i++) {
        snprintf(names[i], sizeof(names[i]), "death in phase %zu", i);
        tests[i] = (struct CMUnitTest){.name = names[i],
                                       .test_func = phase_survives,
                                       .initial_state = (void *)(uintptr_t)i};
    }
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    vf_room_destroy(here.room);
    return failed;
}
