/*
 * A small program that uses libibverbs, for run.sh. usage: verbs MODE
 *
 *   well      registers a region and gives everything back
 *   null      passes what it got from reg_mr to dereg_mr, unseen
 *   leak      ends without giving the region back
 *   order     releases the domain before its region
 *   fault     faults by itself, between two verbs
 *   status N  the same as well, but exits with N
 *
 * It exits with 6 where the region cannot be released.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct objects {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_mr *mr;
};

static char memory[4096];

static bool make(struct objects *objects)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    if (!list || count == 0) {
        printf("no device\n");
        return false;
    }
    printf("%d devices, first %s\n", count, ibv_get_device_name(list[0]));
    objects->context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    objects->pd = objects->context ? ibv_alloc_pd(objects->context) : NULL;
    if (!objects->pd)
        return false;
    objects->mr =
        ibv_reg_mr(objects->pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
    if (!objects->mr)
        printf("reg_mr: %d\n", errno);
    fflush(stdout);
    return true;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    struct objects objects = {NULL, NULL, NULL};
    if (!make(&objects))
        return 2;
    if (strcmp(mode, "order") == 0)
        ibv_dealloc_pd(objects.pd);
    if (strcmp(mode, "fault") == 0)
        abort();
    if (strcmp(mode, "leak") == 0)
        return 0;
    if ((objects.mr || strcmp(mode, "null") == 0) &&
        ibv_dereg_mr(objects.mr) != 0)
        return 6;
    if (strcmp(mode, "order") != 0)
        ibv_dealloc_pd(objects.pd);
    ibv_close_device(objects.context);
    printf("done\n");
    return argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
}
