/* The table of subjects. */
#include "sim/subject.h"

#include <stddef.h>
#include <string.h>

#include "sim/calls.h"
#include "sim/subjects/subjects.h"

static const struct sim_subject *const subjects[] = {
    &sim_subject_legacy_2026_04,
    &sim_subject_legacy_2026_08_04,
    &sim_subject_legacy_2026_08_22,
    &sim_subject_cjaccl,
    &sim_subject_sockets,
#ifdef SIM_NATIVE
    &sim_subject_native,
#endif
};

#define COUNT ((int)(sizeof subjects / sizeof subjects[0]))

const struct sim_subject *sim_subject_at(int n)
{
    return n >= 0 && n < COUNT ? subjects[n] : NULL;
}

const struct sim_subject *sim_subject_by_name(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (strcmp(subjects[i]->name, name) == 0)
            return subjects[i];
    if (strcmp(name, sim_subject_recording.name) == 0)
        return &sim_subject_recording;
    return NULL;
}

const struct sim_subject *sim_subject_for(const struct scn *scenario)
{
    return scn_has_calls(scenario) ? &sim_subject_recording : NULL;
}

const char *sim_subject_left_out(const char *name)
{
#ifndef SIM_NATIVE
    if (strcmp(name, "native") == 0)
        return sim_native_why;
#endif
    (void)name;
    return NULL;
}
