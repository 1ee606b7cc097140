/*
 * Names of verbs, effects and statuses: the words of scenarios.
 */
#include <stddef.h>
#include <string.h>

#include "front/infiniband.h"
#include "verbfault/fault.h"

static const struct {
    const char *name;
    enum vf_answer answer;
    const char *arguments;
} verbs[VF_VERB_COUNT] = {
#define VF_VERB(name, answer, arguments) {#name, VF_ANSWER_##answer, arguments},
#include "verbfault/verbs.def"
#undef VF_VERB
};

static const struct {
    const char *name;
    enum vf_value value;
} effects[VF_EFFECT_COUNT] = {
    [VF_EFFECT_NULL] = {"null", VF_VALUE_ERRNO},
    [VF_EFFECT_ERRNO] = {"errno", VF_VALUE_ERRNO},
    [VF_EFFECT_RETURN] = {"return", VF_VALUE_NUMBER},
    [VF_EFFECT_UNWRITTEN] = {"unwritten", VF_VALUE_NONE},
    [VF_EFFECT_GARBLED] = {"garbled", VF_VALUE_NONE},
    [VF_EFFECT_STATUS] = {"status", VF_VALUE_STATUS},
    [VF_EFFECT_DROP] = {"drop", VF_VALUE_NONE},
    [VF_EFFECT_DUPLICATE] = {"duplicate", VF_VALUE_NONE},
    [VF_EFFECT_DELAY] = {"delay", VF_VALUE_MILLISECONDS},
    [VF_EFFECT_UNPLUG] = {"unplug", VF_VALUE_NONE},
    [VF_EFFECT_EXIT] = {"exit", VF_VALUE_NONE},
    [VF_EFFECT_HANG] = {"hang", VF_VALUE_NONE},
    [VF_EFFECT_OVERTAKEN] = {"overtaken", VF_VALUE_MILLISECONDS},
};

static const char *const statuses[] = {
    [IBV_WC_SUCCESS] = "SUCCESS",
    [IBV_WC_LOC_LEN_ERR] = "LOC_LEN_ERR",
    [IBV_WC_LOC_QP_OP_ERR] = "LOC_QP_OP_ERR",
    [IBV_WC_LOC_EEC_OP_ERR] = "LOC_EEC_OP_ERR",
    [IBV_WC_LOC_PROT_ERR] = "LOC_PROT_ERR",
    [IBV_WC_WR_FLUSH_ERR] = "WR_FLUSH_ERR",
    [IBV_WC_MW_BIND_ERR] = "MW_BIND_ERR",
    [IBV_WC_BAD_RESP_ERR] = "BAD_RESP_ERR",
    [IBV_WC_LOC_ACCESS_ERR] = "LOC_ACCESS_ERR",
    [IBV_WC_REM_INV_REQ_ERR] = "REM_INV_REQ_ERR",
    [IBV_WC_REM_ACCESS_ERR] = "REM_ACCESS_ERR",
    [IBV_WC_REM_OP_ERR] = "REM_OP_ERR",
    [IBV_WC_RETRY_EXC_ERR] = "RETRY_EXC_ERR",
    [IBV_WC_RNR_RETRY_EXC_ERR] = "RNR_RETRY_EXC_ERR",
    [IBV_WC_LOC_RDD_VIOL_ERR] = "LOC_RDD_VIOL_ERR",
    [IBV_WC_REM_INV_RD_REQ_ERR] = "REM_INV_RD_REQ_ERR",
    [IBV_WC_REM_ABORT_ERR] = "REM_ABORT_ERR",
    [IBV_WC_INV_EECN_ERR] = "INV_EECN_ERR",
    [IBV_WC_INV_EEC_STATE_ERR] = "INV_EEC_STATE_ERR",
    [IBV_WC_FATAL_ERR] = "FATAL_ERR",
    [IBV_WC_RESP_TIMEOUT_ERR] = "RESP_TIMEOUT_ERR",
    [IBV_WC_GENERAL_ERR] = "GENERAL_ERR",
    [IBV_WC_TM_ERR] = "TM_ERR",
};
#define STATUS_COUNT ((int)(sizeof(statuses) / sizeof(statuses[0])))

const char *vf_verb_name(enum vf_verb verb)
{
    return verb < VF_VERB_COUNT ? verbs[verb].name : "no verb";
}

enum vf_verb vf_verb_by_name(const char *name)
{
    int verb = 0;

    while (verb < VF_VERB_COUNT && strcmp(verbs[verb].name, name) != 0)
        verb++;
    return (enum vf_verb)verb;
}

enum vf_answer vf_verb_answer(enum vf_verb verb)
{
    return verbs[verb].answer;
}

const char *vf_verb_arguments(enum vf_verb verb)
{
    return verbs[verb].arguments;
}

const char *vf_effect_name(enum vf_effect effect)
{
    return effects[effect].name;
}

enum vf_effect vf_effect_by_name(const char *name)
{
    int effect = 0;

    while (effect < VF_EFFECT_COUNT && strcmp(effects[effect].name, name) != 0)
        effect++;
    return (enum vf_effect)effect;
}

enum vf_value vf_effect_value(enum vf_effect effect)
{
    return effects[effect].value;
}

/* The verbs whose answer goes into memory of the caller's. */
static bool writes_output(enum vf_verb verb)
{
    switch (verb) {
    case VF_VERB_get_device_list: /* the number of devices */
    case VF_VERB_query_device:
    case VF_VERB_query_port:
    case VF_VERB_query_gid:
    case VF_VERB_query_pkey:
    case VF_VERB_query_qp:
    case VF_VERB_query_srq:
    case VF_VERB_poll_cq:
        return true;
    default:
        return false;
    }
}

/* The verbs whose handle belongs to one device. */
static bool has_device(enum vf_verb verb)
{
    switch (verb) {
    case VF_VERB_get_device_list:
    case VF_VERB_free_device_list:
    case VF_VERB_ack_async_event:
    case VF_VERB_alloc:
        return false;
    default:
        return true;
    }
}

static bool event_fits(enum vf_effect effect, enum vf_verb verb)
{
    if (verb == VF_VERB_alloc)
        return effect == VF_EFFECT_NULL || effect == VF_EFFECT_EXIT ||
               effect == VF_EFFECT_HANG;
    switch (effect) {
    case VF_EFFECT_GARBLED:
    case VF_EFFECT_STATUS:
    case VF_EFFECT_DROP:
    case VF_EFFECT_DUPLICATE:
    case VF_EFFECT_DELAY:
    case VF_EFFECT_UNPLUG:
    case VF_EFFECT_OVERTAKEN:
        return true;
    default:
        return false;
    }
}

bool vf_effect_fits(enum vf_effect effect, enum vf_verb verb)
{
    enum vf_answer answer;

    if (verb >= VF_VERB_COUNT || effect >= VF_EFFECT_COUNT)
        return false;
    answer = verbs[verb].answer;
    if (answer == VF_ANSWER_EVENT)
        return event_fits(effect, verb);
    switch (effect) {
    case VF_EFFECT_NULL:
        return answer == VF_ANSWER_POINTER;
    case VF_EFFECT_ERRNO:
        return answer == VF_ANSWER_ERRNO || answer == VF_ANSWER_MINUS;
    case VF_EFFECT_RETURN:
        return answer == VF_ANSWER_COUNT;
    case VF_EFFECT_UNWRITTEN:
    case VF_EFFECT_GARBLED:
        return writes_output(verb);
    case VF_EFFECT_UNPLUG:
        return has_device(verb);
    case VF_EFFECT_EXIT:
    case VF_EFFECT_HANG:
        return true;
    default:
        return false;
    }
}

const char *vf_status_name(int status)
{
    return status >= 0 && status < STATUS_COUNT ? statuses[status] : NULL;
}

int vf_status_by_name(const char *name)
{
    for (int status = 0; status < STATUS_COUNT; status++)
        if (strcmp(statuses[status], name) == 0)
            return status;
    return -1;
}
