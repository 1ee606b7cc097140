/* The subject `cjaccl`: the fixed module, with every hook of its configuration
 * in the simulator's hands. */
#include <cjaccl/cjaccl.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sim/subjects/subjects.h"

/* ---- the library ----------------------------------------------------------
 */

static void *library_open(void *ctx, const char *name)
{
    (void)name;
    return sim_library_present(ctx) ? ctx : NULL;
}

static void *library_symbol(void *ctx, void *library, const char *name)
{
    (void)library;
    return sim_library_symbol(ctx, name);
}

static void library_close(void *ctx, void *library)
{
    (void)ctx;
    (void)library;
}

/* ---- time ------------------------------------------------------------------
 */

static int64_t clock_now(void *ctx)
{
    return sim_now(ctx);
}

static void clock_sleep(void *ctx, int64_t until_ns)
{
    sim_sleep(ctx, until_ns - sim_now(ctx));
}

static int clock_idle(void *ctx, int64_t until_ns, unsigned round)
{
    /* Round 0 is a new wait: it has not looked at the connections yet. */
    if (round > 0)
        sim_wait_change(ctx, until_ns, "completions");
    return 1;
}

/* ---- memory -----------------------------------------------------------------
 */

static void *allocator_alloc(void *ctx, size_t align, size_t size)
{
    return sim_alloc(ctx, align, size);
}

static void allocator_free(void *ctx, void *memory, size_t size)
{
    (void)size;
    sim_free(ctx, memory);
}

/* ---- the side channel's transport ------------------------------------------
 */

static void address_of(char *address, size_t room, const char *host,
                       uint16_t port)
{
    bool v6 = strchr(host, ':') != NULL;
    snprintf(address, room, v6 ? "[%s]:%u" : "%s:%u", host, (unsigned)port);
}

static int net_listen(void *ctx, const char *host, uint16_t port)
{
    char address[256];
    address_of(address, sizeof address, host, port);
    return sim_listen(ctx, address);
}

static int net_accept(void *ctx, int listener, int64_t deadline_ns)
{
    return sim_accept(ctx, listener, deadline_ns);
}

static int net_connect(void *ctx, const char *host, uint16_t port,
                       int64_t deadline_ns)
{
    char address[256];
    address_of(address, sizeof address, host, port);
    return sim_connect(ctx, address, deadline_ns);
}

#define PARTIAL ((size_t)8) /* bytes that a send leaves for the next one */

static int64_t net_send(void *ctx, int end, const void *data, size_t size,
                        int64_t deadline_ns)
{
    (void)deadline_ns;
    /* The simulated network would take a send whole; real ones need not. */
    return sim_send(ctx, end, data, size > PARTIAL ? size - PARTIAL : size);
}

static int64_t net_recv(void *ctx, int end, void *data, size_t size,
                        int64_t deadline_ns)
{
    return sim_recv(ctx, end, data, size, deadline_ns);
}

static int net_wait(void *ctx, const int *ends, int count, int64_t deadline_ns)
{
    return sim_wait_sockets(ctx, ends, count, deadline_ns);
}

static void net_close(void *ctx, int end)
{
    sim_close(ctx, end);
}

static int net_alive(void *ctx, int end)
{
    return sim_socket_alive(ctx, end) ? 0 : -ECONNRESET;
}

static void net_peer_name(void *ctx, int end, char *name, size_t size)
{
    snprintf(name, size, "%s", sim_socket_peer(ctx, end));
}

/* ---- the operations
 * ---------------------------------------------------------- */

static int answer(int status, const struct cj_error *error,
                  struct sim_failure *failure)
{
    if (status == CJ_OK)
        return 0;
    failure->code = error->code;
    failure->step = cj_strstep(error->step);
    snprintf(failure->message, sizeof failure->message, "%s", error->message);
    return -1;
}

static void fill_cells(struct sim_rank *rank, struct cj_cell *cells, int size)
{
    for (int row = 0; row < size; row++)
        for (int column = 0; column < size; column++) {
            const struct sim_cell *cell = sim_rank_cell(rank, row, column);
            cells[row * size + column].names = cell->names;
            cells[row * size + column].count = cell->count;
        }
}

static int start(struct sim_rank *rank, void **group,
                 struct sim_failure *failure)
{
    struct cj_library library = {rank, library_open, library_symbol,
                                 library_close};
    struct cj_clock clock = {rank, clock_now, clock_sleep, clock_idle};
    struct cj_allocator allocator = {rank, allocator_alloc, allocator_free};
    struct cj_net net = {rank,      net_listen,   net_accept, net_connect,
                         net_send,  net_recv,     net_wait,   net_close,
                         net_alive, net_peer_name, NULL};
    struct cj_cell cells[(SCN_RANKS_MAX + 1) * (SCN_RANKS_MAX + 1)];
    struct cj_config config;
    struct cj_error error;
    struct cj_group *started = NULL;
    int status;
    memset(&config, 0, sizeof config);
    config.rank = sim_rank_number(rank);
    config.size = sim_rank_size(rank);
    fill_cells(rank, cells, config.size);
    config.cells = cells;
    config.coordinator = sim_rank_coordinator(rank);
    config.library = &library;
    config.clock = &clock;
    config.allocator = &allocator;
    config.net = &net;
    status = cj_init(&config, &started, &error);
    *group = started;
    return answer(status, &error, failure);
}

static int all_sum(struct sim_rank *rank, void *group, const void *input,
                   void *output, size_t count, enum scn_type type,
                   struct sim_failure *failure)
{
    struct cj_error error;
    (void)rank;
    return answer(
        cj_all_sum(group, input, output, count, (enum cj_type)type, &error),
        &error, failure);
}

static int barrier(struct sim_rank *rank, void *group,
                   struct sim_failure *failure)
{
    struct cj_error error;
    (void)rank;
    return answer(cj_barrier(group, &error), &error, failure);
}

static int finalize(struct sim_rank *rank, void *group,
                    struct sim_failure *failure)
{
    struct cj_error error;
    (void)rank;
    return answer(cj_finalize(group, &error), &error, failure);
}

const struct sim_subject sim_subject_cjaccl = {
    .name = "cjaccl",
    .about = "the fixed module (cjaccl/)",
    .fixed = true,
    .mesh_only = true,
    .waits = true,
    .init = start,
    .all_sum = all_sum,
    .barrier = barrier,
    .finalize = finalize,
};
