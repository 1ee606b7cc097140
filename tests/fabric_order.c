/*
 * What was sent before is there before: a message that waits in the room for
 * its receiver, and RDMA to the same memory behind it. And who buries the dead
 * does not wait for them.
 *
 * The receive is posted with a region of the program's own. Peers reach its
 * memory another way, which is there from the start, or is made once the
 * message has come; or over another queue pair than the message.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "fabric_support.h"

#include "mocks/mock/mock.h"
#include "mocks/mock/share.h"
#include "programs/endpoint.h"

#define SHORT 64u   /* waits in its receive */
#define LONG 20000u /* waits beside it */
#define SECONDS 30  /* for a test: what hangs ends it */

enum way { TWO_REGIONS, LATE_REGION, MORE_RIGHTS, OTHER_PAIR };

struct talk {
    union ibv_gid gid[2];
    uint32_t number[2];
    uint32_t second[2]; /* the RDMA's way, for OTHER_PAIR */
    uint32_t key;
    uint64_t address;
    uint32_t length;
    enum way way;
    enum ibv_wr_opcode opcode;
    _Atomic uint32_t step;
};

static struct talk *talk;
static struct vf_room *room;
static char path[VF_ROOM_PATH_MAX];

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

static struct vf_world *enter_room(int machine)
{
    struct vf_hooks hooks = {.now = now, .empty = empty, .descriptors = true};
    struct vf_world *world = vf_world_create();

    if (!world)
        _exit(3);
    vf_world_reset(world, &hooks);
    if (share_open(world, path, machine) != 0)
        _exit(4);
    vf_world_install(world);
    return world;
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
    room = vf_room_create(world, &options, path);
    assert_non_null(room);
    vf_world_destroy(world);
}

/* ---- two processes ---- */

/* Both tell who they are and meet at the step. */
static void meet(int machine, struct endpoint *endpoint, struct ibv_qp *qp,
                 struct ibv_qp *second)
{
    talk->gid[machine] = endpoint->gid;
    talk->number[machine] = qp->qp_num;
    talk->second[machine] = second->qp_num;
    atomic_fetch_add(&talk->step, 1);
    while (atomic_load(&talk->step) < 2)
        sched_yield();
    endpoint_connect(qp, &talk->gid[!machine], talk->number[!machine], 14);
    endpoint_connect(second, &talk->gid[!machine], talk->second[!machine], 14);
}

static struct ibv_mr *local_region(struct endpoint *endpoint, void *memory)
{
    struct ibv_mr *mr =
        ibv_reg_mr(endpoint->pd, memory, LONG, IBV_ACCESS_LOCAL_WRITE);

    if (!mr)
        give_up("ibv_reg_mr");
    return mr;
}

static uint32_t more_rights(struct ibv_mr *mr)
{
    if (ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
                     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                         IBV_ACCESS_REMOTE_READ) != 0)
        give_up("ibv_rereg_mr");
    return mr->rkey;
}

/* Does not poll before the peer is through. */
static int receiver(void *argument)
{
    static unsigned char memory[LONG];
    struct endpoint endpoint;
    struct ibv_mr *mr;
    struct ibv_qp *qp;
    struct ibv_wc wc;

    (void)argument;
    enter_room(0);
    endpoint_open(&endpoint, 64, 0);
    qp = endpoint_qp(&endpoint, NULL, 8);
    mr = local_region(&endpoint, memory);
    if (talk->way == TWO_REGIONS || talk->way == OTHER_PAIR)
        talk->key = endpoint_register(&endpoint, memory, LONG)->rkey;
    post_receive(qp, 1, memory, LONG, mr->lkey);
    talk->address = (uintptr_t)memory;
    meet(0, &endpoint, qp, endpoint_qp(&endpoint, NULL, 8));
    await(&talk->step, 3);
    if (talk->way == LATE_REGION)
        talk->key = endpoint_register(&endpoint, memory, LONG)->rkey;
    else if (talk->way == MORE_RIGHTS)
        talk->key = more_rights(mr);
    atomic_store(&talk->step, 4);
    await(&talk->step, 5);
    next_completion(&endpoint, &wc);
    if (wc.status != IBV_WC_SUCCESS || wc.byte_len != talk->length)
        return 5;
    for (uint32_t i = 0; i < talk->length; i++)
        if (memory[i] != (talk->opcode == IBV_WR_RDMA_WRITE ? 'w' : 's'))
            return 6;
    return 0;
}

static void request(struct endpoint *endpoint, struct ibv_qp *qp,
                    enum ibv_wr_opcode opcode, void *memory, uint32_t key)
{
    struct ibv_sge sge = {(uintptr_t)memory, talk->length, key};
    struct ibv_send_wr *bad,
        wr = {
            .sg_list = &sge,
            .num_sge = 1,
            .opcode = opcode,
            .send_flags = IBV_SEND_SIGNALED,
            .wr.rdma = {.remote_addr = talk->address, .rkey = talk->key},
        };
    struct ibv_wc wc;

    errno = ibv_post_send(qp, &wr, &bad);
    if (errno)
        give_up("ibv_post_send");
    next_completion(endpoint, &wc);
    if (wc.status != IBV_WC_SUCCESS)
        _exit(7);
}

static int sender(void *argument)
{
    static unsigned char memory[LONG];
    struct endpoint endpoint;
    struct ibv_mr *mr;
    struct ibv_qp *qp, *second;

    (void)argument;
    enter_room(1);
    endpoint_open(&endpoint, 64, 0);
    qp = endpoint_qp(&endpoint, NULL, 8);
    mr = local_region(&endpoint, memory);
    second = endpoint_qp(&endpoint, NULL, 8);
    meet(1, &endpoint, qp, second);
    memset(memory, 's', LONG);
    request(&endpoint, qp, IBV_WR_SEND, memory, mr->lkey);
    atomic_store(&talk->step, 3);
    await(&talk->step, 4);
    memset(memory, 'w', LONG);
    request(&endpoint, talk->way == OTHER_PAIR ? second : qp, talk->opcode,
            memory, mr->lkey);
    if (talk->opcode == IBV_WR_RDMA_READ && memory[talk->length - 1] != 's')
        return 8;
    atomic_store(&talk->step, 5);
    return 0;
}

static void run(enum way way, uint32_t length, enum ibv_wr_opcode opcode)
{
    int (*const sides[2])(void *) = {receiver, sender};
    pid_t pids[2];

    memset(talk, 0, sizeof(*talk));
    talk->way = way;
    talk->length = length;
    talk->opcode = opcode;
    for (int i = 0; i < 2; i++)
        pids[i] = start(sides[i], NULL);
    for (int i = 1; i >= 0; i--) {
        assert_int_equal(ended(pids[i]), 0);
        vf_room_process_ended(room, pids[i]);
    }
}

static void rdma_finds_what_was_sent_before(void **state)
{
    enum way way = (enum way)(uintptr_t)*state;

    run(way, SHORT, IBV_WR_RDMA_WRITE);
    run(way, LONG, IBV_WR_RDMA_WRITE);
    run(way, SHORT, IBV_WR_RDMA_READ);
    run(way, LONG, IBV_WR_RDMA_READ);
}

/* ---- two deaths ---- */

static int waits_for_its_end(void *argument)
{
    struct endpoint endpoint;

    enter_room(*(const int *)argument);
    endpoint_open(&endpoint, 64, 0);
    endpoint_qp(&endpoint, NULL, 8);
    atomic_fetch_add(&talk->step, 1);
    pause();
    return 0;
}

static uint32_t place_of(const struct room *memory, pid_t pid)
{
    for (uint32_t i = 0; i < ROOM_PROCESSES; i++)
        if (atomic_load(&memory->processes[i].pid) == pid)
            return i;
    fail_msg("process %d has no place", (int)pid);
    return 0;
}

/* The first one's queue pair is marked: the second one moves its messages, and
 * copies one to it. */
static void mark(struct vf_world *world, uint32_t first, uint32_t second)
{
    struct room_process *processes = world->view->room->processes;
    struct room_qp *qp;

    room_enter(world);
    qp = room_find(world->view, ROOM_QP, processes[first].objects[ROOM_QP]);
    qp->landing = 1;
    qp->moving = second + 1;
    processes[second].landing = qp->object.index;
    room_leave(world);
}

static void two_die_and_one_copied_to_the_other(void **state)
{
    struct vf_world *world;
    const struct room *memory;
    pid_t pids[2];
    uint32_t places[2];

    (void)state;
    memset(talk, 0, sizeof(*talk));
    for (int i = 0; i < 2; i++) {
        int machine = i;

        pids[i] = start(waits_for_its_end, &machine);
        await(&talk->step, (uint32_t)i + 1);
    }
    world = enter_room(-1);
    memory = world->view->room;
    for (int i = 0; i < 2; i++) {
        kill(pids[i], SIGKILL);
        assert_int_equal(ended(pids[i]), -SIGKILL);
        places[i] = place_of(memory, pids[i]);
    }
    mark(world, places[0], places[1]);
    alarm(SECONDS);
    for (int i = 0; i < 2; i++) {
        vf_room_process_ended(room, pids[i]);
        assert_int_equal(atomic_load(&memory->processes[places[i]].pid), 0);
        assert_int_equal(memory->processes[places[i]].objects[ROOM_QP], 0);
    }
    alarm(0);
    share_close(world);
    vf_world_destroy(world);
}

#define WAY(way)                                                               \
    {                                                                          \
        .name = "RDMA after a send: " #way,                                    \
        .test_func = rdma_finds_what_was_sent_before,                          \
        .initial_state = (void *)(uintptr_t)(way)                              \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        WAY(TWO_REGIONS),
        WAY(LATE_REGION),
        WAY(MORE_RIGHTS),
        WAY(OTHER_PAIR),
        cmocka_unit_test(two_die_and_one_copied_to_the_other),
    };
    int failed;

    talk = share(sizeof(*talk));
    make_room();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    vf_room_destroy(room);
    return failed;
}
