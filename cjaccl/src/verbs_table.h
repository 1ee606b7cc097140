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

/* How many verbs there are in struct cj_verbs. */
#define CJI_VERBS 18

/*
 * Looks every verb up in the library. Answers how many are missing of those
 * that are needed, and their names. What is missing is NULL in *verbs.
 */
int cji_verbs_find(struct cj_verbs *verbs, const struct cj_library *library,
                   void *handle, const char *missing[CJI_VERBS]);

/*
 * Fills group->verbs. Every symbol is looked up before any is called: an
 * incomplete library is an error here and not a call through NULL later.
 */
int cji_verbs_load(struct cj_group *group);

#endif
