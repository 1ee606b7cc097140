/*
 * A start-up that fails half way and keeps what it has built: a domain, six
 * queue pairs and forty regions of the first device. It says "half", and ends
 * when its standard input does.
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>

#define PAIRS 6
#define REGIONS 40

static _Alignas(16384) unsigned char memory[16384]; /* a page anywhere */

static void *made(void *object)
{
    if (!object) {
        perror("doctor_half");
        exit(1);
    }
    return object;
}

int main(void)
{
    struct ibv_device **list = made(ibv_get_device_list(NULL));
    struct ibv_context *context = made(ibv_open_device(made(list[0])));
    struct ibv_pd *pd = made(ibv_alloc_pd(context));
    struct ibv_cq *cq = made(ibv_create_cq(context, 16, NULL, NULL, 0));
    struct ibv_qp_init_attr attr = {
        .qp_type = IBV_QPT_UC,
        .send_cq = cq,
        .recv_cq = cq,
        .cap = {.max_send_wr = 1, .max_recv_wr = 1, 1, 1, 0},
    };

    for (int i = 0; i < PAIRS; i++)
        made(ibv_create_qp(pd, &attr));
    for (int i = 0; i < REGIONS; i++)
        made(ibv_reg_mr(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE));
    puts("half");
    fflush(stdout);
    while (getchar() != EOF)
        continue;
    return 0;
}
