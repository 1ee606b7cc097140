/*
 * Ranks that exchange messages until one of them dies. An ordinary verbs
 * program, for fabric.sh.
 *
 * usage: crasher BOARD HOW WHEN
 *
 * Every rank is connected with every other over RC and has a message under way
 * to and from each at all times: short, long, and too long to be copied at
 * once. Rank 0 dies:
 *
 *   HOW kill      by SIGKILL, WHEN microseconds after it has begun (at any
 *                 instruction)
 *   HOW segv, abort, exit, quiet
 *                 of itself, before its verbs call number WHEN: by a fault, by
 *                 abort(), by exit() with 1, by _exit(1)
 *
 * The others end well if their sends to rank 0 come back with an error, the
 * first one with RETRY_EXC, and if the messages that they have from one another
 * are whole, before and after.
 */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "board.h"
#include "endpoint.h"

#define KINDS 3
#define LONGEST 300000u
#define AFTER                                                                  \
    60u           /* messages that a survivor has, once rank 0 is known dead   \
                   */
#define TIMEOUT 8 /* 8 times 1 ms */

enum progress { READY = 1, CONNECTED, ENOUGH, OVER };

static const uint32_t lengths[KINDS] = {64, 8192, LONGEST};

struct peer {
    struct ibv_qp *qp;
    unsigned char *in, *out;
    uint32_t sent, received; /* ever */
    bool dead;
};

static struct {
    struct endpoint endpoint;
    struct board *board;
    struct ibv_mr *mr;
    struct peer peers[BOARD_RANKS];
    int rank, ranks;
    const char *how;
    long when, calls;
    uint32_t after; /* messages received since rank 0 died */
} self;

/* ---- dying ---- */

static void die_by_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL,
                             .sigev_signo = SIGKILL};
    struct itimerspec time = {
        .it_value = {.tv_sec = self.when / 1000000,
                     .tv_nsec = self.when % 1000000 * 1000 + 1}};
    timer_t timer;

    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
        timer_settime(timer, 0, &time, NULL) != 0)
        give_up("timer");
}

/* Before each verbs call. */
static void step(void)
{
    if (self.rank != 0 || strcmp(self.how, "kill") == 0 ||
        ++self.calls < self.when)
        return;
    if (strcmp(self.how, "segv") == 0)
        *(volatile int *)(uintptr_t)self.calls = 1;
    if (strcmp(self.how, "abort") == 0)
        abort();
    if (strcmp(self.how, "quiet") == 0)
        _exit(1);
    exit(1);
}

/* ---- messages ---- */

static unsigned char pattern(int from, uint32_t number)
{
    return (unsigned char)(from * 37 + (int)number);
}

static void receive(int from)
{
    step();
    post_receive(self.peers[from].qp, (uint64_t)from, self.peers[from].in,
                 LONGEST, self.mr->lkey);
}

static void send(int to)
{
    struct peer *peer = &self.peers[to];
    uint32_t length = lengths[peer->sent % KINDS];
    struct ibv_sge sge = {(uintptr_t)peer->out, length, self.mr->lkey};
    struct ibv_send_wr *bad, wr = {.wr_id = (uint64_t)to,
                                   .sg_list = &sge,
                                   .num_sge = 1,
                                   .opcode = IBV_WR_SEND,
                                   .send_flags = IBV_SEND_SIGNALED};

    memset(peer->out, pattern(self.rank, peer->sent), length);
    peer->sent++;
    step();
    errno = ibv_post_send(peer->qp, &wr, &bad);
    if (errno)
        give_up("ibv_post_send");
}

static void check(int from, uint32_t length)
{
    const struct peer *peer = &self.peers[from];
    unsigned char wanted = pattern(from, peer->received);

    if (length != lengths[peer->received % KINDS]) {
        printf("wrong: message %u of rank %d has %u bytes\n", peer->received,
               from, length);
        exit(1);
    }
    for (uint32_t i = 0; i < length; i++)
        if (peer->in[i] != wanted) {
            printf("wrong: byte %u of message %u of rank %d\n", i,
                   peer->received, from);
            exit(1);
        }
}

static void lost(int peer, const struct ibv_wc *wc)
{
    if (peer == 0 && !self.peers[0].dead && wc->status == IBV_WC_RETRY_EXC_ERR)
        self.peers[0].dead = true;
    else if (peer != 0 || wc->status != IBV_WC_WR_FLUSH_ERR) {
        printf("wrong: %s from rank %d\n", ibv_wc_status_str(wc->status), peer);
        exit(1);
    }
}

static void go_on(const struct ibv_wc *wc)
{
    int from = (int)wc->wr_id;

    if (wc->status != IBV_WC_SUCCESS) {
        lost(from, wc);
    } else if (wc->opcode == IBV_WC_RECV) {
        check(from, wc->byte_len);
        self.peers[from].received++;
        self.after += self.peers[0].dead;
        receive(from);
    } else {
        send(from);
    }
}

/* ---- start and end ---- */

static void prepare(void)
{
    size_t size = (size_t)self.ranks * 2 * LONGEST;
    unsigned char *memory = malloc(size);
    struct board_row *own = &self.board->rows[self.rank];

    step();
    endpoint_open(&self.endpoint, 4 * BOARD_RANKS, 0);
    step();
    self.mr = endpoint_register(&self.endpoint, memory, size);
    own->gid = self.endpoint.gid;
    for (int i = 0; i < self.ranks; i++) {
        if (i == self.rank)
            continue;
        self.peers[i].in = memory + (size_t)i * 2 * LONGEST;
        self.peers[i].out = self.peers[i].in + LONGEST;
        step();
        self.peers[i].qp = endpoint_qp(&self.endpoint, NULL, 4);
        own->number[i] = self.peers[i].qp->qp_num;
    }
    atomic_store(&own->progress, READY);
}

static void await(int other, uint32_t progress)
{
    while (atomic_load(&self.board->rows[other].progress) < progress)
        sched_yield();
}

static void begin(int other)
{
    await(other, READY);
    if (other == 0 && self.board->rows[0].number[self.rank] == 0) {
        self.peers[0].dead = true; /* before it could be met */
        return;
    }
    step();
    endpoint_connect(self.peers[other].qp, &self.board->rows[other].gid,
                     self.board->rows[other].number[self.rank], TIMEOUT);
    receive(other);
}

/* All survivors have had enough from one another. */
static bool is_over(void)
{
    if (self.peers[0].dead && self.after >= AFTER)
        atomic_store(&self.board->rows[self.rank].progress, ENOUGH);
    for (int i = 1; i < self.ranks; i++)
        if (atomic_load(&self.board->rows[i].progress) < ENOUGH)
            return false;
    return true;
}

static void exchange(void)
{
    for (int i = 0; i < self.ranks; i++)
        if (i != self.rank)
            begin(i);
    atomic_store(&self.board->rows[self.rank].progress, CONNECTED);
    for (int i = 0; i < self.ranks; i++)
        await(i, CONNECTED);
    for (int i = 0; i < self.ranks; i++)
        if (i != self.rank && !self.peers[i].dead)
            send(i);
    while (!is_over()) {
        struct ibv_wc wc;

        step();
        if (ibv_poll_cq(self.endpoint.cq, 1, &wc) > 0)
            go_on(&wc);
        else
            sched_yield();
    }
}

/* Nobody goes before all have seen the end. */
static void end(void)
{
    atomic_store(&self.board->rows[self.rank].progress, OVER);
    for (int i = 1; i < self.ranks; i++)
        await(i, OVER);
    for (int i = 0; i < self.ranks; i++)
        if (self.peers[i].qp && ibv_destroy_qp(self.peers[i].qp) != 0)
            give_up("ibv_destroy_qp");
    ibv_dereg_mr(self.mr);
    endpoint_close(&self.endpoint);
}

/* Rank 0 is a child of one that says when it is dead. */
static void stand_by(void)
{
    pid_t pid = fork();
    int status;

    if (pid < 0)
        give_up("fork");
    if (pid == 0)
        return;
    waitpid(pid, &status, 0);
    atomic_store(&self.board->rows[0].progress, OVER);
    exit(WIFSIGNALED(status) || WEXITSTATUS(status) == 1 ? 0 : 2);
}

int main(int argc, char **argv)
{
    self.rank = board_number("VERBFAULT_RANK");
    self.ranks = board_number("VERBFAULT_RANKS");
    if (argc < 4 || self.rank < 0 || self.ranks < 3)
        return 2;
    self.board = board_open(argv[1]);
    self.how = argv[2];
    self.when = atol(argv[3]);
    if (self.rank == 0)
        stand_by();
    if (self.rank == 0 && strcmp(self.how, "kill") == 0)
        die_by_timer();
    prepare();
    exchange();
    end();
    printf("survived\n");
    return 0;
}
