/*
 * A port's addresses with all that is known of them: one, or all that there
 * are. For plan and trace each call here is one query_gid; a walk over the
 * table shows as port 0.
 *
 * The structs are as long as the program's verbs.h knows them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "front/contract.h"
#include "front/gid.h"

#define PORTS 1
#define FIRST_INTERFACE 2 /* 1 is the loopback interface */
#define TABLE_MAX 1024
#define ENTRY_MAX 256 /* bytes: no verbs.h has so long a one */

/* In no header that is installed: what /sys says of an entry, 0 for version 1
 * and InfiniBand, 1 for version 2. */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num,
                       unsigned index, int *type);

struct gid_call {
    struct vf_call call;
    size_t room;       /* entries there */
    size_t entry_size; /* bytes that the program knows of one */
    union ibv_gid wanted;
};

static bool is_empty(const union ibv_gid *gid)
{
    static const union ibv_gid none;

    return memcmp(gid, &none, sizeof(none)) == 0;
}

/* 0; ENODATA: the entry is empty; another errno. */
static int read_entry(struct vf_call *call, unsigned port, unsigned index,
                      struct ibv_gid_entry *entry)
{
    int err;

    memset(entry, 0, sizeof(*entry));
    err =
        call->provider->query_gid(call->object, port, (int)index, &entry->gid);
    if (err)
        return err;
    if (is_empty(&entry->gid))
        return ENODATA;
    entry->gid_index = index;
    entry->port_num = port;
    entry->gid_type = IBV_GID_TYPE_ROCE_V2;
    entry->ndev_ifindex =
        (uint32_t)(FIRST_INTERFACE + call->object->device->index);
    return 0;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void query_one(struct vf_call *call)
{
    struct gid_call *query = (struct gid_call *)call;
    struct ibv_gid_entry entry;

    call->err = read_entry(call, (unsigned)call->args[0],
                           (unsigned)call->args[1], &entry);
    if (call->err)
        return;
    memset(call->out, 0, query->entry_size);
    memcpy(call->out, &entry, smaller(query->entry_size, sizeof(entry)));
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num,
                      uint32_t gid_index, struct ibv_gid_entry *entry,
                      uint32_t flags, size_t entry_size)
{
    struct gid_call query = {
        .call =
            {
                .verb = VF_VERB_query_gid,
                .kind = VF_KIND_CONTEXT,
                .handle = context,
                .first_read = VF_CONTEXT_READ,
                .args = {port_num, gid_index},
                .out = entry,
                .out_size = entry_size,
            },
        .entry_size = entry_size,
    };

    if (flags != 0 || entry_size > ENTRY_MAX) {
        errno = flags ? EOPNOTSUPP : EINVAL;
        return errno;
    }
    vf_call_run(&query.call, NULL, query_one);
    return vf_call_errno(&query.call);
}

/* Runs look on each entry that is there until it answers true. */
static void walk(struct vf_call *call, unsigned first_port, unsigned last_port,
                 bool (*look)(struct gid_call *query,
                              const struct ibv_gid_entry *entry))
{
    struct gid_call *query = (struct gid_call *)call;
    struct ibv_gid_entry entry;

    for (unsigned port = first_port; port <= last_port; port++)
        for (unsigned index = 0; index < TABLE_MAX; index++) {
            int err = read_entry(call, port, index, &entry);

            if (err && err != ENODATA)
                break; /* past the end of the table */
            if (!err && look(query, &entry))
                return;
        }
}

static bool add_entry(struct gid_call *query, const struct ibv_gid_entry *entry)
{
    char *place = query->call.out;

    if ((size_t)query->call.result == query->room) {
        query->call.err = EINVAL; /* as the kernel's */
        return true;
    }
    if (place) {
        place += (size_t)query->call.result * query->entry_size;
        memset(place, 0, query->entry_size);
        memcpy(place, entry, smaller(query->entry_size, sizeof(*entry)));
    }
    query->call.result++;
    return false;
}

static void query_table(struct vf_call *call)
{
    walk(call, 1, PORTS, add_entry);
}

ssize_t _ibv_query_gid_table(struct ibv_context *context,
                             struct ibv_gid_entry *entries, size_t max_entries,
                             uint32_t flags, size_t entry_size)
{
    struct gid_call query = {
        .call =
            {
                .verb = VF_VERB_query_gid,
                .kind = VF_KIND_CONTEXT,
                .handle = context,
                .first_read = VF_CONTEXT_READ,
                .args = {0, max_entries},
                .out = entries,
                .out_size = entry_size,
            },
        .room = max_entries,
        .entry_size = entry_size,
    };

    if (flags != 0)
        return -EOPNOTSUPP;
    if (entry_size > ENTRY_MAX)
        return -EINVAL;
    vf_call_run(&query.call, NULL, query_table);
    return query.call.err ? -query.call.err : (ssize_t)query.call.result;
}

static bool is_wanted(struct gid_call *query, const struct ibv_gid_entry *entry)
{
    if (memcmp(&entry->gid, &query->wanted, sizeof(entry->gid)) != 0)
        return false;
    query->call.result = entry->gid_index;
    return true;
}

static void find_gid(struct vf_call *call)
{
    call->result = -1;
    walk(call, (unsigned)call->args[0], (unsigned)call->args[0], is_wanted);
    if (call->result < 0)
        call->err = ENOENT;
}

int vf_find_gid(struct ibv_context *context, unsigned port,
                const union ibv_gid *gid)
{
    struct gid_call query = {
        .call =
            {
                .verb = VF_VERB_query_gid,
                .kind = VF_KIND_CONTEXT,
                .handle = context,
                .first_read = VF_CONTEXT_READ,
                .args = {port},
            },
        .wanted = *gid,
    };

    vf_call_run(&query.call, NULL, find_gid);
    return vf_call_minus(&query.call);
}

int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num,
                       unsigned index, int *type)
{
    struct ibv_gid_entry entry;
    int err = ibv_query_gid_ex(context, port_num, index, &entry, 0);

    if (err && err != ENODATA)
        return -1;
    *type = err ? 0 : entry.gid_type == IBV_GID_TYPE_ROCE_V2;
    return 0;
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num,
                       __be16 pkey)
{
    for (int index = 0; index < TABLE_MAX; index++) {
        __be16 found;

        if (ibv_query_pkey(context, port_num, index, &found) != 0)
            break;
        if (found == pkey)
            return index;
    }
    return -1;
}
