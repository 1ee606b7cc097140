/*
 * mutate.h: changing scenarios at random, for fuzzers and property tests.
 *
 * A mutation is one small step a person might make: a statement more or less,
 * another rank, verb, call number, effect, limit, byte, seed. Every result
 * passes scn_check() and has no comments; no memory of a text is kept. Which
 * steps there are and how likely each is stands in one table in mutate.c.
 * Nothing in it knows of any subject or any bug.
 */
#ifndef SIM_MUTATE_H
#define SIM_MUTATE_H

#include "sim/scenario.h"

/* xorshift: one state, no libc, the same on every machine. */
struct scn_random {
    uint64_t state;
};
void scn_random_seed(struct scn_random *random, uint64_t seed);
/* 0 .. below-1; below 0 gives 0. */
uint32_t scn_random_below(struct scn_random *random, uint32_t below);

/* Can any subject come to this verb? Faults of the others would never strike,
 * so mutations name none of them. */
bool scn_mutates(enum vf_verb verb);
/* Changes the scenario by one step (or a few). */
void scn_mutate(struct scn *scenario, struct scn_random *random);
/* Changes one order by one step; it has bytes then. */
void scn_mutate_order(struct scn_statement *order, struct scn_random *random);
/* result: some statements of one and some of the other. */
void scn_cross(struct scn *result, const struct scn *one,
               const struct scn *other, struct scn_random *random);

#endif
