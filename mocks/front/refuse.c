#include "front/extended.h"

static void refuse(struct vf_call *call)
{
    call->err = (int)call->result;
    call->result = 0;
}

void *vf_refuse(struct vf_call *call, int err)
{
    call->result = err;
    vf_call_run(call, NULL, refuse);
    return vf_call_pointer(call);
}
