/*
 * The devices of the library beneath: list, names, numbers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"

/* The contract asks for nothing that a device might have to judge. */
static struct vf_profile anything(void)
{
    struct vf_profile profile = vf_profile_ideal;

    profile.name = "device";
    profile.frame_bytes = 0;
    profile.unplug_faults = false;
    profile.death_keeps_pd = false;
    return profile;
}

static struct device_part *parts; /* the world is locked */

static struct device_part *add_part(struct vf_machine *machine,
                                    const struct ibv_device *handle)
{
    static struct vf_profile profile;
    struct device_part *part = calloc(1, sizeof(*part));

    if (!part)
        return NULL;
    profile = anything();
    part->number = parts ? parts->number + 1 : 1;
    part->judged = handle->transport_type == IBV_TRANSPORT_IB;
    part->device.state = &part->state;
    part->device.machine = machine;
    part->device.index = (int)part->number - 1;
    part->device.setup.profile = &profile;
    memcpy(part->device.setup.name, handle->name, VF_NAME_MAX);
    part->device.setup.name[VF_NAME_MAX - 1] = '\0';
    part->next = parts;
    parts = part;
    return part;
}

struct device_part *device_part_of(struct vf_machine *machine,
                                   struct ibv_device *handle)
{
    struct device_part *part = parts;

    while (part &&
           strncmp(part->device.setup.name, handle->name, VF_NAME_MAX - 1) != 0)
        part = part->next;
    if (!part)
        return add_part(machine, handle);
    part->device.machine = machine; /* of the world that there is now */
    return part;
}

/* ---- the list --------------------------------------------------------------
 */

struct list_call {
    struct vf_call call;
    int count;
};

static void get_device_list(struct vf_call *call)
{
    struct list_call *list = (struct list_call *)call;
    struct vf_object *object =
        vf_object_new(call->machine, VF_KIND_DEVICE_LIST, sizeof(void *), 0);
    struct ibv_device **devices;
    struct real_pause pause;

    if (!object) {
        call->err = ENOMEM;
        return;
    }
    real_begin(call->world, &pause);
    devices = real.ibv_get_device_list(&list->count);
    real_end(&pause);
    if (devices)
        object->handle = devices;
    if (devices && call->out)
        memcpy(call->out, &list->count, sizeof(int));
    for (int i = 0; devices && devices[i] && !call->straight; i++)
        device_meet(call->machine,
                    vf_registry_find(&call->world->registry, devices[i]),
                    devices[i], VF_KIND_DEVICE);
    vf_call_made(call, object, real_missing(devices));
}

struct ibv_device **ibv_get_device_list(int *num_devices)
{
    struct list_call list = {
        .call =
            {
                .verb = VF_VERB_get_device_list,
                .out = num_devices,
                .out_size = sizeof(*num_devices),
            },
    };
    struct ibv_device **devices;

    vf_call_run(&list.call, NULL, get_device_list);
    devices = vf_call_pointer(&list.call);
    if (!devices && num_devices)
        *num_devices = 0;
    return devices;
}

static void free_device_list(struct vf_call *call)
{
    real_enter();
    real.ibv_free_device_list(call->object->handle);
    real_leave();
    vf_call_released(call, 0);
}

void ibv_free_device_list(struct ibv_device **list)
{
    struct vf_call call = {
        .verb = VF_VERB_free_device_list,
        .kind = VF_KIND_DEVICE_LIST,
        .handle = list,
    };

    vf_call_run(&call, NULL, free_device_list);
}

/* ---- one device ------------------------------------------------------------
 */

static void get_device_name(struct vf_call *call)
{
    real_enter();
    call->name = real.ibv_get_device_name(call->object->handle);
    real_leave();
}

/* rdma-core answers an address inside of the device, whatever that is. */
const char *ibv_get_device_name(struct ibv_device *device)
{
    struct vf_call call = {
        .verb = VF_VERB_get_device_name,
        .kind = VF_KIND_DEVICE,
        .handle = device,
        .reads_nothing = true,
    };

    vf_call_run(&call, NULL, get_device_name);
    if (call.answered)
        return (const char *)((uintptr_t)device +
                              offsetof(struct ibv_device, name));
    if (call.err)
        errno = call.err;
    return call.err ? NULL : call.name;
}

struct guid_call {
    struct vf_call call;
    __be64 guid;
};

static int64_t as_number(__be64 guid)
{
    unsigned char bytes[8];
    uint64_t number = 0;

    memcpy(bytes, &guid, sizeof(bytes));
    for (int i = 0; i < 8; i++)
        number = number << 8 | bytes[i];
    return (int64_t)number;
}

static void get_device_guid(struct vf_call *call)
{
    struct guid_call *guid = (struct guid_call *)call;
    int64_t number;

    real_enter();
    guid->guid = real.ibv_get_device_guid(call->object->handle);
    real_leave();
    number = as_number(guid->guid);
    call->result = number < 0 ? -(number + 1) : number; /* no failure */
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
    struct guid_call guid = {
        .call =
            {
                .verb = VF_VERB_get_device_guid,
                .kind = VF_KIND_DEVICE,
                .handle = device,
            },
    };

    vf_call_run(&guid.call, NULL, get_device_guid);
    return guid.guid;
}

static void get_device_index(struct vf_call *call)
{
    call->result = -1;
    if (!real.ibv_get_device_index)
        return;
    real_enter();
    call->result = real.ibv_get_device_index(call->object->handle);
    real_leave();
}

int ibv_get_device_index(struct ibv_device *device)
{
    struct vf_call call = {
        .verb = VF_VERB_get_device_index,
        .kind = VF_KIND_DEVICE,
        .handle = device,
    };

    vf_call_run(&call, NULL, get_device_index);
    return vf_call_count(&call);
}
