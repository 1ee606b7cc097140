#include "start.h"

#include "arena.h"
#include "card.h"
#include "destination.h"
#include "device.h"
#include "error.h"
#include "fallback.h"
#include "flow.h"
#include "link.h"
#include "notice.h"
#include "side.h"
#include "stream.h"
#include "verbs_table.h"

static int load_verbs(struct cj_group *group, const struct cj_config *config)
{
    if (config->verbs == NULL)
        return cji_verbs_load(group);
    group->verbs = *config->verbs;
    return CJ_OK;
}

/* All that this rank can do before it knows the others. */
static int build(struct cj_group *group, const struct cj_config *config)
{
    int status = load_verbs(group, config);

    if (status == CJ_OK)
        status = cji_devices_open(group, config);
    if (status == CJ_OK)
        status = cji_devices_query(group);
    if (status == CJ_OK)
        status = cji_devices_alloc_pd(group);
    if (status == CJ_OK)
        status = cji_links_create(group);
    return status;
}

/* And what it can do when it knows where they are and how all will talk. */
static int connect_links(struct cj_group *group,
                         const struct cji_exchange_result *result)
{
    int status;

    /* What the wire needs is known only now. */
    group->step = CJ_STEP_CREATE_QP;
    status = cji_engine_check(group);
    if (status == CJ_OK)
        status = cji_arena_alloc(group);
    if (status == CJ_OK)
        status = cji_arena_register(group);
    if (status == CJ_OK)
        status = cji_links_connect(group, result->theirs);
    if (status == CJ_OK)
        status = cji_engine_start(group);
    return status;
}

/* Have all cjaccl ranks been told the same? A JACCL rank says 0 here. */
static int compare_digests(struct cj_group *group, const int32_t *all)
{
    for (int rank = 0; rank < group->size; rank++) {
        if (all[rank] != 0 && all[rank] != group->digest)
            return cji_fail(group, CJ_PROTOCOL, cji_about_peer(rank, 0),
                            "rank %d and rank %d were told different addresses "
                            "of the group: the side channel alters bytes, "
                            "which no network should; start again",
                            group->rank, rank);
    }
    return CJ_OK;
}

static int meet(struct cj_group *group, int32_t mine)
{
    int32_t all[CJ_MAX_RANKS];
    int status;

    group->step = CJ_STEP_START_BARRIER;
    status = cji_side_gather(group, &mine, all, sizeof mine);
    return status != CJ_OK ? status : compare_digests(group, all);
}

/*
 * With a JACCL rank. JACCL meets twice at the end and does not look at what is
 * said; cjaccl uses the first time to see that all know the same.
 */
static int start_with_jaccl(struct cj_group *group,
                            const struct cji_exchange_result *result)
{
    int status;

    /* Had JACCL failed, it would have left as well. */
    if (group->error.code != CJ_OK)
        return group->error.code;
    group->wire = CJI_WIRE_JACCL;
    status = cji_destinations_check(group, result);
    if (status == CJ_OK)
        status = connect_links(group, result);
    if (status == CJ_OK)
        status = meet(group, group->digest);
    if (status == CJ_OK)
        status = meet(group, 0);
    return status;
}

/*
 * A rank that left would be missed over connections; a caller's all-gather is
 * called by all or by none.
 */
static bool may_leave(const struct cj_group *group)
{
    return group->gather.all_gather == NULL;
}

/* Whether the sockets were started on all ranks. */
static int confirm_sockets(struct cj_group *group,
                           const struct cj_config *config,
                           struct cji_cards *cards, int status)
{
    int failed;

    if (status != CJ_OK && may_leave(group))
        return status;
    status = cji_cards_exchange(group, config, cards);
    if (status != CJ_OK)
        return status;
    failed = cji_cards_failed(group, cards);
    if (failed < 0)
        return CJ_OK;
    return cji_fail(group, CJ_PEER_GONE, cji_about_peer(failed, 0),
                    "rank %d could not start: %s", failed,
                    cards->of[failed].message);
}

/* The first rank that failed is `failed`: all of them know. */
static int go_on_over_sockets(struct cj_group *group,
                              const struct cj_config *config,
                              struct cji_cards *cards, int failed)
{
    int status = cji_fallback_decide(group, cards, failed);

    if (status != CJ_OK)
        return status;
    status = cji_fallback_start(group, config, cards, failed);
    return confirm_sockets(group, config, cards, status);
}

/*
 * A rank that fails while the others wait for its card gives it to them, if all
 * of them allow the fallback. Else it leaves at once, if that will be noticed.
 */
static int start_among_cjaccl(struct cj_group *group,
                              const struct cj_config *config,
                              const struct cji_exchange_result *result)
{
    struct cji_cards cards;
    int status;
    int failed;

    cji_notices_allow(group);
    status = cji_cards_exchange(group, config, &cards);
    if (status != CJ_OK)
        return status;
    failed = cji_cards_failed(group, &cards);
    if (failed >= 0)
        return go_on_over_sockets(group, config, &cards, failed);
    cji_cards_settle(group, &cards);
    group->step = CJ_STEP_EXCHANGE;
    status = cji_destinations_check(group, result);
    if (status == CJ_OK)
        status = connect_links(group, result);
    if (status != CJ_OK && may_leave(group) &&
        cji_cards_refuser(group, &cards) >= 0)
        return status;
    status = cji_cards_exchange(group, config, &cards);
    if (status != CJ_OK)
        return status;
    failed = cji_cards_failed(group, &cards);
    if (failed >= 0)
        return go_on_over_sockets(group, config, &cards, failed);
    return meet(group, group->digest);
}

static int start_rdma(struct cj_group *group, const struct cj_config *config)
{
    struct cji_exchange_result result;
    int status = build(group, config);

    /* Where the fallback is allowed, the others hear of a failure. */
    if (status != CJ_OK && may_leave(group) &&
        config->fallback == CJ_FALLBACK_NONE)
        return status;
    status = cji_destinations_exchange(group, &result);
    if (status != CJ_OK)
        return status;
    return group->all_cjaccl ? start_among_cjaccl(group, config, &result)
                             : start_with_jaccl(group, &result);
}

static int start_sockets(struct cj_group *group, const struct cj_config *config)
{
    struct cji_cards cards;
    int status = cji_destinations_decline(group);

    if (status != CJ_OK)
        return status;
    group->all_cjaccl = true;
    cji_notices_allow(group);
    status = cji_cards_exchange(group, config, &cards);
    if (status != CJ_OK)
        return status;
    return confirm_sockets(group, config, &cards, cji_stream_start(group));
}

int cji_start(struct cj_group *group, const struct cj_config *config,
              const struct cji_address *coordinator)
{
    int status = CJ_OK;

    if (group->gather.all_gather == NULL)
        status = cji_side_open(group, coordinator);
    if (status == CJ_OK)
        status = config->backend == CJ_BACKEND_SOCKETS
                     ? start_sockets(group, config)
                     : start_rdma(group, config);
    if (status == CJ_OK)
        cji_notices_begin(group);
    return status == CJ_OK ? CJ_OK : (int)group->error.code;
}
