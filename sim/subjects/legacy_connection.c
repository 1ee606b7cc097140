/*
 * A connection to a peer: context, domain, completion queue, queue pair, and
 * what the peer is told of it.
 */
#include "sim/subjects/legacy.h"

#include <errno.h>
#include <string.h>

#define PORT 1
#define HOP_LIMIT 1
#define GID_INDEX 1 /* whichever index the GID was found at */
#define FIRST_PACKET 7
#define RUBBISH_TABLE 16 /* any length past the GID's index does the same */

static void connection_add(struct legacy_connections *list,
                           struct ibv_context *context)
{
    struct legacy_connection *connection = &list->at[list->count];
    memset(connection, 0, sizeof *connection);
    connection->context = context;
    memset(&connection->source, LEGACY_RUBBISH, sizeof connection->source);
    connection->source.local_id = -1;
    list->count++;
}

/* Opens the first device of that name. 0 also when there is none. */
static int open_by_name(struct legacy_group *group,
                        struct legacy_connections *list, const char *name,
                        struct ibv_device **devices, int count)
{
    for (int i = 0; i < count; i++) {
        const char *found = LEGACY_CALL(group, get_device_name)(devices[i]);
        if (!found) {
            legacy_crash(group, "compare with NULL name in device search",
                         "get_device_name of device %d answered NULL", i);
            legacy_touch(1, 0, 0);
            continue;
        }
        if (strcmp(name, found) != 0)
            continue;
        struct ibv_context *context =
            LEGACY_CALL(group, open_device)(devices[i]);
        if (!context)
            return legacy_throw(group, "device %s cannot be opened", name);
        connection_add(list, context);
        return 0;
    }
    if (group->revision->missing_device_throws)
        return legacy_throw(group, "there is no device %s among the %d listed",
                            name, count);
    return 0; /* and the vector is one short */
}

int legacy_connections_create(struct legacy_group *group,
                              struct legacy_connections *list,
                              const char *const *names, int count)
{
    int devices = 0;
    list->count = 0;
    struct ibv_device **all = LEGACY_CALL(group, get_device_list)(&devices);
    for (int i = 0; i < count; i++) {
        if (names[i][0] == '\0') {
            connection_add(list, NULL);
            continue;
        }
        /* An exception passes by free_device_list: the list leaks. */
        if (open_by_name(group, list, names[i], all, devices)) {
            legacy_connections_destroy(group, list);
            return -1;
        }
    }
    LEGACY_CALL(group, free_device_list)(all);
    return 0;
}

void legacy_connections_destroy(struct legacy_group *group,
                                struct legacy_connections *list)
{
    for (int i = 0; i < list->count; i++) {
        struct legacy_connection *connection = &list->at[i];
        if (connection->queue_pair)
            LEGACY_CALL(group, destroy_qp)(connection->queue_pair);
        if (connection->completion_queue)
            LEGACY_CALL(group, destroy_cq)(connection->completion_queue);
        if (connection->domain)
            LEGACY_CALL(group, dealloc_pd)(connection->domain);
        if (connection->context)
            LEGACY_CALL(group, close_device)(connection->context);
    }
    list->count = 0;
}

struct legacy_span legacy_span_of(struct legacy_connections *list)
{
    struct legacy_span span = {list->at, list->count};
    return span;
}

struct legacy_connection *legacy_connection_at(struct legacy_group *group,
                                               struct legacy_span span,
                                               int index)
{
    static struct legacy_connection wild;
    if (index < span.count)
        return span.at + index;
    legacy_past(group, "connections", group->ring ? "ring" : "mesh",
                sizeof wild, span.count, index);
    memset(&wild, LEGACY_RUBBISH, sizeof wild);
    return &wild;
}

static int create_queue_pair(struct legacy_group *group,
                             struct legacy_connection *connection)
{
    struct ibv_qp_init_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.qp_context = connection->context;
    attributes.send_cq = connection->completion_queue;
    attributes.recv_cq = connection->completion_queue;
    attributes.cap.max_send_wr = LEGACY_QUEUE_DEPTH;
    attributes.cap.max_recv_wr = LEGACY_QUEUE_DEPTH;
    attributes.cap.max_send_sge = 1;
    attributes.cap.max_recv_sge = 1;
    attributes.qp_type = IBV_QPT_UC;
    connection->queue_pair =
        LEGACY_CALL(group, create_qp)(connection->domain, &attributes);
    if (connection->queue_pair)
        return 0;
    if (group->revision->names_qp_errno)
        return legacy_throw(group, "no queue pair: %s (%d)", strerror(errno),
                            errno);
    return legacy_throw(group, "no queue pair");
}

int legacy_connection_build(struct legacy_group *group,
                            struct legacy_connection *connection)
{
    connection->domain = LEGACY_CALL(group, alloc_pd)(connection->context);
    if (!connection->domain)
        return legacy_throw(group, "no protection domain");
    connection->completion_queue = LEGACY_CALL(group, create_cq)(
        connection->context, 2 * LEGACY_QUEUE_DEPTH, NULL, NULL, 0);
    if (!connection->completion_queue)
        return legacy_throw(group, "no completion queue");
    return create_queue_pair(group, connection);
}

/* ::ffff:a.b.c.d */
static bool is_ipv4_mapped(const union ibv_gid *gid)
{
    static const unsigned char head[12] = {[10] = 0xff, [11] = 0xff};
    return memcmp(gid->raw, head, sizeof head) == 0;
}

/* The first such entry of the table; false: gid is as it was. */
static bool find_gid(struct legacy_group *group, struct ibv_context *context,
                     int entries, union ibv_gid *gid)
{
    union ibv_gid entry;
    memset(&entry, LEGACY_RUBBISH, sizeof entry);
    for (int i = 0; i < entries; i++) {
        sim_tick(group->sim);
        if (LEGACY_CALL(group, query_gid)(context, PORT, i, &entry) != 0)
            continue;
        if (is_ipv4_mapped(&entry)) {
            *gid = entry;
            return true;
        }
    }
    return false;
}

int legacy_connection_info(struct legacy_group *group,
                           struct legacy_connection *connection)
{
    struct legacy_destination *source = &connection->source;
    struct ibv_port_attr port;
    union ibv_gid gid;
    if (!connection->queue_pair || source->local_id >= 0)
        return 0;
    /* If the query fails this is what is used. Measured, the table's length was
     * half of a pointer before 2026-08-22, so that the GID was found and nobody
     * noticed; and 0 from then on. */
    memset(&port, LEGACY_RUBBISH, sizeof port);
    port.gid_tbl_len = group->revision->missing_gid_throws ? 0 : RUBBISH_TABLE;
    LEGACY_CALL(group, query_port)(connection->context, PORT, &port);
    memset(&gid, LEGACY_RUBBISH, sizeof gid);
    if (!find_gid(group, connection->context, port.gid_tbl_len, &gid) &&
        group->revision->missing_gid_throws)
        return legacy_throw(group, "the device has no IPv4-mapped GID: its "
                                   "interface needs an IPv4 address");
    source->local_id = port.lid;
    source->queue_pair_number = (int32_t)connection->queue_pair->qp_num;
    source->packet_sequence_number = FIRST_PACKET;
    source->gid = gid;
    return 0;
}

int legacy_connection_init(struct legacy_group *group,
                           struct legacy_connection *connection)
{
    struct ibv_qp_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = PORT;
    attributes.qp_access_flags = IBV_ACCESS_LOCAL_WRITE |
                                 IBV_ACCESS_REMOTE_READ |
                                 IBV_ACCESS_REMOTE_WRITE;
    int status = LEGACY_CALL(group, modify_qp)(
        connection->queue_pair, &attributes,
        IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    if (status == 0)
        return 0;
    return legacy_throw(group, "the queue pair does not go to INIT (errno %d)",
                        status);
}

static int to_rtr(struct legacy_group *group,
                  struct legacy_connection *connection,
                  const struct legacy_destination *peer)
{
    struct ibv_qp_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = IBV_MTU_1024;
    attributes.rq_psn = (uint32_t)peer->packet_sequence_number;
    attributes.dest_qp_num = (uint32_t)peer->queue_pair_number;
    attributes.ah_attr.dlid = (uint16_t)peer->local_id;
    attributes.ah_attr.port_num = PORT;
    if (peer->gid.global.interface_id != 0) {
        attributes.ah_attr.is_global = 1;
        attributes.ah_attr.grh.hop_limit = HOP_LIMIT;
        attributes.ah_attr.grh.dgid = peer->gid;
        attributes.ah_attr.grh.sgid_index = GID_INDEX;
    }
    int status = LEGACY_CALL(group, modify_qp)(
        connection->queue_pair, &attributes,
        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
            IBV_QP_RQ_PSN);
    if (status == 0)
        return 0;
    return legacy_throw(group, "the queue pair does not go to RTR (errno %d)",
                        status);
}

int legacy_connection_start(struct legacy_group *group,
                            struct legacy_connection *connection,
                            const struct legacy_destination *peer)
{
    struct ibv_qp_attr attributes;
    if (to_rtr(group, connection, peer))
        return -1;
    memset(&attributes, 0, sizeof attributes);
    attributes.qp_state = IBV_QPS_RTS;
    attributes.sq_psn = (uint32_t)connection->source.packet_sequence_number;
    int status = LEGACY_CALL(group, modify_qp)(
        connection->queue_pair, &attributes, IBV_QP_STATE | IBV_QP_SQ_PSN);
    if (status == 0)
        return 0;
    return legacy_throw(group, "the queue pair does not go to RTS (errno %d)",
                        status);
}
