/*
 * What a call can do instead of succeeding: the effects that its verb can have
 * (vf_effect_fits), and for each the values that devices answer, with the
 * reason for each beside it. Few values, since programs tell few apart; but
 * those that some program does tell apart, or is told wrong.
 */
#include "sim/sweep.h"

#include <errno.h>
#include <infiniband/verbs.h>

/* One value of one effect of one verb. */
struct value {
    enum vf_verb verb;
    int value;
};

#define VALUE(verb, value)                                                     \
    {                                                                          \
        VF_VERB_##verb, value                                                  \
    }

/* "null E" and "errno E". A verb that is missing here gets EIO: the device
 * does not answer. In the order of verbs.def. */
static const struct value errnos[] = {
    VALUE(get_device_list, ENOSYS), /* no RDMA in this kernel (rdma-core) */
    VALUE(get_device_list, ENOMEM),
    VALUE(get_device_name, EIO),
    VALUE(open_device, EBUSY), /* somebody has it for himself */
    VALUE(open_device, ENODEV),
    VALUE(close_device, EBUSY), /* something of it is in use */
    VALUE(query_device, EIO),
    VALUE(query_port, EINVAL), /* no such port */
    VALUE(query_port, EIO),
    VALUE(query_gid, EINVAL),
    VALUE(query_gid, ENODATA), /* an empty entry (soft-RoCE) */
    VALUE(query_pkey, EINVAL),
    VALUE(get_async_event, EIO),
    VALUE(alloc_pd, ENOMEM), /* the limit of domains */
    VALUE(alloc_pd, EIO),    /* the port is down (Thunderbolt) */
    VALUE(dealloc_pd, EBUSY),
    VALUE(reg_mr, ENOMEM), /* the limit of regions, RLIMIT_MEMLOCK */
    VALUE(reg_mr, EINVAL), /* NULL, or an address that does not suit it */
    VALUE(reg_mr, EFAULT), /* pages that are not there */
    VALUE(dereg_mr, EBUSY),
    VALUE(rereg_mr, ENOMEM),
    VALUE(alloc_mw, ENOMEM),
    VALUE(dealloc_mw, EBUSY),
    VALUE(bind_mw, EINVAL),
    VALUE(create_comp_channel, ENOMEM),
    VALUE(destroy_comp_channel, EBUSY),
    VALUE(create_cq, ENOMEM),
    VALUE(create_cq, EINVAL), /* too many entries */
    VALUE(destroy_cq, EBUSY),
    VALUE(req_notify_cq, EIO),
    VALUE(get_cq_event, EIO),
    VALUE(get_cq_event, EINTR), /* a signal */
    VALUE(resize_cq, EINVAL),
    VALUE(create_qp, ENOMEM),
    VALUE(create_qp, EBUSY),     /* the limit of queue pairs (Thunderbolt) */
    VALUE(create_qp, EINVAL),    /* a depth or a service that it has not */
    VALUE(modify_qp, EINVAL),    /* no route, an attribute that does not suit */
    VALUE(modify_qp, ETIMEDOUT), /* a link-local GID (Thunderbolt) */
    VALUE(modify_qp, EBUSY),     /* a dead process holds it (Thunderbolt) */
    VALUE(modify_qp, ENODATA),   /* an empty GID entry (soft-RoCE) */
    VALUE(query_qp, EIO),
    VALUE(destroy_qp, EBUSY),
    VALUE(create_ah, ENOMEM),
    VALUE(create_ah, EHOSTUNREACH),
    VALUE(destroy_ah, EBUSY),
    VALUE(create_srq, ENOMEM),
    VALUE(destroy_srq, EBUSY),
    VALUE(post_srq_recv, ENOMEM),
    VALUE(post_send, ENOMEM), /* the queue is full */
    VALUE(post_send, EINVAL), /* the queue pair's state */
    VALUE(post_recv, ENOMEM),
    VALUE(post_recv, EINVAL),
    VALUE(modify_srq, EINVAL),
    VALUE(query_srq, EIO),
    VALUE(attach_mcast, EINVAL),
    VALUE(detach_mcast, EINVAL),
    VALUE(alloc, ENOMEM),
};

/* "return N", where a number is the answer. */
static const struct value numbers[] = {
    VALUE(get_device_guid, 0),   /* rdma-core's answer when it fails */
    VALUE(get_device_index, -1), /* likewise */
    VALUE(poll_cq, -1),          /* failure */
    VALUE(poll_cq, 0), /* not yet, though there is something: it comes later */
};

/* "status S": what a device says of the program's own request, of the peer's,
 * of a peer that is gone, of one's own end. */
static const struct value statuses[] = {
    VALUE(completion, IBV_WC_LOC_LEN_ERR),  /* a receive that is too short */
    VALUE(completion, IBV_WC_LOC_PROT_ERR), /* a region that is not right */
    VALUE(completion, IBV_WC_WR_FLUSH_ERR), /* the queue pair went to ERR */
    VALUE(completion, IBV_WC_REM_ACCESS_ERR),
    VALUE(completion, IBV_WC_RETRY_EXC_ERR), /* the peer does not answer */
    VALUE(completion, IBV_WC_RNR_RETRY_EXC_ERR),
    VALUE(completion, IBV_WC_GENERAL_ERR),
};

/* "delay MS": within any deadline, and past every one. */
static const struct value delays[] = {
    VALUE(completion, 10),
    VALUE(completion, SCN_DELAY_MAX),
};

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

struct list {
    bool once, onward;
    struct vf_fault *faults;
    int count;
};

/* Can it hold for the calls that follow, too? */
static bool lasts(enum vf_effect effect)
{
    return effect != VF_EFFECT_EXIT && effect != VF_EFFECT_HANG &&
           effect != VF_EFFECT_UNPLUG;
}

static void put(struct list *list, enum vf_verb verb, enum vf_effect effect,
                int value)
{
    struct vf_fault fault = {
        .verb = verb, .nth = 1, .effect = effect, .value = value};
    if (list->count > SWEEP_OUTCOMES_MAX - 2)
        return;
    if (list->once || !lasts(effect))
        list->faults[list->count++] = fault;
    fault.onward = true;
    if (list->onward && lasts(effect))
        list->faults[list->count++] = fault;
}

/* Every value of the verb's; how many. */
static int put_values(struct list *list, enum vf_verb verb,
                      enum vf_effect effect, const struct value *values,
                      int count)
{
    int before = list->count;
    for (int i = 0; i < count; i++)
        if (values[i].verb == verb)
            put(list, verb, effect, values[i].value);
    return list->count - before;
}

static void put_effect(struct list *list, enum vf_verb verb,
                       enum vf_effect effect)
{
    switch (vf_effect_value(effect)) {
    case VF_VALUE_NONE:
        put(list, verb, effect, 0);
        return;
    case VF_VALUE_ERRNO:
        if (put_values(list, verb, effect, errnos, LENGTH(errnos)) == 0)
            put(list, verb, effect, EIO);
        return;
    case VF_VALUE_NUMBER:
        if (put_values(list, verb, effect, numbers, LENGTH(numbers)) == 0)
            put(list, verb, effect, -1);
        return;
    case VF_VALUE_STATUS:
        put_values(list, verb, effect, statuses, LENGTH(statuses));
        return;
    case VF_VALUE_MILLISECONDS:
        put_values(list, verb, effect, delays, LENGTH(delays));
        return;
    }
}

int sweep_outcomes(enum vf_verb verb, bool once, bool onward,
                   struct vf_fault *faults)
{
    struct list list = {once, onward, faults, 0};
    for (int effect = 0; effect < VF_EFFECT_COUNT; effect++)
        /* No device overtakes itself. */
        if (effect != VF_EFFECT_OVERTAKEN &&
            vf_effect_fits((enum vf_effect)effect, verb))
            put_effect(&list, verb, (enum vf_effect)effect);
    return list.count;
}
