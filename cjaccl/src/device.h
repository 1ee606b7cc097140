/*
 * The devices of a group: found by name, opened once each, asked for what is
 * needed to use them, and given a domain.
 */
#ifndef CJACCL_DEVICE_H
#define CJACCL_DEVICE_H

#include "group.h"

/*
 * Opens every device that a link needs and points the links at them. Links that
 * go through one device share it: queue pairs and regions are limited per
 * device, and a domain of its own would not help.
 */
int cji_devices_open(struct cj_group *group, const struct cj_config *config);

/* Port state, limits and address of each. */
int cji_devices_query(struct cj_group *group);

/*
 * Whether the ports are still up, if nobody has looked for a while before
 * `now`. A Thunderbolt device whose cable has gone completes nothing any more,
 * and the next post can fault inside of its library (mlx#4192, mlx#4319): this
 * is to be known before.
 */
int cji_ports_check(struct cj_group *group, int64_t now);
/* "down" and the like. */
const char *cji_port_state_name(int state);

/* A domain for each. */
int cji_devices_alloc_pd(struct cj_group *group);

#endif
