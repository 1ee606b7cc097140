/*
 * Posting and polling: see bench.h.
 */
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SGES_MAX 40
#define CHAIN_MAX 40
#define COMPLETIONS_MAX 256
#define GRH_BYTES 40
#define LATEST_MS 1000 /* what is due comes by then */
#define IMMEDIATE 0x01020304u

struct work usual_work(int opcode)
{
    return (struct work){.opcode = opcode,
                         .length = 64,
                         .sges = 1,
                         .flags = IBV_SEND_SIGNALED,
                         .count = 1,
                         .remote_offset = 32768,
                         .add = 5,
                         .swap = 7,
                         .peer = 1,
                         .qkey = QKEY};
}

static uint32_t lkey_of(struct bench *bench, const struct work *work)
{
    switch (work->key) {
    case KEY_BOGUS:
        return 0xdeadbeef;
    case KEY_DEAD:
        return bench->dead_lkey;
    default:
        return bench->mr[work->mr] ? bench->mr[work->mr]->lkey : 0;
    }
}

static uint32_t rkey_of(struct bench *bench, const struct work *work)
{
    switch (work->remote_key) {
    case KEY_BOGUS:
        return 0xdeadbeef;
    case KEY_DEAD:
        return bench->dead_rkey;
    default:
        return bench->mr[work->remote_mr] ? bench->mr[work->remote_mr]->rkey
                                          : 0;
    }
}

static void fill_sges(struct bench *bench, const struct work *work,
                      struct ibv_sge *sges)
{
    uint32_t part = work->sges ? work->length / (uint32_t)work->sges : 0;
    size_t at = work->offset;

    for (int i = 0; i < work->sges; i++) {
        sges[i].addr = (uintptr_t)bench->arena + at;
        sges[i].length = part;
        if (i == work->sges - 1)
            sges[i].length = work->length - part * (uint32_t)(work->sges - 1);
        sges[i].lkey = lkey_of(bench, work);
        at += part;
    }
}

static uint64_t number_work(struct bench *bench, int queue,
                            unsigned char *header)
{
    uint64_t id = bench->next_work++;

    if (id < WORK_MAX) {
        bench->work[id].queue = queue;
        bench->work[id].header = header;
    }
    return id;
}

static void say_memory(const struct work *work)
{
    printf(" m%d+%zu len=%u key=%s", work->mr, work->offset, work->length,
           key_word(work->key));
    if (work->sges != 1)
        printf(" sges=%d", work->sges);
    if (work->count != 1)
        printf(" chain=%d", work->count);
}

/* "= 0", or the errno and which request was not taken. */
static void say_posted(int result, const void *bad, const void *first,
                       size_t size)
{
    printf(" = %s", errno_word(result));
    if (result != 0) {
        if (!bad)
            printf(" bad_wr=unset");
        else
            printf(" bad_wr=%td",
                   ((const char *)bad - (const char *)first) / (ptrdiff_t)size);
    }
    printf("\n");
}

static bool one_sided(int opcode)
{
    return opcode == IBV_WR_RDMA_WRITE ||
           opcode == IBV_WR_RDMA_WRITE_WITH_IMM || opcode == IBV_WR_RDMA_READ ||
           opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
           opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static void fill_remote(struct bench *bench, int qp, const struct work *work,
                        struct ibv_send_wr *wr)
{
    uint64_t address = (uintptr_t)bench->arena + work->remote_offset;

    if (bench->qp[qp]->qp_type == IBV_QPT_UD) {
        wr->wr.ud.ah = bench->ah[work->ah];
        wr->wr.ud.remote_qpn =
            work->peer == NOBODY ? 0xabcdef : bench->number[work->peer];
        wr->wr.ud.remote_qkey = work->qkey;
    } else if (work->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
               work->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr->wr.atomic.remote_addr = address;
        wr->wr.atomic.rkey = rkey_of(bench, work);
        wr->wr.atomic.compare_add = work->add;
        wr->wr.atomic.swap = work->swap;
    } else if (one_sided(work->opcode)) {
        wr->wr.rdma.remote_addr = address;
        wr->wr.rdma.rkey = rkey_of(bench, work);
    }
}

static void say_send(struct bench *bench, int qp, const struct work *work)
{
    printf("post_send(q%d %s", qp, opcode_word(work->opcode));
    say_memory(work);
    if (one_sided(work->opcode))
        printf(" to=m%d+%zu rkey=%s", work->remote_mr, work->remote_offset,
               key_word(work->remote_key));
    if (bench->qp[qp] && bench->qp[qp]->qp_type == IBV_QPT_UD) {
        printf(" a%d", work->ah);
        if (work->peer == NOBODY)
            printf(" to=nobody");
        if (work->qkey != QKEY)
            printf(" qkey=0x%x", work->qkey);
    }
    if (work->flags != IBV_SEND_SIGNALED)
        printf(" flags=0x%x", work->flags);
    printf(")");
}

/* Sends that will have a completion; on every queue they all have one. */
static int accepted(const struct work *work, int result, const void *bad,
                    const struct ibv_send_wr *first)
{
    if (result == 0)
        return work->count;
    return bad ? (int)((const struct ibv_send_wr *)bad - first) : 0;
}

void act_post_send(struct bench *bench, int qp, const struct work *work)
{
    struct ibv_send_wr wr[CHAIN_MAX];
    struct ibv_send_wr *bad = NULL;
    struct ibv_sge sges[SGES_MAX];
    int result;

    say_send(bench, qp, work);
    if (!bench->qp[qp] ||
        (bench->qp[qp]->qp_type == IBV_QPT_UD && !bench->ah[work->ah])) {
        printf(" = (nothing there)\n");
        return;
    }
    memset(wr, 0, sizeof(wr));
    fill_sges(bench, work, sges);
    for (int i = 0; i < work->count; i++) {
        wr[i].wr_id = number_work(bench, qp, NULL);
        wr[i].next = i + 1 < work->count ? &wr[i + 1] : NULL;
        wr[i].sg_list = sges;
        wr[i].num_sge = work->sges;
        wr[i].opcode = (enum ibv_wr_opcode)work->opcode;
        wr[i].send_flags = work->flags;
        wr[i].imm_data = htonl(IMMEDIATE);
        fill_remote(bench, qp, work, &wr[i]);
    }
    result = ibv_post_send(bench->qp[qp], wr, &bad);
    say_posted(result, bad, wr, sizeof(wr[0]));
    if (work->flags & IBV_SEND_SIGNALED)
        bench->due[qp] += (uint32_t)accepted(work, result, bad, wr);
}

/* Receives of a chain lie side by side. */
static void fill_receives(struct bench *bench, const struct work *work,
                          bool datagrams, struct ibv_recv_wr *wr,
                          struct ibv_sge sges[][SGES_MAX])
{
    for (int i = 0; i < work->count; i++) {
        struct work one = *work;

        one.offset += (size_t)i * work->length;
        memset(&wr[i], 0, sizeof(wr[i]));
        fill_sges(bench, &one, sges[i]);
        wr[i].wr_id = number_work(bench, NOBODY,
                                  datagrams && one.offset + GRH_BYTES <= ARENA
                                      ? bench->arena + one.offset
                                      : NULL);
        wr[i].next = i + 1 < work->count ? &wr[i + 1] : NULL;
        wr[i].sg_list = sges[i];
        wr[i].num_sge = work->sges;
    }
}

void act_post_recv(struct bench *bench, int qp, const struct work *work)
{
    struct ibv_recv_wr wr[CHAIN_MAX];
    struct ibv_recv_wr *bad = NULL;
    struct ibv_sge sges[CHAIN_MAX][SGES_MAX];
    int result;

    printf("post_recv(q%d", qp);
    say_memory(work);
    printf(")");
    if (!bench->qp[qp]) {
        printf(" = (nothing there)\n");
        return;
    }
    fill_receives(bench, work, bench->qp[qp]->qp_type == IBV_QPT_UD, wr, sges);
    result = ibv_post_recv(bench->qp[qp], wr, &bad);
    say_posted(result, bad, wr, sizeof(wr[0]));
}

void act_post_srq(struct bench *bench, int srq, const struct work *work)
{
    struct ibv_recv_wr wr[CHAIN_MAX];
    struct ibv_recv_wr *bad = NULL;
    struct ibv_sge sges[CHAIN_MAX][SGES_MAX];
    int result;

    printf("post_srq_recv(s%d", srq);
    say_memory(work);
    printf(")");
    if (!bench->srq[srq]) {
        printf(" = (nothing there)\n");
        return;
    }
    fill_receives(bench, work, false, wr, sges);
    result = ibv_post_srq_recv(bench->srq[srq], wr, &bad);
    say_posted(result, bad, wr, sizeof(wr[0]));
}

void act_bind_mw(struct bench *bench, int qp, int mw, int mr, size_t offset,
                 size_t length, unsigned access)
{
    struct ibv_mw_bind bind;
    int result;

    printf("bind_mw(q%d w%d m%d+%zu len=%zu access=0x%x)", qp, mw, mr, offset,
           length, access);
    if (!bench->qp[qp] || !bench->mw[mw] || !bench->mr[mr]) {
        printf(" = (nothing there)\n");
        return;
    }
    memset(&bind, 0, sizeof(bind));
    bind.wr_id = number_work(bench, qp, NULL);
    bind.send_flags = IBV_SEND_SIGNALED;
    bind.bind_info.mr = bench->mr[mr];
    bind.bind_info.addr = (uintptr_t)bench->arena + offset;
    bind.bind_info.length = length;
    bind.bind_info.mw_access_flags = access;
    result = ibv_bind_mw(bench->qp[qp], bench->mw[mw], &bind);
    say_result(result);
    if (result == 0)
        bench->due[qp]++;
}

static int64_t now_ms(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static int place_of(struct bench *bench, uint32_t number)
{
    for (int i = 0; i < PLACES; i++)
        if (bench->number[i] == number && number != 0)
            return i;
    return NOBODY;
}

static const char *queue_word(struct bench *bench, uint32_t number)
{
    static const char *const words[PLACES] = {"q0", "q1", "q2", "q3"};
    int place = place_of(bench, number);

    if (number == 0)
        return "0";
    return place == NOBODY ? "another" : words[place];
}

static void say_completion(struct bench *bench, const struct ibv_wc *wc)
{
    printf("  %s #%" PRIu64 " %s", queue_word(bench, wc->qp_num), wc->wr_id,
           status_word(wc->status));
    if (wc->status == IBV_WC_SUCCESS) {
        printf(" %s flags=0x%x", completion_word(wc->opcode),
               (unsigned)wc->wc_flags);
        if (wc->opcode & IBV_WC_RECV)
            printf(" len=%u from=%s", wc->byte_len,
                   queue_word(bench, wc->src_qp));
        if (wc->wc_flags & IBV_WC_WITH_IMM)
            printf(" imm=0x%x", ntohl(wc->imm_data));
    }
    printf("\n");
}

/* Two queue pairs' completions come in any order, one's own do not. */
static void say_completions(struct bench *bench, const struct ibv_wc *wc,
                            int count)
{
    for (int place = NOBODY; place < PLACES; place++)
        for (int i = 0; i < count; i++)
            if (place_of(bench, wc[i].qp_num) == place) {
                say_completion(bench, &wc[i]);
            }
}

/* Polls until `wanted` have come, or nothing has for quiet_ms. */
static int collect(struct bench *bench, int cq, struct ibv_wc *wc, int wanted)
{
    int limit = wanted < 0 ? bench->quiet_ms : LATEST_MS;
    int64_t until = now_ms() + limit;
    int count = 0;

    while (count != wanted && count < COMPLETIONS_MAX && now_ms() < until) {
        int got = ibv_poll_cq(bench->cq[cq], 1, &wc[count]);

        if (got < 0)
            return got;
        if (got == 0) {
            struct timespec pause = {0, 200000};

            nanosleep(&pause, NULL);
            continue;
        }
        count += got;
        until = now_ms() + limit;
    }
    return count;
}

static void settle(struct bench *bench, const struct ibv_wc *wc, int count)
{
    for (int i = 0; i < count; i++) {
        int queue =
            wc[i].wr_id < WORK_MAX ? bench->work[wc[i].wr_id].queue : NOBODY;

        if (queue != NOBODY && bench->due[queue] > 0)
            bench->due[queue]--;
    }
}

static void drain(struct bench *bench, int cq, int wanted)
{
    struct ibv_wc wc[COMPLETIONS_MAX];
    int count;

    printf("poll_cq(c%d)", cq);
    if (!bench->cq[cq]) {
        printf(" = (nothing there)\n");
        return;
    }
    count = collect(bench, cq, wc, wanted);
    printf(count < 0 ? " = %d\n" : "\n", count);
    if (count > 0) {
        settle(bench, wc, count);
        say_completions(bench, wc, count);
    }
}

void act_drain_sends(struct bench *bench, int cq)
{
    uint32_t due = 0;

    for (int i = 0; i < PLACES; i++)
        if (bench->qp[i] && bench->qp[i]->send_cq == bench->cq[cq])
            due += bench->due[i];
    drain(bench, cq, (int)due);
}

void act_drain(struct bench *bench, int cq)
{
    drain(bench, cq, -1);
}

void act_notify(struct bench *bench, int cq, bool solicited)
{
    printf("req_notify_cq(c%d%s)", cq, solicited ? " solicited" : "");
    say_result(ibv_req_notify_cq(bench->cq[cq], solicited));
}

void act_channel_event(struct bench *bench)
{
    struct pollfd wait = {.fd = bench->channel->fd, .events = POLLIN};
    struct ibv_cq *cq = NULL;
    void *context;

    printf("get_cq_event()");
    if (poll(&wait, 1, 4 * bench->quiet_ms) != 1) {
        printf(" = nothing to get\n");
        return;
    }
    say_result(ibv_get_cq_event(bench->channel, &cq, &context));
    for (int i = 0; i < PLACES; i++)
        if (cq && bench->cq[i] == cq)
            printf("  of c%d\n", i);
    if (cq)
        ibv_ack_cq_events(cq, 1);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void describe(struct bench *bench, const struct ibv_async_event *event,
                     char *text, size_t size)
{
    char object = '-';
    int place = 0;

    for (int i = 0; i < PLACES; i++) {
        if (bench->qp[i] && event->element.qp == bench->qp[i]) {
            object = 'q';
            place = i;
        } else if (bench->cq[i] && event->element.cq == bench->cq[i]) {
            object = 'c';
            place = i;
        } else if (bench->srq[i] && event->element.srq == bench->srq[i]) {
            object = 's';
            place = i;
        }
    }
    snprintf(text, size, "  event %s %c%d", event_word(event->event_type),
             object, place);
}

void act_events(struct bench *bench, int device)
{
    struct ibv_context *context = bench->context[device];
    struct ibv_async_event event;
    char lines[32][64];
    int count = 0;

    if (!context)
        return;
    fcntl(context->async_fd, F_SETFL,
          fcntl(context->async_fd, F_GETFL) | O_NONBLOCK);
    while (count < 32 && ibv_get_async_event(context, &event) == 0) {
        describe(bench, &event, lines[count++], sizeof(lines[0]));
        ibv_ack_async_event(&event);
    }
    qsort(lines, (size_t)count, sizeof(lines[0]), by_text);
    printf("get_async_event()\n");
    for (int i = 0; i < count; i++)
        printf("%s\n", lines[i]);
}

/* A datagram's header says which way it came, and a device may have written it
 * before it refused the rest. */
static void forget_headers(struct bench *bench)
{
    for (int i = 0; i < WORK_MAX; i++)
        if (bench->work[i].header)
            memset(bench->work[i].header, 0, GRH_BYTES);
}

void act_memory(struct bench *bench)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    forget_headers(bench);
    for (size_t i = 0; i < ARENA; i++)
        hash = (hash ^ bench->arena[i]) * UINT64_C(0x100000001b3);
    printf("memory 0x%016" PRIx64 "\n", hash);
}
