/*
 * cjaccl-bench: what a group of cjaccl costs, measured through its public
 * interface.
 *
 *     cjaccl-bench [-m BYTES] [OPERATION...]
 *
 * Every rank runs it, with the configuration in its environment (cjaccl.h tells
 * the variables), e.g. `verbfault run -n 2 cjaccl-bench`. Rank 0 prints one
 * `name value unit` a line:
 *
 *   start_up            median of some starts, of the slowest rank but rank 0,
 *                       which waits for the others
 *   memory, regions...  what cj_group_info() tells of rank 0
 *   OPERATION_BYTES     median time of one call. BYTES is the larger of what
 *                       goes in and what comes out. send_recv is one way
 *
 * -m limits the sizes (64 MiB); operations: all_sum (float32), all_max,
 * all_min, all_gather, sum_scatter, send_recv, barrier; none named: all.
 */
#include <cjaccl/cjaccl.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define STARTS 7
#define MOST_CALLS 1000

struct bench {
    struct cj_group *group;
    struct cj_error error;
    int rank;
    int size;
    float *in;
    float *out;
    size_t bytes; /* of the call that is measured */
};

struct operation {
    const char *name;
    int (*run)(struct bench *bench);
};

static double now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void sleep_ms(long ms)
{
    const struct timespec time = {0, ms * 1000000};

    (void)nanosleep(&time, NULL);
}

/* The rest is of no use after an error, so it ends the program. */
static void check(int status, const struct cj_error *error)
{
    if (status == CJ_OK)
        return;
    (void)fprintf(stderr, "cjaccl-bench: %s\n", error->message);
    exit(1);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

/* ---- the operations, each one call of `bytes` ---- */

static int run_all_sum(struct bench *b)
{
    return cj_all_sum(b->group, b->in, b->out, b->bytes / sizeof(float),
                      CJ_FLOAT32, &b->error);
}

static int run_all_max(struct bench *b)
{
    return cj_all_max(b->group, b->in, b->out, b->bytes / sizeof(float),
                      CJ_FLOAT32, &b->error);
}

static int run_all_min(struct bench *b)
{
    return cj_all_min(b->group, b->in, b->out, b->bytes / sizeof(float),
                      CJ_FLOAT32, &b->error);
}

static int run_all_gather(struct bench *b)
{
    return cj_all_gather(b->group, b->in, b->out, b->bytes / (size_t)b->size,
                         &b->error);
}

static int run_sum_scatter(struct bench *b)
{
    return cj_sum_scatter(b->group, b->in, b->out,
                          b->bytes / sizeof(float) / (size_t)b->size,
                          CJ_FLOAT32, &b->error);
}

/* There and back between ranks 0 and 1: two messages. */
static int run_send_recv(struct bench *b)
{
    int peer = 1 - b->rank;
    int status = CJ_OK;

    if (b->rank > 1 || b->size == 1)
        return CJ_OK;
    if (b->rank == 0)
        status = cj_send(b->group, b->in, b->bytes, peer, &b->error);
    if (status == CJ_OK)
        status = cj_recv(b->group, b->out, b->bytes, peer, &b->error);
    if (status == CJ_OK && b->rank == 1)
        status = cj_send(b->group, b->in, b->bytes, peer, &b->error);
    return status;
}

static int run_barrier(struct bench *b)
{
    return cj_barrier(b->group, &b->error);
}

static const struct operation operations[] = {
    {"all_sum", run_all_sum},         {"all_max", run_all_max},
    {"all_min", run_all_min},         {"all_gather", run_all_gather},
    {"sum_scatter", run_sum_scatter}, {"send_recv", run_send_recv},
    {"barrier", run_barrier},
};
#define OPERATIONS (sizeof operations / sizeof *operations)

/* ---- measuring ---- */

/* All ranks make the same number of calls. */
static int calls_of(size_t bytes)
{
    if (bytes <= 32 * 1024)
        return MOST_CALLS;
    if (bytes <= 1024 * 1024)
        return 200;
    return bytes <= 16 * 1024 * 1024 ? 21 : 7;
}

static double measure(struct bench *bench, const struct operation *operation)
{
    static double times[MOST_CALLS];
    int calls = calls_of(bench->bytes);

    check(cj_barrier(bench->group, &bench->error), &bench->error);
    for (int i = -1 - calls / 10; i < calls; i++) {
        double start = now_us();

        check(operation->run(bench), &bench->error);
        if (i >= 0)
            times[i] = now_us() - start;
    }
    return median(times, calls) / (operation->run == run_send_recv ? 2 : 1);
}

static void measure_sizes(struct bench *bench, const struct operation *op,
                          size_t most)
{
    if (op->run == run_barrier) {
        double us = measure(bench, op);

        if (bench->rank == 0)
            (void)printf("%s %.2f us\n", op->name, us);
        return;
    }
    for (size_t bytes = 64; bytes <= most; bytes *= 4) {
        double us;

        bench->bytes = bytes;
        us = measure(bench, op);
        if (bench->rank == 0)
            (void)printf("%s_%zu %.2f us\n", op->name, bytes, us);
    }
    (void)fflush(stdout);
}

/*
 * Rank 0 starts first and waits for the others, so that none of them finds
 * nobody listening. Leaves the last group.
 */
static double measure_start(struct bench *bench, const struct cj_config *config)
{
    double times[STARTS];

    for (int i = 0; i < STARTS; i++) {
        double start;
        double slowest = 0;

        check(cj_finalize(bench->group, &bench->error), &bench->error);
        bench->group = NULL;
        if (bench->rank > 0)
            sleep_ms(20);
        start = now_us();
        check(cj_init(config, &bench->group, &bench->error), &bench->error);
        if (bench->rank > 0 || bench->size == 1)
            slowest = now_us() - start;
        check(cj_all_max(bench->group, &slowest, &slowest, 1, CJ_FLOAT64,
                         &bench->error),
              &bench->error);
        times[i] = slowest;
    }
    return median(times, STARTS);
}

static void print_start(const struct bench *bench, double start_us)
{
    struct cj_info info;

    cj_group_info(bench->group, &info);
    if (bench->rank != 0)
        return;
    (void)printf("ranks %d ranks\n", bench->size);
    (void)printf("wires %d wires%s%s\n", info.wires, info.ring ? " ring" : "",
                 info.sockets ? " sockets" : "");
    (void)printf("start_up %.1f us\n", start_us);
    (void)printf("regions %d regions\n", info.regions);
    (void)printf("queue_pairs %d pairs\n", info.queue_pairs);
    (void)printf("memory %zu bytes\n", info.memory);
    (void)printf("registered %zu bytes\n", info.registered);
    (void)fflush(stdout);
}

static float *buffer(size_t bytes)
{
    float *memory = malloc(bytes);

    if (memory == NULL) {
        (void)fprintf(stderr, "cjaccl-bench: no memory for %zu bytes\n", bytes);
        exit(1);
    }
    for (size_t i = 0; i < bytes / sizeof *memory; i++)
        memory[i] = 1;
    return memory;
}

static int usage(void)
{
    (void)fprintf(stderr, "usage: cjaccl-bench [-m BYTES] [OPERATION...]\n"
                          "operations:");
    for (size_t i = 0; i < OPERATIONS; i++)
        (void)fprintf(stderr, " %s", operations[i].name);
    (void)fprintf(stderr, "\n");
    return 2;
}

/* Is it among the names? No names: yes. */
static bool is_wanted(const char *name, char **names)
{
    if (*names == NULL)
        return true;
    for (; *names != NULL; names++) {
        if (strcmp(*names, name) == 0)
            return true;
    }
    return false;
}

static bool are_operations(char **names)
{
    for (; *names != NULL; names++) {
        size_t i = 0;

        while (i < OPERATIONS && strcmp(operations[i].name, *names) != 0)
            i++;
        if (i == OPERATIONS)
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct bench bench = {0};
    struct cj_settings settings;
    size_t most = (size_t)64 << 20;
    double start_us;
    char **names = argv + (argc > 0);

    if (argc > 2 && strcmp(names[0], "-m") == 0) {
        char *end;
        uintmax_t value = strtoumax(names[1], &end, 10);

        if (*end != '\0' || value < 64 || value > PTRDIFF_MAX)
            return usage();
        most = (size_t)value;
        names += 2;
    }
    if (!are_operations(names))
        return usage();
    check(cj_settings_from_env(&settings, &bench.error), &bench.error);
    bench.rank = settings.config.rank;
    bench.size = settings.config.size;
    bench.in = buffer(most);
    bench.out = buffer(most);
    start_us = measure_start(&bench, &settings.config);
    print_start(&bench, start_us);
    for (size_t i = 0; i < OPERATIONS; i++) {
        if (is_wanted(operations[i].name, names))
            measure_sizes(&bench, &operations[i], most);
    }
    check(cj_finalize(bench.group, &bench.error), &bench.error);
    cj_settings_free(&settings);
    free(bench.in);
    free(bench.out);
    return 0;
}
