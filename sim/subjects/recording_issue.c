/* Making a recorded call again. */
#include "sim/subjects/recording.h"

#include <stdlib.h>
#include <string.h>

#include "mocks/front/infiniband.h"

#define REQUESTS_MAX 1024
#define ENTRIES_MAX 16384
#define POLLED_MAX 65536
#define NOBODY                                                                 \
    0xffffffu /* the number of no queue pair, the key of no region             \
               */

/* ---- objects ---- */

static struct recording_object *add(struct recording_rank *rank,
                                    enum recording_kind kind, void *handle,
                                    int device)
{
    struct recording_object *object;
    int n = rank->count[kind] + 1;
    if (n >= rank->room[kind]) {
        int room = rank->room[kind] ? 2 * rank->room[kind] : 16;
        struct recording_object *more =
            realloc(rank->objects[kind], (size_t)room * sizeof *more);
        if (!more)
            return NULL;
        rank->objects[kind] = more;
        rank->room[kind] = room;
    }
    rank->count[kind] = n;
    object = &rank->objects[kind][n];
    memset(object, 0, sizeof *object);
    object->handle = handle;
    object->device = device;
    return object;
}

struct recording_object *recording_object(struct recording_rank *rank,
                                          enum recording_kind kind, int64_t n)
{
    if (n < 1 || n > rank->count[kind])
        return NULL;
    return &rank->objects[kind][n];
}

/* A handle that is none of the rank's. */
static void *foreign(void)
{
    static uint64_t nothing[64];
    return nothing;
}

static struct scn_piece argument(const struct scn_call *call, const char *key)
{
    return scn_value(call->arguments, key);
}

static int64_t number(const struct scn_call *call, const char *key)
{
    return scn_number(argument(call, key), 0);
}

static int64_t detail(const struct scn_call *call, const char *key)
{
    return scn_number(scn_value(call->details, key), 0);
}

static bool is(struct scn_piece piece, const char *word)
{
    return piece.text && piece.length == strlen(word) &&
           memcmp(piece.text, word, piece.length) == 0;
}

static void *named(struct recording_rank *rank, enum recording_kind kind,
                   struct scn_piece name)
{
    struct recording_object *object =
        recording_object(rank, kind, scn_number(name, 0));
    if (!name.text || is(name, "NULL"))
        return NULL;
    return object ? object->handle : foreign();
}

static void *handle(struct recording_rank *rank, enum recording_kind kind,
                    const struct scn_call *call, const char *key)
{
    return named(rank, kind, argument(call, key));
}

static int device_of(struct recording_rank *rank, enum recording_kind kind,
                     int64_t n)
{
    struct recording_object *object = recording_object(rank, kind, n);
    return object ? object->device : 0;
}

void recording_forget_objects(struct recording_rank *rank)
{
    free(rank->pending);
    rank->pending = NULL;
    for (int kind = 0; kind < RECORDING_KINDS; kind++) {
        for (int n = 1; n <= rank->count[kind]; n++)
            free(rank->objects[kind][n].whole);
        free(rank->objects[kind]);
        rank->objects[kind] = NULL;
        rank->count[kind] = rank->room[kind] = 0;
    }
}

/* Parts of "A:B:C"; how many there were. */
static int split(struct scn_piece value, int64_t parts[3])
{
    int count = 0;
    while (value.text && count < 3) {
        const char *colon = memchr(value.text, ':', value.length);
        struct scn_piece part = value;
        if (colon)
            part.length = (size_t)(colon - value.text);
        parts[count++] = scn_number(part, -1);
        if (!colon)
            break;
        value.length -= part.length + 1;
        value.text = colon + 1;
    }
    return count;
}

int64_t recording_number(struct scn_piece value, int n)
{
    int64_t parts[3] = {-1, -1, -1};
    split(value, parts);
    return parts[n];
}

/* ---- devices ---- */

static void get_device_list(struct recording_rank *rank)
{
    int count = 0;
    struct ibv_device **list = ibv_get_device_list(&count);
    if (!list)
        return;
    add(rank, RECORDING_LIST, list, 0);
    while (rank->count[RECORDING_DEVICE] < count)
        add(rank, RECORDING_DEVICE, list[rank->count[RECORDING_DEVICE]],
            rank->count[RECORDING_DEVICE]);
}

static void open_device(struct recording_rank *rank,
                        const struct scn_call *call)
{
    void *context =
        ibv_open_device(handle(rank, RECORDING_DEVICE, call, "device"));
    if (context)
        add(rank, RECORDING_CONTEXT, context, (int)number(call, "device") - 1);
}

/* The search for an address: for the one that was found, or for one that there
 * is not. It is made on the way from what arrived to where the answer goes. */
static void find_gid(struct recording_rank *rank, struct ibv_context *context,
                     const struct scn_call *call)
{
    uint8_t port = (uint8_t)number(call, "port");
    struct ibv_wc wc = {.wc_flags = IBV_WC_GRH};
    struct scn_piece words = call->answer;
    int64_t index = scn_number(scn_next_word(&words), -1);
    struct ibv_ah_attr attr;
    struct ibv_grh grh;
    memset(&grh, 0xee, sizeof grh);
    memset(&grh.version_tclass_flow, 0, sizeof grh.version_tclass_flow);
    *(uint8_t *)&grh.version_tclass_flow = 6 << 4;
    if (index >= 0)
        vf_device_gid(
            sim.world, rank->number,
            device_of(rank, RECORDING_CONTEXT, number(call, "context")), port,
            (int)index, &grh.dgid);
    ibv_init_ah_from_wc(context, port, &wc, &grh, &attr);
}

static bool query_gid(struct recording_rank *rank, struct ibv_context *context,
                      const struct scn_call *call)
{
    uint8_t port = (uint8_t)number(call, "port");
    int64_t index = number(call, "index");
    struct ibv_gid_entry entry, *entries;
    union ibv_gid gid;
    if (scn_has_word(call->details, "find")) {
        find_gid(rank, context, call);
        return true;
    }
    if (scn_has_word(call->details, "table")) {
        entries = calloc((size_t)(index > 0 && index < 4096 ? index : 1),
                         sizeof *entries);
        if (entries)
            ibv_query_gid_table(context, entries, (size_t)index, 0);
        free(entries);
        return entries != NULL;
    }
    if (scn_has_word(call->details, "entry"))
        ibv_query_gid_ex(context, port, (uint32_t)index, &entry, 0);
    else
        ibv_query_gid(context, port, (int)index, &gid);
    return true;
}

static bool device_call(struct recording_rank *rank,
                        const struct scn_call *call)
{
    struct ibv_context *context =
        handle(rank, RECORDING_CONTEXT, call, "context");
    struct ibv_device *device = handle(rank, RECORDING_DEVICE, call, "device");
    struct ibv_device_attr device_attr;
    struct ibv_port_attr port_attr;
    __be16 pkey;
    switch (call->verb) {
    case VF_VERB_get_device_list:
        get_device_list(rank);
        return true;
    case VF_VERB_free_device_list:
        ibv_free_device_list(handle(rank, RECORDING_LIST, call, "list"));
        return true;
    case VF_VERB_get_device_name:
        ibv_get_device_name(device);
        return true;
    case VF_VERB_get_device_guid:
        ibv_get_device_guid(device);
        return true;
    case VF_VERB_get_device_index:
        ibv_get_device_index(device);
        return true;
    case VF_VERB_open_device:
        open_device(rank, call);
        return true;
    case VF_VERB_close_device:
        ibv_close_device(context);
        return true;
    case VF_VERB_query_device:
        ibv_query_device(context, &device_attr);
        return true;
    case VF_VERB_query_port:
        ibv_query_port(context, (uint8_t)number(call, "port"), &port_attr);
        return true;
    case VF_VERB_query_gid:
        return query_gid(rank, context, call);
    case VF_VERB_query_pkey:
        ibv_query_pkey(context, (uint8_t)number(call, "port"),
                       (int)number(call, "index"), &pkey);
        return true;
    default:
        return false;
    }
}

/* ---- domains and regions ---- */

static void alloc_pd(struct recording_rank *rank, const struct scn_call *call)
{
    void *pd = ibv_alloc_pd(handle(rank, RECORDING_CONTEXT, call, "context"));
    if (pd)
        add(rank, RECORDING_PD, pd,
            device_of(rank, RECORDING_CONTEXT, number(call, "context")));
}

#define PAGE ((size_t)65536)
#define CLEARED ((size_t)1 << 20) /* more than this is new from the system */

/* Memory that begins `at` bytes into a page; *whole is what to free. */
static char *memory_at(size_t at, size_t length, char **whole)
{
    void *memory;
    size_t size = (at % PAGE + length + PAGE) / PAGE * PAGE;
    *whole = NULL;
    if (length > SIZE_MAX / 2)
        return NULL;
    memory = aligned_alloc(PAGE, size);
    if (!memory)
        return NULL;
    if (size <= CLEARED)
        memset(memory, 0, size);
    *whole = memory;
    return *whole + at % PAGE;
}

static bool reg_mr(struct recording_rank *rank, const struct scn_call *call)
{
    size_t length = (size_t)number(call, "len");
    int64_t place = scn_number(scn_value(call->details, "at"), 0);
    char *whole = NULL, *memory = NULL;
    struct recording_object *object;
    struct ibv_mr *mr;
    if (!is(scn_value(call->details, "at"), "NULL")) {
        memory = memory_at((size_t)place, length, &whole);
        if (!memory)
            return false;
    }
    rank->pending = whole; /* the call may never come back */
    mr =
        ibv_reg_mr_iova2(handle(rank, RECORDING_PD, call, "pd"), memory, length,
                         (uintptr_t)memory, (unsigned)number(call, "access"));
    rank->pending = NULL;
    object = mr ? add(rank, RECORDING_MR, mr,
                      device_of(rank, RECORDING_PD, number(call, "pd")))
                : NULL;
    if (!object) {
        free(whole);
        return true;
    }
    object->memory = memory;
    object->whole = whole;
    object->number = mr->lkey;
    object->remote = mr->rkey;
    return true;
}

static bool rereg_mr(struct recording_rank *rank, const struct scn_call *call)
{
    struct recording_object *object =
        recording_object(rank, RECORDING_MR, number(call, "mr"));
    int flags = (int)number(call, "flags");
    size_t length = (size_t)number(call, "len");
    char *memory, *whole;
    if (!object || flags & IBV_REREG_MR_CHANGE_PD)
        return false;
    memory = memory_at(0, length, &whole);
    if (!memory)
        return false;
    if (ibv_rereg_mr(object->handle, flags, NULL, memory, length,
                     (int)number(call, "access")) != 0) {
        free(whole);
        return true;
    }
    if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
        free(object->whole);
        object->memory = memory;
        object->whole = whole;
    } else {
        free(whole);
    }
    object->number = ((struct ibv_mr *)object->handle)->lkey;
    object->remote = ((struct ibv_mr *)object->handle)->rkey;
    return true;
}

static bool region_call(struct recording_rank *rank,
                        const struct scn_call *call)
{
    switch (call->verb) {
    case VF_VERB_alloc_pd:
        alloc_pd(rank, call);
        return true;
    case VF_VERB_dealloc_pd:
        ibv_dealloc_pd(handle(rank, RECORDING_PD, call, "pd"));
        return true;
    case VF_VERB_reg_mr:
        return reg_mr(rank, call);
    case VF_VERB_dereg_mr:
        ibv_dereg_mr(handle(rank, RECORDING_MR, call, "mr"));
        return true;
    case VF_VERB_rereg_mr:
        return rereg_mr(rank, call);
    default:
        return false;
    }
}

/* ---- completion ---- */

static void create_cq(struct recording_rank *rank, const struct scn_call *call)
{
    void *cq = ibv_create_cq(
        handle(rank, RECORDING_CONTEXT, call, "context"),
        (int)number(call, "cqe"), NULL,
        named(rank, RECORDING_CHANNEL, scn_value(call->details, "channel")), 0);
    if (cq)
        add(rank, RECORDING_CQ, cq,
            device_of(rank, RECORDING_CONTEXT, number(call, "context")));
}

static void create_channel(struct recording_rank *rank,
                           const struct scn_call *call)
{
    void *channel = ibv_create_comp_channel(
        handle(rank, RECORDING_CONTEXT, call, "context"));
    if (channel)
        add(rank, RECORDING_CHANNEL, channel, 0);
}

/* The queue of a post or a poll. A process that ended by the plan had not yet
 * been asked which: any will do. */
static struct recording_object *queue_of(struct recording_rank *rank,
                                         enum recording_kind kind,
                                         const struct scn_call *call,
                                         const char *key)
{
    struct scn_piece planned = scn_value(call->details, "planned");
    if (is(argument(call, key), "?") &&
        (is(planned, "exit") || is(planned, "hang")))
        return recording_object(rank, kind, rank->count[kind]);
    return recording_object(rank, kind, number(call, key));
}

/* All that the poll found: the answer's completions, and those of `also`. */
static void expect(const struct recording_rank *rank,
                   const struct scn_call *call, int wanted)
{
    static char texts[SCN_RANKS_MAX][2 * SCN_CALL_LINE_MAX];
    char *text = texts[rank->number];
    struct scn_piece words = call->details, word, value;
    size_t used = call->answer.length;
    memcpy(text, call->answer.text, used);
    while (words.text && (word = scn_next_word(&words)).text) {
        if (!scn_is_key(word, "also", &value))
            continue;
        for (size_t i = 0; i < value.length; i++)
            text[used++] = value.text[i] == '/' ? ' ' : value.text[i];
    }
    text[used] = '\0';
    vf_machine_expect(sim.world, rank->number, text, wanted);
}

/* Where polls write; nobody reads it. Not of a rank's own: one that ends while
 * it waits would leave it behind. */
static struct ibv_wc polled[POLLED_MAX + 1];

/* Until it finds what the recording says; it waits inside (empty hook). */
static bool poll_cq(struct recording_rank *rank, const struct scn_call *call)
{
    const struct recording_object *cq =
        queue_of(rank, RECORDING_CQ, call, "cq");
    struct scn_piece words = call->answer;
    int wanted = (int)scn_number(scn_next_word(&words), -1);
    int room = (int)number(call, "room"), found;
    bool planned = scn_value(call->details, "planned").text != NULL;
    if (!cq || room < 0 || room > POLLED_MAX)
        return false;
    if (wanted > 0 && !planned)
        expect(rank, call, wanted);
    do
        found = ibv_poll_cq(cq->handle, room, polled);
    while (found == 0 && wanted > 0 && !planned);
    vf_machine_expect(sim.world, rank->number, NULL, 0);
    return true;
}

static bool completion_call(struct recording_rank *rank,
                            const struct scn_call *call)
{
    struct ibv_cq *cq = handle(rank, RECORDING_CQ, call, "cq");
    struct ibv_comp_channel *channel =
        handle(rank, RECORDING_CHANNEL, call, "channel");
    void *context;
    switch (call->verb) {
    case VF_VERB_create_comp_channel:
        create_channel(rank, call);
        return true;
    case VF_VERB_destroy_comp_channel:
        ibv_destroy_comp_channel(channel);
        return true;
    case VF_VERB_create_cq:
        create_cq(rank, call);
        return true;
    case VF_VERB_destroy_cq:
        ibv_destroy_cq(cq);
        return true;
    case VF_VERB_resize_cq:
        ibv_resize_cq(cq, (int)number(call, "cqe"));
        return true;
    case VF_VERB_req_notify_cq:
        if (!recording_object(rank, RECORDING_CQ, number(call, "cq")))
            return false;
        ibv_req_notify_cq(cq, scn_has_word(call->details, "solicited"));
        return true;
    case VF_VERB_get_cq_event:
        ibv_get_cq_event(channel, &cq, &context);
        return true;
    case VF_VERB_ack_cq_events:
        ibv_ack_cq_events(cq, (unsigned)number(call, "count"));
        return true;
    case VF_VERB_poll_cq:
        return poll_cq(rank, call);
    default:
        return false;
    }
}

/* ---- queue pairs ---- */

static void create_qp(struct recording_rank *rank, const struct scn_call *call)
{
    struct scn_piece words = call->details;
    int64_t sge[3] = {0, 0, 0};
    struct ibv_qp_init_attr attr;
    struct recording_object *object;
    struct ibv_qp *qp;
    memset(&attr, 0, sizeof attr);
    split(scn_value(words, "sge"), sge);
    attr.qp_type = (enum ibv_qp_type)number(call, "type");
    attr.send_cq = named(rank, RECORDING_CQ, scn_value(words, "send_cq"));
    attr.recv_cq = named(rank, RECORDING_CQ, scn_value(words, "recv_cq"));
    attr.srq = named(rank, RECORDING_SRQ, scn_value(words, "srq"));
    attr.sq_sig_all = scn_has_word(words, "all_signaled");
    attr.cap.max_send_wr = (uint32_t)number(call, "send");
    attr.cap.max_recv_wr = (uint32_t)number(call, "recv");
    attr.cap.max_send_sge = (uint32_t)sge[0];
    attr.cap.max_recv_sge = (uint32_t)sge[1];
    attr.cap.max_inline_data = (uint32_t)detail(call, "inline");
    qp = ibv_create_qp(handle(rank, RECORDING_PD, call, "pd"), &attr);
    object = qp ? add(rank, RECORDING_QP, qp,
                      device_of(rank, RECORDING_PD, number(call, "pd")))
                : NULL;
    if (!object)
        return;
    object->number = qp->qp_num;
    object->send_cq = scn_number(scn_value(words, "send_cq"), 0);
    object->recv_cq = scn_number(scn_value(words, "recv_cq"), 0);
    object->datagrams = attr.qp_type == IBV_QPT_UD;
}

/* RANK:QP; its number, and where it is. */
static uint32_t destination(const struct scn_call *call, struct scn_piece value,
                            int *rank, int *device)
{
    int64_t parts[3];
    struct recording_object *qp;
    (void)call;
    if (split(value, parts) != 2 || parts[0] < 0 || parts[0] >= SCN_RANKS_MAX)
        return NOBODY;
    qp = recording_object(&recording_ranks[parts[0]], RECORDING_QP, parts[1]);
    if (!qp)
        return NOBODY;
    *rank = (int)parts[0];
    *device = qp->device;
    return qp->number;
}

static bool is_stranger(struct scn_piece place)
{
    return place.length > 0 && place.text[0] == '?';
}

/* Where the queue pair of the call leads from now on. */
static void note_stranger(struct recording_rank *rank,
                          const struct scn_call *call, struct scn_piece dest)
{
    struct recording_object *qp =
        recording_object(rank, RECORDING_QP, number(call, "qp"));
    if (qp && dest.length > 0)
        qp->to_stranger = is_stranger(dest);
}

static void fill_address(struct ibv_ah_attr *attr, struct scn_piece words,
                         int rank, int device)
{
    struct scn_piece gid = scn_value(words, "gid");
    int64_t sgid = scn_number(scn_value(words, "sgid"), 0);
    unsigned lid;
    attr->port_num = (uint8_t)scn_number(scn_value(words, "port"), 0);
    attr->sl = (uint8_t)scn_number(scn_value(words, "sl"), 0);
    if (gid.text) {
        attr->is_global = 1;
        attr->grh.sgid_index = (uint8_t)sgid;
        attr->grh.hop_limit = (uint8_t)scn_number(scn_value(words, "hops"), 0);
        if (!is(gid, "zero"))
            vf_device_gid(sim.world, rank, device, 1,
                          (int)scn_number(gid, sgid), &attr->grh.dgid);
    }
    if (is(scn_value(words, "dlid"), "set") &&
        vf_device_lid(sim.world, rank, device, 1, &lid) == 0)
        attr->dlid = (uint16_t)lid;
}

static int state_of(struct scn_piece name)
{
    static const char *const names[] = {"RESET", "INIT", "RTR", "RTS",
                                        "SQD",   "SQE",  "ERR"};
    for (int i = 0; i < (int)(sizeof names / sizeof names[0]); i++)
        if (is(name, names[i]))
            return i;
    return (int)scn_number(name, 0);
}

static void modify_qp(struct recording_rank *rank, const struct scn_call *call)
{
    struct scn_piece words = call->details;
    int mask = (int)number(call, "mask");
    int peer = rank->number, device = 0;
    struct ibv_qp_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.qp_state = (enum ibv_qp_state)state_of(argument(call, "state"));
    attr.cur_qp_state = (enum ibv_qp_state)detail(call, "cur_state");
    attr.qp_access_flags = (unsigned)detail(call, "access");
    attr.pkey_index = (uint16_t)detail(call, "pkey");
    attr.port_num = (uint8_t)detail(call, "port");
    attr.qkey = (uint32_t)detail(call, "qkey");
    attr.path_mtu = (enum ibv_mtu)detail(call, "mtu");
    attr.timeout = (uint8_t)detail(call, "timeout");
    attr.retry_cnt = (uint8_t)detail(call, "retries");
    attr.rnr_retry = (uint8_t)detail(call, "rnr_retries");
    attr.rq_psn = (uint32_t)detail(call, "rq_psn");
    attr.sq_psn = (uint32_t)detail(call, "sq_psn");
    attr.max_rd_atomic = (uint8_t)detail(call, "rd");
    attr.min_rnr_timer = (uint8_t)detail(call, "rnr_timer");
    attr.max_dest_rd_atomic = (uint8_t)detail(call, "dest_rd");
    attr.dest_qp_num =
        destination(call, scn_value(words, "dest"), &peer, &device);
    note_stranger(rank, call, scn_value(words, "dest"));
    if (is_stranger(scn_value(words, "dest")))
        recording_stranger(rank->number,
                           device_of(rank, RECORDING_QP, number(call, "qp")),
                           &peer, &device);
    if (mask & IBV_QP_AV)
        fill_address(&attr.ah_attr, words, peer, device);
    ibv_modify_qp(handle(rank, RECORDING_QP, call, "qp"),
                  scn_has_word(words, "NULL") ? NULL : &attr, mask);
}

static void create_ah(struct recording_rank *rank, const struct scn_call *call)
{
    struct scn_piece words = call->details;
    int64_t to[3] = {0, 0, 0};
    struct ibv_ah_attr attr;
    void *ah;
    memset(&attr, 0, sizeof attr);
    int machine = -1, device = 0;
    if (split(scn_value(words, "to"), to) == 2) {
        machine = (int)to[0];
        device = (int)to[1];
    } else if (is_stranger(scn_value(words, "to"))) {
        recording_stranger(rank->number,
                           device_of(rank, RECORDING_PD, number(call, "pd")),
                           &machine, &device);
    }
    fill_address(&attr, words, machine, device);
    ah = ibv_create_ah(handle(rank, RECORDING_PD, call, "pd"), &attr);
    if (ah)
        add(rank, RECORDING_AH, ah, 0);
}

static void create_srq(struct recording_rank *rank, const struct scn_call *call)
{
    struct ibv_srq_init_attr attr;
    void *srq;
    memset(&attr, 0, sizeof attr);
    attr.attr.max_wr = (uint32_t)number(call, "wr");
    attr.attr.max_sge = (uint32_t)detail(call, "sge");
    attr.attr.srq_limit = (uint32_t)detail(call, "limit");
    srq = ibv_create_srq(handle(rank, RECORDING_PD, call, "pd"), &attr);
    if (srq)
        add(rank, RECORDING_SRQ, srq,
            device_of(rank, RECORDING_PD, number(call, "pd")));
}

static bool pair_call(struct recording_rank *rank, const struct scn_call *call)
{
    void *qp = handle(rank, RECORDING_QP, call, "qp");
    void *srq = handle(rank, RECORDING_SRQ, call, "srq");
    struct ibv_srq_attr srq_attr = {(uint32_t)detail(call, "wr"), 0,
                                    (uint32_t)detail(call, "limit")};
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    bool no_attr = scn_has_word(call->details, "NULL");
    switch (call->verb) {
    case VF_VERB_create_qp:
        create_qp(rank, call);
        return true;
    case VF_VERB_modify_qp:
        modify_qp(rank, call);
        return true;
    case VF_VERB_query_qp:
        ibv_query_qp(qp, &attr, (int)number(call, "mask"), &init);
        return true;
    case VF_VERB_destroy_qp:
        ibv_destroy_qp(qp);
        return true;
    case VF_VERB_create_ah:
        create_ah(rank, call);
        return true;
    case VF_VERB_destroy_ah:
        ibv_destroy_ah(handle(rank, RECORDING_AH, call, "ah"));
        return true;
    case VF_VERB_create_srq:
        create_srq(rank, call);
        return true;
    case VF_VERB_modify_srq:
        ibv_modify_srq(srq, no_attr ? NULL : &srq_attr,
                       (int)number(call, "mask"));
        return true;
    case VF_VERB_query_srq:
        ibv_query_srq(srq, &srq_attr);
        return true;
    case VF_VERB_destroy_srq:
        ibv_destroy_srq(srq);
        return true;
    default:
        return false;
    }
}

/* ---- work requests ---- */

static struct {
    struct ibv_send_wr sends[REQUESTS_MAX];
    struct ibv_recv_wr receives[REQUESTS_MAX];
    struct ibv_sge entries[ENTRIES_MAX];
    int requests, count; /* of entries */
    char scratch[65536]; /* for entries of no region */
} list;

/* REGION:OFFSET:LENGTH behind the others. */
static bool add_entry(struct recording_rank *rank, struct scn_piece value)
{
    struct ibv_sge *sge = &list.entries[list.count];
    const struct recording_object *mr;
    int64_t parts[3];
    if (list.count == ENTRIES_MAX || split(value, parts) != 3)
        return false;
    mr = recording_object(rank, RECORDING_MR, parts[0]);
    sge->addr = mr ? (uintptr_t)mr->memory + (uint64_t)parts[1]
                   : (uintptr_t)list.scratch;
    sge->lkey = mr ? mr->number : NOBODY;
    sge->length = (uint32_t)parts[2];
    list.count++;
    return true;
}

/* NULL:COUNT, many:COUNT */
static int unreadable(struct scn_piece value)
{
    const char *colon = memchr(value.text, ':', value.length);
    struct scn_piece count = {NULL, 0};
    if (!colon)
        return 0;
    count.text = colon + 1;
    count.length = value.length - (size_t)(count.text - value.text);
    return (int)scn_number(count, 0);
}

static void set_remote(struct ibv_send_wr *wr, struct scn_piece value)
{
    int64_t parts[3] = {-1, 0, 0};
    const struct recording_object *mr = NULL;
    uint32_t rkey = NOBODY;
    uint64_t address = 0;
    if (split(value, parts) == 3 && parts[0] >= 0 && parts[0] < SCN_RANKS_MAX)
        mr = recording_object(&recording_ranks[parts[0]], RECORDING_MR,
                              parts[1]);
    if (mr) {
        rkey = mr->remote;
        address = (uintptr_t)mr->memory + (uint64_t)parts[2];
    }
    if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
        wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr->wr.atomic.rkey = rkey;
        wr->wr.atomic.remote_addr = address;
    } else {
        wr->wr.rdma.rkey = rkey;
        wr->wr.rdma.remote_addr = address;
    }
}

static unsigned flag(struct scn_piece word)
{
    return is(word, "signaled")    ? IBV_SEND_SIGNALED
           : is(word, "solicited") ? IBV_SEND_SOLICITED
           : is(word, "fence")     ? IBV_SEND_FENCE
           : is(word, "inline")    ? IBV_SEND_INLINE
                                   : 0;
}

static struct ibv_send_wr *add_send(uint64_t wr_id)
{
    struct ibv_send_wr *wr = &list.sends[list.requests];
    if (list.requests == REQUESTS_MAX)
        return NULL;
    memset(wr, 0, sizeof *wr);
    wr->wr_id = wr_id;
    wr->sg_list = &list.entries[list.count];
    if (list.requests > 0)
        list.sends[list.requests - 1].next = wr;
    list.requests++;
    return wr;
}

/* One word of a send's details. */
static bool take_send_word(struct recording_rank *rank,
                           const struct scn_call *call, struct ibv_send_wr *wr,
                           struct scn_piece word)
{
    struct scn_piece value;
    int peer, device;
    if (scn_is_key(word, "op", &value)) {
        wr->opcode = (enum ibv_wr_opcode)scn_number(value, 0);
    } else if (scn_is_key(word, "sge", &value)) {
        wr->num_sge++;
        return add_entry(rank, value);
    } else if (scn_is_key(word, "sges", &value)) {
        wr->num_sge = unreadable(value);
        wr->sg_list = value.text[0] == 'N' ? NULL : wr->sg_list;
    } else if (scn_is_key(word, "remote", &value)) {
        set_remote(wr, value);
    } else if (scn_is_key(word, "ah", &value)) {
        wr->wr.ud.ah = named(rank, RECORDING_AH, value);
    } else if (scn_is_key(word, "dest", &value)) {
        wr->wr.ud.remote_qpn = destination(call, value, &peer, &device);
        note_stranger(rank, call, value);
    } else if (scn_is_key(word, "qkey", &value)) {
        wr->wr.ud.remote_qkey = (uint32_t)scn_number(value, 0);
    } else {
        wr->send_flags |= flag(word);
    }
    return true;
}

static bool post_send(struct recording_rank *rank, const struct scn_call *call)
{
    struct recording_object *qp = queue_of(rank, RECORDING_QP, call, "qp");
    struct ibv_send_wr *wr = add_send((uint64_t)number(call, "wr_id"));
    struct ibv_send_wr *bad;
    struct scn_piece words = call->details, word, value;
    bool none = scn_has_word(words, "NULL");
    if (!qp)
        return false;
    while (words.text && (word = scn_next_word(&words)).text) {
        if (scn_is_key(word, "next", &value))
            wr = add_send((uint64_t)scn_number(value, 0));
        else if (!take_send_word(rank, call, wr, word))
            return false;
        if (!wr)
            return false;
    }
    ibv_post_send(qp->handle, none ? NULL : list.sends, &bad);
    return true;
}

static struct ibv_recv_wr *add_receive(uint64_t wr_id)
{
    struct ibv_recv_wr *wr = &list.receives[list.requests];
    if (list.requests == REQUESTS_MAX)
        return NULL;
    memset(wr, 0, sizeof *wr);
    wr->wr_id = wr_id;
    wr->sg_list = &list.entries[list.count];
    if (list.requests > 0)
        list.receives[list.requests - 1].next = wr;
    list.requests++;
    return wr;
}

static bool take_receives(struct recording_rank *rank,
                          const struct scn_call *call)
{
    struct ibv_recv_wr *wr = add_receive((uint64_t)number(call, "wr_id"));
    struct scn_piece words = call->details, word, value;
    while (words.text && (word = scn_next_word(&words)).text) {
        if (scn_is_key(word, "next", &value)) {
            wr = add_receive((uint64_t)scn_number(value, 0));
            if (!wr)
                return false;
        } else if (scn_is_key(word, "sge", &value)) {
            wr->num_sge++;
            if (!add_entry(rank, value))
                return false;
        } else if (scn_is_key(word, "sges", &value)) {
            wr->num_sge = unreadable(value);
            wr->sg_list = value.text[0] == 'N' ? NULL : wr->sg_list;
        }
    }
    return true;
}

static bool post_recv(struct recording_rank *rank, const struct scn_call *call)
{
    bool shared = call->verb == VF_VERB_post_srq_recv;
    struct recording_object *queue =
        shared ? queue_of(rank, RECORDING_SRQ, call, "srq")
               : queue_of(rank, RECORDING_QP, call, "qp");
    struct ibv_recv_wr *first = list.receives, *bad;
    if (!queue || !take_receives(rank, call))
        return false;
    if (scn_has_word(call->details, "NULL"))
        first = NULL;
    if (shared)
        ibv_post_srq_recv(queue->handle, first, &bad);
    else
        ibv_post_recv(queue->handle, first, &bad);
    return true;
}

bool recording_issue(struct recording_rank *rank, const struct scn_call *call)
{
    list.requests = list.count = 0;
    switch (call->verb) {
    case VF_VERB_post_send:
        return post_send(rank, call);
    case VF_VERB_post_recv:
    case VF_VERB_post_srq_recv:
        return post_recv(rank, call);
    default:
        return device_call(rank, call) || region_call(rank, call) ||
               completion_call(rank, call) || pair_call(rank, call);
    }
}
