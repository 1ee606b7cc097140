/*
 * device/loader.h: programs that open libibverbs themselves.
 *
 * A preloaded library is found before others by what is linked with a program,
 * not by who asks the loader for libibverbs.so.1 and then for its symbols, as
 * JACCL and cjaccl do. So this library stands before dlopen, too: whoever opens
 * libibverbs.so.1, under whatever path, gets this library, which has every
 * public function of that one. Everything else is handed on, by a jump where
 * the compiler makes one, so that the C library sees whose call it is.
 */
#ifndef VF_DEVICE_LOADER_H
#define VF_DEVICE_LOADER_H

/* As dlopen, past this library. */
void *loader_open(const char *name, int mode);

#endif
