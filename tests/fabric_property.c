/*
 * Random programs on two connected queue pairs against a model of what should
 * be in both memories.
 *
 * A program is a list of requests (SEND, WRITE, READ, atomics; several entries
 * of random sizes, bytes inline, unsignaled ones) posted by either end, singly
 * or in chains, with receives posted before or long after the sends that need
 * them. The model keeps its own copy of both memories and performs each request
 * when its turn comes: a queue pair's requests in their order, a SEND once
 * there is a receive. After every step the memories are the same, and so are
 * the completions of each end, field by field.
 *
 *   FABRIC_SEED=n    runs only the program of that seed (a failure names it)
 *   FABRIC_CASES=n   how many seeds, default 2000 for each profile
 */
#include "pair_support.h"

#define CASES 2000
#define STEPS 40
#define ROOM 2048 /* bytes of memory that a program uses */
#define MOST 64   /* requests of one queue */
#define ENTRIES 4

static uint64_t dice;
static uint64_t seed;
static const struct vf_profile *profile;

static uint32_t roll(uint32_t sides)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (uint32_t)(dice >> 32) % sides;
}

/* ---- the model ---- */

struct entry {
    uint32_t at, length;
};

struct request {
    struct ibv_wc wc; /* as it should complete */
    enum ibv_wr_opcode opcode;
    struct entry entry[ENTRIES];
    int entries;
    uint32_t length; /* of all entries */
    uint32_t remote;
    uint64_t compare_add, swap;
    uint32_t imm;
    bool signaled, inlined;
    unsigned char bytes[64]; /* of an inline one, as they were */
};

struct queue {
    struct request request[MOST];
    unsigned first, last;
    unsigned known; /* so many are known to be done: an unsignaled one is once
                       the completion of a later one was polled */
};

struct done {
    struct ibv_wc wc;
    struct queue *queue;
    unsigned known; /* of the queue, when it is polled */
};

struct end {
    struct host *host;
    unsigned char memory[ROOM];
    struct queue sends, receives;
    struct done done[4 * MOST]; /* what its completion queue should hold */
    unsigned done_first, done_last;
    uint64_t next_id;
};

static struct end ends[2];

static struct request *first_of(struct queue *queue)
{
    return queue->first == queue->last ? NULL
                                       : &queue->request[queue->first % MOST];
}

static bool is_full(const struct queue *queue, unsigned depth)
{
    return queue->last - queue->known >= depth;
}

static void finish(struct end *end, struct queue *queue,
                   const struct ibv_wc *wc)
{
    end->done[end->done_last++ % (4 * MOST)] =
        (struct done){.wc = *wc, .queue = queue, .known = queue->first};
}

static void gather(const struct end *end, const struct request *request,
                   unsigned char *bytes)
{
    if (request->inlined) {
        memcpy(bytes, request->bytes, request->length);
        return;
    }
    for (int i = 0; i < request->entries; i++) {
        memcpy(bytes, end->memory + request->entry[i].at,
               request->entry[i].length);
        bytes += request->entry[i].length;
    }
}

static void scatter(struct end *end, const struct request *request,
                    const unsigned char *bytes, uint32_t length)
{
    for (int i = 0; i < request->entries && length > 0; i++) {
        uint32_t part = request->entry[i].length;

        part = part < length ? part : length;
        memcpy(end->memory + request->entry[i].at, bytes, part);
        bytes += part;
        length -= part;
    }
}

static void change_word(struct end *end, struct end *peer,
                        const struct request *request)
{
    uint64_t was, is;

    memcpy(&was, peer->memory + request->remote, sizeof(was));
    is = was == request->compare_add ? request->swap : was;
    if (request->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
        is = was + request->compare_add;
    memcpy(peer->memory + request->remote, &is, sizeof(is));
    scatter(end, request, (unsigned char *)&was, sizeof(was));
}

static bool needs_receive(const struct request *request)
{
    return request->opcode == IBV_WR_SEND ||
           request->opcode == IBV_WR_SEND_WITH_IMM ||
           request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static void receive(struct end *peer, const struct request *request,
                    const unsigned char *bytes)
{
    struct request *receive = first_of(&peer->receives);
    struct ibv_wc wc = receive->wc;
    bool written = request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;

    wc.byte_len = request->length;
    wc.opcode = written ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
    wc.wc_flags = profile->recv_grh ? IBV_WC_GRH : 0;
    if (written || request->opcode == IBV_WR_SEND_WITH_IMM) {
        wc.wc_flags |= IBV_WC_WITH_IMM;
        wc.imm_data = htonl(request->imm);
    }
    if (!written)
        scatter(peer, receive, bytes, request->length);
    peer->receives.first++;
    finish(peer, &peer->receives, &wc);
}

/* The first request of an end; false: it waits, or there is none. */
static bool perform(struct end *end, struct end *peer)
{
    struct request *request = first_of(&end->sends);
    unsigned char bytes[ROOM];

    if (!request || (needs_receive(request) && !first_of(&peer->receives)))
        return false;
    switch (request->opcode) {
    case IBV_WR_RDMA_READ:
        memcpy(bytes, peer->memory + request->remote, request->length);
        scatter(end, request, bytes, request->length);
        break;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        change_word(end, peer, request);
        break;
    default:
        gather(end, request, bytes);
        if (request->opcode == IBV_WR_RDMA_WRITE ||
            request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
            memcpy(peer->memory + request->remote, bytes, request->length);
        if (needs_receive(request))
            receive(peer, request, bytes);
    }
    end->sends.first++;
    if (request->signaled)
        finish(end, &end->sends, &request->wc);
    return true;
}

/* ---- the program ---- */

/* Entries that do not overlap: each in a strip of its own. */
static void roll_entries(struct request *request, uint32_t most)
{
    uint32_t strip = ROOM / ENTRIES;

    request->entries = (int)roll(ENTRIES + 1);
    request->length = 0;
    for (int i = 0; i < request->entries; i++) {
        uint32_t length = roll(4) == 0 ? 0 : 1 + roll(most);

        request->entry[i].length = length;
        request->entry[i].at = (uint32_t)i * strip + roll(strip - length + 1);
        request->length += length;
    }
}

static void roll_atomic(struct end *peer, struct request *request)
{
    request->entries = 1;
    request->entry[0] = (struct entry){roll(ROOM - 8), 8};
    request->length = 8;
    request->remote = roll(ROOM / 8) * 8;
    request->compare_add = roll(2) ? roll(1000) : UINT64_MAX - roll(1000);
    request->swap = roll(1000);
    if (roll(2)) /* one that compares, if nothing changes until then */
        memcpy(&request->compare_add, peer->memory + request->remote, 8);
}

static enum ibv_wc_opcode completes_as(enum ibv_wr_opcode opcode)
{
    switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
        return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ:
        return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
        return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        return IBV_WC_FETCH_ADD;
    default:
        return IBV_WC_SEND;
    }
}

static void roll_send(struct end *end, struct end *peer,
                      struct request *request)
{
    static const enum ibv_wr_opcode opcodes[] = {IBV_WR_SEND,
                                                 IBV_WR_SEND_WITH_IMM,
                                                 IBV_WR_RDMA_WRITE,
                                                 IBV_WR_RDMA_WRITE_WITH_IMM,
                                                 IBV_WR_RDMA_READ,
                                                 IBV_WR_ATOMIC_CMP_AND_SWP,
                                                 IBV_WR_ATOMIC_FETCH_AND_ADD};

    memset(request, 0, sizeof(*request));
    request->opcode = opcodes[roll(7)];
    request->signaled = roll(3) > 0;
    request->imm = roll(UINT32_MAX);
    request->wc.wr_id = end->next_id++;
    request->wc.opcode = completes_as(request->opcode);
    if (profile->send_imm_flagged &&
        (request->opcode == IBV_WR_SEND_WITH_IMM ||
         request->opcode == IBV_WR_RDMA_WRITE_WITH_IMM))
        request->wc.wc_flags = IBV_WC_WITH_IMM;
    if (request->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
        request->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        roll_atomic(peer, request);
        request->wc.byte_len = 8;
        return;
    }
    /* Four entries are never more than a receive takes. */
    roll_entries(request, 100);
    request->remote = roll(ROOM - request->length);
    if (request->opcode == IBV_WR_RDMA_READ) {
        request->wc.byte_len = request->length;
    } else if (request->length <= 64 && roll(2)) {
        gather(end, request, request->bytes);
        request->inlined = true;
    }
}

static void roll_receive(struct end *end, struct request *request)
{
    memset(request, 0, sizeof(*request));
    request->wc.wr_id = end->next_id++;
    do
        roll_entries(request, 400);
    while (request->length < 400);
}

static void to_sges(const struct end *end, const struct request *request,
                    struct ibv_sge *sge)
{
    for (int i = 0; i < request->entries; i++)
        sge[i] = (struct ibv_sge){
            (uintptr_t)end->host->memory + request->entry[i].at,
            request->entry[i].length, end->host->mr->lkey};
}

static void to_wr(const struct end *end, const struct end *peer,
                  const struct request *request, struct ibv_sge *sge,
                  struct ibv_send_wr *wr)
{
    struct ask what = {
        .id = request->wc.wr_id,
        .opcode = request->opcode,
        .at = request->remote,
        .flags = request->inlined ? IBV_SEND_INLINE : 0,
        .unsignaled = !request->signaled,
        .other = request->imm,
        .compare_add = request->compare_add,
        .swap = request->swap,
    };

    to_sges(end, request, sge);
    *wr = ask_wr(peer->host, &what, sge);
    wr->num_sge = request->entries;
}

/* A chain of one to three. The model takes all of it before anything of it is
 * performed, as the device does. */
static void post_sends(struct end *end, struct end *peer)
{
    struct ibv_sge sge[3][ENTRIES];
    struct ibv_send_wr wr[3], *bad;
    unsigned count = 1 + roll(3);
    unsigned posted = 0;

    while (posted < count && !is_full(&end->sends, usual.send_depth)) {
        struct request *request = &end->sends.request[end->sends.last++ % MOST];

        roll_send(end, peer, request);
        to_wr(end, peer, request, sge[posted], &wr[posted]);
        if (posted > 0)
            wr[posted - 1].next = &wr[posted];
        posted++;
    }
    if (posted > 0)
        assert_int_equal(ibv_post_send(end->host->qp, wr, &bad), 0);
}

static void post_receives(struct end *end)
{
    struct ibv_sge sge[ENTRIES];
    struct ibv_recv_wr wr = {.sg_list = sge}, *bad;
    struct request *request;

    if (is_full(&end->receives, usual.recv_depth))
        return;
    request = &end->receives.request[end->receives.last++ % MOST];
    roll_receive(end, request);
    to_sges(end, request, sge);
    wr.wr_id = request->wc.wr_id;
    wr.num_sge = request->entries;
    assert_int_equal(ibv_post_recv(end->host->qp, &wr, &bad), 0);
}

/* ---- the comparison ---- */

static void check(bool right, const char *what, const struct end *end)
{
    if (!right)
        fail_msg("end %d: %s; repeat it with FABRIC_SEED=%llu",
                 (int)(end - ends), what, (unsigned long long)seed);
}

static void compare_completions(struct end *end)
{
    struct ibv_wc wc;

    while (ibv_poll_cq(end->host->cq, 1, &wc) == 1) {
        const struct done *done = &end->done[end->done_first % (4 * MOST)];
        const struct ibv_wc *wanted = &done->wc;

        check(end->done_first++ != end->done_last, "one completion too many",
              end);
        done->queue->known = done->known;
        check(wc.status == IBV_WC_SUCCESS, "a completion failed", end);
        check(wc.wr_id == wanted->wr_id, "another request completed", end);
        check(wc.opcode == wanted->opcode, "opcode", end);
        check(wc.byte_len == wanted->byte_len, "byte_len", end);
        check(wc.wc_flags == wanted->wc_flags, "wc_flags", end);
        check(wc.imm_data == wanted->imm_data, "imm_data", end);
        check(wc.qp_num == end->host->qp->qp_num, "qp_num", end);
    }
    check(end->done_first == end->done_last, "a completion is missing", end);
}

static void compare(void)
{
    for (int i = 0; i < 2; i++) {
        struct end *end = &ends[i];

        check(memcmp(end->memory, end->host->memory, ROOM) == 0,
              "other bytes are in its memory", end);
        check(end->host->memory[ROOM] == 0xaa, "it was written past", end);
        if (roll(3) == 0)
            compare_completions(end);
    }
}

static void step(void)
{
    int who = (int)roll(2);
    struct end *end = &ends[who];
    struct end *peer = &ends[!who];

    if (roll(2))
        post_sends(end, peer);
    else
        post_receives(end);
    /* A receive lets the peer's sends go, a send one's own. */
    while (perform(end, peer) || perform(peer, end))
        continue;
    compare();
}

static void start(int i, struct host *host)
{
    struct end *end = &ends[i];

    end->host = host;
    end->sends.first = end->sends.last = end->sends.known = 0;
    end->receives.first = end->receives.last = end->receives.known = 0;
    end->done_first = end->done_last = 0;
    end->next_id = 1000 * (uint64_t)(i + 1);
    paint(host->memory, ROOM, (unsigned)i);
    host->memory[ROOM] = 0xaa;
    memcpy(end->memory, host->memory, ROOM);
}

static void run(void **state)
{
    struct pair pair = usual;

    profile = *state;
    pair.sge = ENTRIES;
    pair_open(state, &pair);
    dice = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    start(0, &a);
    start(1, &b);
    for (int i = 0; i < STEPS; i++)
        step();
    if (stage.finding_count > 0)
        check(false, stage.findings[0].title, &ends[stage.findings[0].machine]);
    for (int i = 0; i < 2; i++)
        compare_completions(&ends[i]);
    pair_end();
}

static uint64_t number_from(const char *variable, uint64_t usual_one)
{
    const char *text = getenv(variable);

    return text ? strtoull(text, NULL, 10) : usual_one;
}

static void memories_are_as_the_model_says(void **state)
{
    uint64_t only = number_from("FABRIC_SEED", 0);
    uint64_t cases = number_from("FABRIC_CASES", CASES);

    for (seed = 1; seed <= cases; seed++)
        if (only == 0)
            run(state);
    seed = only;
    if (only)
        run(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {EACH(memories_are_as_the_model_says)};

    return cmocka_run_group_tests(tests, NULL, stage_teardown);
}
