/*
 * A program of one rank with two mistakes that only a fault shows: a domain
 * that is not looked at, and an undo that does not ask how far it came. The
 * calls of its clean run are eight, one of each verb.
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    static char memory[4096];
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_mr *mr;
    int status = 0;

    if (!list || !list[0])
        return 3;
    context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    if (!context)
        return 4;
    pd = ibv_alloc_pd(context); /* not looked at */
    mr = ibv_reg_mr(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
    if (!mr) {
        fprintf(stderr, "no region\n");
        status = 5;
    }
    status = ibv_dereg_mr(mr) != 0 ? 6 : status; /* NULL or not */
    ibv_dealloc_pd(pd);
    ibv_close_device(context);
    return status;
}
