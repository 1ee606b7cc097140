#include "front/transition.h"

#include <stddef.h>

#define INIT_MASK (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define INIT_UD_MASK (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY)
#define RTR_MASK (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RTR_RC_MASK                                                            \
    (RTR_MASK | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTR_OPTION (IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX)
#define RTS_RC_MASK                                                            \
    (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |    \
     IBV_QP_MAX_QP_RD_ATOMIC)
#define RTS_OPTION                                                             \
    (IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS |                \
     IBV_QP_PATH_MIG_STATE | IBV_QP_RATE_LIMIT)
#define RTS_RC_OPTION (RTS_OPTION | IBV_QP_MIN_RNR_TIMER)
#define RTS_UD_OPTION (IBV_QP_CUR_STATE | IBV_QP_QKEY | IBV_QP_RATE_LIMIT)
#define SQD_OPTION (IBV_QP_PORT | IBV_QP_AV | IBV_QP_PKEY_INDEX | RTS_OPTION)
#define SQD_RC_OPTION                                                          \
    (SQD_OPTION | RTS_RC_MASK | IBV_QP_MAX_DEST_RD_ATOMIC |                    \
     IBV_QP_MIN_RNR_TIMER)
#define SQD_UD_OPTION (IBV_QP_PKEY_INDEX | IBV_QP_QKEY)

enum service { RC, UC, UD, SERVICES };

/* For each service: what a way needs, and what it allows besides. */
static const struct {
    enum ibv_qp_state from, to;
    int needs[SERVICES];
    int allows[SERVICES];
} ways[] = {
    {IBV_QPS_RESET,
     IBV_QPS_INIT,
     {INIT_MASK, INIT_MASK, INIT_UD_MASK},
     {0, 0, 0}},
    {IBV_QPS_INIT,
     IBV_QPS_INIT,
     {0, 0, 0},
     {INIT_MASK, INIT_MASK, INIT_UD_MASK}},
    {IBV_QPS_INIT,
     IBV_QPS_RTR,
     {RTR_RC_MASK, RTR_MASK, 0},
     {RTR_OPTION, RTR_OPTION, IBV_QP_PKEY_INDEX | IBV_QP_QKEY}},
    {IBV_QPS_RTR,
     IBV_QPS_RTS,
     {RTS_RC_MASK, IBV_QP_SQ_PSN, IBV_QP_SQ_PSN},
     {RTS_RC_OPTION, RTS_OPTION, RTS_UD_OPTION}},
    {IBV_QPS_RTS,
     IBV_QPS_RTS,
     {0, 0, 0},
     {RTS_RC_OPTION, RTS_OPTION, RTS_UD_OPTION}},
    {IBV_QPS_RTS,
     IBV_QPS_SQD,
     {0, 0, 0},
     {IBV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY,
      IBV_QP_EN_SQD_ASYNC_NOTIFY}},
    {IBV_QPS_SQD,
     IBV_QPS_SQD,
     {0, 0, 0},
     {SQD_RC_OPTION, SQD_OPTION, SQD_UD_OPTION}},
    {IBV_QPS_SQD,
     IBV_QPS_RTS,
     {0, 0, 0},
     {RTS_RC_OPTION, RTS_OPTION, RTS_UD_OPTION}},
    {IBV_QPS_SQE,
     IBV_QPS_RTS,
     {0, 0, 0},
     {0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS,
      IBV_QP_CUR_STATE | IBV_QP_QKEY}},
};

static enum service service_of(enum ibv_qp_type type)
{
    switch (type) {
    case IBV_QPT_RC:
        return RC;
    case IBV_QPT_UC:
        return UC;
    default:
        return UD;
    }
}

enum vf_transition vf_transition_check(enum ibv_qp_type type,
                                       enum ibv_qp_state from,
                                       enum ibv_qp_state to, int mask)
{
    enum service service = service_of(type);
    int given = mask & ~IBV_QP_STATE;

    if (to == IBV_QPS_ERR && from == IBV_QPS_RESET)
        return VF_TRANSITION_NONE; /* not so in the specification, but in the
                                      kernel's table, for all its devices */
    if (to == IBV_QPS_RESET || to == IBV_QPS_ERR)
        return given & ~IBV_QP_CUR_STATE ? VF_TRANSITION_EXTRA
                                         : VF_TRANSITION_OK;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        int needs = ways[i].needs[service];

        if (ways[i].from != from || ways[i].to != to)
            continue;
        if ((given & needs) != needs)
            return VF_TRANSITION_MISSING;
        if (given & ~(needs | ways[i].allows[service]))
            return VF_TRANSITION_EXTRA;
        return VF_TRANSITION_OK;
    }
    return VF_TRANSITION_NONE;
}

const char *vf_state_name(int state)
{
    static const char *const names[] = {
        [IBV_QPS_RESET] = "RESET", [IBV_QPS_INIT] = "INIT",
        [IBV_QPS_RTR] = "RTR",     [IBV_QPS_RTS] = "RTS",
        [IBV_QPS_SQD] = "SQD",     [IBV_QPS_SQE] = "SQE",
        [IBV_QPS_ERR] = "ERR",
    };

    if (state < 0 || state >= (int)(sizeof(names) / sizeof(names[0])))
        return "?";
    return names[state];
}
