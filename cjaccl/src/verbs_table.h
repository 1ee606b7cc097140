/*
 * The verbs, looked up by name in the library of the platform.
 */
#ifndef CJACCL_VERBS_TABLE_H
#define CJACCL_VERBS_TABLE_H

#include "group.h"

#ifdef __APPLE__
#define CJI_LIBRARY_NAME "librdma.dylib"
#else
#define CJI_LIBRARY_NAME "libibverbs.so.1"
#endif

/*
 * Fills group->verbs. Every symbol is looked up before any is called: an
 * incomplete library is an error here and not a call through NULL later.
 */
int cji_verbs_load(struct cj_group *group);

#endif
