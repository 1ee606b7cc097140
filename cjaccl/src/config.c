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

static const struct cj_cell *cell_of(const struct cj_config *config, int row,
                                     int column)
{
    return &config->cells[row * config->size + column];
}

const char *cji_config_device(const struct cj_config *config, int peer)
{
    return cell_of(config, config->rank, peer)->names[0];
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

static bool is_ring(const struct cj_config *config)
{
    int size = config->size;
    int wires = cell_of(config, 0, 1)->count;

    if (wires == 0)
        return false;
    for (int row = 0; row < size; row++) {
        if (cell_of(config, row, (row + 1) % size)->count != wires ||
            cell_of(config, row, (row + size - 1) % size)->count != wires)
            return false;
    }
    return true;
}

/* The first cell that keeps the cells from being a mesh: its index, or -1. */
static int mesh_flaw(const struct cj_config *config)
{
    for (int i = 0; i < config->size * config->size; i++) {
        bool diagonal = i / config->size == i % config->size;

        if (diagonal != (config->cells[i].count == 0))
            return i;
    }
    return -1;
}

static int check_mesh(const struct cj_config *config, struct cj_error *error)
{
    int flaw = mesh_flaw(config);
    int row;
    int column;

    if (flaw < 0)
        return CJ_OK;
    if (is_ring(config))
        return cji_error_fill(
            error, CJ_UNSUPPORTED, CJ_STEP_CONFIG, config->rank,
            cji_about_none(0),
            "the devices make a ring, which cjaccl does not support yet: give "
            "every rank a device for every other rank (a mesh)");
    row = flaw / config->size;
    column = flaw % config->size;
    if (row == column)
        return cji_error_fill(
            error, CJ_INVALID, CJ_STEP_CONFIG, config->rank, cji_about_none(0),
            "row %d names a device for the rank itself (column %d): the "
            "diagonal has to be empty",
            row, column);
    return cji_error_fill(
        error, CJ_INVALID, CJ_STEP_CONFIG, config->rank, cji_about_none(0),
        "row %d, column %d is empty: a mesh needs a device from rank %d to "
        "rank %d",
        row, column, row, column);
}

static int check_numbers(const struct cj_config *config, struct cj_error *error)
{
    if (config->size < 1 || config->size > CJ_MAX_MESH_RANKS)
        return cji_error_fill(
            error, CJ_INVALID, CJ_STEP_CONFIG, config->rank, cji_about_none(0),
            "the configuration has %d ranks: a mesh has 1 to %d", config->size,
            CJ_MAX_MESH_RANKS);
    if (config->rank < 0 || config->rank >= config->size)
        return cji_error_fill(
            error, CJ_INVALID, CJ_STEP_CONFIG, config->rank, cji_about_none(0),
            "rank %d is not one of the %d ranks 0 to %d of the configuration",
            config->rank, config->size, config->size - 1);
    if (config->start_timeout_ns < 0 || config->operation_timeout_ns < 0)
        return invalid(error, config, "has a negative timeout");
    if (config->handshake != CJ_HANDSHAKE_AUTO &&
        config->handshake != CJ_HANDSHAKE_ON &&
        config->handshake != CJ_HANDSHAKE_OFF)
        return invalid(error, config, "has an unknown handshake setting");
    return CJ_OK;
}

static int check_verbs(const struct cj_config *config, struct cj_error *error)
{
    const struct cj_verbs *verbs = config->verbs;

    if (verbs == NULL)
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

int cji_config_check(const struct cj_config *config,
                     struct cji_address *address, struct cj_error *error)
{
    int status = check_numbers(config, error);

    if (status == CJ_OK && config->size > 1 && config->cells == NULL)
        status = invalid(error, config, "has no cells: which devices to use?");
    if (status == CJ_OK && config->size > 1)
        status = check_names(config, error);
    if (status == CJ_OK && config->size > 1)
        status = check_mesh(config, error);
    if (status == CJ_OK && config->size > 1)
        status = check_coordinator(config, address, error);
    if (status == CJ_OK)
        status = check_verbs(config, error);
    return status;
}
