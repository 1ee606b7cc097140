/*
 * Start-up: the order of its steps, and what follows when one of them fails.
 */
#ifndef CJACCL_START_H
#define CJACCL_START_H

#include "address.h"
#include "group.h"

/*
 * Starts a group of two ranks or more, until group->deadline. Whatever was
 * built when it fails is the caller's to release. The code of the group's
 * error, or CJ_OK.
 */
int cji_start(struct cj_group *group, const struct cj_config *config,
              const struct cji_address *coordinator);

#endif
