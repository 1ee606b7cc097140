/* Which devices there are, and opening those that are needed. */
#include "config.h"
#include "device.h"
#include "error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Thunderbolt (100) is Apple's own addition (TN3205). */
#define TRANSPORT_THUNDERBOLT 100

/* The library's list; it ends at `count` or at a NULL, whichever is first. */
struct list {
    struct ibv_device **devices;
    int count;
};

static int get_list(struct cj_group *group, struct list *list)
{
    int count = 0;

    group->step = CJ_STEP_DEVICE_LIST;
    errno = 0;
    list->devices = group->verbs.get_device_list(&count);
    if (list->devices == NULL)
        return cji_fail(group, CJ_NO_DEVICE, cji_about_none(errno),
                        "the verbs library gives no list of devices: %s; is "
                        "RDMA turned on (macOS: rdma_ctl enable in recovery, "
                        "Linux: the ib_uverbs module)?",
                        cji_errno_text(errno).text);
    list->count = 0;
    while (list->count < count && list->devices[list->count] != NULL)
        list->count++;
    if (list->count == 0)
        return cji_fail(group, CJ_NO_DEVICE, cji_about_none(0),
                        "the verbs library lists no device: is RDMA turned on "
                        "(rdma_ctl status), and does the hardware have it "
                        "(Thunderbolt 5; Thunderbolt 4 has none)?");
    return CJ_OK;
}

static const char *name_of(struct cj_group *group, struct ibv_device *device)
{
    const char *name = group->verbs.get_device_name(device);

    return name == NULL ? "(a device without a name)" : name;
}

static int fail_not_listed(struct cj_group *group, const struct list *list,
                           const char *name, int peer)
{
    char listed[256] = "";
    size_t used = 0;
    struct cji_about about = cji_about_device(name, 0);

    for (int i = 0; i < list->count && used < sizeof listed; i++)
        used += (size_t)snprintf(listed + used, sizeof listed - used, "%s%s",
                                 i == 0 ? "" : ", ",
                                 name_of(group, list->devices[i]));
    about.peer = peer;
    return cji_fail(group, CJ_NO_DEVICE, about,
                    "no device \"%.63s\" on rank %d, whose device file row "
                    "wants it for rank %d: this machine has %s",
                    name, group->rank, peer, listed);
}

static struct ibv_device *find(struct cj_group *group, const struct list *list,
                               const char *name)
{
    for (int i = 0; i < list->count; i++) {
        if (strcmp(name_of(group, list->devices[i]), name) == 0)
            return list->devices[i];
    }
    return NULL;
}

static struct cji_device *already_open(struct cj_group *group, const char *name)
{
    for (int i = 0; i < group->device_count; i++) {
        if (strcmp(group->devices[i].name, name) == 0)
            return &group->devices[i];
    }
    return NULL;
}

static int open_one(struct cj_group *group, const struct list *list,
                    const char *name, int peer)
{
    struct cji_device *device = &group->devices[group->device_count];
    struct ibv_device *found = find(group, list, name);

    if (found == NULL)
        return fail_not_listed(group, list, name, peer);
    errno = 0;
    device->context = group->verbs.open_device(found);
    if (device->context == NULL)
        return cji_fail(group, CJ_NO_DEVICE, cji_about_device(name, errno),
                        "device %.63s cannot be opened: %s; may this user open "
                        "it, and is it still there?",
                        name, cji_errno_text(errno).text);
    (void)snprintf(device->name, sizeof device->name, "%s", name);
    device->thunderbolt = (int)found->transport_type == TRANSPORT_THUNDERBOLT;
    group->device_count++;
    return CJ_OK;
}

static int open_all(struct cj_group *group, const struct cj_config *config,
                    const struct list *list)
{
    group->step = CJ_STEP_OPEN_DEVICE;
    for (int i = 0; i < group->link_count; i++) {
        struct cji_link *link = &group->links[i];
        const char *name = cji_config_device(config, link->peer, link->wire);

        if (already_open(group, name) == NULL) {
            int status = open_one(group, list, name, link->peer);

            if (status != CJ_OK)
                return status;
        }
        link->device = already_open(group, name);
    }
    return CJ_OK;
}

int cji_devices_open(struct cj_group *group, const struct cj_config *config)
{
    struct list list = {NULL, 0};
    int status = get_list(group, &list);

    if (status == CJ_OK)
        status = open_all(group, config, &list);
    if (list.devices != NULL)
        group->verbs.free_device_list(list.devices);
    return status;
}
