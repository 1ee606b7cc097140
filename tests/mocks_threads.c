/*
 * A world with `threads` set serves a program whose ranks are threads.
 */
#include "mocks_support.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define ROUNDS 200

static struct host hosts[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t met = PTHREAD_COND_INITIALIZER;
static unsigned arrivals;
static bool failed[2];

/* Both threads wait here for each other. */
static void meet(void)
{
    unsigned goal;

    pthread_mutex_lock(&mutex);
    arrivals++;
    goal = arrivals + arrivals % 2;
    if (arrivals % 2 == 0)
        pthread_cond_broadcast(&met);
    while (arrivals < goal)
        pthread_cond_wait(&met, &mutex);
    pthread_mutex_unlock(&mutex);
}

static bool exchange(struct host *host, unsigned round)
{
    unsigned char mark =
        (unsigned char)(round * 2 + 1 - (unsigned)host->machine);
    struct ibv_wc wc;
    int left = 2;

    host->memory[0] = (unsigned char)(round * 2 + (unsigned)host->machine);
    if (post_recv(host, 1, 4096, 4096) != 0 || post_send(host, 2, 0, 4096) != 0)
        return false;
    while (left > 0) {
        int count = ibv_poll_cq(host->cq, 1, &wc);

        if (count < 0 || (count > 0 && wc.status != IBV_WC_SUCCESS))
            return false;
        left -= count;
    }
    return host->memory[4096] == mark;
}

static void *run(void *argument)
{
    struct host *host = argument;
    int machine = host->machine;
    struct host *peer = &hosts[!machine];

    host_start(host, machine);
    failed[machine] = to_init(host->qp) != 0;
    meet();
    if (to_rtr(host->qp, &peer->gid, peer->qp->qp_num) != 0 ||
        to_rts(host->qp) != 0)
        failed[machine] = true;
    for (unsigned round = 0; round < ROUNDS && !failed[machine]; round++)
        failed[machine] = !exchange(host, round);
    meet();
    host_end(host);
    return NULL;
}

static void two_threads_exchange_messages(void **state)
{
    struct vf_hooks hooks = {.threads = true};
    struct vf_device_setup setup =
        stage_device(&vf_profile_thunderbolt, "rdma_en2");
    pthread_t threads[2];

    (void)state;
    stage_set_devices(&setup, 1);
    vf_world_reset(stage.world, &hooks);
    for (int i = 0; i < 2; i++) {
        vf_world_add_machine(stage.world);
        vf_machine_add_device(stage.world, i, &setup);
    }
    vf_world_cable(stage.world, 0, "rdma_en2", 1, "rdma_en2");
    for (int i = 0; i < 2; i++) {
        hosts[i].machine = i;
        pthread_create(&threads[i], NULL, run, &hosts[i]);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_false(failed[0]);
    assert_false(failed[1]);
    assert_int_equal(vf_machine_leaks(stage.world, 0), 0);
    assert_int_equal(vf_machine_leaks(stage.world, 1), 0);
}

#define POLLERS 4
#define REGISTERERS 3
#define TIMES 1000

static atomic_bool done;
static unsigned lines, misnumbered;

static void others_run(void *context, int machine)
{
    (void)context;
    (void)machine;
    sched_yield();
}

/* The world is locked here. */
static void check_number(void *context, int machine, const char *line)
{
    unsigned number = 0;

    (void)context;
    (void)machine;
    lines++;
    if (sscanf(line, "r0 #%u ", &number) != 1 || number != lines)
        misnumbered++;
}

static void *poll_nothing(void *argument)
{
    struct ibv_cq *cq = argument;
    struct ibv_wc wc;

    while (!atomic_load(&done))
        if (ibv_poll_cq(cq, 1, &wc) != 0)
            return argument;
    return NULL;
}

static void *register_often(void *argument)
{
    const struct host *host = argument;

    for (int i = 0; i < TIMES; i++) {
        struct ibv_mr *mr = ibv_reg_mr(host->pd, host->memory, 4096, 0);

        if (!mr || ibv_dereg_mr(mr) != 0)
            return argument;
    }
    return NULL;
}

/* Who polls in vain has no number; the others' have no gap and no twin. */
static void threads_of_one_machine_share_its_numbers(void **state)
{
    struct vf_hooks hooks = {
        .threads = true, .empty = others_run, .trace = check_number};
    struct vf_device_setup setup = stage_device(&vf_profile_ideal, "rdma_en2");
    pthread_t threads[POLLERS + REGISTERERS];
    struct ibv_cq *cqs[POLLERS];
    void *wrong;

    (void)state;
    stage_set_devices(&setup, 1);
    vf_world_reset(stage.world, &hooks);
    vf_world_add_machine(stage.world);
    vf_machine_add_device(stage.world, 0, &setup);
    host_start(&hosts[0], 0);
    for (int i = 0; i < POLLERS; i++) {
        cqs[i] = ibv_create_cq(hosts[0].context, 4, NULL, NULL, 0);
        pthread_create(&threads[i], NULL, poll_nothing, cqs[i]);
    }
    for (int i = POLLERS; i < POLLERS + REGISTERERS; i++)
        pthread_create(&threads[i], NULL, register_often, &hosts[0]);
    for (int i = POLLERS + REGISTERERS - 1; i >= 0; i--) {
        if (i == POLLERS - 1)
            atomic_store(&done, true);
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    assert_int_equal(misnumbered, 0);
    assert_in_range(lines, 2 * TIMES * REGISTERERS, UINT_MAX);
    for (int i = 0; i < POLLERS; i++)
        assert_int_equal(ibv_destroy_cq(cqs[i]), 0);
    host_end(&hosts[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_threads_exchange_messages),
        cmocka_unit_test(threads_of_one_machine_share_its_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, stage_teardown);
}
