/* The ports in the life of a group. */
#include "device.h"
#include "error.h"

#include <errno.h>
#include <string.h>

/* Often enough for a person who pulls a cable, seldom enough to cost nothing:
 * asking is a system call. */
#define LOOK_NS ((int64_t)100000000)

static int check(struct cj_group *group, const struct cji_device *device)
{
    const char *step = cj_strstep(group->step);
    struct ibv_port_attr attr;
    int err_no;

    memset(&attr, 0, sizeof attr);
    errno = 0;
    err_no = cji_verbs_errno(
        group->verbs.query_port(device->context, CJI_PORT, &attr));
    if (err_no != 0)
        return cji_fail(group, CJ_VERBS, cji_about_device(device->name, err_no),
                        "%s: port %d cannot be queried any more: %s; is the "
                        "cable still plugged in?",
                        step, CJI_PORT, cji_errno_text(err_no).text);
    if (attr.state != IBV_PORT_ACTIVE)
        return cji_fail(group, CJ_NO_DEVICE, cji_about_device(device->name, 0),
                        "%s: port %d is %s, and was active when the group "
                        "started: its cable has gone, or the other machine "
                        "is off or asleep",
                        step, CJI_PORT, cji_port_state_name((int)attr.state));
    return CJ_OK;
}

int cji_ports_check(struct cj_group *group, int64_t now)
{
    int status = CJ_OK;

    if (now < group->next_port_look)
        return CJ_OK;
    group->next_port_look = now + LOOK_NS;
    for (int i = 0; status == CJ_OK && i < group->device_count; i++)
        status = check(group, &group->devices[i]);
    return status;
}
