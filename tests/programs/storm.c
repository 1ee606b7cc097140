/*
 * Ranks that give the fabric a hard time. An ordinary verbs program, for
 * fabric.sh; every mode ends by itself, or hangs where something was lost.
 *
 * usage: storm MODE BOARD [COUNT]
 *
 *   events   messages round a ring; every completion wakes a sleeper
 *   churn    2 ranks: rank 0 takes its queue pair and its memory away, in one
 *            way after the other, while messages of all sizes go both ways
 *   shared   all ranks send to one shared receive queue of rank 0
 *   threads  2 ranks: four threads each, with queue pairs of their own
 *   forks    2 ranks: the same with one thread, and children that use verbs
 *   closed   2 ranks: the same, after all descriptors above 2 were closed
 *   exits    2 ranks: main ends while other threads poll
 *   signals  1 rank: children that a signal's handler ends, inside of a verb
 */
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "board.h"
#include "endpoint.h"

#define THREADS 4
#define KINDS 4
#define LONGEST 300000u
#define WINDOW 4u

static const uint32_t lengths[KINDS] = {1, 900, 20000, LONGEST};

static struct {
    struct board *board;
    int rank, ranks;
    uint32_t passed, count;
} self;

static void barrier(void)
{
    board_barrier(self.board, self.ranks, &self.passed);
}

static void wrong(const char *what)
{
    printf("wrong: %s\n", what);
    exit(1);
}

static void send(struct ibv_qp *qp, uint64_t id, const void *memory,
                 uint32_t length, uint32_t key)
{
    struct ibv_sge sge = {(uintptr_t)memory, length, key};
    struct ibv_send_wr *bad, wr = {.wr_id = id,
                                   .sg_list = &sge,
                                   .num_sge = 1,
                                   .opcode = IBV_WR_SEND,
                                   .send_flags = IBV_SEND_SIGNALED};

    errno = ibv_post_send(qp, &wr, &bad);
    if (errno)
        give_up("ibv_post_send");
}

static void expect_success(const struct ibv_wc *wc)
{
    if (wc->status != IBV_WC_SUCCESS)
        wrong(ibv_wc_status_str(wc->status));
}

/* ---- two ends that exchange messages ---- */

struct end {
    struct endpoint endpoint;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    unsigned char *in, *out;
    int place; /* in the board's rows */
};

static void open_end(struct end *end, int place)
{
    end->place = place;
    endpoint_open(&end->endpoint, 16, 0);
    end->in = malloc(2 * (size_t)LONGEST);
    end->out = end->in + LONGEST;
    end->mr = endpoint_register(&end->endpoint, end->in, 2 * (size_t)LONGEST);
    end->qp = endpoint_qp(&end->endpoint, NULL, 8);
    self.board->rows[self.rank].gid = end->endpoint.gid;
    self.board->rows[self.rank].number[place] = end->qp->qp_num;
}

static void connect_end(struct end *end)
{
    const struct board_row *peer = &self.board->rows[!self.rank];

    endpoint_connect(end->qp, &peer->gid, peer->number[end->place], 18);
}

static void close_end(struct end *end)
{
    if (ibv_destroy_qp(end->qp) != 0 || ibv_dereg_mr(end->mr) != 0)
        give_up("end");
    endpoint_close(&end->endpoint);
    free(end->in);
}

static void check(const struct end *end, uint32_t turn, uint32_t length)
{
    unsigned char wanted = (unsigned char)(turn * 3 + (uint32_t)!self.rank + 5);

    if (length != lengths[turn % KINDS])
        wrong("length");
    for (uint32_t i = 0; i < length; i++)
        if (end->in[i] != wanted)
            wrong("bytes");
}

/* One message each way at once, turn after turn. */
static void exchange(struct end *end, uint32_t turns)
{
    for (uint32_t turn = 0; turn < turns; turn++) {
        uint32_t length = lengths[turn % KINDS];

        post_receive(end->qp, 0, end->in, LONGEST, end->mr->lkey);
        memset(end->out, (int)(turn * 3 + (uint32_t)self.rank + 5), length);
        send(end->qp, 1, end->out, length, end->mr->lkey);
        for (int i = 0; i < 2; i++) {
            struct ibv_wc wc;

            next_completion(&end->endpoint, &wc);
            expect_success(&wc);
            if (wc.opcode == IBV_WC_RECV)
                check(end, turn, wc.byte_len);
        }
    }
}

static void *exchange_thread(void *argument)
{
    exchange(argument, self.count);
    return NULL;
}

static void threads(void)
{
    struct end ends[THREADS];
    pthread_t running[THREADS];

    for (int i = 0; i < THREADS; i++)
        open_end(&ends[i], i);
    barrier();
    for (int i = 0; i < THREADS; i++)
        connect_end(&ends[i]);
    barrier();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&running[i], NULL, exchange_thread, &ends[i]);
    for (int i = 0; i < THREADS; i++)
        pthread_join(running[i], NULL);
    barrier();
    for (int i = 0; i < THREADS; i++)
        close_end(&ends[i]);
}

/* A child opens what it needs for itself. */
static void be_child(void)
{
    struct endpoint endpoint;
    struct ibv_qp *a, *b;
    struct ibv_wc wc;
    struct ibv_mr *mr;
    char bytes[2] = {0, 7};

    endpoint_open(&endpoint, 8, 0);
    mr = endpoint_register(&endpoint, bytes, sizeof bytes);
    a = endpoint_qp(&endpoint, NULL, 2);
    b = endpoint_qp(&endpoint, NULL, 2);
    endpoint_connect(a, &endpoint.gid, b->qp_num, 18);
    endpoint_connect(b, &endpoint.gid, a->qp_num, 18);
    post_receive(a, 0, bytes, 1, mr->lkey);
    send(b, 1, bytes + 1, 1, mr->lkey);
    next_completion(&endpoint, &wc);
    next_completion(&endpoint, &wc);
    _exit(wc.status == IBV_WC_SUCCESS && bytes[0] == 7 ? 0 : 1);
}

static void fork_one(void)
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0)
        be_child();
    waitpid(pid, &status, 0);
    if (status != 0)
        wrong("a child");
}

static void close_all(void)
{
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
}

static void alone(const char *mode)
{
    struct end end;

    open_end(&end, 0);
    barrier();
    connect_end(&end);
    barrier();
    exchange(&end, KINDS);
    if (strcmp(mode, "closed") == 0)
        close_all();
    for (uint32_t i = 0; i < self.count; i++) {
        if (strcmp(mode, "forks") == 0)
            fork_one();
        exchange(&end, KINDS);
    }
    barrier();
    close_end(&end);
}

static void *poll_for_ever(void *argument)
{
    struct end *end = argument;
    struct ibv_wc wc;

    for (;;)
        if (ibv_poll_cq(end->endpoint.cq, 1, &wc) != 0) {
            printf("wrong: a poll at the end\n");
            fflush(stdout);
        }
    return NULL;
}

static void exits(void)
{
    static struct end ends[2];
    pthread_t thread;

    for (int i = 0; i < 2; i++) {
        open_end(&ends[i], i);
        pthread_create(&thread, NULL, poll_for_ever, &ends[i]);
    }
    barrier();
}

static void end_well(int number)
{
    (void)number;
    exit(0);
}

/* Talks to itself until the signal comes. */
static void talk(uint32_t microseconds)
{
    static unsigned char bytes[2][20000];
    struct itimerval timer = {.it_value.tv_usec = microseconds};
    struct endpoint endpoint;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    struct ibv_wc wc;

    endpoint_open(&endpoint, 16, 0);
    mr = endpoint_register(&endpoint, bytes, sizeof bytes);
    qp = endpoint_qp(&endpoint, NULL, 4);
    endpoint_connect(qp, &endpoint.gid, qp->qp_num, 18);
    signal(SIGALRM, end_well);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (uint32_t turn = 0;; turn++) {
        post_receive(qp, 0, bytes[0], sizeof bytes[0], mr->lkey);
        send(qp, 1, bytes[1], lengths[turn % 3], mr->lkey);
        for (int i = 0; i < 2; i++) {
            next_completion(&endpoint, &wc);
            expect_success(&wc);
        }
    }
}

static void signals(void)
{
    for (uint32_t i = 0; i < self.count; i++) {
        pid_t child = fork();
        int status;

        if (child == 0)
            talk(1000 + i * 7919 % 1000);
        waitpid(child, &status, 0);
        if (status != 0)
            wrong("how a child ended");
    }
}

/* ---- a ring of sleepers ---- */

static void events(void)
{
    int left = (self.rank + self.ranks - 1) % self.ranks;
    int right = (self.rank + 1) % self.ranks;
    struct board_row *own = &self.board->rows[self.rank];
    struct endpoint endpoint;
    struct ibv_qp *from, *to;
    struct ibv_mr *mr;
    uint32_t bytes[3] = {0}; /* two that arrive, one that goes */

    endpoint_open(&endpoint, 16, 1);
    mr = endpoint_register(&endpoint, bytes, sizeof bytes);
    from = endpoint_qp(&endpoint, NULL, 4);
    to = endpoint_qp(&endpoint, NULL, 4);
    own->gid = endpoint.gid;
    own->number[0] = from->qp_num;
    own->number[1] = to->qp_num;
    barrier();
    endpoint_connect(from, &self.board->rows[left].gid,
                     self.board->rows[left].number[1], 18);
    endpoint_connect(to, &self.board->rows[right].gid,
                     self.board->rows[right].number[0], 18);
    post_receive(from, 0, &bytes[0], 4, mr->lkey);
    barrier();
    for (uint32_t turn = 0; turn < self.count; turn++) {
        struct ibv_wc wc;

        post_receive(from, 0, &bytes[(turn + 1) % 2], 4, mr->lkey);
        bytes[2] = turn;
        send(to, 1, &bytes[2], 4, mr->lkey);
        for (int i = 0; i < 2; i++) {
            next_completion(&endpoint, &wc);
            expect_success(&wc);
        }
        if (bytes[turn % 2] != turn)
            wrong("order");
    }
    barrier();
}

/* ---- one shared receive queue ---- */

#define SHARED_DEPTH 64u

struct note {
    uint32_t rank, turn;
    unsigned char rest[5000];
};

static struct note notes[SHARED_DEPTH + 1];

static void take_notes(struct endpoint *endpoint, struct ibv_srq *srq,
                       uint32_t key)
{
    uint32_t turns[BOARD_RANKS] = {0};
    uint32_t left = self.count * (uint32_t)(self.ranks - 1);

    for (uint64_t next = 0; left > 0; left--) {
        struct ibv_wc wc = {.wr_id = next};
        struct ibv_sge sge;
        struct ibv_recv_wr *bad, wr = {.sg_list = &sge, .num_sge = 1};

        if (next < SHARED_DEPTH) {
            next++;
            left++;
        } else {
            next_completion(endpoint, &wc);
            expect_success(&wc);
            if (notes[wc.wr_id].turn != turns[notes[wc.wr_id].rank]++)
                wrong("order");
        }
        wr.wr_id = wc.wr_id;
        sge.addr = (uintptr_t)&notes[wc.wr_id];
        sge.length = sizeof notes[0];
        sge.lkey = key;
        if (ibv_post_srq_recv(srq, &wr, &bad) != 0)
            give_up("ibv_post_srq_recv");
    }
}

static void send_notes(struct endpoint *endpoint, struct ibv_qp *qp,
                       uint32_t key)
{
    for (uint32_t turn = 0; turn < self.count; turn++) {
        struct ibv_wc wc;

        notes[0].rank = (uint32_t)self.rank;
        notes[0].turn = turn;
        send(qp, 0, &notes[0], turn % 3 == 0 ? (uint32_t)sizeof notes[0] : 8u,
             key);
        next_completion(endpoint, &wc);
        expect_success(&wc);
    }
}

static void shared(void)
{
    struct ibv_srq_init_attr init = {
        .attr = {.max_wr = SHARED_DEPTH, .max_sge = 1}};
    struct board_row *own = &self.board->rows[self.rank];
    struct ibv_qp *qps[BOARD_RANKS];
    struct endpoint endpoint;
    struct ibv_srq *srq;
    struct ibv_mr *mr;

    endpoint_open(&endpoint, 2 * SHARED_DEPTH, 0);
    mr = endpoint_register(&endpoint, notes, sizeof notes);
    srq = ibv_create_srq(endpoint.pd, &init);
    own->gid = endpoint.gid;
    for (int i = 0; i < self.ranks; i++) {
        qps[i] = endpoint_qp(&endpoint, self.rank == 0 ? srq : NULL, 4);
        own->number[i] = qps[i]->qp_num;
    }
    barrier();
    for (int i = 0; i < self.ranks; i++)
        if (i != self.rank && (i == 0 || self.rank == 0))
            endpoint_connect(qps[i], &self.board->rows[i].gid,
                             self.board->rows[i].number[self.rank], 18);
    barrier();
    if (self.rank == 0)
        take_notes(&endpoint, srq, mr->lkey);
    else
        send_notes(&endpoint, qps[0], mr->lkey);
    barrier();
}

/* ---- what is taken away meanwhile ---- */

static void await_row(int rank, uint32_t turn)
{
    while (atomic_load(&self.board->rows[rank].progress) < turn)
        sched_yield();
}

static void post_window(struct ibv_qp *qp, unsigned char *memory, uint32_t key)
{
    for (uint32_t i = 0; i < WINDOW; i++) {
        post_receive(qp, i, memory + (size_t)i * LONGEST, LONGEST, key);
        send(qp, WINDOW + i, memory + (size_t)(WINDOW + i) * LONGEST,
             lengths[(i + self.passed) % KINDS], key);
    }
}

/* Polls, so many times or until all requests are back. */
static void take_some(struct ibv_cq *cq, uint32_t *seen, uint32_t polls)
{
    struct ibv_wc wc;

    while (polls-- > 0 && *seen != (1u << 2 * WINDOW) - 1)
        if (ibv_poll_cq(cq, 1, &wc) == 1) {
            if (*seen & 1u << wc.wr_id)
                wrong("a request came back twice");
            *seen |= 1u << wc.wr_id;
        }
}

static void modify(struct ibv_qp *qp, enum ibv_qp_state state)
{
    struct ibv_qp_attr attr = {.qp_state = state};

    if (ibv_modify_qp(qp, &attr, IBV_QP_STATE) != 0)
        give_up("ibv_modify_qp");
}

static void take_away(struct ibv_qp *qp, struct ibv_cq *cq, uint32_t seen,
                      uint32_t turn)
{
    struct ibv_wc wc;

    take_some(cq, &seen, turn * 7 % 40);
    if (turn % 3 == 0) {
        modify(qp, IBV_QPS_ERR);
        take_some(cq, &seen, UINT32_MAX);
    } else if (turn % 3 == 1) {
        modify(qp, IBV_QPS_RESET);
    }
    if (ibv_destroy_qp(qp) != 0)
        give_up("ibv_destroy_qp");
    while (ibv_poll_cq(cq, 1, &wc) > 0)
        continue;
}

/* Memory is new each time, and gone once it is not registered. */
static void churn_once(struct endpoint *endpoint, uint32_t turn)
{
    size_t size = 2 * WINDOW * (size_t)LONGEST;
    unsigned char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct ibv_mr *mr = endpoint_register(endpoint, memory, size);
    struct ibv_qp *qp = endpoint_qp(endpoint, NULL, 2 * WINDOW);
    struct board_row *own = &self.board->rows[self.rank];
    const struct board_row *peer = &self.board->rows[!self.rank];
    uint32_t seen = 0;

    own->gid = endpoint->gid;
    own->number[turn % 2] = qp->qp_num;
    atomic_store(&own->progress, turn);
    await_row(!self.rank, turn);
    endpoint_connect(qp, &peer->gid, peer->number[turn % 2], 10);
    barrier();
    post_window(qp, memory, mr->lkey);
    if (self.rank == 0) {
        take_away(qp, endpoint->cq, seen, turn);
    } else {
        /* Without an error of its own it has to make one. */
        take_some(endpoint->cq, &seen, 2000);
        modify(qp, IBV_QPS_ERR);
        take_some(endpoint->cq, &seen, UINT32_MAX);
        if (ibv_destroy_qp(qp) != 0)
            give_up("ibv_destroy_qp");
    }
    if (ibv_dereg_mr(mr) != 0)
        give_up("ibv_dereg_mr");
    munmap(memory, size);
}

static void churn(void)
{
    struct endpoint endpoint;

    endpoint_open(&endpoint, 64, 0);
    for (uint32_t turn = 1; turn <= self.count; turn++)
        churn_once(&endpoint, turn);
    endpoint_close(&endpoint);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[1] : "";

    self.rank = board_number("VERBFAULT_RANK");
    self.ranks = board_number("VERBFAULT_RANKS");
    self.count = argc > 3 ? (uint32_t)atol(argv[3]) : 10;
    if (argc < 3 || self.rank < 0)
        return 2;
    self.board = board_open(argv[2]);
    if (strcmp(mode, "events") == 0)
        events();
    else if (strcmp(mode, "churn") == 0)
        churn();
    else if (strcmp(mode, "shared") == 0)
        shared();
    else if (strcmp(mode, "threads") == 0)
        threads();
    else if (strcmp(mode, "exits") == 0)
        exits();
    else if (strcmp(mode, "signals") == 0)
        signals();
    else
        alone(mode);
    printf("well\n");
    return 0;
}
