#include <errno.h>
#include <string.h>

#include "front/contract.h"
#include "front/guid.h"

#undef ibv_get_device_list

static void get_device_list(struct vf_call *call)
{
    struct vf_machine *machine = call->machine;
    size_t count = (size_t)machine->device_count;
    struct ibv_device **list;
    struct vf_object *object;

    if (machine->list_errno) {
        call->err = machine->list_errno;
        return;
    }
    object = vf_object_new(machine, VF_KIND_DEVICE_LIST,
                           (count + 1) * sizeof(list[0]), 0);
    if (!object) {
        call->err = ENOMEM;
        return;
    }
    list = object->handle;
    for (size_t i = 0; i < count; i++)
        list[i] = machine->devices[i].object->handle;
    if (call->out)
        memcpy(call->out, &machine->device_count, sizeof(int));
    vf_call_made(call, object, 0);
}

struct ibv_device **ibv_get_device_list(int *num_devices)
{
    struct vf_call call = {
        .verb = VF_VERB_get_device_list,
        .out = num_devices,
        .out_size = sizeof(*num_devices),
    };
    struct ibv_device **list;

    vf_call_run(&call, NULL, get_device_list);
    list = vf_call_pointer(&call);
    if (!list && num_devices)
        *num_devices = 0;
    return list;
}

static void free_device_list(struct vf_call *call)
{
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

static void get_device_name(struct vf_call *call)
{
    call->name = ((struct ibv_device *)call->object->handle)->name;
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

/* Locally administered, as the mock's interfaces are. */
static int64_t guid_number(const struct vf_device *device)
{
    return 0x0200760000000000 | (int64_t)device->machine->number << 8 |
           device->index;
}

static __be64 big_endian(int64_t number)
{
    unsigned char bytes[8];
    __be64 guid;

    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)number >> (56 - 8 * i));
    memcpy(&guid, bytes, sizeof(guid));
    return guid;
}

__be64 vf_device_guid(const struct vf_device *device)
{
    return big_endian(guid_number(device));
}

static void get_device_guid(struct vf_call *call)
{
    call->result = guid_number(call->object->device);
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
    struct vf_call call = {
        .verb = VF_VERB_get_device_guid,
        .kind = VF_KIND_DEVICE,
        .handle = device,
    };
    vf_call_run(&call, NULL, get_device_guid);
    return big_endian(call.result);
}

static void get_device_index(struct vf_call *call)
{
    call->result = call->object->device->index;
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
