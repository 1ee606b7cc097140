#include "cjaccl_ranks.h"

#include <stdlib.h>
#include <string.h>

static const char *const device_name[] = {"rdma_en2"};
static const char *const wire_names[CJ_MAX_WIRES] = {"rdma_en2", "rdma_en3",
                                                     "rdma_en4", "rdma_en5"};

void ranks_init(struct ranks *ranks, int size)
{
    memset(ranks, 0, sizeof *ranks);
    ranks->size = size;
    for (int i = 0; i < size * size; i++) {
        if (i / size != i % size)
            ranks->cells[i] = (struct cj_cell){device_name, 1};
    }
    (void)fake_coordinator(ranks->coordinator);
    for (int i = 0; i < size; i++) {
        struct rank *rank = &ranks->rank[i];

        rank->number = i;
        rank->all = ranks;
        fake_machine_init(&rank->machine);
        rank->config.rank = i;
        rank->config.size = size;
        rank->config.cells = ranks->cells;
        rank->config.coordinator = ranks->coordinator;
        rank->config.verbs = &fake_verbs;
        rank->config.start_timeout_ns = 20 * RANKS_SECOND;
        rank->config.operation_timeout_ns = 20 * RANKS_SECOND;
    }
}

void ranks_init_ring(struct ranks *ranks, int size, int wires)
{
    ranks_init(ranks, size);
    memset(ranks->cells, 0, sizeof ranks->cells);
    for (int i = 0; i < size; i++) {
        struct rank *rank = &ranks->rank[i];

        ranks->cells[i * size + (i + 1) % size] =
            (struct cj_cell){wire_names, wires};
        ranks->cells[i * size + (i + size - 1) % size] =
            (struct cj_cell){wire_names, wires};
        for (int wire = 0; wire < wires; wire++)
            rank->machine.names[wire] = wire_names[wire];
        rank->config.topology = CJ_TOPOLOGY_RING;
    }
}

static void *enter(void *argument)
{
    struct rank *rank = argument;

    fake_enter(&rank->machine);
    rank->all->body(rank);
    return NULL;
}

void ranks_run(struct ranks *ranks, void (*body)(struct rank *rank))
{
    ranks->body = body;
    for (int i = 0; i < ranks->size; i++) {
        if (pthread_create(&ranks->rank[i].thread, NULL, enter,
                           &ranks->rank[i]) != 0)
            abort();
    }
    for (int i = 0; i < ranks->size; i++)
        (void)pthread_join(ranks->rank[i].thread, NULL);
}

static void start(struct rank *rank)
{
    rank->status = cj_init(&rank->config, &rank->group, &rank->error);
}

static void finish(struct rank *rank)
{
    rank->status = cj_finalize(rank->group, &rank->error);
    rank->group = NULL;
}

void ranks_start(struct ranks *ranks)
{
    ranks_run(ranks, start);
}

void ranks_finish(struct ranks *ranks)
{
    ranks_run(ranks, finish);
}
