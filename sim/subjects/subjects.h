/*
 * subjects.h: the subjects that are compiled in, one extern each. The list
 * that sim_subject_at() walks is made of these.
 */
#ifndef SIM_SUBJECTS_SUBJECTS_H
#define SIM_SUBJECTS_SUBJECTS_H

#include "sim/subject.h"

/* JACCL as it was on these days, modelled call for call: legacy.h. */
extern const struct sim_subject sim_subject_legacy_2026_04;
extern const struct sim_subject sim_subject_legacy_2026_08_04;
extern const struct sim_subject sim_subject_legacy_2026_08_22;
/* The fixed module of this repository. */
extern const struct sim_subject sim_subject_cjaccl;
extern const struct sim_subject sim_subject_sockets;
/* The calls of a recording: recording.h. */
extern const struct sim_subject sim_subject_recording;
/* An installed libjaccl: native.h. Without one there is only the reason. */
extern const struct sim_subject sim_subject_native;
extern const char *const sim_native_why;

#endif
