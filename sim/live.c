/* One rank of a scenario, in a process of its own. */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include "sim/live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/state.h"
#include "sim/subjects/subjects.h"

#define SECOND ((int64_t)1000000000)

const struct sim_live *sim_rank_live(const struct sim_rank *rank)
{
    (void)rank;
    return sim.live;
}

bool sim_can_live(const struct sim_subject *subject)
{
    return subject == &sim_subject_cjaccl || subject == &sim_subject_sockets;
}

int64_t sim_live_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND + now.tv_nsec;
}

void sim_live_sleep(int64_t nanoseconds)
{
    struct timespec rest = {.tv_sec = (time_t)(nanoseconds / SECOND),
                            .tv_nsec = (long)(nanoseconds % SECOND)};
    if (nanoseconds <= 0)
        return;
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
        ; /* the rest of it */
}

/* ---- names ----------------------------------------------------------------
 */

/* Has a rank of the scenario a device of that name? */
static bool is_device(int rank, const char *name)
{
    const struct scn_statement *device;
    for (int n = 0; (device = scn_device(&sim.complete, rank, n)) != NULL; n++)
        if (strcmp(device->u.device.name, name) == 0)
            return true;
    return false;
}

/* A name that is no device's in the scenario is none here, too. */
static const char *name_here(const struct sim_live *live, int rank,
                             const char *name)
{
    if (name[0] == '\0')
        return name;
    if (rank < sim.rank_count && is_device(rank, name))
        return live->device;
    return strcmp(name, live->device) == 0 ? "none of these" : name;
}

static void name_devices(const struct sim_live *live, struct sim_rank *rank)
{
    for (int row = 0; row <= SCN_RANKS_MAX; row++)
        for (int column = 0; column <= SCN_RANKS_MAX; column++) {
            struct sim_cell *cell = &rank->cells[row][column];
            for (int i = 0; i < cell->count; i++)
                cell->names[i] = name_here(live, row, cell->names[i]);
        }
}

#define NOBODY 1 /* a port at which nobody listens */

/* Where a host of the simulator's network is here; NULL: it is none. */
static const char *host_here(const char *host, size_t length)
{
    static const struct {
        const char *there, *here;
    } hosts[] = {{"10.0.0.1", "127.0.0.1"},
                 {"mac.local", "localhost"},
                 {"[::1]", "[::1]"}};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
        if (strlen(hosts[i].there) == length &&
            memcmp(hosts[i].there, host, length) == 0)
            return hosts[i].here;
    return NULL;
}

static void find_coordinator(const struct sim_live *live, struct sim_rank *rank)
{
    static char text[64];
    const char *colon = strrchr(rank->coordinator, ':');
    const char *host;
    char *end;
    long port;
    if (!colon)
        return;
    host = host_here(rank->coordinator, (size_t)(colon - rank->coordinator));
    port = strtol(colon + 1, &end, 10);
    if (!host || *end != '\0' || port < 1 || port > 65535)
        return;
    snprintf(text, sizeof text, "%s:%d", host,
             port == 9000 ? live->port : NOBODY);
    rank->coordinator = text;
}

/* ---- the run ----------------------------------------------------------------
 */

int sim_live(const struct scn *scenario, const struct sim_subject *subject,
             const struct sim_live *live, struct sim_result *result,
             struct scn_error *error)
{
    static struct sim_options options;
    struct sim_rank *rank = &sim.ranks[live->rank];
    memset(result, 0, sizeof *result);
    memset(&options, 0, sizeof options);
    options.subject = subject;
    sim.options = &options;
    sim.result = result;
    if (sim_setup(scenario, error) != 0)
        return -1;
    result->ranks = sim.rank_count;
    sim.live = live;
    sim.current = live->rank;
    name_devices(live, rank);
    find_coordinator(live, rank);
    if (rank->state != SIM_DONE) /* a hostile peer stands in its place */
        sim_program(rank);
    sim.live = NULL;
    return 0;
}
