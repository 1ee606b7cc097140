/*
 * Checks a configuration before anything is touched.
 *
 * The whole matrix is checked, not only one's own row: a wrong cell then is the
 * same error on every rank that holds the same device file.
 */
#ifndef CJACCL_CONFIG_H
#define CJACCL_CONFIG_H

#include "address.h"
#include "topology.h"

/*
 * Returns CJ_OK and, for two ranks and more, the topology and the coordinator's
 * address (if it is needed); or fills *error and returns its code.
 */
int cji_config_check(const struct cj_config *config,
                     struct cji_address *address, struct cji_topology *topology,
                     struct cj_error *error);

/* The device of that wire from this rank to `peer`. */
const char *cji_config_device(const struct cj_config *config, int peer,
                              int wire);

#endif
