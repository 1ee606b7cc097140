#include "fallback.h"

#include "error.h"
#include "release.h"
#include "stream.h"

#include <stdio.h>
#include <string.h>

int cji_fallback_decide(struct cj_group *group, const struct cji_cards *cards,
                        int failed)
{
    const struct cji_card *card = &cards->of[failed];
    int refuser = cji_cards_refuser(group, cards);

    if (refuser < 0)
        return CJ_OK;
    return cji_fail(group, CJ_PEER_GONE, cji_about_peer(failed, 0),
                    "rank %d could not start RDMA, and rank %d does not allow "
                    "sockets in its place: %s",
                    failed, refuser, card->message);
}

static void warn(const struct cj_group *group, const struct cj_config *config,
                 const struct cji_cards *cards, int failed)
{
    char message[CJ_MESSAGE_SIZE];

    (void)snprintf(message, sizeof message,
                   "cjaccl: rank %d: the group goes on over sockets, which are "
                   "slower, because rank %d could not start RDMA: %s",
                   group->rank, failed, cards->of[failed].message);
    if (config->warn != NULL)
        config->warn(config->warn_ctx, message);
    else
        (void)fprintf(stderr, "%s\n", message);
}

int cji_fallback_start(struct cj_group *group, const struct cj_config *config,
                       const struct cji_cards *cards, int failed)
{
    size_t used;
    int status;

    cji_release_rdma(group);
    memset(&group->error, 0, sizeof group->error);
    group->ring = true;
    group->wires = 1;
    group->step = CJ_STEP_FALLBACK;
    status = cji_stream_start(group);
    if (status == CJ_OK) {
        warn(group, config, cards, failed);
        return CJ_OK;
    }
    used = strlen(group->error.message);
    (void)snprintf(group->error.message + used,
                   sizeof group->error.message - used,
                   " (sockets were tried because rank %d could not start RDMA: "
                   "%s)",
                   failed, cards->of[failed].message);
    return status;
}
