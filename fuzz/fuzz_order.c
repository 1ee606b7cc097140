/*
 * fuzz_order: the same few scenarios in every order of their ranks' steps.
 *
 *   fuzz_order-SUBJECT [libFuzzer's options] [CORPUS...]
 *
 * An input is a scenario, and only its order is ever changed: `order bytes`,
 * whose bytes say at each step which rank goes next and how many calls it makes
 * then (sim/schedule.c). The scenarios are those of the corpus, and a dozen
 * that are listed here: starts and operations of two to four ranks, in meshes
 * and rings, with nothing wrong or with one thing: a rank that dies in its
 * start or in an operation, a cable that goes, a connection that closes, a
 * completion that comes late or not at all. Whatever the order, each subject's
 * promises hold. So a finding is a scenario, which repeats it anywhere.
 * scenario_target.h says the rest.
 */
#include "scenario_target.h"

#include <string.h>

#define COUNT(table) ((uint32_t)(sizeof(table) / sizeof((table)[0])))

static const char *const scenarios[] = {
    "run init\nrun all_sum float32 1024\nrun barrier\nrun finalize\n",
    "ranks 3 mesh\nrun init\nrun all_gather int8 3000\nrun all_max int32 7\n",
    "ranks 4 mesh\nrun init\nrun all_sum float32 64\nrun barrier\n",
    "ranks 3 ring\nrun init\nrun all_sum float32 5000\nrun all_gather int8 9\n",
    "ranks 4 ring\nrun init\nrun sum_scatter float32 100\nrun barrier\n",
    "ranks 2 ring 2\nrun init\nrun all_sum float32 9000\n",
    "ranks 3 mesh\nrun init\nrun send int8 5000 0 2\nrun send int8 9 2 1\n"
    "run send int8 700 1 0\nrun barrier\n",
    "run init\nrun init\nrun all_sum int32 8\nrun finalize\n"
    "run all_sum int8 8\nrun finalize\nrun init\nrun barrier\n",
    "profile rxe\nranks 3 mesh\nrun init\nrun all_sum float32 3000\n"
    "run barrier\n",
    "profile rxe\nranks 3 ring\nrun init\nrun all_gather float32 700\n",
    "ranks 3 mesh\nfault 1 modify_qp 4 exit\nrun init\n",
    "ranks 3 ring\nfault 2 create_qp 1 hang\nrun init\n",
    "ranks 3 mesh\nfault 0 reg_mr 1 null ENOMEM\nrun init\nrun init\n",
    "fault 0 post_send 2 exit\nrun init\nrun all_sum float32 9000\n"
    "run barrier\n",
    "ranks 3 ring\nfault 1 post_recv 6 unplug\nrun init\n"
    "run all_sum float32 9000\n",
    "ranks 3 mesh\nfault 1 completion 3 status REM_OP_ERR\nrun init\n"
    "run all_sum float32 3000\nrun barrier\n",
    "fault 1 completion 2 delay 50\nrun init\nrun all_sum float32 3000\n"
    "run barrier\n",
    "ranks 3 mesh\nfault 2 completion 2 drop\nrun init\nrun barrier\n"
    "run barrier\n",
    "ranks 3 mesh\nchannel 1 close 40\nrun init\nrun init\nrun barrier\n",
    "ranks 4 mesh\nstray\nlate 2 300\nrun init\nrun all_sum int64 50\n",
    "ranks 3 mesh\nsetting * fallback sockets\nfault 1 alloc_pd 1 null ENOMEM\n"
    "run init\nrun all_sum float32 3000\nrun barrier\n",
    "ranks 3 ring\nsetting * backend sockets\nrun init\n"
    "run all_sum float32 9000\nrun send int8 50 0 1\nrun barrier\n",
    "ranks 3 ring\nsetting * backend sockets\nchannel 1 close 5000\nrun init\n"
    "run all_sum float32 9000\nrun barrier\n",
};

static void start_with(struct scn *scenario, uint32_t which)
{
    struct scn_error error;

    if (scn_parse(scenario, scenarios[which], strlen(scenarios[which]),
                  &error) != 0)
        scenario->count = 0;
}

static struct scn_statement *order_of(struct scn *scenario)
{
    for (int i = 0; i < scenario->count; i++)
        if (scenario->statements[i].kind == SCN_ORDER)
            return &scenario->statements[i];
    return scn_add(scenario, SCN_ORDER);
}

static bool runs(const struct scn *scenario)
{
    for (int i = 0; i < scenario->count; i++)
        if (scenario->statements[i].kind == SCN_RUN)
            return true;
    return false;
}

bool target_mutate(struct scn *scenario, struct scn_random *random)
{
    struct scn_statement *order;

    if (!runs(scenario) || scn_random_below(random, 64) == 0)
        start_with(scenario, scn_random_below(random, COUNT(scenarios)));
    order = order_of(scenario);
    if (order)
        do
            scn_mutate_order(order, random);
        while (scn_random_below(random, 2) > 0);
    scn_canonical(scenario);
    return true;
}

/* The first part of its order, then the other's. */
bool target_cross(struct scn *result, const struct scn *one,
                  const struct scn *other, struct scn_random *random)
{
    static struct scn from;
    struct scn_statement *order, *last;
    int at;

    scn_copy(result, one);
    scn_copy(&from, other);
    order = order_of(result);
    last = order_of(&from);
    if (!order || !last)
        return true;
    at = (int)scn_random_below(random, (uint32_t)order->u.order.count + 1);
    order->u.order.seed = 0;
    order->u.order.count = at;
    for (int i = at; i < last->u.order.count; i++)
        order->u.order.bytes[order->u.order.count++] = last->u.order.bytes[i];
    scn_canonical(result);
    return true;
}

void target_shape(struct scn *scenario, struct scn_random *random)
{
    (void)scenario;
    (void)random;
}
