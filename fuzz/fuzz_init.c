/*
 * fuzz_init: scenarios against the start-up of one subject.
 *
 *   fuzz_init-SUBJECT [libFuzzer's options] [CORPUS...]
 *
 * Any scenario is one for it. scenario_target.h says the rest.
 */
#include "scenario_target.h"

void target_shape(struct scn *scenario, struct scn_random *random)
{
    (void)scenario;
    (void)random;
}

bool target_mutate(struct scn *scenario, struct scn_random *random)
{
    (void)scenario;
    (void)random;
    return false;
}

bool target_cross(struct scn *result, const struct scn *one,
                  const struct scn *other, struct scn_random *random)
{
    (void)result;
    (void)one;
    (void)other;
    (void)random;
    return false;
}
