/*
 * The shared library serves a program that knows nothing of verbfault: it is
 * loaded by its path, its functions are looked up by name, and its world comes
 * from the environment.
 *
 * Each scenario runs in a child process, for a process has one such world.
 */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE /* mkdtemp, setenv */
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <infiniband/verbs.h>

/* The library's path, which the build knows. */
#ifndef VERBFAULT_LIBRARY
#define VERBFAULT_LIBRARY BINARY_DIR "/lib/librdma.dylib"
#endif

#undef ibv_query_port
#undef ibv_reg_mr

/* JACCL looks these up. */
static struct {
    struct ibv_device **(*get_device_list)(int *);
    const char *(*get_device_name)(struct ibv_device *);
    struct ibv_context *(*open_device)(struct ibv_device *);
    void (*free_device_list)(struct ibv_device **);
    int (*close_device)(struct ibv_context *);
    struct ibv_pd *(*alloc_pd)(struct ibv_context *);
    struct ibv_qp *(*create_qp)(struct ibv_pd *, struct ibv_qp_init_attr *);
    struct ibv_cq *(*create_cq)(struct ibv_context *, int, void *,
                                struct ibv_comp_channel *, int);
    int (*destroy_cq)(struct ibv_cq *);
    int (*destroy_qp)(struct ibv_qp *);
    int (*dealloc_pd)(struct ibv_pd *);
    int (*query_port)(struct ibv_context *, uint8_t, struct ibv_port_attr *);
    int (*query_gid)(struct ibv_context *, uint8_t, int, union ibv_gid *);
    int (*modify_qp)(struct ibv_qp *, struct ibv_qp_attr *, int);
    struct ibv_mr *(*reg_mr)(struct ibv_pd *, void *, size_t, int);
    int (*dereg_mr)(struct ibv_mr *);
    void (*set_machine)(int);
} verbs;

static void look_up(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);

    if (!found) {
        fprintf(stderr, "no %s\n", name);
        _exit(90);
    }
    memcpy(function, &found, sizeof(found));
}

static void load(void)
{
    void *library = dlopen(VERBFAULT_LIBRARY, RTLD_NOW | RTLD_LOCAL);

    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        _exit(91);
    }
    look_up(library, "ibv_get_device_list", &verbs.get_device_list);
    look_up(library, "ibv_get_device_name", &verbs.get_device_name);
    look_up(library, "ibv_open_device", &verbs.open_device);
    look_up(library, "ibv_free_device_list", &verbs.free_device_list);
    look_up(library, "ibv_close_device", &verbs.close_device);
    look_up(library, "ibv_alloc_pd", &verbs.alloc_pd);
    look_up(library, "ibv_create_qp", &verbs.create_qp);
    look_up(library, "ibv_create_cq", &verbs.create_cq);
    look_up(library, "ibv_destroy_cq", &verbs.destroy_cq);
    look_up(library, "ibv_destroy_qp", &verbs.destroy_qp);
    look_up(library, "ibv_dealloc_pd", &verbs.dealloc_pd);
    look_up(library, "ibv_query_port", &verbs.query_port);
    look_up(library, "ibv_query_gid", &verbs.query_gid);
    look_up(library, "ibv_modify_qp", &verbs.modify_qp);
    look_up(library, "ibv_reg_mr", &verbs.reg_mr);
    look_up(library, "ibv_dereg_mr", &verbs.dereg_mr);
    look_up(library, "vf_thread_set_machine", &verbs.set_machine);
}

struct rank {
    int number;
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    unsigned char *memory;
    union ibv_gid gid;
};

static struct rank ranks[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t met = PTHREAD_COND_INITIALIZER;
static unsigned arrivals;

static void meet(void)
{
    unsigned goal;

    pthread_mutex_lock(&mutex);
    arrivals++;
    goal = arrivals + arrivals % 2;
    if (arrivals % 2 == 0)
        pthread_cond_broadcast(&met);
    while (arrivals < goal)
        pthread_cond_wait(&met, &mutex);
    pthread_mutex_unlock(&mutex);
}

/* In a child: the line tells what went wrong. */
#define NEED(condition)                                                        \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);            \
            _exit(92);                                                         \
        }                                                                      \
    } while (0)

static void start(struct rank *rank)
{
    struct ibv_qp_init_attr attr = {
        .qp_type = IBV_QPT_UC,
        .cap = {.max_send_wr = 32,
                .max_recv_wr = 32,
                .max_send_sge = 1,
                .max_recv_sge = 1},
    };
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT,
                               .port_num = 1,
                               .qp_access_flags = IBV_ACCESS_LOCAL_WRITE};
    struct ibv_port_attr port;
    struct ibv_device **list;
    int count;

    verbs.set_machine(rank->number);
    list = verbs.get_device_list(&count);
    NEED(list && count == 1);
    NEED(strcmp(verbs.get_device_name(list[0]), "rdma_en2") == 0);
    rank->context = verbs.open_device(list[0]);
    NEED(rank->context);
    verbs.free_device_list(list);
    rank->pd = verbs.alloc_pd(rank->context);
    NEED(rank->pd);
    rank->cq = verbs.create_cq(rank->context, 64, NULL, NULL, 0);
    NEED(rank->cq);
    attr.send_cq = rank->cq;
    attr.recv_cq = rank->cq;
    rank->qp = verbs.create_qp(rank->pd, &attr);
    NEED(rank->qp);
    NEED(posix_memalign((void **)&rank->memory, 4096, 8192) == 0);
    memset(rank->memory, rank->number + 1, 8192);
    rank->mr = verbs.reg_mr(rank->pd, rank->memory, 8192, 7);
    if (!rank->mr)
        verbs.dereg_mr(NULL); /* the mistake that is looked for */
    NEED(verbs.modify_qp(rank->qp, &init,
                         IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                             IBV_QP_ACCESS_FLAGS) == 0);
    NEED(verbs.query_port(rank->context, 1, &port) == 0);
    NEED(port.gid_tbl_len == 3);
    NEED(verbs.query_gid(rank->context, 1, 1, &rank->gid) == 0);
}

static void connect_to(struct rank *rank, const struct rank *peer)
{
    struct ibv_qp_attr rtr = {
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_1024,
        .dest_qp_num = peer->qp->qp_num,
        .ah_attr = {.is_global = 1,
                    .port_num = 1,
                    .grh = {.dgid = peer->gid, .sgid_index = 1}},
    };
    struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS};

    NEED(verbs.modify_qp(rank->qp, &rtr,
                         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                             IBV_QP_DEST_QPN | IBV_QP_RQ_PSN) == 0);
    NEED(verbs.modify_qp(rank->qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0);
}

static void exchange(struct rank *rank)
{
    struct ibv_sge sge[2] = {
        {(uintptr_t)rank->memory, 4096, rank->mr->lkey},
        {(uintptr_t)rank->memory + 4096, 4096, rank->mr->lkey},
    };
    struct ibv_send_wr send = {.wr_id = 1,
                               .sg_list = &sge[0],
                               .num_sge = 1,
                               .opcode = IBV_WR_SEND,
                               .send_flags = IBV_SEND_SIGNALED};
    struct ibv_recv_wr recv = {.wr_id = 2, .sg_list = &sge[1], .num_sge = 1};
    struct ibv_send_wr *bad_send;
    struct ibv_recv_wr *bad_recv;
    struct ibv_wc wc;
    int left = 2;

    NEED(ibv_post_recv(rank->qp, &recv, &bad_recv) == 0);
    NEED(ibv_post_send(rank->qp, &send, &bad_send) == 0);
    while (left > 0) {
        int count = ibv_poll_cq(rank->cq, 1, &wc);

        NEED(count >= 0 && (count == 0 || wc.status == IBV_WC_SUCCESS));
        left -= count;
    }
    NEED(rank->memory[4096] == 2 - rank->number);
}

static void end(struct rank *rank)
{
    NEED(verbs.dereg_mr(rank->mr) == 0);
    NEED(verbs.destroy_qp(rank->qp) == 0);
    NEED(verbs.destroy_cq(rank->cq) == 0);
    NEED(verbs.dealloc_pd(rank->pd) == 0);
    NEED(verbs.close_device(rank->context) == 0);
    free(rank->memory);
}

static void *run(void *argument)
{
    struct rank *rank = argument;

    start(rank);
    meet();
    connect_to(rank, &ranks[!rank->number]);
    exchange(rank);
    meet();
    end(rank);
    return NULL;
}

static void program(void)
{
    pthread_t threads[2];

    load();
    for (int i = 0; i < 2; i++) {
        ranks[i].number = i;
        NEED(pthread_create(&threads[i], NULL, run, &ranks[i]) == 0);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

/* The child's wait status; its standard error goes to a file. */
static int run_program(const char *errors)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        if (errors && !freopen(errors, "w", stderr))
            _exit(93);
        program();
        fflush(stderr);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static char directory[] = "/tmp/verbfault-shared-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[512];

    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

static void read_back(const char *name, char *text, size_t room)
{
    FILE *file = fopen(path_of(name), "r");
    size_t length;

    assert_non_null(file);
    length = fread(text, 1, room - 1, file);
    text[length] = '\0';
    fclose(file);
    remove(path_of(name));
}

static int set_up(void **state)
{
    (void)state;
    unsetenv("VERBFAULT_FAULTS");
    unsetenv("VERBFAULT_KEEP_GOING");
    unsetenv("VERBFAULT_LIMITS");
    setenv("VERBFAULT_TRACE", path_of("trace"), 1);
    return 0;
}

static void two_threads_exchange_through_it(void **state)
{
    char text[8192];

    (void)state;
    assert_int_equal(run_program(path_of("err")), 0);
    read_back("err", text, sizeof(text));
    assert_string_equal(text, "");
    read_back("trace.r0", text, sizeof(text));
    assert_non_null(strstr(text, "r0 #7 create_qp(pd=1, type=3, send=32, "
                                 "recv=32) = qp=1\n"));
    assert_non_null(strstr(text, "close_device(context=1) = 0\n"));
    read_back("trace.r1", text, sizeof(text));
    assert_non_null(strstr(text, "r1 #8 reg_mr(pd=1, len=8192, access=0x7) = "
                                 "mr=1\n"));
}

/* Keep going: the report first, then the crash that a real library has. */
static void planned_null_region_crashes_its_program(void **state)
{
    char text[8192];
    int status;

    (void)state;
    setenv("VERBFAULT_FAULTS", " 0 reg_mr 1 null ENOMEM ; 1 alloc_pd 9+ null 5",
           1);
    status = run_program(path_of("err"));
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
    read_back("err", text, sizeof(text));
    assert_non_null(
        strstr(text, "verbfault: finding: r0: null-mr in dereg_mr: "));
    read_back("trace.r0", text, sizeof(text));
    assert_non_null(strstr(text, "= NULL ENOMEM (planned)\n"
                                 "r0 #9 dereg_mr(mr=NULL) = ? (null-mr)\n"));
    remove(path_of("trace.r1"));
}

static void without_keep_going_it_stops_at_the_finding(void **state)
{
    int status;

    (void)state;
    setenv("VERBFAULT_FAULTS", "1 reg_mr 1 null ENOMEM", 1);
    setenv("VERBFAULT_KEEP_GOING", "0", 1);
    status = run_program(path_of("err"));
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 99);
    remove(path_of("err"));
    remove(path_of("trace.r0"));
    remove(path_of("trace.r1"));
}

static void limits_come_from_the_environment(void **state)
{
    char text[8192];

    (void)state;
    setenv("VERBFAULT_LIMITS", "max_mr=100,used_mr=100", 1);
    assert_int_not_equal(run_program(path_of("err")), 0);
    read_back("err", text, sizeof(text));
    assert_non_null(strstr(text, "null-mr in dereg_mr"));
    remove(path_of("trace.r0"));
    remove(path_of("trace.r1"));
}

static void nonsense_is_reported_and_nothing_is_guessed(void **state)
{
    static const char *const nonsense[] = {
        "0 reg_mr 1 errno ENOMEM",
        "0 reg 1 null ENOMEM",
        "0 reg_mr 0 null ENOMEM",
        "9 reg_mr 1 null ENOMEM",
        "0 reg_mr 1 null",
        "0 reg_mr 1 null ENONSENSE",
        "0 reg_mr",
        "0 completion 1 status WHAT",
    };
    char text[8192];

    (void)state;
    for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
        int status;

        setenv("VERBFAULT_FAULTS", nonsense[i], 1);
        status = run_program(path_of("err"));
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 92); /* no device list */
        read_back("err", text, sizeof(text));
        assert_non_null(strstr(text, "verbfault: VERBFAULT_FAULTS: \""));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(two_threads_exchange_through_it, set_up),
        cmocka_unit_test_setup(planned_null_region_crashes_its_program, set_up),
        cmocka_unit_test_setup(without_keep_going_it_stops_at_the_finding,
                               set_up),
        cmocka_unit_test_setup(limits_come_from_the_environment, set_up),
        cmocka_unit_test_setup(nonsense_is_reported_and_nothing_is_guessed,
                               set_up),
    };
    int failures;

    if (!mkdtemp(directory))
        return 1;
    failures = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(directory);
    return failures;
}
