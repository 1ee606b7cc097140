#include "release.h"

#include "error.h"
#include "side.h"

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

static void release_qps(struct cj_group *group)
{
    for (int peer = group->size - 1; peer >= 0; peer--) {
        struct cji_connection *connection = &group->connections[peer];

        if (connection->qp == NULL)
            continue;
        errno = 0;
        note(group, "destroy_qp", connection->device->name,
             cji_verbs_errno(group->verbs.destroy_qp(connection->qp)));
        connection->qp = NULL;
    }
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
    for (int peer = group->size - 1; peer >= 0; peer--) {
        struct cji_connection *connection = &group->connections[peer];

        if (connection->cq == NULL)
            continue;
        errno = 0;
        note(group, "destroy_cq", connection->device->name,
             cji_verbs_errno(group->verbs.destroy_cq(connection->cq)));
        connection->cq = NULL;
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
    if (group->arena == NULL)
        return;
    for (int i = 0; i < group->device_count; i++) {
        if (group->devices[i].mr_stuck)
            return;
    }
    group->allocator.free(group->allocator.ctx, group->arena,
                          group->arena_size);
    group->arena = NULL;
}

void cji_release(struct cj_group *group)
{
    release_qps(group);
    release_mrs(group);
    release_cqs(group);
    release_pds(group);
    release_contexts(group);
    release_arena(group);
    if (group->library_handle != NULL)
        group->library.close(group->library.ctx, group->library_handle);
    group->library_handle = NULL;
    cji_side_close(group);
}
