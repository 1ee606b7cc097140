/*
 * The subjects `cjaccl`, the fixed module, and `sockets`, the same over its
 * socket ring, which needs no device. Every hook of the configuration is in the
 * simulator's hands; of a rank in a process of its own (sim/live.h) the
 * allocator, the library's absence and a side channel with faults are.
 */
#include <cjaccl/cjaccl.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sim/live.h"
#include "sim/live_net.h"
#include "sim/subjects/subjects.h"

/* ---- the library ----------------------------------------------------------
 */

static void *library_open(void *ctx, const char *name)
{
    if (!sim_library_present(ctx))
        return NULL;
    return sim_rank_live(ctx) ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : ctx;
}

static void *library_symbol(void *ctx, void *library, const char *name)
{
    void *simulated = sim_library_symbol(ctx, name);
    return simulated && sim_rank_live(ctx) ? dlsym(library, name) : simulated;
}

static void library_close(void *ctx, void *library)
{
    if (sim_rank_live(ctx))
        dlclose(library);
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

static int64_t net_send(void *ctx, int end, const void *data, size_t size,
                        int64_t deadline_ns)
{
    return sim_send_some(ctx, end, data, sim_net_part(size), deadline_ns);
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

static int net_local_name(void *ctx, int end, char *host, size_t size,
                          uint16_t *port)
{
    int number = sim_socket_port(ctx, end);
    if (host)
        snprintf(host, size, "%s", sim_rank_address(ctx));
    if (port && number >= 0)
        *port = (uint16_t)number;
    return 0;
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
    failure->refused =
        error->code == CJ_INVALID || error->code == CJ_UNSUPPORTED;
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

/* What a rank is to be told once, and only when it falls back. */
static void warn(void *ctx, const char *message)
{
    int *warnings = ctx;
    *warnings += message[0] != '\0';
}

static void check_warnings(struct sim_rank *rank, const struct cj_group *group,
                           enum cj_backend backend, int warnings)
{
    struct cj_info info;
    bool fell = false;
    if (group) {
        cj_group_info(group, &info);
        fell = info.sockets && backend == CJ_BACKEND_RDMA;
    }
    if (group && warnings != fell)
        sim_crash(rank, "a fallback and its warning disagree", "");
}

static void fill_settings(struct sim_rank *rank, struct cj_config *config,
                          enum cj_backend backend)
{
    config->topology =
        sim_rank_prefers_ring(rank) ? CJ_TOPOLOGY_RING : CJ_TOPOLOGY_AUTO;
    config->backend = backend;
    if (sim_rank_setting(rank, SCN_SETTING_BACKEND) != 0)
        config->backend = CJ_BACKEND_SOCKETS;
    if (sim_rank_setting(rank, SCN_SETTING_FALLBACK) != 0)
        config->fallback = CJ_FALLBACK_SOCKETS;
}

static int start_over(struct sim_rank *rank, void **group,
                      struct sim_failure *failure, enum cj_backend backend)
{
    struct cj_library library = {rank, library_open, library_symbol,
                                 library_close};
    struct cj_clock clock = {rank, clock_now, clock_sleep, clock_idle};
    struct cj_allocator allocator = {rank, allocator_alloc, allocator_free};
    struct cj_net net = {rank,      net_listen,    net_accept,    net_connect,
                         net_send,  net_recv,      net_wait,      net_close,
                         net_alive, net_peer_name, net_local_name};
    const struct sim_live *live = sim_rank_live(rank);
    struct cj_cell cells[(SCN_RANKS_MAX + 1) * (SCN_RANKS_MAX + 1)];
    struct cj_config config;
    struct cj_error error;
    struct cj_group *started = NULL;
    int status, warnings = 0;
    memset(&config, 0, sizeof config);
    config.rank = sim_rank_number(rank);
    config.size = sim_rank_size(rank);
    fill_cells(rank, cells, config.size);
    config.cells = cells;
    config.coordinator = sim_rank_coordinator(rank);
    config.library = &library;
    config.allocator = &allocator;
    if (live)
        config.start_timeout_ns = config.operation_timeout_ns = live->timeout;
    else
        config.clock = &clock;
    if (!live || sim_live_net(rank, &net))
        config.net = &net;
    config.warn = warn;
    config.warn_ctx = &warnings;
    fill_settings(rank, &config, backend);
    status = cj_init(&config, &started, &error);
    check_warnings(rank, started, config.backend, warnings);
    *group = started;
    return answer(status, &error, failure);
}

static int start(struct sim_rank *rank, void **group,
                 struct sim_failure *failure)
{
    return start_over(rank, group, failure, CJ_BACKEND_RDMA);
}

static int start_sockets(struct sim_rank *rank, void **group,
                         struct sim_failure *failure)
{
    return start_over(rank, group, failure, CJ_BACKEND_SOCKETS);
}

static int call(struct cj_group *group, const struct sim_operation *operation,
                struct cj_error *error)
{
    const void *in = operation->input;
    void *out = operation->output;
    size_t count = operation->count;
    enum cj_type type = (enum cj_type)operation->type;
    size_t bytes = count * cj_type_size(type);
    switch (operation->what) {
    case SCN_ALL_SUM:
        return cj_all_sum(group, in, out, count, type, error);
    case SCN_ALL_MAX:
        return cj_all_max(group, in, out, count, type, error);
    case SCN_ALL_MIN:
        return cj_all_min(group, in, out, count, type, error);
    case SCN_ALL_GATHER:
        return cj_all_gather(group, in, out, bytes, error);
    case SCN_SUM_SCATTER:
        return cj_sum_scatter(group, in, out, count, type, error);
    default:
        return in ? cj_send(group, in, bytes, operation->peer, error)
                  : cj_recv(group, out, bytes, operation->peer, error);
    }
}

static int operate(struct sim_rank *rank, void *group,
                   const struct sim_operation *operation,
                   struct sim_failure *failure)
{
    struct cj_error error;
    (void)rank;
    return answer(call(group, operation, &error), &error, failure);
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
    .waits = true,
    .init = start,
    .operate = operate,
    .barrier = barrier,
    .finalize = finalize,
};

const struct sim_subject sim_subject_sockets = {
    .name = "sockets",
    .about = "the fixed module's socket ring, which needs no device",
    .fixed = true,
    .ring_only = true,
    .waits = true,
    .init = start_sockets,
    .operate = operate,
    .barrier = barrier,
    .finalize = finalize,
};
