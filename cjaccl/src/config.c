#include "config.h"

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static int invalid(struct cj_error *error, const struct cj_config *config,
                   const char *what)
{
    return cji_error_fill(error, CJ_INVALID, CJ_STEP_CONFIG, config->rank,
                          cji_about_none(0), "the configuration %s", what);
}

const char *cji_config_device(const struct cj_config *config, int peer,
                              int wire)
{
    return config->cells[config->rank * config->size + peer].names[wire];
}

/* No device's name is longer than the verbs' own struct can hold. */
static bool is_too_long(const char *name)
{
    return strnlen(name, CJ_DEVICE_NAME_SIZE) == CJ_DEVICE_NAME_SIZE;
}

/* No cell may have an empty name, whatever shape the cells make together. */
static int check_names(const struct cj_config *config, struct cj_error *error)
{
    for (int i = 0; i < config->size * config->size; i++) {
        const struct cj_cell *cell = &config->cells[i];
        int row = i / config->size;
        int column = i % config->size;

        if (cell->count < 0 || (cell->count > 0 && cell->names == NULL))
            return cji_error_fill(
                error, CJ_INVALID, CJ_STEP_CONFIG, config->rank,
                cji_about_none(0),
                "the cell in row %d, column %d has %d device names but no list "
                "of them",
                row, column, cell->count);
        for (int n = 0; n < cell->count; n++) {
            const char *name = cell->names[n];

            if (name != NULL && name[0] != '\0' && !is_too_long(name))
                continue;
            if (name != NULL && name[0] != '\0')
                return cji_error_fill(
                    error, CJ_INVALID, CJ_STEP_CONFIG, config->rank,
                    cji_about_none(0),
                    "the device name in row %d, column %d is longer than %d "
                    "characters, as no device's name is",
                    row, column, CJ_DEVICE_NAME_SIZE - 1);
            return cji_error_fill(
                error, CJ_INVALID, CJ_STEP_CONFIG, config->rank,
                cji_about_none(0),
                "the device name in row %d, column %d is empty: name the "
                "device of rank %d that leads to rank %d",
                row, column, row, column);
        }
    }
    return CJ_OK;
}

static int check_numbers(const struct cj_config *config, struct cj_error *error)
{
    if (config->size < 1 || config->size > CJ_MAX_RANKS)
        return cji_error_fill(
            error, CJ_INVALID, CJ_STEP_CONFIG, config->rank, cji_about_none(0),
            "the configuration has %d ranks: a group has 1 to %d", config->size,
            CJ_MAX_RANKS);
    if (config->rank < 0 || config->rank >= config->size)
        return cji_error_fill(
            error, CJ_INVALID, CJ_STEP_CONFIG, config->rank, cji_about_none(0),
            "rank %d is not one of the %d ranks 0 to %d of the configuration",
            config->rank, config->size, config->size - 1);
    if (config->start_timeout_ns < 0 || config->operation_timeout_ns < 0)
        return invalid(error, config, "has a negative timeout");
    return CJ_OK;
}

static bool is_out_of(int value, int last)
{
    return value < 0 || value > last;
}

static int check_choices(const struct cj_config *config, struct cj_error *error)
{
    if (is_out_of((int)config->topology, CJ_TOPOLOGY_RING))
        return invalid(error, config, "has an unknown topology");
    if (is_out_of((int)config->backend, CJ_BACKEND_SOCKETS))
        return invalid(error, config, "has an unknown backend");
    if (is_out_of((int)config->fallback, CJ_FALLBACK_SOCKETS))
        return invalid(error, config, "has an unknown fallback");
    if (config->gather != NULL && config->gather->all_gather == NULL)
        return invalid(error, config, "has a gather without its function");
    return CJ_OK;
}

/* What is never called may lack what it likes. */
static bool has_rdma(const struct cj_config *config)
{
    return config->size > 1 && config->backend == CJ_BACKEND_RDMA;
}

static bool has_connections(const struct cj_config *config)
{
    return config->size > 1 &&
           (config->gather == NULL || config->backend == CJ_BACKEND_SOCKETS ||
            config->fallback == CJ_FALLBACK_SOCKETS);
}

static int check_verbs(const struct cj_config *config, struct cj_error *error)
{
    const struct cj_verbs *verbs = config->verbs;

    if (verbs == NULL || !has_rdma(config))
        return CJ_OK;
    if (verbs->get_device_list == NULL || verbs->free_device_list == NULL ||
        verbs->get_device_name == NULL || verbs->open_device == NULL ||
        verbs->close_device == NULL || verbs->query_port == NULL ||
        verbs->query_gid == NULL || verbs->alloc_pd == NULL ||
        verbs->dealloc_pd == NULL || verbs->reg_mr == NULL ||
        verbs->dereg_mr == NULL || verbs->create_cq == NULL ||
        verbs->destroy_cq == NULL || verbs->create_qp == NULL ||
        verbs->modify_qp == NULL || verbs->destroy_qp == NULL)
        return invalid(error, config,
                       "has a table of verbs that lacks one other than "
                       "query_device and query_qp");
    return CJ_OK;
}

static int check_hooks(const struct cj_config *config, struct cj_error *error)
{
    const struct cj_library *library = config->library;
    const struct cj_clock *clock = config->clock;
    const struct cj_allocator *allocator = config->allocator;
    const struct cj_net *net = config->net;

    if (library != NULL && has_rdma(config) && config->verbs == NULL &&
        (library->open == NULL || library->symbol == NULL ||
         library->close == NULL))
        return invalid(error, config, "has a library that lacks a function");
    if (clock != NULL &&
        (clock->now_ns == NULL || clock->sleep == NULL || clock->idle == NULL))
        return invalid(error, config, "has a clock that lacks a function");
    if (allocator != NULL &&
        (allocator->alloc == NULL || allocator->free == NULL))
        return invalid(error, config, "has an allocator that lacks a function");
    if (net != NULL && has_connections(config) &&
        (net->listen == NULL || net->accept == NULL || net->connect == NULL ||
         net->send == NULL || net->recv == NULL || net->wait == NULL ||
         net->close == NULL || net->alive == NULL || net->peer_name == NULL))
        return invalid(error, config,
                       "has a net that lacks a function other than local_name");
    return CJ_OK;
}

static int check_coordinator(const struct cj_config *config,
                             struct cji_address *address,
                             struct cj_error *error)
{
    const char *flaw;

    if (config->coordinator == NULL)
        return invalid(error, config,
                       "has no coordinator: give the address and port of rank "
                       "0, e.g. 192.168.0.1:32132");
    flaw = cji_address_parse(address, config->coordinator);
    if (flaw != NULL)
        return cji_error_fill(
            error, CJ_INVALID, CJ_STEP_CONFIG, config->rank, cji_about_none(0),
            "the coordinator \"%.200s\" %s: write it as address:port or "
            "[v6-address]:port",
            config->coordinator, flaw);
    return CJ_OK;
}

/* Over sockets there is nothing to choose. */
static int check_cells(const struct cj_config *config,
                       struct cji_topology *topology, struct cj_error *error)
{
    int status;

    topology->ring = true;
    topology->wires = 1;
    if (config->backend == CJ_BACKEND_SOCKETS)
        return CJ_OK;
    if (config->cells == NULL)
        return invalid(error, config, "has no cells: which devices to use?");
    status = check_names(config, error);
    return status != CJ_OK ? status
                           : cji_topology_choose(config, topology, error);
}

int cji_config_check(const struct cj_config *config,
                     struct cji_address *address, struct cji_topology *topology,
                     struct cj_error *error)
{
    int status = check_numbers(config, error);

    memset(address, 0, sizeof *address);
    topology->ring = false;
    topology->wires = 1;
    if (status == CJ_OK)
        status = check_choices(config, error);
    if (status == CJ_OK && config->size > 1)
        status = check_cells(config, topology, error);
    if (status == CJ_OK && config->size > 1 && config->gather == NULL)
        status = check_coordinator(config, address, error);
    if (status == CJ_OK)
        status = check_verbs(config, error);
    if (status == CJ_OK)
        status = check_hooks(config, error);
    return status;
}
