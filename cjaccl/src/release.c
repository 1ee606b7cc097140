#include "release.h"

#include "error.h"
#include "notice.h"
#include "side.h"
#include "stream.h"

#include <errno.h>
#include <stdio.h>

static void note(struct cj_group *group, const char *verb, const char *device,
                 int err_no)
{
    if (err_no == 0)
        return;
    if (group->release_failures++ > 0)
        return;
    (void)snprintf(group->release_failure, sizeof group->release_failure,
                   "%s on device %s: %s", verb, device,
                   cji_errno_text(err_no).text);
}

void cji_release_qps(struct cj_group *group)
{
    for (int i = group->link_count - 1; i >= 0; i--) {
        struct cji_link *link = &group->links[i];

        if (link->qp == NULL)
            continue;
        errno = 0;
        note(group, "destroy_qp", link->device->name,
             cji_verbs_errno(group->verbs.destroy_qp(link->qp)));
        link->qp = NULL;
    }
}

void cji_release_straight(struct cj_group *group, struct cji_device *device)
{
    if (device->straight == NULL)
        return;
    errno = 0;
    note(group, "dereg_mr", device->name,
         cji_verbs_errno(group->verbs.dereg_mr(device->straight)));
    device->straight = NULL;
}

static void release_mrs(struct cj_group *group)
{
    for (int i = group->device_count - 1; i >= 0; i--) {
        struct cji_device *device = &group->devices[i];
        int err_no;

        if (device->mr == NULL)
            continue;
        errno = 0;
        err_no = cji_verbs_errno(group->verbs.dereg_mr(device->mr));
        note(group, "dereg_mr", device->name, err_no);
        device->mr_stuck = err_no != 0;
        device->mr = NULL;
    }
}

static void release_cqs(struct cj_group *group)
{
    for (int i = group->link_count - 1; i >= 0; i--) {
        struct cji_link *link = &group->links[i];

        if (link->cq == NULL)
            continue;
        errno = 0;
        note(group, "destroy_cq", link->device->name,
             cji_verbs_errno(group->verbs.destroy_cq(link->cq)));
        link->cq = NULL;
    }
}

static void release_pds(struct cj_group *group)
{
    for (int i = group->device_count - 1; i >= 0; i--) {
        struct cji_device *device = &group->devices[i];

        if (device->pd == NULL)
            continue;
        errno = 0;
        note(group, "dealloc_pd", device->name,
             cji_verbs_errno(group->verbs.dealloc_pd(device->pd)));
        device->pd = NULL;
    }
}

/* Closing a device takes back what could not be released one by one. */
static void release_contexts(struct cj_group *group)
{
    for (int i = group->device_count - 1; i >= 0; i--) {
        struct cji_device *device = &group->devices[i];
        int err_no;

        if (device->context == NULL)
            continue;
        errno = 0;
        err_no = cji_verbs_errno(group->verbs.close_device(device->context));
        note(group, "close_device", device->name, err_no);
        if (err_no == 0)
            device->mr_stuck = false;
        device->context = NULL;
    }
}

/* Memory that a device may still write to is better leaked than reused. */
static void release_arena(struct cj_group *group)
{
    bool stuck = false;

    if (group->arena == NULL)
        return;
    for (int i = 0; i < group->device_count; i++)
        stuck = stuck || group->devices[i].mr_stuck;
    if (!stuck)
        group->allocator.free(group->allocator.ctx, group->arena,
                              group->arena_size);
    group->arena = NULL;
}

void cji_release_rdma(struct cj_group *group)
{
    cji_release_qps(group);
    release_mrs(group);
    release_cqs(group);
    release_pds(group);
    release_contexts(group);
    release_arena(group);
    if (group->library_handle != NULL)
        group->library.close(group->library.ctx, group->library_handle);
    group->library_handle = NULL;
    group->device_count = 0;
    group->link_count = 0;
}

void cji_release(struct cj_group *group)
{
    if (cji_process() != group->owner) {
        release_arena(group);
        cji_stream_drop(group);
        cji_side_drop(group);
        return;
    }
    cji_notices_send(group);
    cji_stream_stop(group);
    cji_release_rdma(group);
    cji_side_close(group);
}
