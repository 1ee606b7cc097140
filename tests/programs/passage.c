/*
 * A program for device.sh: verbs on one machine, both ends in one process.
 * usage: passage MODE [COUNT [LIBRARY]]
 *
 *   talk, events      COUNT messages over RC, polled; by events
 *   extended          the same by ibv_start_poll and ibv_wr_*
 *   threads           four threads, each COUNT messages between its own pair
 *   acks              a thread has an event in hand while another destroys its
 *                     queue
 *   late-ack          the same, COUNT tenths of a second later
 *   no-ack            nobody acknowledges it: the program waits for ever
 *   fork              COUNT messages, in a child, too, and again
 *   by-name           the library is opened by its name, not linked
 *   again             COUNT regions, domains and queues made and released
 *   strangers         objects that LIBRARY made, used as if they were ours
 *   null-mr, freed-mr, freed-pd, freed-cq, freed-qp, pd-for-mr
 *                     the mistake that the word says
 *
 * Each failure is one line, "VERB: WORD"; status 1. Else "COUNT whole".
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "endpoint.h"

#define BYTES 256u
#define PAGE 4096u
#define THREADS 4

struct pair {
    struct endpoint endpoint;
    struct ibv_cq_ex *cq_ex; /* NULL: plain */
    struct ibv_qp *from, *to;
    struct ibv_mr *mr;
    unsigned char out[BYTES], in[BYTES];
};

_Static_assert(sizeof(struct pair) <= PAGE, "a pair has one page");

static int failed(const char *verb, int code)
{
    printf("%s: %s\n", verb, strerror(code));
    fflush(stdout);
    return 1;
}

/* ---- making ---- */

static void create_plain(struct pair *pair)
{
    pair->from = endpoint_qp(&pair->endpoint, NULL, 16);
    pair->to = endpoint_qp(&pair->endpoint, NULL, 16);
}

static struct ibv_qp *extended_qp(struct pair *pair)
{
    struct ibv_qp_init_attr_ex init = {
        .send_cq = pair->endpoint.cq,
        .recv_cq = pair->endpoint.cq,
        .cap = {.max_send_wr = 16,
                .max_recv_wr = 16,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = 64},
        .qp_type = IBV_QPT_RC,
        .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
        .pd = pair->endpoint.pd,
        .send_ops_flags = IBV_QP_EX_WITH_SEND,
    };
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    struct ibv_qp *qp = ibv_create_qp_ex(pair->endpoint.context, &init);

    if (!qp)
        give_up("ibv_create_qp_ex");
    errno = ibv_modify_qp(qp, &attr,
                          IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX |
                              IBV_QP_ACCESS_FLAGS);
    if (errno)
        give_up("ibv_modify_qp to INIT");
    return qp;
}

static void create_extended(struct pair *pair)
{
    struct ibv_cq_init_attr_ex init = {
        .cqe = 64,
        .wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_QP_NUM,
    };

    pair->cq_ex = ibv_create_cq_ex(pair->endpoint.context, &init);
    if (!pair->cq_ex)
        give_up("ibv_create_cq_ex");
    ibv_destroy_cq(pair->endpoint.cq);
    pair->endpoint.cq = ibv_cq_ex_to_cq(pair->cq_ex);
    pair->from = extended_qp(pair);
    pair->to = extended_qp(pair);
}

static struct pair *open_pair(bool extended, int events)
{
    /* Pages of its own: after ibv_fork_init a child has no part in them. */
    struct pair *pair = aligned_alloc(PAGE, PAGE);

    if (!pair)
        give_up("aligned_alloc");
    memset(pair, 0, sizeof *pair);
    endpoint_open(&pair->endpoint, 64, events);
    pair->mr = endpoint_register(&pair->endpoint, pair, sizeof *pair);
    if (extended)
        create_extended(pair);
    else
        create_plain(pair);
    endpoint_connect(pair->from, &pair->endpoint.gid, pair->to->qp_num, 8);
    endpoint_connect(pair->to, &pair->endpoint.gid, pair->from->qp_num, 8);
    return pair;
}

static void close_pair(struct pair *pair)
{
    ibv_destroy_qp(pair->from);
    ibv_destroy_qp(pair->to);
    ibv_dereg_mr(pair->mr);
    endpoint_close(&pair->endpoint);
    free(pair);
}

/* ---- messages ---- */

static int send_one(struct pair *pair, unsigned number)
{
    struct ibv_sge sge = {(uintptr_t)pair->out, BYTES, pair->mr->lkey};
    struct ibv_send_wr *bad, wr = {.wr_id = number,
                                   .sg_list = &sge,
                                   .num_sge = 1,
                                   .opcode = IBV_WR_SEND,
                                   .send_flags = IBV_SEND_SIGNALED};
    struct ibv_qp_ex *ex;

    if (!pair->cq_ex)
        return ibv_post_send(pair->from, &wr, &bad);
    ex = ibv_qp_to_qp_ex(pair->from);
    ibv_wr_start(ex);
    ex->wr_id = number;
    ex->wr_flags = IBV_SEND_SIGNALED;
    ibv_wr_send(ex);
    ibv_wr_set_sge(ex, pair->mr->lkey, (uintptr_t)pair->out, BYTES);
    return ibv_wr_complete(ex);
}

/* One completion of an extended queue, as the plain verb would have it. */
static int poll_extended(struct ibv_cq_ex *cq, struct ibv_wc *wc)
{
    struct ibv_poll_cq_attr attr = {0};
    int answer = ibv_start_poll(cq, &attr);

    if (answer == ENOENT)
        return 0;
    if (answer)
        return -1;
    wc->wr_id = cq->wr_id;
    wc->status = cq->status;
    wc->opcode = ibv_wc_read_opcode(cq);
    wc->byte_len = ibv_wc_read_byte_len(cq);
    wc->qp_num = ibv_wc_read_qp_num(cq);
    ibv_end_poll(cq);
    return 1;
}

/* 1 like poll_cq, or what that answers below 0. A completion that does not come
 * is given up after so many looks. */
static int wait_one(struct pair *pair, struct ibv_wc *wc)
{
    int got = 0;

    if (pair->endpoint.channel) {
        next_completion(&pair->endpoint, wc);
        return 1;
    }
    for (unsigned looks = 0; got == 0 && looks < 2000000; looks++)
        got = pair->cq_ex ? poll_extended(pair->cq_ex, wc)
                          : ibv_poll_cq(pair->endpoint.cq, 1, wc);
    return got;
}

/* Both completions of a message, in whatever order. */
static int finish(struct pair *pair, unsigned number)
{
    for (int n = 0; n < 2; n++) {
        struct ibv_wc wc;
        int got = wait_one(pair, &wc);

        if (got <= 0) {
            printf("poll_cq: %s\n", got ? "failed" : "nothing came");
            return 1;
        }
        if (wc.status != IBV_WC_SUCCESS) {
            printf("completion: %s\n", ibv_wc_status_str(wc.status));
            return 1;
        }
        if (wc.wr_id != number) {
            printf("completion: another request's\n");
            return 1;
        }
    }
    for (unsigned i = 0; i < BYTES; i++)
        if (pair->in[i] != (unsigned char)number) {
            printf("message: not whole\n");
            return 1;
        }
    return 0;
}

static int talk(struct pair *pair, unsigned count)
{
    struct ibv_sge sge = {(uintptr_t)pair->in, BYTES, pair->mr->lkey};
    struct ibv_recv_wr *bad, wr = {.sg_list = &sge, .num_sge = 1};

    for (unsigned i = 0; i < count; i++) {
        int answer;

        wr.wr_id = i;
        memset(pair->out, (int)i, BYTES);
        memset(pair->in, ~(int)i, BYTES);
        answer = ibv_post_recv(pair->to, &wr, &bad);
        if (answer)
            return failed("post_recv", answer);
        answer = send_one(pair, i);
        if (answer)
            return failed("post_send", answer);
        if (finish(pair, i) != 0)
            return 1;
    }
    return 0;
}

static int talk_alone(bool extended, int events, unsigned count)
{
    struct pair *pair = open_pair(extended, events);
    int status = talk(pair, count);

    close_pair(pair);
    if (status == 0)
        printf("%u whole\n", count);
    fflush(stdout);
    return status;
}

/* ---- threads ---- */

static unsigned thread_count;

static void *talk_on_thread(void *unused)
{
    struct pair *pair = open_pair(false, 0);
    int status = talk(pair, thread_count);

    (void)unused;
    close_pair(pair);
    return status == 0 ? NULL : pair;
}

static int talk_on_threads(unsigned count)
{
    pthread_t threads[THREADS];
    int status = 0;

    thread_count = count;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, talk_on_thread, NULL) != 0)
            give_up("pthread_create");
    for (int i = 0; i < THREADS; i++) {
        void *trouble;

        pthread_join(threads[i], &trouble);
        status |= trouble != NULL;
    }
    if (status == 0)
        printf("%u whole\n", THREADS * count);
    return status;
}

static atomic_bool destroying;
static unsigned late; /* tenths of a second */

/* The library waits in destroy_cq until the event is acknowledged. Most times
 * it does so by then; it is right if not. */
static void *acknowledge(void *cq)
{
    while (!destroying)
        sched_yield();
    for (int i = 0; i < 100; i++)
        sched_yield();
    usleep(late * 100000);
    ibv_ack_cq_events(cq, 1);
    return NULL;
}

static int destroy_with_event(bool acknowledged)
{
    struct pair *pair = open_pair(false, 1);
    struct ibv_cq *cq;
    pthread_t thread;
    void *context;

    ibv_req_notify_cq(pair->endpoint.cq, 0);
    post_receive(pair->to, 0, pair->in, BYTES, pair->mr->lkey);
    if (send_one(pair, 0) != 0 ||
        ibv_get_cq_event(pair->endpoint.channel, &cq, &context) != 0)
        return failed("get_cq_event", errno);
    if (acknowledged && pthread_create(&thread, NULL, acknowledge, cq) != 0)
        give_up("pthread_create");
    destroying = true;
    close_pair(pair);
    if (acknowledged)
        pthread_join(thread, NULL);
    printf("1 whole\n");
    return 0;
}

/* ---- processes ---- */

static int talk_in_child(unsigned count)
{
    struct pair *pair;
    int status, child = 0;
    pid_t pid;

    if (ibv_fork_init() != 0)
        return failed("fork_init", errno);
    pair = open_pair(false, 0);
    status = talk(pair, count);
    pid = fork();
    if (pid == 0)
        _exit(talk_alone(false, 0, count));
    waitpid(pid, &child, 0);
    status |= talk(pair, count);
    close_pair(pair);
    if (status == 0 && child == 0)
        printf("%u whole\n", 3 * count);
    return status || child != 0;
}

/* ---- names ---- */

/* A function's address is no object's: it is copied by its bytes. */
static void find(void *library, const char *name, void *function, size_t size)
{
    void *found = dlsym(library, name);

    if (!found) {
        printf("%s: not found\n", name);
        exit(1);
    }
    memcpy(function, &found, size);
}
#define FIND(library, function, name)                                          \
    find(library, name, &(function), sizeof(function))

struct names {
    struct ibv_device **(*list)(int *);
    struct ibv_context *(*open)(struct ibv_device *);
    int (*close)(struct ibv_context *);
    struct ibv_pd *(*alloc_pd)(struct ibv_context *);
    struct ibv_mr *(*reg_mr)(struct ibv_pd *, void *, size_t, int);
    const char *(*word)(enum ibv_wc_status);
};

static struct names find_names(const char *file)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    struct names names;

    if (!library) {
        printf("%s\n", dlerror());
        exit(1);
    }
    FIND(library, names.list, "ibv_get_device_list");
    FIND(library, names.open, "ibv_open_device");
    FIND(library, names.close, "ibv_close_device");
    FIND(library, names.alloc_pd, "ibv_alloc_pd");
    FIND(library, names.reg_mr, "ibv_reg_mr");
    FIND(library, names.word, "ibv_wc_status_str");
    return names;
}

static int by_name(void)
{
    struct names names = find_names("libibverbs.so.1");
    struct ibv_context *context = names.open(names.list(NULL)[0]);
    struct ibv_pd *pd = context ? names.alloc_pd(context) : NULL;

    if (!pd)
        return failed("alloc_pd", errno);
    printf("%s\n", names.word(IBV_WC_SUCCESS));
    if (ibv_dealloc_pd(pd) != 0)
        return failed("dealloc_pd", errno);
    return names.close(context);
}

/* Domain and region are made where nobody looks; a domain also where one of
 * ours was released just before. */
static int use_strangers(const char *file)
{
    struct names names = find_names(file);
    struct pair *pair = open_pair(false, 0);
    struct ibv_mr *mr, *own = pair->mr;
    struct ibv_pd *pd = ibv_alloc_pd(pair->endpoint.context);
    int status;

    ibv_dealloc_pd(pd);
    pd = names.alloc_pd(pair->endpoint.context);
    mr = names.reg_mr(pair->endpoint.pd, pair, sizeof *pair,
                      IBV_ACCESS_LOCAL_WRITE);
    if (!pd || !mr)
        return failed("alloc_pd", errno);
    pair->mr = mr;
    status = talk(pair, 10);
    pair->mr = own;
    ibv_dereg_mr(mr);
    mr = ibv_reg_mr(pd, pair, sizeof *pair, IBV_ACCESS_LOCAL_WRITE);
    if (!mr)
        return failed("reg_mr", errno);
    ibv_dereg_mr(mr);
    ibv_dealloc_pd(pd);
    close_pair(pair);
    if (status == 0)
        printf("10 whole\n");
    return status;
}

/* ---- lives ---- */

static int make_again(unsigned count)
{
    struct pair *pair = open_pair(false, 0);

    for (unsigned i = 0; i < count; i++) {
        struct ibv_pd *pd = ibv_alloc_pd(pair->endpoint.context);
        struct ibv_mr *mr =
            ibv_reg_mr(pd, pair, sizeof *pair, IBV_ACCESS_LOCAL_WRITE);
        struct ibv_cq *cq =
            ibv_create_cq(pair->endpoint.context, 4, NULL, NULL, 0);

        if (!pd || !mr || !cq)
            return failed("making", errno);
        if (ibv_dereg_mr(mr) || ibv_dealloc_pd(pd) || ibv_destroy_cq(cq))
            return failed("releasing", errno);
    }
    close_pair(pair);
    printf("%u whole\n", count);
    return 0;
}

static int mistake(const char *which)
{
    struct pair *pair = open_pair(false, 0);
    struct ibv_wc wc;
    void *mr = pair->mr;
    int answer = 0;

    if (strcmp(which, "null-mr") == 0) {
        answer = ibv_dereg_mr(NULL);
    } else if (strcmp(which, "freed-mr") == 0) {
        ibv_dereg_mr(pair->mr);
        answer = ibv_dereg_mr(mr);
    } else if (strcmp(which, "pd-for-mr") == 0) {
        answer = ibv_dereg_mr((struct ibv_mr *)(void *)pair->endpoint.pd);
    } else if (strcmp(which, "freed-pd") == 0) {
        struct ibv_pd *pd = ibv_alloc_pd(pair->endpoint.context);

        ibv_dealloc_pd(pd);
        answer = ibv_reg_mr(pd, pair, 64, 0) ? 0 : errno;
    } else if (strcmp(which, "freed-cq") == 0) {
        struct ibv_cq *cq =
            ibv_create_cq(pair->endpoint.context, 4, NULL, NULL, 0);

        ibv_destroy_cq(cq);
        answer = ibv_poll_cq(cq, 1, &wc);
    } else if (strcmp(which, "freed-qp") == 0) {
        ibv_destroy_qp(pair->from);
        answer = ibv_destroy_qp(pair->from);
    } else {
        return 2;
    }
    return failed(which, answer < 0 ? EIO : answer);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    unsigned count = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 10;

    if (strcmp(mode, "talk") == 0 || strcmp(mode, "events") == 0 ||
        strcmp(mode, "extended") == 0)
        return talk_alone(mode[1] == 'x', mode[1] == 'v', count);
    if (strcmp(mode, "threads") == 0)
        return talk_on_threads(count);
    if (strcmp(mode, "late-ack") == 0)
        late = count;
    if (strcmp(mode, "acks") == 0 || late > 0)
        return destroy_with_event(true);
    if (strcmp(mode, "no-ack") == 0)
        return destroy_with_event(false);
    if (strcmp(mode, "fork") == 0)
        return talk_in_child(count);
    if (strcmp(mode, "by-name") == 0)
        return by_name();
    if (strcmp(mode, "again") == 0)
        return make_again(count);
    if (strcmp(mode, "strangers") == 0 && argc > 3)
        return use_strangers(argv[3]);
    return mistake(mode);
}
