#include <errno.h>
#include <string.h>

#include "mock/mock.h"

int mock_create_cq(struct vf_object *object, int cqe, int vector)
{
    const struct vf_profile *profile = object->device->setup.profile;
    struct mock_cq *cq = object->handle;

    if (cqe <= 0 || (uint32_t)cqe > profile->max_cqe || vector != 0)
        return EINVAL;
    cq->cq.cqe = profile->depth_round ? 1 : cqe;
    while (cq->cq.cqe < cqe)
        cq->cq.cqe = cq->cq.cqe * 2 + 1;
    return 0;
}

static struct mock_completion *take(struct mock_cq *cq)
{
    struct mock_completion *first = cq->first;

    cq->first = first->next;
    if (!cq->first)
        cq->last = NULL;
    return first;
}

int mock_destroy_cq(struct vf_object *object)
{
    struct mock_cq *cq = object->handle;

    if (object->children > 0)
        return EBUSY;
    while (cq->first)
        vf_pool_put(&object->machine->world->registry, take(cq),
                    sizeof(struct mock_completion));
    return 0;
}

int mock_poll_cq(struct vf_object *object, int room, struct ibv_wc *wc)
{
    struct mock_cq *cq = object->handle;
    int count = 0;

    while (count < room && cq->first) {
        struct mock_completion *first = take(cq);

        wc[count++] = first->wc;
        vf_pool_put(&object->machine->world->registry, first, sizeof(*first));
    }
    return count;
}

int mock_req_notify_cq(struct vf_object *object, int solicited_only)
{
    (void)solicited_only;
    ((struct mock_cq *)object->handle)->armed = true;
    return 0;
}

int mock_get_cq_event(struct vf_object *channel, struct vf_object **found)
{
    struct vf_object *object = channel->machine->live[VF_KIND_CQ];

    for (; object; object = object->next) {
        struct mock_cq *cq = object->handle;

        if (object->parent[1] != channel || !cq->event)
            continue;
        cq->event = false;
        *found = object;
        return 0;
    }
    return EAGAIN;
}

void mock_deliver(struct vf_object *object, const struct ibv_wc *wc)
{
    struct mock_cq *cq = object->handle;
    struct mock_completion *completion =
        vf_pool_get(&object->machine->world->registry, sizeof(*completion));

    if (!completion)
        return;
    completion->next = NULL;
    completion->wc = *wc;
    if (cq->last)
        cq->last->next = completion;
    else
        cq->first = completion;
    cq->last = completion;
    cq->event = cq->event || cq->armed;
    cq->armed = false;
}
