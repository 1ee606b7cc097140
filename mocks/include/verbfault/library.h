/*
 * verbfault/library.h: the front door by name, as dlsym would find it.
 *
 * A program that opens librdma.dylib itself finds the shared library's
 * symbols; a simulated one is linked with them and finds them here.
 */
#ifndef VERBFAULT_LIBRARY_H
#define VERBFAULT_LIBRARY_H

/* The front door's function called symbol ("ibv_reg_mr"), or NULL. */
void *vf_library_symbol(const char *symbol);

#endif
