/*
 * The parts of the engine behind cji_run() (flow.h): what is posted, what has
 * come, what is waited for. Each works on one link or one flow.
 */
#ifndef CJACCL_ENGINE_H
#define CJACCL_ENGINE_H

#include "flow.h"

/* Whether messages have trailers; whether receives stay posted. */
static inline bool cji_has_trailers(const struct cj_group *group)
{
    return group->wire != CJI_WIRE_JACCL;
}

static inline bool cji_has_credits(const struct cj_group *group)
{
    return group->wire == CJI_WIRE_CREDITS;
}

/* Fails the group: the link does not take a "send" or a "receive". */
int cji_post_failed(struct cj_group *group, const struct cji_link *link,
                    const char *what, int err_no);

/* How many requests of so many bytes a queue of the link takes at a time. */
int cji_link_room(const struct cji_link *link, size_t bytes);

/* Slots that a link of the group has. */
int cji_send_slots(const struct cj_group *group);
int cji_recv_slots(const struct cj_group *group);

/* receive.c */

/* Posts a receive of `length` bytes into a free slot. */
int cji_receive_post(struct cj_group *group, struct cji_link *link,
                     size_t length);

/* Posts what the flow may have posted now. */
int cji_receives_post(struct cj_group *group,
                      const struct cji_operation *operation,
                      struct cji_flow *flow);

/* Looks at the receives that completed since: counts messages, takes notes. */
int cji_receives_look(struct cj_group *group, struct cji_link *link);

/* Counts those that came as the flow's, if they are. */
int cji_receives_claim(struct cj_group *group,
                       const struct cji_operation *operation,
                       struct cji_flow *flow);

/* Frees the slots of what was used up. */
void cji_receives_free(struct cji_flow *flow);

/*
 * With credits: posts the receives of what was used up again. There is time for
 * that while there is nothing else to do, and a small operation is over sooner.
 */
int cji_receives_repost(struct cj_group *group, struct cji_link *link);

/* send.c */

/*
 * Whether messages are sent and received in turn, one for one, and receives
 * posted again at once. So the trailers of what goes give back what came, both
 * ends are never out of credits together, and few slots are in use at a time.
 */
static inline bool cji_takes_turns(const struct cj_group *group,
                                   const struct cji_flow *flow)
{
    return cji_has_credits(group) && flow->messages > 1;
}

/* How many slots the flow can use: what there is, and what queues hold. */
size_t cji_slots_of_flow(const struct cj_group *group,
                         const struct cji_flow *flow);

/* Fills and posts what the flow may send now; *filled is set if it filled. */
int cji_sends_post(struct cj_group *group, struct cji_operation *operation,
                   struct cji_flow *flow, bool *filled);

/* Sends a note over the link, if one is due. With credits only. */
int cji_note_post(struct cj_group *group, struct cji_link *link);

/* Whether message m may be posted as to JACCL's rounds. */
bool cji_round_has_begun(const struct cji_operation *operation,
                         const struct cji_flow *flow, size_t m);

/* completion.c */

/* Takes the completions that are there: a status. */
int cji_take_completions(struct cj_group *group);

/* Waits for completions on the operation's links. Before it waits, and only
 * then, it posts receives again and tells the peers. */
int cji_await_completion(struct cj_group *group,
                         const struct cji_operation *operation);

#endif
