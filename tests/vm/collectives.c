/*
 * One rank of a group that makes every operation of cjaccl, at sizes around
 * the borders of packets and messages, and compares each result with what it
 * has to be. The configuration comes from the environment, as for any program
 * of cjaccl's.
 *
 * usage: collectives [ROUNDS]
 *
 * Prints one line; exit 0 if all was right, 1 if a result was wrong or an
 * operation failed.
 */
#include <cjaccl/cjaccl.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST 20000 /* elements */
#define RANKS_MOST 8

struct rank {
    struct cj_group *group;
    struct cj_error error;
    int self, size;
    int32_t *in, *out;
    unsigned checks;
};

/* Small, and another one for each rank and place. */
static int32_t value(int rank, size_t i)
{
    return (int32_t)((size_t)(rank + 1) * 1000003u + i * 7 % 4093);
}

static void fill(struct rank *rank, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rank->in[i] = value(rank->self, i);
        rank->out[i] = -1;
    }
}

static void must(struct rank *rank, const char *what, int status)
{
    if (status == CJ_OK)
        return;
    fprintf(stderr, "collectives: %s: %s\n", what, rank->error.message);
    cj_finalize(rank->group, NULL);
    exit(1);
}

static void equal(struct rank *rank, const char *what, size_t count, size_t i,
                  int32_t wanted)
{
    rank->checks++;
    if (rank->out[i] == wanted)
        return;
    fprintf(stderr,
            "collectives: rank %d: %s of %zu: element %zu is %d, not"
            " %d\n",
            rank->self, what, count, i, rank->out[i], wanted);
    exit(1);
}

static int32_t sum_of(struct rank *rank, size_t i)
{
    int32_t sum = 0;

    for (int r = 0; r < rank->size; r++)
        sum += value(r, i);
    return sum;
}

static void reductions(struct rank *rank, size_t count)
{
    fill(rank, count);
    must(rank, "all_sum",
         cj_all_sum(rank->group, rank->in, rank->out, count, CJ_INT32,
                    &rank->error));
    for (size_t i = 0; i < count; i++)
        equal(rank, "all_sum", count, i, sum_of(rank, i));
    must(rank, "all_max",
         cj_all_max(rank->group, rank->in, rank->out, count, CJ_INT32,
                    &rank->error));
    for (size_t i = 0; i < count; i++)
        equal(rank, "all_max", count, i, value(rank->size - 1, i));
    must(rank, "all_min",
         cj_all_min(rank->group, rank->in, rank->out, count, CJ_INT32,
                    &rank->error));
    for (size_t i = 0; i < count; i++)
        equal(rank, "all_min", count, i, value(0, i));
}

static void gather(struct rank *rank, size_t count)
{
    fill(rank, count);
    must(rank, "all_gather",
         cj_all_gather(rank->group, rank->in, rank->out,
                       count * sizeof(int32_t), &rank->error));
    for (size_t i = 0; i < count * (size_t)rank->size; i++)
        equal(rank, "all_gather", count, i, value((int)(i / count), i % count));
}

static void scatter(struct rank *rank, size_t count)
{
    fill(rank, count * (size_t)rank->size);
    must(rank, "sum_scatter",
         cj_sum_scatter(rank->group, rank->in, rank->out, count, CJ_INT32,
                        &rank->error));
    for (size_t i = 0; i < count; i++)
        equal(rank, "sum_scatter", count, i,
              sum_of(rank, (size_t)rank->self * count + i));
}

static void send_on(struct rank *rank, size_t count)
{
    size_t bytes = count * sizeof(int32_t);

    fill(rank, count);
    if (rank->self == 0)
        must(rank, "send",
             cj_send(rank->group, rank->in, bytes, 1, &rank->error));
    if (rank->self != 1)
        return;
    must(rank, "recv", cj_recv(rank->group, rank->out, bytes, 0, &rank->error));
    for (size_t i = 0; i < count; i++)
        equal(rank, "recv", count, i, value(0, i));
}

/* Starts a group, makes every operation, ends it. */
static void round_trip(struct rank *rank, const struct cj_config *config)
{
    static const size_t counts[] = {1, 255, 256, 257, 1024, 5000, MOST};

    must(rank, "start", cj_init(config, &rank->group, &rank->error));
    rank->self = cj_rank(rank->group);
    rank->size = cj_size(rank->group);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        reductions(rank, counts[i]);
        gather(rank, counts[i]);
        scatter(rank, counts[i]);
        send_on(rank, counts[i]);
    }
    must(rank, "barrier", cj_barrier(rank->group, &rank->error));
    must(rank, "end", cj_finalize(rank->group, &rank->error));
}

int main(int count, char **words)
{
    struct rank rank = {0};
    struct cj_settings settings;
    int rounds = count > 1 ? atoi(words[1]) : 1;

    rank.in = calloc((size_t)MOST * RANKS_MOST, sizeof(int32_t));
    rank.out = calloc((size_t)MOST * RANKS_MOST, sizeof(int32_t));
    if (!rank.in || !rank.out)
        return 3;
    must(&rank, "configuration", cj_settings_from_env(&settings, &rank.error));
    for (int i = 0; i < rounds; i++)
        round_trip(&rank, &settings.config);
    printf("rank %d of %d: %u elements right\n", rank.self, rank.size,
           rank.checks);
    cj_settings_free(&settings);
    free(rank.in);
    free(rank.out);
    return 0;
}
