/*
 * front/alone.h: is there but one thread in this process?
 *
 * True only where the C library knows. It may say false of a process whose
 * second thread has ended.
 */
#ifndef VF_FRONT_ALONE_H
#define VF_FRONT_ALONE_H

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define VF_ALONE (__libc_single_threaded != 0)
#endif
#endif
#ifndef VF_ALONE
#define VF_ALONE false
#endif

#endif
