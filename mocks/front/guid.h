/*
 * front/guid.h: the number that names a device, wherever it is asked for.
 */
#ifndef VF_FRONT_GUID_H
#define VF_FRONT_GUID_H

#include "front/world_private.h"

/* In network order, as verbs have it. */
__be64 vf_device_guid(const struct vf_device *device);

#endif
