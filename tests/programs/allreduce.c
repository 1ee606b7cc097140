/*
 * An all-reduce between ranks, exact to the last bit. An ordinary verbs
 * program: it knows nothing of verbfault but its rank.
 *
 * usage: allreduce send|events|write|mesh BOARD [COUNT...]
 *
 *   send     a ring; chunks go round by SEND, completions are polled
 *   events   the same, asleep on a completion channel in between
 *   write    a ring; chunks go round by RDMA WRITE, arrivals are seen in memory
 *   mesh     everybody sends everything to everybody
 *
 * COUNT: numbers to be summed up; several counts one after the other.
 */
#include "board.h"
#include "endpoint.h"

#define STAMP 8u /* bytes after each chunk: says that it has come */

static struct {
    struct endpoint endpoint;
    struct board *board;
    struct ibv_qp *qps[BOARD_RANKS];
    int rank, ranks, left, right;
    uint32_t passed; /* barriers */
    uint64_t round;  /* of all-reduces, from 1 */
    int64_t *sums;   /* the vector */
    size_t capacity; /* numbers in it */
    unsigned char
        *slots; /* where chunks of a ring, or peers' vectors, arrive */
    size_t slot_bytes;
    int slot_count;
    struct ibv_mr *sums_mr, *slots_mr;
} all;

/* Rank's own number at a place. */
static int64_t number_of(int rank, size_t place)
{
    return (int64_t)(rank + 1) * 1000003 + (int64_t)place * 7 +
           (int64_t)all.round;
}

static void fill(size_t count)
{
    for (size_t i = 0; i < count; i++)
        all.sums[i] = number_of(all.rank, i);
}

static void check(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t wanted = 0;

        for (int rank = 0; rank < all.ranks; rank++)
            wanted += number_of(rank, i);
        if (all.sums[i] == wanted)
            continue;
        printf("wrong: round %llu, place %zu of %zu: %lld, not %lld\n",
               (unsigned long long)all.round, i, count, (long long)all.sums[i],
               (long long)wanted);
        exit(1);
    }
}

static void await(enum ibv_wc_opcode opcode)
{
    static unsigned seen[IBV_WC_RECV + 1];
    struct ibv_wc wc;

    while (seen[opcode] == 0) {
        next_completion(&all.endpoint, &wc);
        if (wc.status != IBV_WC_SUCCESS) {
            printf("wrong: %s\n", ibv_wc_status_str(wc.status));
            exit(1);
        }
        seen[wc.opcode]++;
    }
    seen[opcode]--;
}

static void post(struct ibv_qp *qp, const void *memory, uint32_t length,
                 uint32_t key, uint64_t to, uint32_t rkey, unsigned flags)
{
    struct ibv_sge sge = {(uintptr_t)memory, length, key};
    struct ibv_send_wr *bad, wr = {
                                 .sg_list = &sge,
                                 .num_sge = length > 0 ? 1 : 0,
                                 .opcode = to ? IBV_WR_RDMA_WRITE : IBV_WR_SEND,
                                 .send_flags = flags,
                                 .wr.rdma = {.remote_addr = to, .rkey = rkey},
                             };

    errno = ibv_post_send(qp, &wr, &bad);
    if (errno)
        give_up("ibv_post_send");
}

/* ---- a ring ---- */

/* The vector in as many pieces as there are ranks. */
static size_t chunk_start(size_t count, int chunk)
{
    return count * (size_t)chunk / (size_t)all.ranks;
}

static unsigned char *slot(int step)
{
    return all.slots + (size_t)(step % all.slot_count) * all.slot_bytes;
}

static void send_chunk(bool writing, int step, size_t from, size_t numbers)
{
    const struct board_row *peer = &all.board->rows[all.right];
    uint64_t there = peer->address + (uint64_t)(slot(step) - all.slots);
    uint32_t bytes = (uint32_t)(numbers * sizeof(int64_t));

    if (!writing) {
        post(all.qps[all.right], &all.sums[from], bytes, all.sums_mr->lkey, 0,
             0, IBV_SEND_SIGNALED);
        return;
    }
    post(all.qps[all.right], &all.sums[from], bytes, all.sums_mr->lkey, there,
         peer->rkey, 0);
    post(all.qps[all.right], &all.round, STAMP, 0,
         there + all.slot_bytes - STAMP, peer->rkey,
         IBV_SEND_SIGNALED | IBV_SEND_INLINE);
}

static void receive_chunk(bool writing, int step)
{
    _Atomic uint64_t *stamp =
        (_Atomic uint64_t *)(void *)(slot(step) + all.slot_bytes - STAMP);

    if (!writing)
        await(IBV_WC_RECV);
    else
        while (atomic_load_explicit(stamp, memory_order_acquire) != all.round)
            sched_yield();
}

static void take_chunk(const unsigned char *arrived, size_t from,
                       size_t numbers, bool add)
{
    for (size_t i = 0; i < numbers; i++) {
        int64_t number;

        memcpy(&number, arrived + i * sizeof number, sizeof number);
        all.sums[from + i] = add ? all.sums[from + i] + number : number;
    }
}

static void post_slot(int step)
{
    post_receive(all.qps[all.left], 0, slot(step), (uint32_t)all.slot_bytes,
                 all.slots_mr->lkey);
}

static void ring(size_t count, bool writing)
{
    int steps = 2 * (all.ranks - 1);

    if (!writing && steps > 0)
        post_slot(0);
    for (int step = 0; step < steps; step++) {
        int sent = (all.rank - step + 2 * all.ranks) % all.ranks;
        int got = (sent - 1 + all.ranks) % all.ranks;
        size_t from = chunk_start(count, sent);

        if (!writing && step + 1 < steps)
            post_slot(step + 1);
        send_chunk(writing, step, from, chunk_start(count, sent + 1) - from);
        receive_chunk(writing, step);
        from = chunk_start(count, got);
        take_chunk(slot(step), from, chunk_start(count, got + 1) - from,
                   step < all.ranks - 1);
        await(writing ? IBV_WC_RDMA_WRITE : IBV_WC_SEND);
    }
}

/* ---- a mesh ---- */

static void mesh(size_t count)
{
    uint32_t bytes = (uint32_t)(count * sizeof(int64_t));

    for (int peer = 0; peer < all.ranks; peer++)
        if (peer != all.rank)
            post_receive(all.qps[peer], 0, slot(peer), bytes,
                         all.slots_mr->lkey);
    for (int peer = 0; peer < all.ranks; peer++)
        if (peer != all.rank)
            post(all.qps[peer], all.sums, bytes, all.sums_mr->lkey, 0, 0,
                 IBV_SEND_SIGNALED);
    for (int i = 1; i < all.ranks; i++) {
        await(IBV_WC_SEND);
        await(IBV_WC_RECV);
    }
    for (int peer = 0; peer < all.ranks; peer++)
        if (peer != all.rank)
            take_chunk(slot(peer), 0, count, true);
}

/* ---- start and end ---- */

static bool is_peer(int peer, bool everybody)
{
    return peer != all.rank &&
           (everybody || peer == all.left || peer == all.right);
}

static void prepare_memory(bool everybody)
{
    size_t bytes = all.capacity * sizeof(int64_t);

    all.slot_count = everybody ? all.ranks : 2 * all.ranks;
    all.slot_bytes =
        everybody
            ? bytes
            : (all.capacity / (size_t)all.ranks + 1) * sizeof(int64_t) + STAMP;
    all.sums = calloc(1, bytes);
    all.slots = calloc((size_t)all.slot_count, all.slot_bytes);
    if (!all.sums || !all.slots)
        give_up("memory");
    all.sums_mr = endpoint_register(&all.endpoint, all.sums, bytes);
    all.slots_mr = endpoint_register(&all.endpoint, all.slots,
                                     (size_t)all.slot_count * all.slot_bytes);
}

static void connect_peers(bool everybody)
{
    struct board_row *own = &all.board->rows[all.rank];

    own->gid = all.endpoint.gid;
    own->address = (uintptr_t)all.slots;
    own->rkey = all.slots_mr->rkey;
    for (int peer = 0; peer < all.ranks; peer++)
        if (is_peer(peer, everybody)) {
            all.qps[peer] = endpoint_qp(&all.endpoint, NULL, 8);
            own->number[peer] = all.qps[peer]->qp_num;
        }
    board_barrier(all.board, all.ranks, &all.passed);
    for (int peer = 0; peer < all.ranks; peer++)
        if (all.qps[peer])
            endpoint_connect(all.qps[peer], &all.board->rows[peer].gid,
                             all.board->rows[peer].number[all.rank], 20);
    board_barrier(all.board, all.ranks, &all.passed);
}

static void end(void)
{
    board_barrier(all.board, all.ranks, &all.passed);
    for (int peer = 0; peer < all.ranks; peer++)
        if (all.qps[peer] && ibv_destroy_qp(all.qps[peer]) != 0)
            give_up("ibv_destroy_qp");
    ibv_dereg_mr(all.sums_mr);
    ibv_dereg_mr(all.slots_mr);
    endpoint_close(&all.endpoint);
    free(all.sums);
    free(all.slots);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[1] : "";
    bool everybody = strcmp(mode, "mesh") == 0;
    bool writing = strcmp(mode, "write") == 0;

    all.rank = board_number("VERBFAULT_RANK");
    all.ranks = board_number("VERBFAULT_RANKS");
    if (argc < 4 || all.rank < 0 || all.ranks > BOARD_RANKS)
        return 2;
    all.left = (all.rank + all.ranks - 1) % all.ranks;
    all.right = (all.rank + 1) % all.ranks;
    for (int i = 3; i < argc; i++)
        if ((size_t)atol(argv[i]) > all.capacity)
            all.capacity = (size_t)atol(argv[i]);
    all.board = board_open(argv[2]);
    endpoint_open(&all.endpoint, 4 * BOARD_RANKS, strcmp(mode, "events") == 0);
    prepare_memory(everybody);
    connect_peers(everybody);
    for (int i = 3; i < argc; i++) {
        size_t count = (size_t)atol(argv[i]);

        all.round++;
        fill(count);
        if (everybody)
            mesh(count);
        else
            ring(count, writing);
        check(count);
    }
    end();
    printf("exact\n");
    return 0;
}
