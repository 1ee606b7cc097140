/*
 * verbs_program.h: the programs that fuzz_verbs runs, as text.
 *
 * The first line says in which world, each other line is a call of
 * verbs_calls.def with its arguments, numbers below 2^32:
 *
 *   world ideal 2 orderly       # profile, machines; and see below
 *   get_device_list 0           # on machine 0
 *   open_device 0               # the first device of it
 *   alloc_pd 0                  # in the first context of machine 0
 *   reg_mr 0 0 4096             # a region of the first domain: offset, length
 *
 * An argument that is left out is 0, and 0 is what goes well. What the numbers
 * of a call are is said where it is made (verbs_make.c, verbs_post.c,
 * verbs_extended.c). A handle's number is 16 times its machine and which of the
 * live ones it is; from 100 on it is none (VERBS_NULL and what follows it).
 *
 *   shared    the room behaves as one between processes: completions go
 *             through rings, async events through the process's place
 *   threads   the world is one of several threads, and locks itself: posts and
 *             polls take their shorter way (front/quick.h)
 *   orderly   at the end everything is released by verbs, not by the kernel
 *
 * Lines that are no call are passed over, so any bytes are a program. `#`
 * starts a comment.
 */
#ifndef FUZZ_VERBS_PROGRAM_H
#define FUZZ_VERBS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/mutate.h"

#define VERBS_MACHINES 3
#define VERBS_CALLS 96
#define VERBS_ARGUMENTS 20

/* Handles that are none. */
enum {
    VERBS_NULL = 100,
    VERBS_FREED,       /* released last, of its kind */
    VERBS_FREED_FIRST, /* released first */
    VERBS_INSIDE,      /* eight bytes into a live one */
    VERBS_WILD,        /* no memory is there */
    VERBS_STACK,
    VERBS_OTHER_KIND = 110 /* and the 12 after it: a live one of that kind */
};

enum verbs_name {
#define VERBS_CALL(name) VERBS_##name,
#include "fuzz/verbs_calls.def"
#undef VERBS_CALL
    VERBS_NAMES
};

struct verbs_call {
    enum verbs_name name;
    int count; /* of arguments that were given */
    uint32_t argument[VERBS_ARGUMENTS];
};

struct verbs_program {
    int profile; /* for vf_profile_at() */
    int machines;
    bool shared, threads, orderly;
    int count;
    struct verbs_call calls[VERBS_CALLS];
};

const char *verbs_name(enum verbs_name name);

/* Any text is one. What is past VERBS_CALLS calls is left out. */
void verbs_parse(struct verbs_program *program, const char *text, size_t size);
/* As snprintf: how long the text is, whether or not it fits. */
size_t verbs_print(const struct verbs_program *program, char *text,
                   size_t room);

/* A call more or less, another one, another argument, another world. */
void verbs_mutate(struct verbs_program *program, struct scn_random *random);
/* result: the first calls of one, then the last ones of the other. */
void verbs_cross(struct verbs_program *result, const struct verbs_program *one,
                 const struct verbs_program *other, struct scn_random *random);

#endif
