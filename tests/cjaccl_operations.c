/*
 * Every operation of a mesh, on each of the wires, over fake devices: exact for
 * every type, around every border of sizes, in place and not, and one after the
 * other.
 *
 * The wires: Thunderbolt's (frames), one of a device that loses what comes too
 * early (credits), one of a group that has both (whole), and JACCL's: there
 * each rank is made to think that all the others are JACCL.
 */
#include "cjaccl_ranks.h"
#include "thinned.h"

#include "cjaccl/src/reduce.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum wire { FRAMES, CREDITS, WHOLE, JACCL, WIRES };
static const char *const wire_names[] = {"frames", "credits", "whole", "jaccl"};

enum operation { SUM, MAX, MIN, GATHER, SCATTER, MOVE, BARRIER, OPERATIONS };
static const char *const operation_names[] = {
    "all_sum",     "all_max",       "all_min", "all_gather",
    "sum_scatter", "send and recv", "barrier"};

static struct ranks ranks;
static enum wire wire;

static struct {
    enum operation operation;
    enum cj_type type;
    size_t count;
    bool in_place;
} plan;
static bool wrong[CJ_MAX_MESH_RANKS];

/* ---- a side channel that makes JACCL of the others ----------------------- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned char blocks[CJ_MAX_MESH_RANKS][4096];
    int came;
    unsigned turn;
} room = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .changed = PTHREAD_COND_INITIALIZER};

/* All meet: the last one opens the door. */
static void meet(void)
{
    unsigned turn = room.turn;

    room.came++;
    if (room.came == ranks.size) {
        room.came = 0;
        room.turn++;
        (void)pthread_cond_broadcast(&room.changed);
    }
    while (turn == room.turn)
        (void)pthread_cond_wait(&room.changed, &room.lock);
}

/* JACCL leaves its own place in the vector alone, and says 0 when it meets. */
static void disguise(unsigned char *block, int rank, size_t bytes)
{
    int32_t word;

    if (bytes == (size_t)ranks.size * 32)
        memset(block + rank * 32, 0, 32);
    if (bytes != sizeof word)
        return;
    memcpy(&word, block, sizeof word);
    if (word < 0 || word > CJ_MAX_RANKS)
        memset(block, 0, sizeof word);
}

static int gather(void *ctx, const void *mine, void *all, size_t bytes)
{
    const struct rank *self = ctx;

    (void)pthread_mutex_lock(&room.lock);
    memcpy(room.blocks[self->number], mine, bytes);
    meet();
    for (int i = 0; i < ranks.size; i++) {
        unsigned char *block = (unsigned char *)all + (size_t)i * bytes;

        memcpy(block, room.blocks[i], bytes);
        if (i != self->number)
            disguise(block, i, bytes);
    }
    meet();
    (void)pthread_mutex_unlock(&room.lock);
    return 0;
}

static void start(int size, enum wire of, int depth)
{
    static struct cj_gather hooks[CJ_MAX_MESH_RANKS];

    wire = of;
    ranks_init(&ranks, size);
    for (int i = 0; i < size; i++) {
        struct rank *rank = &ranks.rank[i];

        hooks[i] = (struct cj_gather){rank, gather};
        if (wire == JACCL)
            rank->config.gather = &hooks[i];
        rank->machine.drops = wire == CREDITS || wire == WHOLE;
        rank->machine.late_sends = depth != 0;
        if (wire == CREDITS || (wire == WHOLE && i == 0))
            rank->machine.transport = 0;
        if (depth != 0)
            rank->machine.depth = depth;
    }
    ranks_start(&ranks);
    for (int i = 0; i < size; i++) {
        if (ranks.rank[i].status != CJ_OK)
            fail_msg("%s: rank %d: %s", wire_names[wire], i,
                     ranks.rank[i].error.message);
    }
}

static void finish(void)
{
    for (int i = 0; i < ranks.size; i++)
        assert_int_equal(ranks.rank[i].machine.lost, 0);
    ranks_finish(&ranks);
    for (int i = 0; i < ranks.size; i++)
        assert_int_equal(ranks.rank[i].machine.alive, 0);
}

/* ---- the data --------------------------------------------------------------
 */

/* Element i of a rank: small, of both signs, and no two alike for long. */
static void set_element(unsigned char *at, enum cj_type type, size_t i,
                        int rank)
{
    int value = (int)((i * 7 + (size_t)rank * 13 + i / 4099) % 41) - 20;
    size_t size = cj_type_size(type);
    /* Not exact, so that the order of additions shows in the bits. */
    float real = (float)value * 0.1f + 0.01f;
    float pair[2] = {real, -2 * real};
    double wide = value * 0.1 + 0.01;
    int64_t whole = type == CJ_BOOL ? value > 14 : value;
    uint16_t bits = type == CJ_FLOAT16 ? cji_half_from_float(real)
                                       : cji_bfloat_from_float(real);

    if (type == CJ_FLOAT16 || type == CJ_BFLOAT16)
        memcpy(at, &bits, size);
    else if (type == CJ_FLOAT32 || type == CJ_COMPLEX64)
        memcpy(at, pair, size);
    else if (type == CJ_FLOAT64)
        memcpy(at, &wide, size);
    else
        /* Two's complement: a narrower integer is the lower bytes. */
        for (size_t b = 0; b < size; b++)
            at[b] = (unsigned char)((uint64_t)whole >> (8 * b));
}

static void set_all(unsigned char *data, size_t first, size_t count, int rank)
{
    for (size_t i = 0; i < count; i++)
        set_element(data + i * cj_type_size(plan.type), plan.type, first + i,
                    rank);
}

/* Elements first .. first + count - 1 of all ranks, combined in the order of
 * the ranks, but with `leader`'s first if that is one. */
static void set_combined(unsigned char *out, enum cji_reduction reduction,
                         size_t first, size_t count, int leader)
{
    size_t bytes = count * cj_type_size(plan.type);
    unsigned char *data = malloc(bytes + 1);
    int begin = leader < 0 ? 0 : leader;

    set_all(out, first, count, begin);
    for (int rank = 0; rank < ranks.size; rank++) {
        if (rank == begin)
            continue;
        set_all(data, first, count, rank);
        cji_reduce(reduction, plan.type, data, out, count);
    }
    free(data);
}

static void set_reduced(unsigned char *out, enum cji_reduction reduction)
{
    size_t element = cj_type_size(plan.type);
    size_t part = plan.count / (size_t)ranks.size;
    size_t divided = part * (size_t)ranks.size;

    set_combined(out, reduction, 0, plan.count, -1);
    /* JACCL's order in the parts of a large one. */
    if (wire != JACCL || ranks.size == 2 || plan.count * element <= 32768)
        return;
    for (int rank = 0; rank < ranks.size; rank++)
        set_combined(out + (size_t)rank * part * element, reduction,
                     (size_t)rank * part, part, rank);
    set_combined(out + divided * element, reduction, divided,
                 plan.count - divided, -1);
}

/* ---- the operations ---------------------------------------------------------
 */

#define GUARD 0x77

static void expect(const struct rank *rank, const unsigned char *out,
                   const unsigned char *expected, size_t bytes)
{
    if (rank->status == CJ_OK &&
        (memcmp(out, expected, bytes) != 0 || out[bytes] != GUARD))
        wrong[rank->number] = true;
}

static void reduce(struct rank *rank)
{
    static int (*const calls[])(struct cj_group *, const void *, void *, size_t,
                                enum cj_type, struct cj_error *) = {
        cj_all_sum, cj_all_max, cj_all_min};
    static const enum cji_reduction reductions[] = {CJI_SUM, CJI_MAX, CJI_MIN};
    size_t bytes = plan.count * cj_type_size(plan.type);
    unsigned char *in = malloc(bytes + 1);
    unsigned char *out = plan.in_place ? in : malloc(bytes + 1);
    unsigned char *expected = malloc(bytes + 1);

    set_reduced(expected, reductions[plan.operation]);
    set_all(in, 0, plan.count, rank->number);
    out[bytes] = GUARD;
    rank->status = calls[plan.operation](rank->group, in, out, plan.count,
                                         plan.type, &rank->error);
    expect(rank, out, expected, bytes);
    free(expected);
    if (!plan.in_place)
        free(out);
    free(in);
}

static void gather_all(struct rank *rank)
{
    size_t bytes = plan.count * cj_type_size(plan.type);
    size_t size = (size_t)rank->all->size;
    unsigned char *in = malloc(bytes + 1);
    unsigned char *out = malloc(size * bytes + 1);
    unsigned char *expected = malloc(size * bytes + 1);
    unsigned char *place = out + (size_t)rank->number * bytes;

    memset(out, 0, size * bytes);
    for (int i = 0; i < rank->all->size; i++)
        set_all(expected + (size_t)i * bytes, 0, plan.count, i);
    set_all(plan.in_place ? place : in, 0, plan.count, rank->number);
    out[size * bytes] = GUARD;
    rank->status = cj_all_gather(rank->group, plan.in_place ? place : in, out,
                                 bytes, &rank->error);
    expect(rank, out, expected, size * bytes);
    free(expected);
    free(out);
    free(in);
}

/* In place: the output is the first part of the input, or one's own. */
static void scatter(struct rank *rank)
{
    size_t bytes = plan.count * cj_type_size(plan.type);
    size_t size = (size_t)rank->all->size;
    bool first = plan.in_place && rank->number % 2 == 0;
    unsigned char *in = malloc(size * bytes + 1);
    unsigned char *out = malloc(bytes + 1);
    unsigned char *expected = malloc(bytes + 1);
    unsigned char *to = out;

    out[bytes] = GUARD;
    set_combined(expected, CJI_SUM, (size_t)rank->number * plan.count,
                 plan.count, wire == JACCL ? rank->number : -1);
    set_all(in, 0, size * plan.count, rank->number);
    if (plan.in_place)
        to = first ? in : in + (size_t)rank->number * bytes;
    rank->status = cj_sum_scatter(rank->group, in, to, plan.count, plan.type,
                                  &rank->error);
    memmove(out, to, bytes);
    expect(rank, out, expected, bytes);
    free(expected);
    free(out);
    free(in);
}

/* Everyone sends to the next rank, and the last one to the first. */
static void move(struct rank *rank)
{
    size_t bytes = plan.count * cj_type_size(plan.type);
    int size = rank->all->size;
    int next = (rank->number + 1) % size;
    int before = (rank->number + size - 1) % size;
    unsigned char *in = malloc(bytes + 1);
    unsigned char *out = malloc(bytes + 1);
    unsigned char *expected = malloc(bytes + 1);

    set_all(in, 0, plan.count, rank->number);
    set_all(expected, 0, plan.count, before);
    out[bytes] = GUARD;
    for (int i = 0; i < 2; i++) {
        if ((i == 0) == (rank->number % 2 == 0) && next != 0)
            rank->status = cj_send(rank->group, in, bytes, next, &rank->error);
        else if ((i == 0) != (rank->number % 2 == 0) && rank->number != 0)
            rank->status =
                cj_recv(rank->group, out, bytes, before, &rank->error);
        if (rank->status != CJ_OK)
            break;
    }
    /* The ring is closed by itself, so that nobody waits in a circle. */
    if (rank->status == CJ_OK && next == 0)
        rank->status = cj_send(rank->group, in, bytes, next, &rank->error);
    if (rank->status == CJ_OK && rank->number == 0)
        rank->status = cj_recv(rank->group, out, bytes, before, &rank->error);
    expect(rank, out, expected, bytes);
    free(expected);
    free(out);
    free(in);
}

static void do_it(struct rank *rank)
{
    wrong[rank->number] = false;
    rank->status = CJ_OK;
    if (plan.operation <= MIN)
        reduce(rank);
    else if (plan.operation == GATHER)
        gather_all(rank);
    else if (plan.operation == SCATTER)
        scatter(rank);
    else if (plan.operation == MOVE)
        move(rank);
    else
        rank->status = cj_barrier(rank->group, &rank->error);
}

static void run(enum operation operation, enum cj_type type, size_t count,
                bool in_place)
{
    plan.operation = operation;
    plan.type = type;
    plan.count = count;
    plan.in_place = in_place;
    ranks_run(&ranks, do_it);
    for (int i = 0; i < ranks.size; i++) {
        if (ranks.rank[i].status == CJ_OK && !wrong[i])
            continue;
        fail_msg("%s, %d ranks, %s of %zu of type %d%s, rank %d: %s",
                 wire_names[wire], ranks.size, operation_names[operation],
                 count, (int)type, in_place ? " in place" : "", i,
                 wrong[i] ? "wrong data" : ranks.rank[i].error.message);
    }
}

/* ---- the promises
 * ------------------------------------------------------------ */

/* Bytes, around frames, classes, messages, the two algorithms. */
static const size_t sizes[] = {0,     1,      4095,   4096,   4097,
                               32767, 32768,  32769,  65535,  65536,
                               65537, 131073, 262144, 458757, 1048577};
#define SIZES (sizeof sizes / sizeof *sizes)

static void all_operations_are_exact_for_all_sizes(void **state)
{
    (void)state;
    for (int w = 0; w < WIRES; w++) {
        for (int size = 2; size <= 4; size++) {
            start(size, (enum wire)w, 0);
            for (int operation = 0; operation < OPERATIONS; operation++) {
                for (size_t i = size == 4 ? 1 : 0; i < SIZES;
                     i += size == 4 ? 3 : 1) {
                    if (is_left_out((size_t)w, (size_t)operation, i))
                        continue;
                    if (i % 2 == 0 || size == 3)
                        run((enum operation)operation, CJ_UINT8, sizes[i],
                            i % 4 == 0);
                    if (i % 2 == 1 || size == 3)
                        run((enum operation)operation, CJ_FLOAT32, sizes[i] / 4,
                            i % 4 == 1);
                }
            }
            finish();
        }
    }
}

static void all_operations_are_exact_for_all_types(void **state)
{
    (void)state;
    for (int w = 0; w < WIRES; w++) {
        for (int size = 2; size <= 3; size++) {
            start(size, (enum wire)w, 0);
            for (int operation = 0; operation <= MOVE; operation++) {
                for (int type = 0; type < CJ_TYPE_COUNT; type++) {
                    if (is_left_out((size_t)w, (size_t)operation, (size_t)type))
                        continue;
                    run((enum operation)operation, (enum cj_type)type, 1, true);
                    run((enum operation)operation, (enum cj_type)type, 20011,
                        false);
                    run((enum operation)operation, (enum cj_type)type, 20011,
                        true);
                }
            }
            finish();
        }
    }
}

/* With 8 ranks, too, and queues that hold hardly anything. */
static void shallow_queues_and_many_ranks(void **state)
{
    static const int depths[WIRES][2] = {
        {17, 40}, {2, 3}, {34, 60}, {128, 255}};

    (void)state;
    for (int w = 0; w < WIRES; w++) {
        for (int i = 0; i < 3; i++) {
            start(i < 2 ? 2 + i : 8, (enum wire)w, depths[w][i % 2]);
            for (int operation = 0; operation < OPERATIONS; operation++) {
                run((enum operation)operation, CJ_FLOAT32,
                    i < 2 ? 200003 : 50003, i % 2 == 0);
                run((enum operation)operation, CJ_FLOAT32, 3, i % 2 == 1);
            }
            finish();
        }
    }
}

/* One way only, many times, without anything that goes back. */
static void stream(struct rank *rank)
{
    unsigned char *data = malloc(100000);

    rank->status = CJ_OK;
    for (size_t i = 0; i < 120 && rank->status == CJ_OK; i++) {
        size_t bytes = i % 3 == 0 ? 100000 : i;

        memset(data, rank->number == 0 ? (int)(i % 251) : 0, 100000);
        if (rank->number == 0)
            rank->status = cj_send(rank->group, data, bytes, 1, &rank->error);
        if (rank->number == 1)
            rank->status = cj_recv(rank->group, data, bytes, 0, &rank->error);
        for (size_t b = 0; b < bytes && rank->number == 1; b++)
            wrong[1] = wrong[1] || data[b] != i % 251;
    }
    free(data);
}

static void one_direction_alone_goes_on(void **state)
{
    (void)state;
    for (int w = 0; w < WIRES; w++) {
        for (int depth = 0; depth < 4; depth++) {
            static const int units[] = {17, 1, 17, 128};

            if (depth == 1 && (w == CREDITS || w == WHOLE))
                continue;
            start(2, (enum wire)w, depth * units[w]);
            wrong[1] = false;
            ranks_run(&ranks, stream);
            for (int i = 0; i < 2; i++) {
                if (ranks.rank[i].status != CJ_OK)
                    fail_msg("%s: %s", wire_names[w],
                             ranks.rank[i].error.message);
            }
            assert_false(wrong[1]);
            run(SUM, CJ_INT32, 50000, false);
            finish();
        }
    }
}

/* A10: operations of all kinds and sizes follow each other without a pause. */
static void medley(struct rank *rank)
{
    unsigned random = 12345;
    uint8_t *data = malloc(600000);
    uint8_t *out = malloc(600000);
    int size = rank->all->size;

    rank->status = CJ_OK;
    for (int i = 0; i < 100 && rank->status == CJ_OK; i++) {
        size_t bytes;
        uint8_t expected;

        random = random * 1103515245 + 12345;
        bytes = (random >> 8) % (i % 4 == 0 ? 140000 : 200) + 1;
        memset(data, i + rank->number, 600000);
        expected = (uint8_t)(size * i + size * (size - 1) / 2);
        switch (random >> 28 & 3) {
        case 0:
            rank->status = cj_all_sum(rank->group, data, out, bytes, CJ_UINT8,
                                      &rank->error);
            break;
        case 1:
            rank->status =
                cj_all_gather(rank->group, data, out, bytes, &rank->error);
            expected = (uint8_t)i;
            break;
        case 2:
            rank->status = cj_sum_scatter(rank->group, data, out, bytes,
                                          CJ_UINT8, &rank->error);
            break;
        default:
            rank->status = cj_barrier(rank->group, &rank->error);
            out[0] = out[bytes - 1] = expected;
        }
        wrong[rank->number] = wrong[rank->number] || out[0] != expected ||
                              out[bytes - 1] != expected;
    }
    free(out);
    free(data);
}

static void operations_follow_each_other(void **state)
{
    (void)state;
    for (int w = 0; w < WIRES; w++) {
        for (int size = 2; size <= 4; size++) {
            start(size, (enum wire)w, 0);
            for (int i = 0; i < size; i++)
                wrong[i] = false;
            ranks_run(&ranks, medley);
            for (int i = 0; i < size; i++) {
                if (ranks.rank[i].status != CJ_OK)
                    fail_msg("%s: %s", wire_names[w],
                             ranks.rank[i].error.message);
                assert_false(wrong[i]);
            }
            finish();
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_operations_are_exact_for_all_sizes),
        cmocka_unit_test(all_operations_are_exact_for_all_types),
        cmocka_unit_test(shallow_queues_and_many_ranks),
        cmocka_unit_test(one_direction_alone_goes_on),
        cmocka_unit_test(operations_follow_each_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
