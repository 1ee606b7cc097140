/*
 * A short message takes a way of its own (mock/short.c). What comes out at the
 * other end is what the long way brings: the same completion, the same bytes,
 * in the order of posting, however the two ways come one after the other. (That
 * a death in its middle is mended is for fabric_steps.)
 *
 * The other end is another process; it says what is wrong by how it ends.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "fabric_support.h"

#include "mocks/mock/mock.h"
#include "mocks/mock/share.h"
#include "programs/endpoint.h"

#define MESSAGES 6000u
#define DEPTH 16u
#define SLOT 256u
#define SECONDS 60 /* what hangs ends the test */

struct talk {
    union ibv_gid gid[2];
    uint32_t number[2];
    _Atomic uint32_t step;
};

static struct talk *talk;
static struct vf_room *room;
static char path[VF_ROOM_PATH_MAX];

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
    sched_yield();
}

static void enter_room(int machine)
{
    struct vf_hooks hooks = {
        .now = now, .empty = empty, .threads = true, .descriptors = true};
    struct vf_world *world = vf_world_create();

    if (!world)
        _exit(3);
    vf_world_reset(world, &hooks);
    if (share_open(world, path, machine) != 0)
        _exit(4);
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
    room = vf_room_create(world, &options, path);
    assert_non_null(room);
    vf_world_destroy(world);
}

static void meet(int machine, struct endpoint *endpoint, struct ibv_qp *qp)
{
    talk->gid[machine] = endpoint->gid;
    talk->number[machine] = qp->qp_num;
    atomic_fetch_add(&talk->step, 1);
    while (atomic_load(&talk->step) < 2)
        sched_yield();
    endpoint_connect(qp, &talk->gid[!machine], talk->number[!machine], 18);
}

/* ---- what the n-th message is ---- */

/* 0 to 95 bytes, on both sides of what goes the short way. */
static uint32_t length_of(uint32_t n)
{
    return n * 37 % 96;
}

static bool has_imm(uint32_t n)
{
    return n % 3 == 0;
}

static unsigned char byte_of(uint32_t n, uint32_t at)
{
    return (unsigned char)(n * 31 + at * 7 + 1);
}

/* ---- the receiver ---- */

static int check(uint32_t n, const struct ibv_wc *wc, uint32_t number,
                 const unsigned char *bytes)
{
    if (wc->status != IBV_WC_SUCCESS || wc->opcode != IBV_WC_RECV)
        return 10;
    if (wc->wr_id != n || wc->byte_len != length_of(n))
        return 11;
    if (wc->qp_num != number ||
        wc->wc_flags != (has_imm(n) ? (unsigned)IBV_WC_WITH_IMM : 0))
        return 12;
    if (has_imm(n) && wc->imm_data != n)
        return 13;
    for (uint32_t i = 0; i < length_of(n); i++)
        if (bytes[i] != byte_of(n, i))
            return 14;
    for (uint32_t i = length_of(n); i < SLOT; i++)
        if (bytes[i] != 0)
            return 15; /* more than the message was written */
    return 0;
}

/* Now and then it lets the sender find no receive. */
static int receiver(void *argument)
{
    static unsigned char memory[DEPTH][SLOT];
    bool reached = *(const bool *)argument;
    struct endpoint endpoint;
    struct ibv_mr *mr;
    struct ibv_qp *qp;
    uint32_t posted = 0;

    enter_room(0);
    endpoint_open(&endpoint, 64, 0);
    qp = endpoint_qp(&endpoint, NULL, DEPTH);
    mr = reached ? endpoint_register(&endpoint, memory, sizeof(memory))
                 : ibv_reg_mr(endpoint.pd, memory, sizeof(memory),
                              IBV_ACCESS_LOCAL_WRITE);
    meet(0, &endpoint, qp);
    for (uint32_t n = 0; n < MESSAGES; n++) {
        uint32_t ahead = n / 100 % 2 ? DEPTH - 1 : 1;
        struct ibv_wc wc;
        int wrong;

        for (; posted < MESSAGES && posted < n + ahead; posted++) {
            memset(memory[posted % DEPTH], 0, SLOT);
            post_receive(qp, posted, memory[posted % DEPTH], SLOT, mr->lkey);
        }
        next_completion(&endpoint, &wc);
        wrong = check(n, &wc, qp->qp_num, memory[n % DEPTH]);
        if (wrong)
            return wrong;
    }
    return 0;
}

/* ---- the sender ---- */

static void prepare(struct ibv_send_wr *wr, struct ibv_sge *sge, uint32_t n,
                    unsigned char *bytes, uint32_t key)
{
    bool inlined = n % 2 && length_of(n) <= 64;

    *sge = (struct ibv_sge){(uintptr_t)bytes, length_of(n), key};
    *wr = (struct ibv_send_wr){
        .wr_id = n,
        .sg_list = sge,
        .num_sge = 1,
        .opcode = has_imm(n) ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND,
        .send_flags = IBV_SEND_SIGNALED | (inlined ? IBV_SEND_INLINE : 0u),
        .imm_data = n,
    };
    for (uint32_t i = 0; i < length_of(n); i++)
        bytes[i] = byte_of(n, i);
}

/* Up to `count` of them in one list: a short one behind a long one that has
 * not gone yet must not pass it. */
static void post(struct ibv_qp *qp, uint32_t n, uint32_t count,
                 unsigned char memory[DEPTH][SLOT], uint32_t key)
{
    struct ibv_sge sge[2];
    struct ibv_send_wr wr[2], *bad;

    for (uint32_t i = 0; i < count; i++)
        prepare(&wr[i], &sge[i], n + i, memory[(n + i) % DEPTH], key);
    if (count == 2)
        wr[0].next = &wr[1];
    errno = ibv_post_send(qp, wr, &bad);
    if (errno)
        give_up("ibv_post_send");
}

static int sender(void *argument)
{
    static unsigned char memory[DEPTH][SLOT];
    struct endpoint endpoint;
    struct ibv_mr *mr;
    struct ibv_qp *qp;
    uint32_t posted = 0;

    (void)argument;
    enter_room(1);
    endpoint_open(&endpoint, 64, 0);
    qp = endpoint_qp(&endpoint, NULL, DEPTH);
    mr = endpoint_register(&endpoint, memory, sizeof(memory));
    meet(1, &endpoint, qp);
    for (uint32_t n = 0; n < MESSAGES; n++) {
        uint32_t ahead = n / 70 % 2 ? DEPTH - 1 : 1;
        struct ibv_wc wc;

        while (posted < MESSAGES && posted < n + ahead) {
            uint32_t end = n + ahead < MESSAGES ? n + ahead : MESSAGES;
            uint32_t count = end - posted > 1 ? 2 : 1;

            post(qp, posted, count, memory, mr->lkey);
            posted += count;
        }
        next_completion(&endpoint, &wc);
        if (wc.status != IBV_WC_SUCCESS || wc.wr_id != n ||
            wc.opcode != IBV_WC_SEND)
            return 20;
    }
    return 0;
}

static void arrive_as_they_were_sent(bool reached)
{
    pid_t pids[2];

    memset(talk, 0, sizeof(*talk));
    pids[0] = start(receiver, &reached);
    pids[1] = start(sender, &reached);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ended(pids[i]), 0);
        vf_room_process_ended(room, pids[i]);
    }
}

static void messages_arrive_as_they_were_sent(void **state)
{
    (void)state;
    arrive_as_they_were_sent(false);
}

/* Then a peer may be at the bytes, too, and the receiver keeps it off. */
static void likewise_where_peers_reach_the_memory(void **state)
{
    (void)state;
    arrive_as_they_were_sent(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_arrive_as_they_were_sent),
        cmocka_unit_test(likewise_where_peers_reach_the_memory),
    };
    int failed;

    alarm(SECONDS);
    talk = share(sizeof(*talk));
    make_room();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    vf_room_destroy(room);
    return failed;
}
