/* A program with verbs linked into it, for run.sh: none can be put in front. */
#include <infiniband/verbs.h>

#include "verbfault/world.h"

int main(void)
{
    int count;
    struct ibv_device **list;
    vf_world_install(NULL);
    list = ibv_get_device_list(&count);
    if (list)
        ibv_free_device_list(list);
    return 0;
}
