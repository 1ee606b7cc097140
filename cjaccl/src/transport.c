/* The transport over queue pairs. */
#include "transport.h"

#include "error.h"

#include <errno.h>
#include <stddef.h>

static int post_send(struct cj_group *group, struct cji_link *link, uint64_t id,
                     const struct cji_slot *slot, uint32_t length)
{
    struct ibv_send_wr *bad = NULL;
    struct ibv_sge entries[2];
    struct ibv_send_wr wr = {
        .wr_id = id,
        .sg_list = entries,
        .opcode = IBV_WR_SEND,
        .send_flags = IBV_SEND_SIGNALED,
    };

    (void)group;
    if (slot->body != NULL)
        entries[wr.num_sge++] = (struct ibv_sge){
            .addr = (uintptr_t)slot->body,
            .length = slot->body_bytes,
            .lkey = link->device->straight->lkey,
        };
    entries[wr.num_sge++] = (struct ibv_sge){
        .addr = (uintptr_t)slot->data,
        .length = length - (slot->body != NULL ? slot->body_bytes : 0),
        .lkey = link->device->mr->lkey,
    };
    errno = 0;
    return cji_verbs_errno(ibv_post_send(link->qp, &wr, &bad));
}

static int post_recv(struct cj_group *group, struct cji_link *link, uint64_t id,
                     unsigned char *data, uint32_t length)
{
    struct ibv_recv_wr *bad = NULL;
    struct ibv_sge sge = {
        .addr = (uintptr_t)data,
        .length = length,
        .lkey = link->device->mr->lkey,
    };
    struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = 1};

    (void)group;
    errno = 0;
    return cji_verbs_errno(ibv_post_recv(link->qp, &wr, &bad));
}

static int poll(struct cj_group *group, struct cji_link *link, int room,
                struct ibv_wc *completions)
{
    (void)group;
    return ibv_poll_cq(link->cq, room, completions);
}

const struct cji_transport cji_verbs_transport = {
    .post_send = post_send,
    .post_recv = post_recv,
    .poll = poll,
};
