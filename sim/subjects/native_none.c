/* No installed libjaccl: why the subject `native` is left out. */
#include "sim/subjects/subjects.h"

const char *const sim_native_why = NATIVE_WHY;
