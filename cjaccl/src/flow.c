#include "engine.h"

#include "error.h"
#include "straight.h"
#include "transport.h"

size_t cji_flow_let_go(const struct cj_group *group,
                       const struct cji_flow *flow)
{
    size_t least = flow->posted;

    for (int i = 0; group->straight && i < flow->link_count; i++) {
        if (flow->links[i]->traffic.flow_done < least)
            least = flow->links[i]->traffic.flow_done;
    }
    return least;
}

uint64_t cji_digest(uint64_t digest, uint64_t value)
{
    digest = (digest ^ value) * 0x9e3779b97f4a7c15u;
    return digest ^ digest >> 29;
}

static void start_sending(struct cji_flow *flow)
{
    for (int i = 0; i < flow->link_count; i++) {
        struct cji_traffic *traffic = &flow->links[i]->traffic;

        traffic->send_flow = flow;
        traffic->flow_done = 0;
    }
}

static void start_flow(const struct cj_group *group, struct cji_flow *flow)
{
    struct cji_traffic *traffic = &flow->links[0]->traffic;

    flow->slots = cji_slots_of_flow(group, flow);
    flow->posted = flow->arrived = flow->used = flow->freed = 0;
    if (!flow->receives) {
        start_sending(flow);
        return;
    }
    traffic->recv_flow = flow;
    flow->base = traffic->taken;
}

static bool is_flow_over(const struct cji_flow *flow)
{
    if (flow->receives)
        return flow->freed == flow->messages;
    for (int i = 0; i < flow->link_count; i++) {
        if (flow->links[i]->traffic.flow_done < flow->messages)
            return false;
    }
    return true;
}

static bool is_over(const struct cji_operation *operation)
{
    for (int i = 0; i < operation->flow_count; i++) {
        if (!is_flow_over(&operation->flows[i]))
            return false;
    }
    return true;
}

static int post_receives(struct cj_group *group,
                         struct cji_operation *operation)
{
    int status = CJ_OK;

    for (int i = 0; status == CJ_OK && i < operation->flow_count; i++) {
        struct cji_flow *flow = &operation->flows[i];

        if (flow->receives && cji_takes_turns(group, flow))
            status = cji_receives_repost(group, flow->links[0]);
        else if (flow->receives && !cji_has_credits(group))
            status = cji_receives_post(group, operation, flow);
    }
    return status;
}

static int post_sends(struct cj_group *group, struct cji_operation *operation,
                      bool *filled)
{
    int status = CJ_OK;

    *filled = false;
    for (int i = 0; status == CJ_OK && i < operation->flow_count; i++) {
        if (!operation->flows[i].receives)
            status =
                cji_sends_post(group, operation, &operation->flows[i], filled);
    }
    return status;
}

/* Between two messages of those that take turns: what has come. */
static int take_turns(struct cj_group *group,
                      const struct cji_operation *operation)
{
    for (int i = 0; i < operation->flow_count; i++) {
        const struct cji_flow *flow = &operation->flows[i];

        if (cji_takes_turns(group, flow) && !flow->receives &&
            flow->posted < flow->messages)
            return cji_take_completions(group);
    }
    return CJ_OK;
}

static int claim_receives(struct cj_group *group,
                          struct cji_operation *operation)
{
    int status = CJ_OK;

    for (int i = 0; status == CJ_OK && i < operation->flow_count; i++) {
        if (operation->flows[i].receives)
            status = cji_receives_claim(group, operation, &operation->flows[i]);
    }
    return status;
}

static void free_receives(struct cji_operation *operation)
{
    for (int i = 0; i < operation->flow_count; i++) {
        if (operation->flows[i].receives)
            cji_receives_free(&operation->flows[i]);
    }
}

/*
 * Does all that can be done without waiting. What is used up makes room to
 * receive, and what was received something to send.
 */
static int advance(struct cj_group *group, struct cji_operation *operation)
{
    bool filled;
    int status;

    do {
        status = claim_receives(group, operation);
        if (status != CJ_OK)
            return status;
        operation->progress(group, operation);
        free_receives(operation);
        status = post_receives(group, operation);
        if (status == CJ_OK)
            status = post_sends(group, operation, &filled);
        if (status == CJ_OK && filled)
            status = take_turns(group, operation);
    } while (status == CJ_OK && filled);
    return status;
}

static void forget_flows(struct cj_group *group)
{
    for (int i = 0; i < group->link_count; i++) {
        group->links[i].traffic.send_flow = NULL;
        group->links[i].traffic.recv_flow = NULL;
    }
}

int cji_run(struct cj_group *group, struct cji_operation *operation)
{
    bool filled;
    int status;

    for (int i = 0; i < operation->flow_count; i++)
        start_flow(group, &operation->flows[i]);
    cji_straight_begin(group, operation);
    /* Before anything is looked at: a peer that does something else shall hear
     * what this rank does, too. */
    status = post_receives(group, operation);
    if (status == CJ_OK)
        status = post_sends(group, operation, &filled);
    while (status == CJ_OK) {
        status = advance(group, operation);
        if (status != CJ_OK || is_over(operation))
            break;
        status = cji_await_completion(group, operation);
    }
    cji_straight_end(group, status != CJ_OK);
    forget_flows(group);
    return status;
}
