/*
 * The same promise as cjaccl_property.c's with ranks that are threads: really
 * at once, by the real clock, over the in-process mock and connections of this
 * machine. Under ThreadSanitizer it also shows that groups share nothing.
 *
 *   test_cjaccl_threads
 *
 * CJACCL_THREADS_RUNS (40) rounds from CJACCL_THREADS_SEED (1) on. A round is a
 * topology over some profile or sockets, a side channel of connections or of
 * the test's own, one or two groups at a time on the same devices, and a few
 * operations on random bits, compared with a loop over all ranks' inputs. A
 * failure prints its seed.
 */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE
#else
#define _POSIX_C_SOURCE 200809L
#endif

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <cjaccl/cjaccl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sim/mutate.h"
#include "sim/scenario.h"
#include "verbfault/library.h"
#include "verbfault/world.h"

#define RANKS_MAX 4
#define GROUPS_MAX 2
#define OPERATIONS_MAX 6
#define SECOND ((int64_t)1000000000)

/* ---- what a round is ----------------------------------------------------- */

struct operation {
    enum scn_operation what;
    enum cj_type type;
    size_t count;
    bool in_place;
    int from, to;
};

static struct {
    unsigned seed;
    int ranks, groups, operations;
    bool sockets, ring, own_gather;
    struct operation operation[OPERATIONS_MAX];
    struct cj_cell cells[RANKS_MAX * RANKS_MAX];
    const char *names[RANKS_MAX * RANKS_MAX][SCN_NAMES_MAX];
    struct scn scenario; /* the machines */
} turn;

static uint32_t below(struct scn_random *random, uint32_t limit)
{
    return scn_random_below(random, limit);
}

/* Types whose results do not depend on the order of additions, whatever the
 * bits are. The rounding ones have a test of their own. */
static const enum cj_type types[] = {CJ_BOOL,   CJ_INT8,   CJ_INT16,  CJ_INT32,
                                     CJ_INT64,  CJ_UINT8,  CJ_UINT16, CJ_UINT32,
                                     CJ_UINT64, CJ_FLOAT64};

#define TYPES (sizeof types / sizeof types[0])

static size_t any_count(struct scn_random *random, enum cj_type type)
{
    static const size_t bytes[] = {0,     8,     4096,   4104,  8192,
                                   32768, 32776, 131072, 200000};
    size_t size = cj_type_size(type);
    if (below(random, 2) == 0)
        return below(random, 3000);
    return bytes[below(random, sizeof bytes / sizeof bytes[0])] / size +
           below(random, 3);
}

static void choose_operation(struct scn_random *random, struct operation *o)
{
    uint32_t ranks = (uint32_t)turn.ranks;
    o->what = (enum scn_operation)(SCN_ALL_SUM + below(random, 7));
    o->type = types[below(random, TYPES)];
    o->count = any_count(random, o->type);
    o->in_place = below(random, 3) == 0 && scn_can_be_in_place(o->what);
    o->from = (int)below(random, ranks);
    /* A neighbour, so that a ring can do it, too. */
    o->to = (o->from + (below(random, 2) ? 1 : turn.ranks - 1)) % turn.ranks;
}

static void choose_machines(struct scn_random *random)
{
    static const char *const profiles[] = {"thunderbolt", "rxe", "ideal"};
    char text[128];
    struct scn_error error;
    bool ring = below(random, 2) == 0;
    turn.ranks = 2 + (int)below(random, RANKS_MAX - 1);
    if (ring)
        snprintf(text, sizeof text, "profile %s\nranks %d ring %d\n",
                 profiles[below(random, 3)], turn.ranks,
                 1 + (int)below(random, 4));
    else
        snprintf(text, sizeof text, "profile %s\nranks %d mesh\n",
                 profiles[below(random, 3)], turn.ranks);
    if (scn_parse(&turn.scenario, text, strlen(text), &error) != 0 ||
        scn_complete(&turn.scenario) != 0)
        fail_msg("%s", error.message);
    turn.ring = ring;
}

static void choose(unsigned seed)
{
    struct scn_random random;
    scn_random_seed(&random, seed);
    turn.seed = seed;
    choose_machines(&random);
    turn.groups = 1 + (int)below(&random, GROUPS_MAX);
    turn.sockets = below(&random, 5) == 0;
    turn.own_gather = !turn.sockets && below(&random, 2) == 0;
    turn.operations = 1 + (int)below(&random, OPERATIONS_MAX);
    for (int i = 0; i < turn.operations; i++)
        choose_operation(&random, &turn.operation[i]);
}

/* ---- the machines -------------------------------------------------------- */

static struct vf_world *world;

static void yield_processor(void *context, int machine)
{
    (void)context;
    (void)machine;
    sched_yield();
}

static void no_finding(void *context, const struct vf_finding *finding)
{
    (void)context;
    fprintf(stderr, "seed %u: machine %d: %s: %s\n", turn.seed,
            finding->machine, finding->title, finding->detail);
    abort();
}

static void add_devices(int machine)
{
    const struct scn_statement *s;
    for (int n = 0; (s = scn_device(&turn.scenario, machine, n)) != NULL; n++) {
        struct vf_device_setup setup = {.profile = scn_profile(&turn.scenario),
                                        .max_mr = -1,
                                        .max_qp = -1,
                                        .max_pd = -1};
        snprintf(setup.name, sizeof setup.name, "%s", s->u.device.name);
        assert_int_equal(vf_machine_add_device(world, machine, &setup), 0);
    }
}

static void set_cell(int row, int column)
{
    const struct scn_statement *s = scn_cell(&turn.scenario, 0, row, column);
    int at = row * turn.ranks + column;
    turn.cells[at].count = s ? s->u.cell.count : 0;
    turn.cells[at].names = turn.names[at];
    for (int i = 0; i < turn.cells[at].count; i++)
        turn.names[at][i] = s->u.cell.names[i];
}

static void build_world(void)
{
    struct vf_hooks hooks = {
        .threads = true, .empty = yield_processor, .finding = no_finding};
    if (!world)
        world = vf_world_create();
    vf_world_reset(world, &hooks);
    vf_world_install(world);
    for (int i = 0; i < turn.ranks; i++) {
        assert_int_equal(vf_world_add_machine(world), i);
        add_devices(i);
    }
    for (int i = 0; i < turn.scenario.count; i++) {
        const struct scn_statement *s = &turn.scenario.statements[i];
        if (s->kind == SCN_CABLE)
            vf_world_cable(world, s->rank, s->u.cable.name,
                           s->u.cable.other_rank, s->u.cable.other_name);
    }
    for (int row = 0; row < turn.ranks; row++)
        for (int column = 0; column < turn.ranks; column++)
            set_cell(row, column);
}

/* ---- the side channel -----------------------------------------------------
 */

/* An all-gather between threads: all put theirs down, then all take it. */
struct gathering {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned char bytes[RANKS_MAX][8192];
    int arrived, left;
};
static struct gathering gatherings[GROUPS_MAX];

struct member {
    struct gathering *gathering;
    int rank;
};

static void meet(struct gathering *gathering, int *count)
{
    int goal = (*count / turn.ranks + 1) * turn.ranks;
    (*count)++;
    pthread_cond_broadcast(&gathering->changed);
    while (*count < goal)
        pthread_cond_wait(&gathering->changed, &gathering->mutex);
}

static int all_gather(void *ctx, const void *mine, void *all, size_t bytes)
{
    struct member *member = ctx;
    struct gathering *gathering = member->gathering;
    if (bytes > sizeof gathering->bytes[0])
        return -1;
    pthread_mutex_lock(&gathering->mutex);
    memcpy(gathering->bytes[member->rank], mine, bytes);
    meet(gathering, &gathering->arrived);
    for (int rank = 0; rank < turn.ranks; rank++)
        memcpy((char *)all + (size_t)rank * bytes, gathering->bytes[rank],
               bytes);
    meet(gathering, &gathering->left);
    pthread_mutex_unlock(&gathering->mutex);
    return 0;
}

/* A port that was free a moment ago. */
static void find_coordinator(char *text, size_t room)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(listener >= 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(
        getsockname(listener, (struct sockaddr *)&address, &length), 0);
    close(listener);
    snprintf(text, room, "127.0.0.1:%u", (unsigned)ntohs(address.sin_port));
}

/* ---- a rank ---------------------------------------------------------------
 */

struct rank {
    pthread_t thread;
    int number, group;
    char coordinator[32];
    char wrong[CJ_MESSAGE_SIZE + 64]; /* what went wrong first, or "" */
};
static struct rank ranks[GROUPS_MAX][RANKS_MAX];

static void *library_open(void *ctx, const char *name)
{
    (void)ctx;
    (void)name;
    return world;
}

static void *library_symbol(void *ctx, void *library, const char *name)
{
    (void)ctx;
    (void)library;
    return vf_library_symbol(name);
}

static void library_close(void *ctx, void *library)
{
    (void)ctx;
    (void)library;
}

static struct cj_group *start(struct rank *rank, struct member *member)
{
    struct cj_library library = {NULL, library_open, library_symbol,
                                 library_close};
    struct cj_gather gather = {member, all_gather};
    struct cj_config config = {.rank = rank->number,
                               .size = turn.ranks,
                               .cells = turn.cells,
                               .coordinator = rank->coordinator,
                               .start_timeout_ns = 60 * SECOND,
                               .operation_timeout_ns = 60 * SECOND,
                               .library = &library};
    struct cj_error error;
    struct cj_group *group;
    if (turn.ring)
        config.topology = CJ_TOPOLOGY_RING;
    if (turn.sockets)
        config.backend = CJ_BACKEND_SOCKETS;
    if (turn.own_gather)
        config.gather = &gather;
    if (cj_init(&config, &group, &error) != CJ_OK)
        snprintf(rank->wrong, sizeof rank->wrong, "%s", error.message);
    return group;
}

/* The bits that a rank puts into element i, and so everybody knows. */
static uint64_t bits_of(const struct rank *rank, int number, int of, size_t i)
{
    uint64_t z = (uint64_t)turn.seed * 0x9e3779b97f4a7c15u +
                 (uint64_t)(number + 8 * rank->group + 64 * of) + (i << 12);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* An element as a number of 64 bits: a double's, or an integer's lowest ones.
 */
static uint64_t value_of(enum cj_type type, uint64_t bits)
{
    double real = (int32_t)bits; /* sums of these are exact */
    if (type == CJ_BOOL)
        return bits % 5 == 0;
    if (type == CJ_FLOAT64)
        memcpy(&bits, &real, sizeof bits);
    return bits & UINT64_MAX >> (64 - 8 * cj_type_size(type));
}

static void store(void *at, enum cj_type type, uint64_t value)
{
    uint8_t u8 = (uint8_t)value;
    uint16_t u16 = (uint16_t)value;
    uint32_t u32 = (uint32_t)value;
    size_t size = cj_type_size(type);
    const void *from = size == 1   ? (const void *)&u8
                       : size == 2 ? (const void *)&u16
                       : size == 4 ? (const void *)&u32
                                   : (const void *)&value;
    memcpy(at, from, size);
}

static double real_of(uint64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

static bool is_less(enum cj_type type, uint64_t a, uint64_t b)
{
    uint64_t sign = (uint64_t)1 << (8 * cj_type_size(type) - 1);
    if (type == CJ_FLOAT64)
        return real_of(a) < real_of(b);
    /* With their sign bits turned, signed numbers are in unsigned order. */
    if (type >= CJ_INT8 && type <= CJ_INT64)
        return (a ^ sign) < (b ^ sign);
    return a < b;
}

static uint64_t sum_of(enum cj_type type, uint64_t a, uint64_t b)
{
    double real = real_of(a) + real_of(b);
    if (type == CJ_BOOL)
        return a | b;
    if (type == CJ_FLOAT64) {
        memcpy(&a, &real, sizeof a);
        return a;
    }
    return (a + b) & UINT64_MAX >> (64 - 8 * cj_type_size(type));
}

static uint64_t combined(enum scn_operation what, enum cj_type type, uint64_t a,
                         uint64_t b)
{
    if (what == SCN_ALL_MAX)
        return is_less(type, a, b) ? b : a;
    if (what == SCN_ALL_MIN)
        return is_less(type, b, a) ? b : a;
    return sum_of(type, a, b);
}

/* What has to be in element i of the output. */
static uint64_t expected(const struct rank *rank, int number, size_t i)
{
    const struct operation *o = &turn.operation[number];
    uint64_t value;
    if (o->what == SCN_SEND)
        return value_of(o->type, bits_of(rank, number, o->from, i));
    if (o->what == SCN_ALL_GATHER)
        return value_of(
            o->type, bits_of(rank, number, (int)(i / o->count), i % o->count));
    if (o->what == SCN_SUM_SCATTER)
        i += (size_t)rank->number * o->count;
    value = value_of(o->type, bits_of(rank, number, 0, i));
    for (int of = 1; of < turn.ranks; of++)
        value = combined(o->what, o->type, value,
                         value_of(o->type, bits_of(rank, number, of, i)));
    return value;
}

static int call(struct cj_group *group, const struct rank *rank,
                const struct operation *o, const void *in, void *out,
                struct cj_error *error)
{
    size_t bytes = o->count * cj_type_size(o->type);
    switch (o->what) {
    case SCN_ALL_SUM:
        return cj_all_sum(group, in, out, o->count, o->type, error);
    case SCN_ALL_MAX:
        return cj_all_max(group, in, out, o->count, o->type, error);
    case SCN_ALL_MIN:
        return cj_all_min(group, in, out, o->count, o->type, error);
    case SCN_ALL_GATHER:
        return cj_all_gather(group, in, out, bytes, error);
    case SCN_SUM_SCATTER:
        return cj_sum_scatter(group, in, out, o->count, o->type, error);
    case SCN_BARRIER:
        return cj_barrier(group, error);
    default:
        if (rank->number == o->from)
            return cj_send(group, in, bytes, o->to, error);
        if (rank->number == o->to)
            return cj_recv(group, out, bytes, o->from, error);
        return CJ_OK;
    }
}

/* Elements of the input and of the output that a rank gets written. */
static void sizes(const struct rank *rank, const struct operation *o,
                  size_t *in, size_t *out)
{
    size_t all = (size_t)turn.ranks * o->count;
    *in = o->what == SCN_SUM_SCATTER ? all : o->count;
    *out = o->what == SCN_ALL_GATHER ? all : o->count;
    if (o->what == SCN_BARRIER ||
        (o->what == SCN_SEND && rank->number != o->to))
        *out = 0;
}

static bool is_right(const struct rank *rank, int number, const char *output,
                     size_t count)
{
    size_t size = cj_type_size(turn.operation[number].type);
    char right[8];
    for (size_t i = 0; i < count; i++) {
        store(right, turn.operation[number].type, expected(rank, number, i));
        if (memcmp(output + i * size, right, size) != 0)
            return false;
    }
    return true;
}

static bool operate(struct rank *rank, struct cj_group *group, int number)
{
    const struct operation *o = &turn.operation[number];
    size_t size = cj_type_size(o->type), in, out, most;
    struct cj_error error;
    char *input, *output;
    bool right;
    sizes(rank, o, &in, &out);
    most = in > out ? in : out;
    input = calloc(most + 1, size);
    output = o->in_place ? input : calloc(most + 1, size);
    if (o->in_place && o->what == SCN_ALL_GATHER)
        input += (size_t)rank->number * o->count * size;
    for (size_t i = 0; i < in; i++)
        store(input + i * size, o->type,
              value_of(o->type, bits_of(rank, number, rank->number, i)));
    right = call(group, rank, o, input, output, &error) == CJ_OK;
    if (!right)
        snprintf(rank->wrong, sizeof rank->wrong, "%s", error.message);
    else if (!is_right(rank, number, output, out))
        snprintf(rank->wrong, sizeof rank->wrong, "operation %d (%s of %zu)",
                 number, scn_operation_name(o->what), o->count);
    if (!o->in_place)
        free(input);
    free(output);
    return right;
}

static void *run(void *argument)
{
    struct rank *rank = argument;
    struct member member = {&gatherings[rank->group], rank->number};
    struct cj_error error;
    struct cj_group *group;
    vf_thread_set_machine(rank->number);
    group = start(rank, &member);
    for (int i = 0; group && i < turn.operations; i++)
        if (!operate(rank, group, i))
            break;
    if (cj_finalize(group, &error) != CJ_OK && !rank->wrong[0])
        snprintf(rank->wrong, sizeof rank->wrong, "%s", error.message);
    return NULL;
}

/* ---- the property ---------------------------------------------------------
 */

static void begin(void)
{
    for (int group = 0; group < turn.groups; group++) {
        char coordinator[32];
        find_coordinator(coordinator, sizeof coordinator);
        gatherings[group].arrived = gatherings[group].left = 0;
        for (int i = 0; i < turn.ranks; i++) {
            struct rank *rank = &ranks[group][i];
            rank->number = i;
            rank->group = group;
            rank->wrong[0] = '\0';
            memcpy(rank->coordinator, coordinator, sizeof coordinator);
            assert_int_equal(pthread_create(&rank->thread, NULL, run, rank), 0);
        }
    }
}

static void end(void)
{
    for (int group = 0; group < turn.groups; group++)
        for (int i = 0; i < turn.ranks; i++)
            pthread_join(ranks[group][i].thread, NULL);
    for (int group = 0; group < turn.groups; group++)
        for (int i = 0; i < turn.ranks; i++)
            if (ranks[group][i].wrong[0])
                fail_msg("seed %u (CJACCL_THREADS_SEED=%u "
                         "CJACCL_THREADS_RUNS=1): group %d, rank %d: %s",
                         turn.seed, turn.seed, group, i, ranks[group][i].wrong);
    for (int i = 0; i < turn.ranks; i++)
        assert_int_equal(vf_machine_leaks(world, i), 0);
}

static unsigned number(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);
    return text && *text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static void threads_get_what_a_loop_would(void **state)
{
    unsigned seed = number("CJACCL_THREADS_SEED", 1);
    unsigned last = seed + number("CJACCL_THREADS_RUNS", 40);
    (void)state;
    for (int i = 0; i < GROUPS_MAX; i++) {
        pthread_mutex_init(&gatherings[i].mutex, NULL);
        pthread_cond_init(&gatherings[i].changed, NULL);
    }
    for (; seed < last; seed++) {
        choose(seed);
        build_world();
        begin();
        end();
    }
    vf_world_install(NULL);
    vf_world_destroy(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_get_what_a_loop_would),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
