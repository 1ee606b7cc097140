/*
 * scenario_target.h: fuzz targets whose input is a scenario.
 *
 *   fuzz_TARGET-SUBJECT [libFuzzer's options] [CORPUS...]
 *
 * An input is the text of a scenario; what does not parse is passed over. The
 * mutator changes scenarios, not bytes (sim/mutate.h), so nearly every input is
 * one; a target says what its scenarios are like by giving each mutation its
 * shape. libFuzzer is told of two things: the code that ran, and through its
 * extra counters the states that the verbs saw: which verb had which outcome
 * on which rank, and how each rank ended.
 *
 * What is a finding depends on the subject. The quarry (legacy-*): a crash. A
 * fixed subject (cjaccl, sockets): any broken promise. The finding is printed
 * with its title, the scenario and the last calls; then the run is made again
 * without stopping at the finding, so that the fault really happens and
 * AddressSanitizer reports it too. To see one again:
 *
 *   fuzz_TARGET-SUBJECT FILE      the same binary
 *   replay_TARGET-SUBJECT FILE    without libFuzzer
 *   verbfault replay FILE         all subjects
 *
 * VERBFAULT_ALSO=hang,leak,... makes those outcomes findings of the quarry too;
 * VERBFAULT_ONLY=TITLE passes over every finding but those of that title,
 * VERBFAULT_EXCEPT=TITLE|TITLE... over those that are known already;
 * VERBFAULT_MUTATE=0 runs the corpus over and over as it is, to measure.
 * VERBFAULT_SEEDS=1 is for fuzzers that mutate bytes and call no mutator of the
 * target's (AFL++, honggfuzz): four bytes of an input are then the seed of one
 * step of the mutator, the first from the empty scenario, so that each input is
 * a scenario. The text of one that finds something is in what is printed.
 */
#ifndef FUZZ_SCENARIO_TARGET_H
#define FUZZ_SCENARIO_TARGET_H

#include "sim/mutate.h"

/* The target's: makes a scenario that was mutated one for it. The result is a
 * scenario still (scn_check()). */
void target_shape(struct scn *scenario, struct scn_random *random);
/* The target's: its own step in place of scn_mutate(); false: it has none. */
bool target_mutate(struct scn *scenario, struct scn_random *random);
/* Likewise in place of scn_cross(). */
bool target_cross(struct scn *result, const struct scn *one,
                  const struct scn *other, struct scn_random *random);

#endif
