/*
 * scenario_check.h: what is wrong with a statement or a scenario.
 *
 * There is one place that knows what a scenario may say: scenario_check.c. The
 * parser asks it too, and turns the number of the word that it complains about
 * into a column. Internal to sim/scenario_*.c, mutate.c and minimize.c.
 */
#ifndef SIM_SCENARIO_CHECK_H
#define SIM_SCENARIO_CHECK_H

#include "sim/scenario.h"

struct scn_complaint {
    int statement; /* its number in the scenario */
    int word;      /* of the statement's line; 0 is the statement's name */
    char message[sizeof(((struct scn_error *)0)->message)];
};

/* Are the fields of one statement, taken alone, possible? 0 or -1; leaves
 * complaint->statement alone. */
int scn_check_statement(const struct scn_statement *statement,
                        struct scn_complaint *complaint);
/* Is a scenario possible as a whole, each statement already being so? */
int scn_check_whole(const struct scn *scenario,
                    struct scn_complaint *complaint);
/* Both, for every statement. */
int scn_check_all(const struct scn *scenario, struct scn_complaint *complaint);

/* Can name be a device's? */
bool scn_is_name(const char *name);

#endif
