/*
 * The shape of a group: which ranks are linked, by how many wires.
 *
 * The choice is JACCL's, because ranks of both can be in one group: a ring
 * where it is asked for and the cells allow one, else a mesh where they allow
 * one, else a ring. A mesh has up to 8 ranks and uses the first name of each
 * cell. A ring needs the same number of names, the wires, in the two cells of
 * every rank's neighbours; with 2 ranks those are one cell.
 */
#ifndef CJACCL_TOPOLOGY_H
#define CJACCL_TOPOLOGY_H

#include "group.h"

struct cji_topology {
    bool ring;
    int wires; /* 1 in a mesh */
};

/*
 * Chooses, from cells whose names are checked and for 2 ranks or more. Where
 * the cells allow neither, fills *error, naming row and column of what is in
 * the way of each, and returns its code.
 */
int cji_topology_choose(const struct cj_config *config,
                        struct cji_topology *topology, struct cj_error *error);

/* Lays out group->links: which peer and wire each is for. */
void cji_topology_lay_out(struct cj_group *group);

/* The neighbours in a ring. */
int cji_left_of(const struct cj_group *group, int rank);
int cji_right_of(const struct cj_group *group, int rank);

#endif
