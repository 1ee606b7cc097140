#include "cjaccl_fake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#include <sanitizer/msan_interface.h>
#define EXPECT_INITIALIZED(data, size)                                         \
    __msan_check_mem_is_initialized(data, size)
#endif
#endif
#ifndef EXPECT_INITIALIZED
#define EXPECT_INITIALIZED(data, size) ((void)(data), (void)(size))
#endif

#define QUEUE 64

struct fake_device {
    struct ibv_device device;
    struct fake_machine *machine;
};

struct fake_context {
    struct ibv_context context;
    struct fake_machine *machine;
};

/* A completion, and the room in a queue that it gives back when polled. */
struct fake_entry {
    struct ibv_wc wc;
    int *used;
    int units;
};

struct fake_cq {
    struct ibv_cq cq;
    struct fake_entry entries[QUEUE];
    int count;
};

struct fake_message {
    struct fake_qp *from;
    uint64_t id;
    struct ibv_sge entries[2];
    int count;
    uint32_t length;
};

struct fake_qp {
    struct ibv_qp qp;
    struct fake_cq *cq;
    uint32_t peer;
    int depth;
    int sends; /* of that depth, until their completions are polled */
    int recvs;
    struct ibv_recv_wr receives[QUEUE];
    struct ibv_sge sges[QUEUE];
    int receive_count;
    struct fake_message waiting[QUEUE];
    int waiting_count;
    struct fake_qp *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_qp *qps;
static uint32_t last_qp_num = 100;
static _Thread_local struct fake_machine *here;

void fake_machine_init(struct fake_machine *machine)
{
    memset(machine, 0, sizeof *machine);
    machine->names[0] = "rdma_en2";
    machine->transport = 100;
    machine->port_state = IBV_PORT_ACTIVE;
    machine->gid_index = 1;
    machine->gid_count = 3;
    machine->depth = 1023;
    machine->max_cqe = 1000;
    machine->entries = 1;
}

void fake_enter(struct fake_machine *machine)
{
    here = machine;
}

const char *fake_coordinator(char text[32])
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        abort();
    (void)close(fd);
    (void)snprintf(text, 32, "127.0.0.1:%u", ntohs(address.sin_port));
    return text;
}

static struct fake_machine *machine_of(struct ibv_context *context)
{
    return ((struct fake_context *)context)->machine;
}

/*
 * Counts the call; true when it is the one that fails. A call that works leaves
 * something in errno, as it may.
 */
static bool fails(struct fake_machine *machine, const char *verb)
{
    int before = errno;

    errno = E2BIG;
    if (machine->fail_verb == NULL || strcmp(machine->fail_verb, verb) != 0)
        return false;
    machine->calls++;
    if (machine->calls != machine->fail_call)
        return false;
    /* One that answers a negative errno, or -1 and no more, sets none. */
    errno = machine->fail_errno >= 0 ? machine->fail_errno : before;
    return true;
}

static void log_release(struct fake_machine *machine, const char *verb)
{
    size_t used = strlen(machine->log);

    (void)snprintf(machine->log + used, sizeof machine->log - used, "%s ",
                   verb);
}

/* An object, zeroed, unless the verb is to fail. */
static void *make(struct fake_machine *machine, const char *verb, size_t size)
{
    if (fails(machine, verb))
        return NULL;
    machine->alive++;
    return calloc(1, size);
}

static int unmake(struct fake_machine *machine, const char *verb, void *object)
{
    bool failed = fails(machine, verb);

    log_release(machine, verb);
    machine->alive--;
    free(object);
    if (machine->broken_verb != NULL && strcmp(machine->broken_verb, verb) == 0)
        return EBUSY;
    return failed ? machine->fail_errno : 0;
}

static struct ibv_device **get_device_list(int *count)
{
    struct ibv_device **list;

    *count = 0;
    if (here->no_list) {
        errno = ENOSYS;
        return NULL;
    }
    while (here->names[*count] != NULL)
        (*count)++;
    list = make(here, "get_device_list",
                ((size_t)*count + 1) * sizeof(struct ibv_device *));
    for (int i = 0; list != NULL && i < *count; i++) {
        struct fake_device *device = calloc(1, sizeof *device);

        (void)snprintf(device->device.name, sizeof device->device.name, "%s",
                       here->names[i]);
        device->machine = here;
        memcpy(&device->device.transport_type, &here->transport, sizeof(int));
        list[i] = &device->device;
    }
    return list;
}

static void free_device_list(struct ibv_device **list)
{
    for (int i = 0; list[i] != NULL; i++)
        free(list[i]);
    here->alive--;
    free(list);
}

static const char *get_device_name(struct ibv_device *device)
{
    return device->name;
}

/* The receives go before the sends. */
static void make_sends_late(struct fake_cq *cq)
{
    int at = 0;

    while (at < cq->count && cq->entries[at].wc.opcode != IBV_WC_RECV)
        at++;
    if (at < cq->count) {
        struct fake_entry first = cq->entries[at];

        memmove(cq->entries + 1, cq->entries, (size_t)at * sizeof *cq->entries);
        cq->entries[0] = first;
    }
}

/* What a request takes of a queue's depth: Thunderbolt counts frames. */
static int units_of(const struct fake_qp *qp, uint32_t length)
{
    return machine_of(qp->qp.context)->transport == 100
               ? (int)((length + 4095) / 4096)
               : 1;
}

static void complete(struct fake_qp *qp, uint64_t id, enum ibv_wc_opcode opcode,
                     uint32_t length, uint32_t posted)
{
    struct fake_entry *entry = &qp->cq->entries[qp->cq->count++];

    memset(entry, 0, sizeof *entry);
    entry->wc.wr_id = id;
    entry->wc.opcode = opcode;
    entry->wc.byte_len = length;
    entry->wc.qp_num = qp->qp.qp_num;
    entry->used = opcode == IBV_WC_RECV ? &qp->recvs : &qp->sends;
    entry->units = units_of(qp, posted);
}

static void copy_message(unsigned char *to, const struct fake_message *message)
{
    for (int i = 0; i < message->count; i++) {
        const struct ibv_sge *entry = &message->entries[i];

        memcpy(to, (const void *)(uintptr_t)entry->addr, entry->length);
        to += entry->length;
    }
}

static void deliver(struct fake_qp *to, const struct fake_message *message)
{
    struct ibv_sge *sge = &to->sges[0];

    bool fits = message->length <= sge->length &&
                units_of(to, message->length) == units_of(to, sge->length);

    if (fits)
        copy_message((void *)(uintptr_t)sge->addr, message);
    if (fits && fails(machine_of(message->from->qp.context), "scribble"))
        memset((void *)(uintptr_t)sge->addr, 0xee, message->length);
    complete(to, to->receives[0].wr_id, IBV_WC_RECV, message->length,
             sge->length);
    if (!fits)
        to->cq->entries[to->cq->count - 1].wc.status = IBV_WC_LOC_LEN_ERR;
    if (message->id != 0)
        complete(message->from, message->id, IBV_WC_SEND, 0, message->length);
    to->receive_count--;
    memmove(to->receives, to->receives + 1,
            (size_t)to->receive_count * sizeof *to->receives);
    memmove(to->sges, to->sges + 1,
            (size_t)to->receive_count * sizeof *to->sges);
}

static void deliver_waiting(struct fake_qp *qp)
{
    struct fake_message message = qp->waiting[0];

    qp->waiting_count--;
    memmove(qp->waiting, qp->waiting + 1,
            (size_t)qp->waiting_count * sizeof *qp->waiting);
    deliver(qp, &message);
}

/* A slow machine's turn: one message that it was given, after a while. */
static void deliver_slowly(struct fake_machine *machine)
{
    if (++machine->polls % 3 != 0)
        return;
    for (struct fake_qp *qp = qps; qp != NULL; qp = qp->next) {
        if (qp->waiting_count == 0 || qp->receive_count == 0 ||
            machine_of(qp->waiting[0].from->qp.context) != machine)
            continue;
        deliver_waiting(qp);
        return;
    }
}

/* All the bytes of the entry are in the region that its key names. */
static bool is_registered(const struct fake_machine *machine,
                          const struct ibv_sge *entry)
{
    for (int i = 0; i < FAKE_REGIONS; i++) {
        const struct ibv_mr *mr = machine->live[i];

        if (mr != NULL && mr->lkey == entry->lkey)
            return entry->addr >= (uintptr_t)mr->addr &&
                   entry->addr + entry->length <=
                       (uintptr_t)mr->addr + mr->length;
    }
    return false;
}

static int poll_cq(struct ibv_cq *cq, int room, struct ibv_wc *completions)
{
    struct fake_cq *fake = (struct fake_cq *)cq;
    struct fake_machine *machine = machine_of(cq->context);
    int n = 0;

    (void)pthread_mutex_lock(&lock);
    if (machine->slow)
        deliver_slowly(machine);
    if (machine->late_sends) {
        make_sends_late(fake);
        room = 1;
    }
    while (n < room && fake->count > 0) {
        completions[n] = fake->entries[0].wc;
        if (fake->entries[0].used != NULL)
            *fake->entries[0].used -= fake->entries[0].units;
        fake->count--;
        memmove(fake->entries, fake->entries + 1,
                (size_t)fake->count * sizeof *fake->entries);
        if (fails(machine, "completion"))
            completions[n].status = machine->fail_status;
        if (fails(machine, "garbled"))
            completions[n].wr_id ^= 0x5a5a;
        if (completions[n].opcode == IBV_WC_RECV && fails(machine, "length"))
            completions[n].byte_len += 1;
        if (fails(machine, "duplicate")) {
            memmove(fake->entries + 1, fake->entries,
                    (size_t)fake->count * sizeof *fake->entries);
            fake->entries[0] = (struct fake_entry){.wc = completions[n]};
            fake->count++;
        }
        n++;
    }
    (void)pthread_mutex_unlock(&lock);
    if (n > 0 && fails(machine, "poll_cq"))
        return -1;
    return n;
}

static struct fake_qp *find_qp(uint32_t number)
{
    struct fake_qp *qp = qps;

    while (qp != NULL && qp->qp.qp_num != number)
        qp = qp->next;
    return qp;
}

static int send_locked(struct fake_machine *machine, struct fake_qp *qp,
                       const struct ibv_send_wr *wr)
{
    struct fake_qp *peer = find_qp(qp->peer);
    struct fake_message message = {
        .from = qp,
        .id = wr->wr_id,
        .count = wr->num_sge,
    };

    if (wr->num_sge > machine->entries)
        return EINVAL;
    for (int i = 0; i < wr->num_sge; i++) {
        message.entries[i] = wr->sg_list[i];
        message.length += wr->sg_list[i].length;
        EXPECT_INITIALIZED((const void *)(uintptr_t)wr->sg_list[i].addr,
                           wr->sg_list[i].length);
        if (!is_registered(machine, &wr->sg_list[i]))
            return EINVAL;
    }
    machine->straight += wr->num_sge > 1;
    if (fails(machine, "post_send"))
        return machine->fail_errno;
    if (qp->sends + units_of(qp, message.length) > qp->depth)
        return ENOMEM;
    qp->sends += units_of(qp, message.length);
    /* "vanish": the sender is told that all is well. */
    if (fails(machine, "vanish"))
        complete(qp, wr->wr_id, IBV_WC_SEND, 0, message.length);
    else if (peer != NULL && machine->slow) {
        peer->waiting[peer->waiting_count++] = message;
    } else if (peer != NULL && peer->receive_count > 0) {
        deliver(peer, &message);
        /* "twice": the cable has an echo. */
        message.id = 0;
        if (fails(machine, "twice") && peer->receive_count > 0)
            deliver(peer, &message);
    } else if (machine->drops) {
        machine->lost++;
        complete(qp, wr->wr_id, IBV_WC_SEND, 0, message.length);
    } else if (peer != NULL) {
        peer->waiting[peer->waiting_count++] = message;
    }
    return 0;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr,
                     struct ibv_send_wr **bad)
{
    int result;

    (void)bad;
    (void)pthread_mutex_lock(&lock);
    result = send_locked(machine_of(qp->context), (struct fake_qp *)qp, wr);
    (void)pthread_mutex_unlock(&lock);
    return result;
}

static int recv_locked(struct fake_qp *qp, const struct ibv_recv_wr *wr)
{
    int units = units_of(qp, wr->sg_list->length);

    if (qp->recvs + units > qp->depth)
        return ENOMEM;
    qp->recvs += units;
    qp->receives[qp->receive_count] = *wr;
    qp->sges[qp->receive_count++] = *wr->sg_list;
    if (qp->waiting_count > 0 &&
        !machine_of(qp->waiting[0].from->qp.context)->slow)
        deliver_waiting(qp);
    return 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr,
                     struct ibv_recv_wr **bad)
{
    struct fake_machine *machine = machine_of(qp->context);
    int result;

    (void)bad;
    if (fails(machine, "post_recv"))
        return machine->fail_errno;
    (void)pthread_mutex_lock(&lock);
    result = recv_locked((struct fake_qp *)qp, wr);
    (void)pthread_mutex_unlock(&lock);
    return result;
}

static struct ibv_context *open_device(struct ibv_device *device)
{
    struct fake_machine *machine = ((struct fake_device *)device)->machine;
    struct fake_context *context =
        make(machine, "open_device", sizeof *context);

    if (context == NULL)
        return NULL;
    machine->opened++;
    context->machine = machine;
    context->context.ops.poll_cq = poll_cq;
    context->context.ops.post_send = post_send;
    context->context.ops.post_recv = post_recv;
    return &context->context;
}

static int close_device(struct ibv_context *context)
{
    return unmake(machine_of(context), "close_device", context);
}

static int query_device(struct ibv_context *context,
                        struct ibv_device_attr *attr)
{
    struct fake_machine *machine = machine_of(context);

    if (fails(machine, "query_device"))
        return machine->fail_errno;
    memset(attr, 0, sizeof *attr);
    attr->max_mr = 100;
    attr->max_qp = 11;
    attr->max_qp_wr = 4095;
    attr->max_cqe = machine->max_cqe;
    attr->max_sge = machine->entries;
    return 0;
}

static int query_port(struct ibv_context *context, uint8_t port,
                      struct ibv_port_attr *attr)
{
    struct fake_machine *machine = machine_of(context);

    (void)port;
    if (fails(machine, "query_port"))
        return machine->fail_errno;
    attr->state = machine->port_state;
    attr->gid_tbl_len = machine->gid_count;
    return 0;
}

static int query_gid(struct ibv_context *context, uint8_t port, int index,
                     union ibv_gid *gid)
{
    struct fake_machine *machine = machine_of(context);

    (void)port;
    if (fails(machine, "query_gid"))
        return -1;
    memset(gid, 0, sizeof *gid);
    gid->raw[0] = 0xfe;
    gid->raw[1] = 0x80;
    if (index == machine->gid_index) {
        memset(gid, 0, sizeof *gid);
        memset(gid->raw + 10, 0xff, 2);
        gid->raw[12] = 10;
    }
    gid->raw[15] = 9;
    return 0;
}

static struct ibv_pd *alloc_pd(struct ibv_context *context)
{
    struct ibv_pd *pd = make(machine_of(context), "alloc_pd", sizeof *pd);

    if (pd != NULL)
        pd->context = context;
    return pd;
}

static int dealloc_pd(struct ibv_pd *pd)
{
    return unmake(machine_of(pd->context), "dealloc_pd", pd);
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t length,
                             int access)
{
    struct fake_machine *machine = machine_of(pd->context);
    struct ibv_mr *mr = make(machine, "reg_mr", sizeof *mr);

    (void)access;
    if (mr == NULL)
        return NULL;
    machine->regions++;
    mr->context = pd->context;
    mr->addr = addr;
    mr->length = length;
    mr->lkey = 7 + (uint32_t)machine->regions;
    for (int i = 0; i < FAKE_REGIONS; i++) {
        if (machine->live[i] != NULL)
            continue;
        machine->live[i] = mr;
        break;
    }
    return mr;
}

static int dereg_mr(struct ibv_mr *mr)
{
    struct fake_machine *machine = machine_of(mr->context);

    for (int i = 0; i < FAKE_REGIONS; i++) {
        if (machine->live[i] == mr)
            machine->live[i] = NULL;
    }
    return unmake(machine_of(mr->context), "dereg_mr", mr);
}

static struct ibv_cq *create_cq(struct ibv_context *context, int entries,
                                void *cq_context,
                                struct ibv_comp_channel *channel,
                                int comp_vector)
{
    struct fake_machine *machine = machine_of(context);
    struct fake_cq *cq;

    (void)cq_context;
    (void)channel;
    (void)comp_vector;
    machine->cq_entries = entries;
    if (entries > machine->max_cqe) {
        errno = EINVAL;
        return NULL;
    }
    cq = make(machine, "create_cq", sizeof *cq);
    if (cq == NULL)
        return NULL;
    cq->cq.context = context;
    return &cq->cq;
}

static int destroy_cq(struct ibv_cq *cq)
{
    return unmake(machine_of(cq->context), "destroy_cq", cq);
}

static struct ibv_qp *create_qp(struct ibv_pd *pd,
                                struct ibv_qp_init_attr *attr)
{
    struct fake_qp *qp = make(machine_of(pd->context), "create_qp", sizeof *qp);

    if (qp == NULL)
        return NULL;
    qp->qp.context = pd->context;
    qp->cq = (struct fake_cq *)attr->send_cq;
    qp->depth = machine_of(pd->context)->depth;
    (void)pthread_mutex_lock(&lock);
    qp->qp.qp_num = ++last_qp_num;
    qp->next = qps;
    qps = qp;
    (void)pthread_mutex_unlock(&lock);
    return &qp->qp;
}

static int modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    static const char *const verbs[] = {
        [IBV_QPS_INIT] = "init", [IBV_QPS_RTR] = "rtr", [IBV_QPS_RTS] = "rts"};
    struct fake_machine *machine = machine_of(qp->context);

    (void)mask;
    if (fails(machine, verbs[attr->qp_state]))
        return machine->fail_errno;
    if (attr->qp_state != IBV_QPS_RTR)
        return 0;
    machine->sgid_index = attr->ah_attr.grh.sgid_index;
    (void)pthread_mutex_lock(&lock);
    ((struct fake_qp *)qp)->peer = attr->dest_qp_num;
    (void)pthread_mutex_unlock(&lock);
    return 0;
}

static int query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
                    struct ibv_qp_init_attr *init_attr)
{
    struct fake_machine *machine = machine_of(qp->context);

    (void)mask;
    (void)init_attr;
    if (fails(machine, "query_qp"))
        return machine->fail_errno;
    attr->cap.max_send_wr = (uint32_t)machine->depth;
    attr->cap.max_recv_wr = (uint32_t)machine->depth;
    /* "depth": fail_errno is what is granted. */
    if (fails(machine, "depth"))
        attr->cap.max_recv_wr = (uint32_t)machine->fail_errno;
    return 0;
}

/* What the queue pair had on its way to others is no more. */
static void forget_messages_from(const struct fake_qp *gone)
{
    for (struct fake_qp *qp = qps; qp != NULL; qp = qp->next) {
        int kept = 0;

        for (int i = 0; i < qp->waiting_count; i++) {
            if (qp->waiting[i].from != gone)
                qp->waiting[kept++] = qp->waiting[i];
        }
        qp->waiting_count = kept;
    }
}

static int destroy_qp(struct ibv_qp *qp)
{
    struct fake_qp **link = &qps;

    (void)pthread_mutex_lock(&lock);
    while (*link != (struct fake_qp *)qp)
        link = &(*link)->next;
    *link = (*link)->next;
    forget_messages_from((struct fake_qp *)qp);
    (void)pthread_mutex_unlock(&lock);
    return unmake(machine_of(qp->context), "destroy_qp", qp);
}

const struct cj_verbs fake_verbs = {
    .get_device_list = get_device_list,
    .free_device_list = free_device_list,
    .get_device_name = get_device_name,
    .open_device = open_device,
    .close_device = close_device,
    .query_device = query_device,
    .query_port = query_port,
    .query_gid = query_gid,
    .alloc_pd = alloc_pd,
    .dealloc_pd = dealloc_pd,
    .reg_mr = reg_mr,
    .dereg_mr = dereg_mr,
    .create_cq = create_cq,
    .destroy_cq = destroy_cq,
    .create_qp = create_qp,
    .modify_qp = modify_qp,
    .query_qp = query_qp,
    .destroy_qp = destroy_qp,
};
