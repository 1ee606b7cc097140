/*
 * A verbs library that is not as it should be, for tests of the doctor.
 *
 * As it is, it lacks nearly all of the functions. With DOCTOR_COMPLETE it
 * passes every call on to the library that $DOCTOR_REAL names; "1 2" in
 * $DOCTOR_SWAP exchanges these two entries of the GID table, and $DOCTOR_GIDS
 * is how long the port says that table is.
 */
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef ibv_query_port
#undef ibv_reg_mr

#ifndef DOCTOR_COMPLETE
const char *ibv_get_device_name(struct ibv_device *device)
{
    (void)device;
    return NULL;
}
#else
/* The real function of that name. */
static void find(const char *name, void *function)
{
    static void *real;
    void *symbol;
    if (!real)
        real = dlopen(getenv("DOCTOR_REAL"), RTLD_NOW | RTLD_LOCAL);
    symbol = real ? dlsym(real, name) : NULL;
    if (!symbol) {
        fprintf(stderr, "DOCTOR_REAL has no %s\n", name);
        abort();
    }
    memcpy(function, &symbol, sizeof symbol);
}

#define PASS(type, name, parameters, arguments)                                \
    type name parameters;                                                      \
    type name parameters                                                       \
    {                                                                          \
        type(*function) parameters;                                            \
        find(#name, &function);                                                \
        return function arguments;                                             \
    }

PASS(struct ibv_device **, ibv_get_device_list, (int *count), (count))
/* ---- posts and polls: the device's, and what they are replaced by -------- */

static struct ibv_context_ops device_ops;
static unsigned char *receives; /* where the last receive was posted */

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
                     struct ibv_recv_wr **bad)
{
    receives = (unsigned char *)(uintptr_t)wr->sg_list->addr;
    return device_ops.post_recv(qp, wr, bad);
}

static int poll_cq(struct ibv_cq *cq, int entries, struct ibv_wc *wc)
{
    int count = device_ops.poll_cq(cq, entries, wc);
    const char *spoil = getenv("DOCTOR_SPOIL");
    if (count != 1 || wc->opcode != IBV_WC_RECV)
        return count;
    if (strcmp(spoil, "length") == 0)
        wc->byte_len = 100;
    else
        receives[atoi(spoil)] ^= 1;
    return count;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    struct ibv_context *(*function)(struct ibv_device *);
    struct ibv_context *context;
    find("ibv_open_device", &function);
    context = function(device);
    if (context && getenv("DOCTOR_SPOIL")) {
        device_ops = context->ops;
        context->ops.post_recv = post_recv;
        context->ops.poll_cq = poll_cq;
    }
    return context;
}

/* ---- the rest ----------------------------------------------------------- */

PASS(const char *, ibv_get_device_name, (struct ibv_device * device), (device))
PASS(int, ibv_close_device, (struct ibv_context * context), (context))
PASS(int, ibv_query_device,
     (struct ibv_context * context, struct ibv_device_attr *attr),
     (context, attr))
PASS(struct ibv_pd *, ibv_alloc_pd, (struct ibv_context * context), (context))
PASS(int, ibv_dealloc_pd, (struct ibv_pd * pd), (pd))
PASS(struct ibv_mr *, ibv_reg_mr,
     (struct ibv_pd * pd, void *memory, size_t size, int access),
     (pd, memory, size, access))
PASS(int, ibv_dereg_mr, (struct ibv_mr * mr), (mr))
PASS(struct ibv_cq *, ibv_create_cq,
     (struct ibv_context * context, int entries, void *cq_context,
      struct ibv_comp_channel *channel, int vector),
     (context, entries, cq_context, channel, vector))
PASS(int, ibv_destroy_cq, (struct ibv_cq * cq), (cq))
PASS(struct ibv_qp *, ibv_create_qp,
     (struct ibv_pd * pd, struct ibv_qp_init_attr *attr), (pd, attr))
PASS(int, ibv_modify_qp,
     (struct ibv_qp * qp, struct ibv_qp_attr *attr, int mask), (qp, attr, mask))
PASS(int, ibv_destroy_qp, (struct ibv_qp * qp), (qp))

int ibv_query_port(struct ibv_context *context, uint8_t port,
                   struct _compat_ibv_port_attr *attr)
{
    int (*function)(struct ibv_context *, uint8_t,
                    struct _compat_ibv_port_attr *);
    struct ibv_port_attr *all = (void *)attr;
    const char *table = getenv("DOCTOR_GIDS");
    int answer;
    find("ibv_query_port", &function);
    answer = function(context, port, attr);
    if (table)
        all->gid_tbl_len = atoi(table);
    return answer;
}

void ibv_free_device_list(struct ibv_device **list)
{
    void (*function)(struct ibv_device **);
    find("ibv_free_device_list", &function);
    function(list);
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index,
                  union ibv_gid *gid)
{
    int (*function)(struct ibv_context *, uint8_t, int, union ibv_gid *);
    const char *swap = getenv("DOCTOR_SWAP");
    int a, b;
    find("ibv_query_gid", &function);
    if (swap && sscanf(swap, "%d %d", &a, &b) == 2 &&
        (index == a || index == b))
        index = index == a ? b : a;
    return function(context, port, index, gid);
}
#endif
