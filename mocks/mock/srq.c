#include <errno.h>

#include "mock/mock.h"

static struct room_srq *room_of(const struct vf_object *srq)
{
    return ((struct mock_srq *)srq->handle)->room;
}

int mock_create_srq(struct vf_object *object, struct ibv_srq_init_attr *attr)
{
    const struct vf_profile *profile = object->device->setup.profile;
    struct vf_world *world = object->machine->world;
    struct room_srq *srq;
    uint32_t depth;

    if (!profile->srq)
        return profile->unsupported_errno;
    if (attr->attr.max_wr == 0 || attr->attr.max_wr > profile->max_srq_wr ||
        attr->attr.max_sge > profile->max_srq_sge)
        return EINVAL;
    if (attr->attr.max_sge < profile->srq_least_sge)
        attr->attr.max_sge = profile->srq_least_sge;
    depth = mock_grant(profile, attr->attr.max_wr);
    room_enter(world);
    srq = room_new(world, ROOM_SRQ, object);
    if (srq) {
        srq->domain = mock_domain(object->parent[0]);
        srq->max_sge = attr->attr.max_sge;
        srq->recv.depth = depth;
        object->shadow.srq.recv.depth = depth; /* the answer may be less */
        if (!profile->depth_as_asked)
            attr->attr.max_wr = depth;
    }
    room_leave(world);
    ((struct mock_srq *)object->handle)->room = srq;
    return srq ? 0 : ENOMEM;
}

void mock_release_srq(struct vf_object *object)
{
    struct vf_world *world = object->machine->world;
    struct room_srq *srq = room_of(object);

    room_enter(world);
    mock_empty(world->view, &srq->recv);
    room_free(world, &srq->object);
    room_leave(world);
}

int mock_destroy_srq(struct vf_object *object)
{
    if (object->children > 0)
        return EBUSY;
    mock_release_srq(object);
    return 0;
}

int mock_modify_srq(struct vf_object *object, const struct ibv_srq_attr *attr,
                    int mask)
{
    const struct vf_profile *profile = object->device->setup.profile;
    struct vf_world *world = object->machine->world;
    struct room_srq *srq = room_of(object);
    uint32_t depth = srq->recv.depth;
    int err = 0;

    if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
        return EINVAL;
    room_enter(world);
    if (mask & IBV_SRQ_MAX_WR) {
        depth = mock_grant(profile, attr->max_wr);
        if (attr->max_wr > profile->max_srq_wr || depth < srq->count ||
            attr->max_wr == 0)
            err = EINVAL;
    }
    if (mask & IBV_SRQ_LIMIT && attr->srq_limit > depth)
        err = EINVAL;
    if (!err) {
        srq->recv.depth = depth;
        if (mask & IBV_SRQ_LIMIT)
            srq->limit = attr->srq_limit;
    }
    room_leave(world);
    return err;
}

int mock_query_srq(struct vf_object *object, struct ibv_srq_attr *attr)
{
    const struct room_srq *srq = room_of(object);

    attr->max_wr = srq->recv.depth;
    attr->max_sge = srq->max_sge;
    attr->srq_limit = srq->limit;
    return 0;
}

void mock_srq_taken(struct vf_world *world, struct room_srq *srq)
{
    srq->count--;
    if (srq->limit == 0 || srq->count >= srq->limit)
        return;
    srq->limit = 0;
    notice_object(world, &srq->object, IBV_EVENT_SRQ_LIMIT_REACHED);
}

/* Queue pairs that hang on it may have waited. */
static void wake_queue_pairs(struct vf_object *srq)
{
    struct vf_object *qp = srq->machine->live[VF_KIND_QP];

    for (; qp; qp = qp->next)
        if (qp->parent[3] == srq)
            move_posted(srq->machine->world,
                        ((struct mock_qp *)qp->handle)->room);
}

int mock_post_srq_recv(struct vf_object *object, struct ibv_recv_wr *wr,
                       struct ibv_recv_wr **bad)
{
    struct vf_world *world = object->machine->world;
    struct room_srq *srq = room_of(object);
    uint32_t count = 0;
    int err = 0;

    room_enter(world);
    for (; wr && !err; wr = err ? wr : wr->next) {
        uint32_t work = 0;

        err = count++ < srq->recv.depth ? 0 : ENOMEM;
        if (!err)
            err =
                mock_post_one_recv(object, &srq->recv, srq->max_sge, wr, &work);
        if (!work)
            continue;
        mock_put(world->view, &srq->recv, work);
        srq->count++;
    }
    if (err)
        *bad = wr;
    wake_queue_pairs(object);
    room_leave(world);
    return err;
}
