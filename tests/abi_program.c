/*
 * A program that was linked with rdma-core's libibverbs and knows nothing of
 * verbfault; tests/abi.sh runs it over both.
 *
 *   abi_program words         what the functions of no device answer, to
 * compare abi_program device        a device from its name to its completion
 * queues abi_program old           the functions of 2006 abi_program refused
 * NAME...  each answers EOPNOTSUPP, NULL, -1 or nothing
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dlvsym */
#endif
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front/infiniband.h"

#define MOST_MEGABITS 1300000
#define THUNDERBOLT 100 /* a link layer of Apple's verbs.h */

#define NEED(condition)                                                        \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "line %d: %s (errno %d)\n", __LINE__, #condition,  \
                    errno);                                                    \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

/* Where programs for Macs that were not built with a verbs.h look, and what
 * their authors found there. Apple's layout is rdma-core's. */
static void layout(void)
{
    NEED(offsetof(struct ibv_context, ops) == 8);
    NEED(offsetof(struct ibv_context_ops, poll_cq) == 88);
    NEED(offsetof(struct ibv_context_ops, post_send) == 200);
    NEED(offsetof(struct ibv_context_ops, post_recv) == 208);
    NEED(offsetof(struct ibv_qp, qp_num) == 52);
    NEED(offsetof(struct ibv_mr, lkey) == 36);
    NEED(offsetof(struct ibv_mr, rkey) == 40);
    NEED(sizeof(struct ibv_port_attr) == 52);
    NEED(sizeof(struct ibv_wc) == 48);
}

static int words(void)
{
    for (int i = -1; i < 40; i++) {
        printf("%d: %s, %s, %s, %s\n", i,
               ibv_wc_status_str((enum ibv_wc_status)i),
               ibv_node_type_str((enum ibv_node_type)i),
               ibv_port_state_str((enum ibv_port_state)i),
               ibv_event_type_str((enum ibv_event_type)i));
        printf("rate %d: %d, %d\n", i, ibv_rate_to_mult((enum ibv_rate)i),
               ibv_rate_to_mbps((enum ibv_rate)i));
    }
    for (int i = -1; i < 1000; i++)
        if (mult_to_ibv_rate(i))
            printf("%d times 2.5 Gbit/s: rate %d\n", i, mult_to_ibv_rate(i));
    for (int i = -1; i < MOST_MEGABITS; i++)
        if (mbps_to_ibv_rate(i))
            printf("%d Mbit/s: rate %d\n", i, mbps_to_ibv_rate(i));
    printf("fork: %d\n", ibv_fork_init());
    return 0;
}

static void use_queues(struct ibv_context *context)
{
    struct ibv_cq_init_attr_ex attr = {.cqe = 16,
                                       .wc_flags = IBV_WC_STANDARD_FLAGS};
    struct ibv_poll_cq_attr poll = {.comp_mask = 0};
    struct ibv_cq_ex *extended = ibv_create_cq_ex(context, &attr);
    struct ibv_cq *plain = ibv_create_cq(context, 16, NULL, NULL, 0);
    struct ibv_wc wc;

    NEED(extended && plain);
    NEED(ibv_start_poll(extended, &poll) == ENOENT);
    NEED(ibv_poll_cq(plain, 1, &wc) == 0);
    NEED(ibv_destroy_cq(ibv_cq_ex_to_cq(extended)) == 0);
    NEED(ibv_destroy_cq(plain) == 0);
}

static void use_regions(struct ibv_context *context)
{
    void *memory = NULL;
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_mr *mr;

    NEED(pd);
    NEED(posix_memalign(&memory, 4096, 4096) == 0);
    mr = ibv_reg_mr(pd, memory, 4096, IBV_ACCESS_LOCAL_WRITE);
    NEED(mr && mr->length == 4096 && mr->addr == memory);
    NEED(ibv_dereg_mr(mr) == 0);
    NEED(ibv_dealloc_pd(pd) == 0);
    free(memory);
}

static void ask(struct ibv_context *context)
{
    struct ibv_device_attr_ex attr;
    struct ibv_gid_entry entries[16];
    struct ibv_port_attr port;
    union ibv_gid gid;

    NEED(ibv_query_device_ex(context, NULL, &attr) == 0);
    NEED(attr.orig_attr.max_qp > 0);
#ifndef VF_LACKS_PORT_COUNT
    NEED(attr.phys_port_cnt_ex == 1);
#endif
    NEED(attr.orig_attr.node_guid == ibv_get_device_guid(context->device));
    NEED(ibv_query_port(context, 1, &port) == 0);
    NEED(port.state == IBV_PORT_ACTIVE);
    NEED(port.link_layer == IBV_LINK_LAYER_ETHERNET ||
         port.link_layer == THUNDERBOLT);
    NEED(ibv_query_gid_table(context, entries, 16, 0) >= 2);
    NEED(entries[1].gid_type == IBV_GID_TYPE_ROCE_V2);
    NEED(ibv_query_gid(context, 1, 1, &gid) == 0);
    NEED(memcmp(&gid, &entries[1].gid, sizeof(gid)) == 0);
}

/* Whoever opens the library by its name has this one, not a second one. */
static void open_by_name(void)
{
    void *again = dlopen("libibverbs.so.1", RTLD_NOW);
    struct ibv_device **(*list)(int *) = ibv_get_device_list;
    void *found;

    NEED(again);
    found = dlsym(again, "ibv_get_device_list");
    NEED(found && memcmp(&found, &list, sizeof(found)) == 0);
    NEED(dlsym(again, "vf_thread_machine"));
    dlclose(again);
}

static int device(void)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    struct ibv_context *context;

    NEED(list && count > 0);
    printf("%s\n", ibv_get_device_name(list[0]));
    context = ibv_open_device(list[0]);
    NEED(context);
    ibv_free_device_list(list);
    open_by_name();
    ask(context);
    use_queues(context);
    use_regions(context);
    NEED(ibv_close_device(context) == 0);
    layout();
    return 0;
}

typedef intptr_t function(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t,
                          intptr_t);

static function *find(const char *name, const char *version)
{
    void *found = version ? dlvsym(RTLD_DEFAULT, name, version)
                          : dlsym(RTLD_DEFAULT, name);
    function *address = NULL;

    if (!found) {
        fprintf(stderr, "no %s %s\n", name, version ? version : "");
        exit(1);
    }
    memcpy(&address, &found, sizeof(found));
    return address;
}

/* A pointer, -1 of a smaller type, or an errno: all that these can answer. */
static int call(const char *name, const char *version)
{
    function *address = find(name, version);

    errno = 0;
    return (int)address(0, 0, 0, 0, 0, 0);
}

static int old(void)
{
    NEED(call("ibv_reg_mr", "IBVERBS_1.0") == 0 && errno == ENOSYS);
    NEED(call("ibv_dereg_mr", "IBVERBS_1.0") == ENOSYS);
    NEED(call("ibv_query_gid", "IBVERBS_1.0") == -1 && errno == ENOSYS);
    call("ibv_free_device_list", "IBVERBS_1.0");
    NEED(errno == ENOSYS);
    call("ibv_register_driver", "IBVERBS_1.1");
    return 0;
}

static int refused(int count, char **names)
{
    for (int i = 0; i < count; i++) {
        int answer = call(names[i], NULL);

        if (errno == 0)
            continue; /* it has no answer */
        if (errno != EOPNOTSUPP ||
            (answer != 0 && answer != -1 && answer != EOPNOTSUPP)) {
            fprintf(stderr, "%s: %d, errno %d\n", names[i], answer, errno);
            return 1;
        }
    }
    printf("%d refused\n", count);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (strcmp(what, "words") == 0)
        return words();
    if (strcmp(what, "device") == 0)
        return device();
    if (strcmp(what, "old") == 0)
        return old();
    if (strcmp(what, "refused") == 0)
        return refused(argc - 2, argv + 2);
    fprintf(stderr, "usage: abi_program words|device|old|refused NAME...\n");
    return 2;
}
