/*
 * scenario_topology.h: devices, cells and cables of a topology.
 *
 * A topology gives every rank a number of slots, one per wire to a peer, in the
 * order in which the device file names its devices. Internal to
 * sim/scenario_*.c.
 */
#ifndef SIM_SCENARIO_TOPOLOGY_H
#define SIM_SCENARIO_TOPOLOGY_H

#include "sim/scenario.h"

/* The most that scn_complete() adds, over all topologies: a ring of 8 with 4
 * wires has 64 devices, 16 cells and 32 cables; a mesh of 8 has 56 devices, 56
 * cells and 28 cables. A safe bound for both. */
#define SCN_DEFAULTS_MAX (64 + 56 + 32)

struct scn_shape {
    int ranks, wires;
    enum scn_topology topology;
};
struct scn_shape scn_shape(const struct scn *scenario);
/* Slots of a rank. */
int scn_slots(const struct scn_shape *shape);
/* The slot of rank's first wire to peer, or -1 if none leads there. */
int scn_slot_to(const struct scn_shape *shape, int rank, int peer);

/* Does the scenario leave the devices of a rank to the defaults? */
bool scn_has_default_devices(const struct scn *scenario, int rank);
/* The cell that a statement with exactly this VIEW gives, or NULL. */
const struct scn_statement *scn_given_cell(const struct scn *scenario, int view,
                                           int row, int column);
/* Is the device at an end of this cable? */
bool scn_is_end(const struct scn_statement *cable, int rank, const char *name);
/* The cable of a device, or NULL. */
const struct scn_statement *scn_cable_of(const struct scn *scenario, int rank,
                                         const char *name);
/* Does a rank have the device, given or by default? */
bool scn_has_device(const struct scn *scenario, int rank, const char *name);
/* Rows of the largest device file. */
int scn_rows_most(const struct scn *scenario);
/* How many statements scn_complete() would add. */
int scn_count_defaults(const struct scn *scenario);
/* rdma_en2 for slot 0, and so on; name has room for SCN_NAME_MAX. */
void scn_default_name(char *name, int slot);

#endif
