/* The pages of both kinds of sweep. */
#ifndef CLI_PAGE_SWEEP_H
#define CLI_PAGE_SWEEP_H

#include "cli/page.h"
#include "cli/sweep.h"
#include "cli/sweep_programs.h"

/* Of simulated subjects. What was kept of a sweep are titles; for the single
 * runs those of depth 1 are made once more, which takes less than a second.
 * CLI_FINE, or another code after a line on standard error. */
int page_of_campaign(const struct sweep_campaign *campaign, const char *path);

/* Of real programs: each run is noted when it is over. */
void page_note(struct sweep_programs *programs, const struct sweep_point *point,
               const struct trial *trial, const struct sweep_fault *fault);
int page_of_programs(const struct sweep_programs *programs, const char *path);
void page_forget(struct sweep_programs *programs);

#endif
