/*
 * A world with `threads` set serves a program whose ranks are threads.
 */
#include "mocks_support.h"

#include <pthread.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_threads_exchange_messages),
    };

    return cmocka_run_group_tests(tests, NULL, stage_teardown);
}
