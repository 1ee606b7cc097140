/*
 * The straight way of posts and polls (front/quick.h) against the five steps.
 *
 * A random program of posts, polls, planned faults, errors and state changes on
 * two connected queue pairs runs twice in worlds that differ in nothing but a
 * step hook, which keeps every call on the steps. After each call all that can
 * be seen of it is written down: the answer, errno, the bad request, the
 * completions, both memories, the calls' numbers and records, the shadows of
 * the contract, what the hooks were told. The two accounts are the same, line
 * by line.
 *
 *   QUICK_SEED=n    runs only the program of that seed (a failure names it)
 *   QUICK_CASES=n   how many seeds, default 200 for each profile
 */
#include "pair_support.h"

#include "front/inline_verbs.h"
#include "front/quick.h"

#define CASES 200
#define STEPS 80
#define ROOM 8192 /* bytes of memory that a program uses */
#define DEPTH 4   /* of the queues, so that they are full now and then */

static uint64_t dice;

static uint32_t roll(uint32_t sides)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (uint32_t)(dice >> 32) % sides;
}

/* ---- the account ---- */

struct account {
    char *text;
    size_t used, room;
};

static struct account accounts[2], *account;
static unsigned refusals;

__attribute__((format(printf, 1, 2))) static void say(const char *form, ...)
{
    va_list values;
    int length;

    if (account->room - account->used < 2 * VF_LINE_MAX) {
        account->room = 2 * account->room + 4 * VF_LINE_MAX;
        account->text = realloc(account->text, account->room);
        assert_non_null(account->text);
    }
    va_start(values, form);
    length = vsnprintf(account->text + account->used,
                       account->room - account->used, form, values);
    va_end(values);
    assert_true(length >= 0 && length < 2 * VF_LINE_MAX);
    account->used += (size_t)length;
}

static void note_refusal(void *context, int machine, enum vf_verb verb,
                         unsigned nth, int err)
{
    (void)context;
    refusals++;
    say("refused: r%d %d #%u %d\n", machine, (int)verb, nth, err);
}

static unsigned sum(const unsigned char *bytes)
{
    unsigned total = 0;

    for (int i = 0; i < ROOM; i++)
        total = total * 31 + bytes[i];
    return total;
}

static void say_queue(const char *name, const struct vf_posted_queue *queue)
{
    say(" %s %u:", name, queue->slots);
    for (const struct vf_posted *at = queue->first; at; at = at->next)
        say(" %llu/%u/%d/%d", (unsigned long long)at->wr_id, at->slots,
            at->regions, at->signaled);
}

static const struct vf_object *known(const void *handle)
{
    return vf_registry_find(&stage.world->registry, handle);
}

static void say_shadows(const struct host *host)
{
    const struct vf_object *qp = known(host->qp);
    const struct vf_object *cq = known(host->cq);

    say_queue("send", &qp->shadow.qp.send);
    say_queue("recv", &qp->shadow.qp.recv);
    say(" state %d held %u overflow %d named %u\n", qp->shadow.qp.state,
        cq->shadow.cq.held, cq->shadow.cq.overflow,
        known(host->mr)->shadow.mr.posted);
}

static void say_machine(const struct host *host)
{
    const struct vf_world *world = stage.world;
    char line[VF_LINE_MAX] = "";
    unsigned n = VF_HISTORY;

    while (n > 0 &&
           !vf_machine_history(world, host->machine, --n, line, sizeof(line)))
        continue;
    say(" %s\n calls %u/%u/%u of %u told %u hit %u inside %d bytes %u\n", line,
        vf_machine_calls(world, host->machine, VF_VERB_post_send),
        vf_machine_calls(world, host->machine, VF_VERB_post_recv),
        vf_machine_calls(world, host->machine, VF_VERB_poll_cq),
        vf_machine_all_calls(world, host->machine),
        vf_machine_told(world, host->machine),
        vf_machine_faults_hit(world, host->machine),
        (int)vf_machine_inside(world, host->machine), sum(host->memory));
    say_shadows(host);
}

static void say_all(void)
{
    say_machine(&a);
    say_machine(&b);
    say(" empties %u refusals %u\n", stage.empties, refusals);
    for (int i = 0; i < stage.finding_count; i++)
        say(" %s: %s\n", stage.findings[i].title, stage.findings[i].detail);
    stage.finding_count = 0;
}

/* ---- a device that says no ---- */

static bool refuses, tells_bad;

static int refuse_send(struct vf_object *qp, struct ibv_send_wr *wr,
                       struct ibv_send_wr **bad)
{
    if (!refuses)
        return vf_mock_provider.post_send(qp, wr, bad);
    *bad = tells_bad ? wr : NULL;
    return ENOSPC;
}

static int refuse_recv(struct vf_object *qp, struct ibv_recv_wr *wr,
                       struct ibv_recv_wr **bad)
{
    if (!refuses)
        return vf_mock_provider.post_recv(qp, wr, bad);
    *bad = tells_bad ? wr : NULL;
    return ENOSPC;
}

static void let_refuse(bool on)
{
    static struct vf_provider_ops refuser;

    refuser = vf_mock_provider;
    refuser.post_send = refuse_send;
    refuser.post_recv = refuse_recv;
    refuses = false;
    stage.world->provider = on ? &refuser : &vf_mock_provider;
}

/* ---- the program ---- */

/* Mostly a good one. */
static struct ibv_sge roll_entry(const struct host *host)
{
    static const uint32_t lengths[] = {0, 1, 8, 64, 64, 65, 200, 4096, 5000};
    struct ibv_sge sge = {
        .length = lengths[roll(sizeof(lengths) / sizeof(lengths[0]))],
        .lkey = host->mr->lkey,
    };
    uint32_t at = roll(ROOM - sge.length);

    sge.addr = (uintptr_t)host->memory + at;
    if (roll(20) == 0)
        sge.lkey += 256 * (1 + roll(3));
    if (roll(30) == 0)
        sge.addr = (uintptr_t)host->memory + MEMORY - roll(100);
    return sge;
}

/* How many entries; the usual is one. */
static int roll_count(void)
{
    static const int counts[] = {1, 1, 1, 1, 1, 1, 0, 2, 3, -1};

    return counts[roll(10)];
}

static void post(struct host *host, uint64_t id)
{
    static const enum ibv_wr_opcode opcodes[] = {
        IBV_WR_SEND, IBV_WR_SEND,          IBV_WR_SEND,
        IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE};
    struct host *peer = host == &a ? &b : &a;
    struct ibv_sge sge[2][3];
    struct ibv_send_wr wr[2] = {{0}}, *bad = NULL;
    int count = roll(6) == 0 ? 2 : 1;
    int answer;

    for (int i = 0; i < count; i++) {
        bool inlined = roll(3) == 0;

        for (int k = 0; k < 3; k++)
            sge[i][k] = roll_entry(host);
        for (int k = 0; k < 3 && inlined; k++) /* it is read, wherever it is */
            sge[i][k].addr = (uintptr_t)host->memory + roll(ROOM);
        wr[i].wr_id = id + (uint64_t)i;
        wr[i].sg_list = roll(40) ? sge[i] : NULL;
        wr[i].num_sge = wr[i].sg_list ? roll_count() : 0;
        wr[i].opcode = opcodes[roll(6)];
        wr[i].imm_data = roll(UINT32_MAX);
        wr[i].send_flags = roll(3) ? IBV_SEND_SIGNALED : 0;
        wr[i].send_flags |= inlined ? IBV_SEND_INLINE : 0;
        wr[i].send_flags |= roll(5) ? 0 : IBV_SEND_SOLICITED;
        wr[i].wr.rdma.remote_addr = (uintptr_t)peer->memory;
        wr[i].wr.rdma.rkey = peer->mr->rkey;
    }
    wr[0].next = count > 1 ? &wr[1] : NULL;
    errno = 0;
    answer = ibv_post_send(host->qp, wr, roll(20) ? &bad : NULL);
    say("send %d = %d, errno %d, bad %d\n", host->machine, answer, errno,
        bad ? (int)(bad - wr) : -1);
}

static void receive(struct host *host, uint64_t id)
{
    struct ibv_sge sge[2][3];
    struct ibv_recv_wr wr[2] = {{0}}, *bad = NULL;
    int count = roll(6) == 0 ? 2 : 1;
    int answer;

    for (int i = 0; i < count; i++) {
        for (int k = 0; k < 3; k++)
            sge[i][k] = roll_entry(host);
        wr[i].wr_id = id + (uint64_t)i;
        wr[i].sg_list = roll(40) ? sge[i] : NULL;
        wr[i].num_sge = wr[i].sg_list ? roll_count() : 0;
    }
    wr[0].next = count > 1 ? &wr[1] : NULL;
    errno = 0;
    answer = ibv_post_recv(host->qp, wr, roll(20) ? &bad : NULL);
    say("receive %d = %d, errno %d, bad %d\n", host->machine, answer, errno,
        bad ? (int)(bad - wr) : -1);
}

static void reap(struct host *host)
{
    struct ibv_wc wc[4];
    int room = (int)roll(6) - 1; /* also none, and less */
    int found;

    errno = 0;
    found = ibv_poll_cq(host->cq, room, wc);
    say("poll %d of %d = %d, errno %d\n", host->machine, room, found, errno);
    for (int i = 0; i < found && i < 4; i++)
        say(" %llu %d %d %u %u %x\n", (unsigned long long)wc[i].wr_id,
            (int)wc[i].status,
            wc[i].status == IBV_WC_SUCCESS ? (int)wc[i].opcode : -1,
            wc[i].byte_len, wc[i].wc_flags,
            wc[i].wc_flags & IBV_WC_WITH_IMM ? wc[i].imm_data : 0);
}

static void change_plan(const struct host *host)
{
    static const enum vf_verb verbs[] = {VF_VERB_post_send, VF_VERB_post_recv,
                                         VF_VERB_poll_cq};
    enum vf_verb verb = verbs[roll(3)];
    unsigned next = vf_machine_calls(stage.world, host->machine, verb) + 1;

    if (roll(3) == 0)
        vf_machine_clear_plan(stage.world, host->machine);
    else if (verb == VF_VERB_poll_cq)
        plan(host->machine, verb, next + roll(4), false, VF_EFFECT_RETURN, -1);
    else
        plan(host->machine, verb, next + roll(4), false, VF_EFFECT_ERRNO,
             ENOMEM);
    say("plan %d\n", host->machine);
}

static void to_errors(struct host *host)
{
    say("to ERR %d = %d\n", host->machine, to_state(host->qp, IBV_QPS_ERR));
}

static void step(uint64_t id)
{
    struct host *host = roll(2) ? &a : &b;
    uint32_t what = roll(100);

    refuses = roll(12) == 0;
    tells_bad = roll(2) == 0;
    if (what < 35)
        post(host, id);
    else if (what < 65)
        receive(host, id);
    else if (what < 92)
        reap(host);
    else if (what < 95)
        change_plan(host);
    else if (what < 98)
        stage.memory_dead = !stage.memory_dead;
    else if (what == 98 && roll(4) == 0)
        to_errors(host);
    else if (what == 99 && roll(4) == 0)
        vf_device_unplug(stage.world, host->machine, "rdma_en2");
    say_all();
}

/* steps: the calls take the five steps, whatever they are. */
static void in_threads(bool steps)
{
    struct vf_hooks *hooks = &stage.world->hooks;

    hooks->threads = true;
    hooks->trace = NULL;
    hooks->step = steps ? stage_step : NULL;
    hooks->empty = stage_empty;
    hooks->refused = note_refusal;
}

static void run(void **state, uint64_t seed, bool steps)
{
    struct pair pair = usual;

    dice = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    account = &accounts[steps];
    account->used = 0;
    refusals = 0;
    pair.type = roll(2) ? IBV_QPT_RC : IBV_QPT_UC;
    pair.send_depth = pair.recv_depth = DEPTH;
    pair.sge = 2;
    pair.all_signaled = roll(3) == 0;
    pair_open(state, &pair);
    paint(a.memory, ROOM, 1);
    paint(b.memory, ROOM, 2);
    in_threads(steps);
    let_refuse(true);
    for (unsigned i = 0; i < STEPS; i++)
        step(10 * (uint64_t)i);
    let_refuse(false);
    pair_close();
}

/* The line that differs first. */
static void compare(uint64_t seed)
{
    const char *one = accounts[0].text, *other = accounts[1].text;
    const char *line = one;

    if (strcmp(one, other) == 0)
        return;
    while (*one == *other)
        if (*one++ == *other++ && one[-1] == '\n')
            line = one;
    fail_msg("straight: \"%.*s\", in steps: \"%.*s\"; repeat it with "
             "QUICK_SEED=%llu",
             (int)strcspn(line, "\n"), line,
             (int)strcspn(other - (one - line), "\n"), other - (one - line),
             (unsigned long long)seed);
}

static uint64_t number_from(const char *variable, uint64_t usual_one)
{
    const char *text = getenv(variable);

    return text ? strtoull(text, NULL, 10) : usual_one;
}

static void both_ways_come_to_the_same(void **state)
{
    uint64_t only = number_from("QUICK_SEED", 0);
    uint64_t first = only ? only : 1;
    uint64_t last = only ? only : number_from("QUICK_CASES", CASES);

    for (uint64_t seed = first; seed <= last; seed++) {
        run(state, seed, false);
        run(state, seed, true);
        compare(seed);
    }
}

/* ---- when it is taken ---- */

/* Does a plain post of either kind go straight, and a poll? */
static void expect_straight(bool send_too, bool recv_too, bool poll_too)
{
    struct ibv_sge sge = {(uintptr_t)a.memory, 8, a.mr->lkey};
    struct ibv_send_wr wr = {
        .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
    struct ibv_recv_wr rr = {.sg_list = &sge, .num_sge = 1};
    struct ibv_send_wr *bad_send;
    struct ibv_recv_wr *bad_recv;
    unsigned calls = vf_machine_all_calls(stage.world, 0);
    struct ibv_wc wc;
    int answer = -1;

    assert_int_equal(vf_quick_post_recv(a.qp, &rr, &bad_recv, &answer),
                     recv_too);
    assert_int_equal(vf_quick_post_send(a.qp, &wr, &bad_send, &answer),
                     send_too);
    assert_int_equal(vf_quick_poll_cq(a.cq, 1, &wc, &answer), poll_too);
    assert_int_equal(vf_machine_all_calls(stage.world, 0) - calls,
                     send_too + recv_too + poll_too);
}

static void straight_only_when_nobody_asks(void **state)
{
    static unsigned char coverage[VF_COVERAGE_SIZE];
    struct vf_hooks *hooks = &stage.world->hooks;

    pair_open(state, &usual);
    expect_straight(false, false, false); /* a simulated rank */
    in_threads(false);
    expect_straight(true, true, true);
    hooks->step = stage_step;
    expect_straight(false, false, false);
    hooks->step = NULL;
    hooks->trace = stage_trace;
    expect_straight(false, false, false);
    hooks->trace = NULL;
    hooks->unchecked = true;
    expect_straight(false, false, false);
    hooks->unchecked = false;
    vf_coverage = coverage;
    expect_straight(false, false, false);
    vf_coverage = NULL;
    expect_straight(true, true, true);
    vf_world_install(NULL);
    expect_straight(false, false, false);
    vf_world_install(stage.world);
    pair_close();
}

static void a_plan_ends_it_for_its_verb(void **state)
{
    pair_open(state, &usual);
    in_threads(false);
    account = &accounts[0];
    expect_straight(true, true, true);
    plan(0, VF_VERB_post_send, 3, false, VF_EFFECT_ERRNO, ENOMEM);
    expect_straight(false, true, true);
    assert_int_equal(post_send(&a, 1, 0, 8), 0); /* the second */
    assert_int_equal(post_send(&a, 1, 0, 8), ENOMEM);
    assert_int_equal(vf_machine_faults_hit(stage.world, 0), 1);
    vf_machine_clear_plan(stage.world, 0);
    plan(0, VF_VERB_poll_cq, 90, false, VF_EFFECT_RETURN, -1);
    expect_straight(true, true, false);
    pair_close();
}

/* What the contract may have a say about is left to it. */
static void nothing_wrong_goes_straight(void **state)
{
    struct vf_object *cq;

    pair_make(state, &usual);
    in_threads(false);
    expect_straight(false, false, true); /* RESET */
    pair_connect(&usual);
    stage.memory_dead = true;
    expect_straight(false, false, true);
    stage.memory_dead = false;
    cq = vf_registry_find(&stage.world->registry, a.cq);
    cq->shadow.cq.overflow = true;
    expect_straight(true, true, false);
    cq->shadow.cq.overflow = false;
    vf_device_unplug(stage.world, 0, "rdma_en2");
    expect_straight(false, false, true);
    pair_close();
}

/* ---- handles ---- */

/* The title of the fatal finding that the call makes; the world is left as the
 * hook left the call: locked. */
static const char *fatal(void (*call)(void *handle), void *handle)
{
    stage.finding_count = 0;
    stage.jumps = true;
    if (setjmp(stage.out) == 0) {
        call(handle);
        stage.jumps = false;
        fail_msg("no finding");
    }
    stage.jumps = false;
    vf_world_unlock(stage.world);
    assert_int_equal(stage.finding_count, 1);
    stage.finding_count = 0;
    return stage.findings[0].title;
}

static struct ibv_send_wr nothing_to_send = {.opcode = IBV_WR_SEND};
static struct ibv_recv_wr nothing_to_receive;

static void send_on(void *handle)
{
    struct ibv_send_wr *bad;

    vf_post_send(handle, &nothing_to_send, &bad);
}

static void receive_on(void *handle)
{
    struct ibv_recv_wr *bad;

    vf_post_recv(handle, &nothing_to_receive, &bad);
}

static void poll_on(void *handle)
{
    struct ibv_wc wc;

    vf_poll_cq(handle, 1, &wc);
}

static void refused_alike(void (*call)(void *handle), void *handle,
                          const char *title)
{
    for (int steps = 0; steps < 2; steps++) {
        in_threads(steps);
        assert_string_equal(fatal(call, handle), title);
    }
}

static void bad_handles_are_named(void **state)
{
    static uint64_t foreign[64];
    struct ibv_qp *qp;
    struct ibv_cq *cq;

    pair_open(state, &usual);
    account = &accounts[0];
    refused_alike(send_on, NULL, "null-qp in post_send");
    refused_alike(receive_on, NULL, "null-qp in post_recv");
    refused_alike(poll_on, NULL, "null-cq in poll_cq");
    refused_alike(send_on, foreign, "foreign-qp in post_send");
    refused_alike(receive_on, foreign, "foreign-qp in post_recv");
    refused_alike(poll_on, foreign, "foreign-cq in poll_cq");
    refused_alike(send_on, a.cq, "cq-not-qp in post_send");
    refused_alike(poll_on, a.qp, "qp-not-cq in poll_cq");
    qp = pair_qp(&a, &usual, NULL);
    cq = ibv_create_cq(a.context, 4, NULL, NULL, 0);
    assert_int_equal(ibv_destroy_qp(qp), 0);
    assert_int_equal(ibv_destroy_cq(cq), 0);
    refused_alike(send_on, qp, "freed-qp in post_send");
    refused_alike(receive_on, qp, "freed-qp in post_recv");
    refused_alike(poll_on, cq, "freed-cq in poll_cq");
    in_threads(false);
    assert_int_equal(ibv_close_device(a.context), 0);
    stage.finding_count = 0;
    refused_alike(send_on, a.qp, "freed-context in post_send");
    pair_close();
}

static int tear_down(void **state)
{
    for (int i = 0; i < 2; i++)
        free(accounts[i].text);
    return stage_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(both_ways_come_to_the_same),  EACH(straight_only_when_nobody_asks),
        EACH(a_plan_ends_it_for_its_verb), EACH(nothing_wrong_goes_straight),
        EACH(bad_handles_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, tear_down);
}
